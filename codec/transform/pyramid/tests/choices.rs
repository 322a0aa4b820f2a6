//! Choices against a second way to make them, written node by node from `FORMAT.md`.

use super::random;
use crate::params::Points;
use crate::transform::pyramid::choice::Choice;
use crate::transform::pyramid::choose::choose;
use crate::transform::pyramid::frame::Frame;
use crate::transform::pyramid::lanes::{Real, delta};
use crate::{Params, Shape, Tier, ToleranceMap};

/// Costs of a chunk of the frame by points and set of axes, node by node from `FORMAT.md`, and how many predictions each is of.
fn slow_costs<T: Real>(frame: &Frame<T>, chunk: usize, values: &[T]) -> ([[u64; 8]; 3], u64) {
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
    let (mut costs, mut predictions) = ([[0; 8]; 3], 0);
    let grid = taken[0].iter().flat_map(|&z| taken[1].iter().map(move |&y| [z, y]));
    for at in grid.flat_map(|[z, y]| taken[2].iter().map(move |&x| [z, y, x])) {
        for set in (1..8).filter(|set| set & !active == 0) {
            predictions += 1;
            for points in 0..3 {
                costs[points][set] += slow_cost(frame, at, points, set, values);
            }
        }
    }
    (costs, predictions)
}

fn slow_cost<T: Real>(frame: &Frame<T>, at: [usize; 3], points: usize, set: usize, values: &[T]) -> u64 {
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
        let inner = &v[stencil.before.saturating_sub(2)..(stencil.before + 2).min(v.len())];
        let bends = match inner {
            [a, b] => vec![(*b - *a).abs()],
            _ => inner.windows(3).map(|t| ((t[2] - t[1]) - (t[1] - t[0])).abs()).collect(),
        };
        found.push((p, gain, bends.into_iter().fold(T::ZERO, |m, b| if b > m { b } else { m })));
    }
    let (mut p, mut gain) = (found[0].0, found[0].1);
    if found.len() > 1 {
        let least = found.iter().fold(T::INFINITY, |m, f| if f.2 < m { f.2 } else { m });
        let limit = least + least + quantizer.step;
        let kept: Vec<_> = found.iter().filter(|f| f.2 <= limit).collect();
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
        let (costs, predictions) = slow_costs(&frame, chunk, &values);
        let all = [1, 0, 2]
            .into_iter()
            .flat_map(|points| (0..4).map(move |axis| Choice { points, axis, ..Choice::default() }));
        let total = |c: &Choice| (1..8).map(|new| costs[c.points as usize][c.axes(new)]).sum::<u64>();
        let mut best = all.min_by_key(|c| if c.axis > 0 { total(c) + total(c) / 32 } else { total(c) }).unwrap();
        best.fine = total(&best) < 20 * predictions;
        let region = plan.array.chunk_box(chunk);
        let mut part = Vec::new();
        for z in region.lo[0]..region.hi[0] {
            for y in region.lo[1]..region.hi[1] {
                let row = (z * n[1] + y) * n[2];
                part.extend(&values[row + region.lo[2]..row + region.hi[2]]);
            }
        }
        assert_eq!(choose(plan, &region, &frame.tiers(), &part, Points::Auto), best, "{n:?} tile {tile} chunk {chunk}");
    }
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
