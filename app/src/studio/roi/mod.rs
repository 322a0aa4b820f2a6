//! The ROI as the studio edits it: tiers, regions, painted masks, undo.

pub mod block_mask;
pub mod block_set;
pub mod history;
pub mod model;
pub mod morphology;
pub mod shape;
pub mod spec;
