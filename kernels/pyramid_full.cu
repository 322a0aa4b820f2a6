// Whole tiles of the frame (three axes, evenly spaced): a line of nodes a thread, its stencils known at compile time.
// Same results as pyramid.cu.
#include "pyramid.cuh"
#include "stencil.cuh"

// Memory of one tile: rows and planes are padded against bank conflicts; symbols stand unpadded.
template <u32 SIDE> struct Padded {
    static constexpr u32 Y = SIDE + 1;
    static constexpr u32 Z = SIDE * Y + (SIDE == 8 ? 1 : SIDE == 16 ? 9 : 17);
    static constexpr u32 NODES = SIDE * Z;
    static constexpr u32 CODED = SIDE * SIDE * SIDE - 8;
};

// What the threads of a tile share.
template <class T, u32 SIDE, u32 THREADS, bool ENCODE> struct FullTile {
    typedef Padded<SIDE> P;
    const TileArguments<T> &a;
    const Tile &tile;
    const Choice choice;
    T *v;
    i16 *q;
    // The tier of each tolerance block of the tile, in shared memory.
    const u8 *tiers;
    u32 whole_rows, thread;
    // Of the current step: the quantizer of the first tier, and of all.
    Quantizer<T> first;
    const Quantizer<T> *quantizers;

    static __device__ __forceinline__ void sync() {
        if (THREADS == 32) __syncwarp();
        else __syncthreads();
    }
    // Row of the stencils along an axis for a position known at run time.
    __device__ __forceinline__ Row<T> row(u32 at) const { return a.rows[whole_rows + choice.points() * SIDE + at]; }

    __device__ __forceinline__ Quantizer<T> quantizer(u32 raster) const {
        if (a.tier_count == 1) return first;
        const u32 x = raster % SIDE, y = raster / SIDE % SIDE, z = raster / (SIDE * SIDE);
        return quantizers[tiers[((z >> 3) * (SIDE / 8) + (y >> 3)) * (SIDE / 8) + (x >> 3)]];
    }
    // Takes prediction p of the node at padded place `place` and raster place `raster`.
    __device__ __forceinline__ void visit(u32 place, u32 raster, T p, const Quantizer<T> &z) {
        if (ENCODE) {
            T u = v[place];
            const i16 symbol = quantize(u, p, z);
            v[place] = u;
            q[raster] = symbol;
            if (symbol == EXACT) a.delta[tile.start + a.place[raster]] = delta_of(u, p);
        } else {
            const i16 symbol = q[raster];
            if (symbol == EXACT) v[place] = apply_delta<T>(a.delta[tile.start + a.place[raster]], p);
            else v[place] = Real<T>::fma((T)symbol, z.step, p);
        }
    }
    // One node of a coarse step, everything looked up.
    __device__ __forceinline__ void node(u32 pass, u32 entry) {
        const u32 local = entry & 0x7fff;
        constexpr u32 BITS = SIDE == 8 ? 3 : SIDE == 16 ? 4 : 5;
        const u32 at[3] = {local >> (2 * BITS), local >> BITS & (SIDE - 1), local & (SIDE - 1)};
        const u32 strides[3] = {P::Z, P::Y, 1};
        const u32 place = at[0] * P::Z + at[1] * P::Y + at[2], used = choice.axes(pass);
        const Quantizer<T> z = quantizer(local);
        Guess<T> guess[3];
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            if (used >> axis & 1) guess[axis] = interpolate<6>(v, row(at[axis]), place - at[axis] * strides[axis], strides[axis]);
        }
        visit(place, local, mean(used, guess, z.step), z);
    }
    // Nodes of a coarse step new on one, two or three axes.
    __device__ __forceinline__ void group(u32 begin, u32 b, u32 c, u32 end, u32 first_pass, u32 second, u32 third) {
        const u32 *entries = a.table + a.shapes[tile.shape].entries;
        for (u32 i = begin + thread; i < end; i += THREADS) node(i < b ? first_pass : i < c ? second : third, entries[i]);
        sync();
    }
};

// Where a line lies: its first node, and the distances between its nodes, padded and in the raster.
struct Line {
    u32 place, raster, place_stride, raster_stride;
};

// The old values of a line in registers, and predictions of its new nodes.
template <class T, u32 SIDE, u32 STEP, u32 POINTS> struct Along {
    typedef Axis<SIDE, STEP> A;
    typedef Near<SIDE, STEP, POINTS> N;
    T old[A::OLD];
    __device__ __forceinline__ void load(const T *v, const Line &line) {
#pragma unroll
        for (u32 i = 0; i < A::OLD; i++) old[i] = v[line.place + A::old_at(i) * line.place_stride];
    }
    // At most two nodes on each side tell how rough the axis is.
    template <u32 K> __device__ __forceinline__ T rough() const {
        constexpr u32 first = N::inner_first(K), count = N::inner_end(K) - first;
        T rough = 0;
        if constexpr (count == 2) {
            const T bend = Real<T>::abs(Real<T>::sub(old[first + 1], old[first]));
            rough = bend > rough ? bend : rough;
        } else {
            unroll<count - 2>([&](auto j) {
                constexpr u32 i = N::inner_first(K) + decltype(j)::value;
                const T bend = Real<T>::abs(Real<T>::sub(Real<T>::sub(old[i + 2], old[i + 1]), Real<T>::sub(old[i + 1], old[i])));
                rough = bend > rough ? bend : rough;
            });
        }
        return rough;
    }
    template <u32 K> __device__ __forceinline__ T predict() const {
        constexpr u32 first = N::first(K);
        constexpr double w0 = N::weight(K, first);
        T p = Real<T>::mul((T)w0, old[first]);
        unroll<N::end(K) - first - 1>([&](auto j) {
            constexpr u32 node = N::first(K) + 1 + decltype(j)::value;
            constexpr double w = N::weight(K, node);
            p = Real<T>::fma((T)w, old[node], p);
        });
        return p;
    }
};

// The three groups of nodes of one step.
template <class F, class T, u32 SIDE, u32 STEP, u32 POINTS, u32 THREADS> struct Step {
    typedef Axis<SIDE, STEP> A;
    typedef Padded<SIDE> P;
    static __device__ __forceinline__ u32 place_stride(u32 axis) { return axis == 0 ? P::Z : axis == 1 ? P::Y : 1; }
    static __device__ __forceinline__ u32 raster_stride(u32 axis) { return axis == 0 ? SIDE * SIDE : axis == 1 ? SIDE : 1; }
    // The line along `axis` through position (i, j) on the other two axes.
    static __device__ __forceinline__ Line line(u32 axis, u32 i, u32 j) {
        const u32 b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
        return {i * place_stride(b) + j * place_stride(c), i * raster_stride(b) + j * raster_stride(c), place_stride(axis),
                raster_stride(axis)};
    }
    // Nodes new on one axis: predicted along it.
    static __device__ __forceinline__ void one(F &f) {
        constexpr u32 LINES = A::OLD * A::OLD;
        for (u32 n = f.thread; n < 3 * LINES; n += THREADS) {
            const u32 axis = n / LINES, m = n % LINES;
            const Line l = line(axis, A::old_at(m / A::OLD), A::old_at(m % A::OLD));
            Along<T, SIDE, STEP, POINTS> along;
            along.load(f.v, l);
            unroll<A::NEW>([&](auto k) {
                constexpr u32 K = decltype(k)::value;
                constexpr u32 at = A::new_at(K);
                const u32 raster = l.raster + at * l.raster_stride;
                f.visit(l.place + at * l.place_stride, raster, along.template predict<K>(), f.quantizer(raster));
            });
        }
        F::sync();
    }
    // Nodes new on two axes: a line along the lower one, the other axis across it.
    static __device__ __forceinline__ void two(F &f) {
        constexpr u32 LINES = A::NEW * A::OLD;
        for (u32 n = f.thread; n < 3 * LINES; n += THREADS) {
            const u32 pair = n / LINES, m = n % LINES;
            // Pairs (0, 1), (0, 2), (1, 2): the line runs along `axis`, `other` is new as well.
            const u32 axis = pair == 2 ? 1 : 0, other = pair == 0 ? 1 : 2;
            const u32 fresh = A::new_at(other == 2 ? m % A::NEW : m / A::OLD);
            const u32 rest = A::old_at(other == 2 ? m / A::NEW : m % A::OLD);
            const Line l = other == 2 ? line(axis, rest, fresh) : line(axis, fresh, rest);
            const u32 used = f.choice.axes(1u << axis | 1u << other);
            const bool first = used >> axis & 1, second = used >> other & 1;
            const u32 stride = place_stride(other);
            const Row<T> row = f.row(fresh);
            Along<T, SIDE, STEP, POINTS> along;
            if (first) along.load(f.v, l);
            unroll<A::NEW>([&](auto k) {
                constexpr u32 K = decltype(k)::value;
                constexpr u32 at = A::new_at(K);
                const u32 place = l.place + at * l.place_stride;
                const u32 raster = l.raster + at * l.raster_stride;
                const Quantizer<T> z = f.quantizer(raster);
                Guess<T> guess[3];
                if (first) guess[0] = {along.template predict<K>(), along.template rough<K>()};
                if (second) guess[1] = interpolate<POINTS>(f.v, row, place - fresh * stride, stride);
                f.visit(place, raster, mean((u32)first | (u32)second << 1, guess, z.step), z);
            });
        }
        F::sync();
    }
    // Nodes new on all axes: lines along axis 0.
    static __device__ __forceinline__ void three(F &f) {
        for (u32 n = f.thread; n < A::NEW * A::NEW; n += THREADS) {
            const u32 y = A::new_at(n / A::NEW), x = A::new_at(n % A::NEW), used = f.choice.axes(7);
            const Line l = line(0, y, x);
            const Row<T> row_y = f.row(y), row_x = f.row(x);
            Along<T, SIDE, STEP, POINTS> along;
            if (used & 1) along.load(f.v, l);
            unroll<A::NEW>([&](auto k) {
                constexpr u32 K = decltype(k)::value;
                constexpr u32 at = A::new_at(K);
                const u32 place = l.place + at * l.place_stride;
                const u32 raster = l.raster + at * l.raster_stride;
                const Quantizer<T> z = f.quantizer(raster);
                Guess<T> guess[3];
                if (used & 1) guess[0] = {along.template predict<K>(), along.template rough<K>()};
                if (used & 2) guess[1] = interpolate<POINTS>(f.v, row_y, place - y * P::Y, P::Y);
                if (used & 4) guess[2] = interpolate<POINTS>(f.v, row_x, place - x, 1);
                f.visit(place, raster, mean(used, guess, z.step), z);
            });
        }
        F::sync();
    }
};

// Step 0 has most of the nodes and is unrolled; the steps before it are looked up, since long code starves the fetch.
template <class F, class T, u32 SIDE, u32 POINTS, u32 THREADS> __device__ __forceinline__ void finest(F &f) {
    typedef Step<F, T, SIDE, 0, POINTS, THREADS> S;
    S::one(f);
    S::two(f);
    S::three(f);
}
template <class F, class T, u32 SIDE, u32 THREADS> __device__ __forceinline__ void sweep(F &f) {
    const u32 *all = f.a.table + f.a.shapes[f.tile.shape].ranges;
#pragma unroll 1
    for (u32 step = steps<SIDE>(); step-- > 0;) {
        f.quantizers = quantizers_of(f.a, f.choice, step);
        f.first = f.quantizers[0];
        if (step == 0) break;
        const u32 *ranges = all + 8 * step;
        f.group(ranges[0], ranges[1], ranges[2], ranges[3], 1, 2, 4);
        f.group(ranges[3], ranges[4], ranges[5], ranges[6], 3, 5, 6);
        f.group(ranges[6], ranges[7], ranges[7], ranges[7], 7, 7, 7);
    }
    if (f.choice.points() == 1) finest<F, T, SIDE, 4, THREADS>(f);
    else if (f.choice.points() == 0) finest<F, T, SIDE, 2, THREADS>(f);
    else finest<F, T, SIDE, 6, THREADS>(f);
}

// Between global memory and the padded tile.
template <u32 SIDE, u32 THREADS, class F> __device__ __forceinline__ void each_node(u32 thread, F f) {
#pragma unroll 8
    for (u32 i = thread; i < SIDE * SIDE * SIDE; i += THREADS) f(i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE);
}

template <class T, u32 SIDE, u32 THREADS, bool ENCODE>
__device__ __forceinline__ void full_tile(const TileArguments<T> &a, const Tile &tile, char *memory, u32 thread) {
    typedef Padded<SIDE> P;
    typedef FullTile<T, SIDE, THREADS, ENCODE> F;
    constexpr u32 BLOCKS = SIDE / 8;
    T *v = (T *)memory;
    i16 *q = (i16 *)(v + P::NODES);
    u8 *tiers = (u8 *)(q + SIDE * SIDE * SIDE);
    const u64 first = ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
    if (ENCODE) {
        each_node<SIDE, THREADS>(thread, [&](u32 z, u32 y, u32 x) {
            v[z * P::Z + y * P::Y + x] = a.values[first + ((u64)z * a.n[1] + y) * a.n[2] + x];
        });
    } else {
#pragma unroll 4
        for (u32 i = thread; i < P::CODED; i += THREADS) q[a.order[i]] = a.q[tile.start + i];
    }
    if (a.tier_count > 1) {
        for (u32 b = thread; b < BLOCKS * BLOCKS * BLOCKS; b += THREADS) {
            const u32 z = (tile.at[0] >> 3) + b / (BLOCKS * BLOCKS), y = (tile.at[1] >> 3) + b / BLOCKS % BLOCKS;
            const u32 x = (tile.at[2] >> 3) + b % BLOCKS;
            tiers[b] = a.tiers[((u64)z * a.blocks[1] + y) * a.blocks[2] + x];
        }
    }
    F::sync();
    if (thread < 8) {
        const u32 z = thread >> 2, y = thread >> 1 & 1, x = thread & 1;
        const u64 corner = ((u64)(tile.at[0] / SIDE * 2 + z) * a.corner_n[1] + tile.at[1] / SIDE * 2 + y) * a.corner_n[2];
        v[(SIDE - 1) * (z * P::Z + y * P::Y + x)] = a.corners[corner + tile.at[2] / SIDE * 2 + x];
    }
    F::sync();
    F f = {a, tile, Choice{a.choices[tile.chunk]}, v, q, tiers, a.shapes[tile.shape].rows[0], thread, {}, nullptr};
    sweep<F, T, SIDE, THREADS>(f);
    if (ENCODE) {
#pragma unroll 4
        for (u32 i = thread; i < P::CODED; i += THREADS) a.q[tile.start + i] = q[a.order[i]];
    } else {
        each_node<SIDE, THREADS>(thread, [&](u32 z, u32 y, u32 x) {
            const u32 gz = tile.at[0] + z, gy = tile.at[1] + y, gx = tile.at[2] + x;
            if (gz < a.lo[0] || gz >= a.hi[0] || gy < a.lo[1] || gy >= a.hi[1] || gx < a.lo[2] || gx >= a.hi[2]) return;
            const u64 row = (u64)(gz - a.lo[0]) * (a.hi[1] - a.lo[1]) + gy - a.lo[1];
            a.result[row * (a.hi[2] - a.lo[2]) + gx - a.lo[2]] = v[z * P::Z + y * P::Y + x];
        });
    }
    F::sync();
}

// Tiles in turn: one per block, or one per warp where the tile is small.
template <class T, u32 SIDE, u32 THREADS, bool ENCODE> __device__ __forceinline__ void full_tiles(const TileArguments<T> &a) {
    SHARED_MEMORY(memory);
    constexpr u32 BLOCKS = SIDE / 8;
    constexpr u32 BYTES = (sizeof(T) * Padded<SIDE>::NODES + 2 * SIDE * SIDE * SIDE + BLOCKS * BLOCKS * BLOCKS + 15) / 16 * 16;
    const u32 groups = blockDim.x / THREADS, group = threadIdx.x / THREADS;
    for (u32 t = blockIdx.x * groups + group; t < a.tile_count; t += gridDim.x * groups) {
        const Tile tile = a.tiles[t];
        if (is_common(a, tile)) full_tile<T, SIDE, THREADS, ENCODE>(a, tile, memory + group * BYTES, threadIdx.x % THREADS);
    }
}

extern "C" __global__ void __launch_bounds__(128) encode_whole_8_f32(const TileArguments<float> a) { full_tiles<float, 8, 32, true>(a); }
extern "C" __global__ void __launch_bounds__(128) decode_whole_8_f32(const TileArguments<float> a) { full_tiles<float, 8, 32, false>(a); }
extern "C" __global__ void __launch_bounds__(128) encode_whole_16_f32(const TileArguments<float> a) { full_tiles<float, 16, 128, true>(a); }
extern "C" __global__ void __launch_bounds__(128) decode_whole_16_f32(const TileArguments<float> a) { full_tiles<float, 16, 128, false>(a); }
extern "C" __global__ void __launch_bounds__(512) encode_whole_32_f32(const TileArguments<float> a) { full_tiles<float, 32, 512, true>(a); }
extern "C" __global__ void __launch_bounds__(512) decode_whole_32_f32(const TileArguments<float> a) { full_tiles<float, 32, 512, false>(a); }
