// The planes coder, encoding: whole tiles from values to planes in one kernel; other tiles from their symbols.
#include "planes_cut.cuh"
#include "planes_place.cuh"

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

// The same where nodes may have to be stored exactly: their deltas to `delta`, and how many the lane has.
template <class T> struct QuantizeExactly {
    const Quantizer<T> &z;
    u16 *symbols;
    typename Real<T>::Bits *delta;
    u32 exact;

    template <bool EVERY, u32 ROW> __device__ __forceinline__ void put(T &v, T p, bool valid, u32 rank) { put_last<ROW>(v, p, EVERY || valid, rank); }
    template <u32 ROW> __device__ __forceinline__ void put_last(T &v, T p, bool valid, u32 rank) {
        if (!valid) return;
        i16 symbol;
        T r = v;
        if (!quantize(r, p, z, symbol)) (delta + rank)[ROW] = delta_of(v, p), exact++;
        (symbols + rank)[ROW] = (u16)(symbol + (i32)BYTE_BIAS);
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

// Symbols of the warp's four tiles once more, now with exact nodes, whose deltas are written and counted. A function of its own, with the arguments in memory, so
// that the loop that calls it has all registers.
template <class T> __device__ __noinline__ void encode_exactly(const WholeArguments<T> &a, Quad quad, u32 chunk, const T *last_weights, u16 *symbols) {
    const LastAxis<T> last(last_weights);
    const Quantizer<T> z = quantizer_of(a, quad);
    const u32 tile = min(threadIdx.x % 32 / SIDE, quad.count() - 1);
    const u64 plane = (u64)a.n[1] * a.n[2];
    const T *from = a.values + ((u64)quad.at[0] * a.n[1] + quad.at[1]) * a.n[2] + quad.at[2] + quad.lane();
    T v[SIDE * SIDE];
#pragma unroll
    for (u32 i = 0; i < SIDE * SIDE; i++) v[i] = from[i / SIDE * plane + (u64)(i % SIDE) * a.n[2]];
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const u64 row = (u64)(quad.at[0] / SIDE * 2 + k / 2) * a.corner_n[1] + quad.at[1] / SIDE * 2 + k % 2;
        T &node = v[(SIDE - 1) * (k / 2 * SIDE + k % 2)];
        if (last.x == 0 || last.x == SIDE - 1) node = a.corners[row * a.corner_n[2] + (quad.at[2] / SIDE + tile) * 2 + (last.x > 0)];
    }
    // lanes of tiles that do not exist do the same as those of the last one
    QuantizeExactly<T> op = {z, symbols, (typename Real<T>::Bits *)a.planes.delta + a.planes.tiles[quad.number() + tile].start, 0};
    const Sweep<T, true> sweep = {a.weights, last};
    sweep.run(v, op);
    if (op.exact > 0 && threadIdx.x % 32 / SIDE == tile) atomicAdd(&a.planes.chunks[chunk].coded, op.exact);
}

// What a block knows of the chunks that can be placed; thread 0 keeps it.
struct Placing {
    // Entries of layer `layer` that the block has encoded, and the first entry of the next layer.
    u32 count, layer, end;
    // The piece that the block will place, if it is not WANTED; the first layers are encoded, so many that it can.
    u32 piece, needs, complete, of_complete;
    // The piece that can be placed in a round, at round % 2.
    u32 now[2];
    static constexpr u32 WANTED = 0xffffffff, NONE = 0xfffffffe;

    __device__ __forceinline__ void begin(const PlaceArguments &a) {
        count = layer = complete = 0;
        end = of_complete = a.layer_ends[0];
        piece = WANTED, now[0] = NONE;
    }
    __device__ __forceinline__ static u32 layers_of(const PlaceArguments &a, u32 piece) {
        const u32 chunk = piece / CHUNK_PIECES;
        return chunk < a.first_chunk ? 0 : (chunk - a.first_chunk) / a.of_layer + 1;
    }
    // The block takes `entry` next: all that it had of layers before is encoded and, behind a barrier of the block, written.
    __device__ __forceinline__ void go_on(const PlaceArguments &a, u32 entry) {
        if (entry >= end) {
            if (count > 0) {
                __threadfence();
                atomicAdd(a.encoded + layer, count);
            }
            count = 0;
            // an entry behind the last one is in no layer
            while (entry >= end && entry != WANTED) end = a.layer_ends[++layer];
        }
        count++;
    }
    __device__ __forceinline__ void take(const PlaceArguments &a, u32 asked) {
        piece = asked, needs = layers_of(a, asked);
    }
    // What there was of the first layer that is not known to be encoded.
    __device__ __forceinline__ void look(const PlaceArguments &a, u32 encoded) {
        if (encoded != of_complete) return;
        complete++;
        of_complete = a.layer_ends[complete] - a.layer_ends[complete - 1];
    }
    __device__ __forceinline__ bool ready() const { return piece != WANTED && complete >= needs; }
};
// As another block may have changed it.
__device__ __forceinline__ u32 changing(const u32 *p) { return *(const volatile u32 *)p; }

template <class T> __device__ __forceinline__ void encode_whole(const WholeArguments<T> &a) {
    SHARED_MEMORY(shared);
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    char *memory = shared + warp * WARP_BYTES;
    __shared__ __align__(16) T last_weights[LastAxis<T>::WEIGHTS];
    const LastAxis<T> last(a.weights, last_weights);
    const Sweep<T, false> sweep = {a.weights, last};
    const Ahead<T> ahead(a, shared + PLANES_WARPS * WARP_BYTES + warp * Ahead<T>::BYTES);
    const Rows<T> rows(a, (T *)(shared + PLANES_WARPS * (WARP_BYTES + Ahead<T>::BYTES)) + warp * 32 * STAGED_ROWS);
    __shared__ u32 of_round[4];
    __shared__ Placing placing;
    __shared__ u64 copied[sizeof(a) / 8];
    static_assert(sizeof(a) % 8 == 0, "whole words");
    for (u32 i = threadIdx.x; i < sizeof(a) / 8; i += blockDim.x) copied[i] = ((const u64 *)&a)[i];
    const WholeArguments<T> *arguments = (const WholeArguments<T> *)copied;
    const u32 pieces = a.planes.chunk_count * CHUNK_PIECES;
    Turns<T> turns(a, of_round);
    if (turns.takes(0)) {
        ahead.ask_quad(1, turns.entry(1));
        const Quad quad = a.list[turns.entry(0)];
        if (lane == 0) ahead.quads[0] = quad;
        rows.ask(quad);
        rows.ask_last(quad);
        ahead.ask_corners(quad);
    }
    if (threadIdx.x == 0) placing.begin(a.place);
    // the warps of a block stay together, so that they share what the instruction cache holds
    u32 i = 0;
    for (; turns.has(i); i++) {
        __syncthreads();
        if (placing.now[i % 2] != Placing::NONE) {
            place_piece(a.planes, arguments->planes, placing.now[i % 2], *(PlaceShared *)shared);
            __syncthreads();
        }
        if (threadIdx.x == 0) placing.go_on(a.place, of_round[i % 4]);
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
        turns.ask();
        u32 asked = Placing::WANTED, encoded = 0;
        if (threadIdx.x == 0) {
            if (placing.piece == Placing::WANTED) asked = atomicAdd(a.place.asked, 1u);
            encoded = changing(a.place.encoded + placing.complete);
        }
        const u32 chunk = a.planes.tiles[quad.number()].chunk;
        if (failed << (32 - SIDE * quad.count())) {
            __syncwarp();
            encode_exactly(*arguments, quad, chunk, (const T *)last_weights, symbols);
        }
        __syncwarp();
        store_planes(a.planes, quad, chunk, memory);
        turns.put(i);
        if (threadIdx.x == 0) {
            if (asked != Placing::WANTED) placing.take(a.place, asked);
            placing.look(a.place, encoded);
            placing.now[(i + 1) % 2] = Placing::NONE;
            if (placing.piece < pieces && placing.ready()) {
                __threadfence();
                placing.now[(i + 1) % 2] = placing.piece, placing.piece = Placing::WANTED;
            }
        }
        __syncwarp();
    }
    // nothing is left to encode: what was last found to be ready, then what others finish
    __syncthreads();
    if (threadIdx.x == 0) placing.go_on(a.place, Placing::WANTED);
    while (true) {
        const u32 now = placing.now[i++ % 2];
        if (now < pieces) place_piece(a.planes, arguments->planes, now, *(PlaceShared *)shared);
        if (threadIdx.x == 0) {
            if (placing.piece == Placing::WANTED) placing.take(a.place, atomicAdd(a.place.asked, 1u));
            while (placing.piece < pieces && !placing.ready()) placing.look(a.place, changing(a.place.encoded + placing.complete));
            __threadfence();
            placing.now[i % 2] = placing.piece, placing.piece = Placing::WANTED;
        }
        __syncthreads();
        if (placing.now[i % 2] >= pieces) return;
    }
}

// Planes of the listed tiles and of those left out, from their symbols: a warp a tile.
__device__ __forceinline__ void pack_tile(const PlanesArguments &a, u32 number) {
    const u32 lane = threadIdx.x % 32;
    const Tile &tile = a.tiles[number];
    const u32 nodes = a.shape_nodes[tile.shape];
    u32 *slot = a.slots + (u64)number * TILE_WORDS;
    u32 words = 0, groups = 0, exact = 0, widths = 0;
    const auto load = [&](u32 g) { return GROUP * g + lane < nodes ? zigzag(a.q[tile.start + GROUP * g + lane]) : 0; };
    u32 next = load(0);
#pragma unroll 1
    for (u32 g = 0; GROUP * g < nodes; g++) {
        const u32 z = next;
        next = load(g + 1);
        const u32 width = bit_length(__reduce_or_sync(FULL, z));
        u32 own = 0;
#pragma unroll 1
        for (u32 b = 0; b < width; b++) {
            const u32 plane = __ballot_sync(FULL, z >> b & 1);
            own = lane == b ? plane : own;
        }
        if (lane < width) slot[words + lane] = own;
        const u32 listed = __ballot_sync(FULL, z == EXACT_ZIGZAG);
        exact += __popc(listed);
        widths = lane == g ? width : widths;
        words += width;
        groups += width > 0;
    }
    if (lane == 0) a.sources[number] = number * TILE_WORDS;
    if (lane == TILE_GROUPS - 1 && mask_bytes(nodes) > 1) widths |= TWO_MASK_BYTES;
    if (lane < TILE_GROUPS) a.widths[(u64)number * TILE_GROUPS + lane] = (u8)widths;
    if (lane > 0 || words == 0) return;
    atomicAdd(&a.chunks[tile.chunk].cost, counts_of(words, groups, mask_bytes(nodes)));
    if (exact > 0) atomicAdd(&a.chunks[tile.chunk].coded, exact);
}

extern "C" __global__ void __launch_bounds__(128) pack_planes(const PlanesArguments a) {
    each_other_tile(a, [&](u32 tile) { pack_tile(a, tile); });
}

extern "C" __global__ void __launch_bounds__(128, 4) encode_whole_f32(const WholeArguments<float> a) { encode_whole<float>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) encode_whole_f64(const WholeArguments<double> a) { encode_whole<double>(a); }
