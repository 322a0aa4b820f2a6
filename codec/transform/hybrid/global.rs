//! One global MGARD level (Section II-B): n -> n/2 + 1 nodes an axis, the even ones and the last.
//!
//! Like in a block, every detail node is the midpoint of two coarse ones.

use super::block::{finite_or_zero, midpoint};
use super::correction::correction;
use super::local::Array;
use super::plan::Level;
use super::quantizer::Quantizer;
use crate::entropy::huffman::EXACT;
use crate::simd::{Kernel, dispatch};
use crate::{Basis, Element};
use rayon::prelude::*;
use std::ops::Range;

/// Values of one parallel task, at least one row.
const TASK_VALUES: usize = 1 << 15;

/// A fine node of an axis, in terms of the coarse ones.
#[derive(Clone, Copy)]
enum Place {
    /// Is coarse node k.
    At(usize),
    /// Lies between coarse nodes k and k + 1.
    Between(usize),
}

#[inline(always)]
fn place(i: usize, n: usize) -> Place {
    if i.is_multiple_of(2) {
        Place::At(i / 2)
    } else if i == n - 1 {
        Place::At(n / 2)
    } else {
        Place::Between(i / 2)
    }
}

/// The fine node of coarse node `k` on an axis of `n`.
fn fine_node(k: usize, n: usize) -> usize {
    (2 * k).min(n - 1)
}

/// A run of rows and the symbols of their details.
struct Task {
    rows: Range<usize>,
    symbols: Range<usize>,
}

/// A global level of a frame.
pub struct GlobalLevel<'a, T> {
    pub level: &'a Level,
    pub basis: Basis,
    pub quantizer: Quantizer<T>,
}

impl<T: Element> GlobalLevel<'_, T> {
    /// Whether row `row` = z * ny + y holds coarse nodes.
    #[inline(always)]
    fn is_coarse_row(&self, row: usize) -> bool {
        let [nz, ny, _] = self.level.fine;
        matches!((place(row / ny, nz), place(row % ny, ny)), (Place::At(_), Place::At(_)))
    }

    fn tasks(&self) -> Vec<Task> {
        let [nz, ny, nx] = self.level.fine;
        let per_task = (TASK_VALUES / nx).max(1);
        let mut at = 0;
        let mut task = |first: usize| {
            let rows = first..(first + per_task).min(nz * ny);
            let kept = rows.clone().filter(|&r| self.is_coarse_row(r)).count() * self.level.coarse[2];
            let start = at;
            at += rows.len() * nx - kept;
            Task { rows, symbols: start..at }
        };
        (0..nz * ny).step_by(per_task).map(&mut task).collect()
    }

    /// Symbols of the details in raster order, exact details, coarse array.
    pub fn decompose(&self, fine: &[T]) -> (Vec<i32>, Vec<T>, Vec<T>) {
        let mut coarse = self.subsample(fine);
        let mut symbols = vec![0; self.level.details];
        let tasks = self.tasks();
        let mut details = if self.basis == Basis::Projection { vec![T::ZERO; fine.len()] } else { Vec::new() };
        let nx = self.level.fine[2];
        let symbol_parts = split(&mut symbols, tasks.iter().map(|t| t.symbols.len()));
        let detail_parts = split(&mut details, tasks.iter().map(|t| t.rows.len() * nx));
        let work = tasks.par_iter().zip(symbol_parts).zip(detail_parts);
        let exact: Vec<Vec<T>> = work
            .map(|((task, symbols), details)| {
                let coarse = Array { values: &coarse, n: self.level.coarse };
                dispatch(Decompose { level: self, fine, coarse, rows: task.rows.clone(), symbols, details })
            })
            .collect();
        if self.basis == Basis::Projection {
            let add = correction(details, self.level.fine);
            coarse.par_iter_mut().zip(add).for_each(|(c, a)| *c = finite_or_zero(*c + a));
        }
        (symbols, exact.concat(), coarse)
    }

    /// The values at the coarse nodes.
    fn subsample(&self, fine: &[T]) -> Vec<T> {
        let (n, m) = (self.level.fine, self.level.coarse);
        let mut coarse = vec![T::ZERO; m.iter().product()];
        coarse.par_chunks_mut(m[2]).enumerate().for_each(|(row, out)| {
            let (z, y) = (fine_node(row / m[1], n[0]), fine_node(row % m[1], n[1]));
            let line = &fine[(z * n[1] + y) * n[2]..][..n[2]];
            out.iter_mut().zip(line.iter().step_by(2)).for_each(|(o, &v)| *o = v);
            out[m[2] - 1] = line[n[2] - 1];
        });
        coarse
    }

    /// Rebuilds the array of this level. `exact` has one value for each [`EXACT`] symbol.
    pub fn recompose(&self, mut coarse: Vec<T>, symbols: &[i32], exact: &[T]) -> Vec<T> {
        let nx = self.level.fine[2];
        let mut fine = vec![T::ZERO; self.level.fine.iter().product()];
        let tasks = self.tasks();
        let starts: Vec<usize> = exact_starts_of(symbols, &tasks);
        let run = |what: What, coarse: &[T], fine: &mut Vec<T>| {
            let parts = split(fine, tasks.iter().map(|t| t.rows.len() * nx));
            tasks.par_iter().zip(&starts).zip(parts).for_each(|((task, &start), fine)| {
                let coarse = Array { values: coarse, n: self.level.coarse };
                let symbols = &symbols[task.symbols.clone()];
                let (rows, exact) = (task.rows.clone(), &exact[start..]);
                dispatch(Recompose { level: self, what, coarse, rows, symbols, exact, fine })
            });
        };
        if self.basis == Basis::Projection {
            run(What::Details, &coarse, &mut fine);
            let sub = correction(std::mem::take(&mut fine), self.level.fine);
            coarse.par_iter_mut().zip(sub).for_each(|(c, s)| *c = *c - s);
            fine = vec![T::ZERO; self.level.fine.iter().product()];
        }
        run(What::Values, &coarse, &mut fine);
        fine
    }

    /// The interpolant on fine row `row`, into `out`: axis 0, then 1, then 2. `line` is scratch.
    #[inline(always)]
    fn interpolate_row(&self, coarse: &Array<T>, row: usize, line: &mut [T], out: &mut [T]) {
        let [nz, ny, nx] = self.level.fine;
        let [_, my, mx] = self.level.coarse;
        let at = |z: usize, y: usize| &coarse.values[(z * my + y) * mx..][..mx];
        let middle = |line: &mut [T], a: &[T], b: &[T]| {
            for ((l, &a), &b) in line.iter_mut().zip(a).zip(b) {
                *l = midpoint(a, b);
            }
        };
        match (place(row / ny, nz), place(row % ny, ny)) {
            (Place::At(z), Place::At(y)) => line.copy_from_slice(at(z, y)),
            (Place::Between(z), Place::At(y)) => middle(line, at(z, y), at(z + 1, y)),
            (Place::At(z), Place::Between(y)) => middle(line, at(z, y), at(z, y + 1)),
            (Place::Between(z), Place::Between(y)) => {
                let corners = at(z, y).iter().zip(at(z + 1, y)).zip(at(z, y + 1)).zip(at(z + 1, y + 1));
                for (l, (((&a, &b), &c), &d)) in line.iter_mut().zip(corners) {
                    *l = midpoint(midpoint(a, b), midpoint(c, d));
                }
            }
        }
        let pairs = nx.div_ceil(2) - 1;
        for ((o, &l), &r) in out.chunks_exact_mut(2).zip(&line[..pairs]).zip(&line[1..]) {
            (o[0], o[1]) = (l, midpoint(l, r));
        }
        // The last one or two nodes are coarse.
        let rest = 2 * pairs;
        out[rest..].copy_from_slice(&line[pairs..]);
    }
}

/// Cuts a slice into parts of the given lengths (empty parts for an empty slice).
fn split<T>(mut rest: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let cut = |length: usize| {
        let length = length.min(rest.len());
        let (part, tail) = std::mem::take(&mut rest).split_at_mut(length);
        rest = tail;
        part
    };
    lengths.map(cut).collect()
}

/// Number of [`EXACT`] symbols before each task.
fn exact_starts_of(symbols: &[i32], tasks: &[Task]) -> Vec<usize> {
    let count = |t: &Task| symbols[t.symbols.clone()].iter().filter(|&&q| q == EXACT).count();
    let counts: Vec<usize> = tasks.par_iter().map(count).collect();
    counts.iter().scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))).collect()
}

struct Decompose<'a, T> {
    level: &'a GlobalLevel<'a, T>,
    fine: &'a [T],
    coarse: Array<'a, T>,
    rows: Range<usize>,
    symbols: &'a mut [i32],
    /// Filled in when not empty.
    details: &'a mut [T],
}

impl<T: Element> Kernel for Decompose<'_, T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run(self) -> Vec<T> {
        let nx = self.level.level.fine[2];
        let mut line = vec![T::ZERO; self.coarse.n[2]];
        let mut d = vec![T::ZERO; nx];
        let mut exact = Vec::new();
        let mut symbols = self.symbols;
        for (i, row) in self.rows.enumerate() {
            self.level.interpolate_row(&self.coarse, row, &mut line, &mut d);
            for (d, &u) in d.iter_mut().zip(&self.fine[row * nx..]) {
                *d = u - *d;
            }
            let details = d.iter().copied();
            let count = if self.level.is_coarse_row(row) {
                let odd = details.skip(1).step_by(2).take((nx - 1) / 2);
                quantize(&self.level.quantizer, odd, symbols, &mut exact)
            } else {
                quantize(&self.level.quantizer, details, symbols, &mut exact)
            };
            symbols = &mut symbols[count..];
            if !self.details.is_empty() {
                self.details[i * nx..][..nx].copy_from_slice(&d);
            }
        }
        exact
    }
}

/// Quantizes details into the front of `symbols` and returns their number.
#[inline(always)]
fn quantize<T: Element>(
    by: &Quantizer<T>,
    details: impl ExactSizeIterator<Item = T> + Clone,
    symbols: &mut [i32],
    exact: &mut Vec<T>,
) -> usize {
    let count = details.len();
    let mut any = false;
    for (s, d) in symbols.iter_mut().zip(details.clone()) {
        *s = by.quantize(d);
        any |= *s == EXACT;
    }
    if any {
        let pairs = symbols.iter().zip(details);
        exact.extend(pairs.filter(|&(&q, _)| q == EXACT).map(|(_, d)| d));
    }
    count
}

/// What a recomposition pass writes.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// The dequantized details, zero on coarse nodes.
    Details,
    /// The values: interpolant plus details.
    Values,
}

struct Recompose<'a, T> {
    level: &'a GlobalLevel<'a, T>,
    what: What,
    coarse: Array<'a, T>,
    rows: Range<usize>,
    symbols: &'a [i32],
    exact: &'a [T],
    fine: &'a mut [T],
}

impl<T: Element> Kernel for Recompose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let nx = self.level.level.fine[2];
        let mut line = vec![T::ZERO; self.coarse.n[2]];
        let mut symbols = self.symbols;
        let mut exact = self.exact.iter();
        let by = self.level.quantizer;
        for (row, out) in self.rows.zip(self.fine.chunks_exact_mut(nx)) {
            if self.what == What::Values {
                self.level.interpolate_row(&self.coarse, row, &mut line, out);
            }
            let coarse_row = self.level.is_coarse_row(row);
            let count = if coarse_row { (nx - 1) / 2 } else { nx };
            let (here, rest) = symbols.split_at(count);
            symbols = rest;
            let (first, stride) = if coarse_row { (1, 2) } else { (0, 1) };
            match (self.what, stride) {
                (What::Details, _) => {
                    for (v, &q) in out.iter_mut().skip(first).step_by(stride).zip(here) {
                        *v = by.dequantize(q);
                    }
                }
                (What::Values, 1) => {
                    for (v, &q) in out.iter_mut().zip(here) {
                        *v = by.add(*v, q);
                    }
                }
                (What::Values, _) => {
                    for (pair, &q) in out.chunks_exact_mut(2).zip(here) {
                        (pair[0], pair[1]) = (by.add(pair[0], 0), by.add(pair[1], q));
                    }
                    for v in &mut out[2 * count..] {
                        *v = by.add(*v, 0);
                    }
                }
            }
            if !exact.as_slice().is_empty() {
                let nodes = out.iter_mut().skip(first).step_by(stride).zip(here);
                let places = nodes.filter(|&(_, &q)| q == EXACT);
                for ((v, _), &e) in places.zip(exact.by_ref()) {
                    *v = *v + e;
                }
            }
        }
    }
}
