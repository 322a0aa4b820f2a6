// Four blocks of the finest level become symbols, one warp for all four: each lane walks through rows and planes in registers.
#pragma once
#include "hybrid_columns.cuh"

template <class T> struct BlockQuantizer {
    const LocalArguments &a;
    const Step<T> by;
    i16 *symbols;
    u32 x;
    // Whether a symbol has no room, and whether a node is missed.
    bool wide, missed;

    // A plane z, its values and what is interpolated from the coarse nodes as they were and as the decoder has them.
    template <bool ODD> __device__ __forceinline__ void plane(u32 z, const T (&u)[8], const Plane<T> &open, const Plane<T> &closed) {
        const Details<ODD> details(x);
        i16 *to = symbols + plane_details(z);
#pragma unroll
        for (u32 y = 0; y < 8; y++) {
            // rounded in the low bits, since conversions take four times as long
            const T rounded = Real<T>::add(Real<T>::mul(Real<T>::sub(u[y], open.node(y, details.odd)), by.inverse), Real<T>::ROUNDER);
            const T q = details.has(y) ? Real<T>::sub(rounded, Real<T>::ROUNDER) : (T)0;
            const T v = Real<T>::fma(q, by.step, closed.node(y, details.odd));
            // a symbol without room, or a value that is none, leaves the block to the other kernel
            wide |= !(Real<T>::abs(q) <= (T)32767);
            missed |= !(Real<T>::abs(Real<T>::sub(u[y], v)) <= by.check);
            if (details.has(y)) to[details.at(y)] = (i16)Real<T>::bits(rounded);
        }
    }
};

// The symbols of a warp's blocks into shared memory. Bit 8 * b is set where block b must be done again: details whose symbols have no room, among
// them those that are stored exactly, and nodes that the decoder would miss. Both are rare.
template <class T, class C>
__device__ __forceinline__ u32 quantize_blocks(const LocalArguments &a, const Lane &l, const FrameColumn<T> &column, const C &coarse, i16 *symbols) {
    BlockQuantizer<T> quantizer = {a, ((const Step<T> *)a.steps)[a.tiers[l.raster]], symbols + l.b * STRIDE, l.x, false, false};
    T u[8], c[5];
    Plane<T> open, closed;
    column.load(0, u);
    coarse.load(0, c);
    open.take(u, l.x);
    CoarseColumn<T>::share(c, closed);
    quantizer.template plane<false>(0, u, open, closed);
    // the next coarse plane and the plane before it
#pragma unroll 1
    for (u32 k = 1; k < 5; k++) {
        T middle[8];
        Plane<T> next_open, next_closed;
        column.load(k < 4 ? 2 * k : 7, u);
        column.load(2 * k - 1, middle);
        coarse.load(k, c);
        next_open.take(u, l.x);
        CoarseColumn<T>::share(c, next_closed);
        if (k < 4) {
            open.between(open, next_open);
            closed.between(closed, next_closed);
            quantizer.template plane<true>(2 * k - 1, middle, open, closed);
        }
        open = next_open, closed = next_closed;
        quantizer.template plane<false>(k < 4 ? 2 * k : 7, u, open, closed);
    }
    const bool special = quantizer.wide | (quantizer.missed && quantizer.by.check >= 0);
    const u32 found = __ballot_sync(FULL, special && l.active);
    u32 flags = 0;
#pragma unroll
    for (u32 b = 0; b < GROUP; b++) flags |= (u32)((found >> 8 * b & 255) != 0) << 8 * b;
    if (l.x == 0 && flags >> 8 * l.b & 1) a.redo[atomicAdd(&a.state->redo_count, 1u)] = l.cell * a.cell_blocks + l.index;
    __syncwarp();
    return flags;
}

// The symbols of `count` blocks that are neighbours in their cell to global memory.
__device__ __forceinline__ void store_symbols(i16 *symbols, u32 count, i16 *to) {
    const u32 lane = threadIdx.x & 31, tail = tail_place(lane);
    if (lane < TAILS) symbols[tail + GAP] = symbols[tail];
    __syncwarp();
    if (count == GROUP) {
#pragma unroll
        for (u32 r = 0; r < MOVES; r++) {
            const u32 i = 32 * r + lane;
            if (r < MOVES - 1 || i < GROUP * DETAILS / PER_MOVE) ((uint2 *)to)[i] = *(const uint2 *)(symbols + PER_MOVE * i + r / 3 * GAP);
        }
    } else {
        for (u32 i = lane; i < count * DETAILS; i += 32) to[i] = symbols[staged_place(i)];
    }
    __syncwarp();
}
