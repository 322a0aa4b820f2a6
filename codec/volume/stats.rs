//! Statistics of a volume over its valid values: range, mean, counts, percentiles.

use super::quantiles::{Binning, Quantiles};
use super::scan::{RowReader, Units};
use super::{Element, Field, Missing, Values, Volume};
use crate::{Control, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which values count: finite and not missing.
#[derive(Clone, Copy, Debug)]
pub struct Validity<'a> {
    missing: &'a Missing,
}

impl<'a> Validity<'a> {
    /// `missing` as in [`Volume::missing`].
    pub fn new(missing: &'a Missing) -> Self {
        Self { missing }
    }
    #[inline(always)]
    pub fn is_missing<T: Element>(&self, v: T) -> bool {
        !self.missing.is_empty() && self.missing.holds(v)
    }
    #[inline(always)]
    pub fn is_valid<T: Element>(&self, v: T) -> bool {
        v.is_finite() && !self.is_missing(v)
    }
}

/// What is known of the values of one volume. Everything but the counts is over valid values only: finite and
/// not missing. All figures are 0 when there are none.
/// Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Values in all.
    pub count: u64,
    /// Finite values that are not missing.
    pub valid: u64,
    pub nan: u64,
    pub infinite: u64,
    /// Values that the volume calls missing (a NaN pattern counts here, not under `nan`).
    pub missing: u64,
    pub min: f64,
    pub max: f64,
    /// Largest |u|, the base of a REL tolerance.
    pub max_abs: f64,
    pub mean: f64,
    #[serde(skip)]
    quantiles: Arc<Quantiles>,
}

impl Stats {
    /// Two parallel passes over the volume; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// When reading fails or `control` was cancelled.
    pub fn of(volume: &Volume, control: &Control) -> Result<Self> {
        let valid = Validity::new(&volume.missing);
        match &volume.values {
            Values::F32(f) => Self::of_field(&**f, valid, control),
            Values::F64(f) => Self::of_field(&**f, valid, control),
        }
    }
    /// As [`Stats::of`] for one field.
    pub fn of_field<T: Element>(field: &dyn Field<T>, valid: Validity, control: &Control) -> Result<Self> {
        let n = field.extents();
        let bytes = n.iter().product::<usize>() as u64 * T::BYTES as u64;
        control.begin(2 * bytes);
        let total = Totals::of_field(field, valid, control)?;
        let mut stats = total.into_stats(n.iter().product::<usize>() as u64);
        if stats.valid > 0 {
            let binning = Binning::<T>::new(T::from_f64(stats.min), T::from_f64(stats.max));
            stats.quantiles = Arc::new(Quantiles::of_field(field, valid, binning, stats.valid, control)?);
        }
        field.check()?;
        Ok(stats)
    }
    /// max - min, the base of a RANGE tolerance; at most `f64::MAX`.
    pub fn range(&self) -> f64 {
        (self.max - self.min).min(f64::MAX)
    }
    /// The value below which `percent` (0 to 100) of the valid values lie, to about 0.01 % of rank; exactly the
    /// smallest and largest at 0 and 100, and exact where many values are equal.
    pub fn percentile(&self, percent: f64) -> f64 {
        match percent {
            p if p <= 0.0 => self.min,
            p if p >= 100.0 => self.max,
            p => self.quantiles.value_at(p / 100.0),
        }
    }
    /// The percentage of valid values below `value`: the inverse of [`Stats::percentile`].
    pub fn rank(&self, value: f64) -> f64 {
        100.0 * self.quantiles.share_below(value)
    }
    /// Number of valid values in each of `bins` equal intervals of `lo..hi`, for drawing (to about 0.01 % of the total).
    pub fn histogram(&self, lo: f64, hi: f64, bins: usize) -> Vec<f64> {
        self.quantiles.histogram(lo, hi, bins)
    }
}

/// Range, sum and counts of some values.
#[derive(Clone, Copy, Debug)]
struct Totals<T> {
    min: T,
    max: T,
    sum: f64,
    valid: u64,
    nan: u64,
    infinite: u64,
    missing: u64,
}

impl<T: Element> Totals<T> {
    fn none() -> Self {
        Self { min: T::INFINITY, max: -T::INFINITY, sum: 0.0, valid: 0, nan: 0, infinite: 0, missing: 0 }
    }
    fn of_field(field: &dyn Field<T>, valid: Validity, control: &Control) -> Result<Self> {
        let units = Units::new(field.extents());
        let parts: Vec<Self> = units
            .par_iter()
            .map_init(
                || RowReader::new(field),
                |reader, unit| {
                    control.check()?;
                    let mut part = Self::none();
                    for segment in units.rows(unit) {
                        part.add_row(reader.read(segment)?, valid);
                        control.advance((segment.len * T::BYTES) as u64);
                    }
                    Ok(part)
                },
            )
            .collect::<Result<_>>()?;
        Ok(parts.into_iter().fold(Self::none(), Self::join))
    }
    fn add_row(&mut self, row: &[T], valid: Validity) {
        if !self.add_plain(row, valid) {
            row.iter().for_each(|&v| self.add(v, valid));
        }
    }
    /// The common case, fast: every value is valid. Leaves everything as it was and says no otherwise.
    fn add_plain(&mut self, row: &[T], valid: Validity) -> bool {
        if !valid.missing.is_empty() || !row.iter().all(|v| v.is_finite()) {
            return false;
        }
        const LANES: usize = 8;
        let (mut min, mut max, mut sum) = ([self.min; LANES], [self.max; LANES], [0.0; LANES]);
        let chunks = row.chunks_exact(LANES);
        for &v in chunks.remainder() {
            self.add(v, valid);
        }
        for chunk in chunks {
            for (i, &v) in chunk.iter().enumerate() {
                min[i] = if v < min[i] { v } else { min[i] };
                max[i] = if v > max[i] { v } else { max[i] };
                sum[i] += v.to_f64();
            }
        }
        self.valid += (row.len() - row.len() % LANES) as u64;
        self.sum += sum.iter().sum::<f64>();
        self.min = min.into_iter().fold(self.min, |a, b| if b < a { b } else { a });
        self.max = max.into_iter().fold(self.max, |a, b| if b > a { b } else { a });
        true
    }
    fn add(&mut self, v: T, valid: Validity) {
        if valid.is_missing(v) {
            self.missing += 1;
        } else if v.is_finite() {
            self.valid += 1;
            self.sum += v.to_f64();
            self.min = if v < self.min { v } else { self.min };
            self.max = if v > self.max { v } else { self.max };
        } else if v.abs() == T::INFINITY {
            self.infinite += 1;
        } else {
            self.nan += 1;
        }
    }
    fn join(self, o: Self) -> Self {
        Self {
            min: if o.min < self.min { o.min } else { self.min },
            max: if o.max > self.max { o.max } else { self.max },
            sum: self.sum + o.sum,
            valid: self.valid + o.valid,
            nan: self.nan + o.nan,
            infinite: self.infinite + o.infinite,
            missing: self.missing + o.missing,
        }
    }
    fn into_stats(self, count: u64) -> Stats {
        let Self { valid, nan, infinite, missing, .. } = self;
        let mut stats = Stats { count, valid, nan, infinite, missing, ..Stats::default() };
        if valid > 0 {
            (stats.min, stats.max) = (self.min.to_f64(), self.max.to_f64());
            stats.max_abs = stats.min.abs().max(stats.max.abs());
            stats.mean = self.sum / valid as f64;
        }
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::SliceField;

    fn stats(data: &[f32], n: [usize; 3], missing: &[u64]) -> Stats {
        Stats::of_field(&SliceField::new(data, n), Validity::new(&missing.to_vec().into()), &Control::default())
            .unwrap()
    }

    #[test]
    fn special_and_missing_values_are_counted_and_left_out() {
        let data = [1.0, f32::NAN, -3.0, f32::INFINITY, 9e36, f32::NEG_INFINITY, 2.0, -0.0];
        let s = stats(&data, [2, 1, 4], &[9e36f32.to_bits() as u64]);
        assert_eq!((s.count, s.valid, s.nan, s.infinite, s.missing), (8, 4, 1, 2, 1));
        assert_eq!((s.min, s.max, s.max_abs, s.mean, s.range()), (-3.0, 2.0, 3.0, 0.0, 5.0));
    }

    #[test]
    fn nothing_valid_gives_zeros() {
        let s = stats(&[f32::NAN; 9], [1, 3, 3], &[]);
        assert_eq!((s.valid, s.nan, s.min, s.max, s.percentile(50.0)), (0, 9, 0.0, 0.0, 0.0));
        assert_eq!(s.histogram(0.0, 1.0, 4), [0.0; 4]);
    }

    #[test]
    fn percentiles_match_sorted_values() {
        let data: Vec<f32> = (0..100_000).map(|i| ((i * 7919 % 100_000) as f32 / 1000.0 - 50.0).powi(3)).collect();
        let s = stats(&data, [10, 100, 100], &[]);
        let mut sorted = data.clone();
        sorted.sort_by(f32::total_cmp);
        for p in [0.0, 0.1, 1.0, 15.0, 40.0, 50.0, 99.9, 100.0] {
            let rank = s.rank(s.percentile(p));
            assert!((rank - p).abs() < 0.02, "{p}: {rank}");
            let exact = sorted[((p / 100.0 * 99_999.0) as usize).min(99_999)] as f64;
            let below = sorted.partition_point(|&v| (v as f64) < s.percentile(p)) as f64 / 1000.0;
            assert!((below - p).abs() < 0.02, "{p}: {below}, {exact} against {}", s.percentile(p));
        }
    }

    #[test]
    fn an_outlier_and_equal_values_do_not_spoil_percentiles() {
        let mut data: Vec<f32> = (0..10_000).map(|i| if i < 4600 { 0.0 } else { 287.0 + i as f32 / 5000.0 }).collect();
        data[9_999] = 9.97e36;
        let s = stats(&data, [1, 100, 100], &[]);
        assert_eq!(s.percentile(20.0), 0.0);
        assert!((s.percentile(75.0) - 288.5).abs() < 0.01, "{}", s.percentile(75.0));
        let h = s.histogram(287.0, 289.0, 4);
        assert!((h.iter().sum::<f64>() - 5399.0).abs() < 20.0, "{h:?}");
    }

    #[test]
    fn the_result_does_not_depend_on_threads() {
        let data: Vec<f32> = (0..300_000u32).map(|i| (i.wrapping_mul(2654435761) as f32).sqrt()).collect();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one.install(|| stats(&data, [3, 100, 1000], &[])), stats(&data, [3, 100, 1000], &[]));
    }
}
