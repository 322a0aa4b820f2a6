// The groups coder (FORMAT.md, "Groups coder"): runs of up to 32 groups by a warp, a lane a group.
#pragma once
#include "element.cuh"

constexpr u32 GROUP_NODES = 8;
// Bits of the widest symbols: those of exact nodes.
constexpr u32 MOST_WIDTH = 16;
// Words that a run reaches over at most.
constexpr u32 RUN_WORDS = 146;
// Runs that a writer takes before it must write, and words for them and what is left of those before.
constexpr u32 RUNS_AHEAD = 4, AHEAD_WORDS = 736;
// Shared memory of a warp, in words: bits that are not yet written, and a word of each lane for what need not be; the part of a stream that is read, the
// first 4 words of which stand behind it again.
constexpr u32 WRITER_WORDS = AHEAD_WORDS + 32, READER_WORDS = 512;

__device__ __forceinline__ u32 low_bits(u32 count) { return (u32)(((u64)1 << count) - 1); }
// The sum of `value` of this lane and of those before. Written out: two instructions a step, the compiler needs four.
__device__ __forceinline__ u32 scan_lanes(u32 value, u32 lane) {
#ifdef BLOCKMGARD_EMULATOR
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(FULL, value, by);
        if (lane >= by) value += other;
    }
#else
    asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 r;\n\t"
                 "shfl.sync.up.b32 r|p, %0, 1, 0, 0xffffffff;\n\t@p add.u32 %0, %0, r;\n\t"
                 "shfl.sync.up.b32 r|p, %0, 2, 0, 0xffffffff;\n\t@p add.u32 %0, %0, r;\n\t"
                 "shfl.sync.up.b32 r|p, %0, 4, 0, 0xffffffff;\n\t@p add.u32 %0, %0, r;\n\t"
                 "shfl.sync.up.b32 r|p, %0, 8, 0, 0xffffffff;\n\t@p add.u32 %0, %0, r;\n\t"
                 "shfl.sync.up.b32 r|p, %0, 16, 0, 0xffffffff;\n\t@p add.u32 %0, %0, r;\n\t}"
                 : "+r"(value));
#endif
    return value;
}
// The numbers of all lanes OR-ed, all of which must be here.
__device__ __forceinline__ u32 or_lanes(u32 value) {
#ifdef BLOCKMGARD_EMULATOR
    return __reduce_or_sync(FULL, value);
#else
    u32 all;
    asm volatile("bar.warp.sync 0xffffffff;\n\tredux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(all) : "r"(value) : "memory");
    return all;
#endif
}
// |q|, in one instruction.
__device__ __forceinline__ u32 magnitude(i32 q) {
#ifdef BLOCKMGARD_EMULATOR
    return q < 0 ? 0 - (u32)q : (u32)q;
#else
    u32 m;
    asm("abs.s32 %0, %1;" : "=r"(m) : "r"(q));
    return m;
#endif
}
// This lane's number, and the lanes before it.
struct Lane {
    u32 number, below;
    __device__ __forceinline__ Lane() : number(threadIdx.x & 31), below((1u << number) - 1) {
        // reading it anew takes longer
        keep(number);
        keep(below);
    }
};

// Words in shared memory to which bits are added, and a word of this lane: lanes that have nothing to add would wait for one another at a common one.
struct SharedBits {
#ifdef BLOCKMGARD_EMULATOR
    u32 *words;
    __device__ __forceinline__ SharedBits(u32 *words, u32) : words(words) {}
    __device__ __forceinline__ void add(u32 bit, u32 value, u32 next) const {
        if (value != 0) atomicOr(words + bit / 32 + next, value);
    }
#else
    u32 address, spare;
    __device__ __forceinline__ SharedBits(u32 *words, u32 lane) : address((u32)__cvta_generic_to_shared(words)), spare(address + 4 * (AHEAD_WORDS + lane)) {}
    // Into the word of a bit, or with 1 for `next` into the one behind it.
    __device__ __forceinline__ void add(u32 bit, u32 value, u32 next) const {
        const u32 to = address + bit / 32 * 4 + 4 * next;
        asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(value == 0 ? spare : to), "r"(value) : "memory");
    }
#endif
};

// The symbols of a lane's group, 0 at places without a node.
struct Group {
    i32 q[GROUP_NODES];

    // The magnitudes of NODES nodes from `first` on, the first lowest; at most 32 bits.
    template <u32 NODES> __device__ __forceinline__ u32 join(u32 first, u32 width) const {
        const u32 factor = 1u << width;
        u32 joined = 0;
#pragma unroll
        for (u32 k = first + NODES; k > first; k--) joined = joined * factor + magnitude(q[k - 1]);
        return joined;
    }
    template <u32 NODES> __device__ __forceinline__ void split(u32 first, u32 width, u32 joined) {
        const u32 mask = (1u << width) - 1;
#pragma unroll
        for (u32 k = first; k < first + NODES; k++) {
            q[k] = joined & mask;
            joined >>= width;
        }
    }
    // Not 0 if a symbol is not.
    __device__ __forceinline__ u32 bits() const {
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) any |= (u32)q[k];
        return any;
    }
    // All magnitudes OR-ed.
    __device__ __forceinline__ u32 magnitudes() const {
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) any |= magnitude(q[k]);
        return any;
    }
    // The signs of the symbols that are not 0, the first lowest, below a bit that ends them.
    __device__ __forceinline__ u32 signs() const {
        u32 all = 1;
#pragma unroll
        for (u32 k = GROUP_NODES; k > 0; k--) {
            if (q[k - 1] != 0) all = __funnelshift_l((u32)q[k - 1], all, 1);
        }
        return all;
    }
    __device__ __forceinline__ u32 nonzero() const {
        u32 count = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) count += q[k] != 0;
        return count;
    }
    __device__ __forceinline__ void take_signs(u32 signs) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) {
            const bool other = q[k] != 0;
            // 0 stays 0
            if (signs & 1) q[k] = -q[k];
            if (other) signs >>= 1;
        }
    }
};

// Writes the runs of a stream to its slot in global memory.
struct GroupWriter {
    const Lane lane;
    u32 *buffer, *slot;
    SharedBits bits;
    // The next bit, counted in the buffer; words that were written; the width that the next run counts from.
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
        const u32 any = group.magnitudes();
        largest |= any;
        // what is too large for a symbol is cut off, but keeps within its bits
        const u32 width = min(bit_length(any), MOST_WIDTH), start = put_widths(width, live);
        if (!__any_sync(FULL, width > 0)) return;
        const u32 signs = group.signs(), nonzero = 31 - __clz((i32)signs);
        const u32 own = width * GROUP_NODES | nonzero << 16, sum = scan_lanes(own, lane.number), before = sum - own, all = __shfl_sync(FULL, sum, 31);
        at = start + (all & 0xffff) + (all >> 16);
        put_together<4>(start + (all & 0xffff) + (before >> 16), signs ^ 1u << nonzero);
        const u32 first = start + (before & 0xffff);
        if (!__any_sync(FULL, width > 2)) put_together<2>(first, group.join<8>(0, width));
        else if (!__any_sync(FULL, width > 4)) put(first, group.join<8>(0, width));
        else put_pieces(group, width, first);
    }
    // Two nodes a time.
    __device__ __forceinline__ void put_pieces(const Group &group, u32 width, u32 bit) {
#pragma unroll
        for (u32 first = 0; first < GROUP_NODES; first += 2) {
            put(bit, group.join<2>(first, width));
            bit += 2 * width;
        }
    }
    // Returns the bit behind the widths, to which `at` is set, too.
    __device__ __forceinline__ u32 put_widths(u32 width, u32 live) {
        const u32 before = live & lane.below;
        const u32 other = __shfl_sync(FULL, width, 31 - __clz((i32)(before | 1)));
        const i32 change = (i32)width - (i32)(before ? other : reference);
        const u32 changes = __ballot_sync(FULL, (live >> lane.number & 1) & (change != 0));
        if (changes == 0) return at += live != 0;
        const bool changed = changes >> lane.number & 1, far = changed & ((u32)(change + 1) > 2);
        reference = __shfl_sync(FULL, width, __ffs((i32)live) - 1);
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
        if (far) put(at + 4 * __popc(fars & lane.below), (u32)abs(change) - 2);
        return at += 4 * __popc(fars);
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
    // The next bit, and words that were asked for, both counted from where the first 16 bytes begin; the width that the next run counts from.
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
        const u32 width = get_widths(head, live);
        if (!__any_sync(FULL, width > 0)) return;
        const u32 own = width * GROUP_NODES, sum = scan_lanes(own, lane.number), first = at + sum - own;
        if (!__any_sync(FULL, width > 4)) get_pieces<8>(group, width, first);
        else get_pieces<2>(group, width, first);
        at += __shfl_sync(FULL, sum, 31);
        const u32 nonzero = group.nonzero(), nonzeros = scan_lanes(nonzero, lane.number);
        group.take_signs(get(at + nonzeros - nonzero));
        at += __shfl_sync(FULL, nonzeros, 31);
        if (__any_sync(FULL, width == MOST_WIDTH)) {
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
    // The lane's width: 0 where it has no group. `changes`: the first bit of the run.
    __device__ __forceinline__ u32 get_widths(u32 changes, u32 live) {
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
            const u32 more = get(at + 4 * __popc(wide & low_bits(before))) & 15;
            change = far ? more + 2 : change;
            at += 4 * __popc(wide);
        }
        const u32 width = reference + scan_lanes(changed && down ? 0 - change : change, lane.number);
        const bool none = lives & (width > MOST_WIDTH);
        broken |= none;
        reference = __shfl_sync(FULL, width, __ffs((i32)live) - 1);
        reference = reference > MOST_WIDTH ? 0 : reference;
        return lives & !none ? width : 0;
    }
    // Whether the stream ends where its runs do, and all widths and symbols were some. For the whole warp.
    __device__ __forceinline__ bool finish(u32 bytes) const { return !__any_sync(FULL, broken) && bytes <= (at - skipped + 7) / 8; }
};
