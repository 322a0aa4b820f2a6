// Whole tiles of 8 in registers, predicted in axis order (FORMAT.md, "choice": each node along the first axis on which it is new), 4 points.
// A warp takes four tiles that are neighbours on the last axis: eight lanes a tile, a lane the 64 nodes of one position of that axis. So rows
// of four tiles are one access, predictions along the other axes need no other lane, and few go along the last one.
#pragma once
#include "planes.cuh"
#include "stencil.cuh"

constexpr u32 SIDE = 8;
// Bytes of the symbols of a tile in shared memory: the four tiles of a warp start in different banks.
constexpr u32 SYMBOL_BYTES = 1040;
constexpr u32 WARP_BYTES = 4 * SYMBOL_BYTES;
// Warps of a block.
constexpr u32 PLANES_WARPS = 4;

// Weights of the new nodes of each step, in order; the nodes that predict are at `node` below.
template <class T> struct AxisWeights {
    T step0[3][4], step1[2][3], step2[1][2];
};

// Up to four tiles that are neighbours on the last axis.
struct __align__(16) Quad {
    // The number of the first, and in the two highest bits how many follow.
    u32 tiles;
    // First node of each axis.
    u32 at[3];

    __device__ __forceinline__ u32 number() const { return tiles & 0x3fffffff; }
    __device__ __forceinline__ u32 count() const { return (tiles >> 30) + 1; }
    // A lane of tiles that do not exist reads those of the last one.
    __device__ __forceinline__ u32 lane() const { return min(threadIdx.x % 32, count() * SIDE - 1); }
};

template <class T> struct WholeArguments {
    // Encoding: the array's values (in a slab: where they would start). C order.
    const T *values;
    // Decoding: the box lo..hi.
    T *result;
    // Reconstructed corner array.
    const T *corners;
    // Of the frame's blocks; not read where there is one tier.
    const u8 *tiers;
    // Of the level of quantization.
    const Quantizer<T> *quantizers;
    const Quad *list;
    u32 list_count, tier_count;
    u32 n[3], corner_n[3], blocks[3], lo[3], hi[3];
    // Which array it is.
    u32 stage;
    // Encoding: entries of the list that each warp of the first blocks takes, and how many such blocks there are.
    u32 rounds, long_blocks;
    AxisWeights<T> weights;
    PlanesArguments planes;
};

// Steps, node sets and coding order of a whole tile, by index of the node.
struct Order {
    static __host__ __device__ constexpr bool in_set(u32 set, u32 i) { return i % (1u << set) == 0 || i == SIDE - 1; }
    static __host__ __device__ constexpr bool is_new(u32 step, u32 i) { return in_set(step, i) && !in_set(step + 1, i); }
    static __host__ __device__ constexpr u32 size(u32 set) { return set == 0 ? 8 : set == 1 ? 5 : set == 2 ? 3 : 2; }
    static __host__ __device__ constexpr u32 fresh(u32 step) { return size(step) - size(step + 1); }
    // Whether all nodes of S(step) of a row are new.
    static __host__ __device__ constexpr bool full(u32 step, u32 z, u32 y) { return is_new(step, z) || is_new(step, y); }
    // The number of the first node of a row among those that are coded.
    static __host__ __device__ constexpr u32 row(u32 step, u32 z, u32 y) {
        u32 at = 0;
        for (u32 s = 2; s > step; s--) at += size(s) * size(s) * size(s) - size(s + 1) * size(s + 1) * size(s + 1);
        for (u32 i = 0; i < SIDE * SIDE; i++) {
            const u32 rz = i / SIDE, ry = i % SIDE;
            if (rz == z && ry == y) break;
            if (!in_set(step, rz) || !in_set(step, ry)) continue;
            at += full(step, rz, ry) ? size(step) : fresh(step);
        }
        return at;
    }
    // Number k of the nodes that predict new node i of a step, ascending.
    static __host__ __device__ constexpr u32 node(u32 step, u32 i, u32 k) {
        if (step == 2) return k * 7;
        if (step == 1) return k == 2 ? 7 : 4 * k;
        const u32 first = i == 5 ? 2 : 0;
        return first + 2 * k < SIDE - 1 ? first + 2 * k : SIDE - 1;
    }
    static __host__ __device__ constexpr u32 points(u32 step, u32 i) { return step == 2 ? 2 : step == 1 || i == 1 ? 3 : 4; }
};

// Weight k of new node i of a step.
template <u32 STEP, class T> __device__ __forceinline__ T weight(const AxisWeights<T> &w, u32 i, u32 k) {
    if constexpr (STEP == 0) return w.step0[i / 2][k];
    else if constexpr (STEP == 1) return w.step1[i / 4][k];
    else return w.step2[0][k];
}

// The value of the lane BY places before (BY < 0: behind) among the SIDE lanes of a tile; its own where there is none.
template <i32 BY, class T> __device__ __forceinline__ T neighbour(T v) {
#ifdef BLOCKMGARD_EMULATOR
    const i32 lane = (i32)(threadIdx.x % SIDE) - BY;
    return __shfl_sync(FULL, v, lane < 0 || lane >= (i32)SIDE ? threadIdx.x % SIDE : (u32)lane, SIDE);
#else
    if constexpr (BY > 0) return __shfl_up_sync(FULL, v, BY, SIDE);
    else return __shfl_down_sync(FULL, v, -BY, SIDE);
#endif
}

// What a lane knows of its position on the last axis. Where its node is not new in a step, its weights make a prediction of the node's own value, so that
// nothing has to be selected afterwards (but the sign of a zero, which changes nothing that follows).
template <class T> struct LastAxis {
    u32 x;
    // In shared memory, since registers are short: the lane's weights in step 0, for the nodes that are 3 and 1 before it and 1 and 3 (or the last)
    // behind it, in step 1, and in step 2.
    const T *weights;
    static constexpr u32 OF_LANE = 12, WEIGHTS = SIDE * OF_LANE, AT[3] = {0, 4, 8};

    // The weights are there behind the block's next barrier.
    __device__ __forceinline__ LastAxis(const AxisWeights<T> &w, T *memory) : x(threadIdx.x % SIDE) {
        T *own = memory + OF_LANE * x;
        // nothing is 3 before node 1, and the weight of what would be its fourth node is 0
#pragma unroll
        for (u32 k = 0; k < 4 && threadIdx.x < SIDE; k++) {
            own[AT[0] + k] = !is_new<0>() ? (T)(k == 3) : x == 1 ? (k > 0 ? w.step0[0][k > 0 ? k - 1 : 0] : (T)0) : w.step0[x / 2][k];
            if (k < 3) own[AT[1] + k] = is_new<1>() ? w.step1[x == 6][k] : (T)(k == 2);
            if (k < 2) own[AT[2] + k] = is_new<2>() ? w.step2[0][k] : (T)(k == 1);
        }
        weights = own;
    }
    template <u32 STEP> __device__ __forceinline__ bool in_set() const { return STEP == 0 || x % (1u << STEP) == 0 || x == SIDE - 1; }
    template <u32 STEP> __device__ __forceinline__ bool is_new() const {
        return STEP == 0 ? x % 2 == 1 && x < 7 : STEP == 1 ? x == 2 || x == 6 : x == 4;
    }
    // Its number among the nodes of S(STEP), and among the new ones.
    template <u32 STEP> __device__ __forceinline__ u32 rank() const { return (x + (1u << STEP) - 1) >> STEP; }
    template <u32 STEP> __device__ __forceinline__ u32 new_rank() const { return x >> (STEP + 1); }
    // For a step: its weights, and the lane with the last of the nodes that predict.
    template <u32 STEP> struct Stencil {
        static constexpr u32 POINTS = 4 - STEP;
        T weight[POINTS];
        u32 behind;
        __device__ __forceinline__ explicit Stencil(const LastAxis &last) : behind(!last.template is_new<STEP>() ? last.x : STEP == 0 ? min(last.x + 3, SIDE - 1) : SIDE - 1) {
#pragma unroll
            for (u32 k = 0; k < POINTS; k++) weight[k] = last.weights[AT[STEP] + k];
        }
        __device__ __forceinline__ T predict(T v) const {
            typedef Real<T> R;
            const auto at = [&](u32 lane) { return __shfl_sync(FULL, v, lane, SIDE); };
            T p = R::mul(weight[0], STEP == 0 ? neighbour<3>(v) : at(0));
            if constexpr (STEP == 0) p = R::fma(weight[2], neighbour<-1>(v), R::fma(weight[1], neighbour<1>(v), p));
            if constexpr (STEP == 1) p = R::fma(weight[1], at(4), p);
            return R::fma(weight[POINTS - 1], at(behind), p);
        }
    };
};

// Goes through all nodes of a tile. `op.put<EVERY, ROW>(v, p, valid, rank)`: value v with prediction p, coded at ROW + rank; EVERY: valid in all lanes.
// `op.put_last`: the same along the last axis, where other lanes predict themselves.
template <class T> struct Sweep {
    const AxisWeights<T> &w;
    const LastAxis<T> &last;

    // Along axis 0 or 1, whose nodes are DISTANCE apart in v.
    template <u32 STEP, u32 I, u32 DISTANCE> __device__ __forceinline__ T along(const T *v) const {
        T p = Real<T>::mul(weight<STEP>(w, I, 0), v[Order::node(STEP, I, 0) * DISTANCE]);
        unroll<Order::points(STEP, I) - 1>([&](auto k) {
            constexpr u32 K = decltype(k)::value + 1;
            p = Real<T>::fma(weight<STEP>(w, I, K), v[Order::node(STEP, I, K) * DISTANCE], p);
        });
        return p;
    }
    template <u32 STEP, class F> __device__ __forceinline__ void step(T (&v)[SIDE * SIDE], F &op) const {
        const u32 rank = last.template rank<STEP>(), new_rank = last.template new_rank<STEP>();
        const bool in_set = last.template in_set<STEP>(), is_new = last.template is_new<STEP>();
        const typename LastAxis<T>::template Stencil<STEP> stencil(last);
        unroll<SIDE * SIDE>([&](auto i) {
            constexpr u32 Z = decltype(i)::value / SIDE, Y = decltype(i)::value % SIDE;
            if constexpr (Order::in_set(STEP + 1, Z) && Order::in_set(STEP + 1, Y)) {
                constexpr u32 row = Order::row(STEP, Z, Y);
                T &value = v[Z * SIDE + Y];
                op.template put_last<row>(value, stencil.predict(value), is_new, new_rank);
            }
        });
        unroll<SIDE * SIDE>([&](auto i) {
            constexpr u32 Z = decltype(i)::value / SIDE, Y = decltype(i)::value % SIDE;
            if constexpr (Order::in_set(STEP + 1, Z) && Order::is_new(STEP, Y)) {
                constexpr u32 row = Order::row(STEP, Z, Y);
                op.template put<STEP == 0, row>(v[Z * SIDE + Y], along<STEP, Y, 1>(v + Z * SIDE), in_set, rank);
            }
        });
        unroll<SIDE * SIDE>([&](auto i) {
            constexpr u32 Z = decltype(i)::value / SIDE, Y = decltype(i)::value % SIDE;
            if constexpr (Order::is_new(STEP, Z) && Order::in_set(STEP, Y)) {
                constexpr u32 row = Order::row(STEP, Z, Y);
                op.template put<STEP == 0, row>(v[Z * SIDE + Y], along<STEP, Z, SIDE>(v + Y), in_set, rank);
            }
        });
    }
    template <class F> __device__ __forceinline__ void run(T (&v)[SIDE * SIDE], F &op) const {
        step<2>(v, op);
        step<1>(v, op);
        step<0>(v, op);
    }
};

// What a warp has of shared memory besides symbols: entries of the list and corners that were asked for ahead.
template <class T> struct Ahead {
    const WholeArguments<T> &a;
    Quad *quads;
    T *corners;
    static constexpr u32 BYTES = 2 * sizeof(Quad) + 32 * sizeof(T);

    __device__ __forceinline__ Ahead(const WholeArguments<T> &a, char *memory) : a(a), quads((Quad *)memory), corners((T *)(quads + 2)) {}
    // Entry number i of the warp's share is `index` of the list.
    __device__ __forceinline__ void ask_quad(u32 i, u32 index) const {
        if (threadIdx.x % 32 == 0 && index < a.list_count) copy_ahead<16>(quads + i % 2, a.list + index);
    }
    // Lane 8 t + 4 z + 2 y + x asks for a corner of tile t.
    __device__ __forceinline__ void ask_corners(const Quad &quad) const {
        const u32 lane = threadIdx.x % 32, tile = min(lane / 8, quad.count() - 1);
        const u64 z = quad.at[0] / SIDE * 2 + (lane >> 2 & 1), y = quad.at[1] / SIDE * 2 + (lane >> 1 & 1);
        copy_ahead<sizeof(T)>(corners + lane, a.corners + (z * a.corner_n[1] + y) * a.corner_n[2] + (quad.at[2] / SIDE + tile) * 2 + (lane & 1));
    }
    __device__ __forceinline__ void take_corners(T (&v)[SIDE * SIDE]) const {
        const u32 lane = threadIdx.x % 32, x = lane % SIDE;
        const T *own = corners + lane / SIDE * 8 + (x != 0);
        const bool is_end = x == 0 || x == SIDE - 1;
        // without a branch
        const auto take = [&](T &node, u32 k) { node = is_end ? own[k] : node; };
        take(v[0], 0), take(v[SIDE - 1], 2), take(v[(SIDE - 1) * SIDE], 4), take(v[SIDE * SIDE - 1], 6);
    }
};

template <class T> __device__ __forceinline__ Quantizer<T> quantizer_of(const WholeArguments<T> &a, const Quad &quad) {
    if (a.tier_count == 1) return a.quantizers[0];
    const u64 row = (u64)(quad.at[0] / SIDE) * a.blocks[1] + quad.at[1] / SIDE;
    return a.quantizers[a.tiers[row * a.blocks[2] + quad.at[2] / SIDE + quad.lane() / SIDE]];
}

// Which entries of a list a block takes: PLANES_WARPS at a time, a warp each. The first three are known; what comes then goes to whoever is there first, since
// blocks of a multiprocessor do not come on at the same pace, and with shares of their own the last ones would run alone.
template <class T> struct Turns {
    const WholeArguments<T> &a;
    // In shared memory, of round i at i mod 4.
    u32 *of_round;
    u32 asked;
    static constexpr u32 KNOWN = 3;

    // All threads of the block come by here; the memory is there afterwards.
    __device__ __forceinline__ Turns(const WholeArguments<T> &a, u32 *shared) : a(a), of_round(shared), asked(0) {
        if (threadIdx.x < KNOWN) of_round[threadIdx.x] = blockIdx.x + threadIdx.x * gridDim.x;
        __syncthreads();
    }
    // Whether the block has something to do in a round, at most two rounds ahead, and what this warp takes then; beyond the list: nothing.
    __device__ __forceinline__ bool has(u32 round) const { return of_round[round % 4] * PLANES_WARPS < a.list_count; }
    __device__ __forceinline__ u32 entry(u32 round) const { return of_round[round % 4] * PLANES_WARPS + threadIdx.x / 32; }
    __device__ __forceinline__ bool takes(u32 round) const { return entry(round) < a.list_count; }
    // Asks, some time before `put`, for the turn three rounds later, which stands in memory once the round is over.
    __device__ __forceinline__ void ask() {
        if (threadIdx.x == 0) asked = atomicAdd(a.planes.slow_count + a.planes.stage_count + a.stage, 1u);
    }
    __device__ __forceinline__ void put(u32 round) const {
        if (threadIdx.x == 0) of_round[(round + KNOWN) % 4] = KNOWN * gridDim.x + asked;
    }
};

// The sums of `value` of the lanes before that belong to the same tile, when lane l belongs to tile l mod 4, and of all of them.
__device__ __forceinline__ u32 scan_tile(u32 value, u32 &total) {
    const u32 lane = threadIdx.x % 32;
    u32 sum = value;
#pragma unroll
    for (u32 by = 4; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(FULL, sum, by);
        if (lane >= by) sum += other;
    }
    total = __shfl_sync(FULL, sum, 28 + lane % 4);
    return sum - value;
}
