// The planes coder, encoding: the bytes of all chunks, where the kernel of the frame's tiles has not put them to their places.
#include "planes_place.cuh"

constexpr u32 WINDOW = 4096;

// A block a piece of a chunk.
extern "C" __global__ void __launch_bounds__(PLACE_THREADS, 8) assemble_planes(const PlanesArguments a) {
    __shared__ PlaceShared shared;
    __shared__ __align__(16) u32 window[WINDOW];
    place_piece<WINDOW>(a, blockIdx.x / CHUNK_PIECES, blockIdx.x % CHUNK_PIECES, shared, window);
}
