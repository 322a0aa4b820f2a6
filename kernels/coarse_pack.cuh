// The nodes of S(1) of whole tiles in axis order, encoding, and their stream of the groups coder: symbols never leave shared memory.
#pragma once
#include "coarse_axis.cuh"
#include "groups_runs.cuh"

template <class T> struct CoarsePackArguments {
    TileArguments<T> tiles;
    GroupsArguments groups;
    // Which of the lists it is that may be under way at the same time.
    u32 part, unused;
};

// Tiles take unlike times, and blocks draw them: how many were drawn beyond each block's first one, 0 again when the last block has found none. One for each
// kernel and part of the tiles, which is never under way twice on a device.
template <class T> __device__ u32 coarse_drawn[2];

// The warps of a block take as many runs each, put their bits where values were, and join them.
template <class T, u32 SIDE, u32 GROUP>
struct CoarsePacked : CoarseInOrder<T, SIDE, 1, GROUP, true> {
    typedef CoarseInOrder<T, SIDE, 1, GROUP, true> Base;
    using Base::numbers;
    using Base::q;
    using Base::thread;
    using Base::v;
    static constexpr bool PACKS = true;
    static constexpr u32 WARPS = GROUP / 32;
    // Runs of a warp at most, which fit its words.
    static constexpr u32 MOST_RUNS = ((Base::ALL - 8 + 255) / 256 + WARPS - 1) / WARPS;
    typedef GroupWriter<736> Writer;
    static constexpr u32 WORDS = Writer::WORDS;
    static_assert(WARPS * WORDS * sizeof(u32) <= Base::ALL * sizeof(T), "the words stand where values were");
    static_assert(MOST_RUNS * (1 + 32 * (10 + 8 * 17)) / 32 + 3 <= Writer::PROGRESS_AT - 32, "nothing is written before all are put");

    // What the warps tell each other of a stream: bits of each, the end of its bytes, whether there are exact nodes; and the next tile.
    struct Shared {
        u32 bits[WARPS], end, exact, next;
    };
    const GroupsArguments &groups;
    const u32 part;
    Shared &shared;

    __device__ CoarsePacked(const TileArguments<T> &a, u32 thread, char *memory, const CoarseColumn *columns, const CoarsePackArguments<T> &all, Shared &shared)
        : Base(a, thread, memory, columns), groups(all.groups), part(all.part), shared(shared) {}

    // Another tile, whose number all threads have when they have met.
    __device__ __forceinline__ void draw() {
        if (thread > 0) return;
        const u32 before = atomicAdd(coarse_drawn<T> + part, 1u);
        if (before == this->a.list_count - 1) coarse_drawn<T>[part] = 0;
        shared.next = gridDim.x + before;
    }
    __device__ __forceinline__ u32 drawn() const { return shared.next; }

    __device__ __forceinline__ void store(u32 first) const { this->template store_rows<Base::PADDED>(first); }

    // The stream of the tile at hand, if it `exists`; `store` reads its values for the last time.
    template <class F> __device__ __forceinline__ void pack(bool exists, F store) {
        if (!exists) return;
        const TileStream stream(groups, *numbers, 0);
        const Runs runs(stream, q);
        store();
        if (thread == 0) shared.end = shared.exact = 0;
        __syncthreads();
        const u32 warp = thread / 32, of_warp = (runs.count + WARPS - 1) / WARPS, begin = warp * of_warp, end = min(begin + of_warp, runs.count);
        u32 *const buffers = (u32 *)v, *const buffer = buffers + warp * WORDS;
#pragma unroll
        for (u32 i = 0; i < WORDS / 128; i++) ((uint4 *)buffer)[32 * i + runs.lane] = uint4{0, 0, 0, 0};
        __syncwarp();
        Writer writer(buffer, nullptr);
        if (begin > 0 && begin < end) {
            // the first group of the run before
            const u32 before = GROUP_NODES * 32 * (begin - 1);
            u32 any;
            writer.reference = Writer::bits_of(runs.symbols_of(GROUP_NODES, *(const uint4 *)(q + before)), any);
        }
#pragma unroll 1
        for (u32 run = begin; run < end; run++) writer.put(runs.group(run, runs.load(run)), __ballot_sync(FULL, runs.first(run) < runs.nodes));
        const bool exact = __any_sync(FULL, writer.largest > 32767);
        if (runs.lane == 0) shared.bits[warp] = writer.at;
        if (exact && runs.lane == 0) shared.exact = 1;
        __syncthreads();
        join(groups.slots + stream.slot, buffers);
        __syncthreads();
        if (thread >= 32) return;
        u32 exact_nodes = 0;
        if (shared.exact) exact_nodes = groups.value_bytes == 4 ? list_exact<u32>(groups, stream, runs) : list_exact<u64>(groups, stream, runs);
        note_stream(groups, stream.number, stream.chunk, shared.end, exact_nodes);
    }
    // The bits of all warps one behind the other.
    __device__ __forceinline__ void join(u32 *slot, const u32 *buffers) {
        u32 first[WARPS + 1];
        first[0] = 0;
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) first[w + 1] = first[w] + shared.bits[w];
        u32 end = 0;
#pragma unroll 1
        for (u32 i = thread; i < (first[WARPS] + 31) / 32; i += GROUP) {
            u32 word = 0;
#pragma unroll
            for (u32 w = 0; w < WARPS; w++) {
                // those of a warp that reach into the word; behind its own there are zeros
                if (32 * i + 32 <= first[w] || 32 * i >= first[w + 1]) continue;
                const u32 *own = buffers + w * WORDS, at = 32 * i - first[w];
                word |= 32 * i < first[w] ? own[0] << (0 - at) : __funnelshift_r(own[at / 32], own[at / 32 + 1], at);
            }
            slot[i] = word;
            if (word != 0) end = 4 * i + 4 - __clz((i32)word) / 8;
        }
        end = __reduce_max_sync(FULL, end);
        if (thread % 32 == 0) atomicMax(&shared.end, end);
    }
};

template <class T, u32 SIDE, u32 GROUP> __device__ __forceinline__ void pack_coarse(const CoarsePackArguments<T> &a) {
    typedef CoarsePacked<T, SIDE, GROUP> Work;
    __shared__ typename Work::Shared shared;
    coarse_tiles<T, Work, GROUP>(a.tiles, a, shared);
}
