//! Finds the tolerance that reaches a PSNR or a ratio: all tiers scaled together, judged on real runs.

use super::compress::{compress_into, value_extent};
use super::decompress::{decode_box, slabs};
use super::dispatch::Coded;
use crate::backend::Backend;
use crate::metrics::{psnr_db, square_scale};
use crate::stream::{Archive, Extent, Output, Provenance};
use crate::volume::{Field, Values, Volume};
use crate::{Control, Error, Params, Result, ToleranceMap};
use rayon::prelude::*;
use std::io::{Seek, SeekFrom, Write};

/// What a search is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At least this many dB (20 log10(range / RMSE) over finite values), as little above as possible.
    Psnr(f64),
    /// As near as possible to this ratio.
    Ratio(f64),
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The map with all tolerances scaled.
    pub map: ToleranceMap,
    /// What every finite tolerance was multiplied by.
    pub scale: f64,
    /// PSNR in dB or ratio that the map gives.
    pub reached: f64,
    /// Runs that were needed.
    pub runs: usize,
    /// False when no scale comes near (lossless tiers, or a goal beyond what coding can give).
    pub close: bool,
}

/// Relative width in the goal's own terms at which a search ends: 0.05 dB, 1 % of the ratio.
const PSNR_SLACK_DB: f64 = 0.05;
const RATIO_SLACK: f64 = 0.01;
const MOST_RUNS: usize = 16;
/// Rounding to f64 alone leaves about 330 dB.
const MOST_DB: f64 = 1000.0;
/// Scales beyond these change nothing any more.
const SCALE_RANGE: (f64, f64) = (1e-12, 1e12);

/// A uniform map to start a search from: about the tolerance that a goal needs.
pub fn first_guess(volume: &Volume, goal: Goal, control: &Control) -> Result<ToleranceMap> {
    let range = value_extent(volume, control)?.range();
    let tau = match goal {
        // Errors spread evenly over +-tau have an RMS of tau / sqrt(3).
        Goal::Psnr(db) => range * 10f64.powf(-db / 20.0) * 3f64.sqrt(),
        Goal::Ratio(_) => range * 1e-3,
    };
    // A constant volume is reached by any tolerance.
    ToleranceMap::uniform(&volume.shape, if tau > 0.0 { tau } else { 1.0 })
}

/// Scales the tolerances of `map` until `goal` is reached, by interpolation between real runs.
///
/// `provenance` is what the stream will carry: its bytes count for a ratio (painted regions can be most of a small stream).
///
/// # Errors
/// When the goal is no positive number, every tier is lossless or ignored, or a run fails.
pub fn search(
    volume: &Volume,
    map: &ToleranceMap,
    params: &Params,
    backend: &dyn Backend,
    goal: Goal,
    provenance: &Provenance,
    control: &Control,
) -> Result<Found> {
    let (Goal::Psnr(target) | Goal::Ratio(target)) = goal;
    if !(target.is_finite() && target > 0.0) {
        return Err(Error::invalid(format!("{target} is no goal")).remedy("give a positive number"));
    }
    if matches!(goal, Goal::Psnr(db) if db > MOST_DB) {
        return Err(Error::invalid(format!("no floating-point volume reaches {target:e} dB"))
            .remedy("for an exact copy give the tolerance 0"));
    }
    if map.tiers.iter().all(|t| t.tau == 0.0 || t.tau.is_infinite()) {
        return Err(Error::invalid("every tier is lossless or ignored: there is no tolerance to scale"));
    }
    let mut trial = Trial { volume, map, params, backend, goal, provenance, control, extent: None };
    let mut bracket = Bracket::default();
    let mut scale: f64 = 1.0;
    let mut best: Option<(f64, f64)> = None;
    let mut runs = 0;
    while runs < MOST_RUNS {
        runs += 1;
        let reached = trial.run(scale)?;
        if best.is_none_or(|(_, b)| goal.distance(reached) < goal.distance(b)) {
            best = Some((scale, reached));
        }
        if goal.met(reached) {
            break;
        }
        bracket.add(scale, goal.error(reached));
        match bracket.next(goal) {
            Some(next) if (SCALE_RANGE.0..=SCALE_RANGE.1).contains(&next) => scale = next,
            _ => break,
        }
    }
    let (scale, reached) = best.expect("at least one run was made");
    Ok(Found { map: scaled(map, scale), scale, reached, runs, close: goal.met(reached) })
}

fn scaled(map: &ToleranceMap, scale: f64) -> ToleranceMap {
    let mut map = map.clone();
    map.tiers.iter_mut().for_each(|t| t.tau *= scale);
    map
}

impl Goal {
    /// How far a run is from the goal: positive when the tolerance must grow. In decades of scale, roughly.
    fn error(self, reached: f64) -> f64 {
        match self {
            Goal::Psnr(db) => ((reached - db - PSNR_SLACK_DB / 2.0) / 20.0).min(1e3),
            Goal::Ratio(ratio) => (ratio / reached).log10(),
        }
    }
    fn met(self, reached: f64) -> bool {
        match self {
            Goal::Psnr(db) => reached >= db && reached <= db + PSNR_SLACK_DB,
            Goal::Ratio(ratio) => (reached / ratio - 1.0).abs() <= RATIO_SLACK,
        }
    }
    /// Order of preference: a PSNR below the goal is worse than any above it.
    fn distance(self, reached: f64) -> f64 {
        match self {
            Goal::Psnr(db) if reached < db => 1e6 + db - reached,
            // An exact copy has an infinite PSNR, and still more than was asked for.
            Goal::Psnr(db) => (reached - db).min(1e5),
            Goal::Ratio(ratio) => (reached / ratio).ln().abs(),
        }
    }
    /// First step from one run alone, in log10 of the scale.
    fn step(self, error: f64) -> f64 {
        match self {
            Goal::Psnr(_) => error.clamp(-2.0, 2.0),
            // A tenth of the tolerance costs a constant number of bits: the ratio moves slower than the scale.
            Goal::Ratio(_) => (error * 2.0).clamp(-2.0, 2.0),
        }
    }
}

/// The nearest runs on both sides of the goal, as (log10 scale, error).
#[derive(Default)]
struct Bracket {
    below: Option<(f64, f64)>,
    above: Option<(f64, f64)>,
    /// The run before the nearest one, on the last run's side.
    before: Option<(f64, f64)>,
    halve: bool,
}

impl Bracket {
    fn add(&mut self, scale: f64, error: f64) {
        let side = if error > 0.0 { &mut self.below } else { &mut self.above };
        self.before = side.replace((scale.log10(), error));
    }
    /// The next scale to try: between both sides by turns of interpolation and halving, else a step outwards.
    fn next(&mut self, goal: Goal) -> Option<f64> {
        let log = match (self.below, self.above) {
            (Some((a, ea)), Some((b, eb))) => {
                if (a - b).abs() < 1e-4 {
                    return None;
                }
                self.halve = !self.halve;
                let t = if self.halve { (ea / (ea - eb)).clamp(0.02, 0.98) } else { 0.5 };
                a + (b - a) * t
            }
            (Some((x, e)), None) => x + self.outwards(goal, x, e).max(0.01) * 1.1,
            (None, Some((x, e))) => x + self.outwards(goal, x, e).min(-0.01) * 1.1,
            (None, None) => return None,
        };
        Some(10f64.powf(log))
    }
    /// The step from runs on one side alone, the last one at `x` with the error `e`: where the last two lead to if that is
    /// farther, since ratios near that of lossless coding move less and less.
    fn outwards(&self, goal: Goal, x: f64, e: f64) -> f64 {
        let step = goal.step(e);
        let Some((x0, e0)) = self.before else { return step };
        let led = e * (x - x0) / (e0 - e);
        if led.is_finite() && led * step > step * step { led.clamp(-2.0, 2.0) } else { step }
    }
}

/// One real run at a scale.
struct Trial<'a> {
    volume: &'a Volume,
    map: &'a ToleranceMap,
    params: &'a Params,
    backend: &'a dyn Backend,
    goal: Goal,
    provenance: &'a Provenance,
    control: &'a Control,
    extent: Option<Extent>,
}

impl Trial<'_> {
    fn run(&mut self, scale: f64) -> Result<f64> {
        let (volume, map, provenance) = (self.volume, scaled(self.map, scale), self.provenance);
        if let Goal::Ratio(_) = self.goal {
            let nothing = Discard::default();
            let run = compress_into(volume, &map, self.params, self.backend, nothing, provenance, self.control)?;
            return Ok(run.1.ratio);
        }
        let (file, _) = {
            let file = tempfile::tempfile().map_err(|e| Error::io(&std::env::temp_dir(), &e))?;
            compress_into(volume, &map, self.params, self.backend, file, provenance, self.control)?
        };
        let archive = Archive::from_file(&file)?;
        let extent = *self.extent.get_or_insert_with(|| archive.extent());
        let scale = square_scale(extent.range());
        let sum = match &volume.values {
            Values::F32(field) => self.squared_error(&**field, &archive, scale)?,
            Values::F64(field) => self.squared_error(&**field, &archive, scale)?,
        };
        let rmse = (sum.0 / sum.1.max(1) as f64).sqrt();
        Ok(psnr_db(if extent.is_empty() { 0.0 } else { extent.max * scale - extent.min * scale }, rmse))
    }
    /// Sum of squares of errors times `scale`, and number of ordinary values.
    fn squared_error<T: Coded>(&self, field: &dyn Field<T>, archive: &Archive, scale: f64) -> Result<(f64, u64)> {
        let mut total = (0.0, 0);
        for slab in slabs(archive, &self.volume.shape.region(), Some(SLAB_BYTES)) {
            let decoded = decode_box::<T>(archive, &slab, self.backend, self.control)?;
            let mut original = vec![T::ZERO; decoded.len()];
            field.read_region(&slab, &mut original)?;
            // Chunks of a fixed size, summed in order: the same figure from any number of threads.
            let parts: Vec<(f64, u64)> = original
                .par_chunks(1 << 16)
                .zip(decoded.par_chunks(1 << 16))
                .map(|(u, v)| u.iter().zip(v).fold((0.0, 0), |sum, (u, v)| self.add(sum, *u, *v, scale)))
                .collect();
            total = parts.iter().fold(total, |a, b| (a.0 + b.0, a.1 + b.1));
        }
        Ok(total)
    }
    fn add<T: Coded>(&self, sum: (f64, u64), u: T, v: T, scale: f64) -> (f64, u64) {
        if !u.is_finite() || self.volume.missing.holds(u) {
            return sum;
        }
        let error = u.to_f64() * scale - v.to_f64() * scale;
        (sum.0 + error * error, sum.1 + 1)
    }
}

/// Memory for comparing: slabs take a quarter of it.
const SLAB_BYTES: u64 = 1 << 30;

/// Counts what would be written.
#[derive(Default)]
struct Discard {
    position: u64,
}

impl Write for Discard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Discard {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        match to {
            SeekFrom::Start(position) => self.position = position,
            _ => return Err(std::io::ErrorKind::Unsupported.into()),
        }
        Ok(self.position)
    }
}

impl Output for Discard {
    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.position = self.position.min(length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_decibels_than_asked_for_are_better_than_fewer() {
        let goal = Goal::Psnr(300.0);
        assert!(goal.distance(f64::INFINITY) < goal.distance(138.0));
        assert!(goal.distance(301.0) < goal.distance(f64::INFINITY));
    }

    #[test]
    fn a_ratio_near_that_of_lossless_coding_is_reached() {
        let ratio = |scale: f64| 1.265 + 3.3 * scale.powf(0.375);
        for target in [1.28, 1.3, 1.5, 4.0, 30.0] {
            let goal = Goal::Ratio(target);
            let (mut bracket, mut scale, mut runs) = (Bracket::default(), 1.0, 1);
            while !goal.met(ratio(scale)) {
                bracket.add(scale, goal.error(ratio(scale)));
                scale = bracket.next(goal).unwrap();
                runs += 1;
            }
            assert!(runs <= 10, "{target}: {runs} runs");
        }
    }
}
