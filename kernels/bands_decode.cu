// Step 0 of whole tiles in axis order, decoding (bands.cuh).
#include "bands.cuh"

template <class T, u32 SIDE, u32 POINTS> struct DecodeBands : Bands<T, SIDE, POINTS, false> {
    typedef Bands<T, SIDE, POINTS, false> Base;
    using Base::LAG;
    using Base::SLABS;
    GroupReader reader;
    // Where the new plane of the next step goes, at the lane's rows; rows that lie in the box, planes of it, and whether these are all.
    T *result;
    u32 rows, first_plane, end_plane;
    bool whole;
    u32 plane_stride, row_stride;
    // A place without a node has a symbol.
    bool stray;

    __device__ __forceinline__ DecodeBands(const BandArguments<T> &a, typename Base::Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *window, const u8 *stream, u32 bytes)
        : Base(a, memory, tile, entry, along_rows), reader(window, stream, bytes, 32767), stray(false) {
        open(a, tile, along_rows);
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
    __device__ __forceinline__ void get(PackedGroup &packed, u32 live) {
        Group group;
        reader.get(group, live);
        packed.pack(group);
    }
    template <u32 K> __device__ __forceinline__ void step(u32 slab) {
        if (K == 0) {
            get(this->even, __ballot_sync(FULL, this->x_new));
            get(this->odd, FULL);
        }
        planes<K>(slab);
        if (K == LAG - 1) get(this->first, FULL);
        // before the old planes of the next slab
        if (K == 3) get(this->second, FULL);
    }
    // Old plane 4 slab + K, and the new plane LAG before it.
    template <u32 K> __device__ __forceinline__ void planes(u32 slab) {
        constexpr u32 AT = K * Base::STAGE, J = (K + 8 - LAG) % 4;
        const u32 old = 4 * slab + K;
        T v[BAND_ROWS] = {this->old_rows[0][AT], 0, this->old_rows[1][AT], this->old_rows[2][AT]};
        if (this->last_quad && !this->x_new) stray |= this->symbol(this->odd, 2 * K + 1) != 0;
        this->template old_plane<K>(old, v);
        this->loader.template ask<LAG, (K + STAGES - 1) % STAGES>(old + STAGES - 1);
        // the last one is the neighbour of the new plane before it
        store(K == 0 && old == Base::OLD - 1 ? advance<2 * LAG - 2>(result, plane_stride) : advance<2 * LAG - 1>(result, plane_stride), this->position(old), v);
        if (K >= LAG || slab > 0) fresh<J>(old - LAG);
        result = advance<2>(result, plane_stride);
    }
    template <u32 J> __device__ __forceinline__ void fresh(u32 j) {
        T v[BAND_ROWS];
        this->template new_plane<J % 2>(j, v, J < 2 ? this->first : this->second);
        store(result, 2 * j + 1, v);
    }
    __device__ __forceinline__ void run() {
        this->start();
#pragma unroll 1
        for (u32 slab = 0; slab < SLABS; slab++) {
            step<0>(slab);
            step<1>(slab);
            step<2>(slab);
            step<3>(slab);
        }
        // the last old plane
        const u32 pair = this->second.pairs[2], next = this->second.pairs[3];
        this->even.pairs[0] = __byte_perm(pair, next, 0x5410), this->odd.pairs[0] = __byte_perm(pair, next, 0x7632);
        if (!this->x_new) stray |= this->symbol(this->even, 0) != 0 || this->symbol(this->even, 1) != 0;
        planes<0>(SLABS);
        reader.broken |= stray;
        if (LAG == 3) {
            const T none[BAND_ROWS] = {0, 0, 0, 0};
            this->pass(none);
            fresh<2>(4 * SLABS - 2);
        }
    }
};

template <class T, u32 SIDE, u32 POINTS> __device__ __forceinline__ void decode_tile(const BandArguments<T> &a, BandMemory<T, SIDE, false> &memory, u32 *window, const BandTile &tile, u32 entry, bool along_rows) {
    const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
    const u32 bytes = a.groups.lengths[stream.number];
    DecodeBands<T, SIDE, POINTS> work(a, memory, tile, entry, along_rows, window, a.groups.output + a.groups.places[stream.number], bytes);
    work.run();
    if (!work.reader.finish(bytes) && threadIdx.x % 32 == 0) atomicOr(&a.groups.chunks[stream.chunk].error, 1u);
}

template <class T, u32 SIDE> __device__ __forceinline__ void decode_bands(const BandArguments<T> &a) {
    SHARED_MEMORY(shared);
    typedef BandMemory<T, SIDE, false> Memory;
    Memory &memory = *(Memory *)shared;
    u32 *const window = (u32 *)(shared + sizeof(Memory)) + threadIdx.x / 32 * (READER_WORDS + 4);
    memory.clear();
    for (u32 entry = blockIdx.x; entry < a.list_count; entry += gridDim.x) {
        const BandTile tile = a.list[entry];
        const Choice choice{a.groups.choices[a.groups.tiles[tile.number].chunk]};
        __syncthreads();
        // their symbols are at hand
        if (!takes_bands(choice) || a.groups.chunks[a.groups.tiles[tile.number].chunk].coded > 0) continue;
        memory.fill(a, tile, choice);
        __syncthreads();
        const bool along_rows = choice.favoured() == 2;
        if (choice.points() == 1) decode_tile<T, SIDE, 4>(a, memory, window, tile, entry, along_rows);
        else if (choice.points() == 0) decode_tile<T, SIDE, 2>(a, memory, window, tile, entry, along_rows);
        else decode_tile<T, SIDE, 6>(a, memory, window, tile, entry, along_rows);
    }
}

extern "C" __global__ void __launch_bounds__(256, 2) decode_bands_32_f32(const BandArguments<float> a) { decode_bands<float, 32>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) decode_bands_16_f32(const BandArguments<float> a) { decode_bands<float, 16>(a); }
extern "C" __global__ void __launch_bounds__(256, 1) decode_bands_32_f64(const BandArguments<double> a) { decode_bands<double, 32>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) decode_bands_16_f64(const BandArguments<double> a) { decode_bands<double, 16>(a); }
