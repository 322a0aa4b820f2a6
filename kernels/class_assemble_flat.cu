// The class coder, encoding: the same as class_assemble.cu for flat arrays, whose units have 512 nodes but for the last one of a chunk. So the
// raw bits of each begin with a whole piece of 16 bits: warps write those of different units without looking at each other's, and none waits.
#include "class_assemble.cuh"

constexpr u32 THREADS = 128, WARPS = THREADS / 32;
// Nodes of a lane, which are a unit in a warp: their raw bits are whole pieces.
constexpr u32 NODES = 16;

// Eight pieces of 16 bits, at most, of which the first `count` are stored.
__device__ __forceinline__ void store(u16 *to, u64 low, u64 high, u32 count) {
#pragma unroll
    for (u32 k = 0; k < 8; k++)
        if (k < count) to[k] = (u16)((k < 4 ? low : high) >> (16 * (k % 4)));
}

// Units of a stream, one a lane, and what a warp does with its share of them.
struct Units {
    const CoderArguments &a;
    // First node / 8, nodes, raw bits a node, and from what token on an exact node's delta is listed.
    uint4 unit;
    // Pieces of raw bits and listed values of the units before it in the group.
    u32 raw, exact;

    __device__ __forceinline__ uint4 get(u32 j) const {
        return make_uint4(__shfl_sync(FULL, unit.x, j), __shfl_sync(FULL, unit.y, j), __shfl_sync(FULL, unit.z, j), __shfl_sync(FULL, unit.w, j));
    }
    // The raw bits of a unit of quantized nodes.
    __device__ __forceinline__ void quantized(const uint4 &of, u16 *to) const {
        const u32 lane = threadIdx.x & 31, node = NODES * lane, width = of.z;
        if (node >= of.y) return;
        const uint4 *from = (const uint4 *)a.q + of.x + 2 * lane;
        const u32 left = of.y - node;
        u64 low = low_bits_of_eight(from[0], left, width), high = left > 8 ? low_bits_of_eight(from[1], left - 8, width) : 0;
        if (width < 8) {
            low |= high << 8 * width;
            high >>= 64 - 8 * width;
        }
        store(to + width * lane, low, high, left < NODES ? (left * width + 15) / 16 : width);
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
__device__ __forceinline__ void put_lists(const CoderArguments &a, u32 first, u32 end, u16 *exact, u16 *raw) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (; first < end; first += 32) {
        const UnitRecord mine = lane < end - first ? a.records[first + lane] : UnitRecord{0, 0, 0, 0};
        const Form form(mine.form);
        const u32 bits = raw_bits(form, mine.len(), a.bits, a.tables.exact_class());
        Units units = {a, make_uint4(mine.eighth, mine.len(), bits ? bits / mine.len() : 0, listed_from(a, form)), 0, 0};
        u32 raw_end = (bits + 15) / 16, exact_end = mine.exact();
        for (u32 by = 1; by < 32; by <<= 1) {
            const u32 other_raw = __shfl_up_sync(FULL, raw_end, by), other_exact = __shfl_up_sync(FULL, exact_end, by);
            if (lane >= by) raw_end += other_raw, exact_end += other_exact;
        }
        units.raw = raw_end - (bits + 15) / 16;
        units.exact = exact_end - mine.exact();
        const bool lists = mine.exact() > 0, own = lane % WARPS == warp;
        if (own && bits > 0) {
            // 64 symbols in a line of the cache
            for (u32 node = 0; node < mine.len(); node += 64) fetch_ahead(a.q + 8 * (u64)mine.eighth + node);
        }
        const u32 listing = __ballot_sync(FULL, own && lists);
        for (u32 left = __ballot_sync(FULL, own && (bits > 0 || lists)); left; left &= left - 1) {
            const u32 j = __ffs((i32)left) - 1;
            const uint4 of = units.get(j);
            u16 *const to = raw + __shfl_sync(FULL, units.raw, j), *const values = exact + 2 * __shfl_sync(FULL, units.exact, j);
            if (of.z > 0 && of.w == QUANTIZED) units.quantized(of, to);
            else if (of.z > 0) units.of_exact(of, to);
            if (listing >> j & 1) put_values<u32>(a, of, values);
        }
        raw += __shfl_sync(FULL, raw_end, 31);
        exact += 2 * __shfl_sync(FULL, exact_end, 31);
    }
}

// A block a stream.
extern "C" __global__ void __launch_bounds__(THREADS, 10) assemble_flat(const CoderArguments a) {
    if (a.totals[1] > a.capacity) return;
    finish_chunks(a);
    const u32 count = (u32)a.totals[0];
    for (u32 s = blockIdx.x; s < count; s += gridDim.x) {
        const Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        u16 *const out = put_stream<THREADS>(a, s, stream, chunk);
        if ((stream.exact | stream.raw) == 0) continue;
        const u32 first = a.tiles[stream_tile(chunk, stream.index)].units_before;
        const u32 end = a.tiles[stream_tile(chunk, stream.index + 1)].units_before;
        put_lists(a, first, end, out, out + 2 * stream.exact);
    }
}
