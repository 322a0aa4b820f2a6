//! Choices against a second way to make them, written node by node from `FORMAT.md`.

use super::random;
use crate::params::{Order, Points};
use crate::transform::pyramid::choice::Choice;
use crate::transform::pyramid::choose::choose;
use crate::transform::pyramid::frame::Frame;
use crate::transform::pyramid::lanes::{Real, delta};
use crate::{Params, Shape, Tier, ToleranceMap};
use std::cmp::Ordering;

/// Costs of a chunk of the frame by the rule, points and set of axes, node by node from `FORMAT.md`, the active axes, and how many predictions each is of.
fn slow_costs<T: Real>(frame: &Frame<T>, chunk: usize, values: &[T]) -> ([[[u64; 8]; 3]; 2], usize, u64) {
    let plan = &frame.plans[0];
    let (array, n) = (&plan.array, plan.array.n);
    let (region, side) = (array.chunk_box(chunk), array.sides().tile);
    let most = [1728, 41, 12][n.iter().filter(|&&n| n > 1).count() - 1];
    let mut active = 0;
    let taken: [Vec<usize>; 3] = std::array::from_fn(|a| {
        let new = |i: &usize| {
            let steps = &plan.axes[a][(i / side * side + side >= n[a]) as usize].steps;
            steps.first().is_some_and(|s| s.new.contains(&((i % side) as u32)))
        };
        let mut all: Vec<usize> = (region.lo[a]..region.hi[a]).filter(new).collect();
        active |= (!all.is_empty() as usize) << a;
        if all.is_empty() {
            all = (region.lo[a]..region.hi[a]).collect();
        }
        let c = all.len().min(most);
        (0..c).map(|i| all[i * all.len() / c]).collect()
    });
    let (mut costs, mut predictions) = ([[[0; 8]; 3]; 2], 0);
    let grid = taken[0].iter().flat_map(|&z| taken[1].iter().map(move |&y| [z, y]));
    for at in grid.flat_map(|[z, y]| taken[2].iter().map(move |&x| [z, y, x])) {
        for set in (1..8).filter(|set| set & !active == 0) {
            predictions += 1;
            for points in 0..3 {
                for rule in [false, true] {
                    costs[rule as usize][points][set] += slow_cost(frame, at, (points, rule), set, values);
                }
            }
        }
    }
    (costs, active, predictions)
}

fn slow_cost<T: Real>(
    frame: &Frame<T>,
    at: [usize; 3],
    (points, rule): (usize, bool),
    set: usize,
    values: &[T],
) -> u64 {
    let plan = &frame.plans[0];
    let (n, side) = (plan.array.n, plan.array.sides().tile);
    let quantizer = frame.tiers().quantizer(at, 0);
    let value = |at: [usize; 3]| values[(at[0] * n[1] + at[1]) * n[2] + at[2]];
    let mut found = Vec::new();
    for a in (0..3).filter(|a| set >> a & 1 == 1) {
        let origin = at[a] / side * side;
        let step = &plan.axes[a][(origin + side >= n[a]) as usize].steps[0];
        let place = step.new.iter().position(|&p| p as usize == at[a] - origin).unwrap();
        let stencil = &step.stencils[points][place];
        let mut v: Vec<T> = Vec::new();
        let (mut p, mut gain) = (T::ZERO, T::ZERO);
        for (k, w) in stencil.weight[..stencil.len].iter().enumerate() {
            let mut near = at;
            near[a] = origin + stencil.node[k] as usize;
            v.push(value(near));
            (p, gain) = if k == 0 { (*w * v[0], *w * *w) } else { (w.fma(v[k], p), w.fma(*w, gain)) };
        }
        let (left, right) = (v[stencil.before - 1], v[stencil.before]);
        let rough = if v.len() == 2 { right - left } else { (-T::TWO).fma(p, left + right) };
        found.push((p, gain, rough.abs()));
    }
    let (mut p, mut gain) = (found[0].0, found[0].1);
    if found.len() > 1 {
        let least = found.iter().fold(T::INFINITY, |m, f| if f.2 < m { f.2 } else { m });
        let limit = least.fma(T::TWO, quantizer.step);
        let kept: Vec<_> =
            found.iter().filter(|f| !rule || f.2.partial_cmp(&limit) != Some(Ordering::Greater)).collect();
        let share = [T::ZERO, T::ONE, T::HALF, T::THIRD][kept.len()];
        p = kept.iter().fold(T::ZERO, |s, f| s + f.0) * share;
        gain = kept.iter().fold(T::ZERO, |s, f| s + f.1) * (share * share);
    }
    let u = value(at);
    if quantizer.inverse == T::ZERO {
        return if quantizer.check < T::ZERO { 128 * (64 - delta(u, p).leading_zeros()) as u64 } else { 0 };
    }
    let x = (u - p).abs() * quantizer.inverse;
    let x = if x < T::from_f64(32768.0) { x } else { T::from_f64(32768.0) };
    let y = x.fma(x, gain.fma(T::from_f64(1.0 / 48.0), T::ONE)).to_f64() as f32;
    ((y.to_bits() >> 17) - 8128) as u64
}

/// The choices of all chunks against those by [`slow_costs`].
fn choose_alike<T: Real>(n: [usize; 3], tile: u8, taus: &[f64], roughness: f64) {
    let mut random = random(n[0] as u64 + 7);
    let wave = |i: usize| (i as f64 * 0.013).sin() * 3.0 + ((i / n[2]) as f64 * 0.05).cos();
    let values: Vec<T> =
        (0..n.iter().product::<usize>()).map(|i| T::from_f64(wave(i) + roughness * (random() - 0.5))).collect();
    let mut map = ToleranceMap::uniform(&Shape::new(&n).unwrap(), 0.0).unwrap();
    map.tiers = taus.iter().map(|&tau| Tier { name: String::new(), tau }).collect();
    map.tier_of_block.iter_mut().for_each(|t| *t = (random() * taus.len() as f64) as u8);
    let params = Params { tile, ..Params::default() };
    let frame = Frame::new(n, &map, T::from_f64(8.0), &params).unwrap();
    let plan = &frame.plans[0];
    for chunk in 0..plan.array.chunks().iter().product() {
        let (costs, active, predictions) = slow_costs(&frame, chunk, &values);
        let region = plan.array.chunk_box(chunk);
        let mut part = Vec::new();
        for z in region.lo[0]..region.hi[0] {
            for y in region.lo[1]..region.hi[1] {
                let row = (z * n[1] + y) * n[2];
                part.extend(&values[row + region.lo[2]..row + region.hi[2]]);
            }
        }
        for order in [Order::Parity, Order::Axis] {
            let best = slow_choice(&costs, (active, predictions), order);
            let chosen = choose(plan, &region, &frame.tiers(), &part, (Points::Auto, order));
            assert_eq!(chosen, best, "{n:?} tile {tile} chunk {chunk} {order:?}");
        }
    }
}

/// The choice by the costs of a chunk.
fn slow_choice(costs: &[[[u64; 8]; 3]; 2], (active, predictions): (usize, u64), order: Order) -> Choice {
    let (points, plain) = ([1, 0, 2], Choice::default());
    let parity = (0..24).map(|i| Choice { points: points[i / 4 % 3], axis: i as u8 % 4, rule: i >= 12, ..plain });
    let axis = (0..6).map(|i| Choice { points: points[i / 2], axis: i as u8 % 2 * 2, in_order: true, ..plain });
    let all: Vec<_> = if order == Order::Parity { parity.collect() } else { axis.collect() };
    let set = |c: &Choice, new: usize| match c.axis {
        axis if axis > 0 && new >> (axis - 1) & 1 == 1 => 1 << (axis - 1),
        _ if c.in_order => 1 << new.trailing_zeros(),
        _ => new,
    };
    let total = |c: &Choice| {
        let sets = (1..8).filter(|new| new & !active == 0);
        sets.map(|new| costs[c.rule as usize][c.points as usize][set(c, new)]).sum::<u64>()
    };
    let counted =
        |c: &Choice| total(c) + if c.axis > 0 { total(c) / 32 } else { 0 } + if c.rule { total(c) / 16 } else { 0 };
    let best = *all.iter().min_by_key(|c| counted(c)).unwrap();
    Choice { fine: total(&best) < 20 * predictions, ..best }
}

#[test]
fn choices_are_those_of_the_format() {
    for (roughness, tau) in [(0.0, 1e-3), (0.02, 1e-2), (0.3, 1e-4)] {
        choose_alike::<f32>([70, 40, 90], 8, &[tau], roughness);
        choose_alike::<f64>([64, 65, 40], 16, &[tau, 0.0, f64::INFINITY], roughness);
        choose_alike::<f32>([2, 66, 33], 32, &[tau, tau / 10.0], roughness);
        choose_alike::<f32>([1, 300, 90], 8, &[tau], roughness);
        choose_alike::<f64>([1, 1, 9000], 8, &[0.0], roughness);
    }
    choose_alike::<f32>([20, 20, 20], 16, &[0.0], 0.1);
}

#[test]
fn every_choice_has_a_byte_of_its_own() {
    let bytes: Vec<u8> = (0..=255).filter(|&byte| Choice::from_byte(byte).is_some()).collect();
    assert_eq!(bytes, (0..=71).collect::<Vec<u8>>());
    assert!(bytes.iter().all(|&byte| Choice::from_byte(byte).is_some_and(|choice| choice.to_byte() == byte)));
    let choice = |points, axis, fine, rule, in_order| Choice { points, axis, fine, rule, in_order };
    assert_eq!(choice(1, 0, false, true, false).to_byte(), 25);
    assert_eq!(choice(2, 3, true, true, false).to_byte(), 47);
    assert_eq!(choice(0, 0, false, false, true).to_byte(), 48);
    // in axis order the first axis predicts alone
    assert_eq!(choice(0, 0, false, false, true).axes(0b110), 0b010);
    assert_eq!(choice(0, 3, false, false, false).axes(0b110), 0b100);
    // unless another one is favoured
    assert_eq!(choice(2, 2, true, false, true).to_byte(), 48 + 2 + 6 + 12);
    assert_eq!(choice(0, 2, false, false, true).axes(0b111), 0b010);
    assert_eq!(choice(0, 2, false, false, true).axes(0b101), 0b001);
}
