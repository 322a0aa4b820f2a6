// The planes coder, encoding: the bytes of the chunks, at their places.
#include "planes.cuh"

// Chunks start at multiples of this.
constexpr u32 ALIGNMENT = 16;

// Bytes of a chunk, from the counts of its tiles.
__device__ __forceinline__ u32 chunk_bytes(const PlanesArguments &a, const Chunk &chunk) {
    const Counts counts(chunk.cost);
    return counts.groups == 0 ? 4 : Layout(chunk.tile_end - chunk.tile, counts).exact + a.value_bytes * chunk.coded;
}

// The place of chunk `own`, and of the end of all chunks: the sum of what stands before.
__device__ __forceinline__ u64 chunk_place(const PlanesArguments &a, u32 own, u64 &end) {
    u64 before = 0, all = 0;
    for (u32 c = threadIdx.x; c < a.chunk_count; c += blockDim.x) {
        const u32 room = (chunk_bytes(a, a.chunks[c]) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        all += room;
        before += c < own ? room : 0;
    }
    u64 place;
    scan_all(before, place);
    scan_all(all, end);
    return place;
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
        for (u32 g = 0; g < TILE_GROUPS; g++) {
            const u32 width = four[g / 4] >> (8 * (g % 4)) & 0xff;
            if (width == 0) continue;
            mask |= 1u << g;
            nibbles |= (u64)(width - 1) << (4 * groups);
            groups++;
            words += width;
        }
    }
};

// Copies the planes of the warp's 32 tiles, of which lane l has the place and the number of words of number l, and where they are now. Tiles whose planes
// follow each other go together.
__device__ __forceinline__ void copy_planes(u32 *to, const u32 *slots, u32 source, u32 start, u32 words) {
    constexpr u32 BATCH = 6;
    const u32 lane = threadIdx.x % 32, before = __shfl_up_sync(FULL, source + words, 1), end = __shfl_sync(FULL, start + words, 31);
    u32 heads = __ballot_sync(FULL, lane == 0 || source != before);
    while (heads) {
        const u32 head = __ffs((i32)heads) - 1;
        heads &= heads - 1;
        const u32 next = __shfl_sync(FULL, start, heads ? __ffs((i32)heads) - 1 : 0);
        const u32 first = __shfl_sync(FULL, start, head), count = (heads ? next : end) - first;
        const u32 *from = slots + __shfl_sync(FULL, source, head);
        for (u32 i = lane; i < count + lane; i += 32 * BATCH) {
            u32 word[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (i + 32 * k < count) word[k] = from[i + 32 * k];
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (i + 32 * k < count) to[first + i + 32 * k] = word[k];
            }
        }
    }
}

// Whether a group has 16 planes.
__device__ __forceinline__ bool has_wide(const uint4 &widths) { return ((widths.x | widths.y | widths.z | widths.w) & 0x10101010) != 0; }

// The values of the exact nodes of a tile, whose planes are `slot`, by a warp: how many, and their deltas to `to` unless that is null.
template <class D> __device__ u32 exact_values(const PlanesArguments &a, const Tile &tile, const uint4 &widths, const u32 *slot, u32 *to) {
    const u32 lane = threadIdx.x % 32, nodes = a.shape_nodes[tile.shape], four[4] = {widths.x, widths.y, widths.z, widths.w};
    u32 count = 0;
    for (u32 g = 0; g < TILE_GROUPS; g++) {
        const u32 width = four[g / 4] >> (8 * (g % 4)) & 0xff;
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

// Widths of the groups of a chunk, as nibbles.
struct Shared {
    u32 nibbles[CHUNK_TILES * TILE_GROUPS / 8 + 2];
};

// A block a chunk, a thread a tile.
extern "C" __global__ void __launch_bounds__(512, 3) assemble_planes(const PlanesArguments a) {
    __shared__ Shared shared;
    Chunk &chunk = a.chunks[blockIdx.x];
    const u32 t = threadIdx.x, tiles = chunk.tile_end - chunk.tile, bytes = chunk_bytes(a, chunk), exact_nodes = chunk.coded;
    const u32 flags = bytes == 4 ? ALL_ZERO : exact_nodes > 0 ? HAS_EXACT : 0;
    u64 end;
    const u64 place = chunk_place(a, blockIdx.x, end);
    if (t == 0) {
        chunk.offset = place, chunk.bytes = bytes;
        if (blockIdx.x == 0) a.totals[1] = end;
    }
    if (end > a.capacity) return;
    u8 *out = a.output + place;
    if (t == 0) *(u32 *)out = a.choices[blockIdx.x] | flags << 8;
    if (flags == ALL_ZERO) return;
    const u32 number = chunk.tile + t;
    const Widths widths(t < tiles ? *(const uint4 *)(a.widths + (u64)number * TILE_GROUPS) : make_uint4(0, 0, 0, 0));
    const u32 mask_size = widths.mask == 0 ? 0 : mask_bytes(a.shape_nodes[a.tiles[number].shape]);
    for (u32 i = t; i < sizeof(shared.nibbles) / 4; i += blockDim.x) shared.nibbles[i] = 0;
    u64 total;
    // also waits until the nibbles are cleared
    const Counts before(scan_all(counts_of(widths.words, widths.groups, mask_size), total));
    const Counts all(total);
    const Layout layout(tiles, all);
    const u32 with = __ballot_sync(FULL, widths.mask != 0);
    if (t % 32 == 0 && t < tiles) ((u32 *)out)[1 + t / 32] = with;
    if (mask_size > 0) {
        u8 *mask = out + layout.masks + before.masks;
        mask[0] = (u8)widths.mask;
        if (mask_size > 1) mask[1] = (u8)(widths.mask >> 8);
        const u32 word = before.groups / 8, shift = before.groups % 8 * 4;
        atomicOr(&shared.nibbles[word], (u32)widths.nibbles << shift);
        const u64 rest = shift > 0 ? widths.nibbles >> (32 - shift) : widths.nibbles >> 32;
        if ((u32)rest) atomicOr(&shared.nibbles[word + 1], (u32)rest);
        if (rest >> 32) atomicOr(&shared.nibbles[word + 2], (u32)(rest >> 32));
    }
    if (t < layout.widths - layout.masks - all.masks) out[layout.masks + all.masks + t] = 0;
    const u32 source = t < tiles ? a.sources[number] : 0;
    copy_planes((u32 *)(out + layout.planes), a.slots, source, before.words, widths.words);
    __syncthreads();
    for (u32 i = t; i < (layout.planes - layout.widths) / 4; i += blockDim.x) ((u32 *)(out + layout.widths))[i] = shared.nibbles[i];
    if (exact_nodes == 0) return;
    u32 *exact = (u32 *)(out + layout.exact);
    if (a.value_bytes == 4) put_exact<u32>(a, number, widths.all, source, exact);
    else put_exact<u64>(a, number, widths.all, source, exact);
}
