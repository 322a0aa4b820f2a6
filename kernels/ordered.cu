// Tiles of any shape in axis order: a group of threads a tile.
#include "ordered.cuh"

// The listed tiles in turn, one for each GROUP threads of a block of THREADS. SPILLED: their memory is not shared memory.
template <class T, u32 THREADS, u32 GROUP, bool ENCODE, bool SPILLED> __device__ __forceinline__ void ordered(const TileArguments<T> &a) {
    SHARED_MEMORY(shared);
    constexpr u32 GROUPS = THREADS / GROUP;
    const u32 group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    char *memory = SPILLED ? a.spill + (u64)blockIdx.x * a.tile_bytes : shared + group * a.tile_bytes;
    const u32 count = a.device_count ? *a.device_count : a.list_count;
    for (u32 t = blockIdx.x * GROUPS + group; t < count; t += gridDim.x * GROUPS) {
        const Tile &tile = a.tiles[a.list[t]];
        OrderedTile<T, GROUP, ENCODE, SPILLED>(a, tile, a.shapes[tile.shape], memory, thread).run();
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) encode_ordered_small_f32(const TileArguments<float> a) { ordered<float, 128, 32, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_ordered_small_f32(const TileArguments<float> a) { ordered<float, 128, 32, false, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 4) encode_ordered_middle_f32(const TileArguments<float> a) { ordered<float, 256, 256, true, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 4) decode_ordered_middle_f32(const TileArguments<float> a) { ordered<float, 256, 256, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 2) encode_ordered_large_f32(const TileArguments<float> a) { ordered<float, 512, 512, true, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 2) decode_ordered_large_f32(const TileArguments<float> a) { ordered<float, 512, 512, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_spilled_f32(const TileArguments<float> a) { ordered<float, 512, 512, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_spilled_f32(const TileArguments<float> a) { ordered<float, 512, 512, false, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) encode_ordered_small_f64(const TileArguments<double> a) { ordered<double, 128, 32, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) decode_ordered_small_f64(const TileArguments<double> a) { ordered<double, 128, 32, false, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) encode_ordered_middle_f64(const TileArguments<double> a) { ordered<double, 256, 256, true, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) decode_ordered_middle_f64(const TileArguments<double> a) { ordered<double, 256, 256, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_large_f64(const TileArguments<double> a) { ordered<double, 512, 512, true, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_large_f64(const TileArguments<double> a) { ordered<double, 512, 512, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_spilled_f64(const TileArguments<double> a) { ordered<double, 512, 512, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_spilled_f64(const TileArguments<double> a) { ordered<double, 512, 512, false, true>(a); }
