//! Work recorded once and queued as one graph: small frames take less time than the launches of their kernels.

use super::gpu::{Gpu, failed};
use crate::Result;
use cudarc::driver::{CudaGraph, sys};

/// What was recorded, with the addresses and sizes of that time.
pub(super) struct Recorded(CudaGraph);

impl Gpu {
    /// Records what `work` queues, without running it; `None` where the driver cannot. `work` must not wait, reserve
    /// more memory, or copy between host and device.
    pub fn record(&self, work: impl FnOnce() -> Result<()>) -> Option<Recorded> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).ok()?;
        let queued = work();
        // Ends in any case: the stream would stay in that mode.
        let graph = self.stream.end_capture(sys::CUgraphInstantiate_flags(0));
        queued.ok().and_then(|()| graph.ok().flatten()).map(Recorded)
    }

    /// Queues what was recorded.
    pub fn replay(&self, recorded: &Recorded) -> Result<()> {
        recorded.0.launch().map_err(failed("launching a graph"))
    }
}
