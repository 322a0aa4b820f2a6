//! The pyramid: closed-loop nested interpolation in tiles. See `FORMAT.md`.

use crate::backend::{FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::{Control, Element, Error, ErrorKind, Region, Result};

/// Encodes one frame.
pub fn encode_frame<T: Element>(_input: &FrameInput<T>, _sink: &mut dyn FrameSink, _control: &Control) -> Result<()> {
    Err(Error::new(ErrorKind::Compatibility, "this mode is not built yet"))
}

/// Decodes the part of a frame inside `region`.
pub fn decode_frame<T: Element>(
    _frame: &FrameShape,
    _source: &dyn FrameSource,
    _region: &Region,
    _out: &dyn RegionSink<T>,
    _control: &Control,
) -> Result<()> {
    Err(Error::new(ErrorKind::Compatibility, "this mode is not built yet"))
}
