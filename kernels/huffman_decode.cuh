// What both Huffman decoders share: a lane a segment (huffman_decode.cu), a warp a segment (huffman_warps.cu).
#pragma once
#include "huffman.cuh"

// Blocks that make the table of a book, each a share of it.
constexpr u32 TABLE_BLOCKS = 8;

// The largest zigzag of a symbol of 16 bits.
constexpr u32 MOST_ZIGZAG = 65534;
__device__ __forceinline__ u32 unzigzag(u32 z) { return z >> 1 ^ (0u - (z & 1)); }

// The first token alone: its length (0 where no code begins so), the token.
__device__ __forceinline__ u32 single_entry(u32 token, u32 length) { return length | token << 4; }

// The tokens of a book by the next 12 bits, from the lengths of their codes; for blocks of TOKENS threads.
__device__ __forceinline__ void fill_singles(u32 *single, const u8 *from) {
    __shared__ u8 lengths[TOKENS];
    __shared__ u32 first_code[MAX_BITS + 1], of_length[MAX_BITS + 1];
    const u32 t = threadIdx.x, length = lengths[t] = from[t];
    for (u32 i = t; i < 1u << MAX_BITS; i += TOKENS) single[i] = 0;
    if (t <= MAX_BITS) of_length[t] = 0;
    __syncthreads();
    if (length) atomicAdd(&of_length[length], 1u);
    __syncthreads();
    if (t == 0) {
        u32 next = 0;
        for (u32 l = 1; l <= MAX_BITS; l++) {
            first_code[l] = next <<= 1;
            next += of_length[l];
        }
    }
    __syncthreads();
    if (length) {
        u32 code = first_code[length];
        for (u32 s = 0; s < t; s++) code += lengths[s] == length;
        code = __brev(code) >> (32 - length);
        for (u32 i = code; i < 1u << MAX_BITS; i += 1u << length) single[i] = single_entry(t, length);
    }
    __syncthreads();
}
