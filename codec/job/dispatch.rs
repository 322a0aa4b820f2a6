//! From generic code to the two typed calls of a backend.

use crate::backend::{Backend, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink, StageTimes};
use crate::{Control, Element, Region, Result};

/// An element type that a backend can encode and decode.
pub trait Coded: Element {
    fn encode(
        backend: &dyn Backend,
        input: &FrameInput<Self>,
        sink: &mut dyn FrameSink,
        control: &Control,
    ) -> Result<()>;
    fn decode(
        backend: &dyn Backend,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<Self>,
        control: &Control,
    ) -> Result<()>;
    fn stage_times(backend: &dyn Backend, input: &FrameInput<Self>, control: &Control) -> Result<StageTimes>;
}

macro_rules! coded {
    ($t:ty, $encode:ident, $decode:ident, $times:ident) => {
        impl Coded for $t {
            fn encode(b: &dyn Backend, i: &FrameInput<Self>, s: &mut dyn FrameSink, c: &Control) -> Result<()> {
                b.$encode(i, s, c)
            }
            fn decode(
                backend: &dyn Backend,
                frame: &FrameShape,
                source: &dyn FrameSource,
                region: &Region,
                out: &dyn RegionSink<Self>,
                control: &Control,
            ) -> Result<()> {
                backend.$decode(frame, source, region, out, control)
            }
            fn stage_times(b: &dyn Backend, i: &FrameInput<Self>, c: &Control) -> Result<StageTimes> {
                b.$times(i, c)
            }
        }
    };
}
coded!(f32, encode_f32, decode_f32, stage_times_f32);
coded!(f64, encode_f64, decode_f64, stage_times_f64);
