//! Algorithm 1 (Section IV-B): the hybrid hierarchy that keeps a time budget, from stage models measured on a device.

mod choose;
mod measure;
mod model;

pub use choose::{Choice, candidates, choose, pick, predict, predictions};
pub use measure::measure;
pub use model::{DeviceModels, Linear, Models, Saturating};
