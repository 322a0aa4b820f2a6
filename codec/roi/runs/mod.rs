//! Masks painted by hand: sparse, run-length coded per row, with small deltas for undo.

mod delta;
mod row;
mod text;

pub use delta::RowDelta;
pub use row::Run;
pub(super) use row::common_runs;

use super::bits;
use super::geometry::Geometry;
use crate::{Error, Region, Result, Shape};
use row::Row;

/// What a stamp does to the voxels under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Set,
    Clear,
}

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
    /// Memory held, for an undo budget.
    pub fn bytes(&self) -> usize {
        let rows = |s: &[Row]| size_of_val(s) + s.iter().map(Row::heap_bytes).sum::<usize>();
        self.slices.len() * size_of::<Option<Box<[Row]>>>()
            + self.slices.iter().flatten().map(|s| rows(s)).sum::<usize>()
    }

    /// Sets or clears the voxels of a shape. The delta undoes it and is empty when nothing changed.
    pub fn paint(&mut self, stamp: &Geometry, paint: Paint) -> RowDelta {
        let nx = self.shape.n[2];
        let bounds = stamp.bounds(self.shape.n);
        let mut delta = RowDelta::default();
        let mut runs: Vec<Run> = Vec::new();
        for (z, y) in rows_of(&bounds) {
            runs.clear();
            stamp.spans(z, y, nx, &mut |a, b| runs.push([a as u32, b as u32]));
            runs.sort_unstable();
            self.change(z, y, &runs, paint, &mut delta);
        }
        delta
    }
    /// As [`MaskRuns::paint`], snapped to whole 8^3 blocks: every block that the shape touches changes in full.
    pub fn paint_blocks(&mut self, stamp: &Geometry, paint: Paint) -> RowDelta {
        let n = self.shape.n;
        let bounds = stamp.bounds(n);
        let mut delta = RowDelta::default();
        if bounds.is_empty() {
            return delta;
        }
        let mut touched = vec![0u8; n[2].div_ceil(8)];
        for (bz, by) in rows_of(&Region { lo: bounds.lo.map(|v| v / 8), hi: bounds.hi.map(|v| v.div_ceil(8)) }) {
            touched.fill(0);
            let block = Region { lo: [bz * 8, by * 8, 0], hi: [bz * 8 + 8, by * 8 + 8, n[2]] }.intersect(&bounds);
            for (z, y) in rows_of(&block) {
                stamp.spans(z, y, n[2], &mut |a, b| touched[a / 8..b.div_ceil(8)].fill(1));
            }
            let runs = bits::runs_of_flags(&touched, n[2]);
            for (z, y) in
                rows_of(&Region { lo: [bz * 8, by * 8, 0], hi: [(bz * 8 + 8).min(n[0]), (by * 8 + 8).min(n[1]), 1] })
            {
                self.change(z, y, &runs, paint, &mut delta);
            }
        }
        delta.rows.sort_unstable_by_key(|(index, _)| *index);
        delta
    }
    /// As [`MaskRuns::paint`], for the voxels of the shape that `keep` leaves: it gets each row's runs and may cut them
    /// down, as a threshold that masks the brush does.
    pub fn paint_where(
        &mut self,
        stamp: &Geometry,
        paint: Paint,
        mut keep: impl FnMut(usize, usize, &mut Vec<Run>) -> Result<()>,
    ) -> Result<RowDelta> {
        let bounds = stamp.bounds(self.shape.n);
        let mut delta = RowDelta::default();
        let mut runs: Vec<Run> = Vec::new();
        for (z, y) in rows_of(&bounds) {
            runs.clear();
            stamp.spans(z, y, self.shape.n[2], &mut |a, b| runs.push([a as u32, b as u32]));
            runs.sort_unstable();
            if let Err(e) = if runs.is_empty() { Ok(()) } else { keep(z, y, &mut runs) } {
                self.swap(&mut delta);
                return Err(e);
            }
            self.change(z, y, &runs, paint, &mut delta);
        }
        Ok(delta)
    }
    /// Sets or clears runs of one row (sorted, inside the volume), adding to `delta`, whose rows must come in C order.
    pub fn paint_row(&mut self, z: usize, y: usize, runs: &[Run], paint: Paint, delta: &mut RowDelta) {
        self.change(z, y, runs, paint, delta);
    }
    /// Adds another mask of the same shape.
    pub fn union(&mut self, other: &MaskRuns) -> Result<RowDelta> {
        self.same_shape(other)?;
        let mut delta = RowDelta::default();
        other.rows().for_each(|(z, y, runs)| self.change(z, y, runs, Paint::Set, &mut delta));
        Ok(delta)
    }
    /// Takes another mask of the same shape away.
    pub fn subtract(&mut self, other: &MaskRuns) -> Result<RowDelta> {
        self.same_shape(other)?;
        let mut delta = RowDelta::default();
        other.rows().for_each(|(z, y, runs)| self.change(z, y, runs, Paint::Clear, &mut delta));
        Ok(delta)
    }
    /// Keeps what is in another mask of the same shape too.
    pub fn intersect(&mut self, other: &MaskRuns) -> Result<RowDelta> {
        self.same_shape(other)?;
        let mut delta = RowDelta::default();
        for (z, y) in rows_of(&self.bounds().unwrap_or(Region { lo: [0; 3], hi: [0; 3] })) {
            let new = self.slices[z].as_ref().and_then(|rows| rows[y].common(other.row(z, y)));
            self.replace(z, y, new, &mut delta);
        }
        Ok(delta)
    }
    /// Undoes a delta and turns it into its own inverse, so that the next call does it again.
    pub fn swap(&mut self, delta: &mut RowDelta) {
        for (index, row) in &mut delta.rows {
            let (z, y) = (*index as usize / self.shape.n[1], *index as usize % self.shape.n[1]);
            let own = &mut slice_rows(&mut self.slices, self.shape.n[1], z)[y];
            self.count = self.count + row.count() - own.count();
            std::mem::swap(own, row);
        }
    }
    fn same_shape(&self, other: &MaskRuns) -> Result<()> {
        if self.shape.n == other.shape.n {
            return Ok(());
        }
        Err(Error::invalid(format!("a mask of shape {} does not fit one of shape {}", other.shape, self.shape)))
    }
    fn change(&mut self, z: usize, y: usize, runs: &[Run], paint: Paint, delta: &mut RowDelta) {
        if runs.is_empty() {
            return;
        }
        let new = match (&self.slices[z], paint) {
            (None, Paint::Set) => Row::Empty.with(runs),
            (None, Paint::Clear) => None,
            (Some(rows), Paint::Set) => rows[y].with(runs),
            (Some(rows), Paint::Clear) => rows[y].without(runs),
        };
        self.replace(z, y, new, delta);
    }
    fn replace(&mut self, z: usize, y: usize, new: Option<Row>, delta: &mut RowDelta) {
        let Some(new) = new else { return };
        let own = &mut slice_rows(&mut self.slices, self.shape.n[1], z)[y];
        self.count = self.count + new.count() - own.count();
        delta.rows.push(((z * self.shape.n[1] + y) as u64, std::mem::replace(own, new)));
    }
}

fn slice_rows(slices: &mut [Option<Box<[Row]>>], ny: usize, z: usize) -> &mut [Row] {
    slices[z].get_or_insert_with(|| vec![Row::Empty; ny].into())
}

fn rows_of(region: &Region) -> impl Iterator<Item = (usize, usize)> + use<> {
    let Region { lo, hi } = *region;
    (lo[0]..hi[0]).flat_map(move |z| (lo[1]..hi[1]).map(move |y| (z, y)))
}

#[cfg(test)]
mod tests;
