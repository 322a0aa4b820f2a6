//! One axis of MGARD's L2 projection P = Mc^-1 I^T Mf (Section II-B), with Mc, Mf the mass matrices of the coarse and
//! fine hat functions and I the linear interpolation. Coarse nodes are the even ones and the last.
//!
//! Both matrices are used times 3, where all entries are small dyadic numbers.

use super::plan::{BLOCK, COARSE};
use crate::Element;

/// 344 P of a block of 8 nodes, exact.
const LOCAL: [[i16; BLOCK]; COARSE] = [
    [235, 218, -80, -58, 22, 14, -7, 0],
    [-40, 80, 246, 116, -44, -28, 14, 0],
    [11, -22, -44, 110, 240, 98, -49, 0],
    [-4, 8, 16, -40, -56, 152, 268, 0],
    [2, -4, -8, 20, 28, -76, 38, 344],
];

/// P of a block axis, by coarse node: the integers of FORMAT.md over 344, in f64, rounded to T.
pub fn local_projection<T: Element>() -> [[T; BLOCK]; COARSE] {
    LOCAL.map(|row| row.map(|v| T::from_f64(v as f64 / 344.0)))
}

/// Factors of the tridiagonal system 3 Mc x = r of an axis of `n` >= 2 nodes, in T.
pub struct MassSolver<T> {
    /// Forward: r[k] = fma(-w[k], r[k-1], r[k]), k ascending from 1.
    pub w: Vec<T>,
    /// Backward: x[k] = r[k] * inverse[k], then for k below the last, x[k] = fma(-c[k], x[k+1], x[k]).
    pub inverse: Vec<T>,
    pub c: Vec<T>,
}

impl<T: Element> MassSolver<T> {
    pub fn new(n: usize) -> Self {
        let m = n / 2 + 1;
        let even = n.is_multiple_of(2);
        // Spacings of the coarse nodes are 2, but 1 at the end of an even axis.
        let off = |k: usize| if even && k == m - 2 { 0.5 } else { 1.0 };
        let side = |k: usize| if even && k == m - 2 { 1.0 } else { 2.0 };
        let diagonal = |k: usize| if k > 0 { side(k - 1) } else { 0.0 } + if k < m - 1 { side(k) } else { 0.0 };
        let (mut w, mut inverse, mut c) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
        let mut pivot: f64 = diagonal(0);
        for k in 0..m {
            if k > 0 {
                w[k] = off(k - 1) / pivot;
                pivot = diagonal(k) - w[k] * off(k - 1);
            }
            inverse[k] = 1.0 / pivot;
            c[k] = if k < m - 1 { off(k) / pivot } else { 0.0 };
        }
        let round = |v: Vec<f64>| v.into_iter().map(T::from_f64).collect();
        Self { w: round(w), inverse: round(inverse), c: round(c) }
    }
    /// Number of coarse nodes.
    pub fn coarse(&self) -> usize {
        self.w.len()
    }
    /// Solves 3 Mc x = r in place.
    pub fn solve(&self, r: &mut [T]) {
        for k in 1..r.len() {
            r[k] = (-self.w[k]).fma(r[k - 1], r[k]);
        }
        for k in (0..r.len()).rev() {
            r[k] = r[k] * self.inverse[k];
            if k + 1 < r.len() {
                r[k] = (-self.c[k]).fma(r[k + 1], r[k]);
            }
        }
    }
}

/// Row `k` of 3 I^T Mf on an axis of `n` nodes: the first fine node it touches and its weights, at most 5.
pub fn restriction(n: usize, k: usize) -> (usize, &'static [f64]) {
    let m = n / 2 + 1;
    let even = n.is_multiple_of(2);
    match (n, k) {
        (2, 0) => (0, &[1.0, 0.5]),
        (_, 0) => (0, &[1.25, 1.5, 0.25]),
        _ if even && k == m - 1 => (n - 2, &[0.5, 1.0]),
        _ if even && k == m - 2 => (2 * k - 2, &[0.25, 1.5, 2.25, 0.5]),
        _ if k == m - 1 => (2 * k - 2, &[0.25, 1.5, 1.25]),
        _ => (2 * k - 2, &[0.25, 1.5, 2.5, 1.5, 0.25]),
    }
}

/// P of an axis of `n` >= 2 nodes as dense rows, one a coarse node, in f64.
pub fn projection_rows(n: usize) -> Vec<Vec<f64>> {
    let solver = MassSolver::<f64>::new(n);
    let m = solver.coarse();
    let mut p = vec![vec![0.0; n]; m];
    for j in 0..n {
        let mut r = vec![0.0; m];
        for (k, r) in r.iter_mut().enumerate() {
            let (first, weights) = restriction(n, k);
            *r = if j >= first { weights.get(j - first).copied().unwrap_or(0.0) } else { 0.0 };
        }
        solver.solve(&mut r);
        p.iter_mut().zip(r).for_each(|(row, v)| row[j] = v);
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_table_is_the_projection_of_an_axis_of_8() {
        let table = local_projection::<f64>();
        for (row, exact) in projection_rows(8).iter().zip(table) {
            row.iter().zip(exact).for_each(|(a, b)| assert!((a - b).abs() < 1e-15, "{a} {b}"));
        }
    }

    #[test]
    fn projection_reproduces_linear_functions() {
        for n in [2, 3, 4, 5, 6, 9, 16, 31] {
            for (k, row) in projection_rows(n).iter().enumerate() {
                let x = if k == n / 2 { n - 1 } else { 2 * k } as f64;
                let (one, at): (f64, f64) =
                    row.iter().enumerate().fold((0.0, 0.0), |(s, t), (j, w)| (s + w, t + w * j as f64));
                assert!((one - 1.0).abs() < 1e-13 && (at - x).abs() < 1e-11, "n {n}, node {k}: {one}, {at}");
            }
        }
    }
}
