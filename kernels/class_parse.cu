// The class coder, decoding: the headers of all chunks and the list of their streams. Nothing in a payload is trusted.
#include "class.cuh"

// Byte `i` of a payload.
__device__ __forceinline__ u32 read_size(const u8 *bytes, u32 width) {
    u32 size = bytes[0] | bytes[1] << 8;
    if (width == 4) size |= (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
    return size;
}

// Streams of a chunk by its header; 0 when there are none, or when the header is not sound (then `error` is set).
__device__ u32 parse_header(const CoderArguments &a, Chunk &chunk) {
    const u8 *payload = a.output + chunk.offset;
    chunk.error = 1;
    chunk.code = chunk.flags = 0;
    if (chunk.bytes == 0) return 0;
    const u32 code = payload[0];
    if (code == 0) {
        chunk.error = chunk.bytes != 1;
        return 0;
    }
    if (code > 10 || chunk.bytes < 2 || payload[1] > (HAS_LISTS | WIDE_SIZES)) return 0;
    const u32 width = payload[1] & WIDE_SIZES ? 4 : 2, sizes = payload[1] & HAS_LISTS ? 4 : 1;
    u64 total = 2 + streams_of(code) * sizes * width;
    if (total > chunk.bytes) return 0;
    for (u32 s = 0; s < streams_of(code); s++) {
        const u8 *at = payload + 2 + s * sizes * width;
        total += 4 * lanes_of(code) + 2 * (u64)read_size(at, width);
        if (sizes == 1) continue;
        const u32 raw = read_size(at + 3 * width, width);
        if (raw % 2) return 0;
        total += 2 * (u64)read_size(at + width, width) + (u64)read_size(at + 2 * width, width) * (a.bits / 8) + raw;
    }
    if (total != chunk.bytes) return 0;
    chunk.code = code;
    chunk.flags = payload[1];
    chunk.error = 0;
    return streams_of(code);
}

// One block: reads the headers of all chunks and lists their streams.
extern "C" __global__ void __launch_bounds__(1024) parse_chunks(const CoderArguments a) {
    const u32 share = (a.chunk_count + blockDim.x - 1) / blockDim.x;
    const u32 begin = min(threadIdx.x * share, a.chunk_count), end = min(begin + share, a.chunk_count);
    u64 count = 0;
    for (u32 c = begin; c < end; c++) count += parse_header(a, a.chunks[c]);
    u64 total, first = block_scan(count, total);
    for (u32 c = begin; c < end; c++) {
        const Chunk &chunk = a.chunks[c];
        if (chunk.code == 0) continue;
        const u8 *payload = a.output + chunk.offset;
        const u32 width = chunk.flags & WIDE_SIZES ? 4 : 2, sizes = chunk.flags & HAS_LISTS ? 4 : 1;
        u64 at = chunk.offset + 2 + streams_of(chunk.code) * sizes * width;
        for (u32 s = 0; s < streams_of(chunk.code); s++) {
            const u8 *header = payload + 2 + s * sizes * width;
            Stream stream = {c, s, read_size(header, width), 0, 0, 0, at, 0};
            if (sizes == 4) {
                stream.escapes = read_size(header + width, width);
                stream.exact = read_size(header + 2 * width, width);
                stream.raw = read_size(header + 3 * width, width);
            }
            at += 4 * lanes_of(chunk.code) + 2 * (stream.words + stream.escapes) + stream.exact * (a.bits / 8) + stream.raw;
            a.streams[first++] = stream;
        }
    }
    if (threadIdx.x == 0) a.totals[0] = total, a.totals[2] = 0;
}

// Chunks without symbols: a block a chunk.
extern "C" __global__ void clear_empty_chunks(const CoderArguments a) {
    for (u32 c = blockIdx.x; c < a.chunk_count; c += gridDim.x) {
        if (a.chunks[c].code != 0) continue;
        const u64 begin = a.tiles[a.chunks[c].tile].start, end = a.tiles[a.chunks[c].tile_end].start;
        for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) a.q[i] = 0;
    }
}
