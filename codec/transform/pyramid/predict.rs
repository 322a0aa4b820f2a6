//! Prediction of every node of W equal tiles at once, in the order that the format fixes.

use super::choice::Mix;
use super::lanes::{Lanes, Real};
use super::plan::TilePlan;
use super::stencil::Stencil;

/// Where a node is.
#[derive(Clone, Copy)]
pub struct Node {
    /// Raster position in the tile.
    pub position: usize,
    /// Raster position in the tile's box of tolerance blocks.
    pub block: usize,
}

/// What is done with each prediction.
pub trait Visit<T, const W: usize> {
    fn visit(&mut self, node: Node, p: &Lanes<T, W>, v: &mut [Lanes<T, W>]);
}

/// The sets of axes on which a node can be new, in the order of coding; bit a stands for axis a.
pub const PASSES: [usize; 7] = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111];

/// Visits all coded nodes, steps coarse to fine. `v` holds the corners, and after each visit the value
/// that later predictions shall use. `shift`: 2^shift nodes of an axis share a tolerance block.
#[inline(always)]
pub fn sweep<T: Real, const W: usize, V: Visit<T, W>>(
    plan: &TilePlan<T>,
    mix: &Mix<T>,
    shift: u32,
    v: &mut [Lanes<T, W>],
    visitor: &mut V,
) {
    assert_eq!(v.len(), plan.len());
    for step in (0..plan.steps).rev() {
        for axes in PASSES {
            let pass = Pass { plan, mix, shift, step, axes };
            match mix.axes[axes] {
                0b001 => pass.run::<0b001, W, V>(v, visitor),
                0b010 => pass.run::<0b010, W, V>(v, visitor),
                0b100 => pass.run::<0b100, W, V>(v, visitor),
                0b011 => pass.run::<0b011, W, V>(v, visitor),
                0b101 => pass.run::<0b101, W, V>(v, visitor),
                0b110 => pass.run::<0b110, W, V>(v, visitor),
                _ => pass.run::<0b111, W, V>(v, visitor),
            }
        }
    }
}

/// The nodes of one step that are new on exactly the axes `axes`.
struct Pass<'a, T> {
    plan: &'a TilePlan<T>,
    mix: &'a Mix<T>,
    shift: u32,
    step: usize,
    axes: usize,
}

impl<T: Real> Pass<'_, T> {
    /// Positions of the pass on one axis.
    #[inline(always)]
    fn targets(&self, axis: usize) -> &[u32] {
        let plan = &self.plan.axes[axis];
        match plan.steps.get(self.step) {
            Some(step) if self.axes >> axis & 1 == 1 => &step.new,
            Some(step) => &step.old,
            None if self.axes >> axis & 1 == 1 => &[],
            None => &plan.ends,
        }
    }
    #[inline(always)]
    fn stencils(&self, axis: usize) -> &[Stencil<T>] {
        match self.plan.axes[axis].steps.get(self.step) {
            Some(step) if self.axes >> axis & 1 == 1 => &step.stencils[self.mix.points],
            _ => &[],
        }
    }
    /// `USED`: the axes of the pass that take part in the prediction.
    #[inline(always)]
    fn run<const USED: usize, const W: usize, V: Visit<T, W>>(&self, v: &mut [Lanes<T, W>], visitor: &mut V) {
        let strides = self.plan.strides();
        let blocks = self.plan.dims.map(|m| ((m - 1) >> self.shift) + 1);
        let alpha = &self.mix.alpha[self.axes];
        let [sz, sy, sx] = [0, 1, 2].map(|a| self.stencils(a));
        let [tz, ty, tx] = [0, 1, 2].map(|a| self.targets(a));
        let unused = Stencil::default();
        for (iz, &z) in tz.iter().enumerate() {
            let z = z as usize;
            let along_z = sz.get(iz).unwrap_or(&unused);
            for (iy, &y) in ty.iter().enumerate() {
                let y = y as usize;
                let along_y = sy.get(iy).unwrap_or(&unused);
                let block = ((z >> self.shift) * blocks[1] + (y >> self.shift)) * blocks[2];
                for (ix, &x) in tx.iter().enumerate() {
                    let x = x as usize;
                    let at = [z * strides[0], y * strides[1], x];
                    let position = at[0] + at[1] + at[2];
                    let mut p = Lanes::default();
                    if USED & 0b001 != 0 {
                        let line = line(v, along_z, at[1] + at[2], strides[0]);
                        add::<T, W, USED, 0>(&mut p, &line, alpha);
                    }
                    if USED & 0b010 != 0 {
                        let line = line(v, along_y, at[0] + at[2], strides[1]);
                        add::<T, W, USED, 1>(&mut p, &line, alpha);
                    }
                    if USED & 0b100 != 0 {
                        let line = line(v, &sx[ix], at[0] + at[1], 1);
                        add::<T, W, USED, 2>(&mut p, &line, alpha);
                    }
                    visitor.visit(Node { position, block: block + (x >> self.shift) }, &p, v);
                }
            }
        }
    }
}

/// The 1-D prediction along the line that starts at `origin`.
#[inline(always)]
fn line<T: Real, const W: usize>(v: &[Lanes<T, W>], s: &Stencil<T>, origin: usize, stride: usize) -> Lanes<T, W> {
    let mut p = Lanes::default();
    let first = &v[origin + s.node[0] as usize * stride];
    for l in 0..W {
        p[l] = s.weight[0] * first[l];
    }
    for k in 1..s.len.min(6) {
        let next = &v[origin + s.node[k] as usize * stride];
        for l in 0..W {
            p[l] = s.weight[k].fma(next[l], p[l]);
        }
    }
    p
}

/// Adds the share of one axis to the mean of the axes `USED`.
#[inline(always)]
fn add<T: Real, const W: usize, const USED: usize, const AXIS: usize>(
    p: &mut Lanes<T, W>,
    line: &Lanes<T, W>,
    alpha: &[T; 3],
) {
    if USED == 1 << AXIS {
        *p = *line;
    } else if USED & ((1 << AXIS) - 1) == 0 {
        for l in 0..W {
            p[l] = alpha[AXIS] * line[l];
        }
    } else {
        for l in 0..W {
            p[l] = alpha[AXIS].fma(line[l], p[l]);
        }
    }
}
