// The finest local level of frames with three axes in the hierarchical basis. Eight lanes share a block, a lane is a
// plane of it; rows pass through registers, neighbouring planes through shuffles. A warp holds four blocks.
#include "hybrid_block.cuh"

constexpr u32 GROUP = 4;
constexpr u32 DETAILS = 387;

// Where a lane stands.
struct Lane {
    u32 z, b, cell, index;
    // In blocks of the frame.
    u32 at[3];
    u32 raster;
    bool active;
};

// The lane's place in group `task` of four blocks; lanes without a block of their own follow the last one of the cell.
__device__ __forceinline__ bool find_lane(const LocalArguments &a, u32 task, Lane &l) {
    const u32 groups = (a.cell_blocks + GROUP - 1) / GROUP;
    l.cell = task / groups;
    const Cell &c = a.cells[l.cell];
    const u32 row = c.shape[2], plane = c.shape[1] * row, blocks = c.shape[0] * plane;
    const u32 first = (task - l.cell * groups) * GROUP;
    if (first >= blocks) return false;
    l.z = threadIdx.x & 7;
    l.b = threadIdx.x >> 3 & 3;
    l.active = first + l.b < blocks;
    l.index = min(first + l.b, blocks - 1);
    const u32 z = l.index / plane, in_plane = l.index - z * plane, y = in_plane / row;
    l.at[0] = c.lo[0] + z;
    l.at[1] = c.lo[1] + y;
    l.at[2] = c.lo[2] + in_plane - y * row;
    l.raster = (l.at[0] * a.blocks[1] + l.at[1]) * a.blocks[2] + l.at[2];
    return true;
}
__device__ __forceinline__ u32 group_tasks(const LocalArguments &a) {
    return a.cell_count * ((a.cell_blocks + GROUP - 1) / GROUP);
}

// Eight values from an address of whole sectors.
__device__ __forceinline__ void load_row(const float *from, float *row) {
    const float4 low = ((const float4 *)from)[0], high = ((const float4 *)from)[1];
    row[0] = low.x, row[1] = low.y, row[2] = low.z, row[3] = low.w;
    row[4] = high.x, row[5] = high.y, row[6] = high.z, row[7] = high.w;
}
__device__ __forceinline__ void load_row(const double *from, double *row) {
    for (u32 k = 0; k < 4; k++) {
        const double2 pair = ((const double2 *)from)[k];
        row[2 * k] = pair.x, row[2 * k + 1] = pair.y;
    }
}
__device__ __forceinline__ void store_row(float *to, const float *row) {
    ((float4 *)to)[0] = make_float4(row[0], row[1], row[2], row[3]);
    ((float4 *)to)[1] = make_float4(row[4], row[5], row[6], row[7]);
}
__device__ __forceinline__ void store_row(double *to, const double *row) {
    for (u32 k = 0; k < 4; k++) ((double2 *)to)[k] = make_double2(row[2 * k], row[2 * k + 1]);
}

// Rows of the lane's plane in the frame.
template <class T> struct PlaneRows {
    const T *plane;
    u32 y0, x0, ny, nx;
    // Whole rows at aligned addresses.
    bool wide;
    __device__ PlaneRows(const LocalArguments &a, const Lane &l) {
        ny = a.n[1], nx = a.n[2];
        y0 = l.at[1] * 8, x0 = l.at[2] * 8;
        plane = (const T *)a.fine + (u64)min(l.at[0] * 8 + l.z, a.n[0] - 1) * ny * nx;
        wide = nx * sizeof(T) % 16 == 0 && x0 + 8 <= nx;
    }
    __device__ __forceinline__ void load(u32 y, T *row) const {
        const T *from = plane + (u64)min(y0 + y, ny - 1) * nx;
        if (wide)
            load_row(from + x0, row);
        else
            for (u32 x = 0; x < 8; x++) row[x] = from[min(x0 + x, nx - 1)];
    }
};

__device__ constexpr u32 kept_index(u32 i) { return i == 7 ? 4 : i / 2; }
__device__ constexpr bool kept(u32 i) { return !(i & 1) || i == 7; }

// The interpolant on a lane's plane: its values at the coarse columns and rows.
template <class T> struct PlaneInterpolant {
    T c[5][5];
    // From the values of the planes at their coarse nodes: those of odd planes are the middle of their neighbours'.
    __device__ __forceinline__ void between_planes(u32 z) {
        const bool odd = !is_kept(z);
        const int low = odd ? z - 1 : z, high = odd ? z + 1 : z;
#pragma unroll
        for (u32 j = 0; j < 5; j++)
#pragma unroll
            for (u32 i = 0; i < 5; i++) {
                const T left = __shfl_sync(FULL, c[j][i], low, 8), right = __shfl_sync(FULL, c[j][i], high, 8);
                c[j][i] = odd ? midpoint(left, right) : left;
            }
    }
    __device__ __forceinline__ void row(u32 y, T *w) const {
        T line[5];
#pragma unroll
        for (u32 i = 0; i < 5; i++) line[i] = kept(y) ? c[kept_index(y)][i] : midpoint(c[y / 2][i], c[y / 2 + 1][i]);
#pragma unroll
        for (u32 x = 0; x < 8; x++) w[x] = kept(x) ? line[kept_index(x)] : midpoint(line[x / 2], line[x / 2 + 1]);
    }
    // From the coarse array as the decoder has it.
    __device__ __forceinline__ void load(const LocalArguments &a, const Lane &l) {
        const T *from = (const T *)a.rebuilt +
                        ((u64)(l.at[0] * 5 + kept_index(l.z)) * a.coarse_n[1] + l.at[1] * 5) * a.coarse_n[2] + l.at[2] * 5;
        const bool own = is_kept(l.z);
#pragma unroll
        for (u32 j = 0; j < 5; j++)
#pragma unroll
            for (u32 i = 0; i < 5; i++) c[j][i] = own ? from[(u64)j * a.coarse_n[2] + i] : (T)0;
        between_planes(l.z);
    }
};

// Place of a detail among those of its block: of a plane, then in it.
__device__ __forceinline__ u32 plane_details(u32 z) { return (z + 1) / 2 * 39 + (z - (z + 1) / 2) * 64; }
__device__ constexpr u32 in_kept_plane(u32 y, u32 x) {
    return (y + 1) / 2 * 3 + (y - (y + 1) / 2) * 8 + (kept(y) ? x / 2 : x);
}

template <class T> __device__ void quantize(const LocalArguments &a) {
    __shared__ __align__(16) i32 staged[BLOCK_WARPS][GROUP * DETAILS];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, total = group_tasks(a);
    i32 *symbols = staged[warp];
    for (u32 task = blockIdx.x * BLOCK_WARPS + warp; task < total; task += gridDim.x * BLOCK_WARPS) {
        Lane l;
        if (!find_lane(a, task, l)) continue;
        const PlaneRows<T> rows(a, l);
        PlaneInterpolant<T> open, closed;
#pragma unroll
        for (u32 j = 0; j < 5; j++) {
            T row[8];
            rows.load(node_of(j), row);
            for (u32 i = 0; i < 5; i++) open.c[j][i] = row[i < 4 ? 2 * i : 7];
        }
        open.between_planes(l.z);
        closed.load(a, l);

        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[l.raster]];
        const bool odd = !is_kept(l.z);
        i32 *plane = symbols + l.b * DETAILS + plane_details(l.z);
        u32 special = 0;
#pragma unroll
        for (u32 y = 0; y < 8; y++) {
            T u[8], w[8], v[8];
            rows.load(y, u);
            open.row(y, w);
            closed.row(y, v);
#pragma unroll
            for (u32 x = 0; x < 8; x++) {
                const bool corner = kept(y) && kept(x);
                const bool detail = odd || !corner;
                const i32 q = detail ? quantize_detail(Real<T>::sub(u[x], w[x]), by) : 0;
                v[x] = add_detail(v[x], q, by);
                special |= (u32)(q == STORED) | (u32)!(Real<T>::abs(Real<T>::sub(u[x], v[x])) <= by.check);
                if (detail) plane[odd ? y * 8 + x : in_kept_plane(y, x)] = q;
            }
        }
        // Rare: details that are stored exactly, and nodes that the decoder would miss. Another kernel lists them.
        const u32 flags = __ballot_sync(FULL, special && l.active && by.check >= 0);
        if (l.z == 0 && flags >> (8 * l.b) & 255) a.redo[atomicAdd(&a.state->redo_count, 1u)] = l.cell * a.cell_blocks + l.index;
        __syncwarp();
        const u32 first = __shfl_sync(FULL, l.index, 0), count = __shfl_sync(FULL, l.index, 31) - first + 1;
        i32 *to = a.symbols + a.cells[l.cell].symbol + (u64)first * DETAILS;
        if (count == GROUP)
            for (u32 i = lane; i < DETAILS; i += 32) ((uint4 *)to)[i] = ((const uint4 *)symbols)[i];
        else
            for (u32 i = lane; i < count * DETAILS; i += 32) to[i] = symbols[i];
        __syncwarp();
    }
}

template <class T> __device__ void recompose(const LocalArguments &a) {
    __shared__ __align__(16) i32 staged[BLOCK_WARPS][GROUP * DETAILS];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, total = group_tasks(a);
    i32 *symbols = staged[warp];
    const u32 width = a.hi[2] - a.lo[2], height = a.hi[1] - a.lo[1];
    for (u32 task = blockIdx.x * BLOCK_WARPS + warp; task < total; task += gridDim.x * BLOCK_WARPS) {
        Lane l;
        if (!find_lane(a, task, l)) continue;
        const u32 first = __shfl_sync(FULL, l.index, 0), count = __shfl_sync(FULL, l.index, 31) - first + 1;
        const i32 *from = a.symbols + a.cells[l.cell].symbol + (u64)first * DETAILS;
        if (count == GROUP)
            for (u32 i = lane; i < DETAILS; i += 32) ((uint4 *)symbols)[i] = ((const uint4 *)from)[i];
        else
            for (u32 i = lane; i < count * DETAILS; i += 32) symbols[i] = from[i];
        PlaneInterpolant<T> closed;
        closed.load(a, l);
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[l.raster]];
        __syncwarp();
        const bool odd = !is_kept(l.z);
        const i32 *plane = symbols + (l.index - first) * DETAILS + plane_details(l.z);
        const u32 z = l.at[0] * 8 + l.z, y0 = l.at[1] * 8, x0 = l.at[2] * 8;
        const bool inside = l.active && z >= a.lo[0] && z < a.hi[0];
        const bool wide = width * sizeof(T) % 16 == 0 && x0 >= a.lo[2] && x0 + 8 <= a.hi[2] && (x0 - a.lo[2]) * sizeof(T) % 16 == 0;
        T *result = (T *)a.result + (u64)(inside ? z - a.lo[0] : 0) * height * width;
#pragma unroll
        for (u32 y = 0; y < 8; y++) {
            T v[8];
            closed.row(y, v);
#pragma unroll
            for (u32 x = 0; x < 8; x++) {
                const bool detail = odd || !(kept(y) && kept(x));
                v[x] = add_detail(v[x], detail ? plane[odd ? y * 8 + x : in_kept_plane(y, x)] : 0, by);
            }
            if (!inside || y0 + y < a.lo[1] || y0 + y >= a.hi[1]) continue;
            T *to = result + (u64)(y0 + y - a.lo[1]) * width;
            if (wide)
                store_row(to + x0 - a.lo[2], v);
            else
#pragma unroll
                for (u32 x = 0; x < 8; x++)
                    if (x0 + x >= a.lo[2] && x0 + x < a.hi[2]) to[x0 + x - a.lo[2]] = v[x];
        }
        __syncwarp();
    }
}

// The coarse nodes of the hierarchical basis, of any rank: a thread a node.
template <class T> __device__ void sample(const LocalArguments &a) {
    const T *fine = (const T *)a.fine;
    T *coarse = (T *)a.coarse;
    const u32 total = a.coarse_n[0] * a.coarse_n[1] * a.coarse_n[2];
    const auto node = [&](u32 k, u32 axis) { return min(k / 5 * 8 + node_of(k % 5), a.n[axis] - 1); };
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const u32 row = i / a.coarse_n[2], z = row / a.coarse_n[1];
        const u64 from = ((u64)node(z, 0) * a.n[1] + node(row - z * a.coarse_n[1], 1)) * a.n[2];
        coarse[i] = fine[from + node(i - row * a.coarse_n[2], 2)];
    }
}

extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, 4) hybrid_finest_quantize_f32(const LocalArguments a) { quantize<float>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_quantize_f64(const LocalArguments a) { quantize<double>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_recompose_f32(const LocalArguments a) { recompose<float>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_recompose_f64(const LocalArguments a) { recompose<double>(a); }
extern "C" __global__ void hybrid_sample_f32(const LocalArguments a) { sample<float>(a); }
extern "C" __global__ void hybrid_sample_f64(const LocalArguments a) { sample<double>(a); }
