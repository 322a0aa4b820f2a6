//! Stage models of devices, for time budgets: looked for, measured, and what they predict for the open volume.

use super::State;
use crate::studio::jobs::Done;
use crate::studio::worker::Worker;
use crate::tuned;
use blockmgard::backend::{self, Device};
use blockmgard::job::tune::{self, Choice, DeviceModels};
use blockmgard::{Mode, Params, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a device.
pub enum Tuned {
    Looking,
    /// It was never measured by this version; the name it gives itself.
    Never(String),
    Ready(Arc<DeviceModels>),
    /// It cannot be used.
    Failed(String),
}

/// What predictions depend on: the volume, the device as runs name it, the settings.
type Key = (u64, String, Params);
type Predictions = (Key, Vec<Choice>);

/// Models by device, and predictions.
pub struct Tuning {
    devices: HashMap<String, Tuned>,
    worker: Worker<(), Predictions>,
    asked: Option<Key>,
    predictions: Option<Predictions>,
}

/// Name of the job that measures.
pub const MEASURING: &str = "Measuring the device";

impl Tuning {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { devices: HashMap::new(), worker: Worker::new("predictions", wake), asked: None, predictions: None }
    }
    pub fn device(&self, device: &str) -> Option<&Tuned> {
        self.devices.get(device)
    }
    pub fn models(&self, device: &str) -> Option<Arc<DeviceModels>> {
        match self.devices.get(device) {
            Some(Tuned::Ready(models)) => Some(models.clone()),
            _ => None,
        }
    }
    pub fn put(&mut self, device: String, tuned: Tuned) {
        self.devices.insert(device, tuned);
        self.asked = None;
    }
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }
}

impl State {
    /// While the run panel is set to the hybrid mode: looks for the device's models, and predicts with them.
    pub(super) fn refresh_tuning(&mut self) {
        if let Some((_, predictions)) = self.tuning.worker.finished().pop() {
            self.tuning.predictions = Some(predictions);
        }
        let settings = &self.runs.settings;
        let Some(document) = self.document.as_ref().filter(|_| settings.params.mode == Mode::Hybrid) else { return };
        let device = settings.device.clone();
        let Some(models) = self.tuning.models(&device) else {
            if settings.budget_ms.is_some() && !self.tuning.devices.contains_key(&device) {
                self.look_for_models(device);
            }
            return;
        };
        // The levels are what is looked for: other settings of theirs change nothing.
        let params = Params { local_levels: 0, global_levels: 0, ..settings.params.clone() };
        let key = (self.generation, device, params);
        if self.tuning.asked.as_ref() == Some(&key) {
            return;
        }
        self.tuning.asked = Some(key.clone());
        let (shape, dtype) = (document.volume.shape, document.volume.values.dtype());
        self.tuning.worker.request((), move || {
            let all = tune::predictions(models.of(dtype), &shape, &key.2);
            (key, all)
        });
    }

    /// What the run panel's time budget gives on its device; `None` while that is not known.
    pub fn budget_choice(&self) -> Option<Result<Choice>> {
        let budget = self.runs.settings.budget()?;
        let (key, all) = self.tuning.predictions.as_ref()?;
        (Some(key) == self.tuning.asked.as_ref()).then(|| tune::pick(all, budget))
    }

    fn look_for_models(&mut self, device: String) {
        self.tuning.put(device.clone(), Tuned::Looking);
        // Tests measure for themselves.
        let kept = !self.settings.read_only;
        self.jobs.spawn("Looking at the device", move |_| {
            let found = device.parse::<Device>().and_then(|d| backend::open(&d)).map(|opened| {
                let name = opened.backend.describe();
                match kept.then(|| tuned::load(&name)) {
                    Some(Ok(models)) => Tuned::Ready(Arc::new(models)),
                    _ => Tuned::Never(name),
                }
            });
            let found = found.unwrap_or_else(|error| Tuned::Failed(error.message));
            let done: Done<State> = Box::new(move |state: &mut State| {
                state.tuning.put(device, found);
            });
            Ok(done)
        });
    }

    /// Measures a device and keeps what came out, for the command line too.
    pub(super) fn measure_device(&mut self, device: String) {
        if self.jobs.is_running(MEASURING) {
            return;
        }
        let kept = !self.settings.read_only;
        self.jobs.spawn(MEASURING, move |control| {
            let opened = backend::open(&device.parse()?)?;
            let models = tune::measure(&*opened.backend, control)?;
            let saved =
                if kept { tuned::path_of(&models.device).and_then(|path| tuned::save(&models, &path)) } else { Ok(()) };
            let done: Done<State> = Box::new(move |state: &mut State| {
                if let Err(error) = saved {
                    state.complain(format!("The device is measured for this session only: {error:#}"));
                }
                state.tuning.put(device, Tuned::Ready(Arc::new(models)));
            });
            Ok(done)
        });
    }
}
