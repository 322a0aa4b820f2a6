// Whole tiles of side 32. A file of its own, so that the sides are compiled side by side.
#include "coarse_parity.cuh"
#include "fine.cuh"

extern "C" __global__ void __launch_bounds__(128, 5) encode_coarse_32_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 32, 1, 128, true>, 128>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) encode_fine_32_f32(const TileArguments<float> a) { fine_tiles<float, 32, 1, 512, true>(a); }
extern "C" __global__ void __launch_bounds__(128, 5) decode_coarse_32_f32(const TileArguments<float> a) { coarse_tiles<float, CoarseParity<float, 32, 1, 128, false>, 128>(a); }
extern "C" __global__ void __launch_bounds__(512, 1) decode_fine_32_f32(const TileArguments<float> a) { fine_tiles<float, 32, 1, 512, false>(a); }
