// Node sets and stencils of a whole tile with evenly spaced nodes, known at compile time (FORMAT.md, "tiles and node sets").
#pragma once
#include "common.cuh"

template <u32 VALUE> struct Constant {
    static constexpr u32 value = VALUE;
};
// Calls f(Constant<0>), f(Constant<1>), .. f(Constant<COUNT - 1>).
template <u32 COUNT, u32 AT = 0, class F> __device__ __forceinline__ void unroll(F &&f) {
    if constexpr (AT < COUNT) {
        f(Constant<AT>());
        unroll<COUNT, AT + 1>(f);
    }
}

// Step 0 of a tile axis: S(0) splits into the nodes of S(1) ("old") and the new ones.
template <u32 SIDE> struct Axis {
    static constexpr u32 OLD = SIDE / 2 + 1;
    static constexpr u32 NEW = SIDE / 2 - 1;
    static __host__ __device__ constexpr u32 old_at(u32 i) { return 2 * i < SIDE ? 2 * i : SIDE - 1; }
    static __host__ __device__ constexpr u32 new_at(u32 k) { return 2 * k + 1; }
};

// The old nodes first .. end that predict new node k.
template <u32 SIDE, u32 POINTS> struct Near {
    static __host__ __device__ constexpr u32 first(u32 k) { return k + 1 > POINTS / 2 ? k + 1 - POINTS / 2 : 0; }
    static __host__ __device__ constexpr u32 end(u32 k) {
        return k + 1 + POINTS / 2 < Axis<SIDE>::OLD ? k + 1 + POINTS / 2 : Axis<SIDE>::OLD;
    }
    // Weight of old node `node` for new node k, in the order of operations that the format fixes.
    static __host__ __device__ constexpr double weight(u32 k, u32 node) {
        typedef Axis<SIDE> A;
        double w = 1.0;
        const double x = A::new_at(k), own = A::old_at(node);
        for (u32 other = first(k); other < end(k); other++) {
            if (other == node) continue;
            const double o = A::old_at(other);
            w *= (x - o) / (own - o);
        }
        return w;
    }
};

// Where a tile of SIDE nodes an axis keeps its nodes: see Tables::add in codec/backend/cuda/pyramid/tables.rs.
template <u32 SIDE> struct Memory {
    static constexpr u32 Y = SIDE | 1;
    static constexpr u32 Z = SIDE * Y + 9;
    // The last set that a position belongs to.
    static __host__ __device__ constexpr u32 last_set(u32 position) {
        if (position == 0 || position == SIDE - 1) return 32;
        u32 set = 0;
        while ((position >> set & 1) == 0) set++;
        return set;
    }
    // The place of a position of axis 1 or 2: the nodes of later sets come first.
    static __host__ __device__ constexpr u32 rank(u32 position) {
        u32 before = 0;
        for (u32 other = 0; other < SIDE; other++) {
            const u32 set = last_set(other), own = last_set(position);
            before += set > own || (set == own && other < position);
        }
        return before;
    }
    // The tolerance block of each rank, two bits each.
    static __host__ __device__ constexpr u64 blocks() {
        u64 all = 0;
        for (u32 position = 0; position < SIDE; position++) all |= (u64)(position / 8) << (2 * rank(position));
        return all;
    }
};

// The nodes of S(1) of a whole tile.
template <u32 SIDE> struct CoarseSize {
    static constexpr u32 AXIS = SIDE / 2 + 1, ALL = AXIS * AXIS * AXIS;
    static __device__ __forceinline__ u32 position(u32 index) { return min(2 * index, SIDE - 1); }
};
