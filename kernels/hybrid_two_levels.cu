// The finest level and the global one behind it in one pass, which reads the frame once and never writes the array between them: for frames of whole
// tiles with three axes in the hierarchical basis. A tile is 2 x 2 x 4 blocks of the finest level, which leave 10 x 10 x 20 nodes; those of the level
// behind begin at even places, so that tiles share no more than the nodes of that level on their faces.
#include "hybrid_quantize.cuh"
#include "hybrid_rows.cuh"
#include "hybrid_tile.cuh"

// The nodes that the finest level leaves, as the decoder has them.
template <class T> struct TileColumn {
    const T *from;
    __device__ __forceinline__ void load(u32 k, T (&c)[5]) const {
#pragma unroll
        for (u32 j = 0; j < 5; j++) c[j] = from[k * SIDE * WIDTH + j * WIDTH];
    }
};

// Nodes of the interpolant of two by two by two nodes, of which the first is one of the level behind; `last`: so is the second of an axis.
template <class T> __device__ __forceinline__ void interpolate_pairs(const T (&c)[2][2][2], const bool (&last)[3], T (&w)[4][2]) {
    T line[4][2];
#pragma unroll
    for (u32 x = 0; x < 2; x++) {
        line[0][x] = c[0][0][x];
        line[1][x] = last[1] ? c[0][1][x] : midpoint(c[0][0][x], c[0][1][x]);
        line[2][x] = last[0] ? c[1][0][x] : midpoint(c[0][0][x], c[1][0][x]);
        const T other = last[0] ? c[1][1][x] : midpoint(c[0][1][x], c[1][1][x]);
        line[3][x] = last[1] ? other : midpoint(line[2][x], other);
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        w[i][0] = line[i][0];
        w[i][1] = last[2] ? line[i][1] : midpoint(line[i][0], line[i][1]);
    }
}

// The bits of how far nodes of the level behind are off, at most, and of their largest magnitude, as f32 rounded up: what is no number has the largest bits.
struct Peaks {
    u32 error, largest;
    static __device__ __forceinline__ u32 bits(float v) { return __float_as_uint(fabsf(v)); }
    static __device__ __forceinline__ u32 bits(double v) { return __float_as_uint(__double2float_ru(fabs(v))); }
    template <class T> __device__ __forceinline__ void take(T u, T v) {
        error = max(error, bits(Real<T>::sub(u, v)));
        largest = max(largest, bits(u));
    }
};

// The nodes of the level behind, as the decoder has them, between which those of pair `item` lie.
template <class T> __device__ __forceinline__ void load_behind(const GlobalArguments &g, const Tile &t, u32 item, T (&closed)[2][2][2]) {
    const PairPlace p(item);
    const T *from = (const T *)g.coarse + ((u64)(t.at[0] / 2 * 5 + p.z) * g.coarse_n[1] + t.at[1] / 2 * 5 + p.y) * g.coarse_n[2] + t.at[2] / 2 * 5 + p.x;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const T *row = from + (i / 2 * g.coarse_n[1] + i % 2) * g.coarse_n[2];
        closed[i / 2][i % 2][0] = row[0], closed[i / 2][i % 2][1] = row[1];
    }
}

// Symbols of pair `item` of the level behind the finest, and its nodes as the decoder has them into `rebuilt`. END: the tile is the last one of an axis.
template <class T, bool END, class F>
__device__ __forceinline__ void decompose_pairs(const GlobalArguments &g, const Tile &t, const F &frame, const Step<T> &by, u32 item,
                                                const T (&closed)[2][2][2], T *rebuilt, Peaks &peaks) {
    const PairPlace p(item);
    const u32 kz = p.z, ky = p.y, kx = p.x;
    const PairNodes z(kz, SIDE / 2, END && t.end[0]), y(ky, SIDE / 2, END && t.end[1]), x(kx, WIDTH / 2, END && t.end[2]);
    const bool last[3] = {z.last, y.last, x.last};
    const u32 first_z = t.at[0] / 2 * 5 + kz, first_y = t.at[1] / 2 * 5 + ky, first_x = t.at[2] / 2 * 5 + kx;
    T u[4][2], open[2][2][2];
    frame.load(z, y, x, u, open);
    T w[4][2], v[4][2];
    interpolate_pairs(open, last, w);
    interpolate_pairs(closed, last, v);
    // Where the details of the four rows begin. What is coarse on the first two axes has details on the last one alone.
    const u32 rows = g.n[1] * g.n[2], coarse_rows = g.coarse_n[1] * g.coarse_n[2], row_pair = first_y * g.coarse_n[2];
    u32 detail[4];
    detail[0] = 2 * (first_z * rows + first_y * g.n[2]) - (first_z * coarse_rows + row_pair);
    detail[1] = detail[0] + g.n[2] - g.coarse_n[2];
    detail[2] = detail[0] + rows - coarse_rows + (last[0] ? 0 : row_pair);
    detail[3] = detail[2] + g.n[2] - (last[0] ? g.coarse_n[2] : 0);
    const bool coarse_row[4] = {true, last[1], last[0], last[0] && last[1]};
    bool wide = false;
    T q[4][2];
    u32 symbols[4][2];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        detail[i] += coarse_row[i] ? first_x : 2 * first_x;
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const T rounded = Real<T>::add(Real<T>::mul(Real<T>::sub(u[i][j], w[i][j]), by.inverse), Real<T>::ROUNDER);
            q[i][j] = coarse_row[i] && (j == 0 || last[2]) ? (T)0 : Real<T>::sub(rounded, Real<T>::ROUNDER);
            symbols[i][j] = (u32)Real<T>::bits(rounded);
            wide |= !(Real<T>::abs(q[i][j]) <= (T)32767);
        }
    }
    if (wide) {
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                if (coarse_row[i] && (j == 0 || last[2])) continue;
                // what is no number has 0
                const i32 any = quantize_detail(Real<T>::sub(u[i][j], w[i][j]), by);
                if (any == STORED) atomicOr(&g.state->refused, COARSE_STORED);
                q[i][j] = whole<T>(any);
                symbols[i][j] = (u32)(Symbols::fits(any) ? any : EXACT);
                if (!Symbols::fits(any)) g.symbols.wide[detail[i] + (coarse_row[i] ? 0 : j)] = Symbols::zigzag(any);
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        i16 *to = g.symbols.narrow + detail[i];
        if (!coarse_row[i]) to[0] = (i16)symbols[i][0];
        if (!(coarse_row[i] && last[2])) to[!coarse_row[i]] = (i16)symbols[i][1];
        const Pair<T> pair = {Real<T>::fma(q[i][0], by.step, v[i][0]), Real<T>::fma(q[i][1], by.step, v[i][1])};
        peaks.take(u[i][0], pair.first);
        peaks.take(u[i][1], pair.second);
        *(Pair<T> *)(rebuilt + ((2 * kz + i / 2) * SIDE + 2 * ky + i % 2) * WIDTH + 2 * kx) = pair;
    }
}

// The rebuilt nodes of a block for the kernel that does it again.
template <class T> __device__ void leave_rebuilt(const LocalArguments &a, const u32 (&at)[3], const T *rebuilt) {
    T *to = (T *)a.rebuilt;
    for (u32 i = threadIdx.x & 31; i < COARSE * COARSE * COARSE; i += 32) {
        const u32 z = i / 25, y = i / 5 % 5, x = i % 5;
        to[((u64)(at[0] * 5 + z) * a.coarse_n[1] + at[1] * 5 + y) * a.coarse_n[2] + at[2] * 5 + x] = rebuilt[(z * SIDE + y) * WIDTH + x];
    }
}

// F: where the tile's nodes are read from; NODES of them in shared memory.
template <class T, class F, u32 NODES> __device__ void quantize_two(const TwoLevelsArguments &both) {
    const LocalArguments &a = both.finest;
    const GlobalArguments &g = both.behind;
    SHARED_MEMORY(shared);
    T *memory = (T *)shared, *rebuilt = memory + NODES;
    i16 *symbols = (i16 *)(rebuilt + SIDE * SIDE * WIDTH) + (threadIdx.x >> 5) * STAGED;
    __shared__ Peaks of_warps[BLOCK_WARPS];
    const u32 warp = threadIdx.x >> 5, total = a.cell_count * (a.cell_blocks / TILE_BLOCKS);
    const Step<T> by = *(const Step<T> *)g.step;
    for (u32 task = blockIdx.x; task < total; task += gridDim.x) {
        Tile t;
        if (!find_tile(a, task, t)) continue;
        const Cell &cell = a.cells[t.cell];
        const u32 z = warp / 2, y = warp % 2;
        Lane l;
        l.x = threadIdx.x & 7, l.b = threadIdx.x >> 3 & 3;
        l.cell = t.cell, l.active = true;
        const u32 first = ((t.in_cell[0] + z) * cell.shape[1] + t.in_cell[1] + y) * cell.shape[2] + t.in_cell[2];
        l.index = first + l.b;
        l.at[0] = t.at[0] + z, l.at[1] = t.at[1] + y, l.at[2] = t.at[2] + l.b;
        l.raster = (l.at[0] * a.blocks[1] + l.at[1]) * a.blocks[2] + l.at[2];
        const FrameColumn<T> column(a, l);
        const F frame(a, t, memory);
        frame.copy(t, column, l.x);
        // asked for before the tile is waited for, and a pair ahead where there are registers for it
        constexpr bool AHEAD = sizeof(T) == 4;
        Step<T> step;
        T closed[2][2][2];
        if (AHEAD) step = step_of<T>(a, l);
        if (AHEAD) load_behind(g, t, threadIdx.x, closed);
        frame.wait();
        Peaks peaks = {0, 0};
        const bool end = t.end[0] || t.end[1] || t.end[2];
#pragma unroll 1
        for (u32 item = threadIdx.x; item < PAIRS; item += 32 * BLOCK_WARPS) {
            T next[2][2][2];
            if (AHEAD) load_behind(g, t, min(item + 32 * BLOCK_WARPS, PAIRS - 1), next);
            else load_behind(g, t, item, closed);
            if (end) decompose_pairs<T, true>(g, t, frame, by, item, closed, rebuilt, peaks);
            else decompose_pairs<T, false>(g, t, frame, by, item, closed, rebuilt, peaks);
#pragma unroll
            for (u32 i = 0; AHEAD && i < 8; i++) closed[i / 4][i / 2 % 2][i % 2] = next[i / 4][i / 2 % 2][i % 2];
        }
        __syncwarp();
        peaks = {__reduce_max_sync(FULL, peaks.error), __reduce_max_sync(FULL, peaks.largest)};
        of_warps[warp] = peaks;
        __syncthreads();
        for (u32 w = 0; w < BLOCK_WARPS; w++) peaks = {max(peaks.error, of_warps[w].error), max(peaks.largest, of_warps[w].largest)};
        if (!AHEAD) step = step_of<T>(a, l);
        const T *own = rebuilt + (z * 5 * SIDE + y * 5) * WIDTH;
        const TileColumn<T> coarse = {own + 5 * l.b + kept_index(l.x)};
        const auto own_column = frame.column(column, z * 8, y * 8);
        // Mostly the errors of the nodes that the blocks leave alone say that no node will be missed.
        u32 left = 1;
        if (__all_sync(FULL, is_safe(step, __uint_as_float(peaks.error), __uint_as_float(peaks.largest))))
            left = quantize_blocks<T, false>(l, step, own_column, coarse, symbols);
        if (left) left = quantize_blocks<T, true>(l, step, own_column, coarse, symbols);
        store_symbols(symbols, GROUP, a.symbols.narrow + cell.symbol + (u64)first * DETAILS);
        leave_blocks(a, l, left);
        for (u32 b = 0; left >> b; b++) {
            const u32 at[3] = {l.at[0], l.at[1], t.at[2] + b};
            if (left >> b & 1) leave_rebuilt(a, at, own + 5 * b);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, 4) hybrid_two_levels_f32(const TwoLevelsArguments a) { quantize_two<float, NearTile<float>, NearTile<float>::VALUES>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_two_levels_f64(const TwoLevelsArguments a) { quantize_two<double, FarTile<double>, 0>(a); }
