//! The tables of an array's tile shapes, as `kernels/nodes.cuh` walks them.

use super::arguments::{Node, Step, TileShape};
use crate::entropy::class::symbols::Unit;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};
use crate::transform::pyramid::stencil::{AxisStep, POINTS, Stencil};

/// Symbols in 16 bytes: how many the kernels move at a time.
const SYMBOLS_TOGETHER: usize = 8;
/// What follows a plane in a tile's memory, so that planes start in different banks.
const PLANE_PADDING: usize = 9;

/// Flag of a stencil: there are no other nodes than the two next to the new one.
const TWO_NODES: u16 = 1;

/// How symbols lie in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Each unit starts where 16 bytes do: for the class coder.
    #[default]
    Units,
    /// Those of steps above 0 without gaps, then those of step 0, each unit where 16 bytes start or by places in the tile's memory:
    /// for the groups coder.
    Steps,
    /// Units without gaps, tiles [`TILE_SYMBOLS`] apart: for the planes coder.
    Tiles,
}

/// Room for the symbols of a tile of 8 in three axes: as in planes.cuh.
pub const TILE_SYMBOLS: u32 = 512;

impl Spacing {
    /// Where a unit of a step starts, when the one before it ends at `end`.
    fn start(self, end: u32, step: u32) -> u32 {
        match self {
            Spacing::Units => padded(end),
            Spacing::Steps if step == 0 => padded(end),
            Spacing::Steps | Spacing::Tiles => end,
        }
    }
    /// Where each unit of a tile starts.
    pub fn starts(self, units: &[Unit]) -> impl Iterator<Item = u32> {
        units.iter().scan(0, move |end, unit| {
            let start = self.start(*end, unit.step as u32);
            *end = start + unit.len;
            Some(start)
        })
    }
    /// From the symbols of a tile to those of the next, where those of step 0 are in the order of units.
    pub fn tile(self, units: &[Unit]) -> u32 {
        let ends = units.iter().zip(self.starts(units)).map(|(unit, start)| start + unit.len);
        match self {
            Spacing::Units | Spacing::Steps => padded(ends.last().unwrap_or(0)),
            Spacing::Tiles => TILE_SYMBOLS,
        }
    }
    /// The same for a tile of one unit.
    pub fn one_unit(self, nodes: u32) -> u32 {
        if self == Spacing::Tiles { TILE_SYMBOLS } else { padded(nodes) }
    }
}

/// In place of the first symbol of step 0 that has a place's number: these are in the order of units.
pub const BY_UNITS: u32 = u32::MAX;

/// Where the nodes of S(set) of a tile stand in its memory.
struct Places {
    /// Of each position of an axis; 0 for those that are not in the set.
    offsets: [Vec<u16>; 3],
    /// From a plane to the next.
    plane: usize,
    /// Elements of the memory.
    count: usize,
}

impl Places {
    fn new<T: Real>(plan: &TilePlan<T>, set: usize) -> Self {
        let members: [Vec<u32>; 3] = plan.axes.each_ref().map(|axis| axis.set(set).collect());
        let [nz, ny, nx] = members.each_ref().map(Vec::len);
        // an odd distance between rows keeps a column in different banks
        let stride_y = nx | 1;
        let padding = if set == 0 { PLANE_PADDING } else { 0 };
        let strides = [ny * stride_y + padding, stride_y, 1];
        let offsets = std::array::from_fn(|axis: usize| {
            let steps = &plan.axes[axis].steps;
            let ranks = ranks(&members[axis], &steps[set.min(steps.len())..], set > 0 || axis > 0);
            let mut offsets = vec![0; plan.dims[axis]];
            for (&position, rank) in members[axis].iter().zip(ranks) {
                offsets[position as usize] = (rank * strides[axis]) as u16;
            }
            offsets
        });
        let count = (nz - 1) * strides[0] + (ny - 1) * stride_y + nx;
        Self { offsets, plane: strides[0], count }
    }
    fn of(&self, at: [usize; 3]) -> u16 {
        (0..3).map(|axis| self.offsets[axis][at[axis]]).sum()
    }
}

/// The numbers of a tile's symbols, in coding order.
pub struct Numbers {
    pub of_node: Vec<u16>,
    /// The first symbol of step 0 where these are by places, else [`BY_UNITS`].
    pub by_place: u32,
    /// One more than the last.
    pub end: u32,
}

impl Numbers {
    /// Of a tile of an array.
    pub fn new<T: Real>(array: &ArrayPlan<T>, plan: &TilePlan<T>, spacing: Spacing) -> Self {
        let units = &plan.layout.units;
        let numbers = units.iter().zip(spacing.starts(units)).flat_map(|(u, start)| start..start + u.len);
        let mut of_node: Vec<_> = numbers.map(|number| number as u16).collect();
        let end = of_node.last().map_or(0, |&number| number as u32 + 1);
        // whole tiles have kernels that know the order of units; corner arrays' tiles are few
        if spacing != Spacing::Steps || !array.array.is_frame() || plan.dims == [array.array.sides().tile; 3] {
            return Self { of_node, by_place: BY_UNITS, end };
        }
        let places = Places::new(plan, 0);
        let first = units.iter().filter(|unit| unit.step > 0).map(|unit| unit.len).sum::<u32>();
        let by_place = padded(first);
        for (number, &position) in of_node.iter_mut().zip(&plan.order).skip(first as usize) {
            *number = by_place as u16 + places.of(at(plan, position));
        }
        Self { of_node, by_place, end: by_place + places.count as u32 }
    }
    /// From the symbols of a tile to those of the next.
    pub fn tile(&self, spacing: Spacing) -> u32 {
        if spacing == Spacing::Tiles { TILE_SYMBOLS } else { padded(self.end) }
    }
}

/// The position on each axis of a raster position.
fn at<T>(plan: &TilePlan<T>, position: u32) -> [usize; 3] {
    let ([_, ny, nx], position) = (plan.dims, position as usize);
    [position / (ny * nx), position / nx % ny, position % nx]
}

/// The host's side of the tables; a frame has at most 8 shapes of tile.
#[derive(Default)]
pub struct Tables {
    pub spacing: Spacing,
    pub shapes: Vec<TileShape>,
    pub steps: Vec<Step>,
    pub nodes: Vec<Node>,
    /// For 2, 4 and 6 points, laid out as `Stencil` in pyramid.cuh.
    pub stencils: [Vec<u8>; 3],
    pub coded_at: Vec<u16>,
    pub offsets: Vec<u16>,
    /// Number of entries of each of `stencils`.
    stencil_count: u32,
}

impl Tables {
    pub fn new(spacing: Spacing) -> Self {
        Self { spacing, ..Self::default() }
    }
    /// The nodes of S(set) of a tile, coded by the steps from `set` on. `block`: nodes of an axis that share a tier.
    pub fn add<T: Real>(&mut self, plan: &TilePlan<T>, numbers: &Numbers, block: usize, set: usize) {
        let places = Places::new(plan, set);
        let offsets = places.offsets.each_ref().map(|offsets| {
            self.offsets.extend(offsets);
            (self.offsets.len() - offsets.len()) as u32
        });
        let (first_step, first_stencil) = (self.steps.len() as u32, self.stencil_count);
        for step in set..plan.steps {
            let stencils = [0, 1, 2].map(|axis: usize| self.add_stencils(plan, axis, step, offsets[axis] as usize));
            self.steps.extend(stencils.map(|s| Step { first: 0, count: 0, stencils: s - first_stencil }));
        }
        let coded_at = self.coded_at.len() as u32;
        let end = self.add_nodes(plan, (numbers, &places), block, set, first_step as usize);
        if set == 0 {
            self.add_slabs(plan, first_step as usize, places.plane);
        }
        self.shapes.push(TileShape {
            dims: plan.dims.map(|d| d as u32),
            steps: plan.steps.saturating_sub(set) as u32,
            // symbols move several at a time
            nodes: padded(if set == 0 { numbers.end } else { end }),
            first_step,
            first_stencil,
            coded_at,
            offsets,
            by_place: numbers.by_place,
            ends: plan.axes.each_ref().map(|axis| axis.ends.len() as u32),
            // symbols follow the values, tiers the symbols
            places: places.count.next_multiple_of(SYMBOLS_TOGETHER) as u32,
        });
    }

    /// The stencils of the new nodes of a step of an axis; returns the number of the first.
    fn add_stencils<T: Real>(&mut self, plan: &TilePlan<T>, axis: usize, step: usize, offsets: usize) -> u32 {
        let first = self.stencil_count;
        if let Some(nodes) = plan.axes[axis].steps.get(step) {
            self.stencil_count += nodes.new.len() as u32;
            for (points, stencils) in nodes.stencils.iter().enumerate() {
                for (&new, stencil) in nodes.new.iter().zip(stencils) {
                    self.add_stencil(points, (&nodes.old, new), stencil, offsets);
                }
            }
        }
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
        let own = self.offsets[offsets + new as usize];
        let mut nodes = [0u16; 6];
        for k in 0..count {
            let entry = k as isize - missing;
            let index = (first + entry).clamp(0, old.len() as isize - 1) as usize;
            // a signed number of 16 bits
            nodes[k] = self.offsets[offsets + old[index] as usize].wrapping_sub(own);
            if (0..stencil.len as isize).contains(&entry) {
                weights[k] = stencil.weight[entry as usize];
            }
        }
        let flags = if stencil.len == 2 { TWO_NODES } else { 0 };
        let bytes = &mut self.stencils[points];
        bytes.extend_from_slice(bytemuck::cast_slice(&weights[..count]));
        bytes.extend_from_slice(bytemuck::cast_slice(&nodes[..count]));
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(16), 0);
    }

    /// The coded nodes of each step, and where they stand; returns one more than the largest number of a symbol.
    fn add_nodes<T: Real>(
        &mut self,
        plan: &TilePlan<T>,
        (numbers, places): (&Numbers, &Places),
        block: usize,
        set: usize,
        first_step: usize,
    ) -> u32 {
        let coded_at = self.coded_at.len();
        self.coded_at.resize(coded_at + places.count, 0);
        let [_, by, bx] = plan.dims.map(|d| d.div_ceil(block));
        let mut of_step: Vec<Vec<Node>> = vec![Vec::new(); plan.steps.saturating_sub(set)];
        let mut end = 0;
        for unit in &plan.layout.units {
            let Some(step) = (unit.step as usize).checked_sub(set) else { break };
            for i in (unit.start..unit.start + unit.len).map(|i| i as usize) {
                let at = at(plan, plan.order[i]);
                let (place, coded) = (places.of(at), numbers.of_node[i]);
                end = end.max(coded as u32 + 1);
                self.coded_at[coded_at + place as usize] = coded;
                let [z, y, x] = at.map(|position| position / block);
                let tier = ((z * by + y) * bx + x) as u16;
                let steps = &self.steps[first_step + 3 * step..][..3];
                let (axes, stencil) = new_axes(plan, step + set, at, steps);
                of_step[step].push(Node { place, coded, tier, axes, stencil, unused: 0 });
            }
        }
        for (step, mut nodes) in of_step.into_iter().enumerate() {
            // neighbours in memory together
            nodes.sort_by_key(|n| (n.axes.count_ones(), n.axes, n.place));
            for cross in 0..3 {
                let same = |n: &&Node| n.axes.count_ones() == cross + 1;
                let entry = &mut self.steps[first_step + 3 * step + cross as usize];
                entry.first = self.nodes.len() as u32;
                entry.count = nodes.iter().filter(same).count() as u32;
                self.nodes.extend(nodes.iter().filter(same));
            }
        }
        end
    }
}

/// Planes of a slab: as in tile.cuh. Nodes that are new on axis 0 are predicted from planes so far before and behind it.
pub const SLAB_PLANES: usize = 4;
const NEAR_PLANES: std::ops::Range<usize> = 4..9;

impl Tables {
    /// What slabs need of step 0, the first of those that begin at `first_step`, as further steps. `plane`: from one to the next in the tile's memory.
    fn add_slabs<T: Real>(&mut self, plan: &TilePlan<T>, first_step: usize, plane: usize) {
        for first in (0..plan.dims[0]).step_by(SLAB_PLANES) {
            let own = first..first + SLAB_PLANES;
            let near = first.saturating_sub(NEAR_PLANES.start)..first + NEAR_PLANES.end;
            for cross in 0..3.min(3 * plan.steps) {
                let all = self.steps[first_step + cross];
                let first = self.nodes.len() as u32;
                for i in all.first..all.first + all.count {
                    let node = self.nodes[i as usize];
                    let needed = if node.axes & 1 == 1 { &own } else { &near };
                    if needed.contains(&(node.place as usize / plane)) {
                        self.nodes.push(node);
                    }
                }
                self.steps.push(Step { first, count: self.nodes.len() as u32 - first, ..all });
            }
        }
    }
}

/// Bytes of a stencil of so many points: weights, offsets, flags.
pub fn stencil_bytes<T: Real>(points: usize) -> usize {
    (POINTS[points] * (T::BYTES + 2) + 2).next_multiple_of(16)
}

/// The axes on which the node at `at` is new, a bit each, and the numbers of its stencils on them.
fn new_axes<T: Real>(plan: &TilePlan<T>, step: usize, at: [usize; 3], steps: &[Step]) -> (u16, [u16; 3]) {
    let (mut axes, mut stencils, mut count) = (0, [0; 3], 0);
    for axis in 0..3 {
        let new = plan.axes[axis].steps.get(step).and_then(|s| s.new.binary_search(&(at[axis] as u32)).ok());
        if let Some(index) = new {
            axes |= 1 << axis;
            stencils[count] = (steps[axis].stencils as usize + index) as u16;
            count += 1;
        }
    }
    (axes, stencils)
}

/// Nodes of a unit with the padding that lets the next one start where 16 bytes do.
fn padded(len: u32) -> u32 {
    len.next_multiple_of(SYMBOLS_TOGETHER as u32)
}

/// The rank of each of the members of a set of an axis, in whose steps it splits further. `sorted`: the nodes of later sets come first, so
/// that each set lies close together: the threads of a warp then meet different banks. Else in order.
fn ranks<T>(members: &[u32], steps: &[AxisStep<T>], sorted: bool) -> Vec<usize> {
    let last_set = |p: &u32| steps.iter().take_while(|s| s.old.binary_search(p).is_ok()).count();
    let mut order: Vec<usize> = (0..members.len()).collect();
    if sorted {
        order.sort_by_key(|&i| std::cmp::Reverse(last_set(&members[i])));
    }
    let mut ranks = vec![0; members.len()];
    order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
    ranks
}
