//! Regions made larger or smaller.

use super::Selector;
use crate::roi::bits::{BitVolume, existing};
use crate::roi::blocks::BlockMask;
use crate::{Control, Region, Result};
use rayon::prelude::*;

/// A region grown by voxels: one bit per voxel of the volume.
pub(in crate::roi) struct GrownVoxels {
    bits: BitVolume,
    n: [usize; 3],
}

impl GrownVoxels {
    pub fn new(inner: &dyn Selector, n: [usize; 3], by: i32, control: &Control) -> Result<Self> {
        let mut bits = BitVolume::new(n);
        let row_bytes = n[2].div_ceil(8);
        let bounds = inner.bounds();
        bits.par_slices_mut().enumerate().try_for_each(|(z, slice)| {
            control.check()?;
            if !(bounds.lo[0]..bounds.hi[0]).contains(&z) {
                return Ok(());
            }
            slice.chunks_mut(row_bytes).enumerate().try_for_each(|(y, row)| inner.row([z, y], 0, row))
        })?;
        Ok(Self { bits: bits.grown(by), n })
    }
}

impl Selector for GrownVoxels {
    fn bounds(&self) -> Region {
        Region { lo: [0; 3], hi: self.n }
    }
    fn row(&self, [z, y]: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()> {
        bits.copy_from_slice(&self.bits.row(z, y)[bx0..bx0 + bits.len()]);
        Ok(())
    }
}

/// A region of whole blocks, grown by blocks.
pub(in crate::roi) struct GrownBlocks {
    blocks: BitVolume,
    n: [usize; 3],
}

impl GrownBlocks {
    pub fn new(inner: &BlockMask, n: [usize; 3], by: i32) -> Self {
        Self { blocks: inner.to_bits().grown(by), n }
    }
}

impl Selector for GrownBlocks {
    fn bounds(&self) -> Region {
        Region { lo: [0; 3], hi: self.n }
    }
    fn row(&self, [z, y]: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()> {
        let row = self.blocks.row(z / 8, y / 8);
        for (i, byte) in bits.iter_mut().enumerate() {
            let bx = bx0 + i;
            if row[bx / 8] >> (bx % 8) & 1 == 1 {
                *byte = existing(bx, self.n[2]);
            }
        }
        Ok(())
    }
}
