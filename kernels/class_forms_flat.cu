// The class coder, encoding: the form of each unit of flat arrays, which have 512 nodes but for the last one of a chunk. Tensor cores count
// how many nodes have so many bits, and multiply the numbers by the costs of all classes. A warp takes eight units, four lanes a unit.
#include "class_forms.cuh"

constexpr u32 THREADS = 256, UNITS = 8, UNIT_NODES = 512;
// A unit is looked at in so many parts of 64 nodes, 16 a lane.
constexpr u32 PARTS = UNIT_NODES / 64;
struct Part {
    uint4 eight[2];
};
// Classes of a lane in the matrix of costs, and what a cost is multiplied by so that the number of a class fits beside it.
constexpr u32 CLASSES_OF_LANE = 16;
// Four rows of the matrix of costs for each of eight groups of classes, as a warp holds them.
constexpr u32 STEP = 8 * 32;

// c += for 16 rows, the bits that words of row and column have in common; a: of rows lane / 4 and lane / 4 + 8, the same words in all columns;
// b: of column lane / 4, two words a lane. c: of rows lane / 4, then lane / 4 + 8, columns 2 (lane % 4) and the next.
__device__ __forceinline__ void count_bits(u32 (&c)[4], u32 low, u32 high, u32 b0, u32 b1) {
#ifdef BLOCKMGARD_EMULATOR
    for (u32 i = 0; i < 2; i++) {
        for (u32 k = 0; k < 4; k++) {
            const u32 from = 4 * (2 * (threadIdx.x & 3) + i) + k, x = __shfl_sync(FULL, b0, from), y = __shfl_sync(FULL, b1, from);
            c[i] += __popc(x & low) + __popc(y & low);
            c[2 + i] += __popc(x & high) + __popc(y & high);
        }
    }
#else
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %7}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(low), "r"(high), "r"(b0), "r"(b1));
#endif
}
// d += a times b; a: row lane / 4, column lane % 4; b: row lane % 4, column lane / 4; d: row lane / 4, columns 2 (lane % 4) and the next.
__device__ __forceinline__ void multiply(double (&d)[2], double a, double b) {
#ifdef BLOCKMGARD_EMULATOR
    const u32 lane = threadIdx.x & 31;
    for (u32 k = 0; k < 4; k++) {
        const double of_row = __shfl_sync(FULL, a, lane / 4 * 4 + k);
        for (u32 i = 0; i < 2; i++) d[i] += of_row * __shfl_sync(FULL, b, 4 * (2 * (lane & 3) + i) + k);
    }
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
#endif
}
// 2^52 + n, whose low word is n; sums of whole numbers keep it so.
__device__ __forceinline__ double number(u32 n) {
#ifdef BLOCKMGARD_EMULATOR
    return 4503599627370496.0 + n;
#else
    return __hiloint2double(0x43300000, (i32)n);
#endif
}
__device__ __forceinline__ u32 low_word(double n) {
#ifdef BLOCKMGARD_EMULATOR
    return (u32)(u64)(n - 4503599627370496.0);
#else
    return (u32)__double2loint(n);
#endif
}

// A bit and all below it for each bit of magnitudes, of two in a word, whose highest bit stands for itself only, or of four.
template <bool WIDE> __device__ __forceinline__ u32 filled_up(u32 m) {
    if (WIDE) {
        m |= m >> 1 & 0x3fff3fff;
        m |= m >> 2 & 0x1fff1fff;
        m |= m >> 4 & 0x07ff07ff;
        return m | (m >> 8 & 0x007f007f);
    }
    m |= m >> 1 & 0x7f7f7f7f;
    m |= m >> 2 & 0x3f3f3f3f;
    return m | (m >> 4 & 0x0f0f0f0f);
}

// Nodes of the units of a warp by their bits, as `count_bits` leaves them: row r has those of more than r bits, row 15 those that are exact.
// WHOLE: all units have 512 nodes. Returns all magnitudes of the lane's nodes, ORed.
template <bool WHOLE> __device__ __forceinline__ u32 count(u32 (&c)[4], const i16 *q, u32 len) {
    const u32 lane = threadIdx.x & 31, first = 8 * (lane & 3), wide_row = 0x00010001 << lane / 4, row = 0x01010101 << lane / 4;
    u32 any = 0;
    for (u32 k = 0; k < 4; k++) c[k] = 0;
    const auto load = [&](u32 part) {
        Part loaded;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u32 at = first + 64 * part + 32 * h;
            loaded.eight[h] = {0, 0, 0, 0};
            if (WHOLE || at < len) loaded.eight[h] = *(const uint4 *)(q + at);
        }
        return loaded;
    };
    const auto take = [&](const Part &loaded, u32 part) {
        u32 m[8], all = 0;
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            const uint4 &eight = loaded.eight[k / 4];
            m[k] = k % 4 == 0 ? eight.x : k % 4 == 1 ? eight.y : k % 4 == 2 ? eight.z : eight.w;
            // what stands behind the unit is nobody's
            const i32 left = (i32)len - (i32)(first + 64 * part + 32 * (k / 4) + 2 * (k % 4));
            if (!WHOLE) m[k] = left > 1 ? m[k] : left == 1 ? m[k] & 0xffff : 0;
            all |= m[k] = magnitudes(m[k]);
        }
        any |= all;
        if (__any_sync(FULL, all & 0xff00ff00)) {
#pragma unroll
            for (u32 k = 0; k < 8; k += 2) count_bits(c, wide_row, wide_row << 8, filled_up<true>(m[k]), filled_up<true>(m[k + 1]));
        } else {
#pragma unroll
            for (u32 k = 0; k < 8; k += 4)
                count_bits(c, row, 0, filled_up<false>(__byte_perm(m[k], m[k + 1], 0x6420)), filled_up<false>(__byte_perm(m[k + 2], m[k + 3], 0x6420)));
        }
    };
    // two parts are on their way together
#pragma unroll 1
    for (u32 part = 0; part < PARTS; part += 2) {
        const Part even = load(part), odd = load(part + 1);
        take(even, part);
        take(odd, part + 1);
    }
    return any;
}

// The matrix of costs: 16 rows, the cost that a node adds with its bit r + 1, in row 15 that of a node; then rows 4 to 7 once more with that of a
// node in place of row 7. By step of four rows, group of columns and lane.
__device__ void fill_costs(const CoderTables &tables, double *costs) {
    for (u32 i = threadIdx.x; i < 5 * STEP; i += blockDim.x) {
        const u32 step = i / STEP, group = i / 32 % 8, lane = i % 32, column = lane / 4;
        const u32 row = (step == 4 ? 4 : 4 * step) + lane % 4, bits = row == 15 || (step == 4 && row == 7) ? 0 : row + 1;
        const u32 kind = CLASSES_OF_LANE * (column / 2) + 2 * group + column % 2;
        costs[i] = CLASSES_OF_LANE * (double)(i32)added_cost(tables, kind, bits);
    }
}

// The cheapest class of each unit (the first among equals), in all its lanes, and its cost. `c`: as counted, `len`: nodes of the lane's unit,
// `exact`: those of them that are.
template <bool WIDE> __device__ __forceinline__ u32 cheapest(const CoderTables &tables, const double *costs, const u32 (&c)[4], u32 len, u32 &exact, u32 &best) {
    const u32 lane = threadIdx.x & 31, unit = lane / 4, share = lane & 3;
    constexpr u32 STEPS = WIDE ? 4 : 2;
    double nodes[STEPS];
#pragma unroll
    for (u32 s = 0; s < STEPS; s++) {
        // rows 4 s to 4 s + 3 of the lane's unit
        const u32 both = c[s / 2 * 2] | c[s / 2 * 2 + 1] << 16, from = __shfl_sync(FULL, both, 4 * (4 * (s % 2) + share) + unit / 2);
        u32 n = unit & 1 ? from >> 16 : from & 0xffff;
        if (s + 1 == STEPS) {
            exact = WIDE ? __shfl_sync(FULL, n, lane | 3) : 0;
            n = share == 3 ? len - exact : n;
        }
        nodes[s] = n;
    }
    u32 least = NONE;
#pragma unroll
    for (u32 g = 0; g < 8; g++) {
        const u32 first = CLASSES_OF_LANE * share + 2 * g;
        double sum[2];
        for (u32 i = 0; i < 2; i++) sum[i] = number(first + i < tables.class_count ? 2 * g + i : NONE - 15 + 2 * g + i - CLASSES_OF_LANE);
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) multiply(sum, nodes[s], costs[(!WIDE && s == 1 ? 4 : s) * STEP + 32 * g + lane]);
        least = min(least, min(low_word(sum[0]), low_word(sum[1])));
    }
    const u32 cost = least / CLASSES_OF_LANE;
    u32 least_cost = min(cost, __shfl_xor_sync(FULL, cost, 1));
    least_cost = min(least_cost, __shfl_xor_sync(FULL, least_cost, 2));
    const u32 from = __ffs((i32)(__ballot_sync(FULL, cost == least_cost) >> 4 * unit)) - 1;
    best = CLASSES_OF_LANE * from + __shfl_sync(FULL, least, 4 * unit + from) % CLASSES_OF_LANE;
    return least_cost;
}

// A warp eight units of a tile.
extern "C" __global__ void __launch_bounds__(THREADS, 5) choose_forms_flat(const CoderArguments a) {
    __shared__ CostRow rows[COST_ROWS];
    __shared__ double costs[5 * STEP];
    fill_rows(a.tables, rows);
    fill_costs(a.tables, costs);
    __syncthreads();
    const u32 lane = threadIdx.x & 31, share = lane & 3;
    const u32 of_tile = a.warps_of_tile, stride = gridDim.x * (blockDim.x / 32);
    for (u32 task = (blockIdx.x * blockDim.x + threadIdx.x) / 32;; task += stride) {
        const u32 t = task / of_tile, in_tile = (task - t * of_tile) * UNITS + lane / 4;
        if (t >= a.tile_count) return;
        const Tile &tile = a.tiles[t];
        const u32 begin = a.unit_first[tile.shape], units = a.unit_first[tile.shape + 1] - begin;
        u32 len = 0, start = 0, slot = 0;
        if (in_tile < units) {
            const Unit &unit = a.units[begin + in_tile];
            len = unit.len, start = unit.start, slot = unit.slot;
        }
        const i16 *q = a.q + tile.start + start;
        const u32 *delta = (const u32 *)a.delta + tile.start + start;
        u32 c[4], any = 0, exact = 0, best = 0, cost = 0;
        any = __all_sync(FULL, len == UNIT_NODES) ? count<true>(c, q, len) : count<false>(c, q, len);
        if (__any_sync(FULL, any & 0xff80ff80)) cost = cheapest<true>(a.tables, costs, c, len, exact, best);
        else cost = cheapest<false>(a.tables, costs, c, len, exact, best);
        any |= __shfl_xor_sync(FULL, any, 1);
        any |= __shfl_xor_sync(FULL, any, 2);
        u32 form = best + 1;
        cost += exact * (a.bits + 27) << 12;
        if (any == 0) form = 0, cost = 0;
        for (u32 left = __ballot_sync(FULL, share == 0 && exact == len && len > 0); left; left &= left - 1) {
            const u32 from = __ffs((i32)left) - 1;
            const u32 *const deltas = (const u32 *)__shfl_sync(FULL, (u64)delta, from);
            const UnitForm f = choose_exact(a.tables, rows, deltas, __shfl_sync(FULL, len, from), a.bits);
            if (lane / 4 == from / 4) form = f.form, exact = f.exact, cost = f.cost;
        }
        const bool own = share == 0 && in_tile < units;
        const u32 coded = __reduce_add_sync(FULL, own && form != 0 ? len : 0);
        const u32 all_costs = __reduce_add_sync(FULL, own ? cost : 0);
        if (form - 1 < a.tables.class_count) {
            const u32 packed = a.tables.classes[form - 1];
            form = Form(form, packed & 255, packed >> 8).word;
        }
        if (own) a.forms[(u64)t * a.slots + slot] = form, a.counts[(u64)t * a.slots + slot] = exact;
        if (lane == 0 && coded > 0) {
            Chunk &chunk = a.chunks[tile.chunk];
            atomicAdd(&chunk.cost, (u64)all_costs);
            atomicAdd(&chunk.coded, coded);
            atomicOr(&chunk.code, 1u);
        }
    }
}
