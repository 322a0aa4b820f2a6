//! Tiers and regions as the user sees them.

use super::block_mask::BlockMask;
use super::block_set::Coverage;
use super::shape::{Ball, Extruded};
use super::source::Source;
use blockmgard::roi::Geometry;
use blockmgard::{Region, Shape};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, RwLock};

/// How a tier's tolerance is meant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    /// In the data's own units.
    Abs(f64),
    /// Times max|u|.
    Rel(f64),
    /// Times max - min.
    Range(f64),
    /// Bit for bit.
    Lossless,
    /// No detail kept.
    Ignore,
}

impl Tolerance {
    /// In the data's units: 0 for lossless, infinity for ignore.
    pub fn absolute(self, max_abs: f64, range: f64) -> f64 {
        match self {
            Tolerance::Abs(t) => t,
            Tolerance::Rel(t) => t * max_abs,
            Tolerance::Range(t) => t * range,
            Tolerance::Lossless => 0.0,
            Tolerance::Ignore => f64::INFINITY,
        }
    }
    pub fn number(self) -> Option<f64> {
        match self {
            Tolerance::Abs(t) | Tolerance::Rel(t) | Tolerance::Range(t) => Some(t),
            _ => None,
        }
    }
}

/// One tier of the list; the first of the list is the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierDef {
    pub name: String,
    pub color: [u8; 3],
    pub tolerance: Tolerance,
}

/// What the numbers of a threshold interval mean: values, percent of the finite values that lie below
/// (0 to 100), or percent of the way from the smallest to the largest value (0 to 100).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    Value,
    Percentile,
    Range,
}

/// Where a region lies.
#[derive(Clone, Debug)]
pub enum RegionKind {
    Painted(Arc<RwLock<BlockMask>>),
    /// Values in `lo..=hi`.
    Threshold {
        measure: Measure,
        lo: f64,
        hi: f64,
    },
    /// Gradient magnitude in `lo..=hi`.
    Gradient {
        measure: Measure,
        lo: f64,
        hi: f64,
    },
    Box(Region),
    Ellipsoid(Ball),
    Polygon(Extruded),
}

impl RegionKind {
    pub fn painted(shape: Shape) -> Self {
        RegionKind::Painted(Arc::new(RwLock::new(BlockMask::new(shape))))
    }
    /// The geometric shape, where the kind is one.
    pub fn geometry(&self) -> Option<Geometry> {
        match self {
            RegionKind::Box(region) => Some(Geometry::Box(*region)),
            RegionKind::Ellipsoid(ball) => Some(ball.geometry()),
            RegionKind::Polygon(polygon) => Some(polygon.geometry()),
            _ => None,
        }
    }
    pub fn title(&self) -> &'static str {
        match self {
            RegionKind::Painted(_) => "Painted",
            RegionKind::Threshold { .. } => "Threshold",
            RegionKind::Gradient { .. } => "Gradient",
            RegionKind::Box(_) => "Box",
            RegionKind::Ellipsoid(_) => "Ellipsoid",
            RegionKind::Polygon(_) => "Polygon",
        }
    }
}

/// Stable name of a region while the program runs.
pub type RegionId = u64;

/// One entry of the region list.
#[derive(Clone, Debug)]
pub struct RegionItem {
    pub id: RegionId,
    pub name: String,
    /// Index into the tiers.
    pub tier: usize,
    pub on: bool,
    pub kind: RegionKind,
    /// What its voxels were made from.
    pub source: Option<Arc<Source>>,
    /// They are no longer those of the source.
    pub painted_over: bool,
    /// Blocks that the region holds; `None` while a worker computes it.
    pub coverage: Option<Arc<Coverage>>,
}

impl RegionItem {
    /// The shape that the region's voxels stand for, unless it was painted over.
    pub fn standing(&self) -> Option<&Arc<Source>> {
        self.source.as_ref().filter(|_| !self.painted_over)
    }
    /// Looks whether the voxels are still those of the source.
    pub fn compare_with_source(&mut self) {
        if let (Some(source), RegionKind::Painted(mask)) = (&self.source, &self.kind) {
            self.painted_over = !source.is(&mask.read().unwrap_or_else(|p| p.into_inner()));
        }
    }
}

/// Everything the user says about where which tolerance holds. Cloning shares the painted masks.
#[derive(Clone, Debug)]
pub struct Roi {
    pub tiers: Vec<TierDef>,
    pub regions: Vec<RegionItem>,
    next_id: RegionId,
}

impl Default for Roi {
    fn default() -> Self {
        let tier = |name: &str, color, rel| TierDef { name: name.into(), color, tolerance: Tolerance::Rel(rel) };
        Self {
            tiers: vec![
                tier("Background", TIER_COLORS[0], 1e-2),
                tier("Normal", TIER_COLORS[1], 1e-3),
                tier("Strict", TIER_COLORS[2], 1e-4),
            ],
            regions: vec![],
            next_id: 1,
        }
    }
}

/// Colours of new tiers, background first: distinct in hue and lightness on all colour maps.
pub const TIER_COLORS: [[u8; 3]; 10] = [
    [120, 130, 145],
    [70, 190, 235],
    [255, 122, 69],
    [188, 128, 255],
    [120, 220, 110],
    [255, 205, 70],
    [255, 110, 180],
    [90, 230, 200],
    [160, 120, 90],
    [235, 235, 235],
];

impl Roi {
    /// Renumbers the regions past those of `other`, so that undo never mixes them up.
    pub fn keep_ids_above(&mut self, other: &Roi) {
        let base = other.next_id;
        self.regions.iter_mut().for_each(|r| r.id += base);
        self.next_id += base;
    }
    /// Adds a region and returns its id.
    pub fn add(&mut self, name: impl Into<String>, tier: usize, kind: RegionKind) -> RegionId {
        let id = self.next_id;
        self.next_id += 1;
        let (name, source) = (name.into(), None);
        self.regions.push(RegionItem { id, name, tier, on: true, kind, source, painted_over: false, coverage: None });
        id
    }
    pub fn region(&self, id: RegionId) -> Option<&RegionItem> {
        self.regions.iter().find(|r| r.id == id)
    }
    pub fn region_mut(&mut self, id: RegionId) -> Option<&mut RegionItem> {
        self.regions.iter_mut().find(|r| r.id == id)
    }
    /// Painted regions with their masks.
    pub fn painted(&self) -> impl Iterator<Item = (&RegionItem, &Arc<RwLock<BlockMask>>)> {
        self.regions.iter().filter_map(|r| match &r.kind {
            RegionKind::Painted(mask) => Some((r, mask)),
            _ => None,
        })
    }
    /// A name that no region has yet: "Brush 2".
    pub fn free_name(&self, stem: &str) -> String {
        (1..).map(|i| format!("{stem} {i}")).find(|n| self.regions.iter().all(|r| r.name != *n)).unwrap_or_default()
    }
    /// Rank of each tier, larger = stricter; ties go to the later tier.
    pub fn strictness(&self, max_abs: f64, range: f64) -> Vec<usize> {
        let tau: Vec<f64> = self.tiers.iter().map(|t| t.tolerance.absolute(max_abs, range)).collect();
        let mut order: Vec<usize> = (0..tau.len()).collect();
        order.sort_by(|&a, &b| tau[b].total_cmp(&tau[a]).then(a.cmp(&b)));
        let mut rank = vec![0; tau.len()];
        order.iter().enumerate().for_each(|(r, &t)| rank[t] = r);
        rank
    }
    /// Recomputes what the masks cover, and which are painted over; after undo or a load.
    pub fn refresh_painted_coverage(&mut self) {
        for region in &mut self.regions {
            region.compare_with_source();
            if let RegionKind::Painted(mask) = &region.kind {
                let mask = mask.read().unwrap_or_else(|p| p.into_inner());
                region.coverage = Some(Arc::new(mask.coverage()));
            }
        }
    }
}
