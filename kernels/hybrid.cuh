// The hybrid hierarchy's constants, small operations and what the host hands to its kernels.
// Mirrored in codec/backend/cuda/hybrid/arguments.rs; FORMAT.md has every rounding.
#pragma once
#include "element.cuh"

// The symbol of a detail that is stored exactly.
constexpr i32 STORED = (i32)0x80000000u;
// Set in `HybridState::refused` when the CPU must do the frame.
constexpr u32 COARSE_STORED = 1;
constexpr u32 BLOCK = 8;
constexpr u32 COARSE = 5;

// Of one tier on one level. `check` is that of the tier: |u - v| <= check keeps its tolerance. It is negative for
// lossless tiers, whose nodes are stored beside the hierarchy.
template <class T> struct Step {
    T step, inverse, check;
};

// Blocks that lie together in memory: those of a chunk, or all of a level of the coarse part.
struct Cell {
    // Place of its first symbol.
    u64 symbol;
    // In blocks of the level.
    u32 lo[3], shape[3];
    // What it is called in lists.
    u32 name;
    u32 unused;
};

// Whether one of two symbols is EXACT.
__device__ __forceinline__ u32 has_exact(u32 pair) {
    const u32 apart = pair ^ 0x80008000;
    return (apart - 0x00010001) & ~apart & 0x80008000;
}

// Values that were found in no particular order; the host sorts them.
struct FoundList {
    // Name of the cell << 32 | index in it.
    u64 *keys;
    void *values;
    u32 *count;
    u32 capacity;
    u32 unused;
};

// What the host reads after the work.
struct HybridState {
    u32 refused;
    // Nonzero when a value of the coarsest array must be stored exactly.
    u32 coarsest_stored;
    u32 stored_count;
    u32 missed_count;
    // Blocks in `LocalArguments::redo`.
    u32 redo_count;
    u32 unused;
};

// Symbols of 16 bits. Of one that does not fit there is EXACT, and its zigzag in `wide` at the same place.
struct Symbols {
    i16 *narrow;
    u32 *wide;
    static __device__ __forceinline__ bool fits(i32 q) { return (u32)(q + 32767) <= 65534; }
    static __device__ __forceinline__ u32 zigzag(i32 q) { return (u32)q << 1 ^ (u32)(q >> 31); }
    __device__ __forceinline__ i32 get_wide(u64 at) const {
        const u32 z = wide[at];
        return (i32)(z >> 1 ^ (0u - (z & 1)));
    }
    __device__ __forceinline__ i32 get(u64 at) const {
        const i32 q = narrow[at];
        return q == EXACT ? get_wide(at) : q;
    }
    __device__ __forceinline__ void put(u64 at, i32 q) const {
        narrow[at] = fits(q) ? (i16)q : EXACT;
        if (!fits(q)) wide[at] = zigzag(q);
    }
};

// A local level over all blocks of `cells`.
struct LocalArguments {
    // Values of the level, and the coarse nodes that the blocks leave.
    const void *fine;
    void *coarse;
    // Coarse nodes as the decoder has them, and the rebuilt box `lo .. hi` of the level.
    const void *rebuilt;
    void *result;
    Symbols symbols;
    // Of the level's blocks in raster order.
    const u8 *tiers;
    // Step<T> by tier.
    const void *steps;
    // P of a block axis, 5 x 8; null for the hierarchical basis.
    const void *projection;
    const Cell *cells;
    HybridState *state;
    // Blocks that the finest level's own kernel leaves to the general one.
    u32 *redo;
    // For each cell, how many symbols the decoder found that stand for a detail stored exactly; null where none may.
    u32 *stored_counts;
    FoundList stored, missed;
    u32 cell_count;
    // The largest number of blocks of a cell.
    u32 cell_blocks;
    u32 n[3], blocks[3], coarse_n[3];
    u32 lo[3], hi[3];
    u32 rank;
    // Takes the blocks of `redo` instead of all.
    u32 only_redo;
    u32 unused;
};

// A global level, or the coarsest array.
struct GlobalArguments {
    const void *fine;
    void *coarse;
    void *result;
    // Details, in the projection basis.
    void *details;
    // From the first of the level on.
    Symbols symbols;
    // One Step<T>.
    const void *step;
    HybridState *state;
    u32 n[3], coarse_n[3];
    // Of the array of which `fine` are the coarse nodes of blocks, where they are to be taken from that.
    u32 sampled_n[3];
    u32 unused;
};

// The finest level and the global one behind it together; `coarse` of the latter is what the decoder has.
struct TwoLevelsArguments {
    LocalArguments finest;
    GlobalArguments behind;
};

// One axis of the correction P d of a global level: outer x n x inner values to outer x m x inner.
struct AxisArguments {
    const void *from;
    void *to;
    // For each coarse node of the axis: w, inverse, c of the solver, five weights of the restriction.
    const void *rows;
    u32 outer, n, inner, m;
};

// The correction joins the coarse nodes; `result` may be one of the two.
struct JoinArguments {
    const void *coarse, *correction;
    void *result;
    u32 count;
    // Subtracts (decoder) instead of adding.
    u32 subtract;
};

// Nodes of the frame that miss their tolerance, where the chunks have no symbols.
struct MissedArguments {
    const void *fine;
    const void *rebuilt;
    const u8 *tiers;
    const void *steps;
    FoundList missed;
    u32 n[3], blocks[3];
    // Blocks of a full chunk, and chunks, an axis.
    u32 side[3], chunks[3];
};

// Values for places of the result.
struct ScatterArguments {
    void *result;
    const u64 *places;
    const void *values;
    u32 count;
    u32 unused;
};

// A dense box of values goes to its place in a larger dense box.
struct BoxArguments {
    const void *values;
    void *result;
    // Extents of the box, its place in the result (nodes before `skip` are left out), extents of the result.
    u32 from_n[3], skip[3], count[3], at[3], to_n[3];
    u32 unused;
};

template <class T> __device__ __forceinline__ T midpoint(T left, T right) {
    return Real<T>::fma(right, (T)0.5, Real<T>::mul(left, (T)0.5));
}
__device__ __forceinline__ i32 round_to_int(float v) { return __float2int_rn(v); }
__device__ __forceinline__ i32 round_to_int(double v) { return __double2int_rn(v); }

template <class T> __device__ __forceinline__ bool is_finite(T v) {
    return (Real<T>::bits(v) & Real<T>::INFINITE) != Real<T>::INFINITE;
}
template <class T> __device__ __forceinline__ i32 quantize_detail(T d, const Step<T> &by) {
    const T t = Real<T>::mul(d, by.inverse);
    const bool fits = Real<T>::abs(t) <= (T)(1 << 30);
    const i32 wide = is_finite(d) ? STORED : 0;
    return fits ? round_to_int(fits ? t : (T)0) : wide;
}
template <class T> __device__ __forceinline__ T whole(i32 q) { return (T)(q == STORED ? 0 : q); }
// `w` plus the detail of a symbol.
template <class T> __device__ __forceinline__ T add_detail(T w, i32 q, const Step<T> &by) {
    return Real<T>::fma(whole<T>(q), by.step, w);
}
template <class T> __device__ __forceinline__ bool misses(T u, T v, T check) {
    return check >= 0 && !(Real<T>::abs(Real<T>::sub(u, v)) <= check);
}
template <class T> __device__ __forceinline__ void note(const FoundList &list, u32 cell, u32 index, T value) {
    const u32 at = atomicAdd(list.count, 1u);
    if (at < list.capacity) {
        list.keys[at] = (u64)cell << 32 | index;
        ((T *)list.values)[at] = value;
    }
}
