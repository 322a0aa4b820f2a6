// The class coder, encoding: the streams of flat arrays, whose units have 512 nodes but for the last one of a chunk.
#include "class_encode.cuh"

// Half the rounds of a unit.
constexpr u32 FLAT_BATCH = 8, UNIT_NODES = 512;
// Values that are loaded beside a round.
constexpr u32 LOADS = 3;

// A symbol, as a number from the beginning: else the compiler waits for it where it is loaded.
__device__ __forceinline__ i32 load_symbol(const i16 *from) {
#ifdef BLOCKMGARD_EMULATOR
    return *from;
#else
    i32 symbol;
    asm volatile("ld.global.s16 %0, [%1];" : "=r"(symbol) : "l"(from));
    return symbol;
#endif
}

// Codes quantized units of 512 nodes without looking at lengths and lanes, others as `StreamEncoder` does.
struct FlatEncoder : StreamEncoder<u32, FLAT_BATCH> {
    // It would take registers for the many rounds of 32 units.
    static constexpr bool READS_AHEAD = false;
    using StreamEncoder::StreamEncoder;

    // The values of eight rounds of the unit under way, the last of them first: those that are loaded beside round `k` of others, of which they
    // take the registers. `from`: its first node of this lane.
    template <u32 FIRST> __device__ __forceinline__ void load_beside(u32 k, i32 (&values)[FLAT_BATCH]) const {
#pragma unroll
        for (u32 i = LOADS * k; i < min(LOADS * (k + 1), FLAT_BATCH); i++) values[i] = load_symbol(from + 32 * (FIRST + FLAT_BATCH - 1 - i));
    }
    __device__ __forceinline__ void begin_whole(u32 j) {
        const uint4 unit = memory.pending[j];
        from = a.q + lane + 8 * (u64)unit.x;
        shift = unit.y >> 16;
        table = unit.z;
        reach = unit.w;
    }
    __device__ __forceinline__ void units(const UnitRecord &mine, bool exists, u32 group, u32 &end, const UnitRecord &after) {
        u32 tiles = take_in(mine, exists, group), left_units = coded;
        const u32 whole = lanes == 32 ? __ballot_sync(FULL, mine.len() == UNIT_NODES) & coded & ~exacts : 0;
        bool loaded = false;
        ask_for_last(after);
        for (;;) {
            // all units from here on are done, and so are the tiles that begin there
            const u32 top = 32 - __clz((i32)left_units);
            end_tiles(tiles, top, group, end);
            if (top == 0) return;
            const u32 bit = 1u << (top - 1);
            left_units ^= bit;
            if (!(whole & bit)) {
                coded = bit;
                if (begin_unit()) unit();
                else exact_unit();
                continue;
            }
            if (!loaded) {
                begin_whole(top - 1);
#pragma unroll
                for (u32 k = 0; k < FLAT_BATCH; k++) load_beside<FLAT_BATCH>(k, value);
            }
            u32 entry[FLAT_BATCH];
            i32 rest[FLAT_BATCH];
            find<true>(value, entry);
            code<true>(entry, FLAT_BATCH, [&](u32 k) { load_beside<0>(k, rest); });
            find<true>(rest, entry);
            const u32 next = 31 - __clz((i32)left_units);
            loaded = left_units != 0 && whole >> next & 1;
            if (loaded) begin_whole(next);
            const u32 later = loaded ? left_units ^ 1u << next : 0;
            if (later) ask_for(memory.pending[31 - __clz((i32)later)].x, UNIT_NODES);
            // without a next one the same values come once more
            code<true>(entry, FLAT_BATCH, [&](u32 k) { load_beside<FLAT_BATCH>(k, value); });
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * ENCODER_WARPS) encode_flat_streams(const CoderArguments a) { encode_streams<FlatEncoder>(a); }
