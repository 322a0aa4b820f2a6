// The class coder, encoding: which streams a chunk gets, the list of all units, and where each chunk's bytes stand.
#include "class.cuh"

// Every chunk starts one byte before a multiple of this, so that its payload, after the choice, is aligned.
constexpr u32 ALIGNMENT = 16;
// Kinds of streams by their rounds, four to each power of two.
constexpr u32 KINDS = 128;

// Long streams have low numbers.
__device__ __forceinline__ u32 kind_of_length(u32 rounds) {
    const u32 length = bit_length(rounds | 4);
    return KINDS - 1 - (4 * length + (rounds >> (length - 3) & 3));
}

// The streams of a chunk have as many tiles each, or one more. By value: what is stored in between must not have it read anew.
struct Shares {
    u32 streams, all, tiles, longer, rounds;
    __device__ __forceinline__ Shares(u32 code, u32 coded, u32 all)
        : streams(streams_of(code)), all(all), tiles(all / streams), longer(all - tiles * streams), rounds(coded / lanes_of(code)) {}
    // Of those with `more` tiles than the others: 0 or 1.
    __device__ __forceinline__ u32 count(u32 more) const { return more ? longer : streams - longer; }
    // The kind, as if all tiles had as many coded nodes.
    __device__ __forceinline__ u32 kind(u32 more) const { return kind_of_length(rounds * (tiles + more) / all); }
    __device__ __forceinline__ bool is_longer(u32 s) const { return (s + 1) * all / streams - s * all / streams > tiles; }
};

// One block: how many lanes and streams each chunk gets, the place of its streams among all, and the order in which they are coded, the longest
// first: entries are the number of the chunk times MAX_STREAMS and that of the stream.
extern "C" __global__ void __launch_bounds__(1024) split_chunks(const CoderArguments a) {
    __shared__ u32 next[KINDS];
    if (threadIdx.x < KINDS) next[threadIdx.x] = 0;
    u64 count = 0;
    for (u32 begin = 0; begin < a.chunk_count; begin += blockDim.x) {
        const u32 c = begin + threadIdx.x;
        Chunk *const chunk = a.chunks + c;
        u32 code = c < a.chunk_count ? chunk->code : 0, tiles = 0, coded = 0;
        if (code > 0) {
            tiles = chunk->tile_end - chunk->tile, coded = chunk->coded;
            const u64 bits = chunk->cost >> 12;
            u64 lanes = bits / a.bits_per_lane;
            for (u32 k = 0; k < 2; k++) lanes = max(lanes, min((u64)(coded / a.nodes_per_lane[k]), bits / a.least_bits_per_lane[k]));
            const u32 most = MAX_LANES * min(max(tiles, 1u), MAX_STREAMS);
            const u32 clamped = lanes < 1 ? 1 : lanes > most ? most : (u32)lanes;
            code = clamped < MAX_LANES ? bit_length(clamped) : ONE_STREAM - 1 + clamped / MAX_LANES;
        }
        u64 total;
        const u64 before = block_scan(code > 0 ? streams_of(code) : 0, total);
        if (code > 0) {
            chunk->code = code;
            chunk->stream = (u32)(count + before);
            const Shares shares(code, coded, tiles);
            for (u32 more = 0; more < 2; more++)
                if (shares.count(more) > 0) atomicAdd(&next[shares.kind(more)], shares.count(more));
        }
        count += total;
    }
    __syncthreads();
    u64 total;
    const u64 before = block_scan(threadIdx.x < KINDS ? next[threadIdx.x] : 0, total);
    if (threadIdx.x < KINDS) next[threadIdx.x] = (u32)before;
    if (threadIdx.x == 0) a.totals[0] = total, a.totals[2] = 0;
    __syncthreads();
    for (u32 c = threadIdx.x; c < a.chunk_count; c += blockDim.x) {
        const Chunk *const chunk = a.chunks + c;
        const u32 code = chunk->code;
        if (code == 0) continue;
        const Shares shares(code, chunk->coded, chunk->tile_end - chunk->tile);
        u32 place = 0, longer_place = 0;
        if (shares.count(0) > 0) place = atomicAdd(&next[shares.kind(0)], shares.count(0));
        if (shares.count(1) > 0) longer_place = atomicAdd(&next[shares.kind(1)], shares.count(1));
        for (u32 s = 0; s < shares.streams; s++) a.order[shares.is_longer(s) ? longer_place++ : place++] = MAX_STREAMS * c + s;
    }
}

// Class of a slot in the nearest tile of the stream before `end` that has it, or NONE.
__device__ __forceinline__ u32 last_kind(const CoderArguments &a, u32 end, u32 first_tile, u32 slot) {
    while (end-- > first_tile) {
        const u32 form = a.forms[(u64)end * a.slots + slot];
        if (form != NONE) return Form(form).kind();
    }
    return NONE;
}

// A thread a unit: its record.
extern "C" __global__ void __launch_bounds__(256) list_units(const CoderArguments a) {
    const u64 total = (u64)a.tile_count * a.units_in_tile;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (u64)gridDim.x * blockDim.x) {
        const u32 t = (u32)(i / a.units_in_tile), j = (u32)(i - (u64)t * a.units_in_tile);
        const Tile &tile = a.tiles[t];
        const Chunk &chunk = a.chunks[tile.chunk];
        const u32 first = a.unit_first[tile.shape];
        if (j >= a.unit_first[tile.shape + 1] - first || chunk.code == 0) continue;
        const Unit unit = a.units[first + j];
        const u64 slot = (u64)t * a.slots + unit.slot;
        const Form form(a.forms[slot]);
        const u32 exact = form.kind() ? a.counts[slot] : 0;
        // the stream of the tile, and its first tile
        const u32 tiles = chunk.tile_end - chunk.tile, stream = ((t - chunk.tile + 1) * streams_of(chunk.code) - 1) / tiles;
        const u32 begin = stream_tile(chunk, stream);
        const u32 own = last_kind(a, t, begin, unit.slot);
        const u32 parent = unit.parent == NONE ? NONE : last_kind(a, t + 1, begin, unit.parent);
        const u32 entry = (CLASS_GROUPS * a.tables.group(own) + a.tables.group(parent)) * CLASSES + form.kind();
        const u32 place = (j - unit.step_begin) % MAX_LANES;
        const u32 round = entry | place << 12 | (form.table() & 63) << 17 | form.shift() << 23 | (u32)(j == 0) << 31;
        a.records[tile.units_before + j] = {(u32)((tile.start + unit.start) / 8), unit.len | exact << 16, form.word, round};
    }
}

// One block: sizes and places of all chunks, whose streams have added theirs.
extern "C" __global__ void __launch_bounds__(1024) place_chunks(const CoderArguments a) {
    const u32 share = (a.chunk_count + blockDim.x - 1) / blockDim.x;
    const u32 begin = min(threadIdx.x * share, a.chunk_count), end = min(begin + share, a.chunk_count);
    u64 sum = 0;
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        u32 bytes = 1;
        if (chunk.code > 0) bytes = 2 + streams_of(chunk.code) * 2 * size_words(chunk.flags) + chunk.bytes;
        chunk.bytes = bytes;
        sum += (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    }
    u64 total, at = block_scan(sum, total);
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        chunk.offset = at + ALIGNMENT;
        at += (chunk.bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    }
    if (threadIdx.x == 0) a.totals[1] = total, a.totals[2] = 0;
}
