//! Regions by value: of the volume itself, of its gradient magnitude, or of a mask file.

use super::Selector;
use crate::roi::blocks::{Cover, cover_by_rows};
use crate::roi::ranges::BlockRanges;
use crate::volume::{Field, Missing, RowReader, Segment, Validity};
use crate::{Element, Region, Result};
use std::sync::Arc;

/// Which valid values are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::roi) enum Test {
    /// From the first to the second, both included.
    Within(f64, f64),
    NonZero,
}

/// The voxels whose value passes a test.
pub(in crate::roi) struct ScalarSelector<T: Element> {
    pub field: Arc<dyn Field<T>>,
    pub missing: Missing,
    pub test: Test,
    /// Saves looking into blocks whose range decides, where there is one.
    pub ranges: Option<Arc<BlockRanges<T>>>,
}

impl<T: Element> ScalarSelector<T> {
    fn pack(&self, values: &[T], bits: &mut [u8], passes: impl Fn(T) -> bool) {
        for (byte, values) in bits.iter_mut().zip(values.chunks(8)) {
            for (i, &v) in values.iter().enumerate() {
                *byte |= (passes(v) as u8) << i;
            }
        }
    }
}

impl<T: Element> Selector for ScalarSelector<T> {
    fn bounds(&self) -> Region {
        Region { lo: [0; 3], hi: self.field.extents() }
    }
    fn row(&self, [z, y]: [usize; 2], bx0: usize, bits: &mut [u8]) -> Result<()> {
        let x0 = bx0 * 8;
        let len = (bits.len() * 8).min(self.field.extents()[2] - x0);
        let mut reader = RowReader::new(&*self.field);
        let values = reader.read(Segment { z, y, x0, len })?;
        let valid = Validity::new(&self.missing);
        match self.test {
            // Finite limits keep infinities out, and NaN fails every comparison.
            Test::Within(lo, hi) if self.missing.is_empty() => {
                self.pack(values, bits, |v| (lo <= v.to_f64()) & (v.to_f64() <= hi))
            }
            Test::Within(lo, hi) => {
                self.pack(values, bits, |v| lo <= v.to_f64() && v.to_f64() <= hi && !valid.is_missing(v))
            }
            Test::NonZero => self.pack(values, bits, |v| valid.is_valid(v) && v != T::ZERO),
        }
        Ok(())
    }
    fn cover_row(&self, [bz, by]: [usize; 2], bx0: usize, n: [usize; 3], cover: &mut [Cover]) -> Result<()> {
        let (Some(ranges), Test::Within(lo, hi)) = (&self.ranges, self.test) else {
            return cover_by_rows(self, [bz, by], bx0, n, cover);
        };
        let inside = |v: f64| lo <= v && v <= hi;
        for (i, c) in cover.iter_mut().enumerate() {
            let r = ranges.at([bz, by, bx0 + i]);
            let (min, max) = (r.min.to_f64(), r.max.to_f64());
            *c = match (inside(min), inside(max)) {
                _ if !(min <= max && min <= hi && max >= lo) => Cover::None,
                (true, true) if r.all_valid => Cover::Full,
                (false, false) => {
                    // The block has values on both sides of the interval: only its voxels can tell.
                    cover_by_rows(self, [bz, by], bx0 + i, n, std::slice::from_mut(c))?;
                    continue;
                }
                _ => Cover::Part,
            };
        }
        Ok(())
    }
}
