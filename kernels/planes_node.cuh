// A whole tile by a warp whose nodes are all in shared memory, a lane a node, so that nothing is done for nodes that are not there; exact nodes at once.
#pragma once
#include "planes_border.cuh"

// An array of the pyramid.
template <class T> struct CornerLevel {
    // Encoding: its values, or null, where they are taken from the frame.
    const T *values;
    T *result;
    // The rebuilt array before it, which has its corners.
    const T *corners;
    // Its whole tiles, and before them its others.
    const Quad *list;
    const BorderEntry *borders;
    // Entries of the lists up to this one, and how many of its own are not of whole tiles.
    u32 end, border_count;
    u32 n[3], corner_n[3];
    // Which array it is.
    u32 stage, unused;
};
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
    __device__ __forceinline__ void load_values(const Quad &quad, u32 tile) const {
        each(quad, tile, [&](u32 place, u64 i) { v[place] = a.values[i]; });
    }
    // What fills the last group up.
    __device__ __forceinline__ void fill_up() const {
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
