// The class coder, encoding: the form of each unit.
#include "class.cuh"

// Counts of bit lengths 0 to 15, two in a word: the count of length b is half b % 2 of word b / 2.
struct Histogram {
    u32 words[LENGTHS / 2];
    __device__ __forceinline__ u32 count(u32 length) const { return words[length / 2] >> (16 * (length % 2)) & 0xffff; }
};

// A lane's share of a histogram: 4-bit counters of lengths 0 to 7 and 8 to 15, emptied into 8-bit ones in time.
struct Counter {
    u32 low, high, pending;
    // Lengths 0, 2, 4, 6, then 1, 3, 5, 7, then the same from 8 on.
    u32 bytes[4];
    __device__ __forceinline__ Counter() : low(0), high(0), pending(0), bytes{0, 0, 0, 0} {}
    __device__ __forceinline__ void add(u32 length, bool counts) {
        const u32 one = (u32)counts << (4 * length & 31);
        low += length < 8 ? one : 0;
        high += length < 8 ? 0 : one;
    }
    // After at most 15 additions.
    __device__ __forceinline__ void empty() {
        bytes[0] += low & 0x0f0f0f0f;
        bytes[1] += low >> 4 & 0x0f0f0f0f;
        bytes[2] += high & 0x0f0f0f0f;
        bytes[3] += high >> 4 & 0x0f0f0f0f;
        low = high = 0;
    }
    // Sums over the warp, of lengths up to `longest`. A lane counts at most 255 nodes.
    __device__ __forceinline__ Histogram sum(u32 longest) const {
        Histogram h;
#pragma unroll
        for (u32 w = 0; w < LENGTHS / 2; w++) {
            const u32 even = bytes[w / 4 * 2] >> (8 * (w % 4)) & 0xff, odd = bytes[w / 4 * 2 + 1] >> (8 * (w % 4)) & 0xff;
            h.words[w] = 2 * w <= longest ? __reduce_add_sync(FULL, even | odd << 16) : 0;
        }
        return h;
    }
};

// The cheapest of the first `count` classes (at most 64; the lowest among equals) and its cost; the same in all lanes.
// No length is above `longest`.
__device__ __forceinline__ u32 cheapest(const CoderTables &tables, const Histogram &h, u32 longest, u32 count, u32 &best) {
    const u32 lane = threadIdx.x & 31;
    u32 cost[2] = {NONE, NONE};
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (lane + 32 * k >= count) continue;
        const uint4 *row = (const uint4 *)(tables.costs + LENGTHS * (lane + 32 * k));
        u32 sum = 0;
#pragma unroll
        for (u32 b = 0; b < LENGTHS / 4; b++) {
            if (4 * b > longest) break;
            const uint4 c = row[b];
            sum += c.x * h.count(4 * b) + c.y * h.count(4 * b + 1) + c.z * h.count(4 * b + 2) + c.w * h.count(4 * b + 3);
        }
        cost[k] = sum;
    }
    const u32 least = __reduce_min_sync(FULL, min(cost[0], cost[1]));
    const u32 low = __ballot_sync(FULL, cost[0] == least), high = __ballot_sync(FULL, cost[1] == least);
    best = low ? __ffs((i32)low) - 1 : 31 + __ffs((i32)high);
    return least;
}

struct UnitForm {
    // The number of its exact values is that of its list.
    u32 form, exact;
    u64 cost;
};

// A unit whose nodes are all exact: its deltas as tokens, typically 4 to 5 bits of them.
template <class D> __device__ UnitForm choose_exact(const CoderTables &tables, const D *delta, u32 len, u32 bits) {
    const u32 lane = threadIdx.x & 31;
    u32 lengths = 0;
    for (u32 i = lane; i < len; i += 32) lengths += bit_length(delta[i]);
    lengths = __reduce_add_sync(FULL, lengths);
    if (lengths == 0) return {Form(tables.exact_class(), ALL_EQUAL, 0).word, 0, 0};
    const u32 mean = lengths / len, shift = mean > 4 ? mean - 4 : 0;
    Counter counter;
    u32 beyond = 0;
    for (u32 i = lane; i < len; i += 32) {
        const D token = delta[i] >> shift;
        // Beyond every table lies the escape token.
        const u32 k = ((token < (1 << 14) ? (u32)token : 1 << 14) + 1) / 2;
        counter.add(bit_length(k), true);
        counter.empty();
        beyond += token >= 256;
    }
    beyond = __reduce_add_sync(FULL, beyond);
    u32 table;
    u64 cost = cheapest(tables, counter.sum(LENGTHS - 1), LENGTHS - 1, tables.symbol_tables, table);
    cost += ((u64)len * shift + (u64)beyond * bits) << 12;
    const u64 plain = ((u64)len * bits) << 12;
    if (cost >= plain) return {Form(tables.exact_class(), PLAIN, 0).word, 0, plain};
    const u32 escape = tables.first[table + 1] - tables.first[table] - 1;
    u32 listed = 0;
    for (u32 i = lane; i < len; i += 32) listed += (delta[i] >> shift) >= escape;
    listed = __reduce_add_sync(FULL, listed);
    return {Form(tables.exact_class(), table, shift).word, listed, cost};
}

// `q` is aligned to 16 bytes.
template <class D> __device__ __forceinline__ UnitForm choose(const CoderTables &tables, const i16 *q, const D *delta, u32 len, u32 bits) {
    const u32 lane = threadIdx.x & 31;
    Counter counter;
    u32 exact = 0, any = 0;
#pragma unroll 2
    for (u32 start = 8 * lane; start < len; start += 256) {
        const uint4 eight = *(const uint4 *)(q + start);
        const u32 pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            // what lies behind the last node is padding
            const bool is_node = start + k < len;
            const i32 v = is_node ? (i16)(pairs[k / 2] >> (16 * (k % 2))) : 0;
            const u32 size = (u32)(v < 0 ? -v : v);
            exact += v == EXACT;
            any |= size;
            counter.add(bit_length(size) & 15, is_node & (v != EXACT));
        }
        counter.empty();
    }
    any = __reduce_or_sync(FULL, any);
    if (any == 0) return {0, 0, 0};
    exact = any >> 15 ? __reduce_add_sync(FULL, exact) : 0;
    if (exact == len) return choose_exact(tables, delta, len, bits);
    const u32 longest = min(bit_length(any), LENGTHS - 1);
    u32 best;
    const u64 cost = cheapest(tables, counter.sum(longest), longest, tables.class_count, best) + ((u64)exact * (bits + 27) << 12);
    return {Form(best + 1, tables.classes[best] & 255, tables.classes[best] >> 8).word, exact, cost};
}

// A warp a tile: the form of each unit, and what the chunk costs.
template <class D> __device__ void choose_forms(const CoderArguments &a) {
    const u32 warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31;
    for (u32 t = (blockIdx.x * blockDim.x + threadIdx.x) / 32; t < a.tile_count; t += warps) {
        const Tile tile = a.tiles[t];
        u32 *forms = a.forms + (u64)t * a.slots, *counts = a.counts + (u64)t * a.slots;
        for (u32 slot = lane; slot < a.slots; slot += 32) forms[slot] = NONE;
        __syncwarp();
        u64 cost = 0;
        u32 coded = 0;
        for (u32 j = a.unit_first[tile.shape]; j < a.unit_first[tile.shape + 1]; j++) {
            const Unit unit = a.units[j];
            const u64 start = tile.start + unit.start;
            const UnitForm f = choose(a.tables, a.q + start, (const D *)a.delta + start, unit.len, a.bits);
            if (lane == 0) forms[unit.slot] = f.form, counts[unit.slot] = f.exact;
            cost += f.cost;
            coded += f.form != 0 ? unit.len : 0;
        }
        if (lane == 0 && coded > 0) {
            atomicAdd(&a.chunks[tile.chunk].cost, cost);
            atomicAdd(&a.chunks[tile.chunk].coded, coded);
            atomicOr(&a.chunks[tile.chunk].code, 1u);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) choose_forms_32(const CoderArguments a) { choose_forms<u32>(a); }
extern "C" __global__ void __launch_bounds__(256) choose_forms_64(const CoderArguments a) { choose_forms<u64>(a); }
