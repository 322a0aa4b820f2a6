//! Regions bound to one volume: which of its voxels they hold, row by row.

mod file;
mod grown;
mod scalar;

pub(super) use file::open_mask;
pub(super) use grown::{GrownBlocks, GrownVoxels};
pub(super) use scalar::{ScalarSelector, Test};

use super::bits::set_span;
use super::blocks::{Cover, cover_by_rows};
use super::geometry::Geometry;
use super::runs::MaskRuns;
use crate::{Region, Result};

/// A set of voxels of one volume.
pub(super) trait Selector: Send + Sync {
    /// A box outside of which there is nothing.
    fn bounds(&self) -> Region;
    /// Sets the bits of row `(z, y)`: byte i stands for the voxels of block `bx0 + i`. The bits are 0 before.
    fn row(&self, zy: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()>;
    /// How much of the blocks `(bz, by, bx0 ..)` the set holds.
    fn cover_row(&self, zy: [usize; 2], bx0: usize, n: [usize; 3], cover: &mut [Cover]) -> Result<()> {
        cover_by_rows(self, zy, bx0, n, cover)
    }
}

/// Sets the part of the voxels `a .. b` that lies in the blocks of `bits`.
fn set_clipped(bits: &mut [u8], bx0: usize, a: usize, b: usize) {
    let (first, end) = (bx0 * 8, (bx0 + bits.len()) * 8);
    set_span(bits, a.clamp(first, end) - first, b.clamp(first, end) - first);
}

/// A [`Geometry`] in a volume of extents `n`.
pub(super) struct GeometrySelector {
    pub geometry: Geometry,
    pub n: [usize; 3],
}

impl Selector for GeometrySelector {
    fn bounds(&self) -> Region {
        self.geometry.bounds(self.n)
    }
    fn row(&self, [z, y]: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()> {
        self.geometry.spans(z, y, self.n[2], &mut |a, b| set_clipped(bits, bx0, a, b));
        Ok(())
    }
}

impl Selector for &MaskRuns {
    fn bounds(&self) -> Region {
        self.shape().region()
    }
    fn row(&self, [z, y]: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()> {
        for &[a, b] in MaskRuns::row(self, z, y) {
            set_clipped(bits, bx0, a as usize, b as usize);
        }
        Ok(())
    }
}
