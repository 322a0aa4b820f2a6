//! What devices keep between frames.

use super::gpu::Gpu;
use super::hybrid::{HuffmanDecoder, Hybrid};
use super::pyramid::Pyramid;
use crate::backend::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::transform::pyramid::Real;
use crate::{Control, Params, Region, Result};
use std::sync::{Mutex, MutexGuard};

/// What a device keeps between frames: the tables and memory of the last shape, for each element type.
#[derive(Default)]
pub struct Session {
    f32: Option<Pyramid<f32>>,
    f64: Option<Pyramid<f64>>,
    hybrid_f32: Option<Hybrid<f32>>,
    hybrid_f64: Option<Hybrid<f64>>,
    /// Milliseconds of the kernels of all frames encoded in the hybrid mode.
    pub hybrid_ms: f64,
    /// Of all frames decoded in the hybrid mode.
    pub decoder: HuffmanDecoder,
}

/// What differs between the element types: their places in a session, and the CPU's methods.
pub trait Kept: Real {
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
    /// Gives all memory back.
    pub fn clear(&mut self) {
        *self = Self { hybrid_ms: self.hybrid_ms, decoder: self.decoder, ..Self::default() };
    }
    /// The tables for frames of `n` nodes; those of another shape are dropped first.
    pub fn pyramid<T: Kept>(&mut self, gpu: &Gpu, n: [usize; 3], params: &Params) -> Result<&mut Pyramid<T>> {
        let slot = T::slot(self);
        if slot.as_ref().is_none_or(|p| !p.is_for(n, params)) {
            *slot = None;
        }
        match slot {
            Some(pyramid) => Ok(pyramid),
            None => Ok(slot.insert(Pyramid::new(gpu, n, params)?)),
        }
    }

    /// The tables for frames of `n` nodes in the hybrid mode; those of another shape are dropped first.
    pub fn hybrid<T: Kept>(&mut self, gpu: &Gpu, n: [usize; 3], params: &Params) -> Result<&mut Hybrid<T>> {
        let decoder = self.decoder;
        let slot = T::hybrid_slot(self);
        if slot.as_ref().is_none_or(|h| !h.is_for(n, params)) {
            *slot = None;
        }
        let hybrid = match slot {
            Some(hybrid) => hybrid,
            None => slot.insert(Hybrid::new(gpu, n, params)?),
        };
        hybrid.decode_by(decoder);
        Ok(hybrid)
    }
}

pub fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(|e| e.into_inner())
}
