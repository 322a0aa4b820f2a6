//! Where the regions of a spec lie: moved to a box of a volume, and what is said of those that reach beyond it or hold nothing.

use super::resolve::ResolvedRegion;
use super::spec::{Grow, RegionShape, RegionSpec, RoiSpec};
use crate::{Error, Result, Shape};

impl RoiSpec {
    /// The spec for the box of a volume that begins at node `lo` (one entry an axis, slowest first) and has shape `shape`:
    /// positions of the spec, which count from the whole volume's first node, count from the box's. Regions that lie outside are
    /// switched off; the second list says which. Painted voxels and mask files stay as they are: they must fit the box.
    ///
    /// # Errors
    /// When a region outside the box would grow into it.
    pub fn in_box(&self, lo: &[usize], shape: &Shape) -> Result<(Self, Vec<String>)> {
        let mut spec = self.clone();
        let mut outside = Vec::new();
        for (index, region) in spec.regions.iter_mut().enumerate().filter(|(_, r)| r.enabled) {
            let Some(away) = region.shape.distance(lo, shape) else { continue };
            if away > 0.0 {
                if away <= region.reach() {
                    let message = format!("{}: it lies outside the box and grows into it", self.region_title(index));
                    return Err(Error::invalid(message).remedy("write it as large as it is to be, without grow"));
                }
                region.enabled = false;
                outside.push(format!("{} lies outside the box and holds nothing of it", self.region_title(index)));
            } else {
                region.shape.move_by(lo, shape);
            }
        }
        Ok((spec, outside))
    }
    /// What a reader should know of regions bound to a volume of this shape: those that hold no voxel, and those that reach beyond it.
    pub(super) fn remarks(&self, regions: &[ResolvedRegion], shape: &Shape) -> Vec<String> {
        let remark = |region: &ResolvedRegion| {
            let title = self.region_title(region.index);
            if region.blocks.touched() == 0 {
                return Some(format!("{title} holds no voxel"));
            }
            let spans = self.regions[region.index].shape.spans(shape)?;
            let beyond = |([lo, hi], n): &([f64; 2], &usize)| *lo < 0.0 || *hi > (**n - 1) as f64;
            let found = spans.into_iter().zip(shape.extents()).any(|pair| beyond(&pair));
            found.then(|| format!("{title} reaches beyond {shape} voxels: what lies outside holds nothing"))
        };
        regions.iter().filter_map(remark).collect()
    }
}

impl RegionSpec {
    /// Voxels that the region may grow by.
    fn reach(&self) -> f64 {
        match self.grow {
            None => 0.0,
            Some(Grow::Voxels(by)) => f64::from(by.max(0)),
            Some(Grow::Blocks(by)) => 8.0 * (f64::from(by.max(0)) + 1.0),
        }
    }
}

impl RegionShape {
    /// First and last position per axis of a shape in index space; `None` for other shapes and those of another number of axes.
    fn spans(&self, shape: &Shape) -> Option<Vec<[f64; 2]>> {
        let rank = usize::from(shape.rank);
        let spans: Vec<[f64; 2]> = match self {
            Self::Box(b) => b.lo.iter().zip(&b.hi).map(|(&lo, &hi)| [lo as f64, hi as f64 - 1.0]).collect(),
            Self::Ellipsoid(e) => e.center.iter().zip(&e.radii).map(|(c, r)| [c - r, c + r]).collect(),
            Self::Polygon(p) => {
                let side = |k: usize| {
                    let ends = p.points.iter().map(|point| point[k]);
                    ends.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], v| [lo.min(v), hi.max(v)])
                };
                let mut spans = vec![side(0), side(1)];
                if rank == 3 && p.axis < 3 {
                    spans.insert(p.axis, [p.from as f64, p.to as f64 - 1.0]);
                }
                spans
            }
            _ => return None,
        };
        (spans.len() == rank).then_some(spans)
    }
    /// How far the shape lies from the box that begins at `lo`, along the axis where it is farthest; 0 where they meet.
    fn distance(&self, lo: &[usize], shape: &Shape) -> Option<f64> {
        let spans = self.spans(shape).filter(|spans| spans.len() == lo.len())?;
        let away = spans.iter().zip(lo).zip(shape.extents()).map(|(([first, last], &lo), &n)| {
            let (lo, end) = (lo as f64, (lo + n - 1) as f64);
            (lo - last).max(first - end)
        });
        // the last position of an ellipsoid is no voxel's: what counts is the nearest one's
        Some(away.fold(0.0, f64::max).ceil())
    }
    fn move_by(&mut self, lo: &[usize], shape: &Shape) {
        let of = |axis: usize| lo.get(axis).copied().unwrap_or(0);
        match self {
            Self::Box(b) => {
                b.lo.iter_mut().enumerate().for_each(|(a, v)| *v = v.saturating_sub(of(a)));
                b.hi.iter_mut().enumerate().for_each(|(a, v)| *v = v.saturating_sub(of(a)));
            }
            Self::Ellipsoid(e) => e.center.iter_mut().enumerate().for_each(|(a, v)| *v -= of(a) as f64),
            Self::Polygon(p) => {
                let across = if shape.rank == 3 { p.axis } else { 3 };
                let sides: Vec<usize> = (0..usize::from(shape.rank)).filter(|&a| a != across).collect();
                for point in &mut p.points {
                    point.iter_mut().zip(&sides).for_each(|(v, &a)| *v -= of(a) as f64);
                }
                if across < 3 {
                    (p.from, p.to) = (p.from.saturating_sub(of(across)), p.to.saturating_sub(of(across)));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Control;
    use crate::roi::Analysis;
    use crate::volume::{Stats, Values, VecField, Volume};
    use crate::{Region, ToleranceMap};
    use std::sync::Arc;

    const SPEC: &str = r#"
        background = "loose"
        tier = [{ name = "loose", tolerance.abs = 1.0 }, { name = "strict", tolerance.abs = 0.1 }]
        [[region]]
        tier = "strict"
        shape.box = { lo = [0, 8, 40], hi = [8, 16, 48] }
        [[region]]
        tier = "strict"
        shape.ellipsoid = { center = [20, 20, 20], radii = [4, 5, 6] }
        [[region]]
        tier = "strict"
        shape.polygon = { axis = 1, points = [[24, 32], [24, 39], [31, 39]], from = 8, to = 12 }
        [[region]]
        tier = "strict"
        shape.value = { min = 1e9 }
    "#;

    fn volume(n: [usize; 3]) -> Volume {
        let shape = Shape::new(&n).unwrap();
        let values = Values::F32(Arc::new(VecField::new((0..shape.len()).map(|i| i as f32).collect(), n)));
        Volume { shape, values, meta: Default::default(), missing: Default::default() }
    }

    fn resolve(spec: &RoiSpec, volume: &Volume) -> (ToleranceMap, Vec<String>) {
        let control = Control::default();
        let stats = Stats::of(volume, &control).unwrap();
        spec.resolve_told(&Analysis::new(volume.clone(), stats), &control).unwrap()
    }

    #[test]
    fn regions_of_a_box_are_those_of_the_whole_volume() {
        let (whole, spec) = (volume([32, 32, 48]), RoiSpec::parse(SPEC).unwrap());
        let (map, told) = resolve(&spec, &whole);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("region 4") && told[0].contains("line 13") && told[0].contains("no voxel"),
            "{told:?}"
        );
        let region = Region { lo: [16, 8, 16], hi: [32, 32, 48] };
        let (moved, outside) = spec.in_box(&region.lo, &Shape::new(&region.shape()).unwrap()).unwrap();
        assert!(outside.len() == 1 && outside[0].contains("region 1"), "{outside:?}");
        let part = resolve(&moved, &whole.cropped(&region).unwrap()).0;
        let [nz, ny, nx] = part.blocks;
        for (z, y, x) in (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (z, y, x)))) {
            let tier = |map: &ToleranceMap, [z, y, x]: [usize; 3]| {
                map.tier_of_block[(z * map.blocks[1] + y) * map.blocks[2] + x]
            };
            assert_eq!(tier(&part, [z, y, x]), tier(&map, [z + 2, y + 1, x + 2]), "{z} {y} {x}");
        }
        assert!(part.tier_of_block.contains(&1) && part.tier_of_block.contains(&0));
    }

    #[test]
    fn regions_that_are_cut_off_or_would_grow_into_a_box_are_told() {
        let text = SPEC.replace("hi = [8, 16, 48] }", "hi = [8, 16, 49] }");
        let told = resolve(&RoiSpec::parse(&text).unwrap(), &volume([32, 32, 48])).1;
        assert!(told[0].contains("region 1 reaches beyond 32x32x48"), "{told:?}");
        let text = SPEC.replace("hi = [8, 16, 48] }", "hi = [8, 16, 48] }\n        grow.voxels = 9");
        let spec = RoiSpec::parse(&text).unwrap();
        let shape = Shape::new(&[16, 32, 48]).unwrap();
        assert!(spec.in_box(&[16, 0, 0], &shape).unwrap_err().to_string().contains("grows into it"));
        assert_eq!(spec.in_box(&[20, 0, 0], &Shape::new(&[12, 32, 48]).unwrap()).unwrap().1.len(), 1);
    }
}
