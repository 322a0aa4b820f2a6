// The class coder, encoding: the streams of each chunk, interleaved rANS with one warp a stream.
#pragma once
#include "rans_encode.cuh"

// Warps of a block at most. 28 would have registers for every value, but four warps fewer cost more than what is spilled outside the rounds.
constexpr u32 ENCODER_WARPS = 32;

// What a warp has in shared memory.
struct WarpMemory {
    // Of 32 units, those with rounds of symbols: first node / 8, nodes | shift << 16, and where the entries of the table are: for quantized nodes
    // all three as in `EncoderTables::lookup`, but the first entry counts from where `origin` does; for exact ones the shift is that of the unit.
    uint4 pending[32];
    // How the classes of the latest units are coded, by number of the unit modulo a power of two.
    u32 rounds[1];
};

// BATCH: rounds that are loaded and turned into table entries together.
template <class D, u32 BATCH> struct StreamEncoder {
    const CoderArguments &a;
    const EncoderTables &tables;
    WarpMemory &memory;
    u32 ring_mask;
    Encoder rans;
    u32 lane, lanes;

    // Of the 32 units: those whose rounds of symbols are still to come, and those of them whose nodes are all exact.
    u32 coded, exacts;
    // The unit under way: its number among them, rounds not coded yet, where the lane's node of the last of them stands and whether
    // there is one, shift and table; and the values of its next batch, the last round first.
    u32 current, left, shift, table, reach;
    const i16 *from;
    bool active;
    i32 value[BATCH];

    __device__ __forceinline__ StreamEncoder(const CoderArguments &a, const EncoderTables &tables, WarpMemory &memory, u32 ring_mask, u16 *words, u16 *escapes,
                                             u32 lanes)
        : a(a), tables(tables), memory(memory), ring_mask(ring_mask), rans(words, escapes), lane(threadIdx.x & 31), lanes(lanes) {}
    __device__ __forceinline__ void load() {
        value[0] = active ? *from : 0;
        if (left >= BATCH && lanes == 32) {
#pragma unroll
            for (u32 k = 1; k < BATCH; k++) value[k] = *(from - 32 * k);
        } else {
#pragma unroll
            for (u32 k = 1; k < BATCH; k++) value[k] = k < left ? *(from - lanes * k) : 0;
        }
    }
    // Begins the last unit of those to come, unless there is none or it is exact.
    __device__ __forceinline__ bool begin_unit() {
        const u32 j = 31 - __clz((i32)coded);
        if (coded == 0 || exacts >> j & 1) return false;
        coded ^= 1u << j;
        current = j;
        const uint4 unit = memory.pending[j];
        const u32 len = unit.y & 0xffff;
        left = (len + lanes - 1) / lanes;
        const u32 node = (left - 1) * lanes + (lane & (lanes - 1));
        active = node < len;
        from = a.q + 8 * (u64)unit.x + node;
        shift = unit.y >> 16;
        table = unit.z;
        reach = unit.w;
        load();
        const u32 after_next = coded ? coded ^ 1u << (31 - __clz((i32)coded)) : 0;
        if (after_next) {
            const uint4 other = memory.pending[31 - __clz((i32)after_next)];
            ask_for(other.x, other.y & 0xffff);
        }
        return true;
    }
    // Asks for the symbols of a unit, 64 in a line of the cache.
    __device__ __forceinline__ void ask_for(u32 eighth, u32 len) const {
        if (64 * lane < len) fetch_to_l2(a.q + 8 * (u64)eighth + 64 * lane);
    }
    __device__ __forceinline__ bool has_symbols(const UnitRecord &unit) const {
        return ((unit.form & 255) != 0) & (Form(unit.form).table() < a.tables.symbol_tables);
    }
    // Asks for the symbols of the last two units of those that come next.
    __device__ __forceinline__ void ask_for_last(const UnitRecord &unit) const {
        u32 some = __ballot_sync(FULL, has_symbols(unit));
#pragma unroll 1
        for (u32 k = 0; k < 2 && some; k++) {
            const u32 j = 31 - __clz((i32)some);
            some ^= 1u << j;
            ask_for(__shfl_sync(FULL, unit.eighth, j), __shfl_sync(FULL, unit.len(), j));
        }
    }
    // The addresses of the entries of the loaded batch's tokens; escaped symbols are listed.
    __device__ __forceinline__ void find(u32 (&entry)[BATCH]) {
        const bool idle = lane >= lanes;
        const u32 most = idle ? 0 : reach >> 16, none = tables.origin() + (u32)sizeof(uint4) * IDLE_AT, first = idle ? none : table;
        u32 lowest = NONE, highest = 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const u32 at = (u32)__viaddmin_s32_relu(value[k] >> shift, (i32)(reach & 0xffff), (i32)most);
            entry[k] = first + (u32)sizeof(uint4) * at;
            lowest = min(lowest, at);
            highest = max(highest, at);
        }
        entry[0] = active ? entry[0] : none;
        // a lane without a node has 0, which is not listed
        if (!__any_sync(FULL, ((lowest == 0) | (highest == most)) & !idle)) return;
        const u32 last = first + (u32)sizeof(uint4) * most;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            u32 found = entry[k];
            keep(found);
            rans.list(!idle & ((found == first) | (found == last)), (u16)value[k]);
        }
    }
    // The first `rounds` rounds of a batch; `WHOLE` of all of them.
    template <bool WHOLE> __device__ __forceinline__ void code(const u32 (&entry)[BATCH], u32 rounds) {
        uint4 e = tables.at(entry[0]);
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            const uint4 next = tables.at(entry[min(k + 1, BATCH - 1)]);
            rans.put(e);
            e = next;
            if (!WHOLE && k + 1 == rounds) break;
        }
    }
    // The rounds of the unit under way, and the beginning of the next one; whether there is a next one.
    __device__ __forceinline__ bool unit() {
        for (;;) {
            u32 entry[BATCH];
            find(entry);
            const u32 rounds = left;
            const bool ends = rounds <= BATCH;
            bool next = true;
            // what comes next is loaded while this is coded
            if (ends) {
                next = begin_unit();
            } else {
                left -= BATCH;
                from -= BATCH * lanes;
                active = true;
                load();
            }
            if (rounds >= BATCH) code<true>(entry, BATCH);
            else code<false>(entry, rounds);
            if (ends) return next;
        }
    }
    // A unit of exact nodes: its deltas.
    __device__ __forceinline__ void exact_unit() {
        const u32 j = 31 - __clz((i32)coded);
        coded ^= 1u << j;
        const uint4 unit = memory.pending[j];
        const u32 len = unit.y & 0xffff, width = unit.y >> 16;
        const D *deltas = (const D *)a.delta + 8 * (u64)unit.x;
        // by q, where the first one is that of the escape
        const uint4 *entries = (const uint4 *)((const char *)tables.entries + (unit.z - tables.origin()));
        const i32 half = (i32)(unit.w & 0xffff);
        const D escape = (unit.w >> 16) - 1;
        constexpr u32 TOGETHER = 4;
        for (u32 rounds = (len + lanes - 1) / lanes; rounds > 0; rounds -= min(rounds, TOGETHER)) {
            D token[TOGETHER];
            bool takes_part[TOGETHER];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) {
                const u32 node = (rounds - 1 - k) * lanes + lane;
                takes_part[k] = k < rounds && lane < lanes && node < len;
                token[k] = takes_part[k] ? deltas[node] >> width : 0;
            }
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) {
                if (k >= rounds) break;
                rans.put(takes_part[k] ? entries[token[k] < escape ? half + unzigzag((u32)token[k]) : 0] : tables.entries[IDLE_AT]);
            }
        }
    }
    // The run of units of one step that ends at `end`, at most `lanes`: its first unit, and in `round` how the lane's one is coded.
    __device__ __forceinline__ u32 run(u32 end, u32 &round) const {
        const u32 first = end - 1 - (memory.rounds[(end - 1) & ring_mask] >> 12 & (lanes - 1));
        round = first + lane < end ? memory.rounds[(first + lane) & ring_mask] : NO_TOKEN;
        return first;
    }
    // The class rounds of a tile, last first; the next round's entries are looked up while one is coded.
    __device__ __forceinline__ void classes(u32 begin, u32 end) {
        u32 round;
        u32 first = run(end, round);
        uint4 entry = tables.of_class(round == NO_TOKEN ? NO_TOKEN : round & 0xfff);
        for (;;) {
            u32 next_round;
            const u32 next = run(first, next_round);
            const uint4 next_entry = tables.of_class(next_round == NO_TOKEN ? NO_TOKEN : next_round & 0xfff);
            const bool exact = (round != NO_TOKEN) & ((round & (CLASSES - 1)) == a.tables.exact_class());
            if (__any_sync(FULL, exact)) {
                rans.put(tables.of_class(exact ? UNIFORM_AT + (round >> 23 & 63) : NO_TOKEN));
                rans.put(tables.of_class(exact ? UNIFORM_AT + (round >> 17 & 63) : NO_TOKEN));
            }
            rans.put(entry);
            if (first == begin) return;
            first = next;
            round = next_round;
            entry = next_entry;
        }
    }
    // Takes in 32 units, one a lane; lane 0 has the unit `group`. Returns at which of them a tile begins.
    __device__ __forceinline__ u32 take_in(const UnitRecord &mine, bool exists, u32 group) {
        const Form form(mine.form);
        const bool is_coded = has_symbols(mine), exact = form.kind() == a.tables.exact_class();
        __syncwarp();
        if (exists) memory.rounds[(group + lane) & ring_mask] = mine.round;
        if (is_coded) {
            const uint4 lookup = tables.lookup(a, form.table(), exact ? 0 : form.shift());
            memory.pending[lane] = make_uint4(mine.eighth, mine.len() | (exact ? form.shift() : lookup.y) << 16, tables.origin() + lookup.z, lookup.w);
        }
        __syncwarp();
        coded = __ballot_sync(FULL, is_coded);
        exacts = __ballot_sync(FULL, is_coded & exact);
        return __ballot_sync(FULL, exists & (mine.round >> 31));
    }
    // The class rounds of the tiles that begin at unit `top` or behind it.
    __device__ __forceinline__ void end_tiles(u32 &tiles, u32 top, u32 group, u32 &end) {
        while (32 - __clz((i32)tiles) > top) {
            const u32 first = 31 - __clz((i32)tiles);
            tiles ^= 1u << first;
            classes(group + first, end);
            end = group + first;
        }
    }
    // Takes in 32 units and codes them, last first, while `after`, those before them, are on their way; `end` is the end of the
    // last tile that is not done. Lane 0 has the unit `group`.
    __device__ __forceinline__ void units(const UnitRecord &mine, bool exists, u32 group, u32 &end, const UnitRecord &after) {
        u32 tiles = take_in(mine, exists, group);
        bool ready = begin_unit(), asked = false;
        for (;;) {
            // all units from here on are done, and so are the tiles that begin there
            end_tiles(tiles, ready ? current + 1 : 32 - __clz((i32)coded), group, end);
            if (ready) {
                ready = unit();
            } else if (coded) {
                exact_unit();
                ready = begin_unit();
            } else {
                break;
            }
            if (!asked) ask_for_last(after);
            asked = true;
        }
        if (!asked) ask_for_last(after);
    }
};

// The units of a stream, one a lane.
struct UnitReader {
    const UnitRecord *records;
    u32 first, end;

    __device__ __forceinline__ bool has(u32 number) const { return (i32)(number - first) >= 0; }
    // Nothing before the first one.
    __device__ __forceinline__ UnitRecord read(u32 number) const { return has(number) ? records[number] : UnitRecord{0, 0, 0, 0}; }
    // Exact values and bytes of raw bits of the whole stream.
    __device__ __forceinline__ uint2 sizes(const CoderArguments &a) const {
        u32 raw = 0, exact = 0;
#pragma unroll 4
        for (u32 number = first + (threadIdx.x & 31); number < end; number += 32) {
            const UnitRecord unit = records[number];
            exact += unit.exact();
            raw += raw_bits(Form(unit.form), unit.len(), a.bits, a.tables.exact_class());
        }
        return make_uint2(__reduce_add_sync(FULL, exact), (__reduce_add_sync(FULL, raw) + 15) / 16 * 2);
    }
};

// `entry`: of the order of the streams, see split_chunks.
template <class D, u32 BATCH>
__device__ __forceinline__ void encode_stream(const CoderArguments &a, u32 entry, const EncoderTables &tables, WarpMemory &memory, u32 ring_mask) {
    const u32 lane = threadIdx.x & 31, index = entry % MAX_STREAMS;
    Chunk &chunk = a.chunks[entry / MAX_STREAMS];
    const u32 lanes = lanes_of(chunk.code), s = chunk.stream + index;
    const Tile &next = a.tiles[stream_tile(chunk, index + 1)];
    const UnitReader reader = {a.records, a.tiles[stream_tile(chunk, index)].units_before, next.units_before};
    // A word for each token at most: one a node, three a unit.
    u16 *words = a.words + next.start + 3 * (u64)next.units_before, *const escapes = a.escapes + next.start;
#ifndef BLOCKMGARD_EMULATOR
    // one number from here on: else each store would add its parts anew
    asm("" : "+l"(words));
#endif
    StreamEncoder<D, BATCH> encoder(a, tables, memory, ring_mask, words, escapes, lanes);
    u32 end = reader.end;
    UnitRecord mine = reader.read(end - 32 + lane);
    for (u32 group = end - 32;; group -= 32) {
        const UnitRecord after = reader.read(group - 32 + lane);
        encoder.units(mine, reader.has(group + lane), group, end, after);
        // a vote, so that the compiler knows that no lane goes alone
        if (!__any_sync(FULL, (i32)(group - reader.first) > 0)) break;
        mine = after;
    }
    encoder.rans.store();
    const uint2 sizes = reader.sizes(a);
    Stream &stream = a.streams[s];
    a.states[(u64)s * 32 + lane] = encoder.rans.state;
    if (lane > 0) return;
    stream.chunk = entry / MAX_STREAMS;
    stream.index = index;
    stream.words = (u32)encoder.rans.count;
    stream.first_word = (u64)(words - encoder.rans.count - a.words);
    stream.escapes = (u32)(escapes - encoder.rans.escapes);
    stream.first_escape = (u64)(encoder.rans.escapes - a.escapes);
    stream.exact = sizes.x;
    stream.raw = sizes.y;
    const u32 largest = max(max(stream.words, stream.escapes), max(stream.exact, stream.raw));
    const u32 flags = (stream.escapes | stream.exact | stream.raw ? HAS_LISTS : 0) | (largest > 0xffff ? WIDE_SIZES : 0);
    if (flags) atomicOr(&chunk.flags, flags);
    atomicAdd(&chunk.bytes, stream_bytes(stream, lanes, a.bits));
}

template <class D, u32 BATCH> __device__ void encode_streams(const CoderArguments &a) {
    SHARED_MEMORY(memory);
    EncoderTables tables;
    const u32 ring_size = 1u << bit_length(a.units_in_tile + 31);
    char *const warps = tables.load(a, memory);
    WarpMemory &mine = *(WarpMemory *)(warps + threadIdx.x / 32 * (sizeof(uint4) * 32 + sizeof(u32) * ring_size));
    __syncthreads();
    const u32 count = (u32)a.totals[0];
    const Queue queue(a);
    for (u32 s = queue.first(); __any_sync(FULL, s < count); s = queue.next()) encode_stream<D, BATCH>(a, a.order[s], tables, mine, ring_size - 1);
}
