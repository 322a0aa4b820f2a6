//! Figures of a comparison whose volumes are both on the device, `kernels/metrics.cu`.

use super::buffer::Buffer;
use super::device_struct::device_struct;
use super::gpu::Gpu;
use crate::metrics::{loosest, psnr_db};
use crate::volume::DType;
use crate::{Element, Result, ToleranceMap};
use serde::Serialize;

/// Parts that the blocks are summed up in, as in metrics.cu.
const SLICES: usize = 64;

/// How far a reconstruction is from its original; both hold finite values. Sums have a fixed order: they repeat to the bit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Values beyond their tolerance in exact arithmetic, and differing values of lossless tiers.
    pub violations: u64,
    pub max_error: f64,
    /// Largest error as a fraction of the tolerance of its block; lossless and ignored tiers do not count.
    pub max_error_over_tau: f64,
    /// max - min of the original.
    pub range: f64,
    pub rmse: f64,
    /// 20 log10(range / RMSE), in dB.
    pub psnr_db: f64,
    /// The same over the blocks of all tiers but the loosest; absent when there are none.
    pub roi_psnr_db: Option<f64>,
    /// In the order of the tolerance map.
    pub tiers: Vec<TierFigures>,
}

/// The part of a comparison that lies in the blocks of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierFigures {
    pub name: String,
    pub values: u64,
    pub violations: u64,
    pub max_error: f64,
    /// 0 for lossless and ignored tiers.
    pub max_error_over_tau: f64,
    pub rmse: f64,
    /// With the range of the whole volume.
    pub psnr_db: f64,
}

device_struct! {
    pub struct Sums {
        pub sum: f64,
        pub squares: f64,
        pub max_error: f64,
        pub least: f64,
        pub largest: f64,
        pub values: u32,
        pub violations: u32,
    }
    pub struct CompareArguments {
        pub original: u64,
        pub reconstructed: u64,
        pub tiers: u64,
        pub tolerances: u64,
        pub of_blocks: u64,
        pub of_tiers: u64,
        pub n: [u32; 3],
        pub blocks: [u32; 3],
    }
}

/// A tier's sums, joined.
#[derive(Clone, Copy)]
struct Total {
    squares: f64,
    max_error: f64,
    least: f64,
    largest: f64,
    values: u64,
    violations: u64,
}

impl Total {
    /// In the order of the slices.
    fn of(slices: &[Sums]) -> Self {
        let (least, largest) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut total = Self { squares: 0.0, max_error: 0.0, least, largest, values: 0, violations: 0 };
        for s in slices {
            total.add(s.squares, s.max_error, s.least, s.largest, s.values as u64, s.violations as u64);
        }
        total
    }
    fn add(&mut self, squares: f64, max_error: f64, least: f64, largest: f64, values: u64, violations: u64) {
        self.squares += squares;
        self.max_error = self.max_error.max(max_error);
        self.least = self.least.min(least);
        self.largest = self.largest.max(largest);
        self.values += values;
        self.violations += violations;
    }
    fn join(totals: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::of(&[]);
        totals.for_each(|t| all.add(t.squares, t.max_error, t.least, t.largest, t.values, t.violations));
        all
    }
    fn rmse(&self) -> f64 {
        // NaN errors make the sum NaN: as far away as can be.
        let mean = if self.squares.is_nan() { f64::INFINITY } else { self.squares / self.values.max(1) as f64 };
        mean.sqrt()
    }
}

/// Memory of comparisons, kept from one to the next.
#[derive(Default)]
pub(super) struct Comparing {
    tiers: Buffer,
    tolerances: Buffer,
    of_blocks: Buffer,
    of_tiers: Buffer,
}

impl Comparing {
    /// Sends the tolerances of a volume.
    pub fn prepare(&mut self, gpu: &Gpu, map: &ToleranceMap) -> Result<()> {
        let tolerances: Vec<f64> = map.tiers.iter().map(|t| t.tau).collect();
        let tiers = self.tiers.reserve(gpu, map.tier_of_block.len())?;
        let by_tier = self.tolerances.reserve(gpu, size_of_val(&tolerances[..]))?;
        self.of_blocks.reserve(gpu, map.tier_of_block.len() * size_of::<Sums>())?;
        self.of_tiers.reserve(gpu, map.tiers.len() * SLICES * size_of::<Sums>())?;
        // SAFETY: just reserved.
        unsafe {
            gpu.upload(tiers, &map.tier_of_block)?;
            gpu.upload(by_tier, &tolerances)
        }
    }

    /// Queues the comparison of two volumes of `n` nodes at device addresses, by the map last prepared.
    ///
    /// # Safety
    /// Both must hold as many values of T, and the map must be made for `n`.
    pub unsafe fn compare<T: Element>(
        &self,
        gpu: &Gpu,
        volumes: [u64; 2],
        n: [usize; 3],
        map: &ToleranceMap,
    ) -> Result<()> {
        let arguments = CompareArguments {
            original: volumes[0],
            reconstructed: volumes[1],
            tiers: self.tiers.address(gpu),
            tolerances: self.tolerances.address(gpu),
            of_blocks: self.of_blocks.address(gpu),
            of_tiers: self.of_tiers.address(gpu),
            n: n.map(|n| n as u32),
            blocks: map.blocks.map(|b| b as u32),
        };
        let name = if T::DTYPE == DType::F32 { "compare_blocks_f32" } else { "compare_blocks_f64" };
        let warps = map.blocks[0] * map.blocks[1] * map.blocks[2].div_ceil(4);
        let grid = warps.div_ceil(8).min(gpu.multiprocessors as usize * 8) as u32;
        // SAFETY: reserved by `prepare`; the caller vouches for the volumes.
        unsafe {
            gpu.launch(name, grid, 256, 0, &arguments)?;
            gpu.launch("join_tiers", (map.tiers.len() * SLICES) as u32, 256, 0, &arguments)
        }
    }

    /// Waits for the comparison last queued.
    pub fn figures(&self, gpu: &Gpu, map: &ToleranceMap) -> Result<Figures> {
        let mut sums = vec![<Sums as bytemuck::Zeroable>::zeroed(); map.tiers.len() * SLICES];
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.of_tiers.address(gpu), &mut sums)? };
        let totals: Vec<Total> = sums.chunks_exact(SLICES).map(Total::of).collect();
        Ok(Figures::new(&totals, map))
    }
}

impl Figures {
    fn new(totals: &[Total], map: &ToleranceMap) -> Self {
        let all = Total::join(totals.iter().copied());
        let range = (all.largest - all.least).clamp(0.0, f64::MAX);
        let background = loosest(map);
        let strict = totals.iter().enumerate().filter(|(i, _)| Some(*i) != background);
        let roi = Total::join(strict.map(|(_, t)| *t));
        let tiers = totals.iter().zip(&map.tiers).map(|(total, tier)| TierFigures {
            name: tier.name.clone(),
            values: total.values,
            violations: total.violations,
            max_error: total.max_error,
            max_error_over_tau: if tier.tau > 0.0 && tier.tau.is_finite() { total.max_error / tier.tau } else { 0.0 },
            rmse: total.rmse(),
            psnr_db: psnr_db(range, total.rmse()),
        });
        let tiers: Vec<_> = tiers.collect();
        Self {
            violations: all.violations,
            max_error: all.max_error,
            max_error_over_tau: tiers.iter().map(|t| t.max_error_over_tau).fold(0.0, f64::max),
            range,
            rmse: all.rmse(),
            psnr_db: psnr_db(range, all.rmse()),
            roi_psnr_db: (roi.values > 0 && totals.len() > 1).then(|| psnr_db(range, roi.rmse())),
            tiers,
        }
    }
}
