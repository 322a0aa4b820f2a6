// From payloads to symbols: a lane decodes a segment, and refuses what the CPU refuses.
//
// What a lane waits for is one look-up after the other, so a look-up gives as many tokens as twelve bits hold, up to two values; and whatever one lane of a
// warp does, all do, so nearly all tokens go one way. Symbols are put down in shared memory and go out in rows of 32 bytes; bits come through a ring.
#include "huffman_decode.cuh"

// Words in shared memory by their own addresses, which the compiler would make anew for each access.
struct SharedWords {
#ifdef BLOCKMGARD_EMULATOR
    const u32 *base;
    __device__ SharedWords(const u32 *words) : base(words) {}
    template <u32 OFFSET> __device__ u32 get(u32 i) const { return base[i + OFFSET]; }
#else
    u32 base;
    __device__ __forceinline__ SharedWords(const u32 *words) : base((u32)__cvta_generic_to_shared(words)) { keep(base); }
    template <u32 OFFSET> __device__ __forceinline__ u32 get(u32 i) const {
        u32 word;
        asm volatile("ld.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(base + 4 * i), "n"(4 * OFFSET));
        return word;
    }
#endif
};

// What a lane reads passes through a ring of pieces of 16 bytes in shared memory, asked for long before it is used. The first piece stands behind the last
// once more, so that words that follow each other do so in the ring.
constexpr u32 BIT_PIECES = 16;
struct LaneRing {
    // Words of a ring, and from one lane's to the next.
    static constexpr u32 WORDS = 4 * BIT_PIECES, STRIDE = WORDS + 4;
    u32 *ring;
    const char *from;
    SharedWords words;
    // Pieces there are, and asked for.
    u32 count, asked;
    __device__ __forceinline__ LaneRing(u32 *rings, const void *from, u32 count)
        : ring(rings + (threadIdx.x & 31) * STRIDE), from((const char *)from), words(ring), count(count), asked(0) {}
    // Asks for the next piece, whose place is free.
    __device__ __forceinline__ void ask() {
        if (asked < count) {
            copy_ahead<16>(ring + asked % BIT_PIECES * 4, from + asked * 16);
            if (asked % BIT_PIECES == 0) copy_ahead<16>(ring + WORDS, from + asked * 16);
        }
        asked++;
    }
};

// The segment of this lane in a task, if it has one.
__device__ __forceinline__ bool lane_segment(const HuffmanArguments &a, u32 task, u32 &s) {
    s = a.tasks[task] + (threadIdx.x & 31);
    return s < a.tasks[task + 1];
}
// Symbols that a lane holds: a ring of rows; 16-bit places from one lane's to the next; one that nobody reads.
constexpr u32 ROW = 16, HELD = 64, HELD_STRIDE = HELD + 8, NO_PLACE = HELD;
// Look-ups between rows going out. Each takes 41 bits at most, 12 of them mostly: pieces asked for between two of these are enough for the most, and those
// asked for some turns before have come.
constexpr u32 LOOKUPS = 8, TOGETHER = 4, PIECES_A_TURN = 3, TURNS_AHEAD = 2;
static_assert(LOOKUPS * 41 <= PIECES_A_TURN * 128, "a turn's pieces hold a turn's bits");
static_assert(LOOKUPS % TOGETHER == 0, "whole groups");
static_assert((BIT_PIECES - 1) * 128 >= (TURNS_AHEAD + 1) * LOOKUPS * 41 + 128, "what a turn reads is there");

// An entry of the decoder's table, by the next 12 bits. Either all tokens that lie in them and have no raw bits, up to two values and runs around them:
// their length, places moved on, place of the first value and of the second from the first place on, zigzag of the first value, second value. A value that
// is not there is a zero where another one comes or is put down. Or one token with raw bits, or an end: length of its code, number of raw bits, number above
// them; a value moves on by 1 and is put down like a first one. Whether a value comes last, `moved` is one more than `second`. What is none of these is a run
// longer than any unit.
struct Entry {
    u32 word;
    static constexpr u32 RAW_BIT = 15, RUN_BIT = 29, END_BIT = 30, RAW = 1u << RAW_BIT, IS_RUN = 1u << RUN_BIT, IS_END = 1u << END_BIT;
    // `second` of what does not end with a value.
    static constexpr u32 NOWHERE = 15;
    static constexpr u32 UNKNOWN = RAW | IS_RUN | NOWHERE << 11 | 3u << 16 | 29u << 24;
    // All ones where a bit is set.
    __device__ __forceinline__ u32 mask(u32 bit) const { return (u32)((i32)(word << (31 - bit)) >> 31); }
    __device__ __forceinline__ u32 length() const { return word & 15; }
    __device__ __forceinline__ u32 moved() const { return word >> 4 & 15; }
    __device__ __forceinline__ u32 first() const { return word >> 8 & 7; }
    __device__ __forceinline__ u32 second() const { return word >> 11 & 15; }
    __device__ __forceinline__ u32 number() const { return word >> 16 & 255; }
    __device__ __forceinline__ i32 second_value() const { return (i32)word >> 24; }
    __device__ __forceinline__ u32 raw_length() const { return word >> 24 & 31; }
};
// Places beyond the first that an entry may write to.
constexpr u32 REACH = 16;

// The entry for twelve bits; `single` has the tokens by their first bits.
__device__ __forceinline__ u32 make_entry(const u32 *single, u32 next) {
    const u32 token = single[next] >> 4, length = single[next] & 15;
    const Action action = action_of(token);
    if (length == 0 || token == ESCAPE || token >= ALPHABET) return Entry::UNKNOWN;
    if (token == END) return length | 1u << 4 | Entry::RAW | Entry::IS_RUN | Entry::IS_END;
    if (action.extra_bits) {
        const u32 kind = action.is_value ? 1u << 4 : Entry::NOWHERE << 11 | Entry::IS_RUN;
        return length | kind | Entry::RAW | (action.base - 1 >> action.extra_bits) << 16 | action.extra_bits << 24;
    }
    u32 bits = 0, moved = 0, count = 0, places[2] = {0, 0}, values[2] = {0, 0};
    for (;;) {
        const u32 entry = single[next >> bits], taken = entry & 15;
        const Action a = action_of(entry >> 4);
        const bool plain = taken && entry >> 4 != END && entry >> 4 != ESCAPE && a.extra_bits == 0;
        if (!plain || bits + taken > MAX_BITS) break;
        // what has room in the entry: no sound stream has more, but for a third value
        if (a.is_value ? count == 2 || moved > (count ? 9 : 7) : moved + a.base > 15) break;
        bits += taken;
        if (a.is_value) {
            places[count] = moved;
            values[count++] = a.base;
        }
        moved += a.is_value ? 1 : a.base;
    }
    const u32 second = count == 2 ? places[1] : count == 1 ? places[0] : Entry::NOWHERE;
    return bits | moved << 4 | places[0] << 8 | second << 11 | values[0] << 16 | unzigzag(values[1]) << 24;
}

// The tables of the books, from the lengths of their codes: TABLE_BLOCKS blocks of TOKENS threads a book, each with a share of the entries.
extern "C" __global__ void huffman_table(const HuffmanArguments a) {
    __shared__ u32 table[1 << MAX_BITS];
    const u32 t = threadIdx.x, book = blockIdx.x / TABLE_BLOCKS, share = blockIdx.x % TABLE_BLOCKS;
    fill_singles(table, a.lengths + book * TOKENS);
    for (u32 i = share * TOKENS + t; i < 1u << MAX_BITS; i += TABLE_BLOCKS * TOKENS) {
        const u32 at = (book << MAX_BITS) + i;
        a.table[at] = make_entry(table, i);
        a.single[at] = table[i];
    }
}

// Places of the segments of each payload, a block a part; a payload of no bytes is all zeros.
extern "C" __global__ void huffman_parse(const HuffmanArguments a) {
    __shared__ u32 sums[33];
    HuffmanPart &part = a.parts[blockIdx.x];
    const u32 segments = part.segment_end - part.segment, bytes = part.bytes;
    const u8 *payload = a.data + part.offset + part_head(part);
    u32 sum = 2 * segments;
    const bool fits = bytes >= sum;
    for (u32 s = 0; s < segments; s += blockDim.x) {
        const bool there = s + threadIdx.x < segments;
        const u32 at = s + threadIdx.x;
        const u32 length = there && fits ? payload[2 * at] | payload[2 * at + 1] << 8 : 0;
        u32 all;
        const u32 before = block_scan(length, sums, all);
        if (there) {
            a.bytes[part.segment + at] = length;
            a.offsets[part.segment + at] = sum + before;
        }
        sum += all;
    }
    if (threadIdx.x == 0 && bytes && (!fits || sum != bytes)) part.error = 1;
}

// The word that holds the next bit of a lane, and the two that follow.
struct Window {
    u32 low, high, ahead, at;
    // The next 32 bits, and those behind `skipped` more, at most 31.
    __device__ __forceinline__ u32 next() const { return __funnelshift_r(low, high, at); }
    __device__ __forceinline__ u32 next_behind(u32 skipped) const {
        // all ones where they begin in the next word
        const u32 crosses = (u32)((i32)(((at + skipped) ^ at) << 26) >> 31);
        return __funnelshift_r(select_bits(crosses, high, low), select_bits(crosses, ahead, high), at + skipped);
    }
};

// All pieces are there but those asked for in the last TURNS turns.
template <u32 TURNS> __device__ __forceinline__ void pieces_arrived() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("cp.async.wait_group %0;" ::"n"(TURNS) : "memory");
#endif
}

// Bits of a lane's segment.
struct LaneReader {
    LaneRing ring;
    // Of the next bit, counted from the first piece.
    u32 at;
    __device__ __forceinline__ LaneReader(u32 *rings, const u8 *data, u32 bytes)
        : ring(rings, data - ((u64)data & 15), bytes ? ((u32)((u64)data & 15) + bytes + 15) / 16 : 0), at(8 * (u32)((u64)data & 15)) {}
    // Asks for pieces whose places are free.
    __device__ __forceinline__ void ask() {
#pragma unroll
        for (u32 i = 0; i < PIECES_A_TURN; i++)
            if (ring.asked < at / 128 + BIT_PIECES) ring.ask();
        copies_together();
    }
    __device__ __forceinline__ Window window() const {
        const u32 word = at / 32 % LaneRing::WORDS;
        return {ring.words.get<0>(word), ring.words.get<1>(word), ring.words.get<2>(word), at};
    }
};

// Where a lane stands in its segment.
struct LaneState {
    // Next symbol, end of its unit, symbols there are, symbols gone out; look-ups begin below `limit`, which is 0 when there are none left.
    u32 place, stop, count, gone, limit;
    bool bad;
};

// Takes the tokens of one look-up, without a branch; nothing where it cannot, which it says.
__device__ __forceinline__ bool look_up(LaneState &l, LaneReader &bits, const SharedWords &entries, u32 unit, i16 *held, u32 *wide) {
    const Window window = bits.window();
    const Entry entry = {entries.get<0>(window.next() & ((1u << MAX_BITS) - 1))};
    const u32 raw = entry.mask(Entry::RAW_BIT), run = raw & entry.mask(Entry::RUN_BIT), end = raw & entry.mask(Entry::END_BIT);
    const u32 raw_length = entry.raw_length() & raw, length = entry.length();
    const u32 z = (entry.number() << raw_length) + (window.next_behind(length) & ((1u << raw_length) - 1)) - raw;
    const u32 after = l.place + select_bits(end, l.stop - l.place, select_bits(run, z, entry.moved()));
    const u32 first = l.place + entry.first(), second = l.place + entry.second();
    // A unit may end with the first value or with what comes last, if that is a value or an end.
    const u32 stop_after = min(l.stop + unit, l.count);
    const bool ends = entry.moved() == entry.second() + 1, first_ends = first + 1 == l.stop && entry.second() != Entry::NOWHERE;
    const bool takes = l.place < l.limit && after < (first_ends ? stop_after : l.stop + ends);
    const bool stops = takes && after >= l.stop, beyond = z > MOST_ZIGZAG;
    held[takes ? second % HELD : NO_PLACE] = (i16)(entry.second_value() & ~raw);
    held[takes ? first % HELD : NO_PLACE] = beyond ? EXACT : (i16)(unzigzag(z) & ~run);
    if (takes && beyond) wide[l.place] = z;
    bits.at += takes ? length + raw_length : 0;
    l.place = takes ? after : l.place;
    l.limit = stops && l.stop == l.count ? 0 : l.limit;
    l.stop = stops ? stop_after : l.stop;
    return takes;
}

// Takes one token of any kind.
__device__ __forceinline__ void take_token(LaneState &l, LaneReader &bits, const u32 *single, u32 unit, i16 *held, u32 *wide) {
    const Window window = bits.window();
    const u32 entry = single[window.next() & ((1u << MAX_BITS) - 1)], length = entry & 15, token = entry >> 4;
    const Action action = action_of(token);
    // zigzag of a value, length of a run
    const u32 z = action.base + (window.next_behind(length) & ((1u << action.extra_bits) - 1));
    bits.at += length + action.extra_bits;
    const bool is_value = action.is_value;
    if (is_value) {
        held[l.place % HELD] = z <= MOST_ZIGZAG ? (i16)unzigzag(z) : EXACT;
        if (z > MOST_ZIGZAG) wide[l.place] = z;
    }
    l.place += is_value ? 1 : token == END ? l.stop - l.place : z;
    l.bad |= length == 0;
    if (l.place >= l.stop) {
        // a run must not reach the end of its unit
        l.bad |= !is_value && token != END;
        l.place = l.stop;
        if (l.stop == l.count) l.limit = 0;
        l.stop = min(l.stop + unit, l.count);
    }
    if (l.bad) l.limit = 0;
}

extern "C" __global__ void __launch_bounds__(32) huffman_decode(const HuffmanArguments a) {
    __shared__ __align__(16) u32 table[1 << MAX_BITS];
    __shared__ __align__(16) u32 rings[32 * LaneRing::STRIDE];
    __shared__ __align__(16) i16 all_held[32 * HELD_STRIDE];
    const u32 lane = threadIdx.x;
    u32 s;
    const bool has = lane_segment(a, blockIdx.x, s);
    const Segment segment = a.segments[has ? s : a.tasks[blockIdx.x]];
    HuffmanPart &part = a.parts[segment.part];
    const u32 unit = part.unit;
    // A payload of no bytes is all zeros.
    const bool coded = has && part.bytes && !part.error;
    LaneReader bits(rings, a.data + part.offset + part_head(part) + (coded ? a.offsets[s] : 0), coded ? a.bytes[s] : 0);
    const u32 limit = bits.at + (coded ? 8 * a.bytes[s] : 0);
    for (u32 i = 0; i < BIT_PIECES; i++) bits.ring.ask();
    copies_together();
    const u32 *single = a.single + (part.book << MAX_BITS);
    const uint4 *from = (const uint4 *)(a.table + (part.book << MAX_BITS));
    for (u32 i = lane; i < (1u << MAX_BITS) / 4; i += 32) ((uint4 *)table)[i] = from[i];
    i16 *held = all_held + lane * HELD_STRIDE, *to = a.symbols.narrow + segment.symbol;
    u32 *wide = a.symbols.wide + segment.symbol;
    keep_global(wide);
    const uint4 zero = make_uint4(0, 0, 0, 0);
    for (u32 i = 0; i < HELD / 8; i++) ((uint4 *)held)[i] = zero;
    copies_arrived();
    __syncwarp();
    const SharedWords entries(table);
    LaneState l = {0, min(unit, segment.count), segment.count, 0, coded && segment.count, false};
    if (has && !part.bytes) l.place = segment.count;
#pragma unroll 1
    do {
        // Whole rows go out.
        while (__any_sync(FULL, l.place - l.gone >= ROW)) {
            if (l.place - l.gone >= ROW) {
                uint4 *row = (uint4 *)(held + l.gone % HELD), *out = (uint4 *)(to + l.gone);
                const uint4 first = row[0], second = row[1];
                out[0] = first;
                out[1] = second;
                row[0] = row[1] = zero;
                l.gone += ROW;
            }
            __syncwarp();
        }
        bits.ask();
        pieces_arrived<TURNS_AHEAD>();
        l.limit = l.limit ? l.gone + HELD - REACH + 1 : 0;
#pragma unroll 1
        for (u32 i = 0; i < LOOKUPS; i += TOGETHER) {
            bool takes = true;
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) takes = look_up(l, bits, entries, unit, held, wide);
            if (!takes && l.place < l.limit) take_token(l, bits, single, unit, held, wide);
        }
        __syncwarp();
    } while (__any_sync(FULL, l.limit || l.place - l.gone >= ROW));
    for (; l.gone < l.place; l.gone++) to[l.gone] = held[l.gone % HELD];
    if (!coded || !segment.count) return;
    // All bytes are used, and the padding is zero.
    const u32 padding = limit - bits.at;
    const bool good = !l.bad && bits.at <= limit && padding < 8 && !(bits.window().next() & ((1u << (padding & 7)) - 1));
    if (!good) atomicOr(&part.error, 1u);
}
