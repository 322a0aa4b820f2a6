//! What regions by value need to know of a volume, computed once and kept.

use super::gradient::GradientField;
use super::ranges::BlockRanges;
use super::select::{ScalarSelector, Selector, Test};
use crate::volume::{Field, Missing, NodeSteps, Stats, Validity, Values, Volume};
use crate::{Control, Element, Result};
use std::sync::{Arc, OnceLock};

/// A volume with its statistics and, once a region asks for them, the block ranges of its values and the gradient magnitude's.
/// Share it between regions and between edits: a threshold then moves without another pass over the data.
pub struct Analysis {
    volume: Volume,
    values: Scalars,
    gradient: OnceLock<Scalars>,
}

/// A scalar field, its statistics and its block ranges.
enum Scalars {
    F32(Scalar<f32>),
    F64(Scalar<f64>),
}

struct Scalar<T: Element> {
    field: Arc<dyn Field<T>>,
    missing: Missing,
    stats: Stats,
    ranges: OnceLock<Arc<BlockRanges<T>>>,
}

impl Analysis {
    /// `stats` are those of `volume`.
    pub fn new(volume: Volume, stats: Stats) -> Self {
        let missing = volume.missing.clone();
        let values = match &volume.values {
            Values::F32(f) => Scalars::F32(Scalar { field: f.clone(), missing, stats, ranges: OnceLock::new() }),
            Values::F64(f) => Scalars::F64(Scalar { field: f.clone(), missing, stats, ranges: OnceLock::new() }),
        };
        Self { volume, values, gradient: OnceLock::new() }
    }
    pub fn volume(&self) -> &Volume {
        &self.volume
    }
    pub fn stats(&self) -> &Stats {
        self.values.stats()
    }
    /// Statistics of the gradient magnitude, in units of the values over units of the axes (nodes, where an axis has neither spacing nor coordinates).
    pub fn gradient_stats(&self, control: &Control) -> Result<&Stats> {
        Ok(self.gradient(control)?.stats())
    }
    /// Computes the block ranges of the values, which otherwise happens when the first region by value asks.
    pub fn prepare(&self, control: &Control) -> Result<()> {
        self.values.selector(Test::NonZero, control).map(drop)
    }
    /// The voxels with values from `lo` to `hi`.
    pub(super) fn values_within(&self, lo: f64, hi: f64, control: &Control) -> Result<Box<dyn Selector>> {
        self.values.selector(Test::Within(lo, hi), control)
    }
    /// The voxels with gradient magnitudes from `lo` to `hi`.
    pub(super) fn gradient_within(&self, lo: f64, hi: f64, control: &Control) -> Result<Box<dyn Selector>> {
        self.gradient(control)?.selector(Test::Within(lo, hi), control)
    }
    fn gradient(&self, control: &Control) -> Result<&Scalars> {
        if self.gradient.get().is_none() {
            let steps = &NodeSteps::of(&self.volume.meta, self.volume.shape.n);
            let made = match &self.values {
                Scalars::F32(s) => Scalars::F32(s.gradient(steps, control)?),
                Scalars::F64(s) => Scalars::F64(s.gradient(steps, control)?),
            };
            // Of two threads that both computed it, one wins; the results are the same.
            let _ = self.gradient.set(made);
        }
        Ok(self.gradient.get().expect("set above"))
    }
}

impl Scalars {
    fn stats(&self) -> &Stats {
        match self {
            Scalars::F32(s) => &s.stats,
            Scalars::F64(s) => &s.stats,
        }
    }
    fn selector(&self, test: Test, control: &Control) -> Result<Box<dyn Selector>> {
        match self {
            Scalars::F32(s) => s.selector(test, control),
            Scalars::F64(s) => s.selector(test, control),
        }
    }
}

impl<T: Element> Scalar<T> {
    fn selector(&self, test: Test, control: &Control) -> Result<Box<dyn Selector>> {
        let ranges =
            if BlockRanges::<T>::are_worthwhile(self.field.extents()) { Some(self.ranges(control)?) } else { None };
        Ok(Box::new(ScalarSelector { field: self.field.clone(), missing: self.missing.clone(), test, ranges }))
    }
    fn ranges(&self, control: &Control) -> Result<Arc<BlockRanges<T>>> {
        if self.ranges.get().is_none() {
            let made = BlockRanges::of(&*self.field, Validity::new(&self.missing), control)?;
            let _ = self.ranges.set(Arc::new(made));
        }
        Ok(self.ranges.get().expect("set above").clone())
    }
    fn gradient(&self, steps: &NodeSteps, control: &Control) -> Result<Scalar<T>> {
        let field = GradientField { field: self.field.clone(), missing: self.missing.clone(), steps: steps.clone() };
        let stats = Stats::of_field(&field, Validity::new(&Missing::default()), control)?;
        Ok(Scalar { field: Arc::new(field), missing: Missing::default(), stats, ranges: OnceLock::new() })
    }
}
