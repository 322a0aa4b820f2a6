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
    static constexpr u32 Y = Base::NODES, Z = Y * Y;

    // How far apart the nodes of a line are, and the rows and columns in which the lines of a step stand.
    struct AnyLines {
        u32 stride, row, column, rows, columns;
    };
    // The same known at compile time.
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
    // By SHARE threads.
    template <u32 N, u32 POINTS, u32 SHARE, class L> __device__ __forceinline__ void pass(const L &lines) {
        const u32 count = lines.rows * lines.columns;
        Quantizer<T> of_block[EDGE];
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = only;
#pragma unroll 1
        for (u32 n = thread; n < TILES * count; n += SHARE) {
            const u32 tile = TILES == 1 ? 0 : n / count, m = n - tile * count;
            if (TILES > 1 && !(taking >> tile & 1)) continue;
            const u32 row = m / lines.columns, column = m % lines.columns;
            const u32 place = lines.row == lines.columns * lines.column ? m * lines.column : row * lines.row + column * lines.column;
            CoarseLine line{tile, tile * ALL + place, lines.stride, 0, 0, 0};
            this->look_up_symbols(line, N);
            if (a.tier_count > 1) load_quantizers(lines, tile, row, column, of_block);
            CoarseAlong<T, SIDE, N, POINTS> own;
            own.load(v + line.place, line.stride);
            T p[N];
            unroll<N>([&](auto k) { p[decltype(k)::value] = own.template predict<decltype(k)::value>(); });
            this->template visit<N>(line, p, of_block);
        }
        if (SHARE == 32) __syncwarp();
        else this->sync();
    }
    // A step: the nodes new on axis 2 alone; those new on the second axis in the order, old on the first; those new on the first. The finest
    // two, which have most nodes, have code of their own for each order.
    template <u32 N, u32 POINTS, u32 SHARE> __device__ __forceinline__ void turns() {
        constexpr u32 OLD = N + 1, NODES = 2 * N + 1;
        const bool swaps = choice.favoured() == 2;
        pass<N, POINTS, SHARE>(Lines<1, Z, Y, OLD, OLD>());
        if constexpr (8 * N < SIDE) {
#pragma unroll 1
            for (u32 turn = 0; turn < 2; turn++) {
                const bool along_z = swaps == (turn == 0);
                pass<N, POINTS, SHARE>(AnyLines{along_z ? Z : Y, along_z ? Y : Z, 1, turn == 0 ? OLD : NODES, NODES});
            }
        } else if (swaps) {
            pass<N, POINTS, SHARE>(Lines<Z, Y, 1, OLD, NODES>());
            pass<N, POINTS, SHARE>(Lines<Y, Z, 1, NODES, NODES>());
        } else {
            pass<N, POINTS, SHARE>(Lines<Y, Z, 1, OLD, NODES>());
            pass<N, POINTS, SHARE>(Lines<Z, Y, 1, NODES, NODES>());
        }
    }
    // The step with N new nodes of an axis, and all finer ones.
    template <u32 N, u32 POINTS> __device__ __forceinline__ void steps() {
        quantizers = quantizers_of(a, choice, CoarseStep<SIDE, N>::NUMBER);
        only = quantizers[0];
        // few lines: one warp alone need not wait for others
        if constexpr (GROUP == 32 || N > 2) turns<N, POINTS, GROUP>();
        else if (thread < 32) turns<N, POINTS, 32>();
        if (GROUP > 32 && N == 2) this->sync();
        if constexpr (4 * N < SIDE) steps<2 * N, POINTS>();
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
    __device__ __forceinline__ void sweep() {
        if (!choice.in_order() || choice.favoured() == 3) by_lists();
        else if (choice.points() == 1) steps<1, 4>();
        else if (choice.points() == 0) steps<1, 2>();
        else steps<1, 6>();
    }
};
