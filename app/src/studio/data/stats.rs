//! Extremes of every 8^3 block, so that a threshold's blocks are known without touching the values again.

use crate::studio::roi::block_set::Coverage;
use blockmgard::volume::Field;
use blockmgard::{Control, Element, Region, Result};
use rayon::prelude::*;

/// Extremes over the finite values of each block, C order; an all-missing block has `min > max`.
#[derive(Debug, Default)]
pub struct BlockStats {
    pub min: Vec<f64>,
    pub max: Vec<f64>,
    /// Whether every value of the block is finite.
    pub finite: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Extremes {
    min: f64,
    max: f64,
    finite: bool,
}

impl Extremes {
    const NONE: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY, finite: true };
    fn add(&mut self, v: f64) {
        if v.is_finite() {
            self.min = self.min.min(v);
            self.max = self.max.max(v);
        } else {
            self.finite = false;
        }
    }
}

impl BlockStats {
    /// One pass over a field, all cores. Progress counts blocks.
    pub fn compute<T: Element>(field: &dyn Field<T>, control: &Control) -> Result<Self> {
        let blocks = field.extents().map(|n| n.div_ceil(8));
        control.begin(blocks.iter().product::<usize>() as u64);
        let rows = (0..blocks[0] * blocks[1])
            .into_par_iter()
            .map(|i| {
                control.check()?;
                let row = block_row(field, [i / blocks[1], i % blocks[1]], blocks[2])?;
                control.advance(blocks[2] as u64);
                Ok(row)
            })
            .collect::<Result<Vec<_>>>()?;
        let all = || rows.iter().flatten();
        Ok(Self {
            min: all().map(|e| e.min).collect(),
            max: all().map(|e| e.max).collect(),
            finite: all().map(|e| e.finite).collect(),
        })
    }

    /// Which blocks hold something in `lo..=hi`, judged by their extremes. The list holds blocks whose
    /// extremes lie on both sides of the interval: only their values can tell.
    pub fn in_interval(&self, lo: f64, hi: f64) -> (Coverage, Vec<usize>) {
        let mut coverage = Coverage::new(self.min.len());
        let mut unsure = vec![];
        let inside = lo..=hi;
        for (i, (&a, &b)) in self.min.iter().zip(&self.max).enumerate() {
            let (low, high) = (inside.contains(&a), inside.contains(&b));
            if low || high {
                coverage.set(i, true, low && high && self.finite[i]);
            } else if a < lo && b > hi {
                unsure.push(i);
            }
        }
        (coverage, unsure)
    }
}

/// Extremes of a row of blocks.
fn block_row<T: Element>(field: &dyn Field<T>, [bz, by]: [usize; 2], count: usize) -> Result<Vec<Extremes>> {
    let n = field.extents();
    let mut row = vec![T::ZERO; n[2]];
    let mut out = vec![Extremes::NONE; count];
    for z in bz * 8..(bz * 8 + 8).min(n[0]) {
        for y in by * 8..(by * 8 + 8).min(n[1]) {
            field.read_row(z, y, 0, &mut row)?;
            for (block, values) in out.iter_mut().zip(row.chunks(8)) {
                values.iter().for_each(|v| block.add(v.to_f64()));
            }
        }
    }
    Ok(out)
}

/// Whether block `block` holds a value in `lo..=hi`.
pub fn block_has<T: Element>(field: &dyn Field<T>, block: usize, lo: f64, hi: f64) -> Result<bool> {
    let n = field.extents();
    let b = n.map(|n| n.div_ceil(8));
    let at = [block / (b[1] * b[2]), block / b[2] % b[1], block % b[2]].map(|v| v * 8);
    let region = Region { lo: at, hi: std::array::from_fn(|a| (at[a] + 8).min(n[a])) };
    let mut out = vec![T::ZERO; region.len()];
    field.read_region(&region, &mut out)?;
    Ok(out.iter().any(|v| (lo..=hi).contains(&v.to_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::volume::SliceField;

    #[test]
    fn an_interval_inside_a_block_is_left_to_its_values() {
        let mut data = vec![0.0f32; 8 * 8 * 24];
        data[3] = 10.0;
        data[9] = f32::NAN;
        let field = SliceField::new(&data, [8, 8, 24]);
        let stats = BlockStats::compute(&field, &Control::default()).unwrap();
        let (set, unsure) = stats.in_interval(4.0, 6.0);
        assert_eq!((set.touched.count(), unsure), (0, vec![0]));
        assert!(!block_has(&field, 0, 4.0, 6.0).unwrap() && block_has(&field, 0, 4.0, 10.0).unwrap());
        let (low, _) = stats.in_interval(-1.0, 1.0);
        // Block 0 holds a 10 and block 1 a NaN, so they are touched but not held in full.
        assert_eq!((low.touched.count(), low.full.iter().collect::<Vec<_>>()), (3, vec![2]));
        let (set, _) = stats.in_interval(10.0, 11.0);
        assert_eq!(set.touched.iter().collect::<Vec<_>>(), [0]);
    }
}
