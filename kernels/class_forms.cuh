// The class coder, encoding: what chooses the forms of units by their cost.
#pragma once
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
// Of 32 lanes, by length: they are taken by twos, and one beyond the last adds nothing.
constexpr u32 COST_ROWS = 32 * (LENGTHS + 1);
// What a node adds to the cost of class `c` with its bit number `bits`; without any for 0.
__device__ __forceinline__ u32 added_cost(const CoderTables &tables, u32 c, u32 bits) {
    const auto cost = [&](u32 b) { return c < tables.class_count ? tables.costs[LENGTHS * c + min(b, LENGTHS - 1)] : 0; };
    return cost(bits) - (bits > 0 ? cost(bits - 1) : 0);
}
__device__ __forceinline__ void fill_rows(const CoderTables &tables, CostRow *rows) {
    for (u32 i = threadIdx.x; i < COST_ROWS; i += blockDim.x) {
        const u32 bits = i / 32, even = 2 * (i % 32), below = (0x10001 - (bits > 0 ? 1u << (bits - 1) : 0)) & 0xffff;
        rows[i] = {added_cost(tables, even, bits), added_cost(tables, even + 1, bits), below << 16 | below, 0};
    }
}
