// The two element types: their bit patterns and the operations whose rounding FORMAT.md fixes.
#pragma once
#include "common.cuh"

template <class T> struct Real;
template <> struct Real<float> {
    typedef u32 Bits;
    typedef i32 Signed;
    static constexpr u32 SIGN = 0x80000000u;
    static constexpr u32 INFINITE = 0x7f800000u;
    // 1.5 * 2^23: adding it rounds to an integer, ties to even, that then stands in the low bits.
    static constexpr float ROUNDER = 12582912.0f;
    static __device__ __forceinline__ u32 bits(float v) { return __float_as_uint(v); }
    static __device__ __forceinline__ float from_bits(u32 b) { return __uint_as_float(b); }
    static __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
    static __device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
    static __device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
    static __device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
    static __device__ __forceinline__ float abs(float v) { return fabsf(v); }
    // The other one where one is NaN.
    static __device__ __forceinline__ float max(float a, float b) { return fmaxf(a, b); }
    static __device__ __forceinline__ float min(float a, float b) { return fminf(a, b); }
};
template <> struct Real<double> {
    typedef u64 Bits;
    typedef i64 Signed;
    static constexpr u64 SIGN = 0x8000000000000000ull;
    static constexpr u64 INFINITE = 0x7ff0000000000000ull;
    // 1.5 * 2^52
    static constexpr double ROUNDER = 6755399441055744.0;
    static __device__ __forceinline__ u64 bits(double v) { return (u64)__double_as_longlong(v); }
    static __device__ __forceinline__ double from_bits(u64 b) { return __longlong_as_double((i64)b); }
    static __device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
    static __device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }
    static __device__ __forceinline__ double sub(double a, double b) { return __dsub_rn(a, b); }
    static __device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
    static __device__ __forceinline__ double abs(double v) { return fabs(v); }
    static __device__ __forceinline__ double max(double a, double b) { return fmax(a, b); }
    static __device__ __forceinline__ double min(double a, double b) { return fmin(a, b); }
};

// The symbol of a node that is stored exactly.
constexpr i16 EXACT = -32768;

template <class T> struct Quantizer {
    T step, inverse, check;
};

// Order-preserving map from bit patterns to integers, and back.
template <class T> __device__ __forceinline__ typename Real<T>::Bits ordered(T v) {
    const typename Real<T>::Bits b = Real<T>::bits(v);
    return b & Real<T>::SIGN ? ~b : b | Real<T>::SIGN;
}
template <class T> __device__ __forceinline__ T from_ordered(typename Real<T>::Bits o) {
    return Real<T>::from_bits(o & Real<T>::SIGN ? o ^ Real<T>::SIGN : ~o);
}

// The prediction that a delta counts from: never NaN, infinite or -0, whose bits differ between machines.
template <class T> __device__ __forceinline__ T anchor(T p) {
    const bool finite = (Real<T>::bits(p) & Real<T>::INFINITE) != Real<T>::INFINITE;
    return finite ? Real<T>::add(p, (T)0) : (T)0;
}

// The residual of an exact node: the zigzag of ord(r) - ord(p).
template <class T> __device__ __forceinline__ typename Real<T>::Bits delta_of(T r, T p) {
    typedef typename Real<T>::Bits B;
    const B d = ordered(r) - ordered(anchor(p));
    return (d << 1) ^ (B)((typename Real<T>::Signed)d >> (8 * sizeof(T) - 1));
}
template <class T> __device__ __forceinline__ T apply_delta(typename Real<T>::Bits delta, T p) {
    typedef typename Real<T>::Bits B;
    const B d = (delta >> 1) ^ ((B)0 - (delta & 1));
    return from_ordered<T>(ordered(anchor(p)) + d);
}

// Quantizes value u against prediction p: the symbol, and the reconstruction in `u`. Whether it fits; if not, the symbol is EXACT.
template <class T> __device__ __forceinline__ bool quantize(T &u, T p, const Quantizer<T> &z, i16 &symbol) {
    typedef Real<T> R;
    const T rounded = R::add(R::mul(R::sub(u, p), z.inverse), R::ROUNDER);
    const T steps = R::sub(rounded, R::ROUNDER);
    const T r = R::fma(steps, z.step, p);
    const bool fits = (R::abs(steps) <= (T)32767) & (R::abs(R::sub(u, r)) <= z.check);
    u = fits ? r : u;
    symbol = fits ? (i16)R::bits(rounded) : EXACT;
    return fits;
}
