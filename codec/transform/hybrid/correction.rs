//! The correction P d of the coarse nodes of a global level: axis 2, then 1, then 0; on each the restriction 3 I^T Mf,
//! then the tridiagonal solve. All in T, sums over ascending nodes.

use super::disjoint::DisjointRows;
use super::mass::{MassSolver, restriction};
use crate::Element;
use crate::simd::{Kernel, dispatch};
use rayon::prelude::*;

/// Columns that one task takes through an axis.
const COLUMNS: usize = 256;

/// P d for details `d` on `n` nodes an axis.
pub fn correction<T: Element>(d: Vec<T>, n: [usize; 3]) -> Vec<T> {
    let coarse = n.map(|n| if n == 1 { 1 } else { n / 2 + 1 });
    let mut a = d;
    for axis in (0..3).rev().filter(|&axis| n[axis] > 1) {
        let outer: usize = n[..axis].iter().product();
        let inner: usize = coarse[axis + 1..].iter().product();
        a = along_axis(&a, outer, n[axis], inner);
    }
    a
}

/// P along the middle axis of an array of outer x n x inner values.
fn along_axis<T: Element>(input: &[T], outer: usize, n: usize, inner: usize) -> Vec<T> {
    let solver = MassSolver::<T>::new(n);
    let m = solver.coarse();
    let weights: Vec<(usize, Vec<T>)> = (0..m)
        .map(|k| {
            let (first, w) = restriction(n, k);
            (first, w.iter().map(|&w| T::from_f64(w)).collect())
        })
        .collect();
    let mut out = vec![T::ZERO; outer * m * inner];
    let rows = DisjointRows::new(&mut out);
    // Lines of the last axis are short columns: several of them make a task.
    let per_task = (COLUMNS / inner).max(1);
    let strips = inner.div_ceil(COLUMNS);
    (0..outer.div_ceil(per_task) * strips).into_par_iter().for_each(|task| {
        let first = task / strips * per_task;
        for o in first..(first + per_task).min(outer) {
            let columns = task % strips * COLUMNS..(task % strips * COLUMNS + COLUMNS).min(inner);
            let lines = &input[o * n * inner..][..n * inner];
            let strip = dispatch(Strip { lines, inner, columns: columns.clone(), weights: &weights, solver: &solver });
            for (k, row) in strip.chunks_exact(columns.len()).enumerate() {
                // SAFETY: (o, k, columns) differ between all rows written.
                unsafe { rows.write((o * m + k) * inner + columns.start, row) }
            }
        }
    });
    out
}

struct Strip<'a, T> {
    lines: &'a [T],
    inner: usize,
    columns: std::ops::Range<usize>,
    weights: &'a [(usize, Vec<T>)],
    solver: &'a MassSolver<T>,
}

impl<T: Element> Kernel for Strip<'_, T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run(self) -> Vec<T> {
        let width = self.columns.len();
        let m = self.weights.len();
        let line = |i: usize| &self.lines[i * self.inner + self.columns.start..][..width];
        let mut r = vec![T::ZERO; m * width];
        for (k, out) in r.chunks_exact_mut(width).enumerate() {
            let (first, weights) = &self.weights[k];
            for (o, &v) in out.iter_mut().zip(line(*first)) {
                *o = weights[0] * v;
            }
            for (i, &w) in weights.iter().enumerate().skip(1) {
                for (o, &v) in out.iter_mut().zip(line(first + i)) {
                    *o = w.fma(v, *o);
                }
            }
        }
        for k in 1..m {
            let (before, here) = r[(k - 1) * width..(k + 1) * width].split_at_mut(width);
            let w = -self.solver.w[k];
            for (h, &mut b) in here.iter_mut().zip(before) {
                *h = w.fma(b, *h);
            }
        }
        for k in (0..m).rev() {
            let (here, after) = r[k * width..].split_at_mut(width);
            let inverse = self.solver.inverse[k];
            for h in here.iter_mut() {
                *h = *h * inverse;
            }
            let c = -self.solver.c[k];
            for (h, &mut a) in here.iter_mut().zip(after) {
                *h = c.fma(a, *h);
            }
        }
        r
    }
}
