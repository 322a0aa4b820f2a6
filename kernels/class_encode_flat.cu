// The class coder, encoding: the streams of flat arrays.
#include "class_encode.cuh"

// Half the rounds of a unit of 512 nodes.
constexpr u32 FLAT_BATCH = 8;

extern "C" __global__ void __launch_bounds__(32 * ENCODER_WARPS) encode_flat_streams(const CoderArguments a) { encode_streams<u32, FLAT_BATCH>(a); }
