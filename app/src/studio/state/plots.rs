//! Data of the plots: line profiles and tolerance sweeps.

use super::State;
use super::compare::LayerChoice;
use super::runs::{Run, RunRequest};
use crate::studio::data::slice::{Layer, read_line};
use crate::studio::jobs::Done;
use crate::studio::worker::Worker;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    Profile,
    Errors,
    Rate,
    Throughput,
}

/// What the plot panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlotSettings {
    pub kind: PlotKind,
    /// Axis of the line profile.
    pub axis: usize,
}

/// Values along a line, thinned to what a plot can show.
#[derive(Clone, Debug)]
pub struct ProfileLine {
    pub layer: LayerChoice,
    pub points: Vec<[f64; 2]>,
}

/// One run of a sweep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SweepPoint {
    pub scale: f64,
    pub bits_per_value: f64,
    /// Infinite (null in JSON) for an exact copy.
    #[serde(deserialize_with = "null_is_infinite")]
    pub psnr_db: f64,
}

fn null_is_infinite<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
}

/// A method over several tolerances.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sweep {
    pub name: String,
    pub points: Vec<SweepPoint>,
}

type Profile = Vec<ProfileLine>;

/// All plots' data.
pub struct Plots {
    pub settings: PlotSettings,
    pub sweeps: Vec<Sweep>,
    pub profile: Profile,
    worker: Worker<(), Profile>,
    asked: Option<(u64, [usize; 3], usize, Vec<LayerChoice>)>,
}

/// Scales of a sweep: half decades.
pub const SWEEP_SCALES: [f64; 7] = [1.0 / 31.6, 0.1, 0.316, 1.0, 3.16, 10.0, 31.6];

/// Most points of a drawn line.
const MOST_POINTS: usize = 2000;

impl Plots {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self {
            settings: PlotSettings { kind: PlotKind::Profile, axis: 2 },
            sweeps: vec![],
            profile: vec![],
            worker: Worker::new("line profile", wake),
            asked: None,
        }
    }
    pub fn poll(&mut self) {
        if let Some((_, profile)) = self.worker.finished().pop() {
            self.profile = profile;
        }
    }
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }
}

impl State {
    /// The run whose errors are plotted: of layer B, else of layer A, else the last.
    pub fn plotted_run(&self) -> Option<&Run> {
        let of = |layer| match layer {
            LayerChoice::Run(id) | LayerChoice::Error(id) | LayerChoice::ErrorOverTau(id) => self.runs.get(id),
            _ => None,
        };
        of(self.compare.b).or_else(|| of(self.compare.a)).or(self.runs.list.last())
    }

    /// Keeps the line profile in step with the crosshair, while it is shown.
    pub(super) fn refresh_profile(&mut self) {
        let shown = self.windows.results && self.windows.plots && self.plots.settings.kind == PlotKind::Profile;
        if !shown || self.document.is_none() {
            return;
        }
        let mut choices = vec![LayerChoice::Original];
        for layer in [self.compare.a, self.compare.b] {
            if matches!(layer, LayerChoice::Run(_)) && !choices.contains(&layer) {
                choices.push(layer);
            }
        }
        let axis = self.plots.settings.axis;
        let mut at = self.crosshair;
        at[axis] = 0;
        let wanted = (self.generation, at, axis, choices.clone());
        if self.plots.asked.as_ref() == Some(&wanted) {
            return;
        }
        self.plots.asked = Some(wanted);
        let layers: Vec<(LayerChoice, Layer)> = choices.into_iter().filter_map(|c| Some((c, self.layer(c)?))).collect();
        self.plots.worker.request((), move || {
            let line = |(layer, values): (LayerChoice, Layer)| {
                let Layer::Values(values) = values else { return None };
                // A line that cannot be read is left out; the slice view reports the error.
                let line = read_line(&values, axis, at).ok()?;
                let step = line.len().div_ceil(MOST_POINTS);
                let points = line.iter().enumerate().step_by(step).map(|(i, v)| [i as f64, *v]);
                Some(ProfileLine { layer, points: points.filter(|p| p[1].is_finite()).collect() })
            };
            layers.into_iter().filter_map(line).collect()
        });
    }

    /// Runs a method at several scales of all tolerances.
    pub(super) fn sweep(&mut self, request: RunRequest) {
        let Some(input) = self.run_input(request.clone()) else {
            return self.say("Wait for the statistics, then sweep again");
        };
        let (title, generation) = (request.title(), self.generation);
        self.jobs.spawn(format!("Sweep: {title}"), move |control| {
            let mut points = vec![];
            for scale in SWEEP_SCALES {
                points.push(super::performing::sweep_point(&input, scale, control)?);
            }
            points.sort_by(|a, b| a.bits_per_value.total_cmp(&b.bits_per_value));
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation == generation {
                    state.plots.sweeps.push(Sweep { name: title, points });
                }
            });
            Ok(done)
        });
    }
}
