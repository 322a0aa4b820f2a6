//! The figures of one comparison, as shown to people and written as JSON.

use super::SliceSsim;
use serde::{Deserialize, Serialize};

/// How far a reconstruction is from its original. Infinite figures (the PSNR of an exact copy) are null in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Values in all.
    pub count: u64,
    /// Values that the errors below are over: finite and not missing in the original.
    pub valid: u64,
    /// Original values that are NaN, infinite or missing: they must come back bit for bit.
    pub special: u64,
    /// Special values that did not.
    pub special_changed: u64,
    /// Values beyond their tolerance in exact arithmetic, differing values of lossless tiers, and changed special values.
    pub violations: u64,
    #[serde(deserialize_with = "null_is_infinite")]
    pub max_error: f64,
    /// Voxel of the largest error, slowest axis first.
    pub max_error_at: Option<[usize; 3]>,
    /// Largest error as a fraction of the tolerance of its block; lossless and ignored tiers do not count.
    #[serde(deserialize_with = "null_is_infinite")]
    pub max_error_over_tau: f64,
    /// Voxel of the largest error over tolerance.
    pub worst_at: Option<[usize; 3]>,
    /// max - min of the original.
    pub range: f64,
    #[serde(deserialize_with = "null_is_infinite")]
    pub rmse: f64,
    /// RMSE / range.
    #[serde(deserialize_with = "null_is_infinite")]
    pub nrmse: f64,
    /// 20 log10(range / RMSE), in dB.
    #[serde(deserialize_with = "null_is_infinite")]
    pub psnr_db: f64,
    /// The same over the blocks of all tiers but the background, with the range of the whole volume; absent when there are none.
    pub roi_psnr_db: Option<f64>,
    /// Compressed bits per value.
    pub bit_rate: Option<f64>,
    /// Original bytes over compressed bytes.
    pub ratio: Option<f64>,
    /// Correlation of the error with itself one node further, per axis, slowest first; 0 where an axis has one node.
    pub autocorrelation: Vec<f64>,
    /// Of the middle slice across the slowest axis; absent for 1-D.
    pub ssim: Option<SliceSsim>,
    /// In the order of the tolerance map.
    pub tiers: Vec<TierReport>,
}

/// The part of a comparison that lies in the blocks of one tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierReport {
    pub name: String,
    /// Absolute tolerance: 0 = lossless, infinite (null in JSON) = ignore.
    #[serde(deserialize_with = "null_is_infinite")]
    pub tau: f64,
    /// Valid values in its blocks.
    pub values: u64,
    pub violations: u64,
    #[serde(deserialize_with = "null_is_infinite")]
    pub max_error: f64,
    pub max_error_at: Option<[usize; 3]>,
    /// 0 for lossless and ignored tiers.
    #[serde(deserialize_with = "null_is_infinite")]
    pub max_error_over_tau: f64,
    #[serde(deserialize_with = "null_is_infinite")]
    pub rmse: f64,
    /// With the range of the whole volume.
    #[serde(deserialize_with = "null_is_infinite")]
    pub psnr_db: f64,
    /// Number of errors (reconstruction - original) in equal intervals from -tau to tau; errors beyond go to the outer ones.
    /// Empty for lossless and ignored tiers.
    pub histogram: Vec<u64>,
}

fn null_is_infinite<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
}

/// 20 log10(range / RMSE); infinite for an exact copy.
pub(crate) fn psnr_db(range: f64, rmse: f64) -> f64 {
    if rmse == 0.0 { f64::INFINITY } else { 20.0 * (range / rmse).log10() }
}
