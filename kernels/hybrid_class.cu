// The symbols of the hybrid mode as the class coder takes them, and back: 16 bits, and 32 where that is too few.
#include "hybrid.cuh"

// One payload: `count` symbols from `symbol` on, at `place` of the coder's arrays (a multiple of 8).
struct ClassPart {
    u64 symbol, place;
    u32 count, unused;
};

struct FlatArguments {
    // Aligned to 16 bytes, as are the first symbols of payloads.
    i32 *symbols;
    i16 *q;
    u32 *delta;
    const ClassPart *parts;
    // How many symbols of each payload stand for a value that is stored exactly; 0 before the launch.
    u32 *stored;
    u32 part_count, unused;
};

// Parts of a payload that blocks take in turns, and symbols of a thread at a time.
constexpr u32 SHARES = 16;
constexpr u32 TOGETHER = 8;

struct __align__(16) Eight {
    i16 of[TOGETHER];
};
struct __align__(16) Four {
    i32 of[4];
};

// Calls f(payload, first symbol in it, symbols) for groups of at most eight symbols.
template <class F> __device__ __forceinline__ void for_groups(const FlatArguments &a, F f) {
    for (u32 task = blockIdx.x; task < a.part_count * SHARES; task += gridDim.x) {
        const u32 p = task / SHARES;
        const ClassPart part = a.parts[p];
        const u32 groups = (part.count + TOGETHER - 1) / TOGETHER;
        for (u32 g = task % SHARES * blockDim.x + threadIdx.x; g < groups; g += SHARES * blockDim.x)
            f(part, p, g * TOGETHER, min(TOGETHER, part.count - g * TOGETHER));
    }
}

extern "C" __global__ void __launch_bounds__(256) hybrid_to_class(const FlatArguments a) {
    for_groups(a, [&](const ClassPart &part, u32, u32 first, u32 count) {
        const i32 *from = a.symbols + part.symbol + first;
        const u64 to = part.place + first;
        i32 s[TOGETHER];
        if (count == TOGETHER) {
            const Four low = ((const Four *)from)[0], high = ((const Four *)from)[1];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) s[k] = k < 4 ? low.of[k & 3] : high.of[k & 3];
        } else {
            for (u32 k = 0; k < TOGETHER; k++) s[k] = k < count ? from[k] : 0;
        }
        Eight q;
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const bool fits = (u32)(s[k] + 32767) <= 65534;
            q.of[k] = fits ? (i16)s[k] : EXACT;
            if (!fits) a.delta[to + k] = ((u32)s[k] << 1) ^ (u32)(s[k] >> 31);
        }
        // Behind the last symbol of a payload is padding.
        *(Eight *)(a.q + to) = q;
    });
}

extern "C" __global__ void __launch_bounds__(256) hybrid_from_class(const FlatArguments a) {
    for_groups(a, [&](const ClassPart &part, u32 p, u32 first, u32 count) {
        i32 *to = a.symbols + part.symbol + first;
        const u64 from = part.place + first;
        const Eight q = *(const Eight *)(a.q + from);
        i32 s[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            s[k] = q.of[k];
            if (k >= count || q.of[k] != EXACT) continue;
            const u32 z = a.delta[from + k];
            s[k] = (i32)(z >> 1) ^ -(i32)(z & 1);
            if (s[k] == STORED) atomicAdd(&a.stored[p], 1u);
        }
        if (count == TOGETHER) {
            Four low, high;
#pragma unroll
            for (u32 k = 0; k < 4; k++) low.of[k] = s[k], high.of[k] = s[k + 4];
            ((Four *)to)[0] = low, ((Four *)to)[1] = high;
        } else {
            for (u32 k = 0; k < count; k++) to[k] = s[k];
        }
    });
}

// Lists the details of the finest level that are stored exactly: their values are in the chunks.
extern "C" __global__ void __launch_bounds__(256) hybrid_list_stored(const LocalArguments a) {
    for (u32 c = blockIdx.x; c < a.cell_count; c += gridDim.x) {
        const Cell cell = a.cells[c];
        const u32 details = a.rank == 3 ? 387 : a.rank == 2 ? 39 : 3;
        const u32 count = cell.shape[0] * cell.shape[1] * cell.shape[2] * details;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (a.symbols[cell.symbol + i] != STORED) continue;
            const u32 at = atomicAdd(a.stored.count, 1u);
            if (at < a.stored.capacity) a.stored.keys[at] = (u64)c << 32 | i;
        }
    }
}
template <class T> __device__ __forceinline__ void scatter_add(const ScatterArguments &a) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        T *to = (T *)a.result + a.places[i];
        *to = Real<T>::add(*to, ((const T *)a.values)[i]);
    }
}
extern "C" __global__ void hybrid_scatter_add_f32(const ScatterArguments a) { scatter_add<float>(a); }
extern "C" __global__ void hybrid_scatter_add_f64(const ScatterArguments a) { scatter_add<double>(a); }
