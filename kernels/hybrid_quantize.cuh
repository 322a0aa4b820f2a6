// Four blocks of the finest level become symbols, one warp for all four: each lane walks through rows and planes in registers.
#pragma once
#include "hybrid_columns.cuh"

// Whether blocks with symbols of at most `NEAR` keep their tolerance whatever their nodes are, because the coarse nodes are off by `error` at most
// and have magnitudes of at most `largest`. The half step and `error` add up; six roundings of interpolants and one of the rebuilt value, of
// |v1| <= largest + error, are half an ulp each; the roundings of the detail, of its product with the inverse and of symbol times step are less than a
// 2^12th of a step together. An inverse that is 0 (what is rounded to nothing) or no normal number says nothing about details.
constexpr u32 NEAR = 1024;
template <class T> __device__ __forceinline__ bool is_safe(const Step<T> &by, float error, float largest) {
    constexpr T EIGHT_ROUNDINGS = sizeof(T) == 4 ? (T)0x1p-21 : (T)0x1p-50;
    const T roundings = Real<T>::mul(EIGHT_ROUNDINGS, Real<T>::add((T)largest, (T)error));
    return by.inverse >= (T)0x1p-120 && Real<T>::add(Real<T>::fma(by.step, (T)(0.5 + 0x1p-11), roundings), (T)error) <= by.check;
}

// CHECKED: nodes that the decoder would miss are looked for.
template <class T, bool CHECKED> struct BlockQuantizer {
    const Step<T> by;
    i16 *symbols;
    u32 x;
    // The widest symbol, and whether a node is missed.
    typename Real<T>::Bits widest;
    bool missed;
    static constexpr u32 MOST = CHECKED ? 32767 : NEAR;

    // A plane z, its values and what is interpolated from the coarse nodes as they were and as the decoder has them.
    template <bool ODD> __device__ __forceinline__ void plane(u32 z, const T (&u)[8], const Plane<T> &open, const Plane<T> &closed) {
        typedef typename Real<T>::Bits B;
        const Details<ODD> details(x);
        i16 *to = symbols + plane_details(z);
#pragma unroll
        for (u32 y = 0; y < 8; y++) {
            // the symbol is in the low bits, since conversions take four times as long
            const T d = Real<T>::sub(u[y], open.node(y, details.odd)), rounded = Real<T>::add(Real<T>::mul(d, by.inverse), Real<T>::ROUNDER);
            const bool has = details.has(y);
            // a symbol without room, or a value that is none, leaves the block to the other kernel
            const B shifted = Real<T>::bits(rounded) - (Real<T>::bits(Real<T>::ROUNDER) - MOST);
            widest = max(widest, CHECKED && !has ? (B)MOST : shifted);
            if (CHECKED) {
                const T q = has ? Real<T>::sub(rounded, Real<T>::ROUNDER) : (T)0, v = Real<T>::fma(q, by.step, closed.node(y, details.odd));
                missed |= !(Real<T>::abs(Real<T>::sub(u[y], v)) <= by.check);
            }
            if (has) to[details.at(y)] = (i16)Real<T>::bits(rounded);
        }
    }
    __device__ __forceinline__ bool special() const { return widest > 2 * MOST || (missed && by.check >= 0); }
};

// The symbols of a warp's blocks into shared memory. Bit b is set where block b is left: a symbol has no room, or the decoder would miss a node.
template <class T, bool CHECKED, class F, class C>
__device__ __forceinline__ u32 quantize_blocks(const Lane &l, const Step<T> &by, const F &column, const C &coarse, i16 *symbols) {
    BlockQuantizer<T, CHECKED> quantizer = {by, symbols + l.b * STRIDE, l.x, 0, false};
    T u[8], c[5];
    Plane<T> open, closed;
    column.load(0, u);
    open.take(u, l.x);
    if (CHECKED) {
        coarse.load(0, c);
        CoarseColumn<T>::share(c, closed);
    }
    quantizer.template plane<false>(0, u, open, closed);
    // the next coarse plane and the plane before it
#pragma unroll 1
    for (u32 k = 1; k < 5; k++) {
        T middle[8];
        Plane<T> next_open, next_closed;
        column.load(k < 4 ? 2 * k : 7, u);
        column.load(2 * k - 1, middle);
        if (CHECKED) coarse.load(k, c);
        next_open.take(u, l.x);
        if (CHECKED) CoarseColumn<T>::share(c, next_closed);
        if (k < 4) {
            open.between(open, next_open);
            if (CHECKED) closed.between(closed, next_closed);
            quantizer.template plane<true>(2 * k - 1, middle, open, closed);
        }
        open = next_open;
        if (CHECKED) closed = next_closed;
        quantizer.template plane<false>(k < 4 ? 2 * k : 7, u, open, closed);
    }
    const u32 found = __ballot_sync(FULL, quantizer.special() && l.active);
    u32 left = 0;
#pragma unroll
    for (u32 b = 0; b < GROUP; b++) left |= (u32)((found >> 8 * b & 255) != 0) << b;
    __syncwarp();
    return left;
}
// Lists blocks for another kernel, which does them again: those with details that are stored exactly or nodes that the decoder would miss.
__device__ __forceinline__ void leave_blocks(const LocalArguments &a, const Lane &l, u32 left) {
    if (l.x == 0 && left >> l.b & 1) a.redo[atomicAdd(&a.state->redo_count, 1u)] = l.cell * a.cell_blocks + l.index;
}
template <class T> __device__ __forceinline__ Step<T> step_of(const LocalArguments &a, const Lane &l) {
    return ((const Step<T> *)a.steps)[a.tiers[l.raster]];
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
