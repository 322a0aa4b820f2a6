//! The pyramid against the oracle's vectors and against a second decoder, written node by node from `FORMAT.md`.

use super::choice::{Choice, Levels};
use super::frame::Frame;
use super::geometry::Array;
use super::lanes::{Lanes, Real, apply_delta};
use super::plan::{ArrayPlan, TilePlan};
use super::predict::{Group, Node, Visit};
use super::quantizer::{LEVELS, QuantizerLanes};
use super::stencil::POINTS;
use super::{decode_frame, encode_frame};
use crate::backend::{FrameInput, FrameParts, FrameShape, RegionSink};
use crate::entropy::class::symbols::{ChunkSymbols, EXACT};
use crate::params::Points;
use crate::simd::Instructions;
use crate::simd::tests::with_at_most;
use crate::volume::SliceField;
use crate::{Coder, Control, Order, Params, Region, Result, Shape, Tier, ToleranceMap};
use std::cmp::Ordering;
use std::sync::Mutex;

mod choices;

/// The values of a little-endian C-order .npy file.
fn npy<const B: usize, V>(bytes: &[u8], convert: fn([u8; B]) -> V) -> Vec<V> {
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    bytes[10 + header..].chunks_exact(B).map(|c| convert(c.try_into().unwrap())).collect()
}

macro_rules! vector {
    ($part:literal) => {
        include_bytes!(concat!("../../../../tests/data/pyramid/pyramid_16x24x8_tile8_points4_parity_", $part, ".npy"))
    };
}

/// Notes the prediction of every node and leaves the values as they are.
struct Record<'a>(&'a mut [f64]);

impl Visit<f64, Lanes<f64, 1>, 1> for Record<'_> {
    fn visit(&mut self, node: Node, p: Lanes<f64, 1>, _: &mut [Lanes<f64, 1>]) {
        self.0[node.position] = p[0];
    }
}

/// The set of axes on which a node is new, and the step that adds it; None for corners.
fn born<T: Real>(tile: &TilePlan<T>, at: [usize; 3]) -> Option<(usize, usize)> {
    (0..tile.steps).find_map(|step| {
        let new = |a: usize| tile.axes[a].steps.get(step).is_some_and(|s| s.new.contains(&(at[a] as u32)));
        let axes = (0..3).filter(|&a| new(a)).map(|a| 1 << a).sum();
        (axes != 0).then_some((axes, step))
    })
}

#[test]
fn nodes_new_on_one_axis_have_the_symbols_of_the_oracle() {
    let u = npy(vector!("input"), f64::from_le_bytes);
    let r = npy(vector!("recon"), f64::from_le_bytes);
    let tol = npy(vector!("tol"), f64::from_le_bytes);
    let mut symbols = npy(vector!("symbols"), i64::from_le_bytes).into_iter().skip(4 * 6 * 2);
    let n = [16, 24, 8];
    let plan = ArrayPlan::<f64>::new(super::geometry::arrays(n, 8).unwrap()[0].clone());
    let tile = &plan.tile_plans()[0];
    let index = |z: usize, y: usize, x: usize| (z * n[1] + y) * n[2] + x;
    let mut p = vec![0.0; u.len()];
    for (tz, ty) in (0..2).flat_map(|z| (0..3).map(move |y| (z, y))) {
        let place = |i: usize| index(tz * 8 + i / 64, ty * 8 + i / 8 % 8, i % 8);
        let mut v: Vec<_> = (0..512).map(|i| Lanes([r[place(i)]])).collect();
        let quantizers = [QuantizerLanes::default()];
        let choice = Choice { points: 1, ..Choice::default() };
        let group = Group { plan: tile, choice, shift: usize::BITS - 1, quantizers: &quantizers, levels: Levels::Full };
        let mut seen = vec![0.0; 512];
        group.sweep(&mut v, &mut Record(&mut seen));
        (0..512).for_each(|i| p[place(i)] = seen[i]);
    }
    let mut compared = 0;
    for step in (0..tile.steps).rev() {
        for axes in super::predict::PASSES {
            for i in 0..u.len() {
                let at = [i / (n[1] * n[2]) % 8, i / n[2] % n[1] % 8, i % n[2]];
                if born(tile, at) == Some((axes, step)) {
                    let symbol = symbols.next().unwrap();
                    if axes.is_power_of_two() {
                        assert_eq!(((u[i] - p[i]) / (2.0 * tol[i])).round_ties_even() as i64, symbol, "{at:?}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(symbols.next().is_none() && compared > 1000, "{compared}");
}

struct Whole<T>([usize; 3], Mutex<Vec<T>>);

impl<T: Real> RegionSink<T> for Whole<T> {
    fn put(&self, part: &Region, values: &[T]) -> Result<()> {
        let (mut all, mut values) = (self.1.lock().unwrap(), values.iter());
        for z in part.lo[0]..part.hi[0] {
            for y in part.lo[1]..part.hi[1] {
                for x in part.lo[2]..part.hi[2] {
                    all[(z * self.0[1] + y) * self.0[2] + x] = *values.next().unwrap();
                }
            }
        }
        Ok(())
    }
}

/// Decodes a frame node by node.
struct Slow<'a, T> {
    frame: Frame<'a, T>,
    map: &'a ToleranceMap,
}

impl<T: Real> Slow<'_, T> {
    fn decode(&self, parts: &FrameParts) -> Vec<T> {
        let mut coarse = &parts.coarse[..];
        let mut next = || {
            let (mut length, mut shift) = (0usize, 0);
            loop {
                let byte = coarse[0];
                coarse = &coarse[1..];
                length |= (byte as usize & 127) << shift;
                shift += 7;
                if byte < 128 {
                    break;
                }
            }
            let (part, rest) = coarse.split_at(length);
            coarse = rest;
            part
        };
        let mut below = self.last(next());
        for (index, plan) in self.frame.plans.iter().enumerate().rev() {
            let mut values = vec![T::ZERO; plan.array.len()];
            for chunk in 0..plan.array.chunks().iter().product() {
                let bytes = if index == 0 { &parts.chunks[chunk][..] } else { next() };
                self.chunk(plan, chunk, bytes, &below, &mut values);
            }
            below = values;
        }
        below
    }

    fn step(&self, array: &Array, at: [usize; 3], level: usize) -> T {
        let [z, y, x] = array.coordinates(at);
        let [_, by, bx] = self.map.blocks;
        let tier = self.map.tier_of_block[((z / 8) * by + y / 8) * bx + x / 8];
        self.frame.quantizers[level][tier as usize].step
    }

    fn last(&self, bytes: &[u8]) -> Vec<T> {
        let array = &self.frame.last;
        let mut corners = super::coarse::Corners::new(&self.frame, array);
        corners.values = super::last::decode(self.frame.coding, &corners.tiers(&self.frame), array.n, bytes).unwrap();
        corners.values
    }

    fn chunk(&self, plan: &ArrayPlan<T>, index: usize, bytes: &[u8], below: &[T], out: &mut [T]) {
        let array = &plan.array;
        let (region, n) = (array.chunk_box(index), array.n);
        let shape = plan.chunk(&region);
        let (choice, payload) = self.frame.coding.split_choice(bytes).unwrap();
        let mut symbols = ChunkSymbols::default();
        let layout = shape.symbols(plan.walk(choice));
        self.frame.coding.decode(layout, payload, &mut symbols).unwrap();
        let corner_n = array.corners().n;
        for (spot, place) in shape.spots.iter().zip(&layout.tiles) {
            let tile = plan.tile(spot);
            let lo: [usize; 3] = std::array::from_fn(|a| region.lo[a] + spot.lo[a]);
            let index = |at: [usize; 3]| ((lo[0] + at[0]) * n[1] + lo[1] + at[1]) * n[2] + lo[2] + at[2];
            let unravel = |p: u32| {
                let (p, [_, my, mx]) = (p as usize, tile.dims);
                [p / (my * mx), p / mx % my, p % mx]
            };
            for &p in &tile.corners {
                let at = unravel(p);
                let side = array.sides().tile;
                let [z, y, x] = std::array::from_fn(|a| lo[a] / side * 2 + (at[a] > 0) as usize);
                out[index(at)] = below[(z * corner_n[1] + y) * corner_n[2] + x];
            }
            // Coding order is not the order of prediction: nodes new on fewer axes come first.
            let mut nodes: Vec<_> = tile
                .symbols(plan.walk(choice))
                .iter()
                .enumerate()
                .filter(|(_, p)| (**p as usize) < tile.len())
                .map(|(i, &p)| (i, unravel(p)))
                .collect();
            nodes.sort_by_key(|&(_, at)| born(tile, at).map(|(axes, step)| (usize::MAX - step, axes.count_ones())));
            for (i, at) in nodes {
                let (axes, step) = born(tile, at).unwrap();
                let level = match (array.is_frame(), choice.fine) {
                    (false, _) => LEVELS.len() - 1,
                    (true, true) => step.min(LEVELS.len() - 1),
                    (true, false) => 0,
                };
                let size = self.step(array, std::array::from_fn(|a| lo[a] + at[a]), level);
                let value = |axis: usize, k: u32| {
                    let mut at = at;
                    at[axis] = k as usize;
                    out[index(at)]
                };
                let p = slow_prediction(tile, choice, axes, step, at, size, value);
                out[index(at)] = match symbols.q[place.start + i] {
                    EXACT => apply_delta(symbols.delta[place.start + i], p),
                    q => T::from_f64(q as f64).fma(size, p),
                };
            }
        }
    }
}

/// The prediction of one node; `value(axis, k)` is the node at position k of its line along an axis.
fn slow_prediction<T: Real>(
    tile: &TilePlan<T>,
    choice: Choice,
    axes: usize,
    step: usize,
    at: [usize; 3],
    size: T,
    value: impl Fn(usize, u32) -> T,
) -> T {
    let predicting = match choice.axis {
        axis if axis > 0 && axes >> (axis - 1) & 1 == 1 => 1 << (axis - 1),
        _ if choice.in_order => 1 << axes.trailing_zeros(),
        _ => axes,
    };
    let mut found = Vec::new();
    for axis in (0..3).filter(|a| predicting >> a & 1 == 1) {
        let plan = &tile.axes[axis].steps[step];
        let half = POINTS[choice.points as usize] / 2;
        let place = plan.new.iter().position(|&k| k == at[axis] as u32).unwrap();
        let weights = plan.stencils[choice.points as usize][place].weight;
        let right = plan.old.iter().position(|&k| k > at[axis] as u32).unwrap();
        let near = |reach: usize| &plan.old[right.saturating_sub(reach)..(right + reach).min(plan.old.len())];
        let mut p = T::ZERO;
        for (k, &node) in near(half).iter().enumerate() {
            p = if k == 0 { weights[0] * value(axis, node) } else { weights[k].fma(value(axis, node), p) };
        }
        let (left, right) = (value(axis, plan.old[right - 1]), value(axis, plan.old[right]));
        let rough = if near(half).len() == 2 { right - left } else { (-T::TWO).fma(p, left + right) };
        found.push((p, rough.abs()));
    }
    if let [(p, _)] = found[..] {
        return p;
    }
    let least = found.iter().fold(T::INFINITY, |m, &(_, r)| if r < m { r } else { m });
    let limit = if choice.rule { T::TWO.fma(least, size) } else { T::INFINITY };
    let kept: Vec<T> =
        found.iter().filter(|(_, r)| r.partial_cmp(&limit) != Some(Ordering::Greater)).map(|&(p, _)| p).collect();
    let sum = kept.iter().fold(T::ZERO, |s, &p| s + p);
    sum * [T::ZERO, T::ONE, T::HALF, T::THIRD][kept.len()]
}

/// Reproducible numbers in 0..1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A frame of waves and noise with random tiers.
struct Sample<T> {
    n: [usize; 3],
    values: Vec<T>,
    map: ToleranceMap,
    params: Params,
    max_abs: T,
}

impl<T: Real> Sample<T> {
    fn new(n: [usize; 3], params: Params) -> Self {
        let mut random = random(7);
        let values: Vec<T> = (0..n.iter().product::<usize>())
            .map(|i| T::from_f64((i as f64 * 0.013).sin() * 3.0 + (i / n[2] % 40) as f64 * 0.1 + random() * 0.01))
            .collect();
        let mut map = ToleranceMap::uniform(&Shape::new(&n).unwrap(), 0.0).unwrap();
        map.tiers = [0.0, 1e-2, 1e-4, f64::INFINITY].map(|tau| Tier { name: String::new(), tau }).to_vec();
        map.tier_of_block.iter_mut().for_each(|t| *t = (random() * 4.0) as u8);
        let max_abs = values.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m });
        Self { n, values, map, params, max_abs }
    }
    fn encode(&self) -> FrameParts {
        let (field, mut parts) = (SliceField::new(&self.values, self.n), FrameParts::default());
        let Self { map, params, max_abs, .. } = self;
        let input = FrameInput { field: &field, tolerance: map, max_abs: *max_abs, params };
        encode_frame(&input, &mut parts, &Control::default()).unwrap();
        parts
    }
    /// The bits of the values.
    fn decode(&self, parts: &FrameParts) -> Vec<u64> {
        let Self { n, map, params, max_abs, .. } = self;
        let shape = FrameShape { n: *n, tolerance: map, params, max_abs: max_abs.to_f64() };
        let out = Whole(*n, Mutex::new(vec![T::ZERO; self.values.len()]));
        decode_frame(&shape, parts, &Region { lo: [0; 3], hi: *n }, &out, &Control::default()).unwrap();
        bits(&out.1.into_inner().unwrap())
    }
}

fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits64()).collect()
}

/// Both decoders on one input.
fn agree<T: Real>(n: [usize; 3], params: Params) {
    let sample = Sample::<T>::new(n, params);
    let parts = sample.encode();
    let frame = Frame::new(n, &sample.map, sample.max_abs, &sample.params).unwrap();
    let slow = Slow { frame, map: &sample.map };
    assert_eq!(bits(&slow.decode(&parts)), sample.decode(&parts), "{n:?} {:?}", sample.params);
}

/// Bytes and values with every instruction set.
fn same_everywhere<T: Real>(n: [usize; 3], params: Params) {
    let sample = Sample::<T>::new(n, params);
    let parts = sample.encode();
    let values = sample.decode(&parts);
    for most in [Instructions::Plain, Instructions::Avx2, Instructions::Avx512] {
        with_at_most(most, || {
            let again = sample.encode();
            assert!(again.coarse == parts.coarse && again.chunks == parts.chunks, "{most:?} {n:?} {:?}", sample.params);
            assert!(sample.decode(&parts) == values, "{most:?} {n:?} {:?}", sample.params);
        });
    }
}

#[test]
fn no_instruction_set_changes_a_bit() {
    // One thread, so that what it may use holds for all of the work.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (coder, order) in
            [(Coder::Class, Order::Parity), (Coder::Planes, Order::Axis), (Coder::Groups, Order::Axis)]
        {
            let tile = |tile| Params { tile, coder, order, ..Params::default() };
            same_everywhere::<f32>([64, 40, 70], tile(8));
            same_everywhere::<f64>([30, 64, 41], tile(16));
            same_everywhere::<f32>([1, 150, 300], tile(16));
            same_everywhere::<f64>([33, 9, 70], tile(32));
        }
    });
}

#[test]
fn a_second_decoder_gives_the_same_bits() {
    for (points, coder, order) in [
        (Points::Auto, Coder::Class, Order::Parity),
        (Points::Two, Coder::Class, Order::Parity),
        (Points::Six, Coder::Class, Order::Axis),
        (Points::Auto, Coder::Planes, Order::Axis),
        (Points::Six, Coder::Planes, Order::Axis),
        (Points::Auto, Coder::Groups, Order::Parity),
        (Points::Auto, Coder::Groups, Order::Axis),
    ] {
        let tile = |tile| Params { tile, points, coder, order, ..Params::default() };
        agree::<f32>([30, 19, 41], tile(8));
        agree::<f64>([18, 35, 40], tile(16));
        agree::<f32>([40, 9, 70], tile(32));
        agree::<f64>([1, 70, 90], tile(8));
        agree::<f32>([1, 1, 5000], tile(16));
    }
}
