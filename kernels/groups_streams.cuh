// The groups coder (FORMAT.md, "Groups coder"): the streams of tiles and chunks, as all its kernels see them. Mirrored in
// codec/backend/cuda/pyramid/arguments.rs.
#pragma once
#include "class.cuh"
#include "groups.cuh"

// Streams of a chunk at most: two for each of 8^3 tiles.
constexpr u32 CHUNK_STREAMS = 1024;

// Streams of tiles depend on the axis along which bands are walked: number 1 is for choices that favour axis 1, number 0 for all others.
__device__ __forceinline__ u32 walk_of(u32 choice) { return choice / 3 % 4 == 2; }

// One stream of a tile shape: its runs among those of all shapes (of stream 0, which has none there, the number of its nodes, the first of the tile); how
// many; where its slot starts in that of the tile, in words, and the list of its exact values in that of the tile.
struct ShapeStream {
    u32 first, runs, slot, exact;
};
// A lane's group in a run: the number of each node among the symbols of the tile, or NO_NODE.
struct __align__(16) RunLane {
    u16 place[GROUP_NODES];
};
constexpr u32 NO_NODE = 0xffff;

// By walk: the first of the streams of a tile shape, and their number.
struct GroupShape {
    u32 first_stream[2], streams[2];
};
// By walk: the number of a tile's stream 0 among all streams. The first word of its slot.
struct __align__(16) GroupTile {
    u32 first[2];
    u64 slot;
};
// The number of a chunk's first stream among all streams; by walk, how many it has.
struct GroupChunk {
    u32 first, streams[2], unused;
};

struct GroupsArguments {
    const Tile *tiles;
    // Encoding, of all streams: `cost` is the sum of their lengths, `code` the largest, `coded` the number of exact nodes, `flags` the largest of a stream.
    Chunk *chunks;
    const GroupTile *group_tiles;
    const GroupChunk *group_chunks;
    const GroupShape *shapes;
    const ShapeStream *shape_streams;
    // 32 for each run of a band.
    const RunLane *runs;
    i16 *q;
    void *delta;
    // Encoding: the slots of all streams; the deltas of the exact nodes of each, in their order, room for one a symbol.
    u32 *slots;
    void *exact;
    // Of each stream: bytes, exact nodes. Decoding, also where both begin in `output`.
    u32 *lengths, *exact_counts;
    u64 *places, *exact_places;
    // Tiles all of whose streams pass through their symbols.
    const u32 *list;
    // Tiles whose bands are coded elsewhere, and those among them for which that was not possible: as many as `left_out_count` says. It is null where these
    // are not wanted.
    const u32 *banded;
    u32 *left_out, *left_out_count;
    const u8 *choices;
    u8 *output;
    u64 *totals;
    u64 capacity;
    u32 list_count, banded_count;
    // Streams of a tile at most.
    u32 tile_streams, chunk_count, value_bytes;
    // The shape of banded tiles, or NO_TILE.
    u32 banded_shape;
};

// Whether the kernels of bands take the tiles of a chunk that chose so: those of axis order, but for a favoured last axis.
__device__ __forceinline__ bool takes_bands(Choice choice) { return choice.in_order() && choice.favoured() < 3; }
// Decoding: whether bands of a tile have exact nodes. Such a tile passes through its symbols.
__device__ __forceinline__ bool has_exact_bands(const GroupsArguments &a, u32 tile, u32 walk) {
    const u32 *counts = a.exact_counts + a.group_tiles[tile].first[walk];
    const u32 streams = a.shapes[a.tiles[tile].shape].streams[walk];
    u32 any = 0;
    for (u32 stream = 1; stream < streams; stream++) any |= counts[stream];
    return any > 0;
}
// Notes a tile whose bands are not coded elsewhere after all.
__device__ __forceinline__ void leave_bands(const GroupsArguments &a, u32 tile) { a.left_out[atomicAdd(a.left_out_count, 1u)] = tile; }

// Calls f(tile, number of a stream in the tile) for each stream that passes through symbols, a warp a stream. The tile may have fewer streams.
template <class F> __device__ __forceinline__ void each_stream(const GroupsArguments &a, F f) {
    const u32 warps = gridDim.x * (blockDim.x / 32), bands = a.tile_streams - 1, listed = a.list_count * a.tile_streams, coarse = listed + a.banded_count;
    const u32 end = coarse + (a.left_out_count ? *a.left_out_count * bands : 0);
    for (u32 i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < end; i += warps) {
        u32 tile, stream = 0;
        if (i < listed) tile = a.list[i / a.tile_streams], stream = i % a.tile_streams;
        else if (i < coarse) tile = a.banded[i - listed];
        else tile = a.left_out[(i - coarse) / bands], stream = 1 + (i - coarse) % bands;
        f(tile, stream);
    }
}

// One stream of a tile.
struct TileStream {
    // Its number among all streams, its chunk.
    u32 number, chunk;
    // The first symbol of the tile, the first word of the stream's slot, the first place of its exact values.
    u64 symbols, slot, exact;
    ShapeStream shape;
    bool exists, is_band;

    __device__ __forceinline__ TileStream(const GroupsArguments &a, u32 tile_number, u32 stream) {
        const Tile &tile = a.tiles[tile_number];
        const GroupTile &of_tile = a.group_tiles[tile_number];
        const GroupShape &of_shape = a.shapes[tile.shape];
        chunk = tile.chunk, symbols = tile.start;
        const u32 walk = walk_of(a.choices[chunk]);
        exists = stream < of_shape.streams[walk], is_band = stream > 0;
        if (!exists) return;
        shape = a.shape_streams[of_shape.first_stream[walk] + stream];
        number = of_tile.first[walk] + stream;
        slot = of_tile.slot + shape.slot;
        exact = symbols + shape.exact;
    }
};

// Notes what a warp has written to the slot of a stream.
__device__ __forceinline__ void note_stream(const GroupsArguments &a, u32 number, u32 chunk, u32 bytes, u32 exact_nodes) {
    if (threadIdx.x % 32 > 0) return;
    a.lengths[number] = bytes, a.exact_counts[number] = exact_nodes;
    if (bytes == 0) return;
    Chunk &of = a.chunks[chunk];
    atomicAdd(&of.cost, (u64)bytes);
    atomicMax(&of.code, bytes);
    if (exact_nodes == 0) return;
    atomicAdd(&of.coded, exact_nodes);
    atomicMax(&of.flags, exact_nodes);
}
