//! A frame, or a box of it, from bytes to values.

use super::super::gpu::Gpu;
use super::level::Worklist;
use super::{Pyramid, Stage, Work};
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

/// The bytes of one chunk.
struct Packet<'a> {
    bytes: Cow<'a, [u8]>,
    stage: usize,
    /// Which chunk of its array.
    chunk: usize,
}

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
    let coarse = source.coarse()?;
    let packets = pyramid.packets(&coarse, source, region)?;
    control.check()?;
    pyramid.send_tiers(gpu, frame.tolerance, T::from_f64(frame.max_abs), false)?;
    pyramid.decode_packets(gpu, &packets)?;
    if pyramid.stages.len() == 1 {
        pyramid.run_last(gpu, false)?;
        let mut all = vec![T::ZERO; pyramid.stages[0].len()];
        // SAFETY: the frame is its own last array, just rebuilt in place.
        unsafe { gpu.download(pyramid.stages[0].values.address(gpu), &mut all)? };
        out.put(region, &crop(&all, frame.n, region))?;
    } else {
        let address = pyramid.result.reserve(gpu, region.len() * T::BYTES)?;
        pyramid.rebuild(gpu, &Work { encode: false, result: address, lo: region.lo, hi: region.hi })?;
        // SAFETY: reserved for exactly the box.
        unsafe { pyramid.staging.receive(gpu, address, region, out)? };
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
    /// All chunks that a box of the frame needs, and lists them as the work to do: those of the last array first, those of the
    /// frame that meet the box at the end.
    fn packets<'a>(
        &mut self,
        coarse: &'a [u8],
        source: &'a dyn FrameSource,
        region: &Region,
    ) -> Result<Vec<Packet<'a>>> {
        let count: usize = self.stages[1..].iter().map(Stage::chunk_count).sum();
        if coarse.len() / 3 + 1 < count {
            return Err(Error::truncated(format!("coarse part: {} bytes for {count} corner chunks", coarse.len())));
        }
        let mut parts = Parts { bytes: coarse };
        let mut packets = Vec::new();
        for (stage, chunks) in self.stages.iter().enumerate().rev().map(|(k, s)| (k, s.chunk_count())) {
            let of_coarse_part = stage > 0 || self.stages.len() == 1;
            for chunk in 0..if of_coarse_part { chunks } else { 0 } {
                packets.push(Packet { bytes: Cow::Borrowed(parts.next()?), stage, chunk });
            }
        }
        if !parts.bytes.is_empty() {
            return Err(Error::corrupt(format!("coarse part: {} bytes too many at its end", parts.bytes.len())));
        }
        let Some(plan) = &self.stages[0].plan else { return Ok(packets) };
        let (is, count) = (source.chunk_count(), self.stages[0].chunk_count());
        if is != count {
            return Err(Error::corrupt(format!("chunk index: {is} chunks where the shape asks for {count}")));
        }
        for chunk in (0..count).filter(|&c| !plan.array.chunk_box(c).intersect(region).is_empty()) {
            packets.push(Packet { bytes: source.chunk(chunk)?, stage: 0, chunk });
        }
        Ok(packets)
    }

    /// Sends the bytes of all chunks and turns them into symbols.
    fn decode_packets(&mut self, gpu: &Gpu, packets: &[Packet]) -> Result<()> {
        let mut list = Worklist::default();
        for (k, stage) in self.stages.iter_mut().enumerate().rev() {
            stage.values.reserve(gpu, if stage.plan.is_none() { stage.len() * T::BYTES } else { 0 })?;
            stage.list(&mut list, packets.iter().filter(|p| p.stage == k).map(|p| p.chunk));
        }
        let mut list = list.close()?;
        self.coding.prepare(gpu, &list, self.shapes.slots, T::BYTES, false)?;
        let (mut bytes, mut choices) = (Vec::new(), Vec::new());
        for (packet, chunk) in packets.iter().zip(&mut list.chunks) {
            let (choice, payload) =
                self.stages[packet.stage].split(&packet.bytes).map_err(|e| self.named(packet, e))?;
            choices.push(choice);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            chunk.offset = bytes.len() as u64;
            chunk.bytes = payload.len() as u32;
            bytes.extend_from_slice(payload);
        }
        self.coding.reserve_output(gpu, bytes.len() as u64)?;
        self.coding.set_output(gpu, &bytes)?;
        self.coding.set_choices(gpu, &choices)?;
        self.coding.set_chunks(gpu, &list.chunks)?;
        self.coding.decode(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32)?;
        let (chunks, _) = self.coding.results(gpu)?;
        match chunks.iter().position(|c| c.error != 0) {
            None => Ok(()),
            Some(i) => {
                let (packet, at) = (&packets[i], list.chunks[i].offset as usize);
                let payload = &bytes[at..at + list.chunks[i].bytes as usize];
                Err(self.named(packet, self.stages[packet.stage].explain(packet.chunk, payload)))
            }
        }
    }

    /// An error of a packet, with the part of the stream that it belongs to.
    fn named(&self, packet: &Packet, error: Error) -> Error {
        let Packet { stage, chunk, .. } = packet;
        in_part(
            error,
            &match (stage, &self.stages[*stage].plan) {
                (_, None) => "coarse part, last array".into(),
                (0, _) => format!("chunk {chunk}"),
                _ => format!("coarse part, corner array {stage}, chunk {chunk}"),
            },
        )
    }

    /// Queues everything from symbols to values, the frame's as `frame` says. The frame has tiles.
    fn rebuild(&mut self, gpu: &Gpu, frame: &Work) -> Result<()> {
        self.run_last(gpu, false)?;
        for k in (1..self.stages.len() - 1).rev() {
            let stage = &self.stages[k];
            let work = stage.work(false, stage.values.address(gpu));
            self.run_tiles(gpu, k, &work)?;
        }
        self.run_tiles(gpu, 0, frame)
    }

    /// Queues the decoding of what `encode` left on the device, into memory of its own. The frame has tiles.
    pub fn decode_resident(&mut self, gpu: &Gpu) -> Result<()> {
        self.coding.decode(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32)?;
        let result = self.result.reserve(gpu, self.stages[0].len() * T::BYTES)?;
        let work = self.stages[0].work(false, result);
        self.rebuild(gpu, &work)
    }
}

impl<T: Real> Stage<T> {
    /// The choice of a chunk (any, for the last array, which has none) and its payload.
    fn split<'a>(&self, packet: &'a [u8]) -> Result<(u8, &'a [u8])> {
        if self.plan.is_none() {
            return Ok((0, packet));
        }
        let (&choice, payload) = packet.split_first().ok_or_else(|| Error::truncated("no bytes"))?;
        match Choice::from_byte(choice) {
            Some(_) => Ok((choice, payload)),
            None => Err(Error::corrupt(format!("{choice} names no points and axis weights"))),
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
