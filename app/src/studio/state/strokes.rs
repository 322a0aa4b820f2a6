//! Brush and eraser strokes: from the first touch to one undo step.

use super::State;
use super::tools::{BrushShape, ThresholdOf};
use crate::studio::data::gradient::GradientField;
use crate::studio::roi::block_mask::{BlockMask, Delta};
use crate::studio::roi::block_set::Coverage;
use crate::studio::roi::history::Step;
use crate::studio::roi::model::{RegionId, RegionItem, RegionKind, Roi};
use crate::studio::roi::shape::{Shape, Snapped};
use blockmgard::roi::Geometry;
use blockmgard::volume::Values;
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

/// A stroke under way.
pub struct Stroke {
    erase: bool,
    axis: usize,
    /// Region that gets the paint; `None` when erasing.
    target: Option<RegionId>,
    /// The list before the stroke, when the stroke made its region.
    before: Option<Roi>,
    deltas: FxHashMap<RegionId, Delta>,
    last: Option<[f64; 3]>,
    /// Where the pointer has been while a worker was reading a mask.
    waiting: Vec<[f64; 3]>,
    /// The button is up.
    released: bool,
}

impl State {
    pub(super) fn begin_stroke(&mut self, erase: bool, axis: usize) {
        // Of the one before, points may still wait.
        self.end_stroke();
        self.apply_morph();
        let Some(shape) = self.document.as_ref().map(|d| d.volume.shape) else { return };
        let mut before = None;
        let target = (!erase).then(|| match self.paint_target() {
            Some(id) => id,
            None => {
                before = Some(self.roi.clone());
                let name = self.roi.free_name("Brush");
                let id = self.roi.add(name, self.tools.tier, RegionKind::painted(shape));
                self.selected = Some(id);
                id
            }
        });
        self.stroke = Some(Stroke {
            erase,
            axis,
            target,
            before,
            deltas: FxHashMap::default(),
            last: None,
            waiting: vec![],
            released: false,
        });
    }

    /// View in which a stroke is under way.
    pub fn stroke_axis(&self) -> Option<usize> {
        self.stroke.as_ref().filter(|s| !s.released).map(|s| s.axis)
    }

    /// The selected painted region of the chosen tier, or any other painted one of it. A region whose voxels stand for a shape is
    /// painted over only where the user has selected it.
    fn paint_target(&self) -> Option<RegionId> {
        let fits = |r: &&RegionItem| r.on && r.tier == self.tools.tier && matches!(r.kind, RegionKind::Painted(_));
        let selected = self.selected.and_then(|id| self.roi.region(id)).filter(fits);
        let free = |r: &&RegionItem| fits(r) && r.standing().is_none();
        selected.or_else(|| self.roi.regions.iter().rev().find(free)).map(|r| r.id)
    }

    pub(super) fn extend_stroke(&mut self, points: &[[f64; 3]]) {
        let Some(stroke) = &mut self.stroke else { return };
        stroke.waiting.extend(points);
        self.continue_stroke(false);
    }

    /// Paints where the pointer has been. A mask that a worker is reading just now is waited for only if `at_once`: else the points
    /// are, so that no frame depends on how the system schedules the worker.
    pub(super) fn continue_stroke(&mut self, at_once: bool) {
        let Some(mut stroke) = self.stroke.take() else { return };
        if !stroke.waiting.is_empty() {
            let targets = self.stroke_targets(&stroke);
            let masks = targets.iter().map(|(_, mask)| mask);
            let guards: Option<Vec<_>> =
                masks.map(|mask| if at_once { Some(write(mask)) } else { try_write(mask) }).collect();
            if let Some(mut guards) = guards {
                for point in std::mem::take(&mut stroke.waiting) {
                    for center in self.stamps(stroke.last, point) {
                        self.stamp(&mut stroke, &targets, &mut guards, center);
                    }
                    stroke.last = Some(point);
                }
                self.roi_version += 1;
            }
        }
        let done = stroke.released && stroke.waiting.is_empty();
        self.stroke = Some(stroke);
        if done {
            self.finish_stroke();
        }
    }

    /// The button is up: the stroke is done when its last points are painted.
    pub(super) fn release_stroke(&mut self) {
        if let Some(stroke) = &mut self.stroke {
            stroke.released = true;
        }
        self.continue_stroke(false);
    }

    /// Stamp positions from the last point to the next, close enough to leave no notches.
    fn stamps(&self, last: Option<[f64; 3]>, next: [f64; 3]) -> Vec<[f64; 3]> {
        let Some(last) = last else { return vec![next] };
        let length = (0..3).map(|a| (next[a] - last[a]).powi(2)).sum::<f64>().sqrt();
        let step = (self.tools.brush_size / 8.0).max(0.5);
        let count = (length / step).ceil().max(1.0) as usize;
        (1..=count).map(|i| std::array::from_fn(|a| last[a] + (next[a] - last[a]) * i as f64 / count as f64)).collect()
    }

    /// The voxels that one touch of the brush at `center` covers.
    pub fn brush_at(&self, center: [f64; 3], axis: usize) -> Box<dyn Shape> {
        let radius = (self.tools.brush_size / 2.0).max(0.5);
        let ball = Geometry::ball(center, radius);
        match self.tools.brush {
            BrushShape::Disc => Box::new(Geometry::disc(axis, center[axis].round().max(0.0) as usize, center, radius)),
            BrushShape::Ball => Box::new(ball),
            BrushShape::Blocks => Box::new(Snapped::new(ball)),
        }
    }

    /// The masks that a stroke changes: its own, and those that it takes voxels out of.
    fn stroke_targets(&self, stroke: &Stroke) -> Vec<(RegionId, Arc<RwLock<BlockMask>>)> {
        let (max_abs, range) = self.scales();
        let rank = self.roi.strictness(max_abs, range);
        let tier = self.tools.tier;
        let changes = |r: &RegionItem| {
            let stricter = rank.get(r.tier) > rank.get(tier);
            r.on && (stroke.target == Some(r.id) || stroke.erase || (!self.tools.protect && stricter))
        };
        self.roi.painted().filter(|(r, _)| changes(r)).map(|(r, mask)| (r.id, mask.clone())).collect()
    }

    fn stamp(
        &mut self,
        stroke: &mut Stroke,
        targets: &[(RegionId, Arc<RwLock<BlockMask>>)],
        masks: &mut [RwLockWriteGuard<BlockMask>],
        center: [f64; 3],
    ) {
        let brush = self.brush_at(center, stroke.axis);
        for ((id, _), mask) in targets.iter().zip(masks) {
            let on = stroke.target == Some(*id);
            let delta = stroke.deltas.entry(*id).or_default();
            if on && self.tools.masked {
                let inside = self.inside_interval(&*brush, self.mask_interval());
                paint_region(&mut self.roi, *id, mask, &inside, true, delta);
            } else {
                paint_region(&mut self.roi, *id, mask, &*brush, on, delta);
            }
        }
    }

    /// The voxels of the brush whose value (or gradient magnitude) lies in `lo..=hi`.
    fn inside_interval(&self, brush: &dyn Shape, [lo, hi]: [f64; 2]) -> RowSet {
        let mut inside = RowSet { bounds: brush.bounds(), rows: FxHashMap::default() };
        let Some(document) = &self.document else { return inside };
        let bounds = inside.bounds.intersect(&document.volume.shape.region());
        let values = match self.tools.threshold_of {
            ThresholdOf::Value => document.shown.clone(),
            ThresholdOf::Gradient => {
                Values::F64(Arc::new(GradientField::new(document.shown.clone(), document.steps())))
            }
        };
        for z in bounds.lo[0]..bounds.hi[0] {
            for y in bounds.lo[1]..bounds.hi[1] {
                let row = read_row(&values, [z, y, bounds.lo[2]], bounds.hi[2] - bounds.lo[2]);
                let mut runs = vec![];
                brush.row(z, y, &mut |r| {
                    let hits = r.start.max(bounds.lo[2])..r.end.min(bounds.hi[2]);
                    runs.extend(hits.filter(|x| (lo..=hi).contains(&row[x - bounds.lo[2]])).map(|x| x..x + 1));
                });
                inside.rows.insert((z, y), runs);
            }
        }
        inside
    }

    /// Ends a stroke at once, for what must not wait.
    pub(super) fn end_stroke(&mut self) {
        self.continue_stroke(true);
        self.finish_stroke();
    }

    fn finish_stroke(&mut self) {
        let Some(stroke) = self.stroke.take() else { return };
        let name = if stroke.erase { "eraser stroke" } else { "brush stroke" };
        let painted = stroke.deltas.values().any(|d| d.cells.values().any(|c| *c != [0; 8]));
        match stroke.before {
            // A stroke that painted nothing leaves no empty region behind.
            Some(before) if !painted => self.roi = before,
            before => {
                self.painted_over(stroke.deltas.keys().copied().collect());
                let lists = before.map(|b| (b, self.roi.clone()));
                self.history.push(Step { name, lists, strokes: stroke.deltas.into_iter().collect() });
                self.settings.autosave_due = true;
                self.regions_are_work = true;
                self.stream_tiers = None;
            }
        }
        self.roi_version += 1;
    }

    /// Looks which of these regions are no longer what they were made from, and says so.
    pub(super) fn painted_over(&mut self, changed: Vec<RegionId>) {
        let mut told = vec![];
        for region in self.roi.regions.iter_mut().filter(|r| changed.contains(&r.id)) {
            let stood = region.standing().cloned();
            region.compare_with_source();
            if let Some(source) = stood.filter(|_| region.painted_over) {
                told.push(format!(
                    "{} ({}) was painted on: a spec will hold its voxels, no longer its shape. Undo brings the shape back",
                    region.name,
                    source.title()
                ));
            }
        }
        told.into_iter().for_each(|text| self.say(text));
    }

    /// Takes back a stroke under way.
    pub(super) fn cancel_stroke(&mut self) {
        let Some(stroke) = self.stroke.take() else { return };
        for (id, delta) in &stroke.deltas {
            if let Some(RegionKind::Painted(mask)) = self.roi.region(*id).map(|r| &r.kind) {
                mask.write().unwrap_or_else(|p| p.into_inner()).toggle(delta);
            }
        }
        if let Some(before) = stroke.before {
            self.roi = before;
        }
        self.roi.refresh_painted_coverage();
        self.roi_version += 1;
    }
}

fn read_row(values: &Values, [z, y, x]: [usize; 3], len: usize) -> Vec<f64> {
    use blockmgard::Element;
    blockmgard::with_values!(values, field => {
        let mut row = vec![Default::default(); len];
        // A row that cannot be read counts as outside any interval.
        match field.read_row(z, y, x, &mut row) {
            Ok(()) => row.iter().map(|v| v.to_f64()).collect(),
            Err(_) => vec![f64::NAN; len],
        }
    })
}

fn write(mask: &RwLock<BlockMask>) -> RwLockWriteGuard<'_, BlockMask> {
    mask.write().unwrap_or_else(PoisonError::into_inner)
}

/// `None` while another thread reads the mask.
fn try_write(mask: &RwLock<BlockMask>) -> Option<RwLockWriteGuard<'_, BlockMask>> {
    match mask.try_write() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(broken)) => Some(broken.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Paints one region and keeps its block coverage in step.
fn paint_region(roi: &mut Roi, id: RegionId, mask: &mut BlockMask, shape: &dyn Shape, on: bool, delta: &mut Delta) {
    let Some(region) = roi.region_mut(id) else { return };
    mask.paint(shape, on, delta);
    let coverage = region.coverage.get_or_insert_with(|| Arc::new(mask.coverage()));
    refresh_coverage(mask, shape, Arc::make_mut(coverage));
}

/// Coverage of the blocks that a shape may have touched.
fn refresh_coverage(mask: &BlockMask, shape: &dyn Shape, coverage: &mut Coverage) {
    let bounds = shape.bounds().intersect(&mask.shape().region());
    if bounds.is_empty() {
        return;
    }
    let [_, by, bx] = mask.shape().blocks();
    for z in bounds.lo[0] / 8..bounds.hi[0].div_ceil(8) {
        for y in bounds.lo[1] / 8..bounds.hi[1].div_ceil(8) {
            for x in bounds.lo[2] / 8..bounds.hi[2].div_ceil(8) {
                let cell = mask.cell([z, y, x]);
                let full = cell.is_some_and(|c| *c == mask.full_cell([z, y, x]));
                coverage.set((z * by + y) * bx + x, cell.is_some(), full);
            }
        }
    }
}

/// An arbitrary set of row intervals.
struct RowSet {
    bounds: blockmgard::Region,
    rows: FxHashMap<(usize, usize), Vec<std::ops::Range<usize>>>,
}

impl Shape for RowSet {
    fn bounds(&self) -> blockmgard::Region {
        self.bounds
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(std::ops::Range<usize>)) {
        self.rows.get(&(z, y)).into_iter().flatten().for_each(|r| emit(r.clone()));
    }
}
