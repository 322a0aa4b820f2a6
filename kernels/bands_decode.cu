// Step 0 of whole tiles in axis order, decoding (bands.cuh).
#include "bands.cuh"

template <class T, u32 SIDE, u32 POINTS> struct DecodeBands : Bands<T, SIDE, POINTS, false> {
    typedef Bands<T, SIDE, POINTS, false> Base;
    using Base::HALF;
    using Base::LAG;
    using Base::OLD;
    using Base::PLANES;
    using Base::SLABS;
    using Base::STAGE;
    typedef typename Base::R R;
    typedef typename Base::Memory Memory;

    BandNodes<T, SIDE, false> loader;
    GroupReader reader;
    // The lanes of a new node's last neighbours on the last axis, which may be nearer than those of others, and the weights of all.
    u32 from[HALF];
    T along_x[POINTS];
    // In the first stage: rows 0, 2 and 3 of the old plane.
    const T *old_rows[3];
    // The lane's groups: of runs 0 and 1 of a slab, of runs 2 and 3 of an even and of an odd one.
    PackedGroup *const staged;
    // Where the first new plane of the next slab goes, at the lane's rows; rows that lie in the box, planes of it, and whether these are all.
    T *result;
    u32 rows, first_plane, end_plane;
    bool whole;
    u32 plane_stride, row_stride;
    // A place without a node has a symbol.
    bool stray;
    // Of the next tile, for one thread.
    u32 draw;

    __device__ __forceinline__ DecodeBands(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *window,
                                           const u8 *stream, u32 bytes)
        : Base(memory), reader(window, stream, bytes, 32767),
          staged((PackedGroup *)(window + READER_WORDS + 4) + threadIdx.x % 32), stray(false), draw(0) {
        loader.open_nodes(a, memory, entry, along_rows);
        const u32 node = min(this->x / 2, OLD - 3);
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) {
            // an old node predicts itself
            along_x[k] = this->x_new ? memory.weights[node][k] : k == HALF;
        }
#pragma unroll
        for (u32 k = 0; k < HALF; k++) from[k] = this->x_new ? this->position(min(node + 1 + k, OLD - 1)) : this->x;
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            // of quads before the last one nobody needs the third, which another warp may be writing
            old_rows[i] = memory.stages[0].coarse + (2 * this->quad + (i == 2 && !this->last_quad ? 0 : i)) * BandStage<T, SIDE, false>::ROW + (this->x + 1) / 2;
        }
        open(a, tile, along_rows);
    }

    static __device__ __forceinline__ void run(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *window) {
        const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
        const u32 bytes = a.groups.lengths[stream.number];
        DecodeBands work(a, memory, tile, entry, along_rows, window, a.groups.output + a.groups.places[stream.number], bytes);
        work.all(a);
        if (threadIdx.x == 0) memory.next = tile_of_draw<T, SIDE, false>(a, work.draw);
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
    // Of a slab's run 2 or 3.
    __device__ __forceinline__ PackedGroup &later(u32 slab, u32 run) const { return staged[32 * (run + slab % 2 * 2)]; }
    // The reconstruction of node k of a group with prediction p.
    static __device__ __forceinline__ T rebuilt(const PackedGroup &group, u32 k, T p, const Quantizer<T> &z) { return R::fma(group.number<T>(k), z.step, p); }
    // Neighbour k of a new node on the last axis; an old node itself for HALF. Where there is none, weights are 0.
    __device__ __forceinline__ T neighbour(T v, u32 k) const {
        if (k < HALF) return __shfl_up_sync(FULL, v, 2 * (HALF - k) - 1, SIDE);
        return __shfl_sync(FULL, v, from[k - HALF], SIDE);
    }
    // A row of an old plane, by the nodes of S(1): the others, node k of a group each.
    __device__ __forceinline__ void across(T &v, const PackedGroup &group, u32 k, const Quantizer<T> &z) const {
        const T old = v, r = rebuilt(group, k, Base::predict(along_x, [&](u32 i) { return neighbour(old, i); }), z);
        v = this->x_new ? r : old;
    }
    // COUNT old planes of a slab, from number FIRST on.
    template <u32 FIRST, u32 COUNT> __device__ __forceinline__ void rebuild_old(u32 slab, const PackedGroup &even, const PackedGroup &odd) {
        const Quantizer<T> z = this->quantizers[min(slab, SLABS - 1) * (SLABS * SLABS)].of;
        // batches take turns
        T *const own = this->row + FIRST / PLANES * (PLANES * Memory::ROWS);
        // the last one is not followed by others
        if (COUNT < PLANES) copies_arrived();
        else copies_arrived_but<1>();
        __syncwarp();
        this->shift();
        T v[PLANES][BAND_ROWS];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            const u32 at = (FIRST + k) * STAGE;
            v[k][0] = old_rows[0][at], v[k][2] = old_rows[1][at], v[k][3] = old_rows[2][at];
        }
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            across(v[k][0], even, 2 * (FIRST + k), z);
            across(v[k][2], even, 2 * (FIRST + k) + 1, z);
            own[k * Memory::ROWS] = v[k][0], own[k * Memory::ROWS + SIDE] = v[k][2];
        }
        // a warp that has the last quad and others does both with the fourth row
        if (this->has_last) {
#pragma unroll
            for (u32 k = 0; k < COUNT; k++) {
                T last = v[k][3];
                across(last, odd, 2 * (FIRST + k) + 1, z);
                if (this->last_quad) own[k * Memory::ROWS + 2 * SIDE] = last, v[k][3] = last;
            }
        }
        __syncthreads();
        T weights[POINTS], others[POINTS];
        this->load_weights(this->memory.weights[2 * this->quad], weights);
        this->load_weights(this->memory.weights[2 * this->quad + 1], others);
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            T near[POINTS + 1];
#pragma unroll
            for (u32 i = 0; i < POINTS + 1; i++) {
                near[i] = i + 1 == HALF ? v[k][0] : i == HALF ? v[k][2] : own[(i32)(k * Memory::ROWS) + ((i32)(i + 1) - (i32)HALF) * (i32)SIDE];
            }
            v[k][1] = rebuilt(odd, 2 * (FIRST + k), Base::predict(weights, [&](u32 i) { return near[i]; }), z);
            // the last quad's is done
            const T other = rebuilt(odd, 2 * (FIRST + k) + 1, Base::predict(others, [&](u32 i) { return near[i + 1]; }), z);
            v[k][3] = this->last_quad ? v[k][3] : other;
        }
        this->template pass<COUNT>(v);
    }
    template <u32 AT, u32 HALF_AT> __device__ __forceinline__ void fresh_plane(u32 slab) {
        // with a lag of a whole slab both pairs are those of the one before
        const PackedGroup group = later(LAG == 4 || AT < 2 ? slab - 1 : slab, (AT < 2) == (LAG == 4) ? 2 : 3);
        T v[BAND_ROWS], weights[POINTS];
        const Quantizer<T> z = this->open_plane(STAGES * slab + AT - LAG, weights);
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) v[r] = rebuilt(group, HALF_AT * BAND_ROWS + r, this->template predict_row<AT % PLANES>(weights, r), z);
        store(advance<2 * AT>(result, plane_stride), 2 * (STAGES * slab + AT - LAG) + 1, v);
    }
    template <u32 AT> __device__ __forceinline__ void fresh_pair(u32 slab) {
        fresh_plane<AT, 0>(slab);
        fresh_plane<AT + 1, 1>(slab);
    }
    // The same, and to the result.
    template <u32 FIRST, u32 COUNT> __device__ __forceinline__ void old_planes(u32 slab) {
        const PackedGroup even = staged[0], odd = staged[32];
        if (this->last_quad && !this->x_new) {
#pragma unroll
            for (u32 k = 0; k < COUNT; k++) stray |= odd.template number<T>(2 * (FIRST + k) + 1) != 0;
        }
        rebuild_old<FIRST, COUNT>(slab, even, odd);
        each<COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value;
            // the last one is the neighbour of the new plane before it
            constexpr u32 AT = 2 * (FIRST + K) + 2 * LAG - (COUNT > 1 ? 1 : 2);
            store(advance<AT>(result, plane_stride), this->position(STAGES * slab + FIRST + K), this->window[Base::CARRY + K]);
        });
    }
    // Asks for the nodes of the old planes of a batch.
    template <u32 FIRST> __device__ __forceinline__ void ask_old(u32 slab) {
        if (slab < SLABS) loader.template ask_two<FIRST>();
        else if (FIRST == 0) loader.ask_last();
        copies_together();
    }
    // The old planes of half a slab, from number FIRST on.
    template <u32 FIRST> __device__ __forceinline__ void batch(u32 slab) {
        old_planes<FIRST, PLANES>(slab);
        __syncwarp();
        // while nothing else is under way that is not waited for soon
        if (FIRST == 0) reader.template advance<100>();
        ask_old<FIRST>(slab + 1);
    }
    __device__ __forceinline__ void all(const BandArguments<T> &a) {
        static_assert(2 * PLANES == STAGES, "a slab is two batches");
        ask_old<0>(0);
        ask_old<2>(0);
        const u32 live = __ballot_sync(FULL, this->x_new);
#pragma unroll 1
        for (u32 slab = 0; slab < SLABS; slab++) {
            // one copy of the code for all runs: instructions that are not in their cache cost more than moves
#pragma unroll 1
            for (u32 run = 0; run < 4; run++) {
                PackedGroup group;
                reader.template get<false>(group, run == 0 ? live : FULL);
                staged[32 * (run < 2 ? run : run + slab % 2 * 2)] = group;
            }
            __syncwarp();
            batch<0>(slab);
            if (slab > 0) fresh_pair<0>(slab);
            batch<2>(slab);
            if (LAG == 2 || slab > 0) fresh_pair<2>(slab);
            __syncwarp();
            result = advance<2 * STAGES>(result, plane_stride);
        }
        if (threadIdx.x == 0) draw = draw_tile<T, SIDE, false>(a);
        // the last old plane
        const PackedGroup &fourth = later(SLABS - 1, 3);
        const u32 pair = fourth.pairs[2], next = fourth.pairs[3], even = __byte_perm(pair, next, 0x5410);
        staged[0].pairs[0] = even, staged[32].pairs[0] = __byte_perm(pair, next, 0x7632);
        if (!this->x_new) stray |= even != (PackedGroup::BIAS | PackedGroup::BIAS << 16);
        __syncwarp();
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
static_assert(BAND_BYTES<float, 32, false> == 58960, "bands.rs");
static_assert(BAND_BYTES<float, 16, false> == 15856, "bands.rs");
static_assert(BAND_BYTES<double, 32, false> == 75728, "bands.rs");
static_assert(BAND_BYTES<double, 16, false> == 20848, "bands.rs");
extern "C" __global__ void __launch_bounds__(256, 3) decode_bands_32_f32(const BandArguments<float> a) { each_band_tile<DecodeBands, float, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) decode_bands_16_f32(const BandArguments<float> a) { each_band_tile<DecodeBands, float, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) decode_bands_32_f64(const BandArguments<double> a) { each_band_tile<DecodeBands, double, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) decode_bands_16_f64(const BandArguments<double> a) { each_band_tile<DecodeBands, double, 16, false>(a); }
