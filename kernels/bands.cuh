// Step 0 of whole tiles in axis order (FORMAT.md, "Groups coder"), from values to the bits of their bands and back, without symbols in between.
// A block takes a tile and walks along one axis, a warp a band: a lane four rows of one position of the last axis. Nodes new on the last axis
// are predicted across lanes, those new on the rows' axis by way of shared memory, and those new on the walk's axis, which are most, from the
// planes that the lane has passed.
#pragma once
#include "groups_streams.cuh"

// A tile of the list: its number, and its first node of each axis.
struct __align__(16) BandTile {
    u32 number;
    u32 at[3];
};

template <class T> struct BandArguments {
    // Encoding: the frame's values (in a slab: where they would start). C order.
    const T *values;
    // Decoding: the box lo..hi.
    T *result;
    // Rebuilt nodes of S(1) of the tiles, in the order of the list. C order.
    const T *coarse;
    const u8 *tiers;
    // For step 0.
    const Quantizer<T> *quantizers;
    const BandTile *list;
    // For 2, 4 and 6 points: weight k of the new node between old nodes j and j + 1 at 6 j + k; 0 for an old node that does not exist.
    const T *weights;
    u32 list_count, tier_count;
    u32 n[3], blocks[3], lo[3], hi[3];
    GroupsArguments groups;
};

constexpr u32 BAND_ROWS = 4, MOST_POINTS = 6;
// Steps whose values are in shared memory or on their way there.
constexpr u32 STAGES = 4;

template <u32 SIDE> struct BandShape {
    // Quads of rows side by side in a warp; warps of a block.
    static constexpr u32 QUADS = 32 / SIDE, WARPS = SIDE / BAND_ROWS / QUADS, THREADS = 32 * WARPS;
    // Nodes of an axis that are in S(1); eights of the walk.
    static constexpr u32 OLD = SIDE / 2 + 1, SLABS = SIDE / 8, BLOCKS = SLABS * SLABS * SLABS, PLANE = SIDE * SIDE;
};

// What a step needs: an old plane, a new one, and the nodes of S(1) of the old one.
template <class T, u32 SIDE, bool ENCODE> struct BandStage {
    typedef BandShape<SIDE> Shape;
    static constexpr u32 VALUES = ENCODE ? Shape::PLANE : 4;
    __align__(16) T old[VALUES];
    T fresh[VALUES], coarse[(Shape::OLD * Shape::OLD + 3) / 4 * 4];
};

// Shared memory of a block.
template <class T, u32 SIDE, bool ENCODE> struct BandMemory {
    typedef BandShape<SIDE> Shape;
    struct __align__(16) Padded {
        Quantizer<T> of;
    };
    BandStage<T, SIDE, ENCODE> stages[STAGES];
    // Old rows of two planes, with rows of 0 around them.
    static constexpr u32 PAD = MOST_POINTS / 2 - 1, ROWS = (Shape::OLD + 2 * PAD) * SIDE;
    T rows[2][ROWS];
    // By walk, rows and last axis.
    Padded quantizers[Shape::BLOCKS];
    // Of the new nodes of an axis.
    T weights[SIDE / 2][8];
    // The tile at hand cannot be done here.
    u32 failed;

    __device__ __forceinline__ void clear() {
        for (u32 i = threadIdx.x; i < 2 * ROWS; i += blockDim.x) rows[0][i] = 0;
    }
    // Quantizers and weights of a tile whose chunk chose so.
    __device__ __forceinline__ void fill(const BandArguments<T> &a, const BandTile &tile, Choice choice) {
        constexpr u32 EDGE = Shape::SLABS;
        const bool along_rows = choice.favoured() == 2;
        for (u32 i = threadIdx.x; i < Shape::BLOCKS; i += blockDim.x) {
            const u32 walk = i / (EDGE * EDGE), row = i / EDGE % EDGE, z = along_rows ? row : walk, y = along_rows ? walk : row;
            const u64 from = ((u64)(tile.at[0] / 8 + z) * a.blocks[1] + tile.at[1] / 8 + y) * a.blocks[2] + tile.at[2] / 8 + i % EDGE;
            quantizers[i].of = a.quantizers[a.tier_count == 1 ? 0 : a.tiers[from]];
        }
        if (threadIdx.x == 0) failed = 0;
        const T *of_points = a.weights + choice.points() * MOST_POINTS * (SIDE / 2);
        for (u32 i = threadIdx.x; i < MOST_POINTS * (SIDE / 2); i += blockDim.x) weights[i / MOST_POINTS][i % MOST_POINTS] = of_points[i];
    }
};

// The values of a tile on their way to shared memory, a stage after the other. A warp asks for its own rows only.
template <class T, u32 SIDE, bool ENCODE> struct BandLoader {
    typedef BandShape<SIDE> Shape;
    typedef BandMemory<T, SIDE, ENCODE> Memory;
    typedef BandStage<T, SIDE, ENCODE> Stage;
    static constexpr u32 VECTOR = 16 / sizeof(T), PIECES = SIDE / VECTOR, TURNS = Shape::PLANE / VECTOR / Shape::THREADS;
    static constexpr u32 OLD = Shape::OLD, FRESH = Stage::VALUES;

    Memory &memory;
    // The lane's first piece of a plane, and its first node of S(1), both in the first stage.
    T *piece, *node;
    // The piece of the next old and the next new plane; the node of the first old row of plane 0.
    const T *old, *fresh, *coarse;
    u64 pair_stride, turn_stride;
    // From that node to the next old row's and to the next old plane's.
    u32 coarse_row, coarse_stride;
    // All rows begin at multiples of 16 bytes; there is a node of S(1) at the lane's x, and one in the last row.
    bool aligned, owns, owns_last;

    __device__ __forceinline__ BandLoader(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows) : memory(memory) {
        const u64 plane = (u64)a.n[1] * a.n[2], row_stride = along_rows ? plane : a.n[2];
        pair_stride = 2 * (along_rows ? a.n[2] : plane);
        turn_stride = row_stride * (32 / PIECES);
        keep(pair_stride);
        const u32 first = threadIdx.x / 32 * (32 * TURNS) + threadIdx.x % 32;
        piece = memory.stages[0].old + (ENCODE ? first * VECTOR : 0);
        if (ENCODE) {
            old = a.values + tile.at[0] * plane + (u64)tile.at[1] * a.n[2] + tile.at[2] + first / PIECES * row_stride + first % PIECES * VECTOR;
            fresh = old + pair_stride / 2;
            keep_global(old);
            keep_global(fresh);
            aligned = a.n[2] % VECTOR == 0 && (u64)a.values % 16 == 0;
        }
        const u32 x = threadIdx.x % SIDE, quad = threadIdx.x / SIDE, column = (x + 1) / 2;
        coarse_row = along_rows ? OLD * OLD : OLD;
        owns = x % 2 == 0 || x == SIDE - 1, owns_last = owns && quad == SIDE / BAND_ROWS - 1;
        node = memory.stages[0].coarse + 2 * quad * OLD + column;
        coarse_stride = along_rows ? OLD : OLD * OLD;
        keep(coarse_stride);
        coarse = a.coarse + (u64)entry * OLD * OLD * OLD + 2 * quad * coarse_row + column;
        keep_global(coarse);
    }
    __device__ __forceinline__ void copy(T *to, const T *from) const {
#pragma unroll
        for (u32 i = 0; i < TURNS; i++) {
            if (aligned) {
                copy_ahead<16>(to + 32 * VECTOR * i, from + turn_stride * i);
            } else {
#pragma unroll 1
                for (u32 m = 0; m < VECTOR; m++) copy_ahead<sizeof(T)>(to + 32 * VECTOR * i + m, from + turn_stride * i + m);
            }
        }
    }
    // Asks for step `step`, a multiple of STAGES (as OLD - 1 is) and K more: old plane `step`, and the new plane LAG before it.
    template <u32 LAG, u32 K> __device__ __forceinline__ void ask(u32 step) {
        constexpr u32 AT = K * (sizeof(Stage) / sizeof(T));
        if (step < OLD) {
            if (ENCODE) {
                // the last one is the neighbour of the new plane before it
                copy(piece + AT, K == 0 && step == OLD - 1 ? old - pair_stride / 2 : old);
                old += pair_stride;
            }
            const T *first = advance<1>(coarse, step * coarse_stride);
            if (owns) {
                copy_ahead<sizeof(T)>(node + AT, first);
                copy_ahead<sizeof(T)>(node + AT + OLD, advance<1>(first, coarse_row));
                if (owns_last) copy_ahead<sizeof(T)>(node + AT + 2 * OLD, advance<2>(first, coarse_row));
            }
        }
        if (ENCODE && step >= LAG && step - LAG < OLD - 2) {
            copy(piece + AT + FRESH, fresh);
            fresh += pair_stride;
        }
        copies_together();
    }
};

// Eight symbols in four registers, each more by BIAS than it is.
struct PackedGroup {
    static constexpr u32 BIAS = 32768;
    u32 pairs[GROUP_NODES / 2];

    __device__ __forceinline__ void pack(const Group &group) {
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES / 2; k++) pairs[k] = __byte_perm((u32)group.q[2 * k], (u32)group.q[2 * k + 1], 0x5410) ^ (BIAS | BIAS << 16);
    }
    template <class T> __device__ __forceinline__ T number(u32 k) const {
        typedef Real<T> R;
        const u32 pair = pairs[k / 2];
        if constexpr (sizeof(T) == 8) return (T)((i32)(k % 2 ? pair >> 16 : pair & 0xffff) - (i32)BIAS);
        // among the last bits of a number of that size
        else return R::sub(R::from_bits(__byte_perm(pair, R::bits(R::ROUNDER), k % 2 ? 0x7632 : 0x7610)), R::ROUNDER + (T)BIAS);
    }
};
template <bool ENCODE> struct BandGroup {
    typedef Group Of;
};
template <> struct BandGroup<false> {
    typedef PackedGroup Of;
};

template <class T, u32 SIDE, u32 POINTS, bool ENCODE> struct Bands {
    typedef BandShape<SIDE> Shape;
    typedef BandMemory<T, SIDE, ENCODE> Memory;
    typedef BandStage<T, SIDE, ENCODE> Stage;
    typedef Real<T> R;
    static constexpr u32 HALF = POINTS / 2, OLD = Shape::OLD, SLABS = Shape::SLABS;
    // Old planes that a new one waits for; old planes that are kept.
    static constexpr u32 LAG = HALF < 2 ? 2 : HALF, WINDOW = LAG + HALF;
    static constexpr u32 STAGE = sizeof(Stage) / sizeof(T), FRESH = Stage::VALUES, ROW3 = 3 * SIDE;

    Memory &memory;
    BandLoader<T, SIDE, ENCODE> loader;
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
    // The old planes that the lane has passed, the newest first.
    T window[WINDOW][BAND_ROWS];
    // Symbols of the old planes' rows 0 and 2, rows 1 and 3; of new planes.
    typename BandGroup<ENCODE>::Of even, odd, first, second;
    // By how much an error was too large.
    T excess;

    __device__ __forceinline__ Bands(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows)
        : memory(memory), loader(a, memory, tile, entry, along_rows), x(threadIdx.x % SIDE), quad(threadIdx.x / SIDE), x_new(x % 2 == 1 && x < SIDE - 1),
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
            const T *coarse = memory.stages[0].coarse + (2 * quad + i) * OLD + (x + 1) / 2;
            old_rows[i] = ENCODE && (x_new || (i == 2 && !last_quad)) ? values + (i == 2 ? ROW3 : 2 * i * SIDE) : coarse;
        }
#pragma unroll
        for (u32 i = 0; i < WINDOW; i++) {
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
    template <class Q> __device__ __forceinline__ void take(T &v, T p, const Quantizer<T> &z, Q &q, T &error) const {
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
    template <class Q> __device__ __forceinline__ void across(T &v, const Quantizer<T> &z, Q &q, T &error) const {
        const T old = v, p = predict(along_x, [&](u32 k) { return neighbour(old, k); });
        take(v, p, z, q, error);
        // encoding, a zero's sign makes no difference
        if (!ENCODE) v = x_new ? v : old;
    }
    // The step of old plane `old` by the values `v`; its symbols are those of number `k` of the slab.
    template <u32 K> __device__ __forceinline__ void old_plane(u32 old, T (&v)[BAND_ROWS]) {
        auto &&q0 = symbol(even, 2 * K), &&q1 = symbol(odd, 2 * K), &&q2 = symbol(even, 2 * K + 1), &&q3 = symbol(odd, 2 * K + 1);
        const Quantizer<T> z = quantizers[min(old / 4, SLABS - 1) * (SLABS * SLABS)].of;
        // planes take turns
        T *const own = row + K % 2 * Memory::ROWS;
        T error = 0;
        across(v[0], z, q0, error);
        across(v[2], z, q2, error);
        own[0] = v[0], own[SIDE] = v[2];
        T last = v[3];
        auto last_q = q3;
        // a warp that has the last quad and others does both with the fourth row
        if (has_last) {
            T of_last = 0;
            across(last, z, last_q, of_last);
            if (last_quad) own[2 * SIDE] = last;
            error = R::max(error, last_quad ? of_last : 0);
        }
        copies_arrived_but_one();
        __syncthreads();
        T near[POINTS + 1], weights[POINTS];
#pragma unroll
        for (u32 k = 0; k < POINTS + 1; k++) near[k] = k + 1 == HALF ? v[0] : k == HALF ? v[2] : own[((i32)(k + 1) - (i32)HALF) * (i32)SIDE];
        load_weights(memory.weights[2 * quad], weights);
        take(v[1], predict(weights, [&](u32 k) { return near[k]; }), z, q1, error);
        load_weights(memory.weights[2 * quad + 1], weights);
        const T p = predict(weights, [&](u32 k) { return near[k + 1]; });
        if (Shape::QUADS == 1 && has_last) {
            v[3] = last;
            if constexpr (ENCODE) q3 = last_q;
        } else {
            // the last quad's is done
            T other = last_quad ? p : v[3];
            auto q = q3;
            take(other, p, z, q, error);
            if constexpr (ENCODE) q3 = last_quad ? last_q : q;
            v[3] = last_quad ? last : other;
        }
        if (ENCODE) excess = R::max(excess, R::sub(error, z.check));
        pass(v);
    }
    __device__ __forceinline__ void pass(const T (&v)[BAND_ROWS]) {
#pragma unroll
        for (u32 i = WINDOW - 1; i > 0; i--) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) window[i][r] = window[i - 1][r];
        }
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) window[0][r] = v[r];
    }
    // New plane j, between old planes j and j + 1; its symbols are those of half HALF_AT of `group`.
    template <u32 HALF_AT, class G> __device__ __forceinline__ void new_plane(u32 j, T (&v)[BAND_ROWS], G &group) {
        const Quantizer<T> z = quantizers[j / 4 * (SLABS * SLABS)].of;
        T weights[POINTS], error = 0;
        load_weights(memory.weights[j], weights);
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) {
            auto &&q = symbol(group, HALF_AT * BAND_ROWS + r);
            take(v[r], predict(weights, [&](u32 k) { return window[WINDOW - 1 - k][r]; }), z, q, error);
        }
        if (ENCODE) excess = R::max(excess, R::sub(error, z.check));
    }
    __device__ __forceinline__ void start() {
        static_assert(STAGES == 4, "three are asked for ahead");
        loader.template ask<LAG, 0>(0);
        loader.template ask<LAG, 1>(1);
        loader.template ask<LAG, 2>(2);
        copies_arrived_but_one();
        __syncthreads();
    }
};
