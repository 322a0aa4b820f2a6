// The choice of each chunk of the frame in parity order.
#include "choose.cuh"

constexpr u32 SETS = 8;
// Without the roughness rule, and with it.
constexpr u32 RULES = 2;
// What the rule must win by.
constexpr u64 RULE_MARGIN = 16;

// One node of the sample.
template <class T> struct Sampled {
    typedef Real<T> R;
    T u;
    Quantizer<T> z;
    T near[3][6], p[3], rough[3], gain[3];

    // Predicts along one axis with `points` as index.
    __device__ __forceinline__ void interpolate(u32 axis, const Probe<T> &probe, u32 points) {
        T sum = 0;
#pragma unroll
        for (u32 k = 0; k < 6; k++) sum = R::fma(probe.weight[points][k], near[axis][k], sum);
        p[axis] = sum;
        gain[axis] = probe.gain[points];
        const T left = near[axis][2], right = near[axis][3];
        const bool alone = (points == 0) | (probe.alone != 0);
        rough[axis] = R::abs(alone ? slope(left, right) : bend(left, right, sum));
    }
    // What the prediction costs if the node were new on the axes `set`; with RULE axes much rougher than another are left out.
    template <bool RULE> __device__ __forceinline__ u32 cost(u32 set) const {
        T sum = 0, noise = 0;
        u32 count = 0;
        T limit = R::from_bits(R::INFINITE);
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (RULE && set >> axis & 1) limit = R::min(rough[axis], limit);
        }
        limit = R::fma(limit, (T)2, z.step);
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (!(set >> axis & 1)) continue;
            const bool out = RULE && rough[axis] > limit;
            sum = out ? sum : R::add(sum, p[axis]);
            noise = out ? noise : R::add(noise, gain[axis]);
            count += !out;
        }
        const T share = count > 2 ? (T)(1.0 / 3.0) : count == 1 ? (T)1 : (T)0.5;
        return cost_of(u, R::mul(sum, share), R::mul(noise, R::mul(share, share)), z);
    }
};

// The axes that predict a node new on the axes `set`, `favoured` being 0 or one more than an axis.
__device__ __forceinline__ u32 predicting(u32 set, u32 favoured) {
    const u32 bit = (1u << favoured) >> 1;
    return set & bit ? bit : set;
}

// One block a chunk.
template <class T> __device__ void choose_chunks(const ChooseArguments<T> &a) {
    __shared__ u64 costs[RULES][POINT_CHOICES][SETS];
    const u32 chunk = blockIdx.x;
    const SampledChunk<T> sampled(a, chunk);
    const u32(&count)[3] = sampled.count, active = sampled.active, total = sampled.total();
    for (u32 i = threadIdx.x; i < RULES * POINT_CHOICES * SETS; i += blockDim.x) costs[0][0][i] = 0;
    __syncthreads();
    const u64 strides[3] = {(u64)a.n[1] * a.n[2], a.n[2], 1};
    u32 sums[RULES][POINT_CHOICES][SETS] = {};
    for (u32 i = threadIdx.x; i < total; i += blockDim.x) {
        const u32 index[3] = {i / (count[1] * count[2]), i / count[2] % count[1], i % count[2]};
        Sampled<T> node;
        const Probe<T> *probe[3];
        u64 at = 0;
        u32 block = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            probe[axis] = sampled.probes[axis] + index[axis];
            const u32 position = sampled.place[axis] * a.side + probe[axis]->at;
            at += position * strides[axis];
            block = block * a.blocks[axis] + (position >> 3);
        }
        node.u = a.values[at];
        node.z = a.quantizers[a.tiers[block]];
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (!(active >> axis & 1)) continue;
#pragma unroll
            for (u32 k = 0; k < 6; k++) node.near[axis][k] = a.values[at + (i64)probe[axis]->offset[k] * (i64)strides[axis]];
        }
#pragma unroll 1
        for (u32 c = 0; c < a.candidate_count; c++) {
#pragma unroll
            for (u32 axis = 0; axis < 3; axis++) {
                if (active >> axis & 1) node.interpolate(axis, *probe[axis], a.candidates[c]);
            }
#pragma unroll
            for (u32 p = 0; p < POINT_CHOICES; p++) {
                if (p != c) continue;
#pragma unroll
                for (u32 set = 1; set < SETS; set++) {
                    if (set & ~active) continue;
                    const u32 plain = node.template cost<false>(set);
                    sums[0][p][set] += plain;
                    // an axis alone is not compared with others
                    sums[1][p][set] += (set & (set - 1)) == 0 ? plain : node.template cost<true>(set);
                }
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < RULES * POINT_CHOICES * SETS; i++) {
        if (i % SETS == 0) continue;
        const u32 sum = __reduce_add_sync(FULL, sums[i / (POINT_CHOICES * SETS)][i / SETS % POINT_CHOICES][i % SETS]);
        if ((threadIdx.x & 31) == 0) atomicAdd(&costs[0][0][i], (u64)sum);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    u32 best = a.candidates[0], sets = 0;
    u64 least = ~0ull, least_cost = 0;
    for (u32 set = 1; set < SETS; set++) sets += (set & ~active) == 0;
    for (u32 rule = 0; rule < RULES; rule++) {
        for (u32 c = 0; c < a.candidate_count; c++) {
            for (u32 favoured = 0; favoured <= 3; favoured++) {
                u64 cost = 0;
                for (u32 set = 1; set < SETS; set++) cost += set & ~active ? 0 : costs[rule][c][predicting(set, favoured)];
                const u64 counted = cost + (favoured > 0 ? cost / AXIS_MARGIN : 0) + (rule > 0 ? cost / RULE_MARGIN : 0);
                if (counted >= least) continue;
                least = counted, least_cost = cost;
                best = a.candidates[c] + 3 * favoured + rule * Choice::RULE;
            }
        }
    }
    const bool fine = least_cost < FINE_BELOW * total * sets;
    a.choices[chunk] = (u8)(best + (fine ? Choice::FINE : 0));
}

extern "C" __global__ void __launch_bounds__(256) choose_chunks_f32(const ChooseArguments<float> a) { choose_chunks<float>(a); }
extern "C" __global__ void __launch_bounds__(256) choose_chunks_f64(const ChooseArguments<double> a) { choose_chunks<double>(a); }
