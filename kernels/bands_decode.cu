// Step 0 of whole tiles in axis order, decoding (bands.cuh).
#include "bands.cuh"

template <class T, u32 SIDE, u32 POINTS> struct DecodeBands : Bands<T, SIDE, POINTS, false> {
    typedef Bands<T, SIDE, POINTS, false> Base;
    using Base::LAG;
    using Base::PLANES;
    using Base::SLABS;
    typedef typename Base::Memory Memory;
    GroupReader reader;
    // Where the first new plane of the next slab goes, at the lane's rows; rows that lie in the box, planes of it, and whether these are all.
    T *result;
    u32 rows, first_plane, end_plane;
    bool whole;
    u32 plane_stride, row_stride;
    // Symbols of the two pairs of new planes of a slab.
    PackedGroup third, fourth;
    // A place without a node has a symbol.
    bool stray;

    __device__ __forceinline__ DecodeBands(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *window,
                                           const u8 *stream, u32 bytes)
        : Base(a, memory, tile, entry, along_rows), reader(window, stream, bytes, 32767), stray(false) {
        open(a, tile, along_rows);
    }

    static __device__ __forceinline__ void run(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *window) {
        const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
        const u32 bytes = a.groups.lengths[stream.number];
        DecodeBands work(a, memory, tile, entry, along_rows, window, a.groups.output + a.groups.places[stream.number], bytes);
        work.all();
        if (!work.reader.finish(bytes) && threadIdx.x % 32 == 0) atomicOr(&a.groups.chunks[stream.chunk].error, 1u);
    }
    __device__ __forceinline__ void open(const BandArguments<T> &a, const BandTile &tile, bool along_rows) {
        const u32 walk = along_rows ? 1 : 0, row_axis = 1 - walk;
        const u32 row = a.hi[2] - a.lo[2], plane = row * (a.hi[1] - a.lo[1]);
        plane_stride = along_rows ? row : plane, row_stride = along_rows ? plane : row;
        // it may begin before the box
        const u32 first_row = tile.at[row_axis] + BAND_ROWS * this->quad;
        const i64 walked = (i64)tile.at[walk] - a.lo[walk] + 1 - 2 * (i64)LAG, down = (i64)first_row - a.lo[row_axis];
        result = a.result + walked * (i64)plane_stride + down * (i64)row_stride + ((i64)tile.at[2] + this->x - a.lo[2]);
        const bool inside = tile.at[2] + this->x >= a.lo[2] && tile.at[2] + this->x < a.hi[2];
        rows = 0;
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) rows |= (u32)(inside && first_row + r >= a.lo[row_axis] && first_row + r < a.hi[row_axis]) << r;
        first_plane = a.lo[walk] > tile.at[walk] ? a.lo[walk] - tile.at[walk] : 0;
        end_plane = a.hi[walk] > tile.at[walk] ? a.hi[walk] - tile.at[walk] : 0;
        keep_global(result);
        keep(plane_stride);
        keep(row_stride);
        whole = __all_sync(FULL, rows == 15 && first_plane == 0 && end_plane >= BandShape<SIDE>::OLD * 2 - 2);
    }
    __device__ __forceinline__ void store(T *to, u32 plane, const T (&v)[BAND_ROWS]) const {
        if (whole) {
            T *const rows_of[BAND_ROWS] = {to, advance<1>(to, row_stride), advance<2>(to, row_stride), advance<3>(to, row_stride)};
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) rows_of[r][0] = v[r];
        } else if (plane >= first_plane && plane < end_plane) {
#pragma unroll
            for (u32 r = 0; r < BAND_ROWS; r++) {
                if (rows >> r & 1) to[(u64)row_stride * r] = v[r];
            }
        }
    }
    template <u32 AT, u32 HALF_AT> __device__ __forceinline__ void fresh_plane(u32 slab) {
        T v[BAND_ROWS];
        this->template new_plane<AT, HALF_AT>(slab, v, (AT < 2) == (LAG == 4) ? third : fourth);
        store(advance<2 * AT>(result, plane_stride), 2 * (STAGES * slab + AT - LAG) + 1, v);
    }
    template <u32 AT> __device__ __forceinline__ void fresh_pair(u32 slab) {
        fresh_plane<AT, 0>(slab);
        fresh_plane<AT + 1, 1>(slab);
    }
    // COUNT old planes of a slab, from number FIRST on.
    template <u32 FIRST, u32 COUNT> __device__ __forceinline__ void old_planes(u32 slab) {
        if (this->last_quad && !this->x_new) {
#pragma unroll
            for (u32 k = 0; k < COUNT; k++) stray |= this->symbol(this->odd, 2 * (FIRST + k) + 1) != 0;
        }
        Base::template old_planes<FIRST, COUNT>(slab);
        each<COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value;
            // the last one is the neighbour of the new plane before it
            constexpr u32 AT = 2 * (FIRST + K) + 2 * LAG - (COUNT > 1 ? 1 : 2);
            store(advance<AT>(result, plane_stride), this->position(STAGES * slab + FIRST + K), this->window[Base::CARRY + K]);
        });
    }
    // The old planes of half a slab, from number FIRST on.
    template <u32 FIRST> __device__ __forceinline__ void batch(u32 slab) {
        old_planes<FIRST, PLANES>(slab);
        __syncwarp();
        // while nothing else is under way that is not waited for soon
        if (FIRST == 0) reader.template advance<100>();
        this->loader.template ask_old<FIRST>(slab + 1);
    }
    __device__ __forceinline__ void all() {
        static_assert(2 * PLANES == STAGES, "a slab is two batches");
        this->start();
#pragma unroll 1
        for (u32 slab = 0; slab < SLABS; slab++) {
            reader.template get<false>(this->even, __ballot_sync(FULL, this->x_new));
            reader.template get<true>(this->odd);
            batch<0>(slab);
            if (slab > 0) fresh_pair<0>(slab);
            batch<2>(slab);
            if (LAG == 2) {
                reader.template get<true>(third);
                fresh_pair<2>(slab);
            } else {
                if (slab > 0) fresh_pair<2>(slab);
                reader.template get<true>(third);
            }
            reader.template get<true>(fourth);
            result = advance<2 * STAGES>(result, plane_stride);
        }
        // the last old plane
        const u32 pair = fourth.pairs[2], next = fourth.pairs[3];
        this->even.pairs[0] = __byte_perm(pair, next, 0x5410), this->odd.pairs[0] = __byte_perm(pair, next, 0x7632);
        if (!this->x_new) stray |= this->symbol(this->even, 0) != 0 || this->symbol(this->even, 1) != 0;
        old_planes<0, 1>(SLABS);
        reader.broken |= stray;
        if (LAG == 4) {
            fresh_pair<0>(SLABS);
            this->pass_none();
        }
        fresh_plane<LAG - 2, 0>(SLABS);
    }
};

// Bytes, threads and blocks of a multiprocessor as in codec/backend/cuda/pyramid/bands.rs.
static_assert(BAND_BYTES<float, 32, false> == 33616, "bands.rs");
static_assert(BAND_BYTES<float, 16, false> == 9328, "bands.rs");
static_assert(BAND_BYTES<double, 32, false> == 50704, "bands.rs");
static_assert(BAND_BYTES<double, 16, false> == 14512, "bands.rs");
extern "C" __global__ void __launch_bounds__(256, 3) decode_bands_32_f32(const BandArguments<float> a) { each_band_tile<DecodeBands, float, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) decode_bands_16_f32(const BandArguments<float> a) { each_band_tile<DecodeBands, float, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) decode_bands_32_f64(const BandArguments<double> a) { each_band_tile<DecodeBands, double, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) decode_bands_16_f64(const BandArguments<double> a) { each_band_tile<DecodeBands, double, 16, false>(a); }
