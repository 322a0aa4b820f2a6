// The planes coder, encoding: the bytes of the chunks, at their places.
#include "planes.cuh"

// Chunks start at multiples of this.
constexpr u32 ALIGNMENT = 16;

// Threads of a block, and warps: a thread a tile of a chunk.
constexpr u32 THREADS = CHUNK_TILES, WARPS = THREADS / 32;

// Bytes of a chunk, from the counts of its tiles.
__device__ __forceinline__ u32 chunk_bytes(const PlanesArguments &a, const Chunk &chunk) {
    const Counts counts(chunk.cost);
    return counts.groups == 0 ? 4 : Layout(chunk.tile_end - chunk.tile, counts).exact + a.value_bytes * chunk.coded;
}

// The planes of a tile's groups.
struct Widths {
    uint4 all;
    u32 mask;
    u64 nibbles;
    u32 groups, words;

    __device__ __forceinline__ explicit Widths(const uint4 &all) : all(all), mask(0), nibbles(0), groups(0), words(0) {
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
                words += width;
            }
            nibbles |= (u64)packed << (4 * groups);
            groups += count;
        }
    }
};

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

// Whether a group has 16 planes.
__device__ __forceinline__ bool has_wide(const uint4 &widths) { return ((widths.x | widths.y | widths.z | widths.w) & 0x10101010) != 0; }

// The values of the exact nodes of a tile, whose planes are `slot`, by a warp: how many, and their deltas to `to` unless that is null.
template <class D> __device__ u32 exact_values(const PlanesArguments &a, const Tile &tile, const uint4 &widths, const u32 *slot, u32 *to) {
    const u32 lane = threadIdx.x % 32, nodes = a.shape_nodes[tile.shape], four[4] = {widths.x, widths.y, widths.z, widths.w};
    u32 count = 0;
#pragma unroll
    for (u32 i = 0; i < TILE_GROUPS / 4; i++) {
        // the planes of four groups at once
        u32 planes[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 width = four[i] >> (8 * k) & 0x1f;
            planes[k] = width < 16 ? 0 : lane < 16 ? slot[lane] : FULL;
            slot += width;
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 exact = __reduce_and_sync(FULL, planes[k]), node = GROUP * (4 * i + k) + lane;
            if (exact == 0) continue;
            if (to && node < nodes && exact >> lane & 1) {
                const D delta = ((const D *)a.delta)[tile.start + node];
                u32 *at = to + (count + __popc(exact & ((1u << lane) - 1))) * (sizeof(D) / 4);
                for (u32 j = 0; j < sizeof(D) / 4; j++) at[j] = (u32)((u64)delta >> (32 * j));
            }
            count += __popc(exact);
        }
    }
    return count;
}

// The exact values of the chunk's tiles, of which each thread has one: its widths, and where its planes are.
template <class D> __device__ void put_exact(const PlanesArguments &a, u32 number, const uint4 &widths, u32 source, u32 *to) {
    const u32 lane = threadIdx.x % 32;
    // Goes through the tiles of the warp that may have some: how many the thread's own has, all of them stored where `place` says.
    const auto each = [&](u32 *place) {
        u32 own = 0;
        for (u32 rest = __ballot_sync(FULL, has_wide(widths)); rest; rest &= rest - 1) {
            const u32 t = __ffs((i32)rest) - 1;
            const auto from = [&](u32 value) { return __shfl_sync(FULL, value, t); };
            const uint4 of = make_uint4(from(widths.x), from(widths.y), from(widths.z), from(widths.w));
            u32 *at = place ? to + __shfl_sync(FULL, *place, t) * (sizeof(D) / 4) : nullptr;
            const u32 count = exact_values<D>(a, a.tiles[number - lane + t], of, a.slots + from(source), at);
            own = lane == t ? count : own;
        }
        return own;
    };
    u64 total;
    u32 place = (u32)scan_all(each(nullptr), total);
    each(&place);
}

struct Shared {
    // Widths of the groups of a chunk, as nibbles.
    u32 nibbles[CHUNK_TILES * TILE_GROUPS / 8 + 2];
    // Of each warp: room for the chunks before this one, and for all, in units of ALIGNMENT; words and groups of its tiles; bytes of their masks.
    u32 before[WARPS], all[WARPS], counts[WARPS], masks[WARPS];
};
// Words in the low bits, groups from here on.
constexpr u32 PAIR_AT = 18;
static_assert(CHUNK_TILES * TILE_WORDS < 1u << PAIR_AT && CHUNK_TILES * TILE_GROUPS < 1u << (32 - PAIR_AT), "both fit");

// A block a chunk, a thread a tile. All that it needs to know first is asked for at once, and between two barriers all sums are made.
extern "C" __global__ void __launch_bounds__(THREADS, 4) assemble_planes(const PlanesArguments a) {
    __shared__ Shared shared;
    kernels_before_are_done();
    Chunk &chunk = a.chunks[blockIdx.x];
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32, tiles = chunk.tile_end - chunk.tile, number = chunk.tile + t;
    const bool exists = t < tiles;
    const uint4 none = make_uint4(0, 0, 0, 0), stored = exists ? *(const uint4 *)(a.widths + (u64)number * TILE_GROUPS) : none;
    const u32 source = exists ? a.sources[number] : 0;
    for (u32 i = t; i < sizeof(shared.nibbles) / 4; i += THREADS) shared.nibbles[i] = 0;
    u32 before = 0, all = 0;
    for (u32 c = t; c < a.chunk_count; c += THREADS) {
        const u32 room = (chunk_bytes(a, a.chunks[c]) + ALIGNMENT - 1) / ALIGNMENT;
        all += room;
        before += c < blockIdx.x ? room : 0;
    }
    const Widths widths(stored);
    const u32 own = widths.words | widths.groups << PAIR_AT, mask_size = widths.mask == 0 ? 0 : stored.w >> 24 & TWO_MASK_BYTES ? 2 : 1;
    u32 pair = own;
#pragma unroll
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(FULL, pair, by);
        pair += lane >= by ? other : 0;
    }
    const u32 with = __ballot_sync(FULL, mask_size > 0), twice = __ballot_sync(FULL, mask_size > 1), lower = (1u << lane) - 1;
    before = __reduce_add_sync(FULL, before), all = __reduce_add_sync(FULL, all);
    if (lane == 31) shared.before[warp] = before, shared.all[warp] = all, shared.counts[warp] = pair, shared.masks[warp] = __popc(with) + __popc(twice);
    __syncthreads();
    const auto of_all = [&](const u32 *sums) { return __reduce_add_sync(FULL, lane < WARPS ? sums[lane] : 0); };
    const auto of_lower = [&](const u32 *sums) { return __reduce_add_sync(FULL, lane < warp ? sums[lane] : 0); };
    const u64 place = (u64)ALIGNMENT * of_all(shared.before), end = (u64)ALIGNMENT * of_all(shared.all);
    const u32 pairs = of_all(shared.counts), masks = of_all(shared.masks);
    pair += of_lower(shared.counts) - own;
    const u32 mask_at = of_lower(shared.masks) + __popc(with & lower) + __popc(twice & lower);
    const u32 words_before = pair & ((1u << PAIR_AT) - 1), groups_before = pair >> PAIR_AT;
    const Layout layout(tiles, Counts(counts_of(pairs & ((1u << PAIR_AT) - 1), pairs >> PAIR_AT, masks)));
    const u32 exact_nodes = chunk.coded, flags = pairs == 0 ? ALL_ZERO : exact_nodes > 0 ? HAS_EXACT : 0;
    if (t == 0) {
        chunk.offset = place, chunk.bytes = flags == ALL_ZERO ? 4 : layout.exact + a.value_bytes * exact_nodes;
        if (blockIdx.x == 0) a.totals[1] = end;
    }
    if (end > a.capacity) return;
    u8 *out = a.output + place;
    if (t == 0) *(u32 *)out = a.choices[blockIdx.x] | flags << 8;
    if (flags == ALL_ZERO) return;
    if (lane == 0 && exists) ((u32 *)out)[1 + warp] = with;
    if (mask_size > 0) {
        u8 *mask = out + layout.masks + mask_at;
        mask[0] = (u8)widths.mask;
        if (mask_size > 1) mask[1] = (u8)(widths.mask >> 8);
        const u32 word = groups_before / 8, shift = groups_before % 8 * 4;
        atomicOr(&shared.nibbles[word], (u32)widths.nibbles << shift);
        const u64 rest = shift > 0 ? widths.nibbles >> (32 - shift) : widths.nibbles >> 32;
        if ((u32)rest) atomicOr(&shared.nibbles[word + 1], (u32)rest);
        if (rest >> 32) atomicOr(&shared.nibbles[word + 2], (u32)(rest >> 32));
    }
    if (t < layout.widths - layout.masks - masks) out[layout.masks + masks + t] = 0;
    copy_planes((u32 *)(out + layout.planes), a.slots, source, words_before, widths.words);
    __syncthreads();
    for (u32 i = t; i < (layout.planes - layout.widths) / 4; i += THREADS) ((u32 *)(out + layout.widths))[i] = shared.nibbles[i];
    if (exact_nodes == 0) return;
    u32 *exact = (u32 *)(out + layout.exact);
    if (a.value_bytes == 4) put_exact<u32>(a, number, widths.all, source, exact);
    else put_exact<u64>(a, number, widths.all, source, exact);
}
