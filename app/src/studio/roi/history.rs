//! Undo and redo: strokes as sparse deltas, list changes as snapshots that share the masks.

use super::block_mask::Delta;
use super::model::{RegionId, RegionKind, Roi};

/// One thing the user did.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the menu says: "Undo brush stroke".
    pub name: &'static str,
    /// The lists before and after, when tiers or regions were added, removed or changed.
    pub lists: Option<(Roi, Roi)>,
    /// Changed voxels per painted region.
    pub strokes: Vec<(RegionId, Delta)>,
}

impl Step {
    fn bytes(&self) -> usize {
        let lists = self.lists.as_ref().map_or(0, |(a, b)| (a.regions.len() + b.regions.len()) * 256);
        lists + self.strokes.iter().map(|(_, d)| d.bytes()).sum::<usize>() + size_of::<Self>()
    }
    fn is_empty(&self) -> bool {
        self.lists.is_none() && self.strokes.iter().all(|(_, d)| d.is_empty())
    }
}

/// The undo and redo stacks, limited in bytes.
#[derive(Debug)]
pub struct History {
    undo: Vec<Step>,
    redo: Vec<Step>,
    budget_bytes: usize,
}

impl History {
    pub fn new(budget_bytes: usize) -> Self {
        Self { undo: vec![], redo: vec![], budget_bytes }
    }
    /// Records a finished step; empty steps are dropped. The oldest go when the budget is spent.
    pub fn push(&mut self, mut step: Step) {
        step.strokes.iter_mut().for_each(|(_, d)| d.prune());
        if step.is_empty() {
            return;
        }
        self.redo.clear();
        self.undo.push(step);
        let mut spent: usize = self.undo.iter().map(Step::bytes).sum();
        while spent > self.budget_bytes && self.undo.len() > 1 {
            spent -= self.undo.remove(0).bytes();
        }
    }
    /// Name of the step that undo would take back.
    pub fn undo_name(&self) -> Option<&'static str> {
        self.undo.last().map(|s| s.name)
    }
    pub fn redo_name(&self) -> Option<&'static str> {
        self.redo.last().map(|s| s.name)
    }
    pub fn undo(&mut self, roi: &mut Roi) -> bool {
        let Some(step) = self.undo.pop() else { return false };
        toggle(&step, roi);
        if let Some((before, _)) = &step.lists {
            *roi = before.clone();
        }
        self.redo.push(step);
        roi.refresh_painted_coverage();
        true
    }
    pub fn redo(&mut self, roi: &mut Roi) -> bool {
        let Some(step) = self.redo.pop() else { return false };
        if let Some((_, after)) = &step.lists {
            *roi = after.clone();
        }
        toggle(&step, roi);
        self.undo.push(step);
        roi.refresh_painted_coverage();
        true
    }
    pub fn clear(&mut self) {
        self.undo.clear();
        self.redo.clear();
    }
}

/// Voxel changes are applied while the list that holds the region is current.
fn toggle(step: &Step, roi: &Roi) {
    for (id, delta) in &step.strokes {
        if let Some(RegionKind::Painted(mask)) = roi.region(*id).map(|r| &r.kind) {
            mask.write().unwrap_or_else(|p| p.into_inner()).toggle(delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::Shape;
    use blockmgard::roi::Geometry;

    fn stroke(roi: &Roi, id: RegionId, at: f64) -> Step {
        let RegionKind::Painted(mask) = &roi.region(id).unwrap().kind else { unreachable!() };
        let mut delta = Delta::default();
        mask.write().unwrap().paint(&Geometry::ball([at; 3], 3.0), true, &mut delta);
        Step { name: "brush stroke", lists: None, strokes: vec![(id, delta)] }
    }

    fn count(roi: &Roi) -> u64 {
        roi.painted().map(|(_, m)| m.read().unwrap().count()).sum()
    }

    #[test]
    fn undo_takes_back_a_stroke_that_made_its_region_and_redo_brings_it_back() {
        let shape = Shape::new(&[32, 32, 32]).unwrap();
        let (mut roi, mut history) = (Roi::default(), History::new(1 << 20));
        let before = roi.clone();
        let id = roi.add("Brush 1", 2, RegionKind::painted(shape));
        let mut step = stroke(&roi, id, 10.0);
        step.lists = Some((before, roi.clone()));
        history.push(step);
        history.push(stroke(&roi, id, 20.0));
        let full = count(&roi);
        assert!(history.undo(&mut roi) && count(&roi) < full);
        assert!(history.undo(&mut roi) && roi.regions.is_empty());
        assert!(!history.undo(&mut roi));
        assert!(history.redo(&mut roi) && history.redo(&mut roi));
        assert_eq!(count(&roi), full);
    }

    #[test]
    fn empty_steps_leave_no_trace_and_the_budget_forgets_the_oldest() {
        let shape = Shape::new(&[64, 64, 64]).unwrap();
        let (mut roi, mut history) = (Roi::default(), History::new(1000));
        let id = roi.add("Brush 1", 1, RegionKind::painted(shape));
        history.push(stroke(&roi, id, 10.0));
        history.push(stroke(&roi, id, 10.0));
        assert!(history.undo(&mut roi) && !history.undo(&mut roi));
        for at in [8.0, 20.0, 30.0, 40.0, 50.0] {
            history.push(stroke(&roi, id, at));
        }
        let mut steps = 0;
        while history.undo(&mut roi) {
            steps += 1;
        }
        assert!((1..5).contains(&steps), "{steps}");
        let RegionKind::Painted(mask) = &roi.regions[0].kind else { unreachable!() };
        mask.write().unwrap().paint(&Geometry::Box(shape.region()), false, &mut Delta::default());
        assert_eq!(count(&roi), 0);
    }
}
