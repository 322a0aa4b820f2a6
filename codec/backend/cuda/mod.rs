//! NVIDIA GPUs: the same bytes as [`super::Cpu`], and the same bits back.

pub mod bench;
mod buffer;
mod gpu;
mod profile;
mod pyramid;
mod reduce;
mod transfer;

use super::device::Gpus;
use super::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::transform::pyramid::Real;
use crate::transform::pyramid::frame::check_map;
use crate::{Control, Element, Error, ErrorKind, Mode, Region, Result};
use buffer::Buffer;
use gpu::Gpu;
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

    /// Lets the CPU do what has no kernels yet (the hybrid mode), instead of refusing it.
    pub fn with_cpu(self) -> Self {
        Self { cpu_may_help: true, ..self }
    }

    fn stand_in(&self) -> Result<Cpu> {
        let refused = || Error::new(ErrorKind::Device, "the hybrid mode has no GPU kernels yet");
        if self.cpu_may_help { Ok(Cpu) } else { Err(refused().remedy("use --device auto or --device cpu")) }
    }

    /// Largest |u| of finite values, found on the first device.
    pub fn max_abs<T: Element>(&self, values: &[T]) -> Result<T> {
        let gpu = &self.gpus[0];
        let (mut data, mut scratch) = (Buffer::default(), Buffer::default());
        let address = data.reserve(gpu, std::mem::size_of_val(values))?;
        // SAFETY: `address` was reserved for exactly these values.
        unsafe {
            gpu.upload(address, values)?;
            reduce::max_abs(gpu, &mut scratch, address, values.len())
        }
    }
}

/// What a device keeps between frames: the tables and memory of the last shape, for each element type.
#[derive(Default)]
struct Session {
    f32: Option<Pyramid<f32>>,
    f64: Option<Pyramid<f64>>,
}

/// What differs between the element types: their place in a session, and the CPU's methods for modes without kernels.
trait Kept: Real {
    fn slot(session: &mut Session) -> &mut Option<Pyramid<Self>>;
    fn encode_on_cpu(cuda: &Cuda, input: &FrameInput<Self>, sink: &mut dyn FrameSink, control: &Control) -> Result<()>;
    fn decode_on_cpu(
        cuda: &Cuda,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<Self>,
        control: &Control,
    ) -> Result<()>;
}

macro_rules! kept {
    ($t:ty, $slot:ident, $encode:ident, $decode:ident) => {
        impl Kept for $t {
            fn slot(session: &mut Session) -> &mut Option<Pyramid<$t>> {
                &mut session.$slot
            }
            fn encode_on_cpu(
                cuda: &Cuda,
                input: &FrameInput<$t>,
                sink: &mut dyn FrameSink,
                control: &Control,
            ) -> Result<()> {
                cuda.stand_in()?.$encode(input, sink, control)
            }
            fn decode_on_cpu(
                cuda: &Cuda,
                frame: &FrameShape,
                source: &dyn FrameSource,
                region: &Region,
                out: &dyn RegionSink<$t>,
                control: &Control,
            ) -> Result<()> {
                cuda.stand_in()?.$decode(frame, source, region, out, control)
            }
        }
    };
}
kept!(f32, f32, encode_f32, decode_f32);
kept!(f64, f64, encode_f64, decode_f64);

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
}

fn encode<T: Kept>(cuda: &Cuda, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    if input.params.mode == Mode::Hybrid {
        return T::encode_on_cpu(cuda, input, sink, control);
    }
    let n = input.field.extents();
    check_map(n, input.tolerance)?;
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    let pyramid = session.pyramid(&cuda.gpus[0], n, input.params.tile)?;
    pyramid::encode_frame(&cuda.gpus[0], pyramid, input, sink, control)
}

fn decode<T: Kept>(
    cuda: &Cuda,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    if frame.params.mode == Mode::Hybrid {
        return T::decode_on_cpu(cuda, frame, source, region, out, control);
    }
    if (0..3).any(|a| region.lo[a] > region.hi[a] || region.hi[a] > frame.n[a]) {
        return Err(Error::invalid(format!("box {:?}..{:?} is not inside {:?}", region.lo, region.hi, frame.n)));
    }
    if region.is_empty() {
        return Ok(());
    }
    check_map(frame.n, frame.tolerance)?;
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    let pyramid = session.pyramid(&cuda.gpus[0], frame.n, frame.params.tile)?;
    pyramid::decode_frame(&cuda.gpus[0], pyramid, frame, source, region, out, control)
}

impl Backend for Cuda {
    fn describe(&self) -> String {
        let names: Vec<_> =
            self.gpus.iter().map(|g| format!("{}, {} multiprocessors", g.name, g.multiprocessors)).collect();
        let help = if self.cpu_may_help { "; hybrid mode on the CPU" } else { "" };
        names.join(" + ") + help
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
