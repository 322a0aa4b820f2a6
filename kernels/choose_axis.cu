// The choice of each chunk of the frame in axis order: one axis predicts a node, so that a cost for each axis is all there is to add up.
#include "choose.cuh"

// A probe without the weights that are 0: those for 2 points, for 4, for 6. Those of axes 0 and 1 stand in shared memory.
template <class T> struct __align__(16) Compact {
    T weight[12], gain[3];
    u32 at;
    i32 offset[6];
    u32 unused[2];
    __device__ __forceinline__ void take(const Probe<T> &probe) {
#pragma unroll
        for (u32 i = 0; i < 12; i++) weight[i] = i < 2 ? probe.weight[0][2 + i] : i < 6 ? probe.weight[1][i - 1] : probe.weight[2][i - 6];
#pragma unroll
        for (u32 p = 0; p < POINT_CHOICES; p++) gain[p] = probe.gain[p];
#pragma unroll
        for (u32 k = 0; k < 6; k++) offset[k] = probe.offset[k];
        at = probe.at;
    }
};

// Probes of axes 0 and 1 that are at hand.
constexpr u32 STAGE = 12;

template <class T> struct InOrder {
    typedef Real<T> R;
    const u32 active;
    // By points and axis.
    u32 sums[POINT_CHOICES][3];

    // Adds the costs of the node at `node` predicted along one axis from its neighbours, `stride` elements apart.
    __device__ __forceinline__ void add(u32 axis, const T *node, u64 stride, T u, const Compact<T> &probe, const Quantizer<T> &z) {
        if (!(active >> axis & 1)) return;
        T near[6];
#pragma unroll
        for (u32 k = 0; k < 6; k++) near[k] = node[(i64)probe.offset[k] * (i64)stride];
#pragma unroll
        for (u32 p = 0; p < POINT_CHOICES; p++) {
            T sum = 0;
#pragma unroll
            for (u32 k = 0; k < 2 * p + 2; k++) sum = R::fma(probe.weight[p * (p + 1) + k], near[2 - p + k], sum);
            sums[p][axis] += cost_of(u, sum, probe.gain[p], z);
        }
    }
};

// The cost of a candidate: the sum over all sets of axes on which a node may be new.
__device__ __forceinline__ u64 cost_in_order(const u32 (&costs)[3], u32 active, u32 favoured) {
    const u32 bit = (1u << favoured) >> 1;
    u64 cost = 0;
    for (u32 set = 1; set < 8; set++) {
        if (set & ~active) continue;
        const u32 alone = set & bit ? bit : set & (0u - set);
        cost += costs[alone >> 1];
    }
    return cost;
}

// Threads that go through the columns of a sample; a block has some of them, which share the planes.
constexpr u32 COLUMN_THREADS = 160;

// One block a chunk.
template <class T> __device__ void choose_in_order(const ChooseArguments<T> &a) {
    __shared__ u32 costs[POINT_CHOICES][3];
    __shared__ Compact<T> planes[STAGE], rows[STAGE];
    const SampledChunk<T> chunk(a, blockIdx.x);
    if (threadIdx.x < POINT_CHOICES * 3) costs[0][threadIdx.x] = 0;
    InOrder<T> work{chunk.active, {}};
    const u64 row = a.n[2], plane = row * a.n[1];
    Quantizer<T> z = a.quantizers[0];
    // mostly both loops have one turn
#pragma unroll 1
    for (u32 first_row = 0; first_row < chunk.count[1]; first_row += STAGE) {
#pragma unroll 1
        for (u32 first_plane = 0; first_plane < chunk.count[0]; first_plane += STAGE) {
            const u32 row_count = min(STAGE, chunk.count[1] - first_row), plane_count = min(STAGE, chunk.count[0] - first_plane);
            __syncthreads();
            if (threadIdx.x < plane_count) planes[threadIdx.x].take(chunk.probes[0][first_plane + threadIdx.x]);
            if (threadIdx.x >= 32 && threadIdx.x - 32 < row_count) rows[threadIdx.x - 32].take(chunk.probes[1][first_row + threadIdx.x - 32]);
            __syncthreads();
#pragma unroll 1
            for (u32 i = threadIdx.x % COLUMN_THREADS; i < row_count * chunk.count[2]; i += COLUMN_THREADS) {
                Compact<T> along_x;
                along_x.take(chunk.probes[2][i % chunk.count[2]]);
                u32 at_hand = i / chunk.count[2];
                const u32 y = chunk.place[1] * a.side + rows[at_hand].at, x = chunk.place[2] * a.side + along_x.at, first = chunk.place[0] * a.side;
#pragma unroll 1
                for (u32 k = threadIdx.x / COLUMN_THREADS; k < plane_count; k += blockDim.x / COLUMN_THREADS) {
                    // read anew for each node: there are no registers for these as well
                    keep(at_hand);
                    const Compact<T> &along_z = planes[k], &along_y = rows[at_hand];
                    const u32 position = first + along_z.at;
                    const T *node = a.values + position * plane + y * row + x;
                    if (a.tier_count > 1) z = a.quantizers[a.tiers[((position >> 3) * a.blocks[1] + (y >> 3)) * a.blocks[2] + (x >> 3)]];
                    const T u = *node;
                    work.add(0, node, plane, u, along_z, z);
                    work.add(1, node, row, u, along_y, z);
                    work.add(2, node, 1, u, along_x, z);
                }
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < POINT_CHOICES * 3; i++) {
        const u32 sum = __reduce_add_sync(FULL, work.sums[i / 3][i % 3]);
        if ((threadIdx.x & 31) == 0) atomicAdd(&costs[0][i], sum);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    u32 best = a.candidates[0];
    u64 least = ~0ull, least_cost = 0;
    for (u32 c = 0; c < a.candidate_count; c++) {
        // no axis, then axis 1
        for (u32 favoured = 0; favoured <= 2; favoured += 2) {
            const u64 cost = cost_in_order(costs[a.candidates[c]], chunk.active, favoured);
            const u64 counted = cost + (favoured > 0 ? cost / AXIS_MARGIN : 0);
            if (counted >= least) continue;
            least = counted, least_cost = cost;
            best = a.candidates[c] + 3 * favoured;
        }
    }
    const u32 sets = (1u << __popc(chunk.active)) - 1;
    const bool fine = least_cost < FINE_BELOW * chunk.total() * sets;
    a.choices[blockIdx.x] = (u8)(Choice::IN_ORDER + best + (fine ? Choice::FINE : 0));
}

// 72 registers: so that each quarter of a multiprocessor has seven warps and all of it five blocks of COLUMN_THREADS. A few multiprocessors are busy with corner
// arrays, and no chunk should wait for another.
extern "C" __global__ void __launch_bounds__(832) choose_in_order_f32(const ChooseArguments<float> a) { choose_in_order<float>(a); }
extern "C" __global__ void __launch_bounds__(320) choose_in_order_f64(const ChooseArguments<double> a) { choose_in_order<double>(a); }
