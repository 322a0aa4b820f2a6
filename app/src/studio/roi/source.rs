//! Shapes of a spec that the studio can only show as voxels: grown ones and mask files. The spec that is exported says them as
//! they came, so that it fits the next time step, unless the user has painted on them.

use super::block_mask::BlockMask;
use crate::studio::panels::shell::number;
use blockmgard::roi::{Grow, Interval, MaskFile, RegionShape, RegionSpec};
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// What a painted region was made from.
#[derive(Debug)]
pub struct Source {
    /// Mask files have an absolute path.
    shape: RegionShape,
    grow: Option<Grow>,
    /// The voxels of the shape in the open volume.
    voxels: RwLock<BlockMask>,
}

impl Source {
    /// A region's shape and the voxels that it holds. Relative paths of mask files start at `folder`.
    pub fn new(region: &RegionSpec, folder: &Path, voxels: BlockMask) -> Self {
        let shape = match &region.shape {
            RegionShape::Mask(file) => {
                let path = folder.join(&file.path);
                let path = std::path::absolute(&path).unwrap_or(path);
                RegionShape::Mask(MaskFile { path, label: file.label })
            }
            other => other.clone(),
        };
        Self { shape, grow: region.grow, voxels: RwLock::new(voxels) }
    }

    /// Whether `mask` is still what the shape holds.
    pub fn is(&self, mask: &BlockMask) -> bool {
        self.voxels.read().unwrap_or_else(PoisonError::into_inner).difference(mask).is_empty()
    }

    /// The voxels of the shape in the open volume.
    pub fn voxels(&self) -> BlockMask {
        self.voxels.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over the voxels of the shape in another volume.
    pub fn moved_to(&self, voxels: BlockMask) {
        *self.voxels.write().unwrap_or_else(PoisonError::into_inner) = voxels;
    }

    /// The region as the library resolves it.
    pub fn region(&self) -> RegionSpec {
        let (shape, grow) = (self.shape.clone(), self.grow);
        RegionSpec { tier: String::new(), name: String::new(), enabled: true, shape, grow }
    }

    pub fn grow(&self) -> Option<Grow> {
        self.grow
    }

    pub fn is_file(&self) -> bool {
        matches!(self.shape, RegionShape::Mask(_))
    }

    /// The shape for a spec in `folder`: a mask file that lies in it is named by its relative path.
    pub fn shape_in(&self, folder: &Path) -> RegionShape {
        match &self.shape {
            RegionShape::Mask(file) => {
                let path = file.path.strip_prefix(folder).unwrap_or(&file.path).to_path_buf();
                RegionShape::Mask(MaskFile { path, label: file.label })
            }
            other => other.clone(),
        }
    }

    /// In a few words, for the list of regions.
    pub fn title(&self) -> String {
        let between = |what: &str, i: &Interval, scale: f64| match (i.min, i.max) {
            (Some(lo), Some(hi)) => format!("{what} {} to {}", number(lo * scale), number(hi * scale)),
            (Some(lo), None) => format!("{what} from {}", number(lo * scale)),
            (None, Some(hi)) => format!("{what} to {}", number(hi * scale)),
            (None, None) => what.to_owned(),
        };
        let shape = match &self.shape {
            RegionShape::Value(i) => between("Value", i, 1.0),
            RegionShape::Percentile(i) => between("Percentile", i, 1.0),
            RegionShape::Fraction(i) => between("% of range", i, 100.0),
            RegionShape::Gradient(i) => between("Gradient", i, 1.0),
            RegionShape::GradientPercentile(i) => between("Gradient percentile", i, 1.0),
            RegionShape::Box(_) => "Box".to_owned(),
            RegionShape::Ellipsoid(_) => "Ellipsoid".to_owned(),
            RegionShape::Polygon(_) => "Polygon".to_owned(),
            RegionShape::Painted(_) => "Painted".to_owned(),
            RegionShape::Mask(file) => {
                let name = file.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                let label = file.label.map_or_else(String::new, |l| format!(", label {l}"));
                format!("Mask {}{label}", super::shown_name(&name))
            }
        };
        let by = |n: i32, unit: &str| {
            let (verb, n) = (if n < 0 { "shrunk" } else { "grown" }, n.unsigned_abs());
            format!("{shape}, {verb} by {n} {unit}{}", if n == 1 { "" } else { "s" })
        };
        match self.grow {
            None => shape,
            Some(Grow::Voxels(n)) => by(n, "voxel"),
            Some(Grow::Blocks(n)) => by(n, "block"),
        }
    }
}
