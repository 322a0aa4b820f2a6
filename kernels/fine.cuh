// Step 0 of whole tiles, by lines (lines.cuh), once their nodes of S(1) are rebuilt (coarse.cuh).
#pragma once
#include "lines.cuh"

// Which pieces of 16 bytes of the rows of TILES tiles a thread takes: one a pass. The same row of a plane comes again after PERIOD passes,
// PLANES planes on.
template <class T, u32 SIDE, u32 TILES, u32 THREADS> struct Pieces {
    typedef Memory<T, SIDE> M;
    static constexpr u32 VECTOR = 16 / sizeof(T), OF_ROW = SIDE / VECTOR, ROWS = THREADS / OF_ROW, ALL_ROWS = TILES * SIDE * SIDE;
    static constexpr u32 PASSES = (ALL_ROWS + ROWS - 1) / ROWS;
    static __host__ __device__ constexpr u32 period() {
        u32 passes = 1;
        while (passes * ROWS % SIDE != 0) passes++;
        return passes;
    }
    static constexpr u32 PERIOD = period(), PLANES = PERIOD * ROWS / SIDE, TURNS = (PASSES + PERIOD - 1) / PERIOD;
    static_assert(TILES == 1 || (PERIOD == 1 && SIDE % PLANES == 0), "the passes of a tile are its own");
    static constexpr u32 TURNS_OF_TILE = TILES == 1 ? TURNS : SIDE / PLANES;
    struct __align__(16) Several {
        T of[VECTOR];
    };
    // Of the first turn: plane, row and column, and where they stand.
    u32 z[PERIOD], y[PERIOD], x;
    T *even[PERIOD], *odd[PERIOD], *last[PERIOD];

    __device__ __forceinline__ Pieces(T *v, u32 thread) : x(thread % OF_ROW * VECTOR) {
#pragma unroll
        for (u32 i = 0; i < PERIOD; i++) {
            const u32 number = thread / OF_ROW + i * ROWS;
            z[i] = number / SIDE, y[i] = number % SIDE;
            T *const at = v + z[i] * M::Z + x / 2;
            even[i] = at + M::old_of_row(y[i]), odd[i] = at + M::new_of_row(y[i]);
            last[i] = x + VECTOR == SIDE ? even[i] + VECTOR / 2 : odd[i] + (VECTOR / 2 - 1);
        }
    }
    static __device__ __forceinline__ u32 tile(u32 turn) { return turn / TURNS_OF_TILE; }
    static __device__ __forceinline__ u32 plane(u32 turn) { return turn % TURNS_OF_TILE * PLANES; }
    static __device__ __forceinline__ u32 place(u32 turn) { return tile(turn) * M::PLACES + plane(turn) * M::Z; }
    // Whether number i of a turn is a piece.
    __device__ __forceinline__ bool exists(u32 turn, u32 i, u32 thread) const {
        const u32 pass = turn * PERIOD + i;
        return pass < ALL_ROWS / ROWS || (pass < PASSES && pass * ROWS + thread / OF_ROW < ALL_ROWS);
    }
    // Element m of number i of a turn: even positions of a row are old nodes, odd ones new nodes, but for the last one.
    __device__ __forceinline__ T &element(u32 turn, u32 i, u32 m) const {
        T *const from = m == VECTOR - 1 ? last[i] : (m % 2 == 0 ? even[i] : odd[i]) + m / 2;
        return from[place(turn)];
    }
};

// Step 0 of TILES tiles of one chunk by the THREADS of a block.
template <class T, u32 SIDE, u32 TILES, u32 THREADS, bool ENCODE> struct FineTiles {
    typedef CoarseSize<SIDE> Size;
    typedef Memory<T, SIDE> M;
    typedef Pieces<T, SIDE, TILES, THREADS> Rows;
    typedef typename Rows::Several Several;
    static constexpr u32 WARPS = THREADS / 32, TOGETHER = TILES;
    static constexpr bool ENCODES = ENCODE;
    static constexpr u32 BLOCKS = (SIDE / 8) * (SIDE / 8) * (SIDE / 8);
    // Symbols of step 0 of a tile, with the padding between units.
    static __host__ __device__ constexpr u32 symbols() {
        u32 sum = 0;
        for (u32 unit = 0; unit < BLOCKS; unit++) {
            u32 old = 1;
            for (u32 at = unit, axis = 0; axis < 3; axis++, at /= SIDE / 8) old *= at % (SIDE / 8) == SIDE / 8 - 1 ? 5 : 4;
            sum += (512 - old + 7) / 8 * 8;
        }
        return sum;
    }
    static constexpr u32 SYMBOLS = symbols();
    // Columns of nodes of S(1).
    static constexpr u32 COLUMNS = Size::AXIS * Size::AXIS, SHARE = (TILES * COLUMNS + THREADS - 1) / THREADS;

    struct __align__(16) Padded {
        Quantizer<T> of;
    };
    // Of a tile that is none.
    static constexpr u64 NO_SYMBOLS = ~0ull;

    const TileArguments<T> &a;
    const u32 thread;
    // By place; in coded order; by tolerance block.
    T *v;
    i16 *q;
    Padded *quantizers;
    // The tiles at hand, how many they are, and those that come next.
    Tile *tiles, *next_tiles;
    u32 count;
    // Coded nodes of coarser steps; the first stencil of step 0.
    const u32 coded_before, stencil;
    // Where there is one tier only.
    const Quantizer<T> only;

    __device__ FineTiles(const TileArguments<T> &a, char *memory)
        : a(a), thread(threadIdx.x), v((T *)memory), q((i16 *)(v + TILES * M::PLACES)), quantizers((Padded *)(q + TILES * SYMBOLS)),
          tiles((Tile *)(quantizers + TILES * BLOCKS)), next_tiles(tiles + TILES), count(0),
          coded_before(a.shapes[a.whole_shape].nodes - SYMBOLS),
          stencil(a.shapes[a.whole_shape].first_stencil + a.steps[a.shapes[a.whole_shape].first_step + 1].stencils), only(a.quantizers[0]) {}
    static __device__ __forceinline__ void sync() { __syncthreads(); }

    __device__ __forceinline__ Quantizer<T> quantizer(u32 block) const { return a.tier_count == 1 ? only : quantizers[block].of; }
    // Takes prediction p of a node: its reconstruction, its symbol, and whether it is `exact`: then neither counts.
    __device__ __forceinline__ void take(u32 place, u32 coded, T p, const Quantizer<T> &z, T &r, i16 &symbol, bool &exact) const {
        typedef Real<T> R;
        if (ENCODE) {
            const T u = v[place], rounded = R::add(R::mul(R::sub(u, p), z.inverse), R::ROUNDER), steps = R::sub(rounded, R::ROUNDER);
            r = R::fma(steps, z.step, p);
            symbol = (i16)R::bits(rounded);
            exact |= !(R::abs(steps) <= (T)32767) | !(R::abs(R::sub(u, r)) <= z.check);
        } else {
            symbol = q[coded];
            r = R::fma((T)symbol, z.step, p);
            exact |= symbol == EXACT;
        }
    }
    // The same with what follows, for any node.
    __device__ __forceinline__ void put_one(u32 tile, u32 place, u32 coded, T p, const Quantizer<T> &z) {
        typename Real<T>::Bits *delta = a.delta + tiles[tile].start + coded_before + (coded - tile * SYMBOLS);
        if (ENCODE) {
            T u = v[place];
            if (!quantize(u, p, z, q[coded])) *delta = delta_of(u, p);
            v[place] = u;
        } else {
            v[place] = q[coded] == EXACT ? apply_delta<T>(*delta, p) : Real<T>::fma((T)q[coded], z.step, p);
        }
    }

    // ALIGNED: to 16 bytes.
    template <bool ALIGNED> __device__ __forceinline__ void load_values() {
        const Rows rows(v, thread);
        // loads under way
        constexpr u32 BATCH = SIDE == 8 ? 4 : 8 / Rows::PERIOD;
        const T *from[Rows::PERIOD];
        const u64 plane = (u64)a.n[1] * a.n[2];
#pragma unroll
        for (u32 first = 0; first < Rows::TURNS; first += BATCH) {
            Several values[BATCH][Rows::PERIOD];
#pragma unroll
            for (u32 turn = first; turn < min(first + BATCH, Rows::TURNS); turn++) {
                if (Rows::tile(turn) >= count) continue;
                if (Rows::plane(turn) == 0) {
                    const u32 *corner = tiles[Rows::tile(turn)].at;
#pragma unroll
                    for (u32 i = 0; i < Rows::PERIOD; i++)
                        from[i] = a.values + ((u64)(corner[0] + rows.z[i]) * a.n[1] + corner[1] + rows.y[i]) * a.n[2] + corner[2] + rows.x;
                }
#pragma unroll
                for (u32 i = 0; i < Rows::PERIOD; i++) {
                    if (!rows.exists(turn, i, thread)) continue;
                    Several &piece = values[turn - first][i];
                    if (ALIGNED) {
                        piece = load_once((const Several *)from[i]);
                    } else {
#pragma unroll
                        for (u32 m = 0; m < Rows::VECTOR; m++) piece.of[m] = from[i][m];
                    }
                    from[i] += plane * Rows::PLANES;
                }
            }
#pragma unroll
            for (u32 turn = first; turn < min(first + BATCH, Rows::TURNS); turn++) {
#pragma unroll
                for (u32 i = 0; i < Rows::PERIOD; i++) {
                    if (Rows::tile(turn) >= count || !rows.exists(turn, i, thread)) continue;
#pragma unroll
                    for (u32 m = 0; m < Rows::VECTOR; m++) rows.element(turn, i, m) = values[turn - first][i].of[m];
                }
            }
        }
    }
    // Writes what lies inside lo..hi; WHOLE: everything does, and 16 bytes are aligned.
    template <bool WHOLE> __device__ __forceinline__ void store_values() {
        const Rows rows(v, thread);
        const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        const i64 plane = (i64)ny * nx;
        const u32 *corner = nullptr;
        T *to[Rows::PERIOD];
#pragma unroll
        for (u32 turn = 0; turn < Rows::TURNS; turn++) {
            if (Rows::tile(turn) >= count) continue;
            if (Rows::plane(turn) == 0) {
                corner = tiles[Rows::tile(turn)].at;
#pragma unroll
                for (u32 i = 0; i < Rows::PERIOD; i++) {
                    // it may begin before lo
                    const i32 z = corner[0] + rows.z[i] - a.lo[0], y = corner[1] + rows.y[i] - a.lo[1], x = corner[2] + rows.x - a.lo[2];
                    to[i] = a.result + ((i64)z * ny + y) * nx + x;
                }
            }
#pragma unroll
            for (u32 i = 0; i < Rows::PERIOD; i++) {
                if (!rows.exists(turn, i, thread)) continue;
                if constexpr (WHOLE) {
                    Several piece;
#pragma unroll
                    for (u32 m = 0; m < Rows::VECTOR; m++) piece.of[m] = rows.element(turn, i, m);
                    *(Several *)to[i] = piece;
                } else {
                    const u32 z = corner[0] + rows.z[i] + Rows::plane(turn), y = corner[1] + rows.y[i], x = corner[2] + rows.x;
                    const bool inside = z >= a.lo[0] && z < a.hi[0] && y >= a.lo[1] && y < a.hi[1];
#pragma unroll
                    for (u32 m = 0; m < Rows::VECTOR; m++) {
                        if (inside && x + m >= a.lo[2] && x + m < a.hi[2]) to[i][m] = rows.element(turn, i, m);
                    }
                }
                to[i] += plane * Rows::PLANES;
            }
        }
    }
    __device__ __forceinline__ void store() {
        bool whole = (a.hi[2] - a.lo[2]) % Rows::VECTOR == 0 && a.lo[2] % Rows::VECTOR == 0;
#pragma unroll
        for (u32 j = 0; j < TILES; j++) {
            if (j >= count) continue;
            const u32 *corner = tiles[j].at;
#pragma unroll
            for (u32 axis = 0; axis < 3; axis++) whole &= corner[axis] >= a.lo[axis] && corner[axis] + SIDE <= a.hi[axis];
        }
        if (whole) store_values<true>();
        else store_values<false>();
    }
    // The quantizers of the tiles' tolerance blocks, where there are several tiers.
    __device__ __forceinline__ void load_quantizers() {
        constexpr u32 EDGE = SIDE / 8;
#pragma unroll 1
        for (u32 i = thread; i < count * BLOCKS; i += THREADS) {
            const u32 *corner = tiles[i / BLOCKS].at, block = i % BLOCKS;
            const u64 from = (u64)(corner[0] / 8 + block / (EDGE * EDGE)) * a.blocks[1] + corner[1] / 8 + block / EDGE % EDGE;
            quantizers[i].of = a.quantizers[a.tiers[from * a.blocks[2] + corner[2] / 8 + block % EDGE]];
        }
    }
    // Calls f(symbols of a tile in memory, the same in shared memory) for all pieces of 16 bytes, with what lies between the units.
    template <class F> __device__ __forceinline__ void each_symbols(F f) const {
        constexpr u32 OF_TILE = SYMBOLS / 8, ALL = TILES * OF_TILE;
        const auto of_tile = [&](u32 tile) { return (uint4 *)(a.q + tiles[tile].start + coded_before); };
        uint4 *const only = of_tile(0), *const shared = (uint4 *)q + thread;
#pragma unroll
        for (u32 begin = 0; begin < ALL; begin += THREADS) {
            const u32 i = begin + thread, tile = i / OF_TILE;
            if (begin + THREADS > ALL && i >= ALL) continue;
            if (TILES == 1) f(only + i, shared + begin);
            else if (tile < count) f(of_tile(tile) + (i - tile * OF_TILE), shared + begin);
        }
    }
    // A tile by its number; `shape` is of no use here and holds the choice of its chunk later.
    __device__ __forceinline__ Tile look_up(u32 number) const {
        Tile tile = a.tiles[number == NO_TILE ? 0 : number];
        if (number == NO_TILE) tile.start = NO_SYMBOLS;
        return tile;
    }
    // Asks for what the next tiles need, while those at hand are worked on; they begin at number `first` of the list.
    __device__ __forceinline__ void ask_for(u32 first) const {
        if (first >= a.list_count) return;
        constexpr u32 LINE = 128, COARSE = TILES * Size::ALL * sizeof(T) / LINE + 1;
        static_assert(COARSE <= THREADS, "a line each");
        if (thread < COARSE) fetch_to_l2((const char *)(a.coarse + (u64)first * Size::ALL) + thread * LINE);
#pragma unroll
        for (u32 j = 0; j < TILES; j++) {
            const Tile &tile = next_tiles[j];
            if (TILES > 1 && tile.start == NO_SYMBOLS) continue;
            if (ENCODE) {
                static_assert(THREADS % SIDE == 0, "a thread's rows have one y");
                const u64 plane = (u64)a.n[1] * a.n[2];
                const T *row = a.values + (tile.at[0] + thread / SIDE) * plane + (u64)(tile.at[1] + thread % SIDE) * a.n[2] + tile.at[2];
#pragma unroll
                for (u32 i = 0; i < SIDE * SIDE; i += THREADS) {
                    if (i + THREADS <= SIDE * SIDE || i + thread < SIDE * SIDE) fetch_to_l2(row);
                    row += plane * (THREADS / SIDE);
                }
            } else {
                const char *symbols = (const char *)(a.q + tile.start + coded_before);
#pragma unroll 1
                for (u32 i = thread * LINE; i < 2 * SYMBOLS; i += THREADS * LINE) fetch_to_l2(symbols + i);
            }
        }
    }
    // Columns of nodes of S(1), rebuilt.
    __device__ __forceinline__ void load_coarse(const T *from, T (&coarse)[SHARE][Size::AXIS]) const {
#pragma unroll
        for (u32 k = 0; k < SHARE; k++) {
            const u32 i = min(thread + k * THREADS, TILES * COLUMNS - 1);
            const T *column = from + (i / COLUMNS * Size::ALL + i % COLUMNS);
#pragma unroll
            for (u32 z = 0; z < Size::AXIS; z++) coarse[k][z] = column[z * COLUMNS];
        }
    }
    __device__ __forceinline__ void put_coarse(const T (&coarse)[SHARE][Size::AXIS]) {
#pragma unroll
        for (u32 k = 0; k < SHARE; k++) {
            const u32 i = thread + k * THREADS;
            if (i >= TILES * COLUMNS) break;
            T *to = v + a.columns[i];
            unroll<Size::AXIS>([&](auto z) {
                constexpr u32 Z = decltype(z)::value;
                to[CoarseAxis<SIDE>::position(Z) * M::Z] = coarse[k][Z];
            });
        }
    }
    // Step 0; `next`: see `ask_for`. Returns the choice of the next tiles.
    template <u32 POINTS, bool PLAIN> __device__ __forceinline__ u32 step(Choice choice, u32 next) {
        u32 next_choice = 0;
        const auto meanwhile = [&] {
            if (next >= a.list_count) return;
            ask_for(next);
            if (thread == 0) next_choice = a.choices[next_tiles[0].chunk];
        };
        const Stencil<T, POINTS> *stencils = (const Stencil<T, POINTS> *)a.stencils[POINTS / 2 - 1] + stencil;
        FineStep<T, SIDE, POINTS, PLAIN, FineTiles>{*this, stencils, {choice}}.run(meanwhile);
        return next_choice;
    }
    template <u32 POINTS> __device__ __forceinline__ u32 step(Choice choice, u32 next) {
        return choice.is_plain() ? step<POINTS, true>(choice, next) : step<POINTS, false>(choice, next);
    }
    // The tiles from number `first` of the list on; those from number `next` on come after them.
    __device__ __forceinline__ void run(u32 first, u32 next) {
        count = TILES;
        while (TILES > 1 && tiles[count - 1].start == NO_SYMBOLS) count--;
        const Choice choice{tiles[0].shape};
        const bool looks_up = thread < TILES && next < a.list_count;
        const u32 number = looks_up ? a.list[next + thread] : NO_TILE;
        T coarse[SHARE][Size::AXIS];
        load_coarse(a.coarse + (u64)first * Size::ALL, coarse);
        if (ENCODE) {
            if (a.n[2] % Rows::VECTOR == 0) load_values<true>();
            else load_values<false>();
            sync();
        } else {
            each_symbols([](const uint4 *global, uint4 *shared) { copy_async(shared, global); });
        }
        Tile tile;
        if (looks_up) tile = look_up(number);
        put_coarse(coarse);
        if (a.tier_count > 1) load_quantizers();
        if (looks_up) next_tiles[thread] = tile;
        if (!ENCODE) wait_for_copies();
        sync();
        const u32 points = choice.points();
        const u32 next_choice = points == 1 ? step<4>(choice, next) : points == 0 ? step<2>(choice, next) : step<6>(choice, next);
        if (ENCODE) each_symbols([](uint4 *global, const uint4 *shared) { *global = *shared; });
        else store();
        if (thread == 0) next_tiles[0].shape = next_choice;
        sync();
        Tile *const done = tiles;
        tiles = next_tiles, next_tiles = done;
    }
    // All tiles that the block takes, from number `first` of the list on, each time `distance` further.
    __device__ __forceinline__ void run_all(u32 first, u32 distance) {
        if (first >= a.list_count) return;
        if (thread < TILES) {
            Tile tile = look_up(a.list[first + thread]);
            tile.shape = a.choices[tile.chunk];
            tiles[thread] = tile;
        }
        sync();
        for (; first < a.list_count; first += distance) run(first, first + distance);
    }
};

template <class T, u32 SIDE, u32 TILES, u32 THREADS, bool ENCODE> __device__ __forceinline__ void fine_tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    FineTiles<T, SIDE, TILES, THREADS, ENCODE>(a, shared).run_all(blockIdx.x * TILES, gridDim.x * TILES);
}
