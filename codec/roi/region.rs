//! A region bound to one volume: its blocks, its voxels in a slice, its runs.

use super::bits::runs_of_bits;
use super::blocks::BlockMask;
use super::geometry::Geometry;
use super::select::{GeometrySelector, GrownBlocks, GrownVoxels, Selector, open_mask};
use super::spec::{Grow, Interval, RegionShape, RegionSpec};
use super::{Analysis, MaskRuns, Run};
use crate::{Control, Error, Result, Shape};
use rayon::prelude::*;
use std::path::Path;

/// The voxels of one region in one volume.
pub struct RegionMask<'a> {
    selector: Box<dyn Selector + 'a>,
    shape: Shape,
}

impl RegionSpec {
    /// Binds the region to a volume. Relative paths of mask files start at `folder`.
    ///
    /// # Errors
    /// When the region does not fit the volume's shape, or a mask file cannot be read.
    pub fn resolve<'a>(&'a self, analysis: &Analysis, folder: &Path, control: &Control) -> Result<RegionMask<'a>> {
        let volume = analysis.volume();
        let (shape, stats) = (volume.shape, analysis.stats());
        let inside = |geometry: Geometry| -> Result<Box<dyn Selector + 'a>> {
            if geometry.bounds(shape.n).is_empty() {
                return Err(Error::invalid(format!("it lies outside the volume of shape {shape}"))
                    .remedy("positions count voxels from 0, slowest axis first"));
            }
            Ok(Box::new(GeometrySelector { geometry, n: shape.n }))
        };
        let selector: Box<dyn Selector + 'a> = match &self.shape {
            RegionShape::Value(i) => {
                let (lo, hi) = i.ends(f64::MIN, f64::MAX);
                analysis.values_within(lo, hi, control)?
            }
            RegionShape::Percentile(i) => {
                let (lo, hi) = i.ends(0.0, 100.0);
                analysis.values_within(stats.percentile(lo), stats.percentile(hi), control)?
            }
            RegionShape::Fraction(i) => {
                let (lo, hi) = i.ends(0.0, 1.0);
                // From the minimum on, so that fraction 0 is the smallest value itself; halves, since the range may overflow.
                let value = |f: f64| {
                    if f >= 1.0 { stats.max } else { stats.min + (stats.max / 2.0 - stats.min / 2.0) * (2.0 * f) }
                };
                analysis.values_within(value(lo), value(hi), control)?
            }
            RegionShape::Gradient(i) => {
                let (lo, hi) = i.ends(0.0, f64::MAX);
                analysis.gradient_within(lo, hi, control)?
            }
            RegionShape::GradientPercentile(i) => {
                let (lo, hi) = i.ends(0.0, 100.0);
                let stats = analysis.gradient_stats(control)?;
                analysis.gradient_within(stats.percentile(lo), stats.percentile(hi), control)?
            }
            RegionShape::Box(b) => inside(b.geometry(&shape)?)?,
            RegionShape::Ellipsoid(e) => inside(e.geometry(&shape)?)?,
            RegionShape::Polygon(p) => inside(p.geometry(&shape)?)?,
            RegionShape::Mask(m) => open_mask(m, folder, volume)?,
            RegionShape::Painted(runs) if runs.shape().n != shape.n => {
                return Err(Error::invalid(format!(
                    "it was painted on shape {}, the volume has {shape}",
                    runs.shape()
                ))
                .remedy("paint it anew on this volume, or use a shape that does not depend on the grid"));
            }
            RegionShape::Painted(runs) => Box::new(runs),
        };
        let plain = RegionMask { selector, shape };
        Ok(match self.grow {
            None | Some(Grow::Voxels(0)) => plain,
            Some(Grow::Voxels(by)) => {
                let grown = GrownVoxels::new(&*plain.selector, shape.n, by, control)?;
                RegionMask { selector: Box::new(grown), shape }
            }
            Some(Grow::Blocks(by)) => {
                let grown = GrownBlocks::new(&plain.blocks(control)?, shape.n, by);
                RegionMask { selector: Box::new(grown), shape }
            }
        })
    }
}

impl Interval {
    /// Both ends, with the given ones for those that are open.
    fn ends(&self, least: f64, most: f64) -> (f64, f64) {
        (self.min.unwrap_or(least), self.max.unwrap_or(most))
    }
}

impl RegionMask<'_> {
    /// How much of each block the region holds.
    pub fn blocks(&self, control: &Control) -> Result<BlockMask> {
        BlockMask::of(&*self.selector, &self.shape, control)
    }
    /// The runs of row `(z, y)` inside the region that lie in the blocks of the voxels `x0 .. x1`, appended to `out`.
    pub fn row_runs(&self, z: usize, y: usize, x0: usize, x1: usize, out: &mut Vec<Run>) -> Result<()> {
        let bits = &mut Vec::new();
        let x1 = x1.min(self.shape.n[2]);
        if x0 < x1 {
            runs_of_bits(self.bits(z, y, x0 / 8, x1.div_ceil(8), bits)?, x0 / 8, out);
        }
        Ok(())
    }
    /// The region as painted voxels.
    pub fn to_runs(&self, control: &Control) -> Result<MaskRuns> {
        let [nz, ny, nx] = self.shape.n;
        let mut mask = MaskRuns::new(self.shape)?;
        for z in 0..nz {
            control.check()?;
            let rows: Vec<Vec<Run>> = (0..ny)
                .into_par_iter()
                .map(|y| {
                    let mut runs = Vec::new();
                    self.row_runs(z, y, 0, nx, &mut runs).map(|()| runs)
                })
                .collect::<Result<_>>()?;
            for (y, runs) in rows.iter().enumerate() {
                mask.add_row(z, y, runs);
            }
        }
        Ok(mask)
    }
    fn bits<'b>(&self, z: usize, y: usize, bx0: usize, bx1: usize, bits: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        bits.clear();
        bits.resize(bx1 - bx0, 0);
        self.selector.row([z, y], bx0, bits)?;
        Ok(bits)
    }
    /// Whether the voxels of one block that exist are all in one of `regions`.
    pub(super) fn fill_block(regions: &[&RegionMask], [bz, by, bx]: [usize; 3]) -> Result<bool> {
        let Some(first) = regions.first() else { return Ok(false) };
        let n = first.shape.n;
        for z in bz * 8..(bz * 8 + 8).min(n[0]) {
            for y in by * 8..(by * 8 + 8).min(n[1]) {
                let mut byte = [0u8];
                regions.iter().try_for_each(|r| r.selector.row([z, y], bx, &mut byte))?;
                if byte[0] != super::bits::existing(bx, n[2]) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
