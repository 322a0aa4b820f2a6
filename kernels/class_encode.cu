// The class coder, encoding: forms of units, streams of a chunk, interleaved rANS (one warp a stream), assembly.
#include "class.cuh"

// Counts of bit lengths 0 to 15, two in a word: the count of length b is half b % 2 of word b / 2.
struct Histogram {
    u32 words[LENGTHS / 2];
    __device__ __forceinline__ u32 count(u32 length) const { return words[length / 2] >> (16 * (length % 2)) & 0xffff; }
};

// A lane's share of a histogram: 4-bit counters, emptied into 8-bit ones in time.
struct Counter {
    u64 fine, even, odd;
    u32 pending;
    __device__ __forceinline__ void add(u32 length, bool counts) {
        fine += (u64)counts << (4 * length);
        if (++pending == 15) empty();
    }
    __device__ __forceinline__ void empty() {
        even += fine & 0x0f0f0f0f0f0f0f0full;
        odd += fine >> 4 & 0x0f0f0f0f0f0f0f0full;
        fine = pending = 0;
    }
    // Sums over the warp. A lane counts at most 255 nodes.
    __device__ __forceinline__ Histogram sum() {
        empty();
        Histogram h;
#pragma unroll
        for (u32 w = 0; w < LENGTHS / 2; w++) {
            const u32 pair = (u32)(even >> (8 * w) & 0xff) | (u32)(odd >> (8 * w) & 0xff) << 16;
            h.words[w] = __reduce_add_sync(FULL, pair);
        }
        return h;
    }
};

// The cheapest of the first `count` classes (at most 64; the lowest among equals) and its cost; the same in all lanes.
__device__ u32 cheapest(const CoderTables &tables, const Histogram &h, u32 count, u32 &best) {
    const u32 lane = threadIdx.x & 31;
    u32 cost[2] = {NONE, NONE};
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (lane + 32 * k >= count) continue;
        const uint4 *row = (const uint4 *)(tables.costs + LENGTHS * (lane + 32 * k));
        u32 sum = 0;
#pragma unroll
        for (u32 b = 0; b < LENGTHS / 4; b++) {
            const uint4 c = row[b];
            sum += c.x * h.count(4 * b) + c.y * h.count(4 * b + 1) + c.z * h.count(4 * b + 2) + c.w * h.count(4 * b + 3);
        }
        cost[k] = sum;
    }
    const u32 least = __reduce_min_sync(FULL, min(cost[0], cost[1]));
    const u32 low = __ballot_sync(FULL, cost[0] == least), high = __ballot_sync(FULL, cost[1] == least);
    best = low ? __ffs((i32)low) - 1 : 31 + __ffs((i32)high);
    return least;
}

__device__ __forceinline__ u32 bit_length(u32 v) { return 32 - __clz((i32)v); }
__device__ __forceinline__ u32 bit_length(u64 v) { return 64 - __clzll((i64)v); }

struct UnitForm {
    u32 form, counts;
    u64 cost;
};

// A unit whose nodes are all exact: its deltas as tokens, typically 4 to 5 bits of them.
template <class D> __device__ UnitForm choose_exact(const CoderTables &tables, const D *delta, u32 len, u32 bits) {
    const u32 lane = threadIdx.x & 31;
    u32 lengths = 0;
    for (u32 i = lane; i < len; i += 32) lengths += bit_length(delta[i]);
    lengths = __reduce_add_sync(FULL, lengths);
    if (lengths == 0) return {Form(tables.exact_class(), ALL_EQUAL, 0).word, 0, 0};
    const u32 mean = lengths / len, shift = mean > 4 ? mean - 4 : 0;
    Counter counter = {0, 0, 0, 0};
    u32 beyond = 0;
    for (u32 i = lane; i < len; i += 32) {
        const D token = delta[i] >> shift;
        // Beyond every table lies the escape token.
        const u32 k = ((token < (1 << 14) ? (u32)token : 1 << 14) + 1) / 2;
        counter.add(bit_length(k), true);
        beyond += token >= 256;
    }
    beyond = __reduce_add_sync(FULL, beyond);
    u32 table;
    u64 cost = cheapest(tables, counter.sum(), tables.symbol_tables, table);
    cost += ((u64)len * shift + (u64)beyond * bits) << 12;
    const u64 plain = ((u64)len * bits) << 12;
    if (cost >= plain) return {Form(tables.exact_class(), PLAIN, 0).word, 0, plain};
    const u32 escape = tables.first[table + 1] - tables.first[table] - 1;
    u32 listed = 0;
    for (u32 i = lane; i < len; i += 32) listed += (delta[i] >> shift) >= escape;
    listed = __reduce_add_sync(FULL, listed);
    return {Form(tables.exact_class(), table, shift).word, listed << 16, cost};
}

template <class D> __device__ UnitForm choose(const CoderTables &tables, const i16 *q, const D *delta, u32 len, u32 bits) {
    const u32 lane = threadIdx.x & 31;
    Counter counter = {0, 0, 0, 0};
    u32 exact = 0, any = 0;
    // Several loads under way at a time.
    constexpr u32 BATCH = 10;
    for (u32 start = lane; start < len; start += 32 * BATCH) {
        i32 v[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) v[k] = start + 32 * k < len ? q[start + 32 * k] : 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            exact += v[k] == EXACT;
            any |= (u32)v[k];
            counter.add(bit_length((u32)(v[k] < 0 ? -v[k] : v[k])) & 15, v[k] != EXACT && start + 32 * k < len);
        }
    }
    if (!__any_sync(FULL, any != 0)) return {0, 0, 0};
    exact = __reduce_add_sync(FULL, exact);
    if (exact == len) return choose_exact(tables, delta, len, bits);
    u32 best;
    const u64 cost = cheapest(tables, counter.sum(), tables.class_count, best) + ((u64)exact * (bits + 27) << 12);
    const u32 table = tables.classes[best] & 255, shift = tables.classes[best] >> 8;
    const u32 escape = tables.first[table + 1] - tables.first[table] - 1;
    u32 escapes = 0;
    for (u32 i = lane; i < len; i += 32) escapes += q[i] == EXACT || (zigzag(q[i]) >> shift) >= escape;
    escapes = __reduce_add_sync(FULL, escapes);
    return {Form(best + 1, table, shift).word, escapes | exact << 16, cost};
}

// A warp a tile: the form of each unit, and what the chunk costs.
template <class D> __device__ void choose_forms(const CoderArguments &a) {
    const u32 warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31;
    for (u32 t = (blockIdx.x * blockDim.x + threadIdx.x) / 32; t < a.tile_count; t += warps) {
        const Tile tile = a.tiles[t];
        u32 *forms = a.forms + (u64)t * a.slots, *counts = a.counts + (u64)t * a.slots;
        for (u32 slot = lane; slot < a.slots; slot += 32) forms[slot] = NONE;
        __syncwarp();
        u64 cost = 0;
        u32 coded = 0;
        for (u32 j = a.unit_first[tile.shape]; j < a.unit_first[tile.shape + 1]; j++) {
            const Unit unit = a.units[j];
            const u64 start = tile.start + unit.start;
            const UnitForm f = choose(a.tables, a.q + start, (const D *)a.delta + start, unit.len, a.bits);
            if (lane == 0) forms[unit.slot] = f.form, counts[unit.slot] = f.counts;
            cost += f.cost;
            coded += f.form != 0 ? unit.len : 0;
        }
        if (lane == 0 && coded > 0) {
            atomicAdd(&a.chunks[tile.chunk].cost, cost);
            atomicAdd(&a.chunks[tile.chunk].coded, coded);
            atomicOr(&a.chunks[tile.chunk].code, 1u);
        }
    }
}

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
        for (u32 s = 0; s < streams; s++) a.streams[first + s] = {c, s, 0, 0, 0, 0, 0};
        first += streams;
    }
    if (threadIdx.x == 0) a.totals[0] = total, a.totals[2] = 0;
}

// rANS from the last token to the first; words go to lower and lower places.
struct Encoder {
    u16 *at;
    u32 state, below;

    __device__ __forceinline__ void put(const EncodeEntry *entry, bool active) {
        EncodeEntry e = {0xffffffffu, 0, 0, 0};
        if (active) e = *entry;
        const bool full = state >= e.limit;
        const u32 mask = __ballot_sync(FULL, full);
        at -= __popc(mask);
        if (full) {
            at[__popc(mask & below)] = (u16)state;
            state >>= 16;
        }
        const u32 quotient = __umulhi(state, e.reciprocal) >> (e.complement >> 16);
        state = state + e.bias + quotient * (e.complement & 0xffff);
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
    // Batches of rounds, so that several loads are under way.
    template <class V, class F> __device__ __forceinline__ void rounds(const V *values, u32 len, F entry) {
        constexpr u32 BATCH = 16;
        const u32 count = (len + lanes - 1) / lanes;
        for (u32 end = count; end > 0; end = end > BATCH ? end - BATCH : 0) {
            V v[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                const u32 i = (end - 1 - k) * lanes + lane;
                v[k] = k < end && lane < lanes && i < len ? values[i] : 0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (k < end) rans.put(entries + entry(v[k]), lane < lanes && (end - 1 - k) * lanes + lane < len);
            }
        }
    }
    __device__ void symbols(const Tile &tile, const Unit &unit, const Form &form) {
        const u32 base = first[form.table()], escape = first[form.table() + 1] - base - 1, shift = form.shift();
        const u64 start = tile.start + unit.start;
        if (form.kind() == a.tables.exact_class()) {
            rounds((const D *)a.delta + start, unit.len, [=](D d) {
                const D token = d >> shift;
                return base + (token < escape ? (u32)token : escape);
            });
        } else {
            rounds(a.q + start, unit.len, [=](i16 q) {
                const u32 token = zigzag(q) >> shift;
                return base + (q != EXACT && token < escape ? token : escape);
            });
        }
    }
};

// Bits of the raw region that a unit takes.
__device__ __forceinline__ u32 raw_bits(const Form &form, u32 len, u32 bits, u32 exact_class) {
    if (form.kind() == 0) return 0;
    if (form.kind() != exact_class) return len * form.shift();
    return form.table() == ALL_EQUAL ? 0 : len * (form.table() == PLAIN ? bits : form.shift());
}

template <class D> __device__ void encode_streams(const CoderArguments &a) {
    SHARED_MEMORY(memory);
    u32 *first = (u32 *)memory;
    EncodeEntry *entries = (EncodeEntry *)(first + (a.tables.symbol_tables + 4) / 4 * 4);
    for (u32 i = threadIdx.x; i <= a.tables.symbol_tables; i += blockDim.x) first[i] = a.tables.first[i];
    for (u32 i = threadIdx.x; i < a.tables.first[a.tables.symbol_tables]; i += blockDim.x) entries[i] = a.tables.encode[i];
    __syncthreads();
    const u32 lane = threadIdx.x & 31, count = (u32)a.totals[0];
    for (u32 s = next_stream(a); s < count; s = next_stream(a)) {
        Stream stream = a.streams[s];
        const Chunk &chunk = a.chunks[stream.chunk];
        const u32 begin = stream_tile(chunk, stream.index), end = stream_tile(chunk, stream.index + 1);
        // A word for each token at most: one a node, three a unit.
        const Tile &next = a.tiles[end];
        u16 *top = a.words + next.start + 3 * (u64)next.units_before;
        StreamEncoder<D> encoder = {a, first, entries, {top, STATE_MIN, (1u << lane) - 1}, lanes_of(chunk.code), lane, begin};
        u32 raw = 0, escapes = 0, exact = 0;
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
                    const u32 listed = word ? counts[mine.slot] : 0;
                    escapes += listed & 0xffff;
                    exact += listed >> 16;
                    raw += raw_bits(Form(word), mine.len, a.bits, a.tables.exact_class());
                }
                for (u32 coded = __ballot_sync(FULL, word != 0 && Form(word).table() < a.tables.symbol_tables); coded;) {
                    const u32 j = 31 - __clz((i32)coded);
                    coded ^= 1u << j;
                    Unit unit = mine;
                    unit.start = __shfl_sync(FULL, mine.start, j);
                    unit.len = __shfl_sync(FULL, mine.len, j);
                    encoder.symbols(tile, unit, Form(__shfl_sync(FULL, word, j)));
                }
                unit_end = group;
            }
            encoder.classes(t, tile);
        }
        stream.words = (u32)(top - encoder.rans.at);
        stream.first_word = (u64)(encoder.rans.at - a.words);
        stream.escapes = __reduce_add_sync(FULL, escapes);
        stream.exact = __reduce_add_sync(FULL, exact);
        stream.raw = (__reduce_add_sync(FULL, raw) + 15) / 16 * 2;
        if (lane == 0) a.streams[s] = stream;
        a.states[(u64)s * 32 + lane] = encoder.rans.state;
    }
}

// Every chunk starts one byte before a multiple of this, so that its payload, after the choice, is aligned.
constexpr u32 ALIGNMENT = 16;

// One block: sizes and places of all chunks.
extern "C" __global__ void __launch_bounds__(1024) place_chunks(const CoderArguments a) {
    const u32 share = (a.chunk_count + blockDim.x - 1) / blockDim.x;
    const u32 begin = min(threadIdx.x * share, a.chunk_count), end = min(begin + share, a.chunk_count);
    u64 sum = 0;
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        chunk.bytes = 1;
        chunk.flags = 0;
        if (chunk.code > 0) {
            const u32 streams = streams_of(chunk.code);
            u32 parts = 0;
            for (u32 s = 0; s < streams; s++) {
                const Stream &stream = a.streams[chunk.stream + s];
                if (stream.escapes | stream.exact | stream.raw) chunk.flags |= HAS_LISTS;
                const u32 largest = max(max(stream.words, stream.escapes), max(stream.exact, stream.raw));
                if (largest > 0xffff) chunk.flags |= WIDE_SIZES;
                parts += 4 * lanes_of(chunk.code) + 2 * (stream.words + stream.escapes) + stream.exact * (a.bits / 8) + stream.raw;
            }
            chunk.bytes = 2 + streams * (chunk.flags & HAS_LISTS ? 4 : 1) * (chunk.flags & WIDE_SIZES ? 4 : 2) + parts;
        }
        sum += (chunk.bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    }
    u64 total, at = block_scan(sum, total);
    for (u32 c = begin; c < end; c++) {
        Chunk &chunk = a.chunks[c];
        chunk.offset = at + ALIGNMENT;
        at += (chunk.bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    }
    if (threadIdx.x == 0) a.totals[1] = total;
}

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
    u16 *escapes;
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
    __device__ void quantized(u64 start, u32 len, u32 shift, u32 escape) {
        // Several loads under way at a time.
        constexpr u32 BATCH = 10;
        for (u32 first = 0; first < len; first += 32 * BATCH) {
            i16 values[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                const u32 i = first + 32 * k + lane;
                values[k] = i < len ? a.q[start + i] : 0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (first + 32 * k < len) round(values[k], start, first + 32 * k, len, shift, escape);
            }
        }
    }
    __device__ __forceinline__ void round(i16 q, u64 start, u32 i, u32 len, u32 shift, u32 escape) {
        const bool escaped = i + lane < len && (q == EXACT || (zigzag(q) >> shift) >= escape);
        const u32 mask = __ballot_sync(FULL, escaped);
        if (mask) {
            if (escaped) escapes[__popc(mask & ((1u << lane) - 1))] = (u16)q;
            escapes += __popc(mask);
            const bool exact = q == EXACT;
            list(exact, exact ? ((const D *)a.delta)[start + i + lane] : 0);
        }
        if (shift) raw.put(zigzag(q), shift, min(len - i, 32u));
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
        } else if (table < a.tables.symbol_tables) {
            const u32 escape = first[table + 1] - first[table] - 1;
            if (form.kind() == a.tables.exact_class()) exact_unit(start, unit.len, form.shift(), escape, form.shift());
            else quantized(start, unit.len, form.shift(), escape);
        }
    }
};

__device__ __forceinline__ void put_size(u16 *&out, u32 size, bool wide) {
    *out++ = (u16)size;
    if (wide) *out++ = (u16)(size >> 16);
}

// A warp a stream: copies its parts to the chunk's place; the first stream also writes the header.
template <class D> __device__ void assemble(const CoderArguments &a) {
    __shared__ u32 stages[8 * 68];
    if (a.totals[1] > a.capacity) return;
    const u32 warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31, count = (u32)a.totals[0];
    u32 *stage = stages + threadIdx.x / 32 * 68;
    for (u32 w = lane; w < 68; w += 32) stage[w] = 0;
    __syncwarp();
    for (u32 s = (blockIdx.x * blockDim.x + threadIdx.x) / 32; s < count; s += warps) {
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
        for (u32 w = lane; w < stream.words; w += 32) out[w] = a.words[stream.first_word + w];
        out += stream.words;
        if ((stream.escapes | stream.exact | stream.raw) == 0) continue;
        u16 *raw = out + stream.escapes + stream.exact * piece;
        StreamLists<D> writer = {a, out, out + stream.escapes, {raw, stage, 0, lane}, lane};
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

extern "C" __global__ void __launch_bounds__(256) choose_forms_32(const CoderArguments a) { choose_forms<u32>(a); }
extern "C" __global__ void __launch_bounds__(256) choose_forms_64(const CoderArguments a) { choose_forms<u64>(a); }
extern "C" __global__ void __launch_bounds__(1024) encode_streams_32(const CoderArguments a) { encode_streams<u32>(a); }
extern "C" __global__ void __launch_bounds__(1024) encode_streams_64(const CoderArguments a) { encode_streams<u64>(a); }
extern "C" __global__ void __launch_bounds__(256) assemble_32(const CoderArguments a) { assemble<u32>(a); }
extern "C" __global__ void __launch_bounds__(256) assemble_64(const CoderArguments a) { assemble<u64>(a); }
