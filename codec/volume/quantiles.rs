//! Percentiles from one pass: bins over the ordered bit patterns of the values, so that outliers and offsets do no harm.

use super::Element;
use super::stats::Validity;
use super::{
    Field,
    scan::{RowReader, Units},
};
use crate::{Control, Result};
use rayon::prelude::*;

const BIN_BITS: u32 = 17;

/// Most bins that are kept: smaller neighbours are joined.
const KEPT: u64 = 1 << 14;

/// Spreads the bit patterns between the smallest and the largest value evenly over bins. Patterns order like values, close to
/// logarithmically over a wide range and linearly inside one binade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binning<T> {
    first: u64,
    shift: u32,
    _type: std::marker::PhantomData<T>,
}

/// The bit pattern as an integer that orders like the value.
#[inline(always)]
fn key<T: Element>(v: T) -> u64 {
    let top = 1u64 << (T::BYTES * 8 - 1);
    let bits = v.to_bits64();
    if bits & top == 0 { bits | top } else { !bits & (top | (top - 1)) }
}

impl<T: Element> Binning<T> {
    pub fn new(min: T, max: T) -> Self {
        // Zero has two patterns, -0 before +0, and either may stand for the smallest or the largest value.
        let first = if min == T::ZERO { key(-T::ZERO) } else { key(min) };
        let span = key(max + T::ZERO) - first;
        Self { first, shift: (64 - span.leading_zeros()).saturating_sub(BIN_BITS), _type: std::marker::PhantomData }
    }
    #[inline(always)]
    fn bin(&self, v: T) -> usize {
        ((key(v) - self.first) >> self.shift) as usize
    }
}

/// A run of the sorted values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    min: f64,
    max: f64,
    count: u64,
}

/// The distribution of the valid values: bins in ascending order, none empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quantiles {
    bins: Vec<Bin>,
    /// Values in all bins before each, and the total at the end.
    before: Vec<u64>,
}

impl Quantiles {
    pub fn of_field<T: Element>(
        field: &dyn Field<T>,
        valid: Validity,
        binning: Binning<T>,
        count: u64,
        control: &Control,
    ) -> Result<Self> {
        let units = Units::new(field.extents());
        let empty = || vec![(T::INFINITY, -T::INFINITY, 0u64); 1 << BIN_BITS];
        // One table a thread, not one a unit: the counts are whole numbers, so the order does not matter.
        let tables = units.par_iter().with_min_len(16).try_fold(empty, |mut table, unit| {
            control.check()?;
            let mut reader = RowReader::new(field);
            for segment in units.rows(unit) {
                for &v in reader.read(segment)?.iter().filter(|v| valid.is_valid(**v)) {
                    let (min, max, count) = &mut table[binning.bin(v)];
                    *min = if v < *min { v } else { *min };
                    *max = if v > *max { v } else { *max };
                    *count += 1;
                }
                control.advance((segment.len * T::BYTES) as u64);
            }
            Ok(table)
        });
        let table = tables.try_reduce(empty, |mut a, b| {
            for (a, b) in a.iter_mut().zip(b) {
                a.0 = if b.0 < a.0 { b.0 } else { a.0 };
                a.1 = if b.1 > a.1 { b.1 } else { a.1 };
                a.2 += b.2;
            }
            Ok(a)
        })?;
        let bins = table.into_iter().filter(|b| b.2 > 0);
        Ok(Self::join_small(bins.map(|(min, max, count)| Bin { min: min.to_f64(), max: max.to_f64(), count }), count))
    }
    /// Joins neighbours as long as they hold less than 1 in [`KEPT`] values together.
    fn join_small(all: impl Iterator<Item = Bin>, count: u64) -> Self {
        let mut bins: Vec<Bin> = Vec::new();
        for bin in all {
            match bins.last_mut() {
                Some(last) if last.count + bin.count <= count / KEPT => {
                    last.max = bin.max;
                    last.count += bin.count;
                }
                _ => bins.push(bin),
            }
        }
        let mut before = vec![0];
        let mut sum = 0;
        before.extend(bins.iter().map(|b| {
            sum += b.count;
            sum
        }));
        Self { bins, before }
    }
    fn total(&self) -> f64 {
        self.before.last().copied().unwrap_or(0) as f64
    }
    /// The value with the share `share` (0 to 1) of all values below it.
    pub fn value_at(&self, share: f64) -> f64 {
        let rank = share * self.total();
        let after = self.before.partition_point(|&b| b as f64 <= rank);
        let Some(bin) = self.bins.get(after.saturating_sub(1)).or(self.bins.last()) else { return 0.0 };
        let inside = (rank - self.before[after.saturating_sub(1)] as f64) / bin.count as f64;
        bin.min + inside.clamp(0.0, 1.0) * (bin.max - bin.min)
    }
    /// The share of values below `value`.
    pub fn share_below(&self, value: f64) -> f64 {
        if self.bins.is_empty() {
            return 0.0;
        }
        let at = self.bins.partition_point(|b| b.max < value);
        let inside = self.bins.get(at).map_or(0.0, |b| b.count as f64 * b.share_below(value));
        (self.before[at] as f64 + inside) / self.total()
    }
    pub fn histogram(&self, lo: f64, hi: f64, bins: usize) -> Vec<f64> {
        let mut out = vec![0.0; bins];
        let width = (hi - lo) / bins as f64;
        if !(width > 0.0 && width.is_finite()) {
            return out;
        }
        let first = self.bins.partition_point(|b| b.max < lo);
        for b in self.bins[first..].iter().take_while(|b| b.min <= hi) {
            let index = |v: f64| (((v - lo) / width).max(0.0) as usize).min(bins - 1);
            for (i, slot) in out.iter_mut().enumerate().take(index(b.max) + 1).skip(index(b.min)) {
                let (from, to) = (lo + i as f64 * width, lo + (i + 1) as f64 * width);
                // The last interval is closed.
                let below_end = if i + 1 == bins && b.max <= hi { 1.0 } else { b.share_below(to) };
                *slot += b.count as f64 * (below_end - b.share_below(from));
            }
        }
        out
    }
}

impl Bin {
    /// The share of this bin's values below `value`, as if they were spread evenly.
    fn share_below(&self, value: f64) -> f64 {
        if value <= self.min {
            0.0
        } else if value > self.max {
            1.0
        } else {
            (value - self.min) / (self.max - self.min)
        }
    }
}
