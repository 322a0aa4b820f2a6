//! Prediction of every node of W equal tiles at once, in the order that the format fixes.

use super::choice::{Choice, Levels};
use super::lanes::{Lanes, Real};
use super::plan::TilePlan;
use super::quantizer::QuantizerLanes;
use super::stencil::Stencil;

/// Where a node is.
#[derive(Clone, Copy)]
pub struct Node {
    /// Raster position in the tile.
    pub position: usize,
    /// Its entry in [`Group::quantizers`].
    pub block: usize,
}

/// What is done with each prediction.
pub trait Visit<T, const W: usize> {
    fn visit(&mut self, node: Node, p: &Lanes<T, W>, v: &mut [Lanes<T, W>]);
}

/// The sets of axes on which a node can be new, in the order of coding; bit a stands for axis a.
pub const PASSES: [usize; 7] = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111];

/// W equal tiles and how to predict them. Arrays are indexed by raster position.
#[derive(Clone, Copy)]
pub struct Group<'a, T, const W: usize> {
    pub plan: &'a TilePlan<T>,
    pub choice: Choice,
    /// 2^shift nodes of an axis share a tolerance block.
    pub shift: u32,
    /// One entry a tolerance block of the tile, for one level of quantization after the other.
    pub quantizers: &'a [QuantizerLanes<T, W>],
    /// The level of each step.
    pub levels: Levels,
}

impl<T: Real, const W: usize> Group<'_, T, W> {
    /// Visits all coded nodes, steps coarse to fine. `v` holds the corners, and after each visit the value
    /// that later predictions shall use.
    #[inline(always)]
    pub fn sweep<V: Visit<T, W>>(&self, v: &mut [Lanes<T, W>], visitor: &mut V) {
        assert_eq!(v.len(), self.plan.len());
        for step in (0..self.plan.steps).rev() {
            for axes in PASSES {
                let pass = Pass { group: self, step, axes };
                match self.choice.axes(axes) {
                    0b001 => pass.run::<0b001, V>(v, visitor),
                    0b010 => pass.run::<0b010, V>(v, visitor),
                    0b100 => pass.run::<0b100, V>(v, visitor),
                    0b011 => pass.run::<0b011, V>(v, visitor),
                    0b101 => pass.run::<0b101, V>(v, visitor),
                    0b110 => pass.run::<0b110, V>(v, visitor),
                    _ => pass.run::<0b111, V>(v, visitor),
                }
            }
        }
    }
}

/// The nodes of one step that are new on exactly the axes `axes`.
struct Pass<'a, T, const W: usize> {
    group: &'a Group<'a, T, W>,
    step: usize,
    axes: usize,
}

impl<T: Real, const W: usize> Pass<'_, T, W> {
    /// Positions of the pass on one axis.
    #[inline(always)]
    fn targets(&self, axis: usize) -> &[u32] {
        let plan = &self.group.plan.axes[axis];
        match plan.steps.get(self.step) {
            Some(step) if self.axes >> axis & 1 == 1 => &step.new,
            Some(step) => &step.old,
            None if self.axes >> axis & 1 == 1 => &[],
            None => &plan.ends,
        }
    }
    #[inline(always)]
    fn stencils(&self, axis: usize) -> &[Stencil<T>] {
        match self.group.plan.axes[axis].steps.get(self.step) {
            Some(step) if self.axes >> axis & 1 == 1 => &step.stencils[self.group.choice.points as usize],
            _ => &[],
        }
    }
    /// `USED`: the axes of the pass that take part in the prediction.
    #[inline(always)]
    fn run<const USED: usize, V: Visit<T, W>>(&self, v: &mut [Lanes<T, W>], visitor: &mut V) {
        let (strides, shift) = (self.group.plan.strides(), self.group.shift);
        let blocks = self.group.plan.dims.map(|m| ((m - 1) >> shift) + 1);
        let level = self.group.levels.of(self.step) * blocks[0] * blocks[1] * blocks[2];
        let [sz, sy, sx] = [0, 1, 2].map(|a| self.stencils(a));
        let [tz, ty, tx] = [0, 1, 2].map(|a| self.targets(a));
        let unused = Stencil::default();
        for (iz, &z) in tz.iter().enumerate() {
            let (z, along_z) = (z as usize, sz.get(iz).unwrap_or(&unused));
            for (iy, &y) in ty.iter().enumerate() {
                let (y, along_y) = (y as usize, sy.get(iy).unwrap_or(&unused));
                let block = level + ((z >> shift) * blocks[1] + (y >> shift)) * blocks[2];
                for (ix, &x) in tx.iter().enumerate() {
                    let (x, along_x) = (x as usize, sx.get(ix).unwrap_or(&unused));
                    let at = [z * strides[0], y * strides[1], x];
                    let node = Node { position: at[0] + at[1] + at[2], block: block + (x >> shift) };
                    let lines = [
                        Line { stencil: along_z, origin: at[1] + at[2], stride: strides[0] },
                        Line { stencil: along_y, origin: at[0] + at[2], stride: strides[1] },
                        Line { stencil: along_x, origin: at[0] + at[1], stride: 1 },
                    ];
                    let p = predict::<T, W, USED>(v, &lines, &self.group.quantizers[node.block].step);
                    visitor.visit(node, &p, v);
                }
            }
        }
    }
}

/// The mean of the predictions along the axes `USED`, without those axes that are much rougher here than another.
#[inline(always)]
fn predict<T: Real, const W: usize, const USED: usize>(
    v: &[Lanes<T, W>],
    lines: &[Line<T>; 3],
    step: &Lanes<T, W>,
) -> Lanes<T, W> {
    if USED.is_power_of_two() {
        return lines[USED.trailing_zeros() as usize].predict(v);
    }
    let (mut p, mut rough) = ([Lanes::default(); 3], [Lanes::default(); 3]);
    let mut limit = Lanes([T::INFINITY; W]);
    for a in 0..3 {
        if USED >> a & 1 == 1 {
            p[a] = lines[a].predict(v);
            rough[a] = lines[a].roughness(v);
            for l in 0..W {
                limit[l] = T::select(rough[a][l] < limit[l], rough[a][l], limit[l]);
            }
        }
    }
    let (mut sum, mut count) = (Lanes::<T, W>::default(), Lanes::<T, W>::default());
    for l in 0..W {
        limit[l] = limit[l] + limit[l] + step[l];
    }
    for a in 0..3 {
        if USED >> a & 1 == 1 {
            for l in 0..W {
                let counts = rough[a][l] <= limit[l];
                sum[l] = T::select(counts, sum[l] + p[a][l], sum[l]);
                count[l] = T::select(counts, count[l] + T::ONE, count[l]);
            }
        }
    }
    for l in 0..W {
        let share = T::select(count[l] == T::ONE, T::ONE, T::HALF);
        sum[l] = sum[l] * if USED == 0b111 { T::select(count[l] > T::TWO, T::THIRD, share) } else { share };
    }
    sum
}

/// The nodes of one axis around a new node.
struct Line<'a, T> {
    stencil: &'a Stencil<T>,
    /// Raster position of the axis' first node.
    origin: usize,
    stride: usize,
}

impl<T: Real> Line<'_, T> {
    #[inline(always)]
    fn at<'v, const W: usize>(&self, v: &'v [Lanes<T, W>], k: usize) -> &'v Lanes<T, W> {
        &v[self.origin + self.stencil.node[k] as usize * self.stride]
    }
    /// The 1-D interpolation.
    #[inline(always)]
    fn predict<const W: usize>(&self, v: &[Lanes<T, W>]) -> Lanes<T, W> {
        let (mut p, weight) = (Lanes::default(), &self.stencil.weight);
        let first = self.at(v, 0);
        for l in 0..W {
            p[l] = weight[0] * first[l];
        }
        for k in 1..self.stencil.len.min(6) {
            let next = self.at(v, k);
            for l in 0..W {
                p[l] = weight[k].fma(next[l], p[l]);
            }
        }
        p
    }
    /// The largest second difference of the inner nodes; the difference where there are only two.
    #[inline(always)]
    fn roughness<const W: usize>(&self, v: &[Lanes<T, W>]) -> Lanes<T, W> {
        let [first, end] = self.stencil.inner;
        let (mut rough, mut before) = (Lanes::<T, W>::default(), Lanes::<T, W>::default());
        for k in first + 1..end.min(6) {
            let (left, right) = (self.at(v, k - 1), self.at(v, k));
            for l in 0..W {
                let difference = right[l] - left[l];
                let bend = if k > first + 1 { (difference - before[l]).abs() } else { T::ZERO };
                let bend = if end == first + 2 { difference.abs() } else { bend };
                rough[l] = if bend > rough[l] { bend } else { rough[l] };
                before[l] = difference;
            }
        }
        rough
    }
}
