// The class coder, decoding: one warp a stream. Nothing in a payload is trusted: every index is checked against the
// sizes of its part before it is used, and a stream that does not add up marks its chunk.
#include "class.cuh"

// In place of the last class of a slot that no tile has had yet.
constexpr u32 NO_CLASS = 255;

// Words of a window, and of the piece by which it moves on.
constexpr u32 WINDOW = 64;
constexpr u32 PIECE = 32;

// The rANS states of a stream, a lane each, and its words. A window of words lies in registers, two words a lane, and moves on by
// half its length; the next half is read long before it is needed.
struct Decoder {
    // The words from a place that 4 bytes divide; `end` words belong to the stream or stand before it.
    const u32 *words;
    u32 end, window, next, begin, at, state, below, lane;

    __device__ __forceinline__ Decoder(const u16 *from, u32 count, u32 state, u32 lane) : state(state), below((1u << lane) - 1), lane(lane) {
        const u32 skew = (u32)((u64)from >> 1 & 1);
        words = (const u32 *)(from - skew);
        at = skew;
        begin = 0;
        end = count + skew;
        window = load(2 * lane);
        next = load(WINDOW + 2 * lane);
    }
    // Two words; those behind the end are 0.
    __device__ __forceinline__ u32 load(u32 word) const {
        const u32 pair = word < end ? words[word / 2] : 0;
        return word + 1 < end ? pair : pair & 0xffff;
    }
    __device__ __forceinline__ void move_on() {
        const u32 kept = __shfl_down_sync(FULL, window, PIECE / 2), added = __shfl_up_sync(FULL, next, PIECE / 2);
        window = lane < PIECE / 2 ? kept : added;
        at -= PIECE;
        begin += PIECE;
        next = load(begin + WINDOW + 2 * lane);
    }
    // Ends a round: `x` is the state without its table's slot.
    __device__ __forceinline__ void refill(u32 x, bool active) {
        const bool takes = active & (x < STATE_MIN);
        const u32 mask = __ballot_sync(FULL, takes);
        const u32 i = at + __popc(mask & below);
        const u32 pair = __shfl_sync(FULL, window, i / 2);
        const u32 word = i & 1 ? pair >> 16 : pair & 0xffff;
        x = takes ? x << 16 | word : x;
        state = active ? x : state;
        at += __popc(mask);
        if (at >= PIECE) move_on();
    }
    // A token of a table given by its slots: token | frequency << 8 | (slot - start) << 20.
    __device__ __forceinline__ u32 get(const u32 *slots, bool active) {
        const u32 entry = slots[state & (PROB_SUM - 1)];
        refill((entry >> 8 & 0xfff) * (state >> PROB_BITS) + (entry >> 20), active);
        return entry & 0xff;
    }
    // Of a table given by the token of each slot, and frequency | start << 16 of each token.
    __device__ __forceinline__ u32 get(const u8 *tokens, const u32 *frequencies, bool active) {
        const u32 slot = state & (PROB_SUM - 1), token = tokens[slot], f = frequencies[token];
        refill((f & 0xffff) * (state >> PROB_BITS) + slot - (f >> 16), active);
        return token;
    }
    __device__ __forceinline__ bool used_up() const { return begin + at == end; }
};

// The tables of symbols in shared memory: the first ones by slots, the others by tokens and frequencies.
struct SharedTables {
    const u32 *slots, *frequencies, *first;
    const u8 *tokens;
    u32 by_slots;

    // Copies them; `memory` behind them is returned.
    __device__ char *load(const CoderArguments &a, char *memory) {
        const u32 count = a.tables.symbol_tables, entries = a.tables.first[count];
        by_slots = a.tables_by_slots;
        u32 *to_slots = (u32 *)memory, *to_frequencies = to_slots + by_slots * PROB_SUM;
        u32 *to_first = to_frequencies + (entries + 3) / 4 * 4;
        u8 *to_tokens = (u8 *)(to_first + (count + 4) / 4 * 4);
        const u32 tokens_left = (count - by_slots) * PROB_SUM;
        for (u32 i = threadIdx.x; i < by_slots * PROB_SUM / 4; i += blockDim.x) ((uint4 *)to_slots)[i] = ((const uint4 *)a.tables.slots)[i];
        for (u32 i = threadIdx.x; i < entries; i += blockDim.x) to_frequencies[i] = a.tables.frequencies[i];
        for (u32 i = threadIdx.x; i <= count; i += blockDim.x) to_first[i] = a.tables.first[i];
        for (u32 i = threadIdx.x; i < tokens_left / 16; i += blockDim.x) {
            ((uint4 *)to_tokens)[i] = ((const uint4 *)(a.tables.tokens + by_slots * PROB_SUM))[i];
        }
        slots = to_slots, frequencies = to_frequencies, first = to_first, tokens = to_tokens;
        return (char *)(to_tokens + tokens_left);
    }
    __device__ __forceinline__ u32 escape(u32 table) const { return first[table + 1] - first[table] - 1; }
    __device__ __forceinline__ u32 get(Decoder &rans, u32 table, bool active) const {
        if (table < by_slots) return rans.get(slots + table * PROB_SUM, active);
        return rans.get(tokens + (table - by_slots) * PROB_SUM, frequencies + first[table], active);
    }
};

template <class D> struct StreamDecoder {
    const CoderArguments &a;
    const SharedTables &tables;
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
    // Raw bits of a quantized node: at most 8, so that two words hold them.
    __device__ __forceinline__ u32 few_raw_bits(u32 bit, u32 width) const {
        const u32 word = bit / 16;
        const u32 low = word < raw_words ? raw[word] : 0, high = word + 1 < raw_words ? raw[word + 1] : 0;
        return (low | high << 16) >> (bit % 16) & ((1u << width) - 1);
    }
    __device__ void expect_raw(u32 len, u32 width) { broken = broken || raw_at + (u64)len * width > 16 * (u64)raw_words; }

    // A token of one of the tables that are not in shared memory.
    __device__ __forceinline__ u32 rare(u32 table, bool active) { return rans.get(a.tables.slots + table * PROB_SUM, active); }
    // The class rounds of a tile; leaves the last class of each slot in `last` and the forms of the units in `forms`.
    __device__ void classes(const Unit *units, u32 count, u8 *last, u32 *forms) {
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
                forms[begin + lane] = is_exact ? Form(kind, table, shift).word : Form(kind, 0, 0).word;
            }
            __syncwarp();
        }
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
    // The symbols of a unit, a round of lanes at a time: `get` decodes a token, `raw` gives a node's raw bits.
    template <class G, class R> __device__ __forceinline__ void rounds(u64 start, u32 len, u32 escape, G get, R raw) {
        const auto round = [&](u32 i, bool active) {
            const u32 token = get(active);
            i16 q = unzigzag(raw(token, i, active));
            const bool escaped = active && token == escape;
            if (__any_sync(FULL, escaped)) q = escaped_symbol(escaped, q, start + i);
            if (active) a.q[start + i] = q;
        };
        u32 i = lane;
        if (lanes == 32) {
            for (u32 whole = len / 32; whole > 0; whole--, i += 32) round(i, true);
        }
        for (u32 left = i - lane; left < len; left += lanes) round(left + lane, lane < lanes && left + lane < len);
    }
    __device__ void quantized(u64 start, u32 len, u32 kind) {
        const u32 packed = a.tables.classes[kind - 1], table = packed & 255, shift = packed >> 8, escape = tables.escape(table);
        expect_raw(len, shift);
        const auto plain = [](u32 token, u32, bool) { return token; };
        if (shift > 0) {
            rounds(start, len, escape, [&](bool active) { return tables.get(rans, table, active); },
                   [&](u32 token, u32 i, bool active) {
                       return active ? token << shift | few_raw_bits((u32)raw_at + i * shift, shift) : 0;
                   });
        } else if (table < tables.by_slots) {
            const u32 *slots = tables.slots + table * PROB_SUM;
            rounds(start, len, escape, [&](bool active) { return rans.get(slots, active); }, plain);
        } else {
            rounds(start, len, escape, [&](bool active) { return tables.get(rans, table, active); }, plain);
        }
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
        const u32 escape = coded ? tables.escape(table) : 0;
        expect_raw(len, width);
        for (u32 i = 0; i < len; i += lanes) {
            const bool active = lane < lanes && i + lane < len;
            const u32 token = coded ? tables.get(rans, table, active) : 0;
            u64 value = active ? raw_bits(raw_at + (u64)(i + lane) * width, width) : 0;
            if (coded && active) value |= (u64)token << width;
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
    // Units start at multiples of 16 bytes, and what lies between them is nobody's.
    __device__ void zeros(u64 start, u32 len) {
        const uint4 zero = {0, 0, 0, 0};
        for (u32 i = lane; i < (len + 7) / 8; i += 32) ((uint4 *)(a.q + start))[i] = zero;
    }
    // Whether every part was used up and every lane is back at its start.
    __device__ bool finished() {
        const u64 left = 16 * (u64)raw_words - raw_at;
        bool good = !broken && rans.used_up() && escape_at == escape_count && exact_at == exact_count && left < 16;
        if (good) good = raw_bits(raw_at, (u32)left) == 0;
        return __all_sync(FULL, good && (lane >= lanes || rans.state == STATE_MIN));
    }
};

template <class D> __device__ void decode_streams(const CoderArguments &a) {
    SHARED_MEMORY(memory);
    SharedTables tables;
    u32 *all_forms = (u32 *)tables.load(a, memory);
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, per_warp = (max(a.slots, a.units_in_tile) + 15) / 16 * 16;
    u32 *forms = all_forms + warp * per_warp;
    u8 *last = (u8 *)(all_forms + STREAM_WARPS * per_warp) + warp * per_warp;
    const u32 count = (u32)a.totals[0];
    Queue queue(a);
    for (u32 s = queue.take(); s < count; s = queue.take()) {
        const Stream stream = a.streams[s];
        const Chunk chunk = a.chunks[stream.chunk];
        const u32 lanes = lanes_of(chunk.code);
        const u16 *states = (const u16 *)(a.output + stream.first_word), *words = states + 2 * lanes;
        u32 state = STATE_MIN;
        if (lane < lanes) state = states[2 * lane] | (u32)states[2 * lane + 1] << 16;
        const u16 *escapes = words + stream.words, *exact = escapes + stream.escapes;
        const u16 *raw = exact + stream.exact * (u32)(sizeof(D) / 2);
        StreamDecoder<D> decoder = {a,         tables,         Decoder(words, stream.words, state, lane), escapes, exact, raw, stream.escapes, stream.exact,
                                    stream.raw / 2, lanes, lane, 0, 0, 0, false};
        for (u32 i = lane; i < a.slots; i += 32) last[i] = NO_CLASS;
        __syncwarp();
        const u32 end = stream_tile(chunk, stream.index + 1);
        for (u32 t = stream_tile(chunk, stream.index); t < end && !decoder.broken; t++) {
            const Tile tile = a.tiles[t];
            const Unit *units = a.units + a.unit_first[tile.shape];
            const u32 unit_count = a.unit_first[tile.shape + 1] - a.unit_first[tile.shape];
            decoder.classes(units, unit_count, last, forms);
            for (u32 j = 0; j < unit_count; j++) {
                const Form form(forms[j]);
                const u64 start = tile.start + units[j].start;
                const u32 len = units[j].len;
                if (form.kind() == 0) decoder.zeros(start, len);
                else if (form.kind() == a.tables.exact_class()) decoder.exact_unit(start, len, form);
                else decoder.quantized(start, len, form.kind());
            }
            __syncwarp();
        }
        if (!decoder.finished() && lane == 0) atomicOr(&a.chunks[stream.chunk].error, 1u);
    }
}

extern "C" __global__ void __launch_bounds__(32 * STREAM_WARPS, 1) decode_streams_32(const CoderArguments a) { decode_streams<u32>(a); }
extern "C" __global__ void __launch_bounds__(32 * STREAM_WARPS, 1) decode_streams_64(const CoderArguments a) { decode_streams<u64>(a); }
