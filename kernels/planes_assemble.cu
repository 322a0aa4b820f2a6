// The planes coder, encoding: the bytes of the chunks, at their places.
#include "planes_place.cuh"

// A block a piece of a chunk.
extern "C" __global__ void __launch_bounds__(PLACE_THREADS, 8) assemble_planes(const PlanesArguments a) {
    __shared__ PlaceShared shared;
    __shared__ PlanesArguments arguments;
    if (threadIdx.x == 0) arguments = a;
    __syncthreads();
    place_piece(a, arguments, blockIdx.x, shared);
}
