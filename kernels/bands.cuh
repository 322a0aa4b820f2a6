// Step 0 of whole tiles in axis order (FORMAT.md, "Groups coder"), from values to the bits of their bands and back, without symbols in between.
// A block takes a tile and walks along one axis, a warp a band: a lane four rows of one position of the last axis. Nodes new on the last axis
// are predicted across lanes, those new on the rows' axis by way of shared memory, and those new on the walk's axis, which are most, from the
// planes that the lane has passed.
#pragma once
#include "bands_memory.cuh"

template <class T, u32 SIDE, u32 POINTS, bool ENCODE> struct Bands {
    typedef BandShape<SIDE> Shape;
    typedef BandMemory<T, SIDE, ENCODE> Memory;
    typedef BandStage<T, SIDE, ENCODE> Stage;
    typedef Real<T> R;
    static constexpr u32 HALF = POINTS / 2, OLD = Shape::OLD, SLABS = Shape::SLABS;
    // Old planes that a new one waits for, so that two new ones are of one group; old planes that are kept from one batch to the next.
    static constexpr u32 LAG = HALF < 3 ? 2 : 4, CARRY = LAG + HALF - 1, PLANES = BATCH;
    static constexpr u32 STAGE = sizeof(Stage) / sizeof(T);

    Memory &memory;
    const u32 x, quad;
    // The warp has the last quad; it is the lane's.
    const bool x_new, has_last, last_quad;
    // Row 0 among the old rows of the first plane; of the lane's quantizer; of the weights of rows.
    T *row;
    const typename Memory::Padded *quantizers;
    // The old planes that the lane has passed, the newest last.
    T window[CARRY + PLANES][BAND_ROWS];

    __device__ __forceinline__ Bands(Memory &memory)
        : memory(memory), x(threadIdx.x % SIDE), quad(threadIdx.x / SIDE), x_new(x % 2 == 1 && x < SIDE - 1),
          has_last(__all_sync(FULL, threadIdx.x / 32 == Shape::WARPS - 1)), last_quad(Shape::QUADS > 1 ? quad == SIDE / BAND_ROWS - 1 : has_last),
          row(memory.rows[0] + (Memory::PAD + 2 * quad) * SIDE + x),
          quantizers(memory.quantizers + quad / 2 * SLABS + x / 8) {
#pragma unroll
        for (u32 i = 0; i < CARRY + PLANES; i++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[i][r] = 0;
        }
    }
    static __device__ __forceinline__ u32 position(u32 old) { return min(2 * old, SIDE - 1); }
    __device__ __forceinline__ void load_weights(const T *of, T (&weights)[POINTS]) const {
        struct __align__(16) Row {
            T of[8];
        };
        const Row all = *(const Row *)of;
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) weights[k] = all.of[k];
    }
    template <class F> static __device__ __forceinline__ T predict(const T (&weights)[POINTS], F value) {
        T p = R::mul(weights[0], value(0));
#pragma unroll
        for (u32 k = 1; k < POINTS; k++) p = R::fma(weights[k], value(k), p);
        return p;
    }
    // The newest old planes become older.
    __device__ __forceinline__ void shift() {
#pragma unroll
        for (u32 k = 0; k < CARRY; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[k][r] = window[k + PLANES][r];
        }
    }
    // The old rows from the one before row 1 on that its prediction and that of row 3 start from, in a plane whose row 0 stands at `own`.
    static __device__ __forceinline__ void load_near(const T *own, T (&near)[POINTS + 1]) {
#pragma unroll
        for (u32 i = 0; i < POINTS + 1; i++) near[i] = own[((i32)(i + 1) - (i32)HALF) * (i32)SIDE];
    }
    // The newest old planes: of COUNT planes these values, and 0 behind them.
    template <u32 COUNT> __device__ __forceinline__ void pass(const T (&v)[PLANES][BAND_ROWS]) {
#pragma unroll
        for (u32 k = 0; k < PLANES; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[CARRY + k][r] = k + 1 <= COUNT ? v[k][r] : 0;
        }
    }
    // As if there were a batch of old planes of 0 behind the last one.
    __device__ __forceinline__ void pass_none() {
        const T none[PLANES][BAND_ROWS] = {};
        shift();
        pass<0>(none);
    }
    // Weights of the new plane between old planes j and j + 1, and its quantizer.
    __device__ __forceinline__ Quantizer<T> open_plane(u32 j, T (&weights)[POINTS]) const {
        load_weights(memory.weights[j], weights);
        return quantizers[j / 4 * (SLABS * SLABS)].of;
    }
    // Of its row r, where window[AT] is the first of the neighbours.
    template <u32 AT> __device__ __forceinline__ T predict_row(const T (&weights)[POINTS], u32 r) const {
        return predict(weights, [&](u32 k) { return window[AT + k][r]; });
    }
};

// Tiles cost more where a frame is rough, and blocks draw them: how many were drawn beyond each block's first one, 0 again when the last block has found none.
// One for each kernel and part of the tiles, which is never under way twice on a device.
template <class T, u32 SIDE, bool ENCODE> __device__ u32 drawn[2];

// Draws another tile, for one thread, which asks for its number when it has come: there is none from `count` on. Each block draws until then, so that there are
// `count` draws.
template <class T, u32 SIDE, bool ENCODE> __device__ __forceinline__ u32 draw_tile(const BandArguments<T> &a) {
    return atomicAdd(drawn<T, SIDE, ENCODE> + a.part, 1u);
}
template <class T, u32 SIDE, bool ENCODE> __device__ __forceinline__ u32 tile_of_draw(const BandArguments<T> &a, u32 before) {
    if (before == a.list_count - 1) drawn<T, SIDE, ENCODE>[a.part] = 0;
    return gridDim.x + before;
}

// Does the tiles of the list by `Work`, which is made for a number of points.
template <template <class, u32, u32> class Work, class T, u32 SIDE, bool ENCODE> __device__ __forceinline__ void each_band_tile(const BandArguments<T> &a) {
    SHARED_MEMORY(shared);
    typedef BandMemory<T, SIDE, ENCODE> Memory;
    Memory &memory = *(Memory *)shared;
    u32 *const words = (u32 *)(shared + sizeof(Memory)) + threadIdx.x / 32 * BAND_WORDS<ENCODE>;
    memory.clear();
    for (u32 i = threadIdx.x % 32; ENCODE && i < BAND_WORDS<ENCODE>; i += 32) words[i] = 0;
    u32 entry = blockIdx.x;
    while (entry < a.list_count) {
        const BandTile tile = a.list[entry];
        const u32 chunk = a.groups.tiles[tile.number].chunk;
        const Choice choice{a.groups.choices[chunk]};
        __syncthreads();
        const bool any_exact = !ENCODE && a.groups.chunks[chunk].coded > 0;
        const bool skipped = !takes_bands(choice) || (any_exact && has_exact_bands(a.groups, tile.number, walk_of(choice.byte)));
        if (skipped) {
            if (threadIdx.x == 0) {
                if (ENCODE) leave_bands(a.groups, tile.number);
                memory.next = tile_of_draw<T, SIDE, ENCODE>(a, draw_tile<T, SIDE, ENCODE>(a));
            }
        } else {
            memory.fill(a, tile, choice);
            __syncthreads();
            if (threadIdx.x == 0) memory.points = choice.points();
            const bool along_rows = choice.favoured() == 2;
            if (choice.points() == 1) Work<T, SIDE, 4>::run(a, memory, tile, entry, along_rows, words);
            else if (choice.points() == 0) Work<T, SIDE, 2>::run(a, memory, tile, entry, along_rows, words);
            else Work<T, SIDE, 6>::run(a, memory, tile, entry, along_rows, words);
        }
        __syncthreads();
        entry = memory.next;
    }
}
