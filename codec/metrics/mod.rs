//! Error metrics that users compare: f64 sums over valid values only, whether each value keeps its tolerance judged exactly.

mod compare;
mod exact;
mod lag;
mod report;
mod ssim;
mod sums;

#[cfg(feature = "cuda")]
pub(crate) use compare::loosest;
pub use compare::{Comparison, compare};
pub use exact::{exact_difference, keeps};
#[cfg(feature = "cuda")]
pub(crate) use report::psnr_db;
pub use report::{Report, TierReport};
pub use ssim::{SliceSsim, ssim_slice, ssim_volume};
pub(crate) use sums::square_scale;

#[cfg(test)]
mod tests;
