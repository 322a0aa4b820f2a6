// Step 0 of whole tiles in axis order, encoding (bands.cuh).
#include "bands.cuh"

template <class T, u32 SIDE, u32 POINTS> struct EncodeBands : Bands<T, SIDE, POINTS, true> {
    typedef Bands<T, SIDE, POINTS, true> Base;
    using Base::LAG;
    using Base::PLANES;
    using Base::SLABS;
    typedef typename Base::Memory Memory;

    EncodeLoader<T, SIDE> loader;
    GroupWriter writer;
    // Symbols of a slab: of old planes' rows 0 and 2, rows 1 and 3.
    Group even, odd;
    // Of the next tile, for one thread.
    u32 draw;

    __device__ __forceinline__ EncodeBands(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *buffer, u32 *slot)
        : Base(memory), writer(buffer, slot), draw(0) {
        loader.template open<LAG>(a, memory, tile, entry, along_rows);
    }

    static __device__ __forceinline__ void run(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *buffer) {
        const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
        EncodeBands work(a, memory, tile, entry, along_rows, buffer, a.groups.slots + stream.slot);
        work.all();
        const u32 bytes = work.writer.finish();
        if (threadIdx.x == 0) memory.next = tile_of_draw<T, SIDE, true>(work.draw, a.list_count);
        if (work.excess > 0 || work.writer.largest > 32767) memory.failed = 1;
        __syncthreads();
        if (!memory.failed) note_stream(a.groups, stream.number, stream.chunk, bytes, 0);
        else if (threadIdx.x == 0) leave_bands(a.groups, tile.number);
    }
    template <u32 AT, u32 HALF_AT> __device__ __forceinline__ void fresh_plane(u32 slab, Group &group) {
        const T *from = this->values + AT * Base::STAGE + Base::FRESH;
        T v[BAND_ROWS] = {from[0], from[SIDE], from[2 * SIDE], from[3 * SIDE]};
        this->template new_plane<AT, HALF_AT>(slab, v, group);
    }
    template <u32 AT> __device__ __forceinline__ void fresh_pair(u32 slab, Group &group) {
        fresh_plane<AT, 0>(slab, group);
        fresh_plane<AT + 1, 1>(slab, group);
    }
    // Puts RUNS runs, of which only number SOME has lanes without a group.
    template <u32 RUNS, u32 SOME> __device__ __forceinline__ void put(const Group (&groups)[RUNS]) {
        writer.template put_runs<RUNS, SOME>(groups, __ballot_sync(FULL, this->x_new));
    }
    __device__ __forceinline__ void all() {
        static_assert(PLANES == STAGES, "a batch is a slab");
        loader.template ask_old<LAG>(0);
        loader.template ask_new<LAG>(0);
        // slab 0 puts runs of zeros in front of its own
        writer.at = 0 - LAG / 2;
#pragma unroll 1
        for (u32 slab = 0; slab < SLABS; slab++) {
            this->template old_planes<0, STAGES>(slab, even, odd);
            __syncwarp();
            loader.template ask_old<LAG>(slab + 1);
            copies_arrived_but<Base::UNDER_WAY>();
            __syncwarp();
            // of the slab before
            Group third = {}, fourth = {};
            if (slab > 0) {
                if (LAG == 4) fresh_pair<0>(slab, third);
                fresh_pair<LAG - 2>(slab, fourth);
            }
            if (LAG == 2) fresh_pair<2>(slab, third);
            __syncwarp();
            loader.template ask_new<LAG>(slab + 1);
            // two at a time: four take more registers and more code than they save
            if (LAG == 2) {
                put<2, 1>({fourth, even});
                put<2, 2>({odd, third});
            } else {
                put<2, 2>({third, fourth});
                put<2, 0>({even, odd});
            }
            writer.drain();
        }
        if (threadIdx.x == 0) draw = draw_tile<T, SIDE, true>();
        this->template old_planes<0, 1>(SLABS, even, odd);
        Group group;
        if (LAG == 4) {
            fresh_pair<0>(SLABS, group);
            put<1, 1>({group});
        }
        fresh_plane<LAG - 2, 0>(SLABS, group);
        group.q[4] = even.q[0], group.q[5] = odd.q[0], group.q[6] = even.q[1], group.q[7] = odd.q[1];
        put<1, 1>({group});
    }
};

// Bytes, threads and blocks of a multiprocessor as in codec/backend/cuda/pyramid/bands.rs.
static_assert(BAND_BYTES<float, 32, true> == 85072, "bands.rs");
static_assert(BAND_BYTES<float, 16, true> == 22736, "bands.rs");
static_assert(BAND_BYTES<double, 32, true> == 145552, "bands.rs");
static_assert(BAND_BYTES<double, 16, true> == 39312, "bands.rs");
extern "C" __global__ void __launch_bounds__(256, 2) encode_bands_32_f32(const BandArguments<float> a) { each_band_tile<EncodeBands, float, 32, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) encode_bands_16_f32(const BandArguments<float> a) { each_band_tile<EncodeBands, float, 16, true>(a); }
extern "C" __global__ void __launch_bounds__(256, 1) encode_bands_32_f64(const BandArguments<double> a) { each_band_tile<EncodeBands, double, 32, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) encode_bands_16_f64(const BandArguments<double> a) { each_band_tile<EncodeBands, double, 16, true>(a); }
