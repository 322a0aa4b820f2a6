// The class coder, decoding: one warp a stream. Nothing in a payload is trusted: every index is checked against the
// sizes of its part before it is used, and a stream that does not add up marks its chunk.
#include "class_decode.cuh"

// Words by which raw bits are asked for ahead of their rounds.
constexpr u32 RAW_AHEAD = 64;

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
          rans(words_of(a, stream, lanes), stream.words, state_of(a, stream, lanes, lane), memory.base, memory.mine, lane), lanes(lanes),
          lane(lane), q(a.q) {
        const u16 *escapes = words_of(a, stream, lanes) + stream.words, *exact = escapes + stream.escapes;
        const u16 *bits = exact + stream.exact * (u32)(sizeof(D) / 2);
        const u32 skew = (u32)((u64)bits >> 1 & 1);
        lists.change([&] {
            lists.escapes = escapes, lists.exact = exact;
            lists.escapes_left = stream.escapes, lists.exact_left = stream.exact;
            lists.raw = (const u32 *)(bits - skew);
            lists.raw_at = 16 * skew, lists.raw_end = 16 * skew + 8 * stream.raw;
            lists.broken = 0;
        });
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
        if (!has) lists.give_up();
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
            // all reads at once; lanes without a unit read another one's
            const u32 unit = memory.units()[min(begin + lane, count - 1)].y, slot = unit & UNIT_MASK;
            const u32 own = memory.last()[slot], parent = memory.last()[unit >> UNIT_BITS & UNIT_MASK];
            // enough for three rounds
            rans.advance();
            const u32 kind = memory.classes.get(rans, own, parent, active);
            const bool is_exact = active && kind == a.tables.exact_class();
            Task task(memory.tasks[kind]);
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
    __device__ __forceinline__ void replace_escaped(const u32 (&entries)[BATCH], u32 to) {
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) any |= entries[k];
        any &= ESCAPE;
        keep(any);
        if (!__any_sync(FULL, any != 0)) return;
        u32 escaped = 0;
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) escaped |= entries[k] / ESCAPE % 2 << k;
        lists.template symbols<BATCH>(escaped, to);
    }
    // The symbols of a unit, 32 at a time. `to`: this lane's first node.
    template <bool RAW, class L> __device__ __forceinline__ void wide_rounds(u32 to, u32 left, const L &lookup, u32 width) {
        // a round takes `width` words of raw bits
        const RawBits raw = RAW ? RawBits(lists.raw, lists.raw_at + lane * width, width) : RawBits();
        const u32 *words = raw.words;
        u32 entries[BATCH], bits[BATCH];
        i16 *symbols = q + to;
        const u32 end = to + left;
#pragma unroll 1
        for (; left >= 32 * BATCH; left -= 32 * BATCH) {
            rans.advance();
            if (RAW) fetch_ahead(words + RAW_AHEAD);
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) bits[k] = RAW ? raw.next(words) : 0;
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                entries[k] = rans.get(lookup, true);
                symbols[32 * k] = symbol<RAW>(entries[k], bits[k], width);
            }
            replace_escaped(entries, end - left);
            symbols += 32 * BATCH;
        }
        if (left == 0) return;
        rans.advance();
#pragma unroll
        for (u32 k = 0; k < BATCH; k++) {
            entries[k] = 0;
            if (32 * k >= left) continue;
            const bool active = lane + 32 * k < left;
            const u32 entry = rans.get(lookup, active);
            if (active) symbols[32 * k] = symbol<RAW>(entry, RAW ? raw.next(words) : 0, width);
            entries[k] = active ? entry : 0;
        }
        replace_escaped(entries, end - left);
    }
    // The same with fewer lanes.
    template <bool RAW, class L> __device__ __forceinline__ void narrow_rounds(u32 to, u32 left, const L &lookup, u32 width) {
        const u32 *raw = RAW ? lists.raw : nullptr;
        u32 bit = RAW ? lists.raw_at + lane * width : 0;
        i16 *symbols = q + to;
        const u32 end = to + left;
#pragma unroll 1
        while (left > 0) {
            const u32 count = min(lanes, left);
            const bool active = lane < count;
            rans.advance();
            const u32 entry = rans.get(lookup, active);
            if (active) *symbols = symbol<RAW>(entry, RAW ? raw_bits(raw, bit, width) : 0, width);
            const bool escaped = active && (entry & ESCAPE) != 0;
            if (__any_sync(FULL, escaped)) lists.template symbols<1>(escaped, end - left);
            symbols += lanes;
            bit += lanes * width;
            left -= count;
        }
    }
    template <bool RAW, class L> __device__ __forceinline__ void rounds(u32 start, u32 len, const L &lookup, u32 width) {
        if (lanes == 32) wide_rounds<RAW>(start + lane, len, lookup, width);
        else narrow_rounds<RAW>(start + lane, len, lookup, width);
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
        lists.take_raw(len * task.raw());
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
            lists.give_up();
            return;
        }
        if (!has_raw(len, width)) return;
        D *const deltas = lists.delta;
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
            if (__any_sync(FULL, value != (D)value)) lists.give_up();
            if (active) {
                q[start + i] = EXACT;
                deltas[start + i] = (D)value;
            }
        }
        lists.take_raw(len * width);
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
        lists.change([&] { lists.q = q, lists.delta = (D *)a.delta + start; });
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
        bool good = lists.broken == 0 && rans.used_up() && lists.escapes_left == 0 && lists.exact_left == 0 && left < 16;
        if (good && left > 0) good = raw_bits(lists.raw, lists.raw_at, left) == 0;
        return __all_sync(FULL, good && (lane >= lanes || rans.state == STATE_MIN));
    }
};

// Streams for a warp, the longest first: neighbours in length go to different multiprocessors. A warp has few, so that none is asked for
// early: it would wait for the one before.
struct SortedStreams {
    const StreamOrder order;
    u32 end;
    __device__ __forceinline__ SortedStreams(const CoderArguments &a) : order(a) {
        const u32 lane = threadIdx.x & 31;
        end = order.counts[lane];
        for (u32 by = 1; by < 32; by <<= 1) {
            const u32 other = __shfl_up_sync(FULL, end, by);
            if (lane >= by) end += other;
        }
    }
    // Numbers of streams in that order: the warp's first one, and the next one that nobody has taken.
    __device__ __forceinline__ u32 first() const { return threadIdx.x / 32 * gridDim.x + blockIdx.x; }
    __device__ __forceinline__ u32 next() const {
        u32 taken = 0;
        if ((threadIdx.x & 31) == 0) taken = atomicAdd(order.taken, 1u);
        return __shfl_sync(FULL, taken, 0) + gridDim.x * (blockDim.x / 32);
    }
    // The stream of a number; false where there is none.
    __device__ __forceinline__ bool find(u32 number, u32 &stream) const {
        const u32 longer = __ballot_sync(FULL, end > number);
        if (longer == 0) return false;
        const u32 bucket = __ffs((i32)longer) - 1;
        const u32 before = __shfl_sync(FULL, end, bucket - 1);
        stream = order.lists[bucket * order.capacity + number - (bucket > 0 ? before : 0)];
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
    Lists<D> &lists = *(Lists<D> *)memory.lists(a.slots);
    static_assert(sizeof(Lists<D>) <= LISTS_BYTES, "room of the lists");
    const SortedStreams streams(a);
    u32 s;
    for (u32 number = streams.first(); streams.find(number, s); number = streams.next()) {
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
        for (u32 t = first; t < end && lists.broken == 0; t++) {
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
