// Local levels of any rank, basis and place: one warp a block. Rank 3 in the hierarchical basis has kernels of its own
// for the finest level (hybrid_finest.cu).
#include "hybrid_block.cuh"

// Calls `run` for every block of the list.
template <class T, class F> __device__ __forceinline__ void for_blocks(const LocalArguments &a, F run) {
    SHARED_MEMORY(memory);
    BlockMemory<T> &m = ((BlockMemory<T> *)memory)[threadIdx.x >> 5];
    const u32 lane = threadIdx.x & 31, total = a.only_redo ? a.state->redo_count : a.cell_count * a.cell_blocks;
    for (u32 task = blockIdx.x * BLOCK_WARPS + (threadIdx.x >> 5); task < total; task += gridDim.x * BLOCK_WARPS) {
        BlockPlace p;
        if (find_block(a, a.only_redo ? a.redo[task] : task, p)) run(p, m, lane);
        __syncwarp();
    }
}

// Coarse nodes alone.
template <class T, u32 RANK> __device__ void coarsen(const LocalArguments &a) {
    for_blocks<T>(a, [&](const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
        load_block<T, RANK>(a, p, lane, m.u);
        __syncwarp();
        if (a.projection) details_of_block<T, RANK>(m.u, m.w, lane);
        store_coarse<T, RANK>(a, p, m, lane);
    });
}

// Coarse nodes and symbols: a level of the coarse part.
template <class T, u32 RANK> __device__ void decompose(const LocalArguments &a) {
    typedef BlockShape<RANK> S;
    for_blocks<T>(a, [&](const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
        load_block<T, RANK>(a, p, lane, m.u);
        __syncwarp();
        details_of_block<T, RANK>(m.u, m.w, lane);
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[p.raster]];
        const u64 first = a.cells[p.cell].symbol + (u64)p.index * S::DETAILS;
        for (u32 i = lane; i < S::NODES; i += 32) {
            const i32 at = detail_of<RANK>(i);
            if (at < 0) continue;
            const i32 q = quantize_detail(m.w[i], by);
            a.symbols.put(first + at, q);
            if (q == STORED) atomicOr(&a.state->refused, COARSE_STORED);
        }
        store_coarse<T, RANK>(a, p, m, lane);
    });
}

// Symbols of the finest level, and the nodes that the decoder would miss.
template <class T, u32 RANK> __device__ void quantize_finest(const LocalArguments &a) {
    typedef BlockShape<RANK> S;
    for_blocks<T>(a, [&](const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
        load_block<T, RANK>(a, p, lane, m.u);
        __syncwarp();
        details_of_block<T, RANK>(m.u, m.w, lane);
        const Cell &cell = a.cells[p.cell];
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[p.raster]];
        const u64 first = cell.symbol + (u64)p.index * S::DETAILS;
        constexpr u32 ROUNDS = (S::NODES + 31) / 32;
        i32 q[ROUNDS];
        T stored[ROUNDS];
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u32 i = r * 32 + lane;
            const i32 at = i < S::NODES ? detail_of<RANK>(i) : -1;
            q[r] = 0;
            stored[r] = 0;
            if (at < 0) continue;
            const T d = m.w[i];
            q[r] = quantize_detail(d, by);
            a.symbols.put(first + at, q[r]);
            if (q[r] == STORED) {
                stored[r] = d;
                note(a.stored, cell.name, p.index * S::DETAILS + at, d);
            }
            if (a.projection) m.w[i] = q[r] == STORED ? d : Real<T>::mul(whole<T>(q[r]), by.step);
        }
        __syncwarp();
        rebuild_interpolant<T, RANK>(a, p, m, lane);
        const u32 n[3] = {min(cell.shape[0] * 8, a.n[0] - cell.lo[0] * 8), min(cell.shape[1] * 8, a.n[1] - cell.lo[1] * 8),
                          min(cell.shape[2] * 8, a.n[2] - cell.lo[2] * 8)};
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u32 i = r * 32 + lane;
            if (i >= S::NODES) continue;
            T v = add_detail(m.w[i], q[r], by);
            if (q[r] == STORED) v = Real<T>::add(v, stored[r]);
            const u32 x = p.node[2] + (i & 7), y = p.node[1] + (RANK >= 2 ? i >> 3 & 7 : 0), z = p.node[0] + (RANK == 3 ? i >> 6 : 0);
            if (misses(m.u[i], v, by.check) && x < n[2] && y < n[1] && z < n[0])
                note(a.missed, cell.name, (z * n[1] + y) * n[2] + x, m.u[i]);
        }
    });
}

// The values of a level, as far as they lie in the box; details that are stored exactly count as zero.
template <class T, u32 RANK> __device__ void recompose(const LocalArguments &a) {
    typedef BlockShape<RANK> S;
    for_blocks<T>(a, [&](const BlockPlace &p, BlockMemory<T> &m, u32 lane) {
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[p.raster]];
        const u64 first = a.cells[p.cell].symbol + (u64)p.index * S::DETAILS;
        constexpr u32 ROUNDS = (S::NODES + 31) / 32;
        i32 q[ROUNDS];
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u32 i = r * 32 + lane;
            if (i >= S::NODES) continue;
            const i32 at = detail_of<RANK>(i);
            q[r] = at < 0 ? 0 : a.symbols.get(first + at);
            if (q[r] == STORED) found_stored(a, p.cell);
            if (a.projection) m.w[i] = Real<T>::mul(whole<T>(q[r]), by.step);
        }
        __syncwarp();
        rebuild_interpolant<T, RANK>(a, p, m, lane);
        T *result = (T *)a.result;
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u32 i = r * 32 + lane;
            const u32 x = p.at[2] * 8 + (i & 7), y = RANK >= 2 ? p.at[1] * 8 + (i >> 3 & 7) : 0, z = RANK == 3 ? p.at[0] * 8 + (i >> 6) : 0;
            const bool inside = x >= a.lo[2] && x < a.hi[2] && y >= a.lo[1] && y < a.hi[1] && z >= a.lo[0] && z < a.hi[0];
            if (i >= S::NODES || !inside) continue;
            const u64 row = (u64)(z - a.lo[0]) * (a.hi[1] - a.lo[1]) + (y - a.lo[1]);
            result[row * (a.hi[2] - a.lo[2]) + (x - a.lo[2])] = add_detail(m.w[i], q[r], by);
        }
    });
}

#define BY_RANK(kernel, T)                                                                                             \
    if (a.rank == 3)                                                                                                   \
        kernel<T, 3>(a);                                                                                               \
    else if (a.rank == 2)                                                                                              \
        kernel<T, 2>(a);                                                                                               \
    else                                                                                                               \
        kernel<T, 1>(a);

extern "C" __global__ void hybrid_coarsen_f32(const LocalArguments a) { BY_RANK(coarsen, float) }
extern "C" __global__ void hybrid_coarsen_f64(const LocalArguments a) { BY_RANK(coarsen, double) }
extern "C" __global__ void hybrid_decompose_f32(const LocalArguments a) { BY_RANK(decompose, float) }
extern "C" __global__ void hybrid_decompose_f64(const LocalArguments a) { BY_RANK(decompose, double) }
extern "C" __global__ void hybrid_quantize_f32(const LocalArguments a) { BY_RANK(quantize_finest, float) }
extern "C" __global__ void hybrid_quantize_f64(const LocalArguments a) { BY_RANK(quantize_finest, double) }
extern "C" __global__ void hybrid_recompose_f32(const LocalArguments a) { BY_RANK(recompose, float) }
extern "C" __global__ void hybrid_recompose_f64(const LocalArguments a) { BY_RANK(recompose, double) }
