//! Which class a unit takes: the one of least estimated cost.
//!
//! Costs are linear in a histogram of bit lengths. Only the encoder needs this, but every backend must choose alike, so that the bytes are the same.

use super::symbols::EXACT;
use super::tables::{COST_WIDTH, LENGTHS, TABLES};
use crate::simd::{Kernel, dispatch};

/// How many nodes of a unit have a |q| of 0, 1, 2, ... 15 bits. Exact nodes are not counted.
pub type Histogram = [u32; LENGTHS];

/// The histogram of a unit and the number of its exact nodes.
pub fn histogram(q: &[i16]) -> (Histogram, u32) {
    dispatch(Count(q))
}

struct Count<'a>(&'a [i16]);

impl Kernel for Count<'_> {
    type Output = (Histogram, u32);

    #[inline(always)]
    fn run(self) -> Self::Output {
        count(self.0)
    }
}

#[inline(always)]
fn count(q: &[i16]) -> (Histogram, u32) {
    let (mut least, mut most) = (0, 0);
    for &q in q {
        least = least.min(q);
        most = most.max(q);
    }
    // at_least[b]: nodes whose |q| has b bits or more; counted by comparisons, which the compiler vectorizes
    let mut at_least = [0u32; LENGTHS + 1];
    at_least[0] = q.len() as u32;
    // the magnitude of EXACT has 16 bits, that of every residual at most 15
    let longest = (16 - (most as u16).max(least.unsigned_abs()).leading_zeros() as usize).min(LENGTHS - 1);
    for (bits, count) in at_least.iter_mut().enumerate().take(longest + 1).skip(1) {
        let bound = (1u32 << (bits - 1)).min(i16::MAX as u32) as i16;
        *count = count_where(q, |q| q >= bound || q <= -bound);
    }
    let exact = if least == EXACT { count_where(q, |q| q == EXACT) } else { 0 };
    at_least[..LENGTHS].iter_mut().for_each(|count| *count -= exact);
    (std::array::from_fn(|bits| at_least[bits] - at_least[bits + 1]), exact)
}

/// Counts in 16 bits, as narrow as the symbols, part by part.
#[inline(always)]
fn count_where(q: &[i16], condition: impl Fn(i16) -> bool) -> u32 {
    let mut count = 0;
    for part in q.chunks(1 << 15) {
        let mut here = 0u16;
        for &q in part {
            here += condition(q) as u16;
        }
        count += here as u32;
    }
    count
}

/// The cheapest of the first `count` classes (the first among equals) and its cost in 2^-12 bit.
fn cheapest(histogram: &Histogram, count: usize) -> (usize, u64) {
    dispatch(Cheapest { histogram, count })
}

struct Cheapest<'a> {
    histogram: &'a Histogram,
    count: usize,
}

impl Kernel for Cheapest<'_> {
    type Output = (usize, u64);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let costs = &TABLES.costs;
        let mut sums = [0u32; COST_WIDTH];
        for (&n, costs) in self.histogram.iter().zip(costs).filter(|(n, _)| **n > 0) {
            for (sum, cost) in sums.iter_mut().zip(costs) {
                *sum += n * cost;
            }
        }
        let sums = &sums[..self.count];
        let mut least = u32::MAX;
        for &sum in sums {
            least = least.min(sum);
        }
        (sums.iter().position(|&sum| sum == least).unwrap_or(0), least as u64)
    }
}

/// A unit has at most so many nodes: its cost fits 32 bits.
const MOST_NODES: usize = 1 << 14;

/// How a unit is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every q is 0.
    Zero,
    /// By the class of this index.
    Quantized(u8),
    /// Every node is exact: deltas as tokens of a table, with `shift` raw low bits.
    Exact { table: u8, shift: u8 },
}

/// In [`Form::Exact`], in place of a table: every delta is 0, and every delta is stored raw.
pub const ALL_EQUAL: u8 = 63;
pub const PLAIN: u8 = 62;

/// The form of a unit and its estimated size in 2^-12 bit. `delta` is empty when the chunk has no exact node.
pub fn choose(q: &[i16], delta: &[u64], bits: u32) -> (Form, u64) {
    assert!(q.len() <= MOST_NODES);
    let (histogram, exact) = histogram(q);
    if histogram[0] as usize == q.len() {
        return (Form::Zero, 0);
    }
    if exact as usize == q.len() {
        return choose_exact(delta, bits);
    }
    let (class, cost) = cheapest(&histogram, TABLES.quantized.len());
    (Form::Quantized(class as u8), cost + ((exact as u64 * (bits as u64 + 27)) << 12))
}

/// Typical deltas are left with 4 to 5 bits of token.
fn choose_exact(delta: &[u64], bits: u32) -> (Form, u64) {
    let lengths: u64 = delta.iter().map(|d| 64 - d.leading_zeros() as u64).sum();
    if lengths == 0 {
        return (Form::Exact { table: ALL_EQUAL, shift: 0 }, 0);
    }
    let shift = ((lengths / delta.len() as u64) as u32).saturating_sub(4);
    let mut histogram = [0; LENGTHS];
    for d in delta {
        // beyond every table lies the escape token
        let k = (d >> shift).min(1 << 14).div_ceil(2);
        histogram[64 - k.leading_zeros() as usize] += 1;
    }
    let (table, cost) = cheapest(&histogram, TABLES.symbols.len());
    let escapes = delta.iter().filter(|&d| d >> shift >= 256).count() as u64;
    let total = cost + ((delta.len() as u64 * shift as u64 + escapes * bits as u64) << 12);
    let plain = (delta.len() as u64 * bits as u64) << 12;
    if total < plain {
        (Form::Exact { table: table as u8, shift: shift as u8 }, total)
    } else {
        (Form::Exact { table: PLAIN, shift: 0 }, plain)
    }
}
