// From symbols to bits: a warp codes a segment.
#include "huffman_units.cuh"

// Warps of a block that codes: the segments of a task.
constexpr u32 TASK_WARPS = 11;
// Words of a unit's bits: at most 41 bits a symbol, an end mark, and the bits before it in its first word.
constexpr u32 UNIT_WORDS = 544;

// Bits that a lane puts together, into words that neighbours share.
struct LaneBits {
    u32 *words, held, count;
    __device__ LaneBits(u32 *words, u32 bit) : words(words + bit / 32), held(0), count(bit % 32) {}
    // At most 32 bits.
    __device__ __forceinline__ void put(u32 value, u32 bits) {
        const u64 shifted = (u64)value << count;
        const u32 low = held | (u32)shifted, next = count + bits;
        const bool full = next >= 32;
        if (full) atomicOr(words++, low);
        held = full ? (u32)(shifted >> 32) : low;
        count = next & 31;
    }
    __device__ __forceinline__ void finish() {
        if (held) atomicOr(words, held);
    }
};

// Symbols of which the code is looked up with its raw bits: from -SMALL to SMALL.
constexpr u32 SMALL = 500;
// Codes of a book: of runs of zeros and of small symbols, with their raw bits, at most 19 (length << 24; none of no zeros and of 0), and of tokens (length
// without raw bits << 16).
struct CodeTables {
    u32 runs[RUNS];
    u32 values[2 * SMALL + 1];
    u32 tokens[TOKENS];
};
__device__ __forceinline__ u32 spell(const u32 *codes, const Token &t) {
    const u32 code = codes[t.token], length = code >> 16;
    return (code & 0xffff) | t.extra << (length - t.extra_bits & 31) | length << 24;
}
__device__ __forceinline__ void fill_tables(const u32 *codes, CodeTables &tables) {
    constexpr u32 THREADS = 32 * TASK_WARPS;
    for (u32 i = threadIdx.x; i < TOKENS; i += THREADS) tables.tokens[i] = codes[i] - (codes[i] ? action_of(i).extra_bits << 16 : 0);
    for (u32 run = threadIdx.x; run < RUNS; run += THREADS) tables.runs[run] = run ? spell(codes, zero_run(run)) : 0;
    for (u32 i = threadIdx.x; i <= 2 * SMALL; i += THREADS) tables.values[i] = i == SMALL ? 0 : spell(codes, value_token((i32)i - (i32)SMALL));
}
// The token of a nonzero symbol, as `value_token` has it but for STORED, and its number of raw bits, which are the lowest of
// `zigzag_less_one`.
__device__ __forceinline__ u32 any_token(u32 z, u32 &raw_length) {
    const u32 octave = 31 - __clz((int)(z | 1));
    raw_length = z < DIRECT ? 0 : octave - 2;
    return z < DIRECT ? VALUE + z : VALUE + DIRECT - 28 + 4 * octave + (z >> raw_length & 3);
}

// What stands around a payload, by the warps of its first and last segments.
__device__ __forceinline__ void write_frame(const HuffmanPart &part, u8 *at, bool first, bool last) {
    if (!part.chunk) return;
    if (first) {
        *at = 1;
        u32 v = part.bytes;
        for (u32 i = 1; i < part_head(part); i++, v >>= 7) at[i] = (u8)(v & 127) | (v >= 128) << 7;
    }
    if (last) {
        u8 *lists = at + part_head(part) + part.bytes;
        lists[0] = lists[1] = 0;
    }
}

// Sum over the lanes before this one; `all` gets that of all.
__device__ __forceinline__ u32 lanes_before(u32 mine, u32 lane, u32 &all) {
    u32 sum = mine;
    for (int by = 1; by < 32; by *= 2) {
        const u32 low = __shfl_up_sync(FULL, sum, by);
        if (lane >= (u32)by) sum += low;
    }
    all = __shfl_sync(FULL, sum, 31);
    return sum - mine;
}

// Adds the bits of a unit of small symbols to `words`, which hold `bit` bits before them, and gives their number in `all`; false when it has others, or
// neighbours of more than 32 bits.
__device__ __forceinline__ bool encode_small(const LaneUnit &unit, u32 length, u32 lane, const CodeTables &tables, u32 *words, u32 bit, u32 &all) {
    u32 spelt[LANE_SYMBOLS], lengths[LANE_SYMBOLS], from = unit.from, mine = 0;
    bool beyond = false;
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k++) {
        const i32 q = unit.q[k];
        const u32 i = lane * LANE_SYMBOLS + k, place = (u32)(q + (i32)SMALL);
        beyond |= place > 2 * SMALL;
        const u32 run = tables.runs[q ? i - from : 0], value = tables.values[min(place, 2 * SMALL)];
        spelt[k] = (run & 0xffffff) | (value & 0xffffff) << (run >> 24);
        lengths[k] = (run >> 24) + (value >> 24);
        from = q ? i + 1 : from;
    }
    // two at a time
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k += 2) {
        if (k + 1 < LANE_SYMBOLS) {
            spelt[k] |= spelt[k + 1] << (lengths[k] & 31);
            lengths[k] += lengths[k + 1];
        }
        beyond |= lengths[k] > 32;
        mine += lengths[k];
    }
    if (__any_sync(FULL, beyond)) return false;
    const bool ends = lane == 31 && unit.after_last < length;
    const u32 end = tables.tokens[END];
    if (ends) mine += end >> 16;
    LaneBits bits(words, bit + lanes_before(mine, lane, all));
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k += 2) bits.put(spelt[k], lengths[k]);
    if (ends) bits.put(end & 0xffff, end >> 16);
    bits.finish();
    return true;
}

// The same for any symbols; returns the number of bits.
__device__ __forceinline__ u32 encode_unit(const LaneUnit &unit, u32 length, u32 lane, const CodeTables &tables, u32 *words, u32 bit) {
    // Zeros and code of each symbol, and the length of both, a byte each; the raw bits of wide values come behind.
    u32 spelt[LANE_SYMBOLS], lengths[(LANE_SYMBOLS + 3) / 4] = {};
    u32 from = unit.from, mine = 0;
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k++) {
        const i32 q = unit.q[k];
        const u32 i = lane * LANE_SYMBOLS + k;
        // Where there is no symbol, what is looked up is not used.
        const u32 run = tables.runs[q ? i - from : 0], low = run >> 24;
        u32 raw_length;
        const u32 token = any_token(zigzag_less_one(q), raw_length);
        const bool stored = q == STORED;
        const u32 code = tables.tokens[stored ? ESCAPE : token & (TOKENS - 1)];
        spelt[k] = q ? (code & 0xffff) << low | (run & 0xffffff) : 0;
        const u32 own = q ? (code >> 16) + low : 0;
        lengths[k / 4] |= own << k % 4 * 8;
        mine += own + (q && !stored ? raw_length : 0);
        from = q ? i + 1 : from;
    }
    const bool ends = lane == 31 && unit.after_last < length;
    const u32 end = tables.tokens[END];
    if (ends) mine += end >> 16;
    u32 all;
    LaneBits bits(words, bit + lanes_before(mine, lane, all));
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k++) {
        bits.put(spelt[k], lengths[k / 4] >> k % 4 * 8 & 255);
        const u32 z = zigzag_less_one(unit.q[k]);
        if (z >= DIRECT && unit.q[k] && unit.q[k] != STORED) {
            const u32 raw_length = 29 - __clz((int)z);
            bits.put(z & ((1u << raw_length) - 1), raw_length);
        }
    }
    if (ends) bits.put(end & 0xffff, end >> 16);
    bits.finish();
    return all;
}

// The shared memory of a block that codes, as codec/backend/cuda/hybrid/huffman.rs counts it.
struct CodingMemory {
    i16 groups[TASK_WARPS][2][GROUP_SYMBOLS];
    u32 buffers[TASK_WARPS][UNIT_WORDS];
    CodeTables tables;
};

extern "C" __global__ void __launch_bounds__(32 * TASK_WARPS, 2) huffman_encode(const HuffmanArguments a) {
    SHARED_MEMORY(memory);
    CodingMemory &m = *(CodingMemory *)memory;
    CodeTables &tables = m.tables;
    if (*a.total > a.capacity) return;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 s = a.tasks[blockIdx.x] + warp;
    const HuffmanPart part = a.parts[a.segments[a.tasks[blockIdx.x]].part];
    const u32 *codes = a.codes + part.book * TOKENS;
    if (part.nonzero) fill_tables(codes, tables);
    __syncthreads();
    if (s >= part.segment_end) return;
    u8 *start = a.data + part.offset;
    if (lane == 0) write_frame(part, start, s == part.segment, s + 1 == part.segment_end);
    if (!part.nonzero) return;
    const Segment segment = a.segments[s];
    u8 *payload = start + part_head(part), *to = payload + a.offsets[s];
    if (lane < 2) payload[2 * (s - part.segment) + lane] = (u8)(a.bytes[s] >> 8 * lane);
    // Words are counted from an aligned address; the first bytes may belong to others.
    u32 *words = m.buffers[warp], foreign = (u32)((u64)to & 3), bit = 8 * foreign;
    u32 *out = (u32 *)(to - foreign);
    for (u32 i = lane; i < UNIT_WORDS; i += 32) words[i] = 0;
    SegmentSymbols symbols(a, segment, part.unit, m.groups[warp]);
    for (u32 at = 0; at < segment.count; at += part.unit) {
        const u32 length = min(part.unit, segment.count - at);
        LaneUnit unit;
        __syncwarp();
        load_unit(symbols.unit(at), symbols.wide + at, length, lane, unit);
        if (!unit.after_last) {
            const u32 end = tables.tokens[END];
            LaneBits bits(words, bit);
            if (lane == 0) bits.put(end & 0xffff, end >> 16), bits.finish();
            bit += end >> 16;
        } else {
            u32 bits;
            if (!encode_small(unit, length, lane, tables, words, bit, bits)) bits = encode_unit(unit, length, lane, tables, words, bit);
            bit += bits;
        }
        __syncwarp();
        // Whole words go out, the rest stays.
        const u32 full = bit / 32, rest = words[full];
        for (u32 i = lane; i < full; i += 32) {
            if (i == 0 && foreign)
                for (u32 b = foreign; b < 4; b++) ((u8 *)out)[b] = (u8)(words[0] >> 8 * b);
            else
                out[i] = words[i];
        }
        __syncwarp();
        for (u32 i = lane; i <= full; i += 32) words[i] = i == 0 ? rest : 0;
        if (full) foreign = 0;
        out += full;
        bit %= 32;
    }
    __syncwarp();
    for (u32 b = foreign + lane; b < (bit + 7) / 8; b += 32) ((u8 *)out)[b] = (u8)(words[0] >> 8 * b);
}
