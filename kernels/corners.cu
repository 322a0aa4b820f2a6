// The corner arrays of the pyramid, all at once: each node's value and tier come straight from the array that has them.
#include "element.cuh"

// Arrays after the frame at most: each is a quarter as long or less on every axis that is left.
constexpr u32 MOST_ARRAYS = 16;

// Threads of a block.
constexpr u32 PIECE = 128;

struct CornerArray {
    u32 n[3];
    // Pieces of rows, of a block of threads each, of the arrays up to this one.
    u32 pieces_end;
    // Null where no values are wanted.
    void *values;
    u8 *tiers;
};
struct CornersArguments {
    // Of the frame's blocks of 8^3 nodes.
    const u8 *tiers;
    // Of array `from`, 0 for the frame.
    const void *values;
    u32 n[3], blocks[3];
    u32 from, array_count;
    // Of a tile. Whether the last array, whose nodes need no others, is quantized as well.
    u32 side, with_last;
    // For that, on its level, and where its symbols and deltas go.
    const void *quantizers;
    i16 *q;
    void *delta;
    CornerArray arrays[MOST_ARRAYS];
};

// Which node of the array before a node is, on one axis of n nodes.
__device__ __forceinline__ u32 before(u32 node, u32 side, u32 n) { return min((node >> 1) * side + (node & 1) * (side - 1), n - 1); }

// A block a piece of a row: all divisions are the block's.
template <class T> __device__ __forceinline__ void gather(const CornersArguments &a) {
    u32 k = 0;
    while (blockIdx.x >= a.arrays[k].pieces_end) k++;
    const CornerArray &array = a.arrays[k];
    const u32 piece = blockIdx.x - (k > 0 ? a.arrays[k - 1].pieces_end : 0), in_row = (array.n[2] + PIECE - 1) / PIECE;
    const u32 row = piece / in_row, x = piece % in_row * PIECE + threadIdx.x;
    if (x >= array.n[2]) return;
    const u32 i = row * array.n[2] + x;
    u32 at[3] = {row / array.n[1], row % array.n[1], x};
    // array k of the list is number k + 1 of the pyramid
    for (u32 level = k + 1;; level--) {
        const u32 *n = level == 0 ? a.n : a.arrays[level - 1].n;
        if (level == a.from && array.values) ((T *)array.values)[i] = ((const T *)a.values)[((u64)at[0] * n[1] + at[1]) * n[2] + at[2]];
        if (level == 0) break;
        const u32 *finer = level == 1 ? a.n : a.arrays[level - 2].n;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) at[axis] = before(at[axis], a.side, finer[axis]);
    }
    const u8 tier = a.tiers[((u64)(at[0] >> 3) * a.blocks[1] + (at[1] >> 3)) * a.blocks[2] + (at[2] >> 3)];
    array.tiers[i] = tier;
    if (!a.with_last || k + 1 < a.array_count) return;
    T u = ((T *)array.values)[i];
    i16 symbol;
    if (!quantize(u, (T)0, ((const Quantizer<T> *)a.quantizers)[tier], symbol)) ((typename Real<T>::Bits *)a.delta)[i] = delta_of(u, (T)0);
    a.q[i] = symbol;
    ((T *)array.values)[i] = u;
}

extern "C" __global__ void __launch_bounds__(128) gather_corners_f32(const CornersArguments a) { gather<float>(a); }
extern "C" __global__ void __launch_bounds__(128) gather_corners_f64(const CornersArguments a) { gather<double>(a); }
