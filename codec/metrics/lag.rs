//! Correlation of the error with itself one node further along an axis.

/// Sums over pairs of neighbouring errors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairSums {
    pairs: f64,
    first: f64,
    second: f64,
    product: f64,
}

impl PairSums {
    /// Adds the pairs `(a[i], b[i])`; those with a NaN do not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        for (&a, &b) in a.iter().zip(b) {
            let product = a * b;
            let there = !product.is_nan();
            self.pairs += there as u8 as f64;
            self.first += if there { a } else { 0.0 };
            self.second += if there { b } else { 0.0 };
            self.product += if there { product } else { 0.0 };
        }
    }
    pub fn join(&mut self, later: &PairSums) {
        self.pairs += later.pairs;
        self.first += later.first;
        self.second += later.second;
        self.product += later.product;
    }
    /// Covariance of the pairs over the variance of all errors; 0 when there are none or nothing varies.
    pub fn correlation(&self, variance: f64) -> f64 {
        if self.pairs == 0.0 || variance <= 0.0 || !variance.is_finite() {
            return 0.0;
        }
        let covariance = self.product / self.pairs - (self.first / self.pairs) * (self.second / self.pairs);
        covariance / variance
    }
}
