// Whole tiles of the corner arrays, of several arrays in one launch. There are few, and each array waits for the next smaller one, so that the time of a single
// tile counts: a warp a tile whose nodes are all in shared memory, a lane a node, so that nothing is done for nodes that are not there; exact nodes at once. A
// block takes four tiles at a time.
#include "planes_cut.cuh"

// Arrays of a launch at most.
constexpr u32 MOST_LEVELS = 16;

// An array all of whose tiles are whole, or the whole tiles of the last array of a launch.
template <class T> struct CornerLevel {
    // Encoding: its values, or null, where they are taken from the frame.
    const T *values;
    T *result;
    // The rebuilt array before it, which has its corners.
    const T *corners;
    const Quad *list;
    // Entries of the lists up to this one.
    u32 end;
    u32 n[3], corner_n[3];
    // Which array it is.
    u32 stage;
};
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
    // All 0 between launches: how often blocks have asked for entries, and blocks that are done.
    u32 *turns, *done;
    // Of each array, COUNT_WORDS apart: how many entries are rebuilt.
    u32 *rebuilt;
    u32 level_count, unused;
    CornerChain<T> chain;
    AxisWeights<T> weights;
    PlanesArguments planes;
    // The smallest first.
    CornerLevel<T> levels[MOST_LEVELS];
};
// Counts that many blocks look at stand in lines of their own.
constexpr u32 COUNT_WORDS = 32;

// Where a node of the array that lies `up` arrays behind the frame is in the frame, on an axis of n nodes. All arrays between have whole tiles.
__device__ __forceinline__ u32 in_frame(u32 node, u32 up, u32 n) {
#pragma unroll 1
    for (u32 i = 0; i < up; i++) node = (node >> 1) * SIDE + (node & 1) * (SIDE - 1);
    return min(node, n - 1);
}

template <class T, bool ENCODE> struct NodeTile {
    const CornerLevel<T> &a;
    const AxisWeights<T> &weights;
    const Quantizer<T> z;
    typename Real<T>::Bits *delta;
    T *v;
    u16 *symbols;
    u32 exact;

    // Distances of rows and planes, so that lines along all axes lie in different banks.
    static constexpr u32 ROW = 12, PLANE = 100, PLACES = SIDE * PLANE;
    static constexpr u32 DISTANCE[3] = {PLANE, ROW, 1};

    // Position of node `index` of S(STEP).
    template <u32 STEP> static __device__ __forceinline__ u32 position(u32 index) { return min(index << STEP, SIDE - 1); }
    // The prediction of new node k of an axis, from the line along it that begins at `line`.
    template <u32 STEP, u32 AXIS> __device__ __forceinline__ T predict(const T *line, u32 k) const {
        typedef Real<T> R;
        constexpr u32 D = DISTANCE[AXIS];
        if constexpr (STEP == 2) {
            return R::fma(weights.step2[0][1], line[7 * D], R::mul(weights.step2[0][0], line[0]));
        } else if constexpr (STEP == 1) {
            const T *w = weights.step1[k];
            return R::fma(w[2], line[7 * D], R::fma(w[1], line[4 * D], R::mul(w[0], line[0])));
        } else {
            const T *w = weights.step0[k], *from = line + (k == 2 ? 2 * D : 0);
            const T p = R::fma(w[2], from[4 * D], R::fma(w[1], from[2 * D], R::mul(w[0], from[0])));
            // node 1 has three
            return k == 0 ? p : R::fma(w[3], line[k == 2 ? 7 * D : 6 * D], p);
        }
    }
    __device__ __forceinline__ void put(T &value, T p, u32 coded) {
        if (ENCODE) {
            T u = value;
            i16 symbol;
            if (!quantize(u, p, z, symbol)) delta[coded] = delta_of(u, p), exact++;
            value = u;
            symbols[coded] = (u16)(symbol + (i32)BYTE_BIAS);
        } else {
            const i16 symbol = (i16)symbols[coded];
            value = symbol == EXACT ? apply_delta<T>(delta[coded], p) : Real<T>::fma((T)(i32)symbol, z.step, p);
        }
    }
    // The nodes of a step that are predicted along an axis. On the axes before it they are old, on those behind it any of the step's.
    template <u32 STEP, u32 AXIS> __device__ __forceinline__ void nodes() {
        constexpr u32 ALL = Order::size(STEP), OLD = Order::size(STEP + 1), NEW = Order::fresh(STEP);
        constexpr u32 NZ = AXIS == 0 ? NEW : OLD, NY = AXIS == 1 ? NEW : AXIS == 2 ? OLD : ALL, NX = AXIS == 2 ? NEW : ALL;
        constexpr u32 COUNT = NZ * NY * NX;
        // little code: what has not been fetched yet when the kernel starts costs more than waiting
#pragma unroll 1
        for (u32 first = 0; first < COUNT; first += 32) {
            const u32 i = first + threadIdx.x % 32;
            if (i >= COUNT) continue;
            const u32 ix = i % NX, iy = i / NX % NY, iz = i / (NX * NY);
            // among the nodes of S(STEP)
            const u32 sz = AXIS == 0 ? 2 * iz + 1 : min(2 * iz, ALL - 1);
            const u32 sy = AXIS == 1 ? 2 * iy + 1 : AXIS == 2 ? min(2 * iy, ALL - 1) : iy, sx = AXIS == 2 ? 2 * ix + 1 : ix;
            // the nodes of rows before it, less those of S(STEP + 1)
            const u32 old_rows = (sz + 1) / 2 * OLD + (AXIS == 0 ? 0 : (sy + 1) / 2);
            const u32 coded = OLD * OLD * OLD - 8 + (sz * ALL + sy) * ALL - old_rows * OLD + ix;
            const u32 place[3] = {position<STEP>(sz) * PLANE, position<STEP>(sy) * ROW, position<STEP>(sx)};
            T *node = v + place[0] + place[1] + place[2];
            put(*node, predict<STEP, AXIS>(node - place[AXIS], AXIS == 0 ? iz : AXIS == 1 ? iy : ix), coded);
        }
        __syncwarp();
    }
    template <u32 STEP> __device__ __forceinline__ void step() {
        nodes<STEP, 2>();
        nodes<STEP, 1>();
        nodes<STEP, 0>();
    }
    // Calls f(place, number in the array) for the lane's nodes.
    template <class F> __device__ __forceinline__ void each(const Quad &quad, u32 tile, F f) const {
        const u32 lane = threadIdx.x % 32, x = lane % SIDE;
#pragma unroll
        for (u32 i = 0; i < SIDE * SIDE * SIDE / 32; i++) {
            const u32 row = 4 * i + lane / SIDE, z = row / SIDE, y = row % SIDE;
            f(z * PLANE + y * ROW + x, ((u64)(quad.at[0] + z) * a.n[1] + quad.at[1] + y) * a.n[2] + quad.at[2] + SIDE * tile + x);
        }
    }
    // Others have made them: not from a cache that may be older.
    __device__ __forceinline__ void load_corners(const Quad &quad, u32 tile) const {
        const u32 lane = threadIdx.x % 32, z = lane >> 2, y = lane >> 1 & 1, x = lane & 1;
        if (lane >= 8) return;
        const u64 row = (u64)(quad.at[0] / SIDE * 2 + z) * a.corner_n[1] + quad.at[1] / SIDE * 2 + y;
        v[(SIDE - 1) * (z * PLANE + y * ROW + x)] = *(const volatile T *)(a.corners + row * a.corner_n[2] + (quad.at[2] / SIDE + tile) * 2 + x);
    }
    __device__ __forceinline__ void load_values(const CornerChain<T> &chain, const Quad &quad, u32 tile) const {
        if (a.values) {
            each(quad, tile, [&](u32 place, u64 i) { v[place] = a.values[i]; });
        } else {
            const u32 lane = threadIdx.x % 32;
            const u64 plane = (u64)chain.n[1] * chain.n[2];
            const T *from = chain.frame + in_frame(quad.at[2] + SIDE * tile + lane % SIDE, a.stage, chain.n[2]);
            T value[SIDE * SIDE * SIDE / 32];
#pragma unroll
            for (u32 y = 0; y < 2; y++) {
                const T *row = from + (u64)in_frame(quad.at[1] + 4 * y + lane / SIDE, a.stage, chain.n[1]) * chain.n[2];
#pragma unroll
                for (u32 z = 0; z < SIDE; z++) value[2 * z + y] = row[in_frame(quad.at[0] + z, a.stage, chain.n[0]) * plane];
            }
#pragma unroll
            for (u32 i = 0; i < SIDE * SIDE * SIDE / 32; i++) v[i / 2 * PLANE + (4 * (i % 2) + lane / SIDE) * ROW + lane % SIDE] = value[i];
        }
        // what fills the last group up
        if (threadIdx.x % 32 < SIDE) symbols[TILE_SYMBOLS - SIDE + threadIdx.x % 32] = BYTE_BIAS;
    }
    __device__ __forceinline__ void run() {
        exact = 0;
        step<2>();
        step<1>();
        step<0>();
    }
    __device__ __forceinline__ void store_values(const Quad &quad, u32 tile) const {
        each(quad, tile, [&](u32 place, u64 i) { a.result[i] = v[place]; });
    }
};

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
    for (u32 i = threadIdx.x; i < sizeof(weights) / sizeof(T); i += blockDim.x) ((T *)&weights)[i] = ((const T *)&a.weights)[i];
    while (true) {
        // also before symbols of the last turn are overwritten
        __syncthreads();
        if (threadIdx.x == 0) turn = atomicAdd(a.turns, 1u);
        __syncthreads();
        if (turn >= all) break;
        if (turn == 0 && a.chain.is_whole) last_array<T, ENCODE>(a);
        u32 k = 0;
        while (turn >= a.levels[k].end) k++;
        const CornerLevel<T> &level = a.levels[k];
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
        if (ENCODE && exists) work.load_values(a.chain, quad, tile);
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
    *a.done = *a.turns = 0;
    for (u32 k = 0; k < a.level_count; k++) a.rebuilt[COUNT_WORDS * a.levels[k].stage] = 0;
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_corner_tiles_f32(const CornerTilesArguments<float> a) { corner_tiles<float, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_corner_tiles_f64(const CornerTilesArguments<double> a) { corner_tiles<double, false>(a); }
