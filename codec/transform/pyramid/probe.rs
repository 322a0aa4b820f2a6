//! Nodes of a chunk on which choices are compared: one axis of them.

use super::lanes::{Lanes, Real};
use super::plan::ArrayPlan;
use super::stencil::{AxisStep, POINTS};
use crate::Region;

/// Nodes of axis 2 that are looked at together: all of a chunk with three axes.
pub const WIDTH: usize = 12;

/// The most nodes of an axis that are looked at, by the number of axes with more than one node.
const COUNTS: [usize; 3] = [WIDTH * WIDTH * WIDTH, 41, WIDTH];

/// A node of an axis that step 0 adds, and what it is predicted from.
#[derive(Clone, Copy)]
pub struct Probe<T> {
    /// Place in the chunk.
    pub at: usize,
    /// Whether step 0 adds the node; else the axis has no such nodes, and what follows means nothing.
    pub is_new: bool,
    /// Distances to the three nodes before and the three behind it; 0 where the tile has no such node.
    pub offset: [isize; 6],
    /// For each entry of [`POINTS`]; 0 for nodes that are not used.
    pub weight: [[T; 6]; 3],
    /// Sum of the squares of the weights.
    pub gain: [T; 3],
    /// Whether there is but one node before it and one behind it.
    pub alone: bool,
}

impl<T: Real> Probe<T> {
    fn old(at: usize) -> Self {
        let none = [T::ZERO; 6];
        Self { at, is_new: false, offset: [0; 6], weight: [none; 3], gain: [T::ZERO; 3], alone: false }
    }

    /// New node `index` of a tile that begins at `origin`.
    fn new(origin: usize, step: &AxisStep<T>, index: usize) -> Self {
        let position = step.new[index];
        let mut probe = Self { is_new: true, ..Self::old(origin + position as usize) };
        for (points, stencils) in step.stencils.iter().enumerate() {
            let stencil = &stencils[index];
            for k in 0..stencil.len {
                probe.weight[points][3 - stencil.before + k] = stencil.weight[k];
                probe.offset[3 - stencil.before + k] = stencil.node[k] as isize - position as isize;
            }
            let square = stencil.weight[0] * stencil.weight[0];
            probe.gain[points] = stencil.weight[1..stencil.len].iter().fold(square, |sum, w| w.fma(*w, sum));
        }
        probe.alone = probe.offset[1] == 0 && probe.offset[4] == 0;
        probe
    }
}

/// Evenly spread new nodes of a chunk on one axis, or nodes of any kind when none is new.
pub fn probes<T: Real>(plan: &ArrayPlan<T>, chunk: &Region, axis: usize) -> Vec<Probe<T>> {
    let (lo, hi, side) = (chunk.lo[axis], chunk.hi[axis], plan.array.sides().tile);
    let mut all = Vec::new();
    for origin in (lo..hi).step_by(side) {
        let tile = &plan.axes[axis][(origin + side >= plan.array.n[axis]) as usize];
        if let Some(step) = tile.steps.first() {
            all.extend((0..step.new.len()).map(|index| (origin - lo, step, index)));
        }
    }
    let axes = plan.array.n.iter().filter(|&&n| n > 1).count();
    let most = COUNTS[axes.max(1) - 1];
    if all.is_empty() {
        return spread(hi - lo, most).map(Probe::old).collect();
    }
    spread(all.len(), most).map(|i| all[i]).map(|(origin, step, index)| Probe::new(origin, step, index)).collect()
}

/// At most `most` of the numbers below `count`.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let picked = count.min(most);
    (0..picked).map(move |i| i * count / picked)
}

/// Up to WIDTH probes of an axis side by side. Lanes beyond the last repeat it.
pub struct Probes<T> {
    pub count: usize,
    pub at: [usize; WIDTH],
    pub offset: [[isize; WIDTH]; 6],
    pub weight: [[Lanes<T, WIDTH>; 6]; POINTS.len()],
    pub gain: [Lanes<T, WIDTH>; POINTS.len()],
    pub alone: [bool; WIDTH],
}

impl<T: Real> Probes<T> {
    pub fn new(probes: &[Probe<T>]) -> Self {
        let lane: [&Probe<T>; WIDTH] = std::array::from_fn(|l| &probes[l.min(probes.len() - 1)]);
        Self {
            count: probes.len(),
            at: lane.map(|p| p.at),
            offset: std::array::from_fn(|k| lane.map(|p| p.offset[k])),
            weight: std::array::from_fn(|points| std::array::from_fn(|k| Lanes(lane.map(|p| p.weight[points][k])))),
            gain: std::array::from_fn(|points| Lanes(lane.map(|p| p.gain[points]))),
            alone: lane.map(|p| p.alone),
        }
    }
}
