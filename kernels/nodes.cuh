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

// All bits of a magnitude, or none of them.
template <class T> __device__ __forceinline__ typename Real<T>::Bits magnitude_if(bool counts) { return counts ? ~Real<T>::SIGN : 0; }
template <class T> __device__ __forceinline__ T masked(T v, typename Real<T>::Bits mask) { return Real<T>::from_bits(Real<T>::bits(v) & mask); }

// The larger magnitude of the second differences around the node before and the one after the new one; what is masked out does not count.
template <class T, u32 POINTS>
__device__ __forceinline__ T bend(const T (&v)[POINTS], typename Real<T>::Bits left_mask, typename Real<T>::Bits right_mask) {
    typedef Real<T> R;
    constexpr u32 LEFT = POINTS / 2 - 1;
    const T middle = R::sub(v[LEFT + 1], v[LEFT]);
    const T left = masked(R::sub(middle, R::sub(v[LEFT], v[LEFT - 1])), left_mask);
    const T right = masked(R::sub(R::sub(v[LEFT + 2], v[LEFT + 1]), middle), right_mask);
    return R::max(R::max(left, (T)0), right);
}
template <class T, u32 POINTS> __device__ __forceinline__ T slope(const T (&v)[POINTS]) {
    typedef Real<T> R;
    return R::max(R::abs(R::sub(v[POINTS / 2], v[POINTS / 2 - 1])), (T)0);
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

// The guess along the axis of stencil `s` for the node at `v`.
template <class T, u32 POINTS> __device__ __forceinline__ Guess<T> guess(const T *v, const Stencil<T, POINTS> &s) {
    T near[POINTS];
#pragma unroll
    for (u32 k = 0; k < POINTS; k++) near[k] = v[s.offset[k]];
    T rough = slope(near);
    if constexpr (POINTS > 2) {
        const T bent = bend(near, magnitude_if<T>(s.flags & LEFT_BEND), magnitude_if<T>(s.flags & RIGHT_BEND));
        rough = s.flags & TWO_NODES ? rough : bent;
    }
    return {predict(near, s.weight), rough};
}

// The prediction of a node that is new on CROSS + 1 axes; `favoured` as in Choice.
template <u32 CROSS, u32 POINTS, class T>
__device__ __forceinline__ T predict(const T *v, const Stencil<T, POINTS> *all, const Node &node, u32 favoured, T step) {
    const Guess<T> first = guess(v, all[node.stencil[0]]);
    if constexpr (CROSS == 0) return first.p;
    const Guess<T> second = guess(v, all[node.stencil[1]]);
    Guess<T> third = second;
    if constexpr (CROSS == 2) third = guess(v, all[node.stencil[2]]);
    // The favoured axis, when the node is new on it, predicts alone.
    if (favoured > 0 && (node.axes >> (favoured - 1) & 1)) {
        const u32 before = __popc(node.axes & ((1u << (favoured - 1)) - 1));
        return before == 0 ? first.p : before == 1 ? second.p : third.p;
    }
    if constexpr (CROSS == 1) return mean(first, second, step);
    else return mean(first, second, third, step);
}

// All nodes of a step that are new on CROSS + 1 axes, by GROUP threads; `node`: the thread's first.
template <u32 CROSS, u32 POINTS, u32 GROUP, class W> __device__ __forceinline__ void nodes(W &work, const Step &step, Node node) {
    const auto *all = work.template stencils<POINTS>();
#pragma unroll 1
    for (u32 n = work.thread; n < step.count; n += GROUP) {
        const Node next = work.a.nodes[step.first + min(n + GROUP, step.count - 1)];
        const auto known = work.known(node.place, node.coded);
        const auto z = work.quantizer(node.tier);
        work.visit(node.place, node.coded, known, predict<CROSS>(work.v + node.place, all, node, work.favoured, z.step), z);
        node = next;
    }
}
