// The planes coder, decoding: where each tile's planes stand; then whole tiles from planes to values in one kernel, symbols of the others.
#include "planes_store.cuh"

// Warps of the block that takes a chunk: a thread a tile.
constexpr u32 PARSE_WARPS = CHUNK_TILES / 32;

// Sequential bits of a chunk are trusted only inside it.
struct Bytes {
    const u8 *at;
    u32 count;
    __device__ __forceinline__ u32 byte(u32 i) const { return i < count ? at[i] : 0; }
    __device__ __forceinline__ u32 word(u32 i) const { return 4 * i + 4 <= count ? ((const u32 *)at)[i] : 0; }
};

// The exact nodes of a tile, bit by bit, of a group whose 16 planes are at `planes`.
__device__ __forceinline__ u32 exact_nodes(const u32 *planes, u32 group, u32 nodes) {
    u32 all = FULL;
    for (u32 b = 0; b < 16; b++) all &= planes[b];
    return nodes >= GROUP * (group + 1) ? all : all & ((1u << (nodes % GROUP)) - 1);
}

// The sum of what the threads before this one have, and of what all have: one barrier, and `sums` of its own, a word a warp, for each call.
__device__ __forceinline__ u32 scan_block(u32 value, u32 *sums, u32 &total) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 sum = value;
#pragma unroll
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(FULL, sum, by);
        sum += lane >= by ? other : 0;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    const u32 of_warp = lane < PARSE_WARPS ? sums[lane] : 0;
    total = __reduce_add_sync(FULL, of_warp);
    return __reduce_add_sync(FULL, lane < warp ? of_warp : 0) + sum - value;
}
// Whether a thread of the block has it.
__device__ __forceinline__ bool any_of_block(bool has, u32 *sums) {
    const bool of_warp = __any_sync(FULL, has);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = of_warp;
    __syncthreads();
    const u32 lane = threadIdx.x % 32;
    return __any_sync(FULL, lane < PARSE_WARPS && sums[lane]);
}

// A block a chunk, a thread a tile: its record. Damage is noted in the chunk.
extern "C" __global__ void __launch_bounds__(32 * PARSE_WARPS, 4) parse_planes(const PlanesArguments a) {
    __shared__ u32 sums[5][PARSE_WARPS];
    Chunk &chunk = a.chunks[blockIdx.x];
    const Bytes bytes = {a.output + chunk.offset, chunk.bytes};
    const u32 t = threadIdx.x, tiles = chunk.tile_end - chunk.tile, number = chunk.tile + t;
    const u32 nodes = t < tiles ? a.shape_nodes[a.tiles[number].shape] : 0;
    const u32 head = bytes.word(0), flags = head >> 8 & 0xff, map = bytes.word(1 + t / 32);
    bool bad = chunk.bytes < 4 || chunk.bytes % 4 != 0 || head >> 16 != 0 || flags > 2 || (flags == ALL_ZERO && chunk.bytes != 4);
    const bool zero = flags == ALL_ZERO || bad;
    const u32 map_word = zero ? 0 : map;
    const bool with = t < tiles && (map_word >> (t % 32) & 1);
    // bits beyond the last tile
    if (t >= tiles && t / 32 <= (tiles - 1) / 32 && (map_word >> (t % 32) & 1)) bad = true;
    const u32 size = with ? mask_bytes(nodes) : 0;
    u32 masks, groups, all_words;
    const u32 mask_at = 4 + 4 * ((tiles + 31) / 32) + scan_block(size, sums[0], masks);
    u32 mask = with ? bytes.byte(mask_at) | (size > 1 ? bytes.byte(mask_at + 1) << 8 : 0) : 0;
    if (with && (mask == 0 || mask >> ((nodes + GROUP - 1) / GROUP) != 0)) bad = true, mask = 0;
    const u32 group = scan_block(__popc(mask), sums[1], groups);
    const Layout before(tiles, Counts(counts_of(0, groups, masks)));
    // the nibbles of this tile, and what follows them cut off
    const u32 word = before.widths / 4 + group / 8, shift = group % 8 * 4, count = __popc(mask);
    const u32 packed[3] = {bytes.word(word), bytes.word(word + 1), bytes.word(word + 2)};
    const auto cut = [&](u32 all, u32 before) { return count <= before ? 0 : count >= before + 8 ? all : all & ((1u << (4 * (count - before))) - 1); };
    const u32 nibbles[2] = {cut(__funnelshift_r(packed[0], packed[1], shift), 0), cut(__funnelshift_r(packed[1], packed[2], shift), 8)};
    const u32 less = (nibbles[0] & 0x0f0f0f0f) + (nibbles[0] >> 4 & 0x0f0f0f0f) + (nibbles[1] & 0x0f0f0f0f) + (nibbles[1] >> 4 & 0x0f0f0f0f);
    const u32 words = count + (less * 0x01010101 >> 24);
    // only groups of 16 planes, whose nibbles are full, have exact nodes
    const auto full = [](u32 all) { return (all & all >> 1 & all >> 2 & all >> 3 & 0x11111111) != 0; };
    const bool wide = full(nibbles[0]) || full(nibbles[1]);
    // padding
    if (!zero && t < before.widths - before.masks - masks && bytes.byte(before.masks + masks + t) != 0) bad = true;
    if (!zero && t < before.planes - before.widths - (groups + 1) / 2 && bytes.byte(before.widths + (groups + 1) / 2 + t) != 0) bad = true;
    if (!zero && t == 0 && groups % 2 && bytes.byte(before.widths + groups / 2) >> 4 != 0) bad = true;
    const u32 start = scan_block(words, sums[2], all_words);
    const u64 exact_place = before.planes + 4 * (u64)all_words;
    const bool inside = zero || exact_place <= chunk.bytes;
    // the first word of the planes in the whole output
    const u32 planes = (u32)((chunk.offset + before.planes) / 4) + start;
    const u64 widths = (u64)nibbles[1] << 32 | nibbles[0];
    u32 exact = 0, all_exact;
    u64 rest_widths = widths;
    for (u32 rest = wide && inside ? mask : 0, at = planes; rest; rest &= rest - 1, rest_widths >>= 4) {
        const u32 width = (u32)rest_widths % 16 + 1;
        if (width == 16) exact += __popc(exact_nodes((const u32 *)a.output + at, __ffs((i32)rest) - 1, nodes));
        at += width;
    }
    const u32 exact_before = scan_block(exact, sums[3], all_exact);
    bad |= !inside || (!zero && (all_exact > 0) != (flags == HAS_EXACT));
    bad |= !zero && inside && exact_place + (u64)all_exact * a.value_bytes != chunk.bytes;
    // nothing is read of a damaged chunk
    const bool sound = !any_of_block(bad, sums[4]);
    if (t == 0 && !sound) chunk.error = 1;
    if (t >= tiles) return;
    const bool slow = sound && exact > 0;
    a.records[number] = {planes, sound ? mask | words << WORDS_AT | (slow ? NOT_ALL_QUANTIZED : 0) : 0, widths};
    a.exact_at[number] = (u32)((chunk.offset + exact_place) / 4) + exact_before * (a.value_bytes / 4);
    // the host has noted the array in place of a stream
    if (slow) leave_out(a, chunk.stream, number);
}

extern "C" __global__ void __launch_bounds__(128) unpack_planes(const PlanesArguments a) {
    each_other_tile(a, [&](u32 tile) {
        if (a.value_bytes == 4) unpack_tile<u32>(a, tile);
        else unpack_tile<u64>(a, tile);
    });
}

template <class T> struct Rebuild {
    T step;
    const i16 *symbols;

    template <bool EVERY, u32 ROW> __device__ __forceinline__ void put(T &v, T p, bool valid, u32 rank) const {
        // a lane whose node is not there reads the symbol of another
        const T r = Real<T>::fma((T)(i32)(symbols + rank)[ROW], step, p);
        v = EVERY || valid ? r : v;
    }
    template <u32 ROW> __device__ __forceinline__ void put_last(T &v, T p, bool valid, u32 rank) const { put<false, ROW>(v, p, valid, rank); }
};

// Records and planes of the warp's tiles that were asked for ahead: lane l works for tile l mod 4.
struct PlanesAhead {
    const PlanesArguments &a;
    TileRecord *records;
    u32 *planes;
    static constexpr u32 BYTES = 8 * sizeof(TileRecord) + 16 * TILE_WORDS;

    __device__ __forceinline__ PlanesAhead(const PlanesArguments &a, char *memory) : a(a), records((TileRecord *)memory), planes((u32 *)(records + 8)) {}
    __device__ __forceinline__ void ask_records(u32 i, const Quad &quad) const {
        const u32 lane = threadIdx.x % 32;
        if (lane < quad.count()) copy_ahead<16>(records + i % 2 * 4 + lane, a.records + quad.number() + lane);
    }
    __device__ __forceinline__ TileRecord record(u32 i, const Quad &quad) const {
        const u32 tile = threadIdx.x % 4;
        const TileRecord none = {0, 0, 0};
        return tile < quad.count() ? records[i % 2 * 4 + tile] : none;
    }
    __device__ __forceinline__ void ask_planes(const TileRecord &record) const {
        const u32 *from = (const u32 *)a.output + record.planes, words = record.words();
        u32 *to = planes + threadIdx.x % 4 * TILE_WORDS;
        for (u32 i = threadIdx.x % 32 / 4; i < words; i += 8) copy_ahead<4>(to + i, from + i);
    }
};

// TOGETHER: rows do not begin where sectors do.
template <class T, bool TOGETHER> __device__ __forceinline__ void decode_whole(const WholeArguments<T> &a) {
    SHARED_MEMORY(shared);
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    char *memory = shared + warp * WARP_BYTES;
    __shared__ __align__(16) T last_weights[LastAxis<T>::WEIGHTS];
    const LastAxis<T> last(a.weights, last_weights);
    const Sweep<T> sweep = {a.weights, last};
    const Ahead<T> ahead(a, shared + PLANES_WARPS * WARP_BYTES + warp * Ahead<T>::BYTES);
    const PlanesAhead planes(a.planes, shared + PLANES_WARPS * (WARP_BYTES + Ahead<T>::BYTES) + warp * PlanesAhead::BYTES);
    __shared__ u32 of_round[4];
    Turns<T> turns(a, of_round);
    if (turns.takes(0)) {
        // entries 0 and 1, records of both, corners and planes of the first
        ahead.ask_quad(0, turns.entry(0));
        ahead.ask_quad(1, turns.entry(1));
        copies_arrived();
        __syncwarp();
        ahead.ask_corners(ahead.quads[0]);
        planes.ask_records(0, ahead.quads[0]);
        if (turns.takes(1)) planes.ask_records(1, ahead.quads[1]);
        copies_arrived();
        __syncwarp();
        planes.ask_planes(planes.record(0, ahead.quads[0]));
    }
    const RowsTogether<T> together(a, shared);
    for (u32 i = 0; turns.has(i); i++) {
        __syncthreads();
        if (!turns.takes(i)) {
            if (TOGETHER) together.nothing();
            continue;
        }
        turns.ask();
        T v[SIDE * SIDE] = {};
        copies_arrived();
        __syncwarp();
        const Quad quad = ahead.quads[i % 2];
        ahead.take_corners(v);
        const TileRecord record = planes.record(i, quad);
        const Quantizer<T> z = quantizer_of(a, quad);
        take_planes(planes.planes, record, memory);
        // bit t: tile t is not there, or has exact nodes
        const u32 out = __ballot_sync(FULL, lane % 4 >= quad.count() || record.mask & NOT_ALL_QUANTIZED);
        __syncwarp();
        if (turns.takes(i + 1)) {
            const Quad next = ahead.quads[(i + 1) % 2];
            ahead.ask_corners(next);
            planes.ask_planes(planes.record(i + 1, next));
            ahead.ask_quad(i, turns.entry(i + 2));
        }
        Rebuild<T> op = {z.step, (const i16 *)(memory + lane / SIDE * SYMBOL_BYTES)};
        sweep.run(v, op);
        if (TOGETHER) together.store(quad, out, v);
        else if (!(out >> (lane / SIDE) & 1)) store_tile(a, quad, v);
        // its entry came with the values: the records of the one after the next
        copies_arrived();
        __syncwarp();
        if (turns.takes(i + 2)) planes.ask_records(i, ahead.quads[i % 2]);
        turns.put(i);
    }
}

extern "C" __global__ void __launch_bounds__(128, 4) decode_whole_f32(const WholeArguments<float> a) { decode_whole<float, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) decode_whole_f64(const WholeArguments<double> a) { decode_whole<double, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_together_f32(const WholeArguments<float> a) { decode_whole<float, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) decode_together_f64(const WholeArguments<double> a) { decode_whole<double, true>(a); }
