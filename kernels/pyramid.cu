// The pyramid's tiles of any shape: a group of threads a tile, all steps by lists of nodes; and what stands around the tiles.
#include "tile.cuh"

template <class T, u32 GROUP, bool ENCODE, bool CUT> struct AnyTile : TileWork<T, GROUP, ENCODE, CUT> {
    typedef TileWork<T, GROUP, ENCODE, CUT> Base;
    using Base::a;
    using Base::q;
    using Base::shape;
    using Base::sync;
    using Base::thread;
    using Base::tile;
    using Base::v;
    // Elements of a 16-byte access.
    static constexpr u32 VECTOR = 16 / sizeof(T);
    struct __align__(16) Several {
        T of[VECTOR];
    };

    __device__ AnyTile(const TileArguments<T> &a, const Tile &tile, char *memory, u32 thread, u32 slab) : Base(a, tile, a.shapes[tile.shape], memory, thread, slab) {}
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
    // Writes the part of the tile, or of its slab, inside lo..hi.
    __device__ __forceinline__ void store_values() {
        const u16 *along_x = a.offsets + shape.offsets[2];
        const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
        const bool aligned = nx % VECTOR == 0 && a.lo[2] % VECTOR == 0;
        const auto inside = [&](u32 z, u32 y) {
            const u32 gz = tile.at[0] + z, gy = tile.at[1] + y;
            if (CUT && this->is_cut && z / SLAB_PLANES * SLAB_PLANES != this->first_plane) return false;
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
    __device__ __forceinline__ void run() {
        i16 *symbols = a.q + tile.start;
        if (CUT && this->is_cut) this->fetch_lists();
        if (ENCODE) load_values();
        else this->copy_symbols(q, symbols);
        if (a.tier_count > 1) this->load_tiers();
        sync();
        this->load_corners();
        sync();
        this->sweep_steps();
        if (ENCODE && !this->is_cut) this->copy_symbols(symbols, q);
        if (a.result) store_values();
        sync();
    }
};

// The listed tiles in turn, one for each GROUP threads of a block of THREADS. SPILLED: their memory is not shared memory.
template <class T, u32 THREADS, u32 GROUP, bool ENCODE, bool SPILLED> __device__ __forceinline__ void tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    constexpr u32 GROUPS = THREADS / GROUP;
    const u32 group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    char *memory = SPILLED ? a.spill + (u64)blockIdx.x * a.tile_bytes : shared + group * a.tile_bytes;
    // many threads: few tiles
    constexpr bool CUT = GROUP > 64;
    const u32 count = a.device_count ? *a.device_count : a.list_count, slabs = CUT ? a.slabs : 1;
    for (u32 t = blockIdx.x * GROUPS + group; t < count * slabs; t += gridDim.x * GROUPS) {
        AnyTile<T, GROUP, ENCODE, CUT> work(a, a.tiles[a.list[t / slabs]], memory, thread, t % slabs);
        if (work.first_plane == 0 || work.first_plane < work.shape.dims[0]) work.run();
    }
}

template <class T, bool ENCODE> __device__ void last_array(const LastArguments<T> &a) {
    const u32 i = threadIdx.x;
    if (i >= a.count) return;
    const Quantizer<T> &quantizer = a.quantizers[a.tiers[i >> a.shift]];
    if (ENCODE) {
        T u = a.values[i];
        i16 q;
        if (!quantize(u, (T)0, quantizer, q)) a.delta[i] = delta_of(u, (T)0);
        a.q[i] = q;
        a.values[i] = u;
    } else {
        const i16 q = a.q[i];
        a.values[i] = q == EXACT ? apply_delta<T>(a.delta[i], (T)0) : Real<T>::fma((T)q, quantizer.step, (T)0);
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_tiles_small_f32(const TileArguments<float> a) { tiles<float, 128, 32, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_tiles_small_f32(const TileArguments<float> a) { tiles<float, 128, 32, false, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) encode_tiles_middle_f32(const TileArguments<float> a) { tiles<float, 64, 64, true, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) decode_tiles_middle_f32(const TileArguments<float> a) { tiles<float, 64, 64, false, false>(a); }
extern "C" __global__ void __launch_bounds__(1024, 1) encode_tiles_large_f32(const TileArguments<float> a) { tiles<float, 1024, 1024, true, false>(a); }
extern "C" __global__ void __launch_bounds__(1024, 1) decode_tiles_large_f32(const TileArguments<float> a) { tiles<float, 1024, 1024, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_spilled_f32(const TileArguments<float> a) { tiles<float, 512, 512, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_spilled_f32(const TileArguments<float> a) { tiles<float, 512, 512, false, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) encode_tiles_small_f64(const TileArguments<double> a) { tiles<double, 128, 32, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) decode_tiles_small_f64(const TileArguments<double> a) { tiles<double, 128, 32, false, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) encode_tiles_middle_f64(const TileArguments<double> a) { tiles<double, 64, 64, true, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 5) decode_tiles_middle_f64(const TileArguments<double> a) { tiles<double, 64, 64, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_large_f64(const TileArguments<double> a) { tiles<double, 512, 512, true, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_large_f64(const TileArguments<double> a) { tiles<double, 512, 512, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_tiles_spilled_f64(const TileArguments<double> a) { tiles<double, 512, 512, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_tiles_spilled_f64(const TileArguments<double> a) { tiles<double, 512, 512, false, true>(a); }
extern "C" __global__ void encode_last_f32(const LastArguments<float> a) { last_array<float, true>(a); }
extern "C" __global__ void encode_last_f64(const LastArguments<double> a) { last_array<double, true>(a); }
extern "C" __global__ void decode_last_f32(const LastArguments<float> a) { last_array<float, false>(a); }
extern "C" __global__ void decode_last_f64(const LastArguments<double> a) { last_array<double, false>(a); }
