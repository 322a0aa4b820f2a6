//! What encoder and decoder of a frame share: the hierarchy, the chunks, and how axes are named outside.

use super::grid::ChunkGrid;
use super::hierarchy::Hierarchy;
use super::plan::{BLOCK, Plan, squeeze};
use super::quantizer::TierBound;
use crate::volume::Field;
use crate::{Element, Params, Region, Result, ToleranceMap};
use std::ops::Range;

pub struct Frame<T> {
    pub hierarchy: Hierarchy<T>,
    pub factors: Vec<f64>,
    pub grid: ChunkGrid,
    /// Our axis a is axis `axes[a]` of the field.
    axes: [usize; 3],
}

impl<T: Element> Frame<T> {
    /// `factors` as stored; the encoder, which has none, takes the plan's.
    pub fn new(n: [usize; 3], map: &ToleranceMap, max_abs: f64, params: &Params, factors: Option<Vec<f64>>) -> Self {
        let plan = Plan::new(n, params);
        let factors = factors.unwrap_or_else(|| plan.factors());
        let grid = ChunkGrid::new(plan.n);
        let hierarchy = Hierarchy::new(plan, map, max_abs, &factors);
        Self { hierarchy, factors, grid, axes: squeeze(n, [0, 1, 2]) }
    }
    /// A box of ours in the axes of the field.
    pub fn region_of_field(&self, ours: &Region) -> Region {
        let mut out = *ours;
        for a in 0..3 {
            (out.lo[self.axes[a]], out.hi[self.axes[a]]) = (ours.lo[a], ours.hi[a]);
        }
        out
    }
    /// A box of the field in our axes.
    pub fn region_of_frame(&self, theirs: &Region) -> Region {
        Region { lo: self.axes.map(|a| theirs.lo[a]), hi: self.axes.map(|a| theirs.hi[a]) }
    }
    /// The values of a box of ours.
    pub fn read(&self, field: &dyn Field<T>, region: &Region) -> Result<Vec<T>> {
        let mut values = vec![T::ZERO; region.len()];
        field.read_region(&self.region_of_field(region), &mut values)?;
        Ok(values)
    }
    /// The bound of the block that holds a node.
    pub fn bound(&self, node: [usize; 3]) -> &TierBound<T> {
        let [_, by, bx] = self.hierarchy.plan.n.map(|n| n.div_ceil(BLOCK));
        let [z, y, x] = node.map(|i| i / BLOCK);
        &self.hierarchy.bounds[self.hierarchy.tiers()[(z * by + y) * bx + x] as usize]
    }
    /// Where the rows of the lossless blocks of a chunk stand in its box: block by block, rows ascending.
    pub fn lossless_nodes(&self, chunk: usize) -> Vec<Range<usize>> {
        if !self.hierarchy.bounds.iter().any(|b| b.lossless) {
            return Vec::new();
        }
        let (blocks, nodes) = (self.grid.blocks(chunk), self.grid.nodes(chunk));
        let mut rows = Vec::new();
        let [nz, ny, nx] = nodes.shape();
        let [bz, by, bx] = blocks.shape();
        for i in 0..bz * by * bx {
            let at = [i / (by * bx), i / bx % by, i % bx].map(|b| b * BLOCK);
            if !self.bound(std::array::from_fn(|a| nodes.lo[a] + at[a])).lossless {
                continue;
            }
            let end = |a: usize, n: usize| (at[a] + BLOCK).min(n);
            for z in at[0]..end(0, nz) {
                for y in at[1]..end(1, ny) {
                    let row = (z * ny + y) * nx;
                    rows.push(row + at[2]..row + end(2, nx));
                }
            }
        }
        rows
    }
}
