// The pyramid's tiles: a group of threads a tile, the tile in shared memory (FORMAT.md, "tiles and node sets").
#include "regular.cuh"

// What a group of threads keeps of its tile: values, symbols when encoding, then the tiers of its tolerance blocks. When decoding, a node's
// symbol stands in the place of its value until that is known.
// SIDE: of the whole tiles that it knows in particular, or 0.
template <class T, u32 GROUP, bool ENCODE, u32 SIDE> struct Work {
    // Elements of a 16-byte access.
    static constexpr u32 VECTOR = 16 / sizeof(T);
    struct __align__(16) Several {
        T of[VECTOR];
    };
    struct __align__(16) Symbols {
        u16 of[8];
    };

    const TileArguments<T> &a;
    const Tile tile;
    const TileShape &shape;
    const Choice choice;
    const u32 favoured, thread;
    T *v;
    i16 *q;
    u8 *tiers;
    const u32 *nodes;
    // Distances in `tiers` between rows and planes.
    u32 tier_row, tier_plane;
    // Of the current step: the quantizer of the first tier, and of all.
    Quantizer<T> only;
    const Quantizer<T> *quantizers;

    __device__ Work(const TileArguments<T> &a, const Tile &tile, char *memory, u32 thread)
        : a(a), tile(tile), shape(a.shapes[tile.shape]), choice{a.choices[tile.chunk]}, favoured(choice.favoured()), thread(thread),
          v((T *)memory), nodes(a.nodes), only(), quantizers(nullptr) {
        q = (i16 *)(v + shape.places);
        tiers = ENCODE ? (u8 *)(q + shape.places) : (u8 *)q;
        tier_row = ((shape.dims[2] - 1) >> a.shift) + 1;
        tier_plane = tier_row * (((shape.dims[1] - 1) >> a.shift) + 1);
    }
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    template <u32 POINTS> __device__ __forceinline__ const Stencil<T, POINTS> *stencils() const {
        return (const Stencil<T, POINTS> *)a.stencils[POINTS / 2 - 1];
    }
    __device__ __forceinline__ u32 tier_at(u32 axis, u32 position) const {
        const u32 stride = axis == 0 ? tier_plane : axis == 1 ? tier_row : 1;
        return a.tier_count == 1 ? 0 : (position >> a.shift) * stride;
    }
    __device__ __forceinline__ Quantizer<T> quantizer(u32 axis, u32 position, u32 base) const {
        return a.tier_count == 1 ? only : quantizers[tiers[base + tier_at(axis, position)]];
    }
    // What is known of a node before its prediction: its value, or its symbol.
    struct Known {
        T value;
        i16 symbol;
    };
    __device__ __forceinline__ Known known(u32 place) const {
        const T value = v[place];
        return {value, (i16)Real<T>::bits(value)};
    }
    // Takes prediction p of the node at `place`.
    __device__ __forceinline__ void visit(u32 place, const Known &known, T p, const Quantizer<T> &z) {
        if (ENCODE) {
            T u = known.value;
            const i16 symbol = quantize(u, p, z);
            v[place] = u;
            q[place] = symbol;
            if (symbol == EXACT) a.delta[tile.start + a.coded_at[shape.coded_at + place]] = delta_of(u, p);
        } else {
            T r = Real<T>::fma((T)known.symbol, z.step, p);
            if (known.symbol == EXACT) r = apply_delta<T>(a.delta[tile.start + a.coded_at[shape.coded_at + place]], p);
            v[place] = r;
        }
    }
    // Nodes new on one axis, then on two, then on three: only these groups depend on each other.
    template <u32 POINTS> __device__ __forceinline__ void sweep() {
        const bool whole = SIDE > 0 && shape.regular && favoured == 0;
#pragma unroll 1
        for (u32 step = shape.steps; step-- > 0;) {
            quantizers = quantizers_of(a, choice, step);
            only = quantizers[0];
            const StepAxis *axes = a.steps + shape.first_step + 3 * step;
            if constexpr (SIDE > 0) {
                if (whole && step == 0) {
                    RegularStep<T, SIDE, 0, POINTS>::template run<GROUP / 32>(*this, axes);
                    continue;
                }
            }
            if constexpr (SIDE > 0 && SIDE < 32) {
                if (whole && step == 1) {
                    RegularStep<T, SIDE, 1, POINTS>::template run<GROUP / 32>(*this, axes);
                    continue;
                }
                if (whole && step == 2) {
                    RegularStep<T, SIDE, 2, POINTS>::template run<GROUP / 32>(*this, axes);
                    continue;
                }
            }
            if constexpr (SIDE == 16) {
                if (whole && step == 3) {
                    RegularStep<T, SIDE, 3, POINTS>::template run<GROUP / 32>(*this, axes);
                    continue;
                }
            }
            lines<0, POINTS, T, GROUP>(*this, axes);
            sync();
            lines<1, POINTS, T, GROUP>(*this, axes);
            sync();
            lines<2, POINTS, T, GROUP>(*this, axes);
            sync();
        }
    }

    // Calls f(place in a row of WIDTH elements at x, y, z of the tile) for all of them.
    template <u32 WIDTH, class F> __device__ __forceinline__ void each(F f) const {
        const u32 pieces = (shape.dims[2] + WIDTH - 1) / WIDTH;
        const u32 row_bits = bit_length(pieces - 1), plane_bits = bit_length(shape.dims[1] - 1);
        const u32 count = shape.dims[0] << (row_bits + plane_bits);
#pragma unroll 4
        for (u32 i = thread; i < count; i += GROUP) {
            const u32 x = (i & ((1u << row_bits) - 1)) * WIDTH, y = i >> row_bits & ((1u << plane_bits) - 1);
            const u32 z = i >> (row_bits + plane_bits);
            if (x < shape.dims[2] && y < shape.dims[1]) f(z, y, x);
        }
    }
    __device__ __forceinline__ u32 row(u32 z, u32 y) const {
        return a.offsets[shape.offsets[0] + z] + a.offsets[shape.offsets[1] + y];
    }
    __device__ __forceinline__ void load_values() {
        const u16 *along_x = a.offsets + shape.offsets[2];
        const T *from = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        if (a.n[2] % VECTOR == 0) {
            each<VECTOR>([&](u32 z, u32 y, u32 x) {
                const Several values = *(const Several *)(from + ((u64)z * a.n[1] + y) * a.n[2] + x);
                T *to = v + row(z, y);
#pragma unroll
                for (u32 k = 0; k < VECTOR; k++) to[along_x[x + k]] = values.of[k];
            });
        } else {
            each<1>([&](u32 z, u32 y, u32 x) { v[row(z, y) + along_x[x]] = from[((u64)z * a.n[1] + y) * a.n[2] + x]; });
        }
    }
    __device__ __forceinline__ void load_corners() {
        const u32 z = thread >> 2, y = thread >> 1 & 1, x = thread & 1;
        if (thread >= 8 || z >= shape.ends[0] || y >= shape.ends[1] || x >= shape.ends[2]) return;
        const u32 end[3] = {z, y, x};
        u32 corner[3], place = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            corner[axis] = tile.at[axis] / a.side * 2 + end[axis];
            place += a.offsets[shape.offsets[axis] + (end[axis] ? shape.dims[axis] - 1 : 0)];
        }
        v[place] = a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
    }
    __device__ __forceinline__ void load_tiers() {
        const u32 planes = ((shape.dims[0] - 1) >> a.shift) + 1, rows = tier_plane / tier_row;
        for (u32 i = thread; i < planes * tier_plane; i += GROUP) {
            const u32 x = i % tier_row, y = i / tier_row % rows, z = i / tier_plane;
            const u64 row = (u64)((tile.at[0] >> a.shift) + z) * a.blocks[1] + (tile.at[1] >> a.shift) + y;
            tiers[i] = a.tiers[row * a.blocks[2] + (tile.at[2] >> a.shift) + x];
        }
    }
    // Symbols between units are padding: all of it stands at one place.
    __device__ __forceinline__ void load_symbols() {
        const u16 *order = a.order + shape.order;
#pragma unroll 4
        for (u32 i = 8 * thread; i < shape.nodes; i += 8 * GROUP) {
            const Symbols symbols = *(const Symbols *)(a.q + tile.start + i), places = *(const Symbols *)(order + i);
#pragma unroll
            for (u32 k = 0; k < 8; k++) {
                v[places.of[k]] = Real<T>::from_bits(symbols.of[k]);
            }
        }
    }
    __device__ __forceinline__ void store_symbols() {
        const u16 *order = a.order + shape.order;
#pragma unroll 4
        for (u32 i = 8 * thread; i < shape.nodes; i += 8 * GROUP) {
            const Symbols places = *(const Symbols *)(order + i);
            Symbols symbols;
#pragma unroll
            for (u32 k = 0; k < 8; k++) symbols.of[k] = (u16)q[places.of[k]];
            *(Symbols *)(a.q + tile.start + i) = symbols;
        }
    }
    // Writes the part of the tile inside lo..hi.
    __device__ __forceinline__ void store_values() {
        const u16 *along_x = a.offsets + shape.offsets[2];
        const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        const bool aligned = nx % VECTOR == 0 && a.lo[2] % VECTOR == 0;
        const auto inside = [&](u32 z, u32 y) {
            const u32 gz = tile.at[0] + z, gy = tile.at[1] + y;
            return gz >= a.lo[0] && gz < a.hi[0] && gy >= a.lo[1] && gy < a.hi[1];
        };
        const auto place = [&](u32 z, u32 y, u32 x) {
            return ((u64)(tile.at[0] + z - a.lo[0]) * ny + (tile.at[1] + y - a.lo[1])) * nx + (tile.at[2] + x - a.lo[2]);
        };
        if (aligned) {
            each<VECTOR>([&](u32 z, u32 y, u32 x) {
                if (!inside(z, y) || tile.at[2] + x < a.lo[2] || tile.at[2] + x >= a.hi[2]) return;
                Several values;
                const T *from = v + row(z, y);
#pragma unroll
                for (u32 k = 0; k < VECTOR; k++) values.of[k] = from[along_x[x + k]];
                *(Several *)(a.result + place(z, y, x)) = values;
            });
        } else {
            each<1>([&](u32 z, u32 y, u32 x) {
                if (!inside(z, y) || tile.at[2] + x < a.lo[2] || tile.at[2] + x >= a.hi[2]) return;
                a.result[place(z, y, x)] = v[row(z, y) + along_x[x]];
            });
        }
    }
    // Whole tiles, 16 bytes at a time.
    struct Pieces {
        static constexpr u32 OF_ROW = SIDE / VECTOR, ROWS = GROUP / OF_ROW, PASSES = SIDE * SIDE / ROWS, BATCH = PASSES < 8 ? PASSES : 8;
        static constexpr bool PLANES = ROWS % SIDE == 0;
        // Different y of a thread.
        static constexpr u32 VARIANTS = PLANES ? 1 : SIDE / ROWS;
    };
    // Row `pass` of this thread: z, and y.
    static __device__ __forceinline__ u32 piece_z(u32 thread, u32 pass) {
        typedef Pieces P;
        return P::PLANES ? thread / P::OF_ROW / SIDE + pass * (P::ROWS / SIDE) : pass / (SIDE / P::ROWS);
    }
    static __device__ __forceinline__ u32 piece_y(u32 thread, u32 pass) {
        typedef Pieces P;
        return P::PLANES ? thread / P::OF_ROW % SIDE : pass % (SIDE / P::ROWS) * P::ROWS + thread / P::OF_ROW;
    }
    __device__ __forceinline__ void load_whole() {
        typedef Pieces P;
        const u32 x = thread % P::OF_ROW * VECTOR;
        u32 along_x[VECTOR];
#pragma unroll
        for (u32 k = 0; k < VECTOR; k++) along_x[k] = a.offsets[shape.offsets[2] + x + k];
        const T *from = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2] + x;
        u32 along_y[P::VARIANTS];
#pragma unroll
        for (u32 k = 0; k < P::VARIANTS; k++) along_y[k] = a.offsets[shape.offsets[1] + piece_y(thread, k)];
#pragma unroll 1
        for (u32 first = 0; first < P::PASSES; first += P::BATCH) {
            Several values[P::BATCH];
#pragma unroll
            for (u32 k = 0; k < P::BATCH; k++) {
                const u32 z = piece_z(thread, first + k), y = piece_y(thread, first + k);
                values[k] = *(const Several *)(from + ((u64)z * a.n[1] + y) * a.n[2]);
            }
#pragma unroll
            for (u32 k = 0; k < P::BATCH; k++) {
                const u32 z = piece_z(thread, first + k);
                T *to = v + z * Memory<SIDE>::Z + along_y[k % P::VARIANTS];
#pragma unroll
                for (u32 m = 0; m < VECTOR; m++) to[along_x[m]] = values[k].of[m];
            }
        }
    }
    // The tile lies inside lo..hi.
    __device__ __forceinline__ void store_whole() {
        typedef Pieces P;
        const u32 x = thread % P::OF_ROW * VECTOR;
        u32 along_x[VECTOR];
#pragma unroll
        for (u32 k = 0; k < VECTOR; k++) along_x[k] = a.offsets[shape.offsets[2] + x + k];
        const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        T *to = a.result + ((u64)(tile.at[0] - a.lo[0]) * ny + tile.at[1] - a.lo[1]) * nx + tile.at[2] - a.lo[2] + x;
        u32 along_y[P::VARIANTS];
#pragma unroll
        for (u32 k = 0; k < P::VARIANTS; k++) along_y[k] = a.offsets[shape.offsets[1] + piece_y(thread, k)];
#pragma unroll
        for (u32 pass = 0; pass < P::PASSES; pass++) {
            const u32 z = piece_z(thread, pass), y = piece_y(thread, pass);
            const T *from = v + z * Memory<SIDE>::Z + along_y[pass % P::VARIANTS];
            Several values;
#pragma unroll
            for (u32 m = 0; m < VECTOR; m++) values.of[m] = from[along_x[m]];
            *(Several *)(to + ((u64)z * ny + y) * nx) = values;
        }
    }
    __device__ __forceinline__ bool lies_inside() const {
        bool inside = true;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) inside &= tile.at[axis] >= a.lo[axis] && tile.at[axis] + SIDE <= a.hi[axis];
        return inside && (a.hi[2] - a.lo[2]) % VECTOR == 0 && a.lo[2] % VECTOR == 0;
    }
    __device__ __forceinline__ void load() {
        if constexpr (SIDE > 0) {
            if (shape.regular && a.n[2] % VECTOR == 0) return load_whole();
        }
        load_values();
    }
    __device__ __forceinline__ void store() {
        if constexpr (SIDE > 0) {
            if (shape.regular && lies_inside()) return store_whole();
        }
        store_values();
    }
    __device__ __forceinline__ void run() {
        if (ENCODE) load();
        else load_symbols();
        if (a.tier_count > 1) load_tiers();
        sync();
        load_corners();
        sync();
        if (choice.points() == 1) sweep<4>();
        else if (choice.points() == 0) sweep<2>();
        else sweep<6>();
        if (ENCODE) store_symbols();
        if (a.result) store();
        sync();
    }
};

// Tiles in turn, one a block. SPILLED: their memory is not shared memory.
template <class T, u32 GROUP, bool ENCODE, u32 SIDE, bool SPILLED> __device__ __forceinline__ void tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    char *memory = SPILLED ? a.spill + (u64)blockIdx.x * a.tile_bytes : shared;
    for (u32 t = blockIdx.x; t < a.tile_count; t += gridDim.x) {
        const Tile tile = a.tiles[t];
        Work<T, GROUP, ENCODE, SIDE> work(a, tile, memory, threadIdx.x);
        work.run();
    }
}

// Gathers the corners of all tiles of an array, with their tiers.
template <class T> __device__ void gather_corners(const CornerArguments<T> &a) {
    const u64 count = (u64)a.corner_n[0] * a.corner_n[1] * a.corner_n[2];
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
        const u64 row = i / a.corner_n[2];
        const u32 corner[3] = {(u32)(row / a.corner_n[1]), (u32)(row % a.corner_n[1]), (u32)(i % a.corner_n[2])};
        u32 node[3];
        for (u32 axis = 0; axis < 3; axis++) {
            const u32 at = (corner[axis] >> 1) * a.side + (corner[axis] & 1) * (a.side - 1);
            node[axis] = min(at, a.n[axis] - 1);
        }
        if (a.values) a.corners[i] = a.values[((u64)node[0] * a.n[1] + node[1]) * a.n[2] + node[2]];
        const u32 bz = node[0] >> a.shift, by = node[1] >> a.shift, bx = node[2] >> a.shift;
        a.corner_tiers[i] = a.tiers[((u64)bz * a.blocks[1] + by) * a.blocks[2] + bx];
    }
}

template <class T, bool ENCODE> __device__ void last_array(const LastArguments<T> &a) {
    const u32 i = threadIdx.x;
    if (i >= a.count) return;
    const Quantizer<T> &quantizer = a.quantizers[a.tiers[i >> a.shift]];
    if (ENCODE) {
        T u = a.values[i];
        const i16 q = quantize(u, (T)0, quantizer);
        a.q[i] = q;
        if (q == EXACT) a.delta[i] = delta_of(u, (T)0);
        a.values[i] = u;
    } else {
        const i16 q = a.q[i];
        a.values[i] = q == EXACT ? apply_delta<T>(a.delta[i], (T)0) : Real<T>::fma((T)q, quantizer.step, (T)0);
    }
}

extern "C" __global__ void __launch_bounds__(32, 16) encode_tiles_small_f32(const TileArguments<float> a) { tiles<float, 32, true, 8, false>(a); }
extern "C" __global__ void __launch_bounds__(32, 16) decode_tiles_small_f32(const TileArguments<float> a) { tiles<float, 32, false, 8, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) encode_tiles_middle_f32(const TileArguments<float> a) { tiles<float, 64, true, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 9) decode_tiles_middle_f32(const TileArguments<float> a) { tiles<float, 64, false, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_large_f32(const TileArguments<float> a) { tiles<float, 512, true, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_large_f32(const TileArguments<float> a) { tiles<float, 512, false, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_spilled_f32(const TileArguments<float> a) { tiles<float, 512, true, 0, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_spilled_f32(const TileArguments<float> a) { tiles<float, 512, false, 0, true>(a); }
extern "C" __global__ void __launch_bounds__(32, 12) encode_tiles_small_f64(const TileArguments<double> a) { tiles<double, 32, true, 8, false>(a); }
extern "C" __global__ void __launch_bounds__(32, 12) decode_tiles_small_f64(const TileArguments<double> a) { tiles<double, 32, false, 8, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 4) encode_tiles_middle_f64(const TileArguments<double> a) { tiles<double, 64, true, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 4) decode_tiles_middle_f64(const TileArguments<double> a) { tiles<double, 64, false, 16, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_large_f64(const TileArguments<double> a) { tiles<double, 512, true, 0, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_large_f64(const TileArguments<double> a) { tiles<double, 512, false, 0, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_spilled_f64(const TileArguments<double> a) { tiles<double, 512, true, 0, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_spilled_f64(const TileArguments<double> a) { tiles<double, 512, false, 0, true>(a); }
extern "C" __global__ void gather_corners_f32(const CornerArguments<float> a) { gather_corners<float>(a); }
extern "C" __global__ void gather_corners_f64(const CornerArguments<double> a) { gather_corners<double>(a); }
extern "C" __global__ void encode_last_f32(const LastArguments<float> a) { last_array<float, true>(a); }
extern "C" __global__ void encode_last_f64(const LastArguments<double> a) { last_array<double, true>(a); }
extern "C" __global__ void decode_last_f32(const LastArguments<float> a) { last_array<float, false>(a); }
extern "C" __global__ void decode_last_f64(const LastArguments<double> a) { last_array<double, false>(a); }
