// The groups coder by way of symbols: the runs of a stream, and its exact nodes.
#pragma once
#include "groups_streams.cuh"

// The nodes of a lane's group, two in a word: their numbers among the symbols of the tile.
struct Places {
    uint4 all;
    __device__ __forceinline__ Places() : all{FULL, FULL, FULL, FULL} {}
    __device__ __forceinline__ explicit Places(const RunLane &lane) : all(*(const uint4 *)&lane) {}
    __device__ __forceinline__ u32 place(u32 k) const {
        const u32 two = k / 2 == 0 ? all.x : k / 2 == 1 ? all.y : k / 2 == 2 ? all.z : all.w;
        return __byte_perm(two, 0, k % 2 ? 0x4432 : 0x4410);
    }
    __device__ __forceinline__ bool has(u32 k) const { return place(k) != NO_NODE; }
    // Whether there are any.
    __device__ __forceinline__ bool live() const { return (all.x & all.y & all.z & all.w) != FULL; }
};

// The runs of a stream and the symbols of its tile. Those of a band are gathered, those of stream 0 stand one behind the other.
struct Runs {
    const bool is_band;
    const RunLane *runs;
    i16 *symbols;
    const u32 count, lane, nodes;

    __device__ __forceinline__ Runs(const GroupsArguments &a, const TileStream &stream)
        : is_band(stream.is_band), runs(a.runs + (is_band ? 32 * (u64)stream.shape.first + threadIdx.x % 32 : 0)), symbols(a.q + stream.symbols),
          count(stream.shape.runs), lane(threadIdx.x % 32), nodes(stream.shape.first) {}
    // Of stream 0, from the first symbol on.
    __device__ __forceinline__ Runs(const TileStream &stream, i16 *symbols)
        : is_band(false), runs(nullptr), symbols(symbols), count(stream.shape.runs), lane(threadIdx.x % 32), nodes(stream.shape.first) {}
    __device__ __forceinline__ Places places(u32 run) const { return Places(runs[32 * run]); }
    // Stream 0: the first node of the lane's group in a run.
    __device__ __forceinline__ u32 first(u32 run) const { return GROUP_NODES * (32 * run + lane); }
    __device__ __forceinline__ uint4 load(u32 run) const {
        const uint4 none = {0, 0, 0, 0};
        return first(run) < nodes ? *(const uint4 *)(symbols + first(run)) : none;
    }
    // The first `count` of eight symbols.
    static __device__ __forceinline__ Group symbols_of(u32 count, const uint4 &loaded) {
        const u32 words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) group.q[k] = k < count ? (i16)(words[k / 2] >> (k % 2 * 16)) : 0;
        return group;
    }
    // Stream 0: the lane's group in a run. What stands behind the last node is no symbol.
    __device__ __forceinline__ Group group(u32 run, const uint4 &loaded) const { return symbols_of(first(run) < nodes ? nodes - first(run) : 0, loaded); }
    // The place of node k of the lane's group, or NO_NODE.
    __device__ u32 place(u32 run, u32 k) const {
        if (is_band) return places(run).place(k);
        return first(run) + k < nodes ? first(run) + k : NO_NODE;
    }
    // Calls f(place, rank) for each exact node, whose number among those of the stream is `rank`; how many there are.
    template <class F> __device__ u32 each_exact(F f) const {
        u32 before = 0;
        for (u32 run = 0; run < count; run++) {
            u32 exact = 0;
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) {
                const u32 at = place(run, k);
                exact |= (u32)(at != NO_NODE && symbols[at] == EXACT) << k;
            }
            const u32 own = __popc(exact), sum = scan_lanes(own, lane);
            u32 rank = before + sum - own;
            for (u32 k = 0; k < GROUP_NODES; k++) {
                if (exact >> k & 1) f(place(run, k), rank++);
            }
            before += __shfl_sync(FULL, sum, 31);
        }
        return before;
    }
};

// The deltas of the exact nodes of a stream to their list; how many there are.
template <class D> __device__ __forceinline__ u32 list_exact(const GroupsArguments &a, const TileStream &stream, const Runs &runs) {
    const D *delta = (const D *)a.delta + stream.symbols;
    D *list = (D *)a.exact + stream.exact;
    return runs.each_exact([&](u32 place, u32 rank) { list[rank] = delta[place]; });
}
