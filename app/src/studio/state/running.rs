//! Makes runs: one at a time, off the UI thread, from spec to figures.

use super::State;
use super::compare::{Compare, LayerChoice};
use super::plots::SweepPoint;
use super::runs::{Run, RunEdit, RunRequest, RunTolerance};
use crate::studio::jobs::Done;
use crate::studio::roi::spec::to_spec;
use blockmgard::backend::{self, Device};
use blockmgard::job;
use blockmgard::metrics::{self, Comparison};
use blockmgard::roi::{Analysis, RoiSpec};
use blockmgard::stream::{Archive, Provenance};
use blockmgard::volume::{DType, Stats, Values, VecField, Volume};
use blockmgard::{Control, ToleranceMap};
use std::sync::Arc;

/// A run's values that take more than half of this are kept in a temporary file that is mapped, so that several runs
/// of a large volume fit beside it.
const HELD_BYTES: u64 = 1 << 30;

/// Everything a run needs, taken along to its thread.
pub(super) struct RunInput {
    request: RunRequest,
    volume: Volume,
    stats: Arc<Stats>,
    spec: RoiSpec,
}

/// What a run brings back.
struct RunOutput {
    stream: Vec<u8>,
    compress: job::Report,
    decompress_seconds: f64,
    reconstruction: Values,
    metrics: metrics::Report,
    map: ToleranceMap,
}

impl State {
    /// Puts a run into the queue.
    pub(super) fn enqueue(&mut self, request: RunRequest) {
        self.runs.queue.push_back(request);
        self.start_next_run();
    }

    /// The studio's ROI as the library's spec.
    pub fn spec(&self) -> anyhow::Result<RoiSpec> {
        use anyhow::Context as _;
        let document = self.document.as_ref().context("open a volume first")?;
        to_spec(&self.roi, document.volume.shape, |kind| self.interval_of(kind))
    }

    pub(super) fn start_next_run(&mut self) {
        if self.jobs.running.iter().any(|j| j.name.starts_with("Run: ")) {
            return;
        }
        if self.document.is_none() {
            return self.runs.queue.clear();
        }
        let Some(request) = self.runs.queue.front().cloned() else { return };
        // Without statistics the request waits; their job comes back here.
        let Some(input) = self.run_input(request.clone()) else { return };
        self.runs.queue.pop_front();
        let generation = self.generation;
        let title = request.title();
        self.jobs.spawn(format!("Run: {title}"), move |control| {
            let output = perform(&input, control);
            let done: Done<State> = Box::new(move |state: &mut State| {
                match output {
                    Ok(output) if state.generation == generation => state.add_run(title, request, output),
                    Ok(_) => {}
                    Err(error) if crate::studio::jobs::is_cancelled(&error) => state.say(format!("{title} cancelled")),
                    Err(error) => state.complain(format!("{title}: {error:#}")),
                }
                state.start_next_run();
            });
            Ok(done)
        });
    }

    /// What a run takes along; `None` while the statistics are missing or the spec makes no sense.
    pub(super) fn run_input(&mut self, request: RunRequest) -> Option<RunInput> {
        let document = self.document.as_ref()?;
        let (volume, stats) = (document.volume.clone(), document.stats.clone()?);
        match self.spec() {
            Ok(spec) => Some(RunInput { request, volume, stats, spec }),
            Err(error) => {
                self.runs.queue.clear();
                self.complain(format!("The run cannot start: {error:#}"));
                None
            }
        }
    }

    fn add_run(&mut self, name: String, request: RunRequest, output: RunOutput) {
        let id = self.runs.next_id;
        self.runs.next_id += 1;
        let name = self.runs.free_name(name);
        if output.metrics.violations > 0 {
            self.complain(format!("{name}: {} values miss their bound; see error / tau", output.metrics.violations));
        }
        self.runs.list.push(Run {
            id,
            name,
            pinned: false,
            request,
            stream: Arc::new(output.stream),
            compress: output.compress,
            decompress_seconds: output.decompress_seconds,
            metrics: output.metrics,
            reconstruction: Some(output.reconstruction),
            tolerance: Some(Arc::new(output.map)),
        });
        if self.compare.b == LayerChoice::Original {
            self.compare.b = LayerChoice::Run(id);
        }
        self.windows.results = true;
    }

    pub(super) fn edit_runs(&mut self, edit: RunEdit) {
        match edit {
            RunEdit::Settings(settings) => self.runs.settings = settings,
            RunEdit::Rename(id, name) => {
                if let Some(run) = self.runs.get_mut(id) {
                    run.name = name;
                }
            }
            RunEdit::Pin(id, on) => {
                if let Some(run) = self.runs.get_mut(id) {
                    run.pinned = on;
                }
            }
            RunEdit::Remove(id) => {
                self.runs.list.retain(|r| r.id != id);
                self.compare =
                    Compare { a: without(self.compare.a, id), b: without(self.compare.b, id), ..self.compare };
            }
            RunEdit::Sort(column) => {
                let descending = self.runs.sort != Some((column, true));
                self.runs.sort = Some((column, descending));
            }
        }
    }
}

/// A layer choice that does not need run `id`.
fn without(layer: LayerChoice, id: u64) -> LayerChoice {
    let uses = match layer {
        LayerChoice::Original => false,
        LayerChoice::Run(a) | LayerChoice::Error(a) | LayerChoice::ErrorOverTau(a) => a == id,
        LayerChoice::Difference(a, b) => a == id || b == id,
    };
    if uses { LayerChoice::Original } else { layer }
}

fn perform(input: &RunInput, control: &Control) -> anyhow::Result<RunOutput> {
    let RunInput { request, volume, spec, .. } = input;
    let device: Device = request.device.parse()?;
    let opened = backend::open(&device)?;
    let mut map = tolerance_map(input, control)?;
    let mut provenance = Provenance {
        writer: format!("blockmgard {}", env!("CARGO_PKG_VERSION")),
        volume: volume.meta.clone(),
        roi: Some(serde_json::to_value(spec)?),
        missing: volume.missing.clone(),
        ..Default::default()
    };
    if request.tolerance != RunTolerance::Regions {
        provenance.roi = None;
    }
    if let Some(goal) = request.matched.goal() {
        map = job::search(volume, &map, &request.params, &*opened.backend, goal, control)?.map;
    }
    let (stream, compress) =
        job::compress_to_vec(volume, &map, &request.params, &*opened.backend, &provenance, control)?;
    let archive = Archive::from_bytes(stream.clone())?;
    let whole = volume.shape.region();
    let (decoded, decompress_seconds) =
        job::decompress_volume(&archive, &whole, &*opened.backend, Some(HELD_BYTES), control)?;
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
    Ok(RunOutput { stream, compress, decompress_seconds, reconstruction, metrics, map })
}

/// PSNR over the blocks of the spec's regions, for a run that did not use them: so that uniform runs and
/// runs with regions compare.
fn roi_psnr(input: &RunInput, rebuilt: &Volume, control: &Control) -> anyhow::Result<Option<f64>> {
    let RunInput { volume, spec, .. } = input;
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
    Ok(input.spec.resolve_with(&analysis, control)?)
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
    let RunInput { request, volume, stats, spec } = input;
    let tiers = spec.resolve_tiers(stats);
    let uniform = |tau: f64| ToleranceMap::uniform(&volume.shape, tau);
    Ok(match request.tolerance {
        RunTolerance::Regions => regions_map(input, control)?,
        RunTolerance::UniformStrictest => uniform(tiers.iter().map(|t| t.tau).fold(f64::INFINITY, f64::min))?,
        RunTolerance::UniformBackground => uniform(tiers[0].tau)?,
    })
}

/// The whole volume of a stream.
pub fn decode(archive: &Archive, backend: &dyn backend::Backend, control: &Control) -> anyhow::Result<Values> {
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
