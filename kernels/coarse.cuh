// Whole tiles of a frame with three axes, whose nodes are evenly spaced: the nodes of S(1), by lists of nodes. Step 0 follows (fine.cuh).
// The two kernels want different memory: S(1) is an eighth of the tile.
#pragma once
#include "stencil.cuh"
#include "tile.cuh"

// Steps 1 and coarser of one tile. Its memory holds nothing but the nodes of S(1).
template <class T, u32 SIDE, u32 GROUP, bool ENCODE> struct CoarseTile : TileWork<T, GROUP, ENCODE> {
    typedef TileWork<T, GROUP, ENCODE> Base;
    typedef CoarseSize<SIDE> Size;
    using Base::a;
    using Base::q;
    using Base::shape;
    using Base::sync;
    using Base::thread;
    using Base::tile;
    using Base::v;

    __device__ CoarseTile(const TileArguments<T> &a, const Tile &tile, char *memory, u32 thread)
        : Base(a, tile, a.shapes[a.coarse_shape], memory, thread) {}
    __device__ __forceinline__ void load_values() {
        constexpr u32 AXIS = Size::AXIS, COLUMNS = AXIS * AXIS;
        const u16 *rows = a.offsets + shape.offsets[1], *along_x = a.offsets + shape.offsets[2];
        const T *corner = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        const u64 plane = (u64)a.n[1] * a.n[2];
#pragma unroll 1
        for (u32 i = thread; i < COLUMNS; i += GROUP) {
            const u32 y = Size::position(i / AXIS), x = Size::position(i % AXIS);
            const T *from = corner + (u64)y * a.n[2] + x;
            T *to = v + rows[y] + along_x[x];
            T values[AXIS];
#pragma unroll
            for (u32 z = 0; z < AXIS; z++) values[z] = from[min(2 * z, SIDE - 1) * plane];
#pragma unroll
            for (u32 z = 0; z < AXIS; z++) to[z * COLUMNS] = values[z];
        }
    }
    // `to`: the tile's part of `coarse`.
    __device__ __forceinline__ void run(T *to) {
        i16 *symbols = a.q + tile.start;
        if (ENCODE) load_values();
        else this->copy_symbols(q, symbols);
        if (a.tier_count > 1) this->load_tiers();
        sync();
        this->load_corners();
        sync();
        this->sweep_steps(1);
        if (ENCODE) this->copy_symbols(symbols, q);
#pragma unroll 8
        for (u32 i = thread; i < Size::ALL; i += GROUP) to[i] = v[i];
        sync();
    }
};

template <class T, u32 SIDE, u32 THREADS, u32 GROUP, bool ENCODE> __device__ __forceinline__ void coarse_tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    constexpr u32 GROUPS = THREADS / GROUP;
    const u32 group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    for (u32 t = blockIdx.x * GROUPS + group; t < a.list_count; t += gridDim.x * GROUPS) {
        const u32 number = a.list[t];
        if (number == NO_TILE) continue;
        CoarseTile<T, SIDE, GROUP, ENCODE> work(a, a.tiles[number], shared + group * a.tile_bytes, thread);
        work.run(a.coarse + (u64)t * CoarseSize<SIDE>::ALL);
    }
}
