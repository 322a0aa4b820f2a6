// The planes coder, encoding: the bytes of the chunks, at their places. A block of PLACE_THREADS threads a piece of a chunk.
#include "planes.cuh"

// Chunks start at multiples of this.
constexpr u32 ALIGNMENT = 16;
// Threads of a block, and warps.
constexpr u32 PLACE_THREADS = 128, PLACE_WARPS = PLACE_THREADS / 32;
// Pieces of a chunk: everything but planes; and the planes of PLACE_THREADS tiles each.
constexpr u32 CHUNK_PIECES = 1 + CHUNK_TILES / PLACE_THREADS;

// Shared memory that a piece takes.
struct PlaceShared {
    // Of each warp: room of the chunks before this one, in units of ALIGNMENT; words, or groups and bytes of masks, of its tiles.
    u32 before[PLACE_WARPS], counts[PLACE_WARPS], earlier[PLACE_WARPS];
    // Widths of the groups of a chunk, as nibbles.
    u32 nibbles[CHUNK_TILES * TILE_GROUPS / 8 + 2];
};

// The chunk as it is known once all its tiles are encoded.
struct PlacedChunk {
    u32 first_tile, tiles, exact_nodes;
    Counts counts;
    Layout layout;
    __device__ __forceinline__ explicit PlacedChunk(const Chunk &chunk)
        : first_tile(chunk.tile), tiles(chunk.tile_end - chunk.tile), exact_nodes(chunk.coded), counts(chunk.cost), layout(tiles, counts) {}
    __device__ __forceinline__ u32 bytes(const PlanesArguments &a) const { return counts.groups == 0 ? 4 : layout.exact + a.value_bytes * exact_nodes; }
    __device__ __forceinline__ u32 room(const PlanesArguments &a) const { return (bytes(a) + ALIGNMENT - 1) / ALIGNMENT; }
};
// The room of the chunks before one, of which this thread adds up its share.
__device__ __forceinline__ u32 room_before(const PlanesArguments &a, u32 chunk) {
    u32 before = 0;
#pragma unroll 4
    for (u32 c = threadIdx.x; c < chunk; c += PLACE_THREADS) before += PlacedChunk(a.chunks[c]).room(a);
    return before;
}

// The widths of four groups, without TWO_MASK_BYTES.
__device__ __forceinline__ u32 four_widths(u32 word) { return word & 0x1f1f1f1f; }
__device__ __forceinline__ u32 words_of(const uint4 &widths) {
    // sums of pairs of groups, at most 128 each
    const u32 four = four_widths(widths.x) + four_widths(widths.y) + four_widths(widths.z) + four_widths(widths.w);
    return ((four & 0x00ff00ff) + (four >> 8 & 0x00ff00ff)) * 0x10001 >> 16;
}

// The sum of what the lanes before have.
__device__ __forceinline__ u32 scan_warp(u32 value, u32 &total) {
    const u32 lane = threadIdx.x % 32;
    u32 sum = value;
#pragma unroll
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(FULL, sum, by);
        sum += lane >= by ? other : 0;
    }
    total = __shfl_sync(FULL, sum, 31);
    return sum - value;
}

// Copies the planes of the warp's 32 tiles, of which lane l has the place and the number of words of number l, and where they are now. Tiles whose planes
// follow each other go together.
__device__ __forceinline__ void copy_planes(u32 *to, const u32 *slots, u32 source, u32 start, u32 words) {
    // Words that a lane has under way, of each of two tiles, or such sequences of tiles.
    constexpr u32 BATCH = 6;
    const u32 lane = threadIdx.x % 32, before = __shfl_up_sync(FULL, source + words, 1), end = __shfl_sync(FULL, start + words, 31);
    u32 heads = __ballot_sync(FULL, lane == 0 || source != before);
    struct Piece {
        const u32 *from;
        u32 *to;
        // Words from the lane's first on.
        i32 count;
    };
    const auto next = [&] {
        const u32 head = heads ? __ffs((i32)heads) - 1 : 31, more = heads;
        heads &= heads - 1;
        const u32 first = __shfl_sync(FULL, start, head), last = __shfl_sync(FULL, start, heads ? __ffs((i32)heads) - 1 : 0);
        const u32 *from = slots + __shfl_sync(FULL, source, head) + lane;
        return Piece{from, to + first + lane, more ? (i32)((heads ? last : end) - first - lane) : 0};
    };
    while (heads) {
        Piece one = next(), two = next();
        while (__any_sync(FULL, max(one.count, two.count) > 0)) {
            u32 word[2][BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (32 * (i32)k < one.count) word[0][k] = one.from[32 * k];
                if (32 * (i32)k < two.count) word[1][k] = two.from[32 * k];
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (32 * (i32)k < one.count) one.to[32 * k] = word[0][k];
                if (32 * (i32)k < two.count) two.to[32 * k] = word[1][k];
            }
            for (Piece *piece : {&one, &two}) piece->from += 32 * BATCH, piece->to += 32 * BATCH, piece->count -= 32 * BATCH;
        }
    }
}

// The planes of PLACE_THREADS tiles of a chunk from number `first` on, a tile a thread.
__device__ __forceinline__ void place_planes(const PlanesArguments &a, u32 number, u32 first, PlaceShared &shared) {
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    const PlacedChunk chunk(a.chunks[number]);
    if (first >= chunk.tiles || chunk.counts.groups == 0) return;
    const uint4 none = make_uint4(0, 0, 0, 0), *widths = (const uint4 *)a.widths + chunk.first_tile;
    const bool exists = first + t < chunk.tiles;
    const u32 words = words_of(exists ? widths[first + t] : none);
    const u32 source = exists ? a.sources[chunk.first_tile + first + t] : 0;
    u32 earlier = 0;
    for (u32 i = t; i < first; i += PLACE_THREADS) earlier += words_of(widths[i]);
    const u32 before = __reduce_add_sync(FULL, room_before(a, number));
    earlier = __reduce_add_sync(FULL, earlier);
    u32 total;
    u32 start = scan_warp(words, total);
    if (lane == 0) shared.before[warp] = before, shared.counts[warp] = total, shared.earlier[warp] = earlier;
    __syncthreads();
    u64 place = 0;
#pragma unroll
    for (u32 w = 0; w < PLACE_WARPS; w++) place += shared.before[w], start += shared.earlier[w] + (w < warp ? shared.counts[w] : 0);
    place *= ALIGNMENT;
    if (place + chunk.bytes(a) > a.capacity) return;
    copy_planes((u32 *)(a.output + place + chunk.layout.planes), a.slots, source, start, words);
}

// The groups of a tile that have planes: a bit each, and their widths less one, as nibbles.
struct Widths {
    u32 mask;
    u64 nibbles;
    u32 groups;

    __device__ __forceinline__ explicit Widths(const uint4 &all) : mask(0), nibbles(0), groups(0) {
        const u32 four[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (u32 i = 0; i < TILE_GROUPS / 4; i++) {
            // those of four groups
            u32 packed = 0, count = 0;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const u32 width = four[i] >> (8 * k) & 0x1f;
                if (width == 0) continue;
                mask |= 1u << (4 * i + k);
                packed |= (width - 1) << (4 * count);
                count++;
            }
            nibbles |= (u64)packed << (4 * groups);
            groups += count;
        }
    }
};

// Whether a group has 16 planes.
__device__ __forceinline__ bool has_wide(const uint4 &widths) { return ((widths.x | widths.y | widths.z | widths.w) & 0x10101010) != 0; }

// The values of the exact nodes of a tile, whose planes are `slot`, by a warp: how many, and their deltas to `to` unless that is null.
template <class D> __device__ u32 exact_values(const PlanesArguments &a, const Tile &tile, const uint4 &widths, const u32 *slot, u32 *to) {
    const u32 lane = threadIdx.x % 32, nodes = a.shape_nodes[tile.shape], four[4] = {widths.x, widths.y, widths.z, widths.w};
    u32 count = 0;
    for (u32 g = 0; g < TILE_GROUPS; g++) {
        const u32 width = four[g / 4] >> (8 * (g % 4)) & 0x1f;
        const u32 exact = width < 16 ? 0 : __reduce_and_sync(FULL, lane < 16 ? slot[lane] : FULL);
        slot += width;
        if (exact == 0) continue;
        const u32 node = GROUP * g + lane;
        if (to && node < nodes && exact >> lane & 1) {
            const D delta = ((const D *)a.delta)[tile.start + node];
            u32 *at = to + (count + __popc(exact & ((1u << lane) - 1))) * (sizeof(D) / 4);
            for (u32 k = 0; k < sizeof(D) / 4; k++) at[k] = (u32)((u64)delta >> (32 * k));
        }
        count += __popc(exact);
    }
    return count;
}

// The exact values of a chunk.
template <class D> __device__ void place_exact(const PlanesArguments &a, const PlacedChunk &chunk, u32 *to, PlaceShared &shared) {
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    const uint4 none = make_uint4(0, 0, 0, 0);
    u32 before = 0;
#pragma unroll 1
    for (u32 first = 0; first < chunk.tiles; first += PLACE_THREADS) {
        const bool exists = first + t < chunk.tiles;
        const u32 number = chunk.first_tile + first + t;
        const uint4 widths = exists ? ((const uint4 *)a.widths)[number] : none;
        const u32 source = exists ? a.sources[number] : 0;
        // Goes through the tiles of the warp that may have some: how many the thread's own has, all of them stored where `place` says.
        const auto each = [&](u32 *place) {
            u32 own = 0;
            for (u32 rest = __ballot_sync(FULL, has_wide(widths)); rest; rest &= rest - 1) {
                const u32 of = __ffs((i32)rest) - 1;
                const auto from = [&](u32 value) { return __shfl_sync(FULL, value, of); };
                const uint4 four = make_uint4(from(widths.x), from(widths.y), from(widths.z), from(widths.w));
                u32 *at = place ? to + __shfl_sync(FULL, *place, of) * (sizeof(D) / 4) : nullptr;
                const u32 count = exact_values<D>(a, a.tiles[number - lane + of], four, a.slots + from(source), at);
                own = lane == of ? count : own;
            }
            return own;
        };
        u32 total;
        u32 place = before + scan_warp(each(nullptr), total);
        if (lane == 0) shared.counts[warp] = total;
        __syncthreads();
#pragma unroll
        for (u32 w = 0; w < PLACE_WARPS; w++) before += shared.counts[w], place += w < warp ? shared.counts[w] : 0;
        each(&place);
        __syncthreads();
    }
}

// Everything of a chunk but its planes: a thread takes TILES tiles that follow each other.
__device__ __forceinline__ void place_head(const PlanesArguments &a, u32 number, PlaceShared &shared) {
    constexpr u32 TILES = CHUNK_TILES / PLACE_THREADS, MASKS_FROM = 16;
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    Chunk &written = a.chunks[number];
    const PlacedChunk chunk(written);
    const uint4 none = make_uint4(0, 0, 0, 0), *widths = (const uint4 *)a.widths + chunk.first_tile;
    uint4 all[TILES];
#pragma unroll
    for (u32 k = 0; k < TILES; k++) all[k] = TILES * t + k < chunk.tiles ? widths[TILES * t + k] : none;
    for (u32 i = t; i < sizeof(shared.nibbles) / 4; i += PLACE_THREADS) shared.nibbles[i] = 0;
    const u32 before = __reduce_add_sync(FULL, room_before(a, number));
    u32 own = 0, with = 0;
#pragma unroll
    for (u32 k = 0; k < TILES; k++) {
        const Widths of(all[k]);
        own += of.groups + (of.mask == 0 ? 0 : (all[k].w >> 24 & TWO_MASK_BYTES ? 2u : 1u) << MASKS_FROM);
        with |= of.mask == 0 ? 0 : 1u << (TILES * (lane % 8) + k);
    }
    u32 total;
    u32 start = scan_warp(own, total);
    if (lane == 0) shared.before[warp] = before, shared.counts[warp] = total;
    __syncthreads();
    u64 place = 0;
#pragma unroll
    for (u32 w = 0; w < PLACE_WARPS; w++) place += shared.before[w], start += w < warp ? shared.counts[w] : 0;
    place *= ALIGNMENT;
    const u32 flags = chunk.counts.groups == 0 ? ALL_ZERO : chunk.exact_nodes > 0 ? HAS_EXACT : 0, bytes = chunk.bytes(a);
    if (t == 0) {
        written.offset = place, written.bytes = bytes;
        if (number + 1 == a.chunk_count) a.totals[1] = place + ALIGNMENT * chunk.room(a);
    }
    if (place + bytes > a.capacity) return;
    u8 *out = a.output + place;
    if (t == 0) *(u32 *)out = a.choices[number] | flags << 8;
    if (flags == ALL_ZERO) return;
#pragma unroll
    for (u32 by = 1; by < 8; by *= 2) with |= __shfl_xor_sync(FULL, with, by);
    if (lane % 8 == 0 && TILES * t < chunk.tiles) ((u32 *)out)[1 + TILES * t / 32] = with;
    u8 *mask = out + chunk.layout.masks + (start >> MASKS_FROM);
    u32 group = start & ((1u << MASKS_FROM) - 1);
#pragma unroll
    for (u32 k = 0; k < TILES; k++) {
        const Widths of(all[k]);
        if (of.mask == 0) continue;
        *mask++ = (u8)of.mask;
        if (all[k].w >> 24 & TWO_MASK_BYTES) *mask++ = (u8)(of.mask >> 8);
        const u32 word = group / 8, shift = group % 8 * 4;
        atomicOr(&shared.nibbles[word], (u32)of.nibbles << shift);
        const u64 rest = shift > 0 ? of.nibbles >> (32 - shift) : of.nibbles >> 32;
        if ((u32)rest) atomicOr(&shared.nibbles[word + 1], (u32)rest);
        if (rest >> 32) atomicOr(&shared.nibbles[word + 2], (u32)(rest >> 32));
        group += of.groups;
    }
    // what fills masks up to whole words
    if (t < chunk.layout.widths - chunk.layout.masks - chunk.counts.masks) out[chunk.layout.masks + chunk.counts.masks + t] = 0;
    __syncthreads();
    for (u32 i = t; i < (chunk.layout.planes - chunk.layout.widths) / 4; i += PLACE_THREADS) ((u32 *)(out + chunk.layout.widths))[i] = shared.nibbles[i];
    if (chunk.exact_nodes == 0) return;
    u32 *exact = (u32 *)(out + chunk.layout.exact);
    if (a.value_bytes == 4) place_exact<u32>(a, chunk, exact, shared);
    else place_exact<u64>(a, chunk, exact, shared);
}

// The chunks from number `first_chunk` on, all before which are encoded.
extern "C" __global__ void __launch_bounds__(PLACE_THREADS, 8) assemble_planes(const PlanesArguments a) {
    __shared__ PlaceShared shared;
    const u32 number = a.first_chunk + blockIdx.x / CHUNK_PIECES, piece = blockIdx.x % CHUNK_PIECES;
    if (piece == 0) place_head(a, number, shared);
    else place_planes(a, number, PLACE_THREADS * (piece - 1), shared);
}
