// The planes coder, encoding: whole tiles from values to planes in one kernel; other tiles from their symbols.
#include "planes_node.cuh"

// Rounds of a block at most.
constexpr u32 MOST_ROUNDS = 8;
// Rows of the next four tiles that wait in shared memory.
constexpr u32 STAGED_ROWS = 48;

template <class T> struct Quantize {
    const Quantizer<T> &z;
    u16 *symbols;
    // All nodes so far have a symbol and keep their tolerance.
    bool fits;

    template <bool EVERY, u32 ROW> __device__ __forceinline__ void put(T &v, T p, bool valid, u32 rank) {
        // a node that is not there predicts itself: nothing changes
        put_last<ROW>(v, EVERY || valid ? p : v, EVERY || valid, rank);
    }
    template <u32 ROW> __device__ __forceinline__ void put_last(T &v, T p, bool valid, u32 rank) {
        typedef Real<T> R;
        const T rounded = R::add(R::mul(R::sub(v, p), z.inverse), BIASED_ROUNDER<T>);
        const T steps = R::sub(rounded, BIASED_ROUNDER<T>);
        const T r = R::fma(steps, z.step, p);
        fits = fits & (R::abs(steps) <= (T)32767) & (R::abs(R::sub(v, r)) <= z.check);
        if (valid) (symbols + rank)[ROW] = (u16)R::bits(rounded);
        v = r;
    }
};

// The values of the warp's four tiles, asked for ahead: a row of 32 after the other in shared memory. The last ones are only brought to L2, so that
// there is room for one more block. Accesses of 16 bytes where rows allow them.
template <class T> struct Rows {
    const WholeArguments<T> &a;
    T *memory;
    // All rows start at multiples of 16 bytes.
    const bool aligned;
    static constexpr u32 VECTOR = 16 / sizeof(T), PIECES = 32 / VECTOR;
    // Bytes that one request brings to L2, and such pieces of the last rows.
    static constexpr u32 REACH = 64, LAST_PIECES = (SIDE * SIDE - STAGED_ROWS) * 32 * sizeof(T) / REACH;

    __device__ __forceinline__ Rows(const WholeArguments<T> &a, T *memory) : a(a), memory(memory), aligned(a.n[2] % VECTOR == 0 && (u64)a.values % 16 == 0) {}
    __device__ __forceinline__ const T *corner(const Quad &quad) const { return a.values + ((u64)quad.at[0] * a.n[1] + quad.at[1]) * a.n[2] + quad.at[2]; }
    __device__ __forceinline__ void ask(const Quad &quad) const {
        const u32 lane = threadIdx.x % 32;
        const u64 plane = (u64)a.n[1] * a.n[2];
        if (aligned) {
            const u32 piece = lane % PIECES;
            const T *from = corner(quad) + min(VECTOR * piece, quad.count() * SIDE - VECTOR);
#pragma unroll
            for (u32 i = 0; i < STAGED_ROWS * PIECES / 32; i++) {
                const u32 row = i * (32 / PIECES) + lane / PIECES;
                copy_ahead<16>(memory + 32 * row + VECTOR * piece, from + row / SIDE * plane + (u64)(row % SIDE) * a.n[2]);
            }
        } else {
            const T *from = corner(quad) + quad.lane();
#pragma unroll
            for (u32 row = 0; row < STAGED_ROWS; row++) copy_ahead<sizeof(T)>(memory + 32 * row + lane, from + row / SIDE * plane + (u64)(row % SIDE) * a.n[2]);
        }
    }
    __device__ __forceinline__ void ask_last(const Quad &quad) const {
        const u64 plane = (u64)a.n[1] * a.n[2];
        const T *from = corner(quad);
#pragma unroll
        for (u32 i = 0; i < LAST_PIECES; i += 32) {
            const u32 piece = i + threadIdx.x % 32, row = STAGED_ROWS + piece / (LAST_PIECES / (SIDE * SIDE - STAGED_ROWS));
            const u32 x = piece % (32 * sizeof(T) / REACH) * (REACH / sizeof(T));
            fetch_to_l2(from + row / SIDE * plane + (u64)(row % SIDE) * a.n[2] + min(x, quad.count() * SIDE - 1));
        }
    }
    __device__ __forceinline__ void load_last(const Quad &quad, T (&v)[SIDE * SIDE]) const {
        const u64 plane = (u64)a.n[1] * a.n[2];
        const T *from = corner(quad) + quad.lane() + STAGED_ROWS / SIDE * plane;
#pragma unroll
        for (u32 z = STAGED_ROWS / SIDE; z < SIDE; z++, from += plane) {
            keep_global(from);
            unroll<SIDE>([&](auto y) { v[z * SIDE + decltype(y)::value] = *advance<decltype(y)::value>(from, a.n[2]); });
        }
    }
    __device__ __forceinline__ void take(T (&v)[SIDE * SIDE]) const {
#pragma unroll
        for (u32 i = 0; i < STAGED_ROWS; i++) v[i] = memory[32 * i + threadIdx.x % 32];
    }
};

// Which entries of the list a block takes: some that follow each other, PLANES_WARPS at a time, a warp each. The last blocks take one round each, so that all
// multiprocessors are busy until the end.
template <class T> struct Share {
    u32 begin, end;
    __device__ __forceinline__ explicit Share(const WholeArguments<T> &a) {
        const u32 block = blockIdx.x, longer = min(block, a.long_blocks);
        begin = (longer * a.rounds + block - longer) * PLANES_WARPS;
        end = min(begin + (block < a.long_blocks ? a.rounds : 1) * PLANES_WARPS, a.list_count);
    }
    // Whether the block has something to do in a round, and what this warp takes then.
    __device__ __forceinline__ bool has(u32 round) const { return begin + round * PLANES_WARPS < end; }
    __device__ __forceinline__ u32 entry(u32 round) const { return begin + round * PLANES_WARPS + threadIdx.x / 32; }
    __device__ __forceinline__ bool takes(u32 round) const { return entry(round) < end; }
};

// A tile once more, now with exact nodes.
template <class T>
__device__ __forceinline__ void encode_exactly(const WholeArguments<T> &a, const CornerLevel<T> &frame, const Quad &quad, u32 number, char *memory, T *values) {
    const Tile &tile = a.planes.tiles[quad.number() + number];
    const Quantizer<T> z = a.quantizers[a.tier_count == 1 ? 0 : a.tiers[((u64)(quad.at[0] / SIDE) * a.blocks[1] + quad.at[1] / SIDE) * a.blocks[2] + quad.at[2] / SIDE + number]];
    // weights are found by a lane's node: not among the arguments
    AxisWeights<T> *weights = (AxisWeights<T> *)(values + NodeTile<T, true>::PLACES);
    static_assert(NodeTile<T, true>::PLACES + sizeof(AxisWeights<T>) / sizeof(T) <= 32 * STAGED_ROWS, "both fit");
    if (threadIdx.x % 32 == 0) *weights = a.weights;
    NodeTile<T, true> work = {frame, *weights, z, (typename Real<T>::Bits *)a.planes.delta + tile.start, values, (u16 *)(memory + number * SYMBOL_BYTES), 0};
    work.load_values(quad, number);
    work.fill_up();
    __syncwarp();
    work.load_corners(quad, number);
    __syncwarp();
    work.run();
    if (work.exact > 0) atomicAdd(&a.planes.chunks[tile.chunk].coded, work.exact);
    store_planes(a.planes, Four(quad), tile.chunk, memory, ~(1u << number));
    __syncwarp();
}

template <class T> __device__ __forceinline__ void encode_whole(const WholeArguments<T> &a) {
    SHARED_MEMORY(shared);
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    char *memory = shared + warp * WARP_BYTES;
    __shared__ __align__(16) T last_weights[LastAxis<T>::WEIGHTS];
    const LastAxis<T> last(a.weights, last_weights);
    const Sweep<T> sweep = {a.weights, last};
    const Ahead<T> ahead(a, shared + PLANES_WARPS * WARP_BYTES + warp * Ahead<T>::BYTES);
    const Rows<T> rows(a, (T *)(shared + PLANES_WARPS * (WARP_BYTES + Ahead<T>::BYTES)) + warp * 32 * STAGED_ROWS);
    // Of each round: tiles with nodes that have to be stored exactly.
    __shared__ u8 left_out[PLANES_WARPS * MOST_ROUNDS];
    static_assert(PLANES_WARPS * MOST_ROUNDS == 32, "one a lane");
    if (threadIdx.x < 32) left_out[lane] = 0;
    const Share<T> turns(a);
    if (turns.takes(0)) {
        ahead.ask_quad(1, turns.entry(1));
        const Quad quad = a.list[turns.entry(0)];
        if (lane == 0) ahead.quads[0] = quad;
        rows.ask(quad);
        rows.ask_last(quad);
    }
    // all but the values of the frame and the lists comes from them
    kernels_before_are_done();
    __syncwarp();
    if (turns.takes(0)) ahead.ask_corners(ahead.quads[0]);
    // the warps of a block stay together, so that they share what the instruction cache holds
    for (u32 i = 0; turns.has(i); i++) {
        __syncthreads();
        if (!turns.takes(i)) continue;
        T v[SIDE * SIDE];
        copies_arrived();
        __syncwarp();
        const Quad quad = ahead.quads[i % 2];
        rows.load_last(quad, v);
        rows.take(v);
        ahead.take_corners(v);
        __syncwarp();
        if (turns.takes(i + 1)) {
            const Quad next = ahead.quads[(i + 1) % 2];
            rows.ask(next);
            rows.ask_last(next);
            ahead.ask_corners(next);
            ahead.ask_quad(i, turns.entry(i + 2));
        }
        const Quantizer<T> z = quantizer_of(a, quad);
        u16 *symbols = (u16 *)(memory + lane / SIDE * SYMBOL_BYTES);
        // what fills the last group up
        symbols[TILE_SYMBOLS - SIDE + last.x] = BYTE_BIAS;
        Quantize<T> op = {z, symbols, true};
        sweep.run(v, op);
        const u32 failed = __ballot_sync(FULL, !op.fits);
        // registers are free from here on: what is asked for now need not wait in local memory
        const u32 chunk = a.planes.tiles[quad.number()].chunk;
        // lane t < 4: tile t
        const bool exists = lane < quad.count(), slow = (failed >> (SIDE * (lane % 4)) & 0xff) != 0;
        const u32 out = __ballot_sync(FULL, !exists || slow) & 15;
        if (lane == 0) left_out[i * PLANES_WARPS + warp] = (u8)(out & ((1u << quad.count()) - 1));
        __syncwarp();
        store_planes(a.planes, Four(quad), chunk, memory, out);
        __syncwarp();
    }
    __syncthreads();
    const u32 tiles = left_out[lane];
    u32 rest = __ballot_sync(FULL, tiles > 0);
    // the warps take turns, whoever has found them
    const CornerLevel<T> frame = {a.values, nullptr, a.corners, nullptr, nullptr, 0, 0, {a.n[0], a.n[1], a.n[2]}, {a.corner_n[0], a.corner_n[1], a.corner_n[2]}, 0, 0};
    for (u32 turn = 0; rest; rest &= rest - 1) {
        const u32 entry = __ffs((i32)rest) - 1;
        for (u32 of_entry = __shfl_sync(FULL, tiles, entry); of_entry; of_entry &= of_entry - 1) {
            if (turn++ % PLANES_WARPS == warp) encode_exactly(a, frame, a.list[turns.begin + entry], __ffs((i32)of_entry) - 1, memory, rows.memory);
        }
    }
}

// Planes of the listed tiles: a warp a tile.
extern "C" __global__ void __launch_bounds__(128) pack_planes(const PlanesArguments a) {
    each_other_tile(a, [&](u32 tile) { pack_tile(a, tile); });
}

extern "C" __global__ void __launch_bounds__(128, 4) encode_whole_f32(const WholeArguments<float> a) { encode_whole<float>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) encode_whole_f64(const WholeArguments<double> a) { encode_whole<double>(a); }
