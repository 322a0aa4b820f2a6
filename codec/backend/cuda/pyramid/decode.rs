//! A frame, or a box of it, from bytes to values.

use super::super::gpu::Gpu;
use super::class_arguments::Chunk;
use super::groups::Part;
use super::{Pyramid, Stage};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols};
use crate::params::{Order, Points};
use crate::transform::pyramid::choice::Choice;
use crate::transform::pyramid::coarse::Parts;
use crate::transform::pyramid::frame::in_part;
use crate::transform::pyramid::{Real, last, packet};
use crate::{Error, ErrorKind, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// Every chunk starts one byte before a multiple of this, as the encoder's chunks do: the payload is aligned.
const ALIGNMENT: usize = 16;

/// The bytes of one chunk.
pub struct Packet<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub stage: usize,
    /// Which chunk of its array.
    pub chunk: usize,
}

/// Payloads on their way to the device.
pub struct Sent {
    bytes: Vec<u8>,
    chunks: Vec<Chunk>,
}

impl<T: Real> Pyramid<T> {
    /// All chunks of the coarse part, in the order of its list.
    pub fn coarse_packets<'a>(&self, coarse: &'a [u8]) -> Result<Vec<Packet<'a>>> {
        let first = (self.stages.len() - 1).min(1);
        let count: usize = self.stages[first..].iter().map(Stage::chunk_count).sum();
        if coarse.len() / 3 + 1 < count {
            return Err(Error::truncated(format!("coarse part: {} bytes for {count} corner chunks", coarse.len())));
        }
        let mut parts = Parts { bytes: coarse };
        let mut packets = Vec::with_capacity(count);
        for stage in (first..self.stages.len()).rev() {
            for chunk in 0..self.stages[stage].chunk_count() {
                packets.push(Packet { bytes: Cow::Borrowed(parts.next()?), stage, chunk });
            }
        }
        match parts.bytes.len() {
            0 => Ok(packets),
            more => Err(Error::corrupt(format!("coarse part: {more} bytes too many at its end"))),
        }
    }

    /// Sends the bytes of the chunks that the coding is prepared for, and queues what turns them into symbols.
    pub fn queue_packets(&mut self, gpu: &Gpu, packets: &[Packet]) -> Result<Sent> {
        let mut chunks = self.coding.initial().to_vec();
        let (mut choices, mut payloads) = (Vec::with_capacity(packets.len()), Vec::with_capacity(packets.len()));
        let mut end = 0usize;
        for (packet, chunk) in packets.iter().zip(&mut chunks) {
            let (choice, payload) = self.split(packet).map_err(|e| self.named(packet, e))?;
            choices.push(choice);
            let start = end.next_multiple_of(ALIGNMENT);
            (chunk.offset, chunk.bytes) = (start as u64, payload.len() as u32);
            end = start + payload.len();
            payloads.push(payload);
        }
        let bytes = join(&chunks, &payloads, end);
        self.coding.reserve_output(gpu, bytes.len() as u64)?;
        self.coding.set_output(gpu, &bytes)?;
        self.coding.set_choices(gpu, &choices)?;
        self.coding.set_chunks(gpu, &chunks)?;
        self.decode_symbols(gpu)?;
        Ok(Sent { bytes, chunks })
    }

    /// Waits, and refuses what the device found damaged.
    pub fn check(&self, gpu: &Gpu, sent: &Sent, packets: &[Packet]) -> Result<()> {
        let (chunks, _) = self.coding.results(gpu)?;
        let Some(i) = chunks.iter().position(|c| c.error != 0) else { return Ok(()) };
        let (packet, at) = (&packets[i], sent.chunks[i].offset as usize);
        let payload = &sent.bytes[at..at + sent.chunks[i].bytes as usize];
        // the planes coder's payloads begin with the choice
        let payload = if self.planes.is_some() { &payload[1..] } else { payload };
        Err(self.named(packet, self.explain(packet, payload)))
    }

    /// The choice of a chunk (any, where it has none) and the bytes that its kernels take.
    fn split<'a>(&self, packet: &'a Packet) -> Result<(u8, &'a [u8])> {
        let Some(planes) = &self.planes else { return self.stages[packet.stage].split(&packet.bytes) };
        match packet.bytes.first() {
            None => Err(Error::truncated("no bytes")),
            Some(&choice) if choice == planes.choice => Ok((choice, &packet.bytes)),
            Some(choice) => Err(Error::corrupt(format!("{choice} is not the choice of a chunk of planes"))),
        }
    }

    /// What is wrong with a payload that the device refused: the CPU's decoder has the words for it.
    fn explain(&self, packet: &Packet, payload: &[u8]) -> Error {
        let stage = &self.stages[packet.stage];
        let coding = packet::Coding { coder: self.key.2, points: Points::Auto, order: Order::Axis };
        let alone: ChunkLayout;
        let layout = match &stage.plan {
            Some(plan) => {
                let choice = packet.bytes.first().and_then(|&byte| Choice::from_byte(byte)).unwrap_or_default();
                plan.chunk(&plan.array.chunk_box(packet.chunk)).symbols(plan.walk(choice))
            }
            None => {
                alone = last::symbols_layout::<T>(coding, stage.len());
                &alone
            }
        };
        match coding.decode(layout, payload, &mut ChunkSymbols::default()) {
            Err(error) => error,
            Ok(()) => Error::new(ErrorKind::Device, "the GPU could not decode it, although the CPU can")
                .remedy("use --device cpu, and please report this"),
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

    /// Queues the way from symbols to the values of all corner arrays (of the frame, where it is its own last array).
    pub fn rebuild_corners(&mut self, gpu: &Gpu) -> Result<()> {
        if let Some(planes) = self.planes.take() {
            let done = self.rebuild_planes_corners(gpu, &planes);
            self.planes = Some(planes);
            return done;
        }
        self.run_last(gpu, false)?;
        self.rebuild_corner_tiles(gpu)
    }

    fn rebuild_corner_tiles(&mut self, gpu: &Gpu) -> Result<()> {
        for k in (1..self.stages.len() - 1).rev() {
            let stage = &self.stages[k];
            let work = stage.work(false, stage.values.address(gpu));
            self.run_tiles(gpu, k, &work)?;
        }
        Ok(())
    }

    /// Queues the decoding of what `encode` left on the device, into memory of its own. The frame has tiles.
    pub fn decode_resident(&mut self, gpu: &Gpu) -> Result<()> {
        let result = self.result.reserve(gpu, self.stages[0].len() * T::BYTES)?;
        let work = self.stages[0].work(false, result);
        if let Some(groups) = &self.groups {
            self.parse_groups(gpu, groups)?;
            // The corner arrays take few multiprocessors at a time: the frame's streams are unpacked beside them. In halves, since a tile that takes a
            // whole multiprocessor would wait until all are done.
            let beside = gpu.fork()?;
            let corners = self.unpack_groups(gpu, &gpu.stream, groups, Part::Corners);
            let first = self.unpack_groups(gpu, &beside, groups, Part::First);
            let last = self.run_last(gpu, false);
            let beside = gpu.fork()?;
            let tiles = self.rebuild_corner_tiles(gpu);
            let second = self.groups.as_ref().map_or(Ok(()), |g| self.unpack_groups(gpu, &beside, g, Part::Second));
            gpu.join(&beside)?;
            [corners, first, last, tiles, second].into_iter().collect::<Result<()>>()?;
        } else {
            self.decode_symbols(gpu)?;
            self.rebuild_corners(gpu)?;
        }
        self.run_tiles(gpu, 0, &work)
    }
}

/// Payloads at the places of their chunks, by several threads.
fn join(chunks: &[Chunk], payloads: &[&[u8]], end: usize) -> Vec<u8> {
    let mut bytes = vec![0; end];
    let mut places = Vec::with_capacity(payloads.len());
    let (mut rest, mut at) = (&mut bytes[..], 0);
    for (chunk, payload) in chunks.iter().zip(payloads) {
        let (_, later) = rest.split_at_mut(chunk.offset as usize - at);
        let (place, later) = later.split_at_mut(payload.len());
        places.push((place, payload));
        (rest, at) = (later, chunk.offset as usize + payload.len());
    }
    places.into_par_iter().for_each(|(place, payload)| place.copy_from_slice(payload));
    bytes
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
}
