// Whole tiles of a frame with three axes, whose nodes are evenly spaced: what their nodes of S(1) need, a thread a line (coarse_step.cuh), whatever
// predicts them (coarse_parity.cuh, coarse_axis.cuh). Step 0 follows (fine.cuh).
#pragma once
#include "coarse_step.cuh"
#include "tile.cuh"

// Steps 1 and coarser of up to TILES tiles, by GROUP threads that stay together.
template <class T, u32 SIDE, u32 TILES, u32 GROUP, bool ENCODE> struct CoarseTiles : TileMemory<T, ENCODE> {
    typedef TileMemory<T, ENCODE> Base;
    typedef CoarseAxis<SIDE> Axis;
    typedef Real<T> R;
    using Base::a;
    using Base::only;
    using Base::q;
    using Base::quantizers;
    using Base::shape;
    using Base::thread;
    using Base::tiers;
    using Base::v;
    static constexpr u32 TOGETHER = TILES, THREADS = GROUP;
    static constexpr u32 NODES = Axis::NODES, COLUMNS = NODES * NODES, ALL = COLUMNS * NODES;
    static constexpr u32 EDGE = SIDE / 8, BLOCKS = EDGE * EDGE * EDGE, PLACES = (TILES * ALL + 7) / 8 * 8;
    // Threads that move what belongs to a tile, and how many of its corners each.
    static constexpr u32 MOVERS = GROUP / TILES, CORNERS = MOVERS < 8 ? 8 / MOVERS : 1;
    static_assert(GROUP == 32 || TILES == 1, "a warp tells which tiles chose alike");
    // Of a tile that is none.
    static constexpr u64 NO_SYMBOLS = ~0ull;

    // Of the list, from the first of the tiles at hand on; which of them take part.
    const u32 *numbers;
    u32 taking;
    Choice choice;
    // The coded node at each place of a tile; its symbols, with what lies between the units.
    const u16 *coded_at;
    const u32 symbols;
    const CoarseColumn *columns;

    __device__ CoarseTiles(const TileArguments<T> &a, u32 thread, char *memory, const CoarseColumn *columns)
        : Base(a, a.shapes[a.coarse_shape], thread, memory, PLACES, TILES * a.shapes[a.coarse_shape].nodes), numbers(nullptr), taking(0), choice{0},
          coded_at(a.coded_at + this->shape.coded_at), symbols(this->shape.nodes), columns(columns) {}
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    // By ranks.
    static __device__ __forceinline__ u32 place(u32 tile, u32 z, u32 y, u32 x) { return tile * ALL + (z * NODES + y) * NODES + x; }

    // The tile of the list that this thread moves, if the tiles at hand begin at number `first`.
    __device__ __forceinline__ Tile look_up(u32 first) const {
        const u32 at = first + thread / MOVERS, number = at < a.list_count ? a.list[at] : NO_TILE;
        Tile tile = a.tiles[number == NO_TILE ? 0 : number];
        if (number == NO_TILE) tile.start = NO_SYMBOLS;
        return tile;
    }
    // All but the corners of the tile.
    __device__ __forceinline__ void load_values(const Tile &tile, u32 own, u32 mover) const {
        const T *corner = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        const u64 plane = (u64)a.n[1] * a.n[2];
#pragma unroll 1
        for (u32 i = mover; i < COLUMNS; i += MOVERS) {
            const CoarseColumn column = columns[i];
            const T *from = corner + (column.y() * a.n[2] + column.x());
            T *to = v + own * ALL + column.place();
            unroll<NODES>([&](auto z) {
                constexpr u32 Z = decltype(z)::value, rank = Axis::rank(Z);
                if (rank < 2) copy_ahead_if<sizeof(T), rank * COLUMNS * sizeof(T)>(!column.is_edge(), to, from);
                else copy_ahead<sizeof(T), rank * COLUMNS * sizeof(T)>(to, from);
                from += (Z + 2 < NODES ? 2 : 1) * plane;
                keep(from);
            });
        }
    }
    __device__ __forceinline__ void load_tiers(const Tile &tile, u32 own, u32 mover) const {
        for (u32 i = mover; i < BLOCKS; i += MOVERS) {
            const u64 row = (u64)(tile.at[0] / 8 + i / (EDGE * EDGE)) * a.blocks[1] + tile.at[1] / 8 + i / EDGE % EDGE;
            tiers[own * BLOCKS + i] = a.tiers[row * a.blocks[2] + tile.at[2] / 8 + i % EDGE];
        }
    }
    __device__ __forceinline__ void load_corners(const Tile &tile, u32 mover, T (&corners)[CORNERS]) const {
#pragma unroll
        for (u32 k = 0; k < CORNERS; k++) {
            const u32 i = min(mover + k * MOVERS, 7u), z = i >> 2, y = i >> 1 & 1, x = i & 1;
            const u64 row = (u64)(tile.at[0] / SIDE * 2 + z) * a.corner_n[1] + tile.at[1] / SIDE * 2 + y;
            corners[k] = a.corners[row * a.corner_n[2] + tile.at[2] / SIDE * 2 + x];
        }
    }
    __device__ __forceinline__ void put_corners(const T (&corners)[CORNERS], u32 own, u32 mover) const {
#pragma unroll
        for (u32 k = 0; k < CORNERS; k++) {
            const u32 i = mover + k * MOVERS;
            if (i < 8) v[place(own, i >> 2, i >> 1 & 1, i & 1)] = corners[k];
        }
    }
    // Calls f(number) for the pieces of 16 bytes of a tile's symbols, with what lies between the units.
    template <class F> __device__ __forceinline__ void each_piece(u32 mover, F f) const {
#pragma unroll 4
        for (u32 i = mover; i < symbols / 8; i += MOVERS) f(i);
    }
    // The tiles from number `first` of the list on, a row in ROW places: behind its nodes its last one, so that whole sectors are written.
    template <u32 ROW> __device__ __forceinline__ void store_rows(u32 first) const {
        constexpr u32 PLANE = NODES * ROW;
#pragma unroll 1
        for (u32 i = thread; i < TILES * PLANE; i += GROUP) {
            const u32 tile = i / PLANE, place = i % PLANE, column = ROW == NODES ? place : place / ROW * NODES + min(place % ROW, NODES - 1);
            if (TILES > 1 && first + tile >= a.list_count) break;
            const T *from = v + tile * ALL + columns[column].place();
            T *to = a.coarse + (u64)(first + tile) * (NODES * PLANE) + place;
            unroll<NODES>([&](auto z) { to[decltype(z)::value * PLANE] = from[Axis::rank(decltype(z)::value) * COLUMNS]; });
        }
    }
    __device__ __forceinline__ void store(u32 first) const { store_rows<NODES>(first); }

    // The numbers of the coded nodes of a line of `count`.
    __device__ __forceinline__ void look_up_symbols(CoarseLine &line, u32 count) const {
        const u16 *first = coded_at + line.place - line.tile * ALL + (count + 1) * line.stride;
        line.symbol = first[0];
        line.apart = count > 1 ? first[line.stride] - line.symbol : 0;
        line.fifth = count > 4 ? first[4 * line.stride] : 0;
    }
    // Takes prediction p of a node from its value or its symbol, and whether it is `exact`: then what this leaves does not count.
    static __device__ __forceinline__ void take(T &value, i16 &symbol, T p, const Quantizer<T> &z, bool &exact) {
        if (ENCODE) {
            const T rounded = R::add(R::mul(R::sub(value, p), z.inverse), R::ROUNDER), steps = R::sub(rounded, R::ROUNDER);
            const T r = R::fma(steps, z.step, p);
            exact |= !(R::abs(steps) <= (T)32767) | !(R::abs(R::sub(value, r)) <= z.check);
            value = r, symbol = (i16)R::bits(rounded);
        } else {
            value = R::fma((T)symbol, z.step, p);
            exact |= symbol == EXACT;
        }
    }
    // Quantizes or rebuilds the nodes of a line from their predictions. `of_block`: quantizers, of all blocks the one where there is but one.
    template <u32 N, u32 QUANTIZERS> __device__ __forceinline__ void visit(const CoarseLine &line, const T (&p)[N], const Quantizer<T> (&of_block)[QUANTIZERS]) {
        T *const values = v + line.place + (N + 1) * line.stride, known[N];
        i16 *const of_tile = q + line.tile * symbols, known_symbols[N];
        unroll<N>([&](auto k) {
            constexpr u32 K = decltype(k)::value;
            if (ENCODE) known[K] = values[K * line.stride];
            else known_symbols[K] = of_tile[line.coded(K)];
        });
        bool exact = false;
        unroll<N>([&](auto k) {
            constexpr u32 K = decltype(k)::value, block = QUANTIZERS > 1 ? CoarseStep<SIDE, N>::position(2 * K + 1) / 8 : 0;
            T value = known[K];
            i16 symbol = known_symbols[K];
            take(value, symbol, p[K], of_block[block], exact);
            values[K * line.stride] = value;
            if (ENCODE) of_tile[line.coded(K)] = symbol;
        });
        if (exact) put_exact<N>(line, p, known, of_block);
    }
    // The same for a line that has an exact node, one node after the other, since there are few.
    template <u32 N, u32 QUANTIZERS>
    __device__ __forceinline__ void put_exact(const CoarseLine &line, const T (&p)[N], const T (&known)[N], const Quantizer<T> (&of_block)[QUANTIZERS]) {
        typename R::Bits *deltas = a.delta + a.tiles[numbers[line.tile]].start;
        T of_node[N], values[N];
        unroll<N>([&](auto k) { of_node[decltype(k)::value] = p[decltype(k)::value], values[decltype(k)::value] = known[decltype(k)::value]; });
#pragma unroll 1
        for (u32 k = 0; k < N; k++) {
            const u32 coded = line.coded(k);
            i16 &symbol = q[line.tile * symbols + coded];
            T &value = v[line.place + (N + 1 + k) * line.stride];
            if (ENCODE) {
                Quantizer<T> z = of_block[0];
#pragma unroll
                for (u32 b = 1; b < QUANTIZERS; b++) {
                    if (CoarseStep<SIDE, N>::position(2 * k + 1) / 8 >= b) z = of_block[b];
                }
                value = values[k];
                if (!quantize(value, of_node[k], z, symbol)) deltas[coded] = delta_of(value, of_node[k]);
            } else if (symbol == EXACT) {
                value = apply_delta<T>(deltas[coded], of_node[k]);
            }
        }
    }

    // Tiles that chose alike together, by W, which this is; `own`: the choice of tile number `thread`, if there is one.
    template <class W> __device__ __forceinline__ void sweep_all(u32 own) {
        u32 left = TILES == 1 ? own != NO_TILE : __ballot_sync(FULL, own != NO_TILE);
        while (left != 0) {
            if constexpr (TILES == 1) {
                choice = Choice{own}, taking = left;
            } else {
                choice = Choice{__shfl_sync(FULL, own, __ffs((i32)left) - 1)};
                taking = __ballot_sync(FULL, own == choice.byte);
            }
            left &= ~taking;
            static_cast<W *>(this)->sweep();
        }
    }
    // The tiles from number `first` of the list on, of which this thread moves `tile`; returns the one that it moves next, from number
    // `next` on. One that packs draws that number.
    template <class W> __device__ __forceinline__ Tile run(u32 first, u32 &next, const Tile &tile) {
        numbers = a.list + first;
        const u32 own = thread / MOVERS, mover = thread % MOVERS;
        const bool exists = tile.start != NO_SYMBOLS;
        const uint4 *global = (const uint4 *)(a.q + tile.start);
        uint4 *shared = (uint4 *)(q + own * symbols);
        u32 chosen = NO_TILE;
        T corners[CORNERS] = {};
        if (exists) {
            if (ENCODE) load_values(tile, own, mover);
            else each_piece(mover, [&](u32 i) { copy_ahead<16>(shared + i, global + i); });
            chosen = a.choices[tile.chunk];
            load_corners(tile, mover, corners);
            if (a.tier_count > 1) load_tiers(tile, own, mover);
        }
        Tile after;
        if constexpr (W::PACKS) static_cast<W *>(this)->draw();
        else after = look_up(next);
        if (exists) put_corners(corners, own, mover);
        copies_arrived();
        sync();
        if constexpr (W::PACKS) next = static_cast<W *>(this)->drawn(), after = look_up(next);
        if constexpr (TILES == 1) {
            sweep_all<W>(chosen);
        } else {
            const u32 of_thread = __shfl_sync(FULL, chosen, thread % TILES * MOVERS);
            sweep_all<W>(thread < TILES ? of_thread : NO_TILE);
        }
        if constexpr (W::PACKS) {
            static_cast<W *>(this)->pack(exists, [&]() { static_cast<W *>(this)->store(first); });
        } else {
            if (ENCODE && exists) each_piece(mover, [&](u32 i) { ((uint4 *)global)[i] = shared[i]; });
            static_cast<W *>(this)->store(first);
        }
        sync();
        return after;
    }
};

// The listed tiles, by the groups of a block of THREADS; W sweeps over them.
template <class T, class W, u32 THREADS, class... More> __device__ __forceinline__ void coarse_tiles(const TileArguments<T> &a, More &...more) {
    SHARED_MEMORY(shared);
    const u32 group = threadIdx.x / W::THREADS, thread = threadIdx.x % W::THREADS, distance = gridDim.x * (THREADS / W::THREADS * W::TOGETHER);
    CoarseColumn *columns = (CoarseColumn *)(shared + THREADS / W::THREADS * a.tile_bytes);
    for (u32 i = threadIdx.x; i < W::COLUMNS; i += THREADS) columns[i] = CoarseColumn::of<typename W::Axis>(i);
    __syncthreads();
    W work(a, thread, shared + group * a.tile_bytes, columns, more...);
    u32 first = (blockIdx.x * (THREADS / W::THREADS) + group) * W::TOGETHER;
    if (first >= a.list_count) return;
    for (Tile tile = work.look_up(first); first < a.list_count;) {
        u32 next = first + distance;
        tile = work.template run<W>(first, next, tile);
        first = next;
    }
}
