// Runs CUDA kernels on the CPU, slowly and strictly: every thread of a block is a fiber, warp collectives and barriers
// are real meeting points, and a meeting that can never complete ends the program with a message.
// Force-included before a kernel source; x86-64 only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define BLOCKMGARD_EMULATOR 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static
#define __constant__ static

namespace emulator {

struct Index {
    unsigned x, y, z;
};
struct Thread {
    void *stack_pointer;
    char *stack;
    Index thread;
    unsigned lane, warp;
    // Meetings of the warp and of the block that this thread has taken part in.
    uint64_t warp_meetings, block_meetings;
    bool done;
};

extern Thread *current;
extern Index block_index, block_size, grid_size;
extern char *dynamic_shared;

void wait_block();
// Hands in `value`, waits for the warp, and returns the values of all lanes.
const uint64_t *meet_warp(uint64_t value);

typedef void (*Trampoline)(void **parameters);
struct Registration {
    Registration(const char *name, Trampoline call, size_t bytes);
};
template <auto kernel> struct Call;
template <class... A, void (*kernel)(A...)> struct Call<kernel> {
    static constexpr size_t BYTES = (sizeof(A) + ...);
    static_assert(sizeof...(A) == 1, "a kernel takes one struct");
    static void run(void **parameters) { expand(parameters, std::index_sequence_for<A...>()); }
    template <size_t... I> static void expand(void **parameters, std::index_sequence<I...>) {
        kernel(*(std::remove_const_t<A> *)parameters[I]...);
    }
};
#define EMULATOR_KERNEL(name) static emulator::Registration register_##name(#name, emulator::Call<name>::run, emulator::Call<name>::BYTES);

template <class T> inline uint64_t pack(T value) {
    static_assert(sizeof(T) <= 8, "a lane exchanges at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> inline T unpack(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline void whole_warp(unsigned mask) {
    if (mask != 0xffffffffu) {
        fprintf(stderr, "emulator: a collective with mask %08x\n", mask);
        abort();
    }
}

} // namespace emulator

#define threadIdx (emulator::current->thread)
#define blockIdx emulator::block_index
#define blockDim emulator::block_size
#define gridDim emulator::grid_size

struct uint2 {
    unsigned x, y;
};
struct __align__(16) uint4 {
    unsigned x, y, z, w;
};
struct __align__(16) float4 {
    float x, y, z, w;
};
struct __align__(16) double2 {
    double x, y;
};
inline double2 make_double2(double x, double y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline void __syncthreads() { emulator::wait_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    emulator::whole_warp(mask);
    emulator::meet_warp(0);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
template <class T> inline T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    emulator::whole_warp(mask);
    const int lane = emulator::current->lane;
    return emulator::unpack<T>(emulator::meet_warp(emulator::pack(v))[(lane & ~(width - 1)) | (from & (width - 1))]);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T v, int bits) {
    emulator::whole_warp(mask);
    return emulator::unpack<T>(emulator::meet_warp(emulator::pack(v))[emulator::current->lane ^ bits]);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T v, int by, int width = 32) {
    emulator::whole_warp(mask);
    const int lane = emulator::current->lane;
    const uint64_t *all = emulator::meet_warp(emulator::pack(v));
    return emulator::unpack<T>(all[lane % width >= by ? lane - by : lane]);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T v, int by) {
    emulator::whole_warp(mask);
    const int lane = emulator::current->lane;
    const uint64_t *all = emulator::meet_warp(emulator::pack(v));
    return emulator::unpack<T>(all[lane + by < 32 ? lane + by : lane]);
}
inline unsigned __ballot_sync(unsigned mask, bool p) {
    emulator::whole_warp(mask);
    const uint64_t *all = emulator::meet_warp(p);
    unsigned bits = 0;
    for (int i = 0; i < 32; i++) bits |= (unsigned)(all[i] & 1) << i;
    return bits;
}
inline bool __any_sync(unsigned mask, bool p) { return __ballot_sync(mask, p) != 0; }
inline bool __all_sync(unsigned mask, bool p) { return __ballot_sync(mask, p) == 0xffffffffu; }
template <class F> inline unsigned emulator_reduce(unsigned mask, unsigned v, F combine) {
    emulator::whole_warp(mask);
    const uint64_t *all = emulator::meet_warp(v);
    unsigned r = (unsigned)all[0];
    for (int i = 1; i < 32; i++) r = combine(r, (unsigned)all[i]);
    return r;
}
inline unsigned __reduce_add_sync(unsigned m, unsigned v) {
    return emulator_reduce(m, v, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_max_sync(unsigned m, unsigned v) {
    return emulator_reduce(m, v, [](unsigned a, unsigned b) { return a > b ? a : b; });
}
inline unsigned __reduce_min_sync(unsigned m, unsigned v) {
    return emulator_reduce(m, v, [](unsigned a, unsigned b) { return a < b ? a : b; });
}
inline unsigned __reduce_or_sync(unsigned m, unsigned v) {
    return emulator_reduce(m, v, [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_and_sync(unsigned m, unsigned v) {
    return emulator_reduce(m, v, [](unsigned a, unsigned b) { return a & b; });
}

template <class T> inline T atomicAdd(T *p, T v) {
    T old = *p;
    *p = old + v;
    return old;
}
template <class T> inline T atomicMax(T *p, T v) {
    T old = *p;
    if (v > old) *p = v;
    return old;
}
template <class T> inline T atomicMin(T *p, T v) {
    T old = *p;
    if (v < old) *p = v;
    return old;
}
template <class T> inline T atomicOr(T *p, T v) {
    T old = *p;
    *p = old | v;
    return old;
}
template <class T> inline T atomicExch(T *p, T v) {
    T old = *p;
    *p = v;
    return old;
}

inline float __double2float_rn(double v) { return (float)v; }
inline float __double2float_ru(double v) {
    const float near = (float)v;
    return near < v ? nextafterf(near, INFINITY) : near;
}
template <class T> inline T __ldg(const T *p) { return *p; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline unsigned __brev(unsigned v) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= ((v >> i) & 1) << (31 - i);
    return r;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31));
}
// Shifts by more than 32 are shifts by 32.
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by < 32 ? by : 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((uint64_t)high << 32 | low) << (by & 31) >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const uint64_t all = ((uint64_t)b << 32) | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= (unsigned)((all >> (8 * ((s >> (4 * i)) & 7))) & 255) << (8 * i);
    return r;
}
inline int __viaddmin_s32_relu(int a, int b, int c) {
    const int sum = a + b, least = sum < c ? sum : c;
    return least > 0 ? least : 0;
}
template <class F> inline unsigned emulator_halves(unsigned a, unsigned b, unsigned c, F combine) {
    const auto low = combine((short)(a + b), (short)c), high = combine((short)((a >> 16) + (b >> 16)), (short)(c >> 16));
    return (unsigned)(unsigned short)low | (unsigned)(unsigned short)high << 16;
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
    return emulator_halves(a, b, c, [](short sum, short c) { return sum > c ? sum : c; });
}
inline unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) {
    return emulator_halves(a, b, c, [](short sum, short c) { return sum < c ? (sum > 0 ? sum : (short)0) : (c > 0 ? c : (short)0); });
}
inline unsigned __float_as_uint(float v) { return emulator::unpack<unsigned>(emulator::pack(v)); }
inline int __float_as_int(float v) { return emulator::unpack<int>(emulator::pack(v)); }
inline float __uint_as_float(unsigned v) { return emulator::unpack<float>(v); }
inline long long __double_as_longlong(double v) { return emulator::unpack<long long>(emulator::pack(v)); }
inline double __longlong_as_double(long long v) { return emulator::unpack<double>(emulator::pack(v)); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline int __float2int_rn(float v) { return (int)lrintf(v); }
inline int __double2int_rn(double v) { return (int)lrint(v); }
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
