// What the decoder of streams keeps: tables and descriptions in shared memory, the rarely used parts of a stream in local memory.
#pragma once
#include "rans_decode.cuh"

// What to do with a unit, in one word. Group of its class << 29, and for a class with a table: whether by slots << 28, raw bits a
// node << 24, first of its entries << 14, place in shared memory / 16. For exact units: table << 8, shift.
struct Task {
    u32 word;
    __device__ __forceinline__ Task(u32 word) : word(word) {}
    __device__ __forceinline__ u32 group() const { return word >> 29; }
    __device__ __forceinline__ bool zero() const { return group() == 1; }
    __device__ __forceinline__ bool exact() const { return group() == CLASS_GROUPS - 1; }
    __device__ __forceinline__ bool by_slots() const { return word >> 28 & 1; }
    __device__ __forceinline__ u32 raw() const { return word >> 24 & 15; }
    __device__ __forceinline__ u32 first() const { return word >> 14 & 1023; }
    __device__ __forceinline__ u32 place() const { return (word & 0x3fff) * 16; }
    __device__ __forceinline__ u32 table() const { return word >> 8 & 255; }
    __device__ __forceinline__ u32 shift() const { return word & 255; }
};

// A unit in two words: start | length << 16, slot | slot of its parent << 10 | end of its step << 20.
constexpr u32 UNIT_BITS = 10;
constexpr u32 UNIT_MASK = (1u << UNIT_BITS) - 1;

// Escapes by which the decoder asks ahead for them.
constexpr u32 ESCAPES_AHEAD = 32;
// What the lists of a warp take, `Lists` below.
constexpr u32 LISTS_BYTES = 64;

// Shared memory of a block: see `decoder_block` in codec/backend/cuda/pyramid/coder.rs.
struct Memory {
    char *base;
    u32 *slots, *entries, *tasks;
    u8 *tokens;
    ClassTables classes;
    // Where this warp's part starts: its window, its units and what to do with them, the group of the last class of each slot
    // (0 in place of a slot that does not exist), and its lists.
    u32 mine, unit_count;

    __device__ __forceinline__ Memory(const CoderArguments &a, char *memory) : base(memory) {
        const u32 table_count = a.tables.symbol_tables;
        slots = (u32 *)memory;
        tokens = (u8 *)(slots + a.tables_by_slots * PROB_SUM);
        entries = (u32 *)(tokens + (table_count - a.tables_by_slots) * PROB_SUM);
        u16 *starts = (u16 *)(entries + (a.tables.entry_count + 3) / 4 * 4);
        u8 *class_tokens = (u8 *)(starts + CLASS_GROUPS * CLASS_GROUPS * ClassTables::ROW);
        classes = {starts, class_tokens};
        tasks = (u32 *)(class_tokens + CLASS_GROUPS * CLASS_GROUPS * (PROB_SUM / ClassTables::PIECE));
        unit_count = (a.units_in_tile + 3) / 4 * 4;
        const u32 of_warp = sizeof(u16) * WINDOW + 12 * unit_count + (a.slots + 16) / 16 * 16 + LISTS_BYTES;
        mine = (u32)((char *)(tasks + ClassTables::TOKENS) - memory) + threadIdx.x / 32 * of_warp;
    }
    __device__ __forceinline__ uint2 *units() const { return (uint2 *)(base + mine + sizeof(u16) * WINDOW); }
    __device__ __forceinline__ u32 *unit_tasks() const { return (u32 *)(units() + unit_count); }
    __device__ __forceinline__ u8 *last() const { return (u8 *)(unit_tasks() + unit_count); }
    __device__ __forceinline__ void *lists(u32 slots) const { return last() + (slots + 16) / 16 * 16; }
    // Copies what all warps share.
    __device__ void fill(const CoderArguments &a) {
        const auto copy = [](void *to, const void *from, u32 bytes) {
            for (u32 i = threadIdx.x; i < bytes / 16; i += blockDim.x) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
        };
        const CoderTables &t = a.tables;
        constexpr u32 CLASS_TABLES = CLASS_GROUPS * CLASS_GROUPS;
        copy(slots, t.slots, a.tables_by_slots * PROB_SUM * 4);
        copy(tokens, t.tokens + a.tables_by_slots * PROB_SUM, (t.symbol_tables - a.tables_by_slots) * PROB_SUM);
        copy(entries, t.entries, (t.entry_count + 3) / 4 * 16);
        copy((void *)classes.starts, t.class_starts, CLASS_TABLES * ClassTables::ROW * 2);
        copy((void *)classes.tokens, t.class_tokens, CLASS_TABLES * (PROB_SUM / ClassTables::PIECE));
        for (u32 kind = threadIdx.x; kind < ClassTables::TOKENS; kind += blockDim.x) {
            u32 word = t.groups[kind] << 29;
            if (kind > 0 && kind < t.exact_class()) {
                const u32 table = t.classes[kind - 1] & 255, raw = t.classes[kind - 1] >> 8, rank = t.ranks[table];
                word |= raw << 24 | t.first[table] << 14 | (u32)(table_of(rank, a) - base) / 16;
                if (rank < a.tables_by_slots) word |= 1u << 28;
            }
            tasks[kind] = word;
        }
    }
    __device__ __forceinline__ const char *table_of(u32 rank, const CoderArguments &a) const {
        if (rank < a.tables_by_slots) return (const char *)(slots + rank * PROB_SUM);
        return (const char *)(tokens + (rank - a.tables_by_slots) * PROB_SUM);
    }
};

// What stands behind the words of a stream: symbols and values by which lanes replace those that they escaped from, raw bits. In shared
// memory, one for a warp: lane 0 writes what all lanes read.
template <class D> struct Lists {
    // Where the symbols and deltas of the tile go.
    i16 *q;
    D *delta;
    const u16 *escapes, *exact;
    // Raw bits in words, from a place that 4 bytes divide; the next bit, and one past the last, counted from there.
    const u32 *raw;
    u32 raw_at, raw_end;
    u32 escapes_left, exact_left;
    u32 broken;

    // Lane 0 changes what the others have read.
    template <class F> __device__ __forceinline__ void change(F by) {
        __syncwarp();
        if ((threadIdx.x & 31) == 0) by();
        __syncwarp();
    }
    __device__ __forceinline__ void give_up() {
        change([&] { broken = 1; });
    }
    __device__ __forceinline__ void take_raw(u32 bits) {
        change([&] { raw_at += bits; });
    }
    // Lanes that ask for what comes next in a list: in round k of those together, bit k of `asks`. Of each round the place in the list;
    // all of them together.
    template <u32 ROUNDS> static __device__ __forceinline__ u32 places(u32 asks, u32 (&place)[ROUNDS]) {
        const u32 below = (1u << (threadIdx.x & 31)) - 1;
        u32 count = 0;
#pragma unroll
        for (u32 k = 0; k < ROUNDS; k++) {
            const u32 mask = __ballot_sync(FULL, asks >> k & 1);
            place[k] = count + __popc(mask & below);
            count += __popc(mask);
        }
        return count;
    }
    // The next exact values, for lanes and rounds as above. Up to 32 come by one access, one a lane, more by one for each round; a lane that
    // does not ask has any value.
    template <u32 ROUNDS> __device__ __forceinline__ void exact_values(u32 asks, D (&value)[ROUNDS]) {
        u32 place[ROUNDS];
        const u32 count = places(asks, place);
        const u16 *from = exact;
        keep_global(from);
        const u32 left = exact_left;
        constexpr u32 PIECES = sizeof(D) / 2;
        const auto load = [&](u32 i) {
            D loaded = 0;
#pragma unroll
            for (u32 p = 0; p < PIECES; p++) loaded |= (D)from[i * PIECES + p] << (16 * p);
            return loaded;
        };
        if (count <= 32) {
            const D next = load(threadIdx.x & 31);
#pragma unroll
            for (u32 k = 0; k < ROUNDS; k++) value[k] = __shfl_sync(FULL, next, place[k]);
        } else {
#pragma unroll
            for (u32 k = 0; k < ROUNDS; k++) value[k] = (asks >> k & 1) && place[k] < left ? load(place[k]) : 0;
        }
        // for a call to come
        fetch_ahead(from + PIECES * (32 + (threadIdx.x & 31)));
        change([&] {
            broken |= count > left;
            exact_left = left - min(count, left);
            exact = from + PIECES * count;
        });
    }
    // Of the lanes that ask: the next exact values.
    __device__ __noinline__ D exact_value(bool asks) {
        D value[1];
        exact_values(asks, value);
        return value[0];
    }
    // Of the lanes that escaped in the rounds whose bits are set: their symbols, `to` being the place of the first round's and STRIDE that of
    // a round; an exact one's delta goes to its place. They come as exact values do.
    template <u32 ROUNDS> __device__ __noinline__ void symbols(u32 escaped, u32 to) {
        constexpr u32 STRIDE = 32;
        u32 place[ROUNDS];
        i16 symbol[ROUNDS];
        const u16 *from = escapes;
        keep_global(from);
        const i32 next = (i16)from[threadIdx.x & 31];
        const u32 count = places(escaped, place);
        i16 *put = q;
        keep_global(put);
        const u32 left = escapes_left;
        if (count <= 32) {
#pragma unroll
            for (u32 k = 0; k < ROUNDS; k++) symbol[k] = (i16)__shfl_sync(FULL, next, place[k]);
        } else {
#pragma unroll
            for (u32 k = 0; k < ROUNDS; k++) symbol[k] = (escaped >> k & 1) && place[k] < left ? (i16)from[place[k]] : 0;
        }
        // for a call to come
        fetch_ahead(from + ESCAPES_AHEAD + ESCAPES_AHEAD / 8 * (threadIdx.x & 31));
        change([&] {
            broken |= count > left;
            escapes_left = left - min(count, left);
            escapes = from + count;
        });
        u32 is_exact = 0;
#pragma unroll
        for (u32 k = 0; k < ROUNDS; k++) {
            if (escaped >> k & 1) put[to + STRIDE * k] = symbol[k];
            is_exact |= (u32)((escaped >> k & 1) && symbol[k] == EXACT) << k;
        }
        if (!__any_sync(FULL, is_exact)) return;
        D value[ROUNDS];
        exact_values(is_exact, value);
        D *deltas = delta;
        keep_global(deltas);
#pragma unroll
        for (u32 k = 0; k < ROUNDS; k++)
            if (is_exact >> k & 1) deltas[to + STRIDE * k] = value[k];
    }
};
// At most 32 raw bits.
__device__ __forceinline__ u32 raw_bits(const u32 *raw, u32 bit, u32 width) {
    return __funnelshift_r(raw[bit / 32], raw[bit / 32 + 1], bit) & (u32)((1ull << width) - 1);
}

// The raw bits of a lane's nodes in a unit, one in each round of 32 nodes.
struct RawBits {
    // Where the first ones begin.
    const u32 *words;
    u32 shift, width, mask;
    __device__ __forceinline__ RawBits() : words(nullptr), shift(0), width(0), mask(0) {}
    __device__ __forceinline__ RawBits(const u32 *from, u32 bit, u32 width)
        : words(from + bit / 32), shift(bit % 32), width(width), mask((1u << width) - 1) {
        keep_global(words);
    }
    // Those at `at`, which moves on by a round.
    __device__ __forceinline__ u32 next(const u32 *&at) const {
        const u32 bits = __funnelshift_r(at[0], at[1], shift) & mask;
        at += width;
        return bits;
    }
};
