// Tiles of any shape of chunks in axis order: from values to symbols and back.
#pragma once
#include "ordered_pass.cuh"

template <class T, u32 GROUP, u32 TILES, bool ENCODE, bool SPILLED> struct OrderedWork : OrderedTiles<T, GROUP, TILES, ENCODE, SPILLED> {
    typedef OrderedTiles<T, GROUP, TILES, ENCODE, SPILLED> Base;
    using Base::a;
    using Base::Base;
    using Base::by_place;
    using Base::choice;
    using Base::count;
    using Base::dims;
    using Base::LONGEST;
    using Base::offset;
    using Base::passes;
    using Base::plane_distance;
    using Base::row_distance;
    using Base::shape;
    using Base::sync;
    using Base::thread;
    using Base::tiles;
    using Base::v;

    // Calls f(place of its first node, y, x) for each column of nodes of a tile along axis 0.
    template <class F> __device__ __forceinline__ void each_column(F f) const {
        const u32 width = min(1u << bit_length(dims[2] - 1), GROUP), y = thread >> (bit_length(width) - 1), rows = GROUP >> (bit_length(width) - 1);
        for (u32 x = thread & (width - 1); x < dims[2]; x += width) {
            for (u32 row = y; row < dims[1]; row += rows) f(offset(1, row) + offset(2, x), row, x);
        }
    }
    __device__ __forceinline__ void load_values(u32 number) const {
        const Tile &tile = tiles[number];
        const u64 next = (u64)a.n[1] * a.n[2];
        const T *values = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        T *const to_tile = v + number * shape.places;
        // Plane by plane, since planes are far apart, by all threads; of two rows each.
        constexpr u32 ROWS = 2;
        const u32 bits = bit_length(min(1u << bit_length(dims[2] - 1), GROUP)) - 1, rows = GROUP >> bits;
        for (u32 x = thread & ((1u << bits) - 1); x < dims[2]; x += 1u << bits) {
            for (u32 y = thread >> bits; y < dims[1]; y += ROWS * rows) {
                T *to[ROWS];
                const T *from[ROWS];
#pragma unroll
                for (u32 i = 0; i < ROWS; i++) {
                    const u32 row = min(y + i * rows, dims[1] - 1);
                    to[i] = to_tile + offset(1, row) + offset(2, x), from[i] = values + (u64)row * a.n[2] + x;
                }
                const bool both = y + rows < dims[1];
#pragma unroll 2
                for (u32 z = 0; z < dims[0]; z++) {
#pragma unroll
                    for (u32 i = 0; i < ROWS; i++) {
                        if (i == 0 || both) {
                            if (SPILLED) *to[i] = *from[i];
                            else copy_ahead<sizeof(T)>(to[i], from[i]);
                        }
                        to[i] += plane_distance, from[i] += next;
                    }
                }
            }
        }
    }
    // Symbols to where their nodes will be; of tiles whose symbols of step 0 are by places these alone, and what stands between them.
    __device__ __forceinline__ void load_symbols(u32 number) const {
        const i16 *symbols = a.q + tiles[number].start;
        T *to = v + number * shape.places;
        if (by_place != BY_UNITS) {
            typedef typename Base::template Together<16> Some;
            const uint4 *from = (const uint4 *)(symbols + by_place);
#pragma unroll 4
            for (u32 i = thread; i < shape.places / 8; i += GROUP) {
                const uint4 eight = from[i];
                const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
                for (u32 first = 0; first < 8; first += Some::COUNT) {
                    Some some;
#pragma unroll
                    for (u32 k = 0; k < Some::COUNT; k++) some.of[k] = (T)(i16)(words[(first + k) / 2] >> ((first + k) % 2 * 16));
                    *(Some *)(to + 8 * i + first) = some;
                }
            }
            return;
        }
        const u16 *coded_at = a.coded_at + shape.coded_at;
        // where there is no node, another symbol stands for it
        const u32 places = (dims[0] - 1) * plane_distance + (dims[1] - 1) * row_distance + dims[2];
        in_batches(places, [&](u32 i) { return coded_at[i]; }, [&](u32 i) { return symbols[i]; }, [&](u32 i, u32, i16 symbol) { to[i] = (T)symbol; });
    }
    // What that leaves out: the symbols of steps above 0, which stand before the others, by the lists of their nodes.
    __device__ __forceinline__ void load_coarse_symbols(u32 number) const {
        if (by_place == BY_UNITS || this->steps < 2) return;
        const i16 *symbols = a.q + tiles[number].start;
        T *to = v + number * shape.places;
        const Step *first = a.steps + shape.first_step + 3, *last = a.steps + shape.first_step + 3 * this->steps - 1;
        const Node *nodes = a.nodes + first->first;
        const u32 count = last->first + last->count - first->first;
        // place and number of a node are one word
        in_batches(count, [&](u32 i) { return *(const u32 *)(nodes + i); }, [&](u32 two) { return symbols[two >> 16]; }, [&](u32, u32 two, i16 symbol) { to[two & 0xffff] = (T)symbol; });
    }
    // Calls put(i, a, b) with a = first(i), b = second(a), for i below `count`; several are under way at a time.
    template <class F, class S, class P> __device__ __forceinline__ void in_batches(u32 count, F first, S second, P put) const {
        constexpr u32 BATCH = 8;
        for (u32 begin = thread; begin < count; begin += BATCH * GROUP) {
            u32 one[BATCH];
            i16 two[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) one[k] = first(min(begin + k * GROUP, count - 1));
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) two[k] = second(one[k]);
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (begin + k * GROUP < count) put(begin + k * GROUP, one[k], two[k]);
            }
        }
    }
    __device__ __forceinline__ void load_tiers(u32 number) const {
        const Tile &tile = tiles[number];
        const u32 row = this->block_distance(1), plane = this->block_distance(0), all = this->tier_count();
        for (u32 i = thread; i < all; i += GROUP) {
            const u32 z = i / plane, y = i % plane / row, x = i % row;
            const u64 from = (u64)((tile.at[0] >> a.shift) + z) * a.blocks[1] + (tile.at[1] >> a.shift) + y;
            this->tiers()[number * all + i] = a.tiers[from * a.blocks[2] + (tile.at[2] >> a.shift) + x];
        }
    }
    // Passes, stencils and positions.
    __device__ __forceinline__ void load_tables() const {
        if (thread < 3 * this->steps) passes[thread] = this->pass(thread);
        const u32 of_one = this->stencil_bytes(), bytes = this->stencil_count() * of_one;
        const char *from = (const char *)a.stencils[choice.points()] + (u64)shape.first_stencil * of_one;
        for (u32 i = 16 * thread; i < bytes; i += 16 * GROUP) {
            if (SPILLED) *(uint4 *)(this->stencils() + i) = *(const uint4 *)(from + i);
            else copy_ahead<16>(this->stencils() + i, from + i);
        }
        if (a.tier_count == 1) return;
        for (u32 i = thread; i < 3 * LONGEST; i += GROUP) {
            const u32 axis = i / LONGEST, position = i % LONGEST;
            if (axis > 0 && position < this->length(axis)) this->positions()[LONGEST * axis + offset(axis, position) / max(this->distance(axis), 1u)] = (u8)position;
        }
    }
    // The place of the thread's corner, and its value; or more places than there are.
    __device__ __forceinline__ u32 corner(T &value) const {
        const u32 number = thread / 8, end[3] = {thread >> 2 & 1, thread >> 1 & 1, thread & 1};
        if (number >= count || end[0] >= shape.ends[0] || end[1] >= shape.ends[1] || end[2] >= shape.ends[2]) return ~0u;
        u32 corner[3], place = number * shape.places;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            corner[axis] = tiles[number].at[axis] / a.side * 2 + end[axis];
            place += offset(axis, end[axis] ? dims[axis] - 1 : 0);
        }
        value = a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
        return place;
    }
    // Writes the part of a tile inside lo..hi.
    __device__ __forceinline__ void store_values(u32 number) const {
        const Tile &tile = tiles[number];
        const u64 row = a.hi[2] - a.lo[2], next = row * (a.hi[1] - a.lo[1]);
        const u32 begin = max(a.lo[0], tile.at[0]), end = min(a.hi[0], tile.at[0] + dims[0]);
        each_column([&](u32 place, u32 y, u32 x) {
            const u32 gy = tile.at[1] + y, gx = tile.at[2] + x;
            if (gy < a.lo[1] || gy >= a.hi[1] || gx < a.lo[2] || gx >= a.hi[2]) return;
            const T *from = v + number * shape.places + place + (begin - tile.at[0]) * plane_distance;
            T *to = a.result + (begin - a.lo[0]) * next + (gy - a.lo[1]) * row + (gx - a.lo[2]);
#pragma unroll 4
            for (u32 z = begin; z < end; z++, from += plane_distance, to += next) *to = *from;
        });
    }
    // Chunks that chose otherwise, which an encoder leaves out, and longer tiles, of frames with fewer axes.
    __device__ void by_lists(u32 number) const {
        typedef TileWork<T, GROUP, ENCODE> Work;
        typename Work::Base memory(a, shape, thread, (char *)(v + number * shape.places), shape.places, 0);
        memory.q = a.q + tiles[number].start, memory.tiers = this->tiers() + number * this->tier_count();
        Work(memory, tiles[number]).sweep_steps();
    }
    __device__ __forceinline__ void run() const {
        for (u32 number = 0; number < count; number++) {
            if (ENCODE) load_values(number);
            else load_symbols(number);
            if (a.tier_count > 1) load_tiers(number);
        }
        if (this->is_known()) load_tables();
        T value = 0;
        const u32 place = corner(value);
        copies_arrived();
        sync();
        if (place != ~0u) v[place] = value;
        if (!ENCODE) {
            for (u32 number = 0; number < count; number++) load_coarse_symbols(number);
        }
        sync();
        if (!this->is_known()) {
            for (u32 number = 0; number < count; number++) by_lists(number);
        } else if (choice.points() == 1) {
            this->template sweep<4>();
        } else if (choice.points() == 0) {
            this->template sweep<2>();
        } else {
            this->template sweep<6>();
        }
        if (a.result) {
            for (u32 number = 0; number < count; number++) store_values(number);
        }
        sync();
    }
};

// The listed tiles in turn, by each GROUP threads of a block of THREADS, up to TILES together. SPILLED: their memory is not shared memory.
template <class T, u32 THREADS, u32 GROUP, u32 TILES, bool ENCODE, bool SPILLED> __device__ __forceinline__ void ordered(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    constexpr u32 GROUPS = THREADS / GROUP;
    const u32 group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP, all = a.device_count ? *a.device_count : a.list_count;
    char *memory = SPILLED ? a.spill + (u64)blockIdx.x * a.tile_bytes : shared + group * a.tile_bytes;
    for (u32 first = (blockIdx.x * GROUPS + group) * TILES; first < all; first += gridDim.x * GROUPS * TILES) {
        const u32 end = min(first + TILES, all);
        for (u32 next = first; next < end;) {
            const OrderedWork<T, GROUP, TILES, ENCODE, SPILLED> work(a, a.list + next, end - next, memory, thread);
            work.run();
            next += work.count;
        }
    }
}
