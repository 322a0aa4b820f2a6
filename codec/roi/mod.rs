//! Regions of interest: tiers, the spec that assigns them, the tolerance map per block, Eq. (2).

mod analysis;
mod bits;
mod blocks;
mod color;
mod geometry;
mod gradient;
mod parse;
mod place;
mod propagate;
mod ranges;
mod region;
mod resolve;
mod runs;
mod select;
mod spec;
mod tolerance;

pub use analysis::Analysis;
pub use blocks::{BlockMask, Cover};
pub use color::Color;
pub use geometry::Geometry;
pub use region::RegionMask;
pub use resolve::{Part, ResolvedRegion, compose};
pub use runs::{MaskRuns, Run};
pub use spec::{
    BoxShape, EllipsoidShape, Grow, Interval, MaskFile, PolygonShape, RegionShape, RegionSpec, RoiSpec, TierSpec,
    Tolerance,
};
pub use tolerance::{Tier, ToleranceMap};

#[cfg(test)]
mod tests;
