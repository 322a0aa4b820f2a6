// Symbols of whole tiles in shared memory to planes, and back, by a warp that takes four tiles.
#pragma once
#include "planes_tile.cuh"

// Encoding, symbols in shared memory are numbers of steps plus this: those of one byte are known by another byte of 0.
constexpr u32 BYTE_BIAS = 0x80;
// Rounds like Real<T>::ROUNDER, to numbers whose low bits are those of the symbol.
template <class T> constexpr T BIASED_ROUNDER = Real<T>::ROUNDER + (T)BYTE_BIAS;

// Adds what four tiles have to the counts of their chunk. `groups`: of this lane, `masks`: bytes of masks of all tiles.
__device__ __forceinline__ void add_counts(const PlanesArguments &a, u32 chunk, u32 words, u32 groups, u32 masks) {
    const u32 sum = __reduce_add_sync(FULL, words | groups << 16);
    if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(&a.chunks[chunk].cost, counts_of(sum & 0xffff, sum >> 16, masks));
}

// Planes of 32 symbols to planes of their zigzags (2 q, all bits flipped where q < 0), and how many of these there are. WIDE: 16 of them, else 8.
template <bool WIDE> __device__ __forceinline__ u32 zigzag_planes(u32 (&plane)[16]) {
    constexpr u32 COUNT = WIDE ? 16 : 8;
    // what is taken from the bits of the bias on: the bias itself from the highest of a byte, and then what it borrows
    u32 borrow = FULL;
#pragma unroll
    for (u32 b = 7; b < COUNT; b++) {
        const u32 own = plane[b];
        plane[b] = own ^ borrow;
        borrow &= ~own;
    }
    const u32 negative = plane[COUNT - 1];
    u32 width = 0;
#pragma unroll
    for (u32 b = COUNT - 1; b > 0; b--) plane[b] = plane[b - 1] ^ negative;
    plane[0] = negative;
#pragma unroll
    for (u32 b = 0; b < COUNT; b++) width = plane[b] ? b + 1 : width;
    return width;
}

// Up to four tiles of a chunk that a warp takes, lane l for tile l mod 4: which of them there are, a bit each, and which have more nodes than a mask of one byte
// says; the lane's number, that of the first, and whether their numbers follow each other.
struct Four {
    u32 exist, two_bytes, number, first;
    bool in_order;

    __device__ __forceinline__ explicit Four(const Quad &quad) : exist((1u << quad.count()) - 1), two_bytes(15), number(quad.number() + threadIdx.x % 4), first(quad.number()), in_order(true) {}
    __device__ __forceinline__ Four(u32 exist, u32 two_bytes, u32 number, u32 first, bool in_order) : exist(exist), two_bytes(two_bytes), number(number), first(first), in_order(in_order) {}
};

// Cuts the symbols of the warp's four tiles into planes, but for the tiles whose bit of `out` is set. Lane l works on two groups of its tile.
__device__ __forceinline__ void store_planes(const PlanesArguments &a, const Four &tiles, u32 chunk, char *memory, u32 out) {
    const u32 lane = threadIdx.x % 32, tile = lane % 4, first = lane / 4;
    const bool taken = !(out >> tile & 1);
    const char *own = memory + tile * SYMBOL_BYTES;
    u32 plane[2][16], width[2];
    // of a lane of the warp, numbers of two bytes
    bool wide[2];
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        Symbols symbols;
        u32 any = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const uint4 four = ((const uint4 *)(own + (first + 8 * k) * 2 * GROUP))[i];
            any |= four.x | four.y | four.z | four.w;
            symbols.of[i] = four;
        }
        wide[k] = __any_sync(FULL, (any & 0xff00ff00) != 0);
        u32 bytes[8];
        bytes_of<false>(symbols, bytes);
        transpose(bytes);
#pragma unroll
        for (u32 b = 0; b < 8; b++) plane[k][b] = bytes[b];
        if (wide[k]) {
#pragma unroll
            for (u32 i = 0; i < 4; i++) only_here(symbols.of[i].x), only_here(symbols.of[i].y), only_here(symbols.of[i].z), only_here(symbols.of[i].w);
            bytes_of<true>(symbols, bytes);
            transpose(bytes);
#pragma unroll
            for (u32 b = 0; b < 8; b++) plane[k][8 + b] = bytes[b];
            width[k] = zigzag_planes<true>(plane[k]);
        } else {
            width[k] = zigzag_planes<false>(plane[k]);
        }
        width[k] = taken ? width[k] : 0;
    }
    u32 total;
    const u32 before = scan_tile(width[0] | width[1] << 16, total);
    const u32 words = (total & 0xffff) + (total >> 16);
    const u32 starts[2] = {before & 0xffff, (total & 0xffff) + (before >> 16)};
    // the tiles' planes follow each other
    u32 own_start = 0, all = 0;
#pragma unroll
    for (u32 t = 0; t < 4; t++) {
        const u32 of_tile = __shfl_sync(FULL, words, t);
        own_start += t < tile ? of_tile : 0;
        all += of_tile;
    }
    __syncwarp();
    // they take the place of the symbols
    u32 *staged = (u32 *)memory + own_start;
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
#pragma unroll
        for (u32 b = 0; b < 8; b++) {
            if (b < width[k]) staged[starts[k] + b] = plane[k][b];
        }
        if (!wide[k]) continue;
#pragma unroll
        for (u32 b = 8; b < 16; b++) {
            if (b < width[k]) staged[starts[k] + b] = plane[k][b];
        }
    }
    if (taken) {
        u8 *widths = a.widths + (u64)tiles.number * TILE_GROUPS;
        widths[first] = (u8)width[0], widths[first + 8] = (u8)(width[1] | (first == 7 && (tiles.two_bytes >> tile & 1) ? TWO_MASK_BYTES : 0));
    }
    // a bit for each tile that has symbols
    const u32 with = __ballot_sync(FULL, words > 0) & 15;
    add_counts(a, chunk, width[0] + width[1], (width[0] > 0) + (width[1] > 0), __popc(with) + __popc(with & tiles.two_bytes));
    __syncwarp();
    // a tile that is left out will need its own slot
    const bool together = tiles.in_order && (out & tiles.exist) == 0;
    if (taken && lane < 4) a.sources[tiles.number] = together ? tiles.first * TILE_WORDS + own_start : tiles.number * TILE_WORDS;
    if (together) {
        uint4 *slot = (uint4 *)(a.slots + (u64)tiles.first * TILE_WORDS);
        for (u32 i = lane; 4 * i < all; i += 32) slot[i] = ((const uint4 *)memory)[i];
    } else {
        u32 *slot = a.slots + (u64)tiles.number * TILE_WORDS;
        for (u32 i = lane / 4; i < words; i += 8) slot[i] = staged[i];
    }
}

// The planes of a tile from its symbols, by a warp.
__device__ __forceinline__ void pack_tile(const PlanesArguments &a, u32 number) {
    const u32 lane = threadIdx.x % 32;
    const Tile &tile = a.tiles[number];
    const u32 nodes = a.shape_nodes[tile.shape];
    u32 *slot = a.slots + (u64)number * TILE_WORDS;
    u32 words = 0, groups = 0, exact = 0, widths = 0;
    const auto load = [&](u32 g) { return GROUP * g + lane < nodes ? zigzag(a.q[tile.start + GROUP * g + lane]) : 0; };
    u32 next = load(0);
#pragma unroll 1
    for (u32 g = 0; GROUP * g < nodes; g++) {
        const u32 z = next;
        next = load(g + 1);
        const u32 width = bit_length(__reduce_or_sync(FULL, z));
        u32 own = 0;
#pragma unroll 1
        for (u32 b = 0; b < width; b++) {
            const u32 plane = __ballot_sync(FULL, z >> b & 1);
            own = lane == b ? plane : own;
        }
        if (lane < width) slot[words + lane] = own;
        const u32 listed = __ballot_sync(FULL, z == EXACT_ZIGZAG);
        exact += __popc(listed);
        widths = lane == g ? width : widths;
        words += width;
        groups += width > 0;
    }
    if (lane == 0) a.sources[number] = number * TILE_WORDS;
    if (lane == TILE_GROUPS - 1 && mask_bytes(nodes) > 1) widths |= TWO_MASK_BYTES;
    if (lane < TILE_GROUPS) a.widths[(u64)number * TILE_GROUPS + lane] = (u8)widths;
    if (lane > 0 || words == 0) return;
    atomicAdd(&a.chunks[tile.chunk].cost, counts_of(words, groups, mask_bytes(nodes)));
    if (exact > 0) atomicAdd(&a.chunks[tile.chunk].coded, exact);
}

// Symbols of a tile and what its exact nodes are, by a warp.
template <class D> __device__ __forceinline__ void unpack_tile(const PlanesArguments &a, u32 number) {
    const u32 lane = threadIdx.x % 32;
    const Tile &tile = a.tiles[number];
    const TileRecord record = a.records[number];
    const u32 *planes = (const u32 *)a.output + record.planes, *exact = (const u32 *)a.output + a.exact_at[number];
    const u32 nodes = a.shape_nodes[tile.shape];
    for (u32 g = 0; GROUP * g < nodes; g++) {
        const u32 width = record.width(g), node = GROUP * g + lane;
        const u32 own = lane < width ? planes[lane] : 0;
        u32 z = 0;
        for (u32 b = 0; b < width; b++) z |= (__shfl_sync(FULL, own, b) >> lane & 1) << b;
        planes += width;
        if (node < nodes) a.q[tile.start + node] = unzigzag(z);
        const u32 listed = __ballot_sync(FULL, node < nodes && z == EXACT_ZIGZAG);
        if (listed == 0) continue;
        if (listed >> lane & 1) {
            const u32 *at = exact + __popc(listed & ((1u << lane) - 1)) * (sizeof(D) / 4);
            D delta = 0;
            for (u32 k = 0; k < sizeof(D) / 4; k++) delta |= (D)at[k] << (32 * k);
            ((D *)a.delta)[tile.start + node] = delta;
        }
        exact += __popc(listed) * (sizeof(D) / 4);
    }
}

// From planes of zigzags to planes of the numbers themselves; plane 8 is 0 where there are 8.
template <u32 COUNT> __device__ __forceinline__ void signed_planes(u32 (&low)[8], u32 (&high)[8]) {
    const u32 negative = low[0];
#pragma unroll
    for (u32 b = 0; b < COUNT; b++) {
        const u32 next = b + 1 < COUNT ? (b + 1 < 8 ? low[(b + 1) % 8] : high[(b + 1) % 8]) : 0;
        (b < 8 ? low[b % 8] : high[b % 8]) = next ^ negative;
    }
}

// The symbols of the warp's four tiles in shared memory. Lane l works for tile l mod 4, on two of its groups.
__device__ __forceinline__ void take_planes(const u32 *staged, const TileRecord &record, char *memory) {
    const u32 lane = threadIdx.x % 32, tile = lane % 4, first = lane / 4;
    const u32 width[2] = {record.width(first), record.width(first + 8)};
    u32 total;
    const u32 before = scan_tile(width[0] | width[1] << 16, total);
    const u32 *planes = staged + tile * TILE_WORDS;
    const u32 *from[2] = {planes + (before & 0xffff), planes + (total & 0xffff) + (before >> 16)};
    u32 low[2][8], high[8];
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
#pragma unroll
        for (u32 b = 0; b < 8; b++) low[k][b] = b < width[k] ? from[k][b] : 0;
    }
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        uint4 *to = (uint4 *)(memory + tile * SYMBOL_BYTES + (first + 8 * k) * 2 * GROUP);
        Symbols s;
        // numbers of two bytes
        if (__any_sync(FULL, width[k] > 8)) {
#pragma unroll
            for (u32 b = 0; b < 8; b++) high[b] = b + 8 < width[k] ? from[k][b + 8] : 0;
            signed_planes<16>(low[k], high);
            transpose(low[k]);
            transpose(high);
            s = symbols_of<true>(low[k], high);
        } else {
            signed_planes<8>(low[k], high);
            transpose(low[k]);
            s = symbols_of<false>(low[k], high);
        }
#pragma unroll
        for (u32 i = 0; i < 4; i++) to[i] = s.of[i];
    }
}
