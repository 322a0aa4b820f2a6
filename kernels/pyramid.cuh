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

// A coded node: its place in the tile's memory, its number among the coded nodes, its tolerance block, bit a of `axes`: it is new on
// axis a, and for each of these axes the number of its stencil.
struct __align__(16) Node {
    u16 place, coded, tier, axes;
    u16 stencil[3], unused;
};

// A line of new nodes of step 0 of the whole tiles of a block: see kernels/lines.cuh and lines.rs in codec/backend/cuda/pyramid.
struct __align__(16) Line {
    // The number of its first coded node in each tolerance block, 16 bits each. From the lowest bits up: the place where its own axis begins
    // (16 bits), the number of its tile, or 255 for no line (8), its first tolerance block among those of all tiles (8); distance of its
    // coded nodes (8), its number among the new ones on the other axes on which its nodes are new (8 each), of two axes the other one (8).
    u32 first[2], where, how;
    __device__ __forceinline__ u32 coded(u32 k) const { return ((k < 8 ? first[0] : first[1]) >> (k / 4 % 2 * 16) & 0xffff) + k % 4 * (how & 255); }
    __device__ __forceinline__ u32 place() const { return where & 0xffff; }
    __device__ __forceinline__ u32 tile() const { return where >> 16 & 255; }
    __device__ __forceinline__ u32 tier() const { return where >> 24; }
    __device__ __forceinline__ u32 across(u32 i) const { return how >> (8 + 8 * i) & 255; }
    __device__ __forceinline__ u32 second() const { return how >> 24; }
};

// Number i of the three of a step: the nodes that are new on i + 1 axes, and the first stencil of axis i. Stencils are counted in the
// shape.
struct Step {
    u32 first, count, stencils;
};

// One shape of tile, or of its nodes of S(1) alone, whose steps begin with step 1. Behind its steps, as further ones, stands what each slab (tile.cuh) needs of
// step 0. A node has a place in the tile's memory: the sum of an offset on each axis.
struct TileShape {
    u32 dims[3];
    u32 steps;
    // Coded nodes, with the padding between units: each unit starts at a multiple of 8.
    u32 nodes;
    // Entries of the tables below: the first Step of step s is number first_step + 3 s; the first stencil; the coded node at each place;
    // the offset of each position of an axis.
    u32 first_step, first_stencil, coded_at, offsets[3];
    // The first symbol of step 0 where these are in the order of the tile's memory, with its gaps; else BY_UNITS.
    u32 by_place;
    // Nodes of each axis that belong to the corner array, 1 or 2.
    u32 ends[3];
    // Elements of the tile's memory.
    u32 places;
};

constexpr u32 BY_UNITS = 0xffffffff;

// The stencil of one new node: weights of the POINTS nodes around it (0 beyond the ends), their offsets from its own place, and flags.
template <class T, u32 POINTS> struct __align__(16) Stencil {
    T weight[POINTS];
    i16 offset[POINTS];
    u16 flags;
};
// There are no other nodes than the two next to it.
constexpr u32 TWO_NODES = 1;

// What a chunk may choose, one byte in the stream.
struct Choice {
    u32 byte;
    static constexpr u32 FINE = 12, RULE = 24, IN_ORDER = 48;
    __device__ __forceinline__ u32 points() const { return byte % 3; }
    // The axis that predicts alone where a node is new on it: 0 for none, else one more than the axis.
    __device__ __forceinline__ u32 favoured() const { return byte / 3 % 4; }
    __device__ __forceinline__ bool fine() const { return byte / FINE % 2 == 1; }
    // The roughness rule: axes much rougher than another are left out.
    __device__ __forceinline__ bool rule() const { return byte >= RULE && !in_order(); }
    // Axis order: where the favoured axis does not, the first axis that a node is new on predicts alone.
    __device__ __forceinline__ bool in_order() const { return byte >= IN_ORDER; }
    // All axes that a node is new on predict it together.
    __device__ __forceinline__ bool is_plain() const { return !rule() && favoured() == 0 && !in_order(); }
    // Of the axes `axes` on which a node is new, counted from 1, the one that predicts alone; 0: none does.
    __device__ __forceinline__ u32 alone(u32 axes) const {
        const u32 axis = favoured() - 1;
        if (favoured() > 0 && (axes >> axis & 1)) return 1 + __popc(axes & ((1u << axis) - 1));
        return in_order() ? 1 : 0;
    }
};
constexpr u32 NO_TILE = 0xffffffffu;
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
    // The tiles to work on. Of whole tiles those that a block takes together belong to one chunk; NO_TILE stands where there are not enough.
    const u32 *list;
    // Whole tiles: the values of the nodes of S(1), rebuilt, in the order of the list, those of a tile in C order.
    T *coarse;
    const TileShape *shapes;
    const Step *steps;
    const Node *nodes;
    // For 2, 4 and 6 points.
    const void *stencils[3];
    const u16 *coded_at, *offsets;
    // Step 0 of whole tiles: the lines, by warps, and the place of each column of nodes of S(1).
    const Line *lines;
    const u16 *columns;
    // One per chunk of the array.
    const u8 *choices;
    i16 *q;
    typename Real<T>::Bits *delta;
    // Memory for tiles that shared memory cannot hold, one tile a block; null otherwise.
    char *spill;
    // The length of the list where only the device knows it; null otherwise.
    const u32 *device_count;
    u32 n[3], corner_n[3], blocks[3], lo[3], hi[3];
    // 2^shift nodes of an axis share a tier.
    u32 shift, side, list_count, tier_count;
    // Of one tile: see Memory in pyramid.cu.
    u32 tile_bytes;
    // Corner arrays are quantized on the last level.
    u32 is_corners;
    // Shapes of a whole tile, and of its nodes of S(1).
    u32 whole_shape, coarse_shape;
    // Blocks that share a tile of the list: see SLAB_PLANES. More than one: `result` is not where values come from.
    u32 slabs;
    // Elements from a row of `coarse` to the next.
    u32 coarse_row;
};

// The same where the kernels of bands read these rows, by 16 bytes.
template <class T> constexpr u32 padded_row(u32 nodes) { return (nodes * (u32)sizeof(T) + 15) / 16 * 16 / (u32)sizeof(T); }

// The quantizers of all tiers for the nodes of a step.
template <class T> __device__ __forceinline__ const Quantizer<T> *quantizers_of(const TileArguments<T> &a, Choice choice, u32 step) {
    const u32 level = a.is_corners ? LEVELS - 1 : choice.fine() ? min(step, LEVELS - 1) : 0;
    return a.quantizers + level * a.tier_count;
}

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
