//! Row-wise access to the values of one volume, so that a codec need not hold them all.

use super::{Element, Region};
use crate::Result;

/// A readable array of `n[0] x n[1] x n[2]` values: a slice, a memory-mapped file of any byte
/// order, or anything that can hand out rows.
pub trait Field<T: Element>: Send + Sync {
    /// Extents in nodes, slowest first.
    fn extents(&self) -> [usize; 3];
    /// Copies the values `(z, y, x0 .. x0 + out.len())`.
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()>;
    /// Everything as one native slice, where that costs nothing.
    fn as_slice(&self) -> Option<&[T]> {
        None
    }
    /// Whether all values read so far were there, those read through [`Field::as_slice`] too: for after a pass. A file that another
    /// program shortens while it is open reads as zeros from there on.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Copies a box, C order, into `out` (of exactly the box's length).
    fn read_region(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let [nz, ny, nx] = region.shape();
        for z in 0..nz {
            for y in 0..ny {
                let row = &mut out[(z * ny + y) * nx..][..nx];
                self.read_row(region.lo[0] + z, region.lo[1] + y, region.lo[2], row)?;
            }
        }
        Ok(())
    }
}

/// A [`Field`] over a slice in memory (or a native memory map).
#[derive(Clone, Copy, Debug)]
pub struct SliceField<'a, T> {
    data: &'a [T],
    n: [usize; 3],
}

impl<'a, T: Element> SliceField<'a, T> {
    /// `data` holds `n[0] * n[1] * n[2]` values, C order.
    pub fn new(data: &'a [T], n: [usize; 3]) -> Self {
        assert_eq!(data.len(), n.iter().product::<usize>());
        Self { data, n }
    }
}

impl<T: Element> Field<T> for SliceField<'_, T> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let start = (z * self.n[1] + y) * self.n[2] + x0;
        out.copy_from_slice(&self.data[start..start + out.len()]);
        Ok(())
    }
    fn as_slice(&self) -> Option<&[T]> {
        Some(self.data)
    }
}

/// A [`Field`] that owns its values.
#[derive(Clone, Debug)]
pub struct VecField<T> {
    data: Vec<T>,
    n: [usize; 3],
}

impl<T: Element> VecField<T> {
    /// `data` holds `n[0] * n[1] * n[2]` values, C order.
    pub fn new(data: Vec<T>, n: [usize; 3]) -> Self {
        assert_eq!(data.len(), n.iter().product::<usize>());
        Self { data, n }
    }
}

impl<T: Element> Field<T> for VecField<T> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        SliceField::new(&self.data, self.n).read_row(z, y, x0, out)
    }
    fn as_slice(&self) -> Option<&[T]> {
        Some(&self.data)
    }
}
