//! What belongs to a volume and outlives its being on screen: runs, sweeps and regions are put aside when another volume
//! opens and come back with their own.

use super::document::{Document, OpenRequest};
use super::opening::Then;
use super::performing::HELD_BYTES;
use super::plots::Sweep;
use super::project::Hints;
use super::runs::Run;
use super::{Origin, State};
use crate::studio::jobs::{Done, is_cancelled};
use blockmgard::backend::{self, Device};
use blockmgard::roi::RoiSpec;
use blockmgard::stream::Archive;
use blockmgard::volume::Values;
use blockmgard::{Control, Shape, ToleranceMap, job};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Which volume of which file, read how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeKey {
    /// Absolute path.
    pub file: String,
    pub variable: usize,
    pub step: usize,
    #[serde(default)]
    pub hints: Hints,
}

impl VolumeKey {
    /// File name, and the step or variable where it is not the first.
    pub fn title(&self) -> String {
        let name = Path::new(&self.file).file_name().map_or_else(|| self.file.clone(), |n| n.to_string_lossy().into());
        match (self.variable, self.step) {
            (0, 0) => name,
            (v, 0) => format!("{name}, variable {v}"),
            (0, s) => format!("{name}, step {s}"),
            (v, s) => format!("{name}, variable {v}, step {s}"),
        }
    }
}

impl Document {
    pub fn key(&self) -> VolumeKey {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        VolumeKey {
            file: path.display().to_string(),
            variable: self.variable,
            step: self.step,
            hints: self.hints.clone().into(),
        }
    }
}

/// The work on a volume that is not on screen.
pub struct Kept {
    pub of: VolumeKey,
    /// Regions, where the volumes opened since have another shape.
    pub roi: Option<RoiSpec>,
    pub runs: Vec<Run>,
    pub sweeps: Vec<Sweep>,
}

impl State {
    /// Puts aside what belongs to the open volume, before another one takes its place.
    pub(super) fn put_aside(&mut self, with_regions: bool) {
        let Some(of) = self.document.as_ref().map(Document::key) else { return };
        let roi =
            if with_regions && self.regions_are_work && !self.roi.regions.is_empty() { self.spec().ok() } else { None };
        let mut runs = std::mem::take(&mut self.runs.list);
        for run in &mut runs {
            // They are in the stream, and memory is for the volume on screen.
            (run.reconstruction, run.tolerance) = (None, None);
            if run.stream.is_some() {
                // What was cancelled, or had no room, is tried again.
                run.lost = None;
            }
        }
        let sweeps = std::mem::take(&mut self.plots.sweeps);
        if roi.is_none() && runs.is_empty() && sweeps.is_empty() {
            return;
        }
        let kept = self.kept_of(&of);
        kept.roi = roi.or(kept.roi.take());
        kept.runs.extend(runs);
        kept.sweeps.extend(sweeps);
    }

    /// The entry of a volume, made when there is none.
    pub(super) fn kept_of(&mut self, of: &VolumeKey) -> &mut Kept {
        let at = self.kept.iter().position(|k| k.of == *of).unwrap_or_else(|| {
            self.kept.push(Kept { of: of.clone(), roi: None, runs: vec![], sweeps: vec![] });
            self.kept.len() - 1
        });
        &mut self.kept[at]
    }

    /// Takes back what was put aside of the volume that is on screen now; its regions unless others have carried over.
    pub(super) fn take_back(&mut self) {
        let Some(of) = self.document.as_ref().map(Document::key) else { return };
        let Some(at) = self.kept.iter().position(|k| k.of == of) else { return };
        let Kept { of, roi, runs, sweeps } = self.kept.remove(at);
        self.runs.list = runs;
        self.plots.sweeps = sweeps;
        match roi {
            Some(spec) if self.roi.regions.is_empty() => self.load_spec(spec, Default::default(), Origin::Work),
            Some(spec) => self.kept.push(Kept { of, roi: Some(spec), runs: vec![], sweeps: vec![] }),
            None => {}
        }
        self.windows.results |= !self.runs.list.is_empty();
        self.decode_next();
    }

    pub(super) fn open_kept(&mut self, key: VolumeKey) {
        let request = OpenRequest {
            path: key.file.clone(),
            hints: key.hints.clone().into(),
            step: key.step,
            ..OpenRequest::default()
        };
        self.open_with(request, Then::Show(key.variable, key.step));
    }

    /// Decodes the first run of the table that lacks its values, and then the others.
    pub(super) fn decode_next(&mut self) {
        let waits = |r: &&Run| r.reconstruction.is_none() && r.lost.is_none();
        let Some((id, name, stream)) =
            self.runs.list.iter().find(waits).and_then(|r| Some((r.id, r.name.clone(), r.stream.clone()?)))
        else {
            return;
        };
        let Some(shape) = self.document.as_ref().map(|d| d.volume.shape) else { return };
        let (title, generation) = (format!("Decoding {name}"), self.generation);
        if self.jobs.is_running(&title) {
            return;
        }
        self.jobs.spawn(title, move |control| {
            let decoded = decoded(&stream.bytes, &shape, control);
            let done: Done<State> = Box::new(move |state: &mut State| {
                if state.generation != generation {
                    return;
                }
                if let Some(run) = state.runs.get_mut(id) {
                    match decoded {
                        Ok((values, map)) => (run.reconstruction, run.tolerance) = (Some(values), Some(Arc::new(map))),
                        Err(error) => {
                            let why = if is_cancelled(&error) { "not decoded".into() } else { format!("{error:#}") };
                            run.lost = Some(why.clone());
                            state.complain(format!("{name} cannot be shown: {why}"));
                        }
                    }
                }
                state.decode_next();
            });
            Ok(done)
        });
    }
}

/// The values of a run and the tolerances that it kept.
fn decoded(stream: &[u8], shape: &Shape, control: &Control) -> anyhow::Result<(Values, ToleranceMap)> {
    let archive = Archive::from_bytes(stream.to_vec())?;
    anyhow::ensure!(
        archive.header().shape.n == shape.n,
        "its volume has the shape {}, the file now {shape}",
        archive.header().shape
    );
    let opened = backend::open(&Device::Auto)?;
    let whole = shape.region();
    let (volume, _) = job::decompress_volume(&archive, &whole, &*opened.backend, Some(HELD_BYTES), control)?;
    Ok((volume.values, archive.tolerance()?))
}
