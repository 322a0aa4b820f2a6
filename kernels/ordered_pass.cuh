// Tiles of any shape of chunks in axis order (FORMAT.md, "tiles and node sets"). Each node is predicted along one axis, so that a thread takes the new nodes of
// a line, or of a part of one, one after the other: no lists of nodes, and of the old nodes around a new one all but one are in registers.
#pragma once
#include "tile.cuh"

// The nodes of a step that are predicted along one axis, on lines along it: what a thread must know of them. Rows and columns count the lines, on the two other
// axes.
template <class T> struct __align__(16) Pass {
    // Of all tiles; rows of one.
    u32 lines, rows, columns;
    float of_row, of_tile;
    // 2^parts threads share a line, each takes up to `length` of its `fresh` new nodes; 2^line_bits lines at a time.
    u16 parts, line_bits;
    u32 length, fresh;
    // Rows of nodes that are in order in the tile's memory, and not by rank, are every 2^row_set-th and the last.
    u32 row_set, row_end, row_distance, column_distance;
    // The place of the first new node of the first line, and from one to the next on a line; their first stencil.
    u32 begin, distance, stencil;
    // The axis, and the step with ALONE more where one warp does it.
    u16 axis, step;
    // Of the first tier.
    Quantizer<T> quantizer;
};

// Up to TILES tiles of one shape whose chunks chose the same, and the GROUP threads that work on them.
template <class T, u32 GROUP, u32 TILES, bool ENCODE, bool SPILLED> struct OrderedTiles {
    typedef Real<T> R;
    typedef typename R::Bits Bits;
    // Values of one access.
    template <u32 BYTES> struct __align__(BYTES) Together {
        static constexpr u32 COUNT = BYTES / sizeof(T);
        T of[COUNT];
    };
    // Steps with so many nodes at most go to one warp, which waits for no others. Nodes of an axis at most. More than all steps.
    static constexpr u32 FEW = 128, LONGEST = 32, ALONE = 8;
    static_assert(TILES == 1 || 8 * TILES <= GROUP, "a thread a corner");
    const TileArguments<T> &a;
    const Tile *const tiles;
    const TileShape &shape;
    const Choice choice;
    const u32 thread;
    const u32 dims[3], steps, by_place;
    u32 count;
    // Values of one tile after the other, by place; decoding, symbols before their nodes are rebuilt.
    T *const v;
    Pass<T> *passes;
    // From a row or plane to the next in a tile's memory. Planes are in order, rows and columns by rank: those of later sets come first, so that the second one is the
    // last of the tile.
    const u32 row_distance, plane_distance;

    // Takes as many of `most` tiles from the first on as are alike.
    __device__ OrderedTiles(const TileArguments<T> &a, const u32 *numbers, u32 most, char *memory, u32 thread)
        : a(a), tiles(look_up(a, numbers, most, memory, thread)), shape(a.shapes[tiles->shape]), choice{a.choices[tiles->chunk]}, thread(thread), dims{shape.dims[0], shape.dims[1], shape.dims[2]}, steps(shape.steps), by_place(shape.by_place),
          count(1), v((T *)memory), passes(nullptr), row_distance(offset(1, dims[1] - 1)), plane_distance(offset(0, min(1u, dims[0] - 1))) {
        if (TILES > 1) {
            // a lane a tile
            const u32 alike = __ballot_sync(FULL, thread < most && tiles[thread].shape == tiles->shape && a.choices[tiles[thread].chunk] == choice.byte);
            count = (u32)__ffs((i32)~alike) - 1;
        }
        passes = (Pass<T> *)(v + count * shape.places);
    }
    // Several tiles are copied to the end of the group's memory.
    static __device__ __forceinline__ const Tile *look_up(const TileArguments<T> &a, const u32 *numbers, u32 most, char *memory, u32 thread) {
        if (TILES == 1) return a.tiles + *numbers;
        Tile *tiles = (Tile *)(memory + a.tile_bytes) - TILES;
        if (thread < most) tiles[thread] = a.tiles[numbers[thread]];
        __syncwarp();
        return tiles;
    }
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    // Memory behind the values: the passes, stencils for as many points as was chosen, the position of each rank of an axis,
    // tiers of the tolerance blocks.
    __device__ __forceinline__ char *stencils() const { return (char *)(passes + 3 * steps); }
    __device__ __forceinline__ u32 stencil_bytes() const { return choice.points() == 0 ? sizeof(Stencil<T, 2>) : choice.points() == 1 ? sizeof(Stencil<T, 4>) : sizeof(Stencil<T, 6>); }
    __device__ __forceinline__ u32 stencil_count() const { return max(dims[0], 2u) + max(dims[1], 2u) + max(dims[2], 2u) - 6; }
    __device__ __forceinline__ u8 *positions() const { return (u8 *)stencils() + stencil_count() * stencil_bytes(); }
    __device__ __forceinline__ u8 *tiers() const { return is_known() ? positions() + 3 * LONGEST : (u8 *)passes; }
    __device__ __forceinline__ bool is_known() const { return choice.in_order() && max(max(dims[0], dims[1]), dims[2]) <= LONGEST; }

    // Of a position on an axis in the tile's memory.
    __device__ __forceinline__ u32 offset(u32 axis, u32 position) const { return a.offsets[shape.offsets[axis] + position]; }
    __device__ __forceinline__ u32 length(u32 axis) const { return axis == 0 ? dims[0] : axis == 1 ? dims[1] : dims[2]; }
    // Nodes of S(set) on an axis: every 2^set-th and the last.
    __device__ __forceinline__ u32 size(u32 axis, u32 set) const { return length(axis) < 2 ? 1 : ((length(axis) - 2) >> set) + 2; }
    __device__ __forceinline__ u32 distance(u32 axis) const { return axis == 0 ? plane_distance : axis == 1 ? row_distance : 1; }
    // Tolerance blocks along an axis; from one to the next.
    __device__ __forceinline__ u32 blocks(u32 axis) const { return ((length(axis) - 1) >> a.shift) + 1; }
    __device__ __forceinline__ u32 block_distance(u32 axis) const { return axis == 0 ? blocks(1) * blocks(2) : axis == 1 ? blocks(2) : 1; }
    __device__ __forceinline__ u32 tier_count() const { return blocks(0) * block_distance(0); }

    // Nodes that are new on several axes are predicted along the favoured one, else the first: so those along the first of the three come last, from all others.
    __device__ __forceinline__ Pass<T> pass(u32 number) const {
        constexpr u32 ALL_BITS = GROUP == 32 ? 5 : GROUP == 256 ? 8 : GROUP == 512 ? 9 : 10;
        const u32 order = choice.favoured() == 3 ? 0x201 : choice.favoured() == 2 ? 0x102 : 0x012;
        const u32 step = steps - 1 - number / 3, turn = number % 3, axis = order >> (4 * turn) & 3, row = axis == 0 ? 1 : 0, column = axis == 2 ? 1 : 2;
        // of another axis all nodes of the step, where those along it are there
        const auto set = [&](u32 other) { return step + (turn == 0 || (turn == 1 && other != (order & 3))); };
        const bool alone = GROUP > 32 && size(0, step) * size(1, step) * size(2, step) <= FEW;
        const u32 old = size(axis, step + 1), bits = alone ? 5 : ALL_BITS;
        Pass<T> pass;
        pass.rows = size(row, set(row)), pass.columns = size(column, set(column)), pass.lines = pass.rows * pass.columns * count;
        pass.of_row = reciprocal((float)pass.columns), pass.of_tile = reciprocal((float)pass.rows);
        pass.fresh = size(axis, step) - old;
        // As many threads for a line as there are idle ones; on the last axis one for each unit, side by side, since neighbours' symbols are too. A part begins where
        // a unit does.
        const u32 units = bit_length((pass.fresh + 3) / 4 - (pass.fresh > 0)), parts = min(bits, axis == 2 ? units : bits - min(bit_length(pass.lines - 1), bits));
        pass.parts = (u16)parts, pass.line_bits = (u16)(bits - parts);
        pass.length = ((pass.fresh + (1u << parts) - 1) >> parts) + 3 & ~3u;
        pass.row_set = row == 0 ? set(row) : 0, pass.row_end = row == 0 ? dims[0] - 1 : dims[1], pass.row_distance = distance(row), pass.column_distance = distance(column);
        // on the last two axes new nodes stand behind the old ones
        pass.begin = axis == 0 ? plane_distance << step : old * distance(axis), pass.distance = axis == 0 ? plane_distance << (step + 1) : distance(axis);
        pass.stencil = a.steps[shape.first_step + 3 * step + axis].stencils, pass.axis = (u16)axis, pass.step = (u16)(step + (alone ? ALONE : 0));
        pass.quantizer = quantizers_of(a, choice, step)[0];
        return pass;
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
    // Two nodes of a line, the second one a copy of the first where there is none. Of each its quantizer, and its value or its symbol; its prediction.
    struct Two {
        Quantizer<T> quantizer[2];
        T u[2], p[2];
        u32 number[2];
        bool is_two;
    };
    // Predicts from the old nodes near the first one, of which all but the last are there already; those near the node behind the second one stay.
    template <u32 POINTS> static __device__ __forceinline__ void predict(Two &two, T (&near)[POINTS + 1], const T *own, u32 distance, const Stencil<T, POINTS> *stencil) {
        const T *other = own + (two.is_two ? distance : 0);
        const Stencil<T, POINTS> *second = stencil + (two.is_two ? 1 : 0);
        near[POINTS - 1] = own[stencil->offset[POINTS - 1]], near[POINTS] = other[second->offset[POINTS - 1]];
        two.u[0] = *own, two.u[1] = *other;
        T weight[2][POINTS];
        load_weights(*stencil, weight[0]), load_weights(*second, weight[1]);
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            two.p[i] = R::mul(weight[i][0], near[i]);
#pragma unroll
            for (u32 k = 1; k < POINTS; k++) two.p[i] = R::fma(weight[i][k], near[i + k], two.p[i]);
        }
#pragma unroll
        for (u32 k = 0; k + 1 < POINTS; k++) near[k] = near[k + 2];
    }
    // Their symbols, or their values.
    __device__ __forceinline__ void put(Two &two, T *own, u32 distance, i16 *symbols, u64 start, bool kept) const {
        Bits *delta = a.delta + start;
        if (ENCODE) {
            i16 symbol[2];
            bool fits[2];
#pragma unroll
            for (u32 i = 0; i < 2; i++) fits[i] = quantize(two.u[i], two.p[i], two.quantizer[i], symbol[i]);
            if (kept) *own = two.u[0];
            *advance<1>(symbols, two.number[0]) = symbol[0];
            if (two.is_two) {
                if (kept) own[distance] = two.u[1];
                *advance<1>(symbols, two.number[1]) = symbol[1];
            }
            if (!(fits[0] & fits[1])) {
                if (!fits[0]) delta[two.number[0]] = delta_of(two.u[0], two.p[0]);
                if (!fits[1] && two.is_two) delta[two.number[1]] = delta_of(two.u[1], two.p[1]);
            }
        } else {
            T r[2];
#pragma unroll
            for (u32 i = 0; i < 2; i++) r[i] = R::fma(two.u[i], two.quantizer[i].step, two.p[i]);
            if (two.u[0] == (T)EXACT || two.u[1] == (T)EXACT) {
                if (two.u[0] == (T)EXACT) r[0] = apply_delta<T>(delta[two.number[0]], two.p[0]);
                if (two.u[1] == (T)EXACT && two.is_two) r[1] = apply_delta<T>(delta[two.number[1]], two.p[1]);
            }
            *own = r[0];
            if (two.is_two) own[distance] = r[1];
        }
    }
    // What a thread takes of a pass: its first line, and which of the new nodes of its lines.
    struct Part {
        u32 line, first, end;
    };
    __device__ __forceinline__ Part part(u32 axis, u32 parts, u32 line_bits, u32 length, u32 fresh) const {
        const bool side_by_side = axis == 2;
        const u32 number = side_by_side ? thread & ((1u << parts) - 1) : thread >> line_bits, first = number * length;
        return {side_by_side ? thread >> parts : thread & ((1u << line_bits) - 1), first, min(first + length, fresh)};
    }
    // BY_PLACE: the numbers of symbols are places. `kept`: other nodes are predicted from these, or they are the result.
    template <u32 POINTS, bool TIERED, bool BY_PLACE> __device__ __forceinline__ void take(const Pass<T> &pass, const Part &part, bool kept) const {
        // new nodes of a unit on a line
        constexpr u32 TURNS = 4;
        const u32 first = part.first, end = part.end, lines = pass.lines, distance = pass.distance;
        u32 line = part.line;
        if (first >= end || line >= lines) return;
        const Stencil<T, POINTS> *const stencils = (const Stencil<T, POINTS> *)this->stencils() + pass.stencil + first;
        const u32 step = pass.step % ALONE;
        const Quantizer<T> only = pass.quantizer, *quantizers = quantizers_of(a, choice, step);
        const u32 begin = pass.begin + first * distance;
        const u16 *const coded_at = a.coded_at + shape.coded_at + begin;
        u64 symbols_at = tiles->start;
        i16 *symbols = a.q + symbols_at;
#pragma unroll 1
        do {
            u32 row = (u32)(((float)line + 0.5f) * pass.of_row), tile = 0;
            const u32 column = line - row * pass.columns;
            if (TILES > 1) tile = (u32)(((float)row + 0.5f) * pass.of_tile), row -= tile * pass.rows;
            const u32 in_row = min(row << pass.row_set, pass.row_end);
            const u32 start = in_row * pass.row_distance + column * pass.column_distance;
            u32 block = 0, at = (2 * first + 1) << step;
            if (TIERED) {
                const u32 other = pass.axis == 0 ? 1 : 0, last = pass.axis == 2 ? 1 : 2;
                const u32 of_row = other == 0 ? in_row : positions()[LONGEST + row], of_column = positions()[LONGEST * last + column];
                block = tile * tier_count() + (of_row >> a.shift) * block_distance(other) + (of_column >> a.shift) * block_distance(last);
            }
            T *own = v + tile * shape.places + begin + start;
            if (TILES > 1) symbols_at = tiles[tile].start, symbols = a.q + symbols_at;
            keep_global(symbols);
            const u16 *coded = coded_at + start;
            const Stencil<T, POINTS> *stencil = stencils;
            T near[POINTS + 1];
#pragma unroll
            for (u32 k = 0; k + 1 < POINTS; k++) near[k] = own[stencil->offset[k]];
            // the numbers of the first two nodes in a unit, asked for long before they are needed
            u32 left = end - first, number, second, next = 0, next_second = 0;
            if (BY_PLACE) number = by_place + begin + start, second = number + distance;
            else number = *coded, second = left > 1 ? coded[distance] : 0;
#pragma unroll 1
            for (;;) {
                if (!BY_PLACE && left > TURNS) next = *advance<TURNS>(coded, distance);
                if (!BY_PLACE && left > TURNS + 1) next_second = *advance<TURNS + 1>(coded, distance);
                const u32 apart = BY_PLACE ? distance : second - number;
#pragma unroll
                for (u32 turn = 0; turn < TURNS; turn += 2) {
                    Two two;
                    two.is_two = left > turn + 1, two.number[0] = number, two.number[1] = number + apart;
                    predict(two, near, own, distance, stencil + turn);
                    two.quantizer[0] = only, two.quantizer[1] = only;
                    if (TIERED) {
#pragma unroll
                        for (u32 i = 0; i < 2; i++) two.quantizer[i] = quantizers[tiers()[block + ((at + (two.is_two ? i << (step + 1) : 0)) >> a.shift) * block_distance(pass.axis)]];
                        at += 4u << step;
                    }
                    put(two, own, distance, symbols, symbols_at, kept);
                    own += 2 * distance, number += 2 * apart;
                    if (left <= turn + 2) break;
                }
                if (left <= TURNS) break;
                left -= TURNS, stencil += TURNS;
                if (!BY_PLACE) coded = advance<TURNS>(coded, distance), number = next, second = next_second;
            }
            line += 1u << pass.line_bits;
        } while (line < lines);
    }
    template <u32 POINTS, bool TIERED> __device__ __forceinline__ void sweep() const {
        const u32 passes_end = 3 * steps;
        bool alone = GROUP > 32;
#pragma unroll 1
        for (u32 number = 0; number < passes_end; number++) {
            const Pass<T> &pass = passes[number];
            // at once, not one after the other where it is needed
            u32 step = pass.step, axis = pass.axis, parts = pass.parts, line_bits = pass.line_bits, length = pass.length, fresh = pass.fresh;
            keep(step), keep(axis), keep(parts), keep(line_bits), keep(length), keep(fresh);
            if (alone && step < ALONE) __syncthreads(), alone = false;
            if ((alone && thread >= 32) || fresh == 0) continue;
            const Part own = part(axis, parts, line_bits, length, fresh);
            const bool kept = number + 1 < passes_end || a.result;
            if (number + 3 >= passes_end && by_place != BY_UNITS) take<POINTS, TIERED, true>(pass, own, kept);
            else take<POINTS, TIERED, false>(pass, own, kept);
            if (alone) __syncwarp();
            else sync();
        }
        if (alone) __syncthreads();
    }
    template <u32 POINTS> __device__ __forceinline__ void sweep() const {
        if (a.tier_count > 1) sweep<POINTS, true>();
        else sweep<POINTS, false>();
    }
};
