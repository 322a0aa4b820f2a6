//! The hybrid hierarchy: L local In-cache Block levels, then M global levels (Section IV).
//!
//! `plan` says which levels there are, `block` and `global` are the operators, `hierarchy` runs the coarser
//! levels, `finest` the chunks; `coarse` and `chunk` are the bytes. `FORMAT.md` has every rounding.

mod block;
pub(crate) mod chunk;
pub(crate) mod coarse;
mod correction;
pub(crate) mod decode;
mod disjoint;
pub(crate) mod encode;
mod finest;
pub(crate) mod frame;
mod gain;
mod global;
pub(crate) mod grid;
pub(crate) mod hierarchy;
pub(crate) mod local;
pub(crate) mod mass;
#[cfg(test)]
mod oracle_tests;
pub(crate) mod plan;
pub(crate) mod quantizer;
pub(crate) mod symbols;
mod values;

use crate::backend::{FrameInput, FrameShape, FrameSink, FrameSource, RegionSink, StageTimes};
use crate::{Control, Element, Region, Result};
pub use plan::{Level, Plan};

/// Encodes one frame. All values must be finite.
pub fn encode_frame<T: Element>(input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    encode::encode(input, sink, control).map(drop)
}

/// As [`encode_frame`], and says how long the stages took.
pub fn time_frame<T: Element>(
    input: &FrameInput<T>,
    sink: &mut dyn FrameSink,
    control: &Control,
) -> Result<StageTimes> {
    encode::encode(input, sink, control)
}

/// Decodes the part of a frame inside `region`.
pub fn decode_frame<T: Element>(
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    decode::decode(frame, source, region, out, control)
}
