// The groups coder: streams between their slots and the bytes of chunks, a block a chunk.
#include "groups_streams.cuh"

// Every chunk starts one byte before a multiple of this, so that its payload, after the choice, is aligned.
constexpr u32 ALIGNMENT = 16;
constexpr u32 THREADS = 256, WARPS = THREADS / 32;
// In the first byte of a payload: there are exact nodes.
constexpr u32 HAS_EXACT = 128;
// Bits of the numbers of a table at most: of any, and of one that an encoder writes.
constexpr u32 MOST_BITS = 31, WRITTEN_BITS = 16;
// Words that a thread has under way while it copies.
constexpr u32 BATCH = 8;

// Bytes of a table of a number of each stream, with the byte in front of it.
__device__ __forceinline__ u32 table_bytes(u32 bits, u32 streams) { return 1 + (bits * streams + 7) / 8; }

// Where the parts of a payload begin, encoding.
struct Layout {
    u32 bits, exact_bits, exact_table, streams, exact, end;
    __device__ __forceinline__ Layout(const GroupsArguments &a, u32 number) {
        const Chunk &chunk = a.chunks[number];
        const u32 count = a.group_chunks[number].streams[walk_of(a.choices[number])];
        bits = bit_length(chunk.code), exact_bits = bit_length(chunk.flags);
        exact_table = table_bytes(bits, count);
        streams = exact_table + (exact_bits > 0 ? table_bytes(exact_bits, count) : 0);
        exact = streams + (u32)chunk.cost;
        end = exact + a.value_bytes * chunk.coded;
    }
};

// The place of the payload of chunk `own`, and of the end of all chunks.
__device__ __forceinline__ u64 payload_place(const GroupsArguments &a, u32 own, u64 &end) {
    __shared__ u32 sums[WARPS][2];
    u32 before = 0, all = 0;
    for (u32 c = threadIdx.x; c < a.chunk_count; c += THREADS) {
        const u32 room = (Layout(a, c).end + ALIGNMENT) / ALIGNMENT + 1;
        all += room;
        before += c < own ? room : 0;
    }
    before = __reduce_add_sync(FULL, before), all = __reduce_add_sync(FULL, all);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][0] = before, sums[threadIdx.x / 32][1] = all;
    __syncthreads();
    before = all = 0;
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) before += sums[w][0], all += sums[w][1];
    end = (u64)all * ALIGNMENT;
    return (u64)(before + 1) * ALIGNMENT;
}

// The sum of one number of each thread of the block before this one; also that of all.
__device__ __forceinline__ u32 scan_block(u32 value, u32 &total) {
    __shared__ u32 sums[WARPS];
    const u32 warp = threadIdx.x / 32, sum = scan_lanes(value, threadIdx.x % 32);
    if (threadIdx.x % 32 == 31) sums[warp] = sum;
    __syncthreads();
    u32 before = sum - value;
    total = 0;
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) before += w < warp ? sums[w] : 0, total += sums[w];
    __syncthreads();
    return before;
}

// Numbers of the streams of a chunk.
struct Numbers {
    // Their sums before each stream, and that of all; where what they count stands now.
    u32 before[CHUNK_STREAMS + 1], source[CHUNK_STREAMS];
    // The table of the payload.
    u32 table[CHUNK_STREAMS * WRITTEN_BITS / 32 + 1];

    // `ahead`: number THREAD of them, or 0.
    __device__ void fill(const u32 *numbers, u32 count, u32 bits, u32 ahead) {
        for (u32 i = threadIdx.x; i < (bits * count + 31) / 32 + 1; i += THREADS) table[i] = 0;
        u32 sum = 0;
        for (u32 i = threadIdx.x; i < (count + THREADS - 1) / THREADS * THREADS; i += THREADS) {
            const u32 number = i < THREADS ? ahead : i < count ? numbers[i] : 0;
            u32 total;
            // also waits until the table is cleared
            const u32 own = sum + scan_block(number, total);
            sum += total;
            if (i < count) before[i] = own;
            if (number == 0) continue;
            const u32 bit = bits * i, high = __funnelshift_l(number, 0, bit);
            atomicOr(&table[bit / 32], number << (bit % 32));
            if (high) atomicOr(&table[bit / 32 + 1], high);
        }
        if (threadIdx.x == 0) before[count] = sum;
        __syncthreads();
    }
    // Calls f(the chunk's stream) for all streams, which says where what they count stands. The block waits later.
    template <class F> __device__ void find(const GroupsArguments &a, const Chunk &chunk, u32 first, F f) {
        for (u32 i = threadIdx.x; i < (chunk.tile_end - chunk.tile) * a.tile_streams; i += THREADS) {
            const TileStream stream(a, chunk.tile + i / a.tile_streams, i % a.tile_streams);
            if (stream.exists) source[stream.number - first] = f(stream);
        }
    }
    __device__ void put_table(u8 *out, u32 head, u32 bits, u32 count) const {
        if (threadIdx.x == 0) out[0] = (u8)head;
        for (u32 i = threadIdx.x; i + 1 < table_bytes(bits, count); i += THREADS) out[1 + i] = ((const u8 *)table)[i];
    }
};

// Part of the bytes of a stream on their way to any place, by a warp: BATCH words a lane.
struct Piece {
    // Where whole words begin in the output, and how many there are from this piece on; bytes before and behind them.
    u32 *out;
    u32 words, head, tail;
    // The words read, of which the first is number 0 of the piece; the one behind the last; a byte that does not belong to a whole word.
    u32 low[BATCH], behind;
    u8 *byte_to;
    u8 byte;

    // From word `first` on; says whether it is the last one.
    __device__ __forceinline__ bool load(u8 *to, const u32 *from, u32 count, u32 first) {
        const u32 lane = threadIdx.x % 32;
        head = min((u32)(0 - (u64)to) % 4, count), tail = (count - head) % 4;
        const u32 all = (count - head) / 4;
        words = all - first, out = (u32 *)(to + head) + first;
        // what is read reaches to where the last word of the output ends
        const u32 read = head > 0 ? words + 1 : words;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) low[k] = lane + 32 * k < read ? from[first + lane + 32 * k] : 0;
        behind = 32 * BATCH < read ? from[first + 32 * BATCH] : 0;
        byte_to = nullptr;
        if (first == 0 && lane < head + tail) {
            const u32 at = lane < head ? lane : 4 * all + lane;
            byte_to = to + at, byte = ((const u8 *)from)[at];
        }
        return words <= 32 * BATCH;
    }
    __device__ __forceinline__ void store() const {
        const u32 lane = threadIdx.x % 32;
        if (byte_to) *byte_to = byte;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const u32 later = k + 1 < BATCH ? low[(k + 1) % BATCH] : behind, next = __shfl_sync(FULL, lane == 0 ? later : low[k], (lane + 1) % 32);
            if (lane + 32 * k < words) out[lane + 32 * k] = __funnelshift_r(low[k], next, 8 * head);
        }
    }
};
// Copies the streams of a chunk, each to where those before it end, a warp a stream; a piece is read before the one in front of it is written.
// `unit`: bytes of what `numbers` counts. Of `shares` blocks that share them this is number `share`.
__device__ __forceinline__ void copy_streams(const Numbers &numbers, u32 count, u32 unit, u8 *out, const u32 *from, u32 share, u32 shares) {
    Piece ahead;
    u32 s = share * WARPS + threadIdx.x / 32, first = 0;
    const auto load = [&]() {
        const u32 before = numbers.before[s];
        const bool last = ahead.load(out + unit * before, from + numbers.source[s], unit * (numbers.before[s + 1] - before), first);
        first = last ? 0 : first + 32 * BATCH, s = last ? s + WARPS * shares : s;
    };
    if (s < count) load();
    else return;
#pragma unroll 1
    while (true) {
        const Piece piece = ahead;
        const bool more = s < count;
        if (more) load();
        piece.store();
        if (!more) return;
    }
}

struct ResetArguments {
    // The chunks as they are before any work, and as they are worked on.
    const u32 *fresh;
    u32 *chunks;
    u8 *choices;
    // What is counted from 0 again.
    u32 *counts;
    u32 chunk_words, chunk_count, choice, count_words;
};

// Makes the chunks ready to be encoded once more, all with the same choice: all that is set before, at once.
extern "C" __global__ void __launch_bounds__(256) reset_chunks(const ResetArguments a) {
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i < a.chunk_words) a.chunks[i] = a.fresh[i];
    if (i < a.chunk_count) a.choices[i] = (u8)a.choice;
    if (i < a.count_words) a.counts[i] = 0;
}

struct AssembleArguments {
    // Of the chunks up to the last one that is wanted; their number.
    GroupsArguments groups;
    // The first one that is; blocks that share the streams of a chunk.
    u32 first, shares;
};

// `unless_left`: only if no tiles were left out, whose streams are not there yet.
__device__ __forceinline__ void assemble_chunk(const AssembleArguments &arguments, bool unless_left) {
    __shared__ Numbers numbers;
    const GroupsArguments &a = arguments.groups;
    // it comes while other things do
    const u32 left = unless_left && a.left_out_count ? *a.left_out_count : 0;
    const u32 shares = arguments.shares, share = blockIdx.x % shares, own = arguments.first + blockIdx.x / shares;
    const u32 walk = walk_of(a.choices[own]), thread = threadIdx.x;
    Chunk &chunk = a.chunks[own];
    const GroupChunk &of_chunk = a.group_chunks[own];
    const u32 count = of_chunk.streams[walk], first = of_chunk.first, words = a.value_bytes / 4;
    const Layout layout(a, own);
    const u64 first_slot = a.group_tiles[chunk.tile].slot;
    // what comes from memory before anyone waits
    const u32 length = thread < count ? a.lengths[first + thread] : 0;
    numbers.find(a, chunk, first, [&](const TileStream &stream) { return (u32)(stream.slot - first_slot); });
    u64 end;
    const u64 place = payload_place(a, own, end);
    if (left > 0) return;
    if (thread == 0 && share == 0) {
        chunk.offset = place, chunk.bytes = layout.end;
        // for good where these are the last ones
        if (blockIdx.x == 0) a.totals[1] = end;
    }
    if (end > a.capacity) return;
    u8 *out = a.output + place;
    if (thread == 0 && share == 0) out[-1] = a.choices[own];
    numbers.fill(a.lengths + first, layout.bits == 0 ? 0 : count, layout.bits, length);
    if (share == 0) numbers.put_table(out, layout.bits | (layout.exact_bits > 0 ? HAS_EXACT : 0), layout.bits, count);
    if (layout.bits == 0) return;
    copy_streams(numbers, count, 1, out + layout.streams, a.slots + first_slot, share, shares);
    if (layout.exact_bits == 0) return;
    __syncthreads();
    numbers.fill(a.exact_counts + first, count, layout.exact_bits, thread < count ? a.exact_counts[first + thread] : 0);
    if (share == 0) numbers.put_table(out + layout.exact_table, layout.exact_bits, layout.exact_bits, count);
    const u64 first_exact = a.tiles[chunk.tile].start;
    numbers.find(a, chunk, first, [&](const TileStream &stream) { return (u32)(stream.exact - first_exact) * words; });
    __syncthreads();
    copy_streams(numbers, count, a.value_bytes, out + layout.exact, (const u32 *)a.exact + first_exact * words, share, shares);
}

extern "C" __global__ void __launch_bounds__(256, 4) assemble_groups(const AssembleArguments a) { assemble_chunk(a, true); }
// Behind the streams of tiles that were left out, if there are any.
extern "C" __global__ void __launch_bounds__(256, 4) assemble_left_groups(const AssembleArguments a) {
    if (*a.groups.left_out_count > 0) assemble_chunk(a, false);
}

// The bytes of a chunk, of which none is trusted.
struct Payload {
    const u8 *at;
    u32 count;
    __device__ __forceinline__ u32 byte(u64 i) const { return i < count ? at[i] : 0; }
    // `bits` bits from bit `bit` on.
    __device__ __forceinline__ u32 bits(u64 bit, u32 bits) const {
        u64 all = 0;
        for (u32 k = 0; k < 5; k++) all |= (u64)byte(bit / 8 + k) << (8 * k);
        return (u32)(all >> (bit % 8)) & low_bits(bits);
    }
    // A table of `bits` bits a number after the byte at `at`: calls f(i, number, sum of those before). The sum of all; `bad` where it is damaged.
    template <class F> __device__ u64 table(u32 at, u32 bits, u32 streams, bool &bad, F f) const {
        const u32 end = at + table_bytes(bits, streams), beyond = bits * streams % 8;
        bad |= bits > MOST_BITS || end > count;
        // what the last byte has beyond them
        bad |= !bad && beyond > 0 && byte(end - 1) >> beyond != 0;
        u64 sum = 0;
        u32 all = 0;
        for (u32 r = 0; r < streams; r += THREADS) {
            const u32 i = r + threadIdx.x, number = i < streams && !bad ? this->bits(8 * ((u64)at + 1) + (u64)bits * i, bits) : 0;
            u64 total;
            const u64 before = sum + block_scan(number, total);
            sum += total;
            all |= number;
            if (i < streams) f(i, number, before);
        }
        // the largest needs all bits
        u64 longest;
        block_scan(bit_length(all) == bits, longest);
        bad |= longest == 0;
        return sum;
    }
};

// Where each stream of a chunk stands. Damage is noted in the chunk.
extern "C" __global__ void __launch_bounds__(256, 5) parse_groups(const GroupsArguments a) {
    Chunk &chunk = a.chunks[blockIdx.x];
    const GroupChunk &of_chunk = a.group_chunks[blockIdx.x];
    const Payload payload = {a.output + chunk.offset, chunk.bytes};
    const u32 streams = of_chunk.streams[walk_of(a.choices[blockIdx.x])], first = of_chunk.first, head = payload.byte(0), bits = head % HAS_EXACT;
    bool bad = chunk.bytes == 0;
    const u64 length = payload.table(0, bits, streams, bad, [&](u32 i, u32 number, u64 before) { a.lengths[first + i] = number, a.places[first + i] = before; });
    u64 at = table_bytes(bits, streams), values = 0;
    u32 exact_bits = 0;
    if (head & HAS_EXACT) {
        exact_bits = payload.byte(at);
        bad |= exact_bits == 0;
        values = payload.table((u32)at, exact_bits, streams, bad, [&](u32 i, u32 number, u64 before) { a.exact_counts[first + i] = number, a.exact_places[first + i] = before; });
        at += table_bytes(exact_bits, streams);
    }
    bad |= at + length + values * a.value_bytes != payload.count;
    for (u32 i = threadIdx.x; i < streams; i += THREADS) {
        const u64 start = at + a.places[first + i];
        const u32 bytes = a.lengths[first + i];
        // its last byte is not 0
        bad |= bytes > 0 && payload.byte(start + bytes - 1) == 0;
        a.places[first + i] = chunk.offset + start;
        if (exact_bits > 0) a.exact_places[first + i] = chunk.offset + at + length + a.exact_places[first + i] * a.value_bytes;
        else a.exact_counts[first + i] = 0, a.exact_places[first + i] = 0;
    }
    u64 damage;
    block_scan(bad, damage);
    const bool any_exact = damage == 0 && values > 0;
    if (threadIdx.x == 0) chunk.error = damage > 0, chunk.coded = any_exact;
    const Choice choice = {a.choices[blockIdx.x]};
    const bool banded = takes_bands(choice);
    for (u32 tile = chunk.tile + threadIdx.x; tile < chunk.tile_end && !(banded && !any_exact); tile += THREADS) {
        if (a.tiles[tile].shape != a.banded_shape) continue;
        if (!banded || has_exact_bands(a, tile, walk_of(choice.byte))) leave_bands(a, tile);
    }
    // nothing is read of a damaged chunk
    for (u32 i = threadIdx.x; i < streams && damage > 0; i += THREADS) a.lengths[first + i] = 0, a.exact_counts[first + i] = 0, a.places[first + i] = 0;
}
