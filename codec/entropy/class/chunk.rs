//! The payload of a chunk: a header of sizes, then one part per stream. See `FORMAT.md`, "Chunk payload".

use super::choice::{Form, choose};
use super::decode::decode_stream;
use super::rans::{MAX_LANES, SLACK};
use super::slots::Slots;
use super::stream::{StreamParts, encode_stream};
use super::symbols::{ChunkLayout, ChunkSymbols};
use crate::entropy::reader::Reader;
use crate::{Error, Result};

/// Most streams of a chunk.
pub(crate) const MAX_STREAMS: usize = 16;
/// A lane costs about 24 bits (its first and last state); it is worth it from this many bits of payload on.
pub(crate) const BITS_PER_LANE: u64 = 1500;
/// A decoder that runs all lanes at once takes as long as the longest lane has nodes. So there is a lane for so many coded
/// nodes, as long as each still has so many bits: few nodes where bits are many, more where they are few.
pub(crate) const LANE_NODES_AND_BITS: [(u64, u64); 2] = [(1000, 800), (2048, 200)];

/// The code of one stream of 32 lanes, less one.
const ONE_STREAM: u8 = MAX_LANES.ilog2() as u8;

/// Header flags.
pub(crate) const HAS_LISTS: u8 = 1;
pub(crate) const WIDE_SIZES: u8 = 2;

/// Streams and lanes of a chunk, from the code in its first byte: 1, 2, 4, 8, 16 lanes of one stream, then 1, 2, 3, .. streams of
/// 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) code: u8,
}

impl Split {
    /// For an estimated payload of `bits` bits that codes `nodes` nodes.
    pub(crate) fn for_cost(bits: u64, nodes: u64, tiles: usize) -> Self {
        let most = MAX_LANES * tiles.clamp(1, MAX_STREAMS);
        let by_nodes = LANE_NODES_AND_BITS.iter().map(|&(n, b)| (nodes / n).min(bits / b)).fold(0, u64::max);
        let lanes = (bits / BITS_PER_LANE).max(by_nodes).clamp(1, most as u64) as usize;
        Self { code: if lanes < MAX_LANES { 1 + lanes.ilog2() as u8 } else { ONE_STREAM + (lanes / MAX_LANES) as u8 } }
    }
    pub(crate) fn from_code(code: u8) -> Result<Self> {
        if code == 0 || code > ONE_STREAM + MAX_STREAMS as u8 {
            return Err(Error::corrupt(format!("chunk payload: {code} is no code of streams and lanes")));
        }
        Ok(Self { code })
    }
    pub(crate) fn lanes(self) -> usize {
        1 << self.code.saturating_sub(1).min(ONE_STREAM)
    }
    pub(crate) fn streams(self) -> usize {
        self.code.saturating_sub(ONE_STREAM).max(1) as usize
    }
    /// The tiles of a stream.
    pub(crate) fn tiles(self, stream: usize, count: usize) -> std::ops::Range<usize> {
        stream * count / self.streams()..(stream + 1) * count / self.streams()
    }
}

/// Appends the payload of a chunk. Units whose nodes are all exact are coded by their deltas.
pub fn encode_chunk(layout: &ChunkLayout, symbols: &ChunkSymbols, out: &mut Vec<u8>) {
    let mut forms = Vec::with_capacity(layout.tiles.len());
    let (mut cost, mut coded) = (0u64, 0u64);
    for tile in &layout.tiles {
        let of_tile = layout.shapes[tile.shape].units.iter().map(|unit| {
            let nodes = tile.start + unit.start as usize..tile.start + (unit.start + unit.len) as usize;
            let delta = if symbols.delta.is_empty() { &[][..] } else { &symbols.delta[nodes.clone()] };
            let (form, bits) = choose(&symbols.q[nodes], delta, layout.bits);
            cost += bits;
            coded += if form == Form::Zero { 0 } else { unit.len as u64 };
            form
        });
        forms.push(of_tile.collect::<Vec<_>>());
    }
    if forms.iter().flatten().all(|f| *f == Form::Zero) {
        out.push(0);
        return;
    }
    let split = Split::for_cost(cost >> 12, coded, layout.tiles.len());
    let slots = Slots::of(layout);
    let parts: Vec<StreamParts> = (0..split.streams())
        .map(|s| encode_stream(layout, symbols, &forms, &slots, split.tiles(s, layout.tiles.len()), split.lanes()))
        .collect();
    write_payload(split, layout.bits, &parts, out);
}

fn write_payload(split: Split, bits: u32, parts: &[StreamParts], out: &mut Vec<u8>) {
    let lists = parts.iter().any(|p| p.sizes()[1..] != [0; 3]);
    let wide = parts.iter().any(|p| p.sizes().iter().any(|&s| s > u16::MAX as usize));
    out.push(split.code);
    out.push(if lists { HAS_LISTS } else { 0 } | if wide { WIDE_SIZES } else { 0 });
    for part in parts {
        for &size in &part.sizes()[..if lists { 4 } else { 1 }] {
            out.extend_from_slice(&(size as u32).to_le_bytes()[..if wide { 4 } else { 2 }]);
        }
    }
    for part in parts {
        part.write(bits, out);
    }
}

/// Reads what [`encode_chunk`] wrote. `symbols` is overwritten; its buffers are reused.
pub fn decode_chunk(layout: &ChunkLayout, payload: &[u8], symbols: &mut ChunkSymbols) -> Result<()> {
    symbols.q.clear();
    symbols.q.resize(layout.nodes, 0);
    symbols.delta.clear();
    let Some((&code, rest)) = payload.split_first() else {
        return Err(Error::truncated("chunk payload: empty"));
    };
    if code == 0 {
        return if rest.is_empty() { Ok(()) } else { Err(Error::corrupt("chunk payload: bytes after an empty chunk")) };
    }
    let split = Split::from_code(code)?;
    let mut reader = Reader { rest };
    let sizes = read_sizes(split.streams(), &mut reader)?;
    let slots = Slots::of(layout);
    // between two checks a decoder reads at most the classes of a tile and one unit
    let longest =
        layout.shapes.iter().map(|s| 3 * s.units.len() + s.units.iter().map(|u| u.len as usize).max().unwrap_or(0));
    let padding = longest.max().unwrap_or(0) + SLACK;
    for (stream, sizes) in sizes.iter().enumerate() {
        let parts = StreamParts::read(*sizes, split.lanes(), layout.bits, padding, &mut reader)?;
        decode_stream(layout, &parts, &slots, split.tiles(stream, layout.tiles.len()), symbols)
            .map_err(|e| Error { message: format!("chunk payload, stream {stream}: {}", e.message), ..e })?;
    }
    if reader.rest.is_empty() { Ok(()) } else { Err(Error::corrupt("chunk payload: bytes after the last stream")) }
}

/// Flags, then words, escapes, exact values and raw bytes of each stream.
fn read_sizes(streams: usize, reader: &mut Reader) -> Result<Vec<[usize; 4]>> {
    let flags = reader.take(1, "flags")?[0];
    if flags & !(HAS_LISTS | WIDE_SIZES) != 0 {
        return Err(Error::corrupt(format!("chunk payload: unknown flags {flags:#x}")));
    }
    let count = if flags & HAS_LISTS != 0 { 4 } else { 1 };
    let width = if flags & WIDE_SIZES != 0 { 4 } else { 2 };
    let mut sizes = vec![[0; 4]; streams];
    for size in sizes.iter_mut().flat_map(|of_stream| &mut of_stream[..count]) {
        let mut word = [0; 4];
        word[..width].copy_from_slice(reader.take(width, "sizes")?);
        *size = u32::from_le_bytes(word) as usize;
    }
    Ok(sizes)
}
