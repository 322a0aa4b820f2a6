//! Volume in, stream out.

use super::dispatch::Coded;
use super::report::Report;
use super::view::FrameView;
use crate::backend::{Backend, FrameInput, FrameParts, FrameSink};
use crate::stream::{Extent, Filled, Header, Output, PartFile, Provenance, StreamWriter, encode_special};
use crate::stream::{refuse_source, scan};
use crate::transform::pyramid::Real;
use crate::volume::{Field, Missing, Values, Volume};
use crate::{Control, Error, Params, Result, ToleranceMap};
use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

/// Compresses a volume into the file `out`, which appears whole or not at all.
///
/// Works frame by frame: memory is what the backend needs for one frame, the volume is read where it lies.
/// `map` must be made for the volume's shape. Progress counts bytes of original data.
///
/// # Errors
/// When a setting makes no sense, `out` is the volume's own file, reading, writing or the device fails, or `control` is
/// cancelled.
pub fn compress(
    volume: &Volume,
    map: &ToleranceMap,
    params: &Params,
    backend: &dyn Backend,
    out: &Path,
    provenance: &Provenance,
    control: &Control,
) -> Result<Report> {
    refuse_source(out, &volume.meta.source)?;
    let file = PartFile::create(out)?;
    let (file, report) = compress_into(volume, map, params, backend, file, provenance, control)?;
    file.commit()?;
    Ok(report)
}

/// As [`compress`], into memory.
pub fn compress_to_vec(
    volume: &Volume,
    map: &ToleranceMap,
    params: &Params,
    backend: &dyn Backend,
    provenance: &Provenance,
    control: &Control,
) -> Result<(Vec<u8>, Report)> {
    let out = Cursor::new(Vec::new());
    let (out, report) = compress_into(volume, map, params, backend, out, provenance, control)?;
    Ok((out.into_inner(), report))
}

/// As [`compress`], into anything that can be written; gives the output back.
pub fn compress_into<W: Output>(
    volume: &Volume,
    map: &ToleranceMap,
    params: &Params,
    backend: &dyn Backend,
    out: W,
    provenance: &Provenance,
    control: &Control,
) -> Result<(W, Report)> {
    let started = Instant::now();
    let count: usize = map.blocks.iter().product();
    if map.blocks != volume.shape.blocks() || map.tier_of_block.len() != count {
        return Err(Error::invalid(format!(
            "the tolerance map has {:?} blocks, a volume of {} has {:?}",
            map.blocks,
            volume.shape,
            volume.shape.blocks()
        )));
    }
    let dtype = volume.values.dtype();
    let header = Header { dtype, shape: volume.shape, params: params.clone(), tiers: map.tiers.clone() };
    let original_bytes = volume.shape.len() as u64 * dtype.bytes() as u64;
    control.begin(original_bytes);
    let mut writer = StreamWriter::new(out, header, provenance)?;
    let mut run = Run { map, params, backend, missing: &volume.missing, control, kernel_seconds: 0.0 };
    let frames = writer.frames();
    for index in 0..frames.count {
        match &volume.values {
            Values::F32(field) => run.frame(&**field, index, &mut writer)?,
            Values::F64(field) => run.frame(&**field, index, &mut writer)?,
        }
    }
    let (out, compressed_bytes) = writer.finish()?;
    let report = Report {
        original_bytes,
        compressed_bytes,
        kernel_seconds: run.kernel_seconds,
        frames: frames.count,
        device: backend.describe(),
        ..Report::default()
    };
    let whole = (original_bytes, volume.shape.len() as u64);
    Ok((out, report.finish(whole, started.elapsed().as_secs_f64())))
}

/// Smallest and largest ordinary value of a volume, the bases of relative tolerances: one pass over the values.
pub fn value_extent(volume: &Volume, control: &Control) -> Result<Extent> {
    let scanned = crate::with_values!(&volume.values, field => scan(&**field, &volume.missing, control))?;
    Ok(scanned.0)
}

/// What all frames of a run share.
struct Run<'a> {
    map: &'a ToleranceMap,
    params: &'a Params,
    backend: &'a dyn Backend,
    missing: &'a Missing,
    control: &'a Control,
    kernel_seconds: f64,
}

impl Run<'_> {
    fn frame<T: Coded + Real, W: Output>(
        &mut self,
        field: &dyn Field<T>,
        index: usize,
        writer: &mut StreamWriter<W>,
    ) -> Result<()> {
        let frames = writer.frames();
        let view = FrameView { field, region: frames.region(index) };
        let tolerance = frames.map(self.map, index);
        let (extent, specials) = scan(&view, self.missing, self.control)?;
        let special = match specials {
            0 => Vec::new(),
            _ => encode_special(&view, self.missing, self.control)?,
        };
        let mut frame = writer.begin_frame(&tolerance, &special, extent)?;
        let max_abs = T::from_f64(extent.max_abs());
        let filled;
        let finite: &dyn Field<T> = if special.is_empty() {
            &view
        } else {
            filled = Filled::new(&view, self.missing, max_abs, self.control)?;
            &filled
        };
        let input = FrameInput { field: finite, tolerance: &tolerance, max_abs, params: self.params };
        self.encode(&input, &mut frame, self.control)?;
        let plain_bytes = (view.region.len() * T::BYTES) as u64;
        if may_be_shorter_lossless(&input, frame.coded_bytes(), plain_bytes) {
            let (tolerance, params) = (tolerance.lossless(), self.params.lossless());
            let mut parts = FrameParts::default();
            let input = FrameInput { tolerance: &tolerance, params: &params, ..input };
            self.encode(&input, &mut parts, &self.control.uncounted())?;
            if parts.len_bytes() < frame.coded_bytes() {
                frame.replace_lossless(&parts)?;
            }
        }
        frame.finish(&view, self.control)?;
        field.check()
    }
    fn encode<T: Coded>(&mut self, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        let mut timed = TimedSink { sink, seconds: 0.0 };
        let started = Instant::now();
        T::encode(self.backend, input, &mut timed, control)?;
        self.kernel_seconds += started.elapsed().as_secs_f64() - timed.seconds;
        Ok(())
    }
}

/// Whether a frame is also coded losslessly, in case that is shorter: where most of its nodes cannot have been symbols, where a part
/// is lossless anyway, or where no tolerance is much wider than the spacing of the largest values (see `FORMAT.md`, "Lossless frame").
fn may_be_shorter_lossless<T: Real>(input: &FrameInput<T>, coded_bytes: u64, plain_bytes: u64) -> bool {
    let (strictest, loosest) = input.tolerance.extremes();
    if loosest == 0.0 && input.params.lossless() == *input.params {
        return false;
    }
    8 * coded_bytes > 5 * plain_bytes || strictest == 0.0 || loosest <= 4.0 * T::UNIT_ROUNDOFF * input.max_abs.to_f64()
}

/// Tells the time spent on output apart from the time of the backend.
struct TimedSink<'a> {
    sink: &'a mut dyn FrameSink,
    seconds: f64,
}

impl TimedSink<'_> {
    fn timed(&mut self, write: impl FnOnce(&mut dyn FrameSink) -> Result<()>) -> Result<()> {
        let started = Instant::now();
        let result = write(self.sink);
        self.seconds += started.elapsed().as_secs_f64();
        result
    }
}

impl FrameSink for TimedSink<'_> {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        self.timed(|sink| sink.coarse(bytes))
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        self.timed(|sink| sink.chunk(bytes))
    }
}
