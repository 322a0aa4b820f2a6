// The class coder, encoding: copying all parts of the chunks to their places.
#include "class.cuh"

// Threads of a block, and units of a stream that it looks at together.
constexpr u32 THREADS = 256;

// Copies 16-bit pieces, two in a store, several under way at a time.
__device__ __forceinline__ void copy(u16 *to, const u16 *from, u32 count) {
    constexpr u32 BATCH = 4;
    const u32 odd = (u32)((u64)to >> 1 & 1), pairs = (max(count, odd) - odd) / 2;
    if (threadIdx.x == 0 && odd && count > 0) to[0] = from[0];
    if (threadIdx.x == 32 && odd + 2 * pairs < count) to[count - 1] = from[count - 1];
    u32 *target = (u32 *)(to + odd);
    const bool apart = (u64)(from + odd) >> 1 & 1;
    const u32 *source = (const u32 *)(from + odd - apart);
    for (u32 first = threadIdx.x; first < pairs; first += BATCH * THREADS) {
        u32 pair[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const u32 i = first + k * THREADS;
            if (i >= pairs) continue;
            pair[k] = source[i];
            if (apart) pair[k] = __funnelshift_r(pair[k], source[i + 1], 16);
        }
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            if (first + k * THREADS < pairs) target[first + k * THREADS] = pair[k];
        }
    }
}

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
// In place of the listed tokens of a unit of quantized nodes; in a unit of exact nodes without a list.
constexpr u32 QUANTIZED = 0;
constexpr u32 NO_LIST = NONE;

template <class D> struct Lists {
    const CoderArguments &a;
    Part &part;

    // One unit a thread.
    __device__ void take_in(const UnitRecord &unit, u32 count) const {
        const Form form(unit.form);
        const bool exact = form.kind() == a.tables.exact_class();
        const u32 bits = raw_bits(form, unit.len(), a.bits, a.tables.exact_class());
        u32 listed = exact ? NO_LIST : QUANTIZED;
        if (exact && form.table() < a.tables.symbol_tables) {
            listed = a.tables.first[form.table() + 1] - a.tables.first[form.table()] - 1;
        }
        u64 total;
        const u64 before = block_scan((u64)unit.exact() << 32 | bits, total);
        if (threadIdx.x < count) {
            part.units[threadIdx.x] = make_uint4(unit.eighth, unit.len(), bits ? bits / unit.len() : 0, listed);
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
    // The low bits of zigzag(q) of two nodes, in two halves; `mask`: which.
    static __device__ __forceinline__ u32 low_bits(u32 pair, u32 mask) {
#ifdef BLOCKMGARD_EMULATOR
        const u32 signs = (pair >> 15 & 0x00010001) * 0xffff;
#else
        u32 signs;
        asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(signs) : "r"(pair));
#endif
        return (((pair << 1) & 0xfffefffe) ^ signs) & mask;
    }
    // The raw bits, at most 8 of a node, of a unit of quantized nodes that reach into the window, eight nodes a lane; `base`: its first bit there.
    __device__ __forceinline__ void quantized(const uint4 &unit, i32 base) const {
        const u32 width = unit.z, mask = ((1u << width) - 1) * 0x00010001;
        const i32 of_eight = 8 * (i32)width;
        const u32 first = base < 0 ? (u32)-base / of_eight : 0;
        const uint4 *from = (const uint4 *)a.q + unit.x;
        for (u32 i = first + (threadIdx.x & 31); 8 * i < unit.y; i += 32) {
            const i32 at = base + (i32)i * of_eight;
            if (at >= 32 * (i32)WINDOW) break;
            const uint4 eight = from[i];
            u32 pairs[4] = {eight.x, eight.y, eight.z, eight.w};
            if (8 * i + 8 > unit.y) {
                // what stands behind the unit is nobody's
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    const u32 node = 8 * i + 2 * k;
                    pairs[k] = node + 1 < unit.y ? pairs[k] : node < unit.y ? pairs[k] & 0xffff : 0;
                }
            }
#pragma unroll
            for (u32 k = 0; k < 4; k++) pairs[k] = low_bits(pairs[k], mask);
#pragma unroll
            for (u32 k = 0; k < 4; k++) pairs[k] = (pairs[k] | pairs[k] >> (16 - width)) & ((1u << 2 * width) - 1);
            const u32 low = pairs[0] | pairs[1] << 2 * width, high = pairs[2] | pairs[3] << 2 * width;
            put(at, low | (u64)high << 4 * width);
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
        constexpr u32 PIECES = sizeof(D) / 2;
        const u32 lane = threadIdx.x & 31;
        for (u32 u = threadIdx.x / 32; u < units; u += THREADS / 32) {
            if (part.exact[u] == part.exact[u + 1]) continue;
            const uint4 unit = part.units[u];
            const D *delta = (const D *)a.delta + 8 * (u64)unit.x;
            // in 16-bit pieces: they are aligned to 2 bytes only
            u16 *to = out + (u64)PIECES * part.exact[u];
            for (u32 first = 0; first < unit.y; first += 32) {
                const bool exists = first + lane < unit.y;
                D value = 0;
                bool listed = exists && unit.w == QUANTIZED && a.q[8 * (u64)unit.x + first + lane] == EXACT;
                if (listed || (exists && unit.w != QUANTIZED)) value = delta[first + lane];
                if (exists && unit.w != QUANTIZED) listed = (value >> unit.z) >= unit.w;
                const u32 mask = __ballot_sync(FULL, listed), place = __popc(mask & ((1u << lane) - 1));
                for (u32 k = 0; k < PIECES && listed; k++) to[PIECES * place + k] = (u16)(value >> (16 * k));
                to += PIECES * __popc(mask);
            }
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

__device__ __forceinline__ void put_size(u16 *&out, u32 size, bool wide) {
    *out++ = (u16)size;
    if (wide) *out++ = (u16)(size >> 16);
}

// The choice of each chunk before its payload, and the payload of chunks without symbols.
__device__ __forceinline__ void finish_chunks(const CoderArguments &a) {
    for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < a.chunk_count; c += gridDim.x * blockDim.x) {
        const Chunk &chunk = a.chunks[c];
        a.output[chunk.offset - 1] = a.choices ? a.choices[c] : 0;
        if (chunk.code == 0) a.output[chunk.offset] = 0;
    }
}

// A block a stream: copies its parts to the chunk's place; the first stream also writes the header.
template <class D> __device__ void assemble(const CoderArguments &a) {
    __shared__ Part part;
    if (a.totals[1] > a.capacity) return;
    for (u32 i = threadIdx.x; i < MARGIN + WINDOW + MARGIN; i += THREADS) part.window[i] = 0;
    finish_chunks(a);
    const u32 lane = threadIdx.x & 31, count = (u32)a.totals[0];
    for (u32 s = blockIdx.x; s < count; s += gridDim.x) {
        const Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        const u32 streams = streams_of(chunk.code), lanes = lanes_of(chunk.code);
        const bool lists = chunk.flags & HAS_LISTS, wide = chunk.flags & WIDE_SIZES;
        u16 *out = (u16 *)(a.output + chunk.offset) + 1;
        if (threadIdx.x == 0) {
            if (stream.index == 0) out[-1] = (u16)(chunk.code | chunk.flags << 8);
            u16 *sizes = out + stream.index * size_words(chunk.flags);
            put_size(sizes, stream.words, wide);
            if (lists) {
                put_size(sizes, stream.escapes, wide);
                put_size(sizes, stream.exact, wide);
                put_size(sizes, stream.raw, wide);
            }
        }
        out += streams * size_words(chunk.flags);
        // at most 16 streams stand before it
        const u32 before = lane < stream.index ? stream_bytes(a.streams[chunk.stream + lane], lanes, a.bits) : 0;
        out += __reduce_add_sync(FULL, before) / 2;
        for (u32 l = threadIdx.x; l < 2 * lanes; l += THREADS) out[l] = (u16)(a.states[(u64)s * 32 + l / 2] >> (16 * (l % 2)));
        out += 2 * lanes;
        copy(out, a.words + stream.first_word, stream.words);
        out += stream.words;
        copy(out, a.escapes + stream.first_escape, stream.escapes);
        out += stream.escapes;
        if ((stream.exact | stream.raw) == 0) continue;
        const u32 first = a.tiles[stream_tile(chunk, stream.index)].units_before;
        const u32 end = a.tiles[stream_tile(chunk, stream.index + 1)].units_before;
        put_lists<D>(a, part, first, end, out, out + stream.exact * (u32)(sizeof(D) / 2));
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(256, 5) assemble_32(const CoderArguments a) { assemble<u32>(a); }
extern "C" __global__ void __launch_bounds__(256, 5) assemble_64(const CoderArguments a) { assemble<u64>(a); }
