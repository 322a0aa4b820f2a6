//! The project file: everything needed to take up the work again; also what autosave writes.

use super::State;
use super::display::{Display, PaneView};
use super::document::OpenRequest;
use super::files::{config_folder, write_beside};
use super::runs::RunRequest;
use super::tools::Tools;
use crate::studio::jobs::Done;
use crate::studio::roi::model::Roi;
use crate::studio::roi::spec::from_spec;
use anyhow::Context as _;
use blockmgard::roi::{Analysis, RoiSpec};
use blockmgard::volume::{OpenHints, StoredType};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
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
}

/// [`OpenHints`] as written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let project: Self = serde_json::from_str(text).context("this is no project file")?;
        anyhow::ensure!(project.version <= VERSION, "the project was saved by a newer version; update this program");
        Ok(project)
    }
}

impl State {
    /// The session as a project.
    pub fn project(&self) -> anyhow::Result<Project> {
        let document = self.document.as_ref().context("open a volume first")?;
        Ok(Project {
            version: VERSION,
            file: std::path::absolute(&document.path).unwrap_or(document.path.clone()).display().to_string(),
            variable: document.variable,
            step: document.step,
            hints: document.hints.clone().into(),
            roi: self.spec()?,
            display: self.display.clone(),
            panes: self.panes,
            crosshair: self.crosshair,
            tools: self.tools.clone(),
            run: self.runs.settings.clone(),
        })
    }

    /// Opens a project, or an ROI spec for the open volume; told apart by content.
    pub(super) fn open_project_or_spec(&mut self, path: PathBuf) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return self.complain(format!("{}: {error}", path.display())),
        };
        if text.trim_start().starts_with('{') && text.contains("\"version\"") {
            match Project::parse(&text) {
                Ok(project) => self.open_project(project),
                Err(error) => self.complain(format!("{}: {error:#}", path.display())),
            }
            return;
        }
        match RoiSpec::load(&path) {
            Ok(spec) => {
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                self.load_spec(spec, folder);
            }
            Err(error) => self.complain(format!("{}: {error}", path.display())),
        }
    }

    pub fn open_project(&mut self, project: Project) {
        let request = OpenRequest {
            path: project.file.clone(),
            hints: project.hints.clone().into(),
            step: project.step,
            ..Default::default()
        };
        self.open_with(request, Some(project));
    }

    /// After the project's volume is on screen.
    pub(super) fn restore(&mut self, project: Project) {
        self.display = Display { locked: true, ..project.display.clone() };
        self.panes = project.panes;
        self.set_crosshair(project.crosshair);
        self.tools = project.tools;
        self.runs.settings = project.run;
        self.pending_lock = Some(project.display.locked);
        self.load_spec(project.roi, PathBuf::new());
    }

    /// Replaces tiers and regions by a spec's, off the UI thread, as one undo step. Waits for statistics.
    pub fn load_spec(&mut self, spec: RoiSpec, folder: PathBuf) {
        let Some(document) = &self.document else {
            return self.complain("Open a volume first: a spec is bound to one");
        };
        let Some(stats) = document.stats.clone() else {
            self.pending_spec = Some((spec, folder));
            return;
        };
        let (volume, generation) = (document.volume.clone(), self.generation);
        self.jobs.spawn("Loading regions", move |control| {
            let analysis = Analysis::new(volume, (*stats).clone());
            let roi = from_spec(&spec, &analysis, &folder, control)?;
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation == generation {
                    state.replace_roi(roi);
                }
            });
            Ok(done)
        });
    }

    fn replace_roi(&mut self, roi: Roi) {
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
    }

    /// Writes what autosave has not written yet. The window is closing: there is nobody left to tell of a failure.
    pub fn autosave_at_exit(&mut self) {
        if !self.settings.autosave_due || self.settings.read_only {
            return;
        }
        if let (Ok(project), Some(path)) = (self.project(), autosave_path()) {
            let _ = write_project(&path, &project);
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
        let (Ok(project), Some(path)) = (self.project(), autosave_path()) else { return };
        self.jobs.spawn("Autosave", move |_| {
            write_project(&path, &project)?;
            let done: Done<State> = Box::new(|_: &mut State| ());
            Ok(done)
        });
    }
}

fn write_project(path: &Path, project: &Project) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_beside(path, serde_json::to_string(project)?.as_bytes())
}

/// Where autosave writes.
fn autosave_path() -> Option<PathBuf> {
    config_folder().map(|f| f.join("autosave.json"))
}

/// Puts the work of the last session aside, so that this one's autosave does not replace it.
pub fn keep_last_session() {
    if let (Some(now), Some(last)) = (autosave_path(), last_session_path()) {
        // Without autosaved work there is nothing to keep.
        let _ = std::fs::rename(now, last);
    }
}

/// The autosaved work of the last session that had any.
pub fn last_session_path() -> Option<PathBuf> {
    config_folder().map(|f| f.join("last-session.json"))
}
