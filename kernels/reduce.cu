// Exact reductions over a whole field: the largest |u|. Order-free, so the same on every device.
#include "common.cuh"

template <class T> struct Bits;
template <> struct Bits<float> {
    typedef u32 type;
};
template <> struct Bits<double> {
    typedef u64 type;
};

struct MaxAbsArguments {
    const void *values;
    u64 count;
    // Bit pattern of the result; non-negative values order like their patterns. Zero before the launch.
    void *result;
};

template <class T> __device__ void max_abs(const MaxAbsArguments &a) {
    typedef typename Bits<T>::type B;
    const B *values = (const B *)a.values;
    const B magnitude = ~(B)0 >> 1;
    B largest = 0;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) {
        const B v = values[i] & magnitude;
        largest = v > largest ? v : largest;
    }
    for (int offset = 16; offset; offset >>= 1) {
        const B other = __shfl_xor_sync(FULL, largest, offset);
        largest = other > largest ? other : largest;
    }
    if ((threadIdx.x & 31) == 0) atomicMax((B *)a.result, largest);
}

extern "C" __global__ void max_abs_f32(const MaxAbsArguments a) { max_abs<float>(a); }
extern "C" __global__ void max_abs_f64(const MaxAbsArguments a) { max_abs<double>(a); }
