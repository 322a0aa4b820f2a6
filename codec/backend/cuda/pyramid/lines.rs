//! Step 0 of whole tiles as `kernels/lines.cuh` walks it: lines of new nodes, sorted into warps so that the lines of a warp meet in few
//! banks of shared memory.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Line, Tile};
use super::blob::Blob;
use super::level::WholeTiles;
use super::tables::Spacing;
use crate::Result;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::plan::TilePlan;

const WARP: usize = 32;
/// Bytes that shared memory moves at a time, each 4 of them from a bank of its own.
const BANK_BYTES: usize = 128;
/// New nodes of a line in a tolerance block, but for the last one.
const NEW_OF_BLOCK: usize = 4;
/// In place of the number of a tile: no line.
const NO_LINE: u8 = 255;

/// Where a block keeps its tiles: `Memory` in stencil.cuh.
#[derive(Clone, Copy)]
pub struct FineLayout {
    side: usize,
    /// Of a value.
    bytes: usize,
    /// Tiles of a block.
    pub together: usize,
}

impl FineLayout {
    pub fn new(side: usize, bytes: usize) -> Self {
        Self { side, bytes, together: if side == 8 { 32 / bytes } else { 1 } }
    }
    /// Distance of planes, and of tiles below: so that few lines of a warp begin in the same bank.
    fn plane(&self) -> usize {
        self.side * self.side + if self.side == 8 { 3 } else { 13 }
    }
    /// Values of a tile.
    pub fn places(&self) -> usize {
        (self.side * self.plane()).next_multiple_of(4) + if self.side == 8 { 12 } else { 0 }
    }
    fn blocks(&self) -> usize {
        (self.side / 8).pow(3)
    }
    /// Shared memory of a block, where a tile has so many symbols of step 0: values, symbols, quantizers, and twice the tiles.
    pub fn shared_bytes(&self, symbols: usize) -> usize {
        let quantizers = self.blocks() * 4 * self.bytes;
        self.together * (self.places() * self.bytes + 2 * symbols + quantizers + 2 * size_of::<Tile>())
    }
    fn is_old(&self, position: usize) -> bool {
        position.is_multiple_of(2) || position == self.side - 1
    }
    /// In each plane the nodes old on y and x, new on y, new on x, new on both, row by row.
    fn place(&self, [z, y, x]: [usize; 3]) -> usize {
        let (old, new) = (self.side / 2 + 1, self.side / 2 - 1);
        let number = |position: usize| if self.is_old(position) { position.div_ceil(2) } else { position / 2 };
        let (row, column) = (number(y), number(x));
        let in_plane = match (self.is_old(y), self.is_old(x)) {
            (true, true) => row * old + column,
            (false, true) => (old + row) * old + column,
            (true, false) => (old + new) * old + row * new + column,
            (false, false) => (old + new) * old + (old + row) * new + column,
        };
        z * self.plane() + in_plane
    }
}

/// The lines of the whole tiles of a frame, and the places of their columns of nodes of S(1), on the device.
#[derive(Default)]
pub struct Lines {
    memory: Buffer,
    columns: u64,
}

impl Lines {
    pub fn new<T: Real>(gpu: &Gpu, plan: &TilePlan<T>, whole: &WholeTiles) -> Result<Self> {
        let layout = FineLayout::new(whole.side as usize, T::BYTES);
        let list = Listing { layout, coded: coded_numbers(plan), symbols: whole.symbols - whole.coarse_symbols };
        let mut blob = Blob::default();
        blob.add(&list.lines());
        let columns = blob.add(&list.columns());
        let mut memory = Buffer::default();
        blob.upload(gpu, &mut memory)?;
        Ok(Self { memory, columns })
    }
    /// Addresses of the lines and of the columns.
    pub fn addresses(&self, gpu: &Gpu) -> [u64; 2] {
        let lines = self.memory.address(gpu);
        [lines, lines + self.columns]
    }
}

/// The number of each node coded by step 0 among these, by raster position.
fn coded_numbers<T: Real>(plan: &TilePlan<T>) -> Vec<usize> {
    let mut coded = vec![0; plan.len()];
    let units = &plan.layout.units[plan.layout.units.partition_point(|unit| unit.step > 0)..];
    // every coder's symbols of step 0 lie like this
    for (unit, start) in units.iter().zip(Spacing::Units.starts(units)) {
        for i in 0..unit.len {
            coded[plan.order[(unit.start + i) as usize] as usize] = (start + i) as usize;
        }
    }
    coded
}

struct Listing {
    layout: FineLayout,
    coded: Vec<usize>,
    /// Of a tile.
    symbols: usize,
}

impl Listing {
    /// Nodes new on one axis, along each of them; on two, along the first of them: along axis 0, along axis 1; on three, along axis 0.
    fn lines(&self) -> Vec<Line> {
        let groups: [&[[bool; 3]]; 6] = [
            &[[true, false, false]],
            &[[false, true, false]],
            &[[false, false, true]],
            &[[true, true, false], [true, false, true]],
            &[[false, true, true]],
            &[[true; 3]],
        ];
        groups.iter().flat_map(|sets| self.warps(sets.iter().flat_map(|&new| self.lines_of(new)).collect())).collect()
    }

    /// The lines of all tiles of a block whose nodes are new on these axes, each with the place of its first new node.
    fn lines_of(&self, new: [bool; 3]) -> Vec<(usize, Line)> {
        let FineLayout { side, together, .. } = self.layout;
        let own = new.iter().position(|&n| n).unwrap_or(0);
        let others = [0, 1, 2].into_iter().filter(|&axis| axis != own && new[axis]);
        let mut lines = Vec::new();
        for number in 0..together * side * side {
            let (tile, a, b) = (number / (side * side), number / side % side, number % side);
            let at = match own {
                0 => [0, a, b],
                1 => [a, 0, b],
                _ => [a, b, 0],
            };
            if (0..3).any(|axis| axis != own && new[axis] == self.layout.is_old(at[axis])) {
                continue;
            }
            let coded = |position: usize| {
                let at: [usize; 3] = std::array::from_fn(|axis| if axis == own { position } else { at[axis] });
                tile * self.symbols + self.coded[(at[0] * side + at[1]) * side + at[2]]
            };
            let mut across = [0; 2];
            across.iter_mut().zip(others.clone()).for_each(|(k, axis)| *k = (at[axis] / 2) as u8);
            if new[2] && !new[1] {
                // the row, whose new nodes stand apart from the old ones
                across[usize::from(own == 0)] = at[1].div_ceil(2) as u8;
            }
            let edge = side / 8;
            let tier = tile * self.layout.blocks() + (at[0] / 8 * edge + at[1] / 8) * edge + at[2] / 8;
            let first =
                [0, 1, 2, 3].map(|block| if block < edge { coded(block * 2 * NEW_OF_BLOCK + 1) as u16 } else { 0 });
            let place = |at| tile * self.layout.places() + self.layout.place(at);
            let fresh = place(std::array::from_fn(|axis| if axis == own { 1 } else { at[axis] }));
            let line = Line {
                first,
                place: place(at) as u16,
                tile: tile as u8,
                tier: tier as u8,
                distance: (coded(3) - coded(1)) as u8,
                across,
                second: others.clone().next().unwrap_or(0) as u8,
            };
            lines.push((fresh, line));
        }
        lines
    }

    /// Whole warps of these lines: in each group of threads that meet the banks together the first new nodes lie in different ones, as
    /// long as that can be had.
    fn warps(&self, lines: Vec<(usize, Line)>) -> Vec<Line> {
        let group = (BANK_BYTES / self.layout.bytes).min(WARP);
        let none = Line { tile: NO_LINE, ..bytemuck::Zeroable::zeroed() };
        let mut groups: Vec<Vec<(usize, Line)>> = vec![Vec::new(); lines.len().next_multiple_of(WARP) / group];
        let mut left = Vec::new();
        for line in lines {
            match groups.iter_mut().find(|g| g.iter().all(|other| other.0 % group != line.0 % group)) {
                Some(found) => found.push(line),
                None => left.push(line),
            }
        }
        for line in left {
            // there are at least as many places as lines
            let emptiest = groups.iter_mut().min_by_key(|g| g.len());
            emptiest.into_iter().for_each(|g| g.push(line));
        }
        let filled = groups.iter().flat_map(|g| (0..group).map(|i| g.get(i).map_or(none, |line| line.1)));
        filled.collect()
    }

    /// The place of each column of nodes of S(1), row by row.
    fn columns(&self) -> Vec<u16> {
        let layout = &self.layout;
        let positions = || (0..layout.side).filter(|&position| layout.is_old(position));
        let of_tile = |tile: usize| {
            let place = move |y, x| (tile * layout.places() + layout.place([0, y, x])) as u16;
            positions().flat_map(move |y| positions().map(move |x| place(y, x)))
        };
        (0..layout.together).flat_map(of_tile).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::pyramid::geometry::{Array, Sides};
    use crate::transform::pyramid::plan::ArrayPlan;
    use std::collections::HashSet;

    #[test]
    fn lines_take_each_node_of_step_0_once() {
        for (side, bytes) in [(8, 4), (8, 8), (16, 4), (16, 8), (32, 4)] {
            let n = [64; 3];
            let plan = ArrayPlan::<f32>::new(Array::frame(n, Sides::new(n, side as u8).unwrap()));
            let plan = &plan.tile_plans()[0];
            let first = plan.layout.units.iter().find(|unit| unit.step == 0).unwrap();
            let nodes = plan.order.len() - first.start as usize;
            let layout = FineLayout::new(side, bytes);
            let list = Listing { layout, coded: coded_numbers(plan), symbols: 1 << 15 };
            let lines: Vec<_> = list.lines().into_iter().filter(|line| line.tile != NO_LINE).collect();
            let of_line = |line: &Line| -> Vec<usize> {
                let new = 0..side / 2 - 1;
                let coded =
                    |k: usize| line.first[k / NEW_OF_BLOCK] as usize + k % NEW_OF_BLOCK * line.distance as usize;
                new.map(|k| ((line.tile as usize) << 15) | (coded(k) % (1 << 15))).collect()
            };
            let taken: Vec<usize> = lines.iter().flat_map(of_line).collect();
            let different: HashSet<_> = taken.iter().collect();
            assert_eq!([taken.len(), different.len()], [layout.together * nodes; 2], "tiles of {side}");
        }
    }
}
