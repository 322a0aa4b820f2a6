// Whole tiles of corner arrays. There are few, and each array waits for the next smaller one, so that the time of a single tile counts: a warp a tile whose
// nodes are all in shared memory, a lane a node, so that nothing is done for nodes that are not there; exact nodes at once. A block takes four tiles.
#include "planes_cut.cuh"

template <class T, bool ENCODE> struct NodeTile {
    const WholeArguments<T> &a;
    // Of each new node of each step.
    const T (&weights)[3][3][4];
    const Quantizer<T> z;
    typename Real<T>::Bits *delta;
    T *v;
    u16 *symbols;
    u32 exact;

    // Distances of rows and planes, so that lines along all axes lie in different banks.
    static constexpr u32 ROW = 12, PLANE = 100, PLACES = SIDE * PLANE;
    static constexpr u32 DISTANCE[3] = {PLANE, ROW, 1};

    // The prediction of new node k of an axis, from the line along it that begins at `line`. Old node j is at position 2^(step + 1) j, the last one at 7.
    template <u32 AXIS> __device__ __forceinline__ T predict(u32 step, const T *line, u32 k) const {
        typedef Real<T> R;
        const T *w = weights[step][k];
        const u32 first = step == 0 && k == 2, points = step == 0 ? min(k + 3, 4u) : 4 - step;
        const auto node = [&](u32 j) { return line[min((first + j) << (step + 1), SIDE - 1) * DISTANCE[AXIS]]; };
        T p = R::mul(w[0], node(0));
#pragma unroll
        for (u32 j = 1; j < 4; j++) {
            const T more = R::fma(w[j], node(j), p);
            p = j < points ? more : p;
        }
        return p;
    }
    __device__ __forceinline__ void put(T &value, T p, u32 coded) {
        if (ENCODE) {
            T u = value;
            i16 symbol;
            if (!quantize(u, p, z, symbol)) delta[coded] = delta_of(u, p), exact++;
            value = u;
            symbols[coded] = (u16)(symbol + (i32)BYTE_BIAS);
        } else {
            const i16 symbol = (i16)symbols[coded];
            value = symbol == EXACT ? apply_delta<T>(delta[coded], p) : Real<T>::fma((T)(i32)symbol, z.step, p);
        }
    }
    // i / n for fewer than 192 nodes: 65536 / n, rounded up.
    static __device__ __forceinline__ u32 divide(u32 i, u32 n) { return i * (n == 8 ? 8192 : n == 5 ? 13108 : n == 3 ? 21846 : n == 2 ? 32768 : 65536) >> 16; }
    // The nodes of a step that are predicted along an axis. On the axes before it they are old, on those behind it any of the step's. One piece of code for
    // all steps: what has not been fetched yet when the kernel starts costs more than waiting.
    template <u32 AXIS> __device__ __forceinline__ void nodes(u32 step) {
        const u32 all = step == 0 ? 8 : step == 1 ? 5 : 3, old = step == 0 ? 5 : step == 1 ? 3 : 2, fresh = all - old;
        const u32 nz = AXIS == 0 ? fresh : old, ny = AXIS == 1 ? fresh : AXIS == 2 ? old : all, nx = AXIS == 2 ? fresh : all;
#pragma unroll 1
        for (u32 i = threadIdx.x % 32; i < nz * ny * nx; i += 32) {
            const u32 row = divide(i, nx), iz = divide(row, ny), iy = row - iz * ny, ix = i - row * nx;
            // among the nodes of S(step)
            const u32 sz = AXIS == 0 ? 2 * iz + 1 : min(2 * iz, all - 1);
            const u32 sy = AXIS == 1 ? 2 * iy + 1 : AXIS == 2 ? min(2 * iy, all - 1) : iy, sx = AXIS == 2 ? 2 * ix + 1 : ix;
            // the nodes of rows before it, less those of S(step + 1)
            const u32 old_rows = (sz + 1) / 2 * old + (AXIS == 0 ? 0 : (sy + 1) / 2);
            const u32 coded = old * old * old - 8 + (sz * all + sy) * all - old_rows * old + ix;
            const u32 place[3] = {min(sz << step, SIDE - 1) * PLANE, min(sy << step, SIDE - 1) * ROW, min(sx << step, SIDE - 1)};
            T *node = v + place[0] + place[1] + place[2];
            put(*node, predict<AXIS>(step, node - place[AXIS], AXIS == 0 ? iz : AXIS == 1 ? iy : ix), coded);
        }
        __syncwarp();
    }
    // Calls f(place, number in the array) for the lane's nodes.
    template <class F> __device__ __forceinline__ void each(const Quad &quad, u32 tile, F f) const {
        const u32 lane = threadIdx.x % 32, x = lane % SIDE;
#pragma unroll
        for (u32 i = 0; i < SIDE * SIDE * SIDE / 32; i++) {
            const u32 row = 4 * i + lane / SIDE, z = row / SIDE, y = row % SIDE;
            f(z * PLANE + y * ROW + x, ((u64)(quad.at[0] + z) * a.n[1] + quad.at[1] + y) * a.n[2] + quad.at[2] + SIDE * tile + x);
        }
    }
    __device__ __forceinline__ void load_corners(const Quad &quad, u32 tile) const {
        const u32 lane = threadIdx.x % 32, z = lane >> 2, y = lane >> 1 & 1, x = lane & 1;
        if (lane >= 8) return;
        const u64 row = (u64)(quad.at[0] / SIDE * 2 + z) * a.corner_n[1] + quad.at[1] / SIDE * 2 + y;
        v[(SIDE - 1) * (z * PLANE + y * ROW + x)] = a.corners[row * a.corner_n[2] + (quad.at[2] / SIDE + tile) * 2 + x];
    }
    __device__ __forceinline__ void run(const Quad &quad, u32 tile) {
        if (ENCODE) {
            each(quad, tile, [&](u32 place, u64 i) { v[place] = a.values[i]; });
            // what fills the last group up
            if (threadIdx.x % 32 < SIDE) symbols[TILE_SYMBOLS - SIDE + threadIdx.x % 32] = BYTE_BIAS;
            __syncwarp();
        }
        load_corners(quad, tile);
        __syncwarp();
#pragma unroll 1
        for (u32 step = 3; step-- > 0;) {
            nodes<2>(step);
            nodes<1>(step);
            nodes<0>(step);
        }
        each(quad, tile, [&](u32 place, u64 i) { a.result[i] = v[place]; });
    }
};

template <class T, bool ENCODE> __device__ __forceinline__ void corner_tiles(const WholeArguments<T> &a) {
    __shared__ T weights[3][3][4];
    __shared__ T values[4][NodeTile<T, ENCODE>::PLACES];
    __shared__ __align__(16) char symbols[WARP_BYTES];
    __shared__ u32 planes[ENCODE ? 1 : 4 * TILE_WORDS];
    const u32 tile = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x < 36) {
        const u32 step = threadIdx.x / 12, k = threadIdx.x / 4 % 3, j = threadIdx.x % 4;
        const AxisWeights<T> &w = a.weights;
        weights[step][k][j] = step == 0 ? w.step0[k][j] : step == 1 ? w.step1[min(k, 1u)][min(j, 2u)] : w.step2[0][min(j, 1u)];
    }
    for (u32 i = blockIdx.x; i < a.list_count; i += gridDim.x) {
        const Quad quad = a.list[i];
        const bool exists = tile < quad.count();
        const Tile *tiles = a.planes.tiles + quad.number();
        // also for the weights, and before symbols of the last turn are overwritten
        __syncthreads();
        if (!ENCODE) {
            const TileRecord none = {0, 0, 0};
            if (exists) {
                const TileRecord record = a.planes.records[quad.number() + tile];
                const u32 *from = (const u32 *)a.planes.output + record.planes;
                for (u32 w = lane; w < record.words(); w += 32) planes[tile * TILE_WORDS + w] = from[w];
            }
            const TileRecord record = lane % 4 < quad.count() ? a.planes.records[quad.number() + lane % 4] : none;
            __syncthreads();
            if (tile == 0) take_planes(planes, record, symbols);
            __syncthreads();
        }
        if (exists) {
            NodeTile<T, ENCODE> work = {a, weights, a.quantizers[0], (typename Real<T>::Bits *)a.planes.delta + tiles[tile].start, values[tile], (u16 *)(symbols + tile * SYMBOL_BYTES), 0};
            work.run(quad, tile);
            if (ENCODE && work.exact > 0) atomicAdd(&a.planes.chunks[tiles->chunk].coded, work.exact);
        }
        if (!ENCODE) continue;
        __syncthreads();
        if (tile == 0) store_planes(a.planes, quad, tiles->chunk, symbols, ~0u << quad.count());
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_corner_tiles_f32(const WholeArguments<float> a) { corner_tiles<float, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_corner_tiles_f64(const WholeArguments<double> a) { corner_tiles<double, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_corner_tiles_f32(const WholeArguments<float> a) { corner_tiles<float, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_corner_tiles_f64(const WholeArguments<double> a) { corner_tiles<double, false>(a); }
