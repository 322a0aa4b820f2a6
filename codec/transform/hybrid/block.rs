//! The in-cache block operators (Section IV-A): 8^3 nodes -> 5^3 coarse nodes and 387 details.
//!
//! A block is 64 rows of 8 nodes, row z * NY + y; blocks of frames with fewer axes have NZ = 1 or NZ = NY = 1.
//! Coarse nodes are 0, 2, 4, 6, 7 of each axis. They are not equally spaced, but every detail node is the midpoint
//! of two coarse ones, so that interpolation needs no table.

use super::mass::local_projection;
use super::quantizer::Quantizer;
use crate::entropy::huffman::EXACT;
use crate::{Basis, Element};

pub type Row<T> = [T; 8];
/// The nodes of a block.
pub type Rows<T> = [Row<T>; 64];
/// The coarse nodes of a block, row by row, 5 lanes in use.
pub type CoarseRows<T> = [Row<T>; 25];

/// The coarse nodes of a block axis of `n` (8 or 1) nodes.
pub const fn coarse_of(n: usize) -> &'static [usize] {
    if n == 8 { &[0, 2, 4, 6, 7] } else { &[0] }
}

/// The detail nodes of a block axis.
const fn detail_of(n: usize) -> &'static [usize] {
    if n == 8 { &[1, 3, 5] } else { &[] }
}

/// Whether node `i` of an axis of `n` is a coarse one.
#[inline(always)]
const fn is_coarse(i: usize, n: usize) -> bool {
    n == 1 || i.is_multiple_of(2) || i == 7
}

/// Details of one block.
pub const fn details_of(nz: usize, ny: usize) -> usize {
    nz * ny * 8 - coarse_of(nz).len() * coarse_of(ny).len() * 5
}

/// The midpoint of two values: rounds once, and never overflows.
#[inline(always)]
pub fn midpoint<T: Element>(left: T, right: T) -> T {
    let half = T::from_f64(0.5);
    right.fma(half, left * half)
}

/// The basis of a level, with its table.
#[derive(Clone, Debug)]
pub enum Operator<T> {
    Hierarchical,
    /// Columns of P, padded with zeros to 8 lanes: `p[i][j]` takes node i to coarse node j.
    Projection(Box<[Row<T>; 8]>),
}

impl<T: Element> Operator<T> {
    pub fn new(basis: Basis) -> Self {
        match basis {
            Basis::Hierarchical => Self::Hierarchical,
            Basis::Projection => {
                let p = local_projection::<T>();
                let entry = |i: usize, j: usize| if j < 5 { p[j][i] } else { T::ZERO };
                Self::Projection(Box::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))))
            }
        }
    }
}

/// Fills in all nodes from the coarse ones, which stand at their places: axis 0, then 1, then 2.
#[inline(always)]
pub fn interpolate<T: Element, const NZ: usize, const NY: usize>(rows: &mut Rows<T>) {
    for &z in detail_of(NZ) {
        for &y in coarse_of(NY) {
            rows[z * NY + y] = midpoint_row(&rows[(z - 1) * NY + y], &rows[(z + 1) * NY + y]);
        }
    }
    for z in 0..NZ {
        for &y in detail_of(NY) {
            rows[z * NY + y] = midpoint_row(&rows[z * NY + y - 1], &rows[z * NY + y + 1]);
        }
    }
    for row in &mut rows[..NZ * NY] {
        let r = *row;
        let left = [r[0], r[0], r[2], r[2], r[4], r[4], r[6], r[7]];
        let right = [r[0], r[2], r[2], r[4], r[4], r[6], r[6], r[7]];
        let mid = midpoint_row(&left, &right);
        *row = [left[0], mid[1], left[2], mid[3], left[4], mid[5], left[6], left[7]];
    }
}

#[inline(always)]
fn midpoint_row<T: Element>(left: &Row<T>, right: &Row<T>) -> Row<T> {
    std::array::from_fn(|i| midpoint(left[i], right[i]))
}

/// Puts coarse rows at their places; the other nodes hold anything.
#[inline(always)]
pub fn spread<T: Element, const NZ: usize, const NY: usize>(coarse: &CoarseRows<T>) -> Rows<T> {
    let mut rows = [[T::ZERO; 8]; 64];
    let mut next = 0;
    for &z in coarse_of(NZ) {
        for &y in coarse_of(NY) {
            let c = &coarse[next];
            rows[z * NY + y] = [c[0], c[0], c[1], c[1], c[2], c[2], c[3], c[4]];
            next += 1;
        }
    }
    rows
}

/// The details u - interpolant; exactly zero on coarse nodes.
#[inline(always)]
pub fn details<T: Element, const NZ: usize, const NY: usize>(u: &Rows<T>) -> Rows<T> {
    let mut w = *u;
    interpolate::<T, NZ, NY>(&mut w);
    for (w, u) in w[..NZ * NY].iter_mut().zip(u) {
        *w = std::array::from_fn(|i| u[i] - w[i]);
    }
    w
}

/// The correction P d of the coarse nodes: axis 2, then 1, then 0; sums run over ascending nodes.
#[inline(always)]
fn project<T: Element, const NZ: usize, const NY: usize>(p: &[Row<T>; 8], d: &Rows<T>) -> CoarseRows<T> {
    let mut x = [[T::ZERO; 8]; 64];
    for (x, d) in x[..NZ * NY].iter_mut().zip(d) {
        *x = std::array::from_fn(|j| p[0][j] * d[0]);
        for (column, &d) in p.iter().zip(d).skip(1) {
            *x = std::array::from_fn(|j| column[j].fma(d, x[j]));
        }
    }
    let mut xy = [[T::ZERO; 8]; 40];
    let cy = coarse_of(NY).len();
    for z in 0..NZ {
        for k in 0..cy {
            xy[z * cy + k] = combine::<T, NY>(p, k, |y| x[z * NY + y]);
        }
    }
    let mut xyz = [[T::ZERO; 8]; 25];
    for k in 0..coarse_of(NZ).len() {
        for y in 0..cy {
            xyz[k * cy + y] = combine::<T, NZ>(p, k, |z| xy[z * cy + y]);
        }
    }
    xyz
}

/// Coarse node `k` of an axis of N nodes as the sum of P[k][i] * row i; the row itself when N is 1.
#[inline(always)]
fn combine<T: Element, const N: usize>(p: &[Row<T>; 8], k: usize, row: impl Fn(usize) -> Row<T>) -> Row<T> {
    let mut sum = row(0);
    if N > 1 {
        sum = std::array::from_fn(|lane| p[0][k] * sum[lane]);
        for (i, column) in p.iter().enumerate().skip(1) {
            let r = row(i);
            sum = std::array::from_fn(|lane| column[k].fma(r[lane], sum[lane]));
        }
    }
    sum
}

/// The coarse nodes of a block with details `d`.
#[inline(always)]
pub fn coarsen<T: Element, const NZ: usize, const NY: usize>(
    operator: &Operator<T>,
    u: &Rows<T>,
    d: &Rows<T>,
) -> CoarseRows<T> {
    let mut coarse = [[T::ZERO; 8]; 25];
    let mut next = 0;
    for &z in coarse_of(NZ) {
        for &y in coarse_of(NY) {
            let r = &u[z * NY + y];
            coarse[next] = [r[0], r[2], r[4], r[6], r[7], T::ZERO, T::ZERO, T::ZERO];
            next += 1;
        }
    }
    if let Operator::Projection(p) = operator {
        let correction = project::<T, NZ, NY>(p, d);
        for (c, add) in coarse[..next].iter_mut().zip(&correction) {
            *c = std::array::from_fn(|i| finite_or_zero(c[i] + add[i]));
        }
    }
    coarse
}

/// Corrections of huge values may overflow: zero keeps the coarser levels finite, and the final check sees to the bound.
#[inline(always)]
pub fn finite_or_zero<T: Element>(v: T) -> T {
    if v.is_finite() { v } else { T::ZERO }
}

/// Quantized details, and whether any of them must be stored exactly ([`EXACT`]).
#[inline(always)]
pub fn quantize<T: Element>(d: &Rows<T>, rows: usize, by: &Quantizer<T>) -> (Rows<i32>, bool) {
    let mut q = [[0; 8]; 64];
    let mut exact = false;
    for (q, d) in q[..rows].iter_mut().zip(d) {
        *q = std::array::from_fn(|i| by.quantize(d[i]));
        exact |= q.iter().fold(false, |any, &q| any | (q == EXACT));
    }
    (q, exact)
}

/// Rebuilds a block from its coarse nodes and details. `exact` holds the values of the [`EXACT`] symbols in order.
#[inline(always)]
pub fn recompose<T: Element, const NZ: usize, const NY: usize>(
    operator: &Operator<T>,
    coarse: &CoarseRows<T>,
    q: &Rows<i32>,
    by: &Quantizer<T>,
    exact: &[T],
) -> Rows<T> {
    let mut coarse = *coarse;
    if let Operator::Projection(p) = operator {
        let mut d = [[T::ZERO; 8]; 64];
        for (d, q) in d[..NZ * NY].iter_mut().zip(q) {
            *d = std::array::from_fn(|i| by.dequantize(q[i]));
        }
        place_exact(&mut d, q, exact, |_, e| e);
        let correction = project::<T, NZ, NY>(p, &d);
        for (c, sub) in coarse.iter_mut().zip(&correction) {
            *c = std::array::from_fn(|i| c[i] - sub[i]);
        }
    }
    let mut v = spread::<T, NZ, NY>(&coarse);
    interpolate::<T, NZ, NY>(&mut v);
    for (v, q) in v[..NZ * NY].iter_mut().zip(q) {
        *v = std::array::from_fn(|i| by.add(v[i], q[i]));
    }
    place_exact(&mut v, q, exact, |w, e| w + e);
    v
}

/// Puts the exact details where their symbols say.
#[inline(always)]
fn place_exact<T: Element>(rows: &mut Rows<T>, q: &Rows<i32>, exact: &[T], put: impl Fn(T, T) -> T) {
    if exact.is_empty() {
        return;
    }
    let nodes = rows.as_flattened_mut().iter_mut().zip(q.as_flattened());
    let places = nodes.filter(|&(_, &q)| q == EXACT);
    places.zip(exact).for_each(|((v, _), &e)| *v = put(*v, e));
}

/// Whether `v` is not within `check` of `u`, or not finite.
#[inline(always)]
pub fn misses<T: Element>(u: T, v: T, check: T) -> bool {
    let within = (u - v).abs() <= check;
    !within
}

/// Whether any node of a block misses.
#[inline(always)]
pub fn any_missed<T: Element>(u: &Rows<T>, v: &Rows<T>, rows: usize, check: T) -> bool {
    let mut any = false;
    for (u, v) in u[..rows].iter().zip(v) {
        any |= (0..8).fold(false, |any, i| any | misses(u[i], v[i], check));
    }
    any
}

/// Copies the symbols of the detail nodes, in raster order, to `out` (of exactly that length).
#[inline(always)]
pub fn pack<const NZ: usize, const NY: usize>(q: &Rows<i32>, out: &mut [i32]) {
    let mut at = 0;
    for z in 0..NZ {
        for y in 0..NY {
            let row = &q[z * NY + y];
            if is_coarse(z, NZ) && is_coarse(y, NY) {
                out[at..at + 3].copy_from_slice(&[row[1], row[3], row[5]]);
                at += 3;
            } else {
                out[at..at + 8].copy_from_slice(row);
                at += 8;
            }
        }
    }
}

/// Undoes [`pack`]; coarse nodes get 0.
#[inline(always)]
pub fn unpack<const NZ: usize, const NY: usize>(symbols: &[i32]) -> Rows<i32> {
    let mut q = [[0; 8]; 64];
    let mut at = 0;
    for z in 0..NZ {
        for y in 0..NY {
            let row = &mut q[z * NY + y];
            if is_coarse(z, NZ) && is_coarse(y, NY) {
                *row = [0, symbols[at], 0, symbols[at + 1], 0, symbols[at + 2], 0, 0];
                at += 3;
            } else {
                row.copy_from_slice(&symbols[at..at + 8]);
                at += 8;
            }
        }
    }
    q
}
