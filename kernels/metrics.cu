// How far a reconstruction is from its original, tier by tier. Sums have a fixed order that depends on the shape alone; whether a value keeps
// its tolerance is judged in exact arithmetic.
#include "element.cuh"

struct Figures {
    // Of v - u, and of its square.
    double sum, squares;
    // Infinite where v is NaN.
    double max_error;
    // Of the original.
    double least, largest;
    u32 values, violations;
};

struct CompareArguments {
    const void *original, *reconstructed;
    // One a block of 8^3 nodes.
    const u8 *tiers;
    // By tier; 0 asks for the same bits.
    const double *tolerances;
    Figures *of_blocks;
    // SLICES for each tier.
    Figures *of_tiers;
    u32 n[3];
    u32 blocks[3];
};

// Parts of the blocks that are summed up apart.
constexpr u32 SLICES = 64;

__device__ __forceinline__ Figures nothing() {
    const double infinite = Real<double>::from_bits(Real<double>::INFINITE);
    return {0, 0, 0, infinite, -infinite, 0, 0};
}
__device__ __forceinline__ void join(Figures &a, const Figures &b) {
    a.sum = __dadd_rn(a.sum, b.sum);
    a.squares = __dadd_rn(a.squares, b.squares);
    a.max_error = b.max_error > a.max_error ? b.max_error : a.max_error;
    a.least = b.least < a.least ? b.least : a.least;
    a.largest = b.largest > a.largest ? b.largest : a.largest;
    a.values += b.values;
    a.violations += b.violations;
}
__device__ __forceinline__ void join_lanes(Figures &a, int distance) {
    Figures b;
    b.sum = __shfl_xor_sync(FULL, a.sum, distance);
    b.squares = __shfl_xor_sync(FULL, a.squares, distance);
    b.max_error = __shfl_xor_sync(FULL, a.max_error, distance);
    b.least = __shfl_xor_sync(FULL, a.least, distance);
    b.largest = __shfl_xor_sync(FULL, a.largest, distance);
    b.values = __shfl_xor_sync(FULL, a.values, distance);
    b.violations = __shfl_xor_sync(FULL, a.violations, distance);
    join(a, b);
}

// Whether |u - v| <= tau in exact arithmetic, by the exact sum of the rounded difference and its error; never when v is not finite.
__device__ __forceinline__ bool keeps(double u, double v, double tau) {
    double high = __dsub_rn(u, v);
    const double back = __dsub_rn(high, u);
    double low = __dsub_rn(__dsub_rn(u, __dsub_rn(high, back)), __dadd_rn(v, back));
    if (high < 0) high = -high, low = -low;
    return high < tau || (high == tau && low <= 0);
}

template <class T> __device__ __forceinline__ void add(Figures &f, T original, T reconstructed, double tau) {
    const double u = original, v = reconstructed, e = __dsub_rn(v, u), size = Real<double>::abs(e);
    f.sum = __dadd_rn(f.sum, e);
    f.squares = __dadd_rn(f.squares, __dmul_rn(e, e));
    // Not below: a NaN counts as infinite.
    if (!(size <= f.max_error)) f.max_error = size == size ? size : Real<double>::from_bits(Real<double>::INFINITE);
    f.least = u < f.least ? u : f.least;
    f.largest = u > f.largest ? u : f.largest;
    f.values++;
    const bool kept = tau == 0 ? Real<T>::bits(original) == Real<T>::bits(reconstructed) : keeps(u, v, tau);
    f.violations += !kept;
}

// A warp four blocks in a row, so that its lanes read 32 values side by side.
template <class T> __device__ void compare_blocks(const CompareArguments &a) {
    const T *original = (const T *)a.original, *reconstructed = (const T *)a.reconstructed;
    const u32 lane = threadIdx.x & 31, warps = gridDim.x * (blockDim.x / 32), groups = (a.blocks[2] + 3) / 4;
    const u64 count = (u64)a.blocks[0] * a.blocks[1] * groups;
    for (u64 g = (blockIdx.x * blockDim.x + threadIdx.x) / 32; g < count; g += warps) {
        const u32 block_x = (u32)(g % groups) * 4 + lane / 8, x = 8 * block_x + lane % 8;
        const u64 row = g / groups;
        const u32 y0 = 8 * (u32)(row % a.blocks[1]), z0 = 8 * (u32)(row / a.blocks[1]);
        const u32 nz = min(8u, a.n[0] - z0), ny = min(8u, a.n[1] - y0);
        const bool exists = x < a.n[2];
        const u64 block = row * a.blocks[2] + block_x;
        Figures f = nothing();
        const double tau = exists ? a.tolerances[a.tiers[block]] : 0;
        for (u32 z = z0; z < z0 + nz && exists; z++) {
            const u64 at = ((u64)z * a.n[1] + y0) * a.n[2] + x;
            T u[8], v[8];
#pragma unroll
            for (u32 y = 0; y < 8; y++) {
                if (y < ny) u[y] = original[at + (u64)y * a.n[2]], v[y] = reconstructed[at + (u64)y * a.n[2]];
            }
#pragma unroll
            for (u32 y = 0; y < 8; y++) {
                if (y < ny) add(f, u[y], v[y], tau);
            }
        }
        __syncwarp();
        for (int distance = 4; distance; distance >>= 1) join_lanes(f, distance);
        if (lane % 8 == 0 && exists) a.of_blocks[block] = f;
    }
}

// A block of threads a slice of one tier.
extern "C" __global__ void __launch_bounds__(256) join_tiers(const CompareArguments a) {
    __shared__ Figures of_warps[8];
    const u32 tier = blockIdx.x / SLICES, slice = blockIdx.x % SLICES;
    const u64 count = (u64)a.blocks[0] * a.blocks[1] * a.blocks[2], share = (count + SLICES - 1) / SLICES;
    const u64 begin = min(share * slice, count), end = min(begin + share, count);
    Figures f = nothing();
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        if (a.tiers[i] == tier) join(f, a.of_blocks[i]);
    }
    __syncwarp();
    for (int distance = 16; distance; distance >>= 1) join_lanes(f, distance);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = f;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (u32 w = 1; w < 8; w++) join(f, of_warps[w]);
    a.of_tiers[blockIdx.x] = f;
}

extern "C" __global__ void __launch_bounds__(256) compare_blocks_f32(const CompareArguments a) { compare_blocks<float>(a); }
extern "C" __global__ void __launch_bounds__(256) compare_blocks_f64(const CompareArguments a) { compare_blocks<double>(a); }
