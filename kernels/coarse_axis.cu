// The nodes of S(1) of whole tiles in axis order.
#include "coarse_axis.cuh"

extern "C" __global__ void __launch_bounds__(128, 8) encode_coarse_axis_8_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 8, 8, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_coarse_axis_8_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 8, 8, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_coarse_axis_8_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 8, 8, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_coarse_axis_8_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 8, 8, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) encode_coarse_axis_16_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 16, 2, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_coarse_axis_16_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 16, 2, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_coarse_axis_16_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 16, 2, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_coarse_axis_16_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 16, 2, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 7) encode_coarse_axis_32_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 32, 1, 128, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 7) decode_coarse_axis_32_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseInOrder<float, 32, 1, 128, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_coarse_axis_32_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 32, 1, 128, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_coarse_axis_32_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseInOrder<double, 32, 1, 128, false>, 128>(a); }
