//! Times of the stages as functions of their work.

use crate::backend::StageTimes;
use crate::transform::hybrid::plan::Plan;
use crate::{DType, Params};
use serde::{Deserialize, Serialize};

/// A time that grows linearly: `fixed_ms` + `ms_per_item` * items.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    pub fixed_ms: f64,
    pub ms_per_item: f64,
}

impl Linear {
    /// Least squares of the relative error over (items, ms), both parts at least 0.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let (mut s, mut sx, mut sxx, mut sy, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(x, y) in points.iter().filter(|p| p.1 > 0.0) {
            let w = 1.0 / (y * y);
            (s, sx, sxx) = (s + w, sx + w * x, sxx + w * x * x);
            (sy, sxy) = (sy + w * y, sxy + w * x * y);
        }
        let determinant = s * sxx - sx * sx;
        let (fixed, slope) = match determinant > 0.0 {
            true => ((sy * sxx - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant),
            false => (0.0, if sxx > 0.0 { sxy / sxx } else { 0.0 }),
        };
        match (fixed >= 0.0, slope >= 0.0) {
            (true, true) => Self { fixed_ms: fixed, ms_per_item: slope },
            (false, _) => Self { fixed_ms: 0.0, ms_per_item: if sxx > 0.0 { sxy / sxx } else { 0.0 } },
            (true, false) => Self { fixed_ms: if s > 0.0 { sy / s } else { 0.0 }, ms_per_item: 0.0 },
        }
    }
    pub fn at(&self, items: f64) -> f64 {
        self.fixed_ms + self.ms_per_item * items
    }
}

/// Throughput of the In-cache Block kernels by Eq. (1): TP(N) = N / (1 / slope + N / peak), N blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturating {
    /// Blocks a millisecond for each block under way, while latency decides.
    pub slope: f64,
    /// Blocks a millisecond at most.
    pub peak: f64,
}

impl Saturating {
    /// From (blocks, ms). N / TP(N) = 1 / slope + N / peak is linear in N.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let line = Linear::fit(points);
        Self { slope: 1.0 / line.fixed_ms.max(1e-9), peak: 1.0 / line.ms_per_item.max(1e-15) }
    }
    /// Milliseconds for `blocks` blocks.
    pub fn at(&self, blocks: f64) -> f64 {
        1.0 / self.slope + blocks / self.peak
    }
    /// Blocks at which 90 % of the peak are reached: from here on the kernel is saturated.
    pub fn knee(&self) -> f64 {
        9.0 * self.peak / self.slope
    }
}

/// The stages of the encoder for one element type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Models {
    /// By blocks of a local level.
    pub local: Saturating,
    /// By nodes of a global level.
    pub global: Linear,
    /// By symbols of all levels.
    pub lossless: Linear,
}

impl Models {
    /// Predicted milliseconds of encoding a frame of extents `n`, hierarchy as in `params`.
    pub fn predict(&self, n: [usize; 3], params: &Params) -> StageTimes {
        let plan = Plan::new(n, params);
        let mut times = StageTimes::default();
        let mut symbols = plan.coarsest.iter().product::<usize>();
        for (k, level) in plan.levels.iter().enumerate() {
            symbols += level.details;
            let blocks = level.blocks().iter().product::<usize>() as f64;
            let nodes = level.fine.iter().product::<usize>() as f64;
            match level.local {
                true if k == 0 => times.local += self.local.at(blocks),
                true => times.coarse += self.local.at(blocks),
                false => times.coarse += self.global.at(nodes),
            }
        }
        times.lossless = self.lossless.at(symbols as f64);
        times
    }
}

/// The models of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceModels {
    /// As the backend describes itself.
    pub device: String,
    /// Version of this library that measured: other versions have other kernels.
    pub version: String,
    pub f32: Models,
    pub f64: Models,
}

impl DeviceModels {
    pub fn of(&self, dtype: DType) -> &Models {
        match dtype {
            DType::F32 => &self.f32,
            DType::F64 => &self.f64,
        }
    }
    /// Whether they were measured on this device with this version.
    pub fn hold_for(&self, device: &str) -> bool {
        self.device == device && self.version == env!("CARGO_PKG_VERSION")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_give_back_what_made_them() {
        let line = Linear { fixed_ms: 0.02, ms_per_item: 3e-6 };
        let points: Vec<_> = [1e3, 1e5, 1e7].iter().map(|&n| (n, line.at(n))).collect();
        let found = Linear::fit(&points);
        assert!((found.fixed_ms / line.fixed_ms - 1.0).abs() < 1e-9);
        assert!((found.ms_per_item / line.ms_per_item - 1.0).abs() < 1e-9);
        let curve = Saturating { slope: 200.0, peak: 7e5 };
        let points: Vec<_> = [64.0, 512.0, 1e4, 2.6e5].iter().map(|&n| (n, curve.at(n))).collect();
        let found = Saturating::fit(&points);
        assert!((found.slope / curve.slope - 1.0).abs() < 1e-9 && (found.peak / curve.peak - 1.0).abs() < 1e-9);
        let knee = found.knee();
        assert!((knee / found.at(knee) / found.peak - 0.9).abs() < 1e-9);
    }

    #[test]
    fn noise_never_makes_a_time_fall_below_zero() {
        for points in [vec![(1e3, 5.0), (1e6, 1.0)], vec![(1e3, 1e-9), (1e4, 5.0)], vec![(1e3, 2.0)], vec![]] {
            let line = Linear::fit(&points);
            assert!(line.fixed_ms >= 0.0 && line.ms_per_item >= 0.0 && line.at(1e9).is_finite());
        }
    }
}
