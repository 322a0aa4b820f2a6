// rANS, decoding: a warp a stream, a lane a state. The tables stand in shared memory.
#pragma once
#include "class.cuh"

// What is known of a slot: frequency | symbol << 11 | ESCAPE | (slot - start) << 21. Of a token: the same with `start` in place of the
// difference. The symbol is signed: the one that the token means where its class has no raw bits.
constexpr u32 FIELD_BITS = 11;
constexpr u32 FIELD = (1u << FIELD_BITS) - 1;
constexpr u32 ESCAPE = 1u << 20;
__device__ __forceinline__ i32 symbol_of(u32 entry) { return (i32)(entry << 12) >> 23; }
__device__ __forceinline__ u32 token_of(u32 entry) { return (u32)(symbol_of(entry) << 1 ^ symbol_of(entry) >> 31); }

// A table by its slots: one access to shared memory.
struct BySlots {
    const char *shared;
    // Its place there.
    u32 place;
    __device__ __forceinline__ u32 operator()(u32 slot, u32 &bias) const {
        const u32 entry = *(const u32 *)(shared + (place + 4 * slot));
        bias = entry >> (32 - FIELD_BITS);
        return entry;
    }
};
// The same in a quarter of the memory: the token of each slot, then the token.
struct ByTokens {
    const u8 *tokens;
    const u32 *entries;
    __device__ __forceinline__ u32 operator()(u32 slot, u32 &bias) const {
        const u32 entry = entries[tokens[slot]];
        bias = slot - (entry >> (32 - FIELD_BITS));
        return entry;
    }
};

// The place in shared memory that take_words counts from.
__device__ __forceinline__ u32 place_of(const char *shared) {
#ifdef BLOCKMGARD_EMULATOR
    return 0;
#else
    return (u32)__cvta_generic_to_shared(shared);
#endif
}
// Each active lane with a state below STATE_MIN takes the next 16-bit word from place `at` in shared memory on. Written out, since the
// compiler spends two instructions more.
__device__ __forceinline__ void take_words(u32 &state, u32 &at, u32 below, bool active, const char *shared) {
#ifdef BLOCKMGARD_EMULATOR
    const bool takes = active & (state < STATE_MIN);
    const u32 mask = __ballot_sync(FULL, takes);
    if (takes) state = state << 16 | *(const u16 *)(shared + (at + 2 * __popc(mask & below)));
    at += 2 * __popc(mask);
#else
    asm volatile("{\n\t.reg .pred a, p;\n\t.reg .b32 m, w;\n\t"
                 "setp.ne.u32 a, %3, 0;\n\t"
                 "setp.lt.and.u32 p, %0, 32768, a;\n\t"
                 "vote.sync.ballot.b32 m, p, 0xffffffff;\n\t"
                 "and.b32 w, m, %2;\n\t"
                 "popc.b32 w, w;\n\t"
                 "mad.lo.u32 w, w, 2, %1;\n\t"
                 "ld.shared.u16 w, [w];\n\t"
                 "@p prmt.b32 %0, %0, w, 0x1054;\n\t"
                 "popc.b32 m, m;\n\t"
                 "mad.lo.u32 %1, m, 2, %1;\n\t}"
                 : "+r"(state), "+r"(at)
                 : "r"(below), "r"((u32)active)
                 : "memory");
#endif
}

// Words of the window, half of which can be taken before it must move on: by four rounds of all lanes.
constexpr u32 WINDOW = 256;
constexpr u32 BATCH = WINDOW / 2 / MAX_LANES;

// The rANS states of a stream, and its words. A window of words lies in shared memory and moves on by half its length; the next half is
// read long before it is needed.
struct Decoder {
    // The words from a place that 4 bytes divide; `end` words belong to the stream or stand before it.
    const u32 *words;
    u32 end;
    char *shared;
    // Where the window starts in shared memory, and the place of the next word there.
    u32 window, at;
    // What follows the window, and how many words were before it.
    u32 next[2], begin;
    u32 state, below, lane;

    __device__ __forceinline__ Decoder(const u16 *from, u32 count, u32 state, char *shared, u32 window, u32 lane)
        : shared(shared), window(window), next{0, 0}, begin(0), state(state), below((1u << lane) - 1), lane(lane) {
        const u32 skew = (u32)((u64)from >> 1 & 1);
        words = (const u32 *)(from - skew);
        end = count + skew;
        at = place_of(shared) + window + 2 * skew;
        u32 pairs[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) pairs[k] = load(64 * k);
        read_ahead();
#pragma unroll
        for (u32 k = 0; k < 4; k++) pair(k) = pairs[k];
        __syncwarp();
    }
    // This lane's two words in quarter k of the window.
    __device__ __forceinline__ u32 &pair(u32 k) const { return ((u32 *)(shared + window))[32 * k + lane]; }
    // Two words for each lane from word `from` on. What is behind the end is not zeroed: who reads it is not at the end when done.
    __device__ __forceinline__ u32 load(u32 from) const { return words[from / 2 + lane]; }
    __device__ __forceinline__ void read_ahead() {
        // a damaged stream may ask for any number of words
        if (begin >= end) return;
        next[0] = load(begin + WINDOW);
        next[1] = load(begin + WINDOW + WINDOW / 4);
    }
    // Before every BATCH rounds.
    __device__ __forceinline__ void advance() {
        if (taken() < WINDOW / 2) return;
        __syncwarp();
        pair(0) = pair(2);
        pair(1) = pair(3);
        pair(2) = next[0];
        pair(3) = next[1];
        at -= sizeof(u16) * (WINDOW / 2);
        begin += WINDOW / 2;
        read_ahead();
        __syncwarp();
    }
    // Words of the window that were taken.
    __device__ __forceinline__ u32 taken() const { return (at - place_of(shared) - window) / sizeof(u16); }
    // Ends a round: `x` is the state without its table's slot.
    __device__ __forceinline__ void refill(u32 x, bool active) {
        take_words(x, at, below, active, shared);
        if (active) state = x;
    }
    // A round: the entry of each lane's token.
    template <class L> __device__ __forceinline__ u32 get(const L &lookup, bool active) {
        u32 bias;
        u32 slot = state & (PROB_SUM - 1);
        keep(slot);
        const u32 entry = lookup(slot, bias);
        refill((entry & FIELD) * (state >> PROB_BITS) + bias, active);
        return entry;
    }
    // A token of the table whose tokens are equally frequent.
    __device__ __forceinline__ u32 uniform(bool active) {
        constexpr u32 FREQUENCY = 32;
        const u32 slot = state & (PROB_SUM - 1);
        refill(FREQUENCY * (state >> PROB_BITS) + slot % FREQUENCY, active);
        return slot / FREQUENCY;
    }
    __device__ __forceinline__ bool used_up() const { return begin + taken() == end; }
};

// The tables of classes: where each token starts, and the token at every 32nd slot.
struct ClassTables {
    static constexpr u32 TOKENS = 64, ROW = TOKENS + 2, PIECE = 32;
    const u16 *starts;
    const u8 *tokens;

    // The class of each lane, after the groups of the last class of its slot and of its parent's.
    __device__ __forceinline__ u32 get(Decoder &rans, u32 own, u32 parent, bool active) const {
        const u32 table = CLASS_GROUPS * own + parent, slot = rans.state & (PROB_SUM - 1);
        const u16 *row = starts + table * ROW;
        u32 token = tokens[table * (PROB_SUM / PIECE) + slot / PIECE];
        u32 from = row[token], to = row[token + 1];
        while (__any_sync(FULL, active & (to <= slot))) {
            if (active & (to <= slot)) {
                token++;
                from = to;
                to = row[token + 1];
            }
        }
        rans.refill((to - from) * (rans.state >> PROB_BITS) + slot - from, active);
        return token;
    }
};
