// Chunked canonical Huffman: tokens, and what the host hands to the kernels. Mirrored in
// codec/backend/cuda/hybrid/arguments.rs; FORMAT.md (Huffman payload) has the tokens.
#pragma once
#include "hybrid.cuh"

constexpr u32 ALPHABET = 248;
// Tokens are kept in tables of this length.
constexpr u32 TOKENS = 256;
constexpr u32 END = 0;
constexpr u32 RUN = 1;
constexpr u32 ESCAPE = 19;
constexpr u32 VALUE = 20;
constexpr u32 DIRECT = 128;
constexpr u32 MAX_BITS = 12;
constexpr u32 SEGMENT_UNITS = 16;
// Symbols of a unit, at most.
constexpr u32 MAX_UNIT = 416;
// Zeros of an END: more than a unit has.
constexpr u32 TO_THE_END = 1024;

// 16 units of one payload; a bit stream of its own.
struct Segment {
    u64 symbol;
    u32 count, part;
};
// Symbols that become one payload with one codebook.
struct HuffmanPart {
    u32 segment, segment_end;
    u32 unit, book;
    // A chunk has its kind in front, its payload's length, and two empty lists behind.
    u32 chunk;
    // Written by the kernels: bytes of the payload, whether any symbol is not zero, damage.
    u32 bytes, nonzero, error;
    // Of its first byte.
    u64 offset;
};
struct HuffmanArguments {
    Symbols symbols;
    const Segment *segments;
    HuffmanPart *parts;
    // TOKENS a segment.
    u16 *histograms;
    // TOKENS a book: counts; lengths of codes; code | length with raw bits << 16. What a decoder does, 4096 a book: with several tokens, with one (lanes only).
    u32 *counts;
    u8 *lengths;
    u32 *codes;
    u32 *table, *single;
    // Of the segments; offsets count from the payload's first byte.
    u32 *bytes, *offsets;
    // Encoding, and decoding by warps: segment with which a block of threads begins; it takes those that follow in the same part, one a warp. Decoding by
    // lanes: that with which a warp begins, whose lanes take one each, all of one book; behind the last one the number of segments.
    const u32 *tasks;
    u8 *data;
    // Bytes of all parts, and those that `data` holds.
    u64 *total;
    u64 capacity;
    u32 segment_count, part_count, book_count, task_count;
};

struct Token {
    u32 token, extra_bits, extra;
};
// A number as a token and raw bits: below 1 << direct one token each, then 1 << msb tokens an octave.
__device__ __forceinline__ Token split_number(u32 v, u32 direct, u32 msb) {
    if (v < 1u << direct) return {v, 0, 0};
    const u32 octave = 31 - __clz((int)v), bits = octave - msb;
    const u32 lead = v >> bits & ((1u << msb) - 1);
    return {(1u << direct) + (octave - direct << msb) + lead, bits, v & ((1u << bits) - 1)};
}
__device__ __forceinline__ Token zero_run(u32 length) {
    Token t = split_number(length - 1, 2, 1);
    t.token += RUN;
    return t;
}
__device__ __forceinline__ Token value_token(i32 q) {
    if (q == STORED) return {ESCAPE, 0, 0};
    Token t = split_number(((u32)q << 1 ^ (u32)(q >> 31)) - 1, 7, 2);
    t.token += VALUE;
    return t;
}
// The smallest number of a token, its raw bits, and whether it is a value.
struct Action {
    u32 base, extra_bits, is_value;
};
__device__ __forceinline__ Action action_of(u32 token) {
    if (token == END || token >= ALPHABET) return {TO_THE_END, 0, 0};
    if (token == ESCAPE) return {0xffffffffu, 0, 1};
    const bool is_value = token >= VALUE;
    const u32 t = is_value ? token - VALUE : token - RUN, direct = is_value ? 7 : 2, msb = is_value ? 2 : 1;
    if (t < 1u << direct) return {t + 1, 0, is_value};
    const u32 above = t - (1u << direct), octave = direct + (above >> msb), bits = octave - msb;
    return {((1u << octave) | (above & ((1u << msb) - 1)) << bits) + 1, bits, is_value};
}

// Bytes of a varint.
__device__ __forceinline__ u32 varint_bytes(u32 v) { return v < 1u << 7 ? 1 : v < 1u << 14 ? 2 : v < 1u << 21 ? 3 : v < 1u << 28 ? 4 : 5; }
// Bytes of a part before its payload, and altogether.
__device__ __forceinline__ u32 part_head(const HuffmanPart &p) { return p.chunk ? 1 + varint_bytes(p.bytes) : 0; }
__device__ __forceinline__ u32 part_bytes(const HuffmanPart &p) { return part_head(p) + p.bytes + (p.chunk ? 2 : 0); }

// Exclusive sum over the threads of a block (at most 1024); `sums` has 33 places; `all` gets the sum of all.
template <class V> __device__ __forceinline__ V block_scan(V mine, V *sums, V &all) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    V sum = mine;
    for (int by = 1; by < 32; by *= 2) {
        const V low = __shfl_up_sync(FULL, sum, by);
        if (lane >= (u32)by) sum += low;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        const V own = lane < warps ? sums[lane] : 0;
        V total = own;
        for (int by = 1; by < 32; by *= 2) {
            const V low = __shfl_up_sync(FULL, total, by);
            if (lane >= (u32)by) total += low;
        }
        sums[lane] = total - own;
        if (lane == 31) sums[32] = total;
    }
    __syncthreads();
    const V before = sums[warp] + sum - mine;
    all = sums[32];
    __syncthreads();
    return before;
}
