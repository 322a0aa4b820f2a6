// A whole tile by a warp whose nodes are all in shared memory, a lane a node, so that nothing is done for nodes that are not there; exact nodes at once.
#pragma once
#include "planes_cut.cuh"

// An array of the pyramid.
template <class T> struct CornerLevel {
    // Encoding: its values, or null, where they are taken from the frame.
    const T *values;
    T *result;
    // The rebuilt array before it, which has its corners.
    const T *corners;
    const Quad *list;
    // Entries of the lists up to this one; of the array after this one, not all tiles need be whole.
    u32 end;
    u32 n[3], corner_n[3];
    // Which array it is.
    u32 stage;
};
// The nodes of a tile in the order in which they are coded: 32 at a time, of one step and one axis that they are predicted along.
struct __align__(16) NodeTable {
    // Distances of rows and planes, so that lines along all axes lie in different banks.
    static constexpr u32 ROW = 12, PLANE = 100;
    static __host__ __device__ constexpr u32 distance(u32 axis) { return axis == 0 ? PLANE : axis == 1 ? ROW : 1; }
    // Nodes per axis: on the axes before that of the prediction old ones, on those behind it any of the step's.
    static __host__ __device__ constexpr u32 extent(u32 step, u32 axis, u32 of) {
        return of == axis ? Order::fresh(step) : of < axis ? Order::size(step + 1) : Order::size(step);
    }
    static __host__ __device__ constexpr u32 count(u32 step, u32 axis) { return extent(step, axis, 0) * extent(step, axis, 1) * extent(step, axis, 2); }
    static __host__ __device__ constexpr u32 rounds(u32 step, u32 axis) { return (count(step, axis) + 31) / 32; }
    // The rounds before: coarse steps first, and the last axis.
    static __host__ __device__ constexpr u32 first(u32 step, u32 axis) {
        u32 at = 0;
        for (u32 i = 9; i-- > 3 * step + axis + 1;) at += rounds(i / 3, i % 3);
        return at;
    }
    static constexpr u32 WORDS = 640, NONE = 0xffffffff;
    // The place of a node, its number among the coded ones, which new node of its axis it is, and how far from the first place of its line.
    u32 of[WORDS];
    static __host__ __device__ constexpr u32 place(u32 entry) { return entry & 0x3ff; }
    static __host__ __device__ constexpr u32 coded(u32 entry) { return entry >> 10 & 0x1ff; }
    static __host__ __device__ constexpr u32 which(u32 entry) { return entry >> 19 & 3; }
    static __host__ __device__ constexpr u32 along(u32 entry) { return entry >> 21; }
    // Node `index` of S(step), on an axis.
    static __host__ __device__ constexpr u32 position(u32 step, u32 index) { return index << step < SIDE ? index << step : SIDE - 1; }
    static __host__ __device__ constexpr u32 entry(u32 step, u32 axis, u32 i) {
        const u32 nx = extent(step, axis, 2), ny = extent(step, axis, 1), all = Order::size(step), old = Order::size(step + 1);
        const u32 at[3] = {i / (nx * ny), i / nx % ny, i % nx};
        // among the nodes of S(step)
        u32 in_set[3] = {0, 0, 0};
        for (u32 k = 0; k < 3; k++) in_set[k] = k == axis ? 2 * at[k] + 1 : k > axis ? at[k] : 2 * at[k] < all ? 2 * at[k] : all - 1;
        // the nodes of rows before it, less those of S(step + 1)
        const u32 old_rows = (in_set[0] + 1) / 2 * old + (axis == 0 ? 0 : (in_set[1] + 1) / 2);
        const u32 number = old * old * old - 8 + (in_set[0] * all + in_set[1]) * all - old_rows * old + at[2];
        const u32 line = position(step, in_set[axis]) * distance(axis);
        const u32 place = position(step, in_set[0]) * PLANE + position(step, in_set[1]) * ROW + position(step, in_set[2]);
        return place | number << 10 | at[axis] << 19 | line << 21;
    }
    __host__ __device__ constexpr NodeTable() : of() {
        u32 at = 0;
        for (u32 i = 9; i-- > 0;) {
            for (u32 k = 0; k < 32 * rounds(i / 3, i % 3); k++) of[at++] = k < count(i / 3, i % 3) ? entry(i / 3, i % 3, k) : NONE;
        }
    }
};
static_assert(32 * (NodeTable::first(0, 0) + NodeTable::rounds(0, 0)) == NodeTable::WORDS, "all rounds");
static __device__ const NodeTable NODE_TABLE;

template <class T, bool ENCODE> struct NodeTile {
    const CornerLevel<T> &a;
    const AxisWeights<T> &weights;
    const Quantizer<T> z;
    typename Real<T>::Bits *delta;
    T *v;
    u16 *symbols;
    // NodeTable, in shared memory.
    const u32 *table;
    u32 exact;

    static constexpr u32 ROW = NodeTable::ROW, PLANE = NodeTable::PLANE, PLACES = SIDE * PLANE;

    // The prediction of new node k of an axis, from the line along it that begins at `line`.
    template <u32 STEP, u32 AXIS> __device__ __forceinline__ T predict(const T *line, u32 k) const {
        typedef Real<T> R;
        constexpr u32 D = NodeTable::distance(AXIS);
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
    // The nodes of a step that are predicted along an axis.
    template <u32 STEP, u32 AXIS> __device__ __forceinline__ void nodes() {
        constexpr u32 FIRST = NodeTable::first(STEP, AXIS), END = FIRST + NodeTable::rounds(STEP, AXIS);
        // little code: what has not been fetched yet when the kernel starts costs more than waiting
#pragma unroll 1
        for (u32 round = FIRST; round < END; round++) {
            const u32 entry = table[32 * round + threadIdx.x % 32];
            if (entry == NodeTable::NONE) continue;
            T *node = v + NodeTable::place(entry);
            put(*node, predict<STEP, AXIS>(node - NodeTable::along(entry), NodeTable::which(entry)), NodeTable::coded(entry));
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
