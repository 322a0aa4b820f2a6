// The class coder, encoding: copying all parts of the chunks to their places.
#include "class_assemble.cuh"

// Threads of a block, and units of a stream that it looks at together.
constexpr u32 THREADS = 256;

// Words of raw bits that a block puts together at a time. Eight nodes that begin before them or end behind them reach into a margin.
constexpr u32 WINDOW = 2048, MARGIN = 8;

// Units that a block looks at together.
struct Part {
    // Of each: first node / 8, nodes, raw bits a node, and from what token on an exact node's delta is listed.
    uint4 units[THREADS];
    // Raw bits and listed values of all units before each.
    u32 bits[THREADS + 1], exact[THREADS + 1];
    // A window of the raw bits; zero but for the bits of the part before that do not fill a word, in the first word.
    u32 window[MARGIN + WINDOW + MARGIN];
};

template <class D> struct Lists {
    const CoderArguments &a;
    Part &part;

    // One unit a thread.
    __device__ void take_in(const UnitRecord &unit, u32 count) const {
        const Form form(unit.form);
        const u32 bits = raw_bits(form, unit.len(), a.bits, a.tables.exact_class());
        u64 total;
        const u64 before = block_scan((u64)unit.exact() << 32 | bits, total);
        if (threadIdx.x < count) {
            part.units[threadIdx.x] = make_uint4(unit.eighth, unit.len(), bits ? bits / unit.len() : 0, listed_from(a, form));
            part.bits[threadIdx.x] = (u32)before;
            part.exact[threadIdx.x] = (u32)(before >> 32);
        }
        if (threadIdx.x == 0) {
            part.bits[count] = (u32)total;
            part.exact[count] = (u32)(total >> 32);
        }
        __syncthreads();
        if (threadIdx.x / 32 < count) ask_for(part.units[threadIdx.x / 32]);
    }

    // Adds bits to the window, from bit `at` of it on: at most 64, and the others are zero.
    __device__ __forceinline__ void put(i32 at, u64 bits) const {
        u32 *to = part.window + (i32)MARGIN + (at >> 5);
        const u32 low = (u32)bits, high = (u32)(bits >> 32);
        const u32 words[3] = {low << (at & 31), __funnelshift_l(low, high, at), __funnelshift_l(high, 0, at)};
#pragma unroll
        for (u32 k = 0; k < 3; k++)
            if (words[k]) atomicOr(to + k, words[k]);
    }
    // The raw bits, at most 8 of a node, of a unit of quantized nodes that reach into the window, eight nodes a lane; `base`: its first bit there.
    __device__ __forceinline__ void quantized(const uint4 &unit, i32 base) const {
        const u32 width = unit.z;
        const i32 of_eight = 8 * (i32)width;
        const u32 first = base < 0 ? (u32)-base / of_eight : 0;
        const uint4 *from = (const uint4 *)a.q + unit.x;
        for (u32 i = first + (threadIdx.x & 31); 8 * i < unit.y; i += 32) {
            const i32 at = base + (i32)i * of_eight;
            if (at >= 32 * (i32)WINDOW) break;
            put(at, low_bits_of_eight(from[i], unit.y - 8 * i, width));
        }
    }
    // The same of a unit of exact nodes, a node a lane.
    __device__ __forceinline__ void exact(const uint4 &unit, i32 base) const {
        const D *delta = (const D *)a.delta + 8 * (u64)unit.x;
        const u32 first = base < 0 ? (u32)-base / unit.z : 0;
        for (u32 i = first + (threadIdx.x & 31); i < unit.y; i += 32) {
            const i32 at = base + (i32)(i * unit.z);
            if (at >= 32 * (i32)WINDOW) break;
            put(at, unit.z < 8 * sizeof(D) ? delta[i] & (((D)1 << unit.z) - 1) : delta[i]);
        }
    }
    // Asks for the symbols of a unit, as far as 512 of them.
    __device__ __forceinline__ void ask_for(const uint4 &unit) const {
        const u32 node = 16 * (threadIdx.x & 31);
        if (unit.z > 0 && node < unit.y) fetch_ahead(a.q + 8 * (u64)unit.x + node);
    }
    // The raw bits of the part that reach into the window, a warp a unit; `from`: those before the window, `pending` before the part.
    __device__ void fill(u32 from, u32 pending, u32 units) const {
        u32 unit = 0;
        for (u32 end = from > pending ? units : 1; end - unit > 1;) {
            const u32 middle = (unit + end) / 2;
            (part.bits[middle] <= from - pending ? unit : end) = middle;
        }
        for (unit += threadIdx.x / 32; unit < units; unit += THREADS / 32) {
            const i32 base = (i32)(part.bits[unit] + pending - from);
            if (base >= 32 * (i32)WINDOW) break;
            const uint4 of = part.units[unit];
            // the warp's next unit
            if (unit + THREADS / 32 < units) ask_for(part.units[unit + THREADS / 32]);
            if (of.z == 0) continue;
            if (of.w == QUANTIZED) quantized(of, base);
            else exact(of, base);
        }
    }
    // The listed values of the part, a warp a unit.
    __device__ void values(u16 *out, u32 units) const {
        for (u32 u = threadIdx.x / 32; u < units; u += THREADS / 32) {
            if (part.exact[u] != part.exact[u + 1]) put_values<D>(a, part.units[u], out + (u64)(sizeof(D) / 2) * part.exact[u]);
        }
    }
};

// The lists of exact values and of raw bits of a stream whose units are `first` .. `end`.
template <class D> __device__ void put_lists(const CoderArguments &a, Part &part, u32 first, u32 end, u16 *exact, u16 *raw) {
    const Lists<D> lists = {a, part};
    // Words of 32 bits where 4 bytes divide; the first half of the first one may be someone else's.
    const bool apart = (u64)raw >> 1 & 1;
    u32 *words = (u32 *)(raw - apart), *const start = words;
    u32 *const window = part.window + MARGIN;
    u32 pending = apart ? 16 : 0;
    for (; first < end; first += THREADS) {
        const u32 units = min(end - first, THREADS);
        lists.take_in(threadIdx.x < units ? a.records[first + threadIdx.x] : UnitRecord{0, 0, 0, 0}, units);
        if (part.exact[units] > 0) lists.values(exact, units);
        exact += sizeof(D) / 2 * part.exact[units];
        const u32 bits = pending + part.bits[units];
        for (u32 from = 0; from < bits; from += 32 * WINDOW) {
            lists.fill(from, pending, units);
            __syncthreads();
            const u32 count = min((bits - from) / 32, WINDOW);
            for (u32 w = threadIdx.x; w < count; w += THREADS) {
                const u32 word = window[w];
                if (apart && words + w == start) raw[0] = (u16)(word >> 16);
                else words[w] = word;
                window[w] = 0;
            }
            if (threadIdx.x < MARGIN) part.window[threadIdx.x] = window[WINDOW + threadIdx.x] = 0;
            // the bits that are left over come first in the next window
            if (threadIdx.x == 0 && 0 < count && count < WINDOW) {
                window[0] = window[count];
                window[count] = 0;
            }
            words += count;
            __syncthreads();
        }
        pending = bits % 32;
    }
    if (threadIdx.x > 0) return;
    const u32 rest = window[0];
    if (pending > 0 && !(apart && words == start)) *(u16 *)words = (u16)rest;
    if (pending > 16) ((u16 *)words)[1] = (u16)(rest >> 16);
    window[0] = 0;
}

// A block a stream.
template <class D> __device__ void assemble(const CoderArguments &a) {
    __shared__ Part part;
    if (a.totals[1] > a.capacity) return;
    for (u32 i = threadIdx.x; i < MARGIN + WINDOW + MARGIN; i += THREADS) part.window[i] = 0;
    finish_chunks(a);
    const u32 count = (u32)a.totals[0];
    for (u32 s = blockIdx.x; s < count; s += gridDim.x) {
        const Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        u16 *const out = put_stream<THREADS>(a, s, stream, chunk, stream_place(a, stream, chunk), copy<THREADS>);
        if ((stream.exact | stream.raw) == 0) continue;
        const u32 first = a.tiles[stream_tile(chunk, stream.index)].units_before;
        const u32 end = a.tiles[stream_tile(chunk, stream.index + 1)].units_before;
        put_lists<D>(a, part, first, end, out, out + stream.exact * (u32)(sizeof(D) / 2));
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(256, 5) assemble_32(const CoderArguments a) { assemble<u32>(a); }
extern "C" __global__ void __launch_bounds__(256, 5) assemble_64(const CoderArguments a) { assemble<u64>(a); }
