// Step 0 of whole tiles (FORMAT.md, "tiles and node sets"), a thread a line: all nodes that are new on the line's own axis, the first
// axis on which they are new, and alike on the others. The values of the line's old nodes stand in registers, everything along it is known at compile time.
#pragma once
#include "nodes.cuh"
#include "stencil.cuh"

// Where the nodes of a line stand: the old ones STEP apart, the last one at LAST, new ones from FIRST on, NEW_STEP apart.
template <u32 STEP_, u32 LAST_, u32 FIRST_, u32 NEW_STEP_> struct Places {
    static constexpr u32 STEP = STEP_, LAST = LAST_, FIRST = FIRST_, NEW_STEP = NEW_STEP_;
};
template <class T, u32 SIDE> struct Lines {
    typedef Memory<T, SIDE> M;
    typedef Places<2 * M::Z, (SIDE - 1) * M::Z, M::Z, 2 * M::Z> Z;
    // On old nodes of x, and on new ones.
    typedef Places<M::OLD, (M::OLD - 1) * M::OLD, M::NEW_Y, M::OLD> Y;
    typedef Places<M::NEW, (M::OLD - 1) * M::NEW, M::NEW_YX - M::NEW_X, M::NEW> YOfNew;
    // The new ones stand apart.
    typedef Places<1, M::OLD - 1, 0, 1> X;
};

// The values of a line's old nodes, and guesses at its new ones.
template <class T, u32 SIDE, u32 POINTS> struct Along {
    typedef Axis<SIDE> A;
    typedef Near<SIDE, POINTS> N;
    T old[A::OLD];

    template <class PLACES> __device__ __forceinline__ void load(const T *v) {
#pragma unroll
        for (u32 i = 0; i < A::OLD; i++) old[i] = v[i + 1 < A::OLD ? i * PLACES::STEP : PLACES::LAST];
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

// The stencil across a line: the same for all its nodes.
template <class T, u32 SIDE, u32 POINTS> struct Across {
    static constexpr u32 OLD = Axis<SIDE>::OLD;
    T weight[POINTS];
    const T *near[POINTS];

    // For number `k` of the new nodes; the first old one stands at `v`, the others `step` apart.
    __device__ __forceinline__ void load(const T *v, const Stencil<T, POINTS> *stencils, u32 k, u32 step) {
        unroll<POINTS>([&](auto j) {
            constexpr u32 J = decltype(j)::value;
            constexpr i32 from = (i32)J + 1 - (i32)POINTS / 2;
            weight[J] = stencils[k].weight[J];
            // cut off at the ends of the tile, where the weight is 0
            const i32 node = (i32)k + from;
            near[J] = v + (from < 0 ? max(node, 0) : min(node, (i32)OLD - 1)) * step;
        });
    }
    __device__ __forceinline__ void values(T (&v)[POINTS], u32 along) const {
#pragma unroll
        for (u32 j = 0; j < POINTS; j++) v[j] = near[j][along];
    }
    // For the node `along` elements on.
    __device__ __forceinline__ T predict(u32 along) const {
        T v[POINTS];
        values(v, along);
        return ::predict(v, weight);
    }
    __device__ __forceinline__ Guess<T> guess(u32 along) const {
        T v[POINTS];
        values(v, along);
        const T p = ::predict(v, weight), left = v[POINTS / 2 - 1], right = v[POINTS / 2];
        return {p, POINTS == 2 ? slope(left, right) : bend(left, right, p)};
    }
};

// The quantizers of a line's tolerance blocks.
template <class T, u32 BLOCKS> struct Quantizers {
    Quantizer<T> of_block[BLOCKS];
    // `distance`: of the tile's tolerance blocks along the line's axis.
    template <class W> __device__ __forceinline__ void load(const W &work, u32 first, u32 distance) {
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++) of_block[b] = work.quantizer(first + b * distance);
    }
};

// PLAIN: nodes new on several axes are predicted by the mean of all.
template <class T, u32 SIDE, u32 POINTS, bool PLAIN, class W> struct FineStep {
    typedef Memory<T, SIDE> M;
    static constexpr u32 OLD = Axis<SIDE>::OLD, NEW = Axis<SIDE>::NEW;
    // Distance of tolerance blocks on each axis.
    static __host__ __device__ constexpr u32 block_distance(u32 axis) { return axis == 0 ? SIDE * SIDE / 64 : axis == 1 ? SIDE / 8 : 1; }
    typedef Quantizers<T, SIDE / 8> Steps;

    W &work;
    const Stencil<T, POINTS> *stencils;
    Means<T> means;

    // New nodes of a tolerance block, but for the last one.
    static constexpr u32 OF_BLOCK = 4;

    // Quantizes or rebuilds the nodes of a line from their predictions. KEEP: others are predicted from them, or they are the result.
    template <u32 AXIS, class PLACES, bool KEEP> __device__ __forceinline__ void put(const Line &line, u32 place, const Steps &steps, const T (&p)[NEW]) {
        T r[NEW];
        i16 symbols[NEW];
        bool exact = false;
        unroll<NEW>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = PLACES::FIRST + K * PLACES::NEW_STEP;
            work.take(place + at, line.coded(K), p[K], steps.of_block[K / OF_BLOCK], r[K], symbols[K], exact);
        });
        if (exact) {
            put_exact<AXIS, PLACES>(line, place, p);
            return;
        }
        unroll<NEW>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = PLACES::FIRST + K * PLACES::NEW_STEP;
            if (KEEP || !W::ENCODES) work.v[place + at] = r[K];
            if (W::ENCODES) work.q[line.coded(K)] = symbols[K];
        });
    }
    // The same for a line that has an exact node, one node after the other, since there are few.
    template <u32 AXIS, class PLACES> __device__ __forceinline__ void put_exact(const Line &line, u32 place, const T (&p)[NEW]) {
        T of_node[NEW];
#pragma unroll
        for (u32 k = 0; k < NEW; k++) of_node[k] = p[k];
#pragma unroll 1
        for (u32 k = 0; k < NEW; k++) {
            const Quantizer<T> z = work.quantizer(line.tier() + k / OF_BLOCK * block_distance(AXIS));
            work.put_one(line.tile(), place + PLACES::FIRST + k * PLACES::NEW_STEP, line.coded(k), of_node[k], z);
        }
    }
    // New on one axis.
    template <u32 AXIS, class PLACES> __device__ __forceinline__ void one_axis(const Line &line) {
        Steps steps;
        steps.load(work, line.tier(), block_distance(AXIS));
        Along<T, SIDE, POINTS> own;
        own.template load<PLACES>(work.v + line.place());
        T p[NEW];
        unroll<NEW>([&](auto k) { p[decltype(k)::value] = own.template predict<decltype(k)::value>(); });
        // the row's number is at hand where its new nodes stand apart
        put<AXIS, PLACES, true>(line, AXIS == 2 ? line.place() + M::NEW_X - (OLD - NEW) * line.across(0) : line.place(), steps, p);
    }
    // New on two, along z, and on axis `line.second()`.
    __device__ __forceinline__ void two_axes_z(const Line &line) {
        const u32 k = line.across(0);
        const u32 on_y = line.place() - M::NEW_Y - k * OLD, on_x = line.place() - M::NEW_X + (OLD - NEW) * line.across(1) - k;
        Across<T, SIDE, POINTS> across;
        across.load(work.v + (line.second() == 1 ? on_y : on_x), stencils, k, line.second() == 1 ? OLD : 1);
        two_axes<0, typename Lines<T, SIDE>::Z, M::Z, 2 * M::Z>(line, across, 1u << 0 | 1u << line.second());
    }
    // New on y and x.
    __device__ __forceinline__ void two_axes_y(const Line &line) {
        const u32 k = line.across(0);
        Across<T, SIDE, POINTS> across;
        across.load(work.v + (line.place() - M::NEW_X - k + M::NEW_Y), stencils, k, 1);
        two_axes<1, typename Lines<T, SIDE>::YOfNew, 0, M::OLD>(line, across, 1u << 1 | 1u << 2);
    }
    // What is across the line stands from FIRST on, STEP apart.
    template <u32 AXIS, class PLACES, u32 FIRST, u32 STEP>
    __device__ __forceinline__ void two_axes(const Line &line, const Across<T, SIDE, POINTS> &across, u32 axes) {
        Steps steps;
        steps.load(work, line.tier(), block_distance(AXIS));
        Along<T, SIDE, POINTS> own;
        own.template load<PLACES>(work.v + line.place());
        const u32 alone = PLAIN ? 0 : means.choice.alone(axes);
        T p[NEW];
        unroll<NEW>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = FIRST + K * STEP;
            const T step = steps.of_block[K / OF_BLOCK].step;
            if constexpr (PLAIN) p[K] = mean(own.template predict<K>(), across.predict(at));
            else p[K] = means.of(alone, own.template guess<K>(), across.guess(at), step);
        });
        put<AXIS, PLACES, true>(line, line.place(), steps, p);
    }
    // New on all three.
    __device__ __forceinline__ void three_axes(const Line &line) {
        typedef typename Lines<T, SIDE>::Z PLACES;
        Steps steps;
        steps.load(work, line.tier(), block_distance(0));
        const u32 y = line.across(0), x = line.across(1);
        Across<T, SIDE, POINTS> first, second;
        first.load(work.v + (line.place() - M::NEW_YX + M::NEW_X - y * NEW), stencils, y, NEW);
        second.load(work.v + (line.place() - M::NEW_YX + M::NEW_Y + (OLD - NEW) * y - x), stencils, x, 1);
        Along<T, SIDE, POINTS> own;
        own.template load<PLACES>(work.v + line.place());
        const u32 alone = PLAIN ? 0 : means.choice.alone(7);
        T p[NEW];
        unroll<NEW>([&](auto k) {
            constexpr u32 K = decltype(k)::value, at = PLACES::FIRST + K * PLACES::NEW_STEP;
            const T step = steps.of_block[K / OF_BLOCK].step;
            if constexpr (PLAIN) p[K] = mean(own.template predict<K>(), first.predict(at), second.predict(at));
            else p[K] = means.of(alone, own.template guess<K>(), first.guess(at), second.guess(at), step);
        });
        put<0, PLACES, false>(line, line.place(), steps, p);
    }
    // A part of the list of lines: the WARPS * 32 entries from warp FIRST on, of which some are empty. Warps take them in turn, counted from
    // warp BEGIN of the list, where all wait for each other.
    template <u32 BEGIN, u32 FIRST, u32 WARPS> struct Part {
        static constexpr u32 TURNS = W::WARPS, SHIFT = (FIRST - BEGIN) % TURNS;
        static __device__ __forceinline__ u32 first_warp(const W &work) { return (work.thread / 32 + TURNS - SHIFT) % TURNS; }
        static __device__ __forceinline__ Line fetch(const W &work, u32 warp) {
            const uint4 words = *(const uint4 *)(work.a.lines + (FIRST + min(warp, WARPS - 1)) * 32 + work.thread % 32);
            return {{words.x, words.y}, words.z, words.w};
        }
        static __device__ __forceinline__ Line fetch(const W &work) { return fetch(work, first_warp(work)); }
        // Calls f(line) for the thread's lines, of which `line` is the first; the next one is asked for meanwhile.
        template <class F> static __device__ __forceinline__ void each(const W &work, Line line, F f) {
            u32 warp = first_warp(work);
            if constexpr (WARPS <= TURNS) {
                if (warp < WARPS && line.tile() < work.count) f(line);
            } else {
#pragma unroll 1
                for (; warp < WARPS; warp += TURNS) {
                    const Line next = fetch(work, warp + TURNS);
                    if (line.tile() < work.count) f(line);
                    line = next;
                }
            }
        }
    };
    // Nodes new on one axis, then on two, then on three. `meanwhile` is called once the first are done.
    template <class F> __device__ __forceinline__ void run(F meanwhile) {
        typedef LineList<SIDE, W::TOGETHER> L;
        constexpr u32 TWO = 3 * L::ONE, THREE = TWO + L::ALONG_Z + L::ALONG_Y;
        typedef Part<0, 0, L::ONE> OneZ;
        typedef Part<0, L::ONE, L::ONE> OneY;
        typedef Part<0, 2 * L::ONE, L::ONE> OneX;
        typedef Part<TWO, TWO, L::ALONG_Z> TwoZ;
        typedef Part<TWO, TWO + L::ALONG_Z, L::ALONG_Y> TwoY;
        typedef Part<THREE, THREE, L::THREE> Three;
        const Line one_z = OneZ::fetch(work), one_y = OneY::fetch(work);
        OneZ::each(work, one_z, [&](const Line &line) { one_axis<0, typename Lines<T, SIDE>::Z>(line); });
        const Line one_x = OneX::fetch(work);
        OneY::each(work, one_y, [&](const Line &line) { one_axis<1, typename Lines<T, SIDE>::Y>(line); });
        const Line two_z = TwoZ::fetch(work);
        OneX::each(work, one_x, [&](const Line &line) { one_axis<2, typename Lines<T, SIDE>::X>(line); });
        meanwhile();
        const Line two_y = TwoY::fetch(work);
        work.sync();
        TwoZ::each(work, two_z, [&](const Line &line) { two_axes_z(line); });
        const Line three = Three::fetch(work);
        TwoY::each(work, two_y, [&](const Line &line) { two_axes_y(line); });
        work.sync();
        Three::each(work, three, [&](const Line &line) { three_axes(line); });
        work.sync();
    }
};
