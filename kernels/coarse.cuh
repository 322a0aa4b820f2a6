// Whole tiles of a frame with three axes, whose nodes are evenly spaced: the nodes of S(1), a thread a line (coarse_step.cuh). Step 0 follows
// (fine.cuh).
#pragma once
#include "coarse_step.cuh"
#include "tile.cuh"

// Steps 1 and coarser of up to TILES tiles, by GROUP threads that stay together.
template <class T, u32 SIDE, u32 TILES, u32 GROUP, bool ENCODE> struct CoarseTiles : TileMemory<T, ENCODE> {
    typedef TileMemory<T, ENCODE> Base;
    typedef CoarseAxis<SIDE> Axis;
    using Base::a;
    using Base::only;
    using Base::q;
    using Base::quantizers;
    using Base::shape;
    using Base::thread;
    using Base::tiers;
    using Base::v;
    static constexpr u32 NODES = Axis::NODES, COLUMNS = NODES * NODES, ALL = COLUMNS * NODES, SYMBOLS = symbols_before<SIDE>(SIDE / 2);
    static constexpr u32 EDGE = SIDE / 8, BLOCKS = EDGE * EDGE * EDGE, PLACES = (TILES * ALL + 7) / 8 * 8;
    // Threads that move what belongs to a tile.
    static constexpr u32 MOVERS = GROUP / TILES;
    static_assert(GROUP == 32 || TILES == 1, "a warp tells which tiles chose alike");

    // Of the list, from the first of the tiles at hand on; which of them take part.
    const u32 *numbers;
    u32 taking;
    Choice choice;

    __device__ CoarseTiles(const TileArguments<T> &a, u32 thread, char *memory)
        : Base(a, a.shapes[a.coarse_shape], thread, memory, PLACES, TILES * SYMBOLS), numbers(nullptr), taking(0), choice{0} {}
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    static __device__ __forceinline__ u32 place(u32 tile, u32 z, u32 y, u32 x) { return tile * ALL + (z * NODES + y) * NODES + x; }

    __device__ __forceinline__ void load_values(const Tile &tile, u32 own, u32 mover) const {
        const T *corner = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        const u16 *rows = a.offsets + shape.offsets[1], *along_x = a.offsets + shape.offsets[2];
        const u64 plane = (u64)a.n[1] * a.n[2];
#pragma unroll 2
        for (u32 i = mover; i < COLUMNS; i += MOVERS) {
            const u32 y = Axis::position(i / NODES), x = Axis::position(i % NODES);
            const T *from = corner + (u64)y * a.n[2] + x;
            T *to = v + own * ALL + rows[y] + along_x[x];
            T values[NODES];
            unroll<NODES>([&](auto z) { values[decltype(z)::value] = from[Axis::position(decltype(z)::value) * plane]; });
            unroll<NODES>([&](auto z) {
                constexpr u32 rank = Axis::rank(decltype(z)::value);
                to[rank * COLUMNS] = values[decltype(z)::value];
            });
        }
    }
    __device__ __forceinline__ void load_tiers(const Tile &tile, u32 own, u32 mover) const {
        for (u32 i = mover; i < BLOCKS; i += MOVERS) {
            const u64 row = (u64)(tile.at[0] / 8 + i / (EDGE * EDGE)) * a.blocks[1] + tile.at[1] / 8 + i / EDGE % EDGE;
            tiers[own * BLOCKS + i] = a.tiers[row * a.blocks[2] + tile.at[2] / 8 + i % EDGE];
        }
    }
    __device__ __forceinline__ void load_corners(const Tile &tile, u32 own, u32 mover) const {
        for (u32 i = mover; i < 8; i += MOVERS) {
            const u32 z = i >> 2, y = i >> 1 & 1, x = i & 1;
            const u64 row = (u64)(tile.at[0] / SIDE * 2 + z) * a.corner_n[1] + tile.at[1] / SIDE * 2 + y;
            v[place(own, z, y, x)] = a.corners[row * a.corner_n[2] + tile.at[2] / SIDE * 2 + x];
        }
    }
    // Symbols 16 bytes at a time, with what lies between the units.
    static __device__ __forceinline__ void copy_symbols(i16 *to, const i16 *from, u32 mover) {
#pragma unroll 4
        for (u32 i = mover; i < SYMBOLS / 8; i += MOVERS) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    }

    // The number of node k of a line among the coded nodes of its tile.
    template <u32 N> __device__ __forceinline__ u32 symbol_of(const CoarseLine &line, u32 k) const {
        // there the step has several units
        if constexpr (N > 4) return a.coded_at[shape.coded_at + line.place - line.tile * ALL + (N + 1 + k) * line.stride];
        else return line.symbol + k * line.apart;
    }
    // Of line n of its tile.
    template <u32 CROSS, u32 N> __device__ __forceinline__ void load_quantizers(const CoarseLine &line, u32 n, Quantizer<T> (&of_block)[EDGE]) const {
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = only;
        if (a.tier_count == 1) return;
        u32 distance;
        const u32 first = line.tile * BLOCKS + CoarseStep<SIDE, N>::template block<CROSS>(line, n, distance);
#pragma unroll
        for (u32 b = 0; b < EDGE; b++) of_block[b] = this->quantizer(first + b * distance);
    }
    // Quantizes or rebuilds the nodes of a line from their predictions. Exact nodes, which are rare, come after the others.
    template <u32 N> __device__ __forceinline__ void visit(const CoarseLine &line, const T (&p)[N], const Quantizer<T> (&of_block)[EDGE]) {
        const u32 symbols = line.tile * SYMBOLS, first = line.place + (N + 1) * line.stride;
        typename Base::Known known[N];
        unroll<N>([&](auto k) {
            constexpr u32 K = decltype(k)::value;
            known[K] = this->known(first + K * line.stride, symbols + symbol_of<N>(line, K));
        });
        bool exact = false;
        unroll<N>([&](auto k) {
            constexpr u32 K = decltype(k)::value, block = CoarseStep<SIDE, N>::position(2 * K + 1) / 8;
            exact |= this->put(first + K * line.stride, symbols + symbol_of<N>(line, K), known[K], p[K], of_block[block]);
        });
        if (!exact) return;
        typename Real<T>::Bits *deltas = a.delta + a.tiles[numbers[line.tile]].start;
        unroll<N>([&](auto k) {
            constexpr u32 K = decltype(k)::value;
            const u32 symbol = symbol_of<N>(line, K);
            if (q[symbols + symbol] != EXACT) return;
            T &value = v[first + K * line.stride];
            if (ENCODE) deltas[symbol] = delta_of(value, p[K]);
            else value = apply_delta<T>(deltas[symbol], p[K]);
        });
    }
    // The nodes that are new on CROSS + 1 axes. PLAIN: the mean over all of these predicts.
    template <u32 CROSS, u32 N, u32 POINTS, bool PLAIN> __device__ __forceinline__ void pass() {
        typedef CoarseStep<SIDE, N> Grid;
        constexpr u32 LINES = Grid::lines(CROSS);
        const Stencil<T, POINTS> *all = this->template stencils<POINTS>();
        const Step *step = a.steps + shape.first_step + 3 * (Grid::NUMBER - 1);
#pragma unroll 1
        for (u32 n = thread; n < TILES * LINES; n += GROUP) {
            if (!(taking >> (n / LINES) & 1)) continue;
            const CoarseLine line = Grid::template line<CROSS>(n / LINES, n % LINES);
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
            visit<N>(line, p, of_block);
        }
        sync();
    }
    template <u32 N, u32 POINTS, bool PLAIN> __device__ __forceinline__ void step() {
        quantizers = quantizers_of(a, choice, CoarseStep<SIDE, N>::NUMBER);
        only = quantizers[0];
        pass<0, N, POINTS, PLAIN>();
        pass<1, N, POINTS, PLAIN>();
        pass<2, N, POINTS, PLAIN>();
    }
    // The step with N new nodes of an axis, and all finer ones. Only the finest, which has most nodes, has code of its own for the plain mean.
    template <u32 N, u32 POINTS> __device__ __forceinline__ void sweep() {
        if constexpr (4 * N < SIDE) {
            step<N, POINTS, false>();
            sweep<2 * N, POINTS>();
        } else if (choice.is_plain()) {
            step<N, POINTS, true>();
        } else {
            step<N, POINTS, false>();
        }
    }
    // Tiles that chose alike together; `own`: the choice of tile number `thread`, if there is one.
    __device__ __forceinline__ void sweep_all(u32 own) {
        u32 left = TILES == 1 ? own != NO_TILE : __ballot_sync(FULL, own != NO_TILE);
        while (left != 0) {
            if constexpr (TILES == 1) {
                choice = Choice{own}, taking = left;
            } else {
                choice = Choice{__shfl_sync(FULL, own, __ffs((i32)left) - 1)};
                taking = __ballot_sync(FULL, own == choice.byte);
            }
            left &= ~taking;
            if (choice.points() == 1) sweep<1, 4>();
            else if (choice.points() == 0) sweep<1, 2>();
            else sweep<1, 6>();
        }
    }
    // The tiles from number `first` of the list on.
    __device__ __forceinline__ void run(u32 first) {
        numbers = a.list + first;
        const u32 count = min(TILES, a.list_count - first), own = thread / MOVERS, mover = thread % MOVERS;
        const u32 number = own < count ? numbers[own] : NO_TILE;
        const Tile tile = a.tiles[number == NO_TILE ? 0 : number];
        const u32 chosen = number == NO_TILE ? NO_TILE : a.choices[tile.chunk];
        i16 *symbols = a.q + tile.start, *shared = q + own * SYMBOLS;
        if (number != NO_TILE) {
            if (ENCODE) load_values(tile, own, mover);
            else copy_symbols(shared, symbols, mover);
            if (a.tier_count > 1) load_tiers(tile, own, mover);
        }
        sync();
        if (number != NO_TILE) load_corners(tile, own, mover);
        sync();
        if constexpr (TILES == 1) {
            sweep_all(chosen);
        } else {
            const u32 of_thread = __shfl_sync(FULL, chosen, thread % TILES * MOVERS);
            sweep_all(thread < TILES ? of_thread : NO_TILE);
        }
        if (ENCODE && number != NO_TILE) copy_symbols(symbols, shared, mover);
        T *to = a.coarse + (u64)first * ALL;
#pragma unroll 8
        for (u32 i = thread; i < count * ALL; i += GROUP) to[i] = v[i];
        sync();
    }
};

template <class T, u32 SIDE, u32 TILES, u32 THREADS, u32 GROUP, bool ENCODE> __device__ __forceinline__ void coarse_tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    constexpr u32 TOGETHER = THREADS / GROUP * TILES;
    const u32 group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    CoarseTiles<T, SIDE, TILES, GROUP, ENCODE> work(a, thread, shared + group * a.tile_bytes);
    for (u32 first = blockIdx.x * TOGETHER + group * TILES; first < a.list_count; first += gridDim.x * TOGETHER) work.run(first);
}
