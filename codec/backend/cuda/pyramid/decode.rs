//! A frame, or a box of it, from bytes to values.

use super::super::gpu::Gpu;
use super::level::Worklist;
use super::{Pyramid, Stage};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::entropy::class::decode_chunk;
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols};
use crate::transform::pyramid::choice::Choice;
use crate::transform::pyramid::coarse::Parts;
use crate::transform::pyramid::frame::in_part;
use crate::transform::pyramid::{Real, last};
use crate::{Control, Error, ErrorKind, Region, Result};
use std::borrow::Cow;

/// Every chunk starts one byte before a multiple of this, as the encoder's chunks do: the payload is aligned.
const ALIGNMENT: usize = 16;

/// Decodes the part of a frame inside `region`, which lies in the frame and is not empty.
pub fn decode_frame<T: Real>(
    gpu: &Gpu,
    pyramid: &mut Pyramid<T>,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    pyramid.send_tiers(gpu, frame.tolerance, T::from_f64(frame.max_abs), false)?;
    pyramid.decode_corners(gpu, &source.coarse()?)?;
    control.check()?;
    if pyramid.stages.len() == 1 {
        let mut all = vec![T::ZERO; pyramid.stages[0].len()];
        // SAFETY: the frame is its own last array, just rebuilt in place.
        unsafe { gpu.download(pyramid.stages[0].values.address(gpu), &mut all)? };
        out.put(region, &crop(&all, frame.n, region))?;
    } else {
        pyramid.decode_box(gpu, source, region, out, control)?;
    }
    control.advance((region.len() * T::BYTES) as u64);
    Ok(())
}

fn crop<T: Real>(all: &[T], n: [usize; 3], region: &Region) -> Vec<T> {
    let mut values = Vec::with_capacity(region.len());
    for z in region.lo[0]..region.hi[0] {
        for y in region.lo[1]..region.hi[1] {
            let row = (z * n[1] + y) * n[2];
            values.extend_from_slice(&all[row + region.lo[2]..row + region.hi[2]]);
        }
    }
    values
}

impl<T: Real> Pyramid<T> {
    /// Rebuilds the last array and then all corner arrays (not the frame, unless it is the last array).
    fn decode_corners(&mut self, gpu: &Gpu, bytes: &[u8]) -> Result<()> {
        let mut parts = Parts { bytes };
        let last = self.stages.len() - 1;
        let part = parts.next()?;
        let stage = &mut self.stages[last];
        stage.values.reserve(gpu, stage.len() * T::BYTES)?;
        let list = Worklist::last(&stage.level, stage.len())?;
        let packets = vec![Cow::Borrowed(part)];
        stage.decode(gpu, &self.coder, list, &packets, &[0], "coarse part, last array")?;
        self.run_last(gpu, false)?;
        for k in (1..last).rev() {
            let stage = &mut self.stages[k];
            let Some(plan) = &stage.plan else { continue };
            let count: usize = plan.array.chunks().iter().product();
            if parts.bytes.len() / 3 < count {
                let message = format!("coarse part: {} bytes left for {count} corner chunks", parts.bytes.len());
                return Err(Error::truncated(message));
            }
            let packets = (0..count).map(|_| Ok(Cow::Borrowed(parts.next()?))).collect::<Result<Vec<_>>>()?;
            let list = Worklist::new(plan, &stage.level, 0..count)?;
            let numbers: Vec<usize> = (0..count).collect();
            stage.decode(gpu, &self.coder, list, &packets, &numbers, &format!("coarse part, corner array {k}"))?;
            let stage = &self.stages[k];
            let work = stage.work(gpu, false, stage.values.address(gpu), [0; 3], stage.n);
            self.run_tiles(gpu, k, &work)?;
        }
        match parts.bytes.len() {
            0 => Ok(()),
            more => Err(Error::corrupt(format!("coarse part: {more} bytes too many at its end"))),
        }
    }

    /// Queues the decoding of what `encode` left on the device, into memory of its own. The frame has tiles.
    pub fn decode_resident(&mut self, gpu: &Gpu) -> Result<()> {
        let last = self.stages.len() - 1;
        let bytes = self.stages[0].len() * T::BYTES;
        for k in (0..=last).rev() {
            let stage = &self.stages[k];
            stage.coding.decode(gpu, &self.coder, &stage.level, 8 * T::BYTES as u32)?;
            let n = stage.n;
            if k == last {
                self.run_last(gpu, false)?;
            } else {
                let result = if k == 0 { self.result.reserve(gpu, bytes)? } else { stage.values.address(gpu) };
                let work = self.stages[k].work(gpu, false, result, [0; 3], n);
                self.run_tiles(gpu, k, &work)?;
            }
        }
        Ok(())
    }

    /// Rebuilds a box of the frame; reads only the chunks that meet it.
    fn decode_box(
        &mut self,
        gpu: &Gpu,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<T>,
        control: &Control,
    ) -> Result<()> {
        let stage = &mut self.stages[0];
        let Some(plan) = &stage.plan else { return Ok(()) };
        let count: usize = plan.array.chunks().iter().product();
        if source.chunk_count() != count {
            let is = source.chunk_count();
            return Err(Error::corrupt(format!("chunk index: {is} chunks where the shape asks for {count}")));
        }
        let wanted: Vec<usize> =
            (0..count).filter(|&c| !plan.array.chunk_box(c).intersect(region).is_empty()).collect();
        let packets = wanted.iter().map(|&c| source.chunk(c)).collect::<Result<Vec<_>>>()?;
        control.check()?;
        let list = Worklist::new(plan, &stage.level, wanted.iter().copied())?;
        stage.decode(gpu, &self.coder, list, &packets, &wanted, "chunk")?;
        let address = self.result.reserve(gpu, region.len() * T::BYTES)?;
        let work = self.stages[0].work(gpu, false, address, region.lo, region.hi);
        self.run_tiles(gpu, 0, &work)?;
        // SAFETY: reserved for exactly the box.
        unsafe { self.staging.receive(gpu, address, region, out) }
    }
}

impl<T: Real> Stage<T> {
    /// Sends the bytes of the chunks of `list` and rebuilds their symbols. `numbers` and `part` name them in errors.
    fn decode(
        &mut self,
        gpu: &Gpu,
        coder: &super::Coder,
        mut list: Worklist,
        packets: &[Cow<[u8]>],
        numbers: &[usize],
        part: &str,
    ) -> Result<()> {
        self.values.reserve(gpu, if part == "chunk" { 0 } else { self.len() * T::BYTES })?;
        let bits = 8 * T::BYTES as u32;
        self.coding.prepare(gpu, &list, self.level.slots, T::BYTES, false)?;
        let (mut bytes, mut choices) = (Vec::new(), Vec::new());
        for (i, packet) in packets.iter().enumerate() {
            let named = |e| {
                in_part(
                    e,
                    &if numbers.len() > 1 || part == "chunk" { format!("{part} {}", numbers[i]) } else { part.into() },
                )
            };
            let payload = match &self.plan {
                None => &packet[..],
                Some(_) => {
                    let (&choice, payload) = packet.split_first().ok_or_else(|| named(Error::truncated("no bytes")))?;
                    if Choice::from_byte(choice).is_none() {
                        return Err(named(Error::corrupt(format!("{choice} names no points and axis weights"))));
                    }
                    choices.push(choice);
                    payload
                }
            };
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            list.chunks[i].offset = bytes.len() as u64;
            list.chunks[i].bytes = payload.len() as u32;
            bytes.extend_from_slice(payload);
        }
        self.coding.reserve_output(gpu, bytes.len() as u64)?;
        self.coding.set_output(gpu, &bytes)?;
        self.coding.set_choices(gpu, &choices)?;
        self.coding.set_chunks(gpu, &list.chunks)?;
        self.coding.decode(gpu, coder, &self.level, bits)?;
        let (chunks, _) = self.coding.results(gpu)?;
        match chunks.iter().position(|c| c.error != 0) {
            None => Ok(()),
            Some(i) => {
                let at = list.chunks[i].offset as usize;
                let payload = &bytes[at..at + list.chunks[i].bytes as usize];
                Err(in_part(self.explain(numbers[i], payload), &format!("{part} {}", numbers[i])))
            }
        }
    }

    /// What is wrong with a payload that the device refused: the CPU's decoder has the words for it.
    fn explain(&self, chunk: usize, payload: &[u8]) -> Error {
        let alone: ChunkLayout;
        let layout = match &self.plan {
            Some(plan) => &plan.chunk(&plan.array.chunk_box(chunk)).layout,
            None => {
                alone = last::layout::<T>(self.len());
                &alone
            }
        };
        match decode_chunk(layout, payload, &mut ChunkSymbols::default()) {
            Err(error) => error,
            Ok(()) => Error::new(ErrorKind::Device, "the GPU could not decode it, although the CPU can")
                .remedy("use --device cpu, and please report this"),
        }
    }
}
