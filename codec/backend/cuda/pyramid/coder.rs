//! The class coder on the device: its tables, and how the blocks that code streams share them.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::blob::Blob;
use super::class_arguments::CoderTables;
use super::level::Shapes;
use crate::Result;
use crate::entropy::class::tables::{EXACT_CLASS, PROB_SUM, TABLES, Table, class_group};

/// Warps of a block that codes streams: they share the tables. As in class.cuh.
const STREAM_WARPS: u32 = 32;
/// Most warps of a block that encodes streams, as in class_encode.cu.
const ENCODER_WARPS: u32 = 32;

/// Bytes of a table by its slots, or by its tokens.
const SLOTS_BYTES: usize = 8192;
const TOKENS_BYTES: usize = 2048;
/// The tables of classes: starts of 64 tokens and the end, padded, and tokens at every 32nd slot. As in rans_decode.cuh.
const CLASS_ROW: usize = 66;
const CLASS_PIECE: usize = 32;
/// Words of the window through which a warp reads a stream. As in rans_decode.cuh.
const WINDOW: usize = 256;
/// What stands behind the words of a stream, as in class_decode.cuh.
const LISTS: usize = 64;
/// How far the decoder reads past the end of a chunk at most.
pub const READ_AHEAD: usize = 8 * WINDOW;

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
    pub fn encoder_block(&self, gpu: &Gpu, units_in_tile: u32) -> (u32, usize) {
        let (tables, entries) = (self.table_count(), self.tables.entry_count as usize);
        let fixed = 16 * (1 + 2 * (entries + tables))
            + 4 * (self.class_entries + PROB_SUM as usize + tables.next_multiple_of(4));
        let per_warp = 16 * 32 + 4 * (units_in_tile + 32).next_power_of_two() as usize;
        let fits = |warps: &u32| fixed + *warps as usize * per_warp <= gpu.shared_per_block;
        let warps = [ENCODER_WARPS, ENCODER_WARPS / 2].into_iter().find(fits).unwrap_or(ENCODER_WARPS / 4);
        (warps, fixed + warps as usize * per_warp)
    }
    /// The blocks of the decoder: see `Memory` in class_decode.cu.
    pub fn decoder_block(&self, gpu: &Gpu, shapes: &Shapes, few_streams: bool) -> DecoderBlock {
        let classes = TABLES.classes.len() * (2 * CLASS_ROW + PROB_SUM as usize / CLASS_PIECE);
        let (units, slots, entries) =
            (shapes.units_in_tile as usize, shapes.slots as usize, self.tables.entry_count as usize);
        debug_assert!(units < 1024 && slots < 1024 && entries <= 1024, "they are packed into 10 bits");
        let per_warp = 2 * WINDOW + 12 * units.next_multiple_of(4) + (slots + 1).next_multiple_of(16) + LISTS;
        let fixed = TOKENS_BYTES * self.table_count()
            + 4 * entries.next_multiple_of(4)
            + classes
            + 4 * (EXACT_CLASS as usize + 1);
        let room = gpu.shared_per_block.saturating_sub(fixed);
        let warps = (room / per_warp).clamp(1, STREAM_WARPS as usize);
        let most = room.saturating_sub(warps * per_warp) / (SLOTS_BYTES - TOKENS_BYTES);
        // copying them must be worth it
        let by_slots = if few_streams { 0 } else { most.min(self.table_count()) };
        let shared = fixed + warps * per_warp + by_slots * (SLOTS_BYTES - TOKENS_BYTES);
        DecoderBlock { warps: warps as u32, by_slots: by_slots as u32, shared }
    }
}

/// How the decoder of streams is launched: warps of a block, how many tables it keeps by their slots, bytes of shared memory.
pub struct DecoderBlock {
    pub warps: u32,
    pub by_slots: u32,
    pub shared: usize,
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
