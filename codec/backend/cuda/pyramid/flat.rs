//! Flat arrays of 32-bit symbols through the class coder: the symbols of the hybrid mode.

use super::super::buffer::Buffer;
use super::super::device_struct::device_struct;
use super::super::gpu::Gpu;
use super::arguments::Chunk;
use super::coder::Coder;
use super::coding::Coding;
use super::level::{Gathering, Level, Shapes, Worklist};
use crate::Result;
use crate::entropy::class::flat::layout;
use std::collections::HashMap;
use std::ops::Range;

device_struct! {
    pub struct ClassPart {
        pub symbol: u64,
        pub place: u64,
        pub count: u32,
        pub unused: u32,
    }
    pub struct FlatArguments {
        pub symbols: u64,
        pub q: u64,
        pub delta: u64,
        pub parts: u64,
        pub stored: u64,
        pub part_count: u32,
        pub unused: u32,
    }
}

/// Bits of a symbol.
const BITS: u32 = 32;
/// Blocks of threads for a payload, as in hybrid_class.cu.
const SHARES: u32 = 16;
/// Every payload starts one byte before a multiple of this: see the chunks of the pyramid.
const ALIGNMENT: usize = 16;

/// Symbols of one payload on the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatPart {
    /// Number of the first symbol, a multiple of 4.
    pub symbol: u64,
    pub count: usize,
}

/// Memory of the payloads of one frame, and what follows from their sizes.
#[derive(Default)]
pub struct Flat {
    parts: Vec<FlatPart>,
    coder: Option<Coder>,
    shapes: Option<Shapes>,
    coding: Coding,
    device_parts: Buffer,
    stored: Buffer,
}

impl Flat {
    /// Reserves memory for payloads and sends their lists.
    pub fn prepare(&mut self, gpu: &Gpu, parts: &[FlatPart], encode: bool) -> Result<()> {
        if self.coder.is_none() {
            self.coder = Some(Coder::new(gpu)?);
        }
        let (mut gathering, mut list) = (Gathering::default(), Worklist::default());
        let mut levels: HashMap<usize, Level> = HashMap::new();
        let mut places = Vec::with_capacity(parts.len());
        for &FlatPart { symbol, count } in parts {
            let layout = layout(count);
            let level = levels.entry(count).or_insert_with(|| gathering.add_units(&layout));
            places.push(ClassPart { symbol, place: list.nodes, count: count as u32, unused: 0 });
            list.add_flat(level, &layout);
        }
        let shapes = gathering.upload(gpu)?;
        self.coding.prepare(gpu, &list.close()?, shapes.slots, BITS as usize / 8, encode)?;
        self.shapes = Some(shapes);
        self.parts = parts.to_vec();
        let address = self.device_parts.reserve(gpu, size_of_val(&places[..]))?;
        self.stored.reserve(gpu, 4 * parts.len())?;
        // SAFETY: just reserved.
        unsafe { gpu.upload(address, &places) }
    }

    fn arguments(&self, gpu: &Gpu, symbols: u64) -> FlatArguments {
        FlatArguments {
            symbols,
            q: self.coding.q(gpu),
            delta: self.coding.delta(gpu),
            parts: self.device_parts.address(gpu),
            stored: self.stored.address(gpu),
            part_count: self.parts.len() as u32,
            unused: 0,
        }
    }
    fn grid(&self, gpu: &Gpu) -> u32 {
        (self.parts.len() as u32).saturating_mul(SHARES).min(gpu.multiprocessors * 8)
    }

    /// Queues everything from symbols to bytes.
    pub fn encode(&self, gpu: &Gpu, symbols: u64) -> Result<()> {
        let (Some(coder), Some(shapes)) = (&self.coder, &self.shapes) else { return Ok(()) };
        self.coding.reset(gpu, 0)?;
        // SAFETY: reserved by `prepare`; the caller's symbols cover all payloads.
        unsafe { gpu.launch("hybrid_to_class", self.grid(gpu), 256, 0, &self.arguments(gpu, symbols))? };
        self.coding.encode(gpu, coder, shapes, BITS)
    }

    /// Waits, and returns all bytes and where each payload stands in them.
    pub fn collect(&mut self, gpu: &Gpu) -> Result<(Vec<u8>, Vec<Range<usize>>)> {
        let (chunks, len) = self.coding.results(gpu)?;
        if let (false, Some(coder), Some(shapes)) = (self.coding.had_room(len), &self.coder, &self.shapes) {
            self.coding.reserve_output(gpu, len)?;
            self.coding.assemble(gpu, coder, shapes, BITS)?;
        }
        let place = |c: &Chunk| c.offset as usize..c.offset as usize + c.bytes as usize;
        Ok((self.coding.output(gpu, len)?, chunks.iter().map(place).collect()))
    }

    /// Sends payloads, in the order of the parts; those that are missing at the end are empty.
    pub fn send(&mut self, gpu: &Gpu, payloads: &[&[u8]]) -> Result<()> {
        let mut chunks = self.coding.initial().to_vec();
        let mut bytes = Vec::new();
        for (chunk, payload) in chunks.iter_mut().zip(payloads) {
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            (chunk.offset, chunk.bytes) = (bytes.len() as u64, payload.len() as u32);
            bytes.extend_from_slice(payload);
        }
        self.coding.reserve_output(gpu, bytes.len() as u64)?;
        self.coding.set_output(gpu, &bytes)?;
        self.coding.set_chunks(gpu, &chunks)
    }

    /// Queues everything from bytes to symbols.
    pub fn decode(&self, gpu: &Gpu, symbols: u64) -> Result<()> {
        let (Some(coder), Some(shapes)) = (&self.coder, &self.shapes) else { return Ok(()) };
        self.coding.decode(gpu, coder, shapes, BITS)?;
        // SAFETY: reserved by `prepare`; the caller's symbols cover all payloads.
        unsafe {
            gpu.fill(self.stored.address(gpu), 0, 4 * self.parts.len())?;
            gpu.launch("hybrid_from_class", self.grid(gpu), 256, 0, &self.arguments(gpu, symbols))
        }
    }

    /// Waits; of each payload, whether it was damaged and how many symbols stand for a value stored exactly.
    pub fn results(&self, gpu: &Gpu) -> Result<Vec<(bool, u32)>> {
        let (chunks, _) = self.coding.results(gpu)?;
        let mut stored = vec![0u32; self.parts.len()];
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.stored.address(gpu), &mut stored)? };
        Ok(chunks.iter().map(|c| c.error != 0).zip(stored).collect())
    }
}
