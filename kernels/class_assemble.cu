// The class coder, encoding: copying all parts of the chunks to their places.
#include "class.cuh"

// Appends fixed-width values to the raw region, whole 16-bit words at a time.
struct RawWriter {
    u16 *out;
    u32 *stage;
    u32 filled, lane;

    // `width` bits of each of the first `count` lanes.
    __device__ void put(u64 value, u32 width, u32 count) {
        const u32 at = filled + lane * width;
        if (lane < count && width > 0) {
            const u64 low = width < 64 ? value & ((1ull << width) - 1) : value;
            atomicOr(&stage[at / 32], (u32)(low << (at % 32)));
            const u64 rest = at % 32 ? low >> (32 - at % 32) : low >> 32;
            if ((u32)rest) atomicOr(&stage[at / 32 + 1], (u32)rest);
            if (rest >> 32) atomicOr(&stage[at / 32 + 2], (u32)(rest >> 32));
        }
        filled += count * width;
        flush(filled / 16);
    }
    __device__ void flush(u32 words) {
        __syncwarp();
        for (u32 w = lane; w < words; w += 32) out[w] = (u16)(stage[w / 2] >> (16 * (w % 2)));
        out += words;
        const u32 left = filled % 16 ? stage[words / 2] >> (16 * (words % 2)) & 0xffff : 0;
        __syncwarp();
        for (u32 w = lane; w < 68; w += 32) stage[w] = w == 0 ? left : 0;
        filled -= 16 * words;
        __syncwarp();
    }
};

template <class D> struct StreamLists {
    const CoderArguments &a;
    // Exact values in 16-bit pieces: they are aligned to 2 bytes only.
    u16 *exact;
    RawWriter raw;
    u32 lane;

    __device__ void list(bool listed, D value) {
        const u32 mask = __ballot_sync(FULL, listed);
        constexpr u32 PIECES = sizeof(D) / 2;
        if (listed) {
            u16 *to = exact + PIECES * __popc(mask & ((1u << lane) - 1));
            for (u32 k = 0; k < PIECES; k++) to[k] = (u16)(value >> (16 * k));
        }
        exact += PIECES * __popc(mask);
    }
    __device__ void quantized(u64 start, u32 len, u32 shift) {
        // Several loads under way at a time.
        constexpr u32 BATCH = 8;
        for (u32 first = 0; first < len; first += 32 * BATCH) {
            i16 values[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                const u32 i = first + 32 * k + lane;
                values[k] = i < len ? a.q[start + i] : 0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                const u32 i = first + 32 * k;
                if (i >= len) break;
                const bool is_exact = values[k] == EXACT;
                if (__any_sync(FULL, is_exact)) list(is_exact, is_exact ? ((const D *)a.delta)[start + i + lane] : 0);
                if (shift) raw.put(zigzag(values[k]), shift, min(len - i, 32u));
            }
        }
    }
    __device__ void exact_unit(u64 start, u32 len, u32 width, D escape, u32 shift) {
        for (u32 i = 0; i < len; i += 32) {
            const bool active = i + lane < len;
            const D delta = active ? ((const D *)a.delta)[start + i + lane] : 0;
            raw.put(delta, width, min(len - i, 32u));
            list(active && (delta >> shift) >= escape, delta);
        }
    }
    __device__ void unit(const Tile &tile, const Unit &unit, const Form &form, const u32 *first) {
        const u64 start = tile.start + unit.start;
        const u32 table = form.table();
        if (form.kind() == a.tables.exact_class() && table == PLAIN) {
            // No delta reaches the largest number of its type, shifted.
            for (u32 i = 0; i < unit.len; i += 32) {
                raw.put(i + lane < unit.len ? ((const D *)a.delta)[start + i + lane] : 0, a.bits, min(unit.len - i, 32u));
            }
        } else if (form.kind() == a.tables.exact_class()) {
            if (table < a.tables.symbol_tables) exact_unit(start, unit.len, form.shift(), first[table + 1] - first[table] - 1, form.shift());
        } else {
            quantized(start, unit.len, form.shift());
        }
    }
};

// Copies 16-bit pieces, several at a time.
__device__ __forceinline__ void copy(u16 *to, const u16 *from, u32 count, u32 lane) {
    constexpr u32 BATCH = 8;
    u32 i = lane;
    for (; i + 32 * (BATCH - 1) < count; i += 32 * BATCH) {
        u16 v[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) v[k] = from[i + 32 * k];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) to[i + 32 * k] = v[k];
    }
    for (; i < count; i += 32) to[i] = from[i];
}

__device__ __forceinline__ void put_size(u16 *&out, u32 size, bool wide) {
    *out++ = (u16)size;
    if (wide) *out++ = (u16)(size >> 16);
}

// A warp a stream: copies its parts to the chunk's place; the first stream also writes the header.
template <class D> __device__ void assemble(const CoderArguments &a) {
    __shared__ u32 stages[8 * 68];
    if (a.totals[1] > a.capacity) return;
    const u32 lane = threadIdx.x & 31, count = (u32)a.totals[0];
    u32 *stage = stages + threadIdx.x / 32 * 68;
    for (u32 w = lane; w < 68; w += 32) stage[w] = 0;
    __syncwarp();
    Queue queue(a);
    for (u32 s = queue.take(); s < count; s = queue.take()) {
        const Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        const u32 streams = streams_of(chunk.code), lanes = lanes_of(chunk.code), piece = a.bits / 16;
        const bool lists = chunk.flags & HAS_LISTS, wide = chunk.flags & WIDE_SIZES;
        u16 *out = (u16 *)(a.output + chunk.offset) + 1;
        const u32 header = (lists ? 4 : 1) * (wide ? 2 : 1);
        if (lane == 0) {
            if (stream.index == 0) out[-1] = (u16)(chunk.code | chunk.flags << 8);
            u16 *sizes = out + stream.index * header;
            put_size(sizes, stream.words, wide);
            if (lists) {
                put_size(sizes, stream.escapes, wide);
                put_size(sizes, stream.exact, wide);
                put_size(sizes, stream.raw, wide);
            }
        }
        out += streams * header;
        for (u32 before = chunk.stream; before < s; before++) {
            const Stream &other = a.streams[before];
            out += 2 * lanes + other.words + other.escapes + other.exact * piece + other.raw / 2;
        }
        for (u32 l = lane; l < 2 * lanes; l += 32) out[l] = (u16)(a.states[(u64)s * 32 + l / 2] >> (16 * (l % 2)));
        out += 2 * lanes;
        copy(out, a.words + stream.first_word, stream.words, lane);
        out += stream.words;
        copy(out, a.escapes + stream.first_escape, stream.escapes, lane);
        out += stream.escapes;
        if ((stream.exact | stream.raw) == 0) continue;
        StreamLists<D> writer = {a, out, {out + stream.exact * piece, stage, 0, lane}, lane};
        const u32 begin = stream_tile(chunk, stream.index), end = stream_tile(chunk, stream.index + 1);
        for (u32 t = begin; t < end; t++) {
            const Tile tile = a.tiles[t];
            const u32 unit_end = a.unit_first[tile.shape + 1];
            // 32 units at a time, one a lane.
            for (u32 group = a.unit_first[tile.shape]; group < unit_end; group += 32) {
                u32 word = 0;
                bool listed = false;
                if (group + lane < unit_end) {
                    const u64 slot = (u64)t * a.slots + a.units[group + lane].slot;
                    word = a.forms[slot];
                    listed = word && (a.counts[slot] | raw_bits(Form(word), 1, a.bits, a.tables.exact_class()));
                }
                for (u32 some = __ballot_sync(FULL, listed); some; some &= some - 1) {
                    const u32 j = __ffs((i32)some) - 1;
                    writer.unit(tile, a.units[group + j], Form(__shfl_sync(FULL, word, j)), a.tables.first);
                }
            }
        }
        writer.raw.flush((writer.raw.filled + 15) / 16);
        writer.raw.filled = 0;
    }
}

// The choice of each chunk before its payload, and the payload of chunks without symbols.
extern "C" __global__ void finish_chunks(const CoderArguments a) {
    if (a.totals[1] > a.capacity) return;
    for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < a.chunk_count; c += gridDim.x * blockDim.x) {
        const Chunk &chunk = a.chunks[c];
        a.output[chunk.offset - 1] = a.choices ? a.choices[c] : 0;
        if (chunk.code == 0) a.output[chunk.offset] = 0;
    }
}

extern "C" __global__ void __launch_bounds__(256) assemble_32(const CoderArguments a) { assemble<u32>(a); }
extern "C" __global__ void __launch_bounds__(256) assemble_64(const CoderArguments a) { assemble<u64>(a); }
