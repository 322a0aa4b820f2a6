// Tiles of any shape, as they are at the border of an array, with all nodes in shared memory: eight lanes a row, all rows of a step that are predicted along an
// axis, then those along the next one.
#pragma once
#include "planes_cut.cuh"

// A shape of tiles: nodes of its axes, and weights of the new nodes of each axis, those of steps 0, 1 and 2 from numbers 0, 3 and 5 on. They are for four old nodes
// in turn, the first of which is the second one before the new node, or the first of all; 0 where there is no more.
constexpr u32 WEIGHTS_OF_AXIS = 6;
template <class T> struct __align__(16) Weights {
    T of[4];
};
template <class T> struct __align__(16) BorderShape {
    u32 dims[3], unused;
    Weights<T> weights[3][WEIGHTS_OF_AXIS];
};
// Up to four tiles of a chunk; NO_TILE where there are not so many.
struct __align__(16) BorderEntry {
    u32 tiles[4];
    __device__ __forceinline__ u32 exist() const { return (tiles[0] != NO_TILE) | (tiles[1] != NO_TILE) << 1 | (tiles[2] != NO_TILE) << 2 | (tiles[3] != NO_TILE) << 3; }
    // One that there is in any case.
    __device__ __forceinline__ u32 number(u32 i) const { return tiles[i] == NO_TILE ? tiles[0] : tiles[i]; }
};
// What becomes of their symbols.
__device__ __forceinline__ Four four_of(const PlanesArguments &a, const BorderEntry &entry) {
    const u32 tile = threadIdx.x % 4, number = entry.number(tile), exist = entry.exist();
    const u32 two_bytes = __ballot_sync(FULL, threadIdx.x % 32 < 4 && mask_bytes(a.shape_nodes[a.tiles[number].shape]) > 1);
    const bool in_order = __all_sync(FULL, !(exist >> tile & 1) || number == entry.tiles[0] + tile);
    return Four(exist, two_bytes, number, entry.tiles[0], in_order);
}

// TILES tiles of the same shape that a warp takes at a time, 1 or 4. With 4, eight lanes a tile; with 1, all lanes are of that tile, for a quarter of the rows each.
template <class T, bool ENCODE, u32 TILES> struct BorderTile {
    // Distances of tiles, rows and planes.
    static constexpr u32 TILE = SIDE, ROW = TILES == 1 ? 12 : TILES * TILE, PLANE = TILES == 1 ? 100 : SIDE * ROW, PLACES = SIDE * PLANE;
    static constexpr u32 ROWS = 4 / TILES;

    const BorderShape<T> &shape;
    const u32 dims[3];
    const Quantizer<T> z;
    // Of the lane's tile, which may not be there.
    const bool exists;
    typename Real<T>::Bits *delta;
    T *v;
    u16 *symbols;
    u32 exact;

    __device__ __forceinline__ BorderTile(const BorderShape<T> &shape, const Quantizer<T> &z, bool exists, typename Real<T>::Bits *delta, T *v, char *symbols)
        : shape(shape), dims{shape.dims[0], shape.dims[1], shape.dims[2]}, z(z), exists(exists), delta(delta), v(v + tile() * TILE), symbols((u16 *)(symbols + tile() * SYMBOL_BYTES)), exact(0) {}

    // The lane's tile among those of the warp; the first of its rows; its number in a row.
    static __device__ __forceinline__ u32 tile() { return TILES == 1 ? 0 : threadIdx.x % 32 / SIDE; }
    static __device__ __forceinline__ u32 first_row() { return TILES == 1 ? threadIdx.x % 32 / SIDE : 0; }
    static __device__ __forceinline__ u32 column() { return threadIdx.x % SIDE; }
    // Nodes of S(set) of an axis.
    __device__ __forceinline__ u32 size(u32 axis, u32 set) const { return dims[axis] < 2 ? 1 : ((dims[axis] - 2) >> set) + 2; }
    __device__ __forceinline__ u32 last(u32 axis) const { return dims[axis] - 1; }

    // A new node: its place, its number among the coded ones, its prediction, and its value or its symbol.
    struct Node {
        T *place;
        u32 coded;
        T p, value;
        i16 symbol;
        bool fits;

        // All that needs no more memory, so that several nodes are under way.
        __device__ __forceinline__ void make(const Quantizer<T> &z) {
            if (ENCODE) fits = quantize(value, p, z, symbol);
            else value = Real<T>::fma((T)(i32)symbol, z.step, p), fits = symbol != EXACT;
        }
    };
    __device__ __forceinline__ void put(const Node &node) {
        *node.place = node.value;
        if (ENCODE) symbols[node.coded] = (u16)(node.symbol + (i32)BYTE_BIAS);
        if (node.fits) return;
        if (ENCODE) delta[node.coded] = delta_of(node.value, node.p), exact++;
        else *node.place = apply_delta<T>(delta[node.coded], node.p);
    }
    // The nodes of a step that are predicted along an axis. On the axes before it they are old, on those behind it any of the step's.
    template <u32 AXIS> __device__ __forceinline__ void nodes(u32 step, const u32 (&all)[3], const u32 (&old)[3]) {
        typedef Real<T> R;
        constexpr u32 D = AXIS == 0 ? PLANE : AXIS == 1 ? ROW : 1;
        const u32 fresh = all[AXIS] - old[AXIS], ix = column(), nx = AXIS == 2 ? fresh : all[2];
        const u32 rows = AXIS == 0 ? all[1] : AXIS == 1 ? old[0] : old[0] * old[1];
        if (exists && ix < nx) {
            // quotients of the few numbers that there are come out right
            const u32 of_row = (u32)(reciprocal((float)old[1]) * 65536.0f) + 1, end = last(AXIS);
            // nodes of planes of the step, and those of them that are not coded in it
            const u32 all_plane = all[1] * all[2], old_plane = old[1] * old[2], ends = size(0, SETS) * size(1, SETS) * size(2, SETS);
            const Weights<T> *weights = shape.weights[AXIS] + (step == 0 ? 0 : step == 1 ? 3 : 5);
            T *const lines = v + (AXIS == 2 ? 0 : min(ix << step, last(2)));
            // the new nodes on the axis; on the last one a lane has one of them
#pragma unroll 1
            for (u32 i = 0; i < (AXIS == 2 ? 1 : fresh); i++) {
                const u32 k = AXIS == 2 ? ix : i, first = (max(k, 1u) - 1) << (step + 1), own = ((2 * k + 1) << step) * D;
                const Weights<T> w = weights[k];
                u32 near[4];
#pragma unroll
                for (u32 m = 0; m < 4; m++) near[m] = min(first + (m << (step + 1)), end) * D;
                // the number of the first of all rows' nodes; symbols of coarser steps, but the corners, stand before
                u32 start = old[0] * old_plane - ends + ix;
                if (AXIS == 0) start += (2 * k + 1) * all_plane - (k + 1) * old_plane;
                if (AXIS == 1) start += (2 * k + 1) * all[2] - (k + 1) * old[2];
                const auto find = [&](u32 row, Node &node) {
                    // of old nodes, number `row` of an axis is number 2 row of all, or the last
                    u32 line, coded = start;
                    if (AXIS == 0) {
                        line = min(row << step, last(1)) * ROW, coded += row * all[2];
                    } else {
                        const u32 iz = AXIS == 1 ? row : row * of_row >> 16, iy = row - iz * old[1];
                        line = min(iz << (step + 1), last(0)) * PLANE, coded += min(2 * iz, all[0] - 1) * all_plane - iz * old_plane;
                        if (AXIS == 2) line += min(iy << (step + 1), last(1)) * ROW, coded += min(2 * iy, all[1] - 1) * all[2] - iy * old[2];
                    }
                    T *from = lines + line;
                    node.place = from + own, node.coded = coded;
                    if (ENCODE) node.value = *node.place;
                    else node.symbol = (i16)symbols[coded];
                    node.p = R::mul(w.of[0], from[near[0]]);
#pragma unroll
                    for (u32 m = 1; m < 4; m++) node.p = R::fma(w.of[m], from[near[m]], node.p);
                };
#pragma unroll 1
                for (u32 row = first_row(); row < rows; row += 2 * ROWS) {
                    const bool is_two = row + ROWS < rows;
                    Node one, two;
                    find(row, one);
                    find(is_two ? row + ROWS : row, two);
                    one.make(z), two.make(z);
                    put(one);
                    if (is_two) put(two);
                }
            }
        }
        __syncwarp();
    }
    // The last set of all axes.
    static constexpr u32 SETS = 3;
    __device__ __forceinline__ void run() {
#pragma unroll 1
        for (u32 step = SETS; step-- > 0;) {
            const u32 all[3] = {size(0, step), size(1, step), size(2, step)}, old[3] = {size(0, step + 1), size(1, step + 1), size(2, step + 1)};
            nodes<2>(step, all, old);
            nodes<1>(step, all, old);
            nodes<0>(step, all, old);
        }
    }
    // Calls f(place, z, y, x) for the lane's nodes.
    template <class F> __device__ __forceinline__ void each(F f) const {
        const u32 x = column();
        if (!exists || x > last(2)) return;
        for (u32 plane = 0; plane <= last(0); plane++) {
#pragma unroll 2
            for (u32 row = first_row(); row <= last(1); row += ROWS) f(plane * PLANE + row * ROW + x, plane, row, x);
        }
    }
    // The place of the lane's corner, or more than there are. `at`: of the corner array.
    __device__ __forceinline__ u32 corner(u32 (&at)[3]) const {
        const u32 lane = threadIdx.x % 32, end[3] = {lane >> 2 & 1, lane >> 1 & 1, lane & 1};
        if (!exists || (TILES == 1 && lane >= SIDE)) return PLACES;
        u32 place = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            // a single node is the first one
            if (end[axis] > 0 && last(axis) == 0) return PLACES;
            at[axis] = at[axis] / SIDE * 2 + end[axis];
            place += end[axis] * last(axis) * (axis == 0 ? PLANE : axis == 1 ? ROW : 1);
        }
        return place;
    }
    // What stands where there are no symbols.
    static __device__ __forceinline__ void fill_up(char *symbols) {
        constexpr u32 TWO = BYTE_BIAS | BYTE_BIAS << 16;
        for (u32 i = threadIdx.x % 32; i < TILES * SYMBOL_BYTES / 16; i += 32) ((uint4 *)symbols)[i] = make_uint4(TWO, TWO, TWO, TWO);
    }
};

// A shape, to shared memory, by a warp.
template <class T> __device__ __forceinline__ void load_shape(BorderShape<T> &to, const BorderShape<T> &from) {
    for (u32 i = threadIdx.x % 32; i < sizeof(BorderShape<T>) / 16; i += 32) ((uint4 *)&to)[i] = ((const uint4 *)&from)[i];
}
