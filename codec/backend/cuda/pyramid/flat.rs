//! Flat arrays of 32-bit symbols through the class coder: the symbols of the hybrid mode.

use super::super::gpu::Gpu;
use super::class_arguments::Chunk;
use super::coder::Coder;
use super::coding::Coding;
use super::level::{Gathering, Level, Shapes, Worklist};
use crate::Result;
use crate::entropy::class::flat::layout;
use std::collections::HashMap;
use std::ops::Range;

/// Bits of a symbol.
const BITS: u32 = 32;
/// Every payload starts one byte before a multiple of this: see the chunks of the pyramid.
const ALIGNMENT: usize = 16;

/// Symbols of one payload on the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatPart {
    /// Number of the first symbol: a multiple of 8, the next one behind the payload before.
    pub symbol: u64,
    pub count: usize,
}

/// Memory of the payloads of one frame, and what follows from their sizes.
#[derive(Default)]
pub struct Flat {
    coder: Option<Coder>,
    shapes: Option<Shapes>,
    coding: Coding,
}

impl Flat {
    /// Reserves memory for payloads and sends their lists.
    pub fn prepare(&mut self, gpu: &Gpu, parts: &[FlatPart], encode: bool) -> Result<()> {
        if self.coder.is_none() {
            self.coder = Some(Coder::new(gpu)?);
        }
        let (mut gathering, mut list) = (Gathering::default(), Worklist::default());
        let mut levels: HashMap<usize, Level> = HashMap::new();
        for &FlatPart { symbol, count } in parts {
            let layout = layout(count);
            let level = levels.entry(count).or_insert_with(|| gathering.add_units(&layout));
            debug_assert_eq!(symbol, list.nodes, "symbols stand where the coder has them");
            list.add_flat(level, &layout);
        }
        let shapes = gathering.upload(gpu)?;
        self.coding.flat = true;
        self.coding.prepare(gpu, &list.close()?, shapes.slots, BITS as usize / 8, encode)?;
        self.shapes = Some(shapes);
        Ok(())
    }

    /// Addresses of the symbols of 16 bits, and of the zigzags of the others at the same places.
    pub fn symbols(&self, gpu: &Gpu) -> [u64; 2] {
        [self.coding.q(gpu), self.coding.delta(gpu)]
    }

    /// Makes the payloads ready to be encoded, before [`Flat::encode`], and sets `words` words at `counts` to 0.
    pub fn reset(&self, gpu: &Gpu, (counts, words): (u64, u32)) -> Result<()> {
        self.coding.reset_with(gpu, 0, (counts, words))
    }
    /// Queues everything from symbols to bytes.
    pub fn encode(&self, gpu: &Gpu) -> Result<()> {
        let (Some(coder), Some(shapes)) = (&self.coder, &self.shapes) else { return Ok(()) };
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
    pub fn decode(&self, gpu: &Gpu) -> Result<()> {
        let (Some(coder), Some(shapes)) = (&self.coder, &self.shapes) else { return Ok(()) };
        self.coding.decode(gpu, coder, shapes, BITS)
    }

    /// Waits; of each payload, whether it was damaged.
    pub fn damaged(&self, gpu: &Gpu) -> Result<Vec<bool>> {
        let (chunks, _) = self.coding.results(gpu)?;
        Ok(chunks.iter().map(|c| c.error != 0).collect())
    }
}
