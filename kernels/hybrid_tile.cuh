// Tiles of hybrid_two_levels.cu: where they and their nodes stand, and the frame's nodes in shared memory.
#pragma once
#include "hybrid_columns.cuh"

constexpr u32 TILE_BLOCKS = 2 * 2 * 4;
// Nodes of the frame on each axis, and of what the finest level leaves.
constexpr u32 DEPTH = 16, ROW = 32;
constexpr u32 SIDE = 10, WIDTH = 20;
// Pairs of nodes on each axis.
constexpr u32 PAIRS = SIDE / 2 * (SIDE / 2) * (WIDTH / 2);

// Of pair k of a tile's axis: where its two nodes and the one behind them stand in the frame, counted from the start of the tile.
struct PairNodes {
    u32 k, first, second, behind;
    bool last;
    static constexpr u32 FIRST = 0 | 4 << 5 | 7 << 10 | 10 << 15 | 14 << 20 | 16 << 25, SECOND = 2 | 6 << 5 | 8 << 10 | 12 << 15 | 15 << 20;
    // `end`: the tile is the last one, whose last node is one of the level behind.
    __device__ __forceinline__ PairNodes(u32 k, u32 pairs, bool end) : k(k), last(end && k == pairs - 1) {
        const u32 two_blocks = k >= 5 ? 16 : 0, shift = 5 * (k >= 5 ? k - 5 : k);
        first = two_blocks + (FIRST >> shift & 31);
        second = two_blocks + (SECOND >> shift & 31);
        behind = last ? second : two_blocks + (FIRST >> shift >> 5 & 31);
    }
};

// Two by two by two nodes that the finest level leaves, counted in such pairs.
struct PairPlace {
    u32 z, y, x;
    __device__ __forceinline__ explicit PairPlace(u32 item) : z(item / (SIDE / 2 * (WIDTH / 2))) {
        const u32 in_plane = item - z * (SIDE / 2 * (WIDTH / 2));
        y = in_plane / (WIDTH / 2), x = in_plane - y * (WIDTH / 2);
    }
};

// Where a tile stands.
struct Tile {
    u32 cell;
    // In blocks, and in blocks of its cell.
    u32 at[3], in_cell[3];
    bool end[3];
};
__device__ __forceinline__ bool find_tile(const LocalArguments &a, u32 task, Tile &t) {
    const u32 tiles = a.cell_blocks / TILE_BLOCKS;
    t.cell = task / tiles;
    const Cell &c = a.cells[t.cell];
    const u32 row = c.shape[2] / 4, plane = c.shape[1] / 2 * row, index = task - t.cell * tiles;
    if (index >= c.shape[0] / 2 * plane) return false;
    const u32 z = index / plane, in_plane = index - z * plane, y = in_plane / row;
    t.in_cell[0] = 2 * z, t.in_cell[1] = 2 * y, t.in_cell[2] = 4 * (in_plane - y * row);
#pragma unroll
    for (u32 k = 0; k < 3; k++) {
        t.at[k] = c.lo[k] + t.in_cell[k];
        t.end[k] = t.at[k] + (k < 2 ? 2 : 4) == a.blocks[k];
    }
    return true;
}

// The nodes of a tile where they stand in the frame.
template <class T> struct FarTile {
    const T *frame;
    u32 width, plane;
    __device__ __forceinline__ FarTile(const LocalArguments &a, const Tile &t, T *) : width(a.n[2]), plane(a.n[1] * a.n[2]) {
        frame = (const T *)a.fine + ((u64)t.at[0] * 8 * a.n[1] + t.at[1] * 8) * width + t.at[2] * 8;
    }
    __device__ __forceinline__ void copy(const Tile &, const FrameColumn<T> &column, u32 x) const { column.ask(x); }
    __device__ __forceinline__ void wait() const {}
    // Two by two by two nodes that the finest level leaves, and of the level behind those between which they lie.
    __device__ __forceinline__ void load(const PairNodes &z, const PairNodes &y, const PairNodes &x, T (&u)[4][2], T (&open)[2][2][2]) const {
        const u32 oz[3] = {z.first * plane, z.second * plane, z.behind * plane}, oy[3] = {y.first * width, y.second * width, y.behind * width};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const T *own = frame + (oz[i / 2] + oy[i % 2]), *corner = frame + (oz[i / 2 * 2] + oy[i % 2 * 2]);
            u[i][0] = own[x.first], u[i][1] = own[x.second];
            open[i / 2][i % 2][0] = corner[x.first], open[i / 2][i % 2][1] = corner[x.behind];
        }
    }
    __device__ __forceinline__ FrameColumn<T> column(const FrameColumn<T> &column, u32, u32) const { return column; }
};

// A lane's column of its block in shared memory.
template <class T> struct NearColumn {
    const T *from;
    __device__ __forceinline__ void load(u32 z, T (&u)[8]) const {
#pragma unroll
        for (u32 y = 0; y < 8; y++) u[y] = from[(z * DEPTH + y) * ROW];
    }
};
// The nodes of a tile in shared memory: its rows, those rows of the next tiles on the first two axes where nodes of the level behind stand, and such nodes of
// the next tile on the last axis. On an axis where the tile is the last one its own last node takes the place of the next tile's first one.
template <class T> struct NearTile {
    static constexpr u32 EVEN = SIDE / 2 + 1, ROWS = DEPTH * DEPTH + 2 * EVEN, VALUES = ROWS * ROW + EVEN * EVEN;
    T *memory;
    const T *frame;
    u32 width, plane;
    __device__ __forceinline__ NearTile(const LocalArguments &a, const Tile &t, T *memory) : memory(memory), width(a.n[2]), plane(a.n[1] * a.n[2]) {
        frame = (const T *)a.fine + ((u64)t.at[0] * 8 * a.n[1] + t.at[1] * 8) * width + t.at[2] * 8;
    }
    // Node i of the level behind on one of the first two axes.
    static __device__ __forceinline__ u32 even_node(u32 i, bool end) { return (PairNodes::FIRST >> 5 * i & 31) - (end && i == EVEN - 1); }
    // Begins to copy all of it, by 128 threads.
    __device__ __forceinline__ void copy(const Tile &t, const FrameColumn<T> &, u32) const {
        constexpr u32 PIECE = 16 / sizeof(T), PIECES = ROW / PIECE;
        const u32 row = threadIdx.x / PIECES, piece = threadIdx.x % PIECES * PIECE;
        const T *from = frame + row * width + piece;
        T *to = memory + row * ROW + piece;
#pragma unroll
        for (u32 z = 0; z < DEPTH; z++, from += plane) copy_ahead<16>(to + z * DEPTH * ROW, from);
        const bool next_z = row < EVEN;
        if (row < 2 * EVEN && (next_z ? !t.end[0] : !t.end[1])) {
            const u32 z = next_z ? DEPTH : even_node(row - EVEN, t.end[0]), y = next_z ? even_node(row, t.end[1]) : DEPTH;
            copy_ahead<16>(to + DEPTH * DEPTH * ROW, frame + z * plane + y * width + piece);
        }
        if (threadIdx.x < EVEN * EVEN && !t.end[2]) {
            const u32 z = even_node(threadIdx.x / EVEN, t.end[0]), y = even_node(threadIdx.x % EVEN, t.end[1]);
            copy_ahead<sizeof(T)>(memory + ROWS * ROW + threadIdx.x, frame + z * plane + y * width + ROW);
        }
    }
    __device__ __forceinline__ void wait() const {
        copies_arrived();
        __syncthreads();
    }
    __device__ __forceinline__ void load(const PairNodes &z, const PairNodes &y, const PairNodes &x, T (&u)[4][2], T (&open)[2][2][2]) const {
        const bool next_z = z.behind == DEPTH, next_y = y.behind == DEPTH, next_x = x.behind == ROW;
        const u32 of_z = DEPTH * DEPTH + y.k, of_y = DEPTH * DEPTH + EVEN + z.k;
        const u32 corner[4] = {z.first * DEPTH + y.first, next_y ? of_y : z.first * DEPTH + y.behind, next_z ? of_z : z.behind * DEPTH + y.first,
                               next_z ? of_z + 1 : next_y ? of_y + 1 : z.behind * DEPTH + y.behind};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const T *own = memory + ((i / 2 ? z.second : z.first) * DEPTH + (i % 2 ? y.second : y.first)) * ROW;
            u[i][0] = own[x.first], u[i][1] = own[x.second];
            open[i / 2][i % 2][0] = memory[corner[i] * ROW + x.first];
            open[i / 2][i % 2][1] = memory[next_x ? ROWS * ROW + (z.k + i / 2) * EVEN + y.k + i % 2 : corner[i] * ROW + x.behind];
        }
    }
    // Of the warp's blocks, which begin at plane z and row y.
    __device__ __forceinline__ NearColumn<T> column(const FrameColumn<T> &, u32 z, u32 y) const {
        return {memory + (z * DEPTH + y) * ROW + (threadIdx.x & 31)};
    }
};
