// The symbols of a segment as a warp takes them, unit by unit: an encoder's view.
#pragma once
#include "huffman.cuh"

// Symbols of a lane: an odd number, so that lanes read different banks.
constexpr u32 LANE_SYMBOLS = 13;

// Longest run of zeros before a symbol of a unit, plus one.
constexpr u32 RUNS = MAX_UNIT;

// Units that a warp asks for together, one such group ahead of the one it works on, and room for their symbols. They are moved eight bytes at a time.
constexpr u32 GROUP_UNITS = 4;
constexpr u32 GROUP_SYMBOLS = 1552, PER_MOVE = 4;

// The symbols of a segment, a group of units after the other.
struct SegmentSymbols {
    const i16 *from;
    const u32 *wide;
    i16 (*groups)[GROUP_SYMBOLS];
    u32 count, group;
    __device__ __forceinline__ SegmentSymbols(const HuffmanArguments &a, const Segment &segment, u32 unit, i16 (*groups)[GROUP_SYMBOLS])
        : from(a.symbols.narrow + segment.symbol), wide(a.symbols.wide + segment.symbol), groups(groups), count(segment.count), group(unit * GROUP_UNITS) {
        ask(0);
    }
    // Asks for the group that begins with symbol `first`; what is behind the end of the segment, up to a whole move, is read but not used.
    __device__ __forceinline__ void ask(u32 first) {
        const u32 lane = threadIdx.x & 31, symbols = first < count ? min(group, count - first) : 0;
        i16 *to = groups[first / group & 1];
        for (u32 i = lane * PER_MOVE; i < symbols; i += 32 * PER_MOVE) copy_ahead<8>(to + i, from + first + i);
        copies_together();
    }
    // Symbols from `first` on, the first of a unit.
    __device__ __forceinline__ const i16 *unit(u32 first) {
        const u32 in_group = first % group;
        if (in_group == 0) {
            __syncwarp();
            ask(first + group);
            copies_arrived_but<1>();
            __syncwarp();
        }
        return groups[first / group & 1] + in_group;
    }
};

// A unit's symbols, each lane its own 13 in registers.
struct LaneUnit {
    i32 q[LANE_SYMBOLS];
    // Place behind the last nonzero symbol before this lane's, and of the whole unit.
    u32 from, after_last;
};
// `wide`: for those that do not fit 16 bits.
__device__ __forceinline__ void load_unit(const i16 *symbols, const u32 *wide, u32 length, u32 lane, LaneUnit &unit) {
    u32 last = 0;
    bool exact = false;
#pragma unroll
    for (u32 k = 0; k < LANE_SYMBOLS; k++) {
        const u32 i = lane * LANE_SYMBOLS + k;
        unit.q[k] = i < length ? symbols[i] : 0;
        last = unit.q[k] ? i + 1 : last;
        exact |= unit.q[k] == EXACT;
    }
    if (exact)
#pragma unroll
        for (u32 k = 0; k < LANE_SYMBOLS; k++) {
            if (unit.q[k] != EXACT) continue;
            const u32 z = wide[lane * LANE_SYMBOLS + k];
            unit.q[k] = (i32)(z >> 1 ^ (0u - (z & 1)));
        }
    __syncwarp();
    for (int by = 1; by < 32; by *= 2) last = max(last, __shfl_up_sync(FULL, last, by));
    unit.after_last = __shfl_sync(FULL, last, 31);
    const u32 before = __shfl_up_sync(FULL, last, 1);
    unit.from = lane ? before : 0;
}
__device__ __forceinline__ u32 zigzag_less_one(i32 q) { return Symbols::zigzag(q) - 1; }
