// What the host hands to the class coder's kernels. Mirrored in codec/backend/cuda/pyramid/arguments.rs.
#pragma once
#include "pyramid.cuh"

// In an exact unit, in place of a table: every delta is 0, every delta is stored raw.
constexpr u32 ALL_EQUAL = 63;
constexpr u32 PLAIN = 62;
// No slot, no class.
constexpr u32 NONE = 0xffffffffu;
// Groups of classes that serve as contexts.
constexpr u32 CLASS_GROUPS = 8;
// Class numbers, and tokens of a class table.
constexpr u32 CLASSES = 64;
// Numbers of bits that |q| can have.
constexpr u32 LENGTHS = 16;
constexpr u32 PROB_BITS = 11;
constexpr u32 PROB_SUM = 1u << PROB_BITS;
constexpr u32 STATE_MIN = 1u << 15;
constexpr u32 MAX_LANES = 32;
constexpr u32 MAX_STREAMS = 16;
// Warps of a block that codes streams: they share the tables.
constexpr u32 STREAM_WARPS = 32;
constexpr u32 HAS_LISTS = 1;
constexpr u32 WIDE_SIZES = 2;

struct Unit {
    u32 start, len, slot;
    // Slot of the unit of the next coarser step around it, or NONE.
    u32 parent;
    // The units of its step, counted in the tile.
    u32 step_begin, step_end;
};

// Form of a unit in one word: class, table of an exact unit, shift of an exact unit.
struct Form {
    u32 word;
    __device__ Form(u32 word) : word(word) {}
    __device__ Form(u32 kind, u32 table, u32 shift) : word(kind | table << 8 | shift << 16) {}
    __device__ u32 kind() const { return word & 255; }
    __device__ u32 table() const { return word >> 8 & 255; }
    __device__ u32 shift() const { return word >> 16; }
};
struct EncodeEntry {
    u32 limit, reciprocal, bias, complement;
};

// All tables of the coder, one after the other.
struct CoderTables {
    const EncodeEntry *encode;
    // Decoding, by the same index as `encode`, of the tables of symbols: see rans_decode.cuh.
    const u32 *entries;
    // Of the 2048 slots of each table of symbols, those used most first: the token, and what to decode it with.
    const u8 *tokens;
    const u32 *slots;
    // Place of each table of symbols in `tokens` and `slots`.
    const u32 *ranks;
    // See ClassTables in rans_decode.cuh.
    const u16 *class_starts;
    const u8 *class_tokens;
    // First entry of each table; the last number is the count of all entries.
    const u32 *first;
    // By class: cost in 2^-12 bit of a node whose |q| has 0, 1, 2, ... bits.
    const u32 *costs;
    // Table | shift << 8 of each class.
    const u32 *classes;
    // Group of each class number.
    const u32 *groups;
    u32 class_count;
    // Tables of symbols. After them: classes by the groups of the slot's and the parent's last class, 64 equal tokens.
    u32 symbol_tables;
    // Entries of the tables of symbols.
    u32 entry_count, unused;

    // Number of the class of exact units; 0 is zero, then the quantized classes.
    __device__ __forceinline__ u32 exact_class() const { return class_count + 1; }
    __device__ __forceinline__ u32 uniform() const { return symbol_tables + CLASS_GROUPS * CLASS_GROUPS; }
    __device__ __forceinline__ u32 group(u32 kind) const { return kind == NONE ? 0 : groups[kind]; }
    // The table for a class after the last class of its slot and that of its parent's slot.
    __device__ __forceinline__ u32 after(u32 own, u32 parent) const {
        return symbol_tables + CLASS_GROUPS * group(own) + group(parent);
    }
};

// What coding a stream takes of a unit; all units in the order of the tiles.
struct __align__(16) UnitRecord {
    // Place of the first symbol / 8.
    u32 eighth;
    // Nodes | exact values in its list << 16.
    u32 sizes;
    u32 form;
    // How its class is coded: entry among those of all class tables | place in its step % 32 << 12 | table of an exact unit << 17
    // | its shift << 23 | whether it is the first unit of a tile << 31.
    u32 round;

    __device__ __forceinline__ u32 len() const { return sizes & 0xffff; }
    __device__ __forceinline__ u32 exact() const { return sizes >> 16; }
};

struct Stream {
    u32 chunk, index;
    // Sizes: words, escapes, exact values, raw bytes; then the places of the first word and escape.
    u32 words, escapes, exact, raw;
    u64 first_word, first_escape;
};

struct Chunk {
    // First and one past the last tile.
    u32 tile, tile_end;
    // Number of coded values (bytes of a plain copy come from it), and the first stream.
    u32 nodes, stream;
    // Estimated cost of all units in 2^-12 bit.
    u64 cost;
    // Encoded bytes and their place in the output.
    u64 offset;
    u32 bytes;
    // 1 + log2 of the lanes of all streams; 0 when there are no symbols.
    u32 code;
    u32 flags, error;
    // Nodes in units of another class than 0.
    u32 coded, unused;
};

struct CoderArguments {
    CoderTables tables;
    const Tile *tiles;
    const Unit *units;
    // Units of tile shape s: unit_first[s] .. unit_first[s + 1].
    const u32 *unit_first;
    Chunk *chunks;
    Stream *streams;
    i16 *q;
    void *delta;
    // By tile and slot.
    u32 *forms;
    // By tile and slot: exact values in its list.
    u32 *counts;
    UnitRecord *records;
    u16 *words, *escapes;
    u32 *states;
    u8 *output;
    // Number of streams, bytes of all chunks, streams taken so far.
    u64 *totals;
    // Bytes that `output` can take; nothing is written when it is too small.
    u64 capacity;
    u8 *choices;
    // The streams by length, the longest first: encoding see split_chunks, decoding StreamOrder.
    u32 *order;
    u32 tile_count, chunk_count, slots, bits, units_in_tile;
    // What a lane should have: see Split in codec/entropy/class/chunk.rs.
    u32 bits_per_lane, nodes_per_lane[2], least_bits_per_lane[2];
    // So many of the tables of symbols stand in the decoder's shared memory by their slots, the others by their tokens.
    u32 tables_by_slots;
    // So many warps share a tile when forms are chosen; more than one only where every tile has all slots that are ever asked for.
    u32 warps_of_tile;
};

// From the code of a chunk: up to 16 lanes of one stream, then streams of 32.
constexpr u32 ONE_STREAM = 6;
__device__ __forceinline__ u32 lanes_of(u32 code) { return code < ONE_STREAM ? 1u << (code - 1) : MAX_LANES; }
__device__ __forceinline__ u32 streams_of(u32 code) { return code < ONE_STREAM ? 1 : code - ONE_STREAM + 1; }

// Decoding: numbers of streams in 32 lists, the longest streams in the first.
struct StreamOrder {
    static constexpr u32 LISTS = 32;
    // Streams of each list; streams taken so far beyond the first of each warp.
    u32 *counts, *taken, *lists;
    // Of a list.
    u32 capacity;
    __device__ __forceinline__ StreamOrder(const CoderArguments &a)
        : counts(a.order), taken(a.order + LISTS), lists(a.order + 2 * LISTS), capacity(a.chunk_count * MAX_STREAMS) {}
};

// Streams for a warp of a block: at first neighbours go to different multiprocessors, since they are alike in length; then, as
// warps become free, the next one. A warp has few, so that none is asked for early: it would wait for the one before.
struct Queue {
    u64 *taken;
    __device__ __forceinline__ Queue(const CoderArguments &a) : taken(a.totals + 2) {}
    __device__ __forceinline__ u32 first() const { return threadIdx.x / 32 * gridDim.x + blockIdx.x; }
    __device__ __forceinline__ u32 next() const {
        u64 before = 0;
        if ((threadIdx.x & 31) == 0) before = atomicAdd(taken, (u64)1);
        return (u32)__shfl_sync(FULL, before, 0) + gridDim.x * (blockDim.x / 32);
    }
};

// 16-bit words of a stream's sizes in the payload's header, and bytes of the stream itself.
__device__ __forceinline__ u32 size_words(u32 flags) { return (flags & HAS_LISTS ? 4 : 1) * (flags & WIDE_SIZES ? 2 : 1); }
__device__ __forceinline__ u32 stream_bytes(const Stream &s, u32 lanes, u32 bits) {
    return 4 * lanes + 2 * (s.words + s.escapes) + s.exact * (bits / 8) + s.raw;
}

// The tile at which stream `index` of a chunk starts.
__device__ __forceinline__ u32 stream_tile(const Chunk &chunk, u32 index) {
    return chunk.tile + index * (chunk.tile_end - chunk.tile) / streams_of(chunk.code);
}

// Bits of the raw region that a unit takes.
__device__ __forceinline__ u32 raw_bits(const Form &form, u32 len, u32 bits, u32 exact_class) {
    if (form.kind() == 0) return 0;
    if (form.kind() != exact_class) return len * form.shift();
    return form.table() == ALL_EQUAL ? 0 : len * (form.table() == PLAIN ? bits : form.shift());
}

__device__ __forceinline__ u32 zigzag(i16 q) { return (u16)((q << 1) ^ (q >> 15)); }
__device__ __forceinline__ i16 unzigzag(u32 z) { return (i16)((z >> 1) ^ (0u - (z & 1))); }

// Exclusive sum over the block of one number a thread; every thread also learns the total.
static __device__ u64 block_scan(u64 value, u64 &total) {
    __shared__ u64 sums[32];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    u64 inclusive = value;
    for (u32 by = 1; by < 32; by <<= 1) {
        const u64 other = __shfl_up_sync(FULL, inclusive, by);
        if (lane >= by) inclusive += other;
    }
    if (lane == 31) sums[warp] = inclusive;
    __syncthreads();
    u64 before = 0;
    total = 0;
    for (u32 w = 0; w < blockDim.x / 32; w++) {
        if (w < warp) before += sums[w];
        total += sums[w];
    }
    __syncthreads();
    return before + inclusive - value;
}
