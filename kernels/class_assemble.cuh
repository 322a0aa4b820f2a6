// The class coder, encoding: what all kernels do that copy the parts of a stream to their place. A block has a stream.
#pragma once
#include "class.cuh"

// Copies 16-bit pieces, two in a store, several under way at a time.
template <u32 THREADS> __device__ __forceinline__ void copy(u16 *to, const u16 *from, u32 count) {
    constexpr u32 BATCH = 4;
    const u32 odd = (u32)((u64)to >> 1 & 1), pairs = (max(count, odd) - odd) / 2;
    if (threadIdx.x == 0 && odd && count > 0) to[0] = from[0];
    if (threadIdx.x == 32 % THREADS && odd + 2 * pairs < count) to[count - 1] = from[count - 1];
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

// The low bits of zigzag(q) of two nodes, in two halves; `mask`: which.
__device__ __forceinline__ u32 low_bits(u32 pair, u32 mask) {
#ifdef BLOCKMGARD_EMULATOR
    const u32 signs = (pair >> 15 & 0x00010001) * 0xffff;
#else
    u32 signs;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(signs) : "r"(pair));
#endif
    return (((pair << 1) & 0xfffefffe) ^ signs) & mask;
}

// The raw bits of eight nodes of a unit, `width` of each and at most 8; `left`: nodes of the unit from the first one on.
__device__ __forceinline__ u64 low_bits_of_eight(const uint4 &eight, u32 left, u32 width) {
    const u32 mask = ((1u << width) - 1) * 0x00010001;
    u32 pairs[4] = {eight.x, eight.y, eight.z, eight.w};
    if (left < 8) {
        // what stands behind the unit is nobody's
#pragma unroll
        for (u32 k = 0; k < 4; k++) pairs[k] = 2 * k + 1 < left ? pairs[k] : 2 * k < left ? pairs[k] & 0xffff : 0;
    }
#pragma unroll
    for (u32 k = 0; k < 4; k++) pairs[k] = low_bits(pairs[k], mask);
#pragma unroll
    for (u32 k = 0; k < 4; k++) pairs[k] = (pairs[k] | pairs[k] >> (16 - width)) & ((1u << 2 * width) - 1);
    const u32 low = pairs[0] | pairs[1] << 2 * width, high = pairs[2] | pairs[3] << 2 * width;
    return low | (u64)high << 4 * width;
}

// In place of the listed tokens of a unit of quantized nodes; in a unit of exact nodes without a list.
constexpr u32 QUANTIZED = 0;
constexpr u32 NO_LIST = NONE;

// From what token on the delta of a unit's exact node is listed.
__device__ __forceinline__ u32 listed_from(const CoderArguments &a, const Form &form) {
    if (form.kind() != a.tables.exact_class()) return QUANTIZED;
    return form.table() < a.tables.symbol_tables ? a.tables.first[form.table() + 1] - a.tables.first[form.table()] - 1 : NO_LIST;
}

// The listed values of a unit, by a warp. `unit`: first node / 8, nodes, raw bits a node, `listed_from`. In 16-bit pieces: they are aligned
// to 2 bytes only.
template <class D> __device__ __forceinline__ void put_values(const CoderArguments &a, const uint4 &unit, u16 *to) {
    constexpr u32 PIECES = sizeof(D) / 2;
    const u32 lane = threadIdx.x & 31;
    const i16 *q = a.q + 8 * (u64)unit.x;
    const D *delta = (const D *)a.delta + 8 * (u64)unit.x;
    // several loads under way at a time
    constexpr u32 BATCH = 4;
    for (u32 first = lane; first < unit.y + lane; first += 32 * BATCH) {
        D value[BATCH];
        bool listed[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            listed[k] = first + 32 * k < unit.y;
            if (listed[k] && unit.w == QUANTIZED) listed[k] = q[first + 32 * k] == EXACT;
        }
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) value[k] = listed[k] ? delta[first + 32 * k] : 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            if (unit.w != QUANTIZED) listed[k] = listed[k] && (value[k] >> unit.z) >= unit.w;
            const u32 mask = __ballot_sync(FULL, listed[k]), place = __popc(mask & ((1u << lane) - 1));
            for (u32 p = 0; p < PIECES && listed[k]; p++) to[PIECES * place + p] = (u16)(value[k] >> (16 * p));
            to += PIECES * __popc(mask);
        }
    }
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

// Where a stream begins.
__device__ __forceinline__ u16 *stream_place(const CoderArguments &a, const Stream &stream, const Chunk &chunk) {
    const u32 lane = threadIdx.x & 31;
    // at most 16 streams stand before it
    const u32 before = lane < stream.index ? stream_bytes(a.streams[chunk.stream + lane], lanes_of(chunk.code), a.bits) : 0;
    return (u16 *)(a.output + chunk.offset) + 1 + streams_of(chunk.code) * size_words(chunk.flags) + __reduce_add_sync(FULL, before) / 2;
}
// Everything of stream `s` but its lists of exact values and raw bits, whose place is returned; the first stream also writes the header. `out`:
// where it begins. `copy`: copies pieces of 16 bits. So many threads work on a stream.
template <u32 THREADS, class C>
__device__ __forceinline__ u16 *put_stream(const CoderArguments &a, u32 s, const Stream &stream, const Chunk &chunk, u16 *out, const C &copy) {
    const u32 thread = threadIdx.x % THREADS, lanes = lanes_of(chunk.code);
    if (thread == 0) {
        u16 *const header = (u16 *)(a.output + chunk.offset);
        const bool wide = chunk.flags & WIDE_SIZES;
        if (stream.index == 0) *header = (u16)(chunk.code | chunk.flags << 8);
        u16 *sizes = header + 1 + stream.index * size_words(chunk.flags);
        put_size(sizes, stream.words, wide);
        if (chunk.flags & HAS_LISTS) {
            put_size(sizes, stream.escapes, wide);
            put_size(sizes, stream.exact, wide);
            put_size(sizes, stream.raw, wide);
        }
    }
    for (u32 l = thread; l < 2 * lanes; l += THREADS) out[l] = (u16)(a.states[(u64)s * 32 + l / 2] >> (16 * (l % 2)));
    out += 2 * lanes;
    // one copy of the code for both
#pragma unroll 1
    for (u32 part = 0; part < 2; part++) {
        const u32 count = part == 0 ? stream.words : stream.escapes;
        copy(out, part == 0 ? a.words + stream.first_word : a.escapes + stream.first_escape, count);
        out += count;
    }
    return out;
}
