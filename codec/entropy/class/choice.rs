//! Which class a unit takes: the least of integer costs that are linear in a few sums over its symbols.
//!
//! Only the encoder needs this, but every backend must choose alike, so that the bytes are the same.

use super::symbols::EXACT;
use super::tables::{CLASSES, Class, TABLES};

/// Sums over the nodes of a unit that are not exact, with k = |q|.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Number of nodes, exact ones included.
    pub nodes: u32,
    pub exact: u32,
    /// Number of nodes with k >= 1.
    pub nonzero: u32,
    /// Number of nodes with k >= 2.
    pub above_one: u32,
    pub sum: u32,
    /// Sum of the bit lengths of k.
    pub lengths: u32,
    pub max: u16,
}

impl Features {
    pub fn of(q: &[i16]) -> Self {
        let mut f = Self { nodes: q.len() as u32, ..Self::default() };
        for &q in q {
            let exact = q == EXACT;
            let k = if exact { 0 } else { q.unsigned_abs() };
            f.exact += exact as u32;
            f.nonzero += (k >= 1) as u32;
            f.above_one += (k >= 2) as u32;
            f.sum += k as u32;
            f.max = f.max.max(k);
        }
        f.lengths = f.nonzero + f.above_one;
        for bit in 2..16 - f.max.leading_zeros() {
            f.lengths += q.iter().map(|&q| (q != EXACT && q.unsigned_abs() >> bit != 0) as u32).sum::<u32>();
        }
        f
    }

    fn cost(&self, class: &Class) -> i64 {
        let [node, nonzero, above_one, sum, lengths] = class.cost.map(i64::from);
        (self.nodes - self.exact) as i64 * node
            + self.nonzero as i64 * nonzero
            + self.above_one as i64 * above_one
            + self.sum as i64 * sum
            + self.lengths as i64 * lengths
    }

    /// The cheapest of the first `count` classes (the lowest index among equals) and its cost in 2^-16 bit.
    pub fn cheapest(&self, count: usize) -> (usize, i64) {
        let mut best = (0, i64::MAX);
        for (index, class) in CLASSES[..count].iter().enumerate() {
            let cost = self.cost(class);
            if cost < best.1 {
                best = (index, cost);
            }
        }
        best
    }
}

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

/// The number of classes without shift: those whose index is also that of their table.
fn unshifted() -> usize {
    TABLES.symbols.len()
}

/// The form of a unit and its estimated size in 2^-16 bit.
pub fn choose(q: &[i16], delta: &[u64], bits: u32) -> (Form, i64) {
    let features = Features::of(q);
    if features.exact == features.nodes && !delta.is_empty() {
        return choose_exact(delta, bits);
    }
    if features.max == 0 && features.exact == 0 {
        return (Form::Zero, 0);
    }
    let (class, cost) = features.cheapest(CLASSES.len());
    (Form::Quantized(class as u8), cost + features.exact as i64 * ((bits as i64 + 27) << 16))
}

/// Typical deltas are left with 4 to 5 bits of token.
fn choose_exact(delta: &[u64], bits: u32) -> (Form, i64) {
    let count = delta.len() as i64;
    let lengths: u64 = delta.iter().map(|d| 64 - d.leading_zeros() as u64).sum();
    if lengths == 0 {
        return (Form::Exact { table: ALL_EQUAL, shift: 0 }, 0);
    }
    let shift = ((lengths / delta.len() as u64) as u32).saturating_sub(4);
    let mut features = Features { nodes: delta.len() as u32, ..Features::default() };
    let mut escapes = 0;
    for d in delta {
        let token = d >> shift;
        let k = (token.min(255) as u32).div_ceil(2);
        escapes += (token >= 255) as i64;
        features.nonzero += (k >= 1) as u32;
        features.above_one += (k >= 2) as u32;
        features.sum += k;
        features.lengths += 32 - k.leading_zeros();
    }
    let (table, cost) = features.cheapest(unshifted());
    let total = cost + ((count * shift as i64 + escapes * bits as i64) << 16);
    let plain = (count * bits as i64) << 16;
    if total >= plain {
        (Form::Exact { table: PLAIN, shift: 0 }, plain)
    } else {
        (Form::Exact { table: table as u8, shift: shift as u8 }, total)
    }
}
