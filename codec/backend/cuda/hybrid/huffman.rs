//! The Huffman stage: all payloads of a frame in one go, from symbols to bytes and back. No step waits for the host.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{HuffmanArguments, HuffmanPart};
use super::decoders::{Groups, HuffmanDecoder, suits_warps};
use super::layout::{Layout, TASK_SEGMENTS};
use crate::Result;
use crate::entropy::huffman::{ALPHABET, Codebook, SEGMENT_UNITS};

/// Entries of tables by token, as in huffman.cuh.
const TOKENS: usize = 256;
/// Entries of a decoder's table.
const TABLE: usize = 1 << 12;
/// Blocks of threads that make a decoder's table, as in huffman_decode.cuh.
const TABLE_BLOCKS: u32 = 8;
/// Warps of a block of threads that counts, as in huffman_count.cu.
const WARPS: u32 = 4;
/// Shared memory of a block of threads that writes bits: two groups of symbols and the bits of a unit for each warp, the
/// codes of runs, small symbols and tokens. As in huffman_encode.cu.
const CODING_MEMORY: usize = TASK_SEGMENTS as usize * (2 * 2 * 1552 + 4 * 544) + 4 * (416 + 1001 + TOKENS);
/// Segments that a warp decodes with a lane each, and its shared memory, as in huffman_decode.cu, with what the device keeps
/// of each block: it says how many decode at a time.
const LANES: usize = 32;
const LANES_MEMORY: usize = 4 * TABLE + LANES * (4 * 68 + 2 * 72) + 1024;
/// Shared memory of a warp that decodes a segment: its symbols, and words of its payload. As in huffman_warps.cu.
const DECODER_WARP: usize = 2 * 387 * SEGMENT_UNITS + 4 * (1792 + 4);
/// Bytes behind the data that kernels may read.
const MARGIN: usize = 16;

#[derive(Default)]
pub struct Huffman {
    segments: Buffer,
    parts: Buffer,
    /// The parts before any work on them, as `initial`.
    fresh: Buffer,
    tasks: Buffer,
    warps: Buffer,
    histograms: Buffer,
    counts: Buffer,
    lengths: Buffer,
    codes: Buffer,
    table: Buffer,
    single: Buffer,
    bytes: Buffer,
    offsets: Buffer,
    data: Buffer,
    total: Buffer,
    capacity: u64,
    pub decoder: HuffmanDecoder,
    /// Whether a warp a segment should decode the payloads at hand faster.
    suits_warps: bool,
    /// First segments of the blocks of that decoder, and of the warps of the other one; behind the last one the number of segments.
    groups: [Vec<u32>; 2],
    /// The parts before any work on them.
    initial: Vec<HuffmanPart>,
    segment_count: u32,
    task_count: u32,
    warp_count: u32,
    books: usize,
}

impl Huffman {
    /// Reserves memory for the payloads of `layout` and sends its lists.
    pub fn prepare(&mut self, gpu: &Gpu, layout: &Layout, encode: bool) -> Result<()> {
        let segments = layout.segments.len();
        self.initial = layout.parts.clone();
        (self.segment_count, self.task_count) = (segments as u32, layout.tasks.len() as u32);
        self.warp_count = layout.warps.len() as u32 - 1;
        self.books = layout.books();
        let blocks = layout.tasks.iter().copied().chain([segments as u32]);
        self.groups = [blocks.collect(), layout.warps.clone()];
        let list = self.segments.reserve(gpu, size_of_val(&layout.segments[..]))?;
        let tasks = self.tasks.reserve(gpu, size_of_val(&layout.tasks[..]))?;
        let warps = self.warps.reserve(gpu, size_of_val(&layout.warps[..]))?;
        self.parts.reserve(gpu, size_of_val(&layout.parts[..]))?;
        let fresh = self.fresh.reserve(gpu, size_of_val(&layout.parts[..]))?;
        self.bytes.reserve(gpu, 4 * segments)?;
        self.offsets.reserve(gpu, 4 * segments)?;
        self.lengths.reserve(gpu, TOKENS * self.books)?;
        self.table.reserve(gpu, 4 * TABLE * self.books)?;
        self.single.reserve(gpu, 4 * TABLE * self.books)?;
        self.total.reserve(gpu, 8)?;
        if encode {
            self.histograms.reserve(gpu, 2 * TOKENS * segments)?;
            self.counts.reserve(gpu, 4 * TOKENS * self.books)?;
            self.codes.reserve(gpu, 4 * TOKENS * self.books)?;
        }
        // SAFETY: just reserved for exactly these lists.
        unsafe {
            gpu.upload(list, &layout.segments)?;
            gpu.upload(fresh, &layout.parts)?;
            gpu.upload(tasks, &layout.tasks)?;
            gpu.upload(warps, &layout.warps)
        }
    }
    /// Room for `bytes` of payloads.
    pub fn reserve_data(&mut self, gpu: &Gpu, bytes: usize) -> Result<()> {
        self.capacity = self.capacity.max(bytes as u64);
        self.data.reserve(gpu, self.capacity as usize + MARGIN)?;
        Ok(())
    }

    fn arguments(&self, gpu: &Gpu, [symbols, wide]: [u64; 2]) -> HuffmanArguments {
        HuffmanArguments {
            symbols,
            wide,
            segments: self.segments.address(gpu),
            parts: self.parts.address(gpu),
            histograms: self.histograms.address(gpu),
            counts: self.counts.address(gpu),
            lengths: self.lengths.address(gpu),
            codes: self.codes.address(gpu),
            table: self.table.address(gpu),
            single: self.single.address(gpu),
            bytes: self.bytes.address(gpu),
            offsets: self.offsets.address(gpu),
            tasks: self.tasks.address(gpu),
            data: self.data.address(gpu),
            total: self.total.address(gpu),
            capacity: self.capacity,
            segment_count: self.segment_count,
            part_count: self.initial.len() as u32,
            book_count: self.books as u32,
            task_count: self.task_count,
        }
    }

    /// Queues everything from `symbols` to bytes; nothing is written when they have no room.
    pub fn encode(&self, gpu: &Gpu, symbols: [u64; 2]) -> Result<()> {
        let a = self.arguments(gpu, symbols);
        let warps = self.segment_count.div_ceil(WARPS);
        // SAFETY: everything was reserved by `prepare` for these segments, parts and books.
        unsafe {
            gpu.copy(self.fresh.address(gpu), a.parts, size_of_val(&self.initial[..]))?;
            gpu.fill(a.counts, 0, 4 * TOKENS * self.books)?;
            gpu.launch("huffman_count", warps.min(gpu.multiprocessors * 32), 32 * WARPS, 0, &a)?;
            gpu.launch("huffman_sum", self.segment_count.min(gpu.multiprocessors * 4), TOKENS as u32, 0, &a)?;
            gpu.launch("huffman_books", self.books as u32, TOKENS as u32, 0, &a)?;
            gpu.launch("huffman_sizes", warps.min(gpu.multiprocessors * 16), 32 * WARPS, 0, &a)?;
            gpu.launch("huffman_offsets", a.part_count, 256, 0, &a)?;
            gpu.launch("huffman_places", 1, 1024, 0, &a)?;
            gpu.launch("huffman_encode", self.task_count, 32 * TASK_SEGMENTS, CODING_MEMORY, &a)
        }
    }

    /// Sends payloads: `parts` say where each stands in `data`, `books` are those of the layout.
    pub fn set_payloads(&mut self, gpu: &Gpu, data: &[u8], parts: &[HuffmanPart], books: &[Codebook]) -> Result<()> {
        self.reserve_data(gpu, data.len())?;
        let bytes: Vec<u32> = parts.iter().flat_map(|part| segment_bytes(data, part)).collect();
        self.estimate(gpu, &bytes);
        let mut lengths = vec![0u8; TOKENS * self.books];
        for (lengths, book) in lengths.chunks_exact_mut(TOKENS).zip(books) {
            lengths[..ALPHABET].copy_from_slice(book.lengths());
        }
        // SAFETY: reserved here and by `prepare`.
        unsafe {
            gpu.upload(self.data.address(gpu), data)?;
            gpu.upload(self.parts.address(gpu), parts)?;
            gpu.upload(self.lengths.address(gpu), &lengths)
        }
    }

    /// Queues everything from bytes to symbols. Damage is noted in the parts.
    pub fn decode(&self, gpu: &Gpu, symbols: [u64; 2]) -> Result<()> {
        let warps = segment_warps(gpu.shared_per_block);
        let a = self.arguments(gpu, symbols);
        let tables = self.books as u32 * TABLE_BLOCKS;
        // SAFETY: as in `encode`; the kernels read no further than the lengths that they have checked.
        unsafe {
            gpu.launch("huffman_parse", a.part_count, 256, 0, &a)?;
            if self.decoder.takes_warps(self.suits_warps) {
                gpu.launch("huffman_table_warps", tables, TOKENS as u32, 0, &a)?;
                let shared = 4 * TABLE + warps * DECODER_WARP;
                return gpu.launch("huffman_decode_warps", self.task_count, 32 * warps as u32, shared, &a);
            }
            gpu.launch("huffman_table", tables, TOKENS as u32, 0, &a)?;
            let a = HuffmanArguments { tasks: self.warps.address(gpu), task_count: self.warp_count, ..a };
            gpu.launch("huffman_decode", self.warp_count, 32, 0, &a)
        }
    }

    /// The parts as the kernels left them.
    pub fn parts(&self, gpu: &Gpu) -> Result<Vec<HuffmanPart>> {
        let mut parts = self.initial.clone();
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.parts.address(gpu), &mut parts)? };
        Ok(parts)
    }
    /// The codebooks that the encoder found.
    pub fn codebooks(&self, gpu: &Gpu) -> Result<Vec<Codebook>> {
        let mut all = vec![0u8; TOKENS * self.books];
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.lengths.address(gpu), &mut all)? };
        let book = |lengths: &[u8]| Codebook::from_lengths(std::array::from_fn(|t| lengths[t]));
        Ok(all.chunks_exact(TOKENS).map(book).collect())
    }
    /// Waits for the number of bytes that `encode` found.
    fn total(&self, gpu: &Gpu) -> Result<u64> {
        let mut total = [0u64];
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.total.address(gpu), &mut total)? };
        Ok(total[0])
    }
    /// Waits; `decode` then chooses its kernel by the segments that `encode` left on the device.
    pub fn learn_size(&mut self, gpu: &Gpu) -> Result<()> {
        let mut bytes = vec![0; self.segment_count as usize];
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.download(self.bytes.address(gpu), &mut bytes)? };
        self.estimate(gpu, &bytes);
        Ok(())
    }
    /// Chooses a decoder for segments of so many bytes.
    fn estimate(&mut self, gpu: &Gpu, bytes: &[u32]) {
        let multiprocessors = gpu.multiprocessors as u64;
        let [blocks, warps] = &self.groups;
        let lanes = (gpu.shared_per_multiprocessor / LANES_MEMORY).max(1) as u64 * multiprocessors;
        let by_lanes = Groups { first: warps, at_a_time: lanes };
        self.suits_warps = suits_warps(bytes, &by_lanes, &Groups { first: blocks, at_a_time: multiprocessors });
    }
    /// All encoded bytes; `None` when they had no room.
    pub fn encoded(&self, gpu: &Gpu) -> Result<Option<Vec<u8>>> {
        let total = self.total(gpu)?;
        if total > self.capacity {
            return Ok(None);
        }
        let mut bytes = vec![0; total as usize];
        // SAFETY: within the capacity.
        unsafe { gpu.download(self.data.address(gpu), &mut bytes)? };
        Ok(Some(bytes))
    }
}

/// Bytes of each segment of a part, as its payload in `data` has them; 0 where it has none.
fn segment_bytes(data: &[u8], part: &HuffmanPart) -> Vec<u32> {
    let start = (part.offset as usize).min(data.len());
    let payload = &data[start..(start + part.bytes as usize).min(data.len())];
    let count = (part.segment_end - part.segment) as usize;
    let lengths = payload.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]) as u32);
    let mut bytes: Vec<u32> = lengths.take(count).collect();
    bytes.resize(count, 0);
    bytes
}

/// Warps of a block of threads that decode a segment each, by the shared memory that it may have.
fn segment_warps(shared_per_block: usize) -> usize {
    (shared_per_block.saturating_sub(4 * TABLE) / DECODER_WARP).clamp(1, TASK_SEGMENTS as usize)
}
