// The planes coder (FORMAT.md, "Planes coder"): what its kernels take, and the pieces that encoding and decoding share. Tiles of 8 in
// frames of three axes.
#pragma once
#include "class.cuh"
#include "pyramid.cuh"

// Where the host lets kernels start before those queued before them are done (Gpu::launch_early): waits for these, whose results must not be touched before.
__device__ __forceinline__ void kernels_before_are_done() {
#if !defined(BLOCKMGARD_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The blocks of a kernel that is queued so may start where there is room, once all of this one's are at work.
__device__ __forceinline__ void next_kernel_may_start() {
#if !defined(BLOCKMGARD_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Nodes of a group, groups of a tile, words of a tile's planes at most; symbols that a tile has room for.
constexpr u32 GROUP = 32, TILE_GROUPS = 16, TILE_WORDS = 256, TILE_SYMBOLS = 512;
// Tiles of a chunk at most.
constexpr u32 CHUNK_TILES = 512;
// Of a chunk: all symbols are 0; exact values follow.
constexpr u32 ALL_ZERO = 2, HAS_EXACT = 1;
// The zigzag of an exact node.
constexpr u32 EXACT_ZIGZAG = 0xffff;

// An encoded tile: the first word of its planes in the output; bit g of `mask`: group g has planes; from bit WORDS_AT on the words of all planes. Nibbles: the
// number of planes less one of each group that has some.
constexpr u32 WORDS_AT = 16;
struct __align__(16) TileRecord {
    u32 planes, mask;
    u64 nibbles;
    __device__ __forceinline__ u32 words() const { return mask >> WORDS_AT & 0x1ff; }
    __device__ __forceinline__ u32 width(u32 group) const {
        const u32 before = __popc(mask & ((1u << group) - 1));
        return mask >> group & 1 ? (u32)(nibbles >> (4 * before)) % 16 + 1 : 0;
    }
};
// In `mask`: the tile has exact nodes.
constexpr u32 NOT_ALL_QUANTIZED = 1u << 31;

constexpr u32 TWO_MASK_BYTES = 0x80;

struct PlanesArguments {
    const Tile *tiles;
    Chunk *chunks;
    // Coded nodes of each shape.
    const u32 *shape_nodes;
    i16 *q;
    void *delta;
    // Encoding: how many planes each group of a tile has, with TWO_MASK_BYTES in the last of 16 where its mask has two bytes; the planes of all tiles, in
    // slots of TILE_WORDS, and where there those of each tile are.
    u8 *widths;
    u32 *slots, *sources;
    // Decoding.
    TileRecord *records;
    u32 *exact_at;
    // Tiles that come by way of their symbols.
    const u32 *list;
    // Decoding, tiles with exact nodes: those of array s, `slow_count[s]` of them, from place `slow_first[s]` on. Behind these counts, for each array, how
    // often blocks have asked for whole tiles (Turns).
    u32 *slow;
    u32 *slow_count;
    const u32 *slow_first;
    u8 *choices;
    u8 *output;
    u64 *totals;
    u64 capacity;
    u32 list_count, stage_count, chunk_count, value_bytes;
};

// Calls f(tile) for each of the tiles that come by way of their symbols, and of those with exact nodes, a warp a tile.
template <class F> __device__ __forceinline__ void each_other_tile(const PlanesArguments &a, F f) {
    const u32 first = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x % 32;
    // those of all arrays at once, a lane an array
    const u32 counts = lane < a.stage_count ? a.slow_count[lane] : 0, firsts = lane < a.stage_count ? a.slow_first[lane] : 0;
    for (u32 i = first; i < a.list_count; i += warps) f(a.list[i]);
    for (u32 s = 0; s < a.stage_count; s++) {
        const u32 count = __shfl_sync(FULL, counts, s), *slow = a.slow + __shfl_sync(FULL, firsts, s);
        for (u32 i = first; i < count; i += warps) f(slow[i]);
    }
}
// Notes a tile of array `stage` that is left out.
__device__ __forceinline__ void leave_out(const PlanesArguments &a, u32 stage, u32 tile) {
    a.slow[a.slow_first[stage] + atomicAdd(&a.slow_count[stage], 1u)] = tile;
}

// Counts of a chunk, encoding, in one number: words of planes, groups with planes, bytes of masks.
constexpr u32 GROUPS_AT = 24, MASKS_AT = 44;
struct Counts {
    u32 words, groups, masks;
    __device__ __forceinline__ explicit Counts(u64 all)
        : words((u32)all & ((1u << GROUPS_AT) - 1)), groups((u32)(all >> GROUPS_AT) & ((1u << (MASKS_AT - GROUPS_AT)) - 1)), masks((u32)(all >> MASKS_AT)) {}
};
__device__ __forceinline__ u64 counts_of(u32 words, u32 groups, u32 masks) {
    return (u64)words | (u64)groups << GROUPS_AT | (u64)masks << MASKS_AT;
}

__device__ __forceinline__ u32 whole_words(u32 bytes) { return (bytes + 3) / 4 * 4; }
// Bytes of the mask of a tile that has symbols.
__device__ __forceinline__ u32 mask_bytes(u32 nodes) { return nodes > 8 * GROUP ? 2 : 1; }

// Where the parts of a chunk begin, in bytes from its first.
struct Layout {
    u32 masks, widths, planes, exact;
    __device__ __forceinline__ Layout(u32 tiles, const Counts &counts)
        : masks(4 + 4 * ((tiles + 31) / 32)), widths(masks + whole_words(counts.masks)), planes(widths + whole_words((counts.groups + 1) / 2)),
          exact(planes + 4 * counts.words) {}
};

// As block_scan, for blocks of 512 and 1024 threads, with fewer instructions.
static __device__ __forceinline__ u64 scan_all(u64 value, u64 &total) {
    __shared__ u64 sums[32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u64 inclusive = value;
#pragma unroll
    for (u32 by = 1; by < 32; by *= 2) {
        const u64 other = __shfl_up_sync(FULL, inclusive, by);
        if (lane >= by) inclusive += other;
    }
    if (lane == 31) sums[warp] = inclusive;
    __syncthreads();
    u64 all = lane < blockDim.x / 32 ? sums[lane] : 0;
    const u64 own = __shfl_sync(FULL, all, warp);
#pragma unroll
    for (u32 by = 1; by < 32; by *= 2) {
        const u64 other = __shfl_up_sync(FULL, all, by);
        if (lane >= by) all += other;
    }
    total = __shfl_sync(FULL, all, 31);
    const u64 before = __shfl_sync(FULL, all, warp) - own;
    __syncthreads();
    return before + inclusive - value;
}

// 8 words whose bits are a matrix of 8 x 8 a byte: transposes each. Bit j of byte k of word b changes places with bit b of byte k of word j.
__device__ __forceinline__ void transpose(u32 (&a)[8]) {
    const auto swap = [&](u32 i, u32 by, u32 mask) {
        const u32 low = a[i], high = a[i + by];
        a[i] = select_bits(mask, low, high << by);
        a[i + by] = select_bits(mask, low >> by, high);
    };
#pragma unroll
    for (u32 i = 0; i < 4; i++) swap(i, 4, 0x0f0f0f0f);
#pragma unroll
    for (u32 i = 0; i < 8; i += 4) swap(i, 2, 0x33333333), swap(i + 1, 2, 0x33333333);
#pragma unroll
    for (u32 i = 0; i < 8; i += 2) swap(i, 1, 0x55555555);
}

// 32 symbols of 16 bits, as four accesses of 16 bytes bring them.
struct Symbols {
    uint4 of[4];
};
// The low bytes (HIGH: the high bytes) of all symbols, byte k of word j that of symbol 8 k + j.
template <bool HIGH> __device__ __forceinline__ void bytes_of(const Symbols &s, u32 (&a)[8]) {
    const auto two = [&](u32 j, u32 p0, u32 p1, u32 p2, u32 p3) {
        constexpr u32 EACH = HIGH ? 0x7351 : 0x6240;
        const u32 low = __byte_perm(p0, p1, EACH), high = __byte_perm(p2, p3, EACH);
        a[j] = __byte_perm(low, high, 0x5410);
        a[j + 1] = __byte_perm(low, high, 0x7632);
    };
    two(0, s.of[0].x, s.of[1].x, s.of[2].x, s.of[3].x);
    two(2, s.of[0].y, s.of[1].y, s.of[2].y, s.of[3].y);
    two(4, s.of[0].z, s.of[1].z, s.of[2].z, s.of[3].z);
    two(6, s.of[0].w, s.of[1].w, s.of[2].w, s.of[3].w);
}
// The symbols whose low bytes are `a` and whose high bytes are `c`, or, not WIDE, copies of the sign of `a`.
template <bool WIDE> __device__ __forceinline__ Symbols symbols_of(const u32 (&a)[8], const u32 (&c)[8]) {
    Symbols s;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const auto pair = [&](u32 j) {
            const u32 each = k | (k + 4) << 4, low = __byte_perm(a[j], a[j + 1], each);
            return WIDE ? __byte_perm(low, __byte_perm(c[j], c[j + 1], each), 0x5140) : two_signed(low);
        };
        s.of[k] = make_uint4(pair(0), pair(2), pair(4), pair(6));
    }
    return s;
}
