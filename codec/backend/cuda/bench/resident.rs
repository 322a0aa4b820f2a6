//! Times between device memory and device memory.

use super::super::gpu::Gpu;
use super::super::hybrid::Hybrid;
use super::super::metrics::{Comparing, Figures};
use super::super::pyramid::Pyramid;
use super::super::{Cuda, Kept, locked};
use super::repeat;
use crate::backend::FrameInput;
use crate::transform::hybrid::frame::Frame;
use crate::{Element, Mode, Result};
use std::time::Instant;

/// Work before the first measurement: the clocks rise under load only.
const WARM_UP_S: f64 = 0.5;

/// Milliseconds on the device.
pub struct Resident {
    pub max_abs: f64,
    pub compress: f64,
    pub decompress: f64,
    /// The same, each as one recorded graph; `None` where the driver cannot record them.
    pub by_graph: Option<[f64; 2]>,
    pub compare: f64,
    pub figures: Figures,
    pub compress_kernels: Vec<(&'static str, f64)>,
    pub decompress_kernels: Vec<(&'static str, f64)>,
}

/// A mode with a frame on the device: its steps, queued.
trait Steps<T> {
    fn max_abs(&mut self) -> Result<()>;
    /// Tolerances, which come from the host.
    fn send(&mut self) -> Result<()>;
    fn encode(&mut self) -> Result<()>;
    /// Waits for what `decode` must know of the work of `encode`.
    fn settle(&mut self) -> Result<()>;
    fn decode(&mut self) -> Result<()>;
    /// Addresses of the frame and of what `decode` made of it.
    fn volumes(&self) -> [u64; 2];
}

struct PyramidSteps<'a, T: Kept> {
    gpu: &'a Gpu,
    state: &'a mut Pyramid<T>,
    input: &'a FrameInput<'a, T>,
}

impl<T: Kept> Steps<T> for PyramidSteps<'_, T> {
    fn max_abs(&mut self) -> Result<()> {
        self.state.max_abs(self.gpu).map(drop)
    }
    fn send(&mut self) -> Result<()> {
        self.state.send_tiers(self.gpu, self.input.tolerance, self.input.max_abs)
    }
    fn encode(&mut self) -> Result<()> {
        self.state.encode(self.gpu, self.input.params.points)
    }
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    fn decode(&mut self) -> Result<()> {
        self.state.decode_resident(self.gpu)
    }
    fn volumes(&self) -> [u64; 2] {
        self.state.volumes(self.gpu)
    }
}

struct HybridSteps<'a, T: Kept> {
    gpu: &'a Gpu,
    state: &'a mut Hybrid<T>,
    input: &'a FrameInput<'a, T>,
    frame: Frame<T>,
}

impl<T: Kept> Steps<T> for HybridSteps<'_, T> {
    fn max_abs(&mut self) -> Result<()> {
        self.state.max_abs(self.gpu).map(drop)
    }
    fn send(&mut self) -> Result<()> {
        self.state.send_tolerances(self.gpu, &self.frame, self.input.tolerance)
    }
    fn encode(&mut self) -> Result<()> {
        self.state.encode(self.gpu)
    }
    fn settle(&mut self) -> Result<()> {
        self.state.learn_size(self.gpu)
    }
    fn decode(&mut self) -> Result<()> {
        self.state.decode_resident(self.gpu)
    }
    fn volumes(&self) -> [u64; 2] {
        self.state.volumes(self.gpu)
    }
}

/// Times one frame between device memory and device memory.
pub fn time_resident<T: Kept>(cuda: &Cuda, input: &FrameInput<T>, repeats: usize) -> Result<Resident> {
    let (gpu, n, params) = (&cuda.gpus[0], input.field.extents(), input.params);
    let mut session = locked(&cuda.sessions[0]);
    match params.mode {
        Mode::Pyramid => {
            let state = session.pyramid::<T>(gpu, n, params)?;
            state.begin(gpu, input.field)?;
            time_steps(gpu, &mut PyramidSteps { gpu, state, input }, input, repeats)
        }
        Mode::Hybrid => {
            let state = session.hybrid::<T>(gpu, n, params)?;
            state.begin(gpu, input.field)?;
            let frame = Frame::new(n, input.tolerance, input.max_abs.to_f64(), params, None);
            time_steps(gpu, &mut HybridSteps { gpu, state, input, frame }, input, repeats)
        }
    }
}

/// Medians of the steps of a mode, whose values are on the device.
fn time_steps<T: Element>(
    gpu: &Gpu,
    steps: &mut dyn Steps<T>,
    input: &FrameInput<T>,
    repeats: usize,
) -> Result<Resident> {
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < WARM_UP_S {
        steps.send()?;
        steps.encode()?;
        steps.settle()?;
        steps.decode()?;
        gpu.finish()?;
    }
    let max_abs = repeat(repeats, || gpu.time(|| steps.max_abs()))?;
    let compress = repeat(repeats, || {
        gpu.time(|| {
            steps.send()?;
            steps.encode()
        })
    })?;
    let decompress = repeat(repeats, || gpu.time(|| steps.decode()))?;
    let by_graph = match (gpu.record(|| steps.encode()), gpu.record(|| steps.decode())) {
        (Some(encode), Some(decode)) => {
            let mut compress = || {
                steps.send()?;
                gpu.replay(&encode)
            };
            let compress = repeat(repeats, || gpu.time(&mut compress))?;
            Some([compress, repeat(repeats, || gpu.time(|| gpu.replay(&decode)))?])
        }
        _ => None,
    };
    let (map, n) = (input.tolerance, input.field.extents());
    let mut comparing = Comparing::default();
    comparing.prepare(gpu, map)?;
    // SAFETY: the frame and its reconstruction, of the extents that the map is made for.
    let compare = repeat(repeats, || gpu.time(|| unsafe { comparing.compare::<T>(gpu, steps.volumes(), n, map) }))?;
    let figures = comparing.figures(gpu, map)?;
    let compress_kernels = gpu.profile(|| steps.encode())?;
    let decompress_kernels = gpu.profile(|| steps.decode())?;
    Ok(Resident { max_abs, compress, decompress, by_graph, compare, figures, compress_kernels, decompress_kernels })
}
