//! NVIDIA GPUs: the same bytes as [`super::Cpu`], and the same bits back.

mod buffer;
mod gpu;
mod reduce;

use super::device::Gpus;
use super::{Backend, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::{Control, Element, Error, ErrorKind, Mode, Region, Result};
use buffer::Buffer;
use gpu::Gpu;

/// One or more GPUs of this machine.
pub struct Cuda {
    gpus: Vec<Gpu>,
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
        Ok(Self { gpus })
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

fn not_built(mode: Mode) -> Error {
    let name = if mode == Mode::Hybrid { "hybrid" } else { "pyramid" };
    Error::new(ErrorKind::Device, format!("the GPU does not run the {name} mode yet")).remedy("use --device cpu")
}

fn encode<T: Element>(
    _cuda: &Cuda,
    input: &FrameInput<T>,
    _sink: &mut dyn FrameSink,
    _control: &Control,
) -> Result<()> {
    Err(not_built(input.params.mode))
}

fn decode<T: Element>(
    _cuda: &Cuda,
    frame: &FrameShape,
    _source: &dyn FrameSource,
    _region: &Region,
    _out: &dyn RegionSink<T>,
    _control: &Control,
) -> Result<()> {
    Err(not_built(frame.params.mode))
}

impl Backend for Cuda {
    fn describe(&self) -> String {
        let names: Vec<_> =
            self.gpus.iter().map(|g| format!("{}, {} multiprocessors", g.name, g.multiprocessors)).collect();
        names.join(" + ")
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
