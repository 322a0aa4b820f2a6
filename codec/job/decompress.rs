//! Stream in, values out: into memory or slab by slab into a file.

use super::dispatch::Coded;
use super::plain::read_plain;
use super::report::Report;
use super::sink::{FrameRegionSink, MemorySink};
use crate::backend::{Backend, FrameShape, RegionSink};
use crate::stream::{Archive, FrameKind, FrameReader, PartFile, refuse_source};
use crate::volume::write::{Payload, WriteFormat, write_file};
use crate::volume::{ByteLayout, DType, MappedField, Values, VecField, Volume};
use crate::{Control, Element, Error, Region, Result, Shape};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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
        decode_frame(&archive.frame(index), region, backend, &sink, control).map_err(|e| archive.named(e))?;
    }
    sink.finish()?;
    Ok(values)
}

/// Zeros, or an error instead of the end of the program.
fn allocate<T: Element>(count: usize) -> Result<Vec<T>> {
    // `vec!` of zeros takes untouched pages, but ends the program when there are none: ask first.
    Vec::<T>::new().try_reserve_exact(count).map_err(|_| {
        Error::invalid(format!("{count} values do not fit into memory")).remedy("decode a box, or bound the memory")
    })?;
    let mut values = vec![T::ZERO; count];
    use_huge_pages(&mut values);
    Ok(values)
}

/// Fresh memory is handed out page by page as it is written to, which for a large volume costs as much as decoding it. Larger
/// pages are a wish: nothing depends on it.
fn use_huge_pages<T>(values: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = values.as_mut_ptr_range();
        let (start, end) = ((bytes.start as usize).next_multiple_of(PAGE), bytes.end as usize / PAGE * PAGE);
        if end > start {
            // SAFETY: the pages lie inside `values`; the advice does not change what is in them.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

/// Decodes the part of `region` (of the volume) that lies in one frame.
fn decode_frame<T: Coded>(
    frame: &FrameReader,
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
    let (special, limits) = (frame.special::<T>()?, frame.limits::<T>()?);
    let sink = FrameRegionSink { sink, special, limits, corner: place.lo, control };
    // also where values are stored as they are: a damaged map is damage
    let (tolerance, params) = frame.coding()?;
    if frame.kind() == FrameKind::Plain {
        return read_plain(frame, &wanted, &sink);
    }
    let shape =
        FrameShape { n: place.shape(), tolerance: &tolerance, params: &params, max_abs: frame.extent().max_abs() };
    T::decode(backend, &shape, frame, &wanted, &sink, control)
}

/// Decodes a box as a volume of its own, with the names, units and geometry that the stream carries: in memory, or,
/// where that exceeds `memory` bytes, in a temporary file that is mapped. Returns it with the seconds of decoding.
///
/// # Errors
/// As [`decompress_region`], and when the temporary file cannot be written.
pub fn decompress_volume(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    memory: Option<u64>,
    control: &Control,
) -> Result<(Volume, f64)> {
    check_box(archive, region)?;
    let header = archive.header();
    let value_bytes = header.dtype.bytes();
    let bytes = (region.len() * value_bytes) as u64;
    control.begin(bytes);
    let provenance = archive.provenance()?;
    let started = Instant::now();
    let values = if memory.is_some_and(|m| bytes > m / 2) {
        let broken = |e| Error::io(&std::env::temp_dir(), &e);
        let mut file = tempfile::tempfile().map_err(broken)?;
        write_slabs(archive, region, backend, memory, control, &mut |values| file.write_all(values).map_err(broken))?;
        // SAFETY: nobody else knows the unnamed file.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(broken)?;
        let layout = ByteLayout::c_order(region.shape(), 0, header.dtype.into(), false);
        MappedField::new(Arc::new(map), layout)?.into_values()
    } else {
        let n = region.shape();
        match header.dtype {
            DType::F32 => Values::F32(Arc::new(VecField::new(decode_box(archive, region, backend, control)?, n))),
            DType::F64 => Values::F64(Arc::new(VecField::new(decode_box(archive, region, backend, control)?, n))),
        }
    };
    let first = 3 - usize::from(header.shape.rank);
    let shape = Shape::new(&region.shape()[first..])?;
    let mut meta = provenance.volume;
    meta.move_to_box(&region.lo[first..], &region.hi[first..]);
    Ok((Volume { shape, values, meta, missing: provenance.missing }, started.elapsed().as_secs_f64()))
}

/// Decodes a box into the file `out`, which appears whole or not at all.
///
/// With `memory`, works in slabs and keeps about within that many bytes; else whole frames are held.
///
/// # Errors
/// As [`decompress_region`], and when the format cannot hold the volume, `out` is the file that the stream was made of, or
/// writing fails.
pub fn decompress(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    out: (&Path, WriteFormat),
    memory: Option<u64>,
    control: &Control,
) -> Result<Report> {
    check_box(archive, region)?;
    let started = Instant::now();
    let (path, format) = out;
    let header = archive.header();
    let value_bytes = header.dtype.bytes() as u64;
    let original_bytes = region.len() as u64 * value_bytes;
    control.begin(original_bytes);
    let kernel_seconds = if format == WriteFormat::Raw {
        refuse_source(path, &archive.provenance()?.volume.source)?;
        let mut file = PartFile::create(path)?;
        let mut put = |values: &[u8]| file.file().write_all(values).map_err(|e| Error::io(path, &e));
        let seconds = write_slabs(archive, region, backend, memory, control, &mut put)?;
        file.commit()?;
        seconds
    } else {
        let (volume, seconds) = decompress_volume(archive, region, backend, memory, control)?;
        write_file(path, format, &Payload::volume(&volume))?;
        seconds
    };
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

/// Decodes a box slab by slab, in C order, as bytes; returns the seconds of decoding alone.
fn write_slabs(
    archive: &Archive,
    region: &Region,
    backend: &dyn Backend,
    memory: Option<u64>,
    control: &Control,
    put: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<f64> {
    let mut seconds = 0.0;
    for slab in slabs(archive, region, memory) {
        let started = Instant::now();
        let mut decoded = |values: &[u8]| {
            seconds += started.elapsed().as_secs_f64();
            put(values)
        };
        match archive.header().dtype {
            DType::F32 => decoded(bytemuck::cast_slice(&decode_box::<f32>(archive, &slab, backend, control)?))?,
            DType::F64 => decoded(bytemuck::cast_slice(&decode_box::<f64>(archive, &slab, backend, control)?))?,
        }
    }
    Ok(seconds)
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
