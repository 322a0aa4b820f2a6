// What a group of threads keeps of a tile, and how it goes through lists of nodes (FORMAT.md, "tiles and node sets").
#pragma once
#include "nodes.cuh"

// Values by place, symbols in coded order, the tiers of the tolerance blocks: of one tile or several.
template <class T, bool ENCODE> struct TileMemory {
    const TileArguments<T> &a;
    const TileShape &shape;
    const u32 thread;
    T *v;
    i16 *q;
    u8 *tiers;
    // Of the current step: the quantizer of the first tier, and of all.
    Quantizer<T> only;
    const Quantizer<T> *quantizers;

    __device__ TileMemory(const TileArguments<T> &a, const TileShape &shape, u32 thread, char *memory, u32 places, u32 symbols)
        : a(a), shape(shape), thread(thread), v((T *)memory), q((i16 *)(v + places)), tiers((u8 *)(q + symbols)), only(), quantizers(nullptr) {}
    template <u32 POINTS> __device__ __forceinline__ const Stencil<T, POINTS> *stencils() const {
        return (const Stencil<T, POINTS> *)a.stencils[POINTS / 2 - 1] + shape.first_stencil;
    }
    // Of tolerance block `block` of the tile.
    __device__ __forceinline__ Quantizer<T> quantizer(u32 block) const { return a.tier_count == 1 ? only : quantizers[tiers[block]]; }
    // What is known of a node before its prediction: its value, or its symbol.
    struct Known {
        T value;
        i16 symbol;
    };
    __device__ __forceinline__ Known known(u32 place, u32 coded) const {
        if (ENCODE) return {v[place], 0};
        return {(T)0, q[coded]};
    }
    // Takes prediction p of a node; whether it is exact and `put_exact` must follow.
    __device__ __forceinline__ bool put(u32 place, u32 coded, const Known &known, T p, const Quantizer<T> &z) {
        if (ENCODE) {
            T u = known.value;
            i16 symbol;
            const bool fits = quantize(u, p, z, symbol);
            v[place] = u;
            q[coded] = symbol;
            return !fits;
        } else {
            v[place] = Real<T>::fma((T)known.symbol, z.step, p);
            return known.symbol == EXACT;
        }
    }
};

// Planes of a slab of a tile whose step 0 several blocks share.
constexpr u32 SLAB_PLANES = 4;

// One tile and the GROUP threads that work on it. CUT: perhaps on a slab of it; then steps above 0 are done for each slab, and of step 0 what
// predictions of its planes start from.
template <class T, u32 GROUP, bool ENCODE, bool CUT = false> struct TileWork : TileMemory<T, ENCODE> {
    typedef TileMemory<T, ENCODE> Base;
    using Base::a;
    using Base::only;
    using Base::q;
    using Base::quantizers;
    using Base::shape;
    using Base::thread;
    using Base::v;
    const Tile tile;
    const Choice choice;
    // CUT: the first plane of the slab, and whether it is not all of the tile.
    const u32 first_plane;
    const bool is_cut;
    // Of a step the first place of the nodes that belong to the slab, and the end.
    u32 own_begin, own_end;

    __device__ TileWork(const TileArguments<T> &a, const Tile &tile, const TileShape &shape, char *memory, u32 thread, u32 slab = 0)
        : Base(a, shape, thread, memory, shape.places, shape.nodes), tile(tile), choice{a.choices[tile.chunk]}, first_plane(slab * SLAB_PLANES),
          is_cut(CUT && a.slabs > 1), own_begin(0), own_end(~0u) {}
    __device__ TileWork(const Base &memory, const Tile &tile)
        : Base(memory), tile(tile), choice{a.choices[tile.chunk]}, first_plane(0), is_cut(false), own_begin(0), own_end(~0u) {}
    static __device__ __forceinline__ void sync() {
        if (GROUP == 32) __syncwarp();
        else __syncthreads();
    }
    // Whether the node at `place` belongs to the slab.
    __device__ __forceinline__ bool owns(u32 place) const { return !CUT || (place >= own_begin && place < own_end); }
    __device__ __forceinline__ void put_exact(u32 place, u32 coded, T p) {
        if (q[coded] != EXACT) return;
        typename Real<T>::Bits *delta = a.delta + tile.start + coded;
        if (!ENCODE) v[place] = apply_delta<T>(*delta, p);
        else if (owns(place)) *delta = delta_of(v[place], p);
    }
    __device__ __forceinline__ void visit(u32 place, u32 coded, const typename Base::Known &known, T p, const Quantizer<T> &z) {
        if (this->put(place, coded, known, p, z)) put_exact(place, coded, p);
        if (CUT && ENCODE && is_cut && owns(place)) a.q[tile.start + coded] = q[coded];
    }
    // The first place of a plane of the tile.
    __device__ __forceinline__ u32 plane(u32 at) const { return at < shape.dims[0] ? a.offsets[shape.offsets[0] + at] : ~0u; }
    // The lists of a step, and which of its nodes belong to the slab.
    __device__ __forceinline__ const Step *cut(u32 step) {
        const Step *steps = a.steps + shape.first_step;
        if (!CUT || !is_cut) return steps + 3 * step;
        if (step > 0) {
            own_end = first_plane == 0 ? ~0u : 0;
            return steps + 3 * step;
        }
        own_begin = plane(first_plane), own_end = plane(first_plane + SLAB_PLANES);
        return steps + 3 * (shape.steps + first_plane / SLAB_PLANES);
    }
    // Asks for the lists, which stand one behind the other but for those of step 0.
    __device__ __forceinline__ void fetch_lists() const {
        if (shape.steps == 0) return;
        const Step *steps = a.steps + shape.first_step, *own = steps + 3 * (shape.steps + first_plane / SLAB_PLANES), *last = steps + 3 * shape.steps - 1;
        const auto fetch = [&](const Step &first, const Step &last) {
            for (u32 i = first.first + 8 * thread; i < last.first + last.count; i += 8 * GROUP) fetch_to_l2(a.nodes + i);
        };
        fetch(own[0], own[2]);
        if (shape.steps > 1) fetch(steps[3], *last);
    }
    // The thread's first node of a list.
    __device__ __forceinline__ Node fetch(const Step &step) const { return a.nodes[step.first + (thread < step.count ? thread : 0)]; }
    // Nodes new on one axis, then on two, then on three: only
    // these groups depend on each other. The shape's steps begin with step `finest` of the tile.
    template <u32 POINTS> __device__ __forceinline__ void sweep(u32 finest) {
#pragma unroll 1
        for (u32 s = shape.steps; s-- > 0;) {
            quantizers = quantizers_of(a, choice, s + finest);
            only = quantizers[0];
            // without slabs, the shape's steps may begin with another than 0
            const Step *step = CUT ? cut(s) : a.steps + shape.first_step + 3 * s;
            // what the next list begins with is asked for before the wait
            const Step one = step[0], two = step[1], three = step[2];
            Node first = fetch(one);
            nodes<0, POINTS, GROUP>(*this, one, first);
            first = fetch(two);
            sync();
            nodes<1, POINTS, GROUP>(*this, two, first);
            first = fetch(three);
            sync();
            nodes<2, POINTS, GROUP>(*this, three, first);
            sync();
        }
    }
    __device__ __forceinline__ void sweep_steps(u32 finest = 0) {
        if (choice.points() == 1) sweep<4>(finest);
        else if (choice.points() == 0) sweep<2>(finest);
        else sweep<6>(finest);
    }
    __device__ __forceinline__ void load_corners() {
        const u32 z = thread >> 2, y = thread >> 1 & 1, x = thread & 1;
        if (thread >= 8 || z >= shape.ends[0] || y >= shape.ends[1] || x >= shape.ends[2]) return;
        const u32 end[3] = {z, y, x};
        u32 corner[3], place = 0;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            corner[axis] = tile.at[axis] / a.side * 2 + end[axis];
            place += a.offsets[shape.offsets[axis] + (end[axis] ? shape.dims[axis] - 1 : 0)];
        }
        v[place] = a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
    }
    __device__ __forceinline__ void load_tiers() {
        const u32 row = ((shape.dims[2] - 1) >> a.shift) + 1, rows = ((shape.dims[1] - 1) >> a.shift) + 1;
        const u32 count = (((shape.dims[0] - 1) >> a.shift) + 1) * rows * row;
        for (u32 i = thread; i < count; i += GROUP) {
            const u32 x = i % row, y = i / row % rows, z = i / (row * rows);
            const u64 from = (u64)((tile.at[0] >> a.shift) + z) * a.blocks[1] + (tile.at[1] >> a.shift) + y;
            this->tiers[i] = a.tiers[from * a.blocks[2] + (tile.at[2] >> a.shift) + x];
        }
    }
    // Symbols 16 bytes at a time, with what lies between the units.
    __device__ __forceinline__ void copy_symbols(i16 *to, const i16 *from) const {
#pragma unroll 4
        for (u32 i = thread; i < shape.nodes / 8; i += GROUP) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    }
};
