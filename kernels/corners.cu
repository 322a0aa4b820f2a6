// The corner arrays of the pyramid, all at once: each node's value and tier come straight from the array that has them.
#include "element.cuh"

// Arrays after the frame at most: each is a quarter as long or less on every axis that is left.
constexpr u32 MOST_ARRAYS = 16;

// Threads of a block, and the rows that it takes.
constexpr u32 PIECE = 128, ROWS = 8;

struct CornerArray {
    u32 n[3];
    // Pieces of ROWS rows, of a block of threads each, of the arrays up to this one.
    u32 pieces_end;
    // Null where no values are wanted.
    void *values;
    u8 *tiers;
};
struct CornersArguments {
    // Of the frame's blocks of 8^3 nodes; null where there is one tier.
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

// Where a node of array k of the list is in array number `a.from` of the pyramid and in the frame, on one axis.
struct Traced {
    u32 from, frame;
};
__device__ __forceinline__ Traced trace(const CornersArguments &a, u32 k, u32 axis, u32 node) {
    Traced traced = {0, node};
    // array k of the list is number k + 1 of the pyramid
#pragma unroll 1
    for (u32 level = k + 1;; level--) {
        if (level == a.from) traced.from = traced.frame;
        if (level == 0) return traced;
        traced.frame = before(traced.frame, a.side, level == 1 ? a.n[axis] : a.arrays[level - 2].n[axis]);
    }
}

// A block a piece of ROWS rows, each of which one thread finds; all values of a thread are asked for before one is used.
template <class T> __device__ __forceinline__ void gather(const CornersArguments &a) {
    // The first value and the first tier of each row.
    __shared__ u64 values_at[ROWS], tiers_at[ROWS];
    u32 k = 0;
    while (blockIdx.x >= a.arrays[k].pieces_end) k++;
    const CornerArray &array = a.arrays[k];
    const u32 piece = blockIdx.x - (k > 0 ? a.arrays[k - 1].pieces_end : 0), in_row = (array.n[2] + PIECE - 1) / PIECE;
    const u32 row = piece / in_row * ROWS, x = piece % in_row * PIECE + threadIdx.x;
    const u32 count = x < array.n[2] ? min(array.n[0] * array.n[1] - row, ROWS) : 0;
    if (threadIdx.x < ROWS) {
        const Traced z = trace(a, k, 0, (row + threadIdx.x) / array.n[1]), y = trace(a, k, 1, (row + threadIdx.x) % array.n[1]);
        const u32 *n = a.from == 0 ? a.n : a.arrays[min(a.from, MOST_ARRAYS) - 1].n;
        values_at[threadIdx.x] = ((u64)z.from * n[1] + y.from) * n[2];
        tiers_at[threadIdx.x] = ((u64)(z.frame >> 3) * a.blocks[1] + (y.frame >> 3)) * a.blocks[2];
    }
    const Traced at = trace(a, k, 2, x);
    __syncthreads();
    T value[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        value[r] = 0;
        if (r < count && array.values) value[r] = ((const T *)a.values)[values_at[r] + at.from];
    }
    const u32 first = row * array.n[2] + x;
    // of the last array at most four rows of two nodes
    const bool quantized = a.with_last && k + 1 == a.array_count;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        if (r >= count) break;
        const u32 i = first + r * array.n[2];
        array.tiers[i] = a.tiers ? a.tiers[tiers_at[r] + (at.frame >> 3)] : 0;
        if (array.values) ((T *)array.values)[i] = value[r];
    }
#pragma unroll 1
    for (u32 r = 0; quantized && r < count; r++) {
        const u32 i = first + r * array.n[2];
        T u = ((T *)array.values)[i];
        i16 symbol;
        if (!quantize(u, (T)0, ((const Quantizer<T> *)a.quantizers)[array.tiers[i]], symbol)) ((typename Real<T>::Bits *)a.delta)[i] = delta_of(u, (T)0);
        a.q[i] = symbol;
        ((T *)array.values)[i] = u;
    }
}

extern "C" __global__ void __launch_bounds__(PIECE, 16) gather_corners_f32(const CornersArguments a) { gather<float>(a); }
extern "C" __global__ void __launch_bounds__(PIECE, 12) gather_corners_f64(const CornersArguments a) { gather<double>(a); }
