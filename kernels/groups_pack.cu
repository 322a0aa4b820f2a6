// The groups coder by way of symbols: streams of any tile from its symbols and back, a warp a stream.
#include "groups_streams.cuh"

constexpr u32 PACK_WARPS = 4;

// The nodes of a lane's group, two in a word: their numbers among the symbols of the tile.
struct Places {
    uint4 all;
    __device__ __forceinline__ explicit Places(const RunLane &lane) : all(*(const uint4 *)&lane) {}
    __device__ __forceinline__ u32 place(u32 k) const {
        const u32 two = k / 2 == 0 ? all.x : k / 2 == 1 ? all.y : k / 2 == 2 ? all.z : all.w;
        return two >> (k % 2 * 16) & 0xffff;
    }
    __device__ __forceinline__ bool has(u32 k) const { return place(k) != NO_NODE; }
    // Whether any node exists.
    __device__ __forceinline__ bool live() const { return (all.x & all.y & all.z & all.w) != FULL; }
};

// Calls f(k, rank) for each exact node k of the lane's group, whose number among those of all lanes is `rank`; how many there are.
template <class F> __device__ __forceinline__ u32 each_exact(const Group &group, F f) {
    u32 own = 0;
#pragma unroll
    for (u32 k = 0; k < GROUP_NODES; k++) own += group.q[k] == EXACT;
    if (!__any_sync(FULL, own > 0)) return 0;
    const u32 sum = scan_lanes(own, threadIdx.x % 32);
    u32 rank = sum - own;
#pragma unroll
    for (u32 k = 0; k < GROUP_NODES; k++) {
        if (group.q[k] == EXACT) f(k, rank++);
    }
    return __shfl_sync(FULL, sum, 31);
}

// One stream from its symbols to its slot.
template <class D> __device__ __forceinline__ void pack_stream(const GroupsArguments &a, const TileStream &stream, u32 *buffer) {
    const u32 lane = threadIdx.x % 32;
    const RunLane *runs = a.runs + 32 * (u64)stream.shape.first_run + lane;
    const i16 *symbols = a.q + stream.symbols;
    const D *delta = (const D *)a.delta + stream.symbols;
    D *exact = (D *)a.exact + stream.exact;
    GroupWriter writer(buffer, a.slots + stream.slot);
    u32 exact_nodes = 0;
    for (u32 run = 0; run < stream.shape.runs; run++) {
        const Places places(runs[32 * run]);
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) group.q[k] = places.has(k) ? symbols[places.place(k)] : 0;
        writer.put(group, __ballot_sync(FULL, places.live()));
        writer.drain();
        exact_nodes += each_exact(group, [&](u32 k, u32 rank) { exact[exact_nodes + rank] = delta[places.place(k)]; });
    }
    note_stream(a, stream.number, stream.chunk, writer.finish(), exact_nodes);
}

extern "C" __global__ void __launch_bounds__(128) pack_groups(const GroupsArguments a) {
    __shared__ u32 buffers[PACK_WARPS][WRITER_WORDS];
    u32 *buffer = buffers[threadIdx.x / 32];
    for (u32 i = threadIdx.x % 32; i < WRITER_WORDS; i += 32) buffer[i] = 0;
    __syncwarp();
    each_stream(a, [&](u32 tile, u32 number) {
        const TileStream stream(a, tile, number);
        if (!stream.exists) return;
        if (a.value_bytes == 4) pack_stream<u32>(a, stream, buffer);
        else pack_stream<u64>(a, stream, buffer);
    });
}

// A delta at any address, little-endian.
template <class D> __device__ __forceinline__ D read_delta(const u8 *at) {
    D delta = 0;
    for (u32 i = 0; i < sizeof(D); i++) delta |= (D)at[i] << (8 * i);
    return delta;
}

// One stream from its bytes to its symbols.
template <class D> __device__ __forceinline__ void unpack_stream(const GroupsArguments &a, const TileStream &stream, u32 *window) {
    const u32 lane = threadIdx.x % 32;
    const RunLane *runs = a.runs + 32 * (u64)stream.shape.first_run + lane;
    i16 *symbols = a.q + stream.symbols;
    D *delta = (D *)a.delta + stream.symbols;
    const u32 bytes = a.lengths[stream.number], exact_nodes = a.exact_counts[stream.number];
    const u8 *exact = a.output + a.exact_places[stream.number];
    GroupReader reader(window, a.output + a.places[stream.number], bytes);
    u32 found = 0;
    for (u32 run = 0; run < stream.shape.runs; run++) {
        const Places places(runs[32 * run]);
        Group group;
        reader.get(group, __ballot_sync(FULL, places.live()));
        found += each_exact(group, [&](u32 k, u32 rank) {
            if (places.has(k) && found + rank < exact_nodes) delta[places.place(k)] = read_delta<D>(exact + (found + rank) * sizeof(D));
        });
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) {
            if (places.has(k)) symbols[places.place(k)] = (i16)group.q[k];
            else reader.broken |= group.q[k] != 0;
        }
    }
    if (!(reader.finish(bytes) && found == exact_nodes) && lane == 0) a.chunks[stream.chunk].error = 1;
}

extern "C" __global__ void __launch_bounds__(128) unpack_groups(const GroupsArguments a) {
    __shared__ __align__(16) u32 windows[PACK_WARPS][READER_WORDS + 4];
    u32 *window = windows[threadIdx.x / 32];
    each_stream(a, [&](u32 tile, u32 number) {
        const TileStream stream(a, tile, number);
        if (!stream.exists) return;
        // what was asked for behind the end of the stream before
        copies_arrived();
        __syncwarp();
        if (a.value_bytes == 4) unpack_stream<u32>(a, stream, window);
        else unpack_stream<u64>(a, stream, window);
    });
}
