// Tiles of any shape in axis order: a group of threads a tile, or a warp two small ones.
#include "ordered.cuh"

extern "C" __global__ void __launch_bounds__(128, 8) encode_ordered_small_f32(const TileArguments<float> a) { ordered<float, 128, 32, 2, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_ordered_small_f32(const TileArguments<float> a) { ordered<float, 128, 32, 2, false, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 4) encode_ordered_middle_f32(const TileArguments<float> a) { ordered<float, 256, 256, 1, true, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 4) decode_ordered_middle_f32(const TileArguments<float> a) { ordered<float, 256, 256, 1, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 2) encode_ordered_large_f32(const TileArguments<float> a) { ordered<float, 512, 512, 1, true, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 2) decode_ordered_large_f32(const TileArguments<float> a) { ordered<float, 512, 512, 1, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_spilled_f32(const TileArguments<float> a) { ordered<float, 512, 512, 1, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_spilled_f32(const TileArguments<float> a) { ordered<float, 512, 512, 1, false, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) encode_ordered_small_f64(const TileArguments<double> a) { ordered<double, 128, 32, 2, true, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) decode_ordered_small_f64(const TileArguments<double> a) { ordered<double, 128, 32, 2, false, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) encode_ordered_middle_f64(const TileArguments<double> a) { ordered<double, 256, 256, 1, true, false>(a); }
extern "C" __global__ void __launch_bounds__(256, 2) decode_ordered_middle_f64(const TileArguments<double> a) { ordered<double, 256, 256, 1, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_large_f64(const TileArguments<double> a) { ordered<double, 512, 512, 1, true, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_large_f64(const TileArguments<double> a) { ordered<double, 512, 512, 1, false, false>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_ordered_spilled_f64(const TileArguments<double> a) { ordered<double, 512, 512, 1, true, true>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_ordered_spilled_f64(const TileArguments<double> a) { ordered<double, 512, 512, 1, false, true>(a); }
