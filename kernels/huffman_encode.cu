// From symbols to payloads: histograms of tokens, sizes, places, bits (codebooks: huffman_books.cu). A warp codes a segment, unit by unit.
#include "huffman.cuh"

constexpr u32 WARPS = 8;
// Warps of a block that codes: the segments of a task.
constexpr u32 TASK_WARPS = 11;
// Symbols of a lane: an odd number, so that lanes read different banks.
constexpr u32 LANE_SYMBOLS = 13;
// Words of a unit's bits: at most 41 bits a symbol, an end mark, and the bits before it in its first word.
constexpr u32 UNIT_WORDS = 544;

// Longest run of zeros before a symbol of a unit, plus one.
constexpr u32 RUNS = MAX_UNIT;

// A unit's symbols, each lane its own 13 in registers.
struct LaneUnit {
    i32 q[LANE_SYMBOLS];
    // Place behind the last nonzero symbol before this lane's, and of the whole unit.
    u32 from, after_last;
};
// Loads a unit through `staged`.
__device__ __forceinline__ void load_unit(const i32 *symbols, u32 length, u32 lane, i32 *staged, LaneUnit &unit) {
    for (u32 i = lane; i < length; i += 32) staged[i] = symbols[i];
    __syncwarp();
    u32 last = 0;
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k++) {
        const u32 i = lane * LANE_SYMBOLS + k;
        unit.q[k] = i < length ? staged[i] : 0;
        last = unit.q[k] ? i + 1 : last;
    }
    for (int by = 1; by < 32; by *= 2) last = max(last, __shfl_up_sync(FULL, last, by));
    unit.after_last = __shfl_sync(FULL, last, 31);
    const u32 before = __shfl_up_sync(FULL, last, 1);
    unit.from = lane ? before : 0;
}
// Asks for the lines of a unit that comes next.
__device__ __forceinline__ void fetch_unit(const i32 *symbols, u32 lane) {
    if (lane <= MAX_UNIT / 32) fetch_ahead(symbols + 32 * lane);
}
__device__ __forceinline__ u32 zigzag_less_one(i32 q) { return ((u32)q << 1 ^ (u32)(q >> 31)) - 1; }

extern "C" __global__ void huffman_count(const HuffmanArguments a) {
    __shared__ i32 staged[WARPS][MAX_UNIT];
    __shared__ u32 histograms[WARPS][TOKENS];
    __shared__ u8 run_tokens[RUNS];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 *histogram = histograms[warp];
    for (u32 run = 1 + threadIdx.x; run < RUNS; run += 32 * WARPS) run_tokens[run] = (u8)zero_run(run).token;
    __syncthreads();
    for (u32 s = blockIdx.x * WARPS + warp; s < a.segment_count; s += gridDim.x * WARPS) {
        const Segment segment = a.segments[s];
        HuffmanPart &part = a.parts[segment.part];
        const u32 most = part.unit;
        for (u32 t = lane; t < TOKENS; t += 32) histogram[t] = 0;
        u32 ends = 0;
        bool nonzero = false;
        for (u32 at = 0; at < segment.count; at += most) {
            const u32 length = min(most, segment.count - at);
            LaneUnit unit;
            __syncwarp();
            fetch_unit(a.symbols + segment.symbol + at + most, lane);
            load_unit(a.symbols + segment.symbol + at, length, lane, staged[warp], unit);
            ends += unit.after_last < length;
            if (!unit.after_last) continue;
            nonzero = true;
            u32 from = unit.from;
#pragma unroll
            for (u32 k = 0; k < LANE_SYMBOLS; k++) {
                const i32 q = unit.q[k];
                if (!q) continue;
                const u32 i = lane * LANE_SYMBOLS + k, z = zigzag_less_one(q);
                atomicAdd(&histogram[z < DIRECT ? VALUE + z : value_token(q).token], 1u);
                if (i > from) atomicAdd(&histogram[run_tokens[i - from]], 1u);
                from = i + 1;
            }
        }
        __syncwarp();
        if (lane == 0) histogram[END] = ends;
        __syncwarp();
        for (u32 t = lane; t < TOKENS; t += 32) a.histograms[(u64)s * TOKENS + t] = (u16)histogram[t];
        if (nonzero && lane == 0) atomicOr(&part.nonzero, 1u);
        __syncwarp();
    }
}

// Sums the histograms of each book; parts of zeros alone take no tokens. A thread a token.
extern "C" __global__ void huffman_sum(const HuffmanArguments a) {
    const u32 share = (a.segment_count + gridDim.x - 1) / gridDim.x;
    const u32 begin = min(blockIdx.x * share, a.segment_count), end = min(begin + share, a.segment_count);
    u32 sum = 0, book = 0;
    for (u32 s = begin; s < end; s++) {
        const HuffmanPart &part = a.parts[a.segments[s].part];
        if (!part.nonzero) continue;
        if (part.book != book) {
            if (sum) atomicAdd(&a.counts[book * TOKENS + threadIdx.x], sum);
            book = part.book;
            sum = 0;
        }
        sum += a.histograms[(u64)s * TOKENS + threadIdx.x];
    }
    if (sum) atomicAdd(&a.counts[book * TOKENS + threadIdx.x], sum);
}

// Bytes of each segment, from its histogram.
extern "C" __global__ void huffman_sizes(const HuffmanArguments a) {
    const u32 lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
    for (u32 s = (blockIdx.x * blockDim.x + threadIdx.x) / 32; s < a.segment_count; s += warps) {
        const HuffmanPart &part = a.parts[a.segments[s].part];
        u32 bits = 0;
        for (u32 t = lane; t < TOKENS; t += 32)
            bits += a.histograms[(u64)s * TOKENS + t] * (a.codes[part.book * TOKENS + t] >> 16);
        bits = __reduce_add_sync(FULL, bits);
        if (lane == 0) a.bytes[s] = part.nonzero ? (bits + 7) / 8 : 0;
    }
}

// Places of the segments in their payloads, a block a part.
extern "C" __global__ void huffman_offsets(const HuffmanArguments a) {
    __shared__ u32 sums[33];
    HuffmanPart &part = a.parts[blockIdx.x];
    const u32 segments = part.segment_end - part.segment;
    u32 sum = part.nonzero ? 2 * segments : 0;
    for (u32 s = 0; s < segments; s += blockDim.x) {
        const bool there = s + threadIdx.x < segments;
        const u32 at = part.segment + s + threadIdx.x;
        u32 all;
        const u32 before = block_scan(there ? a.bytes[at] : 0, sums, all);
        if (there) a.offsets[at] = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) part.bytes = sum;
}

// Places of the parts, one block.
extern "C" __global__ void huffman_places(const HuffmanArguments a) {
    __shared__ u64 sums[33];
    u64 sum = 0;
    for (u32 p = 0; p < a.part_count; p += blockDim.x) {
        const bool there = p + threadIdx.x < a.part_count;
        u64 all;
        const u64 before = block_scan(there ? (u64)part_bytes(a.parts[p + threadIdx.x]) : 0, sums, all);
        if (there) a.parts[p + threadIdx.x].offset = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) *a.total = sum;
}

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

// Codes of a book: of runs of zeros, with their raw bits (length << 24), and of tokens (length without raw bits << 16).
struct CodeTables {
    u32 runs[RUNS];
    u32 tokens[TOKENS];
};
__device__ __forceinline__ void fill_tables(const u32 *codes, CodeTables &tables) {
    for (u32 i = threadIdx.x; i < TOKENS; i += 32 * TASK_WARPS) tables.tokens[i] = codes[i] - (codes[i] ? action_of(i).extra_bits << 16 : 0);
    for (u32 run = threadIdx.x; run < RUNS; run += 32 * TASK_WARPS) {
        if (run == 0) {
            tables.runs[0] = 0;
            continue;
        }
        const Token t = zero_run(run);
        const u32 code = codes[t.token], length = code >> 16;
        tables.runs[run] = (code & 0xffff) | t.extra << (length - t.extra_bits & 31) | length << 24;
    }
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

// Adds the bits of a unit to `words`, which hold `bit` bits before them, and returns their number.
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

extern "C" __global__ void __launch_bounds__(32 * TASK_WARPS, 2) huffman_encode(const HuffmanArguments a) {
    __shared__ i32 staged[TASK_WARPS][MAX_UNIT];
    __shared__ u32 buffers[TASK_WARPS][UNIT_WORDS];
    __shared__ CodeTables tables;
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
    u32 *words = buffers[warp], foreign = (u32)((u64)to & 3), bit = 8 * foreign;
    u32 *out = (u32 *)(to - foreign);
    for (u32 i = lane; i < UNIT_WORDS; i += 32) words[i] = 0;
    for (u32 at = 0; at < segment.count; at += part.unit) {
        const u32 length = min(part.unit, segment.count - at);
        LaneUnit unit;
        __syncwarp();
        fetch_unit(a.symbols + segment.symbol + at + part.unit, lane);
        load_unit(a.symbols + segment.symbol + at, length, lane, staged[warp], unit);
        if (!unit.after_last) {
            const u32 end = tables.tokens[END];
            LaneBits bits(words, bit);
            if (lane == 0) bits.put(end & 0xffff, end >> 16), bits.finish();
            bit += end >> 16;
        } else {
            bit += encode_unit(unit, length, lane, tables, words, bit);
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
