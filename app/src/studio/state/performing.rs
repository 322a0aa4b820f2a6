//! One run, from the spec to the figures: what happens on its thread.

use super::command_line::method_words;
use super::kept::VolumeKey;
use super::plots::SweepPoint;
use super::runs::{RunRequest, RunTolerance, Stream};
use crate::studio::roi::spec::Snapshot;
use crate::tuned;
use anyhow::Context as _;
use blockmgard::backend::{self, Backend, Device};
use blockmgard::job;
use blockmgard::job::tune::{self, DeviceModels};
use blockmgard::metrics::{self, Comparison};
use blockmgard::roi::{Analysis, RoiSpec};
use blockmgard::stream::{Archive, Provenance};
use blockmgard::volume::{DType, Stats, Values, VecField, Volume};
use blockmgard::{Control, Error, ErrorKind, Mode, Params, ToleranceMap};
use std::sync::{Arc, OnceLock};

/// A run's values that take more than half of this are kept in a temporary file that is mapped, so that several runs
/// of a large volume fit beside it.
pub(super) const HELD_BYTES: u64 = 1 << 30;

/// Everything a run needs, taken along to its thread.
pub(super) struct RunInput {
    pub of: VolumeKey,
    pub models: Option<Arc<DeviceModels>>,
    /// The command line up to the method.
    pub source: String,
    pub request: RunRequest,
    pub volume: Volume,
    pub stats: Arc<Stats>,
    pub regions: Regions,
}

/// The regions as they were when the run was asked for; a spec when that is first needed.
pub(super) struct Regions {
    snapshot: Snapshot,
    spec: OnceLock<RoiSpec>,
}

impl Regions {
    pub fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, spec: OnceLock::new() }
    }
    fn spec(&self) -> anyhow::Result<&RoiSpec> {
        if self.spec.get().is_none() {
            // One thread makes a run.
            let _ = self.spec.set(self.snapshot.spec()?);
        }
        self.spec.get().context("the regions are not there")
    }
}

/// What a run brings back.
pub(super) struct RunOutput {
    /// As asked for, with the levels that a time budget gave.
    pub request: RunRequest,
    pub stream: Stream,
    pub compress: job::Report,
    pub decompress_seconds: f64,
    pub decompress_kernel_seconds: Option<f64>,
    pub measured_ms: f64,
    pub predicted_ms: Option<f64>,
    /// What a matched run reached, when that is not what was asked for.
    pub missed: Option<f64>,
    pub reconstruction: Values,
    pub metrics: metrics::Report,
    pub map: ToleranceMap,
}

/// An error in the studio's words: where the library names a device option, the run panel has the choice.
pub fn told(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Error>() {
        Some(e) if e.kind == ErrorKind::Device => format!("{}; choose Auto or CPU as the device", e.message),
        _ => format!("{error:#}"),
    }
}

/// The levels that keep a request's time budget on a device, where it has one; and the models, where the device was measured.
fn within_budget(input: &RunInput, device: &str) -> anyhow::Result<(Params, Option<Arc<DeviceModels>>)> {
    let (request, volume) = (&input.request, &input.volume);
    let held = input.models.clone().filter(|m| m.hold_for(device));
    let Some(budget) = request.budget() else { return Ok((request.params.clone(), held)) };
    let models = match held {
        Some(models) => models,
        None => Arc::new(tuned::load(device).map_err(|_| {
            anyhow::anyhow!("a time budget needs times of {device}: measure the device in the run panel first")
        })?),
    };
    let choice = tune::choose(models.of(volume.values.dtype()), &volume.shape, &request.params, budget)?;
    let (local_levels, global_levels) = (choice.local_levels, choice.global_levels);
    Ok((Params { local_levels, global_levels, ..request.params.clone() }, Some(models)))
}

/// Makes a run.
pub(super) fn perform(input: &RunInput, control: &Control) -> anyhow::Result<RunOutput> {
    let (volume, spec) = (&input.volume, input.regions.spec()?);
    let device: Device = input.request.device.parse()?;
    let opened = backend::open(&device)?;
    let backend = &*opened.backend;
    let (params, models) = within_budget(input, &backend.describe())?;
    let request = RunRequest { params, ..input.request.clone() };
    let mut map = tolerance_map(input, control)?;
    let provenance = provenance(input, &request.params)?;
    let mut missed = None;
    if let Some(goal) = request.matched.goal() {
        let found = job::search(volume, &map, &request.params, backend, goal, &provenance, control)?;
        (map, missed) = (found.map, (!found.close).then_some(found.reached));
    }
    let kernels = || backend.kernel_ms();
    let before = kernels();
    let (stream, compress) = job::compress_to_vec(volume, &map, &request.params, backend, &provenance, control)?;
    let between = kernels();
    let since = |before: Option<f64>, after: Option<f64>| Some(after? - before?);
    let measured_ms = since(before, between).unwrap_or(compress.kernel_seconds * 1e3);
    let predicted_ms = models
        .filter(|_| request.params.mode == Mode::Hybrid)
        .map(|models| tune::predict(models.of(volume.values.dtype()), &volume.shape, &request.params));
    let archive = Archive::from_bytes(stream.clone())?;
    let whole = volume.shape.region();
    let (decoded, decompress_seconds) = job::decompress_volume(&archive, &whole, backend, Some(HELD_BYTES), control)?;
    let decompress_kernel_seconds = since(between, kernels()).map(|ms| ms / 1e3);
    let reconstruction = decoded.values;
    let rebuilt = Volume { values: reconstruction.clone(), ..volume.clone() };
    let comparison = Comparison {
        original: volume,
        reconstructed: &rebuilt,
        tolerance: &map,
        background: spec.tier_index(&spec.background).filter(|_| map.tiers.len() > 1),
        compressed_bytes: Some(stream.len() as u64),
    };
    let mut metrics = metrics::compare(&comparison, control)?;
    if request.tolerance != RunTolerance::Regions {
        metrics.roi_psnr_db = roi_psnr(input, &rebuilt, control)?;
    }
    let stream = Stream::new(stream);
    Ok(RunOutput {
        request,
        stream,
        compress,
        decompress_seconds,
        decompress_kernel_seconds,
        measured_ms,
        predicted_ms,
        missed,
        reconstruction,
        metrics,
        map,
    })
}

/// What a run's stream says of itself.
fn provenance(input: &RunInput, params: &Params) -> anyhow::Result<Provenance> {
    let roi = match input.request.tolerance {
        RunTolerance::Regions => Some(serde_json::to_value(input.regions.spec()?)?),
        _ => None,
    };
    Ok(Provenance {
        writer: format!("blockmgard {}", env!("CARGO_PKG_VERSION")),
        command: format!("{} {}", input.source, method_words(params)),
        volume: input.volume.meta.clone(),
        roi,
        missing: input.volume.missing.clone(),
    })
}

/// PSNR over the blocks of the spec's regions, for a run that did not use them: so that uniform runs and
/// runs with regions compare.
fn roi_psnr(input: &RunInput, rebuilt: &Volume, control: &Control) -> anyhow::Result<Option<f64>> {
    let (volume, spec) = (&input.volume, input.regions.spec()?);
    if !spec.regions.iter().any(|r| r.enabled) {
        return Ok(None);
    }
    let map = regions_map(input, control)?;
    let comparison = Comparison {
        original: volume,
        reconstructed: rebuilt,
        tolerance: &map,
        background: spec.tier_index(&spec.background),
        compressed_bytes: None,
    };
    Ok(metrics::compare(&comparison, control)?.roi_psnr_db)
}

fn regions_map(input: &RunInput, control: &Control) -> anyhow::Result<ToleranceMap> {
    let analysis = Analysis::new(input.volume.clone(), (*input.stats).clone());
    Ok(input.regions.spec()?.resolve_with(&analysis, control)?)
}

/// One run of a sweep: all finite tolerances times `scale`.
pub(super) fn sweep_point(input: &RunInput, scale: f64, control: &Control) -> anyhow::Result<SweepPoint> {
    let opened = backend::open(&input.request.device.parse()?)?;
    let mut map = tolerance_map(input, control)?;
    map.tiers.iter_mut().for_each(|t| t.tau *= scale);
    let (volume, params) = (&input.volume, &input.request.params);
    let (stream, report) =
        job::compress_to_vec(volume, &map, params, &*opened.backend, &Provenance::default(), control)?;
    let archive = Archive::from_bytes(stream)?;
    let values = decode(&archive, &*opened.backend, control)?;
    let rebuilt = Volume { values, ..volume.clone() };
    let comparison = Comparison {
        original: volume,
        reconstructed: &rebuilt,
        tolerance: &map,
        background: None,
        compressed_bytes: None,
    };
    let psnr_db = metrics::compare(&comparison, control)?.psnr_db;
    Ok(SweepPoint { scale, bits_per_value: report.bits_per_value, psnr_db })
}

fn tolerance_map(input: &RunInput, control: &Control) -> anyhow::Result<ToleranceMap> {
    let RunInput { request, volume, stats, .. } = input;
    let tiers = input.regions.spec()?.resolve_tiers(stats);
    let uniform = |tau: f64| ToleranceMap::uniform(&volume.shape, tau);
    Ok(match request.tolerance {
        RunTolerance::Regions => regions_map(input, control)?,
        RunTolerance::UniformStrictest => uniform(tiers.iter().map(|t| t.tau).fold(f64::INFINITY, f64::min))?,
        RunTolerance::UniformBackground => uniform(tiers[0].tau)?,
    })
}

/// The whole volume of a stream.
pub fn decode(archive: &Archive, backend: &dyn Backend, control: &Control) -> anyhow::Result<Values> {
    let header = archive.header();
    let region = header.shape.region();
    Ok(match header.dtype {
        DType::F32 => {
            let values = job::decompress_region::<f32>(archive, &region, backend, control)?;
            Values::F32(Arc::new(VecField::new(values, header.shape.n)))
        }
        DType::F64 => {
            let values = job::decompress_region::<f64>(archive, &region, backend, control)?;
            Values::F64(Arc::new(VecField::new(values, header.shape.n)))
        }
    })
}
