//! Frames that are stored as plain values.

use crate::backend::{FrameSource, RegionSink};
use crate::stream::{FrameReader, STORED_CHUNK_BYTES};
use crate::{Element, Error, Region, Result};

/// Hands out the rows of `wanted` (in the frame).
pub fn read_plain<T: Element>(frame: &FrameReader, wanted: &Region, sink: &dyn RegionSink<T>) -> Result<()> {
    let n = frame.region().shape();
    let mut chunks = PlainChunks::<T>::new(frame)?;
    let mut row = vec![T::ZERO; wanted.shape()[2]];
    for z in wanted.lo[0]..wanted.hi[0] {
        for y in wanted.lo[1]..wanted.hi[1] {
            chunks.read((z * n[1] + y) * n[2] + wanted.lo[2], &mut row)?;
            let place = Region { lo: [z, y, wanted.lo[2]], hi: [z + 1, y + 1, wanted.hi[2]] };
            sink.put(&place, &row)?;
        }
    }
    Ok(())
}

/// The chunks of one frame, the last one used at hand.
struct PlainChunks<'a, T> {
    frame: &'a FrameReader<'a>,
    total: usize,
    loaded: Option<(usize, Vec<T>)>,
}

impl<'a, T: Element> PlainChunks<'a, T> {
    const PER_CHUNK: usize = STORED_CHUNK_BYTES / T::BYTES;

    fn new(frame: &'a FrameReader<'a>) -> Result<Self> {
        let total = frame.region().len();
        if frame.chunk_count() != total.div_ceil(Self::PER_CHUNK) {
            return Err(Error::corrupt("the directory is damaged: a plain frame has another number of chunks"));
        }
        Ok(Self { frame, total, loaded: None })
    }
    /// Copies values from `start` (in C order) on.
    fn read(&mut self, mut start: usize, mut out: &mut [T]) -> Result<()> {
        while !out.is_empty() {
            let offset = start % Self::PER_CHUNK;
            let values = self.chunk(start / Self::PER_CHUNK)?;
            let take = out.len().min(values.len() - offset);
            let (head, tail) = out.split_at_mut(take);
            head.copy_from_slice(&values[offset..offset + take]);
            (out, start) = (tail, start + take);
        }
        Ok(())
    }
    fn chunk(&mut self, index: usize) -> Result<&[T]> {
        if self.loaded.as_ref().is_none_or(|(loaded, _)| *loaded != index) {
            let bytes = self.frame.chunk(index)?;
            let count = Self::PER_CHUNK.min(self.total - index * Self::PER_CHUNK);
            if bytes.len() != count * T::BYTES {
                return Err(Error::corrupt(format!("chunk {index} of a plain frame has another length")));
            }
            let values = bytes.chunks_exact(T::BYTES).map(bytemuck::pod_read_unaligned).collect();
            self.loaded = Some((index, values));
        }
        Ok(self.loaded.as_ref().map_or(&[], |(_, values)| values))
    }
}
