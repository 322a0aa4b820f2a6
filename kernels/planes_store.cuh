// The planes coder, decoding: values of whole tiles from registers to the box that they are decoded for.
#pragma once
#include "planes_cut.cuh"

// Writes the part of a tile inside the box.
template <class T> __device__ __forceinline__ void store_tile(const WholeArguments<T> &a, const Quad &quad, const T (&v)[SIDE * SIDE]) {
    const u32 lane = threadIdx.x % 32, x = quad.at[2] + lane, ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
    if (x < a.lo[2] || x >= a.hi[2]) return;
    const u64 plane = (u64)ny * nx;
    // of node 0 of the tile, which may lie before the box
    T *to = a.result + ((i64)quad.at[0] - a.lo[0]) * (i64)plane + ((i64)quad.at[1] - a.lo[1]) * (i64)nx + (x - a.lo[2]);
    const bool whole = quad.at[0] >= a.lo[0] && quad.at[0] + SIDE <= a.hi[0] && quad.at[1] >= a.lo[1] && quad.at[1] + SIDE <= a.hi[1];
    if (whole) {
        // one instruction a row, and two a plane
#pragma unroll
        for (u32 z = 0; z < SIDE; z++, to += plane) {
            keep_global(to);
            unroll<SIDE>([&](auto y) { *advance<decltype(y)::value>(to, nx) = v[z * SIDE + decltype(y)::value]; });
        }
        return;
    }
    if (quad.at[0] >= a.hi[0] || quad.at[1] >= a.hi[1]) return;
    const u32 first_z = max(a.lo[0], quad.at[0]) - quad.at[0], end_z = min(a.hi[0], quad.at[0] + SIDE) - quad.at[0];
    const u32 first_y = max(a.lo[1], quad.at[1]) - quad.at[1], end_y = min(a.hi[1], quad.at[1] + SIDE) - quad.at[1];
#pragma unroll
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        const u32 z = i / SIDE, y = i % SIDE;
        if (z >= first_z && z < end_z && y >= first_y && y < end_y) to[z * plane + (u64)y * nx] = v[i];
    }
}

// Where rows do not begin where sectors of memory do, two warps would write a part of a sector each. The warps of a block that take neighbours on the last axis
// write such a sector once: the first columns of a warp's tiles, as far as they are in a sector with those of the warp before, go through shared memory to that
// one. Planes of the box have a whole number of sectors.
template <class T> struct RowsTogether {
    static constexpr u32 SECTOR = 32 / sizeof(T), HEAD_BYTES = SIDE * SIDE * SECTOR * sizeof(T);
    static_assert(HEAD_BYTES <= WARP_BYTES, "they take the place of symbols");

    const WholeArguments<T> &a;
    char *shared;
    // Of each warp in this round: where its first node goes, or null where its first tile is not written as a whole; and the same, or null for its last one.
    T *(*first)[PLANES_WARPS];

    __device__ __forceinline__ RowsTogether(const WholeArguments<T> &a, char *shared) : a(a), shared(shared) {
        __shared__ T *places[2][PLANES_WARPS];
        first = places;
    }
    __device__ __forceinline__ T *heads(u32 warp) const { return (T *)(shared + warp * WARP_BYTES); }
    // A warp that has nothing to write.
    __device__ __forceinline__ void nothing() const {
        if (threadIdx.x % 32 == 0) first[0][threadIdx.x / 32] = first[1][threadIdx.x / 32] = nullptr;
        __syncthreads();
    }
    // All warps of the block come by here, or by `nothing`. Bit t of `out`: tile t is not written.
    __device__ __forceinline__ void store(const Quad &quad, u32 out, T (&v)[SIDE * SIDE]) const {
        const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        const u64 plane = (u64)ny * nx;
        bool inside = quad.at[0] >= a.lo[0] && quad.at[0] + SIDE <= a.hi[0] && quad.at[1] >= a.lo[1] && quad.at[1] + SIDE <= a.hi[1];
        inside = inside && quad.at[2] >= a.lo[2] && quad.at[2] + quad.count() * SIDE <= a.hi[2];
        T *start = a.result + ((i64)quad.at[0] - a.lo[0]) * (i64)plane + ((i64)quad.at[1] - a.lo[1]) * (i64)nx + ((i64)quad.at[2] - a.lo[2]);
        // nodes of a row that are in the first one's sector before it, alike in all planes
        const u32 at = (u32)((u64)start / sizeof(T));
        const auto before = [&](u32 y) { return (at + y * nx) % SECTOR; };
        __syncwarp();
        if (lane < SECTOR) {
            T *own = heads(warp) + lane;
#pragma unroll
            for (u32 y = 0; y < SIDE; y++) {
                if (before(y) == 0) continue;
#pragma unroll
                for (u32 z = 0; z < SIDE; z++) own[SECTOR * (y * SIDE + z)] = v[z * SIDE + y];
            }
        }
        if (lane == 0) first[0][warp] = inside && !(out & 1) ? start : nullptr, first[1][warp] = inside && !(out >> 3 & 1) ? start : nullptr;
        __syncthreads();
        // whether the warp before writes the first columns, and this one those of the next
        const auto follows = [&](u32 next) { return next > 0 && next < PLANES_WARPS && first[1][next - 1] && first[1][next - 1] + 32 == first[0][next]; };
        const bool gives = follows(warp), takes = follows(warp + 1);
        const bool written = !(out >> (lane / SIDE) & 1);
        if (!inside) {
            if (written) store_tile(a, quad, v);
            return;
        }
        const u32 of_plane = (u32)plane;
        const T *next = heads(takes ? warp + 1 : warp) + lane % SECTOR;
        unroll<SIDE>([&](auto row_number) {
            constexpr u32 Y = decltype(row_number)::value;
            // nodes of the lane's row that are in a sector with those of the warp before
            const u32 offset = before(Y);
            const bool head = offset > 0 && lane + offset < SECTOR;
            T *own = start + lane + Y * nx;
            keep_global(own);
            if (takes && !gives && offset > 0) {
                unroll<SIDE>([&](auto plane_number) {
                    constexpr u32 Z = decltype(plane_number)::value;
                    if (head && written) *advance<Z>(own, of_plane) = v[Z * SIDE + Y];
                });
            }
            const bool stored = !head ? written : takes || (!gives && written);
            T *to = own + (head && takes ? 32 : 0);
            keep_global(to);
            if (offset > 0 && takes) {
                unroll<SIDE>([&](auto plane_number) {
                    constexpr u32 Z = decltype(plane_number)::value;
                    if (head) v[Z * SIDE + Y] = next[SECTOR * (Y * SIDE + Z)];
                });
            }
            unroll<SIDE>([&](auto plane_number) {
                constexpr u32 Z = decltype(plane_number)::value;
                if (stored) *advance<Z>(to, of_plane) = v[Z * SIDE + Y];
            });
        });
    }
};
