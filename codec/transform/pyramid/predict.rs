//! Prediction of every node of W equal tiles at once, in the order that the format fixes.

use super::choice::{Choice, Levels};
use super::lanes::{Lanes, Real};
use super::plan::TilePlan;
use super::quantizer::QuantizerLanes;
use super::stencil::Stencil;
use super::vector::Vector;

/// Where a node is.
#[derive(Clone, Copy)]
pub struct Node {
    /// Raster position in the tile.
    pub position: usize,
    /// Its entry in [`Group::quantizers`].
    pub block: usize,
}

/// What is done with each prediction.
pub trait Visit<T, V, const W: usize> {
    fn visit(&mut self, node: Node, p: V, v: &mut [Lanes<T, W>]);
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
    pub fn sweep<V: Vector<T, W>, F: Visit<T, V, W>>(&self, v: &mut [Lanes<T, W>], visitor: &mut F) {
        assert_eq!(v.len(), self.plan.len());
        for step in (0..self.plan.steps).rev() {
            for axes in PASSES {
                let pass = Pass { group: self, step, axes };
                match (self.choice.axes(axes), self.choice.rule) {
                    (0b001, _) => pass.run::<0b001, false, V, F>(v, visitor),
                    (0b010, _) => pass.run::<0b010, false, V, F>(v, visitor),
                    (0b100, _) => pass.run::<0b100, false, V, F>(v, visitor),
                    (0b011, false) => pass.run::<0b011, false, V, F>(v, visitor),
                    (0b101, false) => pass.run::<0b101, false, V, F>(v, visitor),
                    (0b110, false) => pass.run::<0b110, false, V, F>(v, visitor),
                    (_, false) => pass.run::<0b111, false, V, F>(v, visitor),
                    (0b011, true) => pass.run::<0b011, true, V, F>(v, visitor),
                    (0b101, true) => pass.run::<0b101, true, V, F>(v, visitor),
                    (0b110, true) => pass.run::<0b110, true, V, F>(v, visitor),
                    (_, true) => pass.run::<0b111, true, V, F>(v, visitor),
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
    /// `USED`: the axes of the pass that take part in the prediction; `RULE`: those of them that are much rougher here than another
    /// do not.
    #[inline(always)]
    fn run<const USED: usize, const RULE: bool, V: Vector<T, W>, F: Visit<T, V, W>>(
        &self,
        v: &mut [Lanes<T, W>],
        visitor: &mut F,
    ) {
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
                    let p = if RULE {
                        let step = &self.group.quantizers[node.block].step;
                        mean_of_smooth::<T, V, W, USED>(v, &lines, step)
                    } else {
                        mean::<T, V, W, USED>(v, &lines)
                    };
                    visitor.visit(node, p, v);
                }
            }
        }
    }
}

/// The mean of the predictions along the axes `USED`.
#[inline(always)]
fn mean<T: Real, V: Vector<T, W>, const W: usize, const USED: usize>(v: &[Lanes<T, W>], lines: &[Line<T>; 3]) -> V {
    let [z, y, x] = lines;
    let half = V::splat(T::HALF);
    match USED {
        0b001 => z.interpolate(v),
        0b010 => y.interpolate(v),
        0b100 => x.interpolate(v),
        0b011 => V::add(z.interpolate(v), y.interpolate(v)).mul(half),
        0b101 => V::add(z.interpolate(v), x.interpolate(v)).mul(half),
        0b110 => V::add(y.interpolate(v), x.interpolate(v)).mul(half),
        _ => V::add(z.interpolate(v), y.interpolate(v)).add(x.interpolate(v)).mul(V::splat(T::THIRD)),
    }
}

/// The mean of the predictions along the axes `USED`, two or three, without those axes that are much rougher here than another.
#[inline(always)]
fn mean_of_smooth<T: Real, V: Vector<T, W>, const W: usize, const USED: usize>(
    v: &[Lanes<T, W>],
    lines: &[Line<T>; 3],
    step: &Lanes<T, W>,
) -> V {
    let zero = V::splat(T::ZERO);
    let (mut p, mut rough) = ([zero; 3], [zero; 3]);
    let mut limit = V::splat(T::INFINITY);
    for a in 0..3 {
        if USED >> a & 1 == 1 {
            (p[a], rough[a]) = lines[a].look::<V, W, true>(v);
            limit = rough[a].smaller(limit);
        }
    }
    limit = limit.fma(V::splat(T::TWO), V::load(step));
    let (mut sum, mut out) = (zero, [rough[0].lt(limit); 3]);
    for a in 0..3 {
        if USED >> a & 1 == 1 {
            out[a] = limit.lt(rough[a]);
            sum = V::select(out[a], sum, sum.add(p[a]));
        }
    }
    let (one, half) = (V::splat(T::ONE), V::splat(T::HALF));
    let share = match USED {
        0b011 => V::select(out[0], one, V::select(out[1], one, half)),
        0b101 => V::select(out[0], one, V::select(out[2], one, half)),
        0b110 => V::select(out[1], one, V::select(out[2], one, half)),
        _ => {
            let any = out.iter().fold(V::splat(T::THIRD), |share, &out| V::select(out, half, share));
            let pairs = [V::and(out[0], out[1]), V::and(out[0], out[2]), V::and(out[1], out[2])];
            pairs.iter().fold(any, |share, &both| V::select(both, one, share))
        }
    };
    sum.mul(share)
}

/// The nodes of one axis around a new node.
struct Line<'a, T> {
    stencil: &'a Stencil<T>,
    /// Raster position of the axis' first node.
    origin: usize,
    stride: usize,
}

impl<T: Real> Line<'_, T> {
    /// The 1-D interpolation.
    #[inline(always)]
    fn interpolate<V: Vector<T, W>, const W: usize>(&self, v: &[Lanes<T, W>]) -> V {
        self.look::<V, W, false>(v).0
    }
    /// The same and, if asked for, how rough the axis is here.
    #[inline(always)]
    fn look<V: Vector<T, W>, const W: usize, const ROUGH: bool>(&self, v: &[Lanes<T, W>]) -> (V, V) {
        match (self.stencil.before, self.stencil.len) {
            (1, 2) => self.nodes::<V, W, ROUGH, 1, 2>(v),
            (1, 3) => self.nodes::<V, W, ROUGH, 1, 3>(v),
            (1, 4) => self.nodes::<V, W, ROUGH, 1, 4>(v),
            (2, 3) => self.nodes::<V, W, ROUGH, 2, 3>(v),
            (2, 4) => self.nodes::<V, W, ROUGH, 2, 4>(v),
            (2, 5) => self.nodes::<V, W, ROUGH, 2, 5>(v),
            (3, 4) => self.nodes::<V, W, ROUGH, 3, 4>(v),
            (3, 5) => self.nodes::<V, W, ROUGH, 3, 5>(v),
            (3, 6) => self.nodes::<V, W, ROUGH, 3, 6>(v),
            _ => unreachable!("a new node lies between one to three nodes on each side"),
        }
    }
    /// With `BEFORE` of `LEN` nodes before the new one. The roughness is twice what a straight line through its neighbours misses the
    /// prediction by, or the difference of the neighbours where there are no other nodes.
    #[inline(always)]
    fn nodes<V: Vector<T, W>, const W: usize, const ROUGH: bool, const BEFORE: usize, const LEN: usize>(
        &self,
        v: &[Lanes<T, W>],
    ) -> (V, V) {
        let zero = V::splat(T::ZERO);
        let mut near = [zero; LEN];
        for k in 0..LEN {
            near[k] = V::load(&v[self.origin + self.stencil.node[k] as usize * self.stride]);
        }
        let mut p = V::splat(self.stencil.weight[0]).mul(near[0]);
        for k in 1..LEN {
            p = V::splat(self.stencil.weight[k]).fma(near[k], p);
        }
        let (left, right) = (near[BEFORE - 1], near[BEFORE]);
        let rough = match (ROUGH, LEN) {
            (false, _) => zero,
            (true, 2) => right.sub(left).abs(),
            (true, _) => p.fma(V::splat(-T::TWO), left.add(right)).abs(),
        };
        (p, rough)
    }
}
