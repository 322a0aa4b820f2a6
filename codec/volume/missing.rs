//! Values that mean "missing".

use super::Element;
use serde::{Deserialize, Serialize};

/// Which values of a volume are no data, besides NaN and infinities: they are not part of ranges or metrics, and come
/// back bit for bit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Missing {
    /// Bit patterns of the element type, zero-extended.
    #[serde(rename = "missing", skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<u64>,
    /// Values outside this closed range are missing too.
    #[serde(rename = "valid", skip_serializing_if = "Option::is_none")]
    pub valid: Option<[f64; 2]>,
}

impl Missing {
    /// Whether every finite value is data.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.valid.is_none()
    }
    /// Whether `v` is missing.
    #[inline(always)]
    pub fn holds<T: Element>(&self, v: T) -> bool {
        let outside = |[lo, hi]: [f64; 2]| v.to_f64() < lo || v.to_f64() > hi;
        (!self.patterns.is_empty() && self.patterns.contains(&v.to_bits64())) || self.valid.is_some_and(outside)
    }
    /// The smallest and the largest value of type `T` inside the valid range: every value that is data lies between them. `None`
    /// where there is no range, or none that holds a value.
    pub fn limits<T: Element>(&self) -> Option<[T; 2]> {
        let [lo, hi] = self.valid?;
        // NaN ends make the range hold nothing.
        let [lo, hi] = (lo <= hi).then(|| [T::from_f64_up(lo), -T::from_f64_up(-hi)])?;
        (lo <= hi).then_some([lo, hi])
    }
}

impl From<Vec<u64>> for Missing {
    fn from(patterns: Vec<u64>) -> Self {
        Self { patterns, valid: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_outermost_values_of_the_type_inside_the_range() {
        let limits = |lo, hi| Missing { patterns: vec![], valid: Some([lo, hi]) }.limits::<f32>();
        let [lo, hi] = limits(0.1, 0.1 + 1e-3).unwrap();
        assert!(lo.to_f64() >= 0.1 && lo.next_down().to_f64() < 0.1);
        assert!(hi.to_f64() <= 0.1 + 1e-3 && hi.next_up().to_f64() > 0.1 + 1e-3);
        assert_eq!(limits(0.0, f64::INFINITY), Some([0.0, f32::INFINITY]));
        assert_eq!(limits(-1e300, 1e300), Some([f32::MIN, f32::MAX]));
        assert_eq!(limits(f64::NAN, 1.0), None);
        assert_eq!((limits(2.0, 1.0), Missing::default().limits::<f32>()), (None, None));
    }

    #[test]
    fn patterns_and_values_outside_the_valid_range_are_missing() {
        let missing = Missing { patterns: vec![(-999f32).to_bits().into()], valid: Some([0.0, 10.0]) };
        assert!([-999f32, -1.0, 10.5, f32::INFINITY].iter().all(|v| missing.holds(*v)));
        assert!([0f32, -0.0, 10.0, f32::NAN].iter().all(|v| !missing.holds(*v)));
        assert!(Missing::default().is_empty() && !Missing::default().holds(1e30f32));
        let json = serde_json::to_string(&missing).unwrap();
        assert_eq!(serde_json::from_str::<Missing>(&json).unwrap(), missing);
    }
}
