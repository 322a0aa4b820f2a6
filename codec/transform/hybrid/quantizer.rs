//! Steps and checks of the tiers: from an absolute tolerance to the numbers that the kernels use.

use crate::entropy::huffman::EXACT;
use crate::volume::DType;
use crate::{Element, ToleranceMap};

/// Largest |q|; wider details are stored exactly.
const Q_MAX: f64 = (1 << 30) as f64;

/// A uniform scalar quantizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantizer<T> {
    pub step: T,
    pub inverse: T,
}

impl<T: Element> Quantizer<T> {
    /// With the given half step; one that is zero or beyond T keeps nothing.
    pub fn new(half: f64) -> Self {
        let step = T::from_f64(2.0 * half);
        if half > 0.0 && step > T::ZERO && step.is_finite() {
            Self { step, inverse: T::from_f64(1.0 / step.to_f64()) }
        } else {
            Self { step: T::ZERO, inverse: T::ZERO }
        }
    }
    /// rint(d / step); [`EXACT`] when that is too wide, 0 when d is not finite.
    #[inline(always)]
    pub fn quantize(&self, d: T) -> i32 {
        let t = d * self.inverse;
        let fits = t.abs() <= T::from_f64(Q_MAX);
        let wide = if d.abs() < T::INFINITY { EXACT } else { 0 };
        let q = t.rint().to_i32();
        if fits { q } else { wide }
    }
    /// The detail that a symbol stands for; 0 for [`EXACT`], whose value is put in its place.
    #[inline(always)]
    pub fn dequantize(&self, q: i32) -> T {
        T::from_i32(if q == EXACT { 0 } else { q }) * self.step
    }
    /// `w` plus the detail of a symbol, rounded once.
    #[inline(always)]
    pub fn add(&self, w: T, q: i32) -> T {
        T::from_i32(if q == EXACT { 0 } else { q }).fma(self.step, w)
    }
}

/// What a tier of a tolerance map asks of this frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierBound<T> {
    /// Stored bit for bit beside the hierarchy.
    pub lossless: bool,
    /// The part of the tolerance that quantization may use; infinite when the tier asks for nothing of the hierarchy.
    pub budget: f64,
    /// |u - v| <= check, computed in T, implies the tolerance in exact arithmetic.
    pub check: T,
}

impl<T: Element> TierBound<T> {
    /// Of an absolute tolerance in a frame whose largest |u| is `max_abs`.
    pub fn new(tau: f64, max_abs: f64) -> Self {
        // Below these, some level's step or its inverse could leave the normal numbers of T.
        let (smallest, roundoff) = match T::DTYPE {
            DType::F32 => (2f64.powi(-80), 2f64.powi(-24)),
            DType::F64 => (2f64.powi(-900), 2f64.powi(-53)),
        };
        if tau < smallest {
            return Self { lossless: true, budget: f64::INFINITY, check: T::ZERO };
        }
        // 2 eps max|u| leaves room for the rounding of the recomposition, so that patches stay rare.
        let budget = tau * (1.0 - 2f64.powi(-20)) - 2.0 * roundoff * max_abs;
        let largest = T::from_f64_down(f64::MAX);
        let check = if tau >= largest.to_f64() { largest } else { next_down(T::from_f64_down(tau)) };
        Self { lossless: false, budget: budget.max(tau / 2.0), check }
    }
    /// Of all tiers of a map.
    pub fn of_map(map: &ToleranceMap, max_abs: f64) -> Vec<Self> {
        map.tiers.iter().map(|t| Self::new(t.tau, max_abs)).collect()
    }
}

/// The next smaller value of a positive one.
fn next_down<T: Element>(v: T) -> T {
    T::from_bits64(v.to_bits64() - 1)
}

/// The quantizers of one level, by tier.
pub fn level_quantizers<T: Element>(bounds: &[TierBound<T>], factor: f64) -> Vec<Quantizer<T>> {
    bounds.iter().map(|b| Quantizer::new(b.budget * factor)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_tolerances_give_safe_quantizers() {
        for tau in [0.0, 5e-324, 1e-30, 1e-3, 1e38, 1e300, f64::INFINITY] {
            let b = TierBound::<f32>::new(tau, 1.0);
            let q = Quantizer::<f32>::new(b.budget * 0.25);
            assert!(q.step.is_finite() && q.inverse.is_finite() && b.check.is_finite() && b.check.to_f64() <= tau);
            assert_eq!(b.lossless, tau < 1e-24);
            assert!(q.add(1.5, q.quantize(-3.0)).is_finite());
        }
    }

    #[test]
    fn wide_details_are_exact_and_infinite_ones_vanish() {
        let q = Quantizer::<f64>::new(0.5);
        assert_eq!(q.quantize(1e10), EXACT);
        assert_eq!(q.quantize(f64::NAN), 0);
        assert_eq!(q.quantize(f64::INFINITY), 0);
        assert_eq!((q.quantize(2.5), q.quantize(-3.5)), (2, -4));
    }
}
