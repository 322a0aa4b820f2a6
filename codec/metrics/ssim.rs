//! Structural similarity as QCAT computes it: windows of 7 nodes a side, 2 apart, each with the range of its own original values;
//! a window whose original is constant takes that of all original values compared, as SSIM is defined with one range for an image, and so
//! that no figure depends on the units.

use crate::volume::{Field, Validity, Values, Volume};
use crate::{Control, Element, Error, Region, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

const WINDOW: usize = 7;
const STRIDE: usize = 2;
const K1: f64 = 0.01;
const K2: f64 = 0.03;

/// SSIM of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceSsim {
    /// Axis that the slice lies across, 0 the slowest of three.
    pub axis: usize,
    pub index: usize,
    pub value: f64,
}

/// SSIM of the slice `index` across `axis` (7x7 windows, cut to the slice where it is smaller). Values that are not valid in
/// the original, or not finite in the reconstruction, are left out of their windows.
pub fn ssim_slice(original: &Volume, reconstructed: &Volume, axis: usize, index: usize) -> Result<SliceSsim> {
    let n = original.shape.n;
    if axis > 2 || index >= n[axis] || reconstructed.shape.n != n {
        return Err(Error::invalid(format!("there is no slice {index} across axis {axis} in both volumes")));
    }
    let mut slice = original.shape.region();
    (slice.lo[axis], slice.hi[axis]) = (index, index + 1);
    let value = of_region(original, reconstructed, slice, &Control::default())?;
    Ok(SliceSsim { axis, index, value })
}

/// SSIM of a whole volume (7x7x7 windows).
pub fn ssim_volume(original: &Volume, reconstructed: &Volume, control: &Control) -> Result<f64> {
    if original.shape.n != reconstructed.shape.n {
        return Err(Error::invalid("volumes of different shapes cannot be compared"));
    }
    of_region(original, reconstructed, original.shape.region(), control)
}

fn of_region(a: &Volume, b: &Volume, region: Region, control: &Control) -> Result<f64> {
    let valid = Validity::new(&a.missing);
    match (&a.values, &b.values) {
        (Values::F32(u), Values::F32(v)) => mean_ssim(&**u, &**v, valid, region, control),
        (Values::F64(u), Values::F64(v)) => mean_ssim(&**u, &**v, valid, region, control),
        _ => Err(Error::invalid("volumes of different types cannot be compared")),
    }
}

/// Mean over all windows that hold a valid value, joined slab by slab in order; 1 when there are none.
fn mean_ssim<T: Element>(
    u: &dyn Field<T>,
    v: &dyn Field<T>,
    valid: Validity,
    region: Region,
    control: &Control,
) -> Result<f64> {
    let range = range_of(u, valid, region)?;
    let n = region.shape();
    let side = n.map(|n| n.min(WINDOW));
    let starts = |a: usize| (0..=n[a] - side[a]).step_by(STRIDE);
    let slabs: Vec<(f64, u64)> = starts(0)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|z| {
            control.check()?;
            let slab = Region {
                lo: [region.lo[0] + z, region.lo[1], region.lo[2]],
                hi: [region.lo[0] + z + side[0], region.hi[1], region.hi[2]],
            };
            let (mut a, mut b) = (vec![T::ZERO; slab.len()], vec![T::ZERO; slab.len()]);
            u.read_region(&slab, &mut a)?;
            v.read_region(&slab, &mut b)?;
            let (mut sum, mut windows) = (0.0, 0);
            for (y, x) in starts(1).flat_map(|y| starts(2).map(move |x| (y, x))) {
                let pairs = window(&a, &b, valid, slab.shape(), [y, x], side);
                if let Some(value) = window_ssim(pairs, range) {
                    (sum, windows) = (sum + value, windows + 1);
                }
            }
            Ok((sum, windows))
        })
        .collect::<Result<_>>()?;
    let (sum, windows) = slabs.iter().fold((0.0, 0), |t, s| (t.0 + s.0, t.1 + s.1));
    Ok(if windows == 0 { 1.0 } else { sum / windows as f64 })
}

/// Half of max - min of the valid values (the whole may exceed f64): where all are the same half their magnitude, since there is no other
/// measure of what an error means.
fn range_of<T: Element>(u: &dyn Field<T>, valid: Validity, region: Region) -> Result<f64> {
    let rows = (region.lo[0]..region.hi[0]).flat_map(|z| (region.lo[1]..region.hi[1]).map(move |y| (z, y)));
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut row = vec![T::ZERO; region.hi[2] - region.lo[2]];
    for (z, y) in rows {
        u.read_row(z, y, region.lo[2], &mut row)?;
        for v in row.iter().filter(|v| valid.is_valid(**v)).map(|v| v.to_f64()) {
            (min, max) = (min.min(v), max.max(v));
        }
    }
    Ok(if max > min { 0.5 * max - 0.5 * min } else { 0.5 * max.abs() })
}

/// The usable pairs of values of one window.
fn window<'a, T: Element>(
    a: &'a [T],
    b: &'a [T],
    valid: Validity<'a>,
    n: [usize; 3],
    [y0, x0]: [usize; 2],
    side: [usize; 3],
) -> impl Iterator<Item = (f64, f64)> + Clone + 'a {
    let rows = (0..side[0]).flat_map(move |z| (y0..y0 + side[1]).map(move |y| (z * n[1] + y) * n[2] + x0));
    let pairs = rows.flat_map(move |at| a[at..at + side[2]].iter().zip(&b[at..at + side[2]]));
    pairs.filter(move |(u, v)| valid.is_valid(**u) && v.is_finite()).map(|(u, v)| (u.to_f64(), v.to_f64()))
}

/// `half_range` is that of [`range_of`].
fn window_ssim(pairs: impl Iterator<Item = (f64, f64)> + Clone, half_range: f64) -> Option<f64> {
    let (mut largest, mut min, mut max) = (0.0f64, f64::INFINITY, f64::NEG_INFINITY);
    for (u, v) in pairs.clone() {
        (largest, min, max) = (largest.max(u.abs()).max(v.abs()), min.min(u), max.max(u));
    }
    let largest = if max > min { largest } else { largest.max(half_range) };
    // Squares of very large or small values would leave the range of f64.
    let scale = if (1e-100..1e100).contains(&largest) || largest == 0.0 { 1.0 } else { largest };
    let pairs = pairs.map(|(u, v)| (u / scale, v / scale));
    let (mut count, mut sum_u, mut sum_v) = (0.0, 0.0, 0.0);
    for (u, v) in pairs.clone() {
        (count, sum_u, sum_v) = (count + 1.0, sum_u + u, sum_v + v);
    }
    if count == 0.0 {
        return None;
    }
    let (mean_u, mean_v) = (sum_u / count, sum_v / count);
    let (mut var_u, mut var_v, mut cov) = (0.0, 0.0, 0.0);
    for (u, v) in pairs {
        let (du, dv) = (u - mean_u, v - mean_v);
        (var_u, var_v, cov) = (var_u + du * du, var_v + dv * dv, cov + du * dv);
    }
    let (var_u, var_v, cov) = (var_u / count, var_v / count, cov / count);
    let range = if max > min { max / scale - min / scale } else { 2.0 * (half_range / scale) };
    if range == 0.0 {
        // All originals are 0: only zeros are like them.
        return Some(if largest == 0.0 { 1.0 } else { 0.0 });
    }
    let (c1, c2) = ((K1 * range).powi(2), (K2 * range).powi(2));
    let deviations = var_u.sqrt() * var_v.sqrt();
    let luminance = (2.0 * mean_u * mean_v + c1) / (mean_u * mean_u + mean_v * mean_v + c1);
    let contrast = (2.0 * deviations + c2) / (var_u + var_v + c2);
    let structure = (cov + c2 / 2.0) / (deviations + c2 / 2.0);
    Some(luminance * contrast * structure)
}
