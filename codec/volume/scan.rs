//! Parallel passes over the rows of a field, in pieces that depend on the shape alone.

use super::{Element, Field};
use crate::Result;
use rayon::prelude::*;

/// Values in one piece of work: enough to hide the cost of scheduling, small enough to stay in a core's cache.
const UNIT_VALUES: usize = 1 << 16;

/// Part of one row: the values `(z, y, x0 .. x0 + len)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub z: usize,
    pub y: usize,
    pub x0: usize,
    pub len: usize,
}

/// Cuts a volume into units of about [`UNIT_VALUES`] values, each a run of row segments in C order. Results
/// gathered per unit and joined in order do not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    n: [usize; 3],
    per_row: usize,
    segment: usize,
    per_unit: usize,
}

impl Units {
    pub fn new(n: [usize; 3]) -> Self {
        let per_row = n[2].div_ceil(UNIT_VALUES);
        Self { n, per_row, segment: n[2].div_ceil(per_row), per_unit: (UNIT_VALUES / n[2]).max(1) }
    }
    fn segments(&self) -> usize {
        self.n[0] * self.n[1] * self.per_row
    }
    pub fn count(&self) -> usize {
        self.segments().div_ceil(self.per_unit)
    }
    pub fn par_iter(self) -> impl IndexedParallelIterator<Item = usize> {
        (0..self.count()).into_par_iter()
    }
    /// The row segments of one unit.
    pub fn rows(self, unit: usize) -> impl Iterator<Item = Segment> {
        let first = unit * self.per_unit;
        (first..(first + self.per_unit).min(self.segments())).map(move |i| {
            let (row, part) = (i / self.per_row, i % self.per_row);
            let x0 = part * self.segment;
            Segment { z: row / self.n[1], y: row % self.n[1], x0, len: self.segment.min(self.n[2] - x0) }
        })
    }
}

/// Hands out row segments, borrowed where the field allows it.
pub(crate) struct RowReader<'a, T: Element> {
    field: &'a dyn Field<T>,
    native: Option<&'a [T]>,
    n: [usize; 3],
    buffer: Vec<T>,
}

impl<'a, T: Element> RowReader<'a, T> {
    pub fn new(field: &'a dyn Field<T>) -> Self {
        Self { field, native: field.as_slice(), n: field.extents(), buffer: Vec::new() }
    }
    pub fn read(&mut self, s: Segment) -> Result<&[T]> {
        if let Some(all) = self.native {
            let start = (s.z * self.n[1] + s.y) * self.n[2] + s.x0;
            return Ok(&all[start..start + s.len]);
        }
        self.buffer.resize(s.len, T::ZERO);
        self.field.read_row(s.z, s.y, s.x0, &mut self.buffer)?;
        Ok(&self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn units_cover_every_value_once_in_order(nz in 1usize..5, ny in 1usize..40, nx in 1usize..200_000) {
            let units = Units::new([nz, ny, nx]);
            let mut next = 0;
            for s in (0..units.count()).flat_map(|u| units.rows(u)) {
                prop_assert_eq!((s.z * ny + s.y) * nx + s.x0, next);
                prop_assert!(s.len > 0 && s.x0 + s.len <= nx);
                next += s.len;
            }
            prop_assert_eq!(next, nz * ny * nx);
        }
    }
}
