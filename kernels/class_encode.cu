// The class coder, encoding: the streams of each chunk.
#include "class_encode.cuh"

// A unit of 8^3 nodes without its 4^3 coarse ones has 14 rounds.
constexpr u32 BATCH = 7;

extern "C" __global__ void __launch_bounds__(32 * ENCODER_WARPS) encode_streams_32(const CoderArguments a) { encode_streams<u32, BATCH>(a); }
extern "C" __global__ void __launch_bounds__(32 * ENCODER_WARPS) encode_streams_64(const CoderArguments a) { encode_streams<u64, BATCH>(a); }
