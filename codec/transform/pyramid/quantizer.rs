//! Quantization of residuals: one set of constants per tier (FORMAT.md, "Quantization").

use super::lanes::Real;
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
    /// `max_abs` is the largest |u| of the frame.
    pub fn new(tau: f64, max_abs: T) -> Self {
        if tau == 0.0 {
            return Self { step: T::ZERO, inverse: T::ZERO, check: -T::ONE };
        }
        if tau == f64::INFINITY {
            return Self { step: T::ZERO, inverse: T::ZERO, check: T::MAX };
        }
        let half = tau * (1.0 - 2f64.powi(-20)) - T::UNIT_ROUNDOFF * max_abs.to_f64();
        let step = T::from_f64_down(2.0 * half.max(tau * 0.5));
        Self { step, inverse: T::from_f64(1.0 / step.to_f64()), check: T::from_f64_down(tau).next_down() }
    }
    /// One per tier, in the order of the tolerance map.
    pub fn table(tiers: &[Tier], max_abs: T) -> Vec<Self> {
        tiers.iter().map(|t| Self::new(t.tau, max_abs)).collect()
    }
    /// The symbol of value `u` with prediction `p` and its reconstruction; None when the node must be exact.
    pub fn quantize(&self, u: T, p: T) -> Option<(i16, T)> {
        let q = ((u - p) * self.inverse).rint() + T::ZERO;
        let r = q.fma(self.step, p);
        let fits = q.abs() <= T::Q_MAX && (u - r).abs() <= self.check;
        fits.then(|| (q.to_f64() as i16, r))
    }
}
