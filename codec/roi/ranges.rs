//! Smallest and largest valid value of every 8^3 block: decides most of a threshold without looking at voxels.

use crate::volume::{Field, RowReader, Segment, Validity};
use crate::{Control, Element, Result};
use rayon::prelude::*;

/// Range of the valid values of a block; `min > max` when there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockRange<T> {
    pub min: T,
    pub max: T,
    pub all_valid: bool,
}

/// One [`BlockRange`] per block, C order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockRanges<T> {
    blocks: [usize; 3],
    ranges: Vec<BlockRange<T>>,
}

impl<T: Element> BlockRanges<T> {
    /// Whether ranges are small beside the data: not for 1-D, where a block holds 8 values.
    pub fn are_worthwhile(n: [usize; 3]) -> bool {
        n.iter().filter(|&&e| e >= 8).count() >= 2
    }
    pub fn of(field: &dyn Field<T>, valid: Validity, control: &Control) -> Result<Self> {
        let n = field.extents();
        let blocks = n.map(|e| e.div_ceil(8));
        let none = BlockRange { min: T::INFINITY, max: -T::INFINITY, all_valid: true };
        let mut ranges = vec![none; blocks.iter().product()];
        control.begin((n.iter().product::<usize>() * T::BYTES) as u64);
        ranges.par_chunks_mut(blocks[2]).enumerate().try_for_each_init(
            || RowReader::new(field),
            |reader, (row, ranges)| {
                control.check()?;
                let (bz, by) = (row / blocks[1], row % blocks[1]);
                for z in bz * 8..(bz * 8 + 8).min(n[0]) {
                    for y in by * 8..(by * 8 + 8).min(n[1]) {
                        let values = reader.read(Segment { z, y, x0: 0, len: n[2] })?;
                        ranges.iter_mut().zip(values.chunks(8)).for_each(|(r, values)| r.add(values, valid));
                        control.advance((n[2] * T::BYTES) as u64);
                    }
                }
                Ok(())
            },
        )?;
        field.check()?;
        Ok(Self { blocks, ranges })
    }
    pub fn at(&self, [bz, by, bx]: [usize; 3]) -> &BlockRange<T> {
        &self.ranges[(bz * self.blocks[1] + by) * self.blocks[2] + bx]
    }
}

impl<T: Element> BlockRange<T> {
    fn add(&mut self, values: &[T], valid: Validity) {
        for &v in values {
            let ok = valid.is_valid(v);
            self.all_valid &= ok;
            self.min = if ok & (v < self.min) { v } else { self.min };
            self.max = if ok & (v > self.max) { v } else { self.max };
        }
    }
}
