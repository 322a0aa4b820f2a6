// Whole tiles of side 16. A file of its own, so that the sides are compiled side by side.
#include "coarse_parity.cuh"
#include "fine.cuh"

extern "C" __global__ void __launch_bounds__(128, 6) encode_coarse_16_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 16, 2, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(96, 8) encode_fine_16_f32(const TileArguments<float> a) { fine_tiles<float, 16, 1, 96, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 6) decode_coarse_16_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 16, 2, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(96, 8) decode_fine_16_f32(const TileArguments<float> a) { fine_tiles<float, 16, 1, 96, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 3) encode_coarse_16_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseParity<double, 16, 2, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_fine_16_f64(const TileArguments<double> a) { fine_tiles<double, 16, 1, 128, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 3) decode_coarse_16_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseParity<double, 16, 2, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_fine_16_f64(const TileArguments<double> a) { fine_tiles<double, 16, 1, 128, false>(a); }
