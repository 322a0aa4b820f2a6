// The coarsest array of the hierarchy: its symbols are differences along all axes.
#include "hybrid.cuh"

// Symbols of the coarsest array, differenced along all axes; the values stay in `fine`.
template <class T> __device__ void quantize_coarsest(const GlobalArguments &a) {
    const T *values = (const T *)a.fine;
    const Step<T> by = *(const Step<T> *)a.step;
    const u32 plane = a.n[1] * a.n[2], total = a.n[0] * plane;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const u32 z = i / plane, y = i / a.n[2] % a.n[1], x = i % a.n[2];
        if (quantize_detail(values[i], by) == STORED) atomicOr(&a.state->coarsest_stored, 1u);
        u32 sum = 0;
        for (u32 k = 0; k < 8; k++) {
            const u32 dz = k >> 2, dy = k >> 1 & 1, dx = k & 1;
            if (z < dz || y < dy || x < dx) continue;
            const u32 q = (u32)quantize_detail(values[i - dz * plane - dy * a.n[2] - dx], by);
            sum += (dz + dy + dx) & 1 ? 0 - q : q;
        }
        a.symbols.put(i, (i32)sum);
    }
}

// The coarsest array as the decoder has it, from values (encoder): the values when one of them is stored exactly.
template <class T> __device__ void round_coarsest(const GlobalArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    const T *values = (const T *)a.fine;
    T *result = (T *)a.result;
    const u32 total = a.n[0] * a.n[1] * a.n[2];
    const bool stored = a.state->coarsest_stored;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        result[i] = stored ? values[i] : Real<T>::mul(whole<T>(quantize_detail(values[i], by)), by.step);
}

// Running sums of symbols, wrapping, along one axis after the other, the last one first: a warp a row, from where symbols are put to `wide`.
__device__ void sum_rows(const GlobalArguments &a) {
    const u32 lane = threadIdx.x & 31, rows = a.n[0] * a.n[1], warps = gridDim.x * blockDim.x / 32;
    for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const u64 line = (u64)row * a.n[2];
        u32 carry = 0;
        for (u32 x = 0; x < a.n[2]; x += 32) {
            u32 v = x + lane < a.n[2] ? (u32)a.symbols.get(line + x + lane) : 0;
            for (int by = 1; by < 32; by *= 2) {
                const u32 low = __shfl_up_sync(FULL, v, by);
                if (lane >= (u32)by) v += low;
            }
            v += carry;
            carry = __shfl_sync(FULL, v, 31);
            if (x + lane < a.n[2]) a.symbols.wide[line + x + lane] = v;
        }
    }
}
// Along another axis of `n` numbers in `wide`, `stride` apart, from `line` on: hands each sum and its place to `use`.
template <class F> __device__ __forceinline__ void sum_line(const GlobalArguments &a, u64 line, u32 n, u64 stride, F use) {
    // so many loads are under way at a time
    constexpr u32 TOGETHER = 32;
    const u32 *from = a.symbols.wide + line;
    u32 sum = 0;
    for (u32 k = 0; k < n; k += TOGETHER) {
        u32 v[TOGETHER];
#pragma unroll
        for (u32 j = 0; j < TOGETHER; j++) v[j] = from[min(k + j, n - 1) * stride];
#pragma unroll
        for (u32 j = 0; j < TOGETHER; j++)
            if (k + j < n) use(line + (k + j) * stride, sum += v[j]);
    }
}
__device__ void sum_columns(const GlobalArguments &a) {
    const u32 width = a.n[2], columns = a.n[0] * width;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x) {
        const u32 z = i / width;
        sum_line(a, (u64)z * a.n[1] * width + (i - z * width), a.n[1], width, [&](u64 at, u32 sum) { a.symbols.wide[at] = sum; });
    }
}
// The last axis to be summed along, and the values of the coarsest array.
template <class T> __device__ void dequantize_coarsest(const GlobalArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    T *result = (T *)a.result;
    const u32 plane = a.n[1] * a.n[2];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < plane; i += gridDim.x * blockDim.x)
        sum_line(a, i, a.n[0], plane, [&](u64 at, u32 sum) { result[at] = Real<T>::mul(whole<T>((i32)sum), by.step); });
}

extern "C" __global__ void hybrid_sum_rows(const GlobalArguments a) { sum_rows(a); }
extern "C" __global__ void hybrid_sum_columns(const GlobalArguments a) { sum_columns(a); }
extern "C" __global__ void hybrid_quantize_coarsest_f32(const GlobalArguments a) { quantize_coarsest<float>(a); }
extern "C" __global__ void hybrid_quantize_coarsest_f64(const GlobalArguments a) { quantize_coarsest<double>(a); }
extern "C" __global__ void hybrid_round_coarsest_f32(const GlobalArguments a) { round_coarsest<float>(a); }
extern "C" __global__ void hybrid_round_coarsest_f64(const GlobalArguments a) { round_coarsest<double>(a); }
extern "C" __global__ void hybrid_dequantize_coarsest_f32(const GlobalArguments a) { dequantize_coarsest<float>(a); }
extern "C" __global__ void hybrid_dequantize_coarsest_f64(const GlobalArguments a) { dequantize_coarsest<double>(a); }
