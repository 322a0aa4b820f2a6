//! Which 8^3 blocks a region touches.

use super::bits::{self, BitVolume};
use super::select::Selector;
use crate::{Control, Region, Result};
use rayon::prelude::*;

/// How much of a block a region holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cover {
    #[default]
    None,
    Part,
    /// Every voxel of the block.
    Full,
}

/// Up to this many rows of blocks are quicker done at once than handed to threads that may be busy with a job.
const FEW_ROWS: usize = 512;

/// One [`Cover`] per block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMask {
    /// Blocks per axis, slowest first.
    pub blocks: [usize; 3],
    /// C order.
    pub cover: Vec<Cover>,
}

impl BlockMask {
    pub fn empty(blocks: [usize; 3]) -> Self {
        Self { blocks, cover: vec![Cover::None; blocks.iter().product()] }
    }
    /// Number of blocks that the region touches.
    pub fn touched(&self) -> usize {
        self.cover.iter().filter(|c| **c != Cover::None).count()
    }
    /// Computes the blocks in `within` (a box of blocks) anew.
    pub(super) fn update(
        &mut self,
        selector: &dyn Selector,
        n: [usize; 3],
        within: Region,
        control: &Control,
    ) -> Result<()> {
        let [_, nby, nbx] = self.blocks;
        let bounds = selector.bounds();
        let hit = |a: usize, b: usize| b * 8 < bounds.hi[a] && b * 8 + 8 > bounds.lo[a];
        // Blocks of a row that the bounds leave to be looked at.
        let first = (bounds.lo[2] / 8).max(within.lo[2]);
        let last = bounds.hi[2].div_ceil(8).min(within.hi[2]);
        let update_row = |row: usize, cover: &mut [Cover]| {
            let (bz, by) = (row / nby, row % nby);
            if !(within.lo[1]..within.hi[1]).contains(&by) {
                return Ok(());
            }
            control.check()?;
            cover[within.lo[2]..within.hi[2]].fill(Cover::None);
            if bounds.is_empty() || !hit(0, bz) || !hit(1, by) || first >= last {
                return Ok(());
            }
            selector.cover_row([bz, by], first, n, &mut cover[first..last])
        };
        let rows = within.lo[0] * nby..within.hi[0] * nby;
        let cover = &mut self.cover[rows.start * nbx..rows.end * nbx];
        let [depth, height, _] = within.shape();
        if depth * height <= FEW_ROWS {
            let mut numbered = rows.zip(cover.chunks_mut(nbx));
            numbered.try_for_each(|(row, cover)| update_row(row, cover))
        } else {
            let numbered = cover.par_chunks_mut(nbx).enumerate();
            numbered.try_for_each(|(i, cover)| update_row(rows.start + i, cover))
        }
    }
    /// The touched blocks as bits.
    pub(super) fn to_bits(&self) -> BitVolume {
        let mut out = BitVolume::new(self.blocks);
        let [_, nby, nbx] = self.blocks;
        for (row, cover) in self.cover.chunks(nbx).enumerate() {
            let bits = out.row_mut(row / nby, row % nby);
            for (bx, _) in cover.iter().enumerate().filter(|(_, c)| **c != Cover::None) {
                bits::set_span(bits, bx, bx + 1);
            }
        }
        out
    }
}

/// The cover of a row of blocks `(bz, by, bx0 ..)` from the bits of its 64 rows of voxels.
pub(super) fn cover_by_rows(
    selector: &(impl Selector + ?Sized),
    [bz, by]: [usize; 2],
    bx0: usize,
    n: [usize; 3],
    cover: &mut [Cover],
) -> Result<()> {
    let (mut any, mut all) = (vec![0u8; cover.len()], vec![0xffu8; cover.len()]);
    let mut row_bits = vec![0u8; cover.len()];
    for z in bz * 8..(bz * 8 + 8).min(n[0]) {
        for y in by * 8..(by * 8 + 8).min(n[1]) {
            row_bits.fill(0);
            selector.row([z, y], bx0, &mut row_bits)?;
            for (b, (any, all)) in row_bits.iter().zip(any.iter_mut().zip(&mut all)) {
                *any |= b;
                *all &= b;
            }
        }
    }
    for (i, c) in cover.iter_mut().enumerate() {
        *c = match (any[i], all[i]) {
            (0, _) => Cover::None,
            (_, all) if all == bits::existing(bx0 + i, n[2]) => Cover::Full,
            _ => Cover::Part,
        };
    }
    Ok(())
}
