// Steps of whole tiles with evenly spaced nodes: as lines.cuh, with all lines along axis 0 and everything along them known at
// compile time. A warp takes 32 lines at a time; a line's loads come before its stores, so that many are under way.
#pragma once
#include "lines.cuh"
#include "stencil.cuh"

// Nodes of a line, by number: the old ones or the new ones of a step.
template <u32 SIDE, u32 STEP, bool NEW> struct Nodes {
    typedef Axis<SIDE, STEP> A;
    static constexpr u32 COUNT = NEW ? A::NEW : A::OLD;
    static __host__ __device__ constexpr u32 position(u32 k) { return NEW ? A::new_at(k) : A::old_at(k); }
    static __host__ __device__ constexpr u32 offset(u32 k) { return position(k) * Memory<SIDE>::Z; }
};

// The values of a line's old nodes, and guesses at its new ones.
template <class T, u32 SIDE, u32 STEP, u32 POINTS> struct Along {
    typedef Axis<SIDE, STEP> A;
    typedef Near<SIDE, STEP, POINTS> N;
    T old[A::OLD];

    __device__ __forceinline__ void load(const T *v) {
        unroll<A::OLD>([&](auto i) {
            constexpr u32 at = Nodes<SIDE, STEP, false>::offset(decltype(i)::value);
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
    // At most two nodes on each side tell how rough the axis is.
    template <u32 K> __device__ __forceinline__ T rough() const {
        typedef Real<T> R;
        constexpr u32 first = N::inner_first(K), count = N::inner_end(K) - first;
        if constexpr (count == 2) {
            return R::max(R::abs(R::sub(old[first + 1], old[first])), (T)0);
        } else {
            T rough = 0;
            unroll<count - 2>([&](auto j) {
                constexpr u32 i = N::inner_first(K) + decltype(j)::value;
                rough = R::max(R::abs(R::sub(R::sub(old[i + 2], old[i + 1]), R::sub(old[i + 1], old[i]))), rough);
            });
            return rough;
        }
    }
};

// A column of nodes: where it stands on axes 1 and 2, and the quantizers of its tolerance blocks.
template <class T, u32 SIDE> struct Column {
    u32 place;
    Quantizer<T> quantizers[SIDE / 8];

    // `y` and `x`: ranks.
    template <class W> __device__ __forceinline__ void load(const W &work, u32 y, u32 x) {
        place = y * Memory<SIDE>::Y + x;
        constexpr u64 blocks = Memory<SIDE>::blocks();
        const u32 at = (u32)(blocks >> (2 * y) & 3) * (SIDE / 8) + (u32)(blocks >> (2 * x) & 3);
#pragma unroll
        for (u32 z = 0; z < SIDE / 8; z++) {
            quantizers[z] = work.only;
            if (work.a.tier_count > 1) quantizers[z] = work.quantizers[work.tiers[z * (SIDE / 8) * (SIDE / 8) + at]];
        }
    }
    __device__ __forceinline__ const Quantizer<T> &of(u32 position) const { return quantizers[position / 8]; }
    // Quantizes or rebuilds its nodes from their predictions.
    template <class NODES, class W> __device__ __forceinline__ void visit(W &work, const T (&p)[NODES::COUNT]) const {
        typename W::Known known[NODES::COUNT];
        unroll<NODES::COUNT>([&](auto k) {
            constexpr u32 at = NODES::offset(decltype(k)::value);
            known[decltype(k)::value] = work.known(place + at);
        });
        unroll<NODES::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = NODES::offset(K);
            work.visit(place + at, known[K], p[K], of(NODES::position(K)));
        });
    }
};

template <class T, u32 SIDE, u32 STEP, u32 POINTS> struct RegularStep {
    typedef Axis<SIDE, STEP> A;
    typedef Nodes<SIDE, STEP, false> Old;
    typedef Nodes<SIDE, STEP, true> New;
    static constexpr u32 OLD = A::OLD, NEW = A::NEW, Y = Memory<SIDE>::Y;

    // Calls f(number) for each of COUNT lines, WARPS warps together; warp `first` begins.
    template <u32 COUNT, u32 WARPS, class F> static __device__ __forceinline__ void each(u32 thread, u32 first, F f) {
#pragma unroll 1
        for (u32 n = (thread + 32 * first) % (32 * WARPS); n < COUNT; n += 32 * WARPS) f(n);
    }
    // Columns on old nodes of both other axes: their new nodes.
    template <class W> static __device__ __forceinline__ void old_old(W &work, u32 n) {
        Column<T, SIDE> column;
        column.load(work, n / OLD, n % OLD);
        Along<T, SIDE, STEP, POINTS> along;
        along.load(work.v + column.place);
        T p[NEW];
        unroll<NEW>([&](auto k) { p[decltype(k)::value] = along.template predict<decltype(k)::value>(); });
        column.template visit<New>(work, p);
    }
    // Columns on new nodes of axis 1 (the first OLD * NEW of them) or 2, and on old ones of the other.
    template <class W> static __device__ __forceinline__ void mixed(const W &work, const StepAxis *axes, u32 n, Column<T, SIDE> &column, Across<T, POINTS> &across) {
        const bool second = n >= OLD * NEW;
        const u32 m = second ? n - OLD * NEW : n;
        const u32 old = second ? m / NEW : m % OLD, fresh = second ? m % NEW : m / OLD;
        column.load(work, second ? old : OLD + fresh, second ? OLD + fresh : old);
        across.load(work.template stencils<POINTS>()[axes[second ? 2 : 1].stencils + fresh], second ? old * Y : old);
    }
    template <class W> static __device__ __forceinline__ void mixed_old(W &work, const StepAxis *axes, u32 n) {
        Column<T, SIDE> column;
        Across<T, POINTS> across;
        mixed(work, axes, n, column, across);
        T p[OLD];
        unroll<OLD>([&](auto k) {
            constexpr u32 at = Old::offset(decltype(k)::value);
            p[decltype(k)::value] = across.value(work.v, at);
        });
        column.template visit<Old>(work, p);
    }
    template <class W> static __device__ __forceinline__ void mixed_new(W &work, const StepAxis *axes, u32 n) {
        Column<T, SIDE> column;
        Across<T, POINTS> across;
        mixed(work, axes, n, column, across);
        Along<T, SIDE, STEP, POINTS> along;
        along.load(work.v + column.place);
        T p[NEW];
        unroll<NEW>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = New::offset(K);
            const Guess<T> guess = {along.template predict<K>(), along.template rough<K>()};
            p[K] = mean(guess, across.at(work.v, at), column.of(New::position(K)).step);
        });
        column.template visit<New>(work, p);
    }
    // Columns on new nodes of both other axes.
    template <bool FRESH, class W> static __device__ __forceinline__ void new_new(W &work, const StepAxis *axes, u32 n) {
        typedef Nodes<SIDE, STEP, FRESH> N;
        const u32 y = n / NEW, x = n % NEW;
        Column<T, SIDE> column;
        column.load(work, OLD + y, OLD + x);
        Across<T, POINTS> first, second;
        const Stencil<T, POINTS> *all = work.template stencils<POINTS>();
        first.load(all[axes[1].stencils + y], OLD + x);
        second.load(all[axes[2].stencils + x], (OLD + y) * Y);
        Along<T, SIDE, STEP, POINTS> along;
        if (FRESH) along.load(work.v + column.place);
        T p[N::COUNT];
        unroll<N::COUNT>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = N::offset(K);
            const T step = column.of(N::position(K)).step;
            if constexpr (FRESH) {
                const Guess<T> guess = {along.template predict<K>(), along.template rough<K>()};
                p[K] = mean(guess, first.at(work.v, at), second.at(work.v, at), step);
            } else {
                p[K] = mean(first.at(work.v, at), second.at(work.v, at), step);
            }
        });
        column.template visit<N>(work, p);
    }
    // Nodes new on one axis, then on two, then on three.
    template <u32 WARPS, class W> static __device__ __forceinline__ void run(W &work, const StepAxis *axes) {
        const u32 thread = work.thread;
        each<OLD * OLD, WARPS>(thread, 0, [&](u32 n) { old_old(work, n); });
        each<2 * OLD * NEW, WARPS>(thread, WARPS / 2, [&](u32 n) { mixed_old(work, axes, n); });
        work.sync();
        each<2 * OLD * NEW, WARPS>(thread, 0, [&](u32 n) { mixed_new(work, axes, n); });
        each<NEW * NEW, WARPS>(thread, WARPS / 2, [&](u32 n) { new_new<false>(work, axes, n); });
        work.sync();
        each<NEW * NEW, WARPS>(thread, 0, [&](u32 n) { new_new<true>(work, axes, n); });
        work.sync();
    }
};
