// The nodes of S(1) of a whole tile with evenly spaced nodes, and its steps 1 and coarser (FORMAT.md, "tiles and node sets"), known at compile
// time.
#pragma once
#include "nodes.cuh"
#include "stencil.cuh"

// An axis of S(1) of a tile of SIDE nodes, by index. Nodes are kept by rank: those of later sets first, so that each set lies close together.
template <u32 SIDE> struct CoarseAxis {
    static constexpr u32 LAST = SIDE / 2, NODES = LAST + 1;
    static __host__ __device__ constexpr u32 position(u32 index) { return index < LAST ? 2 * index : SIDE - 1; }
    // The last set that a node belongs to.
    static __host__ __device__ constexpr u32 last_set(u32 index) {
        if (index == 0 || index == LAST) return 32;
        u32 set = 1;
        while ((index >> (set - 1) & 1) == 0) set++;
        return set;
    }
    static __host__ __device__ constexpr u32 rank(u32 index) {
        u32 before = 0;
        for (u32 other = 0; other < NODES; other++) {
            const u32 set = last_set(other), own = last_set(index);
            before += set > own || (set == own && other < index);
        }
        return before;
    }
    // The same where they are not known at compile time.
    static __device__ __forceinline__ u32 rank_of(u32 index) { return ((LAST | index) >> __ffs((i32)(index | 2 * LAST))) + (index != 0); }
    static __device__ __forceinline__ u32 index_of(u32 rank) {
        if (rank < 2) return rank * LAST;
        // 2^high nodes of the same set begin at rank 2^high + 1
        const u32 high = bit_length(rank - 1) - 1;
        return (2 * (rank - 1 - (1u << high)) + 1) * (LAST / 2 >> high);
    }
};

// A column of nodes of S(1): its position, its place by ranks, and whether its ends are corners of the tile.
struct CoarseColumn {
    u32 packed;
    template <class A> static __device__ __forceinline__ CoarseColumn of(u32 number) {
        const u32 y = number / A::NODES, x = number % A::NODES, row = A::rank_of(y), column = A::rank_of(x);
        return {A::position(y) << 24 | A::position(x) << 16 | (row < 2 && column < 2 ? 1u << 15 : 0) | (row * A::NODES + column)};
    }
    __device__ __forceinline__ u32 y() const { return packed >> 24; }
    __device__ __forceinline__ u32 x() const { return packed >> 16 & 255; }
    __device__ __forceinline__ bool is_edge() const { return packed >> 15 & 1; }
    __device__ __forceinline__ u32 place() const { return packed & 0x7fff; }
};

// Numbers below 16 of up to 16 entries, for an index that is not known at compile time.
template <class F> __host__ __device__ constexpr u64 nibbles(u32 count, F of) {
    u64 all = 0;
    for (u32 i = 0; i < count; i++) all |= (u64)of(i) << (4 * i);
    return all;
}

// Nodes of a step that are new on one axis and alike on the others.
struct CoarseLine {
    u32 tile;
    // In the memory of all tiles: where the line begins, and how far apart its ranks are.
    u32 place, stride;
    // The number of its first node among the coded nodes of the tile, of the fifth, and how far apart they are.
    u32 symbol, fifth, apart;
    __device__ __forceinline__ u32 coded(u32 k) const { return (k < 4 ? symbol : fifth) + k % 4 * apart; }
};

// One of parity order: its axis; the first of the other axes on which its nodes are new, and which of the new nodes these are on that one and
// on the next.
struct ParityLine : CoarseLine {
    u32 axis, second, numbers[2];
};

// The step with N new nodes of an axis between N + 1 old ones.
template <u32 SIDE, u32 N> struct CoarseStep {
    typedef CoarseAxis<SIDE> Axis;
    static constexpr u32 OLD = N + 1, NODES = 2 * N + 1, HALF = Axis::LAST / (2 * N), EDGE = SIDE / 8;
    static __host__ __device__ constexpr u32 number() {
        u32 step = 1;
        while (HALF >> step) step++;
        return step;
    }
    static constexpr u32 NUMBER = number();
    // The position of the node at `at` of the step, old ones at even places.
    static __host__ __device__ constexpr u32 position(u32 at) { return Axis::position(at * HALF); }
    static __host__ __device__ constexpr u32 old_rank(u32 k) { return Axis::rank(2 * k * HALF); }
    static __device__ __forceinline__ u32 rank_of_old(u32 k) {
        // 4, then 2 and 6, then 1, 3, 5, 7 follow the ends
        if constexpr (N > 4) return k == 0 ? 0 : k == N ? 1 : k & 1 ? 5 + k / 2 : k & 2 ? 3 + k / 4 : 2;
        constexpr u64 ranks = nibbles(N > 4 ? 1 : OLD, [](u32 i) { return old_rank(i); });
        return (u32)(ranks >> (4 * k)) & 15;
    }
    static __device__ __forceinline__ u32 stride(u32 axis) { return pick(axis, Z, Y, 1); }
    static __device__ __forceinline__ u32 pick(u32 which, u32 a, u32 b, u32 c) { return which == 0 ? a : which == 1 ? b : c; }

    // Distances of places; of numbers of coded nodes from a new node of an axis to the next, which depend on whether the node is old on the axes
    // before: so many are old in a plane or a row.
    static constexpr u32 Y = Axis::NODES, Z = Y * Y, PLANE = OLD * OLD;
    static constexpr u32 BY_PLANE = 2 * NODES * NODES - PLANE, BY_ROW = 2 * NODES, BY_OLD_ROW = BY_ROW - OLD;
    // Lines whose nodes are new on CROSS + 1 axes: along each axis; along the first of two; along the first.
    static __host__ __device__ constexpr u32 lines(u32 cross) { return cross == 0 ? 3 * OLD * OLD : cross == 1 ? 3 * N * OLD : N * N; }
    // `before`: coded nodes before those of the step.
    template <u32 CROSS> static __device__ __forceinline__ ParityLine line(u32 tile, u32 n, u32 before) {
        ParityLine line{};
        line.tile = tile;
        if (CROSS == 0) {
            // old nodes i and j of the other axes
            const u32 axis = n / (OLD * OLD), i = n / OLD % OLD, j = n % OLD;
            line.axis = axis;
            line.place = rank_of_old(i) * (axis == 0 ? Y : Z) + rank_of_old(j) * (axis == 2 ? Y : 1);
            line.symbol = pick(axis, NODES * NODES - PLANE, NODES - OLD, 0) + i * (axis == 0 ? BY_ROW : BY_PLANE) + j * (axis == 2 ? BY_OLD_ROW : 2);
        } else if (CROSS == 1) {
            // new node i of one of the other axes, old node j of axis `old`
            const u32 old = n / (N * OLD), i = n / OLD % N, j = n % OLD;
            line.axis = old == 0, line.second = old == 2 ? 1 : 2, line.numbers[0] = i;
            line.place = (OLD + i) * (old == 2 ? Y : 1) + rank_of_old(j) * pick(old, Z, Y, 1);
            line.symbol = pick(old, NODES + 1 - OLD, NODES * NODES + 1 - PLANE, NODES * NODES + NODES - PLANE) + i * (old == 2 ? BY_ROW : 2) +
                          j * pick(old, BY_PLANE, BY_ROW, 2);
        } else {
            const u32 i = n / N, j = n % N;
            line.axis = 0, line.second = 1, line.numbers[0] = i, line.numbers[1] = j;
            line.place = (OLD + i) * Y + OLD + j;
            line.symbol = NODES * NODES + NODES + 1 - PLANE + i * BY_ROW + j * 2;
        }
        line.place += tile * (Z * Y);
        line.symbol += before;
        line.stride = stride(line.axis), line.apart = pick(line.axis, BY_PLANE, BY_OLD_ROW, 1);
        return line;
    }
    // The first tolerance block of a line in its tile, and how far apart they are.
    template <u32 CROSS> static __device__ __forceinline__ u32 block(const ParityLine &line, u32 n, u32 &distance) {
        const u32 old = n / (N * OLD), i = n / OLD % OLD * 2, j = n % OLD * 2;
        u32 at[3];
        if (CROSS == 0) {
            at[0] = i, at[1] = line.axis == 0 ? i : j, at[2] = j;
        } else if (CROSS == 1) {
            at[0] = j, at[1] = old == 1 ? j : 2 * line.numbers[0] + 1, at[2] = old == 2 ? j : 2 * line.numbers[0] + 1;
        } else {
            at[0] = 0, at[1] = 2 * line.numbers[0] + 1, at[2] = 2 * line.numbers[1] + 1;
        }
        distance = pick(line.axis, EDGE * EDGE, EDGE, 1);
        u32 first = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (axis != line.axis) first += min(2 * at[axis] * HALF, SIDE - 1) / 8 * pick(axis, EDGE * EDGE, EDGE, 1);
        }
        return first;
    }
};

// The values of a line's old nodes, and guesses at its new ones.
template <class T, u32 SIDE, u32 N, u32 POINTS> struct CoarseAlong {
    typedef CoarseStep<SIDE, N> Step;
    T old[Step::OLD];

    static __host__ __device__ constexpr u32 first(u32 k) { return k + 1 > POINTS / 2 ? k + 1 - POINTS / 2 : 0; }
    static __host__ __device__ constexpr u32 end(u32 k) { return k + 1 + POINTS / 2 < Step::OLD ? k + 1 + POINTS / 2 : Step::OLD; }
    // Weight of old node `node` for new node k, in the order of operations that the format fixes.
    static __host__ __device__ constexpr double weight(u32 k, u32 node) {
        double w = 1.0;
        const double x = Step::position(2 * k + 1), own = Step::position(2 * node);
        for (u32 other = first(k); other < end(k); other++) {
            if (other == node) continue;
            const double o = Step::position(2 * other);
            w *= (x - o) / (own - o);
        }
        return w;
    }
    __device__ __forceinline__ void load(const T *v, u32 stride) {
        unroll<Step::OLD>([&](auto k) {
            constexpr u32 rank = Step::old_rank(decltype(k)::value);
            old[decltype(k)::value] = v[rank * stride];
        });
    }
    template <u32 K> __device__ __forceinline__ T predict() const {
        constexpr u32 begin = first(K);
        constexpr double w0 = weight(K, begin);
        T p = Real<T>::mul((T)w0, old[begin]);
        unroll<end(K) - begin - 1>([&](auto j) {
            constexpr u32 node = first(K) + 1 + decltype(j)::value;
            constexpr double w = weight(K, node);
            p = Real<T>::fma((T)w, old[node], p);
        });
        return p;
    }
    template <u32 K> __device__ __forceinline__ Guess<T> guess() const {
        const T p = predict<K>(), left = old[K], right = old[K + 1];
        return {p, POINTS == 2 || N == 1 ? slope(left, right) : bend(left, right, p)};
    }
};
