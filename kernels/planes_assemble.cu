// The planes coder, encoding: the places of the chunks, and their bytes.
#include "planes.cuh"

// Chunks start at multiples of this.
constexpr u32 ALIGNMENT = 16;

// One block: sizes and places of all chunks, from the counts of their tiles.
extern "C" __global__ void __launch_bounds__(1024) place_planes(const PlanesArguments a) {
    const u32 share = (a.chunk_count + blockDim.x - 1) / blockDim.x;
    const u32 begin = min(threadIdx.x * share, a.chunk_count), end = min(begin + share, a.chunk_count);
    u64 sum = 0;
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        const Counts counts(chunk.cost);
        chunk.flags = counts.groups == 0 ? ALL_ZERO : chunk.coded > 0 ? HAS_EXACT : 0;
        chunk.bytes = counts.groups == 0 ? 4 : Layout(chunk.tile_end - chunk.tile, counts).exact + a.value_bytes * chunk.coded;
        sum += (chunk.bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    u64 total, at = scan_all(sum, total);
    for (u32 c = begin; c < end; c++) {
        a.chunks[c].offset = at;
        at += (a.chunks[c].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (threadIdx.x == 0) a.totals[1] = total;
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

// Copies the planes of the chunk's tiles: a warp several tiles at a time, two words a lane of each.
__device__ __forceinline__ void copy_planes(u32 *to, const u32 *slots, const u32 *starts, u32 tiles) {
    constexpr u32 BATCH = 4, EACH = 2;
    const u32 lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (u32 first = threadIdx.x / 32; first < tiles; first += BATCH * warps) {
        u32 start[BATCH], count[BATCH], most = 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const u32 tile = min(first + k * warps, tiles);
            start[k] = starts[tile], count[k] = tile < tiles ? starts[tile + 1] - start[k] : 0;
            most = max(most, count[k]);
        }
        const u32 *from = slots + first * TILE_WORDS;
        for (u32 at = lane; at < most + lane; at += 32 * EACH) {
            u32 word[BATCH][EACH];
#pragma unroll
            for (u32 k = 0; k < BATCH * EACH; k++) {
                const u32 i = at + k % EACH * 32;
                if (i < count[k / EACH]) word[k / EACH][k % EACH] = from[k / EACH * warps * TILE_WORDS + i];
            }
#pragma unroll
            for (u32 k = 0; k < BATCH * EACH; k++) {
                const u32 i = at + k % EACH * 32;
                if (i < count[k / EACH]) to[start[k / EACH] + i] = word[k / EACH][k % EACH];
            }
        }
    }
}

// The values of the exact nodes of a tile, whose planes are `slot`, by a warp: how many, and their deltas to `to` unless that is null.
template <class D> __device__ u32 exact_values(const PlanesArguments &a, const Tile &tile, const uint4 &widths, const u32 *slot, u32 *to) {
    const u32 lane = threadIdx.x % 32, nodes = a.shape_nodes[tile.shape], four[4] = {widths.x, widths.y, widths.z, widths.w};
    u32 count = 0;
    // no byte is 16
    if (((widths.x | widths.y | widths.z | widths.w) & 0x10101010) == 0) return 0;
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

// What the threads of a block share of a chunk: the words of planes before each tile, exact values before each, widths as nibbles.
struct Shared {
    u32 starts[CHUNK_TILES + 1], exact[CHUNK_TILES];
    u32 nibbles[CHUNK_TILES * TILE_GROUPS / 8 + 2];
};

template <class D> __device__ void put_exact(const PlanesArguments &a, const Chunk &chunk, Shared &shared, u32 *to) {
    const u32 warp = threadIdx.x / 32, tiles = chunk.tile_end - chunk.tile;
    const auto each = [&](u32 t, u32 *place) {
        const u64 number = chunk.tile + t;
        return exact_values<D>(a, a.tiles[number], *(const uint4 *)(a.widths + number * TILE_GROUPS), a.slots + number * TILE_WORDS, place);
    };
    for (u32 t = warp; t < tiles; t += blockDim.x / 32) {
        const u32 count = each(t, nullptr);
        if (threadIdx.x % 32 == 0) shared.exact[t] = count;
    }
    __syncthreads();
    u64 total;
    const u32 before = (u32)scan_all(threadIdx.x < tiles ? shared.exact[threadIdx.x] : 0, total);
    if (threadIdx.x < tiles) shared.exact[threadIdx.x] = before;
    __syncthreads();
    for (u32 t = warp; t < tiles; t += blockDim.x / 32) each(t, to + shared.exact[t] * (sizeof(D) / 4));
}

// A block a chunk, a thread a tile.
extern "C" __global__ void __launch_bounds__(512, 3) assemble_planes(const PlanesArguments a) {
    __shared__ Shared shared;
    if (a.totals[1] > a.capacity) return;
    const Chunk &chunk = a.chunks[blockIdx.x];
    const u32 t = threadIdx.x, tiles = chunk.tile_end - chunk.tile;
    u8 *out = a.output + chunk.offset;
    if (t == 0) *(u32 *)out = a.choices[blockIdx.x] | chunk.flags << 8;
    if (chunk.flags == ALL_ZERO) return;
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
    if (t <= tiles) shared.starts[t] = before.words;
    if (t == 0) shared.starts[tiles] = all.words;
    __syncthreads();
    for (u32 i = t; i < (layout.planes - layout.widths) / 4; i += blockDim.x) ((u32 *)(out + layout.widths))[i] = shared.nibbles[i];
    copy_planes((u32 *)(out + layout.planes), a.slots + (u64)chunk.tile * TILE_WORDS, shared.starts, tiles);
    if (chunk.coded == 0) return;
    u32 *exact = (u32 *)(out + layout.exact);
    if (a.value_bytes == 4) put_exact<u32>(a, chunk, shared, exact);
    else put_exact<u64>(a, chunk, shared, exact);
}
