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

// One shape of tile. Offsets count from the tables of TileArguments.
struct TileShape {
    u32 dims[3];
    u32 steps;
    // Coded nodes, and the first of their entries: local coordinates | place in coding order << 15.
    u32 nodes, entries;
    // ranges[8 * step + pass]: first entry of each pass (FORMAT.md, order of prediction), and the end.
    u32 ranges;
    // First row of each axis for 2 points; those for 4 and 6 points follow.
    u32 rows[3];
    // Bits of the local coordinates along axis 2, and along axes 1 and 2.
    u32 shift_y, shift_z;
    // Nodes of each axis that belong to the corner array, 1 or 2.
    u32 ends[3];
    // A whole tile of the frame with three axes, of a kind that pyramid_full.cu knows.
    u32 whole;
};

// The stencil of one position of an axis; positions that are never predicted have len 0.
template <class T> struct Row {
    T weight[6];
    u16 node[6];
    // Number of nodes, and the first and one past the last of those that tell how rough the axis is here.
    u16 len;
    u8 first, end;
};

// What a chunk may choose, one byte in the stream.
struct Choice {
    u32 byte;
    __device__ __forceinline__ u32 points() const { return byte % 3; }
    // The axes that predict a node new on the axes `pass` (bit a = axis a): the favoured one alone where it is among them.
    __device__ __forceinline__ u32 axes(u32 pass) const {
        const u32 favoured = (1u << (byte / 3 % 4)) >> 1;
        return pass & favoured ? favoured : pass;
    }
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
    const u32 *table;
    const Row<T> *rows;
    // One per chunk of the array.
    const u8 *choices;
    // Whole tiles: raster place of each coded node, and the place in coding order of each raster place.
    const u16 *order, *place;
    i16 *q;
    typename Real<T>::Bits *delta;
    // Memory for tiles that shared memory cannot hold, one tile a block; null otherwise.
    T *spill;
    u32 n[3], corner_n[3], blocks[3], lo[3], hi[3];
    // 2^shift nodes of an axis share a tier.
    u32 shift, side, tile_count, tile_nodes, tier_count;
    // Corner arrays are quantized on the last level.
    u32 is_corners;
};

// Whether a tile is left to pyramid_full.cu.
template <class T> __device__ __forceinline__ bool is_common(const TileArguments<T> &a, const Tile &tile) {
    return a.shapes[tile.shape].whole;
}

// The quantizers of all tiers for the nodes of a step.
template <class T> __device__ __forceinline__ const Quantizer<T> *quantizers_of(const TileArguments<T> &a, Choice choice, u32 step) {
    const u32 level = a.is_corners ? LEVELS - 1 : choice.fine() ? min(step, LEVELS - 1) : 0;
    return a.quantizers + level * a.tier_count;
}

// The prediction along one axis, and how rough the axis is there.
template <class T> struct Guess {
    T p, rough;
};

// The 1-D prediction along the line that starts at `origin`, from a stencil of at most POINTS nodes.
template <u32 POINTS, class T> __device__ __forceinline__ Guess<T> interpolate(const T *v, const Row<T> &row, u32 origin, u32 stride) {
    typedef Real<T> R;
    T left = v[origin + row.node[0] * stride], before = 0, rough = 0;
    T p = R::mul(row.weight[0], left);
    // Of at most 4 nodes all tell how rough the axis is.
    const u32 first = POINTS > 4 ? row.first : 0, end = POINTS > 4 ? row.end : row.len;
#pragma unroll
    for (u32 k = 1; k < POINTS; k++) {
        if (k == 1 || k < row.len) {
            const T right = v[origin + row.node[k] * stride];
            p = R::fma(row.weight[k], right, p);
            const T difference = R::sub(right, left);
            if (POINTS <= 4 || (k > first && k < end)) {
                T bend = k > first + 1 ? R::abs(R::sub(difference, before)) : (T)0;
                bend = end == first + 2 ? R::abs(difference) : bend;
                rough = bend > rough ? bend : rough;
            }
            before = difference;
            left = right;
        }
    }
    return {p, rough};
}

// The mean of the predictions along the axes `used`, without those that are much rougher here than another.
template <class T> __device__ __forceinline__ T mean(u32 used, const Guess<T> (&along)[3], T step) {
    typedef Real<T> R;
    if (used == 1) return along[0].p;
    if (used == 2) return along[1].p;
    if (used == 4) return along[2].p;
    T limit = R::from_bits(R::INFINITE);
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (used >> axis & 1) limit = along[axis].rough < limit ? along[axis].rough : limit;
    }
    limit = R::add(R::add(limit, limit), step);
    T sum = 0;
    u32 count = 0;
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (used >> axis & 1) {
            const bool counts = along[axis].rough <= limit;
            sum = counts ? R::add(sum, along[axis].p) : sum;
            count += counts;
        }
    }
    return R::mul(sum, count == 1 ? (T)1 : count == 3 ? (T)(1.0 / 3.0) : (T)0.5);
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
