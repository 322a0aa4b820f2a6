// The nodes of S(1) of whole tiles in axis order, axis 1 favoured or none: each is predicted along one axis, so that a thread that takes a
// line along it has all that it needs in registers. Chunks that chose otherwise, which an encoder leaves out, go by lists of nodes.
#pragma once
#include "coarse.cuh"

template <class T, u32 SIDE, u32 TILES, u32 GROUP, bool ENCODE> struct CoarseInOrder : CoarseTiles<T, SIDE, TILES, GROUP, ENCODE> {
    typedef CoarseTiles<T, SIDE, TILES, GROUP, ENCODE> Base;
    typedef typename Base::Axis Axis;
    using Base::a;
    using Base::ALL;
    using Base::BLOCKS;
    using Base::choice;
    using Base::EDGE;
    using Base::only;
    using Base::quantizers;
    using Base::taking;
    using Base::thread;
    using Base::v;
    using Base::Base;
    static constexpr bool PACKS = false;
    static constexpr u32 Y = Base::NODES, Z = Y * Y, PADDED = padded_row<T>(Y);

    // How far apart the nodes of a line are, and the rows and columns in which the lines of a step stand.
    template <u32 STRIDE, u32 ROW, u32 COLUMN, u32 ROWS, u32 COLUMNS> struct Lines {
        static constexpr u32 stride = STRIDE, row = ROW, column = COLUMN, rows = ROWS, columns = COLUMNS;
    };
    // By the ranks of its nodes on the two other axes.
    template <class L> __device__ __forceinline__ void load_quantizers(const L &lines, u32 tile, u32 row, u32 column, Quantizer<T> (&of_block)[EDGE]) const {
        const auto distance = [](u32 stride) { return stride == Z ? EDGE * EDGE : stride == Y ? EDGE : 1; };
        const auto block = [](u32 rank) { return Axis::position(Axis::index_of(rank)) / 8; };
        const u32 first = tile * BLOCKS + block(row) * distance(lines.row) + block(column) * distance(lines.column);
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = this->quantizer(first + b * distance(lines.stride));
    }
    // By SHARE threads. TIERED: there is more than one tier.
    template <u32 N, u32 POINTS, u32 SHARE, bool TIERED, class L> __device__ __forceinline__ void pass(const L &lines) {
        constexpr u32 count = L::rows * L::columns;
        Quantizer<T> of_block[TIERED ? EDGE : 1];
        of_block[0] = only;
#pragma unroll 1
        for (u32 n = thread; n < TILES * count; n += SHARE) {
            const u32 tile = TILES == 1 ? 0 : n / count, m = n - tile * count;
            if (TILES > 1 && !(taking >> tile & 1)) continue;
            const u32 row = m / lines.columns, column = m % lines.columns;
            const u32 place = lines.row == lines.columns * lines.column ? m * lines.column : row * lines.row + column * lines.column;
            CoarseLine line{tile, tile * ALL + place, lines.stride, 0, 0, 0};
            this->look_up_symbols(line, N);
            if constexpr (TIERED) load_quantizers(lines, tile, row, column, of_block);
            CoarseAlong<T, SIDE, N, POINTS> own;
            own.load(v + line.place, line.stride);
            T p[N];
            unroll<N>([&](auto k) { p[decltype(k)::value] = own.template predict<decltype(k)::value>(); });
            this->template visit<N>(line, p, of_block);
        }
        if (SHARE == 32) __syncwarp();
        else this->sync();
    }
    // A step: the nodes new on axis 2 alone; those new on the second axis in the order, old on the first; those new on the first.
    template <u32 N, u32 POINTS, u32 SHARE, bool TIERED> __device__ __forceinline__ void turns() {
        constexpr u32 OLD = N + 1, NODES = 2 * N + 1;
        pass<N, POINTS, SHARE, TIERED>(Lines<1, Z, Y, OLD, OLD>());
        if (choice.favoured() == 2) {
            pass<N, POINTS, SHARE, TIERED>(Lines<Z, Y, 1, OLD, NODES>());
            pass<N, POINTS, SHARE, TIERED>(Lines<Y, Z, 1, NODES, NODES>());
        } else {
            pass<N, POINTS, SHARE, TIERED>(Lines<Y, Z, 1, OLD, NODES>());
            pass<N, POINTS, SHARE, TIERED>(Lines<Z, Y, 1, NODES, NODES>());
        }
    }
    // The step with N new nodes of an axis, and all finer ones.
    template <u32 N, u32 POINTS, bool TIERED> __device__ __forceinline__ void steps() {
        quantizers = quantizers_of(a, choice, CoarseStep<SIDE, N>::NUMBER);
        only = quantizers[0];
        // few lines: one warp alone need not wait for others
        if constexpr (GROUP == 32 || N > 2) turns<N, POINTS, GROUP, TIERED>();
        else if (thread < 32) turns<N, POINTS, 32, TIERED>();
        if (GROUP > 32 && N == 2) this->sync();
        if constexpr (4 * N < SIDE) steps<2 * N, POINTS, TIERED>();
    }
    template <u32 POINTS> __device__ __forceinline__ void all_steps() {
        if (a.tier_count > 1) steps<1, POINTS, true>();
        else steps<1, POINTS, false>();
    }
    __device__ __forceinline__ void by_lists() const {
        typedef TileWork<T, GROUP, ENCODE> Work;
#pragma unroll 1
        for (u32 t = 0; t < TILES; t++) {
            if (!(taking >> t & 1)) continue;
            typename Work::Base memory = *this;
            memory.v += t * ALL, memory.q += t * this->symbols, memory.tiers += t * BLOCKS;
            Work(memory, a.tiles[this->numbers[t]]).sweep_steps(1);
        }
    }
    __device__ __forceinline__ void store(u32 first) const {
        if (SIDE > 8 && a.coarse_row == PADDED) this->template store_rows<PADDED>(first);
        else Base::store(first);
    }
    __device__ __forceinline__ void sweep() {
        if (!choice.in_order() || choice.favoured() == 3) by_lists();
        else if (choice.points() == 1) all_steps<4>();
        else if (choice.points() == 0) all_steps<2>();
        else all_steps<6>();
    }
};
