//! A frame from values to bytes.

use super::super::gpu::{Gpu, failed};
use super::super::reduce;
use super::arguments::{HuffmanPart, HybridState};
use super::{Found, Hybrid, LIST, Outcome};
use crate::backend::{FrameInput, FrameSink, StageTimes};
use crate::entropy::huffman::Codebook;
use crate::transform::hybrid::chunk::Draft;
use crate::transform::hybrid::coarse::{PartCoarsest, Payload, write_coded};
use crate::transform::hybrid::encode::send;
use crate::transform::hybrid::frame::Frame;
use crate::transform::hybrid::symbols::Drafted;
use crate::volume::Field;
use crate::{Control, Element, Entropy, Region, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Encodes one frame; the tolerance map fits its extents. Nothing reaches the sink when it is left to the CPU. Adds the
/// milliseconds of the kernels to `kernel_ms`.
pub fn encode_frame<T: Element>(
    gpu: &Gpu,
    hybrid: &mut Hybrid<T>,
    input: &FrameInput<T>,
    sink: &mut dyn FrameSink,
    control: &Control,
    kernel_ms: &mut f64,
) -> Result<Outcome> {
    hybrid.begin(gpu, input.field)?;
    control.check()?;
    let frame = Frame::new(input.field.extents(), input.tolerance, input.max_abs.to_f64(), input.params, None);
    hybrid.send_tolerances(gpu, &frame, input.tolerance)?;
    *kernel_ms += gpu.time(|| hybrid.encode(gpu))?;
    let Some(Encoded { coarse, chunks }) = hybrid.collect(gpu, &frame, input)? else {
        return Ok(Outcome::LeftToCpu("details of the coarse levels that are stored exactly, or too many patches"));
    };
    control.check()?;
    send(&frame, input, &coarse, chunks, sink)?;
    control.advance((hybrid.len_of(0) * T::BYTES) as u64);
    Ok(Outcome::Done)
}

/// Milliseconds of the stages of the encoder.
pub fn stage_times<T: Element>(gpu: &Gpu, hybrid: &mut Hybrid<T>, input: &FrameInput<T>) -> Result<StageTimes> {
    hybrid.begin(gpu, input.field)?;
    let frame = Frame::new(input.field.extents(), input.tolerance, input.max_abs.to_f64(), input.params, None);
    let mut times = StageTimes::default();
    hybrid.send_tolerances(gpu, &frame, input.tolerance)?;
    for (kernel, ms) in gpu.profile(|| hybrid.encode(gpu))? {
        let finest = ["hybrid_sample_f", "hybrid_coarsen_", "hybrid_finest", "hybrid_two", "hybrid_quantize_f"];
        match kernel {
            _ if finest.iter().any(|name| kernel.starts_with(name)) => times.local += ms,
            _ if kernel.starts_with("hybrid") => times.coarse += ms,
            _ => times.lossless += ms,
        }
    }
    Ok(times)
}

struct Encoded {
    coarse: Vec<u8>,
    /// `None` where plain values are no longer.
    chunks: Vec<Option<Vec<u8>>>,
}

impl<T: Element> Hybrid<T> {
    /// Reserves all memory and sends the lists and the values.
    pub fn begin(&mut self, gpu: &Gpu, field: &dyn Field<T>) -> Result<()> {
        let bytes = self.len_of(0) * T::BYTES;
        let frame = self.arrays[0].reserve(gpu, bytes)?;
        self.reserve_levels(gpu, self.layout.symbols)?;
        if !self.plan.chunked() {
            self.result.reserve(gpu, bytes)?;
        }
        let cells = self.cells.reserve(gpu, size_of_val(&self.layout.cells[..]))?;
        match self.entropy() {
            Entropy::Huffman => {
                self.huffman.prepare(gpu, &self.layout, true)?;
                // Payloads beyond the size of the values are not used.
                self.huffman.reserve_data(gpu, bytes + 8 * self.layout.segments.len() + 4096)?;
            }
            Entropy::Class => self.class.prepare(gpu, &self.layout.flat, true)?,
        }
        // SAFETY: just reserved.
        unsafe {
            gpu.upload(cells, &self.layout.cells)?;
        }
        gpu.finish()?;
        // SAFETY: as above; at rest.
        let sent = unsafe { gpu.send(frame, field, &Region { lo: [0; 3], hi: field.extents() })? };
        gpu.stream.wait(&sent).map_err(failed("waiting for values"))
    }

    /// Queues the search for the largest |u| of the frame on the device.
    pub fn max_abs(&mut self, gpu: &Gpu) -> Result<u64> {
        let (frame, count) = (self.arrays[0].address(gpu), self.len_of(0));
        // SAFETY: `begin` left the whole frame there.
        unsafe { reduce::queue_max_abs::<T>(gpu, &mut self.reduced, frame, count) }
    }

    /// Addresses of the frame and of what `decode_resident` made of it.
    pub fn volumes(&self, gpu: &Gpu) -> [u64; 2] {
        [self.arrays[0].address(gpu), self.result.address(gpu)]
    }

    /// Queues the whole encoder, after [`Hybrid::send_tolerances`].
    pub fn encode(&mut self, gpu: &Gpu) -> Result<()> {
        match self.entropy() {
            Entropy::Huffman => self.clear_state(gpu).map(drop)?,
            Entropy::Class => {
                let words = size_of::<HybridState>() / 4;
                let state = self.state.reserve(gpu, 4 * words)?;
                self.class.reset(gpu, (state, words as u32))?;
            }
        }
        let chunked = self.plan.chunked();
        if chunked && !self.samples() {
            self.coarsen(gpu)?;
        }
        let levels = self.layout.levels.clone();
        self.decompose(gpu, &levels)?;
        if self.takes_two_levels() {
            self.quantize_two_levels(gpu, levels[0])?;
        } else if chunked {
            self.quantize_finest(gpu)?;
        } else {
            self.find_missed(gpu, self.result.address(gpu))?;
        }
        self.encode_symbols(gpu)
    }

    /// Waits, and puts the parts of the frame together; `None` when the CPU must do it.
    fn collect(&mut self, gpu: &Gpu, frame: &Frame<T>, input: &FrameInput<T>) -> Result<Option<Encoded>> {
        let state = self.download_state(gpu)?;
        let found = [state.stored_count, state.missed_count].map(|n| n as usize);
        if state.refused != 0 || found.iter().any(|&n| n > LIST) {
            return Ok(None);
        }
        let Some(coded) = self.coded(gpu)? else { return Ok(None) };
        let mut levels: Vec<Payload> =
            (self.layout.chunks..self.layout.parts.len()).map(|i| coded.payload(i)).collect();
        let mut coarsest = levels.pop().map(PartCoarsest::Quantized);
        if state.coarsest_stored != 0 {
            coarsest = Some(PartCoarsest::Exact(self.coarsest_values(gpu)?));
        }
        let Some(coarsest) = coarsest else { return Ok(None) };
        let book = coded.books.first().filter(|_| self.plan.chunked());
        let coarse = write_coded(&frame.factors, book, &levels, &coarsest);
        let exact = self.found(gpu, 0, found[0])?;
        let missed = self.found(gpu, 1, found[1])?;
        let chunk = |(i, (exact, missed)): (usize, (Found<T>, Found<T>))| {
            let payload = (i < self.layout.chunks).then(|| coded.payload(i).parts[0]);
            chunk_bytes(frame, input, i, payload, exact, missed)
        };
        let pairs = exact.into_par_iter().zip(missed).enumerate();
        Ok(Some(Encoded { coarse, chunks: pairs.map(chunk).collect::<Result<_>>()? }))
    }

    /// The results of the entropy stage; `None` when the bytes had no room.
    fn coded(&mut self, gpu: &Gpu) -> Result<Option<Coded>> {
        let chunks = self.layout.chunks;
        if self.entropy() == Entropy::Class {
            let (bytes, flat) = self.class.collect(gpu)?;
            let of_part = |i| flat[self.layout.flat_of(i)].to_vec();
            let places = (0..self.layout.parts.len()).map(of_part).collect();
            return Ok(Some(Coded { bytes, places, books: Vec::new(), chunks }));
        }
        let Some(bytes) = self.huffman.encoded(gpu)? else { return Ok(None) };
        let places = self.huffman.parts(gpu)?.iter().map(|part| vec![place_of(part)]).collect();
        Ok(Some(Coded { bytes, places, books: self.huffman.codebooks(gpu)?, chunks }))
    }

    fn coarsest_values(&self, gpu: &Gpu) -> Result<Vec<T>> {
        let k = self.plan.levels.len();
        let mut values = vec![T::ZERO; self.len_of(k)];
        // SAFETY: unchanged values of the coarsest array.
        unsafe { gpu.download(self.arrays[k].address(gpu), &mut values)? };
        Ok(values)
    }

    /// The entries of a list by chunk, each ascending.
    fn found(&self, gpu: &Gpu, which: usize, count: usize) -> Result<Vec<Found<T>>> {
        let (mut keys, mut values) = (vec![0u64; count], vec![T::ZERO; count]);
        // SAFETY: the lists have room for LIST entries each.
        unsafe {
            gpu.download(self.lists[2 * which].address(gpu), &mut keys)?;
            gpu.download(self.lists[2 * which + 1].address(gpu), &mut values)?;
        }
        let mut chunks = vec![Vec::new(); self.grid.len()];
        for (key, value) in keys.into_iter().zip(values) {
            chunks[(key >> 32) as usize].push((key as u32, value));
        }
        chunks.par_iter_mut().for_each(|c| c.sort_unstable_by_key(|p| p.0));
        Ok(chunks)
    }
}

/// What the entropy stage made.
struct Coded {
    bytes: Vec<u8>,
    /// Where the payloads of each part of the layout stand.
    places: Vec<Vec<Range<usize>>>,
    /// With Huffman: of the chunks, then of each part after them.
    books: Vec<Codebook>,
    chunks: usize,
}

impl Coded {
    fn payload(&self, index: usize) -> Payload<'_> {
        let book = index.checked_sub(self.chunks).and_then(|level| self.books.get(level + 1)).cloned();
        Payload { book, parts: self.places[index].iter().map(|place| &self.bytes[place.clone()]).collect() }
    }
}

/// Where the payload of a part stands.
fn place_of(part: &HuffmanPart) -> Range<usize> {
    let head = if part.chunk != 0 { 1 + varint_bytes(part.bytes) } else { 0 };
    let start = part.offset as usize + head;
    start..start + part.bytes as usize
}

fn varint_bytes(v: u32) -> usize {
    (32 - (v | 1).leading_zeros() as usize).div_ceil(7)
}

/// A chunk as it goes into the stream, by the rules of the CPU.
fn chunk_bytes<T: Element>(
    frame: &Frame<T>,
    input: &FrameInput<T>,
    index: usize,
    payload: Option<&[u8]>,
    exact: Found<T>,
    patches: Found<T>,
) -> Result<Option<Vec<u8>>> {
    let nodes = frame.grid.nodes(index);
    let rows = frame.lossless_nodes(index);
    let mut lossless = Vec::new();
    if !rows.is_empty() {
        let values = frame.read(input.field, &nodes)?;
        lossless.extend(rows.into_iter().flat_map(|r| values[r].to_vec()));
    }
    let exact = exact.into_iter().map(|p| p.1).collect();
    let symbols = payload.map(|p| Drafted::Payload(p.to_vec()));
    Draft { symbols, exact, patches, lossless }.code(None, nodes.len() * T::BYTES)
}
