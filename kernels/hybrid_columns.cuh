// A group of four blocks of the finest level as a warp holds it: the blocks are mostly neighbours on the last axis, and a lane is a column of
// nodes on it, so that a row of the frame is one access.
#pragma once
#include "hybrid_block.cuh"

constexpr u32 GROUP = 4;
constexpr u32 DETAILS = 387;
// Symbols are moved four at a time. In shared memory there is a gap behind every RUN of the group's, so that rows of four blocks stand in different
// banks and each move of a warp is at a place known at compile time.
constexpr u32 PER_MOVE = 4;
constexpr u32 RUN = 3 * 32 * PER_MOVE;
constexpr u32 GAP = 3 * PER_MOVE;
constexpr u32 STRIDE = DETAILS + GAP;
constexpr u32 STAGED = GROUP * STRIDE + PER_MOVE;
constexpr u32 MOVES = (GROUP * DETAILS / PER_MOVE + 31) / 32;
__device__ __forceinline__ u32 staged_place(u32 i) { return i + i / RUN * GAP; }

// The last symbols of block b, 3 b + 3 of them, lie behind the gap that follows the others. A lane walks over its block as if they did not: this is
// where it has one of them, and GAP behind it is where that belongs. Lanes beyond TAILS have none.
constexpr u32 TAILS = 3 + 6 + 9 + 12;
__device__ __forceinline__ u32 tail_place(u32 lane) {
    const u32 b = (lane > 2) + (lane > 8) + (lane > 17);
    return RUN * (b + 1) + GAP * b + lane - 3 * b * (b + 1) / 2;
}

// Where a lane stands.
struct Lane {
    u32 x, b, cell, index;
    // In blocks of the frame.
    u32 at[3];
    u32 raster;
    bool active;
};

// The lane's place in group `task` of four blocks; lanes without a block of their own follow the last one of the cell.
__device__ __forceinline__ bool find_lane(const LocalArguments &a, u32 task, Lane &l) {
    const u32 groups = (a.cell_blocks + GROUP - 1) / GROUP;
    l.cell = task / groups;
    const Cell &c = a.cells[l.cell];
    const u32 row = c.shape[2], plane = c.shape[1] * row, blocks = c.shape[0] * plane;
    const u32 first = (task - l.cell * groups) * GROUP;
    if (first >= blocks) return false;
    l.x = threadIdx.x & 7;
    l.b = threadIdx.x >> 3 & 3;
    l.active = first + l.b < blocks;
    l.index = min(first + l.b, blocks - 1);
    const u32 z = l.index / plane, in_plane = l.index - z * plane, y = in_plane / row;
    l.at[0] = c.lo[0] + z;
    l.at[1] = c.lo[1] + y;
    l.at[2] = c.lo[2] + in_plane - y * row;
    l.raster = (l.at[0] * a.blocks[1] + l.at[1]) * a.blocks[2] + l.at[2];
    return true;
}
__device__ __forceinline__ u32 group_tasks(const LocalArguments &a) {
    return a.cell_count * ((a.cell_blocks + GROUP - 1) / GROUP);
}

__device__ constexpr u32 kept_index(u32 i) { return i == 7 ? 4 : i / 2; }
__device__ constexpr bool kept(u32 i) { return !(i & 1) || i == 7; }

// The coarse values between which a lane's node of a row lies; of a coarse column `left` alone counts.
template <class T> struct Sides {
    T left, right;
    // Halfway between two coarse rows or planes.
    __device__ __forceinline__ void between(const Sides &before, const Sides &behind) {
        left = midpoint(before.left, behind.left);
        right = midpoint(before.right, behind.right);
    }
    __device__ __forceinline__ T node(bool odd) const { return odd ? midpoint(left, right) : left; }
};
// Those of a plane's coarse rows.
template <class T> struct Plane {
    Sides<T> rows[5];
    __device__ __forceinline__ void between(const Plane &before, const Plane &behind) {
#pragma unroll
        for (u32 j = 0; j < 5; j++) rows[j].between(before.rows[j], behind.rows[j]);
    }
    // The lane's node in row y.
    __device__ __forceinline__ T node(u32 y, bool odd) const {
        Sides<T> row = rows[kept_index(y)];
        if (!kept(y)) row.between(rows[y / 2], rows[y / 2 + 1]);
        return row.node(odd);
    }
    // From the values of the plane's rows.
    __device__ __forceinline__ void take(const T (&u)[8], u32 x) {
        const bool odd = !is_kept(x);
#pragma unroll
        for (u32 j = 0; j < 5; j++) {
            const T value = u[j < 4 ? 2 * j : 7];
            rows[j] = {__shfl_sync(FULL, value, odd ? x - 1 : x, 8), __shfl_sync(FULL, value, odd ? x + 1 : x, 8)};
        }
    }
};

// A lane's nodes in the frame; those beyond its end are the last ones.
template <class T> struct FrameColumn {
    const T *column;
    // Planes, rows and columns behind the first ones of the block.
    u32 planes, rows, columns, width;
    u64 plane;
    __device__ __forceinline__ FrameColumn(const LocalArguments &a, const Lane &l) {
        const u32 z = l.at[0] * 8, y = l.at[1] * 8;
        width = a.n[2], plane = (u64)a.n[1] * width;
        planes = a.n[0] - 1 - z, rows = a.n[1] - 1 - y, columns = width - 1 - l.at[2] * 8;
        column = (const T *)a.fine + (z * plane + (u64)y * width + l.at[2] * 8 + min(l.x, columns));
    }
    // Asks for the rows of the group: two of its own block a lane, since those of neighbouring blocks are one line.
    __device__ __forceinline__ void ask(u32 x) const {
        const u32 lane = threadIdx.x & 31;
        const T *from = column - min(x, columns);
#pragma unroll
        for (u32 row = 0; row < 64; row += 32) fetch_ahead(from + min((row + lane) / 8, planes) * plane + min(lane & 7, rows) * width);
    }
    __device__ __forceinline__ void load(u32 z, T (&u)[8]) const {
        const T *from = column + min(z, planes) * plane;
#pragma unroll
        for (u32 y = 0; y < 8; y++) u[y] = from[min(y, rows) * width];
    }
};
// The coarse array as the decoder has it.
template <class T> struct CoarseColumn {
    const T *from;
    u32 width;
    u64 plane;
    __device__ __forceinline__ CoarseColumn(const LocalArguments &a, const Lane &l) {
        width = a.coarse_n[2], plane = (u64)a.coarse_n[1] * width;
        from = (const T *)a.rebuilt + l.at[0] * 5 * plane + l.at[1] * 5 * width + l.at[2] * 5 + kept_index(l.x);
    }
    // Asks for the coarse nodes of the group, a row a lane.
    __device__ __forceinline__ void ask(u32 x) const {
        const u32 row = min(threadIdx.x & 31, 24u), k = row / 5;
        fetch_ahead(from - kept_index(x) + k * plane + (row - 5 * k) * width);
    }
    // Coarse plane k.
    __device__ __forceinline__ void load(u32 k, T (&c)[5]) const {
#pragma unroll
        for (u32 j = 0; j < 5; j++) c[j] = from[k * plane + j * width];
    }
    static __device__ __forceinline__ void share(const T (&c)[5], Plane<T> &p) {
        // the next lane is the right side of odd ones
#pragma unroll
        for (u32 j = 0; j < 5; j++) p.rows[j] = {c[j], __shfl_down_sync(FULL, c[j], 1)};
    }
};

// Place of a detail among those of its block: of a plane, then in it.
__device__ __forceinline__ u32 plane_details(u32 z) { return (z + 1) / 2 * 39 + (z - (z + 1) / 2) * 64; }
__device__ constexpr u32 row_details(u32 y) { return (y + 1) / 2 * 3 + (y - (y + 1) / 2) * 8; }

// Where a lane finds its details in the rows of a plane, counted from the plane's first one.
template <bool ODD> struct Details {
    u32 of_kept, of_other;
    bool odd;
    __device__ __forceinline__ Details(u32 x) : of_kept(x / 2), of_other(x), odd(!is_kept(x)) {}
    __device__ __forceinline__ bool has(u32 y) const { return ODD || !kept(y) || odd; }
    __device__ __forceinline__ u32 at(u32 y) const { return ODD ? 8 * y + of_other : row_details(y) + (kept(y) ? of_kept : of_other); }
};
