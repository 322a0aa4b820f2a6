// The finest local level of frames with three axes in the hierarchical basis. Eight lanes share a block, a lane is a
// plane of it; rows pass through registers, neighbouring planes through shuffles. A warp holds four blocks.
#include "hybrid_block.cuh"

constexpr u32 GROUP = 4;
constexpr u32 DETAILS = 387;
// Symbols of a group, and their room in shared memory; they are moved eight bytes at a time.
constexpr u32 STAGED = GROUP * DETAILS + 4;
constexpr u32 PER_MOVE = 4;

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

// Values at the coarse columns of a row of a lane's plane.
template <class T> struct Columns {
    T c[5];
    // Those of odd planes are the middle of their neighbours'.
    __device__ __forceinline__ void between_planes(u32 z) {
        const bool odd = !is_kept(z);
        const int low = odd ? z - 1 : z, high = odd ? z + 1 : z;
#pragma unroll
        for (u32 i = 0; i < 5; i++) {
            const T left = __shfl_sync(FULL, c[i], low, 8), right = __shfl_sync(FULL, c[i], high, 8);
            c[i] = odd ? midpoint(left, right) : left;
        }
    }
    // From the values of a coarse row of all planes.
    __device__ __forceinline__ void take(const T *row, u32 z) {
#pragma unroll
        for (u32 i = 0; i < 5; i++) c[i] = row[i < 4 ? 2 * i : 7];
        between_planes(z);
    }
    // Halfway between two coarse rows.
    __device__ __forceinline__ void between(const Columns &before, const Columns &behind) {
#pragma unroll
        for (u32 i = 0; i < 5; i++) c[i] = midpoint(before.c[i], behind.c[i]);
    }
    // All nodes of the row.
    __device__ __forceinline__ void fill(T *w) const {
#pragma unroll
        for (u32 x = 0; x < 8; x++) w[x] = kept(x) ? c[kept_index(x)] : midpoint(c[x / 2], c[x / 2 + 1]);
    }
};
// Rows of the coarse array as the decoder has it.
template <class T> struct CoarseRows {
    const T *from;
    u32 width, z;
    __device__ __forceinline__ CoarseRows(const LocalArguments &a, const Lane &l) {
        from = (const T *)a.rebuilt + ((u64)(l.at[0] * 5 + kept_index(l.z)) * a.coarse_n[1] + l.at[1] * 5) * a.coarse_n[2] + l.at[2] * 5;
        width = a.coarse_n[2], z = l.z;
    }
    __device__ __forceinline__ Columns<T> load(u32 j) const {
        Columns<T> row;
#pragma unroll
        for (u32 i = 0; i < 5; i++) row.c[i] = is_kept(z) ? from[(u64)j * width + i] : (T)0;
        row.between_planes(z);
        return row;
    }
};

// Place of a detail among those of its block: of a plane, then in it.
__device__ __forceinline__ u32 plane_details(u32 z) { return (z + 1) / 2 * 39 + (z - (z + 1) / 2) * 64; }
__device__ constexpr u32 in_kept_plane(u32 y, u32 x) {
    return (y + 1) / 2 * 3 + (y - (y + 1) / 2) * 8 + (kept(y) ? x / 2 : x);
}

// Keeps the compiler from asking for a row's values before those of the rows before it were used: they would not all have room.
__device__ __forceinline__ void rows_in_turn() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("" ::: "memory");
#endif
}

template <class T> __device__ void quantize(const LocalArguments &a) {
    __shared__ __align__(16) i16 staged[BLOCK_WARPS][STAGED];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, total = group_tasks(a);
    i16 *symbols = staged[warp];
    for (u32 task = blockIdx.x * BLOCK_WARPS + warp; task < total; task += gridDim.x * BLOCK_WARPS) {
        Lane l;
        if (!find_lane(a, task, l)) continue;
        const PlaneRows<T> rows(a, l);
        const CoarseRows<T> coarse(a, l);
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[l.raster]];
        const bool odd = !is_kept(l.z);
        i16 *plane = symbols + l.b * DETAILS + plane_details(l.z);
        u32 special = 0;
        // Row y, its values and what is interpolated from the coarse nodes as they were and as the decoder has them.
        const auto quantize_row = [&](u32 y, const T *u, const Columns<T> &open, const Columns<T> &closed) {
            T w[8], v[8];
            open.fill(w);
            closed.fill(v);
#pragma unroll
            for (u32 x = 0; x < 8; x++) {
                const bool detail = odd || !(kept(y) && kept(x));
                const i32 q = detail ? quantize_detail(Real<T>::sub(u[x], w[x]), by) : 0;
                v[x] = add_detail(v[x], q, by);
                special |= (u32)!Symbols::fits(q) | (u32)!(Real<T>::abs(Real<T>::sub(u[x], v[x])) <= by.check);
                if (detail) plane[odd ? y * 8 + x : in_kept_plane(y, x)] = (i16)q;
            }
        };
        T u[8];
        Columns<T> open, closed = coarse.load(0);
        rows.load(0, u);
        open.take(u, l.z);
        // A coarse row, the next one, and the row between them.
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            T next[8], middle[8];
            rows_in_turn();
            rows.load(j < 3 ? 2 * j + 2 : 7, next);
            if (j < 3) rows.load(2 * j + 1, middle);
            const Columns<T> next_closed = coarse.load(j + 1);
            quantize_row(2 * j, u, open, closed);
            Columns<T> next_open, between_open, between_closed;
            next_open.take(next, l.z);
            if (j < 3) {
                between_open.between(open, next_open);
                between_closed.between(closed, next_closed);
                quantize_row(2 * j + 1, middle, between_open, between_closed);
            }
            open = next_open, closed = next_closed;
#pragma unroll
            for (u32 x = 0; x < 8; x++) u[x] = next[x];
        }
        quantize_row(7, u, open, closed);
        // Rare: details whose symbols have no room, among them those that are stored exactly, and nodes that the decoder would miss. Another
        // kernel does the block again and lists them.
        const u32 flags = __ballot_sync(FULL, special && l.active && by.check >= 0);
        if (l.z == 0 && flags >> (8 * l.b) & 255) a.redo[atomicAdd(&a.state->redo_count, 1u)] = l.cell * a.cell_blocks + l.index;
        __syncwarp();
        const u32 first = __shfl_sync(FULL, l.index, 0), count = __shfl_sync(FULL, l.index, 31) - first + 1;
        i16 *to = a.symbols.narrow + a.cells[l.cell].symbol + (u64)first * DETAILS;
        if (count == GROUP)
            for (u32 i = lane; i < GROUP * DETAILS / PER_MOVE; i += 32) ((uint2 *)to)[i] = ((const uint2 *)symbols)[i];
        else
            for (u32 i = lane; i < count * DETAILS; i += 32) to[i] = symbols[i];
        __syncwarp();
    }
}

// Where a lane's plane goes: rows of the box.
template <class T> struct ResultRows {
    // Of the plane, or null.
    T *plane;
    u32 y0, x0, width;
    // Whole rows at aligned addresses.
    bool wide;
    __device__ __forceinline__ ResultRows(const LocalArguments &a, const Lane &l) {
        width = a.hi[2] - a.lo[2];
        const u32 z = l.at[0] * 8 + l.z;
        y0 = l.at[1] * 8, x0 = l.at[2] * 8;
        const bool inside = l.active && z >= a.lo[0] && z < a.hi[0];
        plane = inside ? (T *)a.result + (u64)(z - a.lo[0]) * (a.hi[1] - a.lo[1]) * width : nullptr;
        wide = width * sizeof(T) % 16 == 0 && x0 >= a.lo[2] && x0 + 8 <= a.hi[2] && (x0 - a.lo[2]) * sizeof(T) % 16 == 0;
    }
    __device__ __forceinline__ void store(const LocalArguments &a, u32 y, const T *v) const {
        if (!plane || y0 + y < a.lo[1] || y0 + y >= a.hi[1]) return;
        T *to = plane + (u64)(y0 + y - a.lo[1]) * width;
        if (wide)
            store_row(to + x0 - a.lo[2], v);
        else
#pragma unroll
            for (u32 x = 0; x < 8; x++)
                if (x0 + x >= a.lo[2] && x0 + x < a.hi[2]) to[x0 + x - a.lo[2]] = v[x];
    }
};

// The symbol of 32 bits at `place`; 0 of a detail that is stored exactly, which is counted.
__device__ __forceinline__ i32 exact_symbol(const LocalArguments &a, const Lane &l, u64 place) {
    const i32 q = a.symbols.get_wide(place);
    if (q == STORED && l.active) found_stored(a, l.cell);
    return q == STORED ? 0 : q;
}

// A lane's plane. EXACTS: some symbols have 32 bits.
template <class T, bool EXACTS>
__device__ __forceinline__ void recompose_plane(const LocalArguments &a, const Lane &l, const i16 *plane, u64 place, const Step<T> &by) {
    const ResultRows<T> rows(a, l);
    const CoarseRows<T> coarse(a, l);
    const bool odd = !is_kept(l.z);
    const auto recompose_row = [&](u32 y, const Columns<T> &closed) {
        T v[8];
        closed.fill(v);
#pragma unroll
        for (u32 x = 0; x < 8; x++) {
            const u32 at = odd ? y * 8 + x : in_kept_plane(y, x);
            i32 q = odd || !(kept(y) && kept(x)) ? plane[at] : 0;
            if (EXACTS && q == EXACT) q = exact_symbol(a, l, place + at);
            v[x] = Real<T>::fma((T)q, by.step, v[x]);
        }
        rows.store(a, y, v);
    };
    Columns<T> closed = coarse.load(0);
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const Columns<T> next = coarse.load(j + 1);
        recompose_row(2 * j, closed);
        if (j < 3) {
            Columns<T> between;
            between.between(closed, next);
            recompose_row(2 * j + 1, between);
        }
        closed = next;
    }
    recompose_row(7, closed);
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
            for (u32 i = lane; i < GROUP * DETAILS / PER_MOVE; i += 32) {
                const uint2 four = ((const uint2 *)from)[i];
                ((uint2 *)symbols)[i] = four;
                exact |= has_exact(four.x) | has_exact(four.y);
            }
        } else {
            for (u32 i = lane; i < count * DETAILS; i += 32) {
                symbols[i] = from[i];
                exact |= from[i] == EXACT;
            }
        }
        const Step<T> by = ((const Step<T> *)a.steps)[a.tiers[l.raster]];
        const bool exacts = __any_sync(FULL, exact);
        __syncwarp();
        const u32 own = (l.index - first) * DETAILS + plane_details(l.z);
        if (exacts) recompose_plane<T, true>(a, l, symbols + own, place + own, by);
        else recompose_plane<T, false>(a, l, symbols + own, place + own, by);
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

extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, 6) hybrid_finest_quantize_f32(const LocalArguments a) { quantize<float>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_quantize_f64(const LocalArguments a) { quantize<double>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, 9) hybrid_finest_recompose_f32(const LocalArguments a) { recompose<float>(a); }
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) hybrid_finest_recompose_f64(const LocalArguments a) { recompose<double>(a); }
extern "C" __global__ void hybrid_sample_f32(const LocalArguments a) { sample<float>(a); }
extern "C" __global__ void hybrid_sample_f64(const LocalArguments a) { sample<double>(a); }
