// rANS, encoding: a warp a stream, a lane a state, from the last token to the first. The tables stand in shared memory.
#pragma once
#include "class.cuh"

// Entries in shared memory: the one that changes nothing, then those of the tables of symbols by q, then those of the last tables, which classes
// with raw bits have, by q without its low bits.
constexpr u32 IDLE_AT = 0;
constexpr u32 SYMBOLS_AT = 1;
constexpr u32 RAW_TABLES = 4;
// Tokens of all class tables, then those of the uniform table.
constexpr u32 UNIFORM_AT = CLASS_GROUPS * CLASS_GROUPS * CLASSES;
constexpr u32 CLASS_WORDS = UNIFORM_AT + CLASSES;
// A token that changes nothing.
constexpr u32 NO_TOKEN = NONE;

// Limit, reciprocal, bias, and complement << 8 | shift.
__device__ __forceinline__ uint4 packed(const EncodeEntry &e) {
    return make_uint4(e.limit, e.reciprocal, e.bias, (e.complement & 0xffff) << 8 | e.complement >> 16);
}
// What EncodeEntry has for a frequency.
__device__ __forceinline__ u32 reciprocal_of(u32 frequency) {
    if (frequency < 2) return ~0u;
    return (u32)((((u64)1 << (31 + bit_length(frequency - 1))) + frequency - 1) / frequency);
}

// The tables of a block, in shared memory.
struct EncoderTables {
    uint4 *entries;
    // Of each token of a class: bias | frequency << 12 | shift << 24; and by frequency.
    u32 *classes, *reciprocals;
    // Of each table of symbols: where its entries by q begin, in bytes | its tokens << 16.
    u32 *symbols;
    // Entries by q of all tables.
    u32 by_q;

    // The address of the first entry as the instructions for shared memory take it, so that none has to add it.
    __device__ __forceinline__ u32 origin() const {
#ifdef BLOCKMGARD_EMULATOR
        return 0;
#else
        return (u32)__cvta_generic_to_shared(entries);
#endif
    }
    // The entry at an address that counts from `origin`.
    __device__ __forceinline__ uint4 at(u32 address) const {
#ifdef BLOCKMGARD_EMULATOR
        return *(const uint4 *)((const char *)entries + address);
#else
        uint4 e;
        asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(e.x), "=r"(e.y), "=r"(e.z), "=r"(e.w) : "r"(address));
        return e;
#endif
    }

    // Where the entries of one of the last tables begin by q without its low bits.
    __device__ __forceinline__ u32 raw_at(const CoderArguments &a, u32 table) const {
        return SYMBOLS_AT + by_q + 2 * (a.tables.first[table] - a.tables.first[a.tables.symbol_tables - RAW_TABLES]);
    }
    // Of symbols of a table with `shift` raw bits each: nothing, how far q is shifted to the right, the first entry in bytes, and what is added to
    // the shifted q | the last entry << 16. The first and the last entry are those of symbols that the table has not: escapes.
    __device__ __forceinline__ uint4 lookup(const CoderArguments &a, u32 table, u32 shift) const {
        const u32 word = symbols[table], count = word >> 16;
        if (shift == 0) return make_uint4(0, 0, word & 0xffff, count / 2 | count << 16);
        // zigzag(q) >> shift is the same of q >> (shift - 1), with all bits inverted where that is negative
        return make_uint4(0, shift - 1, (u32)sizeof(uint4) * raw_at(a, table), count | (2 * count - 1) << 16);
    }
    // Copies them; `memory` behind them is returned.
    __device__ char *load(const CoderArguments &a, char *memory) {
        const u32 tables = a.tables.symbol_tables, all = a.tables.first[tables], warp = threadIdx.x / 32, lane = threadIdx.x & 31;
        by_q = all + tables;
        entries = (uint4 *)memory;
        // the last tables have less than half of all tokens
        classes = (u32 *)(entries + SYMBOLS_AT + 2 * by_q);
        reciprocals = classes + CLASS_WORDS;
        symbols = reciprocals + PROB_SUM;
        for (u32 i = threadIdx.x; i < CLASS_WORDS; i += blockDim.x) {
            const EncodeEntry e = a.tables.encode[all + i];
            classes[i] = e.bias | e.limit >> 20 << 12 | e.complement >> 16 << 24;
        }
        for (u32 f = threadIdx.x; f < PROB_SUM; f += blockDim.x) reciprocals[f] = reciprocal_of(f);
        if (threadIdx.x == 0) entries[IDLE_AT] = make_uint4(NONE, 0, 0, 0);
        for (u32 t = warp; t < tables; t += blockDim.x / 32) {
            const u32 first = a.tables.first[t], count = a.tables.first[t + 1] - first, at = SYMBOLS_AT + first + t;
            for (u32 i = lane; i <= count; i += 32) {
                const u32 token = min(zigzag((i16)(i - count / 2)), count - 1);
                entries[at + i] = packed(a.tables.encode[first + token]);
            }
            for (u32 i = lane; t + RAW_TABLES >= tables && i < 2 * count; i += 32) {
                const i32 high = (i32)i - (i32)count;
                entries[raw_at(a, t) + i] = packed(a.tables.encode[first + min((u32)(high ^ high >> 31), count - 1)]);
            }
            if (lane == 0) symbols[t] = (u32)sizeof(uint4) * at | count << 16;
        }
        return (char *)(symbols + (tables + 3) / 4 * 4);
    }
    // Of a token of the class tables or the uniform one, or of NO_TOKEN.
    __device__ __forceinline__ uint4 of_class(u32 token) const {
        const bool idle = token == NO_TOKEN;
        const u32 word = classes[idle ? 0 : token], frequency = word >> 12 & 0xfff, reciprocal = reciprocals[frequency];
        const uint4 entry = make_uint4(frequency << 20, reciprocal, word & 0xfff, (PROB_SUM - frequency) << 8 | word >> 24);
        return idle ? make_uint4(NONE, 0, 0, 0) : entry;
    }
};

// *to = value where `condition`: one store, without a branch around it.
__device__ __forceinline__ void store_if(bool condition, u16 *to, u16 value) {
#ifdef BLOCKMGARD_EMULATOR
    if (condition) *to = value;
#else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.u16 [%0], %1; }" ::"l"(to), "h"(value), "r"((u32)condition));
#endif
}

// rANS from the last token to the first; words go to lower and lower places before `words`, escaped symbols to those before `escapes`.
struct Encoder {
    u16 *words, *escapes;
    // Words so far.
    i32 count;
    u32 state, below;
    // Of the last round: the state, whether its low half is still to be stored, how many lanes store theirs and how many of them
    // come before. It is stored a round after, since counting and storing would keep the next state waiting.
    u32 last_state, last_total, last_rank;
    bool last_full;

    __device__ __forceinline__ Encoder(u16 *words, u16 *escapes)
        : words(words), escapes(escapes), count(0), state(STATE_MIN), below((1u << (threadIdx.x & 31)) - 1), last_state(0), last_total(0),
          last_rank(0), last_full(false) {}
    __device__ __forceinline__ void put(const uint4 &e) {
        const bool full = state >= e.x;
        const u32 mask = __ballot_sync(FULL, full);
        const u32 old = state, x = full ? state >> 16 : state;
        // shifts by the low 5 bits
        const u32 quotient = __funnelshift_r(__umulhi(x, e.y), 0, e.w);
        state = quotient * (e.w >> 8) + (x + e.z);
        store();
        last_state = old;
        last_total = __popc(mask);
        last_rank = __popc(mask & below);
        last_full = full;
    }
    __device__ __forceinline__ void store() {
        count += last_total;
        store_if(last_full, words + ((i32)last_rank - count), (u16)last_state);
    }
    __device__ __forceinline__ void list(bool escaped, u16 q) {
        const u32 mask = __ballot_sync(FULL, escaped);
        if (mask == 0) return;
        escapes -= __popc(mask);
        store_if(escaped, escapes + __popc(mask & below), q);
    }
};
