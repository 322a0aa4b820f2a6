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

// Where a whole tile keeps its nodes: planes of z in order, in each the nodes that are old on y and x, new on y, new on x, new on both, row by
// row, so that the lines of a warp meet few banks twice. Mirrored in codec/backend/cuda/pyramid/lines.rs.
template <class T, u32 SIDE> struct Memory {
    static constexpr u32 OLD = Axis<SIDE>::OLD, NEW = Axis<SIDE>::NEW;
    static constexpr u32 NEW_Y = OLD * OLD, NEW_X = NEW_Y + OLD * NEW, NEW_YX = NEW_X + OLD * NEW;
    // Distance of planes; elements of a tile.
    static constexpr u32 Z = SIDE * SIDE + (SIDE == 8 ? 3 : 13);
    static constexpr u32 PLACES = (SIDE * Z + 3) / 4 * 4 + (SIDE == 8 ? 12 : 0);
    // Where the old and the new nodes of row y of a plane begin.
    static __device__ __forceinline__ u32 old_of_row(u32 y) {
        const bool is_new = y % 2 == 1 && y != SIDE - 1;
        return is_new ? NEW_Y + y / 2 * OLD : (y + 1) / 2 * OLD;
    }
    static __device__ __forceinline__ u32 new_of_row(u32 y) {
        const bool is_new = y % 2 == 1 && y != SIDE - 1;
        return is_new ? NEW_YX + y / 2 * NEW : NEW_X + (y + 1) / 2 * NEW;
    }
};

// The nodes of S(1) of a whole tile.
template <u32 SIDE> struct CoarseSize {
    static constexpr u32 AXIS = SIDE / 2 + 1, ALL = AXIS * AXIS * AXIS;
    static __device__ __forceinline__ u32 position(u32 index) { return min(2 * index, SIDE - 1); }
};

// Warps that take the lines of step 0 of TILES whole tiles: nodes new on one axis, for each of the three; on two, along z and along y; on all.
template <u32 SIDE, u32 TILES> struct LineList {
    typedef Axis<SIDE> A;
    static __host__ __device__ constexpr u32 warps(u32 lines) { return (TILES * lines + 31) / 32; }
    static constexpr u32 ONE = warps(A::OLD * A::OLD);
    static constexpr u32 ALONG_Z = warps(2 * A::OLD * A::NEW), ALONG_Y = warps(A::OLD * A::NEW);
    static constexpr u32 THREE = warps(A::NEW * A::NEW);
};
