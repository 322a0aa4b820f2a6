//! The ROI spec: tiers, and the regions that carry them. Plain data, as written in `roi.toml` or JSON.

use super::MaskRuns;
use super::color::Color;
use crate::volume::Stats;
use crate::{Error, Result, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Tiers and regions. Nothing in it depends on the values of one volume, so a spec made on one time step applies to the next.
///
/// Where regions overlap, the strictest tier wins, per voxel and per 8^3 block; whatever no region covers carries the
/// background tier (Section IV-C).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoiSpec {
    /// Name of the tier that holds where no region does.
    pub background: String,
    /// All tiers, in the order that people see them; at most 255.
    #[serde(rename = "tier")]
    pub tiers: Vec<TierSpec>,
    /// All regions, in the order that people see them.
    #[serde(rename = "region", default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionSpec>,
    /// Folder that relative paths of mask files start from; set by [`RoiSpec::load`].
    #[serde(skip)]
    #[schemars(skip)]
    pub folder: PathBuf,
    /// Lines that the regions stand on, where the spec was read from text: for messages about them.
    #[serde(skip)]
    #[schemars(skip)]
    pub lines: Vec<usize>,
}

/// A named tolerance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierSpec {
    pub name: String,
    /// Largest error allowed.
    pub tolerance: Tolerance,
    /// How the tier is drawn, as `#rrggbb`; a default is used when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
}

/// The largest error that a tier allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    /// In the units of the data.
    Abs(f64),
    /// As a fraction of the largest |u| (the paper's REL).
    Rel(f64),
    /// As a fraction of max - min (what SZ and VGC call REL).
    Range(f64),
    /// Every bit as it was.
    Lossless,
    /// No detail kept.
    Ignore,
}

impl Tolerance {
    /// In absolute terms for a volume with these statistics: 0 = lossless, infinity = ignore.
    pub fn resolve(self, stats: &Stats) -> f64 {
        match self {
            Tolerance::Abs(t) => t,
            Tolerance::Rel(t) => (t * stats.max_abs).min(f64::MAX),
            Tolerance::Range(t) => (t * stats.max - t * stats.min).min(f64::MAX),
            Tolerance::Lossless => 0.0,
            Tolerance::Ignore => f64::INFINITY,
        }
    }
}

/// A set of voxels and the tier they carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionSpec {
    /// Name of a tier.
    pub tier: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A region that is switched off changes nothing.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub enabled: bool,
    pub shape: RegionShape,
    /// Makes the region larger, or smaller when negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grow: Option<Grow>,
}

fn yes() -> bool {
    true
}

fn is_true(v: &bool) -> bool {
    *v
}

/// A name as messages show it: on one line, and not all of a very long one.
pub(super) fn shown(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// By how much a region grows (positive) or shrinks (negative), along every axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grow {
    Voxels(i32),
    /// The region becomes the whole 8^3 blocks that it touches, then grows or shrinks by blocks.
    Blocks(i32),
}

/// Which voxels a region holds. Positions count voxels of the file's volume from 0 (of a box of it too), slowest axis first, one entry
/// per axis.
/// Shapes by value hold no NaN, infinite or missing values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RegionShape {
    /// Values from `min` to `max`, both included.
    Value(Interval),
    /// Values between two percentiles of the volume's values, 0 to 100, both included.
    Percentile(Interval),
    /// Values in a part of the value range: 0 is the smallest, 1 the largest (the paper's "lowest 15 %" is `max = 0.15`).
    Fraction(Interval),
    /// Gradient magnitude from `min` to `max`, by central differences over the spacing of the nodes, or their coordinates where an axis is uneven; an
    /// axis that has neither counts its nodes.
    Gradient(Interval),
    /// Gradient magnitude between two of its percentiles, 0 to 100.
    #[serde(rename = "gradient_percentile")]
    GradientPercentile(Interval),
    Box(BoxShape),
    Ellipsoid(EllipsoidShape),
    Polygon(PolygonShape),
    Mask(MaskFile),
    /// Voxels painted by hand.
    Painted(MaskRuns),
}

/// A closed interval; a missing end is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// The voxels `lo .. hi`, `hi` excluded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxShape {
    pub lo: Vec<usize>,
    pub hi: Vec<usize>,
}

/// The voxels whose centre lies in an ellipsoid with axes along the volume's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EllipsoidShape {
    pub center: Vec<f64>,
    pub radii: Vec<f64>,
}

/// A polygon in the plane across `axis`, extruded over the slices `from .. to` of that axis (`to` excluded).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolygonShape {
    /// 0 is the slowest axis.
    pub axis: usize,
    /// Corners: positions on the two other axes, slower one first. The last joins the first; insides follow the even-odd rule.
    pub points: Vec<[f64; 2]>,
    pub from: usize,
    pub to: usize,
}

/// A file of the volume's shape that is not 0 inside the region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskFile {
    /// Any file that opens as a volume, such as .npy, or `FILE:NAME` where it holds several; relative paths start at the
    /// folder of the spec.
    pub path: PathBuf,
    /// Only voxels with this value, for files that hold several labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<i64>,
}

impl RoiSpec {
    /// One tier everywhere.
    pub fn uniform(name: &str, tolerance: Tolerance) -> Self {
        Self {
            background: name.into(),
            tiers: vec![TierSpec { name: name.into(), tolerance, color: None }],
            regions: Vec::new(),
            folder: PathBuf::new(),
            lines: Vec::new(),
        }
    }
    /// Position of a tier by its name.
    pub fn tier_index(&self, name: &str) -> Option<usize> {
        self.tiers.iter().position(|t| t.name == name)
    }
    /// The tiers with absolute tolerances, in the order of the spec.
    pub fn resolve_tiers(&self, stats: &Stats) -> Vec<Tier> {
        let resolve = |t: &TierSpec| Tier { name: t.name.clone(), tau: t.tolerance.resolve(stats) };
        self.tiers.iter().map(resolve).collect()
    }
    /// The colour of a tier: its own, or one of a fixed set.
    pub fn tier_color(&self, index: usize) -> Color {
        self.tiers.get(index).and_then(|t| t.color).unwrap_or_else(|| Color::of_index(index))
    }
    /// JSON schema of the spec, for editors and for `blockmgard schema`.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(RoiSpec).to_value()
    }
    /// What people call a region in messages: its line, where it is known, its place and its name.
    pub(super) fn region_title(&self, index: usize) -> String {
        let line = self.lines.get(index).filter(|_| self.lines.len() == self.regions.len());
        let line = line.map(|l| format!("line {l}: ")).unwrap_or_default();
        match self.regions.get(index).map(|r| r.name.as_str()) {
            None | Some("") => format!("{line}region {}", index + 1),
            Some(name) => format!("{line}region {} \"{name}\"", index + 1),
        }
    }
    /// Position of a tier that must be there.
    ///
    /// # Errors
    /// When a name is none of the tiers'.
    pub(super) fn tier_of(&self, name: &str) -> Result<usize> {
        self.tier_index(name).ok_or_else(|| {
            let names: Vec<_> = self.tiers.iter().map(|t| t.name.as_str()).collect();
            Error::invalid(format!("there is no tier {}", shown(name)))
                .remedy(format!("tiers are: {}", names.join(", ")))
        })
    }
}
