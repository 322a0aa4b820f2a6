//! Painted voxels as a spec carries them: sparse, run-length coded per row.

mod row;
mod text;

pub use row::Run;

use crate::{Error, Region, Result, Shape};
use row::Row;

/// A set of voxels of a volume. Slices without paint cost 8 bytes, rows 16, and a run beyond a row's first 8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskRuns {
    shape: Shape,
    /// One list of rows per position on axis 0, absent where nothing was ever painted.
    slices: Vec<Option<Box<[Row]>>>,
    count: u64,
}

impl MaskRuns {
    /// An empty mask for volumes of this shape.
    ///
    /// # Errors
    /// When axis 2 has 2^32 nodes or more, or another axis more than 2^20.
    pub fn new(shape: Shape) -> Result<Self> {
        if shape.n[2] >= u32::MAX as usize || shape.n[0].max(shape.n[1]) > 1 << 20 {
            return Err(Error::invalid(format!("a volume of shape {shape} is too long along an axis to be painted"))
                .remedy("give the region as a shape or a mask file"));
        }
        Ok(Self { shape, slices: vec![None; shape.n[0]], count: 0 })
    }
    /// Shape of the volume that the mask belongs to.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// Number of voxels in the set.
    pub fn count(&self) -> u64 {
        self.count
    }
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// The runs of one row, ascending, with gaps between them.
    pub fn row(&self, z: usize, y: usize) -> &[Run] {
        self.slices[z].as_ref().map_or(&[], |rows| rows[y].runs())
    }
    pub fn contains(&self, [z, y, x]: [usize; 3]) -> bool {
        let runs = self.row(z, y);
        let after = runs.partition_point(|r| r[0] as usize <= x);
        after > 0 && x < runs[after - 1][1] as usize
    }
    /// All rows that hold something: `(z, y, runs)` in C order.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize, &[Run])> {
        let painted = self.slices.iter().enumerate().filter_map(|(z, s)| s.as_ref().map(|s| (z, s)));
        painted.flat_map(|(z, s)| {
            s.iter().enumerate().filter(|(_, r)| !matches!(r, Row::Empty)).map(move |(y, r)| (z, y, r.runs()))
        })
    }
    /// The smallest box that holds the set; `None` when it is empty.
    pub fn bounds(&self) -> Option<Region> {
        let mut found: Option<Region> = None;
        for (z, y, runs) in self.rows() {
            let (x0, x1) = (runs[0][0] as usize, runs[runs.len() - 1][1] as usize);
            let b = found.get_or_insert(Region { lo: [z, y, x0], hi: [z + 1, y + 1, x1] });
            b.lo = [b.lo[0], b.lo[1].min(y), b.lo[2].min(x0)];
            b.hi = [z + 1, b.hi[1].max(y + 1), b.hi[2].max(x1)];
        }
        found
    }
    /// Adds runs to a row; they are sorted, lie inside the volume, and may touch or overlap.
    pub fn add_row(&mut self, z: usize, y: usize, runs: &[Run]) {
        if runs.is_empty() {
            return;
        }
        let ny = self.shape.n[1];
        let row = &mut self.slices[z].get_or_insert_with(|| vec![Row::Empty; ny].into())[y];
        if let Some(new) = row.with(runs) {
            self.count = self.count + new.count() - row.count();
            *row = new;
        }
    }
}

#[cfg(test)]
mod tests;
