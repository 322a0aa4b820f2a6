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

// Keeps the compiler from folding what follows into how `value` was made.
__device__ __forceinline__ void keep(u32 &value) {
#ifndef BLOCKMGARD_EMULATOR
    asm("" : "+r"(value));
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
