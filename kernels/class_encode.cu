// The class coder, encoding: the streams of each chunk, interleaved rANS with one warp a stream.
#include "class.cuh"

// One block: how many lanes and streams each chunk gets, and the list of all streams.
extern "C" __global__ void __launch_bounds__(1024) split_chunks(const CoderArguments a) {
    const u32 share = (a.chunk_count + blockDim.x - 1) / blockDim.x;
    const u32 begin = min(threadIdx.x * share, a.chunk_count), end = min(begin + share, a.chunk_count);
    u64 count = 0;
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        if (chunk.code == 0) continue;
        const u64 bits = chunk.cost >> 12, by_nodes = min((u64)(chunk.coded / a.nodes_per_lane), bits / a.least_bits_per_lane);
        const u64 lanes = max(bits / a.bits_per_lane, by_nodes);
        const u32 most = MAX_LANES * min(max(chunk.tile_end - chunk.tile, 1u), MAX_STREAMS);
        const u32 clamped = lanes < 1 ? 1 : lanes > most ? most : (u32)lanes;
        chunk.code = 1 + (31 - __clz((i32)clamped));
        count += streams_of(chunk.code);
    }
    u64 total, first = block_scan(count, total);
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        chunk.stream = (u32)first;
        if (chunk.code == 0) continue;
        const u32 streams = streams_of(chunk.code);
        for (u32 s = 0; s < streams; s++) a.streams[first + s] = {c, s, 0, 0, 0, 0, 0, 0};
        first += streams;
    }
    if (threadIdx.x == 0) a.totals[0] = total, a.totals[2] = 0;
}

// rANS from the last token to the first; words go to lower and lower places, and so do escaped symbols.
struct Encoder {
    u16 *at, *escapes;
    u32 state, below;

    __device__ __forceinline__ void put(const EncodeEntry *entry, bool active) {
        EncodeEntry e = *entry;
        if (!active) e = {0xffffffffu, 0, 0, 0};
        const bool full = state >= e.limit;
        const u32 mask = __ballot_sync(FULL, full);
        at -= __popc(mask);
        if (full) at[__popc(mask & below)] = (u16)state;
        const u32 x = full ? state >> 16 : state;
        const u32 quotient = __umulhi(x, e.reciprocal) >> (e.complement >> 16);
        state = x + e.bias + quotient * (e.complement & 0xffff);
    }
    __device__ __forceinline__ void list(bool escaped, u16 q) {
        const u32 mask = __ballot_sync(FULL, escaped);
        escapes -= __popc(mask);
        if (escaped) escapes[__popc(mask & below)] = q;
    }
};

// Class of a slot in the nearest tile of the stream before `end` that has it, or NONE.
__device__ u32 last_kind(const CoderArguments &a, u32 end, u32 first_tile, u32 slot) {
    while (end-- > first_tile) {
        const u32 form = a.forms[(u64)end * a.slots + slot];
        if (form != NONE) return Form(form).kind();
    }
    return NONE;
}

template <class D> struct StreamEncoder {
    const CoderArguments &a;
    // Tables of symbols in shared memory.
    const u32 *first;
    const EncodeEntry *entries;
    Encoder rans;
    u32 lanes, lane, first_tile;

    __device__ __forceinline__ const EncodeEntry *rare(u32 table, u32 token) const {
        return a.tables.encode + a.tables.first[table] + token;
    }
    // The class rounds of a tile, last first: runs of at most `lanes` units of one step.
    __device__ void classes(u32 t, const Tile &tile) {
        const Unit *units = a.units + a.unit_first[tile.shape];
        const u32 *forms = a.forms + (u64)t * a.slots;
        u32 end = a.unit_first[tile.shape + 1] - a.unit_first[tile.shape];
        while (end > 0) {
            const u32 step_begin = units[end - 1].step_begin;
            const u32 begin = step_begin + (end - 1 - step_begin) / lanes * lanes;
            const bool active = lane < lanes && begin + lane < end;
            const Unit unit = units[active ? begin + lane : begin];
            const Form form(active ? forms[unit.slot] : 0);
            const bool exact = form.kind() == a.tables.exact_class();
            if (__any_sync(FULL, exact)) {
                rans.put(rare(a.tables.uniform(), form.shift()), exact);
                rans.put(rare(a.tables.uniform(), form.table()), exact);
            }
            u32 own = NONE, parent = NONE;
            if (active) {
                own = last_kind(a, t, first_tile, unit.slot);
                if (unit.parent != NONE) parent = last_kind(a, t + 1, first_tile, unit.parent);
            }
            rans.put(rare(a.tables.after(own, parent), form.kind()), active);
            end = begin;
        }
    }
    // The rounds of a unit from the last one on; `put(value, active)` codes one. Several loads are under way at a time.
    template <class V, class F> __device__ __forceinline__ void rounds(const V *values, u32 len, F put) {
        constexpr u32 BATCH = 8;
        u32 count = (len + lanes - 1) / lanes;
        const u32 tail = len - (count - 1) * lanes;
        if (tail < lanes || lanes < 32) {
            count--;
            const bool active = lane < lanes && lane < tail;
            put(active ? values[count * lanes + lane] : (V)0, active);
        }
        const bool active = lane < lanes;
        for (; count > 0; count -= min(count, BATCH)) {
            V v[BATCH];
            if (lanes == 32) {
                // the last round comes first
                const V *last = values + lane + 32 * count;
#pragma unroll
                for (u32 k = 0; k < BATCH; k++) v[k] = k < count ? *(last - 32 * (k + 1)) : (V)0;
            } else {
#pragma unroll
                for (u32 k = 0; k < BATCH; k++) v[k] = active && k < count ? values[lane + (count - 1 - k) * lanes] : (V)0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (k < count) put(v[k], active);
            }
        }
    }
    __device__ void symbols(u64 start, u32 len, const Form &form) {
        const u32 base = first[form.table()], escape = first[form.table() + 1] - base - 1, shift = form.shift();
        const EncodeEntry *table = entries + base;
        // the units before this one come next
        if (lane < 16) fetch_ahead(a.q + start - min(start, (u64)64 * (lane + 1)));
        if (form.kind() == a.tables.exact_class()) {
            rounds((const D *)a.delta + start, len, [&](D d, bool active) {
                const D token = d >> shift;
                rans.put(table + (token < escape ? (u32)token : escape), active);
            });
        } else {
            // an exact node's zigzag is beyond every table
            rounds(a.q + start, len, [&](i16 q, bool active) {
                const u32 token = min(zigzag(q) >> shift, escape);
                const bool escaped = active & (token == escape);
                if (__any_sync(FULL, escaped)) rans.list(escaped, (u16)q);
                rans.put(table + token, active);
            });
        }
    }
};

template <class D> __device__ void encode_streams(const CoderArguments &a) {
    SHARED_MEMORY(memory);
    u32 *first = (u32 *)memory;
    EncodeEntry *entries = (EncodeEntry *)(first + (a.tables.symbol_tables + 4) / 4 * 4);
    for (u32 i = threadIdx.x; i <= a.tables.symbol_tables; i += blockDim.x) first[i] = a.tables.first[i];
    for (u32 i = threadIdx.x; i < a.tables.first[a.tables.symbol_tables]; i += blockDim.x) entries[i] = a.tables.encode[i];
    __syncthreads();
    const u32 lane = threadIdx.x & 31, count = (u32)a.totals[0];
    Queue queue(a);
    for (u32 s = queue.take(); s < count; s = queue.take()) {
        Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        const u32 begin = stream_tile(chunk, stream.index), end = stream_tile(chunk, stream.index + 1);
        // A word for each token at most: one a node, three a unit.
        const Tile &next = a.tiles[end];
        u16 *top = a.words + next.start + 3 * (u64)next.units_before, *top_escape = a.escapes + next.start;
        StreamEncoder<D> encoder = {a, first, entries, {top, top_escape, STATE_MIN, (1u << lane) - 1}, lanes_of(chunk.code), lane, begin};
        u32 raw = 0, exact = 0;
        for (u32 t = end; t-- > begin;) {
            const Tile tile = a.tiles[t];
            const u32 *forms = a.forms + (u64)t * a.slots, *counts = a.counts + (u64)t * a.slots;
            const u32 unit_begin = a.unit_first[tile.shape];
            // 32 units at a time, one a lane.
            for (u32 unit_end = a.unit_first[tile.shape + 1]; unit_end > unit_begin;) {
                const u32 group = unit_begin + (unit_end - 1 - unit_begin) / 32 * 32;
                Unit mine = {0, 0, 0, 0, 0, 0};
                u32 word = 0;
                if (group + lane < unit_end) {
                    mine = a.units[group + lane];
                    word = forms[mine.slot];
                    exact += word ? counts[mine.slot] : 0;
                    raw += raw_bits(Form(word), mine.len, a.bits, a.tables.exact_class());
                }
                for (u32 coded = __ballot_sync(FULL, word != 0 && Form(word).table() < a.tables.symbol_tables); coded;) {
                    const u32 j = 31 - __clz((i32)coded);
                    coded ^= 1u << j;
                    const u32 start = __shfl_sync(FULL, mine.start, j), len = __shfl_sync(FULL, mine.len, j);
                    encoder.symbols(tile.start + start, len, Form(__shfl_sync(FULL, word, j)));
                }
                unit_end = group;
            }
            encoder.classes(t, tile);
        }
        stream.words = (u32)(top - encoder.rans.at);
        stream.first_word = (u64)(encoder.rans.at - a.words);
        stream.escapes = (u32)(top_escape - encoder.rans.escapes);
        stream.first_escape = (u64)(encoder.rans.escapes - a.escapes);
        stream.exact = __reduce_add_sync(FULL, exact);
        stream.raw = (__reduce_add_sync(FULL, raw) + 15) / 16 * 2;
        if (lane == 0) a.streams[s] = stream;
        a.states[(u64)s * 32 + lane] = encoder.rans.state;
    }
}

extern "C" __global__ void __launch_bounds__(1024) encode_streams_32(const CoderArguments a) { encode_streams<u32>(a); }
extern "C" __global__ void __launch_bounds__(1024) encode_streams_64(const CoderArguments a) { encode_streams<u64>(a); }
