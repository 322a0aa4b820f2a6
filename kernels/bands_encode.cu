// Step 0 of whole tiles in axis order, encoding (bands.cuh).
#include "bands.cuh"

template <class T, u32 SIDE, u32 POINTS> struct EncodeBands : Bands<T, SIDE, POINTS, true> {
    typedef Bands<T, SIDE, POINTS, true> Base;
    using Base::LAG;
    using Base::SLABS;
    GroupWriter writer;

    __device__ __forceinline__ EncodeBands(const BandArguments<T> &a, typename Base::Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *buffer, u32 *slot)
        : Base(a, memory, tile, entry, along_rows), writer(buffer, slot) {}

    // Old plane 4 slab + K, and the new plane LAG before it.
    template <u32 K> __device__ __forceinline__ void step(u32 slab) {
        constexpr u32 AT = K * Base::STAGE, J = (K + 8 - LAG) % 4;
        const u32 old = 4 * slab + K;
        T v[BAND_ROWS] = {this->old_rows[0][AT], this->values[AT + SIDE], this->old_rows[1][AT], this->old_rows[2][AT]};
        this->template old_plane<K>(old, v);
        this->loader.template ask<LAG, (K + STAGES - 1) % STAGES>(old + STAGES - 1);
        if (K == 3) {
            writer.put(this->even, __ballot_sync(FULL, this->x_new));
            writer.put(this->odd, FULL);
        }
        if (K >= LAG || slab > 0) fresh<J>(old - LAG, this->values + AT + Base::FRESH);
    }
    template <u32 J> __device__ __forceinline__ void fresh(u32 j, const T *from) {
        T v[BAND_ROWS] = {from[0], from[SIDE], from[2 * SIDE], from[3 * SIDE]};
        this->template new_plane<J % 2>(j, v, this->first);
        if (J % 2 == 1) writer.put(this->first, FULL);
        if (J == 3) writer.drain();
    }
    __device__ __forceinline__ void run() {
        this->start();
        u32 slab = 0;
#pragma unroll 1
        for (;; slab++) {
            step<0>(slab);
            // the last old plane
            if (slab == SLABS) break;
            step<1>(slab);
            step<2>(slab);
            step<3>(slab);
        }
        if (LAG == 3) {
            // one more new plane waited for it
            copies_arrived();
            __syncthreads();
            const T none[BAND_ROWS] = {0, 0, 0, 0};
            this->pass(none);
            fresh<2>(4 * SLABS - 2, this->values + Base::STAGE + Base::FRESH);
        }
        this->first.q[4] = this->even.q[0], this->first.q[5] = this->odd.q[0], this->first.q[6] = this->even.q[1], this->first.q[7] = this->odd.q[1];
        writer.put(this->first, FULL);
    }
};

template <class T, u32 SIDE, u32 POINTS>
__device__ __forceinline__ void encode_tile(const BandArguments<T> &a, BandMemory<T, SIDE, true> &memory, u32 *buffer, const BandTile &tile, u32 entry, bool along_rows) {
    const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
    EncodeBands<T, SIDE, POINTS> work(a, memory, tile, entry, along_rows, buffer, a.groups.slots + stream.slot);
    work.run();
    const u32 bytes = work.writer.finish();
    if (work.excess > 0 || work.writer.largest > 32767) memory.failed = 1;
    __syncthreads();
    if (!memory.failed) note_stream(a.groups, stream.number, stream.chunk, bytes, 0);
    else if (threadIdx.x == 0) leave_bands(a.groups, tile.number);
}

template <class T, u32 SIDE> __device__ __forceinline__ void encode_bands(const BandArguments<T> &a) {
    SHARED_MEMORY(shared);
    typedef BandMemory<T, SIDE, true> Memory;
    Memory &memory = *(Memory *)shared;
    u32 *const buffers = (u32 *)(shared + sizeof(Memory)), *const buffer = buffers + threadIdx.x / 32 * WRITER_WORDS;
    memory.clear();
    for (u32 i = threadIdx.x; i < BandShape<SIDE>::WARPS * WRITER_WORDS; i += blockDim.x) buffers[i] = 0;
    for (u32 entry = blockIdx.x; entry < a.list_count; entry += gridDim.x) {
        const BandTile tile = a.list[entry];
        const Choice choice{a.groups.choices[a.groups.tiles[tile.number].chunk]};
        __syncthreads();
        if (!takes_bands(choice)) {
            if (threadIdx.x == 0) leave_bands(a.groups, tile.number);
            continue;
        }
        memory.fill(a, tile, choice);
        __syncthreads();
        const bool along_rows = choice.favoured() == 2;
        if (choice.points() == 1) encode_tile<T, SIDE, 4>(a, memory, buffer, tile, entry, along_rows);
        else if (choice.points() == 0) encode_tile<T, SIDE, 2>(a, memory, buffer, tile, entry, along_rows);
        else encode_tile<T, SIDE, 6>(a, memory, buffer, tile, entry, along_rows);
    }
}

extern "C" __global__ void __launch_bounds__(256, 2) encode_bands_32_f32(const BandArguments<float> a) { encode_bands<float, 32>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) encode_bands_16_f32(const BandArguments<float> a) { encode_bands<float, 16>(a); }
extern "C" __global__ void __launch_bounds__(256, 1) encode_bands_32_f64(const BandArguments<double> a) { encode_bands<double, 32>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) encode_bands_16_f64(const BandArguments<double> a) { encode_bands<double, 16>(a); }
