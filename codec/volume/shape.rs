//! Shapes and boxes, C order: axis 0 is the slowest.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Extents of a volume of 1 to 3 axes, held as 3 axes with ones in front
/// (a 2-D shape `[ny, nx]` is `[1, ny, nx]`). Axis 0 is the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Extents in nodes, slowest first.
    pub n: [usize; 3],
    /// Number of axes the user gave, 1 to 3.
    pub rank: u8,
}

impl Shape {
    /// From 1 to 3 extents, slowest first. Zero extents and products beyond 2^48 values are refused.
    pub fn new(extents: &[usize]) -> Result<Self> {
        if extents.is_empty() || extents.len() > 3 {
            return Err(Error::invalid(format!("a volume has 1 to 3 axes, not {}", extents.len()))
                .remedy("a 4-D file is a series of volumes: pick one step (index)"));
        }
        let total = extents.iter().try_fold(1usize, |p, &e| p.checked_mul(e)).unwrap_or(usize::MAX);
        if total == 0 || total > 1 << 48 {
            return Err(Error::invalid(format!("shape {extents:?} has no values or too many")));
        }
        let mut n = [1; 3];
        n[3 - extents.len()..].copy_from_slice(extents);
        Ok(Self { n, rank: extents.len() as u8 })
    }
    /// Number of values.
    pub fn len(&self) -> usize {
        self.n.iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The extents as the user gave them, slowest first.
    pub fn extents(&self) -> &[usize] {
        &self.n[3 - self.rank as usize..]
    }
    /// Number of 8^3 tolerance blocks per axis (1 where the axis has one node).
    pub fn blocks(&self) -> [usize; 3] {
        self.n.map(|n| n.div_ceil(8))
    }
    pub fn region(&self) -> Region {
        Region { lo: [0; 3], hi: self.n }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.extents().iter().map(usize::to_string).collect();
        f.write_str(&parts.join("x"))
    }
}

/// A half-open box `lo..hi` of nodes, slowest axis first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    pub lo: [usize; 3],
    pub hi: [usize; 3],
}

impl Region {
    pub fn shape(&self) -> [usize; 3] {
        std::array::from_fn(|a| self.hi[a] - self.lo[a])
    }
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The common part; empty (lo == hi on an axis) when they do not meet.
    pub fn intersect(&self, other: &Region) -> Region {
        let lo: [usize; 3] = std::array::from_fn(|a| self.lo[a].max(other.lo[a]));
        let hi = std::array::from_fn(|a| self.hi[a].min(other.hi[a]).max(lo[a]));
        Region { lo, hi }
    }
}
