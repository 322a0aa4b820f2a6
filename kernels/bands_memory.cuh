// Step 0 of whole tiles in axis order: what its kernels take, and the values of a tile in shared memory.
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
    // Rebuilt nodes of S(1) of the tiles, in the order of the list. C order, rows of `padded_row`.
    const T *coarse;
    const u8 *tiers;
    // For step 0.
    const Quantizer<T> *quantizers;
    const BandTile *list;
    // For 2, 4 and 6 points: weight k of the new node between old nodes j and j + 1 at 6 j + k; 0 for an old node that does not exist.
    const T *weights;
    u32 list_count, tier_count;
    u32 n[3], blocks[3], lo[3], hi[3];
    // Which of the lists it is that may be under way at the same time.
    u32 part, unused;
    GroupsArguments groups;
};

constexpr u32 BAND_ROWS = 4, MOST_POINTS = 6;
// Old planes of a slab, and as many new ones: of two of each a run. Old planes that are done between two barriers: with a whole slab of them there would be
// registers for two blocks per multiprocessor instead of three.
constexpr u32 STAGES = 4, BATCH = 2;

template <u32 K> struct Number {
    static constexpr u32 value = K;
};
// Calls f(Number<K>()) for each K below COUNT.
template <u32 COUNT, u32 K = 0, class F> __device__ __forceinline__ void each(F f) {
    if constexpr (K < COUNT) {
        f(Number<K>());
        each<COUNT, K + 1>(f);
    }
}

template <u32 SIDE> struct BandShape {
    // Quads of rows side by side in a warp; warps of a block.
    static constexpr u32 QUADS = 32 / SIDE, WARPS = SIDE / BAND_ROWS / QUADS, THREADS = 32 * WARPS;
    // Nodes of an axis that are in S(1); eights of the walk.
    static constexpr u32 OLD = SIDE / 2 + 1, SLABS = SIDE / 8, BLOCKS = SLABS * SLABS * SLABS, PLANE = SIDE * SIDE;
};

// What a step needs: an old plane, a new one, and the nodes of S(1) of the old one.
template <class T, u32 SIDE, bool ENCODE> struct BandStage {
    typedef BandShape<SIDE> Shape;
    static constexpr u32 VALUES = ENCODE ? Shape::PLANE : 4, ROW = padded_row<T>(Shape::OLD);
    __align__(16) T old[VALUES];
    T fresh[VALUES], coarse[Shape::OLD * ROW];
};

// Shared memory of a block.
template <class T, u32 SIDE, bool ENCODE> struct BandMemory {
    typedef BandShape<SIDE> Shape;
    struct __align__(16) Padded {
        Quantizer<T> of;
    };
    BandStage<T, SIDE, ENCODE> stages[ENCODE ? BATCH : STAGES];
    // Old rows of the planes of two batches, with rows of 0 around them.
    static constexpr u32 PAD = MOST_POINTS / 2 - 1, ROWS = (Shape::OLD + 2 * PAD) * SIDE;
    T rows[2 * BATCH][ROWS];
    // By walk, rows and last axis.
    Padded quantizers[Shape::BLOCKS];
    // Of the new nodes of an axis.
    T weights[SIDE / 2][8];
    // The tile at hand cannot be done here; the next one; the points that weights are of.
    u32 failed, next, points;

    __device__ __forceinline__ void clear() {
        if (threadIdx.x == 0) points = ~0u;
        for (u32 i = threadIdx.x; i < 2 * BATCH * ROWS; i += blockDim.x) rows[0][i] = 0;
    }
    // Quantizers and weights of a tile whose chunk chose so.
    __device__ __forceinline__ void fill(const BandArguments<T> &a, const BandTile &tile, Choice choice) {
        if (threadIdx.x == 0) failed = 0;
        // what the tile before had, and one quantizer for all
        if (points == choice.points() && a.tier_count == 1) return;
        constexpr u32 EDGE = Shape::SLABS;
        const bool along_rows = choice.favoured() == 2;
        for (u32 i = threadIdx.x; i < Shape::BLOCKS; i += blockDim.x) {
            const u32 walk = i / (EDGE * EDGE), row = i / EDGE % EDGE, z = along_rows ? row : walk, y = along_rows ? walk : row;
            const u64 from = ((u64)(tile.at[0] / 8 + z) * a.blocks[1] + tile.at[1] / 8 + y) * a.blocks[2] + tile.at[2] / 8 + i % EDGE;
            quantizers[i].of = a.quantizers[a.tier_count == 1 ? 0 : a.tiers[from]];
        }
        const T *of_points = a.weights + choice.points() * MOST_POINTS * (SIDE / 2);
        for (u32 i = threadIdx.x; i < MOST_POINTS * (SIDE / 2); i += blockDim.x) {
            // behind the last new node: the last old one, which predicts itself in its place
            const u32 row = i / MOST_POINTS, k = i % MOST_POINTS;
            weights[row][k] = row < SIDE / 2 - 1 ? of_points[i] : k == choice.points() + 1;
        }
    }
};

// Words of bits that a warp has not yet written, encoding. Runs of which it has the groups at hand: those of a slab; decoding, also the last two of the slab
// before.
constexpr u32 BITS_AHEAD = 256, ENCODED_RUNS = 4, DECODED_RUNS = 6;
// Words of a warp behind that, for its stream and these, and all shared memory of a block.
template <bool ENCODE>
constexpr u32 BAND_WORDS = ENCODE ? GroupWriter<BITS_AHEAD>::WORDS + ENCODED_RUNS * 32 * GROUP_NODES : READER_WORDS + 4 + DECODED_RUNS * 32 * (GROUP_NODES / 2);
template <class T, u32 SIDE, bool ENCODE>
constexpr u32 BAND_BYTES = (u32)sizeof(BandMemory<T, SIDE, ENCODE>) + BandShape<SIDE>::WARPS * 4 * BAND_WORDS<ENCODE>;

// The nodes of S(1) of a tile on their way to shared memory, two old planes after the other. A warp asks for its own rows only, by pieces of 16 bytes.
template <class T, u32 SIDE, bool ENCODE> struct BandNodes {
    typedef BandShape<SIDE> Shape;
    typedef BandMemory<T, SIDE, ENCODE> Memory;
    typedef BandStage<T, SIDE, ENCODE> Stage;
    static constexpr u32 OLD = Shape::OLD, ROW = Stage::ROW, VECTOR = 16 / sizeof(T), PIECES = ROW / VECTOR, ROWS = 2 * Shape::QUADS;
    // Lanes that a plane takes: mostly half of them, so that one copy is enough for two.
    static constexpr u32 LANES = (ROWS + 1) * PIECES <= 16 ? 16 : 32;
    static_assert((ROWS + 1) * PIECES <= LANES, "a piece a lane");

    // The lane's piece in the first stage, or in the second; that of the next old plane to be asked for, or of the one behind.
    T *node;
    const T *coarse;
    // From an old plane to the next.
    u32 coarse_stride;
    bool owns;

    __device__ __forceinline__ void open_nodes(const BandArguments<T> &a, Memory &memory, u32 entry, bool along_rows) {
        const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, plane = lane / LANES, row = lane % LANES / PIECES, column = lane % LANES % PIECES * VECTOR;
        owns = row < (warp + 1 == Shape::WARPS ? ROWS + 1 : ROWS);
        node = memory.stages[plane].coarse + (ROWS * warp + row) * ROW + column;
        const u32 coarse_row = along_rows ? OLD * ROW : ROW;
        coarse_stride = along_rows ? ROW : OLD * ROW;
        coarse = a.coarse + (u64)entry * OLD * OLD * ROW + (ROWS * warp + row) * coarse_row + plane * coarse_stride + column;
        keep(coarse_stride);
        keep_global(coarse);
    }
    // Asks for two old planes, which go to stage K and the one behind.
    template <u32 K> __device__ __forceinline__ void ask_two() {
        copy_ahead_if<16, K * sizeof(Stage)>(owns, node, coarse);
        if (LANES == 32) copy_ahead_if<16, (K + 1) * sizeof(Stage)>(owns, node, advance<1>(coarse, coarse_stride));
        coarse = advance<2>(coarse, coarse_stride);
    }
    // For the last one, which is alone in its slab.
    __device__ __forceinline__ void ask_last() const { copy_ahead_if<16, 0>(owns && threadIdx.x % 32 < LANES, node, coarse); }
};

// Where the frame's values come too, half a slab's at a time.
template <class T, u32 SIDE> struct EncodeLoader : BandNodes<T, SIDE, true> {
    typedef BandNodes<T, SIDE, true> Base;
    typedef typename Base::Shape Shape;
    typedef typename Base::Stage Stage;
    using Base::VECTOR;
    static constexpr u32 PIECES = SIDE / VECTOR, TURNS = Shape::PLANE / VECTOR / Shape::THREADS;
    static constexpr u32 FRESH = Stage::VALUES, STAGE = sizeof(Stage) / sizeof(T);

    // The lane's first piece of a plane, in the first stage; that of the first new plane of the step to be asked for.
    T *piece;
    const T *values;
    // From a plane and from a turn's rows to the next.
    u32 stride, turn_stride;
    // All rows begin at multiples of 16 bytes.
    bool aligned;

    // LAG: old planes that a new one waits for.
    template <u32 LAG> __device__ __forceinline__ void open(const BandArguments<T> &a, typename Base::Memory &memory, const BandTile &tile, u32 entry, bool along_rows) {
        const u64 plane = (u64)a.n[1] * a.n[2];
        const u32 row_stride = along_rows ? (u32)plane : a.n[2];
        stride = along_rows ? a.n[2] : (u32)plane;
        turn_stride = row_stride * (32 / PIECES);
        keep(stride);
        const u32 first = threadIdx.x / 32 * (32 * TURNS) + threadIdx.x % 32;
        piece = memory.stages[0].old + first * VECTOR;
        // it may begin before the frame
        values = a.values + tile.at[0] * plane + (u64)tile.at[1] * a.n[2] + tile.at[2] + (u64)(first / PIECES) * row_stride + first % PIECES * VECTOR -
                 (u64)(2 * LAG - 1) * stride;
        keep_global(values);
        aligned = a.n[2] % VECTOR == 0 && (u64)a.values % 16 == 0;
        this->open_nodes(a, memory, entry, along_rows);
    }
    // A plane; two, the second the one after the next, to the next stage.
    __device__ __forceinline__ void copy(T *to, const T *from) const {
        if (aligned) {
            copy_ahead<16>(to, from);
            if (TURNS > 1) copy_ahead<16>(to + 32 * VECTOR, advance<1>(from, turn_stride));
        } else {
#pragma unroll 1
            for (u32 i = 0; i < TURNS * VECTOR; i++) copy_ahead<sizeof(T)>(to + i / VECTOR * (32 * VECTOR) + i % VECTOR, from + (u64)turn_stride * (i / VECTOR) + i % VECTOR);
        }
    }
    __device__ __forceinline__ void copy_two(T *to, const T *from) const {
        if (aligned) {
            const T *const other = advance<2>(from, stride);
            copy_ahead<16>(to, from);
            copy_ahead<16>(to + STAGE, other);
            if (TURNS > 1) {
                copy_ahead<16>(to + 32 * VECTOR, advance<1>(from, turn_stride));
                copy_ahead<16>(to + STAGE + 32 * VECTOR, advance<1>(other, turn_stride));
            }
        } else {
            copy(to, from);
            copy(to + STAGE, from + 2 * (u64)stride);
        }
    }
    // Asks for the old planes of a step, half a slab; behind the last whole one there is one more.
    template <u32 LAG> __device__ __forceinline__ void ask_old(u32 step) {
        if (step < 2 * Shape::SLABS) {
            copy_two(piece, advance<2 * LAG - 1>(values, stride));
            this->template ask_two<0>();
        } else {
            // it is the neighbour of the new plane before it
            copy(piece, advance<2 * LAG - 2>(values, stride));
            this->ask_last();
        }
        copies_together();
    }
    // Asks for the new planes of a step.
    template <u32 LAG> __device__ __forceinline__ void ask_new(u32 step) {
        if (step >= LAG / 2) {
            if (step < 2 * Shape::SLABS + LAG / 2 - 1) copy_two(piece + FRESH, values);
            else copy(piece + FRESH, values);
        }
        values = advance<4>(values, stride);
        copies_together();
    }
};
