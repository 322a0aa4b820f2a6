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
use crate::params::{Order, Points};
use crate::simd::{Kernel, dispatch};

/// A favoured axis must win by one part in so many.
const AXIS_MARGIN: u64 = 32;
/// So must the roughness rule, which is slower.
const RULE_MARGIN: u64 = 16;
/// Coarse steps are quantized more finely where a prediction costs less than this on average.
const FINE_BELOW: u64 = 20;

/// The choice for the chunk of the nodes `region`, whose values are a box in C order.
pub fn choose<T: Real>(
    plan: &ArrayPlan<T>,
    region: &Region,
    tiers: &Tiers<T>,
    values: &[T],
    (points, order): (Points, Order),
) -> Choice {
    let candidates = candidates(points);
    if !plan.array.is_frame() {
        return of_corner_arrays(points);
    }
    let with_rule = order == Order::Parity;
    let Costs { costs, active, predictions } = dispatch(Sample { plan, region, tiers, values, candidates, with_rule });
    let total = |choice: Choice| {
        let of_rule = &costs[choice.rule as usize][choice.points as usize];
        sets(active).map(|new| of_rule[choice.axes(new)]).sum::<u64>()
    };
    let counted = |choice: &Choice| {
        let cost = total(*choice);
        let axis = if choice.axis > 0 { cost / AXIS_MARGIN } else { 0 };
        cost + axis + if choice.rule { cost / RULE_MARGIN } else { 0 }
    };
    let of = |axes: &'static [u8], like: Choice| {
        let pairs = candidates.iter().flat_map(move |&points| axes.iter().map(move |&axis| (points, axis)));
        pairs.map(move |(points, axis)| Choice { points, axis, ..like })
    };
    let plain = Choice::default();
    let best = match order {
        Order::Parity => {
            let all = of(&[0, 1, 2, 3], plain).chain(of(&[0, 1, 2, 3], Choice { rule: true, ..plain }));
            all.min_by_key(counted)
        }
        Order::Axis => of(&[0, 2], Choice { in_order: true, ..plain }).min_by_key(counted),
    }
    .unwrap_or_default();
    Choice { fine: total(best) < FINE_BELOW * predictions, ..best }
}

/// The nonempty sets of active axes, bit a for axis a.
fn sets(active: usize) -> impl Iterator<Item = usize> {
    (1..8).filter(move |set| set & !active == 0)
}

/// The choice for the chunks of corner arrays.
pub fn of_corner_arrays(points: Points) -> Choice {
    Choice { points: candidates(points)[0], rule: true, ..Choice::default() }
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
    with_rule: bool,
}

struct Costs {
    /// By the rule, then points, then the set of axes on which the nodes of the sample were taken as new.
    costs: [[[u64; 8]; 3]; 2],
    active: usize,
    /// How many predictions the costs of one number of points are of.
    predictions: u64,
}

impl<T: Real> Kernel for Sample<'_, T> {
    type Output = Costs;

    #[inline(always)]
    fn run(self) -> Costs {
        let [z, y, x] = [0, 1, 2].map(|axis| probes(self.plan, self.region, axis));
        let active: usize = [&z, &y, &x].iter().enumerate().map(|(a, p)| (p[0].is_new as usize) << a).sum();
        let sets: Vec<usize> = sets(active).collect();
        let splat = |p: &Probe<T>| Probes::new(&[*p]);
        let (z_lanes, y_lanes): (Vec<_>, Vec<_>) = (z.iter().map(splat).collect(), y.iter().map(splat).collect());
        let x_lanes: Vec<_> = x.chunks(WIDTH).map(Probes::new).collect();
        let mut costs = [[[0; 8]; 3]; 2];
        let mut row = Row::default();
        for along_z in &z_lanes {
            for along_y in &y_lanes {
                for along_x in &x_lanes {
                    row.load(self.region, self.tiers, self.values, [along_z, along_y, along_x], active);
                    for &points in self.candidates {
                        row.interpolate(points as usize, [along_z, along_y, along_x], active);
                        for &set in &sets {
                            let plain = row.cost(set, false);
                            costs[0][points as usize][set] += plain;
                            if self.with_rule {
                                costs[1][points as usize][set] +=
                                    if set.is_power_of_two() { plain } else { row.cost(set, true) };
                            }
                        }
                    }
                }
            }
        }
        Costs { costs, active, predictions: (z.len() * y.len() * x.len() * sets.len()) as u64 }
    }
}
