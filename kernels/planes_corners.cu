// Whole tiles of the corner arrays, of several arrays in one launch. There are few, and each array waits for the next smaller one, so that the time of a single
// tile counts: a warp a tile. A block takes four at a time.
#include "planes_node.cuh"

// Arrays of a launch at most.
constexpr u32 MOST_LEVELS = 8;

// What is done besides where a launch takes all corner arrays, all of whose tiles are whole.
template <class T> struct CornerChain {
    // The last array, and its tile.
    T *last;
    // Encoding: the frame.
    const T *frame;
    // Encoding: the chunks as they are before any work, and what is counted from 0 by the kernels that follow.
    const u32 *fresh;
    u32 *counts;
    u32 n[3];
    // Words of all chunks, and of those of corner arrays; words of the counts; whether there is anything of all this.
    u32 chunk_words, corner_words, count_words, choice, last_tile, is_whole, unused;
};
template <class T> struct CornerTilesArguments {
    const Quantizer<T> *quantizers;
    // All 0 between launches: how often blocks have asked for entries, for how many the values are there, and blocks that are done.
    u32 *turns, *loaded, *done;
    // Of each array, COUNT_WORDS apart: how many entries are rebuilt.
    u32 *rebuilt;
    u32 level_count, unused;
    CornerChain<T> chain;
    PlanesArguments planes;
    // The smallest first. Their nodes are spaced in different ways, so that each has weights of its own.
    CornerLevel<T> levels[MOST_LEVELS];
    AxisWeights<T> weights[MOST_LEVELS];
};
// Counts that many blocks look at stand in lines of their own.
constexpr u32 COUNT_WORDS = 32;

// Where a node of the array that lies `up` arrays behind the frame is in the frame, on an axis of n nodes. All arrays between have whole tiles.
__device__ __forceinline__ u32 in_frame(u32 node, u32 up, u32 n) {
#pragma unroll 1
    for (u32 i = 0; i < up; i++) node = (node >> 1) * SIDE + (node & 1) * (SIDE - 1);
    return min(node, n - 1);
}

// The tile's values, from the frame.
template <class T> __device__ __forceinline__ void load_from_frame(const CornerChain<T> &chain, const NodeTile<T, true> &work, const Quad &quad, u32 tile) {
    typedef NodeTile<T, true> Nodes;
    const u32 lane = threadIdx.x % 32, up = work.a.stage;
    const u64 plane = (u64)chain.n[1] * chain.n[2];
    const T *from = chain.frame + in_frame(quad.at[2] + SIDE * tile + lane % SIDE, up, chain.n[2]);
    T value[SIDE * SIDE * SIDE / 32];
#pragma unroll
    for (u32 y = 0; y < 2; y++) {
        const T *row = from + (u64)in_frame(quad.at[1] + 4 * y + lane / SIDE, up, chain.n[1]) * chain.n[2];
#pragma unroll
        for (u32 z = 0; z < SIDE; z++) value[2 * z + y] = row[in_frame(quad.at[0] + z, up, chain.n[0]) * plane];
    }
#pragma unroll
    for (u32 i = 0; i < SIDE * SIDE * SIDE / 32; i++) work.v[i / 2 * Nodes::PLANE + (4 * (i % 2) + lane / SIDE) * Nodes::ROW + lane % SIDE] = value[i];
}

// Waits until `count` entries of an array are rebuilt: what was written for them can be read then.
__device__ __forceinline__ void wait_for(const u32 *rebuilt, u32 count) {
#ifndef BLOCKMGARD_EMULATOR
    for (u32 is = 0; true; __nanosleep(20)) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is) : "l"(rebuilt) : "memory");
        if (is == count) return;
    }
#endif
}

// Makes what the kernels of the frame count, and the frame's chunks, ready.
template <class T> __device__ __forceinline__ void reset(const CornerTilesArguments<T> &a) {
    const CornerChain<T> &chain = a.chain;
    const u32 most = max(max(chain.chunk_words, chain.count_words), a.planes.chunk_count);
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += gridDim.x * blockDim.x) {
        if (i >= chain.corner_words && i < chain.chunk_words) ((u32 *)a.planes.chunks)[i] = chain.fresh[i];
        if (i < a.planes.chunk_count) a.planes.choices[i] = (u8)chain.choice;
        if (i < chain.count_words) chain.counts[i] = 0;
    }
}

// The last array, whose nodes need no others, and encoding, what has to be done before tiles of corner arrays.
template <class T, bool ENCODE> __device__ __forceinline__ void last_array(const CornerTilesArguments<T> &a) {
    const CornerChain<T> &chain = a.chain;
    typename Real<T>::Bits *delta = (typename Real<T>::Bits *)a.planes.delta;
    const u32 i = threadIdx.x;
    if (ENCODE) {
        for (u32 k = i; k < chain.corner_words; k += blockDim.x) ((u32 *)a.planes.chunks)[k] = chain.fresh[k];
        const u32 up = a.level_count + 1;
        if (i < 8) {
            const u64 row = (u64)in_frame(i >> 2, up, chain.n[0]) * chain.n[1] + in_frame(i >> 1 & 1, up, chain.n[1]);
            T u = chain.frame[row * chain.n[2] + in_frame(i & 1, up, chain.n[2])];
            i16 symbol;
            if (!quantize(u, (T)0, a.quantizers[0], symbol)) delta[i] = delta_of(u, (T)0);
            a.planes.q[i] = symbol;
            chain.last[i] = u;
        }
    } else if (i < 8) {
        const i16 symbol = a.planes.q[i];
        chain.last[i] = symbol == EXACT ? apply_delta<T>(delta[i], (T)0) : Real<T>::fma((T)symbol, a.quantizers[0].step, (T)0);
    }
    __syncthreads();
    if (ENCODE && i / 32 == 1) pack_tile(a.planes, chain.last_tile);
}

// Blocks take turns. An entry waits for those of the array before, all of which were asked for before it by blocks that are at work.
template <class T, bool ENCODE> __device__ __forceinline__ void corner_tiles(const CornerTilesArguments<T> &a) {
    __shared__ AxisWeights<T> weights;
    __shared__ T values[4][NodeTile<T, ENCODE>::PLACES];
    __shared__ __align__(16) char symbols[WARP_BYTES];
    __shared__ u32 planes[ENCODE ? 1 : 4 * TILE_WORDS];
    __shared__ u32 turn;
    const u32 tile = threadIdx.x / 32, lane = threadIdx.x % 32, all = a.levels[a.level_count - 1].end;
    while (true) {
        // also before symbols and weights of the last turn are overwritten
        __syncthreads();
        if (threadIdx.x == 0) turn = atomicAdd(a.turns, 1u);
        __syncthreads();
        if (turn >= all) break;
        if (turn == 0 && a.chain.is_whole) last_array<T, ENCODE>(a);
        u32 k = 0;
        while (turn >= a.levels[k].end) k++;
        const CornerLevel<T> &level = a.levels[k];
        for (u32 i = threadIdx.x; i < sizeof(weights) / sizeof(T); i += blockDim.x) ((T *)&weights)[i] = ((const T *)&a.weights[k])[i];
        const u32 before = k == 0 ? 0 : a.levels[k - 1].end, needed = k == 0 ? 0 : before - (k == 1 ? 0 : a.levels[k - 2].end);
        const Quad quad = level.list[turn - before];
        const bool exists = tile < quad.count();
        const Tile *tiles = a.planes.tiles + quad.number();
        if (!ENCODE) {
            const TileRecord none = {0, 0, 0};
            if (exists) {
                const TileRecord record = a.planes.records[quad.number() + tile];
                const u32 *from = (const u32 *)a.planes.output + record.planes;
                for (u32 w = lane; w < record.words(); w += 32) planes[tile * TILE_WORDS + w] = from[w];
            }
            const TileRecord record = lane % 4 < quad.count() ? a.planes.records[quad.number() + lane % 4] : none;
            __syncthreads();
            if (tile == 0) take_planes(planes, record, symbols);
        }
        NodeTile<T, ENCODE> work = {level, weights, a.quantizers[0], (typename Real<T>::Bits *)a.planes.delta + tiles[exists ? tile : 0].start, values[tile], (u16 *)(symbols + tile * SYMBOL_BYTES), 0};
        if constexpr (ENCODE) {
            if (exists && level.values) work.load_values(quad, tile);
            if (!level.values) {
                // the many values of the last array would be in the way of the others, for which all wait
                if (k > 0 && k + 1 == a.level_count) {
                    if (threadIdx.x == 0) wait_for(a.loaded, before);
                    __syncthreads();
                }
                if (exists) load_from_frame(a.chain, work, quad, tile);
                __syncwarp();
                if (tile == 0 && lane == 0 && k + 1 < a.level_count) atomicAdd(a.loaded, 1u);
            }
            work.fill_up();
        }
        if (threadIdx.x == 0 && k > 0) wait_for(a.rebuilt + COUNT_WORDS * a.levels[k - 1].stage, needed);
        __syncthreads();
        if (exists) {
            work.load_corners(quad, tile);
            __syncwarp();
            work.run();
            work.store_values(quad, tile);
        }
        __syncthreads();
        if (threadIdx.x == 0 && k + 1 < a.level_count) {
            __threadfence();
            atomicAdd(a.rebuilt + COUNT_WORDS * level.stage, 1u);
        }
        if (!ENCODE) continue;
        if (exists && work.exact > 0) atomicAdd(&a.planes.chunks[tiles->chunk].coded, work.exact);
        if (tile == 0) store_planes(a.planes, quad, tiles->chunk, symbols, ~0u << quad.count());
    }
    if (ENCODE && a.chain.is_whole) reset(a);
    // the last block leaves all counts of this kernel as it found them
    if (threadIdx.x > 0 || atomicAdd(a.done, 1u) + 1 < gridDim.x) return;
    *a.done = *a.turns = *a.loaded = 0;
    for (u32 k = 0; k < a.level_count; k++) a.rebuilt[COUNT_WORDS * a.levels[k].stage] = 0;
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, false>(a); }
