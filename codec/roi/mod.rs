//! Regions of interest: tiers, the spec that assigns them, the tolerance map per block, Eq. (2).

mod tolerance;

pub use tolerance::{Tier, ToleranceMap};
