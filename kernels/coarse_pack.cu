// The nodes of S(1) of whole tiles in axis order and their streams of the groups coder.
#include "coarse_pack.cuh"

extern "C" __global__ void __launch_bounds__(128, 7) pack_coarse_axis_32_f32(const CoarsePackArguments<float> a) { pack_coarse<float, 32, 128>(a); }
extern "C" __global__ void __launch_bounds__(128, 4) pack_coarse_axis_32_f64(const CoarsePackArguments<double> a) { pack_coarse<double, 32, 128>(a); }
