// What a chunk's choice is made from: a sample of its original values, and what predictions of them cost (FORMAT.md, "Choices"). Costs are
// integers: their sums do not depend on the order.
#pragma once
#include "nodes.cuh"

// A node of an axis at which predictions are compared. Mirrored in codec/backend/cuda/pyramid/choosing.rs.
template <class T> struct Probe {
    // For 2, 4 and 6 points; 0 for nodes that are not used.
    T weight[3][6];
    // Sums of the squares of the weights.
    T gain[3];
    // Distances to the three nodes before it and the three behind; 0 where there is none.
    i32 offset[6];
    // Place in the chunk; whether there are no other nodes than the two next to it.
    u32 at, alone;
};

template <class T> struct ChooseArguments {
    const T *values;
    const u8 *tiers;
    // Of all tiers, on level 0.
    const Quantizer<T> *quantizers;
    // Of axis a: those of its last chunk begin at first[a][1], those of all others at first[a][0].
    const Probe<T> *probes;
    u8 *choices;
    u32 first[3][2], count[3][2];
    u32 n[3], blocks[3], chunks[3];
    // Nodes of a chunk on an axis; axes on which step 0 adds nodes (bit a = axis a); candidates for the number of points, as
    // indices in turn.
    u32 side, active[2], candidates[3], candidate_count, tier_count, unused;
};

constexpr u32 POINT_CHOICES = 3;
// Cost of a bit; what a favoured axis must win by; below what mean cost coarse steps are quantized more finely.
constexpr u32 BIT = 128;
constexpr u64 AXIS_MARGIN = 32;
constexpr u64 FINE_BELOW = 20;
constexpr double COST_LIMIT = 32768.0;
// A quarter of the variance of rounding to integers.
constexpr double NOISE = 1.0 / 48.0;

__device__ __forceinline__ u32 cost_of_square(float y) { return (__float_as_uint(y) >> 17) - (127 << 6); }
__device__ __forceinline__ u32 cost_of_square(double y) { return cost_of_square(__double2float_rn(y)); }

// What a node of value u costs that is predicted by p with G = `noise`.
template <class T> __device__ __forceinline__ u32 cost_of(T u, T p, T noise, const Quantizer<T> &z) {
    typedef Real<T> R;
    if (z.inverse == 0) return z.check < 0 ? BIT * bit_length(delta_of(u, p)) : 0;
    T x = R::mul(R::abs(R::sub(u, p)), z.inverse);
    x = x < (T)COST_LIMIT ? x : (T)COST_LIMIT;
    return cost_of_square(R::fma(x, x, R::fma(noise, (T)NOISE, (T)1)));
}

// A chunk: where its probes begin, how many there are on each axis, and which axes have new nodes.
template <class T> struct SampledChunk {
    const Probe<T> *probes[3];
    u32 place[3], count[3], active;
    __device__ __forceinline__ SampledChunk(const ChooseArguments<T> &a, u32 chunk)
        : place{chunk / (a.chunks[1] * a.chunks[2]), chunk / a.chunks[2] % a.chunks[1], chunk % a.chunks[2]}, active(0) {
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            const u32 last = place[axis] + 1 == a.chunks[axis];
            probes[axis] = a.probes + a.first[axis][last];
            count[axis] = a.count[axis][last];
            active |= a.active[last] & 1u << axis;
        }
    }
    __device__ __forceinline__ u32 total() const { return count[0] * count[1] * count[2]; }
};
