//! Stream in, values out: into memory or slab by slab into a file.

use super::dispatch::Coded;
use super::npy::npy_header;
use super::plain::read_plain;
use super::report::Report;
use super::sink::{FrameRegionSink, MemorySink};
use crate::backend::{Backend, FrameShape, RegionSink};
use crate::stream::{Archive, FrameKind, FrameReader, PartFile};
use crate::volume::DType;
use crate::{Control, Element, Error, Region, Result};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// How a decoded volume is written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Little-endian values in C order, nothing else.
    Raw,
    /// NumPy's format, version 1.0.
    Npy,
}

/// Decodes a box into memory. Reads only the frames and chunks it needs.
///
/// # Errors
/// When the stream holds another type, the box lies outside, a part is damaged, or `control` is cancelled.
pub fn decompress_region<T: Coded>(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    control: &Control,
) -> Result<Vec<T>> {
    if archive.header().dtype != T::DTYPE {
        return Err(Error::invalid(format!("the stream holds {:?} values", archive.header().dtype)));
    }
    check_box(archive, region)?;
    control.begin(region.len() as u64 * T::BYTES as u64);
    decode_box(archive, region, backend, control)
}

/// Refuses empty boxes and boxes outside the volume.
fn check_box(archive: &Archive, region: &Region) -> Result<()> {
    let shape = archive.header().shape;
    if (0..3).all(|a| region.lo[a] < region.hi[a] && region.hi[a] <= shape.n[a]) {
        return Ok(());
    }
    Err(Error::invalid(format!("the box {:?}..{:?} is empty or reaches outside {shape}", region.lo, region.hi)))
}

pub(super) fn decode_box<T: Coded>(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    control: &Control,
) -> Result<Vec<T>> {
    let mut values = allocate(region.len())?;
    let sink = MemorySink::new(*region, &mut values);
    for index in archive.frames().meeting(region) {
        decode_frame(&archive.frame(index), archive, region, backend, &sink, control)?;
    }
    sink.finish()?;
    Ok(values)
}

/// Zeros, or an error instead of the end of the program.
fn allocate<T: Element>(count: usize) -> Result<Vec<T>> {
    // `vec!` of zeros takes untouched pages, but ends the program when there are none: ask first.
    Vec::<T>::new().try_reserve_exact(count).map_err(|_| {
        Error::invalid(format!("{count} values do not fit into memory")).remedy("decode a box, or set --memory")
    })?;
    Ok(vec![T::ZERO; count])
}

/// Decodes the part of `region` (of the volume) that lies in one frame.
fn decode_frame<T: Coded>(
    frame: &FrameReader,
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    sink: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    control.check()?;
    let place = frame.region();
    let common = region.intersect(&place);
    let local = |at: [usize; 3]| std::array::from_fn(|a| at[a] - place.lo[a]);
    let wanted = Region { lo: local(common.lo), hi: local(common.hi) };
    let sink = FrameRegionSink { sink, special: frame.special::<T>()?, corner: place.lo, control };
    if frame.kind() == FrameKind::Plain {
        return read_plain(frame, &wanted, &sink);
    }
    let tolerance = frame.tolerance()?;
    let params = &archive.header().params;
    let shape = FrameShape { n: place.shape(), tolerance: &tolerance, params, max_abs: frame.extent().max_abs() };
    T::decode(backend, &shape, frame, &wanted, &sink, control)
}

/// Decodes a box into the file `out`, which appears whole or not at all.
///
/// Works in slabs of at most a quarter of `memory` bytes (whole frames when `None`).
///
/// # Errors
/// As [`decompress_region`], and when writing fails.
pub fn decompress(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    out: (&Path, FileFormat),
    memory: Option<u64>,
    control: &Control,
) -> Result<Report> {
    check_box(archive, region)?;
    let started = Instant::now();
    let (path, format) = out;
    let mut file = PartFile::create(path)?;
    let header = archive.header();
    if format == FileFormat::Npy {
        let first = 3 - usize::from(header.shape.rank);
        let head = npy_header(header.dtype, &region.shape()[first..]);
        file.file().write_all(&head).map_err(|e| Error::io(path, &e))?;
    }
    let value_bytes = header.dtype.bytes() as u64;
    let original_bytes = region.len() as u64 * value_bytes;
    control.begin(original_bytes);
    let mut kernel_seconds = 0.0;
    for slab in slabs(archive, region, memory) {
        let mut write = |values: &[u8], decoded_in: f64| {
            kernel_seconds += decoded_in;
            let told = |e| Error::io(path, &e).remedy("check the free space of the disk");
            file.file().write_all(values).map_err(told)
        };
        let decoding = Instant::now();
        let elapsed = || decoding.elapsed().as_secs_f64();
        match header.dtype {
            DType::F32 => {
                let values = decode_box::<f32>(archive, &slab, backend, control)?;
                write(bytemuck::cast_slice(&values), elapsed())?;
            }
            DType::F64 => {
                let values = decode_box::<f64>(archive, &slab, backend, control)?;
                write(bytemuck::cast_slice(&values), elapsed())?;
            }
        }
    }
    file.commit()?;
    let report = Report {
        original_bytes,
        compressed_bytes: archive.len_bytes(),
        kernel_seconds,
        frames: archive.frames().meeting(region).len(),
        device: backend.describe(),
        ..Report::default()
    };
    let values = header.shape.len() as u64;
    Ok(report.finish((values * value_bytes, values), started.elapsed().as_secs_f64()))
}

/// Cuts a box along the axis that frames are cut along: at frames, and so that a slab keeps within a quarter of the
/// memory. Slabs end on multiples of 32 nodes, as chunks do, where the memory allows.
pub(super) fn slabs(archive: &Archive, region: &Region, memory: Option<u64>) -> Vec<Region> {
    let frames = archive.frames();
    let axis = frames.axis;
    let plane = (region.len() / region.shape()[axis] * archive.header().dtype.bytes()) as u64;
    let most = memory.map_or(frames.layers, |m| ((m / 4 / plane) as usize).clamp(1, frames.layers));
    let step = if most >= 32 { most / 32 * 32 } else { most };
    let mut out = Vec::new();
    for index in frames.meeting(region) {
        let frame = frames.region(index);
        let part = region.intersect(&frame);
        let mut lo = part.lo[axis];
        while lo < part.hi[axis] {
            let mut slab = part;
            slab.lo[axis] = lo;
            slab.hi[axis] = (frame.lo[axis] + ((lo - frame.lo[axis]) / step + 1) * step).min(part.hi[axis]);
            lo = slab.hi[axis];
            out.push(slab);
        }
    }
    out
}
