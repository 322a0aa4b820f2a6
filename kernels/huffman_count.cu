// From symbols to the places of payloads: histograms of tokens, sizes, places (codebooks: huffman_books.cu). A warp counts a segment.
#include "huffman_units.cuh"

constexpr u32 WARPS = 4;

extern "C" __global__ void __launch_bounds__(32 * WARPS) huffman_count(const HuffmanArguments a) {
    __shared__ __align__(16) i16 groups[WARPS][2][GROUP_SYMBOLS];
    __shared__ u32 histograms[WARPS][TOKENS];
    __shared__ u8 run_tokens[RUNS];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 *histogram = histograms[warp];
    for (u32 run = 1 + threadIdx.x; run < RUNS; run += 32 * WARPS) run_tokens[run] = (u8)zero_run(run).token;
    __syncthreads();
    for (u32 s = blockIdx.x * WARPS + warp; s < a.segment_count; s += gridDim.x * WARPS) {
        const Segment segment = a.segments[s];
        HuffmanPart &part = a.parts[segment.part];
        const u32 most = part.unit;
        for (u32 t = lane; t < TOKENS; t += 32) histogram[t] = 0;
        u32 ends = 0;
        bool nonzero = false;
        SegmentSymbols symbols(a, segment, most, groups[warp]);
        for (u32 at = 0; at < segment.count; at += most) {
            const u32 length = min(most, segment.count - at);
            LaneUnit unit;
            load_unit(symbols.unit(at), symbols.wide + at, length, lane, unit);
            ends += unit.after_last < length;
            if (!unit.after_last) continue;
            nonzero = true;
            u32 from = unit.from;
#pragma unroll
            for (u32 k = 0; k < LANE_SYMBOLS; k++) {
                const i32 q = unit.q[k];
                if (!q) continue;
                const u32 i = lane * LANE_SYMBOLS + k, z = zigzag_less_one(q);
                atomicAdd(&histogram[z < DIRECT ? VALUE + z : value_token(q).token], 1u);
                if (i > from) atomicAdd(&histogram[run_tokens[i - from]], 1u);
                from = i + 1;
            }
        }
        __syncwarp();
        if (lane == 0) histogram[END] = ends;
        __syncwarp();
        for (u32 t = lane; t < TOKENS; t += 32) a.histograms[(u64)s * TOKENS + t] = (u16)histogram[t];
        if (nonzero && lane == 0) atomicOr(&part.nonzero, 1u);
        __syncwarp();
    }
}

// Sums the histograms of each book; parts of zeros alone take no tokens. A thread a token.
extern "C" __global__ void huffman_sum(const HuffmanArguments a) {
    const u32 share = (a.segment_count + gridDim.x - 1) / gridDim.x;
    const u32 begin = min(blockIdx.x * share, a.segment_count), end = min(begin + share, a.segment_count);
    u32 sum = 0, book = 0;
    for (u32 s = begin; s < end; s++) {
        const HuffmanPart &part = a.parts[a.segments[s].part];
        if (!part.nonzero) continue;
        if (part.book != book) {
            if (sum) atomicAdd(&a.counts[book * TOKENS + threadIdx.x], sum);
            book = part.book;
            sum = 0;
        }
        sum += a.histograms[(u64)s * TOKENS + threadIdx.x];
    }
    if (sum) atomicAdd(&a.counts[book * TOKENS + threadIdx.x], sum);
}

// Bytes of each segment, from its histogram.
extern "C" __global__ void huffman_sizes(const HuffmanArguments a) {
    const u32 lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
    for (u32 s = (blockIdx.x * blockDim.x + threadIdx.x) / 32; s < a.segment_count; s += warps) {
        const HuffmanPart &part = a.parts[a.segments[s].part];
        u32 bits = 0;
        for (u32 t = lane; t < TOKENS; t += 32)
            bits += a.histograms[(u64)s * TOKENS + t] * (a.codes[part.book * TOKENS + t] >> 16);
        bits = __reduce_add_sync(FULL, bits);
        if (lane == 0) a.bytes[s] = part.nonzero ? (bits + 7) / 8 : 0;
    }
}

// Places of the segments in their payloads, a block a part.
extern "C" __global__ void huffman_offsets(const HuffmanArguments a) {
    __shared__ u32 sums[33];
    HuffmanPart &part = a.parts[blockIdx.x];
    const u32 segments = part.segment_end - part.segment;
    u32 sum = part.nonzero ? 2 * segments : 0;
    for (u32 s = 0; s < segments; s += blockDim.x) {
        const bool there = s + threadIdx.x < segments;
        const u32 at = part.segment + s + threadIdx.x;
        u32 all;
        const u32 before = block_scan(there ? a.bytes[at] : 0, sums, all);
        if (there) a.offsets[at] = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) part.bytes = sum;
}

// Places of the parts, one block.
extern "C" __global__ void huffman_places(const HuffmanArguments a) {
    __shared__ u64 sums[33];
    u64 sum = 0;
    for (u32 p = 0; p < a.part_count; p += blockDim.x) {
        const bool there = p + threadIdx.x < a.part_count;
        u64 all;
        const u64 before = block_scan(there ? (u64)part_bytes(a.parts[p + threadIdx.x]) : 0, sums, all);
        if (there) a.parts[p + threadIdx.x].offset = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) *a.total = sum;
}
