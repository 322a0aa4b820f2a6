//! A frame, or a box of it, from bytes to values.

use super::super::gpu::Gpu;
use super::arguments::{BoxArguments, ScatterArguments};
use super::details::Details;
use super::layout::Layout;
use super::levels::LocalWork;
use super::{Hybrid, LIST, Outcome, narrow};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::entropy::huffman::Codebook;
use crate::transform::hybrid::chunk::{Chunk, Patch};
use crate::transform::hybrid::coarse::{self, CoarsePart, PartCoarsest, Payload};
use crate::transform::hybrid::decode::in_chunk;
use crate::transform::hybrid::frame::Frame;
use crate::{Basis, Control, Element, Entropy, Error, Region, Result};

/// A decoder on the CPU has the words for what is wrong, and does what the device cannot.
const TO_THE_CPU: Outcome = Outcome::LeftToCpu("details stored exactly, or a damaged stream");

/// Lossless nodes that are sent one by one; the CPU is as fast for more.
const MOST_LISTED: usize = 1 << 24;

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
    let part = coarse::read_coded::<T>(&hybrid.plan, hybrid.entropy(), &bytes)?;
    let factors = part.as_ref().map(|p| p.factors.clone());
    let shared = Frame::<T>::new(frame.n, frame.tolerance, frame.max_abs, frame.params, factors);
    if source.chunk_count() != shared.grid.len() {
        let (found, wanted) = (source.chunk_count(), shared.grid.len());
        return Err(Error::corrupt(format!("chunk index: {found} chunks where the frame has {wanted}")));
    }
    hybrid.send_tolerances(gpu, &shared, frame.tolerance)?;
    let wanted = shared.region_of_frame(region);
    let chunks = Chunks::<T>::read(&shared, source, &wanted, part.is_some())?;
    let exact: usize = chunks.exact.iter().map(Vec::len).sum();
    // A projection carries details to other nodes.
    let listed: usize = chunks.lossless.iter().map(|(_, values)| values.len()).sum();
    if listed > MOST_LISTED || exact > LIST || exact > 0 && hybrid.plan.basis == Basis::Projection {
        return Ok(TO_THE_CPU);
    }
    control.check()?;
    if let Some(part) = part
        && !hybrid.decode_coded(gpu, part, &chunks, &wanted)?
    {
        return Ok(TO_THE_CPU);
    }
    control.check()?;
    let address = hybrid.result.reserve(gpu, wanted.len() * T::BYTES)?;
    hybrid.place_raw(gpu, &chunks, &wanted)?;
    hybrid.place_values(gpu, &chunks.lossless, &wanted)?;
    hybrid.place_values(gpu, &chunks.patches, &wanted)?;
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
    /// Exact details of the coded ones.
    exact: Vec<Vec<T>>,
    /// Nodes of a chunk, and those of its lossless blocks.
    lossless: Vec<(Region, Vec<Patch<T>>)>,
    /// Nodes of a chunk, and its patches.
    patches: Vec<(Region, Vec<Patch<T>>)>,
}

impl<T: Element> Chunks<T> {
    fn read(frame: &Frame<T>, source: &dyn FrameSource, wanted: &Region, hierarchy: bool) -> Result<Self> {
        let (coded, places, payloads, raw) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (exact, lossless, patches) = (Vec::new(), Vec::new(), Vec::new());
        let mut this = Self { coded, places, payloads, raw, exact, lossless, patches };
        let chunked = frame.hierarchy.plan.chunked();
        for i in (0..frame.grid.len()).filter(|&i| !frame.grid.nodes(i).intersect(wanted).is_empty()) {
            let nodes = frame.grid.nodes(i);
            let rows = frame.lossless_nodes(i);
            let lossless = rows.iter().map(|r| r.len()).sum();
            let bytes = source.chunk(i)?;
            match Chunk::<T>::read(&bytes, nodes.len(), lossless, chunked).map_err(|e| in_chunk(e, i))? {
                Chunk::Raw(values) => this.raw.push((nodes, values)),
                Chunk::Coded { .. } if !hierarchy => return Err(in_chunk(coarse::missing(), i)),
                Chunk::Coded { payload, exact, patches, lossless } => {
                    let nodes_of_rows = rows.into_iter().flatten().map(|node| node as u32);
                    this.lossless.push((nodes, nodes_of_rows.zip(lossless).collect()));
                    this.exact.push(exact);
                    this.coded.push(i);
                    this.places.push(this.payloads.len()..this.payloads.len() + payload.len());
                    this.payloads.extend_from_slice(payload);
                    this.patches.push((nodes, patches));
                }
            }
        }
        Ok(this)
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
        let payloads = self.payloads(&layout, &part, chunks);
        match self.entropy() {
            Entropy::Huffman => {
                self.huffman.prepare(gpu, &layout, false)?;
                self.send_payloads(gpu, &layout, &part, &payloads)?;
            }
            Entropy::Class => {
                self.class.prepare(gpu, &layout.flat, false)?;
                self.class.send(gpu, &payloads)?;
            }
        }
        self.clear_state(gpu)?;
        self.decode_symbols(gpu)?;
        let exact = matches!(part.coarsest, PartCoarsest::Exact(_));
        let last = layout.parts.len() - 1;
        let damaged = self.damaged(gpu, &layout)?;
        if damaged.iter().enumerate().any(|(i, &damaged)| damaged && !(exact && i == last)) {
            return Ok(false);
        }
        if let PartCoarsest::Exact(values) = &part.coarsest {
            // SAFETY: reserved by `reserve_levels`, or just below the frame itself.
            unsafe { gpu.upload(self.arrays[self.plan.levels.len()].address(gpu), values)? };
        }
        let stored_counts = self.stored_counts.reserve(gpu, 4 * layout.chunks)?;
        // SAFETY: just reserved.
        unsafe { gpu.fill(stored_counts, 0, 4 * layout.chunks)? };
        let [lo, hi] = [wanted.lo, wanted.hi];
        let (first_cell, cells, cell_blocks) = (layout.first_chunk, layout.chunks, layout.chunk_blocks);
        let work = LocalWork { first_cell, cells, cell_blocks, stored_counts, lo, hi, ..LocalWork::default() };
        self.rebuild(gpu, &layout.levels, exact, work)?;
        if self.misplaced(gpu, &layout, chunks)? {
            return Ok(false);
        }
        self.add_exact(gpu, &layout, chunks, wanted)?;
        Ok(true)
    }

    /// Of each part, whether it was damaged.
    fn damaged(&self, gpu: &Gpu, layout: &Layout) -> Result<Vec<bool>> {
        if self.entropy() == Entropy::Huffman {
            return Ok(self.huffman.parts(gpu)?.iter().map(|p| p.error != 0).collect());
        }
        let flat = self.class.damaged(gpu)?;
        Ok((0..layout.parts.len()).map(|i| flat[layout.flat_of(i)].contains(&true)).collect())
    }

    /// Waits; whether symbols stand for more or fewer details stored exactly than there are. (The coarsest array knows none:
    /// there the pattern is a number like any other.)
    fn misplaced(&self, gpu: &Gpu, layout: &Layout, chunks: &Chunks<T>) -> Result<bool> {
        let mut counts = vec![0u32; layout.chunks];
        // SAFETY: reserved for as many, and counted by `rebuild`.
        unsafe { gpu.download(self.stored_counts.address(gpu), &mut counts)? };
        let differ = counts.iter().zip(&chunks.exact).any(|(&count, exact)| count as usize != exact.len());
        Ok(differ || self.download_state(gpu)?.refused != 0)
    }

    /// Queues the addition of details that are stored exactly to the nodes inside the box; their symbols counted as zero.
    fn add_exact(&mut self, gpu: &Gpu, layout: &Layout, chunks: &Chunks<T>, wanted: &Region) -> Result<()> {
        let count: usize = chunks.exact.iter().map(Vec::len).sum();
        if count == 0 || !self.plan.chunked() {
            return Ok(());
        }
        let keys = self.list_stored(gpu, layout, count)?;
        let details = Details::new(self.plan.rank());
        let mut next = vec![0; layout.chunks];
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let [_, wy, wx] = wanted.shape();
        for key in keys {
            let (chunk, detail) = ((key >> 32) as usize, key as u32 as usize);
            let Some(&value) = chunks.exact.get(chunk).and_then(|exact| exact.get(next[chunk])) else { continue };
            next[chunk] += 1;
            let at = details.node(&self.grid.blocks(chunks.coded[chunk]), detail);
            if (0..3).all(|a| (wanted.lo[a]..wanted.hi[a]).contains(&at[a])) {
                let [z, y, x] = std::array::from_fn(|a| at[a] - wanted.lo[a]);
                places.push(((z * wy + y) * wx + x) as u64);
                values.push(value);
            }
        }
        self.scatter(gpu, ["hybrid_scatter_add_f32", "hybrid_scatter_add_f64"], &places, &values)
    }

    /// Places of the symbols of chunks that stand for a value stored exactly, ascending: chunk of the layout << 32 | index.
    fn list_stored(&mut self, gpu: &Gpu, layout: &Layout, count: usize) -> Result<Vec<u64>> {
        self.clear_state(gpu)?;
        let (first_cell, cells) = (layout.first_chunk, layout.chunks);
        let work = LocalWork { first_cell, cells, cell_blocks: layout.chunk_blocks, ..LocalWork::default() };
        let arguments = self.local_arguments(gpu, 0, work);
        let mut keys = vec![0u64; count];
        // SAFETY: symbols and cells were reserved for the layout, the list for more entries than there are.
        unsafe {
            gpu.launch("hybrid_list_stored", (cells as u32).min(gpu.multiprocessors * 8), 256, 0, &arguments)?;
            gpu.download(arguments.stored.keys, &mut keys)?;
        }
        keys.sort_unstable();
        Ok(keys)
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

    /// The payloads of all parts, as far as the stream has them.
    fn payloads<'a>(&self, layout: &Layout, part: &CoarsePart<Payload<'a>, T>, chunks: &'a Chunks<T>) -> Vec<&'a [u8]> {
        let of_chunk = |place: &std::ops::Range<usize>| &chunks.payloads[place.clone()];
        let mut payloads: Vec<&[u8]> = chunks.places[..layout.chunks].iter().map(of_chunk).collect();
        part.levels.iter().for_each(|(level, _)| payloads.extend(&level.parts));
        if let PartCoarsest::Quantized(payload) = &part.coarsest {
            payloads.extend(&payload.parts);
        }
        payloads
    }

    fn send_payloads(
        &mut self,
        gpu: &Gpu,
        layout: &Layout,
        part: &CoarsePart<Payload, T>,
        payloads: &[&[u8]],
    ) -> Result<()> {
        let mut data = Vec::with_capacity(payloads.iter().map(|p| p.len()).sum());
        let mut parts = layout.parts.clone();
        for (part, payload) in parts.iter_mut().zip(payloads) {
            (part.offset, part.bytes) = (data.len() as u64, payload.len() as u32);
            data.extend_from_slice(payload);
        }
        parts.iter_mut().for_each(|p| p.chunk = 0);
        let none = Codebook::from_lengths([0; crate::entropy::huffman::ALPHABET]);
        let of_levels = part.levels.iter().map(|(level, _)| &level.book);
        let of_coarsest = match &part.coarsest {
            PartCoarsest::Quantized(payload) => Some(&payload.book),
            PartCoarsest::Exact(_) => None,
        };
        let all = [&part.book].into_iter().chain(of_levels).chain(of_coarsest);
        let mut books: Vec<Codebook> = all.map(|book| book.clone().unwrap_or_else(|| none.clone())).collect();
        books.resize(layout.books(), none);
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

    /// Queues the values of nodes of chunks, as far as they lie in the box.
    fn place_values(&mut self, gpu: &Gpu, lists: &[(Region, Vec<Patch<T>>)], wanted: &Region) -> Result<()> {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let [_, wy, wx] = wanted.shape();
        for (nodes, patches) in lists {
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
        self.scatter(gpu, ["hybrid_scatter_f32", "hybrid_scatter_f64"], &places, &values)
    }

    /// Queues values for places of the result, all inside it.
    fn scatter(&mut self, gpu: &Gpu, kernels: [&'static str; 2], places: &[u64], values: &[T]) -> Result<()> {
        let keys = self.places[0].reserve(gpu, 8 * places.len())?;
        let list = self.places[1].reserve(gpu, T::BYTES * values.len())?;
        let count = places.len() as u32;
        let a = ScatterArguments { result: self.result.address(gpu), places: keys, values: list, count, unused: 0 };
        // SAFETY: just reserved; every place lies in the box.
        unsafe {
            gpu.upload(keys, places)?;
            gpu.upload(list, values)?;
            self.launch(gpu, kernels, places.len(), &a)
        }
    }

    /// Waits, and lets [`Hybrid::decode_resident`] know how much `encode` left on the device.
    pub fn learn_size(&mut self, gpu: &Gpu) -> Result<()> {
        if self.entropy() == Entropy::Class { Ok(()) } else { self.huffman.learn_size(gpu) }
    }

    /// Queues the decoding of what `encode` left on the device, into memory of its own; without patches.
    pub fn decode_resident(&mut self, gpu: &Gpu) -> Result<()> {
        self.decode_symbols(gpu)?;
        let levels = self.layout.levels.clone();
        self.rebuild(gpu, &levels, false, self.chunk_work())
    }
}
