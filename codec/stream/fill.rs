//! Smooth values in place of special ones, so that holes cost next to nothing.
//!
//! Push and pull: means of the ordinary values are taken over ever larger cells (2 nodes an axis, 4, 8, ...) until no
//! hole is left, then every hole is interpolated from the next coarser level. Only the coarser levels are held (an
//! eighth of the frame); nodes are interpolated as rows are read.

use super::special::is_special;
use crate::volume::{Field, Missing};
use crate::{Control, Element, Result};
use rayon::prelude::*;

/// A field whose special values are replaced; ordinary values pass through.
pub struct Filled<'a, T: Element> {
    field: &'a dyn Field<T>,
    missing: &'a Missing,
    /// Cells of two nodes an axis.
    cells: Level<T>,
    max_abs: f64,
}

/// Cell values of one level; NaN marks a hole while levels are built.
struct Level<T> {
    n: [usize; 3],
    values: Vec<T>,
}

/// Coarse nodes that one read covers at most, so that a volume of one long row needs no long buffer.
const RUN: usize = 1 << 14;

impl<'a, T: Element> Filled<'a, T> {
    /// `max_abs` is the largest |u| of the ordinary values, which no fill value exceeds.
    pub fn new(field: &'a dyn Field<T>, missing: &'a Missing, max_abs: T, control: &Control) -> Result<Self> {
        let marked = |z, y, x0, out: &mut [T]| {
            field.read_row(z, y, x0, out)?;
            for v in out.iter_mut().filter(|v| is_special(**v, missing)) {
                *v = T::from_f64(f64::NAN);
            }
            Ok(())
        };
        let mut levels = vec![coarsen(field.extents(), max_abs, control, marked)?];
        while levels.last().is_some_and(|l| l.values.len() > 1) {
            let last = levels.last().expect("there is a first level");
            levels.push(coarsen(last.n, max_abs, control, |z, y, x0, out| {
                out.copy_from_slice(&last.values[(z * last.n[1] + y) * last.n[2] + x0..][..out.len()]);
                Ok(())
            })?);
        }
        let top = max_abs.to_f64();
        let mut cells = levels.pop().expect("there is a first level");
        cells.values.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = T::ZERO);
        while let Some(mut finer) = levels.pop() {
            control.check()?;
            let [_, ny, nx] = finer.n;
            finer.values.par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
                for (x, v) in values.iter_mut().enumerate().filter(|(_, v)| !v.is_finite()) {
                    *v = cells.interpolate([row / ny, row % ny, x], top);
                }
            });
            cells = finer;
        }
        Ok(Self { field, missing, cells, max_abs: top })
    }
}

impl<T: Element> Field<T> for Filled<'_, T> {
    fn extents(&self) -> [usize; 3] {
        self.field.extents()
    }
    fn check(&self) -> Result<()> {
        self.field.check()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        self.field.read_row(z, y, x0, out)?;
        for (x, v) in out.iter_mut().enumerate().filter(|(_, v)| is_special(**v, self.missing)) {
            *v = self.cells.interpolate([z, y, x0 + x], self.max_abs);
        }
        Ok(())
    }
}

impl<T: Element> Level<T> {
    /// Value at node `at` of the next finer level: 3/4 of its own cell and 1/4 of the nearest other one, per axis.
    /// `top`: rounding must not carry the result beyond the largest |u|.
    fn interpolate(&self, at: [usize; 3], top: f64) -> T {
        let pairs: [[(usize, f64); 2]; 3] = std::array::from_fn(|axis| {
            let own = at[axis] / 2;
            let other =
                if at[axis].is_multiple_of(2) { own.saturating_sub(1) } else { (own + 1).min(self.n[axis] - 1) };
            [(own, 0.75), (other, 0.25)]
        });
        let mut sum = 0.0;
        for (z, wz) in pairs[0] {
            for (y, wy) in pairs[1] {
                for (x, wx) in pairs[2] {
                    sum += wz * wy * wx * self.values[(z * self.n[1] + y) * self.n[2] + x].to_f64();
                }
            }
        }
        T::from_f64(sum.clamp(-top, top))
    }
}

/// Means of the ordinary values over cells of two nodes an axis.
fn coarsen<T: Element>(
    n: [usize; 3],
    max_abs: T,
    control: &Control,
    read: impl Fn(usize, usize, usize, &mut [T]) -> Result<()> + Sync,
) -> Result<Level<T>> {
    let cells = n.map(|n| n.div_ceil(2));
    let mut values = vec![T::ZERO; cells.iter().product()];
    values.par_chunks_mut(cells[2]).enumerate().try_for_each(|(row, out)| {
        control.check()?;
        let (z, y) = (row / cells[1] * 2, row % cells[1] * 2);
        let mut buffer = vec![T::ZERO; (2 * RUN).min(n[2])];
        for (run, out) in out.chunks_mut(RUN).enumerate() {
            let x0 = run * 2 * RUN;
            let width = (2 * out.len()).min(n[2] - x0);
            let mut sums = vec![(0.0, 0u32); out.len()];
            for z in z..(z + 2).min(n[0]) {
                for y in y..(y + 2).min(n[1]) {
                    read(z, y, x0, &mut buffer[..width])?;
                    for (x, v) in buffer[..width].iter().enumerate().filter(|(_, v)| v.is_finite()) {
                        // An eighth each, so that the sum of large values stays finite.
                        sums[x / 2].0 += v.to_f64() * 0.125;
                        sums[x / 2].1 += 1;
                    }
                }
            }
            for (cell, (sum, count)) in out.iter_mut().zip(sums) {
                let top = max_abs.to_f64();
                *cell = T::from_f64((sum * (8.0 / f64::from(count))).clamp(-top, top));
            }
        }
        Ok::<_, crate::Error>(())
    })?;
    Ok(Level { n: cells, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::SliceField;

    fn filled(data: &[f64], n: [usize; 3], max_abs: f64) -> Vec<f64> {
        let field = SliceField::new(data, n);
        let none = Missing::default();
        let fill = Filled::new(&field, &none, max_abs, &Control::default()).unwrap();
        let mut out = vec![0.0; data.len()];
        fill.read_region(&crate::Region { lo: [0; 3], hi: n }, &mut out).unwrap();
        out
    }

    #[test]
    fn holes_take_values_between_their_neighbours_and_nothing_else_changes() {
        let n = [9, 20, 33];
        let data: Vec<f64> = (0..n.iter().product())
            .map(|i| if i % 33 > 10 && i % 33 < 25 && i / 660 > 3 { f64::NAN } else { 5.0 + (i % 33) as f64 })
            .collect();
        let out = filled(&data, n, 37.0);
        for (a, b) in data.iter().zip(&out) {
            assert!(a == b || a.is_nan() && (5.0..=37.0).contains(b));
        }
    }

    #[test]
    fn frames_without_any_ordinary_value_become_zeros_and_large_values_stay_finite() {
        assert_eq!(filled(&[f64::NAN; 6], [1, 2, 3], 0.0), [0.0; 6]);
        let out = filled(&[f64::MAX, f64::MAX, f64::NAN, f64::MAX, f64::MAX], [1, 1, 5], f64::MAX);
        assert!(out.iter().all(|v| v.is_finite()));
    }
}
