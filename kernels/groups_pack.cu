// The groups coder by way of symbols: streams of any tile from its symbols and back, a warp a stream.
#include "groups_runs.cuh"

constexpr u32 PACK_WARPS = 4;
typedef GroupWriter<256> PackWriter;

// One stream from its symbols to its slot.
__device__ __forceinline__ void pack_stream(const GroupsArguments &a, const TileStream &stream, u32 *buffer) {
    const Runs runs(a, stream);
    PackWriter writer(buffer, a.slots + stream.slot);
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
            group = runs.group(run, next), alive = runs.first(run) < runs.nodes;
            next = runs.load(run + 1);
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
    __shared__ u32 buffers[PACK_WARPS][PackWriter::WORDS];
    u32 *buffer = buffers[threadIdx.x / 32];
    for (u32 i = threadIdx.x % 32; i < PackWriter::WORDS; i += 32) buffer[i] = 0;
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
