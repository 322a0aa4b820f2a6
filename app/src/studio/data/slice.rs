//! Cuts slices out of volumes as f32 texels.

use blockmgard::volume::{Field, Values};
use blockmgard::{Element, Region, Result, ToleranceMap, with_values};
use std::sync::Arc;

/// In-plane axes (v, u) of a slice across `axis`: v is drawn downward, u to the right.
pub fn plane_axes(axis: usize) -> [usize; 2] {
    match axis {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

/// Which texels of which slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub axis: usize,
    pub index: usize,
    /// First voxel (u, v).
    pub origin: [usize; 2],
    /// Voxels from one texel to the next.
    pub stride: usize,
    /// Texels (u, v).
    pub size: [usize; 2],
}

/// Longest side of an uploaded slice; larger views are thinned out, and refined when zoomed in.
pub const MOST_TEXELS: usize = 4096;

impl Geometry {
    /// Texels for the part `lo..hi` (u, v) of a plane; the whole plane when it is small enough.
    pub fn covering(extents: [usize; 3], axis: usize, index: usize, lo: [usize; 2], hi: [usize; 2]) -> Self {
        let [av, au] = plane_axes(axis);
        let plane = [extents[au], extents[av]];
        if plane.iter().all(|&n| n <= MOST_TEXELS) {
            return Self { axis, index, origin: [0; 2], stride: 1, size: plane };
        }
        let longest = (hi[0] - lo[0]).max(hi[1] - lo[1]).max(1);
        let stride = longest.div_ceil(MOST_TEXELS).next_power_of_two();
        // Whole multiples of a coarse step, so that small pans ask for the same texels.
        let step = (MOST_TEXELS / 4) * stride;
        let origin: [usize; 2] = std::array::from_fn(|a| lo[a] / step * step);
        let size = std::array::from_fn(|a| {
            let end = (hi[a].div_ceil(step) * step).min(plane[a]);
            (end - origin[a]).div_ceil(stride).clamp(1, MOST_TEXELS * 2)
        });
        Self { axis, index, origin, stride, size }
    }
    /// Volume coordinates of a texel.
    pub fn voxel(&self, u: usize, v: usize) -> [usize; 3] {
        let [av, au] = plane_axes(self.axis);
        let mut p = [0; 3];
        p[self.axis] = self.index;
        p[av] = self.origin[1] + v * self.stride;
        p[au] = self.origin[0] + u * self.stride;
        p
    }
}

/// A slice ready for upload: texel = (value - offset) * scale, NaN and infinities kept.
#[derive(Debug)]
pub struct SliceImage {
    pub geometry: Geometry,
    pub size: [usize; 2],
    pub texels: Vec<f32>,
    /// Gradient magnitude per texel, while the gradient tool is open.
    pub aux: Option<Vec<f32>>,
    pub offset: f64,
    pub scale: f64,
}

impl SliceImage {
    /// A window bound in texel units.
    pub fn texel(&self, value: f64) -> f32 {
        ((value - self.offset) * self.scale) as f32
    }
}

/// What a layer shows.
#[derive(Clone)]
pub enum Layer {
    Values(Values),
    /// First minus second.
    Difference(Values, Values),
    /// (second - first) / tau of the block.
    ErrorOverTau(Values, Values, Arc<ToleranceMap>),
}

/// Reads the texels of a slice.
pub fn read_texels<T: Element>(field: &dyn Field<T>, g: &Geometry) -> Result<Vec<T>> {
    let mut out = vec![T::ZERO; g.size[0] * g.size[1]];
    if g.axis == 2 {
        read_across_rows(field, g, &mut out)?;
        return Ok(out);
    }
    let span = (g.size[0] - 1) * g.stride + 1;
    let mut row = vec![T::ZERO; span];
    for v in 0..g.size[1] {
        let [z, y, x] = g.voxel(0, v);
        field.read_row(z, y, x, &mut row)?;
        let line = &mut out[v * g.size[0]..][..g.size[0]];
        line.iter_mut().enumerate().for_each(|(u, o)| *o = row[u * g.stride]);
    }
    Ok(out)
}

/// A slice across the fastest axis takes one value of each row.
fn read_across_rows<T: Element>(field: &dyn Field<T>, g: &Geometry, out: &mut [T]) -> Result<()> {
    let n = field.extents();
    let slice = field.as_slice();
    for v in 0..g.size[1] {
        for u in 0..g.size[0] {
            let [z, y, x] = g.voxel(u, v);
            let o = &mut out[v * g.size[0] + u];
            match slice {
                Some(all) => *o = all[(z * n[1] + y) * n[2] + x],
                None => field.read_row(z, y, x, std::slice::from_mut(o))?,
            }
        }
    }
    Ok(())
}

/// One value as f64.
pub fn read_value(values: &Values, [z, y, x]: [usize; 3]) -> Result<f64> {
    with_values!(values, field => {
        let mut out = [Default::default()];
        field.read_row(z, y, x, &mut out)?;
        Ok(out[0].to_f64())
    })
}

fn texels_f64(values: &Values, g: &Geometry) -> Result<Vec<f64>> {
    with_values!(values, field => Ok(read_texels(&**field, g)?.iter().map(|v| v.to_f64()).collect()))
}

/// A line of values along an axis through `p`.
pub fn read_line(values: &Values, axis: usize, p: [usize; 3]) -> Result<Vec<f64>> {
    let n = with_values!(values, field => field.extents());
    let mut region = Region { lo: p, hi: p.map(|v| v + 1) };
    (region.lo[axis], region.hi[axis]) = (0, n[axis]);
    with_values!(values, field => {
        let mut out = vec![Default::default(); region.len()];
        field.read_region(&region, &mut out)?;
        Ok(out.iter().map(|v| v.to_f64()).collect())
    })
}

impl Layer {
    /// Values of the slice in f64 (f32 data widens exactly).
    fn read(&self, g: &Geometry) -> Result<Vec<f64>> {
        match self {
            Layer::Values(values) => texels_f64(values, g),
            Layer::Difference(a, b) => {
                let (a, b) = (texels_f64(a, g)?, texels_f64(b, g)?);
                Ok(a.iter().zip(&b).map(|(a, b)| difference(*a, *b)).collect())
            }
            Layer::ErrorOverTau(original, other, map) => {
                let (a, b) = (texels_f64(original, g)?, texels_f64(other, g)?);
                let tau = |i: usize| map.tau_at(g.voxel(i % g.size[0], i / g.size[0]));
                Ok(a.iter().zip(&b).enumerate().map(|(i, (a, b))| over_tau(difference(*b, *a), tau(i))).collect())
            }
        }
    }

    /// The slice as texels. f64 data is shifted and scaled where f32 would lose the picture.
    pub fn image(&self, g: Geometry) -> Result<SliceImage> {
        if let Layer::Values(Values::F32(field)) = self {
            let texels = read_texels(&**field, &g)?;
            return Ok(SliceImage { geometry: g, size: g.size, texels, aux: None, offset: 0.0, scale: 1.0 });
        }
        let values = self.read(&g)?;
        let (offset, scale) = f32_fit(&values);
        let texels = values.iter().map(|&v| if v.is_finite() { ((v - offset) * scale) as f32 } else { v as f32 });
        Ok(SliceImage { geometry: g, size: g.size, texels: texels.collect(), aux: None, offset, scale })
    }
}

/// Zero where both are the same bits or both missing, so that NaN over NaN is no error.
fn difference(a: f64, b: f64) -> f64 {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) { 0.0 } else { a - b }
}

fn over_tau(error: f64, tau: f64) -> f64 {
    if error == 0.0 || tau.is_infinite() {
        0.0
    } else if tau == 0.0 {
        f64::INFINITY.copysign(error)
    } else {
        error / tau
    }
}

/// Offset and scale that bring finite values into f32 without losing differences.
fn f32_fit(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    if lo >= hi {
        return (0.0, 1.0);
    }
    let largest = lo.abs().max(hi.abs());
    let offset = if (hi - lo) < largest * 1e-3 { lo } else { 0.0 };
    let span = if offset == 0.0 { largest } else { hi - lo };
    let scale = if (1e-30..1e30).contains(&span) { 1.0 } else { 1.0 / span };
    (offset, scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::volume::SliceField;

    #[test]
    fn every_axis_cuts_the_plane_it_names() {
        let n = [3, 4, 5];
        let data: Vec<f32> = (0..60).map(|i| i as f32).collect();
        let field = SliceField::new(&data, n);
        for axis in 0..3 {
            let g = Geometry::covering(n, axis, 1, [0, 0], [9, 9]);
            let texels = read_texels(&field, &g).unwrap();
            for v in 0..g.size[1] {
                for u in 0..g.size[0] {
                    let [z, y, x] = g.voxel(u, v);
                    assert_eq!(texels[v * g.size[0] + u], data[(z * 4 + y) * 5 + x]);
                }
            }
        }
    }

    #[test]
    fn a_huge_plane_is_thinned_to_a_bounded_texture_and_refined_when_zoomed() {
        let n = [1, 100_000, 60_000];
        let whole = Geometry::covering(n, 0, 0, [0, 0], [60_000, 100_000]);
        assert!(whole.size.iter().all(|&s| s <= MOST_TEXELS * 2) && whole.stride > 16);
        let part = Geometry::covering(n, 0, 0, [30_000, 50_000], [31_000, 50_500]);
        assert_eq!(part.stride, 1);
        assert!(part.origin[0] <= 30_000 && part.origin[0] + part.size[0] >= 31_000);
    }

    #[test]
    fn nan_over_nan_is_no_error_and_a_miss_of_a_lossless_value_alarms() {
        assert_eq!(difference(f64::NAN, f64::NAN), 0.0);
        assert_eq!(over_tau(1e-9, 0.0), f64::INFINITY);
        assert_eq!(over_tau(-0.5, 1.0), -0.5);
        assert_eq!(over_tau(9.0, f64::INFINITY), 0.0);
    }

    #[test]
    fn doubles_with_a_large_offset_keep_their_picture_in_f32() {
        let (offset, scale) = f32_fit(&[1e9, 1e9 + 1.0, f64::NAN]);
        assert_eq!((offset, scale), (1e9, 1.0));
    }
}
