//! The tables of an array's tile shapes, as `kernels/lines.cuh` walks them.

use super::arguments::{StepAxis, TileShape};
use crate::entropy::class::symbols::Unit;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::plan::TilePlan;
use crate::transform::pyramid::stencil::{AxisStep, POINTS, Stencil};

/// New nodes of a segment of a line: `SEGMENT` in pyramid.cuh.
const SEGMENT: u32 = 8;
/// Symbols in 16 bytes: how many the kernels move at a time.
const SYMBOLS_TOGETHER: usize = 8;
/// What follows a plane in a tile's memory, so that planes start in different banks.
const PLANE_PADDING: usize = 9;

/// Flags of a stencil.
const LEFT_BEND: u16 = 1;
const RIGHT_BEND: u16 = 2;
const TWO_NODES: u16 = 4;

/// The host's side of the tables; a frame has at most 8 shapes of tile.
#[derive(Default)]
pub struct Tables {
    pub shapes: Vec<TileShape>,
    pub steps: Vec<StepAxis>,
    /// Nodes of a step of an axis: offset | position << 16.
    pub nodes: Vec<u32>,
    /// For 2, 4 and 6 points, laid out as `Stencil` in pyramid.cuh.
    pub stencils: [Vec<u8>; 3],
    pub order: Vec<u16>,
    pub coded_at: Vec<u16>,
    pub offsets: Vec<u16>,
    /// Number of entries of each of `stencils`.
    stencil_count: u32,
}

impl Tables {
    /// `regular`: the tile is whole and its nodes evenly spaced on three axes.
    pub fn add<T: Real>(&mut self, plan: &TilePlan<T>, regular: bool) {
        let [_, ny, nx] = plan.dims;
        // an odd distance between rows keeps a column in different banks
        let stride_y = nx | 1;
        let strides = [ny * stride_y + PLANE_PADDING, stride_y, 1];
        let [_, y, x] = plan.axes.each_ref().map(|axis| ranks(axis.len, &axis.steps));
        let ranks = [(0..plan.dims[0]).collect(), y, x];
        let places = (plan.dims[0] - 1) * strides[0] + (ny - 1) * stride_y + nx;
        let offsets = [0, 1, 2].map(|axis: usize| self.add_offsets(&ranks[axis], strides[axis]));
        let first_step = self.steps.len() as u32;
        for step in 0..plan.steps {
            for axis in 0..3 {
                self.add_step(plan, axis, step, offsets[axis] as usize);
            }
        }
        let (order, coded_at) = self.add_order(plan, offsets, places);
        self.shapes.push(TileShape {
            dims: plan.dims.map(|d| d as u32),
            steps: plan.steps as u32,
            nodes: self.order.len() as u32 - order,
            first_step,
            order,
            coded_at,
            offsets,
            ends: plan.axes.each_ref().map(|axis| axis.ends.len() as u32),
            // symbols follow the values, tiers the symbols
            // and one more place stands for the padding between units
            places: (places + 1).next_multiple_of(SYMBOLS_TOGETHER) as u32,
            regular: regular as u32,
        });
    }

    /// The offset of each position of an axis. On axes 1 and 2 nodes of coarse sets come first, so that each set lies close
    /// together: the threads of a warp then meet different banks.
    fn add_offsets(&mut self, ranks: &[usize], stride: usize) -> u32 {
        let first = self.offsets.len() as u32;
        self.offsets.extend(ranks.iter().map(|rank| (rank * stride) as u16));
        first
    }

    fn add_step<T: Real>(&mut self, plan: &TilePlan<T>, axis: usize, step: usize, offsets: usize) {
        let axis_plan = &plan.axes[axis];
        let nothing = AxisStep { old: axis_plan.ends.clone(), new: Vec::new(), stencils: Default::default() };
        let nodes = axis_plan.steps.get(step).unwrap_or(&nothing);
        let (old_count, new_count) = (nodes.old.len() as u32, nodes.new.len() as u32);
        let entry = StepAxis {
            old_first: self.add_nodes(&nodes.old, offsets),
            old_count,
            old_magic: magic(old_count),
            new_first: self.add_nodes(&nodes.new, offsets),
            new_count,
            new_magic: magic(new_count),
            stencils: self.stencil_count,
            segments: new_count.div_ceil(SEGMENT),
        };
        self.steps.push(entry);
        self.stencil_count += new_count;
        for (points, stencils) in nodes.stencils.iter().enumerate() {
            for (&new, stencil) in nodes.new.iter().zip(stencils) {
                self.add_stencil(points, (&nodes.old, new), stencil, offsets);
            }
        }
    }

    fn add_nodes(&mut self, positions: &[u32], offsets: usize) -> u32 {
        let first = self.nodes.len() as u32;
        self.nodes.extend(positions.iter().map(|&p| self.offsets[offsets + p as usize] as u32 | p << 16));
        first
    }

    /// The stencil of node `new`, spread over its full number of points: where it is cut off at an end, the node there
    /// stands again with weight 0.
    fn add_stencil<T: Real>(&mut self, points: usize, (old, new): (&[u32], u32), stencil: &Stencil<T>, offsets: usize) {
        let count = POINTS[points];
        let used = &stencil.node[..stencil.len];
        let first = old.partition_point(|&p| p < used[0]) as isize;
        let left = used.partition_point(|&p| p < new) as isize;
        let missing = count as isize / 2 - left;
        let mut weights = [T::ZERO; 6];
        let mut nodes = [0u16; 6];
        for k in 0..count {
            let entry = k as isize - missing;
            let index = (first + entry).clamp(0, old.len() as isize - 1) as usize;
            nodes[k] = self.offsets[offsets + old[index] as usize];
            if (0..stencil.len as isize).contains(&entry) {
                weights[k] = stencil.weight[entry as usize];
            }
        }
        let right = stencil.len as isize - left;
        let flags = match (left, right) {
            (1, 1) => TWO_NODES,
            _ => (if left > 1 { LEFT_BEND } else { 0 }) | (if right > 1 { RIGHT_BEND } else { 0 }),
        };
        let bytes = &mut self.stencils[points];
        bytes.extend_from_slice(bytemuck::cast_slice(&weights[..count]));
        bytes.extend_from_slice(bytemuck::cast_slice(&nodes[..count]));
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(16), 0);
    }

    /// The places of the coded nodes, and the inverse. Padding between units stands at the place behind all nodes.
    fn add_order<T: Real>(&mut self, plan: &TilePlan<T>, offsets: [u32; 3], places: usize) -> (u32, u32) {
        let (order, coded_at) = (self.order.len(), self.coded_at.len());
        self.coded_at.resize(coded_at + places, 0);
        let [_, ny, nx] = plan.dims;
        for (unit, start) in plan.layout.units.iter().zip(padded_starts(&plan.layout.units)) {
            for i in 0..unit.len {
                let position = plan.order[(unit.start + i) as usize] as usize;
                let at = [position / (ny * nx), position / nx % ny, position % nx];
                let place: u16 = (0..3).map(|a| self.offsets[offsets[a] as usize + at[a]]).sum();
                self.order.push(place);
                self.coded_at[coded_at + place as usize] = (start + i) as u16;
            }
            self.order.resize(order + (start + padded(unit.len)) as usize, places as u16);
        }
        (order as u32, coded_at as u32)
    }
}

/// Nodes of a unit with the padding that lets the next one start where 16 bytes do.
pub fn padded(len: u32) -> u32 {
    len.next_multiple_of(SYMBOLS_TOGETHER as u32)
}

/// Where each unit of a tile starts.
pub fn padded_starts(units: &[Unit]) -> impl Iterator<Item = u32> {
    units.iter().scan(0, |next, unit| {
        let start = *next;
        *next += padded(unit.len);
        Some(start)
    })
}

/// The place of each position when the nodes of S(1), S(2), ... come before those that are new.
fn ranks<T>(len: usize, steps: &[AxisStep<T>]) -> Vec<usize> {
    let mut born = vec![0; len];
    for (set, step) in steps.iter().enumerate() {
        step.old.iter().for_each(|&p| born[p as usize] = set + 1);
    }
    let mut sorted: Vec<usize> = (0..len).collect();
    sorted.sort_by_key(|&p| std::cmp::Reverse(born[p]));
    let mut ranks = vec![0; len];
    sorted.iter().enumerate().for_each(|(rank, &p)| ranks[p] = rank);
    ranks
}

/// What `quotient` in lines.cuh divides by.
fn magic(count: u32) -> u32 {
    if count > 1 { ((1u64 << 32) / count as u64 + 1) as u32 } else { 0 }
}
