//! Opening files, and what is computed of a volume in the background.

use super::aspect::Aspect;
use super::document::{Document, GradientInfo, OpenRequest};
use super::runs::Match;
use super::saved::ProjectFiles;
use super::tools::ThresholdOf;
use super::{OpenError, Origin, State};
use crate::studio::data::gradient::GradientField;
use crate::studio::data::stats::BlockStats;
use crate::studio::data::stream_file::StreamFacts;
use crate::studio::jobs::Done;
use crate::studio::roi::model::{RegionItem, RegionKind, Roi};
use crate::studio::roi::spec::from_tolerance;
use blockmgard::roi::{RoiSpec, Tolerance};
use blockmgard::volume::{Missing, OpenHints, Stats, Validity, suspect_missing};
use blockmgard::{Error, ErrorKind, with_values};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What happens with a file once it is open.
pub(super) enum Then {
    Nothing,
    /// This variable and step of it.
    Show(usize, usize),
    /// A project's volume: its settings, regions and runs are put in place when it is on screen.
    Restore(Box<ProjectFiles>),
}

impl State {
    /// Opens a volume, stream, project or ROI spec.
    pub fn open(&mut self, request: OpenRequest) {
        let path = PathBuf::from(&request.path);
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        if matches!(ending.as_deref(), Some("json" | "toml")) {
            self.windows.open_dialog = false;
            return self.open_project_or_spec(path);
        }
        self.open_with(request, Then::Nothing);
    }

    pub(super) fn open_with(&mut self, request: OpenRequest, then: Then) {
        let name = format!("Opening {}", request.path);
        if self.jobs.is_running(&name) {
            return;
        }
        self.open_error = None;
        self.jobs.spawn(name, move |control| {
            let wanted = match &then {
                Then::Nothing => None,
                Then::Show(variable, step) => Some((*variable, *step)),
                Then::Restore(files) => Some((files.project.variable, files.project.step)),
            };
            let result = Document::open(&request, control).and_then(|document| match wanted {
                Some((variable, step)) if (variable, step) != (document.variable, document.step) => {
                    let Document { path, hints, dataset, .. } = document;
                    Document::of_dataset(path, hints, dataset, variable, step)
                }
                _ => Ok(document),
            });
            let done: Done<State> = Box::new(move |state: &mut State| match result {
                Ok(document) => {
                    state.settings.remember(&request.path);
                    state.set_document(document);
                    if let Then::Restore(files) = then {
                        state.restore(*files);
                    }
                }
                // The dialog opens with the path, the reason and the shapes that fit.
                Err(error) => {
                    let kind = error.downcast_ref::<Error>().map(|e| e.kind);
                    let raw = kind == Some(ErrorKind::InvalidArgument) && Path::new(&request.path).is_file();
                    state.open_error = Some(OpenError { path: request.path, text: format!("{error:#}"), raw });
                    state.windows.open_dialog = true;
                }
            });
            Ok(done)
        });
    }

    pub(super) fn open_variable(&mut self, variable: usize, step: usize) {
        let Some(d) = &self.document else { return };
        let (path, hints, dataset) = (d.path.clone(), d.hints.clone(), d.dataset.clone());
        let kept_codes = d.kept_codes.clone();
        self.jobs.spawn("Opening a variable", move |_| {
            let document = Document::of_dataset(path, hints, dataset, variable, step)?;
            let document = Document { kept_codes, ..document };
            let done: Done<State> = Box::new(move |state: &mut State| state.set_document(document));
            Ok(done)
        });
    }

    /// Shows a volume: first slice at once, statistics and block extremes in the background. Regions
    /// stay when the shape is the same, so that a spec carries over to the next step or variable.
    pub fn set_document(&mut self, document: Document) {
        self.apply_morph();
        self.stroke = None;
        self.suspect = None;
        self.hover = None;
        self.generation += 1;
        let same_shape = self.extents() == Some(document.volume.shape.n);
        self.put_aside(!same_shape);
        self.stream_tiers = None;
        self.drop_unready_runs();
        if self.document.as_ref().is_none_or(|d| d.path != document.path) {
            // A goal was set for the file that it was set on, as was the aspect, and a spec was saved of it.
            self.runs.settings.matched = Match::Nothing;
            self.display.aspect = Aspect::default();
            self.spec_path = None;
        }
        if !same_shape {
            // The sample's tiers are named after what is in it; another volume starts with plain ones.
            if self.document.as_ref().is_some_and(|d| d.path.as_os_str() == super::sample::NAME) {
                self.roi.tiers = Roi::default().tiers;
            }
            self.roi.regions.clear();
            self.history.clear();
            self.selected = None;
            self.crosshair = document.volume.shape.n.map(|n| n / 2);
            self.panes = Default::default();
        }
        self.roi.regions.iter_mut().filter(|r| r.kind.geometry().is_none()).for_each(|r| r.coverage = None);
        if !self.display.locked {
            self.display.window = document.first_window;
        }
        self.compare = Default::default();
        self.slices.clear();
        self.mapping.clear();
        self.windows.open_dialog = false;
        self.start_statistics(&document);
        let facts = document.stream.clone();
        self.document = Some(document);
        if let Some(facts) = facts {
            self.take_up_stream(facts);
        }
        self.roi.refresh_painted_coverage();
        self.roi_version += 1;
        self.cover_missing();
        self.take_back();
    }

    /// The tiers and regions of a stream, with the tolerances that it keeps: relative ones would be taken anew from
    /// the decoded values.
    fn take_up_stream(&mut self, facts: StreamFacts) {
        let spec = facts.roi.and_then(|json| RoiSpec::parse(&json.to_string()).ok());
        match spec {
            Some(mut spec) => {
                for tier in &mut spec.tiers {
                    if let Some(kept) = facts.map.tiers.iter().find(|t| t.name == tier.name) {
                        tier.tolerance = spec_tolerance(kept.tau);
                    }
                }
                self.load_spec(spec, Default::default(), Origin::Stream);
            }
            None => {
                if let [only] = &facts.map.tiers[..] {
                    self.roi.tiers[0].tolerance = from_tolerance(spec_tolerance(only.tau));
                }
            }
        }
    }

    fn start_statistics(&mut self, document: &Document) {
        let (volume, generation) = (document.volume.clone(), self.generation);
        // A stream says what is missing in it; in a file the codes may be left to the reader.
        let asks = document.stream.is_none();
        let load = document.stream.as_ref().map(|s| s.load.clone());
        let loaded = load.clone();
        let name = if load.is_some() { "Decoding" } else { "Statistics" };
        self.jobs.spawn(name, move |control| {
            if let Some(load) = load {
                load(control)?;
            }
            let stats = Arc::new(Stats::of(&volume, control)?);
            let suspect = if asks { suspect_missing(&volume)? } else { None };
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation != generation {
                    return;
                }
                if let Some(d) = &mut state.document {
                    if d.stream.as_ref().is_some_and(|s| s.preview) {
                        // What is on screen is of the coarse nodes.
                        state.slices.ask_again();
                        state.volume3d.ask_again();
                    }
                    d.stats = Some(stats);
                    state.suspect = suspect.filter(|v| !d.kept_codes.contains(&v.to_bits()));
                }
                if !state.display.locked {
                    state.auto_window();
                }
                if let Some(locked) = state.pending_lock.take() {
                    state.display.locked = locked;
                }
                state.roi_version += 1;
                state.fit_first_interval();
                state.cover_missing();
                state.resolve_sources();
                if let Some((spec, folder, origin)) = state.pending_spec.take() {
                    state.load_spec(spec, folder, origin);
                }
                state.start_next_run();
            });
            Ok(done)
        });
        let values = document.shown.clone();
        self.jobs.spawn("Block index", move |control| {
            if let Some(load) = loaded {
                load(control)?;
            }
            let blocks = with_values!(&values, f => Arc::new(BlockStats::compute(&**f, control)?));
            let done: Done<State> = Box::new(move |state: &mut State| {
                if let Some(d) = state.document.as_mut().filter(|_| state.generation == generation) {
                    d.blocks = Some(blocks);
                    state.roi_version += 1;
                    state.cover_missing();
                }
            });
            Ok(done)
        });
    }

    /// Opens the file again with the suspected value as missing, or remembers that it is data.
    pub(super) fn answer_missing(&mut self, yes: bool) {
        let (Some(value), Some(d)) = (self.suspect.take(), &mut self.document) else { return };
        if !yes {
            d.kept_codes.push(value.to_bits());
            return;
        }
        let mut hints = d.hints.clone();
        hints.missing.push(value);
        let variable = Some(d.dataset.variables()[d.variable].name.clone());
        let request = OpenRequest { path: d.path.display().to_string(), hints, variable, step: d.step };
        self.open_with(request, Then::Nothing);
    }

    /// The gradient tool needs the gradient's statistics; they are made once per volume.
    pub(super) fn need_gradient(&mut self) {
        let used = |r: &RegionItem| matches!(r.kind, RegionKind::Gradient { .. });
        let t = &self.tools;
        let masked = t.masked && t.threshold_of == ThresholdOf::Gradient;
        let wanted =
            masked || self.preview_threshold().is_some_and(|p| p.gradient) || self.roi.regions.iter().any(used);
        let Some(document) = self.document.as_ref().filter(|d| wanted && d.gradient.is_none()) else { return };
        if self.jobs.is_running("Gradient statistics") {
            return;
        }
        let (values, steps, generation) = (document.shown.clone(), document.steps(), self.generation);
        self.jobs.spawn("Gradient statistics", move |control| {
            let gradient = GradientField::new(values, steps);
            let stats = Stats::of_field(&gradient, Validity::new(&Missing::default()), control)?;
            let blocks = BlockStats::compute(&gradient, control)?;
            let info = Arc::new(GradientInfo { stats, blocks: Arc::new(blocks) });
            let done: Done<State> = Box::new(move |state: &mut State| {
                if let Some(d) = state.document.as_mut().filter(|_| state.generation == generation) {
                    d.gradient = Some(info);
                    state.roi_version += 1;
                    state.cover_missing();
                }
            });
            Ok(done)
        });
    }

    /// Opens what the command line named, else the bundled sample.
    pub fn start(&mut self, file: Option<String>, hints: OpenHints) {
        match file {
            Some(path) => self.open(OpenRequest { path, hints, ..Default::default() }),
            None => self.open_sample(),
        }
    }
}

/// A tier's absolute tolerance as a spec says it.
fn spec_tolerance(tau: f64) -> Tolerance {
    match tau {
        0.0 => Tolerance::Lossless,
        t if t.is_infinite() => Tolerance::Ignore,
        t => Tolerance::Abs(t),
    }
}
