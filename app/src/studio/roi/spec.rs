//! Between the studio's ROI and the library's spec, the form that files and streams carry.

use super::block_mask::BlockMask;
use super::model::{Measure, RegionKind, Roi, TIER_COLORS, TierDef, Tolerance};
use super::shape::{Ball, Extruded};
use super::shown_name;
use super::source::Source;
use anyhow::Context as _;
use blockmgard::roi::{self, Analysis, RegionShape, RegionSpec, RoiSpec, TierSpec};
use blockmgard::{Control, Region, Shape};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

/// The studio's ROI as it is now, to become a spec on another thread: that takes its time for painted masks.
pub struct Snapshot {
    roi: Roi,
    shape: Shape,
    /// By region.
    intervals: Vec<[f64; 2]>,
}

impl Snapshot {
    /// `interval` resolves thresholds that the spec has no word for.
    pub fn of(roi: &Roi, shape: Shape, interval: impl Fn(&RegionKind) -> [f64; 2]) -> Self {
        let intervals = roi.regions.iter().map(|r| interval(&r.kind)).collect();
        let mut roi = roi.clone();
        for region in &mut roi.regions {
            if let RegionKind::Painted(mask) = &mut region.kind {
                // The user paints on meanwhile.
                let copy = mask.read().unwrap_or_else(|p| p.into_inner()).clone();
                *mask = Arc::new(RwLock::new(copy));
            }
            region.compare_with_source();
        }
        Self { roi, shape, intervals }
    }
    /// The spec with all that it needs in itself: mask files as voxels.
    pub fn spec(&self) -> anyhow::Result<RoiSpec> {
        to_spec(&self.roi, self.shape, &self.intervals, None)
    }
    /// The spec for a file in `folder`, which names mask files.
    pub fn spec_in(&self, folder: &Path) -> anyhow::Result<RoiSpec> {
        to_spec(&self.roi, self.shape, &self.intervals, Some(folder))
    }
}

fn to_spec(roi: &Roi, shape: Shape, intervals: &[[f64; 2]], folder: Option<&Path>) -> anyhow::Result<RoiSpec> {
    let names = unique_names(&roi.tiers);
    let tiers = roi.tiers.iter().zip(&names).map(|(t, name)| TierSpec {
        name: name.clone(),
        tolerance: to_tolerance(t.tolerance),
        color: Some(roi::Color(t.color)),
    });
    let regions = roi.regions.iter().zip(intervals).map(|(r, interval)| {
        let source = r.standing().filter(|s| folder.is_some() || !s.is_file());
        Ok(RegionSpec {
            tier: names.get(r.tier).context("a region carries a tier that is not there")?.clone(),
            name: r.name.clone(),
            enabled: r.on,
            shape: match source {
                Some(source) => source.shape_in(folder.unwrap_or(Path::new(""))),
                None => to_shape(&r.kind, shape, *interval)?,
            },
            grow: source.and_then(|s| s.grow()),
        })
    });
    Ok(RoiSpec {
        background: names[0].clone(),
        tiers: tiers.collect(),
        regions: regions.collect::<anyhow::Result<_>>()?,
        folder: Default::default(),
        lines: Default::default(),
    })
}

/// Tier names, numbered where two are the same.
fn unique_names(tiers: &[TierDef]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for tier in tiers {
        let mut name = tier.name.clone();
        let mut i = 2;
        while names.contains(&name) {
            name = format!("{} {i}", tier.name);
            i += 1;
        }
        names.push(name);
    }
    names
}

fn to_tolerance(t: Tolerance) -> roi::Tolerance {
    match t {
        Tolerance::Abs(v) => roi::Tolerance::Abs(v),
        Tolerance::Rel(v) => roi::Tolerance::Rel(v),
        Tolerance::Range(v) => roi::Tolerance::Range(v),
        Tolerance::Lossless => roi::Tolerance::Lossless,
        Tolerance::Ignore => roi::Tolerance::Ignore,
    }
}

fn to_shape(kind: &RegionKind, shape: Shape, [lo, hi]: [f64; 2]) -> anyhow::Result<RegionShape> {
    let interval = |min: f64, max: f64| roi::Interval { min: Some(min), max: Some(max) };
    let first = 3 - shape.rank as usize;
    Ok(match kind {
        RegionKind::Threshold { measure: Measure::Value, lo, hi } => RegionShape::Value(interval(*lo, *hi)),
        RegionKind::Threshold { measure: Measure::Percentile, lo, hi } => RegionShape::Percentile(interval(*lo, *hi)),
        RegionKind::Threshold { measure: Measure::Range, lo, hi } => {
            RegionShape::Fraction(interval(lo / 100.0, hi / 100.0))
        }
        RegionKind::Gradient { measure: Measure::Percentile, lo, hi } => {
            RegionShape::GradientPercentile(interval(*lo, *hi))
        }
        RegionKind::Gradient { .. } => RegionShape::Gradient(interval(lo, hi)),
        RegionKind::Box(b) => {
            RegionShape::Box(roi::BoxShape { lo: b.lo[first..].to_vec(), hi: b.hi[first..].to_vec() })
        }
        RegionKind::Ellipsoid(e) => RegionShape::Ellipsoid(roi::EllipsoidShape {
            center: e.center[first..].to_vec(),
            radii: e.radius[first..].to_vec(),
        }),
        RegionKind::Polygon(p) => RegionShape::Polygon(roi::PolygonShape {
            axis: p.axis.saturating_sub(first),
            points: p.points.clone(),
            from: p.layers.start,
            to: p.layers.end,
        }),
        RegionKind::Painted(mask) => RegionShape::Painted(to_runs(&mask.read().unwrap_or_else(|p| p.into_inner()))?),
    })
}

/// A painted mask as the library's run lists.
pub fn to_runs(mask: &BlockMask) -> anyhow::Result<roi::MaskRuns> {
    let mut rows: BTreeMap<(usize, usize), Vec<roi::Run>> = BTreeMap::new();
    for (key, cell) in mask.cells() {
        let b = mask.block_of(key);
        for (z, word) in cell.iter().enumerate() {
            for y in 0..8 {
                let bits = (word >> (y * 8)) as u8;
                if bits != 0 {
                    byte_runs(bits, b[2] * 8, rows.entry((b[0] * 8 + z, b[1] * 8 + y)).or_default());
                }
            }
        }
    }
    let mut out = roi::MaskRuns::new(mask.shape())?;
    for ((z, y), mut runs) in rows {
        runs.sort_unstable();
        out.add_row(z, y, &runs);
    }
    Ok(out)
}

fn byte_runs(bits: u8, x0: usize, out: &mut Vec<roi::Run>) {
    let mut x = 0;
    while x < 8 {
        let skip = (bits >> x).trailing_zeros().min(8 - x);
        x += skip;
        if x < 8 {
            let len = (bits >> x).trailing_ones().min(8 - x);
            out.push([(x0 as u32) + x, (x0 as u32) + x + len]);
            x += len;
        }
    }
}

/// The studio's ROI from a spec. Regions that only the library can resolve (mask files, grown regions)
/// are shown as painted voxels and keep
/// their shape as the source of these; off the UI thread.
pub fn from_spec(spec: &RoiSpec, analysis: &Analysis, folder: &Path, control: &Control) -> anyhow::Result<Roi> {
    let shape = analysis.volume().shape;
    let background = spec.tier_index(&spec.background).context("the spec names a background tier it does not have")?;
    // The background comes first in the studio's list.
    let order: Vec<usize> =
        std::iter::once(background).chain((0..spec.tiers.len()).filter(|i| *i != background)).collect();
    let mut roi = Roi::default();
    roi.tiers = order
        .iter()
        .enumerate()
        .map(|(place, &i)| TierDef {
            name: shown_name(&spec.tiers[i].name),
            color: spec.tiers[i].color.map_or(TIER_COLORS[place % TIER_COLORS.len()], |c| c.0),
            tolerance: from_tolerance(spec.tiers[i].tolerance),
        })
        .collect();
    for region in &spec.regions {
        let tier = spec.tier_index(&region.tier).context("a region names a tier that is not there")?;
        let place = order.iter().position(|i| *i == tier).unwrap_or(0);
        let (kind, source) = match from_shape(&region.shape, shape).filter(|_| region.grow.is_none()) {
            Some(kind) => (kind, None),
            None => {
                let mask = resolved(region, analysis, folder, control)?;
                let source = Source::new(region, folder, mask.clone());
                (RegionKind::Painted(Arc::new(RwLock::new(mask))), Some(Arc::new(source)))
            }
        };
        let name = if region.name.is_empty() { roi.free_name(kind.title()) } else { shown_name(&region.name) };
        let id = roi.add(name, place, kind);
        if let Some(item) = roi.region_mut(id) {
            item.on = region.enabled;
            item.source = source;
        }
    }
    Ok(roi)
}

pub fn from_tolerance(t: roi::Tolerance) -> Tolerance {
    match t {
        roi::Tolerance::Abs(v) => Tolerance::Abs(v),
        roi::Tolerance::Rel(v) => Tolerance::Rel(v),
        roi::Tolerance::Range(v) => Tolerance::Range(v),
        roi::Tolerance::Lossless => Tolerance::Lossless,
        roi::Tolerance::Ignore => Tolerance::Ignore,
    }
}

fn from_shape(region: &RegionShape, shape: Shape) -> Option<RegionKind> {
    let first = 3 - shape.rank as usize;
    let ends = |i: &roi::Interval, lo: f64, hi: f64, scale: f64| {
        (i.min.map_or(lo, |v| v * scale), i.max.map_or(hi, |v| v * scale))
    };
    let threshold = |measure, (lo, hi)| Some(RegionKind::Threshold { measure, lo, hi });
    let gradient = |measure, (lo, hi)| Some(RegionKind::Gradient { measure, lo, hi });
    match region {
        RegionShape::Value(i) => threshold(Measure::Value, ends(i, f64::MIN, f64::MAX, 1.0)),
        RegionShape::Percentile(i) => threshold(Measure::Percentile, ends(i, 0.0, 100.0, 1.0)),
        RegionShape::Fraction(i) => threshold(Measure::Range, ends(i, 0.0, 100.0, 100.0)),
        RegionShape::Gradient(i) => gradient(Measure::Value, ends(i, 0.0, f64::MAX, 1.0)),
        RegionShape::GradientPercentile(i) => gradient(Measure::Percentile, ends(i, 0.0, 100.0, 1.0)),
        RegionShape::Box(b) if b.lo.len() == shape.rank as usize && b.hi.len() == b.lo.len() => {
            let mut region = Region { lo: [0; 3], hi: [1; 3] };
            region.lo[first..].copy_from_slice(&b.lo);
            region.hi[first..].copy_from_slice(&b.hi);
            Some(RegionKind::Box(region))
        }
        RegionShape::Ellipsoid(e) if e.center.len() == shape.rank as usize && e.radii.len() == e.center.len() => {
            let mut ball = Ball { center: [0.0; 3], radius: [0.5; 3] };
            ball.center[first..].copy_from_slice(&e.center);
            ball.radius[first..].copy_from_slice(&e.radii);
            Some(RegionKind::Ellipsoid(ball))
        }
        RegionShape::Polygon(p) if shape.rank == 3 => {
            Some(RegionKind::Polygon(Extruded { axis: p.axis, points: p.points.clone(), layers: p.from..p.to }))
        }
        RegionShape::Painted(runs) if runs.shape().n == shape.n => {
            Some(RegionKind::Painted(Arc::new(RwLock::new(painted(runs, shape)))))
        }
        _ => None,
    }
}

/// The library's run lists as a painted mask.
fn painted(runs: &roi::MaskRuns, shape: Shape) -> BlockMask {
    let mut mask = BlockMask::new(shape);
    for (z, y, runs) in runs.rows() {
        runs.iter().for_each(|r| mask.fill_row(z, y, r[0] as usize..r[1] as usize));
    }
    mask
}

/// The voxels of any region.
pub fn resolved(
    region: &RegionSpec,
    analysis: &Analysis,
    folder: &Path,
    control: &Control,
) -> anyhow::Result<BlockMask> {
    let shape = analysis.volume().shape;
    let runs = region.resolve(analysis, folder, control)?.to_runs(control)?;
    Ok(painted(&runs, shape))
}

/// A mask file's voxels, of one label or of all that are not 0; the library checks that its shape is the volume's.
pub fn import_mask(path: &Path, label: Option<i64>, analysis: &Analysis, control: &Control) -> anyhow::Result<Source> {
    let region = RegionSpec {
        tier: String::new(),
        name: String::new(),
        enabled: true,
        shape: RegionShape::Mask(roi::MaskFile { path: path.to_path_buf(), label }),
        grow: None,
    };
    let voxels = resolved(&region, analysis, Path::new(""), control)?;
    Ok(Source::new(&region, Path::new(""), voxels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::roi::block_mask::Delta;

    #[test]
    fn painted_voxels_survive_the_way_into_the_spec_and_back() {
        let shape = Shape::new(&[21, 22, 23]).unwrap();
        let mut mask = BlockMask::new(shape);
        let ball = Ball { center: [10.0, 11.0, 12.0], radius: [9.0, 8.0, 10.5] };
        mask.paint(&ball.geometry(), true, &mut Delta::default());
        let runs = to_runs(&mask).unwrap();
        assert_eq!(runs.count(), mask.count());
        let Some(RegionKind::Painted(back)) = from_shape(&RegionShape::Painted(runs), shape) else { panic!() };
        assert!(mask.difference(&back.read().unwrap()).is_empty());
    }

    #[test]
    fn equal_tier_names_are_told_apart_and_a_spec_passes_the_librarys_check() {
        let shape = Shape::new(&[32, 32]).unwrap();
        let mut roi = Roi::default();
        roi.tiers[2].name = "Normal".into();
        roi.add("Box", 2, RegionKind::Box(Region { lo: [0, 1, 2], hi: [1, 9, 9] }));
        roi.add("Low", 1, RegionKind::Threshold { measure: Measure::Range, lo: 0.0, hi: 15.0 });
        let spec = Snapshot::of(&roi, shape, |_| [0.0; 2]).spec().unwrap();
        spec.check().unwrap();
        assert_eq!(spec.tiers[2].name, "Normal 2");
        let RegionShape::Box(b) = &spec.regions[0].shape else { panic!() };
        assert_eq!((b.lo.clone(), b.hi.clone()), (vec![1, 2], vec![9, 9]));
        let back = RoiSpec::parse(&spec.to_toml().unwrap()).unwrap();
        assert_eq!((back.tiers, back.regions), (spec.tiers, spec.regions));
    }
}
