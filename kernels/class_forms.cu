// The class coder, encoding: the form of each unit.
#include "class.cuh"

// For lengths of so many bits and more, in shared memory: what a node adds to the costs of a lane's two classes, and what
// `at_least` adds to magnitudes.
struct __align__(16) CostRow {
    u32 even, odd, below, unused;
};

// Costs of 64 classes, two a lane.
struct Costs {
    const CostRow *rows;
    u32 even, odd;

    __device__ __forceinline__ Costs(const CostRow *rows, u32 nodes) : rows(rows), even(0), odd(0) { add(row(0), nodes); }
    __device__ __forceinline__ CostRow row(u32 bits) const { return rows[32 * bits + (threadIdx.x & 31)]; }
    __device__ __forceinline__ void add(const CostRow &row, u32 nodes) {
        even += row.even * nodes;
        odd += row.odd * nodes;
    }
    // The cheapest of the first `count` classes (the lowest among equals) and its cost; the same in all lanes.
    __device__ __forceinline__ u32 cheapest(u32 count, u32 &best) {
        const u32 lane = threadIdx.x & 31;
        even = 2 * lane < count ? even : NONE;
        odd = 2 * lane + 1 < count ? odd : NONE;
        const u32 least = __reduce_min_sync(FULL, min(even, odd));
        const u32 evens = __ballot_sync(FULL, even == least), odds = __ballot_sync(FULL, odd == least);
        const u32 first = __ffs((i32)(evens | odds)) - 1;
        best = 2 * first + (~evens >> first & 1);
        return least;
    }
};

struct UnitForm {
    // The number of its exact values is that of its list. A unit has few enough nodes for 32 bits.
    u32 form, exact, cost;
};

// A unit whose nodes are all exact: its deltas as tokens, typically 4 to 5 bits of them.
template <class D>
__device__ __forceinline__ UnitForm choose_exact(const CoderTables &tables, const CostRow *rows, const D *delta, u32 len, u32 bits) {
    const u32 lane = threadIdx.x & 31;
    u32 lengths = 0;
    for (u32 i = lane; i < len; i += 32) lengths += bit_length(delta[i]);
    lengths = __reduce_add_sync(FULL, lengths);
    if (lengths == 0) return {Form(tables.exact_class(), ALL_EQUAL, 0).word, 0, 0};
    const u32 mean = lengths / len, shift = mean > 4 ? mean - 4 : 0;
    // Beyond every table lies the escape token.
    const auto pair = [&](u32 i) {
        const D token = delta[i] >> shift;
        return ((token < (1 << 14) ? (u32)token : 1 << 14) + 1) / 2;
    };
    u32 beyond = 0, any = 0;
    for (u32 i = lane; i < len; i += 32) {
        any |= pair(i);
        beyond += (delta[i] >> shift) >= 256;
    }
    beyond = __reduce_add_sync(FULL, beyond);
    const u32 longest = bit_length(__reduce_or_sync(FULL, any));
    Costs costs(rows, len);
    for (u32 k = 1; k <= longest; k++) {
        u32 count = 0;
        for (u32 i = lane; i < len; i += 32) count += bit_length(pair(i)) >= k;
        costs.add(costs.row(k), __reduce_add_sync(FULL, count));
    }
    u32 table;
    const u32 cost = costs.cheapest(tables.symbol_tables, table) + ((len * shift + beyond * bits) << 12), plain = (len * bits) << 12;
    if (cost >= plain) return {Form(tables.exact_class(), PLAIN, 0).word, 0, plain};
    const u32 escape = tables.first[table + 1] - tables.first[table] - 1;
    u32 listed = 0;
    for (u32 i = lane; i < len; i += 32) listed += (delta[i] >> shift) >= escape;
    listed = __reduce_add_sync(FULL, listed);
    return {Form(tables.exact_class(), table, shift).word, listed, cost};
}

// |q| of two symbols: at most 15 bits, but 0x8000 for exact nodes.
__device__ __forceinline__ u32 magnitudes(u32 pair) { return __viaddmax_s16x2(~pair, 0x00010001, pair); }
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
    // lengths are taken by twos: one beyond the last adds nothing
    __shared__ CostRow rows[32 * (LENGTHS + 1)];
    for (u32 i = threadIdx.x; i < 32 * (LENGTHS + 1); i += blockDim.x) {
        const u32 bits = i / 32, even = 2 * (i % 32);
        const auto cost = [&](u32 c, u32 b) { return c < a.tables.class_count ? a.tables.costs[LENGTHS * c + min(b, LENGTHS - 1)] : 0; };
        const auto added = [&](u32 c) { return cost(c, bits) - (bits > 0 ? cost(c, bits - 1) : 0); };
        const u32 below = (0x10001 - (bits > 0 ? 1u << (bits - 1) : 0)) & 0xffff;
        rows[i] = {added(even), added(even + 1), below << 16 | below, 0};
    }
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
