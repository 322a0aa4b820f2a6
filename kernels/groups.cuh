// The groups coder (FORMAT.md, "Groups coder"): runs of up to 32 groups by a warp, a lane a group.
#pragma once
#include "group.cuh"

// Writes the runs of a stream to its slot in global memory.
struct GroupWriter {
    const Lane lane;
    u32 *buffer, *slot;
    SharedBits bits;
    // The next bit, counted in the buffer; words that were written; the size that the next run counts from.
    u32 at, written, reference;
    // One past the last word that is not 0, and that word.
    u32 end, last;
    // All magnitudes of the lane OR-ed.
    u32 largest;

    // `buffer`: WRITER_WORDS of shared memory, all 0, as `finish` leaves them.
    __device__ __forceinline__ GroupWriter(u32 *buffer, u32 *slot)
        : buffer(buffer), slot(slot), bits(buffer, lane.number), at(0), written(0), reference(0), end(0), last(0), largest(0) {}

    __device__ __forceinline__ void put(u32 bit, u32 value) {
        bits.add(bit, value << (bit & 31), 0);
        bits.add(bit, __funnelshift_l(value, 0, bit), 1);
    }
    // Strings that stand one behind the other, of at most 32 / LANES bits each: LANES neighbours put theirs together, a lane the first word, the next one
    // what reaches into the second.
    template <u32 LANES> __device__ __forceinline__ void put_together(u32 bit, u32 value) {
        const u32 first = __shfl_sync(FULL, bit, 0, LANES), next = lane.number & 1;
        value <<= bit - first;
#pragma unroll
        for (u32 by = 1; by < LANES; by *= 2) value |= __shfl_xor_sync(FULL, value, by);
        u32 word = next ? __funnelshift_l(value, 0, first) : value << (first & 31);
        if (LANES > 2) word = lane.number & 2 ? 0 : word;
        bits.add(first, word, next);
    }
    // A run; `live`: the lanes that have a group. At most RUNS_AHEAD of them from one `drain` to the next.
    __device__ __forceinline__ void put(const Group &group, u32 live) {
        if (!__any_sync(FULL, (group.bits() | reference) != 0)) {
            at += live != 0;
            return;
        }
        u32 twice;
        const u32 any = group.magnitudes(twice);
        largest |= any;
        // What is too large for a symbol is cut off; nobody reads such a stream. Led, if the highest bit is not among those of two.
        const u32 width = min(bit_length(any), MOST_WIDTH), led = (any ^ twice) > twice, start = put_sizes(2 * width - led, live);
        if (!__any_sync(FULL, width > 0)) return;
        const u32 signs = group.signs(), nonzero = 31 - __clz((i32)signs);
        const u32 low = width - led, bits = low * GROUP_NODES + led * PLACE_BITS;
        const u32 own = bits | nonzero << 16, sum = scan_lanes(own, lane.number), before = sum - own, all = __shfl_sync(FULL, sum, 31);
        at = start + (all & 0xffff) + (all >> 16);
        put_together<4>(start + (all & 0xffff) + (before >> 16), signs ^ 1u << nonzero);
        const u32 first = start + (before & 0xffff), place = group.leader(1u << width >> 1);
        if (__any_sync(FULL, bits > 32)) return put_pieces(group, low, led, place, first);
        u32 joined = group.join<8>(0, low);
        // without the bit that leads
        if (led) joined = (joined - (1u << (low * place + low))) << PLACE_BITS | place;
        if (__any_sync(FULL, bits > 16)) put(first, joined);
        else put_together<2>(first, joined);
    }
    // Two nodes a time.
    __device__ __forceinline__ void put_pieces(const Group &group, u32 low, u32 led, u32 place, u32 bit) {
        put(bit, led ? place : 0);
        bit += led * PLACE_BITS;
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += 2) {
            const bool leads = led & (place / 2 == first / 2);
            put(bit, group.join<2>(first, low) - (leads ? 1u << (low * (place % 2) + low) : 0));
            bit += 2 * low;
        }
    }
    // Returns the bit behind the sizes, to which `at` is set, too.
    __device__ __forceinline__ u32 put_sizes(u32 size, u32 live) {
        const u32 before = live & lane.below;
        const u32 other = __shfl_sync(FULL, size, 31 - __clz((i32)(before | 1)));
        const i32 change = (i32)size - (i32)(before ? other : reference);
        const u32 changes = __ballot_sync(FULL, (live >> lane.number & 1) & (change != 0));
        if (changes == 0) return at += live != 0;
        const u32 distance = (u32)abs(change);
        const bool changed = changes >> lane.number & 1, far = changed & (distance > 1);
        reference = __shfl_sync(FULL, size, __ffs((i32)live) - 1);
        const u32 groups = __popc(live), count = __popc(changes), rank = changed ? 1u << __popc(changes & lane.below) : 0;
        // never under a condition: ptxas 13 lost lanes of such reductions where registers were short
        const u32 flags = or_lanes(changed ? 1u << __popc(before) : 0);
        const u32 down = or_lanes(change < 0 ? rank : 0), fars = __ballot_sync(FULL, far);
        const u32 wide = or_lanes(far ? rank : 0);
        // two lanes put the flags, two the others
        const u64 both = down | (u64)wide << count;
        const u32 head = lane.number & 1 ? flags >> 31 : 1 | flags << 1, tail = lane.number & 1 ? (u32)(both >> 32) : (u32)both;
        if (lane.number < 4) put(at + 32 * (lane.number & 1) + (lane.number & 2 ? 1 + groups : 0), lane.number & 2 ? tail : head);
        at += 1 + groups + 2 * count;
        if (fars == 0) return at;
        if (far) put(at + FAR_BITS * __popc(fars & lane.below), min(distance, FARTHER) - 2);
        at += FAR_BITS * __popc(fars);
        const bool is_farther = far & (distance >= FARTHER);
        const u32 farther = __ballot_sync(FULL, is_farther);
        if (is_farther) put(at + FARTHER_BITS * __popc(farther & lane.below), distance - FARTHER);
        return at += FARTHER_BITS * __popc(farther);
    }
    __device__ __forceinline__ void drain() {
        if (at >= 32 * (AHEAD_WORDS - RUNS_AHEAD * RUN_WORDS)) flush(at / 32);
    }
    // Writes the first words of the buffer, and moves what is left to its beginning.
    __device__ __forceinline__ void flush(u32 words) {
        __syncwarp();
#pragma unroll 1
        for (u32 first = 0; first < words; first += 32) {
            const u32 word = first + lane.number < words ? buffer[first + lane.number] : 0, with = __ballot_sync(FULL, word != 0);
            if (first + lane.number < words) slot[written + first + lane.number] = word, buffer[first + lane.number] = 0;
            if (with == 0) continue;
            const u32 highest = 31 - __clz((i32)with);
            end = written + first + highest + 1;
            last = __shfl_sync(FULL, word, highest);
        }
        written += words;
        at -= min(at, 32 * words);
        __syncwarp();
        const u32 rest = buffer[words];
        __syncwarp();
        if (lane.number == 0) buffer[words] = 0, buffer[0] = rest;
        __syncwarp();
    }
    // Writes the rest; the length of the stream in bytes.
    __device__ __forceinline__ u32 finish() {
        flush((at + 31) / 32);
        return end == 0 ? 0 : 4 * end - __clz((i32)last) / 8;
    }
};

// Reads the runs of a stream, which starts at any byte; bits behind its end are 0.
struct GroupReader {
    const Lane lane;
    u32 *window;
    // The next 16 bytes of this lane, and the end of the stream.
    const char *next, *end;
    // The next bit, and words that were asked for, both counted from where the first 16 bytes begin; the size that the next run counts from.
    u32 at, asked, reference;
    // Bits before the stream; the largest magnitude of a negative symbol; whether something was wrong.
    u32 skipped, limit;
    bool broken;

    // `window`: READER_WORDS + 4 words of shared memory that start at a multiple of 16 bytes.
    __device__ __forceinline__ GroupReader(u32 *window, const u8 *stream, u32 bytes, u32 limit = 32768)
        : window(window), next((const char *)((u64)stream / 16 * 16) + 16 * lane.number), end((const char *)stream + bytes),
          at((u32)((u64)stream % 16) * 8), asked(0), reference(0), skipped(at), limit(limit), broken(false) {}

    // Before each run: asks for what it may read and for as much again.
    __device__ __forceinline__ void advance() {
        constexpr u32 PIECE = 128;
        if (__any_sync(FULL, asked < at / 32 + RUN_WORDS + PIECE)) {
            __syncwarp();
#pragma unroll 1
            do {
                const i64 left = end - next;
                const u32 count = (u32)(left < 0 ? 0 : left < 16 ? left : 16), place = asked % READER_WORDS + 4 * lane.number;
                copy_ahead_or_zero(window + place, next, count);
                if (place == 0) copy_ahead_or_zero(window + READER_WORDS, next, count);
                copies_together();
                next += 4 * PIECE, asked += PIECE;
            } while (__any_sync(FULL, asked < at / 32 + RUN_WORDS + PIECE));
        }
        copies_arrived_but_one();
        __syncwarp();
    }
    // 32 bits from bit `bit` on.
    __device__ __forceinline__ u32 get(u32 bit) const {
        const u32 *word = window + bit / 32 % READER_WORDS;
        return __funnelshift_r(word[0], word[1], bit);
    }
    // A run.
    __device__ __forceinline__ void get(Group &group, u32 live) {
        advance();
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) group.q[k] = 0;
        if (live == 0) return;
        const u32 head = get(at) & 1;
        if (!__any_sync(FULL, (head | reference) != 0)) {
            at++;
            return;
        }
        const u32 size = get_sizes(head, live);
        if (!__any_sync(FULL, size > 0)) return;
        const u32 low = size / 2, led = size % 2, own = low * GROUP_NODES + led * PLACE_BITS, sum = scan_lanes(own, lane.number), first = at + sum - own;
        const u32 head_of_group = get(first), place = led ? head_of_group % GROUP_NODES : GROUP_NODES;
        if (__any_sync(FULL, own > 32)) get_pieces<2>(group, low, first + led * PLACE_BITS);
        else group.split<8>(0, low, head_of_group >> (led * PLACE_BITS));
        group.lead(place, 1u << low);
        at += __shfl_sync(FULL, sum, 31);
        const u32 nonzero = group.nonzero(), nonzeros = scan_lanes(nonzero, lane.number);
        group.take_signs(get(at + nonzeros - nonzero));
        at += __shfl_sync(FULL, nonzeros, 31);
        if (__any_sync(FULL, size > MOST_SIZE - 2)) {
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) broken |= group.q[k] + limit > limit + 32767;
        }
    }
    template <u32 NODES> __device__ __forceinline__ void get_pieces(Group &group, u32 width, u32 bit) const {
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += NODES) {
            group.split<NODES>(first, width, get(bit));
            bit += NODES * width;
        }
    }
    // The lane's size: 0 where it has no group. `changes`: the first bit of the run.
    __device__ __forceinline__ u32 get_sizes(u32 changes, u32 live) {
        const bool lives = live >> lane.number & 1;
        if (!__any_sync(FULL, changes != 0)) {
            at++;
            return lives ? reference : 0;
        }
        const u32 groups = __popc(live), flags = get(at + 1) & low_bits(groups);
        at += 1 + groups;
        const u32 count = __popc(flags), before = __popc(flags & low_bits(__popc(live & lane.below)));
        const bool changed = lives & (flags >> __popc(live & lane.below) & 1);
        const u32 down = get(at) >> before & 1, wide = get(at + count) & low_bits(count);
        at += 2 * count;
        u32 change = changed;
        if (__any_sync(FULL, wide != 0)) {
            const bool far = changed & (wide >> before & 1);
            const u32 more = get(at + FAR_BITS * __popc(wide & low_bits(before))) & low_bits(FAR_BITS);
            change = far ? more + 2 : change;
            at += FAR_BITS * __popc(wide);
            const bool is_farther = far & (change == FARTHER);
            const u32 farther = __ballot_sync(FULL, is_farther), rest = get(at + FARTHER_BITS * __popc(farther & lane.below)) & low_bits(FARTHER_BITS);
            if (is_farther) change += rest;
            at += FARTHER_BITS * __popc(farther);
        }
        const u32 size = reference + scan_lanes(changed && down ? 0 - change : change, lane.number);
        const bool none = lives & (size > MOST_SIZE);
        broken |= none;
        reference = __shfl_sync(FULL, size, __ffs((i32)live) - 1);
        reference = reference > MOST_SIZE ? 0 : reference;
        return lives & !none ? size : 0;
    }
    // Whether the stream ends where its runs do, and all widths and symbols were some. For the whole warp.
    __device__ __forceinline__ bool finish(u32 bytes) const { return !__any_sync(FULL, broken) && bytes <= (at - skipped + 7) / 8; }
};
