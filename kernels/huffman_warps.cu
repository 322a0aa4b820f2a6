// From payloads to symbols: a warp decodes a segment, and refuses what the CPU refuses.
//
// The bits of a segment are cut into 32 equal pieces. No lane knows where in its piece a token begins; but from any bit a decoder falls into step after a few
// tokens. So each lane starts a little before its piece, and then decodes it. A lane that did not begin where the one before it ended starts again from there,
// until all agree: then every lane began at a token, as the first one did.
//
// Unlike a lane a segment (huffman_decode.cu), this takes as long as there are bytes: it is for frames of few segments or bytes. The host chooses
// (codec/backend/cuda/hybrid/decoders.rs).
#include "huffman_decode.cuh"

// Segments of a task, as in codec/backend/cuda/hybrid/layout.rs; the warps of a block, at most as many, share them.
constexpr u32 TASK_SEGMENTS = 11;
// Symbols of a segment, 16 bits each while they are collected.
constexpr u32 MOST_SYMBOLS = 387 * SEGMENT_UNITS;
// Words of a segment that a warp holds at a time, and what a token that begins in the last of them may reach.
constexpr u32 WINDOW = 1792, BEYOND = 4;

// Bits before a lane's piece from which it looks for the first token in it.
constexpr u32 WARM_UP = 256;

// An entry of the table, by the next 12 bits: length of the code, 0 where none begins so; symbols of the token and its kind; length of all the plain tokens in
// the 12 bits; the value (0 of a run), or the token of what is not plain; symbols of all those plain tokens. Plain are values and runs without raw bits.
constexpr u32 IS_VALUE = 1u << 7, IS_END = 1u << 8, IS_PLAIN = 1u << 9;
__device__ __forceinline__ u32 code_length(u32 entry) { return entry & 15; }
__device__ __forceinline__ u32 moved_by(u32 entry) { return entry >> 4 & 7; }
__device__ __forceinline__ u32 plain_length(u32 entry) { return entry >> 12 & 15; }
__device__ __forceinline__ i32 value_of(u32 entry) { return (i32)(entry << 8) >> 24; }
__device__ __forceinline__ u32 special_token(u32 entry) { return entry >> 16 & 255; }
__device__ __forceinline__ u32 plain_symbols(u32 entry) { return entry >> 24; }

// Of an entry of one token.
__device__ __forceinline__ bool is_plain_token(u32 single) {
    const u32 token = single >> 4;
    return (single & 15) && token != END && token != ESCAPE && action_of(token).extra_bits == 0;
}
// The entry for twelve bits; `single` has the tokens by their first bits.
__device__ __forceinline__ u32 segment_entry(const u32 *single, u32 next) {
    const u32 length = single[next] & 15, token = single[next] >> 4;
    if (length == 0) return 0;
    const Action action = action_of(token);
    u32 entry = length | (action.is_value ? IS_VALUE : 0) | (token == END ? IS_END : 0);
    if (!is_plain_token(single[next])) return entry | token << 16;
    const u32 value = action.is_value ? unzigzag(action.base) : 0;
    entry |= IS_PLAIN | (value & 255) << 16 | (action.is_value ? 1 : action.base) << 4;
    u32 bits = 0, symbols = 0;
    for (u32 now = single[next]; is_plain_token(now) && bits + (now & 15) <= MAX_BITS; now = single[next >> bits]) {
        const Action a = action_of(now >> 4);
        bits += now & 15;
        symbols += a.is_value ? 1 : a.base;
    }
    return entry | bits << 12 | symbols << 24;
}

// The tables of the books, as huffman_table makes those of the other decoder.
extern "C" __global__ void huffman_table_warps(const HuffmanArguments a) {
    __shared__ u32 single[1 << MAX_BITS];
    const u32 book = blockIdx.x / TABLE_BLOCKS, share = blockIdx.x % TABLE_BLOCKS;
    fill_singles(single, a.lengths + book * TOKENS);
    for (u32 i = share * TOKENS + threadIdx.x; i < 1u << MAX_BITS; i += TABLE_BLOCKS * TOKENS)
        a.table[(book << MAX_BITS) + i] = segment_entry(single, i);
}

// Bits from words in shared memory, counted from the first word of the segment. Global memory will not do: whatever one lane loads, all lanes of its warp
// wait for.
struct Bits {
    const u32 *words;
    // Of the next bit; the words that hold it and the next.
    u32 at, low, high;
    __device__ __forceinline__ void go(u32 bit) {
        at = bit;
        low = words[bit / 32];
        high = words[bit / 32 + 1];
    }
    // The next 32 bits.
    __device__ __forceinline__ u32 next() const { return __funnelshift_r(low, high, at); }
    // At most 32.
    __device__ __forceinline__ void skip(u32 bits) {
        const u32 before = at / 32;
        at += bits;
        if (at / 32 != before) {
            low = high;
            high = words[before + 2];
        }
    }
};

// Raw bits behind a token that is not plain, and its smallest number, as `action_of` has them.
struct Special {
    u32 raw_length, base;
    __device__ __forceinline__ Special(u32 entry) {
        const u32 token = special_token(entry);
        const bool value = entry & IS_VALUE;
        const u32 above = token - VALUE - DIRECT;
        raw_length = value ? 5 + above / 4 : 1 + (token - RUN - 4) / 2;
        base = ((value ? 4 | (above & 3) : 2 | (~token & 1)) << raw_length) + 1;
        if (token == ESCAPE || token == END) raw_length = 0, base = 0xffffffffu;
    }
};

// What tokens do to a place in a segment: it moves on by `first`; where `ends`, it then goes to the end of its unit and on by `then`.
struct Advance {
    u32 ends, first, then;
    __device__ __forceinline__ void symbols(u32 n) { (ends ? then : first) += n; }
    __device__ __forceinline__ void end(u32 unit) {
        then = ends ? (then / unit + 1) * unit : 0;
        ends = 1;
    }
    __device__ __forceinline__ u32 from(u32 place, u32 unit) const {
        return ends ? ((place + first) / unit + 1) * unit + then : place + first;
    }
};
// `a`, then `b`.
__device__ __forceinline__ Advance compose(const Advance &a, const Advance &b, u32 unit) {
    if (!a.ends) return {b.ends, a.first + b.first, b.then};
    if (!b.ends) return {1, a.first, a.then + b.first};
    return {1, a.first, ((a.then + b.first) / unit + 1) * unit + b.then};
}

// Decodes from `start` to the first token at or behind `end`, which it returns. (Loops here have one way through and one way out, so that the lanes of a warp
// meet again after each token.)
__device__ __forceinline__ u32 measure(Bits &bits, const u32 *table, u32 start, u32 end, u32 unit, Advance &advance) {
    advance = {0, 0, 0};
    if (start >= end) return start;
    bits.go(start);
    while (bits.at < end) {
        const u32 entry = table[bits.next() & ((1u << MAX_BITS) - 1)];
        const bool together = plain_length(entry) && bits.at + MAX_BITS <= end;
        u32 symbols = together ? plain_symbols(entry) : moved_by(entry);
        bits.skip(together ? plain_length(entry) : max(code_length(entry), 1u));
        if (!(entry & IS_PLAIN)) {
            const Special special(entry);
            const u32 raw = bits.next() & ((1u << special.raw_length) - 1);
            bits.skip(special.raw_length);
            symbols = entry & IS_VALUE ? 1 : special.base + raw;
            if (entry & IS_END) {
                advance.end(unit);
                symbols = 0;
            }
        }
        advance.symbols(symbols);
    }
    return bits.at;
}

// The end of the unit that holds a place.
__device__ __forceinline__ u32 unit_end(u32 place, u32 unit, u32 count) { return min((place / unit + 1) * unit, count); }

// What a lane found out while it put symbols down.
struct Outcome {
    bool bad, finished;
};

// Puts down the symbols of the tokens from `start` to `end`, the first at `place`: in `staged`, where there are zeros, and those beyond 16 bits in `wide`.
__device__ __forceinline__ Outcome put_symbols(Bits &bits, const u32 *table, u32 start, u32 end, u32 place, u32 unit, u32 count, i16 *staged, u32 *wide) {
    Outcome o = {false, false};
    bool more = start < end && place < count;
    if (more) bits.go(start);
    u32 stop = unit_end(place, unit, count);
    while (more) {
        const u32 entry = table[bits.next() & ((1u << MAX_BITS) - 1)];
        bits.skip(code_length(entry));
        i32 value = value_of(entry);
        u32 moved = moved_by(entry);
        if (!(entry & IS_PLAIN)) {
            const Special special(entry);
            const u32 z = special.base + (bits.next() & ((1u << special.raw_length) - 1));
            bits.skip(special.raw_length);
            const bool is_value = entry & IS_VALUE, beyond = is_value && z > MOST_ZIGZAG;
            o.bad |= code_length(entry) == 0;
            if (beyond) wide[place] = z;
            value = beyond ? EXACT : is_value ? (i32)unzigzag(z) : 0;
            moved = is_value ? 1 : entry & IS_END ? stop - place : z;
        }
        // A run puts a zero down where there is one.
        staged[place] = (i16)value;
        place += moved;
        if (place >= stop) {
            // a run must not reach the end of its unit
            o.bad |= !(entry & (IS_VALUE | IS_END));
            o.finished = stop == count;
            stop = unit_end(place, unit, count);
        }
        more = !(o.finished | o.bad) && bits.at < end;
    }
    return o;
}

// Decodes a segment, window by window; whether it is sound, which every lane gets alike.
__device__ __forceinline__ bool decode_segment(const u8 *data, u32 bytes, const u32 *table, u32 unit, u32 count, u32 lane, u32 *window, i16 *staged,
                                               u32 *wide) {
    const u32 begin = 8 * (u32)((u64)data & 3), limit = begin + 8 * bytes, words = (limit + 31) / 32;
    const u32 *from = (const u32 *)(data - begin / 8);
    bool finished = false, bad = false;
    u32 next = begin, place = 0;
    while (next < limit && !finished && !bad) {
        const u32 first = next / 32;
        __syncwarp();
        // Behind the end there are zeros; the last word may hold bytes of others, which no sound stream looks at.
        for (u32 i = lane; i < min(WINDOW, words - first) + BEYOND; i += 32) window[i] = first + i < words ? from[first + i] : 0;
        __syncwarp();
        Bits bits;
        bits.words = window - first;
        const u32 stop_at = min(limit, (first + WINDOW) * 32), piece = (stop_at - next + 31) / 32;
        const u32 own = min(next + lane * piece, stop_at), end = min(own + piece, stop_at);
        Advance advance;
        u32 start = lane ? measure(bits, table, own > next + WARM_UP ? own - WARM_UP : next, own, unit, advance) : next;
        u32 stop = measure(bits, table, start, end, unit, advance);
        for (;;) {
            const u32 before = __shfl_up_sync(FULL, stop, 1), right = lane ? before : next;
            if (__all_sync(FULL, right == start)) break;
            if (right != start) {
                start = right;
                stop = measure(bits, table, start, end, unit, advance);
            }
        }
        for (int by = 1; by < 32; by *= 2) {
            Advance low;
            low.ends = __shfl_up_sync(FULL, advance.ends, by);
            low.first = __shfl_up_sync(FULL, advance.first, by);
            low.then = __shfl_up_sync(FULL, advance.then, by);
            if (lane >= (u32)by) advance = compose(low, advance, unit);
        }
        const u32 after = advance.from(place, unit), before = __shfl_up_sync(FULL, after, 1);
        Outcome o = put_symbols(bits, table, start, end, lane ? before : place, unit, count, staged, wide);
        if (o.finished) {
            // All bytes are used, and the padding is zero.
            const u32 padding = limit - bits.at;
            o.bad |= bits.at > limit || padding >= 8 || (bits.next() & ((1u << (padding & 7)) - 1));
        }
        bad = __any_sync(FULL, o.bad);
        finished = __any_sync(FULL, o.finished);
        next = __shfl_sync(FULL, stop, 31);
        place = __shfl_sync(FULL, after, 31);
    }
    return finished && !bad;
}

// Decodes segment `s` of a part.
__device__ __forceinline__ void decode_to_symbols(const HuffmanArguments &a, HuffmanPart &part, u32 s, const u32 *table, u32 lane, u32 *window,
                                                  i16 *staged) {
    const Segment segment = a.segments[s];
    i16 *symbols = a.symbols.narrow + segment.symbol;
    u32 *wide = a.symbols.wide + segment.symbol;
    const u32 count = segment.count;
    for (u32 i = lane; i < (count + 7) / 8; i += 32) ((uint4 *)staged)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const u8 *data = a.data + part.offset + part_head(part) + a.offsets[s];
    // A payload of no bytes is all zeros.
    const bool good = !part.bytes || decode_segment(data, a.bytes[s], table, part.unit, count, lane, window, staged, wide);
    if (!good && lane == 0) atomicOr(&part.error, 1u);
    __syncwarp();
    for (u32 i = lane; i < count / 8; i += 32) ((uint4 *)symbols)[i] = ((const uint4 *)staged)[i];
    for (u32 i = count / 8 * 8 + lane; i < count; i += 32) symbols[i] = staged[i];
    __syncwarp();
}

// A block a task, with as many warps as its shared memory has room for.
extern "C" __global__ void __launch_bounds__(32 * TASK_SEGMENTS, 1) huffman_decode_warps(const HuffmanArguments a) {
    SHARED_MEMORY(memory);
    u32 *table = (u32 *)memory;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    i16 *staged = (i16 *)(memory + (4 << MAX_BITS)) + warp * MOST_SYMBOLS;
    u32 *window = (u32 *)(memory + (4 << MAX_BITS) + 2 * warps * MOST_SYMBOLS) + warp * (WINDOW + BEYOND);
    const u32 first = a.tasks[blockIdx.x];
    HuffmanPart &part = a.parts[a.segments[first].part];
    const bool damaged = part.error;
    const u32 *from = a.table + (part.book << MAX_BITS);
    for (u32 i = threadIdx.x; i < (1u << MAX_BITS) / 4; i += blockDim.x) ((uint4 *)table)[i] = ((const uint4 *)from)[i];
    __syncthreads();
    const u32 end = min(first + TASK_SEGMENTS, part.segment_end);
    for (u32 s = first + warp; s < end && !damaged; s += warps) decode_to_symbols(a, part, s, table, lane, window, staged);
}
