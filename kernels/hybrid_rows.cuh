// The rows of global levels: how warps share them, and what is interpolated in them.
#pragma once
#include "hybrid.cuh"

// Rows of a level come by fours: two neighbours on each of the first two axes, the even ones and those behind them. All interpolate between the same four
// rows of coarse nodes. A warp takes four rows, a lane two neighbouring nodes of each, x even and x + 1.
struct FourRows {
    // Of the first row, in pairs.
    u32 kz, ky;
    // Whether there are all four and none is the last of its axis: all that depends on where they are is then known.
    __device__ __forceinline__ bool inner(const GlobalArguments &a) const { return 2 * kz + 2 < a.n[0] && 2 * ky + 2 < a.n[1]; }
};
// Pairs of nodes that a warp takes of long rows.
constexpr u32 STRETCH = 256;
// The node of an axis at which coarse node k stands.
__device__ __forceinline__ u32 fine_node(u32 k, u32 n) { return min(2 * k, n - 1); }
// Whether node i is one of the coarse nodes.
__device__ __forceinline__ bool is_coarse(u32 i, u32 n) { return !(i & 1) || i == n - 1; }

// Of a pair of nodes of a row: whether its second node is there, and is coarse, the last of an even number.
struct PairEnd {
    bool second, last;
    __device__ __forceinline__ PairEnd(u32 k, u32 n) : second(2 * k + 1 < n), last(2 * k + 2 == n) {}
};

// One of four rows.
struct Row {
    u32 z, y;
    bool there, coarse_z, coarse_y, coarse;
    // Index of its first node and of its first detail.
    u32 node, detail;
    __device__ __forceinline__ Row(const GlobalArguments &a, const FourRows &f, u32 dz, u32 dy) {
        z = 2 * f.kz + dz, y = 2 * f.ky + dy;
        there = z < a.n[0] && y < a.n[1];
        coarse_z = is_coarse(z, a.n[0]), coarse_y = is_coarse(y, a.n[1]);
        coarse = coarse_z && coarse_y;
        node = (z * a.n[1] + y) * a.n[2];
        detail = node - ((z + 1) / 2 * a.coarse_n[1] + (coarse_z ? (y + 1) / 2 : 0)) * a.coarse_n[2];
    }
};

// Two neighbouring values, one access.
template <class T> struct __align__(2 * sizeof(T)) Pair {
    T first, second;
};

// The coarse values that a lane's nodes lie between: c[z][y][x].
template <class T> struct Cube {
    T c[2][2][2];
    // The interpolant at nodes x and x + 1 of a row; `last`: x + 1 is coarse.
    __device__ __forceinline__ void interpolate(const Row &row, u32 dz, u32 dy, bool last, T (&w)[2]) const {
        T line[2];
#pragma unroll
        for (u32 x = 0; x < 2; x++) {
            T column[2];
#pragma unroll
            for (u32 y = 0; y < 2; y++) column[y] = dz == 0 ? c[0][y][x] : row.coarse_z ? c[1][y][x] : midpoint(c[0][y][x], c[1][y][x]);
            line[x] = dy == 0 ? column[0] : row.coarse_y ? column[1] : midpoint(column[0], column[1]);
        }
        w[0] = line[0];
        w[1] = last ? line[1] : midpoint(line[0], line[1]);
    }
    // The same of four inner rows.
    __device__ __forceinline__ void interpolate(bool last, T (&w)[4][2]) const {
        T line[4][2];
#pragma unroll
        for (u32 x = 0; x < 2; x++) {
            line[0][x] = c[0][0][x];
            line[1][x] = midpoint(c[0][0][x], c[0][1][x]);
            line[2][x] = midpoint(c[0][0][x], c[1][0][x]);
            line[3][x] = midpoint(line[2][x], midpoint(c[0][1][x], c[1][1][x]));
        }
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            w[i][0] = line[i][0];
            w[i][1] = last ? line[i][1] : midpoint(line[i][0], line[i][1]);
        }
    }
};

// Calls f(four rows, coarse index of x) for all pairs of nodes of the level; a warp's lanes take neighbouring ones.
template <class F> __device__ __forceinline__ void for_pairs(const GlobalArguments &a, F f) {
    const u32 lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
    const u32 pairs = (a.n[2] + 1) / 2, across = (a.n[1] + 1) / 2, stretches = (pairs + STRETCH - 1) / STRETCH;
    const u32 total = (a.n[0] + 1) / 2 * across * stretches;
    for (u32 task = (blockIdx.x * blockDim.x + threadIdx.x) / 32; task < total; task += warps) {
        const u32 rows = task / stretches, first = (task - rows * stretches) * STRETCH, end = min(first + STRETCH, pairs), kz = rows / across;
        f(FourRows{kz, rows - kz * across}, [&](auto pair) {
            for (u32 k = first + lane; k < end; k += 32) pair(k);
        });
    }
}

// Where the values of the level stand: in an array of their own; as the coarse nodes of the blocks of a finer one; as the coarse nodes of
// the level of those.
enum class Source { OWN, BLOCKS, BLOCKS_LEVEL };
template <class T, Source SOURCE> struct Values {
    const GlobalArguments &a;
    __device__ __forceinline__ u32 node(u32 i, u32 axis) const {
        if (SOURCE == Source::OWN) return i;
        const u32 n = a.sampled_n[axis];
        if (SOURCE == Source::BLOCKS_LEVEL) i = fine_node(i, (n + BLOCK - 1) / BLOCK * COARSE);
        const u32 block = i / COARSE, at = i - COARSE * block;
        return min(BLOCK * block + (at < 4 ? 2 * at : 7), n - 1);
    }
    __device__ __forceinline__ const T *row(u32 z, u32 y) const {
        const u32 *n = SOURCE == Source::OWN ? a.n : a.sampled_n;
        return (const T *)a.fine + ((u64)node(z, 0) * n[1] + node(y, 1)) * n[2];
    }
};
