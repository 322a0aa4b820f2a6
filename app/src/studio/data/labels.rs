//! Tier labels of a slice: which region holds each voxel, strictest first.

use super::gradient::slice_gradient;
use super::slice::{Geometry, plane_axes, read_texels};
use crate::studio::roi::block_mask::BlockMask;
use crate::studio::roi::model::RegionKind;
use blockmgard::volume::{NodeSteps, Values};
use blockmgard::{Element, Result, with_values};

/// One switched-on region, with thresholds resolved to values.
#[derive(Clone, Debug)]
pub struct LabelRegion {
    pub tier: u8,
    pub kind: RegionKind,
    /// Interval in values, for thresholds.
    pub interval: [f64; 2],
}

/// Everything needed to label voxels.
#[derive(Clone)]
pub struct LabelInput {
    pub values: Values,
    pub steps: NodeSteps,
    pub regions: Vec<LabelRegion>,
    /// Rank of each tier, larger = stricter.
    pub strictness: Vec<usize>,
}

/// Labels of one slice: 0 = no region, k = tier k - 1.
#[derive(Debug)]
pub struct Labels {
    pub geometry: Geometry,
    pub texels: std::sync::Arc<Vec<u8>>,
}

/// Paints the regions from loose to strict, so that the strictest wins.
pub fn label_slice(input: &LabelInput, g: &Geometry) -> Result<Labels> {
    let LabelInput { values, steps, regions, strictness } = input;
    let mut order: Vec<&LabelRegion> = regions.iter().collect();
    order.sort_by_key(|r| strictness.get(r.tier as usize));
    let mut texels = vec![0u8; g.size[0] * g.size[1]];
    for region in order {
        let label = region.tier + 1;
        match &region.kind {
            RegionKind::Painted(mask) => {
                label_mask(&mask.read().unwrap_or_else(|p| p.into_inner()), g, label, &mut texels);
            }
            RegionKind::Threshold { .. } => {
                let [lo, hi] = region.interval;
                let data =
                    with_values!(values, f => read_texels(&**f, g)?.iter().map(|v| v.to_f64()).collect::<Vec<_>>());
                label_interval(&data, lo, hi, label, &mut texels);
            }
            RegionKind::Gradient { .. } => {
                label_interval(
                    &slice_gradient(values, steps, g)?,
                    region.interval[0],
                    region.interval[1],
                    label,
                    &mut texels,
                );
            }
            geometric => {
                if let Some(raster) = geometric.geometry() {
                    label_raster(&raster, g, label, &mut texels);
                }
            }
        }
    }
    Ok(Labels { geometry: *g, texels: texels.into() })
}

fn label_interval(data: &[f64], lo: f64, hi: f64, label: u8, out: &mut [u8]) {
    for (v, o) in data.iter().zip(out) {
        if (lo..=hi).contains(v) {
            *o = label;
        }
    }
}

fn label_mask(mask: &BlockMask, g: &Geometry, label: u8, out: &mut [u8]) {
    let [av, au] = plane_axes(g.axis);
    let mut v = 0;
    while v < g.size[1] {
        let block_v = (g.origin[1] + v * g.stride) / 8;
        let v_end = ((block_v * 8 + 8).saturating_sub(g.origin[1]).div_ceil(g.stride)).clamp(v + 1, g.size[1]);
        let mut u = 0;
        while u < g.size[0] {
            let block_u = (g.origin[0] + u * g.stride) / 8;
            let u_end = ((block_u * 8 + 8).saturating_sub(g.origin[0]).div_ceil(g.stride)).clamp(u + 1, g.size[0]);
            let mut block = [0; 3];
            (block[g.axis], block[av], block[au]) = (g.index / 8, block_v, block_u);
            if let Some(cell) = mask.cell(block) {
                for v in v..v_end {
                    for u in u..u_end {
                        let [z, y, x] = g.voxel(u, v);
                        if cell[z % 8] >> (y % 8 * 8 + x % 8) & 1 == 1 {
                            out[v * g.size[0] + u] = label;
                        }
                    }
                }
            }
            u = u_end;
        }
        v = v_end;
    }
}

fn label_raster(raster: &dyn crate::studio::roi::shape::Shape, g: &Geometry, label: u8, out: &mut [u8]) {
    let bounds = raster.bounds();
    if !(bounds.lo[g.axis]..bounds.hi[g.axis]).contains(&g.index) {
        return;
    }
    let [width, height] = g.size;
    if g.axis != 2 {
        for v in 0..height {
            let [z, y, _] = g.voxel(0, v);
            raster.row(z, y, &mut |r| {
                let first = r.start.saturating_sub(g.origin[0]).div_ceil(g.stride);
                let last = r.end.saturating_sub(g.origin[0]).div_ceil(g.stride).min(width);
                if first < last {
                    out[v * width + first..v * width + last].fill(label);
                }
            });
        }
        return;
    }
    for v in 0..height {
        for u in 0..width {
            let [z, y, x] = g.voxel(u, v);
            let mut hit = false;
            raster.row(z, y, &mut |r| hit |= r.contains(&x));
            if hit {
                out[v * width + u] = label;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::roi::block_mask::Delta;
    use crate::studio::roi::shape::Ball;
    use std::sync::{Arc, RwLock};

    struct Ramp;
    impl blockmgard::volume::Field<f32> for Ramp {
        fn extents(&self) -> [usize; 3] {
            [20, 19, 18]
        }
        fn read_row(&self, _z: usize, _y: usize, x0: usize, out: &mut [f32]) -> Result<()> {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = (x0 + i) as f32);
            Ok(())
        }
    }

    fn input(values: &Values, regions: Vec<LabelRegion>) -> LabelInput {
        LabelInput { values: values.clone(), steps: NodeSteps::even([1.0; 3]), regions, strictness: vec![0, 1, 2] }
    }

    #[test]
    fn a_painted_ball_and_the_same_ellipsoid_give_the_same_labels_on_every_axis() {
        let shape = blockmgard::Shape::new(&[20, 19, 18]).unwrap();
        let ball = Ball { center: [9.0, 10.0, 8.0], radius: [6.0, 5.0, 7.0] };
        let mut mask = BlockMask::new(shape);
        mask.paint(&ball.geometry(), true, &mut Delta::default());
        let painted = RegionKind::Painted(Arc::new(RwLock::new(mask)));
        let values = Values::F32(Arc::new(Ramp));
        for axis in 0..3 {
            for index in [0, 4, 9, 14] {
                let g = Geometry::covering(shape.n, axis, index, [0; 2], [20; 2]);
                let label = |kind: RegionKind| {
                    let region = LabelRegion { tier: 2, kind, interval: [0.0; 2] };
                    let input = input(&values, vec![region]);
                    label_slice(&input, &g).unwrap().texels
                };
                assert_eq!(label(painted.clone()), label(RegionKind::Ellipsoid(ball)), "axis {axis} index {index}");
            }
        }
    }

    #[test]
    fn the_strictest_region_wins_whatever_the_order_of_the_list() {
        let values = Values::F32(Arc::new(Ramp));
        let g = Geometry::covering([20, 19, 18], 0, 3, [0; 2], [20; 2]);
        let threshold = |tier, lo| LabelRegion {
            tier,
            kind: RegionKind::Threshold { measure: crate::studio::roi::model::Measure::Value, lo, hi: 99.0 },
            interval: [lo, 99.0],
        };
        let labels = label_slice(&input(&values, vec![threshold(2, 10.0), threshold(1, 5.0)]), &g).unwrap();
        assert_eq!([labels.texels[4], labels.texels[5], labels.texels[10]], [0, 2, 3]);
    }
}
