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
    // Aligned to 16 bytes.
    const void *values;
    u64 count;
    // Bit pattern of the result; non-negative values order like their patterns. Zero before the launch.
    void *result;
};

// Loads of a thread under way at a time.
constexpr u32 LOADS = 4;

template <class T> __device__ void max_abs(const MaxAbsArguments &a) {
    typedef typename Bits<T>::type B;
    constexpr u32 WIDTH = 16 / sizeof(B);
    struct __align__(16) Several {
        B of[WIDTH];
    };
    const B *values = (const B *)a.values;
    const Several *pieces = (const Several *)a.values;
    constexpr B MAGNITUDE = ~(B)0 >> 1;
    B largest = 0;
    const auto add = [&](B v) {
        v &= MAGNITUDE;
        largest = v > largest ? v : largest;
    };
    const u64 stride = (u64)gridDim.x * blockDim.x, count = a.count / WIDTH;
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 i = thread;
    for (; i + (LOADS - 1) * stride < count; i += LOADS * stride) {
        Several loaded[LOADS];
#pragma unroll
        for (u32 k = 0; k < LOADS; k++) loaded[k] = pieces[i + k * stride];
#pragma unroll
        for (u32 k = 0; k < LOADS * WIDTH; k++) add(loaded[k / WIDTH].of[k % WIDTH]);
    }
    for (; i < count; i += stride) {
        const Several piece = pieces[i];
#pragma unroll
        for (u32 k = 0; k < WIDTH; k++) add(piece.of[k]);
    }
    if (thread < a.count % WIDTH) add(values[count * WIDTH + thread]);
    for (int offset = 16; offset; offset >>= 1) {
        const B other = __shfl_xor_sync(FULL, largest, offset);
        largest = other > largest ? other : largest;
    }
    if ((threadIdx.x & 31) == 0 && largest > 0) atomicMax((B *)a.result, largest);
}

extern "C" __global__ void __launch_bounds__(256) max_abs_f32(const MaxAbsArguments a) { max_abs<float>(a); }
extern "C" __global__ void __launch_bounds__(256) max_abs_f64(const MaxAbsArguments a) { max_abs<double>(a); }
