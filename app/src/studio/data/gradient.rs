//! Gradient magnitude by central differences over the distances of the nodes, one-sided at the faces.

use super::slice::{Geometry, read_texels};
use blockmgard::volume::{Field, NodeSteps, Values};
use blockmgard::{Element, Result, with_values};

/// The gradient magnitude of a volume as a field of its own, computed as it is read.
pub struct GradientField {
    values: Values,
    n: [usize; 3],
    steps: NodeSteps,
}

impl GradientField {
    pub fn new(values: Values, steps: NodeSteps) -> Self {
        let n = with_values!(&values, field => field.extents());
        Self { values, n, steps }
    }
}

impl Field<f64> for GradientField {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [f64]) -> Result<()> {
        with_values!(&self.values, field => gradient_row(&**field, &self.steps, [z, y, x0], out))
    }
}

/// What the difference between the nodes `b` and `a` around `p` is multiplied by.
fn scale(steps: &NodeSteps, axis: usize, p: usize, [b, a]: [usize; 2]) -> f64 {
    let [before, both, after] = steps.per_step(axis, p);
    if a == p {
        before
    } else if b == p {
        after
    } else {
        both
    }
}

fn gradient_row<T: Element>(
    field: &dyn Field<T>,
    steps: &NodeSteps,
    [z, y, x0]: [usize; 3],
    out: &mut [f64],
) -> Result<()> {
    let n = field.extents();
    let len = out.len();
    out.fill(0.0);
    let (mut up, mut down) = (vec![T::ZERO; len], vec![T::ZERO; len]);
    for axis in 0..2 {
        let p = [z, y][axis];
        let (a, b) = ((p + 1).min(n[axis] - 1), p.saturating_sub(1));
        if a > b {
            let at = |v: usize| if axis == 0 { (v, y) } else { (z, v) };
            field.read_row(at(a).0, at(a).1, x0, &mut up)?;
            field.read_row(at(b).0, at(b).1, x0, &mut down)?;
            let scale = scale(steps, axis, p, [b, a]);
            for (o, (u, d)) in out.iter_mut().zip(up.iter().zip(&down)) {
                *o += ((u.to_f64() - d.to_f64()) * scale).powi(2);
            }
        }
    }
    let (first, last) = (x0.saturating_sub(1), (x0 + len + 1).min(n[2]));
    let mut row = vec![T::ZERO; last - first];
    field.read_row(z, y, first, &mut row)?;
    for (i, o) in out.iter_mut().enumerate() {
        let x = x0 + i;
        let (a, b) = ((x + 1).min(n[2] - 1), x.saturating_sub(1));
        if a > b {
            *o += ((row[a - first].to_f64() - row[b - first].to_f64()) * scale(steps, 2, x, [b, a])).powi(2);
        }
        *o = o.sqrt();
    }
    Ok(())
}

/// Gradient magnitude of every texel of a slice.
pub fn slice_gradient(values: &Values, steps: &NodeSteps, g: &Geometry) -> Result<Vec<f64>> {
    read_texels(&GradientField::new(values.clone(), steps.clone()), g)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Plane;
    impl Field<f32> for Plane {
        fn extents(&self) -> [usize; 3] {
            [5, 1, 7]
        }
        fn read_row(&self, z: usize, _y: usize, x0: usize, out: &mut [f32]) -> Result<()> {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = 3.0 * z as f32 + 8.0 * (x0 + i) as f32);
            Ok(())
        }
    }

    #[test]
    fn a_plane_has_one_gradient_everywhere_faces_included() {
        let values = Values::F32(Arc::new(Plane));
        for axis in 0..3 {
            let g = Geometry::covering([5, 1, 7], axis, 0, [0; 2], [9; 2]);
            let got = slice_gradient(&values, &NodeSteps::even([1.0, 1.0, 2.0]), &g).unwrap();
            assert!(got.iter().all(|v| (v - 5.0).abs() < 1e-9), "axis {axis}: {got:?}");
        }
    }
}
