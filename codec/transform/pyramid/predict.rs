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
                match self.choice.axes(axes) {
                    0b001 => pass.run::<0b001, V, F>(v, visitor),
                    0b010 => pass.run::<0b010, V, F>(v, visitor),
                    0b100 => pass.run::<0b100, V, F>(v, visitor),
                    0b011 => pass.run::<0b011, V, F>(v, visitor),
                    0b101 => pass.run::<0b101, V, F>(v, visitor),
                    0b110 => pass.run::<0b110, V, F>(v, visitor),
                    _ => pass.run::<0b111, V, F>(v, visitor),
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
    fn run<const USED: usize, V: Vector<T, W>, F: Visit<T, V, W>>(&self, v: &mut [Lanes<T, W>], visitor: &mut F) {
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
                    let p = predict::<T, V, W, USED>(v, &lines, &self.group.quantizers[node.block].step);
                    visitor.visit(node, p, v);
                }
            }
        }
    }
}

/// The mean of the predictions along the axes `USED`, without those axes that are much rougher here than another.
#[inline(always)]
fn predict<T: Real, V: Vector<T, W>, const W: usize, const USED: usize>(
    v: &[Lanes<T, W>],
    lines: &[Line<T>; 3],
    step: &Lanes<T, W>,
) -> V {
    let zero = V::splat(T::ZERO);
    let (mut p, mut rough) = ([zero; 3], [zero; 3]);
    let mut limit = V::splat(T::INFINITY);
    for a in 0..3 {
        if USED == 1 << a {
            return lines[a].look::<V, W, false>(v).0;
        }
        if USED >> a & 1 == 1 {
            (p[a], rough[a]) = lines[a].look::<V, W, true>(v);
            limit = rough[a].smaller(limit);
        }
    }
    limit = limit.add(limit).add(V::load(step));
    let mut sum = zero;
    let mut kept = [rough[0].le(limit); 3];
    for a in 0..3 {
        if USED >> a & 1 == 1 {
            kept[a] = rough[a].le(limit);
            sum = V::select(kept[a], sum.add(p[a]), sum);
        }
    }
    let (one, half) = (V::splat(T::ONE), V::splat(T::HALF));
    let share = match USED {
        0b011 => V::select(V::and(kept[0], kept[1]), half, one),
        0b101 => V::select(V::and(kept[0], kept[2]), half, one),
        0b110 => V::select(V::and(kept[1], kept[2]), half, one),
        _ => {
            let two = V::select(V::and(kept[1], kept[2]), half, one);
            let two = V::select(V::and(kept[0], kept[2]), half, two);
            let two = V::select(V::and(kept[0], kept[1]), half, two);
            V::select(V::and(V::and(kept[0], kept[1]), kept[2]), V::splat(T::THIRD), two)
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
    /// The 1-D interpolation and, if asked for, how rough the axis is here.
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
    /// With `BEFORE` of `LEN` nodes before the new one. The roughness is the largest second difference of the inner nodes,
    /// or the difference where there are only two.
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
        let (first, end) = (BEFORE.saturating_sub(2), if BEFORE + 2 < LEN { BEFORE + 2 } else { LEN });
        let mut rough = zero;
        if ROUGH && end == first + 2 {
            rough = near[first + 1].sub(near[first]).abs().larger(zero);
        } else if ROUGH {
            for k in 0..LEN {
                if k >= first && k + 2 < end {
                    let bend = near[k + 2].sub(near[k + 1]).sub(near[k + 1].sub(near[k]));
                    rough = bend.abs().larger(rough);
                }
            }
        }
        (p, rough)
    }
}
