//! Backends: who runs a whole job. Each gives the same bytes for the same input and parameters.

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod frame_parts;
mod open;

use crate::{Control, Element, Error, ErrorKind, Params, Region, Result, ToleranceMap, volume::Field};
pub use cpu::Cpu;
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use device::{Device, Gpus};
pub use frame_parts::FrameParts;
pub use open::{Opened, open};

/// One frame to encode: all values are finite (missing values are filled before this).
pub struct FrameInput<'a, T: Element> {
    pub field: &'a dyn Field<T>,
    /// Map of this frame's blocks.
    pub tolerance: &'a ToleranceMap,
    /// Largest |u| of the frame; part of the stream, since quantization steps depend on it.
    pub max_abs: T,
    pub params: &'a Params,
}

/// Receives an encoded frame in stream order: first `coarse`, then chunks 0, 1, 2, ...
pub trait FrameSink {
    /// What every decode of the frame needs: parameters, corner arrays or global levels.
    fn coarse(&mut self, bytes: &[u8]) -> Result<()>;
    /// The next chunk, decodable alone once `coarse` is known.
    fn chunk(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Hands out the parts of an encoded frame; checksums are verified by the implementor.
pub trait FrameSource: Sync {
    fn coarse(&self) -> Result<std::borrow::Cow<'_, [u8]>>;
    fn chunk_count(&self) -> usize;
    fn chunk(&self, index: usize) -> Result<std::borrow::Cow<'_, [u8]>>;
}

/// What a decoder must know besides the frame's parts.
pub struct FrameShape<'a> {
    /// Extents of the frame in nodes.
    pub n: [usize; 3],
    pub tolerance: &'a ToleranceMap,
    pub params: &'a Params,
    /// As in [`FrameInput::max_abs`], exact (f32 values widen exactly).
    pub max_abs: f64,
}

/// Receives decoded boxes, in any order, possibly from several threads; boxes never overlap.
pub trait RegionSink<T: Element>: Sync {
    fn put(&self, region: &Region, values: &[T]) -> Result<()>;
}

/// Milliseconds of the stages of encoding one frame in the hybrid mode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTimes {
    /// Decomposition and quantization of the finest local level, one stage on every device. On the CPU its symbols are
    /// spelt out as tokens here, too.
    pub local: f64,
    /// Decomposition, quantization and recomposition of the other levels.
    pub coarse: f64,
    /// Histogram, codebook, bits.
    pub lossless: f64,
}

impl StageTimes {
    pub fn total(&self) -> f64 {
        self.local + self.coarse + self.lossless
    }
}

/// A codec of whole frames on some hardware.
pub trait Backend: Send + Sync {
    /// One line for people: which device and why.
    fn describe(&self) -> String;
    /// Encodes a frame in the hybrid mode and times the stages, without copies between host and device.
    fn stage_times_f32(&self, _input: &FrameInput<f32>, _control: &Control) -> Result<StageTimes> {
        Err(Error::new(ErrorKind::Device, "this device does not tell the stages of its work apart"))
    }
    fn stage_times_f64(&self, _input: &FrameInput<f64>, _control: &Control) -> Result<StageTimes> {
        Err(Error::new(ErrorKind::Device, "this device does not tell the stages of its work apart"))
    }
    /// Milliseconds that kernels took to encode all frames of the hybrid mode so far; `None` for a device that works
    /// where the values are, so that the time in the codec is that time.
    fn kernel_ms(&self) -> Option<f64> {
        None
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, control: &Control) -> Result<()>;
    fn encode_f64(&self, input: &FrameInput<f64>, sink: &mut dyn FrameSink, control: &Control) -> Result<()>;
    /// Decodes the part of the frame inside `region`, reading only the chunks it needs.
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        control: &Control,
    ) -> Result<()>;
    fn decode_f64(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f64>,
        control: &Control,
    ) -> Result<()>;
}
