// One local level of three axes in the hierarchical basis as the paper's in-cache block maps it: 512 threads a block, a thread a node, the block
// in shared memory. For comparison alone: the codec's own kernels are in hybrid_finest.cu.
#include "hybrid_block.cuh"

// Fills in the thread's node of `w` from coarse ones: axis 0, then 1, then 2.
template <class T> __device__ __forceinline__ void interpolate_node(T *w, u32 z, u32 y, u32 x) {
    T *v = w + threadIdx.x;
    if (!is_kept(z) && is_kept(y) && is_kept(x)) *v = midpoint(v[-64], v[64]);
    __syncthreads();
    if (!is_kept(y) && is_kept(x)) *v = midpoint(v[-8], v[8]);
    __syncthreads();
    if (!is_kept(x)) *v = midpoint(v[-1], v[1]);
    __syncthreads();
}
__device__ __forceinline__ u64 coarse_of(const LocalArguments &a, const BlockPlace &p, u32 z, u32 y, u32 x) {
    const u32 cz = p.at[0] * 5 + (z + 1) / 2, cy = p.at[1] * 5 + (y + 1) / 2, cx = p.at[2] * 5 + (x + 1) / 2;
    return ((u64)cz * a.coarse_n[1] + cy) * a.coarse_n[2] + cx;
}

// FUSED: details go to symbols; else as they are to `result`.
template <class T, bool FUSED> __device__ void decompose(const LocalArguments &a) {
    __shared__ T w[512];
    const u32 x = threadIdx.x & 7, y = threadIdx.x >> 3 & 7, z = threadIdx.x >> 6;
    BlockPlace p;
    if (!find_block(a, blockIdx.x, p)) return;
    const u32 gx = min(p.at[2] * 8 + x, a.n[2] - 1), gy = min(p.at[1] * 8 + y, a.n[1] - 1), gz = min(p.at[0] * 8 + z, a.n[0] - 1);
    const T u = ((const T *)a.fine)[((u64)gz * a.n[1] + gy) * a.n[2] + gx];
    w[threadIdx.x] = u;
    __syncthreads();
    interpolate_node(w, z, y, x);
    const i32 at = detail_of<3>(threadIdx.x);
    if (at < 0) {
        ((T *)a.coarse)[coarse_of(a, p, z, y, x)] = u;
        return;
    }
    const T d = Real<T>::sub(u, w[threadIdx.x]);
    const u64 to = a.cells[p.cell].symbol + (u64)p.index * 387 + at;
    if (FUSED) a.symbols.put(to, quantize_detail(d, ((const Step<T> *)a.steps)[a.tiers[p.raster]]));
    else ((T *)a.result)[to] = d;
}

// FUSED: details come from symbols; else from `rebuilt`. The values go to `result`.
template <class T, bool FUSED> __device__ void recompose(const LocalArguments &a) {
    __shared__ T w[512];
    const u32 x = threadIdx.x & 7, y = threadIdx.x >> 3 & 7, z = threadIdx.x >> 6;
    BlockPlace p;
    if (!find_block(a, blockIdx.x, p)) return;
    const i32 at = detail_of<3>(threadIdx.x);
    if (at < 0) w[threadIdx.x] = ((const T *)a.coarse)[coarse_of(a, p, z, y, x)];
    __syncthreads();
    interpolate_node(w, z, y, x);
    T v = w[threadIdx.x];
    if (at >= 0) {
        const u64 from = a.cells[p.cell].symbol + (u64)p.index * 387 + at;
        if (FUSED) v = add_detail(v, a.symbols.get(from), ((const Step<T> *)a.steps)[a.tiers[p.raster]]);
        else v = Real<T>::add(v, ((const T *)a.rebuilt)[from]);
    }
    const u32 gx = p.at[2] * 8 + x, gy = p.at[1] * 8 + y, gz = p.at[0] * 8 + z;
    if (gx < a.n[2] && gy < a.n[1] && gz < a.n[0]) ((T *)a.result)[((u64)gz * a.n[1] + gy) * a.n[2] + gx] = v;
}

// What fusion saves: a pass over the details of a uniform tolerance, and back.
struct PlainArguments {
    void *details;
    Symbols symbols;
    const void *step;
    u64 count;
};
template <class T> __device__ void quantize_all(const PlainArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) a.symbols.put(i, quantize_detail(((const T *)a.details)[i], by));
}
template <class T> __device__ void dequantize_all(const PlainArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) ((T *)a.details)[i] = Real<T>::mul(whole<T>(a.symbols.get(i)), by.step);
}

extern "C" __global__ void __launch_bounds__(512) plain_decompose_f32(const LocalArguments a) { decompose<float, false>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_decompose_f64(const LocalArguments a) { decompose<double, false>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_decompose_fused_f32(const LocalArguments a) { decompose<float, true>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_decompose_fused_f64(const LocalArguments a) { decompose<double, true>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_recompose_f32(const LocalArguments a) { recompose<float, false>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_recompose_f64(const LocalArguments a) { recompose<double, false>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_recompose_fused_f32(const LocalArguments a) { recompose<float, true>(a); }
extern "C" __global__ void __launch_bounds__(512) plain_recompose_fused_f64(const LocalArguments a) { recompose<double, true>(a); }
extern "C" __global__ void plain_quantize_f32(const PlainArguments a) { quantize_all<float>(a); }
extern "C" __global__ void plain_quantize_f64(const PlainArguments a) { quantize_all<double>(a); }
extern "C" __global__ void plain_dequantize_f32(const PlainArguments a) { dequantize_all<float>(a); }
extern "C" __global__ void plain_dequantize_f64(const PlainArguments a) { dequantize_all<double>(a); }
