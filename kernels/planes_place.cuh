// The planes coder, encoding: the bytes of the chunks, at their places. A block of PLACE_THREADS threads a piece of a chunk. Other blocks of the same launch may have
// written what is read here: nothing of it comes from a cache that may be older.
#pragma once
#include "planes.cuh"

// Chunks start at multiples of this.
constexpr u32 ALIGNMENT = 16;
// Threads of a block, and warps.
constexpr u32 PLACE_THREADS = 128, PLACE_WARPS = PLACE_THREADS / 32;
// Pieces of a chunk: everything but planes; and the planes of PIECE_TILES tiles each.
constexpr u32 PIECE_TILES = 256, CHUNK_PIECES = 1 + CHUNK_TILES / PIECE_TILES;

// Shared memory that a piece takes, but for the words that it copies.
struct PlaceShared {
    // Of each warp: room of the chunks before this one, in units of ALIGNMENT; words, or groups and bytes of masks, of its tiles; words of tiles before.
    u32 before[PLACE_WARPS], counts[PLACE_WARPS], earlier[PLACE_WARPS];
};
// Words of the widths of a chunk's groups, as nibbles.
constexpr u32 NIBBLE_WORDS = CHUNK_TILES * TILE_GROUPS / 8 + 2;

#ifdef BLOCKMGARD_EMULATOR
template <class V> __device__ __forceinline__ V fresh(const V *p) { return *p; }
#else
template <class V> __device__ __forceinline__ V fresh(const V *p) { return __ldcg(p); }
#endif

// The chunk as it is known once all its tiles are encoded.
struct PlacedChunk {
    u32 first_tile, tiles, exact_nodes;
    Counts counts;
    Layout layout;
    __device__ __forceinline__ explicit PlacedChunk(const Chunk &chunk)
        : first_tile(chunk.tile), tiles(chunk.tile_end - chunk.tile), exact_nodes(fresh(&chunk.coded)), counts(fresh(&chunk.cost)), layout(tiles, counts) {}
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

// Copies the planes of 32 tiles, of which lane l has the place and the number of words of number l, and where they are now, to shared memory, as far as they lie in
// the WINDOW words from place `first` on; they are there after `copies_arrived`. Tiles whose planes follow each other go together.
template <u32 WINDOW> __device__ __forceinline__ void copy_planes(u32 *window, u32 first, const u32 *slots, u32 source, u32 start, u32 words) {
    const u32 lane = threadIdx.x % 32, before = __shfl_up_sync(FULL, source + words, 1), last = __shfl_sync(FULL, start + words, 31);
    u32 heads = __ballot_sync(FULL, lane == 0 || source != before);
    while (heads) {
        const u32 head = __ffs((i32)heads) - 1;
        heads &= heads - 1;
        const u32 begin = __shfl_sync(FULL, start, head), next = __shfl_sync(FULL, start, heads ? __ffs((i32)heads) - 1 : 0), end = heads ? next : last;
        const u32 *from = slots + __shfl_sync(FULL, source, head);
        const u32 skipped = max(first, begin) - begin, count = max(min(end, first + WINDOW), begin) - begin;
        u32 *to = window + (i32)(begin - first);
#pragma unroll 4
        for (u32 i = skipped + lane; i < count; i += 32) copy_ahead<4>(to + i, from + i);
    }
}

// The planes of PIECE_TILES tiles of a chunk from number `first` on. `window`: WINDOW words of shared memory, where 16 bytes start.
template <u32 WINDOW>
__device__ __forceinline__ void place_planes(const PlanesArguments &a, u32 number, u32 first, PlaceShared &shared, u32 *window) {
    constexpr u32 TILES = PIECE_TILES / PLACE_THREADS;
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    const PlacedChunk chunk(a.chunks[number]);
    if (first >= chunk.tiles || chunk.counts.groups == 0) return;
    const uint4 none = make_uint4(0, 0, 0, 0), *widths = (const uint4 *)a.widths + chunk.first_tile;
    u32 words[TILES], source[TILES], start[TILES];
#pragma unroll
    for (u32 k = 0; k < TILES; k++) {
        const u32 tile = first + (warp * TILES + k) * 32 + lane;
        words[k] = words_of(tile < chunk.tiles ? fresh(widths + tile) : none);
        source[k] = tile < chunk.tiles ? fresh(a.sources + chunk.first_tile + tile) : 0;
    }
    u32 earlier = 0;
    for (u32 i = t; i < first; i += PLACE_THREADS) earlier += words_of(fresh(widths + i));
    u32 before = room_before(a, number), total = 0;
    scan_warp(before, before), scan_warp(earlier, earlier);
#pragma unroll
    for (u32 k = 0; k < TILES; k++) {
        u32 all;
        start[k] = total + scan_warp(words[k], all);
        total += all;
    }
    if (lane == 0) shared.before[warp] = before, shared.counts[warp] = total, shared.earlier[warp] = earlier;
    __syncthreads();
    u64 place = 0;
    u32 count = 0, words_before = 0;
#pragma unroll
    for (u32 w = 0; w < PLACE_WARPS; w++) {
        place += shared.before[w], words_before += shared.earlier[w], count += shared.counts[w];
#pragma unroll
        for (u32 k = 0; k < TILES; k++) start[k] += w < warp ? shared.counts[w] : 0;
    }
    place *= ALIGNMENT;
    if (place + chunk.bytes(a) > a.capacity) return;
    // whole accesses of 16 bytes, and single words before and behind them
    u32 *to = (u32 *)(a.output + place + chunk.layout.planes) + words_before;
    const u32 shift = (u32)((u64)to / 4 % 4);
    to -= shift, count += shift;
#pragma unroll 1
    for (u32 from = 0; from < count; from += WINDOW) {
        // places in the window count from the word where 16 bytes start
#pragma unroll
        for (u32 k = 0; k < TILES; k++) copy_planes<WINDOW>(window, from, a.slots, source[k], start[k] + shift, words[k]);
        copies_arrived();
        __syncthreads();
        const u32 begin = from == 0 ? shift : 0, end = min(count - from, WINDOW);
        for (u32 i = t; 4 * i < end; i += PLACE_THREADS) {
            if (4 * i >= begin && 4 * i + 4 <= end) {
                ((uint4 *)(to + from))[i] = ((const uint4 *)window)[i];
            } else {
                for (u32 w = max(4 * i, begin); w < min(4 * i + 4, end); w++) to[from + w] = window[w];
            }
        }
        __syncthreads();
    }
}

// Whether a group has 16 planes.
__device__ __forceinline__ bool has_wide(const uint4 &widths) { return ((widths.x | widths.y | widths.z | widths.w) & 0x10101010) != 0; }

// The values of the exact nodes of a tile, whose planes are `slot`, by a warp: how many, and their deltas to `to` unless that is null.
template <class D> __device__ u32 exact_values(const PlanesArguments &a, const Tile &tile, const uint4 &widths, const u32 *slot, u32 *to) {
    const u32 lane = threadIdx.x % 32, nodes = a.shape_nodes[tile.shape], four[4] = {widths.x, widths.y, widths.z, widths.w};
    u32 count = 0;
    for (u32 g = 0; g < TILE_GROUPS; g++) {
        const u32 width = four[g / 4] >> (8 * (g % 4)) & 0x1f;
        const u32 exact = width < 16 ? 0 : __reduce_and_sync(FULL, lane < 16 ? fresh(slot + lane) : FULL);
        slot += width;
        if (exact == 0) continue;
        const u32 node = GROUP * g + lane;
        if (to && node < nodes && exact >> lane & 1) {
            const D delta = fresh((const D *)a.delta + tile.start + node);
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
        const uint4 widths = exists ? fresh((const uint4 *)a.widths + number) : none;
        const u32 source = exists ? fresh(a.sources + number) : 0;
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

// Everything of a chunk but its planes: a thread takes TILES tiles that follow each other.
__device__ __forceinline__ void place_head(const PlanesArguments &a, u32 number, PlaceShared &shared, u32 *nibbles) {
    constexpr u32 TILES = CHUNK_TILES / PLACE_THREADS, MASKS_FROM = 16;
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    Chunk &written = a.chunks[number];
    const PlacedChunk chunk(written);
    const uint4 none = make_uint4(0, 0, 0, 0), *widths = (const uint4 *)a.widths + chunk.first_tile;
    uint4 all[TILES];
#pragma unroll
    for (u32 k = 0; k < TILES; k++) all[k] = TILES * t + k < chunk.tiles ? fresh(widths + TILES * t + k) : none;
    for (u32 i = t; i < NIBBLE_WORDS; i += PLACE_THREADS) nibbles[i] = 0;
    u32 before = room_before(a, number);
    scan_warp(before, before);
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
        atomicOr(&nibbles[word], (u32)of.nibbles << shift);
        const u64 rest = shift > 0 ? of.nibbles >> (32 - shift) : of.nibbles >> 32;
        if ((u32)rest) atomicOr(&nibbles[word + 1], (u32)rest);
        if (rest >> 32) atomicOr(&nibbles[word + 2], (u32)(rest >> 32));
        group += of.groups;
    }
    // what fills masks up to whole words
    if (t < chunk.layout.widths - chunk.layout.masks - chunk.counts.masks) out[chunk.layout.masks + chunk.counts.masks + t] = 0;
    __syncthreads();
    for (u32 i = t; i < (chunk.layout.planes - chunk.layout.widths) / 4; i += PLACE_THREADS) ((u32 *)(out + chunk.layout.widths))[i] = nibbles[i];
    if (chunk.exact_nodes == 0) return;
    u32 *exact = (u32 *)(out + chunk.layout.exact);
    if (a.value_bytes == 4) place_exact<u32>(a, chunk, exact, shared);
    else place_exact<u64>(a, chunk, exact, shared);
}

// Piece `piece` of a chunk, all before which are encoded.
template <u32 WINDOW> __device__ __forceinline__ void place_piece(const PlanesArguments &a, u32 number, u32 piece, PlaceShared &shared, u32 *window) {
    static_assert(WINDOW >= NIBBLE_WORDS && WINDOW % 4 == 0, "room for the nibbles, and whole accesses");
    if (piece == 0) place_head(a, number, shared, window);
    else place_planes<WINDOW>(a, number, PIECE_TILES * (piece - 1), shared, window);
}
