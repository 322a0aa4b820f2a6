// Codebooks from the counts of tokens, by the rules of FORMAT.md (Codebook): package-merge, then canonical codes.
#include "huffman.cuh"

// Number of the n ascending weights that are below `w`, or not above it.
__device__ __forceinline__ u32 count_below(const u64 *weights, u32 n, u64 w, bool or_equal) {
    u32 low = 0, high = n;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (weights[middle] < w || (or_equal && weights[middle] == w))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Code lengths by package-merge, then canonical codes. A block of TOKENS threads a book.
extern "C" __global__ void huffman_books(const HuffmanArguments a) {
    __shared__ u64 leaves[TOKENS], rows[2][2 * TOKENS];
    // Where each leaf stands in each row.
    __shared__ u16 places[MAX_BITS][TOKENS];
    __shared__ u8 lengths[TOKENS], token_of[TOKENS];
    __shared__ u32 used, first_code[MAX_BITS + 1], of_length[MAX_BITS + 1];
    const u32 t = threadIdx.x;
    u32 *counts = a.counts + blockIdx.x * TOKENS;
    const u32 count = t < ALPHABET ? counts[t] : 0;
    if (t == 0) used = 0;
    if (t <= MAX_BITS) of_length[t] = 0;
    lengths[t] = 0;
    __syncthreads();
    if (count) {
        u32 rank = 0;
        for (u32 s = 0; s < ALPHABET; s++) rank += counts[s] && (counts[s] < count || (counts[s] == count && s < t));
        leaves[rank] = count;
        token_of[rank] = (u8)t;
        atomicAdd(&used, 1u);
    }
    __syncthreads();
    const u32 n = used;
    u32 above = 0;
    for (u32 r = 0; r < MAX_BITS; r++) {
        const u64 *last = rows[(r & 1) ^ 1];
        u64 *row = rows[r & 1];
        const u32 packages = above / 2;
        // The packages stand behind the row above while they are merged.
        u64 package = 0;
        if (t < packages) package = last[2 * t] + last[2 * t + 1];
        __syncthreads();
        u64 *merged = rows[(r & 1) ^ 1];
        if (t < packages) merged[t] = package;
        __syncthreads();
        if (t < n) {
            const u32 at = t + count_below(merged, packages, leaves[t], false);
            row[at] = leaves[t];
            places[r][t] = (u16)at;
        }
        if (t < packages) row[t + count_below(leaves, n, package, true)] = package;
        above = n + packages;
        __syncthreads();
    }
    if (n > 1 && t < n) {
        u32 take = 2 * n - 2, length = 0;
        for (u32 r = MAX_BITS; r-- > 0;) {
            // Leaves among the first `take` items: places ascend.
            u32 low = 0, high = n;
            while (low < high) {
                const u32 middle = (low + high) / 2;
                if (places[r][middle] < take)
                    low = middle + 1;
                else
                    high = middle;
            }
            length += t < low;
            take = 2 * (take - low);
        }
        lengths[token_of[t]] = (u8)length;
    }
    if (n == 1 && t == 0) lengths[token_of[0]] = 1;
    __syncthreads();
    const u32 length = lengths[t];
    if (length) atomicAdd(&of_length[length], 1u);
    __syncthreads();
    if (t == 0) {
        u32 next = 0;
        for (u32 l = 1; l <= MAX_BITS; l++) {
            next <<= 1;
            first_code[l] = next;
            next += of_length[l];
        }
    }
    __syncthreads();
    u32 code = 0;
    if (length) {
        code = first_code[length];
        for (u32 s = 0; s < t; s++) code += lengths[s] == length;
        code = __brev(code) >> (32 - length);
    }
    a.lengths[blockIdx.x * TOKENS + t] = (u8)length;
    a.codes[blockIdx.x * TOKENS + t] = length ? code | (length + action_of(t).extra_bits) << 16 : 0;
}
