//! The chunks of all arrays between symbols and bytes: their memory on the device, and the order of the coder's kernels.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{ResetArguments, Tile};
use super::class_arguments::{Chunk, CoderArguments, Stream, UnitRecord};
use super::coder::{Coder, READ_AHEAD};
use super::level::{Shapes, Worklist};
use crate::Result;
use crate::entropy::class::chunk::{BITS_PER_LANE, LANE_NODES_AND_BITS, MAX_STREAMS};

/// Threads of a block that makes chunks ready, as in groups_assemble.cu.
const RESET_THREADS: u32 = 256;
/// Threads of a block of the coder's kernels.
const BLOCK: u32 = 256;
const WARPS: u32 = BLOCK / 32;
/// Threads of a block that puts together the streams of flat arrays, as in class_assemble_flat.cu.
const FLAT_BLOCK: u32 = 128;
/// Words and escapes of flat arrays are copied by so many bytes at a time.
const COPIED: usize = 16;
/// Warps that share a tile of a flat array when forms are chosen: turns of whole tiles would not be even.
const WARPS_OF_FLAT_TILE: u32 = 4;
/// Lists of streams by length: `StreamOrder` in class.cuh.
const LISTS: usize = 32;

/// The memory of the chunks of all arrays between symbols and bytes.
#[derive(Default)]
pub struct Coding {
    tiles: Buffer,
    chunks: Buffer,
    /// The chunks before any work on them, as `initial`.
    fresh: Buffer,
    streams: Buffer,
    q: Buffer,
    delta: Buffer,
    forms: Buffer,
    counts: Buffer,
    records: Buffer,
    words: Buffer,
    escapes: Buffer,
    states: Buffer,
    output: Buffer,
    totals: Buffer,
    order: Buffer,
    choices: Buffer,
    capacity: u64,
    /// The chunks before any work on them.
    initial: Vec<Chunk>,
    tile_count: u32,
    chunk_count: u32,
    /// Whether tiles are those of flat arrays: 32 long units, fewer in the last one of a chunk only.
    pub flat: bool,
}

/// Addresses of the chunks, the output and its length; room in the output, number of chunks.
pub struct Parts {
    pub chunks: u64,
    pub output: u64,
    pub totals: u64,
    pub capacity: u64,
    pub chunk_count: u32,
}

impl Coding {
    /// Reserves memory for the chunks of `list` (values of `bytes` bytes) and copies the list.
    pub fn prepare(&mut self, gpu: &Gpu, list: &Worklist, slots: u32, bytes: usize, encode: bool) -> Result<()> {
        let (tiles, chunks, nodes) = (list.tiles.len() - 1, list.chunks.len(), list.nodes as usize);
        (self.tile_count, self.chunk_count) = (tiles as u32, chunks as u32);
        let tile_list = self.tiles.reserve(gpu, list.tiles.len() * size_of::<Tile>())?;
        let streams = chunks * MAX_STREAMS;
        self.chunks.reserve(gpu, chunks * size_of::<Chunk>())?;
        self.streams.reserve(gpu, streams * size_of::<Stream>())?;
        self.q.reserve(gpu, 2 * nodes)?;
        self.delta.reserve(gpu, bytes * nodes)?;
        self.totals.reserve(gpu, 24)?;
        self.order.reserve(gpu, 4 * LISTS * (2 + streams))?;
        self.choices.reserve(gpu, chunks)?;
        if encode {
            self.forms.reserve(gpu, 4 * tiles * slots as usize)?;
            self.counts.reserve(gpu, 4 * tiles * slots as usize)?;
            self.records.reserve(gpu, size_of::<UnitRecord>() * list.units as usize)?;
            self.words.reserve(gpu, 2 * (nodes + 3 * list.units as usize) + COPIED)?;
            self.escapes.reserve(gpu, 2 * nodes + COPIED)?;
            self.states.reserve(gpu, 4 * 32 * streams)?;
            self.reserve_output(gpu, (bytes * nodes / 4 + 4096 + 64 * chunks) as u64)?;
        }
        self.initial = list.chunks.clone();
        let fresh = self.fresh.reserve(gpu, chunks * size_of::<Chunk>())?;
        // SAFETY: reserved above for exactly this list.
        unsafe {
            gpu.upload(fresh, &self.initial)?;
            gpu.upload(tile_list, &list.tiles)
        }
    }
    /// The chunks of the list last prepared.
    pub fn initial(&self) -> &[Chunk] {
        &self.initial
    }
    /// Device address of the same.
    pub fn fresh(&self, gpu: &Gpu) -> u64 {
        self.fresh.address(gpu)
    }
    /// Room for `bytes` of encoded chunks.
    pub fn reserve_output(&mut self, gpu: &Gpu, bytes: u64) -> Result<()> {
        self.capacity = self.capacity.max(bytes);
        self.output.reserve(gpu, self.capacity as usize + READ_AHEAD)?;
        Ok(())
    }
    /// Sends the places of encoded chunks.
    pub fn set_chunks(&self, gpu: &Gpu, chunks: &[Chunk]) -> Result<()> {
        // SAFETY: reserved by `prepare` for as many chunks.
        unsafe { gpu.upload(self.chunks.address(gpu), chunks) }
    }
    pub fn set_choices(&self, gpu: &Gpu, choices: &[u8]) -> Result<()> {
        // SAFETY: reserved by `prepare`, one byte a chunk.
        unsafe { gpu.upload(self.choices.address(gpu), choices) }
    }
    /// Makes the chunks ready to be encoded once more, all with the same choice.
    pub fn reset(&self, gpu: &Gpu, choice: u8) -> Result<()> {
        self.reset_with(gpu, choice, (0, 0))
    }
    /// The same and `count_words` words of 0 at `counts`, by one kernel in place of three copies.
    pub fn reset_with(&self, gpu: &Gpu, choice: u8, (counts, count_words): (u64, u32)) -> Result<()> {
        let a = ResetArguments {
            fresh: self.fresh.address(gpu),
            chunks: self.chunks.address(gpu),
            choices: self.choices.address(gpu),
            counts,
            chunk_words: size_of_val(&self.initial[..]) as u32 / 4,
            chunk_count: self.chunk_count,
            choice: choice as u32,
            count_words,
        };
        // a block has more threads than there are counts
        // SAFETY: reserved by `prepare` for the chunks of the worklist; the caller reserved the counts.
        unsafe { gpu.launch("reset_chunks", a.chunk_words.div_ceil(RESET_THREADS), RESET_THREADS, 0, &a) }
    }
    pub fn set_output(&self, gpu: &Gpu, bytes: &[u8]) -> Result<()> {
        // SAFETY: reserved by `reserve_output`.
        unsafe { gpu.upload(self.output.address(gpu), bytes) }
    }
    /// The tiles of all arrays.
    pub fn tiles(&self, gpu: &Gpu) -> u64 {
        self.tiles.address(gpu)
    }
    pub fn q(&self, gpu: &Gpu) -> u64 {
        self.q.address(gpu)
    }
    pub fn delta(&self, gpu: &Gpu) -> u64 {
        self.delta.address(gpu)
    }
    pub fn choices(&self, gpu: &Gpu) -> u64 {
        self.choices.address(gpu)
    }
    /// What another coder than this one needs to work on the same chunks.
    pub fn parts(&self, gpu: &Gpu) -> Parts {
        Parts {
            chunks: self.chunks.address(gpu),
            output: self.output.address(gpu),
            totals: self.totals.address(gpu),
            capacity: self.capacity,
            chunk_count: self.chunk_count,
        }
    }

    fn arguments(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> CoderArguments {
        CoderArguments {
            tables: coder.tables,
            tiles: self.tiles.address(gpu),
            units: shapes.units,
            unit_first: shapes.unit_first,
            chunks: self.chunks.address(gpu),
            streams: self.streams.address(gpu),
            q: self.q.address(gpu),
            delta: self.delta.address(gpu),
            forms: self.forms.address(gpu),
            counts: self.counts.address(gpu),
            records: self.records.address(gpu),
            words: self.words.address(gpu),
            escapes: self.escapes.address(gpu),
            states: self.states.address(gpu),
            output: self.output.address(gpu),
            totals: self.totals.address(gpu),
            capacity: self.capacity,
            choices: self.choices.address(gpu),
            order: self.order.address(gpu),
            tile_count: self.tile_count,
            chunk_count: self.chunk_count,
            slots: shapes.slots,
            bits,
            units_in_tile: shapes.units_in_tile,
            bits_per_lane: BITS_PER_LANE as u32,
            nodes_per_lane: LANE_NODES_AND_BITS.map(|(nodes, _)| nodes as u32),
            least_bits_per_lane: LANE_NODES_AND_BITS.map(|(_, bits)| bits as u32),
            tables_by_slots: 0,
            warps_of_tile: if self.flat { WARPS_OF_FLAT_TILE } else { 1 },
        }
    }

    /// Queues everything from symbols to bytes, after [`Coding::reset`].
    pub fn encode(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> Result<()> {
        let a = self.arguments(gpu, coder, shapes, bits);
        let [choose, encode] = match bits {
            32 if self.flat => ["choose_forms_flat", "encode_flat_streams"],
            32 => ["choose_forms_32", "encode_streams_32"],
            _ => ["choose_forms_64", "encode_streams_64"],
        };
        let (warps, shared) = coder.encoder_block(gpu, a.units_in_tile);
        // as many blocks as run at a time: each takes the same share
        let (choosing, listing) = (gpu.multiprocessors * 5, gpu.multiprocessors * 8);
        let units = self.tile_count.saturating_mul(a.units_in_tile);
        let choosers = self.tile_count.saturating_mul(a.warps_of_tile);
        // a few streams go to as many multiprocessors
        let streams = (self.chunk_count * MAX_STREAMS as u32).min(gpu.multiprocessors);
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe {
            gpu.launch(choose, choosers.div_ceil(WARPS).min(choosing), BLOCK, 0, &a)?;
            gpu.launch("split_chunks", 1, 1024, 0, &a)?;
            gpu.launch("list_units", units.div_ceil(BLOCK).min(listing), BLOCK, 0, &a)?;
            gpu.launch(encode, streams, 32 * warps, shared, &a)?;
            gpu.launch("place_chunks", 1, 1024, 0, &a)?;
        }
        self.assemble(gpu, coder, shapes, bits)
    }

    /// Queues the copying of all parts to their places in the output; nothing happens when it is too small.
    pub fn assemble(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> Result<()> {
        let a = self.arguments(gpu, coder, shapes, bits);
        let (assemble, block, resident) = match bits {
            32 if self.flat => ("assemble_flat", FLAT_BLOCK, 10),
            32 => ("assemble_32", BLOCK, 5),
            _ => ("assemble_64", BLOCK, 5),
        };
        let streams = (self.chunk_count * MAX_STREAMS as u32).min(gpu.multiprocessors * resident);
        // SAFETY: as in `encode`.
        unsafe { gpu.launch(assemble, streams, block, 0, &a) }
    }

    /// Queues everything from bytes to symbols. Damage is noted in the chunks.
    pub fn decode(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> Result<()> {
        let block = coder.decoder_block(gpu, shapes, self.chunk_count < 8);
        let a = CoderArguments { tables_by_slots: block.by_slots, ..self.arguments(gpu, coder, shapes, bits) };
        let kernel = if bits == 32 { "decode_streams_32" } else { "decode_streams_64" };
        let threads = self.chunk_count * MAX_STREAMS as u32;
        let blocks = threads.div_ceil(block.warps).min(gpu.multiprocessors);
        // SAFETY: as in `encode`; the kernels check every index that comes from the bytes.
        unsafe {
            gpu.fill(a.order, 0, 8 * LISTS)?;
            gpu.launch("parse_chunks", threads.div_ceil(BLOCK), BLOCK, 0, &a)?;
            gpu.launch(kernel, blocks, 32 * block.warps, block.shared, &a)
        }
    }

    /// The chunks and the number of output bytes, after the kernels are done.
    pub fn results(&self, gpu: &Gpu) -> Result<(Vec<Chunk>, u64)> {
        let mut chunks = vec![bytemuck::Zeroable::zeroed(); self.chunk_count as usize];
        let mut totals = [0u64; 2];
        // SAFETY: reserved by `prepare`.
        unsafe {
            gpu.download(self.chunks.address(gpu), &mut chunks)?;
            gpu.download(self.totals.address(gpu), &mut totals)?;
        }
        Ok((chunks, totals[1]))
    }
    /// Whether the encoded chunks had room; if not, nothing was written.
    pub fn had_room(&self, bytes: u64) -> bool {
        bytes <= self.capacity
    }
    pub fn output(&self, gpu: &Gpu, bytes: u64) -> Result<Vec<u8>> {
        let mut output = vec![0; bytes as usize];
        // SAFETY: `bytes` is within the capacity.
        unsafe { gpu.download(self.output.address(gpu), &mut output)? };
        Ok(output)
    }
}
