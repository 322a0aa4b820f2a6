// The class coder, decoding: one warp a stream. Nothing in a payload is trusted: every index is checked against the
// sizes of its part before it is used, and a stream that does not add up marks its chunk.
#include "rans_decode.cuh"

// What to do with a unit, in one word. Group of its class << 29, and for a class with a table: whether by slots << 28, raw bits a
// node << 24, first of its entries << 14, place in shared memory / 16. For exact units: table << 8, shift.
struct Task {
    u32 word;
    __device__ __forceinline__ Task(u32 word) : word(word) {}
    __device__ __forceinline__ u32 group() const { return word >> 29; }
    __device__ __forceinline__ bool zero() const { return group() == 1; }
    __device__ __forceinline__ bool exact() const { return group() == CLASS_GROUPS - 1; }
    __device__ __forceinline__ bool by_slots() const { return word >> 28 & 1; }
    __device__ __forceinline__ u32 raw() const { return word >> 24 & 15; }
    __device__ __forceinline__ u32 first() const { return word >> 14 & 1023; }
    __device__ __forceinline__ u32 place() const { return (word & 0x3fff) * 16; }
    __device__ __forceinline__ u32 table() const { return word >> 8 & 255; }
    __device__ __forceinline__ u32 shift() const { return word & 255; }
};

// A unit in two words: start | length << 16, slot | slot of its parent << 10 | end of its step << 20.
constexpr u32 UNIT_BITS = 10;
constexpr u32 UNIT_MASK = (1u << UNIT_BITS) - 1;

// Shared memory of a block: see `decoder_shared` in codec/backend/cuda/pyramid/coder.rs.
struct Memory {
    char *base;
    u32 *slots, *entries, *tasks;
    u8 *tokens;
    ClassTables classes;
    // Where this warp's part starts: its window, its units and what to do with them, and the group of the last class of each slot
    // (0 in place of a slot that does not exist).
    u32 mine, unit_count;

    __device__ __forceinline__ Memory(const CoderArguments &a, char *memory) : base(memory) {
        const u32 table_count = a.tables.symbol_tables;
        slots = (u32 *)memory;
        tokens = (u8 *)(slots + a.tables_by_slots * PROB_SUM);
        entries = (u32 *)(tokens + (table_count - a.tables_by_slots) * PROB_SUM);
        u16 *starts = (u16 *)(entries + (a.tables.entry_count + 3) / 4 * 4);
        u8 *class_tokens = (u8 *)(starts + CLASS_GROUPS * CLASS_GROUPS * ClassTables::ROW);
        classes = {starts, class_tokens};
        tasks = (u32 *)(class_tokens + CLASS_GROUPS * CLASS_GROUPS * (PROB_SUM / ClassTables::PIECE));
        unit_count = (a.units_in_tile + 3) / 4 * 4;
        const u32 of_warp = sizeof(u16) * WINDOW + 12 * unit_count + (a.slots + 16) / 16 * 16;
        mine = (u32)((char *)(tasks + ClassTables::TOKENS) - memory) + threadIdx.x / 32 * of_warp;
    }
    __device__ __forceinline__ uint2 *units() const { return (uint2 *)(base + mine + sizeof(u16) * WINDOW); }
    __device__ __forceinline__ u32 *unit_tasks() const { return (u32 *)(units() + unit_count); }
    __device__ __forceinline__ u8 *last() const { return (u8 *)(unit_tasks() + unit_count); }
    // Copies what all warps share.
    __device__ void fill(const CoderArguments &a) {
        const auto copy = [](void *to, const void *from, u32 bytes) {
            for (u32 i = threadIdx.x; i < bytes / 16; i += blockDim.x) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
        };
        const CoderTables &t = a.tables;
        constexpr u32 CLASS_TABLES = CLASS_GROUPS * CLASS_GROUPS;
        copy(slots, t.slots, a.tables_by_slots * PROB_SUM * 4);
        copy(tokens, t.tokens + a.tables_by_slots * PROB_SUM, (t.symbol_tables - a.tables_by_slots) * PROB_SUM);
        copy(entries, t.entries, (t.entry_count + 3) / 4 * 16);
        copy((void *)classes.starts, t.class_starts, CLASS_TABLES * ClassTables::ROW * 2);
        copy((void *)classes.tokens, t.class_tokens, CLASS_TABLES * (PROB_SUM / ClassTables::PIECE));
        for (u32 kind = threadIdx.x; kind < ClassTables::TOKENS; kind += blockDim.x) {
            u32 word = t.groups[kind] << 29;
            if (kind > 0 && kind < t.exact_class()) {
                const u32 table = t.classes[kind - 1] & 255, raw = t.classes[kind - 1] >> 8, rank = t.ranks[table];
                word |= raw << 24 | t.first[table] << 14 | (u32)(table_of(rank, a) - base) / 16;
                if (rank < a.tables_by_slots) word |= 1u << 28;
            }
            tasks[kind] = word;
        }
    }
    __device__ __forceinline__ const char *table_of(u32 rank, const CoderArguments &a) const {
        if (rank < a.tables_by_slots) return (const char *)(slots + rank * PROB_SUM);
        return (const char *)(tokens + (rank - a.tables_by_slots) * PROB_SUM);
    }
};

// What stands behind the words of a stream: symbols and values by which lanes replace those that they escaped from, raw bits.
template <class D> struct Lists {
    // Where the symbols and deltas of the tile go.
    i16 *q;
    D *delta;
    const u16 *escapes, *exact;
    // Raw bits in words, from a place that 4 bytes divide; the next bit, and one past the last, counted from there.
    const u32 *raw;
    u32 raw_at, raw_end;
    u32 escapes_left, exact_left, below;
    bool broken;

    // Of the lanes that ask: the next exact values.
    __device__ __noinline__ D exact_value(bool asks) {
        const u32 mask = __ballot_sync(FULL, asks), index = __popc(mask & below), count = __popc(mask);
        D value = 0;
        constexpr u32 PIECES = sizeof(D) / 2;
        if (asks && index < exact_left) {
            for (u32 k = 0; k < PIECES; k++) value |= (D)exact[index * PIECES + k] << (16 * k);
        }
        broken |= count > exact_left;
        exact_left -= min(count, exact_left);
        exact += PIECES * count;
        return value;
    }
    // Of the lanes that escaped: their symbols; an exact one's delta goes to its place.
    __device__ __noinline__ void symbols(bool escaped, u32 to) {
        const u32 mask = __ballot_sync(FULL, escaped), index = __popc(mask & below), count = __popc(mask);
        const i16 symbol = escaped && index < escapes_left ? (i16)escapes[index] : 0;
        broken |= count > escapes_left;
        escapes_left -= min(count, escapes_left);
        escapes += count;
        if (escaped) q[to] = symbol;
        const bool is_exact = symbol == EXACT;
        if (!__any_sync(FULL, is_exact)) return;
        const D value = exact_value(is_exact);
        if (is_exact) delta[to] = value;
    }
};

// At most 32 raw bits.
__device__ __forceinline__ u32 raw_bits(const u32 *raw, u32 bit, u32 width) {
    return __funnelshift_r(raw[bit / 32], raw[bit / 32 + 1], bit) & (u32)((1ull << width) - 1);
}

template <class D> struct StreamDecoder {
    const CoderArguments &a;
    const Memory &memory;
    Lists<D> &lists;
    Decoder rans;
    u32 lanes, lane;
    // The symbols of the tile.
    i16 *q;

    __device__ __forceinline__ StreamDecoder(const CoderArguments &a, const Memory &memory, Lists<D> &lists, const Stream &stream, u32 lanes,
                                             u32 lane)
        : a(a), memory(memory), lists(lists),
          rans(words_of(a, stream, lanes), stream.words, state_of(a, stream, lanes, lane), memory.base, memory.mine, lane), lanes(lanes), lane(lane), q(a.q) {
        lists.escapes = words_of(a, stream, lanes) + stream.words;
        lists.exact = lists.escapes + stream.escapes;
        lists.escapes_left = stream.escapes;
        lists.exact_left = stream.exact;
        lists.broken = false;
        const u16 *bits = lists.exact + stream.exact * (u32)(sizeof(D) / 2);
        const u32 skew = (u32)((u64)bits >> 1 & 1);
        lists.raw = (const u32 *)(bits - skew);
        lists.raw_at = 16 * skew;
        lists.raw_end = lists.raw_at + 8 * stream.raw;
    }
    static __device__ __forceinline__ const u16 *words_of(const CoderArguments &a, const Stream &stream, u32 lanes) {
        return (const u16 *)(a.output + stream.first_word) + 2 * lanes;
    }
    static __device__ __forceinline__ u32 state_of(const CoderArguments &a, const Stream &stream, u32 lanes, u32 lane) {
        const u16 *states = (const u16 *)(a.output + stream.first_word) + 2 * lane;
        return lane < lanes ? states[0] | (u32)states[1] << 16 : STATE_MIN;
    }

    // Whether so many raw bits are left; if not, the stream is broken.
    __device__ __forceinline__ bool has_raw(u32 len, u32 width) {
        const bool has = len * width <= lists.raw_end - lists.raw_at;
        if (!has) lists.broken = true;
        return has;
    }

    // The units of a tile of this shape, for the warp's memory; returns their number.
    __device__ u32 load_units(u32 shape) {
        const u32 first = a.unit_first[shape], count = a.unit_first[shape + 1] - first;
        __syncwarp();
        for (u32 i = lane; i < count; i += 32) {
            const Unit unit = a.units[first + i];
            const u32 parent = unit.parent == NONE ? a.slots : unit.parent;
            memory.units()[i] = {unit.start | unit.len << 16, unit.slot | parent << UNIT_BITS | unit.step_end << 2 * UNIT_BITS};
        }
        __syncwarp();
        return count;
    }
    // Symbols of the tile, with the padding between units.
    __device__ __forceinline__ u32 tile_len(u32 unit_count) const {
        const u32 last = memory.units()[unit_count - 1].x;
        return ((last & 0xffff) + (last >> 16) + 7) & ~7u;
    }
    // The class rounds of a tile: what to do with each unit.
    __device__ __forceinline__ void classes(u32 count) {
        u32 end;
        for (u32 begin = 0; begin < count; begin = end) {
            end = min(memory.units()[begin].y >> 2 * UNIT_BITS, begin + lanes);
            const bool active = lane < lanes && begin + lane < end;
            const u32 unit = memory.units()[active ? begin + lane : begin].y, slot = unit & UNIT_MASK;
            const u32 own = memory.last()[slot], parent = memory.last()[unit >> UNIT_BITS & UNIT_MASK];
            // enough for three rounds
            rans.advance();
            Task task(memory.tasks[memory.classes.get(rans, own, parent, active)]);
            const bool is_exact = active && task.exact();
            if (__any_sync(FULL, is_exact)) {
                const u32 table = rans.uniform(is_exact), shift = rans.uniform(is_exact);
                if (is_exact) task.word |= table << 8 | shift;
            }
            __syncwarp();
            if (active) {
                memory.last()[slot] = (u8)task.group();
                memory.unit_tasks()[begin + lane] = task.word;
            }
            __syncwarp();
        }
    }
    // Symbol of a node that has RAW bits, the next ones from `bit` on.
    template <bool RAW> __device__ __forceinline__ i16 symbol(u32 entry, u32 bits, u32 width) const {
        return RAW ? unzigzag(token_of(entry) << width | bits) : (i16)symbol_of(entry);
    }
    // Puts the symbols of lanes that escaped in the last rounds in place; `to`: of this lane's node of the first round.
    __device__ __forceinline__ void replace_escaped(const u32 (&entries)[BATCH], u32 to, u32 stride) {
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) any |= entries[k];
        any &= ESCAPE;
        keep(any);
        if (!__any_sync(FULL, any != 0)) return;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) lists.symbols((entries[k] & ESCAPE) != 0, to + k * stride);
    }
    // The symbols of a unit, a round of lanes at a time, from this lane's first node on.
    template <bool RAW, class L> __device__ __forceinline__ void rounds(u32 start, u32 len, const L &lookup, u32 width) {
        const u32 *raw = RAW ? lists.raw : nullptr;
        u32 bit = RAW ? lists.raw_at + lane * width : 0, left = len, entries[BATCH], bits[BATCH];
        i16 *to = q + start + lane;
        if (lanes == 32) {
#pragma unroll 1
            for (; left >= 32 * BATCH; left -= 32 * BATCH) {
                rans.advance();
#pragma unroll
                for (u32 k = 0; k < BATCH; k++) bits[k] = RAW ? raw_bits(raw, bit + 32 * k * width, width) : 0;
#pragma unroll
                for (u32 k = 0; k < BATCH; k++) {
                    entries[k] = rans.get(lookup, true);
                    to[32 * k] = symbol<RAW>(entries[k], bits[k], width);
                }
                replace_escaped(entries, start + lane + len - left, 32);
                to += 32 * BATCH;
                bit += 32 * BATCH * width;
            }
        }
#pragma unroll 1
        while (left > 0) {
            const u32 first = start + lane + len - left;
            rans.advance();
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                entries[k] = 0;
                if (left == 0) continue;
                const u32 count = min(lanes, left);
                const bool active = lane < count;
                const u32 entry = rans.get(lookup, active);
                entries[k] = active ? entry : 0;
                if (active) *to = symbol<RAW>(entry, RAW ? raw_bits(raw, bit, width) : 0, width);
                to += lanes;
                bit += lanes * width;
                left -= count;
            }
            replace_escaped(entries, first, lanes);
        }
    }
    __device__ __forceinline__ void quantized(u32 start, u32 len, const Task &task) {
        const BySlots by_slots = {memory.base, task.place()};
        const ByTokens by_tokens = {(const u8 *)(memory.base + task.place()), memory.entries + task.first()};
        if (task.raw() == 0) {
            if (task.by_slots()) rounds<false>(start, len, by_slots, 0);
            else rounds<false>(start, len, by_tokens, 0);
            return;
        }
        if (!has_raw(len, task.raw())) return;
        if (task.by_slots()) rounds<true>(start, len, by_slots, task.raw());
        else rounds<true>(start, len, by_tokens, task.raw());
        lists.raw_at += len * task.raw();
    }
    // An entry of any table.
    __device__ __forceinline__ u32 entry_of(u32 table, bool active) {
        const u32 rank = a.tables.ranks[table];
        const char *place = memory.table_of(rank, a);
        if (rank < a.tables_by_slots) return rans.get(BySlots{memory.base, (u32)(place - memory.base)}, active);
        return rans.get(ByTokens{(const u8 *)place, memory.entries + a.tables.first[table]}, active);
    }
    __device__ __forceinline__ void exact_unit(u32 start, u32 len, const Task &task) {
        const u32 table = task.table(), width = table == PLAIN ? a.bits : task.shift();
        const bool coded = table != ALL_EQUAL && table != PLAIN;
        if ((coded && table >= a.tables.symbol_tables) || (table != PLAIN && width >= a.bits)) {
            lists.broken = true;
            return;
        }
        if (!has_raw(len, width)) return;
        for (u32 first = 0; first < len; first += lanes) {
            const u32 i = first + lane;
            const bool active = lane < lanes && i < len;
            rans.advance();
            const u32 entry = coded ? entry_of(table, active) : 0;
            const u32 bit = lists.raw_at + i * width;
            u64 value = active && width > 0 ? raw_bits(lists.raw, bit, min(width, 32u)) : 0;
            if (active && width > 32) value |= (u64)raw_bits(lists.raw, bit + 32, width - 32) << 32;
            if (coded && active) value |= (u64)token_of(entry) << width;
            const bool escaped = active && entry & ESCAPE;
            if (__any_sync(FULL, escaped)) {
                const D listed = lists.exact_value(escaped);
                if (escaped) value = listed;
            }
            if (__any_sync(FULL, value != (D)value)) lists.broken = true;
            if (active) {
                q[start + i] = EXACT;
                lists.delta[start + i] = (D)value;
            }
        }
        lists.raw_at += len * width;
    }
    // Units start at multiples of 16 bytes, and what lies between them is nobody's.
    __device__ __forceinline__ void zeros(u32 start, u32 len) {
        const uint4 zero = {0, 0, 0, 0};
        uint4 *to = (uint4 *)(q + start);
#pragma unroll 1
        for (u32 i = lane; i < (len + 7) / 8; i += 32) to[i] = zero;
    }
    // The tile whose symbols start at `start`.
    __device__ __forceinline__ void tile(u64 start, u32 unit_count) {
        classes(unit_count);
        q = a.q + start;
        lists.q = q;
        lists.delta = (D *)a.delta + start;
        // 32 units at a time, one a lane
#pragma unroll 1
        for (u32 begin = 0; begin < unit_count; begin += 32) {
            const u32 count = min(unit_count - begin, 32u), mine = begin + min(lane, count - 1);
            const u32 word = memory.unit_tasks()[mine], place = memory.units()[mine].x;
            const u32 zero = __ballot_sync(FULL, lane < count && Task(word).zero());
            u32 run;
#pragma unroll 1
            for (u32 j = 0; j < count; j += run) {
                const u32 at = __shfl_sync(FULL, place, j), start = at & 0xffff, len = at >> 16;
                const Task task(__shfl_sync(FULL, word, j));
                run = 1;
                if (task.zero()) {
                    // with those that follow it
                    run = (u32)__clz((i32)__brev(~(zero >> j)));
                    const u32 last = __shfl_sync(FULL, place, j + run - 1);
                    zeros(start, (last & 0xffff) + (last >> 16) - start);
                } else if (task.exact()) {
                    exact_unit(start, len, task);
                } else {
                    quantized(start, len, task);
                }
            }
        }
        __syncwarp();
    }
    // Whether every part was used up and every lane is back at its start.
    __device__ __forceinline__ bool finished() {
        const u32 left = lists.raw_end - lists.raw_at;
        bool good = !lists.broken && rans.used_up() && lists.escapes_left == 0 && lists.exact_left == 0 && left < 16;
        if (good && left > 0) good = raw_bits(lists.raw, lists.raw_at, left) == 0;
        return __all_sync(FULL, good && (lane >= lanes || rans.state == STATE_MIN));
    }
};

// Streams for a warp, the longest first: neighbours in length go to different multiprocessors.
struct SortedStreams {
    const StreamOrder order;
    u32 end, next;
    __device__ __forceinline__ SortedStreams(const CoderArguments &a) : order(a), next(threadIdx.x / 32 * gridDim.x + blockIdx.x) {
        const u32 lane = threadIdx.x & 31;
        end = order.counts[lane];
        for (u32 by = 1; by < 32; by <<= 1) {
            const u32 other = __shfl_up_sync(FULL, end, by);
            if (lane >= by) end += other;
        }
    }
    // False when there is none left.
    __device__ __forceinline__ bool take(u32 &stream) {
        const u32 lane = threadIdx.x & 31, longer = __ballot_sync(FULL, end > next);
        if (longer == 0) return false;
        const u32 bucket = __ffs((i32)longer) - 1;
        const u32 before = __shfl_sync(FULL, end, bucket - 1);
        stream = order.lists[bucket * order.capacity + next - (bucket > 0 ? before : 0)];
        u32 taken = 0;
        if (lane == 0) taken = atomicAdd(order.taken, 1u);
        next = __shfl_sync(FULL, taken, 0) + gridDim.x * (blockDim.x / 32);
        return true;
    }
};

// A chunk without symbols: its streams share the work.
__device__ __forceinline__ void clear(const CoderArguments &a, const Chunk &chunk, u32 share) {
    const u64 begin = a.tiles[chunk.tile].start / 8, count = a.tiles[chunk.tile_end].start / 8 - begin;
    const u64 end = begin + (share + 1) * count / MAX_STREAMS;
    const uint4 zero = {0, 0, 0, 0};
    for (u64 i = begin + share * count / MAX_STREAMS + (threadIdx.x & 31); i < end; i += 32) ((uint4 *)a.q)[i] = zero;
}

template <class D> __device__ void decode_streams(const CoderArguments &a) {
    SHARED_MEMORY(shared);
    Memory memory(a, shared);
    memory.fill(a);
    __syncthreads();
    const u32 lane = threadIdx.x & 31;
    Lists<D> lists = {a.q, (D *)a.delta, nullptr, nullptr, nullptr, 0, 0, 0, 0, (1u << lane) - 1, false};
    SortedStreams streams(a);
    for (u32 s; streams.take(s);) {
        const Stream stream = a.streams[s];
        const Chunk chunk = a.chunks[stream.chunk];
        if (chunk.code == 0) {
            clear(a, chunk, stream.index);
            continue;
        }
        StreamDecoder<D> decoder(a, memory, lists, stream, lanes_of(chunk.code), lane);
        for (u32 i = lane; i <= a.slots; i += 32) memory.last()[i] = 0;
        const u32 end = stream_tile(chunk, stream.index + 1);
        const u32 first = stream_tile(chunk, stream.index);
        u64 start = a.tiles[first].start;
        u32 shapes = 0, loaded = NONE, unit_count = 0;
        for (u32 t = first; t < end && !lists.broken; t++) {
            // the shapes of the next 32 tiles
            if ((t - first) % 32 == 0) shapes = a.tiles[min(t + lane, end - 1)].shape;
            const u32 shape = __shfl_sync(FULL, shapes, t - first);
            if (shape != loaded) unit_count = decoder.load_units(shape);
            loaded = shape;
            decoder.tile(start, unit_count);
            // one tile follows the other
            start += decoder.tile_len(unit_count);
        }
        if (!decoder.finished() && lane == 0) atomicOr(&a.chunks[stream.chunk].error, 1u);
    }
}

extern "C" __global__ void __launch_bounds__(32 * STREAM_WARPS, 1) decode_streams_32(const CoderArguments a) { decode_streams<u32>(a); }
extern "C" __global__ void __launch_bounds__(32 * STREAM_WARPS, 1) decode_streams_64(const CoderArguments a) { decode_streams<u64>(a); }
