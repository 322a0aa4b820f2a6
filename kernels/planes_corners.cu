// The tiles of the corner arrays, of several arrays in one launch. There are few, and each array waits for the next smaller one, so that the time of a single
// tile counts: a warp a tile. A block takes four at a time.
#include "planes_node.cuh"

// Arrays of a launch at most.
constexpr u32 MOST_LEVELS = 8;

// What is done besides where a launch takes all corner arrays of a frame.
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
    // By number, of tiles that are not whole.
    const BorderShape<T> *shapes;
    u32 level_count, unused;
    CornerChain<T> chain;
    PlanesArguments planes;
    // The smallest first. Their nodes are spaced in different ways, so that each has weights of its own.
    CornerLevel<T> levels[MOST_LEVELS];
    AxisWeights<T> weights[MOST_LEVELS];
};
// Counts that many blocks look at stand in lines of their own.
constexpr u32 COUNT_WORDS = 32;

// Where a node of the array that lies `up` arrays behind the frame is in the frame, on an axis of n nodes; beyond the last one is the last one.
__device__ __forceinline__ u32 in_frame(u32 node, u32 up, u32 n) {
#pragma unroll 1
    for (u32 i = 0; i < up; i++) node = (node >> 1) * SIDE + (node & 1) * (SIDE - 1);
    return min(node, n - 1);
}

// The values of a tile of array `up` that begins at `at`, from the frame, to memory laid out as that of Nodes; those of eight nodes on each axis.
template <class Nodes, class T> __device__ __forceinline__ void load_from_frame(const CornerChain<T> &chain, u32 up, const u32 (&at)[3], T *v) {
    const u32 lane = threadIdx.x % 32;
    const u64 plane = (u64)chain.n[1] * chain.n[2];
    const T *from = chain.frame + in_frame(at[2] + lane % SIDE, up, chain.n[2]);
    T value[SIDE * SIDE * SIDE / 32];
#pragma unroll
    for (u32 y = 0; y < 2; y++) {
        const T *row = from + (u64)in_frame(at[1] + 4 * y + lane / SIDE, up, chain.n[1]) * chain.n[2];
#pragma unroll
        for (u32 z = 0; z < SIDE; z++) value[2 * z + y] = row[in_frame(at[0] + z, up, chain.n[0]) * plane];
    }
#pragma unroll
    for (u32 i = 0; i < SIDE * SIDE * SIDE / 32; i++) v[i / 2 * Nodes::PLANE + (4 * (i % 2) + lane / SIDE) * Nodes::ROW + lane % SIDE] = value[i];
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

// The last array, whose nodes need no others, and encoding, what has to be done before tiles of corner arrays are; by a warp.
template <class T, bool ENCODE> __device__ __forceinline__ void last_array(const CornerTilesArguments<T> &a) {
    const CornerChain<T> &chain = a.chain;
    typename Real<T>::Bits *delta = (typename Real<T>::Bits *)a.planes.delta;
    const u32 i = threadIdx.x % 32;
    if (ENCODE) {
        const u32 up = a.level_count + 1;
        const u64 row = (u64)in_frame(i >> 2 & 1, up, chain.n[0]) * chain.n[1] + in_frame(i >> 1 & 1, up, chain.n[1]);
        T u = chain.frame[row * chain.n[2] + in_frame(i & 1, up, chain.n[2])];
        for (u32 k = i; k < chain.corner_words; k += 32) ((u32 *)a.planes.chunks)[k] = chain.fresh[k];
        if (i >= 8) return;
        i16 symbol;
        if (!quantize(u, (T)0, a.quantizers[0], symbol)) delta[i] = delta_of(u, (T)0);
        a.planes.q[i] = symbol;
        chain.last[i] = u;
        return;
    }
    unpack_tile<typename Real<T>::Bits>(a.planes, chain.last_tile);
    __syncwarp();
    if (i >= 8) return;
    const i16 symbol = a.planes.q[i];
    chain.last[i] = symbol == EXACT ? apply_delta<T>(delta[i], (T)0) : Real<T>::fma((T)symbol, a.quantizers[0].step, (T)0);
}

// What the warps of a block share.
template <class T, bool ENCODE> struct CornerMemory {
    T values[4][NodeTile<T, ENCODE>::PLACES];
    __align__(16) char symbols[WARP_BYTES];
    u32 planes[ENCODE ? 1 : 4 * TILE_WORDS];
};

// An entry of a level that is a block's turn: what it waits for, and what waits for it.
template <class T, bool ENCODE> struct CornerTurn {
    const CornerTilesArguments<T> &a;
    const CornerLevel<T> &level;
    // It is the first of all, and there is a last array.
    const bool has_last;
    // Which level, entries of those before it, and of the one that it waits for.
    u32 k, before, needed;

    static __device__ __forceinline__ u32 level_of(const CornerTilesArguments<T> &a, u32 turn) {
        u32 k = 0;
        while (turn >= a.levels[k].end) k++;
        return k;
    }
    __device__ __forceinline__ CornerTurn(const CornerTilesArguments<T> &a, u32 turn)
        : a(a), level(a.levels[level_of(a, turn)]), has_last(turn == 0 && a.chain.is_whole), k((u32)(&level - a.levels)) {
        before = k == 0 ? 0 : a.levels[k - 1].end, needed = before - (k < 2 ? 0 : a.levels[k - 2].end);
    }
    __device__ __forceinline__ bool is_last() const { return k + 1 == a.level_count; }
    // The many values of the last array would be in the way of the others, for which all wait.
    __device__ __forceinline__ void before_values() const {
        if (k == 0 || !is_last()) return;
        if (threadIdx.x == 0) wait_for(a.loaded, before);
        __syncthreads();
    }
    __device__ __forceinline__ void values_are_there() const {
        __syncwarp();
        if (threadIdx.x == 0 && !is_last()) atomicAdd(a.loaded, 1u);
    }
    // The warp that takes the last array, while others have values or planes under way: the first entry is a single tile.
    __device__ __forceinline__ bool takes_last() const { return has_last && threadIdx.x / 32 == 3; }
    __device__ __forceinline__ void wait_for_corners() const {
        if (takes_last()) last_array<T, ENCODE>(a);
        if (threadIdx.x == 0 && k > 0) wait_for(a.rebuilt + COUNT_WORDS * a.levels[k - 1].stage, needed);
        __syncthreads();
    }
    __device__ __forceinline__ void is_rebuilt() const {
        __syncthreads();
        if (threadIdx.x > 0 || is_last()) return;
        __threadfence();
        atomicAdd(a.rebuilt + COUNT_WORDS * level.stage, 1u);
    }
    // What nobody waits for.
    __device__ __forceinline__ void end() const {
        if (ENCODE && takes_last()) pack_tile(a.planes, a.chain.last_tile);
    }
};

// The planes of a warp's tile, and what its exact nodes are.
template <class T> __device__ __forceinline__ void load_planes(const PlanesArguments &a, u32 tile, u32 *to) {
    const TileRecord record = a.records[tile];
    const u32 *from = (const u32 *)a.output + record.planes;
    for (u32 w = threadIdx.x % 32; w < record.words(); w += 32) to[w] = from[w];
    if (record.mask & NOT_ALL_QUANTIZED) unpack_tile<typename Real<T>::Bits>(a, tile);
}

// Up to four whole tiles.
template <class T, bool ENCODE> __device__ __forceinline__ void whole_corner_tiles(const CornerTurn<T, ENCODE> &turn, u32 entry, const AxisWeights<T> &weights, CornerMemory<T, ENCODE> &memory) {
    const CornerTilesArguments<T> &a = turn.a;
    const CornerLevel<T> &level = turn.level;
    const u32 tile = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Quad quad = level.list[entry];
    const bool exists = tile < quad.count();
    const Tile *tiles = a.planes.tiles + quad.number();
    if (!ENCODE) {
        const TileRecord none = {0, 0, 0};
        if (exists) load_planes<T>(a.planes, quad.number() + tile, memory.planes + tile * TILE_WORDS);
        const TileRecord record = lane % 4 < quad.count() ? a.planes.records[quad.number() + lane % 4] : none;
        __syncthreads();
        if (tile == 0) take_planes(memory.planes, record, memory.symbols);
    }
    NodeTile<T, ENCODE> work = {level, weights, a.quantizers[0], (typename Real<T>::Bits *)a.planes.delta + tiles[exists ? tile : 0].start, memory.values[tile], (u16 *)(memory.symbols + tile * SYMBOL_BYTES), 0};
    if constexpr (ENCODE) {
        if (exists && level.values) work.load_values(quad, tile);
        if (!level.values) {
            turn.before_values();
            const u32 at[3] = {quad.at[0], quad.at[1], quad.at[2] + SIDE * tile};
            if (exists) load_from_frame<NodeTile<T, ENCODE>>(a.chain, level.stage, at, work.v);
            turn.values_are_there();
        }
        work.fill_up();
    }
    turn.wait_for_corners();
    if (exists) {
        work.load_corners(quad, tile);
        __syncwarp();
        work.run();
        work.store_values(quad, tile);
    }
    turn.is_rebuilt();
    if (!ENCODE) return;
    if (exists && work.exact > 0) atomicAdd(&a.planes.chunks[tiles->chunk].coded, work.exact);
    if (tile == 0) store_planes(a.planes, Four(quad), tiles->chunk, memory.symbols, ~0u << quad.count());
}

// Up to four others, a warp each.
template <class T, bool ENCODE> __device__ __forceinline__ void border_corner_tiles(const CornerTurn<T, ENCODE> &turn, u32 entry, BorderShape<T> &shape, CornerMemory<T, ENCODE> &memory) {
    typedef BorderTile<T, ENCODE, 1> Border;
    const CornerTilesArguments<T> &a = turn.a;
    const CornerLevel<T> &level = turn.level;
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const BorderEntry &four = level.borders[entry];
    const bool exists = four.tiles[warp] != NO_TILE;
    const Tile &tile = a.planes.tiles[four.number(warp)];
    load_shape(shape, a.shapes[tile.shape]);
    if (!ENCODE) {
        const TileRecord none = {0, 0, 0};
        if (exists) load_planes<T>(a.planes, four.tiles[warp], memory.planes + warp * TILE_WORDS);
        const TileRecord record = four.tiles[lane % 4] != NO_TILE ? a.planes.records[four.tiles[lane % 4]] : none;
        __syncthreads();
        if (warp == 0) take_planes(memory.planes, record, memory.symbols);
    }
    __syncwarp();
    char *symbols = memory.symbols + warp * SYMBOL_BYTES;
    Border work(shape, a.quantizers[0], exists, (typename Real<T>::Bits *)a.planes.delta + tile.start, memory.values[warp], symbols);
    const auto number = [&](u32 z, u32 y, u32 x) { return ((u64)(tile.at[0] + z) * level.n[1] + tile.at[1] + y) * level.n[2] + tile.at[2] + x; };
    if constexpr (ENCODE) {
        if (level.values) {
            work.each([&](u32 place, u32 z, u32 y, u32 x) { work.v[place] = level.values[number(z, y, x)]; });
        } else {
            turn.before_values();
            if (exists) load_from_frame<Border>(a.chain, level.stage, tile.at, work.v);
            turn.values_are_there();
        }
        Border::fill_up(symbols);
    }
    turn.wait_for_corners();
    u32 corner[3] = {tile.at[0], tile.at[1], tile.at[2]};
    const u32 place = work.corner(corner);
    // others have made them: not from a cache that may be older
    if (place < Border::PLACES) work.v[place] = *(const volatile T *)(level.corners + ((u64)corner[0] * level.corner_n[1] + corner[1]) * level.corner_n[2] + corner[2]);
    __syncwarp();
    work.run();
    work.each([&](u32 place, u32 z, u32 y, u32 x) { level.result[number(z, y, x)] = work.v[place]; });
    turn.is_rebuilt();
    if (!ENCODE) return;
    if (work.exact > 0) atomicAdd(&a.planes.chunks[tile.chunk].coded, work.exact);
    if (warp > 0) return;
    const Four tiles = four_of(a.planes, four);
    store_planes(a.planes, tiles, tile.chunk, memory.symbols, ~tiles.exist);
}

// Blocks take turns. An entry waits for those of the array before, all of which were asked for before it by blocks that are at work.
template <class T, bool ENCODE, bool BORDERS> __device__ __forceinline__ void corner_tiles(const CornerTilesArguments<T> &a) {
    __shared__ AxisWeights<T> weights;
    __shared__ BorderShape<T> shapes[BORDERS ? 4 : 1];
    __shared__ CornerMemory<T, ENCODE> memory;
    __shared__ u32 taken;
    if (ENCODE) next_kernel_may_start();
    const u32 all = a.levels[a.level_count - 1].end;
    bool resets = ENCODE && a.chain.is_whole;
    while (true) {
        // also before symbols and weights of the last turn are overwritten
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(a.turns, 1u);
        __syncthreads();
        if (taken >= all) break;
        const CornerTurn<T, ENCODE> turn(a, taken);
        // others than the first ones, for which all wait, wait anyway
        if (turn.k > 0 && resets) reset(a), resets = false;
        const u32 entry = taken - turn.before, borders = BORDERS ? turn.level.border_count : 0;
        if (BORDERS && entry < borders) {
            border_corner_tiles<T, ENCODE>(turn, entry, shapes[BORDERS ? threadIdx.x / 32 : 0], memory);
        } else {
            for (u32 i = threadIdx.x; i < sizeof(weights) / sizeof(T); i += blockDim.x) ((T *)&weights)[i] = ((const T *)&a.weights[turn.k])[i];
            whole_corner_tiles<T, ENCODE>(turn, entry - borders, weights, memory);
        }
        turn.end();
        // a turn for each block
        if (gridDim.x >= all) break;
    }
    if (resets) reset(a);
    // the last block leaves all counts of this kernel as it found them
    if (threadIdx.x > 0 || atomicAdd(a.done, 1u) + 1 < gridDim.x) return;
    *a.done = *a.turns = *a.loaded = 0;
    for (u32 k = 0; k < a.level_count; k++) a.rebuilt[COUNT_WORDS * a.levels[k].stage] = 0;
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, false, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, false, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 6) encode_any_corners_f32(const CornerTilesArguments<float> a) { corner_tiles<float, true, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_any_corners_f64(const CornerTilesArguments<double> a) { corner_tiles<double, true, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 6) decode_any_corners_f32(const CornerTilesArguments<float> a) { corner_tiles<float, false, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_any_corners_f64(const CornerTilesArguments<double> a) { corner_tiles<double, false, true>(a); }
