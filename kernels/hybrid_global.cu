// Global levels (n -> n / 2 + 1 nodes an axis, the even ones and the last), the projection's correction, the coarsest
// array, and values that go to single places.
#include "hybrid.cuh"

// One axis of a fine node: coarse node `k`, or the middle of `k` and `k + 1`.
struct AxisPlace {
    u32 k;
    bool kept;
};
__device__ __forceinline__ AxisPlace axis_place(u32 i, u32 n) {
    if (i & 1 && i == n - 1) return {n / 2, true};
    return {i / 2, !(i & 1)};
}
__device__ __forceinline__ u32 fine_node(u32 k, u32 n) { return min(2 * k, n - 1); }

// Two neighbouring nodes of a row, x even and x + 1, and the interpolant at both.
template <class T> struct NodePair {
    u32 z, y, x;
    // Whether x + 1 is in the row.
    bool second;
    bool coarse_row, second_kept;
    AxisPlace az, ay;
    T w[2];
    // Index of the first detail of the pair among all details.
    u32 detail;
};

// Pair `i` of the level; `node(k)` gives the coarse value at coarse place k.
template <class T, class F> __device__ __forceinline__ NodePair<T> node_pair(const GlobalArguments &a, u32 i, F node) {
    NodePair<T> p;
    const u32 pairs = (a.n[2] + 1) / 2, row = i / pairs;
    p.x = 2 * (i - row * pairs);
    p.z = row / a.n[1];
    p.y = row - p.z * a.n[1];
    p.second = p.x + 1 < a.n[2];
    p.second_kept = p.x + 2 == a.n[2];
    p.az = axis_place(p.z, a.n[0]);
    p.ay = axis_place(p.y, a.n[1]);
    p.coarse_row = p.az.kept && p.ay.kept;
    T line[2] = {};
    for (u32 k = 0; k < 2; k++) {
        const u32 x = p.x / 2 + k;
        if (k && !p.second) break;
        const auto column = [&](u32 y) {
            const T low = node(p.az.k, y, x);
            return p.az.kept ? low : midpoint(low, node(p.az.k + 1, y, x));
        };
        const T low = column(p.ay.k);
        line[k] = p.ay.kept ? low : midpoint(low, column(p.ay.k + 1));
    }
    p.w[0] = line[0];
    p.w[1] = p.second_kept ? line[1] : midpoint(line[0], line[1]);
    const u32 coarse_rows = (p.z + 1) / 2 * a.coarse_n[1] + (p.az.kept ? (p.y + 1) / 2 : 0);
    p.detail = row * a.n[2] - coarse_rows * a.coarse_n[2] + (p.coarse_row ? p.x / 2 : p.x);
    return p;
}
__device__ __forceinline__ u32 pair_count(const GlobalArguments &a) { return a.n[0] * a.n[1] * ((a.n[2] + 1) / 2); }

template <class T> __device__ void decompose(const GlobalArguments &a) {
    const T *fine = (const T *)a.fine;
    T *coarse = (T *)a.coarse, *details = (T *)a.details;
    const Step<T> by = *(const Step<T> *)a.step;
    const auto node = [&](u32 z, u32 y, u32 x) {
        return fine[((u64)fine_node(z, a.n[0]) * a.n[1] + fine_node(y, a.n[1])) * a.n[2] + fine_node(x, a.n[2])];
    };
    const u32 total = pair_count(a);
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const NodePair<T> p = node_pair<T>(a, i, node);
        const u64 at = ((u64)p.z * a.n[1] + p.y) * a.n[2] + p.x;
        u32 next = p.detail;
        for (u32 k = 0; k < 2; k++) {
            if (k && !p.second) break;
            const T u = fine[at + k], d = Real<T>::sub(u, p.w[k]);
            const bool kept = p.coarse_row && (k == 0 || p.second_kept);
            if (details) details[at + k] = d;
            if (kept) {
                const u64 row = (u64)p.az.k * a.coarse_n[1] + p.ay.k;
                coarse[row * a.coarse_n[2] + p.x / 2 + k] = u;
            } else {
                const i32 q = quantize_detail(d, by);
                a.symbols[next++] = q;
                if (q == STORED) atomicOr(&a.state->refused, COARSE_STORED);
            }
        }
    }
}

// The dequantized details, zero on coarse nodes.
template <class T> __device__ void spread_details(const GlobalArguments &a) {
    T *details = (T *)a.details;
    const Step<T> by = *(const Step<T> *)a.step;
    const auto node = [](u32, u32, u32) { return (T)0; };
    const u32 total = pair_count(a);
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const NodePair<T> p = node_pair<T>(a, i, node);
        const u64 at = ((u64)p.z * a.n[1] + p.y) * a.n[2] + p.x;
        u32 next = p.detail;
        for (u32 k = 0; k < 2; k++) {
            if (k && !p.second) break;
            const bool kept = p.coarse_row && (k == 0 || p.second_kept);
            details[at + k] = Real<T>::mul(whole<T>(kept ? 0 : a.symbols[next++]), by.step);
        }
    }
}

template <class T> __device__ void recompose(const GlobalArguments &a) {
    const T *coarse = (const T *)a.coarse;
    T *result = (T *)a.result;
    const Step<T> by = *(const Step<T> *)a.step;
    const auto node = [&](u32 z, u32 y, u32 x) { return coarse[((u64)z * a.coarse_n[1] + y) * a.coarse_n[2] + x]; };
    const u32 total = pair_count(a);
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const NodePair<T> p = node_pair<T>(a, i, node);
        const u64 at = ((u64)p.z * a.n[1] + p.y) * a.n[2] + p.x;
        u32 next = p.detail;
        for (u32 k = 0; k < 2; k++) {
            if (k && !p.second) break;
            const bool kept = p.coarse_row && (k == 0 || p.second_kept);
            result[at + k] = add_detail(p.w[k], kept ? 0 : a.symbols[next++], by);
        }
    }
}

// One axis of the correction: a thread a line, restriction and forward elimination, then back substitution.
template <class T> __device__ void project_axis(const AxisArguments &a) {
    const u32 lines = a.outer * a.inner;
    const bool even = !(a.n & 1);
    for (u32 line = blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += gridDim.x * blockDim.x) {
        const u32 outer = line / a.inner, inner = line % a.inner;
        const T *from = (const T *)a.from + (u64)outer * a.n * a.inner + inner;
        T *to = (T *)a.to + (u64)outer * a.m * a.inner + inner;
        T before = 0;
        for (u32 k = 0; k < a.m; k++) {
            const T *row = (const T *)a.rows + 8 * k;
            const bool last = k == a.m - 1;
            const u32 first = k == 0 ? 0 : even && last ? a.n - 2 : 2 * k - 2;
            u32 count = k == 0 || last ? 3 : 5;
            if (even && k + 2 == a.m) count = 4;
            if (a.n == 2 || (even && last)) count = 2;
            if (k == 0 && a.n > 2) count = 3;
            T r = Real<T>::mul(row[3], from[(u64)first * a.inner]);
            for (u32 i = 1; i < count; i++) r = Real<T>::fma(row[3 + i], from[(u64)(first + i) * a.inner], r);
            if (k) r = Real<T>::fma(-row[0], before, r);
            to[(u64)k * a.inner] = before = r;
        }
        for (u32 k = a.m; k-- > 0;) {
            const T *row = (const T *)a.rows + 8 * k;
            T x = Real<T>::mul(to[(u64)k * a.inner], row[1]);
            if (k + 1 < a.m) x = Real<T>::fma(-row[2], before, x);
            to[(u64)k * a.inner] = before = x;
        }
    }
}

template <class T> __device__ void join(const JoinArguments &a) {
    const T *coarse = (const T *)a.coarse, *correction = (const T *)a.correction;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        const T sum = Real<T>::add(coarse[i], correction[i]);
        ((T *)a.result)[i] = a.subtract ? Real<T>::sub(coarse[i], correction[i]) : is_finite(sum) ? sum : (T)0;
    }
}

// Symbols of the coarsest array, differenced along all axes; the values stay in `fine`.
template <class T> __device__ void quantize_coarsest(const GlobalArguments &a) {
    const T *values = (const T *)a.fine;
    const Step<T> by = *(const Step<T> *)a.step;
    const u32 plane = a.n[1] * a.n[2], total = a.n[0] * plane;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const u32 z = i / plane, y = i / a.n[2] % a.n[1], x = i % a.n[2];
        if (quantize_detail(values[i], by) == STORED) atomicOr(&a.state->coarsest_stored, 1u);
        u32 sum = 0;
        for (u32 k = 0; k < 8; k++) {
            const u32 dz = k >> 2, dy = k >> 1 & 1, dx = k & 1;
            if (z < dz || y < dy || x < dx) continue;
            const u32 q = (u32)quantize_detail(values[i - dz * plane - dy * a.n[2] - dx], by);
            sum += (dz + dy + dx) & 1 ? 0 - q : q;
        }
        a.symbols[i] = (i32)sum;
    }
}

// The coarsest array as the decoder has it, from values (encoder): the values when one of them is stored exactly.
template <class T> __device__ void round_coarsest(const GlobalArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    const T *values = (const T *)a.fine;
    T *result = (T *)a.result;
    const u32 total = a.n[0] * a.n[1] * a.n[2];
    const bool stored = a.state->coarsest_stored;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        result[i] = stored ? values[i] : Real<T>::mul(whole<T>(quantize_detail(values[i], by)), by.step);
}

// The coarsest array from symbols that were summed along all axes (decoder).
template <class T> __device__ void dequantize_coarsest(const GlobalArguments &a) {
    const Step<T> by = *(const Step<T> *)a.step;
    const u32 total = a.n[0] * a.n[1] * a.n[2];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        ((T *)a.result)[i] = Real<T>::mul(whole<T>(a.symbols[i]), by.step);
}

// Nodes that miss their tolerance in a frame whose chunks hold patches alone.
template <class T> __device__ void find_missed(const MissedArguments &a) {
    const T *fine = (const T *)a.fine, *rebuilt = (const T *)a.rebuilt;
    const u32 plane = a.n[1] * a.n[2], total = a.n[0] * plane;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const u32 at[3] = {i / plane, i / a.n[2] % a.n[1], i % a.n[2]};
        const u32 block = (at[0] / BLOCK * a.blocks[1] + at[1] / BLOCK) * a.blocks[2] + at[2] / BLOCK;
        if (!misses(fine[i], rebuilt[i], ((const Step<T> *)a.steps)[a.tiers[block]].check)) continue;
        u32 chunk = 0, index = 0;
        for (int k = 0; k < 3; k++) {
            const u32 side = a.side[k] * BLOCK, c = at[k] / side, lo = c * side;
            chunk = chunk * a.chunks[k] + c;
            index = index * min(side, a.n[k] - lo) + (at[k] - lo);
        }
        note(a.missed, chunk, index, fine[i]);
    }
}

template <class T> __device__ void scatter(const ScatterArguments &a) {
    T *result = (T *)a.result;
    const T *values = (const T *)a.values;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x)
        result[a.places[i]] = values[i];
}

template <class T> __device__ void copy_box(const BoxArguments &a) {
    const u32 total = a.count[0] * a.count[1] * a.count[2];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        const u32 z = i / (a.count[1] * a.count[2]), y = i / a.count[2] % a.count[1], x = i % a.count[2];
        const u64 from = ((u64)(z + a.skip[0]) * a.from_n[1] + y + a.skip[1]) * a.from_n[2] + x + a.skip[2];
        const u64 to = ((u64)(z + a.at[0]) * a.to_n[1] + y + a.at[1]) * a.to_n[2] + x + a.at[2];
        ((T *)a.result)[to] = ((const T *)a.values)[from];
    }
}

// Running sums along the last axis, a warp a row, or along another, a thread a column; wrapping.
__device__ void sum_last(const GlobalArguments &a) {
    const u32 lane = threadIdx.x & 31, rows = a.n[0] * a.n[1], warps = gridDim.x * blockDim.x / 32;
    for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        i32 *line = a.symbols + (u64)row * a.n[2];
        u32 carry = 0;
        for (u32 x = 0; x < a.n[2]; x += 32) {
            u32 v = x + lane < a.n[2] ? (u32)line[x + lane] : 0;
            for (int by = 1; by < 32; by *= 2) {
                const u32 low = __shfl_up_sync(FULL, v, by);
                if (lane >= (u32)by) v += low;
            }
            v += carry;
            carry = __shfl_sync(FULL, v, 31);
            if (x + lane < a.n[2]) line[x + lane] = (i32)v;
        }
    }
}
__device__ void sum_axis(const GlobalArguments &a, u32 outer, u32 n, u32 inner) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < outer * inner; i += gridDim.x * blockDim.x) {
        u32 *line = (u32 *)a.symbols + (u64)(i / inner) * n * inner + i % inner;
        u32 sum = 0;
        for (u32 k = 0; k < n; k++) line[(u64)k * inner] = sum += line[(u64)k * inner];
    }
}

extern "C" __global__ void hybrid_sum_0(const GlobalArguments a) { sum_axis(a, 1, a.n[0], a.n[1] * a.n[2]); }
extern "C" __global__ void hybrid_sum_1(const GlobalArguments a) { sum_axis(a, a.n[0], a.n[1], a.n[2]); }
extern "C" __global__ void hybrid_sum_2(const GlobalArguments a) { sum_last(a); }
extern "C" __global__ void hybrid_global_decompose_f32(const GlobalArguments a) { decompose<float>(a); }
extern "C" __global__ void hybrid_global_decompose_f64(const GlobalArguments a) { decompose<double>(a); }
extern "C" __global__ void hybrid_global_recompose_f32(const GlobalArguments a) { recompose<float>(a); }
extern "C" __global__ void hybrid_global_recompose_f64(const GlobalArguments a) { recompose<double>(a); }
extern "C" __global__ void hybrid_spread_details_f32(const GlobalArguments a) { spread_details<float>(a); }
extern "C" __global__ void hybrid_spread_details_f64(const GlobalArguments a) { spread_details<double>(a); }
extern "C" __global__ void hybrid_project_axis_f32(const AxisArguments a) { project_axis<float>(a); }
extern "C" __global__ void hybrid_project_axis_f64(const AxisArguments a) { project_axis<double>(a); }
extern "C" __global__ void hybrid_join_f32(const JoinArguments a) { join<float>(a); }
extern "C" __global__ void hybrid_join_f64(const JoinArguments a) { join<double>(a); }
extern "C" __global__ void hybrid_quantize_coarsest_f32(const GlobalArguments a) { quantize_coarsest<float>(a); }
extern "C" __global__ void hybrid_quantize_coarsest_f64(const GlobalArguments a) { quantize_coarsest<double>(a); }
extern "C" __global__ void hybrid_round_coarsest_f32(const GlobalArguments a) { round_coarsest<float>(a); }
extern "C" __global__ void hybrid_round_coarsest_f64(const GlobalArguments a) { round_coarsest<double>(a); }
extern "C" __global__ void hybrid_dequantize_coarsest_f32(const GlobalArguments a) { dequantize_coarsest<float>(a); }
extern "C" __global__ void hybrid_dequantize_coarsest_f64(const GlobalArguments a) { dequantize_coarsest<double>(a); }
extern "C" __global__ void hybrid_find_missed_f32(const MissedArguments a) { find_missed<float>(a); }
extern "C" __global__ void hybrid_find_missed_f64(const MissedArguments a) { find_missed<double>(a); }
extern "C" __global__ void hybrid_scatter_f32(const ScatterArguments a) { scatter<float>(a); }
extern "C" __global__ void hybrid_scatter_f64(const ScatterArguments a) { scatter<double>(a); }
extern "C" __global__ void hybrid_copy_box_f32(const BoxArguments a) { copy_box<float>(a); }
extern "C" __global__ void hybrid_copy_box_f64(const BoxArguments a) { copy_box<double>(a); }
