// What the host hands to the pyramid's kernels. Mirrored in codec/backend/cuda/pyramid/arguments.rs.
#pragma once
#include "element.cuh"

// One tile of an array.
struct Tile {
    // First node of each axis.
    u32 at[3];
    // Bit a: the last tile of axis a. Picks the TileShape.
    u32 shape;
    // Place of its first symbol.
    u64 start;
    u32 chunk;
    // Units of all tiles before it.
    u32 units_before;
};

// One axis in one step of a tile shape (FORMAT.md, "tiles and node sets"). Lists hold nodes in ascending order as
// offset in the tile's memory | position << 16; `stencils` has one entry a new node.
struct StepAxis {
    u32 old_first, old_count, old_magic;
    u32 new_first, new_count, new_magic;
    u32 stencils;
    // A line of new nodes is shared by so many threads.
    u32 segments;
};
// New nodes of a segment of a line.
constexpr u32 SEGMENT = 8;

// One shape of tile. A node has a place in the tile's memory: the sum of an offset on each axis.
struct TileShape {
    u32 dims[3];
    u32 steps;
    // Coded nodes, with the padding between units: each unit starts at a multiple of 8.
    u32 nodes;
    // Entries of the tables below: StepAxis of step s and axis a is number first_step + 3 s + a; the place of each coded node;
    // the coded node at each place; the offset of each position of an axis.
    u32 first_step, order, coded_at, offsets[3];
    // Nodes of each axis that belong to the corner array, 1 or 2.
    u32 ends[3];
    // Elements of the tile's memory.
    u32 places;
    // A whole tile of the frame with three axes.
    u32 regular;
};

// The stencil of one new node: weights of the POINTS nodes around it (0 beyond the ends), their offsets, and flags.
template <class T, u32 POINTS> struct __align__(16) Stencil {
    T weight[POINTS];
    u16 offset[POINTS];
    u16 flags;
};
// What tells how rough the axis is here: the second differences around the node before and the one after, or the difference of
// the only two.
constexpr u32 LEFT_BEND = 1;
constexpr u32 RIGHT_BEND = 2;
constexpr u32 TWO_NODES = 4;

// What a chunk may choose, one byte in the stream.
struct Choice {
    u32 byte;
    __device__ __forceinline__ u32 points() const { return byte % 3; }
    // The axis that predicts alone where a node is new on it: 0 for none, else one more than the axis.
    __device__ __forceinline__ u32 favoured() const { return byte / 3 % 4; }
    __device__ __forceinline__ bool fine() const { return byte >= 12; }
};
// Levels of quantization.
constexpr u32 LEVELS = 4;

template <class T> struct TileArguments {
    // Encoding: the array's values, C order.
    const T *values;
    // Decoding: the box lo..hi of the array. Encoding: the whole reconstruction, or null.
    T *result;
    // Reconstructed corner array.
    const T *corners;
    const u8 *tiers;
    const Quantizer<T> *quantizers;
    const Tile *tiles;
    const TileShape *shapes;
    const StepAxis *steps;
    const u32 *nodes;
    // For 2, 4 and 6 points.
    const void *stencils[3];
    const u16 *order, *coded_at, *offsets;
    // One per chunk of the array.
    const u8 *choices;
    i16 *q;
    typename Real<T>::Bits *delta;
    // Memory for tiles that shared memory cannot hold, one tile a block; null otherwise.
    char *spill;
    u32 n[3], corner_n[3], blocks[3], lo[3], hi[3];
    // 2^shift nodes of an axis share a tier.
    u32 shift, side, tile_count, tier_count;
    // Of one tile: see Memory in pyramid.cu.
    u32 tile_bytes;
    // Corner arrays are quantized on the last level.
    u32 is_corners, unused;
};

// The quantizers of all tiers for the nodes of a step.
template <class T> __device__ __forceinline__ const Quantizer<T> *quantizers_of(const TileArguments<T> &a, Choice choice, u32 step) {
    const u32 level = a.is_corners ? LEVELS - 1 : choice.fine() ? min(step, LEVELS - 1) : 0;
    return a.quantizers + level * a.tier_count;
}

template <class T> struct CornerArguments {
    const T *values;
    const u8 *tiers;
    T *corners;
    u8 *corner_tiers;
    u32 n[3], corner_n[3], blocks[3];
    u32 shift, side;
};

// The last array, at most 8 nodes, predicted by 0.
template <class T> struct LastArguments {
    T *values;
    const u8 *tiers;
    // On the last level.
    const Quantizer<T> *quantizers;
    i16 *q;
    typename Real<T>::Bits *delta;
    u32 count;
    // 2^shift nodes share a tier: all of them where the frame is its own last array.
    u32 shift;
};
