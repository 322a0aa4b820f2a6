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
        if (live != 0) put_runs<1, 0>({group}, live);
    }
    // NODES nodes a time, of `low` bits each, and before them the place of the one that has one bit more, where a group is led.
    template <u32 NODES> __device__ __forceinline__ void put_pieces(const Group &group, u32 low, u32 led, u32 place, u32 bit) {
        if (NODES < 4) {
            put(bit, led ? place : 0);
            bit += led * PLACE_BITS;
        }
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += NODES) {
            // without the bit that leads
            const u32 own = place - first;
            u32 joined = group.join<NODES>(first, low) - (led & (own < NODES) ? 1u << (low * own + low & 31) : 0), bits = NODES * low;
            if (NODES >= 4 && first == 0) {
                joined = led ? joined << PLACE_BITS | place : joined;
                bits += led * PLACE_BITS;
            }
            put(bit, joined);
            bit += bits;
        }
    }
    // RUNS runs together: none waits for what the one before takes. Lanes that have a group: of all runs all, but for run SOME those of `live`.
    template <u32 RUNS, u32 SOME> __device__ __forceinline__ void put_runs(const Group (&groups)[RUNS], u32 live) {
        static_assert(RUNS <= RUNS_AHEAD, "there must be room");
        u32 all_bits = reference;
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) all_bits |= groups[i].bits();
        if (!__any_sync(FULL, all_bits != 0)) {
            at += RUNS;
            return;
        }
        u32 any[RUNS], twice[RUNS];
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) {
            any[i] = groups[i].magnitudes(twice[i]);
            largest |= any[i];
        }
        const u32 some_before = live & lane.below, last_live = 31 - __clz((i32)(some_before | 1));
        u32 size[RUNS], distance[RUNS], changes[RUNS], fars[RUNS], farthers[RUNS], down[RUNS], wide[RUNS], flags[RUNS];
        u32 signs[RUNS], before[RUNS], all[RUNS], start[RUNS], any_far = 0;
        const auto size_in_bits = [](u32 size) { return size / 2 * GROUP_NODES + size % 2 * PLACE_BITS; };
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) {
            // What is too large for a symbol is cut off; nobody reads such a stream. Led, if the highest bit is not among those of two.
            size[i] = 2 * min(bit_length(any[i]), MOST_WIDTH) - ((any[i] ^ twice[i]) > twice[i]);
            const u32 other = i == SOME ? __shfl_sync(FULL, size[i], last_live) : __shfl_up_sync(FULL, size[i], 1);
            const i32 change = (i32)size[i] - (i32)((i == SOME ? some_before : lane.number) == 0 ? reference : other);
            reference = __shfl_sync(FULL, size[i], i == SOME ? __ffs((i32)live) - 1 : 0);
            distance[i] = (u32)abs(change);
            changes[i] = __ballot_sync(FULL, i == SOME ? (live >> lane.number & 1) & (change != 0) : change != 0);
            const bool changed = changes[i] >> lane.number & 1;
            const u32 rank = changed ? 1u << __popc(changes[i] & lane.below) : 0;
            // never under a condition: ptxas 13 lost lanes of such reductions where registers were short
            flags[i] = i == SOME ? or_lanes(changed ? 1u << __popc(some_before) : 0) : changes[i];
            down[i] = or_lanes(change < 0 ? rank : 0), wide[i] = or_lanes(distance[i] > 1 ? rank : 0);
            fars[i] = __ballot_sync(FULL, changed & (distance[i] > 1)), farthers[i] = __ballot_sync(FULL, changed & (distance[i] >= FARTHER));
            any_far |= fars[i];
            const u32 ended = groups[i].signs(), nonzero = 31 - __clz((i32)ended);
            signs[i] = ended ^ 1u << nonzero;
            const u32 own = size_in_bits(size[i]) | nonzero << 16, sum = scan_lanes(own, lane.number);
            before[i] = sum - own, all[i] = __shfl_sync(FULL, sum, 31);
        }
        const auto groups_of = [&](u32 i) { return i == SOME ? (u32)__popc(live) : 32; };
        // of the flags and what belongs to them
        const auto head_bits = [&](u32 i) { return 1 + (changes[i] == 0 ? 0 : groups_of(i) + 2 * __popc(changes[i])); };
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) {
            start[i] = at;
            at += head_bits(i) + FAR_BITS * __popc(fars[i]) + FARTHER_BITS * __popc(farthers[i]) + (all[i] & 0xffff) + (all[i] >> 16);
        }
        // four lanes put the flags of a run: two which groups change, two how
        const u32 run = lane.number / 4;
        u32 of_start = start[0], of_changes = changes[0], of_flags = flags[0], of_down = down[0], of_wide = wide[0];
#pragma unroll
        for (u32 i = 1; i < RUNS; i++) {
            if (run == i) of_start = start[i], of_changes = changes[i], of_flags = flags[i], of_down = down[i], of_wide = wide[i];
        }
        const u64 both = of_down | (u64)of_wide << __popc(of_changes);
        const u32 head = lane.number & 1 ? of_flags >> 31 : 1 | of_flags << 1, tail = lane.number & 1 ? (u32)(both >> 32) : (u32)both;
        const u32 skipped = lane.number & 2 ? 1 + (SOME < RUNS && run == SOME ? (u32)__popc(live) : 32) : 0;
        put(of_start + 32 * (lane.number & 1) + skipped, run >= RUNS || of_changes == 0 ? 0 : lane.number & 2 ? tail : head);
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) start[i] += head_bits(i);
        if (any_far != 0) {
#pragma unroll
            for (u32 i = 0; i < RUNS; i++) {
                put(start[i] + FAR_BITS * __popc(fars[i] & lane.below), fars[i] >> lane.number & 1 ? min(distance[i], FARTHER) - 2 : 0);
                start[i] += FAR_BITS * __popc(fars[i]);
                if (farthers[i] == 0) continue;
                put(start[i] + FARTHER_BITS * __popc(farthers[i] & lane.below), farthers[i] >> lane.number & 1 ? distance[i] - FARTHER : 0);
                start[i] += FARTHER_BITS * __popc(farthers[i]);
            }
        }
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) put_together<4>(start[i] + (all[i] & 0xffff) + (before[i] >> 16), signs[i]);
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) {
            const u32 first = start[i] + (before[i] & 0xffff), low = size[i] / 2, led = size[i] % 2, place = groups[i].leader(1u << (low + led) >> 1);
            if (!__any_sync(FULL, size_in_bits(size[i]) > 16)) {
                u32 joined = groups[i].template join<8>(0, low);
                // without the bit that leads
                if (led) joined = (joined - (1u << (low * place + low))) << PLACE_BITS | place;
                put_together<2>(first, joined);
            } else if (!__any_sync(FULL, low > 7)) {
                put_pieces<4>(groups[i], low, led, place, first);
            } else {
                put_pieces<2>(groups[i], low, led, place, first);
            }
        }
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
        copies_arrived_but_one();
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
