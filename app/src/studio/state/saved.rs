//! Runs as a project keeps them: the figures in its file, the streams in a folder beside it.

use super::files::write_beside;
use super::kept::{Kept, VolumeKey};
use super::plots::Sweep;
use super::project::Project;
use super::runs::{Run, RunRequest, Stream};
use anyhow::Context as _;
use blockmgard::roi::RoiSpec;
use blockmgard::{job, metrics};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One row of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    id: u64,
    name: String,
    pinned: bool,
    request: RunRequest,
    compress: job::Report,
    decompress_seconds: f64,
    decompress_kernel_seconds: Option<f64>,
    measured_ms: f64,
    predicted_ms: Option<f64>,
    metrics: metrics::Report,
    /// The regions came back exactly: JSON has no infinite PSNR.
    #[serde(default)]
    roi_exact: bool,
    /// File name in the project's folder.
    stream: Option<String>,
}

/// The work on a volume that was not on screen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedVolume {
    #[serde(flatten)]
    of: VolumeKey,
    roi: Option<RoiSpec>,
    runs: Vec<SavedRun>,
    sweeps: Vec<Sweep>,
}

impl SavedRun {
    pub fn of(run: &Run) -> Self {
        Self {
            id: run.id,
            name: run.name.clone(),
            pinned: run.pinned,
            request: run.request.clone(),
            compress: run.compress.clone(),
            decompress_seconds: run.decompress_seconds,
            decompress_kernel_seconds: run.decompress_kernel_seconds,
            measured_ms: run.measured_ms,
            predicted_ms: run.predicted_ms,
            metrics: run.metrics.clone(),
            roi_exact: run.metrics.roi_psnr_db == Some(f64::INFINITY),
            stream: run.stream.as_ref().map(|s| s.name.clone()),
        }
    }

    /// The row again; its values are decoded from the stream when there is one.
    pub fn run(self, streams: &HashMap<String, Stream>) -> Run {
        let stream = self.stream.as_ref().and_then(|name| streams.get(name).cloned());
        let mut metrics = self.metrics;
        if self.roi_exact {
            metrics.roi_psnr_db = Some(f64::INFINITY);
        }
        let lost = stream.is_none().then(|| "its stream is not beside the project".to_owned());
        Run {
            id: self.id,
            name: self.name,
            pinned: self.pinned,
            request: self.request,
            stream,
            compress: self.compress,
            decompress_seconds: self.decompress_seconds,
            decompress_kernel_seconds: self.decompress_kernel_seconds,
            measured_ms: self.measured_ms,
            predicted_ms: self.predicted_ms,
            metrics,
            reconstruction: None,
            tolerance: None,
            lost,
        }
    }
}

impl SavedVolume {
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }
    pub fn of(kept: &Kept) -> Self {
        Self {
            of: kept.of.clone(),
            roi: kept.roi.clone(),
            runs: kept.runs.iter().map(SavedRun::of).collect(),
            sweeps: kept.sweeps.clone(),
        }
    }
    pub fn kept(self, streams: &HashMap<String, Stream>) -> Kept {
        Kept {
            of: self.of,
            roi: self.roi,
            runs: self.runs.into_iter().map(|r| r.run(streams)).collect(),
            sweeps: self.sweeps,
        }
    }
}

/// A project with the streams of its runs.
pub struct ProjectFiles {
    pub project: Project,
    pub streams: HashMap<String, Stream>,
    /// Autosaved work that may be in no project.
    pub unsaved: bool,
}

impl ProjectFiles {
    /// Writes the streams, and then the file that names them, also where there was no room for the streams: regions and
    /// figures are small. Streams that are there already stay as they are, since they are named after their content.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let folder = streams_folder(path);
        let streams = self.write_streams(&folder);
        write_beside(path, serde_json::to_string(&self.project)?.as_bytes())?;
        self.remove_others(&folder);
        streams.context("the project is saved without all of its runs' streams")
    }

    fn write_streams(&self, folder: &Path) -> anyhow::Result<()> {
        if !self.streams.is_empty() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        for (name, stream) in &self.streams {
            let file = folder.join(name);
            let there = std::fs::metadata(&file).is_ok_and(|m| m.len() == stream.bytes.len() as u64);
            if !there {
                write_beside(&file, &stream.bytes)?;
            }
        }
        Ok(())
    }

    /// Removes streams of runs that are no longer in the project. What cannot be removed stays.
    fn remove_others(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if Stream::is_name(&name) && !self.streams.contains_key(&name) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        if self.streams.is_empty() {
            // Fails where others have put something into it.
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// A project's content as read from `path`, with the streams that lie beside it.
    pub fn read(path: &Path, text: &str) -> anyhow::Result<Self> {
        let project = Project::parse(text)?;
        let folder = streams_folder(path);
        let runs = project.runs.iter().chain(project.others.iter().flat_map(|o| &o.runs));
        let mut streams = HashMap::new();
        for name in runs.filter_map(|r| r.stream.as_ref()).filter(|name| Stream::is_name(name)) {
            if let Ok(bytes) = std::fs::read(folder.join(name)) {
                streams.insert(name.clone(), Stream { bytes: Arc::new(bytes), name: name.clone() });
            }
        }
        Ok(Self { project, streams, unsaved: false })
    }
}

/// `work.project.runs` beside `work.project.json`.
pub fn streams_folder(project: &Path) -> PathBuf {
    project.with_extension("runs")
}
