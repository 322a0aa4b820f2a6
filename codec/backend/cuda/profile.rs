//! Time on the device: around a piece of work, or kernel by kernel.

use super::gpu::{Gpu, failed};
use crate::Result;
use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};
use std::sync::Mutex;

/// A kernel's name, its start and its end.
type Launch = (&'static str, CudaEvent, CudaEvent);

/// The launches since profiling began, in order.
#[derive(Default)]
pub(super) struct Profile {
    launches: Mutex<Option<Vec<Launch>>>,
}

impl Gpu {
    pub fn event(&self) -> Result<CudaEvent> {
        self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed("recording an event"))
    }
    /// An event for order alone, without a time.
    pub fn event_on(&self, stream: &CudaStream) -> Result<CudaEvent> {
        stream.record_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING)).map_err(failed("recording an event"))
    }

    /// Milliseconds that the device spent on what `work` queues.
    pub fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        let start = self.event()?;
        work()?;
        let end = self.event()?;
        Ok(start.elapsed_ms(&end).map_err(failed("timing"))? as f64)
    }

    /// The kernels that `work` launches and their milliseconds, summed by name, in order of first launch.
    pub fn profile(&self, work: impl FnOnce() -> Result<()>) -> Result<Vec<(&'static str, f64)>> {
        let launches = || self.profile.launches.lock().unwrap_or_else(|e| e.into_inner());
        *launches() = Some(Vec::new());
        let done = work();
        let taken = launches().take().unwrap_or_default();
        done?;
        self.finish()?;
        let mut sums: Vec<(&'static str, f64)> = Vec::new();
        for (name, start, end) in taken {
            let ms = start.elapsed_ms(&end).map_err(failed("timing"))? as f64;
            match sums.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sum)) => *sum += ms,
                None => sums.push((name, ms)),
            }
        }
        Ok(sums)
    }

    pub(super) fn is_profiling(&self) -> bool {
        self.profile.launches.lock().unwrap_or_else(|e| e.into_inner()).is_some()
    }

    /// Runs one launch, between two events while profiling.
    pub(super) fn observed(&self, name: &'static str, launch: impl FnOnce() -> Result<()>) -> Result<()> {
        if !self.is_profiling() {
            return launch();
        }
        let start = self.event()?;
        launch()?;
        let end = self.event()?;
        if let Some(launches) = &mut *self.profile.launches.lock().unwrap_or_else(|e| e.into_inner()) {
            launches.push((name, start, end));
        }
        Ok(())
    }
}
