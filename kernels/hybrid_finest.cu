// The finest local level of frames with three axes in the hierarchical basis. A warp holds four blocks (hybrid_columns.cuh), and each lane walks
// through rows and planes in registers.
#include "hybrid_quantize.cuh"

template <class T> __device__ void quantize(const LocalArguments &a) {
    __shared__ __align__(16) i16 staged[BLOCK_WARPS][STAGED];
    const u32 warp = threadIdx.x >> 5, total = group_tasks(a);
    i16 *symbols = staged[warp];
    for (u32 task = blockIdx.x * BLOCK_WARPS + warp; task < total; task += gridDim.x * BLOCK_WARPS) {
        Lane l;
        if (!find_lane(a, task, l)) continue;
        const FrameColumn<T> column(a, l);
        const CoarseColumn<T> coarse(a, l);
        // all that is waited for once
        column.ask(l.x);
        coarse.ask(l.x);
        leave_blocks(a, l, quantize_blocks<T, true>(l, step_of<T>(a, l), column, coarse, symbols));
        const u32 first = __shfl_sync(FULL, l.index, 0), count = __shfl_sync(FULL, l.index, 31) - first + 1;
        i16 *to = a.symbols.narrow + a.cells[l.cell].symbol + (u64)first * DETAILS;
        store_symbols(symbols, count, to);
    }
}

// Where a lane's nodes go in the box.
template <class T> struct ResultColumn {
    T *column;
    u32 z0, lo, hi, width;
    u64 plane;
    // Bit y: row y of the block lies in the box, and the lane's column too.
    u32 rows;
    __device__ __forceinline__ ResultColumn(const LocalArguments &a, const Lane &l) {
        width = a.hi[2] - a.lo[2], plane = (u64)(a.hi[1] - a.lo[1]) * width;
        z0 = l.at[0] * 8, lo = a.lo[0], hi = a.hi[0];
        const u32 y0 = l.at[1] * 8, x = l.at[2] * 8 + l.x;
        column = (T *)a.result + ((i64)(i32)(y0 - a.lo[1]) * width + (i32)(x - a.lo[2]));
        rows = 0;
#pragma unroll
        for (u32 y = 0; y < 8; y++) rows |= (u32)(y0 + y >= a.lo[1] && y0 + y < a.hi[1]) << y;
        if (!l.active || x < a.lo[2] || x >= a.hi[2]) rows = 0;
    }
    // The rows of plane z that lie in the box, and the first row of it.
    __device__ __forceinline__ u32 rows_of(u32 z) const { return z0 + z >= lo && z0 + z < hi ? rows : 0; }
    __device__ __forceinline__ T *of(u32 z) const { return column + (i64)(i32)(z0 + z - lo) * (i64)plane; }
};

// The symbol of 32 bits at `place`; 0 of a detail that is stored exactly, which is counted.
__device__ __forceinline__ i32 exact_symbol(const LocalArguments &a, const Lane &l, u64 place) {
    const i32 q = a.symbols.get_wide(place);
    if (q == STORED && l.active) found_stored(a, l.cell);
    return q == STORED ? 0 : q;
}

// A plane z of a lane's block, whose symbols stand at `block` and, those of 32 bits, at `place`. EXACTS: there are some.
template <class T, bool EXACTS, bool ODD>
__device__ __forceinline__ void recompose_plane(const LocalArguments &a, const Lane &l, const ResultColumn<T> &result, u32 z, const i16 *block,
                                                u64 place, const Step<T> &by, const Plane<T> &closed) {
    const Details<ODD> details(l.x);
    const u32 first = plane_details(z), rows = result.rows_of(z);
    T *to = result.of(z);
#pragma unroll
    for (u32 y = 0; y < 8; y++) {
        i32 q = details.has(y) ? block[first + details.at(y)] : 0;
        if (EXACTS && q == EXACT) q = exact_symbol(a, l, place + first + details.at(y));
        const T v = Real<T>::fma((T)q, by.step, closed.node(y, details.odd));
        if (rows >> y & 1) to[y * result.width] = v;
    }
}
// A lane's column of its block.
template <class T, bool EXACTS>
__device__ __forceinline__ void recompose_column(const LocalArguments &a, const Lane &l, const i16 *block, u64 place, const Step<T> &by) {
    const ResultColumn<T> result(a, l);
    const CoarseColumn<T> coarse(a, l);
    T c[5];
    Plane<T> closed;
    coarse.load(0, c);
    coarse.share(c, closed);
    recompose_plane<T, EXACTS, false>(a, l, result, 0, block, place, by, closed);
    coarse.load(1, c);
#pragma unroll 1
    for (u32 k = 1; k < 5; k++) {
        Plane<T> next;
        coarse.share(c, next);
        // one plane ahead
        coarse.load(min(k + 1, 4u), c);
        if (k < 4) {
            closed.between(closed, next);
            recompose_plane<T, EXACTS, true>(a, l, result, 2 * k - 1, block, place, by, closed);
        }
        closed = next;
        recompose_plane<T, EXACTS, false>(a, l, result, k < 4 ? 2 * k : 7, block, place, by, closed);
    }
}

template <class T> __device__ void recompose(const LocalArguments &a) {
    __shared__ __align__(16) i16 staged[BLOCK_WARPS][STAGED];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, total = group_tasks(a);
    i16 *symbols = staged[warp];
    for (u32 task = blockIdx.x * BLOCK_WARPS + warp; task < total; task += gridDim.x * BLOCK_WARPS) {
        Lane l;
        if (!find_lane(a, task, l)) continue;
        const u32 first = __shfl_sync(FULL, l.index, 0), count = __shfl_sync(FULL, l.index, 31) - first + 1;
        const u64 place = a.cells[l.cell].symbol + (u64)first * DETAILS;
        const i16 *from = a.symbols.narrow + place;
        u32 exact = 0;
        if (count == GROUP) {
            uint2 four[MOVES];
#pragma unroll
            for (u32 r = 0; r < MOVES; r++) {
                const u32 i = 32 * r + lane;
                four[r] = r < MOVES - 1 || i < GROUP * DETAILS / PER_MOVE ? ((const uint2 *)from)[i] : make_uint2(0, 0);
            }
#pragma unroll
            for (u32 r = 0; r < MOVES; r++) {
                const u32 i = 32 * r + lane;
                if (r < MOVES - 1 || i < GROUP * DETAILS / PER_MOVE) *(uint2 *)(symbols + PER_MOVE * i + r / 3 * GAP) = four[r];
                exact |= has_exact(four[r].x) | has_exact(four[r].y);
            }
        } else {
            for (u32 i = lane; i < count * DETAILS; i += 32) {
                symbols[staged_place(i)] = from[i];
                exact |= from[i] == EXACT;
            }
        }
        __syncwarp();
        const u32 tail = tail_place(lane);
        if (lane < TAILS) symbols[tail] = symbols[tail + GAP];
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[l.raster]];
        const bool exacts = __any_sync(FULL, exact);
        __syncwarp();
        const u32 own = l.index - first;
        if (exacts) recompose_column<T, true>(a, l, symbols + own * STRIDE, place + own * DETAILS, by);
        else recompose_column<T, false>(a, l, symbols + own * STRIDE, place + own * DETAILS, by);
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
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, 8) hybrid_finest_recompose_f32(const LocalArguments a) { recompose<float>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_recompose_f64(const LocalArguments a) { recompose<double>(a); }
extern "C" __global__ void hybrid_sample_f32(const LocalArguments a) { sample<float>(a); }
extern "C" __global__ void hybrid_sample_f64(const LocalArguments a) { sample<double>(a); }
