//! NVIDIA GPUs: the same bytes as [`super::Cpu`], and the same bits back.

pub mod bench;
mod buffer;
mod device_struct;
mod gpu;
mod hybrid;
mod metrics;
mod profile;
mod pyramid;
mod reduce;
mod transfer;

use super::device::Gpus;
use super::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink, StageTimes};
use crate::transform::pyramid::Real;
use crate::transform::pyramid::frame::check_map;
use crate::{Control, Element, Error, ErrorKind, Mode, Params, Region, Result, ToleranceMap};
use buffer::Buffer;
use gpu::Gpu;
use hybrid::{Hybrid, Outcome};
use metrics::Comparing;
pub use metrics::{Figures, TierFigures};
use pyramid::Pyramid;
use std::sync::Mutex;

/// One or more GPUs of this machine.
pub struct Cuda {
    gpus: Vec<Gpu>,
    session: Mutex<Session>,
    /// Whether the CPU may take over what has no kernels.
    cpu_may_help: bool,
}

impl Cuda {
    /// Opens the devices and loads the kernels.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: no driver, no such device, a device too old, or kernels that cannot be loaded.
    pub fn open(gpus: &Gpus) -> Result<Self> {
        let count = gpu::count()?;
        let ordinals: Vec<usize> = match gpus {
            Gpus::First => vec![0],
            Gpus::All => (0..count).collect(),
            Gpus::List(list) => list.clone(),
        };
        if let Some(missing) = ordinals.iter().find(|&&o| o >= count) {
            let message = format!("there is no GPU {missing}: this machine has {count}, counted from 0");
            return Err(Error::new(ErrorKind::Device, message).remedy("see nvidia-smi -L"));
        }
        let gpus = ordinals.into_iter().map(Gpu::open).collect::<Result<Vec<_>>>()?;
        Ok(Self { gpus, session: Mutex::default(), cpu_may_help: false })
    }

    /// Lets the CPU do the few things that have no kernels (the same bytes, see [`Cuda::describe`]), instead of
    /// refusing them.
    pub fn with_cpu(self) -> Self {
        Self { cpu_may_help: true, ..self }
    }

    /// The CPU, for a frame that the kernels leave to it.
    fn stand_in(&self, what: &str) -> Result<Cpu> {
        let refused = || Error::new(ErrorKind::Device, format!("there are no GPU kernels for {what}"));
        if self.cpu_may_help { Ok(Cpu) } else { Err(refused().remedy("use --device auto or --device cpu")) }
    }

    /// Compares finite values of `n` nodes, C order, with their reconstruction, on the first device.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when lengths, extents and map do not fit, and those of the device.
    pub fn figures<T: Element>(
        &self,
        original: &[T],
        reconstructed: &[T],
        n: [usize; 3],
        map: &ToleranceMap,
    ) -> Result<Figures> {
        check_map(n, map)?;
        if [original, reconstructed].iter().any(|v| v.len() != n.iter().product::<usize>()) {
            return Err(Error::invalid(format!(
                "{} and {} values of {n:?} nodes",
                original.len(),
                reconstructed.len()
            )));
        }
        let gpu = &self.gpus[0];
        let (mut memory, mut comparing) = ([Buffer::default(), Buffer::default()], Comparing::default());
        comparing.prepare(gpu, map)?;
        let mut volumes = [0; 2];
        for ((address, memory), values) in volumes.iter_mut().zip(&mut memory).zip([original, reconstructed]) {
            *address = memory.reserve(gpu, size_of_val(values))?;
            // SAFETY: just reserved.
            unsafe { gpu.upload(*address, values)? };
        }
        // SAFETY: both volumes were sent, and checked above.
        unsafe { comparing.compare::<T>(gpu, volumes, n, map)? };
        comparing.figures(gpu, map)
    }

    /// Largest |u| of finite values, found on the first device.
    pub fn max_abs<T: Element>(&self, values: &[T]) -> Result<T> {
        let gpu = &self.gpus[0];
        let (mut data, mut scratch) = (Buffer::default(), Buffer::default());
        let address = data.reserve(gpu, std::mem::size_of_val(values))?;
        // SAFETY: `address` was reserved for exactly these values.
        unsafe {
            gpu.upload(address, values)?;
            let result = reduce::queue_max_abs::<T>(gpu, &mut scratch, address, values.len())?;
            reduce::read_max_abs(gpu, result)
        }
    }
}

/// What a device keeps between frames: the tables and memory of the last shape, for each element type.
#[derive(Default)]
struct Session {
    f32: Option<Pyramid<f32>>,
    f64: Option<Pyramid<f64>>,
    hybrid_f32: Option<Hybrid<f32>>,
    hybrid_f64: Option<Hybrid<f64>>,
    /// Milliseconds of the kernels of all frames encoded in the hybrid mode.
    hybrid_ms: f64,
}

/// What differs between the element types: their places in a session, and the CPU's methods.
trait Kept: Real {
    fn slot(session: &mut Session) -> &mut Option<Pyramid<Self>>;
    fn hybrid_slot(session: &mut Session) -> &mut Option<Hybrid<Self>>;
    fn encode_on_cpu(cpu: &Cpu, input: &FrameInput<Self>, sink: &mut dyn FrameSink, control: &Control) -> Result<()>;
    fn decode_on_cpu(
        cpu: &Cpu,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<Self>,
        control: &Control,
    ) -> Result<()>;
}

macro_rules! kept {
    ($t:ty, $slot:ident, $hybrid:ident, $encode:ident, $decode:ident) => {
        impl Kept for $t {
            fn slot(session: &mut Session) -> &mut Option<Pyramid<$t>> {
                &mut session.$slot
            }
            fn hybrid_slot(session: &mut Session) -> &mut Option<Hybrid<$t>> {
                &mut session.$hybrid
            }
            fn encode_on_cpu(
                cpu: &Cpu,
                input: &FrameInput<$t>,
                sink: &mut dyn FrameSink,
                control: &Control,
            ) -> Result<()> {
                cpu.$encode(input, sink, control)
            }
            fn decode_on_cpu(
                cpu: &Cpu,
                frame: &FrameShape,
                source: &dyn FrameSource,
                region: &Region,
                out: &dyn RegionSink<$t>,
                control: &Control,
            ) -> Result<()> {
                cpu.$decode(frame, source, region, out, control)
            }
        }
    };
}
kept!(f32, f32, hybrid_f32, encode_f32, decode_f32);
kept!(f64, f64, hybrid_f64, encode_f64, decode_f64);

impl Session {
    /// The tables for frames of `n` nodes; those of another shape are dropped first.
    fn pyramid<T: Kept>(&mut self, gpu: &Gpu, n: [usize; 3], tile: u8) -> Result<&mut Pyramid<T>> {
        let slot = T::slot(self);
        if slot.as_ref().is_none_or(|p| !p.is_for(n, tile)) {
            *slot = None;
        }
        match slot {
            Some(pyramid) => Ok(pyramid),
            None => Ok(slot.insert(Pyramid::new(gpu, n, tile)?)),
        }
    }

    /// The tables for frames of `n` nodes in the hybrid mode; those of another shape are dropped first.
    fn hybrid<T: Kept>(&mut self, gpu: &Gpu, n: [usize; 3], params: &Params) -> Result<&mut Hybrid<T>> {
        let slot = T::hybrid_slot(self);
        if slot.as_ref().is_none_or(|h| !h.is_for(n, params)) {
            *slot = None;
        }
        match slot {
            Some(hybrid) => Ok(hybrid),
            None => Ok(slot.insert(Hybrid::new(gpu, n, params)?)),
        }
    }
}

fn encode<T: Kept>(cuda: &Cuda, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    let n = input.field.extents();
    check_map(n, input.tolerance)?;
    if input.params.mode == Mode::Hybrid {
        let what = match hybrid::refusal(n, input.params) {
            Some(what) => what,
            None => {
                let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
                let mut ms = 0.0;
                let hybrid = session.hybrid(&cuda.gpus[0], n, input.params)?;
                let outcome = hybrid::encode_frame(&cuda.gpus[0], hybrid, input, sink, control, &mut ms)?;
                session.hybrid_ms += ms;
                match outcome {
                    Outcome::Done => return Ok(()),
                    Outcome::LeftToCpu(what) => what,
                }
            }
        };
        return T::encode_on_cpu(&cuda.stand_in(what)?, input, sink, control);
    }
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    let pyramid = session.pyramid(&cuda.gpus[0], n, input.params.tile)?;
    pyramid::encode_frame(&cuda.gpus[0], pyramid, input, sink, control)
}

fn stage_times<T: Kept>(cuda: &Cuda, input: &FrameInput<T>) -> Result<StageTimes> {
    let n = input.field.extents();
    check_map(n, input.tolerance)?;
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    let hybrid = session.hybrid(&cuda.gpus[0], n, input.params)?;
    hybrid::stage_times(&cuda.gpus[0], hybrid, input)
}

fn decode<T: Kept>(
    cuda: &Cuda,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    if (0..3).any(|a| region.lo[a] > region.hi[a] || region.hi[a] > frame.n[a]) {
        return Err(Error::invalid(format!("box {:?}..{:?} is not inside {:?}", region.lo, region.hi, frame.n)));
    }
    if region.is_empty() {
        return Ok(());
    }
    check_map(frame.n, frame.tolerance)?;
    if frame.params.mode == Mode::Hybrid {
        let what = match hybrid::refusal(frame.n, frame.params) {
            Some(what) => what,
            None => {
                let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
                let hybrid = session.hybrid(&cuda.gpus[0], frame.n, frame.params)?;
                match hybrid::decode_frame(&cuda.gpus[0], hybrid, frame, source, region, out, control)? {
                    Outcome::Done => return Ok(()),
                    Outcome::LeftToCpu(what) => what,
                }
            }
        };
        return T::decode_on_cpu(&cuda.stand_in(what)?, frame, source, region, out, control);
    }
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    let pyramid = session.pyramid(&cuda.gpus[0], frame.n, frame.params.tile)?;
    pyramid::decode_frame(&cuda.gpus[0], pyramid, frame, source, region, out, control)
}

impl Backend for Cuda {
    fn describe(&self) -> String {
        let names: Vec<_> =
            self.gpus.iter().map(|g| format!("{}, {} multiprocessors", g.name, g.multiprocessors)).collect();
        let help =
            if self.cpu_may_help { "; class coder and lossless tiers of the hybrid mode on the CPU" } else { "" };
        names.join(" + ") + help
    }
    fn stage_times_f32(&self, input: &FrameInput<f32>, _control: &Control) -> Result<StageTimes> {
        stage_times(self, input)
    }
    fn stage_times_f64(&self, input: &FrameInput<f64>, _control: &Control) -> Result<StageTimes> {
        stage_times(self, input)
    }
    fn kernel_ms(&self) -> Option<f64> {
        Some(self.session.lock().unwrap_or_else(|e| e.into_inner()).hybrid_ms)
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(self, input, sink, control)
    }
    fn encode_f64(&self, input: &FrameInput<f64>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(self, input, sink, control)
    }
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        control: &Control,
    ) -> Result<()> {
        decode(self, frame, source, region, out, control)
    }
    fn decode_f64(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f64>,
        control: &Control,
    ) -> Result<()> {
        decode(self, frame, source, region, out, control)
    }
}
