// The class coder, decoding: one warp a stream. Nothing in a payload is trusted: every index is checked against the
// sizes of its part before it is used, and a stream that does not add up marks its chunk.
#include "class.cuh"

constexpr u32 DECODE_WARPS = 32;
// In place of the last class of a slot that no tile has had yet.
constexpr u32 NO_CLASS = 255;

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
            Stream stream = {c, s, read_size(header, width), 0, 0, 0, at};
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

// The words of a unit and those behind it are asked for in pieces of 128 bytes.
constexpr u32 WORDS_OF_LINE = 64;
constexpr u32 LINES_AHEAD = 10;

struct Decoder {
    const u16 *words;
    u32 count, at, state, below;

    // `tokens`: 2048 of them; `frequencies`: of the table's tokens.
    __device__ __forceinline__ u32 get(const u8 *tokens, const u32 *frequencies, bool active) {
        const u32 slot = state & (PROB_SUM - 1);
        const u32 token = tokens[slot], f = frequencies[token];
        const u32 next = (f & 0xffff) * (state >> PROB_BITS) + slot - (f >> 16);
        const bool refill = active & (next < STATE_MIN);
        const u32 mask = __ballot_sync(FULL, refill);
        const u32 i = at + __popc(mask & below);
        u32 word = 0;
        if (refill & (i < count)) word = words[i];
        at += __popc(mask);
        state = active ? refill ? next << 16 | word : next : state;
        return active ? token : 0;
    }
    __device__ __forceinline__ void ask_ahead(u32 lane) const {
        if (lane < LINES_AHEAD) fetch_ahead(words + min(at + WORDS_OF_LINE * lane, count));
    }
};

template <class D> struct StreamDecoder {
    const CoderArguments &a;
    // Tables of symbols in shared memory.
    const u8 *tokens;
    const u32 *frequencies, *first;
    Decoder rans;
    const u16 *escapes, *exact, *raw;
    u32 escape_count, exact_count, raw_words;
    u32 lanes, lane;
    u32 escape_at, exact_at;
    u64 raw_at;
    bool broken;

    __device__ __forceinline__ D exact_value(u32 index) const {
        D value = 0;
        constexpr u32 PIECES = sizeof(D) / 2;
        if (index < exact_count) {
            for (u32 k = 0; k < PIECES; k++) value |= (D)exact[index * PIECES + k] << (16 * k);
        }
        return value;
    }
    __device__ __forceinline__ u64 raw_bits(u64 bit, u32 width) const {
        u64 value = 0;
        u32 have = 0;
        while (have < width) {
            const u64 word = (bit + have) / 16;
            const u32 skip = (u32)((bit + have) % 16);
            const u64 piece = word < raw_words ? (u64)raw[word] >> skip : 0;
            value |= piece << have;
            have += 16 - skip;
        }
        return width < 64 ? value & ((1ull << width) - 1) : value;
    }
    __device__ void expect_raw(u32 len, u32 width) { broken = broken || raw_at + (u64)len * width > 16 * (u64)raw_words; }

    // A token of one of the tables that are not in shared memory.
    __device__ __forceinline__ u32 rare(u32 table, bool active) {
        return rans.get(a.tables.tokens + table * PROB_SUM, a.tables.frequencies + a.tables.first[table], active);
    }
    // The class rounds of a tile; leaves the last class of each slot in `last` and the forms of the units in `forms`.
    __device__ void classes(const Tile &tile, u8 *last, u32 *forms) {
        const Unit *units = a.units + a.unit_first[tile.shape];
        const u32 count = a.unit_first[tile.shape + 1] - a.unit_first[tile.shape];
        u32 end;
        for (u32 begin = 0; begin < count; begin = end) {
            end = min(units[begin].step_end, begin + lanes);
            const bool active = lane < lanes && begin + lane < end;
            const Unit unit = units[active ? begin + lane : begin];
            const u32 own = last[unit.slot], parent = unit.parent == NONE ? NO_CLASS : last[unit.parent];
            const u32 kind = rare(a.tables.after(own == NO_CLASS ? NONE : own, parent == NO_CLASS ? NONE : parent), active);
            u32 table = 0, shift = 0;
            const bool is_exact = active && kind == a.tables.exact_class();
            if (__any_sync(FULL, is_exact)) {
                table = rare(a.tables.uniform(), is_exact);
                shift = rare(a.tables.uniform(), is_exact);
            }
            __syncwarp();
            if (active) {
                last[unit.slot] = (u8)kind;
                forms[begin + lane] = Form(kind, table, shift).word;
            }
            __syncwarp();
        }
    }
    // Units begin anywhere: single symbols up to an even place, then two at a time.
    __device__ void zeros(u64 start, u32 len) {
        i16 *q = a.q + start;
        const u32 odd = (u32)(start & 1), pairs = (len - odd) / 2;
        if (lane == 0 && odd) q[0] = 0;
        for (u32 i = lane; i < pairs; i += 32) ((u32 *)(q + odd))[i] = 0;
        if (lane == 0 && (len - odd) % 2) q[len - 1] = 0;
    }
    // Raw bits of a quantized node: at most 8, so that two words hold them.
    __device__ __forceinline__ u32 few_raw_bits(u32 bit, u32 width) const {
        const u32 word = bit / 16;
        const u32 low = word < raw_words ? raw[word] : 0, high = word + 1 < raw_words ? raw[word + 1] : 0;
        return (low | high << 16) >> (bit % 16) & ((1u << width) - 1);
    }
    template <bool SHIFTED> __device__ __forceinline__ void
    round(const u8 *table_tokens, const u32 *table_frequencies, u64 node, u32 index, bool active, u32 escape, u32 shift) {
        const u32 token = rans.get(table_tokens, table_frequencies, active);
        u32 z = token;
        if (SHIFTED && active) z = token << shift | few_raw_bits((u32)raw_at + index * shift, shift);
        i16 q = unzigzag(z);
        const bool escaped = active && token == escape;
        if (__any_sync(FULL, escaped)) q = escaped_symbol(escaped, q, node);
        if (active) a.q[node] = q;
    }
    // Of the lanes that escaped: their symbols from the list; an exact one's delta goes to its place.
    __device__ __forceinline__ i16 escaped_symbol(bool escaped, i16 q, u64 node) {
        const u32 mask = __ballot_sync(FULL, escaped), index = escape_at + __popc(mask & rans.below);
        if (escaped) q = index < escape_count ? (i16)escapes[index] : 0;
        escape_at += __popc(mask);
        const bool is_exact = escaped && q == EXACT;
        const u32 exacts = __ballot_sync(FULL, is_exact);
        if (is_exact) ((D *)a.delta)[node] = exact_value(exact_at + __popc(exacts & rans.below));
        exact_at += __popc(exacts);
        return q;
    }
    template <bool SHIFTED>
    __device__ __forceinline__ void rounds(const u8 *table_tokens, const u32 *table_frequencies, u64 start, u32 len, u32 escape, u32 shift) {
        u32 i = 0;
        if (lanes == 32) {
            for (; i + 32 <= len; i += 32) round<SHIFTED>(table_tokens, table_frequencies, start + i + lane, i + lane, true, escape, shift);
        }
        for (; i < len; i += lanes) {
            const bool active = lane < lanes && i + lane < len;
            round<SHIFTED>(table_tokens, table_frequencies, start + i + lane, i + lane, active, escape, shift);
        }
    }
    __device__ void quantized(u64 start, u32 len, u32 kind) {
        const u32 packed = a.tables.classes[kind - 1], table = packed & 255, shift = packed >> 8;
        const u32 escape = first[table + 1] - first[table] - 1;
        expect_raw(len, shift);
        rans.ask_ahead(lane);
        if (shift) rounds<true>(tokens + table * PROB_SUM, frequencies + first[table], start, len, escape, shift);
        else rounds<false>(tokens + table * PROB_SUM, frequencies + first[table], start, len, escape, 0);
        raw_at += (u64)len * shift;
    }
    __device__ void exact_unit(u64 start, u32 len, const Form &form) {
        const u32 table = form.table();
        const bool coded = table != ALL_EQUAL && table != PLAIN;
        const u32 width = table == PLAIN ? a.bits : form.shift();
        if ((coded && table >= a.tables.symbol_tables) || (table != PLAIN && width >= a.bits)) {
            broken = true;
            return;
        }
        const u32 escape = coded ? first[table + 1] - first[table] - 1 : 0;
        expect_raw(len, width);
        for (u32 i = 0; i < len; i += lanes) {
            const bool active = lane < lanes && i + lane < len;
            const u32 token = coded ? rans.get(tokens + table * PROB_SUM, frequencies + first[table], active) : 0;
            u64 value = active ? raw_bits(raw_at + (u64)(i + lane) * width, width) : 0;
            if (coded) value |= (u64)token << width;
            const bool escaped = coded && active && token == escape;
            const u32 mask = __ballot_sync(FULL, escaped);
            if (escaped) value = exact_value(exact_at + __popc(mask & rans.below));
            exact_at += __popc(mask);
            if (__any_sync(FULL, value != (D)value)) broken = true;
            if (active) {
                a.q[start + i + lane] = EXACT;
                ((D *)a.delta)[start + i + lane] = (D)value;
            }
        }
        raw_at += (u64)len * width;
    }
    // Whether every part was used up and every lane is back at its start.
    __device__ bool finished() {
        const u64 left = 16 * (u64)raw_words - raw_at;
        bool good = !broken && rans.at == rans.count && escape_at == escape_count && exact_at == exact_count && left < 16;
        if (good) good = raw_bits(raw_at, (u32)left) == 0;
        return __all_sync(FULL, good && (lane >= lanes || rans.state == STATE_MIN));
    }
};

template <class D> __device__ void decode_streams(const CoderArguments &a) {
    SHARED_MEMORY(memory);
    u32 *first = (u32 *)memory;
    u32 *frequencies = first + (a.tables.symbol_tables + 4) / 4 * 4;
    const u32 entries = a.tables.first[a.tables.symbol_tables];
    u8 *tokens = (u8 *)(frequencies + (entries + 3) / 4 * 4);
    for (u32 i = threadIdx.x; i <= a.tables.symbol_tables; i += blockDim.x) first[i] = a.tables.first[i];
    for (u32 i = threadIdx.x; i < entries; i += blockDim.x) frequencies[i] = a.tables.frequencies[i];
    for (u32 i = threadIdx.x; i < a.tables.symbol_tables * PROB_SUM / 16; i += blockDim.x) ((uint4 *)tokens)[i] = ((const uint4 *)a.tables.tokens)[i];
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, per_warp = (max(a.slots, a.units_in_tile) + 15) / 16 * 16;
    u32 *forms = (u32 *)(tokens + a.tables.symbol_tables * PROB_SUM) + warp * per_warp;
    u8 *last = (u8 *)((u32 *)(tokens + a.tables.symbol_tables * PROB_SUM) + DECODE_WARPS * per_warp) + warp * per_warp;
    const u32 count = (u32)a.totals[0];
    for (u32 s = next_stream(a); s < count; s = next_stream(a)) {
        const Stream stream = a.streams[s];
        const Chunk chunk = a.chunks[stream.chunk];
        const u32 lanes = lanes_of(chunk.code);
        const u16 *states = (const u16 *)(a.output + stream.first_word), *words = states + 2 * lanes;
        u32 state = STATE_MIN;
        if (lane < lanes) state = states[2 * lane] | (u32)states[2 * lane + 1] << 16;
        const u16 *escapes = words + stream.words, *exact = escapes + stream.escapes;
        const u16 *raw = exact + stream.exact * (u32)(sizeof(D) / 2);
        StreamDecoder<D> decoder = {a, tokens, frequencies, first, {words, stream.words, 0, state, (1u << lane) - 1}, escapes, exact, raw, stream.escapes,
                                    stream.exact, stream.raw / 2, lanes, lane, 0, 0, 0, false};
        for (u32 i = lane; i < a.slots; i += 32) last[i] = NO_CLASS;
        __syncwarp();
        const u32 end = stream_tile(chunk, stream.index + 1);
        for (u32 t = stream_tile(chunk, stream.index); t < end && !decoder.broken; t++) {
            const Tile tile = a.tiles[t];
            decoder.classes(tile, last, forms);
            for (u32 j = a.unit_first[tile.shape]; j < a.unit_first[tile.shape + 1]; j++) {
                const Unit unit = a.units[j];
                const Form form(forms[j - a.unit_first[tile.shape]]);
                const u64 start = tile.start + unit.start;
                if (form.kind() == 0) decoder.zeros(start, unit.len);
                else if (form.kind() == a.tables.exact_class()) decoder.exact_unit(start, unit.len, form);
                else decoder.quantized(start, unit.len, form.kind());
            }
            __syncwarp();
        }
        if (!decoder.finished() && lane == 0) atomicOr(&a.chunks[stream.chunk].error, 1u);
    }
}

// Chunks without symbols: a block a chunk.
extern "C" __global__ void clear_empty_chunks(const CoderArguments a) {
    for (u32 c = blockIdx.x; c < a.chunk_count; c += gridDim.x) {
        if (a.chunks[c].code != 0) continue;
        const u64 begin = a.tiles[a.chunks[c].tile].start, end = a.tiles[a.chunks[c].tile_end].start;
        for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) a.q[i] = 0;
    }
}

extern "C" __global__ void __launch_bounds__(32 * DECODE_WARPS, 1) decode_streams_32(const CoderArguments a) { decode_streams<u32>(a); }
extern "C" __global__ void __launch_bounds__(32 * DECODE_WARPS, 1) decode_streams_64(const CoderArguments a) { decode_streams<u64>(a); }
