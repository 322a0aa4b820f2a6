//! Which 8^3 blocks a region touches.

use super::bits::{self, BitVolume};
use super::select::Selector;
use crate::{Control, Result, Shape};
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
    /// The blocks of a region of a volume of this shape.
    pub(super) fn of(selector: &dyn Selector, shape: &Shape, control: &Control) -> Result<Self> {
        let mut mask = Self::empty(shape.blocks());
        let [_, nby, nbx] = mask.blocks;
        let bounds = selector.bounds();
        if bounds.is_empty() {
            return Ok(mask);
        }
        let [rows, columns, blocks]: [std::ops::Range<usize>; 3] =
            std::array::from_fn(|a| bounds.lo[a] / 8..bounds.hi[a].div_ceil(8).min(mask.blocks[a]));
        mask.cover.par_chunks_mut(nbx).enumerate().try_for_each(|(row, cover)| {
            let (bz, by) = (row / nby, row % nby);
            if !rows.contains(&bz) || !columns.contains(&by) {
                return Ok(());
            }
            control.check()?;
            selector.cover_row([bz, by], blocks.start, shape.n, &mut cover[blocks.clone()])
        })?;
        Ok(mask)
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
