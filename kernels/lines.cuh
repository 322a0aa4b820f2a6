// Predictions along the lines of one step of a tile (FORMAT.md, "tiles and node sets"). A thread takes a line: its new nodes in
// turn, with the old ones around in registers.
#pragma once
#include "pyramid.cuh"

// Quotient of a small number by a count whose reciprocal is `magic`, as the host makes it; 0 stands for a count of 1.
__device__ __forceinline__ u32 quotient(u32 value, u32 magic) { return magic == 0 ? value : __umulhi(value, magic); }

// The prediction along one axis, and how rough the axis is there.
template <class T> struct Guess {
    T p, rough;
};

// From the values of the POINTS nodes around a new one.
template <class T, u32 POINTS> __device__ __forceinline__ T predict(const T (&v)[POINTS], const T (&weight)[POINTS]) {
    T p = Real<T>::mul(weight[0], v[0]);
#pragma unroll
    for (u32 k = 1; k < POINTS; k++) p = Real<T>::fma(weight[k], v[k], p);
    return p;
}
template <class T, u32 POINTS> __device__ __forceinline__ T roughness(const T (&v)[POINTS], u32 flags) {
    typedef Real<T> R;
    constexpr u32 LEFT = POINTS / 2 - 1;
    const T middle = R::sub(v[LEFT + 1], v[LEFT]);
    if constexpr (POINTS == 2) {
        return R::max(R::abs(middle), (T)0);
    } else {
        const T left = R::abs(R::sub(middle, R::sub(v[LEFT], v[LEFT - 1])));
        const T right = R::abs(R::sub(R::sub(v[LEFT + 2], v[LEFT + 1]), middle));
        T rough = R::max(flags & LEFT_BEND ? left : (T)0, (T)0);
        rough = R::max(flags & RIGHT_BEND ? right : (T)0, rough);
        return flags & TWO_NODES ? R::max(R::abs(middle), (T)0) : rough;
    }
}

// The mean of the predictions along all axes but those that are much rougher here than another.
template <class T> __device__ __forceinline__ T mean(const Guess<T> &a, const Guess<T> &b, T step) {
    typedef Real<T> R;
    const T limit = R::fma(R::min(a.rough, b.rough), (T)2, step);
    const bool has_a = a.rough <= limit, has_b = b.rough <= limit;
    const T both = R::mul(R::add(a.p, b.p), (T)0.5);
    return has_a & has_b ? both : has_a ? a.p : b.p;
}
template <class T> __device__ __forceinline__ T mean(const Guess<T> &a, const Guess<T> &b, const Guess<T> &c, T step) {
    typedef Real<T> R;
    const T limit = R::fma(R::min(R::min(a.rough, b.rough), c.rough), (T)2, step);
    const bool has_a = a.rough <= limit, has_b = b.rough <= limit, has_c = c.rough <= limit;
    T sum = has_a ? a.p : (T)0;
    sum = has_b ? R::add(sum, b.p) : sum;
    sum = has_c ? R::add(sum, c.p) : sum;
    const bool all = has_a & has_b & has_c, two = (has_a & has_b) | (has_a & has_c) | (has_b & has_c);
    return R::mul(sum, all ? (T)(1.0 / 3.0) : two ? (T)0.5 : (T)1);
}

// A stencil across the line: the same for all its nodes.
template <class T, u32 POINTS> struct Across {
    T weight[POINTS];
    u32 offset[POINTS], flags;

    // `other`: the offset on the third axis.
    __device__ __forceinline__ void load(const Stencil<T, POINTS> &s, u32 other) {
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) weight[k] = s.weight[k], offset[k] = s.offset[k] + other;
        flags = s.flags;
    }
    __device__ __forceinline__ T value(const T *v, u32 along) const {
        T near[POINTS];
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) near[k] = v[offset[k] + along];
        return ::predict(near, weight);
    }
    // For the node at offset `along` of the line.
    __device__ __forceinline__ Guess<T> at(const T *v, u32 along) const {
        T near[POINTS];
#pragma unroll
        for (u32 k = 0; k < POINTS; k++) near[k] = v[offset[k] + along];
        return {predict(near, weight), roughness(near, flags)};
    }
};

// Nodes new on CROSS + 1 axes: three sets of lines (one where CROSS is 2), along the first of these axes.
template <u32 CROSS> struct Lines {
    static constexpr u32 SETS = CROSS == 2 ? 1 : 3;
    // The axis of a set's lines, and whether they stand on new nodes of the other axes.
    static __device__ __forceinline__ u32 own(u32 set) { return CROSS == 0 ? set : CROSS == 1 ? set >> 1 : 0; }
    static __device__ __forceinline__ bool new_on_first(u32 set) { return CROSS == 2 || (CROSS == 1 && set == 0); }
    static __device__ __forceinline__ bool new_on_second(u32 set) { return CROSS == 2 || (CROSS == 1 && set != 0); }
    static __device__ __forceinline__ u32 first(u32 own) { return own == 0 ? 1 : 0; }
    static __device__ __forceinline__ u32 second(u32 own) { return own == 2 ? 1 : 2; }
    // Segments of the lines of a set.
    static __device__ __forceinline__ u32 count(const StepAxis *axes, u32 set) {
        const u32 own = Lines::own(set);
        const StepAxis &b = axes[first(own)], &c = axes[second(own)];
        const u32 rows = new_on_first(set) ? b.new_count : b.old_count;
        return axes[own].segments * rows * (new_on_second(set) ? c.new_count : c.old_count);
    }
};

// What all nodes of a line share.
template <u32 CROSS, u32 POINTS, class T> struct Line {
    typedef Lines<CROSS> L;
    Across<T, POINTS> x, y;
    // Place of the line without the offset along it, and its place among the tiers.
    u32 base, tier_base;
    // Which guess counts alone: 0 none, 1 along the line, 2 and 3 across.
    u32 alone;
    // The segment of the line.
    u32 part;

    template <class W> __device__ __forceinline__ void load(const W &work, const StepAxis *axes, u32 set, u32 number) {
        const u32 own = L::own(set);
        const StepAxis &a = axes[own], &b = axes[L::first(own)], &c = axes[L::second(own)];
        const bool b_new = L::new_on_first(set), c_new = L::new_on_second(set);
        u32 i = quotient(number, c_new ? c.new_magic : c.old_magic);
        const u32 j = number - i * (c_new ? c.new_count : c.old_count);
        part = 0;
        if (a.segments > 1) {
            part = quotient(i, b_new ? b.new_magic : b.old_magic);
            i -= part * (b_new ? b.new_count : b.old_count);
        }
        const u32 node_b = work.nodes[(b_new ? b.new_first : b.old_first) + i];
        const u32 node_c = work.nodes[(c_new ? c.new_first : c.old_first) + j];
        const u32 at_b = node_b & 0xffff, at_c = node_c & 0xffff;
        base = at_b + at_c;
        const Stencil<T, POINTS> *all = work.template stencils<POINTS>();
        if (CROSS == 1) x.load(all[b_new ? b.stencils + i : c.stencils + j], b_new ? at_c : at_b);
        if (CROSS == 2) x.load(all[b.stencils + i], at_c), y.load(all[c.stencils + j], at_b);
        tier_base = work.tier_at(L::first(own), node_b >> 16) + work.tier_at(L::second(own), node_c >> 16);
        const u32 favoured = work.favoured;
        alone = 0;
        if (CROSS > 0 && favoured > 0) {
            alone = favoured == own + 1 ? 1
                    : CROSS == 2        ? favoured
                    : favoured == (b_new ? L::first(own) : L::second(own)) + 1 ? 2
                                                                               : 0;
        }
    }
    // The prediction of the node at offset `along`, from the guess along the line.
    __device__ __forceinline__ T predict(const T *v, const Guess<T> &guess, u32 along, T step) const {
        if constexpr (CROSS == 0) return guess.p;
        const Guess<T> first = x.at(v, along);
        if constexpr (CROSS == 1) {
            const T p = mean(guess, first, step);
            return alone == 0 ? p : alone == 1 ? guess.p : first.p;
        } else {
            const Guess<T> second = y.at(v, along);
            const T p = mean(guess, first, second, step);
            return alone == 0 ? p : alone == 1 ? guess.p : alone == 2 ? first.p : second.p;
        }
    }
};

// One segment: `work` quantizes or rebuilds the nodes.
template <u32 CROSS, u32 POINTS, class T, class W>
__device__ __forceinline__ void segment(W &work, const StepAxis *axes, u32 set, u32 number) {
    const u32 own = Lines<CROSS>::own(set);
    const StepAxis &a = axes[own];
    Line<CROSS, POINTS, T> line;
    line.load(work, axes, set, number);
    const Stencil<T, POINTS> *all = work.template stencils<POINTS>();
    const T *v = work.v + line.base;
    const u32 *old = work.nodes + a.old_first;
    const u32 begin = line.part * SEGMENT, end = min(begin + SEGMENT, a.new_count), last = a.old_count - 1;
    T near[POINTS];
#pragma unroll
    for (u32 k = 1; k < POINTS; k++) {
        const i32 index = (i32)(begin + k) - (i32)(POINTS / 2);
        near[k] = v[old[index < 0 ? 0 : min((u32)index, last)] & 0xffff];
    }
#pragma unroll 1
    for (u32 k = begin; k < end; k++) {
#pragma unroll
        for (u32 m = 0; m + 1 < POINTS; m++) near[m] = near[m + 1];
        near[POINTS - 1] = v[old[min(k + POINTS / 2, last)] & 0xffff];
        const Stencil<T, POINTS> &s = all[a.stencils + k];
        const u32 node = work.nodes[a.new_first + k], along = node & 0xffff;
        const Quantizer<T> z = work.quantizer(own, node >> 16, line.tier_base);
        const Guess<T> guess = {predict(near, s.weight), CROSS == 0 ? (T)0 : roughness(near, s.flags)};
        const u32 place = line.base + along;
        work.visit(place, work.known(place), line.predict(work.v, guess, along, z.step), z);
    }
}

// All nodes of a step that are new on CROSS + 1 axes, by GROUP threads.
template <u32 CROSS, u32 POINTS, class T, u32 GROUP, class W> __device__ __forceinline__ void lines(W &work, const StepAxis *axes) {
    typedef Lines<CROSS> L;
    const u32 first = L::count(axes, 0);
    const u32 second = L::SETS > 1 ? first + L::count(axes, 1) : first;
    const u32 total = L::SETS > 1 ? second + L::count(axes, 2) : first;
#pragma unroll 1
    for (u32 n = work.thread; n < total; n += GROUP) {
        const u32 set = (n >= first) + (n >= second);
        segment<CROSS, POINTS, T>(work, axes, set, n - (set == 0 ? 0 : set == 1 ? first : second));
    }
}
