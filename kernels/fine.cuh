// Step 0 of whole tiles, by columns (regular.cuh), once their nodes of S(1) are rebuilt (coarse.cuh).
#pragma once
#include "regular.cuh"
#include "tile.cuh"

// Step 0 of TILES tiles of one chunk by the THREADS of a block.
template <class T, u32 SIDE, u32 TILES, u32 THREADS, bool ENCODE> struct FineTiles : TileMemory<T, ENCODE> {
    typedef TileMemory<T, ENCODE> Base;
    using Base::a;
    using Base::only;
    using Base::q;
    using Base::quantizers;
    using Base::shape;
    using Base::thread;
    using Base::tiers;
    using Base::v;
    typedef CoarseSize<SIDE> Size;
    // Elements of a 16-byte access.
    static constexpr u32 VECTOR = 16 / sizeof(T);
    struct __align__(16) Several {
        T of[VECTOR];
    };
    // Of a tile: elements of its memory, and symbols of step 0 with the padding between units.
    static constexpr u32 PLACES = ((SIDE - 1) * (Memory<SIDE>::Z + Memory<SIDE>::Y) + SIDE + 7) / 8 * 8;
    static constexpr u32 BLOCKS = (SIDE / 8) * (SIDE / 8) * (SIDE / 8);
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
    static constexpr u32 OF_ROW = SIDE / VECTOR, ROWS = THREADS / OF_ROW, PASSES = TILES * SIDE * SIDE / ROWS, BATCH = PASSES < 8 ? PASSES : 8;
    static_assert(ROWS % SIDE == 0 && TILES * SIDE * SIDE % ROWS == 0 && SIDE * SIDE % ROWS == 0, "a thread's rows have one y");
    // Columns of nodes of S(1).
    static constexpr u32 COLUMNS = Size::AXIS * Size::AXIS, SHARE = (TILES * COLUMNS + THREADS - 1) / THREADS;

    // The number of the coded node at each place, of which so many belong to coarser steps.
    const u16 *coded_at;
    u32 coded_before;
    const u32 *numbers;
    bool rule;

    __device__ FineTiles(const TileArguments<T> &a, char *memory)
        : Base(a, a.shapes[a.whole_shape], threadIdx.x, memory, TILES * PLACES, TILES * SYMBOLS), coded_at(a.coded_at + shape.coded_at),
          coded_before(shape.nodes - SYMBOLS), numbers(nullptr), rule(false) {}
    static __device__ __forceinline__ void sync() { __syncthreads(); }
    __device__ __forceinline__ void put_exact(u32 place, u32 coded, T p) {
        if (q[coded] != EXACT || numbers[coded / SYMBOLS] == NO_TILE) return;
        typename Real<T>::Bits *delta = a.delta + a.tiles[numbers[coded / SYMBOLS]].start + coded_before + coded % SYMBOLS;
        if (ENCODE) *delta = delta_of(v[place], p);
        else v[place] = apply_delta<T>(*delta, p);
    }

    // Pieces of 16 bytes of the tiles' rows: what a thread takes stands PLANES planes apart, pass after pass, tile after tile.
    struct Pieces {
        static constexpr u32 PLANES = ROWS / SIDE, OF_TILE = SIDE / PLANES;
        u32 z, y, x;
        T *to[VECTOR];
        __device__ __forceinline__ Pieces(const FineTiles &work)
            : z(work.thread / OF_ROW / SIDE), y(work.thread / OF_ROW % SIDE), x(work.thread % OF_ROW * VECTOR) {
            const u16 *offsets = work.a.offsets;
            T *row = work.v + z * Memory<SIDE>::Z + offsets[work.shape.offsets[1] + y];
#pragma unroll
            for (u32 k = 0; k < VECTOR; k++) to[k] = row + offsets[work.shape.offsets[2] + x + k];
        }
        static __device__ __forceinline__ u32 tile(u32 pass) { return pass / OF_TILE; }
        static __device__ __forceinline__ u32 place(u32 pass) { return tile(pass) * PLACES + pass % OF_TILE * PLANES * Memory<SIDE>::Z; }
    };
    // ALIGNED: to 16 bytes.
    template <bool ALIGNED> __device__ __forceinline__ void load_values() {
        const Pieces pieces(*this);
        const u64 plane = (u64)a.n[1] * a.n[2] * Pieces::PLANES;
        const T *from = nullptr;
#pragma unroll
        for (u32 first = 0; first < PASSES; first += BATCH) {
            Several values[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                const u32 pass = first + k, number = numbers[Pieces::tile(pass)];
                if (number == NO_TILE) continue;
                if (pass % Pieces::OF_TILE == 0) {
                    const u32 *corner = a.tiles[number].at;
                    from = a.values + ((u64)(corner[0] + pieces.z) * a.n[1] + corner[1] + pieces.y) * a.n[2] + corner[2] + pieces.x;
                }
                if (ALIGNED) {
                    values[k] = load_once((const Several *)from);
                } else {
#pragma unroll
                    for (u32 m = 0; m < VECTOR; m++) values[k].of[m] = from[m];
                }
                from += plane;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
#pragma unroll
                for (u32 m = 0; m < VECTOR; m++) pieces.to[m][Pieces::place(first + k)] = values[k].of[m];
            }
        }
    }
    // Writes what lies inside lo..hi; WHOLE: everything does, and 16 bytes are aligned.
    template <bool WHOLE> __device__ __forceinline__ void store_values() {
        const Pieces pieces(*this);
        const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        const i64 plane = (i64)ny * nx * Pieces::PLANES;
        T *to = nullptr;
        u32 gz = 0, gy = 0, gx = 0;
#pragma unroll
        for (u32 pass = 0; pass < PASSES; pass++) {
            const u32 number = numbers[Pieces::tile(pass)], at = Pieces::place(pass);
            if (number == NO_TILE) continue;
            if (pass % Pieces::OF_TILE == 0) {
                const u32 *corner = a.tiles[number].at;
                gz = corner[0] + pieces.z, gy = corner[1] + pieces.y, gx = corner[2] + pieces.x;
                // it may begin before lo
                to = a.result + ((i64)(i32)(gz - a.lo[0]) * ny + (i32)(gy - a.lo[1])) * nx + (i32)(gx - a.lo[2]);
            }
            if constexpr (WHOLE) {
                Several values;
#pragma unroll
                for (u32 m = 0; m < VECTOR; m++) values.of[m] = pieces.to[m][at];
                *(Several *)to = values;
            } else if (gz >= a.lo[0] && gz < a.hi[0] && gy >= a.lo[1] && gy < a.hi[1]) {
#pragma unroll
                for (u32 m = 0; m < VECTOR; m++) {
                    if (gx + m >= a.lo[2] && gx + m < a.hi[2]) to[m] = pieces.to[m][at];
                }
            }
            to += plane;
            gz += Pieces::PLANES;
        }
    }
    __device__ __forceinline__ void store() {
        bool whole = (a.hi[2] - a.lo[2]) % VECTOR == 0 && a.lo[2] % VECTOR == 0;
#pragma unroll
        for (u32 j = 0; j < TILES; j++) {
            if (numbers[j] == NO_TILE) continue;
            const u32 *corner = a.tiles[numbers[j]].at;
#pragma unroll
            for (u32 axis = 0; axis < 3; axis++) whole &= corner[axis] >= a.lo[axis] && corner[axis] + SIDE <= a.hi[axis];
        }
        if (whole) store_values<true>();
        else store_values<false>();
    }
    __device__ __forceinline__ void load_tiers() {
        constexpr u32 EDGE = SIDE / 8;
        for (u32 i = thread; i < TILES * BLOCKS; i += THREADS) {
            const u32 number = numbers[i / BLOCKS], block = i % BLOCKS;
            tiers[i] = 0;
            if (number == NO_TILE) continue;
            const u32 *corner = a.tiles[number].at;
            const u64 from = (u64)(corner[0] / 8 + block / (EDGE * EDGE)) * a.blocks[1] + corner[1] / 8 + block / EDGE % EDGE;
            tiers[i] = a.tiers[from * a.blocks[2] + corner[2] / 8 + block % EDGE];
        }
    }
    // Symbols 16 bytes at a time, with what lies between the units.
    template <bool OUT> __device__ __forceinline__ void copy_symbols() const {
#pragma unroll
        for (u32 j = 0; j < TILES; j++) {
            if (numbers[j] == NO_TILE) continue;
            uint4 *global = (uint4 *)(a.q + a.tiles[numbers[j]].start + coded_before), *shared = (uint4 *)(q + j * SYMBOLS);
#pragma unroll 8
            for (u32 i = thread; i < SYMBOLS / 8; i += THREADS) {
                if (OUT) global[i] = shared[i];
                else shared[i] = global[i];
            }
        }
    }
    // Asks for what the tiles from number `first` of the list on need, while those at hand are worked on.
    __device__ __forceinline__ void ask_for(u32 first) const {
        if (first >= a.list_count) return;
        constexpr u32 LINE = 128, COARSE = TILES * Size::ALL * sizeof(T);
        for (u32 i = thread * LINE; i < COARSE; i += THREADS * LINE) fetch_to_l2((const char *)(a.coarse + (u64)first * Size::ALL) + i);
#pragma unroll
        for (u32 j = 0; j < TILES; j++) {
            const u32 number = a.list[first + j];
            if (number == NO_TILE) continue;
            const Tile &tile = a.tiles[number];
            if (ENCODE) {
                const T *corner = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
#pragma unroll
                for (u32 i = thread; i < SIDE * SIDE; i += THREADS) fetch_to_l2(corner + ((u64)(i / SIDE) * a.n[1] + i % SIDE) * a.n[2]);
            } else {
                const char *symbols = (const char *)(a.q + tile.start + coded_before);
                for (u32 i = thread * LINE; i < 2 * SYMBOLS; i += THREADS * LINE) fetch_to_l2(symbols + i);
            }
        }
    }
    template <u32 POINTS> __device__ __forceinline__ void step(const Choice &choice) {
        const Step *step = a.steps + shape.first_step;
        if (choice.favoured() == 0 && !choice.in_order()) {
            RegularStep<T, SIDE, POINTS>::template run<TILES, THREADS>(*this, step[1].stencils, step[2].stencils);
            return;
        }
        one_axis<0, POINTS>(choice, step[0]);
        one_axis<1, POINTS>(choice, step[1]);
        one_axis<2, POINTS>(choice, step[2]);
    }
    // Where an axis predicts alone: by lists, since few chunks have one.
    template <u32 CROSS, u32 POINTS> __device__ __forceinline__ void one_axis(const Choice &choice, const Step &list) {
        const Stencil<T, POINTS> *all = this->template stencils<POINTS>();
#pragma unroll 1
        for (u32 n = thread; n < TILES * list.count; n += THREADS) {
            const u32 j = n / list.count;
            const Node node = a.nodes[list.first + n - j * list.count];
            const u32 place = j * PLACES + node.place, coded = j * SYMBOLS + node.coded - coded_before;
            const Quantizer<T> z = this->quantizer(j * BLOCKS + node.tier);
            const T p = predict<CROSS>(v + place, all, node, choice, z.step);
            if (this->put(place, coded, this->known(place, coded), p, z)) put_exact(place, coded, p);
        }
        sync();
    }
    // Columns of nodes of S(1), rebuilt.
    __device__ __forceinline__ void load_coarse(const T *from, T (&coarse)[SHARE][Size::AXIS]) const {
#pragma unroll
        for (u32 k = 0; k < SHARE; k++) {
            const u32 i = min(thread + k * THREADS, TILES * COLUMNS - 1);
#pragma unroll
            for (u32 z = 0; z < Size::AXIS; z++) coarse[k][z] = from[i / COLUMNS * Size::ALL + z * COLUMNS + i % COLUMNS];
        }
    }
    __device__ __forceinline__ void put_coarse(const T (&coarse)[SHARE][Size::AXIS]) {
#pragma unroll
        for (u32 k = 0; k < SHARE; k++) {
            const u32 i = thread + k * THREADS, column = i % COLUMNS;
            if (i >= TILES * COLUMNS) break;
            T *to = v + i / COLUMNS * PLACES + column / Size::AXIS * Memory<SIDE>::Y + column % Size::AXIS;
#pragma unroll
            for (u32 z = 0; z < Size::AXIS; z++) to[min(2 * z, SIDE - 1) * Memory<SIDE>::Z] = coarse[k][z];
        }
    }
    // The tiles from number `first` of the list on; those from number `next` on come after them.
    __device__ __forceinline__ void run(u32 first, u32 next) {
        numbers = a.list + first;
        T coarse[SHARE][Size::AXIS];
        load_coarse(a.coarse + (u64)first * Size::ALL, coarse);
        if (ENCODE) {
            if (a.n[2] % VECTOR == 0) load_values<true>();
            else load_values<false>();
            sync();
        } else {
            copy_symbols<false>();
        }
        put_coarse(coarse);
        if (a.tier_count > 1) load_tiers();
        const Choice choice{a.choices[a.tiles[numbers[0]].chunk]};
        rule = choice.rule();
        quantizers = quantizers_of(a, choice, 0);
        only = quantizers[0];
        ask_for(next);
        sync();
        if (choice.points() == 1) step<4>(choice);
        else if (choice.points() == 0) step<2>(choice);
        else step<6>(choice);
        if (ENCODE) copy_symbols<true>();
        else store();
        sync();
    }
};

template <class T, u32 SIDE, u32 TILES, u32 THREADS, bool ENCODE> __device__ __forceinline__ void fine_tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    FineTiles<T, SIDE, TILES, THREADS, ENCODE> work(a, shared);
    const u32 together = gridDim.x * TILES;
    for (u32 first = blockIdx.x * TILES; first < a.list_count; first += together) work.run(first, first + together);
}
