// The class coder, encoding: the form of each unit.
#include "class_forms.cuh"

// Of two magnitudes without exact nodes: 1 for each that is not below the bound, given 1 - the bound twice.
__device__ __forceinline__ u32 at_least(u32 pair, u32 below) { return __viaddmin_s16x2_relu(pair, below, 0x00010001); }
// The sum over the warp of both halves, which stay below 2^16.
__device__ __forceinline__ u32 sum_halves(u32 pair) {
    pair = __reduce_add_sync(FULL, pair);
    return (pair & 0xffff) + (pair >> 16);
}

// The same of two words at once: the sum of the first in the low half, of the second in the high half.
__device__ __forceinline__ u32 sum_halves(u32 a, u32 b) { return __reduce_add_sync(FULL, __byte_perm(a, b, 0x5410) + __byte_perm(a, b, 0x7632)); }

// Eight symbols a lane, so many times at most, are a unit.
constexpr u32 MOST_PARTS = 3;

// A unit of at most 256 * PARTS nodes, and more than 256 * (PARTS - 1); `q` is aligned to 16 bytes. A form of quantized nodes has no table
// and shift yet.
template <class D, u32 PARTS>
__device__ __forceinline__ UnitForm choose(const CoderTables &tables, const CostRow *rows, const i16 *q, const D *delta, u32 len, u32 bits) {
    const u32 first = 8 * (threadIdx.x & 31), last = first + 256 * (PARTS - 1);
    u32 m[4 * PARTS], any = 0;
#pragma unroll
    for (u32 p = 0; p < PARTS; p++) {
        uint4 eight = {0, 0, 0, 0};
        if (p + 1 < PARTS || last < len) eight = *(const uint4 *)(q + first + 256 * p);
        m[4 * p] = eight.x, m[4 * p + 1] = eight.y, m[4 * p + 2] = eight.z, m[4 * p + 3] = eight.w;
    }
    if (len % 8 != 0) {
        // what stands behind the unit is nobody's: so many bits of each word
        const i32 bits_left = 16 * ((i32)len - (i32)last);
#pragma unroll
        for (u32 k = 0; k < 4; k++) m[4 * (PARTS - 1) + k] &= __funnelshift_rc(FULL, 0, __viaddmin_s32_relu(-bits_left, 32 * k + 32, 32));
    }
#pragma unroll
    for (u32 k = 0; k < 4 * PARTS; k++) any |= m[k] = magnitudes(m[k]);
    any = __reduce_or_sync(FULL, any);
    any = (any | any >> 16) & 0xffff;
    if (any == 0) return {0, 0, 0};
    u32 exact = 0;
    if (any >> 15) {
#pragma unroll
        for (u32 k = 0; k < 4 * PARTS; k++) {
            exact += m[k] >> 15 & 0x00010001;
            m[k] &= 0x7fff7fff;
        }
        exact = sum_halves(exact);
        if (exact == len) return choose_exact(tables, rows, delta, len, bits);
    }
    Costs costs(rows, len - exact);
    const u32 longest = bit_length(any & 0x7fff);
    const auto count = [&](const CostRow &row) {
        u32 sum = 0;
#pragma unroll
        for (u32 k = 0; k < 4 * PARTS; k++) sum += at_least(m[k], row.below);
        return sum;
    };
    // two lengths at a time; none is as long as one beyond the longest
#pragma unroll 1
    for (u32 b = 1; b <= longest; b += 2) {
        const CostRow low = costs.row(b), high = costs.row(b + 1);
        const u32 sums = sum_halves(count(low), count(high));
        costs.add(low, sums & 0xffff);
        costs.add(high, sums >> 16);
    }
    u32 best;
    const u32 cost = costs.cheapest(tables.class_count, best);
    return {best + 1, exact, cost + (exact * (bits + 27) << 12)};
}

// The sum over the warp.
__device__ __forceinline__ u64 sum_wide(u32 value) {
    const u64 high = __reduce_add_sync(FULL, value >> 16);
    return (high << 16) + __reduce_add_sync(FULL, value & 0xffff);
}

// A warp a tile, or a share of its units: the form of each unit, and what the chunk costs.
template <class D> __device__ void choose_forms(const CoderArguments &a) {
    __shared__ CostRow rows[COST_ROWS];
    fill_rows(a.tables, rows);
    __syncthreads();
    const u32 lane = threadIdx.x & 31;
    for (u32 task = (blockIdx.x * blockDim.x + threadIdx.x) / 32;; task += gridDim.x * (blockDim.x / 32)) {
        const u32 of_tile = a.warps_of_tile, t = task / of_tile, share = task - t * of_tile;
        if (t >= a.tile_count) return;
        const Tile tile = a.tiles[t];
        u32 *forms = a.forms + (u64)t * a.slots, *counts = a.counts + (u64)t * a.slots;
        if (of_tile == 1) {
            for (u32 slot = lane; slot < a.slots; slot += 32) forms[slot] = NONE;
            __syncwarp();
        }
        const u32 begin = a.unit_first[tile.shape], units = a.unit_first[tile.shape + 1] - begin;
        const u32 end = begin + (share + 1) * units / of_tile;
        // at most 32 units at a time, one a lane
        for (u32 group = begin + share * units / of_tile; group < end; group += 32) {
            const u32 count = min(end - group, 32u);
            Unit mine = {0, 0, 0, 0, 0, 0};
            if (lane < count) mine = a.units[group + lane];
            UnitForm own = {0, 0, 0};
#pragma unroll 1
            for (u32 j = 0; j < count; j++) {
                const u64 start = tile.start + __shfl_sync(FULL, mine.start, j);
                const u32 len = __shfl_sync(FULL, mine.len, j);
                const i16 *q = a.q + start;
                const D *delta = (const D *)a.delta + start;
                // the next unit follows
                if (64 * lane < len) fetch_ahead(q + len + 64 * lane);
                UnitForm f;
                if (len <= 256) f = choose<D, 1>(a.tables, rows, q, delta, len, a.bits);
                else if (len <= 512) f = choose<D, 2>(a.tables, rows, q, delta, len, a.bits);
                else f = choose<D, MOST_PARTS>(a.tables, rows, q, delta, len, a.bits);
                if (lane == j) own = f;
            }
            const u32 coded = __reduce_add_sync(FULL, own.form != 0 ? mine.len : 0);
            const u64 cost = sum_wide(own.cost);
            if (own.form - 1 < a.tables.class_count) {
                const u32 packed = a.tables.classes[own.form - 1];
                own.form = Form(own.form, packed & 255, packed >> 8).word;
            }
            if (lane < count) forms[mine.slot] = own.form, counts[mine.slot] = own.exact;
            if (lane == 0 && coded > 0) {
                Chunk &chunk = a.chunks[tile.chunk];
                atomicAdd(&chunk.cost, cost);
                atomicAdd(&chunk.coded, coded);
                atomicOr(&chunk.code, 1u);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 5) choose_forms_32(const CoderArguments a) { choose_forms<u32>(a); }
extern "C" __global__ void __launch_bounds__(256, 5) choose_forms_64(const CoderArguments a) { choose_forms<u64>(a); }
