// Types and small device functions shared by all kernels. No standard headers: NVRTC compiles this too.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short i16;
typedef int i32;
typedef long long i64;

// All lanes of a warp.
constexpr u32 FULL = 0xffffffffu;

// Bits of a number: 0 has none.
__device__ __forceinline__ u32 bit_length(u32 v) { return 32 - __clz((i32)v); }
__device__ __forceinline__ u32 bit_length(u64 v) { return 64 - __clzll((i64)v); }

// Names the block's dynamic shared memory.
#ifdef BLOCKMGARD_EMULATOR
#define SHARED_MEMORY(name) char *name = emulator::dynamic_shared
#else
#define SHARED_MEMORY(name) extern __shared__ __align__(16) char name[]
#endif

// 1 / v, nearly: the last bit may differ between machines.
__device__ __forceinline__ float reciprocal(float v) {
#ifdef BLOCKMGARD_EMULATOR
    return 1.0f / v;
#else
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
#endif
}

// Asks for the cache line at `address`, which need not be valid to read.
__device__ __forceinline__ void fetch_ahead(const void *address) {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}
// Asks for it in L2 only, where it may stay for longer.
__device__ __forceinline__ void fetch_to_l2(const void *address) {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

// Copies BYTES bytes to shared memory, OFFSET bytes behind `shared`; they are there after `copies_arrived`, for the thread that copied them.
template <u32 BYTES, u32 OFFSET = 0> __device__ __forceinline__ void copy_ahead(void *shared, const void *global) {
#ifdef BLOCKMGARD_EMULATOR
    memcpy((char *)shared + OFFSET, global, BYTES);
#else
    const u32 to = (u32)__cvta_generic_to_shared(shared);
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0 + %2], [%1], 16;" ::"r"(to), "l"(global), "n"(OFFSET) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0 + %3], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES), "n"(OFFSET) : "memory");
#endif
}
// The same for 16 bytes of which only the first `count` are read; zeros stand for the others.
__device__ __forceinline__ void copy_ahead_or_zero(void *shared, const void *global, u32 count) {
#ifdef BLOCKMGARD_EMULATOR
    memset(shared, 0, 16);
    memcpy(shared, global, count);
#else
    const u32 to = (u32)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(count) : "memory");
#endif
}
// Copies since the last call belong together.
__device__ __forceinline__ void copies_together() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All of them but those of the last `COUNT` calls of `copies_together` are there.
template <u32 COUNT> __device__ __forceinline__ void copies_arrived_but() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("cp.async.wait_group %0;" ::"n"(COUNT) : "memory");
#endif
}
// The same where it is `wanted`, without a branch.
template <u32 BYTES, u32 OFFSET> __device__ __forceinline__ void copy_ahead_if(bool wanted, void *shared, const void *global) {
#ifdef BLOCKMGARD_EMULATOR
    if (wanted) copy_ahead<BYTES, OFFSET>(shared, global);
#else
    const u32 to = (u32)__cvta_generic_to_shared(shared);
    asm volatile("{ .reg .pred wanted; setp.ne.u32 wanted, %4, 0; @wanted cp.async.ca.shared.global [%0 + %3], [%1], %2; }" ::"r"(to), "l"(global), "n"(BYTES),
                 "n"(OFFSET), "r"((u32)wanted)
                 : "memory");
#endif
}
__device__ __forceinline__ void copies_arrived() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The two low bytes as signed numbers of 16 bits.
__device__ __forceinline__ u32 two_signed(u32 bytes) {
#ifdef BLOCKMGARD_EMULATOR
    return (u32)(u16)(i16)(signed char)bytes | (u32)(u16)(i16)(signed char)(bytes >> 8) << 16;
#else
    u32 pair;
    asm("prmt.b32 %0, %1, 0, 0x9180;" : "=r"(pair) : "r"(bytes));
    return pair;
#endif
}

// The bits of `a` where `mask` has ones, of `b` elsewhere: one instruction, which the compiler does not find.
__device__ __forceinline__ u32 select_bits(u32 mask, u32 a, u32 b) {
#ifdef BLOCKMGARD_EMULATOR
    return (a & mask) | (b & ~mask);
#else
    u32 bits;
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(bits) : "r"(mask), "r"(a), "r"(b));
    return bits;
#endif
}

// Keeps the compiler from folding what follows into how `value` was made.
__device__ __forceinline__ void keep(u32 &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm("" : "+r"(value));
#endif
}

// Keeps the compiler from computing what follows from `value` before the condition is known under which this stands.
__device__ __forceinline__ void only_here(u32 &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("" : "+r"(value));
#endif
}

// Keeps the compiler from making an address anew from others.
template <class V> __device__ __forceinline__ void keep(const V *&address) {
#ifndef BLOCKMGARD_EMULATOR
    asm("" : "+l"(address));
#endif
}
__device__ __forceinline__ void keep(u64 &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm("" : "+l"(value));
#endif
}
// Keeps the compiler from making a pointer to global memory anew from others.
template <class V> __device__ __forceinline__ void keep_global(V *&pointer) {
#ifndef BLOCKMGARD_EMULATOR
    asm("" : "+l"(pointer));
    __builtin_assume(__isGlobal(pointer));
#endif
}
// `pointer` + COUNT * `stride`, global, in one instruction.
template <u32 COUNT, class V> __device__ __forceinline__ V *advance(V *pointer, u32 stride) {
#ifdef BLOCKMGARD_EMULATOR
    return pointer + (u64)stride * COUNT;
#else
    V *to;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(to) : "r"(stride), "n"(COUNT * sizeof(V)), "l"(pointer));
    __builtin_assume(__isGlobal(to));
    return to;
#endif
}

// Keeps the compiler from computing `value` only where a condition holds.
__device__ __forceinline__ void keep_whole(float &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("" : "+f"(value));
#endif
}
__device__ __forceinline__ void keep_whole(double &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("" : "+d"(value));
#endif
}

// Reads 16 bytes that are not needed again: they do not take the place of tables in the caches.
template <class V> __device__ __forceinline__ V load_once(const V *address) {
    static_assert(sizeof(V) == 16, "one access");
    V value;
#ifdef BLOCKMGARD_EMULATOR
    value = *address;
#else
    u32 *words = (u32 *)&value;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "l"(address));
#endif
    return value;
}

// Copies 16 bytes to shared memory, where they are once `wait_for_copies` returns to the same thread.
template <class V> __device__ __forceinline__ void copy_async(V *shared, const V *global) {
    static_assert(sizeof(V) == 16, "one access");
#ifdef BLOCKMGARD_EMULATOR
    *shared = *global;
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
#endif
}
__device__ __forceinline__ void wait_for_copies() {
#ifndef BLOCKMGARD_EMULATOR
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
