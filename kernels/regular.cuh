// Step 0 of whole tiles with evenly spaced nodes: as nodes.cuh, by columns along axis 0 with everything along them known at compile
// time. A warp takes 32 columns at a time; a column's loads come before its stores, so that many are under way.
#pragma once
#include "nodes.cuh"
#include "stencil.cuh"

// Nodes of a line, by number: the old ones or the new ones of step 0.
template <u32 SIDE, bool NEW> struct Nodes {
    typedef Axis<SIDE> A;
    static constexpr u32 COUNT = NEW ? A::NEW : A::OLD;
    static __host__ __device__ constexpr u32 position(u32 k) { return NEW ? A::new_at(k) : A::old_at(k); }
    static __host__ __device__ constexpr u32 offset(u32 k) { return position(k) * Memory<SIDE>::Z; }
};

// The values of a line's old nodes, and guesses at its new ones.
template <class T, u32 SIDE, u32 POINTS> struct Along {
    typedef Axis<SIDE> A;
    typedef Near<SIDE, POINTS> N;
    T old[A::OLD];

    __device__ __forceinline__ void load(const T *v) {
        unroll<A::OLD>([&](auto i) {
            constexpr u32 at = Nodes<SIDE, false>::offset(decltype(i)::value);
            old[decltype(i)::value] = v[at];
        });
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
    // There are at least three old nodes on an axis.
    template <u32 K> __device__ __forceinline__ Guess<T> guess() const {
        const T p = predict<K>(), left = old[K], right = old[K + 1];
        return {p, POINTS == 2 ? slope(left, right) : bend(left, right, p)};
    }
};

// The stencil across a column: the same for all its nodes.
template <class T, u32 POINTS> struct Across {
    T weight[POINTS];
    const T *near[POINTS];

    // `v`: where the column stands.
    __device__ __forceinline__ void load(const T *v, const Stencil<T, POINTS> *stencil) {
        const Stencil<T, POINTS> s = *stencil;
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) weight[k] = s.weight[k], near[k] = v + s.offset[k];
    }
    __device__ __forceinline__ void values(T (&v)[POINTS], u32 along) const {
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) v[k] = near[k][along];
    }
    // For the node at offset `along` of the column.
    __device__ __forceinline__ T predict(u32 along) const {
        T v[POINTS];
        values(v, along);
        return ::predict(v, weight);
    }
    // There are at least three old nodes on an axis.
    __device__ __forceinline__ Guess<T> guess(u32 along) const {
        T v[POINTS];
        values(v, along);
        const T p = ::predict(v, weight), left = v[POINTS / 2 - 1], right = v[POINTS / 2];
        return {p, POINTS == 2 ? slope(left, right) : bend(left, right, p)};
    }
};

// The numbers of a column's coded nodes: evenly spaced inside a unit, but for the tile's last node.
template <u32 SIDE, bool NEW> struct Numbers {
    typedef Nodes<SIDE, NEW> N;
    static constexpr u32 UNIT = 8, UNITS = SIDE / UNIT;
    u32 first[UNITS], distance, last;

    static __host__ __device__ constexpr u32 unit(u32 k) { return N::position(k) / UNIT; }
    // The first node of a unit.
    static __host__ __device__ constexpr u32 begin(u32 unit) {
        u32 k = 0;
        while (Numbers::unit(k) < unit) k++;
        return k;
    }
    // `coded_at`: of the column; `base` is added to all of them.
    __device__ __forceinline__ void load(const u16 *coded_at, u32 base) {
        unroll<UNITS>([&](auto u) {
            constexpr u32 at = N::offset(begin(decltype(u)::value));
            first[decltype(u)::value] = coded_at[at] + base;
        });
        distance = coded_at[N::offset(1)] + base - first[0];
        if (!NEW) last = coded_at[N::offset(N::COUNT - 1)] + base;
    }
    template <u32 K> __device__ __forceinline__ u32 at() const {
        if constexpr (!NEW && K == N::COUNT - 1) return last;
        else return first[unit(K)] + (K - begin(unit(K))) * distance;
    }
};

// A column of nodes: where it stands on axes 1 and 2, and the quantizers of its tolerance blocks.
template <class W, class T, u32 SIDE> struct Column {
    // In the memory of all tiles at hand, and of its own.
    u32 place, own_place, tile;
    bool rule;
    Quantizer<T> quantizers[SIDE / 8];

    // `y` and `x`: ranks.
    __device__ __forceinline__ Column(const W &work, u32 tile, u32 y, u32 x) : own_place(y * Memory<SIDE>::Y + x), tile(tile), rule(work.rule) {
        place = tile * W::PLACES + own_place;
#pragma unroll
        for (u32 z = 0; z < SIDE / 8; z++) quantizers[z] = work.only;
        if (work.a.tier_count == 1) return;
        constexpr u64 blocks = Memory<SIDE>::blocks();
        const u32 at = tile * W::BLOCKS + (u32)(blocks >> (2 * y) & 3) * (SIDE / 8) + (u32)(blocks >> (2 * x) & 3);
#pragma unroll
        for (u32 z = 0; z < SIDE / 8; z++) quantizers[z] = work.quantizer(z * (SIDE / 8) * (SIDE / 8) + at);
    }
    __device__ __forceinline__ const Quantizer<T> &of(u32 position) const { return quantizers[position / 8]; }
    // Of `mean`.
    __device__ __forceinline__ T slack(u32 position) const { return rule ? of(position).step : Real<T>::from_bits(Real<T>::INFINITE); }
    // Quantizes or rebuilds its nodes from their predictions. Exact nodes, which are rare, come after the others.
    template <bool NEW> __device__ __forceinline__ void visit(W &work, const T (&p)[Nodes<SIDE, NEW>::COUNT]) const {
        typedef Nodes<SIDE, NEW> N;
        Numbers<SIDE, NEW> numbers;
        numbers.load(work.coded_at + own_place, tile * W::SYMBOLS - work.coded_before);
        typename W::Known known[N::COUNT];
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            known[K] = work.known(place + at, numbers.template at<K>());
        });
        bool exact = false;
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            exact |= work.put(place + at, numbers.template at<K>(), known[K], p[K], of(N::position(K)));
        });
        if (!exact) return;
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            work.put_exact(place + at, numbers.template at<K>(), p[K]);
        });
    }
};

template <class T, u32 SIDE, u32 POINTS> struct RegularStep {
    typedef Along<T, SIDE, POINTS> Own;
    static constexpr u32 OLD = Axis<SIDE>::OLD, NEW = Axis<SIDE>::NEW;

    // Calls f(tile, number) for each of COUNT columns of TILES tiles, THREADS threads together; the first warps, or the last ones, begin.
    template <u32 COUNT, u32 TILES, u32 THREADS, class F> static __device__ __forceinline__ void each(u32 thread, bool last, F f) {
#pragma unroll 1
        for (u32 n = (thread + (last ? THREADS / 2 : 0)) % THREADS; n < TILES * COUNT; n += THREADS) f(n / COUNT, n % COUNT);
    }
    // Columns on old nodes of both other axes: their new nodes.
    template <class W> static __device__ __forceinline__ void old_old(W &work, u32 tile, u32 n) {
        const Column<W, T, SIDE> column(work, tile, n / OLD, n % OLD);
        Own own;
        own.load(work.v + column.place);
        T p[NEW];
        unroll<NEW>([&](auto k) { p[decltype(k)::value] = own.template predict<decltype(k)::value>(); });
        column.template visit<true>(work, p);
    }
    // Columns on new nodes of axis 1 (the first OLD * NEW of them) or 2, and on old ones of the other; FRESH: their new nodes, else their
    // old ones. `along_y`, `along_x`: the first stencils of axes 1 and 2.
    template <bool FRESH, class W> static __device__ __forceinline__ void mixed(W &work, u32 along_y, u32 along_x, u32 tile, u32 n) {
        typedef Nodes<SIDE, FRESH> N;
        const bool second = n >= OLD * NEW;
        const u32 m = second ? n - OLD * NEW : n;
        const u32 old = second ? m / NEW : m % OLD, fresh = second ? m % NEW : m / OLD;
        const Column<W, T, SIDE> column(work, tile, second ? old : OLD + fresh, second ? OLD + fresh : old);
        Across<T, POINTS> across;
        across.load(work.v + column.place, work.template stencils<POINTS>() + (second ? along_x : along_y) + fresh);
        Own own;
        if (FRESH) own.load(work.v + column.place);
        T p[N::COUNT];
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            if constexpr (FRESH) p[K] = mean(own.template guess<K>(), across.guess(at), column.slack(N::position(K)));
            else p[K] = across.predict(at);
        });
        column.template visit<FRESH>(work, p);
    }
    // Columns on new nodes of both other axes.
    template <bool FRESH, class W> static __device__ __forceinline__ void new_new(W &work, u32 along_y, u32 along_x, u32 tile, u32 n) {
        typedef Nodes<SIDE, FRESH> N;
        const u32 y = n / NEW, x = n % NEW;
        const Column<W, T, SIDE> column(work, tile, OLD + y, OLD + x);
        const T *v = work.v + column.place;
        const Stencil<T, POINTS> *all = work.template stencils<POINTS>();
        Across<T, POINTS> first, second;
        first.load(v, all + along_y + y);
        second.load(v, all + along_x + x);
        Own own;
        if (FRESH) own.load(v);
        T p[N::COUNT];
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            const T size = column.slack(N::position(K));
            if constexpr (FRESH) p[K] = mean(own.template guess<K>(), first.guess(at), second.guess(at), size);
            else p[K] = mean(first.guess(at), second.guess(at), size);
        });
        column.template visit<FRESH>(work, p);
    }
    // Nodes new on one axis, then on two, then on three.
    template <u32 TILES, u32 THREADS, class W> static __device__ __forceinline__ void run(W &work, u32 along_y, u32 along_x) {
        const u32 thread = work.thread;
        each<OLD * OLD, TILES, THREADS>(thread, false, [&](u32 tile, u32 n) { old_old(work, tile, n); });
        each<2 * OLD * NEW, TILES, THREADS>(thread, true, [&](u32 tile, u32 n) { mixed<false>(work, along_y, along_x, tile, n); });
        work.sync();
        each<2 * OLD * NEW, TILES, THREADS>(thread, false, [&](u32 tile, u32 n) { mixed<true>(work, along_y, along_x, tile, n); });
        each<NEW * NEW, TILES, THREADS>(thread, true, [&](u32 tile, u32 n) { new_new<false>(work, along_y, along_x, tile, n); });
        work.sync();
        each<NEW * NEW, TILES, THREADS>(thread, false, [&](u32 tile, u32 n) { new_new<true>(work, along_y, along_x, tile, n); });
        work.sync();
    }
};
