//! The class coder on the device: its tables, the memory of the chunks of all arrays, and the order of its kernels.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Chunk, CoderArguments, CoderTables, Stream, Tile, UnitRecord};
use super::blob::Blob;
use super::level::{Shapes, Span, Worklist};
use crate::Result;
use crate::entropy::class::chunk::{BITS_PER_LANE, LEAST_BITS_PER_LANE, MAX_STREAMS, NODES_PER_LANE};
use crate::entropy::class::tables::{EXACT_CLASS, PROB_SUM, TABLES, Table, class_group};

/// Threads of a block of the coder's kernels.
const BLOCK: u32 = 256;
const WARPS: u32 = BLOCK / 32;
/// Warps of a block that codes streams: they share the tables. As in class.cuh.
const STREAM_WARPS: u32 = 32;

/// Bytes of a table by its slots, or by its tokens.
const SLOTS_BYTES: usize = 8192;
const TOKENS_BYTES: usize = 2048;
/// The tables of classes: starts of 64 tokens and the end, padded, and tokens at every 32nd slot. As in rans_decode.cuh.
const CLASS_ROW: usize = 66;
const CLASS_PIECE: usize = 32;
/// Words of the window through which a warp reads a stream. As in rans_decode.cuh.
const WINDOW: usize = 256;
/// How far the decoder reads past the end of a chunk at most.
const READ_AHEAD: usize = 8 * WINDOW;
/// Lists of streams by length, counts included: `StreamOrder` in class.cuh.
const LISTS: usize = 32;

/// The tables of symbols, most used first: by their share of coded nodes, mean over 13 fields at 1e-2 to 1e-5.
const RANKING: [u8; 30] =
    [0, 28, 1, 14, 29, 3, 5, 6, 2, 26, 24, 18, 7, 9, 23, 10, 8, 12, 27, 20, 25, 11, 15, 13, 16, 17, 21, 22, 19, 4];

/// The fixed tables.
pub struct Coder {
    /// Held for its memory.
    _memory: Buffer,
    pub tables: CoderTables,
    /// Entries of all tables but those of symbols.
    class_entries: usize,
}

impl Coder {
    pub fn new(gpu: &Gpu) -> Result<Self> {
        let all: Vec<&Table> = TABLES.symbols.iter().chain(&TABLES.classes).chain([&TABLES.uniform]).collect();
        let mut first = vec![0u32];
        let (mut encode, mut entries) = (Vec::new(), Vec::new());
        for table in &all {
            encode.extend(table.encode.iter().flat_map(|e| [e.limit, e.reciprocal, e.bias, e.complement]));
            first.push(encode.len() as u32 / 4);
        }
        for table in &TABLES.symbols {
            entries.extend(starts(table).enumerate().map(|(token, start)| entry(table, token, start)));
        }
        let ranked = || RANKING.iter().map(|&t| &TABLES.symbols[t as usize]);
        let tokens: Vec<u8> = ranked().flat_map(|t| t.decode.iter().map(|&e| e as u8)).collect();
        let slots: Vec<u32> =
            ranked().flat_map(|t| t.decode.iter().map(|&e| entry(t, e as usize & 255, e >> 20))).collect();
        let mut ranks = [0u32; RANKING.len()];
        RANKING.iter().enumerate().for_each(|(rank, &table)| ranks[table as usize] = rank as u32);
        let (mut class_starts, mut class_tokens) = (Vec::new(), Vec::new());
        for table in &TABLES.classes {
            class_starts.extend(starts(table).map(|s| s as u16));
            class_starts.extend([PROB_SUM as u16, 0]);
            class_tokens.extend(table.decode.iter().step_by(CLASS_PIECE).map(|&e| e as u8));
        }
        let all_entries = encode.len() / 4;
        let costs: Vec<u32> = TABLES.quantized.iter().flat_map(|c| c.cost).collect();
        let classes: Vec<u32> = TABLES.quantized.iter().map(|c| c.table as u32 | (c.shift as u32) << 8).collect();
        let groups: Vec<u32> = (0..=EXACT_CLASS).map(|c| class_group(Some(c)) as u32).collect();
        let mut blob = Blob::default();
        let at = [
            blob.add(&encode),
            blob.add(&entries),
            blob.add(&tokens),
            blob.add(&slots),
            blob.add(&ranks),
            blob.add(&class_starts),
            blob.add(&class_tokens),
            blob.add(&first),
            blob.add(&costs),
            blob.add(&classes),
            blob.add(&groups),
        ];
        let mut memory = Buffer::default();
        let base = blob.upload(gpu, &mut memory)?;
        let [encode, entries_at, tokens, slots, ranks, class_starts, class_tokens, first, costs, classes, groups] =
            at.map(|offset| base + offset);
        let (class_count, symbol_tables) = (TABLES.quantized.len() as u32, TABLES.symbols.len() as u32);
        let tables = CoderTables {
            encode,
            entries: entries_at,
            tokens,
            slots,
            ranks,
            class_starts,
            class_tokens,
            first,
            costs,
            classes,
            groups,
            class_count,
            symbol_tables,
            entry_count: entries.len() as u32,
            unused: 0,
        };
        Ok(Self { _memory: memory, tables, class_entries: all_entries - entries.len() })
    }
    fn table_count(&self) -> usize {
        self.tables.symbol_tables as usize
    }
    /// Warps of the encoder's blocks and their bytes of shared memory: see `encode_streams`.
    fn encoder_block(&self, gpu: &Gpu, units_in_tile: u32) -> (u32, usize) {
        let (tables, entries) = (self.table_count(), self.tables.entry_count as usize);
        let fixed = 16 * (1 + 2 * (entries + tables))
            + 4 * (self.class_entries + PROB_SUM as usize + tables.next_multiple_of(4));
        let per_warp = 16 * 32 + 4 * (units_in_tile + 32).next_power_of_two() as usize;
        let fits = |warps: &u32| fixed + *warps as usize * per_warp <= gpu.shared_per_block;
        let warps = [STREAM_WARPS, STREAM_WARPS / 2].into_iter().find(fits).unwrap_or(STREAM_WARPS / 4);
        (warps, fixed + warps as usize * per_warp)
    }
    /// How many tables the decoder's blocks keep by their slots, and their bytes of shared memory: see `Memory` in
    /// class_decode.cu.
    fn decoder_shared(&self, gpu: &Gpu, shapes: &Shapes, few_streams: bool) -> (usize, usize) {
        let classes = TABLES.classes.len() * (2 * CLASS_ROW + PROB_SUM as usize / CLASS_PIECE);
        let (units, slots) = (shapes.units_in_tile as usize, shapes.slots as usize);
        let per_warp = 2 * WINDOW + 12 * units.next_multiple_of(4) + (slots + 1).next_multiple_of(16);
        let fixed = TOKENS_BYTES * self.table_count()
            + 4 * (self.tables.entry_count as usize).next_multiple_of(4)
            + classes
            + 4 * (EXACT_CLASS as usize + 1)
            + STREAM_WARPS as usize * per_warp;
        let most = gpu.shared_per_block.saturating_sub(fixed) / (SLOTS_BYTES - TOKENS_BYTES);
        // copying them must be worth it
        let by_slots = if few_streams { 0 } else { most.min(self.table_count()) };
        (by_slots, fixed + by_slots * (SLOTS_BYTES - TOKENS_BYTES))
    }
}

/// First slot of each token.
fn starts(table: &Table) -> impl Iterator<Item = u32> {
    table.freq.iter().scan(0, |next, &frequency| {
        let start = *next;
        *next += frequency as u32;
        Some(start)
    })
}

/// What decodes a token: see rans_decode.cuh. `at`: where it starts, or how far a slot is from there.
fn entry(table: &Table, token: usize, at: u32) -> u32 {
    let symbol = (token as i32 >> 1) ^ -(token as i32 & 1);
    let is_escape = token + 1 == table.freq.len();
    table.freq[token] as u32 | (symbol as u32 & 511) << 11 | (is_escape as u32) << 20 | at << 21
}

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
            self.words.reserve(gpu, 2 * (nodes + 3 * list.units as usize))?;
            self.escapes.reserve(gpu, 2 * nodes)?;
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
        // SAFETY: reserved by `prepare`, one byte a chunk.
        unsafe {
            gpu.fill(self.choices.address(gpu), choice, self.chunk_count as usize)?;
            gpu.copy(self.fresh.address(gpu), self.chunks.address(gpu), size_of_val(&self.initial[..]))
        }
    }
    pub fn set_output(&self, gpu: &Gpu, bytes: &[u8]) -> Result<()> {
        // SAFETY: reserved by `reserve_output`.
        unsafe { gpu.upload(self.output.address(gpu), bytes) }
    }
    /// The tiles of one array.
    pub fn tiles(&self, gpu: &Gpu, span: &Span) -> u64 {
        self.tiles.address(gpu) + (span.tiles.start * size_of::<Tile>()) as u64
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
            nodes_per_lane: NODES_PER_LANE as u32,
            least_bits_per_lane: LEAST_BITS_PER_LANE as u32,
            tables_by_slots: 0,
            unused: 0,
        }
    }

    /// Queues everything from symbols to bytes, after [`Coding::reset`].
    pub fn encode(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> Result<()> {
        let a = self.arguments(gpu, coder, shapes, bits);
        let [choose, encode] = match bits {
            32 => ["choose_forms_32", "encode_streams_32"],
            _ => ["choose_forms_64", "encode_streams_64"],
        };
        let (warps, shared) = coder.encoder_block(gpu, a.units_in_tile);
        // as many blocks as run at a time: each takes the same share
        let (choosing, listing) = (gpu.multiprocessors * 5, gpu.multiprocessors * 8);
        let units = self.tile_count.saturating_mul(a.units_in_tile);
        let streams = (self.chunk_count * MAX_STREAMS as u32).div_ceil(STREAM_WARPS).min(gpu.multiprocessors);
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe {
            gpu.launch(choose, self.tile_count.div_ceil(WARPS).min(choosing), BLOCK, 0, &a)?;
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
        let assemble = if bits == 32 { "assemble_32" } else { "assemble_64" };
        let streams = (self.chunk_count * MAX_STREAMS as u32).min(gpu.multiprocessors * 5);
        // SAFETY: as in `encode`.
        unsafe { gpu.launch(assemble, streams, BLOCK, 0, &a) }
    }

    /// Queues everything from bytes to symbols. Damage is noted in the chunks.
    pub fn decode(&self, gpu: &Gpu, coder: &Coder, shapes: &Shapes, bits: u32) -> Result<()> {
        let (by_slots, shared) = coder.decoder_shared(gpu, shapes, self.chunk_count < 8);
        let a = CoderArguments { tables_by_slots: by_slots as u32, ..self.arguments(gpu, coder, shapes, bits) };
        let kernel = if bits == 32 { "decode_streams_32" } else { "decode_streams_64" };
        let threads = self.chunk_count * MAX_STREAMS as u32;
        let streams = threads.div_ceil(STREAM_WARPS).min(gpu.multiprocessors);
        // SAFETY: as in `encode`; the kernels check every index that comes from the bytes.
        unsafe {
            gpu.fill(a.order, 0, 8 * LISTS)?;
            gpu.launch("parse_chunks", threads.div_ceil(BLOCK), BLOCK, 0, &a)?;
            gpu.launch(kernel, streams, 32 * STREAM_WARPS, shared, &a)
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
