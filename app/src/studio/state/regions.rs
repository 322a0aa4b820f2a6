//! Edits of the tier and region lists, thresholds, flood fill and morphology.

use super::State;
use super::mapping::{MapInput, PreviewThreshold};
use super::tools::ThresholdOf;
use crate::studio::command::ImportForm;
use crate::studio::data::slice::read_value;
use crate::studio::jobs::Done;
use crate::studio::roi::block_mask::BlockMask;
use crate::studio::roi::history::Step;
use crate::studio::roi::model::{Measure, RegionKind, Roi, TierDef};
use crate::studio::roi::morphology;
use crate::studio::roi::shown_name;
use crate::studio::roi::source::Source;
use crate::studio::roi::spec::import_mask;
use blockmgard::Tier;
use blockmgard::roi::Analysis;
use std::sync::{Arc, RwLock};

impl State {
    /// Changes the lists as one undo step.
    pub(super) fn edit_lists(&mut self, name: &'static str, edit: impl FnOnce(&mut Roi)) {
        self.apply_morph();
        let before = self.roi.clone();
        edit(&mut self.roi);
        self.history.push(Step { name, lists: Some((before, self.roi.clone())), strokes: vec![] });
        self.touched();
    }

    /// After any change of the ROI: new coverage where it is missing, new map, autosave.
    pub(super) fn touched(&mut self) {
        self.roi_version += 1;
        self.settings.autosave_due = true;
        self.regions_are_work = true;
        self.stream_tiers = None;
        self.tools.tier = self.tools.tier.min(self.roi.tiers.len() - 1);
        if self.selected.is_some_and(|id| self.roi.region(id).is_none()) {
            self.selected = None;
        }
        self.cover_missing();
    }

    pub(super) fn set_tiers(&mut self, mut tiers: Vec<TierDef>) {
        tiers.iter_mut().for_each(|t| t.name = shown_name(&t.name));
        self.edit_lists("tier change", |roi| roi.tiers = tiers);
    }

    /// Swaps a tier with the one above it in the list; the regions and the brush keep theirs.
    pub(super) fn raise_tier(&mut self, index: usize) {
        if index < 2 || index >= self.roi.tiers.len() {
            return;
        }
        let moved = |tier: usize| match tier {
            t if t == index => index - 1,
            t if t == index - 1 => index,
            t => t,
        };
        self.edit_lists("tier order", |roi| {
            roi.tiers.swap(index, index - 1);
            roi.regions.iter_mut().for_each(|r| r.tier = moved(r.tier));
        });
        self.tools.tier = moved(self.tools.tier);
    }

    /// Removes a tier; its regions move to the next looser one of the list.
    pub(super) fn remove_tier(&mut self, index: usize) {
        if index == 0 || index >= self.roi.tiers.len() || self.roi.tiers.len() <= 2 {
            return;
        }
        self.edit_lists("remove tier", |roi| {
            roi.tiers.remove(index);
            for region in &mut roi.regions {
                if region.tier >= index {
                    region.tier = (region.tier - 1).max(1);
                }
            }
        });
    }

    pub(super) fn add_region(&mut self, name: String, kind: RegionKind, source: Option<Source>) {
        let tier = self.tools.tier;
        let mut added = None;
        self.edit_lists("new region", |roi| {
            let id = roi.add(name, tier, kind);
            if let Some(region) = roi.region_mut(id) {
                region.source = source.map(Arc::new);
            }
            added = Some(id);
        });
        self.selected = added;
    }

    /// A threshold's interval in values; `[0, 0]` for other kinds.
    pub fn interval_of(&self, kind: &RegionKind) -> [f64; 2] {
        match *kind {
            RegionKind::Threshold { measure, lo, hi } => self.interval(ThresholdOf::Value, measure, lo, hi),
            RegionKind::Gradient { measure, lo, hi } => self.interval(ThresholdOf::Gradient, measure, lo, hi),
            _ => [0.0; 2],
        }
    }

    /// An interval in values from one in values or percentiles.
    pub fn interval(&self, of: ThresholdOf, measure: Measure, lo: f64, hi: f64) -> [f64; 2] {
        let Some(document) = &self.document else { return [lo, hi] };
        let stats = match of {
            ThresholdOf::Value => document.stats.as_deref(),
            ThresholdOf::Gradient => document.gradient.as_ref().map(|g| &g.stats),
        };
        match (measure, stats) {
            (Measure::Value, _) => [lo, hi],
            (Measure::Percentile, Some(s)) => [s.percentile(lo), s.percentile(hi)],
            (Measure::Range, Some(s)) => [lo, hi].map(|p| s.min + s.range() * p / 100.0),
            // Nothing is selected until the statistics are there.
            (_, None) => [f64::INFINITY, f64::NEG_INFINITY],
        }
    }

    /// The threshold tool's interval, in values or in gradient magnitudes, as a mask for painting.
    pub fn mask_interval(&self) -> [f64; 2] {
        let t = &self.tools;
        self.interval(t.threshold_of, t.measure, t.lo, t.hi)
    }

    pub(super) fn apply_threshold(&mut self) {
        let t = self.tools.clone();
        let (name, kind) = match t.threshold_of {
            ThresholdOf::Value => ("Threshold", RegionKind::Threshold { measure: t.measure, lo: t.lo, hi: t.hi }),
            ThresholdOf::Gradient => ("Gradient", RegionKind::Gradient { measure: t.measure, lo: t.lo, hi: t.hi }),
        };
        let name = self.roi.free_name(name);
        self.add_region(name, kind, None);
        self.tools.pick(super::tools::Tool::Navigate);
    }

    /// A mask file as a painted region of the chosen tier.
    pub fn import_mask(&mut self, form: ImportForm) {
        self.import = None;
        let path = std::path::PathBuf::from(&form.path);
        let Some(document) = &self.document else { return };
        let Some(stats) = document.stats.clone() else { return self.say("Wait for the statistics, then import again") };
        let (volume, generation) = (document.volume.clone(), self.generation);
        let tier = self.tools.tier;
        self.jobs.spawn("Importing a mask", move |control| {
            let source = import_mask(&path, form.label, &Analysis::new(volume, (*stats).clone()), control)?;
            let name = shown_name(&path.file_stem().map(|n| n.to_string_lossy()).unwrap_or_default());
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation == generation {
                    state.tools.tier = tier.min(state.roi.tiers.len() - 1);
                    let kind = RegionKind::Painted(Arc::new(RwLock::new(source.voxels())));
                    state.add_region(name, kind, Some(source));
                }
            });
            Ok(done)
        });
    }

    /// Fills the connected voxels whose value is near that of `seed`, as a painted region.
    pub(super) fn flood(&mut self, seed: [usize; 3]) {
        let Some(document) = &self.document else { return };
        if document.stats.is_none() {
            return self.say("Wait until the values are read, then fill again");
        }
        let (shape, values) = (document.volume.shape, document.shown.clone());
        let half = document.range() * self.tools.flood_percent / 100.0;
        let (tier, name, generation) = (self.tools.tier, self.roi.free_name("Flood"), self.generation);
        self.jobs.spawn("Flood fill", move |control| {
            let center = read_value(&values, seed)?;
            let inside = |p| Ok((read_value(&values, p)? - center).abs() <= half);
            let mask = morphology::flood_fill(shape, seed, inside, control)?;
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation == generation {
                    state.add_painted(name, tier, mask, "flood fill");
                }
            });
            Ok(done)
        });
    }

    /// Adds a painted region with a ready mask.
    pub fn add_painted(&mut self, name: String, tier: usize, mask: BlockMask, step: &'static str) {
        if mask.is_empty() {
            return self.say("Nothing to fill there");
        }
        let coverage = Arc::new(mask.coverage());
        let kind = RegionKind::Painted(Arc::new(RwLock::new(mask)));
        let mut added = None;
        self.edit_lists(step, |roi| {
            let id = roi.add(name, tier.min(roi.tiers.len() - 1), kind);
            if let Some(region) = roi.region_mut(id) {
                region.coverage = Some(coverage);
            }
            added = Some(id);
        });
        self.selected = added;
    }

    /// Axis of the view last maximised, else axial.
    pub fn focus_axis(&self) -> usize {
        self.maximized.filter(|&a| a < 3).unwrap_or(0)
    }

    /// Tiers with absolute tolerances.
    pub fn absolute_tiers(&self) -> Vec<Tier> {
        let (max_abs, range) = self.scales();
        self.roi
            .tiers
            .iter()
            .map(|t| Tier { name: t.name.clone(), tau: t.tolerance.absolute(max_abs, range) })
            .collect()
    }

    pub(super) fn refresh_map(&mut self) {
        let Some(document) = &self.document else { return };
        let preview = self.preview_threshold().and_then(|p| Some((p.clone(), self.block_stats(p.gradient)?)));
        let (max_abs, range) = self.scales();
        let key = map_version(self.roi_version, preview.as_ref().map(|p| &p.0), self.map_levels());
        let input = MapInput {
            blocks: document.volume.shape.blocks(),
            tiers: vec![],
            strictness: vec![],
            stored: self.stream_tiers.clone().filter(|_| self.stroke.is_none() && self.pending_morph.is_none()),
            regions: vec![],
            preview,
            levels: self.map_levels(),
        };
        let (roi, tiers) = (&self.roi, self.absolute_tiers());
        self.mapping.want(key, || MapInput {
            tiers,
            strictness: roi.strictness(max_abs, range),
            regions: roi.regions.iter().filter(|r| r.on).filter_map(|r| Some((r.tier, r.coverage.clone()?))).collect(),
            ..input
        });
    }

    /// Levels of the shown map: enough for the hybrid runs people make.
    fn map_levels(&self) -> usize {
        self.display.level.max(3)
    }

    /// The threshold under the user's hand.
    pub fn preview_threshold(&self) -> Option<PreviewThreshold> {
        let t = &self.tools;
        if t.tool != super::tools::Tool::Threshold {
            return None;
        }
        let [lo, hi] = self.interval(t.threshold_of, t.measure, t.lo, t.hi);
        Some(PreviewThreshold { tier: t.tier, gradient: t.threshold_of == ThresholdOf::Gradient, lo, hi })
    }

    pub(super) fn refresh_labels(&mut self) {
        for axis in 0..3 {
            if let Some(geometry) = self.slices.labels_wanted(axis, self.roi_version)
                && let Some(input) = self.label_input()
            {
                self.slices.ask_labels(axis, geometry, self.roi_version, input);
            }
        }
    }
}

/// One number for everything the map depends on.
fn map_version(roi: u64, preview: Option<&PreviewThreshold>, levels: usize) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    (roi, levels).hash(&mut h);
    if let Some(p) = preview {
        (p.tier, p.gradient, p.lo.to_bits(), p.hi.to_bits()).hash(&mut h);
    }
    h.finish()
}
