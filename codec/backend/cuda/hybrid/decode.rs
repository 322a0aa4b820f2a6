//! A frame, or a box of it, from bytes to values.

use super::super::gpu::Gpu;
use super::arguments::{BoxArguments, ScatterArguments};
use super::layout::Layout;
use super::levels::LocalWork;
use super::{Hybrid, Outcome, narrow};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::entropy::huffman::Codebook;
use crate::transform::hybrid::chunk::{Chunk, Patch};
use crate::transform::hybrid::coarse::{self, CoarsePart, PartCoarsest, Payload};
use crate::transform::hybrid::decode::in_chunk;
use crate::transform::hybrid::frame::Frame;
use crate::{Control, Element, Error, Region, Result};

/// A decoder on the CPU has the words for what is wrong, and does what the device cannot.
const TO_THE_CPU: Outcome = Outcome::LeftToCpu("lossless blocks or details stored exactly, or a damaged stream");

/// Decodes the part of a frame inside `region`, which lies in the frame and is not empty. Nothing reaches `out` when it
/// is left to the CPU.
pub fn decode_frame<T: Element>(
    gpu: &Gpu,
    hybrid: &mut Hybrid<T>,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<Outcome> {
    let bytes = source.coarse()?;
    let part = coarse::read_coded::<T>(&hybrid.plan, &bytes)?;
    let factors = part.as_ref().map(|p| p.factors.clone());
    let shared = Frame::<T>::new(frame.n, frame.tolerance, frame.max_abs, frame.params, factors);
    if source.chunk_count() != shared.grid.len() {
        let (found, wanted) = (source.chunk_count(), shared.grid.len());
        return Err(Error::corrupt(format!("chunk index: {found} chunks where the frame has {wanted}")));
    }
    hybrid.send_tolerances(gpu, &shared, frame.tolerance)?;
    let wanted = shared.region_of_frame(region);
    let Some(chunks) = Chunks::<T>::read(&shared, source, &wanted, part.is_some())? else { return Ok(TO_THE_CPU) };
    control.check()?;
    if let Some(part) = part
        && !hybrid.decode_coded(gpu, part, &chunks, &wanted)?
    {
        return Ok(TO_THE_CPU);
    }
    control.check()?;
    let address = hybrid.result.reserve(gpu, wanted.len() * T::BYTES)?;
    hybrid.place_raw(gpu, &chunks, &wanted)?;
    hybrid.place_patches(gpu, &chunks, &wanted)?;
    // SAFETY: reserved for exactly the box.
    unsafe { gpu.receive(address, region, out, &gpu.event_on(&gpu.stream)?)? };
    control.advance((region.len() * T::BYTES) as u64);
    Ok(Outcome::Done)
}

/// The chunks that meet a box, taken apart.
struct Chunks<T> {
    /// Numbers of the coded ones, and where their payloads stand in `payloads`.
    coded: Vec<usize>,
    places: Vec<std::ops::Range<usize>>,
    payloads: Vec<u8>,
    /// Nodes and values.
    raw: Vec<(Region, Vec<T>)>,
    /// Nodes of a chunk, and its patches.
    patches: Vec<(Region, Vec<Patch<T>>)>,
}

impl<T: Element> Chunks<T> {
    /// `None` where the device cannot decode one of them.
    fn read(frame: &Frame<T>, source: &dyn FrameSource, wanted: &Region, hierarchy: bool) -> Result<Option<Self>> {
        let (coded, places, payloads) = (Vec::new(), Vec::new(), Vec::new());
        let mut this = Self { coded, places, payloads, raw: Vec::new(), patches: Vec::new() };
        let chunked = frame.hierarchy.plan.chunked();
        for i in (0..frame.grid.len()).filter(|&i| !frame.grid.nodes(i).intersect(wanted).is_empty()) {
            let nodes = frame.grid.nodes(i);
            let lossless = frame.lossless_nodes(i).iter().map(|r| r.len()).sum();
            let bytes = source.chunk(i)?;
            match Chunk::<T>::read(&bytes, nodes.len(), lossless, chunked).map_err(|e| in_chunk(e, i))? {
                Chunk::Raw(values) => this.raw.push((nodes, values)),
                Chunk::Coded { .. } if !hierarchy => return Err(in_chunk(coarse::missing(), i)),
                Chunk::Coded { exact, lossless, .. } if !exact.is_empty() || !lossless.is_empty() => return Ok(None),
                Chunk::Coded { payload, patches, .. } => {
                    this.coded.push(i);
                    this.places.push(this.payloads.len()..this.payloads.len() + payload.len());
                    this.payloads.extend_from_slice(payload);
                    this.patches.push((nodes, patches));
                }
            }
        }
        Ok(Some(this))
    }
}

impl<T: Element> Hybrid<T> {
    /// Rebuilds the coded chunks inside the box `wanted`; false when the device finds that it cannot.
    fn decode_coded(
        &mut self,
        gpu: &Gpu,
        part: CoarsePart<Payload, T>,
        chunks: &Chunks<T>,
        wanted: &Region,
    ) -> Result<bool> {
        if part.levels.iter().any(|(_, exact)| !exact.is_empty()) {
            return Ok(false);
        }
        let layout = Layout::new(&self.plan, &self.grid, chunks.coded.iter().copied());
        self.reserve_levels(gpu, layout.symbols)?;
        let cells = self.cells.reserve(gpu, size_of_val(&layout.cells[..]))?;
        // SAFETY: just reserved.
        unsafe { gpu.upload(cells, &layout.cells)? };
        self.huffman.prepare(gpu, &layout, false)?;
        self.send_payloads(gpu, &layout, &part, chunks)?;
        self.clear_state(gpu)?;
        self.huffman.decode(gpu, self.symbols.address(gpu))?;
        let exact = matches!(part.coarsest, PartCoarsest::Exact(_));
        let parts = self.huffman.parts(gpu)?;
        let checked = if exact { &parts[..parts.len() - 1] } else { &parts[..] };
        if checked.iter().any(|p| p.error != 0) || parts[..layout.chunks].iter().any(|p| p.stored != 0) {
            return Ok(false);
        }
        // The coarsest array knows no exact symbols: there the pattern is a number like any other.
        if parts[layout.chunks..parts.len() - 1].iter().any(|p| p.stored != 0) {
            return Ok(false);
        }
        if let PartCoarsest::Exact(values) = &part.coarsest {
            // SAFETY: reserved by `reserve_levels`, or just below the frame itself.
            unsafe { gpu.upload(self.arrays[self.plan.levels.len()].address(gpu), values)? };
        }
        let [lo, hi] = [wanted.lo, wanted.hi];
        let (first_cell, cells, cell_blocks) = (layout.first_chunk, layout.chunks, layout.chunk_blocks);
        let work = LocalWork { first_cell, cells, cell_blocks, lo, hi, ..LocalWork::default() };
        self.rebuild(gpu, &layout.levels, exact, work)?;
        Ok(true)
    }

    /// Queues the way from symbols to values: the coarse part, then the box that `work` names.
    pub fn rebuild(&mut self, gpu: &Gpu, levels: &[u64], exact: bool, work: LocalWork) -> Result<()> {
        let last = self.plan.levels.len();
        if !exact {
            let coarsest = self.arrays[last].address(gpu);
            self.dequantize_coarsest(gpu, levels[levels.len() - 1], coarsest)?;
        }
        self.recompose(gpu, levels, self.arrays[0].address(gpu))?;
        let region = Region { lo: work.lo, hi: work.hi };
        let result = self.result.reserve(gpu, region.len() * T::BYTES)?;
        if self.plan.chunked() {
            return self.recompose_finest(gpu, LocalWork { result, ..work });
        }
        let frame = Region { lo: [0; 3], hi: self.plan.n };
        self.copy_box(gpu, self.arrays[0].address(gpu), &frame, &region)
    }

    fn send_payloads(
        &mut self,
        gpu: &Gpu,
        layout: &Layout,
        part: &CoarsePart<Payload, T>,
        chunks: &Chunks<T>,
    ) -> Result<()> {
        let mut data = chunks.payloads.clone();
        let mut parts = layout.parts.clone();
        for (part, place) in parts.iter_mut().zip(&chunks.places[..layout.chunks]) {
            (part.offset, part.bytes) = (place.start as u64, place.len() as u32);
        }
        let none = Codebook::from_lengths([0; crate::entropy::huffman::ALPHABET]);
        let mut books = vec![part.book.clone().unwrap_or_else(|| none.clone())];
        let mut payloads: Vec<&Payload> = part.levels.iter().map(|(payload, _)| payload).collect();
        if let PartCoarsest::Quantized(payload) = &part.coarsest {
            payloads.push(payload);
        }
        for (part, payload) in parts[layout.chunks..].iter_mut().zip(payloads) {
            (part.offset, part.bytes) = (data.len() as u64, payload.bytes.len() as u32);
            data.extend_from_slice(payload.bytes);
            books.push(payload.book.clone());
        }
        books.resize(layout.books(), none);
        parts.iter_mut().for_each(|p| p.chunk = 0);
        self.huffman.set_payloads(gpu, &data, &parts, &books)
    }

    /// Copies the part of a dense box `from` that meets `wanted` to its place in the result.
    fn copy_box(&self, gpu: &Gpu, values: u64, from: &Region, wanted: &Region) -> Result<()> {
        let part = from.intersect(wanted);
        let difference = |a: [usize; 3], b: [usize; 3]| narrow(std::array::from_fn(|i| a[i] - b[i]));
        let arguments = BoxArguments {
            values,
            result: self.result.address(gpu),
            from_n: narrow(from.shape()),
            skip: difference(part.lo, from.lo),
            count: narrow(part.shape()),
            at: difference(part.lo, wanted.lo),
            to_n: narrow(wanted.shape()),
            unused: 0,
        };
        // SAFETY: both boxes are as large as their extents say.
        unsafe { self.launch(gpu, ["hybrid_copy_box_f32", "hybrid_copy_box_f64"], part.len(), &arguments) }
    }

    fn place_raw(&mut self, gpu: &Gpu, chunks: &Chunks<T>, wanted: &Region) -> Result<()> {
        for (nodes, values) in &chunks.raw {
            let address = self.places[1].reserve(gpu, size_of_val(&values[..]))?;
            // SAFETY: just reserved; the stream orders copies and kernels.
            unsafe { gpu.upload(address, values)? };
            self.copy_box(gpu, address, nodes, wanted)?;
        }
        Ok(())
    }

    fn place_patches(&mut self, gpu: &Gpu, chunks: &Chunks<T>, wanted: &Region) -> Result<()> {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let [_, wy, wx] = wanted.shape();
        for (nodes, patches) in &chunks.patches {
            let [_, ny, nx] = nodes.shape();
            for &(index, value) in patches {
                let i = index as usize;
                let at = [nodes.lo[0] + i / (ny * nx), nodes.lo[1] + i / nx % ny, nodes.lo[2] + i % nx];
                if (0..3).all(|a| (wanted.lo[a]..wanted.hi[a]).contains(&at[a])) {
                    let [z, y, x] = std::array::from_fn(|a| at[a] - wanted.lo[a]);
                    places.push(((z * wy + y) * wx + x) as u64);
                    values.push(value);
                }
            }
        }
        let keys = self.places[0].reserve(gpu, 8 * places.len())?;
        let list = self.places[1].reserve(gpu, T::BYTES * values.len())?;
        let count = places.len() as u32;
        let a = ScatterArguments { result: self.result.address(gpu), places: keys, values: list, count, unused: 0 };
        // SAFETY: just reserved; every place lies in the box.
        unsafe {
            gpu.upload(keys, &places)?;
            gpu.upload(list, &values)?;
            self.launch(gpu, ["hybrid_scatter_f32", "hybrid_scatter_f64"], places.len(), &a)
        }
    }

    /// Queues the decoding of what `encode` left on the device, into memory of its own; without patches.
    pub fn decode_resident(&mut self, gpu: &Gpu) -> Result<()> {
        self.huffman.decode(gpu, self.symbols.address(gpu))?;
        let levels = self.layout.levels.clone();
        self.rebuild(gpu, &levels, false, self.chunk_work())
    }
}
