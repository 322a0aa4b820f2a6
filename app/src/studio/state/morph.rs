//! Whole-mask operations: shown at once, then applied or cancelled.

use super::State;
use crate::studio::command::Morphology;
use crate::studio::jobs::Done;
use crate::studio::roi::block_mask::{BlockMask, Delta};
use crate::studio::roi::history::Step;
use crate::studio::roi::model::{RegionId, RegionKind};
use crate::studio::roi::morphology;
use std::sync::{Arc, RwLock};

/// An operation that the views show and that is no undo step yet.
pub struct PendingMorph {
    region: RegionId,
    delta: Delta,
    pub operation: Morphology,
    /// Voxels that came and went.
    pub added: u64,
    pub removed: u64,
}

impl State {
    /// Shows an operation on the selected painted region.
    pub(super) fn morph(&mut self, operation: Morphology) {
        self.apply_morph();
        let Some((id, mask)) = self.selected_mask() else {
            return self.complain("Select a painted region first: the operation works on painted voxels");
        };
        let (axis, generation, version) = (self.focus_axis(), self.generation, self.roi_version);
        self.jobs.spawn("Region operation", move |_control| {
            let old = mask.read().unwrap_or_else(|p| p.into_inner()).clone();
            let new = match operation {
                Morphology::Grow => morphology::grow_by_block(&old),
                Morphology::Shrink => morphology::shrink_by_block(&old),
                Morphology::KeepLargest => morphology::keep_largest_island(&old),
                Morphology::RemoveSmall => morphology::remove_small_islands(&old, 8),
                Morphology::FillBetween => morphology::fill_between_slices(&old, axis),
            };
            let delta = old.difference(&new);
            let count = |mask: &BlockMask| mask.in_delta(&delta);
            let (added, removed) = (count(&new), count(&old));
            let done: Done<State> = Box::new(move |state: &mut State| {
                // Regions that changed meanwhile make the result stale.
                if state.generation != generation || state.roi_version != version || state.roi.region(id).is_none() {
                    return;
                }
                if delta.is_empty() {
                    return state.say(format!("{}: nothing to change", operation.title()));
                }
                mask.write().unwrap_or_else(|p| p.into_inner()).toggle(&delta);
                state.pending_morph = Some(PendingMorph { region: id, delta, operation, added, removed });
                state.roi.refresh_painted_coverage();
                state.roi_version += 1;
            });
            Ok(done)
        });
    }

    /// Makes the shown operation an undo step.
    pub fn apply_morph(&mut self) {
        let Some(PendingMorph { region, delta, .. }) = self.pending_morph.take() else { return };
        self.painted_over(vec![region]);
        self.history.push(Step { name: "region operation", lists: None, strokes: vec![(region, delta)] });
        self.touched();
    }

    /// Takes the shown operation back.
    pub fn cancel_morph(&mut self) {
        let Some(PendingMorph { region, delta, .. }) = self.pending_morph.take() else { return };
        if let Some(RegionKind::Painted(mask)) = self.roi.region(region).map(|r| &r.kind) {
            mask.write().unwrap_or_else(|p| p.into_inner()).toggle(&delta);
        }
        self.roi.refresh_painted_coverage();
        self.roi_version += 1;
    }

    fn selected_mask(&self) -> Option<(RegionId, Arc<RwLock<BlockMask>>)> {
        let region = self.roi.region(self.selected?)?;
        match &region.kind {
            RegionKind::Painted(mask) => Some((region.id, mask.clone())),
            _ => None,
        }
    }
}
