// The class coder, encoding: the same as class_assemble.cu for flat arrays, whose units have 512 nodes but for the last one of a chunk. So the
// raw bits of each begin with a whole piece of 16 bits: warps write those of different units without looking at each other's, and none waits.
#include "class_assemble.cuh"

constexpr u32 THREADS = 128, WARPS = THREADS / 32;
// Nodes of a lane, which are a unit in a warp: their raw bits are whole pieces.
constexpr u32 NODES = 16;

// Pieces of a unit's raw bits, at most, and one more where they begin in the middle of a word.
constexpr u32 STAGED = 2 * 8 * 16 + 2;

// What a warp has in shared memory: a ring of rows of 16 bytes a lane for copying, or the raw bits of a unit.
constexpr u32 ROWS = 8, ROW = 512, ROWS_AHEAD = 6;
union Staged {
    char rows[ROWS * ROW];
    u32 raw[STAGED / 2];
};

// Copies pieces of 16 bits, eight in a store, by way of shared memory, where many are under way.
__device__ __forceinline__ void copy_by_rows(Staged &staged, u16 *to, const u16 *from, u32 count) {
    const u32 lane = threadIdx.x & 31, head = min(count, (8 - ((u32)(u64)to >> 1 & 7)) & 7), eights = (count - head) / 8;
    const u32 tail = head + 8 * eights + lane;
    if (lane < head) to[lane] = from[lane];
    if (tail < count) to[tail] = from[tail];
    const u32 skew = (u32)(u64)(from + head) & 15, end = eights > 0 ? skew + 16 * eights : 0;
    const char *source = (const char *)(from + head) - skew;
    const auto load = [&](u32 row) {
        const u32 at = ROW * row + 16 * lane;
        if (at < end) copy_ahead_or_zero(staged.rows + at % (ROWS * ROW), source + at, min(end - at, 16u));
        copies_together();
    };
    for (u32 row = 0; row < ROWS_AHEAD; row++) load(row);
#pragma unroll 1
    for (u32 row = 0; 32 * row < eights; row++) {
        // this row and the next one are there
        copies_arrived_but<ROWS_AHEAD - 2>();
        __syncwarp();
        const u32 at = ROW * row + 16 * lane + skew;
        u32 word[5];
#pragma unroll
        for (u32 w = 0; w < 5; w++) word[w] = *(const u32 *)(staged.rows + ((at & ~3u) + 4 * w) % (ROWS * ROW));
        const u32 shift = 8 * (at & 3);
        const uint4 eight = make_uint4(__funnelshift_r(word[0], word[1], shift), __funnelshift_r(word[1], word[2], shift),
                                       __funnelshift_r(word[2], word[3], shift), __funnelshift_r(word[3], word[4], shift));
        if (32 * row + lane < eights) ((uint4 *)(to + head))[32 * row + lane] = eight;
        load(row + ROWS_AHEAD);
    }
    copies_arrived_but<0>();
    __syncwarp();
}

// Symbols of a unit, those of a lane.
struct Symbols {
    uint4 low, high;
};

// Units of a stream, one a lane, and what a warp does with its share of them.
struct Units {
    const CoderArguments &a;
    // In shared memory, the warp's: pieces of the raw bits of a unit.
    u32 *staged;
    // First node / 8, nodes, raw bits a node, and from what token on an exact node's delta is listed.
    uint4 unit;
    // Pieces of raw bits and listed values of the units before it in the group.
    u32 raw, exact;

    __device__ __forceinline__ uint4 get(u32 j) const {
        return make_uint4(__shfl_sync(FULL, unit.x, j), __shfl_sync(FULL, unit.y, j), __shfl_sync(FULL, unit.z, j), __shfl_sync(FULL, unit.w, j));
    }
    // The symbols of unit `j`.
    __device__ __forceinline__ Symbols load(u32 j) const {
        const u32 eighth = __shfl_sync(FULL, unit.x, j), nodes = __shfl_sync(FULL, unit.y, j), node = NODES * (threadIdx.x & 31);
        const uint4 *from = (const uint4 *)a.q + eighth + node / 8;
        Symbols symbols = {};
        if (node < nodes) symbols.low = from[0];
        if (node + 8 < nodes) symbols.high = from[1];
        return symbols;
    }
    // The raw bits of a unit of quantized nodes.
    __device__ __forceinline__ void quantized(u32 j, const Symbols &symbols, u16 *raw_bits) const {
        const u32 lane = threadIdx.x & 31, node = NODES * lane;
        const u32 nodes = __shfl_sync(FULL, unit.y, j), width = __shfl_sync(FULL, unit.z, j);
        u16 *to = raw_bits + __shfl_sync(FULL, raw, j);
        const u32 apart = (u32)((u64)to >> 1 & 1);
        if (node < nodes) {
            const u32 left = nodes - node;
            u64 low = low_bits_of_eight(symbols.low, left, width), high = left > 8 ? low_bits_of_eight(symbols.high, left - 8, width) : 0;
            if (width < 8) {
                low |= high << 8 * width;
                high >>= 64 - 8 * width;
            }
            u16 *const piece = (u16 *)staged + apart + width * lane;
#pragma unroll
            for (u32 k = 0; k < 8; k++)
                if (k < width) piece[k] = (u16)((k < 4 ? low : high) >> (16 * (k % 4)));
        }
        __syncwarp();
        // two pieces in a store, but for those at the ends
        const u32 end = apart + (nodes * width + 15) / 16;
        u16 *const words = to - apart;
        for (u32 at = 2 * lane; at < end; at += 64) {
            const u32 word = staged[at / 2];
            if (at >= apart && at + 2 <= end) *(u32 *)(words + at) = word;
            else if (at < apart) words[at + 1] = (u16)(word >> 16);
            else words[at] = (u16)word;
        }
        __syncwarp();
    }
    // The same of a unit of exact nodes.
    __device__ __forceinline__ void of_exact(const uint4 &of, u16 *to) const {
        const u32 lane = threadIdx.x & 31, width = of.z;
        const u32 *delta = (const u32 *)a.delta + 8 * (u64)of.x;
        u64 bits = 0;
        u32 filled = 0;
        to += width * lane;
        for (u32 i = NODES * lane; i < min(of.y, NODES * (lane + 1)); i++) {
            bits |= (delta[i] & (((u64)1 << width) - 1)) << filled;
            for (filled += width; filled >= 16; filled -= 16) {
                *to++ = (u16)bits;
                bits >>= 16;
            }
        }
        if (filled > 0) *to = (u16)bits;
    }
};

// The lists of exact values and of raw bits of a stream whose units are `first` .. `end`.
__device__ __forceinline__ void put_lists(const CoderArguments &a, u32 *staged, u32 first, u32 end, u16 *exact, u16 *raw) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (; first < end; first += 32) {
        const UnitRecord mine = lane < end - first ? a.records[first + lane] : UnitRecord{0, 0, 0, 0};
        const Form form(mine.form);
        const u32 bits = raw_bits(form, mine.len(), a.bits, a.tables.exact_class());
        Units units = {a, staged, make_uint4(mine.eighth, mine.len(), bits ? bits / mine.len() : 0, listed_from(a, form)), 0, 0};
        u32 raw_end = (bits + 15) / 16, exact_end = mine.exact();
        for (u32 by = 1; by < 32; by <<= 1) {
            const u32 other_raw = __shfl_up_sync(FULL, raw_end, by), other_exact = __shfl_up_sync(FULL, exact_end, by);
            if (lane >= by) raw_end += other_raw, exact_end += other_exact;
        }
        units.raw = raw_end - (bits + 15) / 16;
        units.exact = exact_end - mine.exact();
        const bool own = lane % WARPS == warp, is_quantized = units.unit.w == QUANTIZED;
        // the symbols of the next unit are on their way while those of one are put together
        u32 left = __ballot_sync(FULL, own && bits > 0 && is_quantized);
        Symbols symbols = {};
        if (left) symbols = units.load(__ffs((i32)left) - 1);
        while (left) {
            const u32 j = __ffs((i32)left) - 1;
            left &= left - 1;
            Symbols next = {};
            if (left) next = units.load(__ffs((i32)left) - 1);
            units.quantized(j, symbols, raw);
            symbols = next;
        }
        for (left = __ballot_sync(FULL, own && ((bits > 0 && !is_quantized) || mine.exact() > 0)); left; left &= left - 1) {
            const u32 j = __ffs((i32)left) - 1;
            const uint4 of = units.get(j);
            u16 *const to = raw + __shfl_sync(FULL, units.raw, j), *const values = exact + 2 * __shfl_sync(FULL, units.exact, j);
            if (of.z > 0 && of.w != QUANTIZED) units.of_exact(of, to);
            if (__shfl_sync(FULL, mine.exact(), j) > 0) put_values<u32>(a, of, values);
        }
        raw += __shfl_sync(FULL, raw_end, 31);
        exact += 2 * __shfl_sync(FULL, exact_end, 31);
    }
}

// A block a stream.
extern "C" __global__ void __launch_bounds__(THREADS, 10) assemble_flat(const CoderArguments a) {
    __shared__ __align__(16) Staged staged[WARPS];
    if (a.totals[1] > a.capacity) return;
    finish_chunks(a);
    const u32 warp = threadIdx.x / 32;
    Staged &mine = staged[warp];
    const u32 count = (u32)a.totals[0];
    for (u32 s = blockIdx.x; s < count; s += gridDim.x) {
        const Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        u16 *const out = put_stream<THREADS>(a, s, stream, chunk, stream_place(a, stream, chunk), [&](u16 *to, const u16 *from, u32 pieces) {
            // a quarter a warp
            const u32 share = (pieces + 8 * WARPS - 1) / (8 * WARPS) * 8, begin = min(warp * share, pieces);
            copy_by_rows(mine, to + begin, from + begin, min(share, pieces - begin));
        });
        if ((stream.exact | stream.raw) == 0) continue;
        const u32 first = a.tiles[stream_tile(chunk, stream.index)].units_before;
        const u32 end = a.tiles[stream_tile(chunk, stream.index + 1)].units_before;
        put_lists(a, mine.raw, first, end, out, out + 2 * stream.exact);
    }
}
