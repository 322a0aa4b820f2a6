// The nodes of S(1) of whole tiles in parity order: those new on one axis, then on two, then on three, each predicted along all of them.
// Takes any choice.
#pragma once
#include "coarse.cuh"

template <class T, u32 SIDE, u32 TILES, u32 GROUP, bool ENCODE> struct CoarseParity : CoarseTiles<T, SIDE, TILES, GROUP, ENCODE> {
    typedef CoarseTiles<T, SIDE, TILES, GROUP, ENCODE> Base;
    using Base::a;
    using Base::ALL;
    using Base::BLOCKS;
    using Base::choice;
    using Base::coded_at;
    using Base::EDGE;
    using Base::only;
    using Base::quantizers;
    using Base::shape;
    using Base::taking;
    using Base::thread;
    using Base::v;
    using Base::Base;

    static constexpr bool PACKS = false;

    // Of line n of its tile.
    template <u32 CROSS, u32 N> __device__ __forceinline__ void load_quantizers(const ParityLine &line, u32 n, Quantizer<T> (&of_block)[EDGE]) const {
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = only;
        if (a.tier_count == 1) return;
        u32 distance;
        const u32 first = line.tile * BLOCKS + CoarseStep<SIDE, N>::template block<CROSS>(line, n, distance);
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = this->quantizer(first + b * distance);
    }
    // The nodes that are new on CROSS + 1 axes. PLAIN: the mean over all of these predicts.
    template <u32 CROSS, u32 N, u32 POINTS, bool PLAIN> __device__ __forceinline__ void pass() {
        typedef CoarseStep<SIDE, N> Grid;
        constexpr u32 LINES = Grid::lines(CROSS);
        const Stencil<T, POINTS> *all = this->template stencils<POINTS>();
        // the number of the step's first node
        const u32 before = coded_at[N + 1];
        const Step *step = a.steps + shape.first_step + 3 * (Grid::NUMBER - 1);
#pragma unroll 1
        for (u32 n = thread; n < TILES * LINES; n += GROUP) {
            if (!(taking >> (n / LINES) & 1)) continue;
            ParityLine line = Grid::template line<CROSS>(n / LINES, n % LINES, before);
            // there the step has several units
            if constexpr (N > 4) this->look_up_symbols(line, N);
            Quantizer<T> of_block[EDGE];
            load_quantizers<CROSS, N>(line, n % LINES, of_block);
            CoarseAlong<T, SIDE, N, POINTS> own;
            own.load(v + line.place, line.stride);
            T p[N];
            if constexpr (CROSS == 0) {
                unroll<N>([&](auto k) { p[decltype(k)::value] = own.template predict<decltype(k)::value>(); });
            } else {
                const Stencil<T, POINTS> second = all[step[line.second].stencils + line.numbers[0]];
                const Stencil<T, POINTS> third = all[step[2].stencils + line.numbers[1]];
                const Means<T> means{choice};
                const u32 alone = PLAIN ? 0 : choice.alone(CROSS == 2 ? 7 : 1u << line.axis | 1u << line.second);
                unroll<N>([&](auto k) {
                    constexpr u32 K = decltype(k)::value, block = Grid::position(2 * K + 1) / 8;
                    const T *at = v + line.place + (N + 1 + K) * line.stride;
                    const auto b = guess<N == 1>(at, second);
                    if constexpr (CROSS == 1 && PLAIN) p[K] = mean(own.template predict<K>(), b.p);
                    else if constexpr (CROSS == 1) p[K] = means.of(alone, own.template guess<K>(), b, of_block[block].step);
                    else if constexpr (PLAIN) p[K] = mean(own.template predict<K>(), b.p, guess<N == 1>(at, third).p);
                    else p[K] = means.of(alone, own.template guess<K>(), b, guess<N == 1>(at, third), of_block[block].step);
                });
            }
            this->template visit<N>(line, p, of_block);
        }
        this->sync();
    }
    template <u32 N, u32 POINTS, bool PLAIN> __device__ __forceinline__ void step() {
        quantizers = quantizers_of(a, choice, CoarseStep<SIDE, N>::NUMBER);
        only = quantizers[0];
        pass<0, N, POINTS, PLAIN>();
        pass<1, N, POINTS, PLAIN>();
        pass<2, N, POINTS, PLAIN>();
    }
    // The step with N new nodes of an axis, and all finer ones. Only the finest, which has most nodes, has code of its own for the plain mean.
    template <u32 N, u32 POINTS> __device__ __forceinline__ void steps() {
        if constexpr (4 * N < SIDE) {
            step<N, POINTS, false>();
            steps<2 * N, POINTS>();
        } else if (choice.is_plain()) {
            step<N, POINTS, true>();
        } else {
            step<N, POINTS, false>();
        }
    }
    __device__ __forceinline__ void sweep() {
        if (choice.points() == 1) steps<1, 4>();
        else if (choice.points() == 0) steps<1, 2>();
        else steps<1, 6>();
    }
};
