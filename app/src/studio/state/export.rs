//! Writes results to files, off the UI thread.

use super::State;
use super::compare::RunId;
use super::files::write_beside;
use crate::studio::command::{Export, PictureView};
use crate::studio::data::labels::{LabelInput, LabelRegion, label_slice};
use crate::studio::data::slice::Geometry;
use crate::studio::jobs::Done;
use crate::studio::report;
use anyhow::Context as _;
use blockmgard::volume::Volume;
use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use std::path::{Path, PathBuf};

/// The save dialog: what, the path typed so far, and why the last attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveForm {
    pub what: Export,
    pub path: String,
    pub error: Option<String>,
}

/// Work of an export, ready to run on another thread.
pub(super) type Writer = Box<dyn FnOnce(&Path) -> anyhow::Result<()> + Send>;

impl State {
    /// Opens the save dialog with a likely path.
    pub(super) fn ask_save(&mut self, what: Export) {
        if self.document.is_none() {
            return self.complain("Open a volume first");
        }
        let path = self.usual_path(what).display().to_string();
        self.save = Some(SaveForm { what, path, error: None });
    }

    /// Where an export goes unless the user says otherwise: the working folder, named after the volume.
    pub fn usual_path(&self, what: Export) -> PathBuf {
        if let (Export::Spec, Some(path)) = (what, &self.spec_path) {
            return path.clone();
        }
        let stem = self.document.as_ref().map(|d| d.path.clone()).unwrap_or_default();
        let stem = stem.with_extension("");
        let stem = stem.file_name().map_or_else(|| "volume".to_owned(), |n| n.to_string_lossy().into_owned());
        let folder = std::env::current_dir().unwrap_or_default();
        let mut of_run = String::new();
        let (ending, tail) = match what {
            Export::Spec => ("toml", ".roi"),
            Export::Masks => ("npy", "_labels"),
            Export::Map => ("npy", "_tolerance"),
            Export::Project => ("json", ".project"),
            Export::Stream(id) => {
                of_run = self.run_in_file_name(id);
                ("bmg", "")
            }
            Export::Reconstruction(id) => {
                of_run = self.run_in_file_name(id);
                ("npy", "_rebuilt")
            }
            Export::Picture(form) => match form.view {
                PictureView::Slice(axis) => ("png", ["_axial", "_coronal", "_sagittal"][axis]),
                PictureView::Volume => ("png", "_3d"),
            },
            Export::TableCsv => ("csv", "_runs"),
            Export::TableJson => ("json", "_runs"),
            Export::Report => ("html", "_report"),
        };
        folder.join(format!("{stem}{of_run}{tail}.{ending}"))
    }

    /// A run's name as a part of a file name, so that the files of several runs lie side by side: `_pyramid-32-roi`.
    fn run_in_file_name(&self, id: RunId) -> String {
        let Some(run) = self.runs.get(id) else { return String::new() };
        let name = run.name.to_lowercase();
        let words: Vec<&str> =
            name.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|w| !w.is_empty()).collect();
        format!("_{}", words.join("-"))
    }

    /// Writes to a path; the dialog closes, and comes back with the reason when the file cannot be written.
    pub(super) fn save_as(&mut self, what: Export, path: PathBuf) {
        self.save = None;
        let writer = match self.writer(what) {
            Ok(writer) => writer,
            Err(error) => return self.complain(format!("Nothing to save: {error:#}")),
        };
        if what == Export::Project {
            self.settings.autosave_due = false;
        }
        self.jobs.spawn(format!("Saving {}", path.display()), move |_| {
            let result = writer(&path);
            let done: Done<State> = Box::new(move |state: &mut State| state.saved(what, path, result));
            Ok(done)
        });
    }

    fn saved(&mut self, what: Export, path: PathBuf, result: anyhow::Result<()>) {
        match result {
            Ok(()) => {
                self.say(format!("Saved {}", path.display()));
                match what {
                    Export::Spec => {
                        self.say_painted_over();
                        self.spec_path = Some(path);
                    }
                    // Everything is in the project, unless something has changed since it was put together.
                    Export::Project if !self.settings.autosave_due && !self.settings.read_only => {
                        self.settings.slot.forget();
                    }
                    _ => {}
                }
            }
            Err(error) => {
                self.settings.autosave_due |= what == Export::Project;
                let error = Some(format!("{error:#}"));
                self.save = Some(SaveForm { what, path: path.display().to_string(), error });
            }
        }
    }

    /// Says which regions of an exported spec are no longer the shapes that they were read as.
    fn say_painted_over(&mut self) {
        let changed = self.roi.regions.iter().filter(|r| r.painted_over);
        let names: Vec<&str> = changed.map(|r| r.name.as_str()).collect();
        if !names.is_empty() {
            self.say(format!("Painted on, and so in the spec as voxels rather than as a shape: {}", names.join(", ")));
        }
    }

    fn writer(&self, what: Export) -> anyhow::Result<Writer> {
        Ok(match what {
            Export::Spec => {
                let regions = self.snapshot()?;
                Box::new(move |path| {
                    let path = &std::path::absolute(path)?;
                    let spec = regions.spec_in(path.parent().unwrap_or(Path::new("")))?;
                    let json = path.extension().is_some_and(|e| e == "json");
                    let text = if json { spec.to_json()? } else { spec.to_toml()? };
                    write_beside(path, text.as_bytes())
                })
            }
            Export::Project => {
                let files = self.project_files()?;
                Box::new(move |path| files()?.write(path))
            }
            Export::Masks => self.label_writer()?,
            Export::Map => {
                let map = self.mapping.result.as_ref().and_then(|r| r.levels.first()).context("no map yet")?.clone();
                let volume = self.volume()?;
                Box::new(move |path| {
                    let payload = Payload::tolerance_map(&map, &volume.shape, &volume.meta)?;
                    Ok(write_file(path, WriteFormat::from_path(path)?, &payload)?)
                })
            }
            Export::Stream(id) => {
                let run = self.runs.get(id).context("the run was removed")?;
                let stream = run.stream.clone().context("the run's stream was not beside the project")?;
                Box::new(move |path| write_beside(path, &stream.bytes))
            }
            Export::Reconstruction(id) => {
                let run = self.runs.get(id).context("the run was removed")?;
                let values = run.reconstruction.clone().context("the run is not decoded yet")?;
                let volume = Volume { values, ..self.volume()? };
                Box::new(move |path| Ok(write_file(path, WriteFormat::from_path(path)?, &Payload::volume(&volume))?))
            }
            Export::Picture(form) => self.picture_writer(form)?,
            Export::TableCsv => {
                let text = report::csv(&self.runs.sorted());
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
            Export::TableJson => {
                let runs = self.runs.sorted();
                let commands: Vec<String> = runs.iter().map(|r| self.command_line(&r.request, r.id)).collect();
                let text = serde_json::to_string_pretty(&report::json(&runs, &commands))?;
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
            Export::Report => self.report_writer()?,
        })
    }

    pub(super) fn volume(&self) -> anyhow::Result<Volume> {
        Ok(self.document.as_ref().context("open a volume first")?.volume.clone())
    }

    /// What the label worker needs.
    pub fn label_input(&self) -> Option<LabelInput> {
        let document = self.document.as_ref()?;
        let (max_abs, range) = self.scales();
        let region = |r: &crate::studio::roi::model::RegionItem| LabelRegion {
            tier: r.tier as u8,
            kind: r.kind.clone(),
            interval: self.interval_of(&r.kind),
        };
        Some(LabelInput {
            values: document.shown.clone(),
            steps: document.steps(),
            regions: self.roi.regions.iter().filter(|r| r.on).map(region).collect(),
            strictness: self.roi.strictness(max_abs, range),
        })
    }

    /// All regions as one label volume: 0 = background, k = tier k.
    fn label_writer(&self) -> anyhow::Result<Writer> {
        let input = self.label_input().context("open a volume first")?;
        let volume = self.volume()?;
        Ok(Box::new(move |path| {
            let n = volume.shape.n;
            let mut labels = Vec::with_capacity(volume.shape.len());
            for z in 0..n[0] {
                let g = Geometry { axis: 0, index: z, origin: [0; 2], stride: 1, size: [n[2], n[1]] };
                // A label is tier + 1; in the file the tier's own index says more.
                labels.extend(label_slice(&input, &g)?.texels.iter().map(|l| l.saturating_sub(1)));
            }
            let payload = Payload::mask(&labels, volume.shape, &volume.meta)?;
            Ok(write_file(path, WriteFormat::from_path(path)?, &payload)?)
        }))
    }
}
