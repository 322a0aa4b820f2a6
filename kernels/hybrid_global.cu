// Global levels (n -> n / 2 + 1 nodes an axis, the even ones and the last), the projection's correction, and values that go
// to single places.
#include "hybrid_rows.cuh"

// Four inner rows: symbols of 16 bits at once, others one by one.
template <class T, Source SOURCE, class L>
__device__ __forceinline__ void decompose_inner(const GlobalArguments &a, const FourRows &f, const Step<T> &by, const L &for_lane) {
    const Values<T, SOURCE> values = {a};
    const u32 z = 2 * f.kz, y = 2 * f.ky, width = a.n[2];
    const T *own[4], *corner[4];
    i16 *symbols[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        own[i] = values.row(z + i / 2, y + i % 2);
        corner[i] = values.row(z + i / 2 * 2, y + i % 2 * 2);
        symbols[i] = a.symbols.narrow + Row(a, f, i / 2, i % 2).detail;
    }
    T *coarse = (T *)a.coarse;
    if (coarse) coarse += ((u64)f.kz * a.coarse_n[1] + f.ky) * a.coarse_n[2];
    for_lane([&](u32 k) {
        const PairEnd end(k, width);
        const u32 at[2] = {values.node(2 * k, 2), values.node(min(2 * k + 1, width - 1), 2)}, behind = values.node(min(2 * k + 2, width - 1), 2);
        Cube<T> cube;
        T u[4][2], w[4][2];
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u[i][0] = own[i][at[0]], u[i][1] = own[i][at[1]];
            cube.c[i / 2][i % 2][0] = corner[i][at[0]];
            cube.c[i / 2][i % 2][1] = corner[i][behind];
        }
        cube.interpolate(end.last, w);
        i32 q[4][2];
        u32 widest = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                if (i + j == 0) continue;
                // what is no number has 0 here too
                const i32 rounded = round_to_int(Real<T>::mul(Real<T>::sub(u[i][j], w[i][j]), by.inverse));
                q[i][j] = j == 0 || (end.second && !(i == 0 && end.last)) ? rounded : 0;
                widest = max(widest, (u32)(q[i][j] + 32767));
            }
        }
        if (widest > 65534) {
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    if (i + j == 0 || (j == 1 && !end.second) || (i == 0 && end.last)) continue;
                    q[i][j] = quantize_detail(Real<T>::sub(u[i][j], w[i][j]), by);
                    if (q[i][j] == STORED) atomicOr(&a.state->refused, COARSE_STORED);
                    if (Symbols::fits(q[i][j])) continue;
                    a.symbols.wide[symbols[i] - a.symbols.narrow + (i > 0 ? 2 * k + j : k)] = Symbols::zigzag(q[i][j]);
                    q[i][j] = EXACT;
                }
            }
        }
        if (end.second && !end.last) symbols[0][k] = (i16)q[0][1];
#pragma unroll
        for (u32 i = 1; i < 4; i++) {
            symbols[i][2 * k] = (i16)q[i][0];
            if (end.second) symbols[i][2 * k + 1] = (i16)q[i][1];
        }
        if (coarse) {
            coarse[k] = u[0][0];
            if (end.last) coarse[k + 1] = u[0][1];
        }
    });
}

// `coarse` is null where the next level has its values from elsewhere.
template <class T, Source SOURCE> __device__ void decompose(const GlobalArguments &a) {
    T *coarse = (T *)a.coarse, *details = (T *)a.details;
    const Step<T> by = *(const Step<T> *)a.step;
    const Values<T, SOURCE> values = {a};
    for_pairs(a, [&](const FourRows &f, auto for_lane) {
        if (f.inner(a) && !details) return decompose_inner<T, SOURCE>(a, f, by, for_lane);
        const T *corner[2][2], *own[2][2];
        for (u32 dz = 0; dz < 2; dz++)
            for (u32 dy = 0; dy < 2; dy++) {
                corner[dz][dy] = values.row(fine_node(f.kz + dz, a.n[0]), fine_node(f.ky + dy, a.n[1]));
                own[dz][dy] = values.row(min(2 * f.kz + dz, a.n[0] - 1), min(2 * f.ky + dy, a.n[1] - 1));
            }
        for_lane([&](u32 k) {
            const u32 x = 2 * k;
            const bool second = x + 1 < a.n[2], last = x + 2 == a.n[2];
            const u32 at[2] = {values.node(x, 2), values.node(min(x + 1, a.n[2] - 1), 2)}, behind = values.node(fine_node(k + 1, a.n[2]), 2);
            Cube<T> cube;
            T u[2][2][2];
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                cube.c[i / 2][i % 2][0] = corner[i / 2][i % 2][at[0]];
                cube.c[i / 2][i % 2][1] = corner[i / 2][i % 2][behind];
                u[i / 2][i % 2][0] = own[i / 2][i % 2][at[0]];
                u[i / 2][i % 2][1] = own[i / 2][i % 2][at[1]];
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const Row row(a, f, i / 2, i % 2);
                if (!row.there) continue;
                T w[2];
                cube.interpolate(row, i / 2, i % 2, last, w);
                u32 next = row.detail + (row.coarse ? k : x);
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    if (j && !second) break;
                    const T v = u[i / 2][i % 2][j], d = Real<T>::sub(v, w[j]);
                    if (details) details[row.node + x + j] = d;
                    if (row.coarse && (j == 0 || last)) {
                        if (coarse) coarse[((u64)((row.z + 1) / 2) * a.coarse_n[1] + (row.y + 1) / 2) * a.coarse_n[2] + k + j] = v;
                    } else {
                        const i32 q = quantize_detail(d, by);
                        a.symbols.put(next++, q);
                        if (q == STORED) atomicOr(&a.state->refused, COARSE_STORED);
                    }
                }
            }
        });
    });
}

// The dequantized details, zero on coarse nodes.
template <class T> __device__ void spread_details(const GlobalArguments &a) {
    T *details = (T *)a.details;
    const Step<T> by = *(const Step<T> *)a.step;
    for_pairs(a, [&](const FourRows &f, auto for_lane) {
        for_lane([&](u32 k) {
            for (u32 i = 0; i < 4; i++) {
                const Row row(a, f, i / 2, i % 2);
                if (!row.there) continue;
                u32 next = row.detail + (row.coarse ? k : 2 * k);
                for (u32 x = 2 * k; x < min(2 * k + 2, a.n[2]); x++) {
                    const bool kept = row.coarse && is_coarse(x, a.n[2]);
                    details[row.node + x] = Real<T>::mul(whole<T>(kept ? 0 : a.symbols.get(next++)), by.step);
                }
            }
        });
    });
}

// Four inner rows.
template <class T, class L>
__device__ __forceinline__ void recompose_inner(const GlobalArguments &a, const FourRows &f, const Step<T> &by, const L &for_lane) {
    const u32 width = a.n[2];
    const T *corner[4];
    const i16 *symbols[4];
    T *to[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const Row row(a, f, i / 2, i % 2);
        corner[i] = (const T *)a.coarse + ((u64)(f.kz + i / 2) * a.coarse_n[1] + f.ky + i % 2) * a.coarse_n[2];
        symbols[i] = a.symbols.narrow + row.detail;
        to[i] = (T *)a.result + row.node;
    }
    for_lane([&](u32 k) {
        const PairEnd end(k, width);
        const u32 behind = min(k + 1, a.coarse_n[2] - 1);
        Cube<T> cube;
        i32 q[4][2], least = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            cube.c[i / 2][i % 2][0] = corner[i][k];
            cube.c[i / 2][i % 2][1] = corner[i][behind];
            q[i][0] = i > 0 ? symbols[i][2 * k] : 0;
            q[i][1] = end.second && !(i == 0 && end.last) ? symbols[i][i > 0 ? 2 * k + 1 : k] : 0;
            // for the lane's next pair
            fetch_ahead(corner[i] + k + 32);
            fetch_ahead(symbols[i] + (i > 0 ? 2 * k + 64 : k + 32));
        }
#pragma unroll
        for (u32 i = 0; i < 8; i++) least = min(least, q[i / 2][i % 2]);
        if (least == EXACT) {
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    if (q[i][j] != EXACT) continue;
                    q[i][j] = a.symbols.get_wide(symbols[i] - a.symbols.narrow + (i > 0 ? 2 * k + j : k));
                    if (q[i][j] == STORED) {
                        atomicOr(&a.state->refused, COARSE_STORED);
                        q[i][j] = 0;
                    }
                }
            }
        }
        T w[4][2];
        cube.interpolate(end.last, w);
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const Pair<T> pair = {Real<T>::fma((T)q[i][0], by.step, w[i][0]), Real<T>::fma((T)q[i][1], by.step, w[i][1])};
            if (width % 2 == 0) {
                ((Pair<T> *)to[i])[k] = pair;
            } else {
                to[i][2 * k] = pair.first;
                if (end.second) to[i][2 * k + 1] = pair.second;
            }
        }
    });
}

template <class T> __device__ void recompose(const GlobalArguments &a) {
    const T *coarse = (const T *)a.coarse;
    T *result = (T *)a.result;
    const Step<T> by = *(const Step<T> *)a.step;
    for_pairs(a, [&](const FourRows &f, auto for_lane) {
        if (f.inner(a)) return recompose_inner(a, f, by, for_lane);
        const T *corner[2][2];
        for (u32 dz = 0; dz < 2; dz++)
            for (u32 dy = 0; dy < 2; dy++) {
                const u32 z = min(f.kz + dz, a.coarse_n[0] - 1), y = min(f.ky + dy, a.coarse_n[1] - 1);
                corner[dz][dy] = coarse + ((u64)z * a.coarse_n[1] + y) * a.coarse_n[2];
            }
        for_lane([&](u32 k) {
            const u32 x = 2 * k, behind = min(k + 1, a.coarse_n[2] - 1);
            const bool second = x + 1 < a.n[2], last = x + 2 == a.n[2];
            Cube<T> cube;
            i32 q[4][2];
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                cube.c[i / 2][i % 2][0] = corner[i / 2][i % 2][k];
                cube.c[i / 2][i % 2][1] = corner[i / 2][i % 2][behind];
                const Row row(a, f, i / 2, i % 2);
                const u32 next = row.detail + (row.coarse ? k : x);
                // zero on coarse nodes
                q[i][0] = row.there && !row.coarse ? a.symbols.narrow[next] : 0;
                q[i][1] = row.there && second && !(row.coarse && last) ? a.symbols.narrow[next + !row.coarse] : 0;
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const Row row(a, f, i / 2, i % 2);
                if (!row.there) continue;
                T w[2];
                cube.interpolate(row, i / 2, i % 2, last, w);
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    if (q[i][j] == EXACT) q[i][j] = a.symbols.get_wide(row.detail + (row.coarse ? k : x + j));
                    if (q[i][j] == STORED) atomicOr(&a.state->refused, COARSE_STORED);
                    w[j] = add_detail(w[j], q[i][j], by);
                }
                T *to = result + row.node + x;
                if (a.n[2] % 2 == 0) {
                    *(Pair<T> *)to = {w[0], w[1]};
                } else {
                    to[0] = w[0];
                    if (second) to[1] = w[1];
                }
            }
        });
    });
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

extern "C" __global__ void __launch_bounds__(256, 3) hybrid_global_decompose_f32(const GlobalArguments a) { decompose<float, Source::OWN>(a); }
extern "C" __global__ void hybrid_global_decompose_f64(const GlobalArguments a) { decompose<double, Source::OWN>(a); }
extern "C" __global__ void __launch_bounds__(256, 3) hybrid_sample_decompose_f32(const GlobalArguments a) { decompose<float, Source::BLOCKS>(a); }
extern "C" __global__ void hybrid_sample_decompose_f64(const GlobalArguments a) { decompose<double, Source::BLOCKS>(a); }
extern "C" __global__ void __launch_bounds__(256, 3) hybrid_sample_level_decompose_f32(const GlobalArguments a) { decompose<float, Source::BLOCKS_LEVEL>(a); }
extern "C" __global__ void __launch_bounds__(256, 3) hybrid_global_recompose_f32(const GlobalArguments a) { recompose<float>(a); }
extern "C" __global__ void hybrid_sample_level_decompose_f64(const GlobalArguments a) { decompose<double, Source::BLOCKS_LEVEL>(a); }
extern "C" __global__ void hybrid_global_recompose_f64(const GlobalArguments a) { recompose<double>(a); }
extern "C" __global__ void hybrid_spread_details_f32(const GlobalArguments a) { spread_details<float>(a); }
extern "C" __global__ void hybrid_spread_details_f64(const GlobalArguments a) { spread_details<double>(a); }
extern "C" __global__ void hybrid_project_axis_f32(const AxisArguments a) { project_axis<float>(a); }
extern "C" __global__ void hybrid_project_axis_f64(const AxisArguments a) { project_axis<double>(a); }
extern "C" __global__ void hybrid_join_f32(const JoinArguments a) { join<float>(a); }
extern "C" __global__ void hybrid_join_f64(const JoinArguments a) { join<double>(a); }
extern "C" __global__ void hybrid_find_missed_f32(const MissedArguments a) { find_missed<float>(a); }
extern "C" __global__ void hybrid_find_missed_f64(const MissedArguments a) { find_missed<double>(a); }
extern "C" __global__ void hybrid_scatter_f32(const ScatterArguments a) { scatter<float>(a); }
extern "C" __global__ void hybrid_scatter_f64(const ScatterArguments a) { scatter<double>(a); }
extern "C" __global__ void hybrid_copy_box_f32(const BoxArguments a) { copy_box<float>(a); }
extern "C" __global__ void hybrid_copy_box_f64(const BoxArguments a) { copy_box<double>(a); }
