//! The project file: everything needed to take up the work again; also what autosave writes.

use super::compare::Compare;
use super::display::{Display, PaneView};
use super::document::OpenRequest;
use super::opening::Then;
use super::plots::Sweep;
use super::runs::{RunRequest, Stream};
use super::saved::{ProjectFiles, SavedRun, SavedVolume};
use super::tools::Tools;
use super::volume3d::Camera;
use super::{OpenError, Origin, State};
use crate::studio::jobs::Done;
use crate::studio::roi::model::Roi;
use crate::studio::roi::shown_name;
use crate::studio::roi::spec::from_spec;
use anyhow::Context as _;
use blockmgard::Tier;
use blockmgard::roi::{Analysis, RoiSpec};
use blockmgard::volume::{OpenHints, StoredType};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time between autosaves.
pub const AUTOSAVE: Duration = Duration::from_secs(20);

/// Version of the file; a newer one is refused in words.
const VERSION: u32 = 1;

/// What a project file holds. The volume itself is named, not copied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Project {
    pub version: u32,
    pub file: String,
    pub variable: usize,
    pub step: usize,
    #[serde(default)]
    pub hints: Hints,
    pub roi: RoiSpec,
    #[serde(default)]
    pub display: Display,
    #[serde(default)]
    pub panes: [PaneView; 3],
    #[serde(default)]
    pub crosshair: [usize; 3],
    #[serde(default)]
    pub tools: Tools,
    #[serde(default)]
    pub run: RunRequest,
    #[serde(default)]
    pub camera: Camera,
    #[serde(default)]
    pub compare: Compare,
    /// How the views are arranged.
    #[serde(default)]
    pub layout: Option<serde_json::Value>,
    #[serde(default)]
    pub runs: Vec<SavedRun>,
    #[serde(default)]
    pub sweeps: Vec<Sweep>,
    /// Work on volumes that were not on screen.
    #[serde(default)]
    pub others: Vec<SavedVolume>,
}

/// [`OpenHints`] as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hints {
    pub dims: Option<Vec<usize>>,
    pub dtype: Option<StoredType>,
    pub big_endian: Option<bool>,
    pub offset: u64,
    pub missing: Vec<f64>,
}

impl From<OpenHints> for Hints {
    fn from(h: OpenHints) -> Self {
        Self { dims: h.dims, dtype: h.dtype, big_endian: h.big_endian, offset: h.offset, missing: h.missing }
    }
}

impl From<Hints> for OpenHints {
    fn from(h: Hints) -> Self {
        Self { dims: h.dims, dtype: h.dtype, big_endian: h.big_endian, offset: h.offset, missing: h.missing }
    }
}

impl Project {
    /// Runs of all volumes.
    pub fn run_count(&self) -> usize {
        self.runs.len() + self.others.iter().map(SavedVolume::run_count).sum::<usize>()
    }
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let project: Self = serde_json::from_str(text).context("this is no project file")?;
        anyhow::ensure!(project.version <= VERSION, "the project was saved by a newer version; update this program");
        Ok(project)
    }
}

impl State {
    /// The session as a project, with the streams of all runs: taken down now, put together by whoever calls, on another thread.
    pub fn project_files(&self) -> anyhow::Result<impl FnOnce() -> anyhow::Result<ProjectFiles> + Send + use<>> {
        let regions = self.snapshot()?;
        let of = self.document.as_ref().context("open a volume first")?.key();
        let runs = self.runs.list.iter().chain(self.kept.iter().flat_map(|k| &k.runs));
        let streams = runs.filter_map(|r| r.stream.clone()).map(|s: Stream| (s.name.clone(), s)).collect();
        let project = {
            let (display, panes, crosshair) = (self.display.clone(), self.panes, self.crosshair);
            let (tools, run, camera, compare) =
                (self.tools.clone(), self.runs.settings.clone(), self.camera, self.compare);
            let (layout, sweeps) = (self.layout.clone(), self.plots.sweeps.clone());
            let runs = self.runs.list.iter().map(SavedRun::of).collect();
            let others = self.kept.iter().map(SavedVolume::of).collect();
            move |roi| Project {
                version: VERSION,
                file: of.file,
                variable: of.variable,
                step: of.step,
                hints: of.hints,
                roi,
                display,
                panes,
                crosshair,
                tools,
                run,
                camera,
                compare,
                layout,
                runs,
                sweeps,
                others,
            }
        };
        Ok(move || Ok(ProjectFiles { project: project(regions.spec()?), streams, unsaved: false }))
    }

    /// Opens a project, or an ROI spec for the open volume; told apart by content. Off the UI thread: masks and streams take
    /// their time.
    pub(super) fn open_project_or_spec(&mut self, path: PathBuf) {
        let name = format!("Opening {}", path.display());
        if self.jobs.is_running(&name) {
            return;
        }
        self.open_error = None;
        self.jobs.spawn(name, move |_| {
            let read = read_project_or_spec(&path);
            let done: Done<State> = Box::new(move |state: &mut State| match read {
                Ok(Content::Project(mut files)) => {
                    files.unsaved = state.settings.slot.last().is_some_and(|last| last == path);
                    state.open_project(files);
                }
                Ok(Content::Spec(spec)) => {
                    state.windows.open_dialog = false;
                    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                    state.load_spec(*spec, folder, Origin::File);
                }
                Err(error) => {
                    let (path, text) = (path.display().to_string(), format!("{error:#}"));
                    state.open_error = Some(OpenError { path, text, raw: false });
                    state.windows.open_dialog = true;
                }
            });
            Ok(done)
        });
    }

    pub fn open_project(&mut self, files: Box<ProjectFiles>) {
        let project = &files.project;
        let request = OpenRequest {
            path: project.file.clone(),
            hints: project.hints.clone().into(),
            step: project.step,
            ..Default::default()
        };
        self.open_with(request, Then::Restore(files));
    }

    /// After the project's volume is on screen.
    pub(super) fn restore(&mut self, files: ProjectFiles) {
        let ProjectFiles { project, streams, unsaved } = files;
        self.settings.autosave_due = unsaved;
        self.display = Display { locked: true, ..project.display.clone() };
        self.panes = project.panes;
        self.set_crosshair(project.crosshair);
        self.tools = project.tools;
        self.runs.settings = project.run;
        self.camera = project.camera;
        self.arrange(project.layout);
        self.pending_lock = Some(project.display.locked);
        self.load_spec(project.roi, PathBuf::new(), Origin::Work);
        // The project's runs take the place of what this session had of its volumes; other volumes' stay.
        self.runs.list = project.runs.into_iter().map(|r| r.run(&streams)).collect();
        self.plots.sweeps = project.sweeps;
        let others: Vec<_> = project.others.into_iter().map(|o| o.kept(&streams)).collect();
        self.kept.retain(|k| others.iter().all(|o| o.of != k.of));
        self.kept.extend(others);
        let all = self.runs.list.iter().chain(self.kept.iter().flat_map(|k| &k.runs));
        self.runs.next_id = all.map(|r| r.id + 1).fold(self.runs.next_id, u64::max);
        let lost = self.runs.list.iter().filter(|r| r.lost.is_some()).count();
        if lost > 0 {
            self.complain(format!("The streams of {lost} runs are not beside the project: their figures remain"));
        }
        self.compare = project.compare;
        self.windows.results |= !self.runs.list.is_empty();
        self.decode_next();
    }

    /// Replaces tiers and regions by a spec's, off the UI thread, as one undo step. Waits for statistics.
    pub fn load_spec(&mut self, spec: RoiSpec, folder: PathBuf, origin: Origin) {
        let Some(document) = &self.document else {
            return self.complain("Open a volume first: a spec is bound to one");
        };
        let Some(stats) = document.stats.clone() else {
            self.pending_spec = Some((spec, folder, origin));
            return;
        };
        let (volume, generation) = (document.volume.clone(), self.generation);
        self.jobs.spawn("Loading regions", move |control| {
            let analysis = Analysis::new(volume, (*stats).clone());
            let roi = from_spec(&spec, &analysis, &folder, control)?;
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation == generation {
                    state.replace_roi(roi, origin);
                }
            });
            Ok(done)
        });
    }

    fn replace_roi(&mut self, roi: Roi, origin: Origin) {
        // What comes from a file is no work to save yet.
        let due = self.settings.autosave_due;
        self.edit_lists("load regions", |r| {
            let mut next = roi;
            next.keep_ids_above(r);
            *r = next;
            r.refresh_painted_coverage();
        });
        self.selected = None;
        self.settings.autosave_due = due;
        self.regions_are_work = origin == Origin::Work;
        if origin == Origin::Stream {
            self.stream_tiers = self.tiers_of_stream();
        }
    }

    /// The stream's tier of each block, by its place in the studio's list.
    fn tiers_of_stream(&self) -> Option<Arc<Vec<u8>>> {
        let map = &self.document.as_ref()?.stream.as_ref()?.map;
        let place = |tier: &Tier| self.roi.tiers.iter().position(|t| t.name == shown_name(&tier.name)).map(|i| i as u8);
        let places: Vec<u8> = map.tiers.iter().map(place).collect::<Option<_>>()?;
        let tiers: Option<Vec<u8>> = map.tier_of_block.iter().map(|t| places.get(*t as usize).copied()).collect();
        Some(Arc::new(tiers?))
    }

    /// Writes what autosave has not written yet. The window is closing: there is nobody left to tell of a failure.
    pub fn autosave_at_exit(&mut self) {
        if !self.settings.autosave_due || self.settings.read_only {
            return;
        }
        if let (Ok(files), Some(path)) = (self.project_files(), self.settings.slot.autosave()) {
            let _ = files().and_then(|f| f.write(&path));
        }
    }

    /// Writes the session beside the settings when something changed; off the UI thread.
    pub(super) fn autosave(&mut self) {
        if !self.settings.autosave_due || self.settings.read_only || self.stroke.is_some() {
            return;
        }
        if self.last_autosave.elapsed() < AUTOSAVE || self.jobs.is_running("Autosave") {
            return;
        }
        self.settings.autosave_due = false;
        self.last_autosave = std::time::Instant::now();
        let (Ok(files), Some(path)) = (self.project_files(), self.settings.slot.autosave()) else { return };
        self.jobs.spawn("Autosave", move |_| {
            files()?.write(&path)?;
            let done: Done<State> = Box::new(|_: &mut State| ());
            Ok(done)
        });
    }
}

enum Content {
    Project(Box<ProjectFiles>),
    Spec(Box<RoiSpec>),
}

fn read_project_or_spec(path: &Path) -> anyhow::Result<Content> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    if text.trim_start().starts_with('{') && text.contains("\"version\"") {
        let files = ProjectFiles::read(path, &text).with_context(|| path.display().to_string())?;
        return Ok(Content::Project(Box::new(files)));
    }
    Ok(Content::Spec(Box::new(RoiSpec::load(path)?)))
}
