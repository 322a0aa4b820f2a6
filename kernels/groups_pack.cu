// The groups coder by way of symbols: streams of any tile from its symbols and back, a warp a stream.
#include "groups_streams.cuh"

constexpr u32 PACK_WARPS = 4;

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
    __device__ __forceinline__ Places places(u32 run) const { return Places(runs[32 * run]); }
    // Stream 0: the first node of the lane's group in a run.
    __device__ __forceinline__ u32 first(u32 run) const { return GROUP_NODES * (32 * run + lane); }
    __device__ __forceinline__ uint4 load(u32 run) const {
        const uint4 none = {0, 0, 0, 0};
        return first(run) < nodes ? *(const uint4 *)(symbols + first(run)) : none;
    }
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

// One stream from its symbols to its slot.
__device__ __forceinline__ void pack_stream(const GroupsArguments &a, const TileStream &stream, u32 *buffer) {
    const Runs runs(a, stream);
    GroupWriter writer(buffer, a.slots + stream.slot);
    // a run ahead
    uint4 next = runs.is_band ? uint4{} : runs.load(0);
    for (u32 run = 0; run < runs.count; run++) {
        Group group;
        bool alive;
        if (runs.is_band) {
            const Places places = runs.places(run);
            alive = places.live();
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) group.q[k] = places.has(k) ? runs.symbols[places.place(k)] : 0;
        } else {
            const u32 first = runs.first(run);
            u32 words[4] = {next.x, next.y, next.z, next.w};
            next = runs.load(run + 1);
            alive = first < runs.nodes;
            // what stands behind the last node is no symbol
            if (first + GROUP_NODES > runs.nodes) {
#pragma unroll
                for (u32 k = 1; k < GROUP_NODES; k++) words[k / 2] &= first + k < runs.nodes ? FULL : k % 2 ? 0xffffu : 0xffff0000u;
            }
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) group.q[k] = (i16)(words[k / 2] >> (k % 2 * 16));
        }
        writer.put(group, __ballot_sync(FULL, alive));
        writer.drain();
    }
    const u32 bytes = writer.finish();
    u32 exact_nodes = 0;
    if (__any_sync(FULL, writer.largest > 32767)) exact_nodes = a.value_bytes == 4 ? list_exact<u32>(a, stream, runs) : list_exact<u64>(a, stream, runs);
    note_stream(a, stream.number, stream.chunk, bytes, exact_nodes);
}

extern "C" __global__ void __launch_bounds__(128, 8) pack_groups(const GroupsArguments a) {
    __shared__ u32 buffers[PACK_WARPS][WRITER_WORDS];
    u32 *buffer = buffers[threadIdx.x / 32];
    for (u32 i = threadIdx.x % 32; i < WRITER_WORDS; i += 32) buffer[i] = 0;
    __syncwarp();
    each_stream(a, [&](u32 tile, u32 number) {
        const TileStream stream(a, tile, number);
        if (stream.exists) pack_stream(a, stream, buffer);
    });
}

// The deltas of the exact nodes of a stream from their list, which starts at any byte and has `listed`; how many nodes there are.
template <class D> __device__ __forceinline__ u32 take_exact(const GroupsArguments &a, const TileStream &stream, const Runs &runs, u32 listed) {
    D *delta = (D *)a.delta + stream.symbols;
    const u8 *list = a.output + a.exact_places[stream.number];
    return runs.each_exact([&](u32 place, u32 rank) {
        if (rank >= listed) return;
        D value = 0;
        for (u32 i = 0; i < sizeof(D); i++) value |= (D)list[rank * sizeof(D) + i] << (8 * i);
        delta[place] = value;
    });
}

// One stream from its bytes to its symbols.
__device__ __forceinline__ void unpack_stream(const GroupsArguments &a, const TileStream &stream, u32 *window) {
    const Runs runs(a, stream);
    const u32 bytes = a.lengths[stream.number], listed = a.exact_counts[stream.number];
    GroupReader reader(window, a.output + a.places[stream.number], bytes);
    i32 lowest = 0;
    for (u32 run = 0; run < runs.count; run++) {
        const u32 first = runs.first(run);
        const Places places = runs.is_band ? runs.places(run) : Places();
        const bool alive = runs.is_band ? places.live() : first < runs.nodes;
        Group group;
        reader.get<false>(group, __ballot_sync(FULL, alive));
#pragma unroll
        for (u32 k = 0; k < GROUP_NODES; k++) lowest = min(lowest, group.q[k]);
        if (runs.is_band) {
#pragma unroll
            for (u32 k = 0; k < GROUP_NODES; k++) {
                if (places.has(k)) runs.symbols[places.place(k)] = (i16)group.q[k];
                else reader.broken |= group.q[k] != 0;
            }
        } else if (alive) {
            u32 words[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) words[k] = __byte_perm((u32)group.q[2 * k], (u32)group.q[2 * k + 1], 0x5410);
            *(uint4 *)(runs.symbols + first) = uint4{words[0], words[1], words[2], words[3]};
            // what stands behind the last node is no symbol
            if (first + GROUP_NODES > runs.nodes) {
#pragma unroll
                for (u32 k = 1; k < GROUP_NODES; k++) reader.broken |= first + k >= runs.nodes && group.q[k] != 0;
            }
        }
    }
    u32 found = 0;
    if (__any_sync(FULL, lowest == EXACT)) found = a.value_bytes == 4 ? take_exact<u32>(a, stream, runs, listed) : take_exact<u64>(a, stream, runs, listed);
    if (!(reader.finish(bytes) && found == listed) && runs.lane == 0) a.chunks[stream.chunk].error = 1;
}

extern "C" __global__ void __launch_bounds__(128, 8) unpack_groups(const GroupsArguments a) {
    __shared__ __align__(16) u32 windows[PACK_WARPS][READER_WORDS + 4];
    u32 *window = windows[threadIdx.x / 32];
    each_stream(a, [&](u32 tile, u32 number) {
        const TileStream stream(a, tile, number);
        if (!stream.exists) return;
        // what was asked for behind the end of the stream before
        copies_arrived();
        __syncwarp();
        unpack_stream(a, stream, window);
    });
}
