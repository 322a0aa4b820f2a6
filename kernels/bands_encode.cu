// Step 0 of whole tiles in axis order, encoding (bands.cuh).
#include "bands.cuh"

// What a symbol is at hand as: of f32 as it was rounded.
template <class T> struct SymbolOf {
    typedef i32 Q;
};
template <> struct SymbolOf<float> {
    typedef float Q;
};

template <class T, u32 SIDE, u32 POINTS> struct EncodeBands : Bands<T, SIDE, POINTS, true> {
    typedef Bands<T, SIDE, POINTS, true> Base;
    using Base::HALF;
    using Base::LAG;
    using Base::PLANES;
    using Base::SLABS;
    using Base::STAGE;
    typedef typename Base::Memory Memory;
    typedef typename Base::R R;
    typedef BandStage<T, SIDE, true> Stage;
    static constexpr u32 OLD = Base::OLD, ROW = Stage::ROW, LAST = SLABS * STAGES / PLANES;
    typedef typename SymbolOf<T>::Q Q;
    struct __align__(2 * sizeof(T)) Pair {
        T first, second;
    };

    EncodeLoader<T, SIDE> loader;
    GroupWriter<BITS_AHEAD> writer;
    // The lane's groups of a slab, of run 0.
    StagedRun<Q> *staged;
    // Old rows: lanes of even x do row 0, those of odd x row 2, each the node behind the old one at its x or before. In the first stage the old node, the last one
    // of the row and the value of the new one; the place of the old node among the old rows of the first plane.
    const T *old, *end, *behind;
    Pair *pair;
    const bool odd_x;
    // Row 0 of the values of the first stage.
    const T *values;
    // By how much an error was too large.
    T excess;
    // Of the next tile, for one thread.
    u32 draw;

    __device__ __forceinline__ EncodeBands(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *buffer, u32 *slot)
        : Base(memory), writer(buffer, slot), staged((StagedRun<Q> *)(buffer + GroupWriter<BITS_AHEAD>::WORDS + 4 * (threadIdx.x % 32))), odd_x(threadIdx.x % 2),
          values(memory.stages[0].old + BAND_ROWS * this->quad * SIDE + this->x), excess(0), draw(0) {
        loader.template open<LAG>(a, memory, tile, entry, along_rows);
        const u32 first = this->x - odd_x;
        const bool exists = first + 1 < SIDE - 1;
        old = memory.stages[0].coarse + (2 * this->quad + odd_x) * ROW + first / 2;
        end = old + (OLD - 1 - first / 2);
        behind = exists ? memory.stages[0].old + (BAND_ROWS * this->quad + 2 * odd_x) * SIDE + first + 1 : end;
        pair = (Pair *)(memory.rows[0] + (Memory::PAD + 2 * this->quad + odd_x) * SIDE + first);
    }

    static __device__ __forceinline__ void run(const BandArguments<T> &a, Memory &memory, const BandTile &tile, u32 entry, bool along_rows, u32 *buffer) {
        const TileStream stream(a.groups, tile.number, 1 + threadIdx.x / 32);
        EncodeBands work(a, memory, tile, entry, along_rows, buffer, a.groups.slots + stream.slot);
        work.all(a);
        const u32 bytes = work.writer.finish();
        if (threadIdx.x == 0) memory.next = tile_of_draw<T, SIDE, true>(a, work.draw);
        if (work.excess > 0 || work.writer.largest > 32767) memory.failed = 1;
        __syncthreads();
        if (!memory.failed) note_stream(a.groups, stream.number, stream.chunk, bytes, 0);
        else if (threadIdx.x == 0) leave_bands(a.groups, tile.number);
    }
    // v becomes the reconstruction of a node with prediction p; its symbol. What is no symbol is wide.
    static __device__ __forceinline__ Q take(T &v, T p, const Quantizer<T> &z, T &error) {
        const T rounded = R::add(R::mul(R::sub(v, p), z.inverse), R::ROUNDER), steps = R::sub(rounded, R::ROUNDER), r = R::fma(steps, z.step, p);
        error = R::max(error, R::abs(R::sub(v, r)));
        v = r;
        if constexpr (sizeof(T) == 8) return R::abs(steps) <= (T)32767 ? (i32)((u32)R::bits(rounded) - (u32)R::bits(R::ROUNDER)) : 1 << 30;
        else return steps;
    }
    // New nodes of an old row, two rows at a time, with the old ones in front of them; `last`: the last old node. What is left is the symbol and the node.
    __device__ __forceinline__ Q across(const T (&weights)[POINTS], T old, T last, T &v, const Quantizer<T> &z, T &error) const {
        const T p = Base::predict(weights, [&](u32 k) {
            if (k + 1 < HALF) return __shfl_up_sync(FULL, old, 2 * (HALF - 1 - k), SIDE);
            if (k + 1 == HALF) return old;
            const T other = __shfl_down_sync(FULL, old, 2 * (k + 1 - HALF));
            return this->x - odd_x + 2 * (k + 1 - HALF) == SIDE ? last : other;
        });
        return take(v, p, z, error);
    }
    // Old planes of a step, of which the last has only one: the symbols of rows 1 and 3 of each, and of the rows that the lane does across.
    template <u32 COUNT> __device__ __forceinline__ void old_planes(u32 step, Q (&rows)[PLANES], Q (&ones)[PLANES], Q (&threes)[PLANES]) {
        const Quantizer<T> z = this->quantizers[min(step * PLANES / STAGES, SLABS - 1) * (SLABS * SLABS)].of;
        // steps take turns
        const u32 turn = step % 2 * (PLANES * Memory::ROWS);
        T *const own = this->row + turn;
        // of the node behind an old one, or of the last old one in its place, which predicts itself: read anew, since registers are short
        T error = 0, along_x[POINTS];
        Base::load_weights(this->memory.weights[this->x / 2], along_x);
        copies_arrived_but<1>();
        __syncwarp();
        this->shift();
        T v[PLANES][BAND_ROWS];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            const T first = old[k * STAGE];
            T second = behind[k * STAGE];
            rows[k] = across(along_x, first, end[k * STAGE], second, z, error);
            pair[(turn + k * Memory::ROWS) / 2] = {first, second};
        }
        // the last row of both planes: lanes of even x do the first one
        Q of_last[2] = {0, 0};
        if (this->has_last) {
            const u32 plane = odd_x ? STAGE : 0;
            // old row 2 of the quad, row 3 of its values
            const u32 to_old = odd_x ? ROW : 2 * ROW, to_behind = odd_x ? SIDE : 3 * SIDE;
            const T first = old[plane + to_old], last = end[plane + to_old];
            T second = behind[plane + (behind == end ? to_old : to_behind)], error_of_last = 0;
            const Q q = across(along_x, first, last, second, z, error_of_last), before = __shfl_up_sync(FULL, q, 1);
            if (this->last_quad && (COUNT > 1 || !odd_x)) {
                pair[(turn + (odd_x ? Memory::ROWS + SIDE : 2 * SIDE)) / 2] = {first, second};
                error = R::max(error, error_of_last);
            }
            if (odd_x) of_last[0] = before, of_last[1] = q;
        }
        __syncthreads();
        T weights[POINTS], others[POINTS];
        Base::load_weights(this->memory.weights[2 * this->quad], weights);
        Base::load_weights(this->memory.weights[2 * this->quad + 1], others);
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            T near[POINTS + 1];
            Base::load_near(own + k * Memory::ROWS, near);
            v[k][0] = near[HALF - 1], v[k][2] = near[HALF];
            v[k][1] = values[k * STAGE + SIDE];
            ones[k] = take(v[k][1], Base::predict(weights, [&](u32 i) { return near[i]; }), z, error);
            // the last quad's is done
            T other = values[k * STAGE + 3 * SIDE], error_of_other = 0;
            const Q q = take(other, Base::predict(others, [&](u32 i) { return near[i + 1]; }), z, error_of_other);
            threes[k] = this->last_quad ? of_last[k] : q;
            error = R::max(error, this->last_quad ? 0 : error_of_other);
            v[k][3] = this->last_quad ? near[HALF + 1] : other;
        }
        excess = R::max(excess, R::sub(error, z.check));
        this->template pass<COUNT>(v);
    }
    // New plane AT of a step: the symbols of its rows.
    template <u32 AT> __device__ __forceinline__ void new_plane(u32 step, Q (&q)[BAND_ROWS]) {
        const T *from = values + AT * STAGE + Stage::VALUES;
        T v[BAND_ROWS] = {from[0], from[SIDE], from[2 * SIDE], from[3 * SIDE]}, weights[POINTS], error = 0;
        const Quantizer<T> z = this->open_plane(PLANES * step + AT - LAG, weights);
#pragma unroll
        for (u32 r = 0; r < BAND_ROWS; r++) q[r] = take(v[r], this->template predict_row<AT>(weights, r), z, error);
        excess = R::max(excess, R::sub(error, z.check));
    }
    // Both new planes of a step, to the writer's run.
    __device__ __forceinline__ void new_planes(u32 step, u32 run) {
        Q first[BAND_ROWS], second[BAND_ROWS];
        new_plane<0>(step, first);
        new_plane<1>(step, second);
        stage(run, first, second);
    }
    __device__ __forceinline__ void stage(u32 run, const Q (&first)[BAND_ROWS], const Q (&second)[BAND_ROWS]) { staged[run].put(0, first), staged[run].put(1, second); }
    __device__ __forceinline__ void all(const BandArguments<T> &a) {
        constexpr u32 EVEN = LAG / 2, ODD = EVEN + 1;
        loader.template ask_old<LAG>(0);
        loader.template ask_new<LAG>(0);
        const u32 live = __ballot_sync(FULL, this->x_new);
        // what even lanes have of the rows that new nodes of the last axis are alone in
        const Q none[BAND_ROWS] = {};
        stage(EVEN, none, none);
        // a step is half a slab; there is one copy of the code for all runs: instructions that are not in their cache cost more than moves
#pragma unroll 1
        for (u32 step = 0; step <= LAST; step++) {
            const u32 half = step % 2;
            Q rows[PLANES], ones[PLANES], threes[PLANES];
            // runs that are ready, of a slab's
            u32 run = step == 1 ? EVEN : 0, runs = half * 4;
            if (step < LAST) {
                old_planes<PLANES>(step, rows, ones, threes);
                __syncwarp();
                loader.template ask_old<LAG>(step + 1);
                // to the lane of the new node
                Q *const to = &staged[EVEN].four(half)[0] + (odd_x ? 1 : 4);
                to[0] = rows[0], to[2] = rows[1];
                const Q odd[BAND_ROWS] = {ones[0], threes[0], ones[1], threes[1]};
                staged[ODD].put(half, odd);
                copies_arrived_but<1>();
                __syncwarp();
                if (step >= LAG / 2) new_planes(step, LAG == 2 ? 3 * half : half);
                __syncwarp();
                loader.template ask_new<LAG>(step + 1);
            } else {
                if (threadIdx.x == 0) draw = draw_tile<T, SIDE, true>(a);
                old_planes<1>(step, rows, ones, threes);
                copies_arrived();
                __syncwarp();
                u32 last = step;
                if (LAG == 4) {
                    new_planes(step, 0);
                    this->pass_none();
                    last++;
                    __syncwarp();
                    loader.template ask_new<LAG>(last);
                    copies_arrived();
                    __syncwarp();
                }
                // the last new plane and the last old one
                const Q before = __shfl_up_sync(FULL, rows[0], 1);
                const Q olds[BAND_ROWS] = {odd_x ? before : 0, ones[0], odd_x ? rows[0] : 0, threes[0]};
                Q news[BAND_ROWS];
                new_plane<0>(last, news);
                stage(LAG / 2 - 1, news, olds);
                runs = LAG / 2;
            }
#pragma unroll 1
            for (; run < runs; run++) {
                writer.put(staged[run], step < LAST && run == EVEN ? live : FULL);
                writer.drain();
            }
        }
    }
};

// Bytes, threads and blocks of a multiprocessor as in codec/backend/cuda/pyramid/bands.rs.
static_assert(BAND_BYTES<float, 32, true> == 73648, "bands.rs");
static_assert(BAND_BYTES<float, 16, true> == 19248, "bands.rs");
static_assert(BAND_BYTES<double, 32, true> == 104496, "bands.rs");
static_assert(BAND_BYTES<double, 16, true> == 27632, "bands.rs");
extern "C" __global__ void __launch_bounds__(256, 3) encode_bands_32_f32(const BandArguments<float> a) { each_band_tile<EncodeBands, float, 32, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 11) encode_bands_16_f32(const BandArguments<float> a) { each_band_tile<EncodeBands, float, 16, true>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) encode_bands_32_f64(const BandArguments<double> a) { each_band_tile<EncodeBands, double, 32, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) encode_bands_16_f64(const BandArguments<double> a) { each_band_tile<EncodeBands, double, 16, true>(a); }
