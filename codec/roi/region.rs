//! A region bound to one volume: its blocks, its voxels in a slice, its runs.

use super::bits::runs_of_bits;
use super::blocks::BlockMask;
use super::geometry::Geometry;
use super::runs::common_runs;
use super::select::{GeometrySelector, GrownBlocks, GrownVoxels, Selector, open_mask};
use super::spec::{Grow, Interval, RegionShape, RegionSpec};
use super::{Analysis, MaskRuns, Paint, RowDelta, Run};
use crate::{Control, Error, Region, Result, Shape};
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
        let mut mask = BlockMask::empty(self.shape.blocks());
        let all = Region { lo: [0; 3], hi: mask.blocks };
        mask.update(&*self.selector, self.shape.n, all, control)?;
        Ok(mask)
    }
    /// Brings a block mask up to date after the voxels in `changed` did.
    pub fn update_blocks(&self, mask: &mut BlockMask, changed: &Region, control: &Control) -> Result<()> {
        update_blocks(&*self.selector, &self.shape, mask, changed, control)
    }
    /// The voxels of one slice across `axis` as 0 and 1, C order over the two other axes.
    pub fn mask_plane(&self, axis: usize, index: usize) -> Result<Vec<u8>> {
        let n = self.shape.n;
        if axis > 2 || index >= n[axis] {
            return Err(Error::invalid(format!("there is no slice {index} across axis {axis} in {}", self.shape)));
        }
        let (rows, columns) = match axis {
            0 => (n[1], n[2]),
            1 => (n[0], n[2]),
            _ => (n[0], n[1]),
        };
        let mut plane = vec![0u8; rows * columns];
        plane.par_chunks_mut(columns).enumerate().try_for_each_init(Vec::new, |bits, (row, out)| {
            if axis == 2 {
                for (y, o) in out.iter_mut().enumerate() {
                    *o = self.bits(row, y, index / 8, index / 8 + 1, bits)?[0] >> (index % 8) & 1;
                }
                return Ok(());
            }
            let (z, y) = if axis == 0 { (index, row) } else { (row, index) };
            let bits = self.bits(z, y, 0, columns.div_ceil(8), bits)?;
            out.iter_mut().enumerate().for_each(|(x, o)| *o = bits[x / 8] >> (x % 8) & 1);
            Ok(())
        })?;
        Ok(plane)
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
    /// Cuts sorted runs of row `(z, y)` down to the region, for a brush that paints only there
    /// ([`MaskRuns::paint_where`]).
    pub fn keep_runs(&self, z: usize, y: usize, runs: &mut Vec<Run>) -> Result<()> {
        let (Some(first), Some(end)) = (runs.first().map(|r| r[0]), runs.iter().map(|r| r[1]).max()) else {
            return Ok(());
        };
        let mut inside = Vec::new();
        self.row_runs(z, y, first as usize, end as usize, &mut inside)?;
        *runs = common_runs(runs, &inside);
        Ok(())
    }
    /// The region as painted voxels.
    pub fn to_runs(&self, control: &Control) -> Result<MaskRuns> {
        let [nz, ny, nx] = self.shape.n;
        let mut mask = MaskRuns::new(self.shape)?;
        let mut unneeded = RowDelta::default();
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
                mask.paint_row(z, y, runs, Paint::Set, &mut unneeded);
            }
            unneeded = RowDelta::default();
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

impl MaskRuns {
    /// Brings a block mask up to date after the voxels in `changed` did ([`RowDelta::bounds`]).
    pub fn update_blocks(&self, mask: &mut BlockMask, changed: &Region, control: &Control) -> Result<()> {
        update_blocks(&self, &self.shape(), mask, changed, control)
    }
}

fn update_blocks(
    selector: &dyn Selector,
    shape: &Shape,
    mask: &mut BlockMask,
    changed: &Region,
    control: &Control,
) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let within = Region { lo: changed.lo.map(|v| v / 8), hi: changed.hi.map(|v| v.div_ceil(8)) };
    let within = within.intersect(&Region { lo: [0; 3], hi: mask.blocks });
    mask.update(selector, shape.n, within, control)
}
