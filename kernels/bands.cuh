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
    static constexpr u32 LAG = HALF < 3 ? 2 : 4, CARRY = LAG + HALF - 1, PLANES = BATCH<ENCODE>;
    static constexpr u32 STAGE = sizeof(Stage) / sizeof(T), FRESH = Stage::VALUES, ROW3 = 3 * SIDE;

    // Calls of `copies_together` that may be under way when the next planes must be there.
    static constexpr u32 UNDER_WAY = 1;

    Memory &memory;
    const u32 x, quad;
    // The warp has the last quad; it is the lane's.
    const bool x_new, has_last, last_quad;
    // The lanes of a new node's last neighbours on the last axis, which may be nearer than those of others, and the weights of all.
    u32 from[HALF];
    T along_x[POINTS];
    // In the first stage: rows 0, 2 and 3 of the old plane, and row 0 of its values.
    const T *old_rows[3], *values;
    // Row 0 among the old rows of the first plane; of the lane's quantizer; of the weights of rows.
    T *row;
    const typename Memory::Padded *quantizers;
    // The old planes that the lane has passed, the newest last.
    T window[CARRY + PLANES][BAND_ROWS];
    // By how much an error was too large.
    T excess;

    __device__ __forceinline__ Bands(Memory &memory)
        : memory(memory), x(threadIdx.x % SIDE), quad(threadIdx.x / SIDE), x_new(x % 2 == 1 && x < SIDE - 1),
          has_last(__all_sync(FULL, threadIdx.x / 32 == Shape::WARPS - 1)), last_quad(Shape::QUADS > 1 ? quad == SIDE / BAND_ROWS - 1 : has_last),
          row(memory.rows[0] + (Memory::PAD + 2 * quad) * SIDE + x),
          quantizers(memory.quantizers + quad / 2 * SLABS + x / 8), excess(0) {
        const u32 node = min(x / 2, OLD - 3);
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) {
            // an old node predicts itself
            along_x[k] = x_new ? memory.weights[node][k] : k == HALF;
        }
#pragma unroll
        for (u32 k = 0; k < HALF; k++) from[k] = x_new ? position(min(node + 1 + k, OLD - 1)) : x;
        values = memory.stages[0].old + (ENCODE ? BAND_ROWS * quad * SIDE + x : 0);
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            // of quads before the last one nobody needs the third, which another warp may be writing
            const T *coarse = memory.stages[0].coarse + (2 * quad + (i == 2 && !last_quad ? 0 : i)) * OLD + (x + 1) / 2;
            old_rows[i] = ENCODE && (x_new || (i == 2 && !last_quad)) ? values + (i == 2 ? ROW3 : 2 * i * SIDE) : coarse;
        }
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
    // Encoding, where a symbol goes; decoding, what it counts.
    static __device__ __forceinline__ i32 &symbol(Group &group, u32 k) { return group.q[k]; }
    static __device__ __forceinline__ T symbol(const PackedGroup &group, u32 k) { return group.number<T>(k); }
    // v becomes the reconstruction of a node with prediction p; encoding, q its symbol. What is no symbol is wide.
    template <class Q> __device__ __forceinline__ void take(T &v, T p, const Quantizer<T> &z, Q &&q, T &error) const {
        if constexpr (ENCODE) {
            const T rounded = R::add(R::mul(R::sub(v, p), z.inverse), R::ROUNDER), steps = R::sub(rounded, R::ROUNDER), r = R::fma(steps, z.step, p);
            error = R::max(error, R::abs(R::sub(v, r)));
            q = (i32)((u32)R::bits(rounded) - (u32)R::bits(R::ROUNDER));
            if constexpr (sizeof(T) == 8) q = R::abs(steps) <= (T)32767 ? q : 1 << 30;
            v = r;
        } else {
            v = R::fma(q, z.step, p);
        }
    }
    // Neighbour k of a new node on the last axis; an old node itself for HALF. Where there is none, weights are 0.
    __device__ __forceinline__ T neighbour(T v, u32 k) const {
        if (k < HALF) return __shfl_up_sync(FULL, v, 2 * (HALF - k) - 1, SIDE);
        return __shfl_sync(FULL, v, from[k - HALF], SIDE);
    }
    // A row of an old plane, by the nodes of S(1): the others.
    template <class Q> __device__ __forceinline__ void across(T &v, const Quantizer<T> &z, Q &&q, T &error) const {
        const T old = v, p = predict(along_x, [&](u32 k) { return neighbour(old, k); });
        take(v, p, z, q, error);
        // encoding, a zero's sign makes no difference
        if (!ENCODE) v = x_new ? v : old;
    }
    // COUNT old planes of a slab, from number FIRST on; symbols of their rows 0 and 2, and 1 and 3.
    template <u32 FIRST, u32 COUNT, class G> __device__ __forceinline__ void old_planes(u32 slab, G &even, G &odd) {
        const Quantizer<T> z = quantizers[min(slab, SLABS - 1) * (SLABS * SLABS)].of;
        // batches take turns
        T *const own = row + (PLANES == STAGES ? slab % 2 : FIRST / PLANES) * (PLANES * Memory::ROWS);
        T error = 0, error_of_last = 0;
        i32 last_q[COUNT];
        // the last one is not followed by others
        if (COUNT < PLANES) copies_arrived();
        else copies_arrived_but<UNDER_WAY>();
        __syncwarp();
#pragma unroll
        for (u32 k = 0; k < CARRY; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[k][r] = window[k + PLANES][r];
        }
        T v[COUNT][BAND_ROWS];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            const u32 at = (FIRST + k) * STAGE;
            v[k][0] = old_rows[0][at], v[k][2] = old_rows[1][at], v[k][3] = old_rows[2][at];
        }
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            across(v[k][0], z, symbol(even, 2 * (FIRST + k)), error);
            across(v[k][2], z, symbol(even, 2 * (FIRST + k) + 1), error);
            own[k * Memory::ROWS] = v[k][0], own[k * Memory::ROWS + SIDE] = v[k][2];
        }
        // a warp that has the last quad and others does both with the fourth row
        if (has_last) {
#pragma unroll
            for (u32 k = 0; k < COUNT; k++) {
                T last = v[k][3];
                if constexpr (ENCODE) across(last, z, last_q[k], error_of_last);
                else across(last, z, symbol(odd, 2 * (FIRST + k) + 1), error_of_last);
                if (last_quad) own[k * Memory::ROWS + 2 * SIDE] = last, v[k][3] = last;
            }
            error = R::max(error, last_quad ? error_of_last : 0);
        }
        __syncthreads();
        T weights[POINTS], others[POINTS];
        load_weights(memory.weights[2 * quad], weights);
        load_weights(memory.weights[2 * quad + 1], others);
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            T near[POINTS + 1];
#pragma unroll
            for (u32 i = 0; i < POINTS + 1; i++) {
                near[i] = i + 1 == HALF ? v[k][0] : i == HALF ? v[k][2] : own[(i32)(k * Memory::ROWS) + ((i32)(i + 1) - (i32)HALF) * (i32)SIDE];
            }
            if (ENCODE) v[k][1] = values[(FIRST + k) * STAGE + SIDE];
            take(v[k][1], predict(weights, [&](u32 i) { return near[i]; }), z, symbol(odd, 2 * (FIRST + k)), error);
            const T p = predict(others, [&](u32 i) { return near[i + 1]; });
            // the last quad's is done
            T other = v[k][3], error_of_other = 0;
            if constexpr (ENCODE) {
                i32 q;
                take(other, p, z, q, error_of_other);
                symbol(odd, 2 * (FIRST + k) + 1) = last_quad ? last_q[k] : q;
            } else {
                take(other, p, z, symbol(odd, 2 * (FIRST + k) + 1), error_of_other);
            }
            error = R::max(error, last_quad ? 0 : error_of_other);
            v[k][3] = last_quad ? v[k][3] : other;
        }
        if (ENCODE) excess = R::max(excess, R::sub(error, z.check));
#pragma unroll
        for (u32 k = 0; k < PLANES; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[CARRY + k][r] = k < COUNT ? v[min(k, COUNT - 1)][r] : 0;
        }
    }
    // As if there were a batch of old planes of 0 behind the last one.
    __device__ __forceinline__ void pass_none() {
#pragma unroll
        for (u32 k = 0; k < CARRY; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[k][r] = window[k + PLANES][r];
        }
#pragma unroll
        for (u32 k = CARRY; k < CARRY + PLANES; k++) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[k][r] = 0;
        }
    }
    // New plane AT of those that a slab does, between old planes j and j + 1; its symbols are those of half HALF_AT of `group`.
    template <u32 AT, u32 HALF_AT, class G> __device__ __forceinline__ void new_plane(u32 slab, T (&v)[BAND_ROWS], G &group) {
        const u32 j = STAGES * slab + AT - LAG;
        const Quantizer<T> z = quantizers[j / 4 * (SLABS * SLABS)].of;
        T weights[POINTS], error = 0;
        load_weights(memory.weights[j], weights);
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) {
            auto &&q = symbol(group, HALF_AT * BAND_ROWS + r);
            take(v[r], predict(weights, [&](u32 k) { return window[AT % PLANES + k][r]; }), z, q, error);
        }
        if (ENCODE) excess = R::max(excess, R::sub(error, z.check));
    }
};

// Tiles cost more where a frame is rough, and blocks draw them: how many were drawn beyond each block's first one, 0 again when the last block has found none.
// One for each kernel, which is never under way twice on a device.
template <class T, u32 SIDE, bool ENCODE> __device__ u32 drawn;

// Draws another tile, for one thread, which asks for its number when it has come: there is none from `count` on. Each block draws until then, so that there are
// `count` draws.
template <class T, u32 SIDE, bool ENCODE> __device__ __forceinline__ u32 draw_tile() { return atomicAdd(&drawn<T, SIDE, ENCODE>, 1u); }
template <class T, u32 SIDE, bool ENCODE> __device__ __forceinline__ u32 tile_of_draw(u32 before, u32 count) {
    if (before == count - 1) drawn<T, SIDE, ENCODE> = 0;
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
                memory.next = tile_of_draw<T, SIDE, ENCODE>(draw_tile<T, SIDE, ENCODE>(), a.list_count);
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
