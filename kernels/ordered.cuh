// One tile of any shape of a chunk in axis order (FORMAT.md, "tiles and node sets"). Each node is predicted along one axis, so that a thread takes the new
// nodes of a line, or of a part of one, one after the other: no lists of nodes, and of the old nodes around a new one all but one are in registers.
#pragma once
#include "tile.cuh"

template <class T, u32 GROUP, bool ENCODE, bool SPILLED> struct OrderedTile {
    typedef Real<T> R;
    typedef typename R::Bits Bits;
    // Values of one access.
    template <u32 BYTES> struct __align__(BYTES) Together {
        static constexpr u32 COUNT = BYTES / sizeof(T);
        T of[COUNT];
    };
    // Steps with so many nodes at most go to one warp, which waits for no others.
    static constexpr u32 FEW = 128;
    const TileArguments<T> &a;
    const TileShape &shape;
    const Tile &tile;
    const Choice choice;
    const u32 thread;
    // Values by place; decoding, symbols before their nodes are rebuilt. Tiers of the tolerance blocks.
    T *const v;
    u8 *const tiers;
    const u32 dims[3];
    // From a row or plane to the next in the tile's memory. Planes are in order, rows and columns by rank: those of later sets come first, so that the second one is the
    // last of the tile.
    const u32 row_distance, plane_distance;

    __device__ OrderedTile(const TileArguments<T> &a, const Tile &tile, const TileShape &shape, char *memory, u32 thread)
        : a(a), shape(shape), tile(tile), choice{a.choices[tile.chunk]}, thread(thread), v((T *)memory), tiers((u8 *)(v + shape.places)),
          dims{shape.dims[0], shape.dims[1], shape.dims[2]}, row_distance(offset(1, dims[1] - 1)), plane_distance(offset(0, min(1u, dims[0] - 1))) {}
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    // Of a position on an axis in the tile's memory.
    __device__ __forceinline__ u32 offset(u32 axis, u32 position) const { return a.offsets[shape.offsets[axis] + position]; }
    // Nodes of S(set) on an axis: every 2^set-th and the last.
    __device__ __forceinline__ u32 size(u32 axis, u32 set) const { return dims[axis] < 2 ? 1 : ((dims[axis] - 2) >> set) + 2; }
    __device__ __forceinline__ u32 position(u32 axis, u32 index, u32 set) const { return min(index << set, dims[axis] - 1); }

    // The place of the first node of a row, plane or column: of number `index` of S(set) on an axis, by rank on the last two if there is one tier only. Then `at` is
    // its position.
    template <u32 AXIS, bool TIERED> __device__ __forceinline__ u32 place(u32 index, u32 set, u32 &at) const {
        if (AXIS > 0 && !TIERED) return AXIS == 1 ? index * row_distance : index;
        at = position(AXIS, index, set);
        return AXIS == 0 ? at * plane_distance : offset(AXIS, at);
    }
    // The nodes of a step that are predicted along AXIS, `fresh` on each line, by 2^bits threads: those of S(row_set) and S(column_set) on the two other axes. `kept`:
    // others are predicted from them, or they are the result.
    template <u32 AXIS, u32 POINTS, bool TIERED>
    __device__ __forceinline__ void pass(u32 step, u32 fresh, u32 row_set, u32 column_set, u32 bits, const Quantizer<T> *quantizers, Quantizer<T> z, bool kept) const {
        constexpr u32 ROW = AXIS == 0 ? 1 : 0, COLUMN = AXIS == 2 ? 1 : 2;
        const u32 columns = size(COLUMN, column_set), lines = size(ROW, row_set) * columns;
        // 2^parts threads share a line
        const u32 line_bits = min(bit_length(lines - 1), bits), parts = bits - line_bits;
        const u32 length = (fresh + (1u << parts) - 1) >> parts, first = (thread >> line_bits) * length, end = min(first + length, fresh);
        u32 line = thread & ((1u << line_bits) - 1);
        if (first >= end || line >= lines) return;
        const auto *stencils = (const Stencil<T, POINTS> *)a.stencils[POINTS / 2 - 1] + (shape.first_stencil + a.steps[shape.first_step + 3 * step + AXIS].stencils + first);
        const float of_row = reciprocal((float)columns);
        // new nodes follow each other by rank on the last two axes, behind the old ones
        const u32 distance = AXIS == 0 ? plane_distance << (step + 1) : AXIS == 1 ? row_distance : 1;
        const u32 begin = AXIS == 0 ? ((2 * first + 1) << step) * plane_distance : (size(AXIS, step + 1) + first) * distance;
        i16 *symbols = a.q + tile.start;
        keep_global(symbols);
        Bits *delta = a.delta + tile.start;
        do {
            const u32 row = (u32)(((float)line + 0.5f) * of_row), column = line - row * columns;
            u32 in_row = 0, in_column = 0, at = (2 * first + 1) << step;
            const u32 start = place<ROW, TIERED>(row, row_set, in_row) + place<COLUMN, TIERED>(column, column_set, in_column) + begin;
            const u32 block = TIERED ? (in_row >> a.shift) * block_distance(ROW) + (in_column >> a.shift) * block_distance(COLUMN) : 0;
            T *own = v + start;
            const u16 *coded = a.coded_at + shape.coded_at + start;
            const Stencil<T, POINTS> *stencil = stencils;
            // values of old nodes, in turn
            T near[POINTS];
#pragma unroll
            for (u32 k = 0; k + 1 < POINTS; k++) near[k] = own[stencil->offset[k]];
            u32 number = ENCODE ? *coded : 0;
            for (u32 left = end - first; left > 0;) {
                // until `near` is in its first order again
#pragma unroll
                for (u32 turn = 0; turn < POINTS; turn++) {
                    near[(turn + POINTS - 1) % POINTS] = own[stencil[turn].offset[POINTS - 1]];
                    T u = *own, weight[POINTS];
                    load_weights(stencil[turn], weight);
                    T p = R::mul(weight[0], near[turn]);
#pragma unroll
                    for (u32 k = 1; k < POINTS; k++) p = R::fma(weight[k], near[(turn + k) % POINTS], p);
                    const bool more = left > 1;
                    // asked for long before it is needed
                    const u32 next = ENCODE && more ? coded[distance] : 0;
                    if (TIERED) z = quantizers[tiers[block + (at >> a.shift) * block_distance(AXIS)]], at += 2u << step;
                    if (ENCODE) {
                        i16 symbol;
                        const bool fits = quantize(u, p, z, symbol);
                        if (kept) *own = u;
                        symbols[number] = symbol;
                        if (!fits) delta[number] = delta_of(u, p);
                    } else {
                        *own = u == (T)EXACT ? apply_delta<T>(delta[*coded], p) : R::fma(u, z.step, p);
                    }
                    number = next, own += distance, coded += distance, left--;
                    if (!more) break;
                }
                stencil += POINTS;
            }
            line += 1u << bits;
        } while (line < lines);
    }
    // As few accesses as possible.
    template <u32 POINTS> static __device__ __forceinline__ void load_weights(const Stencil<T, POINTS> &stencil, T (&weight)[POINTS]) {
        typedef Together<POINTS * sizeof(T) % 16 == 0 ? 16 : 8> Some;
        const Some *from = (const Some *)&stencil;
#pragma unroll
        for (u32 i = 0; i < POINTS; i += Some::COUNT) {
            const Some some = from[i / Some::COUNT];
#pragma unroll
            for (u32 k = 0; k < Some::COUNT; k++) weight[i + k] = some.of[k];
        }
    }
    // From a tolerance block to the next along an axis.
    __device__ __forceinline__ u32 block_distance(u32 axis) const {
        const u32 row = ((dims[2] - 1) >> a.shift) + 1, rows = ((dims[1] - 1) >> a.shift) + 1;
        return axis == 0 ? row * rows : axis == 1 ? row : 1;
    }
    // Nodes that are new on several axes are predicted along the favoured one, else the first: so those along the first of
    // the three come last, from all others.
    template <u32 POINTS, bool TIERED> __device__ __forceinline__ void sweep() const {
        constexpr u32 ALL_BITS = GROUP == 32 ? 5 : GROUP == 64 ? 6 : GROUP == 128 ? 7 : GROUP == 256 ? 8 : GROUP == 512 ? 9 : 10;
        const u32 order = choice.favoured() == 3 ? 0x201 : choice.favoured() == 2 ? 0x102 : 0x012;
        bool alone = GROUP > 32;
#pragma unroll 1
        for (u32 step = shape.steps; step-- > 0;) {
            if (alone && size(0, step) * size(1, step) * size(2, step) > FEW) __syncthreads(), alone = false;
            if (alone && thread >= 32) continue;
            const u32 bits = alone ? 5 : ALL_BITS;
            const Quantizer<T> *quantizers = quantizers_of(a, choice, step);
            const Quantizer<T> only = quantizers[0];
            u32 sets[3] = {step + 1, step + 1, step + 1};
#pragma unroll 1
            for (u32 turn = 0; turn < 3; turn++) {
                const u32 axis = order >> (4 * turn) & 3;
                const bool kept = step > 0 || turn < 2 || a.result;
                const u32 fresh = axis == 0 ? size(0, step) - size(0, step + 1) : axis == 1 ? size(1, step) - size(1, step + 1) : size(2, step) - size(2, step + 1);
                if (fresh > 0) {
                    if (axis == 0) pass<0, POINTS, TIERED>(step, fresh, sets[1], sets[2], bits, quantizers, only, kept);
                    else if (axis == 1) pass<1, POINTS, TIERED>(step, fresh, sets[0], sets[2], bits, quantizers, only, kept);
                    else pass<2, POINTS, TIERED>(step, fresh, sets[0], sets[1], bits, quantizers, only, kept);
                    if (alone) __syncwarp();
                    else sync();
                }
                sets[0] = axis == 0 ? step : sets[0], sets[1] = axis == 1 ? step : sets[1], sets[2] = axis == 2 ? step : sets[2];
            }
        }
        if (alone) __syncthreads();
    }
    template <u32 POINTS> __device__ __forceinline__ void sweep() const {
        if (a.tier_count > 1) sweep<POINTS, true>();
        else sweep<POINTS, false>();
    }

    // Calls f(place of its first node, y, x) for each column of nodes along axis 0.
    template <class F> __device__ __forceinline__ void each_column(F f) const {
        const u32 width = min(1u << bit_length(dims[2] - 1), GROUP), y = thread >> (bit_length(width) - 1), rows = GROUP >> (bit_length(width) - 1);
        for (u32 x = thread & (width - 1); x < dims[2]; x += width) {
            for (u32 row = y; row < dims[1]; row += rows) f(offset(1, row) + offset(2, x), row, x);
        }
    }
    __device__ __forceinline__ void load_values() const {
        const u32 distance = plane_distance;
        const u64 next = (u64)a.n[1] * a.n[2];
        each_column([&](u32 place, u32 y, u32 x) {
            const T *from = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1] + y) * a.n[2] + tile.at[2] + x;
            T *to = v + place;
#pragma unroll 4
            for (u32 z = 0; z < dims[0]; z++, from += next, to += distance) {
                if (SPILLED) *to = *from;
                else copy_ahead<sizeof(T)>(to, from);
            }
        });
        copies_arrived();
    }
    // Symbols to where their nodes will be.
    __device__ __forceinline__ void load_symbols() const {
        const i16 *symbols = a.q + tile.start;
        const u16 *coded_at = a.coded_at + shape.coded_at;
        // where there is no node, another symbol stands for it
        const u32 places = (dims[0] - 1) * plane_distance + (dims[1] - 1) * row_distance + dims[2];
#pragma unroll 4
        for (u32 i = thread; i < places; i += GROUP) v[i] = (T)symbols[coded_at[i]];
    }
    __device__ __forceinline__ void load_tiers() const {
        const u32 row = block_distance(1), plane = block_distance(0), count = plane * (((dims[0] - 1) >> a.shift) + 1);
        for (u32 i = thread; i < count; i += GROUP) {
            const u32 z = i / plane, y = i % plane / row, x = i % row;
            const u64 from = (u64)((tile.at[0] >> a.shift) + z) * a.blocks[1] + (tile.at[1] >> a.shift) + y;
            tiers[i] = a.tiers[from * a.blocks[2] + (tile.at[2] >> a.shift) + x];
        }
    }
    __device__ __forceinline__ void load_corners() const {
        const u32 end[3] = {thread >> 2, thread >> 1 & 1, thread & 1};
        if (thread >= 8 || end[0] >= shape.ends[0] || end[1] >= shape.ends[1] || end[2] >= shape.ends[2]) return;
        u32 corner[3], place = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            corner[axis] = tile.at[axis] / a.side * 2 + end[axis];
            place += offset(axis, end[axis] ? dims[axis] - 1 : 0);
        }
        v[place] = a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
    }
    // Writes the part of the tile inside lo..hi.
    __device__ __forceinline__ void store_values() const {
        const u32 distance = plane_distance;
        const u64 row = a.hi[2] - a.lo[2], next = row * (a.hi[1] - a.lo[1]);
        const u32 begin = max(a.lo[0], tile.at[0]), end = min(a.hi[0], tile.at[0] + dims[0]);
        each_column([&](u32 place, u32 y, u32 x) {
            const u32 gy = tile.at[1] + y, gx = tile.at[2] + x;
            if (gy < a.lo[1] || gy >= a.hi[1] || gx < a.lo[2] || gx >= a.hi[2]) return;
            const T *from = v + place + (begin - tile.at[0]) * distance;
            T *to = a.result + (begin - a.lo[0]) * next + (gy - a.lo[1]) * row + (gx - a.lo[2]);
#pragma unroll 4
            for (u32 z = begin; z < end; z++, from += distance, to += next) *to = *from;
        });
    }
    // A chunk that chose otherwise, which an encoder leaves out.
    __device__ void by_lists() const {
        typedef TileWork<T, GROUP, ENCODE> Work;
        typename Work::Base memory(a, shape, thread, (char *)v, shape.places, 0);
        memory.q = a.q + tile.start;
        Work(memory, tile).sweep_steps();
    }
    __device__ __forceinline__ void run() const {
        if (ENCODE) load_values();
        else load_symbols();
        if (a.tier_count > 1) load_tiers();
        sync();
        load_corners();
        sync();
        if (!choice.in_order()) by_lists();
        else if (choice.points() == 1) sweep<4>();
        else if (choice.points() == 0) sweep<2>();
        else sweep<6>();
        if (a.result) store_values();
        sync();
    }
};
