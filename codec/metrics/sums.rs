//! Sums over some values, per tier, that join in a fixed order.

use super::exact::keeps;
use super::report::{TierReport, psnr_db};
use crate::volume::Validity;
use crate::{Element, Tier};

/// Intervals of an error histogram.
pub(super) const BINS: usize = 100;

/// Squares of errors within these magnitudes leave the range of f64 at neither end.
const SQUARED: std::ops::RangeInclusive<f64> = 1e-140..=1e140;

/// The power of two that brings `size` near 1 before it is squared; 1 where that is not needed, and for 0.
pub(crate) fn square_scale(size: f64) -> f64 {
    if size == 0.0 || size.is_nan() || SQUARED.contains(&size) {
        return 1.0;
    }
    // Twice the largest f64 is what a difference can be; the power is one of f64 in any case.
    let size = size.min(f64::MAX);
    2f64.powi((-(size.log2().round() as i32)).clamp(-1022, 1022))
}

/// Sums over the values of one tier.
#[derive(Clone, Debug, Default)]
pub(super) struct TierSums {
    pub values: u64,
    pub violations: u64,
    /// Of errors times [`Sums::scale`], as `squares`.
    pub sum: f64,
    pub squares: f64,
    pub max_error: f64,
    pub max_error_at: Option<[usize; 3]>,
    histogram: Vec<u64>,
}

/// Sums over all tiers.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub tiers: Vec<TierSums>,
    /// A power of two that errors are multiplied by before they are squared.
    pub scale: f64,
    pub special: u64,
    pub special_changed: u64,
    pub min: f64,
    pub max: f64,
}

impl Sums {
    pub fn new(tiers: &[Tier], scale: f64) -> Self {
        let bounded = |t: &Tier| t.tau > 0.0 && t.tau.is_finite();
        let empty =
            |t: &Tier| TierSums { histogram: vec![0; if bounded(t) { BINS } else { 0 }], ..TierSums::default() };
        Self {
            tiers: tiers.iter().map(empty).collect(),
            scale,
            special: 0,
            special_changed: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
    /// Adds values `(z, y, x ..)` that all belong to one tier; writes v - u, scaled, into `errors`, NaN where u is special.
    pub fn add<T: Element>(
        &mut self,
        tier: usize,
        tau: f64,
        valid: Validity,
        at: [usize; 3],
        (u, v): (&[T], &[T]),
        errors: &mut [f64],
    ) {
        let sums = &mut self.tiers[tier];
        let (bins, scale) = (BINS as f64 / (2.0 * tau), self.scale);
        for (i, ((&u, &v), error)) in u.iter().zip(v).zip(errors.iter_mut()).enumerate() {
            let same_bits = u.to_bits64() == v.to_bits64();
            if !valid.is_valid(u) {
                self.special += 1;
                self.special_changed += !same_bits as u64;
                *error = f64::NAN;
                continue;
            }
            let (u, v) = (u.to_f64(), v.to_f64());
            let e = v - u;
            // The difference of two large values may exceed f64, but not that of scaled ones.
            let scaled = if scale == 1.0 { e } else { v * scale - u * scale };
            *error = scaled;
            self.min = self.min.min(u);
            self.max = self.max.max(u);
            sums.values += 1;
            sums.sum += scaled;
            sums.squares += scaled * scaled;
            // A reconstruction that is NaN is infinitely far away.
            let size = if e.is_nan() { f64::INFINITY } else { e.abs() };
            if size > sums.max_error {
                (sums.max_error, sums.max_error_at) = (size, Some([at[0], at[1], at[2] + i]));
            }
            sums.violations += if tau == 0.0 { !same_bits } else { !keeps(u, v, tau) } as u64;
            if !sums.histogram.is_empty() {
                let bin = ((e + tau) * bins) as usize;
                sums.histogram[bin.min(BINS - 1)] += 1;
            }
        }
    }
    /// Adds the sums over values that come later in C order.
    pub fn join(&mut self, later: Sums) {
        self.special += later.special;
        self.special_changed += later.special_changed;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        for (a, b) in self.tiers.iter_mut().zip(later.tiers) {
            a.values += b.values;
            a.violations += b.violations;
            a.sum += b.sum;
            a.squares += b.squares;
            if b.max_error > a.max_error {
                (a.max_error, a.max_error_at) = (b.max_error, b.max_error_at);
            }
            a.histogram.iter_mut().zip(b.histogram).for_each(|(a, b)| *a += b);
        }
    }
    /// max - min of the original; 0 when nothing is valid.
    pub fn range(&self) -> f64 {
        (self.max - self.min).clamp(0.0, f64::MAX)
    }
    /// The range times [`Sums::scale`], which may exceed f64 itself.
    pub fn scaled_range(&self) -> f64 {
        if self.scale == 1.0 { self.range() } else { (self.max * self.scale - self.min * self.scale).max(0.0) }
    }
    /// The scale that the squares of these errors need.
    pub fn needed_scale(&self) -> f64 {
        let largest = self.tiers.iter().map(|t| t.max_error).fold(0.0, f64::max);
        match largest.is_finite() {
            true => square_scale(largest),
            // A difference beyond f64, or a reconstruction that is no number.
            false => square_scale(if self.range() > *SQUARED.end() { f64::MAX } else { 0.0 }),
        }
    }
    /// Number of values and RMSE, times [`Sums::scale`], over the tiers that `pick` leaves.
    pub fn rmse(&self, pick: impl Fn(usize) -> bool) -> (u64, f64) {
        let picked = || self.tiers.iter().enumerate().filter(|(i, _)| pick(*i)).map(|(_, t)| t);
        let values = picked().map(|t| t.values).sum::<u64>();
        let squares = picked().map(|t| t.squares).sum::<f64>();
        (values, rmse(squares, values))
    }
}

fn rmse(squares: f64, values: u64) -> f64 {
    // NaN errors make the sum NaN: as far away as can be.
    let mean = if squares.is_nan() { f64::INFINITY } else { squares / values.max(1) as f64 };
    mean.sqrt()
}

impl TierSums {
    /// Largest error over tolerance; 0 for lossless and ignored tiers.
    pub fn over_tau(&self, tau: f64) -> f64 {
        if tau > 0.0 && tau.is_finite() { self.max_error / tau } else { 0.0 }
    }
    /// `scale` is [`Sums::scale`], `range` the range times it.
    pub fn report(self, tier: &Tier, range: f64, scale: f64) -> TierReport {
        let rmse = rmse(self.squares, self.values);
        TierReport {
            name: tier.name.clone(),
            tau: tier.tau,
            values: self.values,
            violations: self.violations,
            max_error: self.max_error,
            max_error_at: self.max_error_at,
            max_error_over_tau: self.over_tau(tier.tau),
            rmse: rmse / scale,
            psnr_db: psnr_db(range, rmse),
            histogram: self.histogram,
        }
    }
}
