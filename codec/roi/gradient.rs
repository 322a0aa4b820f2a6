//! Gradient magnitude of a volume, computed as its rows are read.

use crate::volume::{Field, Missing, NodeSteps, Validity};
use crate::{Element, Result};
use std::sync::Arc;

/// |grad u| by central differences over the distances of the nodes, one-sided at the edges and beside values that are not
/// valid. NaN where the value itself is not valid. Axes of one node do not count.
pub(super) struct GradientField<T: Element> {
    pub field: Arc<dyn Field<T>>,
    pub missing: Missing,
    pub steps: NodeSteps,
}

/// Values per piece of a row: five of them stay in the cache.
const PIECE: usize = 1024;

impl<T: Element> GradientField<T> {
    /// A row as f64, invalid values as NaN, with one more value on each side (NaN beyond the edge).
    fn wide_row(&self, z: usize, y: usize, x0: usize, len: usize, raw: &mut Vec<T>, out: &mut Vec<f64>) -> Result<()> {
        let nx = self.field.extents()[2];
        let (from, to) = (x0.saturating_sub(1), (x0 + len + 1).min(nx));
        raw.resize(to - from, T::ZERO);
        self.field.read_row(z, y, from, raw)?;
        let valid = Validity::new(&self.missing);
        out.clear();
        out.resize(len + 2, f64::NAN);
        for (o, &v) in out[from + 1 - x0..].iter_mut().zip(raw.iter()) {
            *o = if valid.is_valid(v) { v.to_f64() } else { f64::NAN };
        }
        Ok(())
    }
    fn piece(&self, [z, y, x0]: [usize; 3], rows: &mut Rows<T>, out: &mut [T]) -> Result<()> {
        let n = self.field.extents();
        let len = out.len();
        self.wide_row(z, y, x0, len, &mut rows.raw, &mut rows.center)?;
        rows.sum.clear();
        for i in 0..len {
            let along_x =
                square_slope(rows.center[i], rows.center[i + 1], rows.center[i + 2], self.steps.per_step(2, x0 + i));
            rows.sum.push(along_x);
        }
        for axis in [0, 1] {
            let at = [z, y][axis];
            for (side, row) in [(at.wrapping_sub(1), &mut rows.before), (at + 1, &mut rows.after)] {
                if side < n[axis] {
                    let (z, y) = if axis == 0 { (side, y) } else { (z, side) };
                    self.wide_row(z, y, x0, len, &mut rows.raw, row)?;
                } else {
                    row.clear();
                    row.resize(len + 2, f64::NAN);
                }
            }
            let per_step = self.steps.per_step(axis, at);
            for i in 0..len {
                rows.sum[i] += square_slope(rows.before[i + 1], rows.center[i + 1], rows.after[i + 1], per_step);
            }
        }
        for (i, o) in out.iter_mut().enumerate() {
            *o = if rows.center[i + 1].is_nan() { T::from_f64(f64::NAN) } else { T::from_f64(rows.sum[i].sqrt()) };
        }
        Ok(())
    }
}

#[derive(Default)]
struct Rows<T> {
    raw: Vec<T>,
    center: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
    sum: Vec<f64>,
}

/// Square of the slope in the middle of three values, of which NaN ones are not there; see [`NodeSteps::per_step`].
#[inline(always)]
fn square_slope(before: f64, here: f64, after: f64, [left, both, right]: [f64; 3]) -> f64 {
    let (lo, lone) = if before.is_nan() { (here, right) } else { (before, left) };
    let hi = if after.is_nan() { here } else { after };
    // Without any neighbour the difference is 0.
    let slope = (hi - lo) * if before.is_nan() | after.is_nan() { lone } else { both };
    slope * slope
}

impl<T: Element> Field<T> for GradientField<T> {
    fn extents(&self) -> [usize; 3] {
        self.field.extents()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let mut rows = Rows::default();
        for (i, piece) in out.chunks_mut(PIECE).enumerate() {
            self.piece([z, y, x0 + i * PIECE], &mut rows, piece)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::VecField;

    fn gradient(data: Vec<f64>, n: [usize; 3], spacing: [f64; 3]) -> Vec<f64> {
        let mut out = vec![0.0; data.len()];
        let g = GradientField {
            field: Arc::new(VecField::new(data, n)) as Arc<dyn Field<f64>>,
            missing: Default::default(),
            steps: NodeSteps::even(spacing),
        };
        g.read_region(&crate::Region { lo: [0; 3], hi: n }, &mut out).unwrap();
        out
    }

    #[test]
    fn a_linear_field_has_its_slope_everywhere() {
        let n = [3, 4, 2100];
        let mut data = Vec::new();
        for (z, y, x) in (0..3).flat_map(|z| (0..4).flat_map(move |y| (0..2100).map(move |x| (z, y, x)))) {
            data.push(2.0 * z as f64 * 0.5 + 3.0 * y as f64 * 2.0 + 6.0 * x as f64);
        }
        let g = gradient(data, n, [0.5, 2.0, 1.0]);
        assert!(g.iter().all(|g| (g - 7.0).abs() < 1e-9), "{:?}", &g[..4]);
    }

    #[test]
    fn a_linear_field_on_uneven_nodes_has_its_slope_everywhere() {
        let (n, nodes) = ([2, 5, 3], [0.0, 0.5, 2.0, 7.0, 7.5]);
        let value = |i: usize| 3.0 * (i / 15) as f64 + 2.0 * nodes[i / 3 % 5] + 4.0 * (i % 3) as f64 * 1.5;
        let meta = crate::volume::Metadata {
            spacing: Some(vec![1.0, 1.0, 1.5]),
            coordinates: vec![vec![], nodes.to_vec(), vec![]],
            ..Default::default()
        };
        let field: Arc<dyn Field<f64>> = Arc::new(VecField::new((0..30).map(value).collect(), n));
        let g = GradientField { field, missing: Default::default(), steps: NodeSteps::of(&meta, n) };
        let mut out = vec![0.0; 30];
        g.read_region(&crate::Region { lo: [0; 3], hi: n }, &mut out).unwrap();
        assert!(out.iter().all(|g| (g - 29f64.sqrt()).abs() < 1e-12), "{out:?}");
    }

    #[test]
    fn invalid_neighbours_leave_one_side() {
        let g = gradient(vec![0.0, 1.0, f64::NAN, 7.0, 9.0, f64::INFINITY, 4.0, f64::NAN], [1, 1, 8], [1.0; 3]);
        assert_eq!((g[0], g[1], g[3], g[4], g[6]), (1.0, 1.0, 2.0, 2.0, 0.0));
        assert!(g[2].is_nan() && g[5].is_nan() && g[7].is_nan());
    }
}
