// The groups coder (FORMAT.md, "Groups coder"): runs of up to 32 groups by a warp, a lane a group.
#pragma once
#include "group.cuh"

// Writes the runs of a stream to its slot in global memory. AHEAD: words of bits that are not yet written.
template <u32 AHEAD> struct GroupWriter {
    // What is needed for every run is in registers, all else in shared memory.
    struct Progress {
        // Where the stream goes, in two words; words that were written; one past the last word that is not 0, and that word.
        u32 slot[2], written, end, last;
    };
    // Shared memory, in words: the bits, a word of each lane for what need not be, the progress.
    static constexpr u32 PROGRESS_AT = AHEAD + 32, WORDS = PROGRESS_AT + 8;
    const Lane lane;
    u32 *buffer;
    SharedBits bits;
    // The next bit, counted in the buffer; the bits of the group whose size the next run counts from.
    u32 at, reference;
    // All magnitudes of the lane OR-ed.
    u32 largest;

    // `buffer`: WORDS words of shared memory, all 0, as `finish` leaves them.
    __device__ __forceinline__ GroupWriter(u32 *buffer, u32 *slot) : buffer(buffer), bits(buffer, buffer + AHEAD + lane.number), at(0), reference(0), largest(0) {
        __syncwarp();
        if (lane.number == 0) progress() = {{(u32)(u64)slot, (u32)((u64)slot >> 32)}, 0, 0, 0};
        __syncwarp();
    }
    __device__ __forceinline__ Progress &progress() const { return *(Progress *)(buffer + PROGRESS_AT); }

    __device__ __forceinline__ void put(u32 bit, u32 value) {
        bits.add_two(bit, __funnelshift_l(0, value, bit), __funnelshift_l(value, 0, bit));
    }
    // Strings that stand one behind the other, of at most 32 / LANES bits each: LANES neighbours put theirs together, a lane the first word, the next one
    // what reaches into the second.
    template <u32 LANES> __device__ __forceinline__ void put_together(u32 bit, u32 value) {
        const u32 first = __shfl_sync(FULL, bit, 0, LANES), next = lane.number & 1;
        value <<= bit - first;
#pragma unroll
        for (u32 by = 1; by < LANES; by *= 2) value |= __shfl_xor_sync(FULL, value, by);
        u32 word = next ? __funnelshift_l(value, 0, first) : __funnelshift_l(0, value, first);
        if (LANES > 2) word = lane.number & 2 ? 0 : word;
        bits.add(first, word, next);
    }
    // NODES nodes a time, of `low` bits each, and before them the place of the one that has one bit more, where a group is led.
    template <u32 NODES, class G> __device__ __forceinline__ void put_pieces(const G &group, u32 low, u32 led, u32 place, u32 bit) {
        if (NODES < 4) {
            put(bit, led ? place : 0);
            bit += led * PLACE_BITS;
        }
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += NODES) {
            // without the bit that leads
            u32 joined = group.template join_low<NODES>(first, low), bits = NODES * low;
            if (NODES >= 4 && first == 0) {
                joined = led ? joined << PLACE_BITS | place : joined;
                bits += led * PLACE_BITS;
            }
            put(bit, joined);
            bit += bits;
        }
    }
    // A run; `live`: the lanes that have a group.
    __device__ __forceinline__ void put(const Group &group, u32 live) {
        if (!__any_sync(FULL, (group.bits() | reference) != 0) || live == 0) {
            at += live != 0;
            return;
        }
        u32 size, signs, nonzero;
        measure(group, size, signs, nonzero);
        put_run(size, signs, nonzero, live, [&](u32 first) { put_magnitudes(group, size, first); });
    }
    template <class Q> __device__ __forceinline__ void put(const StagedRun<Q> &staged, u32 live) {
        u32 size, signs, nonzero;
        {
            const GroupOf<Q> group = staged.group();
            if (!__any_sync(FULL, (group.bits() | reference) != 0)) {
                at++;
                return;
            }
            measure(group, size, signs, nonzero);
        }
        put_run(size, signs, nonzero, live, [&](u32 first) { put_magnitudes(staged.group(), size, first); });
    }
    // The bits of the magnitudes of a group, which tell its size; `any`: all of them OR-ed.
    template <class G> static __device__ __forceinline__ u32 bits_of(const G &group, u32 &any) {
        u32 twice;
        any = group.magnitudes(twice);
        // What is too large for a symbol is cut off; nobody reads such a stream. Led, if the highest bit is not among those of two.
        return GROUP_NODES * min(bit_length(any), MOST_WIDTH) - ((any ^ twice) > twice ? GROUP_NODES - PLACE_BITS : 0);
    }
    // These bits of a group, and its signs.
    template <class G> __device__ __forceinline__ void measure(const G &group, u32 &bits, u32 &signs, u32 &nonzero) {
        u32 any;
        bits = bits_of(group, any);
        largest |= any;
        const u32 ended = group.signs();
        nonzero = 31 - __clz((i32)ended), signs = ended ^ 1u << nonzero;
    }
    // The magnitudes of a group that take `bits`, from bit `first` on.
    template <class G> __device__ __forceinline__ void put_magnitudes(const G &group, u32 bits, u32 first) {
        const u32 low = bits / GROUP_NODES, led = bits % GROUP_NODES != 0, place = group.leader(1u << (low + led) >> 1);
        if (!__any_sync(FULL, bits > 16)) {
            u32 joined = group.template join<8>(0, low);
            // without the bit that leads
            if (led) joined = (joined - (1u << (low * place + low))) << PLACE_BITS | place;
            put_together<2>(first, joined);
        } else if (!__any_sync(FULL, low > 7)) {
            put_pieces<4>(group, low, led, place, first);
        } else {
            put_pieces<2>(group, low, led, place, first);
        }
    }
    // The run of groups that take `own` bits and have these signs; `put_magnitudes` puts those of this lane from a bit on.
    template <class F> __device__ __forceinline__ void put_run(u32 own, u32 signs, u32 nonzero, u32 live, F put_magnitudes) {
        // sizes differ by 1 where bits differ by 3 or 5
        constexpr u32 NEAR = GROUP_NODES - PLACE_BITS, FARTHER_AT = 2 * GROUP_NODES + 1;
        const auto size_of = [](u32 bits) { return (bits + 1) / 4; };
        const u32 live_before = live & lane.below, last_live = 31 - __clz((i32)(live_before | 1)), neighbour = __shfl_sync(FULL, own, last_live);
        const u32 other = live_before == 0 ? reference : neighbour;
        const i32 change = (i32)own - (i32)other;
        reference = __shfl_sync(FULL, own, __ffs((i32)live) - 1);
        const u32 distance = (u32)abs(change), changes = __ballot_sync(FULL, (live >> lane.number & 1) & (change != 0));
        const bool changed = changes >> lane.number & 1;
        const u32 rank = changed ? 1u << __popc(changes & lane.below) : 0;
        // never under a condition: ptxas 13 lost lanes of such reductions where registers were short
        const u32 flags = or_lanes(changed ? 1u << __popc(live_before) : 0);
        const u32 down = or_lanes(change < 0 ? rank : 0), wide = or_lanes(distance > NEAR ? rank : 0);
        const u32 fars = __ballot_sync(FULL, changed & (distance > NEAR));
        const u32 counted = own | nonzero << 16, sum = scan_lanes(counted, lane.number), before = sum - counted, all = __shfl_sync(FULL, sum, 31);
        // four lanes put the flags: two which groups change, two how
        const u32 flag_count = __popc(live), how_count = __popc(changes);
        const u64 both = down | (u64)wide << how_count;
        const u32 head = lane.number & 1 ? flags >> 31 : 1 | flags << 1, tail = lane.number & 1 ? (u32)(both >> 32) : (u32)both;
        put(at + 32 * (lane.number & 1) + (lane.number & 2 ? 1 + flag_count : 0), lane.number >= 4 || changes == 0 ? 0 : lane.number & 2 ? tail : head);
        u32 start = at + 1 + (changes == 0 ? 0 : flag_count + 2 * how_count);
        if (fars != 0) {
            const u32 sizes = (u32)abs((i32)size_of(own) - (i32)size_of(other)), farthers = __ballot_sync(FULL, changed & (distance >= FARTHER_AT));
            put(start + FAR_BITS * __popc(fars & lane.below), fars >> lane.number & 1 ? min(sizes, FARTHER) - 2 : 0);
            start += FAR_BITS * __popc(fars);
            if (farthers != 0) {
                put(start + FARTHER_BITS * __popc(farthers & lane.below), farthers >> lane.number & 1 ? sizes - FARTHER : 0);
                start += FARTHER_BITS * __popc(farthers);
            }
        }
        const u32 start_of_signs = start + (all & 0xffff);
        at = start_of_signs + (all >> 16);
        put_together<4>(start_of_signs + (before >> 16), signs);
        put_magnitudes(start + (before & 0xffff));
    }
    __device__ __forceinline__ void drain() {
        if (at >= 32 * (AHEAD - RUN_WORDS)) flush(at / 32);
    }
    // Writes the first words of the buffer, and moves what is left to its beginning.
    __device__ __forceinline__ void flush(u32 words) {
        __syncwarp();
        Progress now = progress();
        u32 *const slot = (u32 *)((u64)now.slot[1] << 32 | now.slot[0]) + now.written;
#pragma unroll 1
        for (u32 first = 0; first < words; first += 32) {
            const u32 word = first + lane.number < words ? buffer[first + lane.number] : 0, with = __ballot_sync(FULL, word != 0);
            if (first + lane.number < words) slot[first + lane.number] = word, buffer[first + lane.number] = 0;
            if (with == 0) continue;
            const u32 highest = 31 - __clz((i32)with);
            now.end = now.written + first + highest + 1;
            now.last = __shfl_sync(FULL, word, highest);
        }
        now.written += words;
        at -= min(at, 32 * words);
        __syncwarp();
        const u32 rest = buffer[words];
        __syncwarp();
        if (lane.number == 0) buffer[words] = 0, buffer[0] = rest, progress() = now;
        __syncwarp();
    }
    // Writes the rest; the length of the stream in bytes.
    __device__ __forceinline__ u32 finish() {
        flush((at + 31) / 32);
        const Progress now = progress();
        return now.end == 0 ? 0 : 4 * now.end - __clz((i32)now.last) / 8;
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

    // Before each run: asks for what it may read and for a piece more, which is not waited for. Words beyond, up to SPARE of them, may be asked for when there
    // is time to wait for what was asked for before.
    template <u32 SPARE = 0> __device__ __forceinline__ void advance() {
        constexpr u32 PIECE = 128, AHEAD = RUN_WORDS + PIECE + SPARE;
        static_assert(AHEAD + PIECE <= READER_WORDS, "what is still to be read stays");
        if (!__any_sync(FULL, asked < at / 32 + AHEAD)) return;
        __syncwarp();
#pragma unroll 1
        do {
            const i64 left = end - next;
            const u32 count = (u32)(left < 0 ? 0 : left < 16 ? left : 16), place = asked % READER_WORDS + 4 * lane.number;
            copy_ahead_or_zero(window + place, next, count);
            if (place == 0) copy_ahead_or_zero(window + READER_WORDS, next, count);
            copies_together();
            next += 4 * PIECE, asked += PIECE;
        } while (__any_sync(FULL, asked < at / 32 + AHEAD));
        copies_arrived_but<1>();
        __syncwarp();
    }
    // 32 bits from bit `bit` on.
    __device__ __forceinline__ u32 get(u32 bit) const {
        const u32 *word = window + bit / 32 % READER_WORDS;
        return __funnelshift_r(word[0], word[1], bit);
    }
    template <u32 NODES> __device__ __forceinline__ void get_pieces(Group &group, u32 width, u32 bit) const {
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += NODES) {
            group.split<NODES>(first, width, get(bit));
            bit += NODES * width;
        }
    }
    // A run; `live`: the lanes that have a group, which are all if ALL.
    template <bool ALL, class G> __device__ __forceinline__ void get(G &group, u32 live = FULL) {
        advance();
        // the flags are in the next 97 bits
        const u32 *word = window + at / 32 % READER_WORDS;
        u32 bits[4], words[5];
#pragma unroll
        for (u32 k = 0; k < 5; k++) words[k] = word[k];
#pragma unroll
        for (u32 k = 0; k < 4; k++) bits[k] = __funnelshift_r(words[k], words[k + 1], at);
        const bool any_changes = bits[0] & 1;
        if (!__any_sync(FULL, live != 0 && (any_changes | (reference != 0)))) {
            at += live != 0;
            group.clear();
            return;
        }
        const u32 groups = ALL ? 32 : __popc(live), own_group = ALL ? lane.number : __popc(live & lane.below);
        const bool lives = ALL || (live >> lane.number & 1);
        const u32 flags = any_changes ? __funnelshift_r(bits[0], bits[1], 1) & (ALL ? FULL : low_bits(groups)) : 0, count = __popc(flags);
        // behind the flags, which may be 31 or 32
        const bool long_flags = groups > 30;
        const u32 down = __funnelshift_r(long_flags ? bits[1] : bits[0], long_flags ? bits[2] : bits[1], 1 + groups);
        const u32 behind = __funnelshift_r(long_flags ? bits[2] : bits[1], long_flags ? bits[3] : bits[2], 1 + groups);
        const u32 wide = (u32)(((u64)behind << 32 | down) >> count) & low_bits(count);
        const u32 before = __popc(flags & (ALL ? lane.below : low_bits(own_group)));
        const bool changed = lives & (flags >> own_group & 1);
        // all changes as if they were of 1
        u32 size = reference + before + changed - 2 * __popc(down & low_bits(before + changed));
        at += any_changes ? 1 + groups + 2 * count : 1;
        if (__any_sync(FULL, wide != 0)) {
            const bool far = changed & (wide >> before & 1);
            u32 more = (get(at + FAR_BITS * __popc(wide & low_bits(before))) & low_bits(FAR_BITS)) + 1;
            at += FAR_BITS * __popc(wide);
            const bool is_farther = far & (more == FARTHER - 1);
            const u32 farther = __ballot_sync(FULL, is_farther), rest = get(at + FARTHER_BITS * __popc(farther & lane.below)) & low_bits(FARTHER_BITS);
            if (is_farther) more += rest;
            at += FARTHER_BITS * __popc(farther);
            size += scan_lanes(far ? (down >> before & 1 ? 0 - more : more) : 0, lane.number);
        }
        broken |= lives & (size > MOST_SIZE);
        reference = __shfl_sync(FULL, size, ALL ? 0 : __ffs((i32)live) - 1);
        reference = reference > MOST_SIZE ? 0 : reference;
        size = lives & (size <= MOST_SIZE) ? size : 0;
        const u32 low = size / 2, led = size % 2, own = low * GROUP_NODES + led * PLACE_BITS, sum = scan_lanes(own, lane.number), first = at + sum - own;
        at += __shfl_sync(FULL, sum, 31);
        const u32 head = get(first), place = head % GROUP_NODES;
        if (!__any_sync(FULL, own > 32)) {
            // four bits a magnitude
            u32 nibbles = head >> led * PLACE_BITS;
            nibbles = select_bits(0x0000ffff, nibbles, nibbles << (16 - 4 * low));
            nibbles = select_bits(0x00ff00ff, nibbles, nibbles << (8 - 2 * low));
            nibbles = select_bits(0x0f0f0f0f, nibbles, nibbles << (4 - low));
            nibbles = (nibbles & ((0x11111111u << low) - 0x11111111u)) | led << (4 * place + low);
            const u32 nonzero = (((nibbles & 0x77777777) + 0x77777777) | nibbles) >> 3 & 0x11111111;
            const u32 count_of_signs = __popc(nonzero), signs = scan_lanes(count_of_signs, lane.number);
            group.take(SignedBytes(nibbles, nonzero * 0x11111110, get(at + signs - count_of_signs)));
            at += __shfl_sync(FULL, signs, 31);
        } else {
            Group wider;
            get_pieces<2>(wider, low, first + led * PLACE_BITS);
            wider.lead(led ? place : GROUP_NODES, 1u << low);
            const u32 nonzero = wider.nonzero(), nonzeros = scan_lanes(nonzero, lane.number);
            wider.take_signs(get(at + nonzeros - nonzero));
            at += __shfl_sync(FULL, nonzeros, 31);
            if (__any_sync(FULL, size > MOST_SIZE - 2)) {
#pragma unroll
                for (u32 k = 0; k < GROUP_NODES; k++) broken |= wider.q[k] + limit > limit + 32767;
            }
            group.take(wider);
        }
    }
    // Whether the stream ends where its runs do, and all widths and symbols were some. For the whole warp.
    __device__ __forceinline__ bool finish(u32 bytes) const { return !__any_sync(FULL, broken) && bytes <= (at - skipped + 7) / 8; }
};
