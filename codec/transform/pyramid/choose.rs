//! The choice of a chunk: what predicts a sample of its values best. See `FORMAT.md`, "Choices".
//!
//! Only the encoder needs this, but every backend must choose alike. Predictions are made from the original values, so that
//! no node of the sample depends on another; costs are integers, so that they add up alike in any order.

use super::choice::Choice;
use super::lanes::Real;
use super::plan::ArrayPlan;
use super::probe::{Probe, Probes, WIDTH, probes};
use super::sample::Row;
use super::tiers::Tiers;
use crate::Region;
use crate::params::Points;
use crate::simd::{Kernel, dispatch};

/// A favoured axis must win by one part in so many.
const MARGIN: u64 = 32;
/// Coarse steps are quantized more finely where a prediction costs less than this on average.
const FINE_BELOW: u64 = 20;

/// The choice for the chunk of the nodes `region`, whose values are a box in C order.
pub fn choose<T: Real>(plan: &ArrayPlan<T>, region: &Region, tiers: &Tiers<T>, values: &[T], points: Points) -> Choice {
    let candidates = candidates(points);
    let first = Choice { points: candidates[0], ..Choice::default() };
    if !plan.array.is_frame() {
        return first;
    }
    let Costs { costs, predictions } = dispatch(Sample { plan, region, tiers, values, candidates });
    let total = |choice: Choice| (1..8).map(|new| costs[choice.points as usize][choice.axes(new)]).sum::<u64>();
    let mut best = (first, total(first));
    for &points in candidates {
        for axis in 0..=3 {
            let choice = Choice { points, axis, ..Choice::default() };
            let cost = total(choice) + if axis > 0 { total(choice) / MARGIN } else { 0 };
            if cost < best.1 {
                best = (choice, cost);
            }
        }
    }
    Choice { fine: total(best.0) < FINE_BELOW * predictions, ..best.0 }
}

/// The indices of points to compare, in turn.
pub fn candidates(points: Points) -> &'static [u8] {
    match points {
        Points::Auto => &[1, 0, 2],
        Points::Two => &[0],
        Points::Four => &[1],
        Points::Six => &[2],
    }
}

struct Sample<'a, T> {
    plan: &'a ArrayPlan<T>,
    region: &'a Region,
    tiers: &'a Tiers<'a, T>,
    values: &'a [T],
    candidates: &'static [u8],
}

struct Costs {
    /// By points, then by the set of axes on which the nodes of the sample were taken as new.
    costs: [[u64; 8]; 3],
    /// How many predictions the costs of one number of points are of.
    predictions: u64,
}

impl<T: Real> Kernel for Sample<'_, T> {
    type Output = Costs;

    #[inline(always)]
    fn run(self) -> Costs {
        let [z, y, x] = [0, 1, 2].map(|axis| probes(self.plan, self.region, axis));
        let active: usize = [&z, &y, &x].iter().enumerate().map(|(a, p)| (p[0].is_new as usize) << a).sum();
        let sets: Vec<usize> = (1..8).filter(|set| set & !active == 0).collect();
        let splat = |p: &Probe<T>| Probes::new(&[*p]);
        let (z_lanes, y_lanes): (Vec<_>, Vec<_>) = (z.iter().map(splat).collect(), y.iter().map(splat).collect());
        let x_lanes: Vec<_> = x.chunks(WIDTH).map(Probes::new).collect();
        let mut costs = [[0; 8]; 3];
        let mut row = Row::default();
        for along_z in &z_lanes {
            for along_y in &y_lanes {
                for along_x in &x_lanes {
                    row.load(self.region, self.tiers, self.values, [along_z, along_y, along_x], active);
                    for &points in self.candidates {
                        row.interpolate(points as usize, [along_z, along_y, along_x], active);
                        for &set in &sets {
                            costs[points as usize][set] += row.cost(set);
                        }
                    }
                }
            }
        }
        Costs { costs, predictions: (z.len() * y.len() * x.len() * sets.len()) as u64 }
    }
}
