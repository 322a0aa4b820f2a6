// Predictions of one step of a tile (FORMAT.md, "tiles and node sets") from lists of nodes, a thread a node. Works for every tile.
#pragma once
#include "pyramid.cuh"

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

// How rough an axis is around a new node, up to its sign: twice what a straight line through the nodes next to it misses prediction p by,
// or their difference where there are no other nodes. Its magnitude counts; comparisons with NaN are false.
template <class T> __device__ __forceinline__ T bend(T left, T right, T p) { return Real<T>::fma((T)-2, p, Real<T>::add(left, right)); }
template <class T> __device__ __forceinline__ T slope(T left, T right) { return Real<T>::sub(right, left); }

// The mean of the predictions along all axes.
template <class T> __device__ __forceinline__ T mean(T a, T b) { return Real<T>::mul(Real<T>::add(a, b), (T)0.5); }
template <class T> __device__ __forceinline__ T mean(T a, T b, T c) {
    return Real<T>::mul(Real<T>::add(Real<T>::add(a, b), c), (T)(1.0 / 3.0));
}
// The mean without axes that are much rougher here than another. There, the mean of all is taken when `slack` is infinite.
template <class T> __device__ __forceinline__ T mean(const Guess<T> &a, const Guess<T> &b, const Guess<T> &c, T slack) {
    typedef Real<T> R;
    const T rough_a = R::abs(a.rough), rough_b = R::abs(b.rough), rough_c = R::abs(c.rough);
    const T limit = R::fma(R::min(R::min(rough_a, rough_b), rough_c), (T)2, slack);
    const bool out_a = rough_a > limit, out_b = rough_b > limit, out_c = rough_c > limit;
    T sum = out_a ? (T)0 : a.p;
    sum = out_b ? sum : R::add(sum, b.p);
    sum = out_c ? sum : R::add(sum, c.p);
    const bool two = (out_a & out_b) | (out_a & out_c) | (out_b & out_c), any = out_a | out_b | out_c;
    return R::mul(sum, two ? (T)1 : any ? (T)0.5 : (T)(1.0 / 3.0));
}

// What a chunk chose beside the number of points.
template <class T> struct Means {
    Choice choice;
    __device__ __forceinline__ T slack(T step) const { return choice.rule() ? step : Real<T>::from_bits(Real<T>::INFINITE); }
    // `alone`: which of the axes predicts alone, counted from 1; 0: none does. Without branches.
    __device__ __forceinline__ T of(u32 alone, const Guess<T> &a, const Guess<T> &b, T step) const {
        typedef Real<T> R;
        const T rough_a = R::abs(a.rough), rough_b = R::abs(b.rough);
        const T limit = R::fma(R::min(rough_a, rough_b), (T)2, slack(step));
        const bool only_a = alone == 1 || (alone == 0 && rough_b > limit), only_b = alone == 2 || (alone == 0 && rough_a > limit);
        T p = mean(a.p, b.p);
        keep_whole(p);
        p = only_a ? a.p : p;
        return only_b ? b.p : p;
    }
    __device__ __forceinline__ T of(u32 alone, const Guess<T> &a, const Guess<T> &b, const Guess<T> &c, T step) const {
        T p = mean(a, b, c, slack(step));
        keep_whole(p);
        p = alone == 1 ? a.p : p;
        p = alone == 2 ? b.p : p;
        return alone == 3 ? c.p : p;
    }
};

// The guess along the axis of stencil `s` for the node at `v`. ALONE: there are no other nodes than the two next to it.
template <bool ALONE, class T, u32 POINTS> __device__ __forceinline__ Guess<T> guess(const T *v, const Stencil<T, POINTS> &s) {
    T near[POINTS];
#pragma unroll
    for (u32 k = 0; k < POINTS; k++) near[k] = v[s.offset[k]];
    const T p = predict(near, s.weight), left = near[POINTS / 2 - 1], right = near[POINTS / 2];
    return {p, POINTS == 2 || ALONE ? slope(left, right) : bend(left, right, p)};
}
template <class T, u32 POINTS> __device__ __forceinline__ Guess<T> guess(const T *v, const Stencil<T, POINTS> &s) {
    Guess<T> guess = ::guess<false>(v, s);
    if (POINTS > 2 && s.flags & TWO_NODES) guess.rough = slope(v[s.offset[POINTS / 2 - 1]], v[s.offset[POINTS / 2]]);
    return guess;
}

// The prediction of a node that is new on CROSS + 1 axes.
template <u32 CROSS, u32 POINTS, class T>
__device__ __forceinline__ T predict(const T *v, const Stencil<T, POINTS> *all, const Node &node, Choice choice, T step) {
    if (CROSS == 0) return guess(v, all[node.stencil[0]]).p;
    const u32 alone = choice.alone(node.axes);
    if (choice.in_order()) return guess(v, all[alone == 1 ? node.stencil[0] : alone == 2 ? node.stencil[1] : node.stencil[2]]).p;
    const Guess<T> first = guess(v, all[node.stencil[0]]);
    const Means<T> means{choice};
    const Guess<T> second = guess(v, all[node.stencil[1]]);
    if constexpr (CROSS == 1) return means.of(alone, first, second, step);
    else return means.of(alone, first, second, guess(v, all[node.stencil[2]]), step);
}

// All nodes of a step that are new on CROSS + 1 axes, by GROUP threads; `node`: the thread's first.
template <u32 CROSS, u32 POINTS, u32 GROUP, class W> __device__ __forceinline__ void nodes(W &work, const Step &step, Node node) {
    const auto *all = work.template stencils<POINTS>();
#pragma unroll 1
    for (u32 n = work.thread; n < step.count; n += GROUP) {
        const Node next = work.a.nodes[step.first + min(n + GROUP, step.count - 1)];
        const auto known = work.known(node.place, node.coded);
        const auto z = work.quantizer(node.tier);
        work.visit(node.place, node.coded, known, predict<CROSS>(work.v + node.place, all, node, work.choice, z.step), z);
        node = next;
    }
}
