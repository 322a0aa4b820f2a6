// The class coder, decoding: the headers of all chunks and the lists of their streams. Nothing in a payload is trusted.
#include "class.cuh"

// Raw bits of a stream have no more bytes than this: fewer than a chunk of plain values.
constexpr u32 MOST_RAW = 1u << 28;

__device__ __forceinline__ u32 read_size(const u8 *bytes, u32 width) {
    u32 size = bytes[0] | bytes[1] << 8;
    if (width == 4) size |= (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
    return size;
}

// The list for a stream that takes about `work` rounds: four lists for each doubling.
__device__ __forceinline__ u32 list_of(u32 work) {
    constexpr u32 LONGEST = 16 * 4;
    const u32 doublings = bit_length(work | 4) - 1;
    const u32 place = 4 * doublings + (work >> (doublings - 2) & 3);
    return min(LONGEST - min(place, LONGEST), StreamOrder::LISTS - 1);
}

// A place in a list for each lane with a stream; a warp's lanes go to few lists, and ask for their places together.
__device__ __forceinline__ u32 take_place(const StreamOrder &order, u32 list, bool listed) {
    const u32 lane = threadIdx.x & 31;
    u32 place = 0;
    for (u32 left = __ballot_sync(FULL, listed); left;) {
        const u32 first = __ffs((i32)left) - 1, asked = __shfl_sync(FULL, list, first);
        const u32 same = __ballot_sync(FULL, listed && list == asked);
        u32 taken = 0;
        if (lane == first) taken = atomicAdd(order.counts + list, (u32)__popc(same));
        taken = __shfl_sync(FULL, taken, first);
        if (same >> lane & 1) place = taken + __popc(same & ((1u << lane) - 1));
        left &= ~same;
    }
    return place;
}

// Sixteen threads a chunk, one a stream. A chunk without symbols has streams too, which share the work of clearing.
extern "C" __global__ void __launch_bounds__(256) parse_chunks(const CoderArguments a) {
    const u32 c = (blockIdx.x * blockDim.x + threadIdx.x) / MAX_STREAMS, s = threadIdx.x % MAX_STREAMS;
    const bool exists = c < a.chunk_count;
    const u64 offset = exists ? a.chunks[c].offset : 0;
    const u32 bytes = exists ? a.chunks[c].bytes : 0;
    const u8 *payload = a.output + offset;
    const u32 code = bytes > 0 ? payload[0] : 255, flags = bytes > 1 ? payload[1] : 255;
    const bool coded = code >= 1 && code < ONE_STREAM + MAX_STREAMS && flags <= (HAS_LISTS | WIDE_SIZES);
    const u32 lanes = coded ? lanes_of(code) : 0, streams = coded ? streams_of(code) : 0;
    const u32 width = flags & WIDE_SIZES ? 4 : 2, sizes = flags & HAS_LISTS ? 4 : 1, header = 2 + streams * sizes * width;
    Stream stream = {c, s, 0, 0, 0, 0, 0, 0};
    bool sound = coded && header <= bytes;
    u64 size = 0;
    if (sound && s < streams) {
        const u8 *at = payload + 2 + s * sizes * width;
        stream.words = read_size(at, width);
        if (sizes == 4) {
            stream.escapes = read_size(at + width, width);
            stream.exact = read_size(at + 2 * width, width);
            stream.raw = read_size(at + 3 * width, width);
        }
        size = 4 * lanes + 2 * ((u64)stream.words + stream.escapes) + (u64)stream.exact * (a.bits / 8) + stream.raw;
    }
    const u32 odd = __ballot_sync(FULL, stream.raw % 2 != 0 || stream.raw > MOST_RAW);
    u64 end = size;
    for (u32 by = 1; by < MAX_STREAMS; by <<= 1) {
        const u64 other = __shfl_up_sync(FULL, end, by);
        if (s >= by) end += other;
    }
    const u64 total = header + __shfl_sync(FULL, end, MAX_STREAMS - 1, MAX_STREAMS);
    sound = sound && total == bytes && (odd >> (threadIdx.x / MAX_STREAMS % 2 * MAX_STREAMS) & 0xffff) == 0;
    const bool empty = exists && code == 0 && bytes == 1;
    if (exists && s == 0) {
        a.chunks[c].code = sound ? code : 0;
        a.chunks[c].flags = sound ? flags : 0;
        a.chunks[c].error = !sound && !empty;
    }
    const bool listed = empty || (sound && s < streams);
    stream.first_word = offset + header + end - size;
    if (listed) a.streams[c * MAX_STREAMS + s] = stream;
    // Rounds cannot be known; words tell which of two streams with as many tiles has more of them.
    u32 rounds = 1;
    if (listed && !empty) {
        const u32 tiles = a.chunks[c].tile_end - a.chunks[c].tile, own = (s + 1) * tiles / streams - s * tiles / streams;
        rounds = a.chunks[c].nodes / lanes * own / tiles;
    }
    const StreamOrder order(a);
    const u32 list = list_of(rounds + stream.words / 4), place = take_place(order, list, listed);
    if (listed) order.lists[list * order.capacity + place] = c * MAX_STREAMS + s;
}
