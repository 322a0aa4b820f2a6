//! Error metrics that users compare: f64 sums over valid values only, whether each value keeps its tolerance judged exactly.

mod compare;
mod exact;
mod lag;
mod report;
mod ssim;
mod sums;

pub use compare::{Comparison, compare};
pub use exact::{exact_difference, keeps};
pub use report::{Report, TierReport};
pub use ssim::{SliceSsim, ssim_slice, ssim_volume};

#[cfg(test)]
mod tests;
