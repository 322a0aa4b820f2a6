// Whole tiles of side 8. A file of its own, so that the sides are compiled side by side.
#include "coarse_parity.cuh"
#include "fine.cuh"

extern "C" __global__ void __launch_bounds__(128, 8) encode_coarse_8_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 8, 8, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) encode_fine_8_f32(const TileArguments<float> a) { fine_tiles<float, 8, 8, 128, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 8) decode_coarse_8_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 8, 8, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) decode_fine_8_f32(const TileArguments<float> a) { fine_tiles<float, 8, 8, 128, false>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_coarse_8_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseParity<double, 8, 8, 32, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) encode_fine_8_f64(const TileArguments<double> a) { fine_tiles<double, 8, 4, 128, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_coarse_8_f64(const TileArguments<double> a) { coarse_tiles<double, CoarseParity<double, 8, 8, 32, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) decode_fine_8_f64(const TileArguments<double> a) { fine_tiles<double, 8, 4, 128, false>(a); }
