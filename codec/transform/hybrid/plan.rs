//! Which levels a frame has, their shapes, gains and shares of the tolerance. All of it follows from the shape
//! and the parameters, so nothing here needs to be stored but the factors.

use super::gain::gain;
use crate::{Basis, Budget, Params};

/// Nodes of a block axis, and the coarse nodes it leaves.
pub const BLOCK: usize = 8;
pub const COARSE: usize = 5;

/// One level of the hierarchy.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Independent blocks of 8 nodes an axis, or one global MGARD level.
    pub local: bool,
    /// Extents of the array it decomposes, without padding.
    pub fine: [usize; 3],
    /// Extents of the array it leaves.
    pub coarse: [usize; 3],
    /// Number of detail coefficients, those of the padding of local levels included.
    pub details: usize,
    /// B: |fine error| <= |coarse error| + B |detail error|.
    pub gain: f64,
    /// Fraction of the tolerance that this level may use up.
    pub share: f64,
}

impl Level {
    /// Blocks per axis of a local level (1 where the axis has one node).
    pub fn blocks(&self) -> [usize; 3] {
        self.fine.map(|n| n.div_ceil(BLOCK))
    }
}

/// The hierarchy of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub basis: Basis,
    /// Extents of the frame with its axes of one node moved to the front, where they change nothing: the order of
    /// the values in memory stays the same.
    pub n: [usize; 3],
    /// Finest first. Levels that would not shrink the array are left out.
    pub levels: Vec<Level>,
    pub coarsest: [usize; 3],
    /// Fraction of the tolerance for the coarsest array.
    pub coarsest_share: f64,
}

impl Plan {
    pub fn new(extents: [usize; 3], params: &Params) -> Self {
        let n = squeeze(extents, extents);
        let mut levels = Vec::new();
        let mut fine = n;
        for (count, local) in [(params.local_levels, true), (params.global_levels, false)] {
            for _ in 0..count {
                let coarse = fine.map(|n| coarse_nodes(n, local));
                if coarse.iter().product::<usize>() >= fine.iter().product() {
                    break;
                }
                let padded =
                    if local { fine.map(|n| if n == 1 { 1 } else { n.next_multiple_of(BLOCK) }) } else { fine };
                let details = padded.iter().product::<usize>() - coarse.iter().product::<usize>();
                let gain = if params.basis == Basis::Projection { gain(padded, local) } else { 1.0 };
                levels.push(Level { local, fine, coarse, details, gain, share: 0.0 });
                fine = coarse;
            }
        }
        let mut plan = Self { basis: params.basis, n, levels, coarsest: fine, coarsest_share: 0.0 };
        plan.set_shares(params.budget);
        plan
    }

    /// Shares of the tolerance, which sum to 1 over the levels and the coarsest array.
    fn set_shares(&mut self, budget: Budget) {
        let coarsest: usize = self.coarsest.iter().product();
        let total = self.levels.iter().map(|l| l.details).sum::<usize>() + coarsest;
        let parts = self.levels.len() + 1;
        let share = |coefficients: usize| match budget {
            Budget::Coefficients => coefficients as f64 / total as f64,
            Budget::Uniform => 1.0 / parts as f64,
        };
        self.levels.iter_mut().for_each(|l| l.share = share(l.details));
        self.coarsest_share = share(coarsest);
    }

    /// share / B of each level, finest first, then the share of the coarsest array: times the tolerance, it is the
    /// half step of the quantizer.
    pub fn factors(&self) -> Vec<f64> {
        let levels = self.levels.iter().map(|l| l.share / l.gain);
        levels.chain([self.coarsest_share]).collect()
    }

    /// Number of axes with more than one node.
    pub fn rank(&self) -> usize {
        self.n.iter().filter(|&&n| n > 1).count()
    }

    /// Whether the finest level is local, so that its symbols live in chunks.
    pub fn chunked(&self) -> bool {
        self.levels.first().is_some_and(|l| l.local)
    }
}

/// Moves the entries of `values` whose extent is 1 to the front.
pub fn squeeze(extents: [usize; 3], values: [usize; 3]) -> [usize; 3] {
    let mut order = [0, 1, 2];
    order.sort_by_key(|&a| extents[a] != 1);
    order.map(|a| values[a])
}

/// Nodes that a level leaves on an axis of `n`.
fn coarse_nodes(n: usize, local: bool) -> usize {
    match n {
        1 => 1,
        _ if local => n.div_ceil(BLOCK) * COARSE,
        _ => n / 2 + 1,
    }
}
