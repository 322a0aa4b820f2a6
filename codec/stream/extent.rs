//! Smallest and largest value: the bases of relative tolerances.

/// Over the ordinary values (finite, not missing) of a frame or volume; f32 values widen exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    pub min: f64,
    pub max: f64,
}

impl Extent {
    /// No ordinary value at all.
    pub const EMPTY: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// Zeros lose their sign, so that the order of comparisons leaves no trace.
    pub fn new(min: f64, max: f64) -> Self {
        Self { min: min + 0.0, max: max + 0.0 }
    }
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
    /// Largest magnitude, the base of a REL tolerance; 0 when empty.
    pub fn max_abs(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.max.max(-self.min) + 0.0 }
    }
    /// max - min, the base of a RANGE tolerance; 0 when empty, at most `f64::MAX`.
    pub fn range(&self) -> f64 {
        if self.is_empty() { 0.0 } else { (self.max - self.min).min(f64::MAX) }
    }
    pub fn is_empty(&self) -> bool {
        self.min > self.max
    }
}
