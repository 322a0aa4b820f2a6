//! Finds which blocks each region holds, off the UI thread.

use super::State;
use crate::studio::data::gradient::GradientField;
use crate::studio::data::stats::{BlockStats, block_has};
use crate::studio::jobs::Done;
use crate::studio::roi::block_mask::BlockMask;
use crate::studio::roi::block_set::Coverage;
use crate::studio::roi::model::{RegionId, RegionKind};
use crate::studio::roi::shape::Shape as Raster;
use crate::studio::roi::spec::resolved;
use anyhow::Context as _;
use blockmgard::roi::Analysis;
use blockmgard::volume::{Field, NodeSteps, Values};
use blockmgard::{Control, Element, Shape, with_values};
use std::path::Path;
use std::sync::Arc;

impl State {
    /// Starts jobs that find which blocks the regions without coverage touch.
    pub(super) fn cover_missing(&mut self) {
        let Some(document) = &self.document else { return };
        let (shape, values) = (document.volume.shape, document.shown.clone());
        let (steps, generation) = (document.steps(), self.generation);
        let waiting: Vec<(RegionId, RegionKind)> =
            self.roi.regions.iter().filter(|r| r.coverage.is_none()).map(|r| (r.id, r.kind.clone())).collect();
        self.need_gradient();
        for (id, kind) in waiting {
            let interval = self.interval_of(&kind);
            let stats = match kind {
                RegionKind::Threshold { .. } => self.block_stats(false),
                RegionKind::Gradient { .. } => self.block_stats(true),
                _ => Some(Arc::default()),
            };
            // Without block extremes there is nothing to do yet; their job comes back here.
            let Some(stats) = stats else { continue };
            let values = values.clone();
            let steps = steps.clone();
            self.jobs.spawn("Finding blocks", move |control| {
                let blocks = cover(&kind, interval, &shape, &values, &steps, &stats, control)?;
                let done: Done<State> = Box::new(move |state: &mut State| {
                    if state.generation == generation && state.interval_of(&kind) == interval {
                        if let Some(region) = state.roi.region_mut(id) {
                            region.coverage = Some(Arc::new(blocks));
                        }
                        state.roi_version += 1;
                    }
                });
                Ok(done)
            });
        }
    }

    /// Regions that stand for a shape hold other voxels in another volume of the same shape: finds them, off the UI thread.
    pub(super) fn resolve_sources(&mut self) {
        let Some((volume, stats)) = self.document.as_ref().and_then(|d| Some((d.volume.clone(), d.stats.clone()?)))
        else {
            return;
        };
        let generation = self.generation;
        let standing = self.roi.regions.iter().filter_map(|r| Some((r.id, r.standing()?.clone())));
        for (id, source) in standing.collect::<Vec<_>>() {
            let (volume, stats) = (volume.clone(), stats.clone());
            self.jobs.spawn("Finding voxels", move |control| {
                let analysis = Analysis::new(volume, (*stats).clone());
                let voxels = resolved(&source.region(), &analysis, Path::new(""), control)?;
                let done: Done<State> = Box::new(move |state: &mut State| {
                    if state.generation == generation {
                        state.take_voxels(id, voxels);
                    }
                });
                Ok(done)
            });
        }
    }

    /// The mask is changed in place: the steps of undo share it.
    fn take_voxels(&mut self, id: RegionId, voxels: BlockMask) {
        let Some(region) = self.roi.region_mut(id) else { return };
        let (Some(source), RegionKind::Painted(mask)) = (region.standing(), &region.kind) else { return };
        *mask.write().unwrap_or_else(|p| p.into_inner()) = voxels.clone();
        source.moved_to(voxels);
        self.roi.refresh_painted_coverage();
        self.roi_version += 1;
    }

    /// Extremes of each block, of the values or of the gradient.
    pub(super) fn block_stats(&self, gradient: bool) -> Option<Arc<BlockStats>> {
        let document = self.document.as_ref()?;
        if gradient { document.gradient.as_ref().map(|g| g.blocks.clone()) } else { document.blocks.clone() }
    }
}

/// Blocks that hold a voxel of a region.
fn cover(
    kind: &RegionKind,
    interval: [f64; 2],
    shape: &Shape,
    values: &Values,
    steps: &NodeSteps,
    stats: &BlockStats,
    control: &Control,
) -> anyhow::Result<Coverage> {
    match kind {
        RegionKind::Painted(mask) => Ok(mask.read().unwrap_or_else(|p| p.into_inner()).coverage()),
        RegionKind::Threshold { .. } => {
            with_values!(values, field => cover_interval(&**field, stats, interval, control))
        }
        RegionKind::Gradient { .. } => {
            cover_interval(&GradientField::new(values.clone(), steps.clone()), stats, interval, control)
        }
        RegionKind::Box(_) | RegionKind::Ellipsoid(_) | RegionKind::Polygon(_) => {
            let raster = kind.geometry().context("the region has no shape")?;
            cover_raster(&raster, shape, control)
        }
    }
}

fn cover_interval<T: Element>(
    field: &dyn Field<T>,
    stats: &BlockStats,
    [lo, hi]: [f64; 2],
    control: &Control,
) -> anyhow::Result<Coverage> {
    let (mut set, unsure) = stats.in_interval(lo, hi);
    for block in unsure {
        control.check()?;
        set.set(block, block_has(field, block, lo, hi)?, false);
    }
    Ok(set)
}

fn cover_raster(raster: &dyn Raster, shape: &Shape, control: &Control) -> anyhow::Result<Coverage> {
    let [_, by, bx] = shape.blocks();
    let blocks = shape.blocks().iter().product();
    let mut voxels = vec![0u16; blocks];
    let bounds = raster.bounds().intersect(&shape.region());
    for z in bounds.lo[0]..bounds.hi[0] {
        control.check()?;
        for y in bounds.lo[1]..bounds.hi[1] {
            raster.row(z, y, &mut |r| {
                let (a, b) = (r.start.max(bounds.lo[2]), r.end.min(bounds.hi[2]));
                for x in (a / 8..b.div_ceil(8)).filter(|_| a < b) {
                    let count = b.min(x * 8 + 8) - a.max(x * 8);
                    voxels[(z / 8 * by + y / 8) * bx + x] += count as u16;
                }
            });
        }
    }
    let mut coverage = Coverage::new(blocks);
    for (i, count) in voxels.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let at = [i / (by * bx), i / bx % by, i % bx];
        let all: usize = (0..3).map(|a| (shape.n[a] - at[a] * 8).min(8)).product();
        coverage.set(i, true, count as usize == all);
    }
    Ok(coverage)
}
