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
    // The number of its exact values is that of its list.
    u32 form, exact;
    u64 cost;
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
    u64 cost = costs.cheapest(tables.symbol_tables, table);
    cost += ((u64)len * shift + (u64)beyond * bits) << 12;
    const u64 plain = ((u64)len * bits) << 12;
    if (cost >= plain) return {Form(tables.exact_class(), PLAIN, 0).word, 0, plain};
    const u32 escape = tables.first[table + 1] - tables.first[table] - 1;
    u32 listed = 0;
    for (u32 i = lane; i < len; i += 32) listed += (delta[i] >> shift) >= escape;
    listed = __reduce_add_sync(FULL, listed);
    return {Form(tables.exact_class(), table, shift).word, listed, cost};
}

// Eight symbols from node `first` of a unit on, two in a word; zeros behind its end. `q` is aligned to 16 bytes.
__device__ __forceinline__ void load_eight(u32 (&pairs)[4], const i16 *q, u32 first, u32 len) {
    uint4 eight = {0, 0, 0, 0};
    if (first < len) eight = *(const uint4 *)(q + first);
    pairs[0] = eight.x, pairs[1] = eight.y, pairs[2] = eight.z, pairs[3] = eight.w;
    if (len % 8 == 0) return;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const u32 node = first + 2 * k;
        pairs[k] &= node + 1 < len ? 0xffffffffu : node < len ? 0xffff : 0;
    }
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

// Eight symbols a lane, so many times, stay in registers; those of `LONG` units are read again for each bit of length.
constexpr u32 PARTS = 2;

// A form of quantized nodes has no table and shift yet.
template <class D, bool LONG>
__device__ __forceinline__ UnitForm choose(const CoderTables &tables, const CostRow *rows, const i16 *q, const D *delta, u32 len, u32 bits) {
    const u32 first = 8 * (threadIdx.x & 31);
    u32 m[PARTS][4], any = 0;
#pragma unroll
    for (u32 p = 0; p < PARTS; p++) load_eight(m[p], q, first + 256 * p, len);
    const auto others = [&](auto use) {
        for (u32 node = first + 256 * PARTS; LONG && node - first < len; node += 256) {
            u32 pairs[4];
            load_eight(pairs, q, node, len);
#pragma unroll
            for (u32 k = 0; k < 4; k++) use(magnitudes(pairs[k]));
        }
    };
#pragma unroll
    for (u32 p = 0; p < PARTS; p++) {
#pragma unroll
        for (u32 k = 0; k < 4; k++) any |= m[p][k] = magnitudes(m[p][k]);
    }
    others([&](u32 pair) { any |= pair; });
    any = __reduce_or_sync(FULL, any);
    any = (any | any >> 16) & 0xffff;
    if (any == 0) return {0, 0, 0};
    u32 exact = 0;
    if (any >> 15) {
#pragma unroll
        for (u32 p = 0; p < PARTS; p++) {
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                exact += m[p][k] >> 15 & 0x00010001;
                m[p][k] &= 0x7fff7fff;
            }
        }
        others([&](u32 pair) { exact += pair >> 15 & 0x00010001; });
        exact = sum_halves(exact);
        if (exact == len) return choose_exact(tables, rows, delta, len, bits);
    }
    Costs costs(rows, len - exact);
    const u32 longest = bit_length(any & 0x7fff);
    for (u32 b = 1; b <= longest; b++) {
        const CostRow row = costs.row(b);
        u32 count = 0;
#pragma unroll
        for (u32 p = 0; p < PARTS; p++) {
#pragma unroll
            for (u32 k = 0; k < 4; k++) count += at_least(m[p][k], row.below);
        }
        others([&](u32 pair) { count += at_least(pair & 0x7fff7fff, row.below); });
        costs.add(row, sum_halves(count));
    }
    u32 best;
    u64 cost = costs.cheapest(tables.class_count, best);
    if (exact > 0) cost += (u64)exact * (bits + 27) << 12;
    return {best + 1, exact, cost};
}

// A warp a tile: the form of each unit, and what the chunk costs.
template <class D> __device__ void choose_forms(const CoderArguments &a) {
    __shared__ CostRow rows[32 * LENGTHS];
    for (u32 i = threadIdx.x; i < 32 * LENGTHS; i += blockDim.x) {
        const u32 bits = i / 32, even = 2 * (i % 32);
        const auto cost = [&](u32 c, u32 b) { return c < a.tables.class_count ? a.tables.costs[LENGTHS * c + b] : 0; };
        const auto added = [&](u32 c) { return cost(c, bits) - (bits > 0 ? cost(c, bits - 1) : 0); };
        const u32 below = (0x10001 - (bits > 0 ? 1u << (bits - 1) : 0)) & 0xffff;
        rows[i] = {added(even), added(even + 1), below << 16 | below, 0};
    }
    __syncthreads();
    const u32 warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31;
    for (u32 t = (blockIdx.x * blockDim.x + threadIdx.x) / 32; t < a.tile_count; t += warps) {
        const Tile tile = a.tiles[t];
        u32 *forms = a.forms + (u64)t * a.slots, *counts = a.counts + (u64)t * a.slots;
        for (u32 slot = lane; slot < a.slots; slot += 32) forms[slot] = NONE;
        __syncwarp();
        u64 cost = 0;
        u32 coded = 0;
        const u32 end = a.unit_first[tile.shape + 1];
        // 32 units at a time, one a lane
        for (u32 group = a.unit_first[tile.shape]; group < end; group += 32) {
            const u32 count = min(end - group, 32u);
            Unit mine = {0, 0, 0, 0, 0, 0};
            if (lane < count) mine = a.units[group + lane];
            u32 form = 0, exact = 0;
            for (u32 j = 0; j < count; j++) {
                const u64 start = tile.start + __shfl_sync(FULL, mine.start, j);
                const u32 len = __shfl_sync(FULL, mine.len, j);
                const i16 *q = a.q + start;
                const D *delta = (const D *)a.delta + start;
                const UnitForm f = len > 256 * PARTS ? choose<D, true>(a.tables, rows, q, delta, len, a.bits)
                                                     : choose<D, false>(a.tables, rows, q, delta, len, a.bits);
                if (lane == j) form = f.form, exact = f.exact;
                cost += f.cost;
                coded += f.form != 0 ? len : 0;
            }
            if (form - 1 < a.tables.class_count) {
                const u32 packed = a.tables.classes[form - 1];
                form = Form(form, packed & 255, packed >> 8).word;
            }
            if (lane < count) forms[mine.slot] = form, counts[mine.slot] = exact;
        }
        if (lane == 0 && coded > 0) {
            atomicAdd(&a.chunks[tile.chunk].cost, cost);
            atomicAdd(&a.chunks[tile.chunk].coded, coded);
            atomicOr(&a.chunks[tile.chunk].code, 1u);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 5) choose_forms_32(const CoderArguments a) { choose_forms<u32>(a); }
extern "C" __global__ void __launch_bounds__(256, 5) choose_forms_64(const CoderArguments a) { choose_forms<u64>(a); }
