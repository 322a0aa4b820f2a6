// The pyramid's tiles for any shape, type and choice: one block a tile, the tile in shared memory, one node a thread.
#include "pyramid.cuh"

constexpr u32 SYMBOL_SHIFT = 15;
constexpr u32 COORDINATES = (1u << SYMBOL_SHIFT) - 1;

// One tile in the hands of one block.
template <class T> struct Work {
    const TileArguments<T> &a;
    const Tile tile;
    const TileShape shape;
    const Choice choice;
    const Quantizer<T> *quantizers;
    T *v;

    __device__ Work(const TileArguments<T> &a, u32 index, T *v)
        : a(a), tile(a.tiles[index]), shape(a.shapes[tile.shape]), choice{a.choices[tile.chunk]}, quantizers(nullptr), v(v) {}

    __device__ __forceinline__ u32 stride_y() const { return shape.dims[2]; }
    __device__ __forceinline__ u32 stride_z() const { return shape.dims[1] * shape.dims[2]; }

    __device__ void load_values() {
        const u32 count = shape.dims[0] * stride_z();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const u32 x = i % shape.dims[2], row = i / shape.dims[2];
            const u32 y = row % shape.dims[1], z = row / shape.dims[1];
            v[i] = a.values[((u64)(tile.at[0] + z) * a.n[1] + tile.at[1] + y) * a.n[2] + tile.at[2] + x];
        }
    }
    __device__ void load_corners() {
        const u32 i = threadIdx.x;
        const u32 z = i >> 2, y = i >> 1 & 1, x = i & 1;
        if (i >= 8 || z >= shape.ends[0] || y >= shape.ends[1] || x >= shape.ends[2]) return;
        u32 corner[3], local[3];
        const u32 end[3] = {z, y, x};
        for (u32 axis = 0; axis < 3; axis++) {
            corner[axis] = tile.at[axis] / a.side * 2 + end[axis];
            local[axis] = end[axis] ? shape.dims[axis] - 1 : 0;
        }
        v[local[0] * stride_z() + local[1] * stride_y() + local[2]] =
            a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
    }
    // Writes the part of the tile inside lo..hi.
    __device__ void store() {
        const u32 count = shape.dims[0] * stride_z();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const u32 row = i / shape.dims[2];
            const u32 x = tile.at[2] + i % shape.dims[2];
            const u32 y = tile.at[1] + row % shape.dims[1], z = tile.at[0] + row / shape.dims[1];
            if (z < a.lo[0] || z >= a.hi[0] || y < a.lo[1] || y >= a.hi[1] || x < a.lo[2] || x >= a.hi[2]) continue;
            const u64 at = ((u64)(z - a.lo[0]) * (a.hi[1] - a.lo[1]) + y - a.lo[1]) * (a.hi[2] - a.lo[2]) + x - a.lo[2];
            a.result[at] = v[i];
        }
    }
    __device__ __forceinline__ const Quantizer<T> &quantizer(u32 z, u32 y, u32 x) const {
        if (a.tier_count == 1) return quantizers[0];
        const u32 bz = (tile.at[0] + z) >> a.shift, by = (tile.at[1] + y) >> a.shift, bx = (tile.at[2] + x) >> a.shift;
        return quantizers[a.tiers[((u64)bz * a.blocks[1] + by) * a.blocks[2] + bx]];
    }
    __device__ __forceinline__ T predict(u32 pass, u32 z, u32 y, u32 x, T step) const {
        const u32 used = choice.axes(pass);
        const u32 at[3] = {z, y, x}, strides[3] = {stride_z(), stride_y(), 1};
        const u32 position = z * strides[0] + y * strides[1] + x;
        Guess<T> along[3];
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (used >> axis & 1) {
                const Row<T> &row = a.rows[shape.rows[axis] + choice.points() * shape.dims[axis] + at[axis]];
                along[axis] = interpolate<6>(v, row, position - at[axis] * strides[axis], strides[axis]);
            }
        }
        return mean(used, along, step);
    }
    template <bool ENCODE> __device__ __forceinline__ void node(u32 pass, u32 entry) {
        const u32 local = entry & COORDINATES;
        const u32 z = local >> shape.shift_z, y = (local & ((1u << shape.shift_z) - 1)) >> shape.shift_y;
        const u32 x = local & ((1u << shape.shift_y) - 1);
        const u64 symbol = tile.start + (entry >> SYMBOL_SHIFT);
        const Quantizer<T> &quantizer = this->quantizer(z, y, x);
        const T p = predict(pass, z, y, x, quantizer.step);
        T &value = v[z * stride_z() + y * stride_y() + x];
        if (ENCODE) {
            T u = value;
            const i16 q = quantize(u, p, quantizer);
            a.q[symbol] = q;
            if (q == EXACT) a.delta[symbol] = delta_of(u, p);
            value = u;
        } else {
            const i16 q = a.q[symbol];
            value = q == EXACT ? apply_delta<T>(a.delta[symbol], p) : Real<T>::fma((T)q, quantizer.step, p);
        }
    }
    // Nodes new on one axis, then on two, then on three: only these groups depend on each other.
    template <bool ENCODE> __device__ void sweep() {
        const u32 *entries = a.table + shape.entries;
        for (u32 step = shape.steps; step-- > 0;) {
            const u32 *ranges = a.table + shape.ranges + 8 * step;
            quantizers = quantizers_of(a, choice, step);
            group<ENCODE>(entries, ranges[0], ranges[1], ranges[2], ranges[3], 1, 2, 4);
            group<ENCODE>(entries, ranges[3], ranges[4], ranges[5], ranges[6], 3, 5, 6);
            group<ENCODE>(entries, ranges[6], ranges[7], ranges[7], ranges[7], 7, 7, 7);
        }
    }
    template <bool ENCODE>
    __device__ void group(const u32 *entries, u32 begin, u32 b, u32 c, u32 end, u32 first, u32 second, u32 third) {
        for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
            node<ENCODE>(i < b ? first : i < c ? second : third, entries[i]);
        }
        __syncthreads();
    }
};

template <class T, bool ENCODE> __device__ void tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(memory);
    T *v = a.spill ? a.spill + (u64)blockIdx.x * a.tile_nodes : (T *)memory;
    for (u32 t = blockIdx.x; t < a.tile_count; t += gridDim.x) {
        const Tile tile = a.tiles[t];
        if (is_common(a, tile)) continue;
        Work<T> work(a, t, v);
        if (ENCODE) work.load_values();
        __syncthreads();
        work.load_corners();
        __syncthreads();
        work.template sweep<ENCODE>();
        if (a.result) work.store();
        __syncthreads();
    }
}

// Gathers the corners of all tiles of an array, with their tiers.
template <class T> __device__ void gather_corners(const CornerArguments<T> &a) {
    const u64 count = (u64)a.corner_n[0] * a.corner_n[1] * a.corner_n[2];
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
        const u64 row = i / a.corner_n[2];
        const u32 corner[3] = {(u32)(row / a.corner_n[1]), (u32)(row % a.corner_n[1]), (u32)(i % a.corner_n[2])};
        u32 node[3];
        for (u32 axis = 0; axis < 3; axis++) {
            const u32 at = (corner[axis] >> 1) * a.side + (corner[axis] & 1) * (a.side - 1);
            node[axis] = min(at, a.n[axis] - 1);
        }
        if (a.values) a.corners[i] = a.values[((u64)node[0] * a.n[1] + node[1]) * a.n[2] + node[2]];
        const u32 bz = node[0] >> a.shift, by = node[1] >> a.shift, bx = node[2] >> a.shift;
        a.corner_tiers[i] = a.tiers[((u64)bz * a.blocks[1] + by) * a.blocks[2] + bx];
    }
}

template <class T, bool ENCODE> __device__ void last_array(const LastArguments<T> &a) {
    const u32 i = threadIdx.x;
    if (i >= a.count) return;
    const Quantizer<T> &quantizer = a.quantizers[a.tiers[i >> a.shift]];
    if (ENCODE) {
        T u = a.values[i];
        const i16 q = quantize(u, (T)0, quantizer);
        a.q[i] = q;
        if (q == EXACT) a.delta[i] = delta_of(u, (T)0);
        a.values[i] = u;
    } else {
        const i16 q = a.q[i];
        a.values[i] = q == EXACT ? apply_delta<T>(a.delta[i], (T)0) : Real<T>::fma((T)q, quantizer.step, (T)0);
    }
}

extern "C" __global__ void __launch_bounds__(1024) encode_tiles_f32(const TileArguments<float> a) { tiles<float, true>(a); }
extern "C" __global__ void __launch_bounds__(1024) encode_tiles_f64(const TileArguments<double> a) { tiles<double, true>(a); }
extern "C" __global__ void __launch_bounds__(1024) decode_tiles_f32(const TileArguments<float> a) { tiles<float, false>(a); }
extern "C" __global__ void __launch_bounds__(1024) decode_tiles_f64(const TileArguments<double> a) { tiles<double, false>(a); }
extern "C" __global__ void gather_corners_f32(const CornerArguments<float> a) { gather_corners<float>(a); }
extern "C" __global__ void gather_corners_f64(const CornerArguments<double> a) { gather_corners<double>(a); }
extern "C" __global__ void encode_last_f32(const LastArguments<float> a) { last_array<float, true>(a); }
extern "C" __global__ void encode_last_f64(const LastArguments<double> a) { last_array<double, true>(a); }
extern "C" __global__ void decode_last_f32(const LastArguments<float> a) { last_array<float, false>(a); }
extern "C" __global__ void decode_last_f64(const LastArguments<double> a) { last_array<double, false>(a); }
