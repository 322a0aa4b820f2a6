//! What a finished job says of itself.

use serde::{Deserialize, Serialize};

/// Sizes and times of one compression or decompression.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of the values of the volume (or of the part decoded).
    pub original_bytes: u64,
    /// Bytes of the whole stream, headers and index included.
    pub compressed_bytes: u64,
    /// original / compressed of the whole stream.
    pub ratio: f64,
    /// Bits of stream per value.
    pub bits_per_value: f64,
    /// Wall time from the first read to the last byte written.
    pub seconds: f64,
    /// Wall time inside the backend, without reading ahead, missing values and output.
    pub kernel_seconds: f64,
    /// 1e9 bytes of original data a second, end to end.
    pub gbps: f64,
    /// As `gbps`, over `kernel_seconds`.
    pub kernel_gbps: f64,
    pub frames: usize,
    /// Which device did it.
    pub device: String,
}

/// 1e9 bytes a second; 0 for no time at all.
fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / 1e9 / seconds } else { 0.0 }
}

impl Report {
    /// Fills in the rates. `whole` is (bytes, values) of the whole volume, the base of ratio and bit rate.
    pub(super) fn finish(mut self, whole: (u64, u64), seconds: f64) -> Self {
        self.seconds = seconds;
        self.ratio = whole.0 as f64 / self.compressed_bytes as f64;
        self.bits_per_value = 8.0 * self.compressed_bytes as f64 / whole.1 as f64;
        self.gbps = rate(self.original_bytes, seconds);
        self.kernel_gbps = rate(self.original_bytes, self.kernel_seconds);
        self
    }
}
