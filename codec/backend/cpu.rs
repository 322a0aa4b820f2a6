//! The plain Rust backend: the definition that every other backend must match byte for byte.

use super::{Backend, FrameInput, FrameParts, FrameShape, FrameSink, FrameSource, RegionSink, StageTimes};
use crate::transform::{hybrid, pyramid};
use crate::{Control, Mode, Region, Result};

/// All cores of the machine, through rayon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

fn encode<T: pyramid::Real>(input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    match input.params.mode {
        Mode::Hybrid => hybrid::encode_frame(input, sink, control),
        Mode::Pyramid => pyramid::encode_frame(input, sink, control),
    }
}

fn decode<T: pyramid::Real>(
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    match frame.params.mode {
        Mode::Hybrid => hybrid::decode_frame(frame, source, region, out, control),
        Mode::Pyramid => pyramid::decode_frame(frame, source, region, out, control),
    }
}

impl Backend for Cpu {
    fn describe(&self) -> String {
        format!("CPU, {} threads", rayon::current_num_threads())
    }
    fn stage_times_f32(&self, input: &FrameInput<f32>, control: &Control) -> Result<StageTimes> {
        hybrid::time_frame(input, &mut FrameParts::default(), control)
    }
    fn stage_times_f64(&self, input: &FrameInput<f64>, control: &Control) -> Result<StageTimes> {
        hybrid::time_frame(input, &mut FrameParts::default(), control)
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(input, sink, control)
    }
    fn encode_f64(&self, input: &FrameInput<f64>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(input, sink, control)
    }
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        control: &Control,
    ) -> Result<()> {
        decode(frame, source, region, out, control)
    }
    fn decode_f64(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f64>,
        control: &Control,
    ) -> Result<()> {
        decode(frame, source, region, out, control)
    }
}
