//! One frame's part of a volume's field.

use crate::volume::Field;
use crate::{Element, Region, Result};

/// The nodes of `region`, counted from its corner.
pub struct FrameView<'a, T: Element> {
    pub field: &'a dyn Field<T>,
    /// Whole in all axes but the first one with more than one node, so that it is contiguous in C order.
    pub region: Region,
}

impl<T: Element> Field<T> for FrameView<'_, T> {
    fn extents(&self) -> [usize; 3] {
        self.region.shape()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let [lz, ly, lx] = self.region.lo;
        self.field.read_row(lz + z, ly + y, lx + x0, out)
    }
    fn as_slice(&self) -> Option<&[T]> {
        let [_, ny, nx] = self.field.extents();
        let [z, y, x] = self.region.lo;
        let start = (z * ny + y) * nx + x;
        self.field.as_slice().map(|all| &all[start..start + self.region.len()])
    }
    fn check(&self) -> Result<()> {
        self.field.check()
    }
    fn read_region(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let shifted = |corner: [usize; 3]| std::array::from_fn(|a| self.region.lo[a] + corner[a]);
        self.field.read_region(&Region { lo: shifted(region.lo), hi: shifted(region.hi) }, out)
    }
}
