//! A painted voxel mask, sparse by 8^3 blocks: 64 bytes for each block that holds a painted voxel.

use super::block_set::Coverage;
use super::shape::Shape as Raster;
use blockmgard::{Region, Shape};
use rustc_hash::FxHashMap;

/// The 512 voxels of a block: word = z, bit = y * 8 + x.
pub type Cell = [u64; 8];

/// Voxels that a stroke changed, as the exclusive-or of before and after, per block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    pub cells: FxHashMap<u64, Cell>,
}

impl Delta {
    /// Drops blocks that did not change in the end.
    pub fn prune(&mut self) {
        self.cells.retain(|_, cell| cell.iter().any(|&w| w != 0));
    }
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
    pub fn bytes(&self) -> usize {
        self.cells.len() * (size_of::<Cell>() + 16)
    }
}

/// A set of voxels of one volume.
#[derive(Clone, Debug)]
pub struct BlockMask {
    shape: Shape,
    blocks: [usize; 3],
    cells: FxHashMap<u64, Cell>,
}

impl BlockMask {
    pub fn new(shape: Shape) -> Self {
        Self { shape, blocks: shape.blocks(), cells: FxHashMap::default() }
    }
    pub fn shape(&self) -> Shape {
        self.shape
    }
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
    /// Number of voxels in the mask.
    pub fn count(&self) -> u64 {
        self.cells.values().flatten().map(|w| w.count_ones() as u64).sum()
    }
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * (size_of::<Cell>() + 9)
    }
    fn key(&self, b: [usize; 3]) -> u64 {
        ((b[0] * self.blocks[1] + b[1]) * self.blocks[2] + b[2]) as u64
    }
    /// Block coordinates of a key.
    pub fn block_of(&self, key: u64) -> [usize; 3] {
        let k = key as usize;
        [k / (self.blocks[1] * self.blocks[2]), k / self.blocks[2] % self.blocks[1], k % self.blocks[2]]
    }
    pub fn get(&self, [z, y, x]: [usize; 3]) -> bool {
        let cell = self.cells.get(&self.key([z / 8, y / 8, x / 8]));
        cell.is_some_and(|c| c[z % 8] >> (y % 8 * 8 + x % 8) & 1 == 1)
    }
    pub fn cell(&self, b: [usize; 3]) -> Option<&Cell> {
        self.cells.get(&self.key(b))
    }
    /// Blocks that hold voxels of the mask.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::new(self.blocks.iter().product());
        for (&key, cell) in &self.cells {
            coverage.set(key as usize, true, *cell == self.full_cell(self.block_of(key)));
        }
        coverage
    }
    /// Occupied blocks with their keys.
    pub fn cells(&self) -> impl Iterator<Item = (u64, &Cell)> {
        self.cells.iter().map(|(&k, c)| (k, c))
    }

    /// Sets or clears the voxels of `raster`; what changed is added to `delta`.
    pub fn paint(&mut self, raster: &dyn Raster, on: bool, delta: &mut Delta) {
        let bounds = raster.bounds().intersect(&self.shape.region());
        if bounds.is_empty() {
            return;
        }
        let lo = bounds.lo.map(|v| v / 8);
        let hi = bounds.hi.map(|v| v.div_ceil(8));
        let width = hi[2] - lo[2];
        let mut column = vec![[0u64; 8]; width];
        for bz in lo[0]..hi[0] {
            for by in lo[1]..hi[1] {
                column.iter_mut().for_each(|c| *c = [0; 8]);
                rasterize_column(raster, &bounds, [bz, by], lo[2], &mut column);
                for (i, bits) in column.iter().enumerate() {
                    if bits.iter().any(|&w| w != 0) {
                        self.merge([bz, by, lo[2] + i], bits, on, delta);
                    }
                }
            }
        }
    }

    fn merge(&mut self, block: [usize; 3], bits: &Cell, on: bool, delta: &mut Delta) {
        let key = self.key(block);
        let old = self.cells.get(&key).copied().unwrap_or_default();
        let new: Cell = std::array::from_fn(|i| if on { old[i] | bits[i] } else { old[i] & !bits[i] });
        if new != old {
            self.store(key, new);
            let entry = delta.cells.entry(key).or_default();
            for i in 0..8 {
                entry[i] ^= old[i] ^ new[i];
            }
        }
    }

    fn store(&mut self, key: u64, cell: Cell) {
        if cell == [0; 8] {
            self.cells.remove(&key);
        } else {
            self.cells.insert(key, cell);
        }
    }

    /// Adds the voxels `range` of row `(z, y)`, without a delta; for loading.
    pub fn fill_row(&mut self, z: usize, y: usize, range: std::ops::Range<usize>) {
        for bx in range.start / 8..range.end.div_ceil(8) {
            let (s, e) = (range.start.max(bx * 8) - bx * 8, range.end.min(bx * 8 + 8) - bx * 8);
            let bits = ((1u64 << e) - 1) & !((1u64 << s) - 1);
            let key = self.key([z / 8, y / 8, bx]);
            self.cells.entry(key).or_default()[z % 8] |= bits << (y % 8 * 8);
        }
    }

    /// Replaces a block's voxels (bits outside the volume must be 0).
    pub fn set_cell(&mut self, b: [usize; 3], cell: Cell) {
        let key = self.key(b);
        self.store(key, cell);
    }

    /// Applies a delta; applying it twice restores the mask.
    pub fn toggle(&mut self, delta: &Delta) {
        for (&key, change) in &delta.cells {
            let old = self.cells.get(&key).copied().unwrap_or_default();
            self.store(key, std::array::from_fn(|i| old[i] ^ change[i]));
        }
    }

    /// Voxels of the mask that a delta changes.
    pub fn in_delta(&self, delta: &Delta) -> u64 {
        let common = |(key, change): (&u64, &Cell)| {
            let cell = self.cells.get(key).copied().unwrap_or_default();
            (0..8).map(|i| (cell[i] & change[i]).count_ones() as u64).sum::<u64>()
        };
        delta.cells.iter().map(common).sum()
    }

    /// What turns `self` into `other`.
    pub fn difference(&self, other: &BlockMask) -> Delta {
        let mut delta = Delta::default();
        for &key in self.cells.keys().chain(other.cells.keys()) {
            let a = self.cells.get(&key).copied().unwrap_or_default();
            let b = other.cells.get(&key).copied().unwrap_or_default();
            delta.cells.insert(key, std::array::from_fn(|i| a[i] ^ b[i]));
        }
        delta.prune();
        delta
    }

    /// The voxels of block `b` that lie inside the volume.
    pub fn full_cell(&self, b: [usize; 3]) -> Cell {
        let inside: [usize; 3] = std::array::from_fn(|a| (self.shape.n[a] - b[a] * 8).min(8));
        let row = (1u64 << inside[2]) - 1;
        let plane = (0..inside[1]).fold(0, |p, y| p | row << (y * 8));
        std::array::from_fn(|z| if z < inside[0] { plane } else { 0 })
    }
}

fn rasterize_column(raster: &dyn Raster, bounds: &Region, [bz, by]: [usize; 2], bx0: usize, column: &mut [Cell]) {
    for z in (bz * 8).max(bounds.lo[0])..(bz * 8 + 8).min(bounds.hi[0]) {
        for y in (by * 8).max(bounds.lo[1])..(by * 8 + 8).min(bounds.hi[1]) {
            let shift = y % 8 * 8;
            raster.row(z, y, &mut |range| {
                let (a, b) = (range.start.max(bounds.lo[2]), range.end.min(bounds.hi[2]));
                if a >= b {
                    return;
                }
                for bx in a / 8..b.div_ceil(8) {
                    let (s, e) = (a.max(bx * 8) - bx * 8, b.min(bx * 8 + 8) - bx * 8);
                    let bits = ((1u64 << e) - 1) & !((1u64 << s) - 1);
                    column[bx - bx0][z % 8] |= bits << shift;
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::roi::Geometry;

    fn shape() -> Shape {
        Shape::new(&[20, 21, 22]).unwrap()
    }

    #[test]
    fn a_ball_paints_exactly_the_voxels_within_its_radius() {
        let mut mask = BlockMask::new(shape());
        mask.paint(&Geometry::ball([9.0, 8.0, 21.0], 5.0), true, &mut Delta::default());
        for z in 0..20 {
            for y in 0..21 {
                for x in 0..22 {
                    let d2 = (z as f64 - 9.0).powi(2) + (y as f64 - 8.0).powi(2) + (x as f64 - 21.0).powi(2);
                    assert_eq!(mask.get([z, y, x]), d2 <= 25.0, "{z} {y} {x}");
                }
            }
        }
    }

    #[test]
    fn a_delta_undoes_and_redoes_a_stroke_and_a_repeated_stroke_is_no_step() {
        let mut mask = BlockMask::new(shape());
        let mut first = Delta::default();
        mask.paint(&Geometry::Box(Region { lo: [1, 2, 3], hi: [10, 11, 12] }), true, &mut first);
        assert_eq!(mask.count(), 729);
        let mut again = Delta::default();
        mask.paint(&Geometry::Box(Region { lo: [1, 2, 3], hi: [10, 11, 12] }), true, &mut again);
        again.prune();
        assert!(again.is_empty());
        mask.toggle(&first);
        assert!(mask.is_empty());
        mask.toggle(&first);
        assert_eq!(mask.count(), 729);
        let mut erase = Delta::default();
        mask.paint(&Geometry::Box(shape().region()), false, &mut erase);
        assert!(mask.is_empty());
    }

    #[test]
    fn a_full_cell_stops_at_the_edge_of_the_volume() {
        let mask = BlockMask::new(shape());
        let voxels: u32 = mask.full_cell([2, 2, 2]).iter().map(|w| w.count_ones()).sum();
        assert_eq!(voxels, 4 * 5 * 6);
    }
}
