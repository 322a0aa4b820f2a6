// The in-cache block operators, one warp a block, the block in shared memory: any rank, both bases.
#pragma once
#include "hybrid.cuh"

// Warps of a block of threads.
constexpr u32 BLOCK_WARPS = 4;

template <u32 RANK> struct BlockShape {
    static constexpr u32 NZ = RANK == 3 ? 8 : 1, NY = RANK >= 2 ? 8 : 1;
    static constexpr u32 CZ = RANK == 3 ? 5 : 1, CY = RANK >= 2 ? 5 : 1;
    static constexpr u32 NODES = NZ * NY * 8, KEPT = CZ * CY * 5, DETAILS = NODES - KEPT;
};

// The shared memory of a warp: values, interpolant or details, two stages of the projection.
template <class T> struct BlockMemory {
    T u[512];
    T w[512];
    T x[320];
    T xy[200];
};

// Node of coarse node k, and whether node i is one.
__device__ __forceinline__ u32 node_of(u32 k) { return k < 4 ? 2 * k : 7; }
__device__ __forceinline__ bool is_kept(u32 i) { return !(i & 1) || i == 7; }

// Node of coarse node i of the block.
template <u32 RANK> __device__ __forceinline__ u32 kept_node(u32 i) {
    const u32 x = node_of(i % 5);
    if constexpr (RANK == 1) return x;
    if constexpr (RANK == 2) return node_of(i / 5) * 8 + x;
    return (node_of(i / 25) * 8 + node_of(i / 5 % 5)) * 8 + x;
}

// Index of a node among the details of its block, or -1.
template <u32 RANK> __device__ __forceinline__ i32 detail_of(u32 node) {
    const u32 x = node & 7, y = RANK >= 2 ? node >> 3 & 7 : 0, z = RANK == 3 ? node >> 6 : 0;
    const bool plane = is_kept(z), row = plane && is_kept(y);
    if (row && is_kept(x)) return -1;
    // A plane of coarse rows has 39 details (or 3 where the block is a row), another 64; a coarse row has 3, another 8.
    const u32 kept_planes = (z + 1) / 2, kept_rows = (y + 1) / 2;
    const u32 before_plane = kept_planes * 39 + (z - kept_planes) * 64;
    const u32 before_row = plane ? kept_rows * 3 + (y - kept_rows) * 8 : y * 8;
    return (i32)(before_plane + before_row + (row ? x / 2 : x));
}

// Where a warp stands in the list of blocks.
struct BlockPlace {
    u32 cell, index;
    // In blocks, and in nodes from the start of the cell.
    u32 at[3], node[3];
    u32 raster;
};

// Block `task` of all; false beyond the blocks of its cell.
__device__ __forceinline__ bool find_block(const LocalArguments &a, u32 task, BlockPlace &p) {
    p.cell = task / a.cell_blocks;
    p.index = task % a.cell_blocks;
    const Cell &c = a.cells[p.cell];
    const u32 row = c.shape[2], plane = c.shape[1] * row;
    if (p.index >= c.shape[0] * plane) return false;
    const u32 in_cell[3] = {p.index / plane, p.index / row % c.shape[1], p.index % row};
    for (int k = 0; k < 3; k++) {
        p.node[k] = in_cell[k] * BLOCK;
        p.at[k] = c.lo[k] + in_cell[k];
    }
    p.raster = (p.at[0] * a.blocks[1] + p.at[1]) * a.blocks[2] + p.at[2];
    return true;
}

// The nodes of a block into `u`; indices beyond the array are clamped to its last node.
template <class T, u32 RANK>
__device__ void load_block(const LocalArguments &a, const BlockPlace &p, u32 lane, T *u) {
    const T *fine = (const T *)a.fine;
    for (u32 i = lane; i < BlockShape<RANK>::NODES; i += 32) {
        const u32 x = min(p.at[2] * 8 + (i & 7), a.n[2] - 1);
        const u32 y = RANK >= 2 ? min(p.at[1] * 8 + (i >> 3 & 7), a.n[1] - 1) : 0;
        const u32 z = RANK == 3 ? min(p.at[0] * 8 + (i >> 6), a.n[0] - 1) : 0;
        u[i] = fine[((u64)z * a.n[1] + y) * a.n[2] + x];
    }
}
// Where coarse node i of a block stands in the array of all coarse nodes.
template <u32 RANK> __device__ __forceinline__ u64 coarse_place(const LocalArguments &a, const BlockPlace &p, u32 i) {
    const u32 x = p.at[2] * 5 + i % 5;
    const u32 y = RANK >= 2 ? p.at[1] * 5 + i / 5 % 5 : 0;
    const u32 z = RANK == 3 ? p.at[0] * 5 + i / 25 : 0;
    return ((u64)z * a.coarse_n[1] + y) * a.coarse_n[2] + x;
}

// Counts a detail that is stored exactly, or notes that it has no place.
__device__ __forceinline__ void found_stored(const LocalArguments &a, u32 cell) {
    if (a.stored_counts) atomicAdd(&a.stored_counts[cell], 1u);
    else atomicOr(&a.state->refused, COARSE_STORED);
}

// Fills in all nodes from the coarse ones: axis 0, then 1, then 2.
template <class T, u32 RANK> __device__ void interpolate_block(T *w, u32 lane) {
    typedef BlockShape<RANK> S;
    if constexpr (RANK == 3) {
        for (u32 i = lane; i < 75; i += 32) {
            T *v = w + (2 * (i / 25) + 1) * 64 + node_of(i / 5 % 5) * 8 + node_of(i % 5);
            *v = midpoint(v[-64], v[64]);
        }
        __syncwarp();
    }
    if constexpr (RANK >= 2) {
        for (u32 i = lane; i < S::NZ * 15; i += 32) {
            T *v = w + i / 15 * 64 + (2 * (i / 5 % 3) + 1) * 8 + node_of(i % 5);
            *v = midpoint(v[-8], v[8]);
        }
        __syncwarp();
    }
    for (u32 i = lane; i < S::NZ * S::NY * 3; i += 32) {
        T *v = w + i / 3 * 8 + 2 * (i % 3) + 1;
        *v = midpoint(v[-1], v[1]);
    }
    __syncwarp();
}

// The details of `u` into `w`; zero on coarse nodes.
template <class T, u32 RANK> __device__ void details_of_block(const T *u, T *w, u32 lane) {
    for (u32 i = lane; i < BlockShape<RANK>::NODES; i += 32) w[i] = u[i];
    __syncwarp();
    interpolate_block<T, RANK>(w, lane);
    for (u32 i = lane; i < BlockShape<RANK>::NODES; i += 32) w[i] = Real<T>::sub(u[i], w[i]);
    __syncwarp();
}

// Sum over 8 nodes, `stride` apart, of row k of P.
template <class T> __device__ __forceinline__ T project_line(const T *p, const T *d, u32 stride) {
    T s = Real<T>::mul(p[0], d[0]);
    for (u32 i = 1; i < 8; i++) s = Real<T>::fma(p[i], d[i * stride], s);
    return s;
}

// The correction P d of the coarse nodes from details in `m.w`, into `m.x`: axis 2, then 1, then 0.
template <class T, u32 RANK> __device__ void project_block(const T *p, BlockMemory<T> &m, u32 lane) {
    typedef BlockShape<RANK> S;
    for (u32 i = lane; i < S::NZ * S::NY * 5; i += 32) m.x[i] = project_line(p + i % 5 * 8, m.w + i / 5 * 8, 1);
    __syncwarp();
    if constexpr (RANK >= 2) {
        for (u32 i = lane; i < S::NZ * 25; i += 32)
            m.xy[i] = project_line(p + i / 5 % 5 * 8, m.x + i / 25 * 40 + i % 5, 5);
        __syncwarp();
        for (u32 i = lane; i < S::KEPT; i += 32)
            m.x[i] = RANK == 3 ? project_line(p + i / 25 * 8, m.xy + i % 25, 25) : m.xy[i];
        __syncwarp();
    }
}

// The coarse nodes of a block with values in `m.u` and, in the projection basis, details in `m.w`, to the coarse array.
template <class T, u32 RANK>
__device__ void store_coarse(const LocalArguments &a, const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
    if (a.projection) project_block<T, RANK>((const T *)a.projection, m, lane);
    for (u32 i = lane; i < BlockShape<RANK>::KEPT; i += 32) {
        T c = m.u[kept_node<RANK>(i)];
        if (a.projection) {
            c = Real<T>::add(c, m.x[i]);
            c = is_finite(c) ? c : (T)0;
        }
        ((T *)a.coarse)[coarse_place<RANK>(a, p, i)] = c;
    }
    __syncwarp();
}

// The interpolant of the rebuilt coarse nodes into `m.w`, which holds dequantized details in the projection basis.
template <class T, u32 RANK>
__device__ void rebuild_interpolant(const LocalArguments &a, const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
    if (a.projection) project_block<T, RANK>((const T *)a.projection, m, lane);
    for (u32 i = lane; i < BlockShape<RANK>::KEPT; i += 32) {
        T c = ((const T *)a.rebuilt)[coarse_place<RANK>(a, p, i)];
        if (a.projection) c = Real<T>::sub(c, m.x[i]);
        m.w[kept_node<RANK>(i)] = c;
    }
    __syncwarp();
    interpolate_block<T, RANK>(m.w, lane);
}
