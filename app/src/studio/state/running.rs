//! The queue of runs and what becomes of them: one at a time, off the UI thread.

use super::State;
use super::compare::{Compare, LayerChoice};
use super::document::Document;
use super::kept::VolumeKey;
use super::performing::{Regions, RunInput, RunOutput, perform, told};
use super::runs::{Run, RunEdit, RunRequest, Waiting};
use crate::studio::jobs::Done;
use crate::studio::roi::shown_name;
use crate::studio::roi::spec::Snapshot;
use blockmgard::roi::RoiSpec;
use std::sync::Arc;

impl State {
    /// Puts a run into the queue.
    pub(super) fn enqueue(&mut self, request: RunRequest) {
        let input = self.run_input(request.clone());
        self.runs.queue.push_back(Waiting { request, input });
        self.start_next_run();
    }

    /// The studio's ROI as the library's spec. Takes its time for painted masks: [`Self::snapshot`] leaves that to a worker.
    pub fn spec(&self) -> anyhow::Result<RoiSpec> {
        self.snapshot()?.spec()
    }

    /// The studio's ROI as it is now.
    pub(super) fn snapshot(&self) -> anyhow::Result<Snapshot> {
        use anyhow::Context as _;
        let document = self.document.as_ref().context("open a volume first")?;
        Ok(Snapshot::of(&self.roi, document.volume.shape, |kind| self.interval_of(kind)))
    }

    pub(super) fn start_next_run(&mut self) {
        if self.jobs.running.iter().any(|j| j.name.starts_with("Run: ")) {
            return;
        }
        let Some(next) = self.runs.queue.front_mut() else { return };
        // Without statistics the request waits; their job comes back here.
        let input = next.input.take();
        let request = next.request.clone();
        let Some(input) = input.or_else(|| self.run_input(request)) else { return };
        self.runs.queue.pop_front();
        let title = input.request.title();
        self.jobs.spawn(format!("Run: {title}"), move |control| {
            let output = perform(&input, control);
            let done: Done<State> = Box::new(move |state: &mut State| {
                match output {
                    Ok(output) => state.add_run(input.of, output),
                    Err(error) if crate::studio::jobs::is_cancelled(&error) => state.say(format!("{title} cancelled")),
                    Err(error) => state.complain(format!("{title}: {}", told(&error))),
                }
                state.start_next_run();
            });
            Ok(done)
        });
    }

    /// What a run takes along; `None` while the statistics are missing.
    pub(super) fn run_input(&self, request: RunRequest) -> Option<RunInput> {
        let document = self.document.as_ref()?;
        let (of, volume, stats) = (document.key(), document.volume.clone(), document.stats.clone()?);
        let request = self.asked(request);
        let models = self.tuning.models(&request.device);
        let source = self.source_words(&request);
        Some(RunInput { of, models, source, request, volume, stats, regions: Regions::new(self.snapshot().ok()?) })
    }

    /// Requests that wait for the statistics of a volume that is leaving the screen go with it.
    pub(super) fn drop_unready_runs(&mut self) {
        let before = self.runs.queue.len();
        self.runs.queue.retain(|w| w.input.is_some());
        if self.runs.queue.len() < before {
            self.say("Runs that waited for the volume's statistics were dropped");
        }
    }

    fn add_run(&mut self, of: VolumeKey, output: RunOutput) {
        let id = self.runs.next_id;
        self.runs.next_id += 1;
        let name = self.runs.free_name(output.request.title_of_done());
        if output.metrics.violations > 0 {
            self.complain(format!("{name}: {} values miss their bound; see error / tau", output.metrics.violations));
        }
        if let Some(reached) = output.missed {
            self.say(format!("{name}: {reached:.4} is the nearest that scaling the tolerances reaches"));
        }
        self.settings.autosave_due = true;
        let mut run = Run {
            id,
            name,
            pinned: false,
            request: output.request,
            stream: Some(output.stream),
            compress: output.compress,
            decompress_seconds: output.decompress_seconds,
            decompress_kernel_seconds: output.decompress_kernel_seconds,
            measured_ms: output.measured_ms,
            predicted_ms: output.predicted_ms,
            metrics: output.metrics,
            reconstruction: Some(output.reconstruction),
            tolerance: Some(Arc::new(output.map)),
            lost: None,
        };
        if self.document.as_ref().map(Document::key).as_ref() != Some(&of) {
            // Another volume has been opened since.
            (run.reconstruction, run.tolerance) = (None, None);
            self.say(format!("{} is kept with {}", run.name, of.title()));
            return self.kept_of(&of).runs.push(run);
        }
        self.runs.list.push(run);
        if self.compare.b == LayerChoice::Original {
            self.compare.b = LayerChoice::Run(id);
        }
        (self.windows.results, self.windows.hints) = (true, false);
    }

    pub(super) fn edit_runs(&mut self, edit: RunEdit) {
        self.settings.autosave_due |= !matches!(edit, RunEdit::Settings(_) | RunEdit::Sort(_));
        match edit {
            RunEdit::Settings(settings) => self.runs.settings = settings,
            RunEdit::Rename(id, name) => {
                if let Some(run) = self.runs.get_mut(id) {
                    run.name = shown_name(&name);
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
