// A group of the groups coder (FORMAT.md, "Groups coder") in the registers of a lane, and what the lanes of a warp do together.
#pragma once
#include "element.cuh"

constexpr u32 GROUP_NODES = 8;
// Bits of the widest symbols, those of exact nodes, and the size of their group; bits of the place that leads.
constexpr u32 MOST_WIDTH = 16, MOST_SIZE = 2 * MOST_WIDTH, PLACE_BITS = 3;
// Bits of a change of size of more than 1, and of what it has beyond the least one that all of these do not tell.
constexpr u32 FAR_BITS = 2, FARTHER = 5, FARTHER_BITS = 5;
// Words that a run reaches over at most.
constexpr u32 RUN_WORDS = 148;
// Shared memory of a warp that reads, in words: the part of a stream that is read, the first 4 words of which stand behind it again.
constexpr u32 READER_WORDS = 512;

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
// Four bytes of the eight of `low` and `high`, those of the numbers in the lowest four digits of `numbers`: with 8 added, the highest bit of a byte eight times.
__device__ __forceinline__ u32 permute(u32 low, u32 high, u32 numbers) {
#ifdef BLOCKMGARD_EMULATOR
    u32 bytes = 0;
    for (u32 k = 0; k < 4; k++) {
        const u32 number = numbers >> 4 * k & 15, byte = (u32)(((u64)high << 32 | low) >> 8 * (number & 7)) & 255;
        bytes |= (number < 8 ? byte : (byte >> 7) * 255) << 8 * k;
    }
    return bytes;
#else
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(numbers));
    return bytes;
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
// The same of a whole number below 2^23 that is a float, as a denormal; of others it is more.
__device__ __forceinline__ u32 magnitude(float q) { return __float_as_uint(__fmul_rn(fabsf(q), __uint_as_float(1))); }
// Highest is the sign; 0 for 0.
__device__ __forceinline__ u32 signed_bits(i32 q) { return (u32)q; }
__device__ __forceinline__ u32 signed_bits(float q) { return __float_as_uint(q); }
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
    __device__ __forceinline__ SharedBits(u32 *words, u32 *) : words(words) {}
    __device__ __forceinline__ void add(u32 bit, u32 value, u32 next) const {
        if (value != 0) atomicOr(words + bit / 32 + next, value);
    }
    __device__ __forceinline__ void add_two(u32 bit, u32 value, u32 behind) const { add(bit, value, 0), add(bit, behind, 1); }
#else
    // `spare` begins a word early: nothing is added there.
    u32 address, spare;
    __device__ __forceinline__ SharedBits(u32 *words, u32 *spare) : address((u32)__cvta_generic_to_shared(words)), spare((u32)__cvta_generic_to_shared(spare) - 4) {}
    // The address of the word of a bit. Written out: an instruction less.
    __device__ __forceinline__ u32 word(u32 bit) const {
        u32 to;
        asm("{ .reg .u32 number; shr.u32 number, %1, 5; mad.lo.u32 %0, number, 4, %2; }" : "=r"(to) : "r"(bit), "r"(address));
        return to;
    }
    // Into the word of a bit, or with 1 for `next` into the one behind it.
    __device__ __forceinline__ void add(u32 bit, u32 value, u32 next) const {
        const u32 to = word(bit) + 4 * next;
        asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(value == 0 ? spare : to), "r"(value) : "memory");
    }
    // Into the word of a bit and the one behind it.
    __device__ __forceinline__ void add_two(u32 bit, u32 value, u32 behind) const {
        const u32 to = word(bit);
        asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(value == 0 ? spare : to), "r"(value) : "memory");
        asm volatile("red.shared.or.b32 [%0 + 4], %1;" ::"r"(behind == 0 ? spare : to), "r"(behind) : "memory");
    }
#endif
};

// Eight symbols of less than 64 as bytes, each more by MIDDLE than it is: those of even and of odd numbers.
struct SignedBytes {
    static constexpr u32 MIDDLE = 0x40;
    u32 evens, odds;

    // Magnitudes of 4 bits, the first lowest, and signs of those that are not 0. `ranks`: of each magnitude, how many before it are not 0.
    __device__ __forceinline__ SignedBytes(u32 nibbles, u32 ranks, u32 signs) {
        constexpr u32 LOW = 0x0f0f0f0f, ALL = 0x01010101 * MIDDLE;
        // each sign as the highest bit of a byte; of the magnitudes of even and odd numbers all bits of a byte
        const u32 first = (signs & 15) * 0x10204080, second = (signs >> 4 & 15) * 0x10204080;
        const u32 near = permute(first, second, ranks), far = permute(first, second, ranks >> 16);
        const u32 even_signs = permute(near, far, 0xeca8), odd_signs = permute(near, far, 0xfdb9), odd = nibbles >> 4;
        evens = ((nibbles & LOW) | ALL) - 2 * (nibbles & LOW & even_signs);
        odds = ((odd & LOW) | ALL) - 2 * (odd & LOW & odd_signs);
    }
    // Two symbols, 16 bits each, each more by MIDDLE.
    __device__ __forceinline__ u32 pair(u32 k) const { return permute(evens, odds, 0xc480 + 0x1111 * k); }
};

// The symbols of a lane's group, 0 at places without a node, as i32 or, whole numbers all the same, as float.
template <class Q> struct GroupOf {
    Q q[GROUP_NODES];

    // The magnitudes of NODES nodes from `first` on, the first lowest; at most 32 bits.
    template <u32 NODES> __device__ __forceinline__ u32 join(u32 first, u32 width) const {
        // a product and a sum are one instruction, a shift and a sum are two
        u32 factor = 1u << width, joined = 0;
        keep(factor);
#pragma unroll
        for (u32 k = first + NODES; k > first; k--) joined = joined * factor + magnitude(q[k - 1]);
        return joined;
    }
    // The same of `width` low bits of each.
    template <u32 NODES> __device__ __forceinline__ u32 join_low(u32 first, u32 width) const {
        u32 factor = 1u << width, joined = 0;
        const u32 mask = factor - 1;
        keep(factor);
#pragma unroll
        for (u32 k = first + NODES; k > first; k--) joined = joined * factor + (magnitude(q[k - 1]) & mask);
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
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) q[k] = 0;
    }
    __device__ __forceinline__ void take(const SignedBytes &bytes) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) q[k] = (i32)(bytes.pair(k / 2) >> 16 * (k % 2) & 0xffff) - (i32)SignedBytes::MIDDLE;
    }
    __device__ __forceinline__ void take(const GroupOf &group) { *this = group; }
    // Not 0 if a symbol is not.
    __device__ __forceinline__ u32 bits() const {
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) any |= signed_bits(q[k]);
        return any;
    }
    // All magnitudes OR-ed; `twice`: the bits that more than one has.
    __device__ __forceinline__ u32 magnitudes(u32 &twice) const {
        u32 m[GROUP_NODES];
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) m[k] = magnitude(q[k]);
        // three at a time
        const auto two_of = [](u32 a, u32 b, u32 c) { return (a & b) | (c & (a | b)); };
        const u32 near = m[0] | m[1] | m[2], far = m[3] | m[4] | m[5], last = m[6] | m[7];
        twice = two_of(m[0], m[1], m[2]) | two_of(m[3], m[4], m[5]) | two_of(near, far, last);
        twice |= m[6] & m[7];
        return near | far | last;
    }
    // The place of the only magnitude that has bit `highest`.
    __device__ __forceinline__ u32 leader(u32 highest) const {
        u32 place = 0;
#pragma unroll
        for (u32 bit = 1; bit < GROUP_NODES; bit *= 2) {
            u32 any = 0;
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) {
                if (k & bit) any |= magnitude(q[k]);
            }
            if (any & highest) place |= bit;
        }
        return place;
    }
    // The other way round: adds that bit.
    __device__ __forceinline__ void lead(u32 place, u32 highest) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) {
            if (k == place) q[k] += highest;
        }
    }
    // The signs of the symbols that are not 0, the first lowest, below a bit that ends them.
    __device__ __forceinline__ u32 signs() const {
        u32 all = 1;
#pragma unroll
        for (u32 k = GROUP_NODES; k > 0; k--) {
            if (signed_bits(q[k - 1]) != 0) all = __funnelshift_l(signed_bits(q[k - 1]), all, 1);
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

typedef GroupOf<i32> Group;

// The groups of a run in shared memory, as a lane sees it: halves of four symbols, those of all lanes together.
template <class Q> struct StagedRun {
    struct __align__(16) Four {
        Q q[4];
    };
    Four halves[2 * 32];
    __device__ __forceinline__ Q *four(u32 half) { return halves[32 * half].q; }
    __device__ __forceinline__ void put(u32 half, const Q (&q)[4]) { halves[32 * half] = {{q[0], q[1], q[2], q[3]}}; }
    __device__ __forceinline__ GroupOf<Q> group() const {
        const Four first = halves[0], second = halves[32];
        return {{first.q[0], first.q[1], first.q[2], first.q[3], second.q[0], second.q[1], second.q[2], second.q[3]}};
    }
};

// Eight symbols in four registers, each more by BIAS than it is.
struct __align__(16) PackedGroup {
    static constexpr u32 BIAS = 32768;
    u32 pairs[GROUP_NODES / 2];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES / 2; k++) pairs[k] = BIAS | BIAS << 16;
    }
    __device__ __forceinline__ void take(const Group &group) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES / 2; k++) pairs[k] = __byte_perm((u32)group.q[2 * k], (u32)group.q[2 * k + 1], 0x5410) ^ (BIAS | BIAS << 16);
    }
    __device__ __forceinline__ void take(const SignedBytes &bytes) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES / 2; k++) pairs[k] = bytes.pair(k) + (BIAS - SignedBytes::MIDDLE) * 0x10001;
    }
    template <class T> __device__ __forceinline__ T number(u32 k) const {
        typedef Real<T> R;
        const u32 pair = pairs[k / 2];
        if constexpr (sizeof(T) == 8) return (T)((i32)(k % 2 ? pair >> 16 : pair & 0xffff) - (i32)BIAS);
        // among the last bits of a number of that size
        else return R::sub(R::from_bits(__byte_perm(pair, R::bits(R::ROUNDER), k % 2 ? 0x7632 : 0x7610)), R::ROUNDER + (T)BIAS);
    }
};
