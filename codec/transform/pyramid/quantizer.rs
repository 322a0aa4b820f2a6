//! Quantization of residuals: one set of constants per tier (FORMAT.md, "Quantization").

use super::lanes::{Lanes, Real};
use crate::Tier;

/// The constants of one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantizer<T> {
    pub step: T,
    pub inverse: T,
    /// Largest |u - r|, computed in T, that keeps the bound in exact arithmetic.
    pub check: T,
}

impl<T: Real> Quantizer<T> {
    /// `max_abs` is the largest |u| of the frame, `factor` the level's share of the step.
    pub fn new(tau: f64, max_abs: T, factor: f64) -> Self {
        if tau == 0.0 {
            return Self { step: T::ZERO, inverse: T::ZERO, check: -T::ONE };
        }
        if tau == f64::INFINITY {
            return Self { step: T::ZERO, inverse: T::ZERO, check: T::MAX };
        }
        let half = tau * (1.0 - 2f64.powi(-20)) - T::UNIT_ROUNDOFF * max_abs.to_f64();
        let step = T::from_f64_down(2.0 * half.max(tau * 0.5) * factor);
        Self { step, inverse: T::from_f64(1.0 / step.to_f64()), check: T::from_f64_down(tau).next_down() }
    }
    /// The symbol of value `u` with prediction `p` and its reconstruction; None when the node must be exact.
    pub fn quantize(&self, u: T, p: T) -> Option<(i16, T)> {
        let q = ((u - p) * self.inverse).rint() + T::ZERO;
        let r = q.fma(self.step, p);
        let fits = q.abs() <= T::Q_MAX && (u - r).abs() <= self.check;
        fits.then(|| (q.to_f64() as i16, r))
    }
}

/// The quantizers of one tolerance block of W tiles.
#[derive(Clone, Copy, Debug)]
pub struct QuantizerLanes<T, const W: usize> {
    pub step: Lanes<T, W>,
    pub inverse: Lanes<T, W>,
    pub check: Lanes<T, W>,
}

impl<T: Real, const W: usize> Default for QuantizerLanes<T, W> {
    fn default() -> Self {
        Self { step: Lanes::default(), inverse: Lanes::default(), check: Lanes::default() }
    }
}

impl<T: Real, const W: usize> QuantizerLanes<T, W> {
    pub fn set(&mut self, lane: usize, quantizer: &Quantizer<T>) {
        self.step[lane] = quantizer.step;
        self.inverse[lane] = quantizer.inverse;
        self.check[lane] = quantizer.check;
    }
}

/// Parts of the full step on the levels of quantization: finer where other nodes are predicted from.
pub const LEVELS: [f64; 4] = [1.0, 0.875, 0.75, 2.0 / 3.0];

/// The quantizers of all tiers, in the order of the tolerance map, on each level.
pub type QuantizerTable<T> = [Vec<Quantizer<T>>; LEVELS.len()];

/// All quantizers of a frame.
pub fn table<T: Real>(tiers: &[Tier], max_abs: T) -> QuantizerTable<T> {
    LEVELS.map(|factor| tiers.iter().map(|t| Quantizer::new(t.tau, max_abs, factor)).collect())
}
