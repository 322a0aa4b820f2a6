//! Decoding of one stream; nothing in it is trusted.

use super::bits::BitReader;
use super::choice::{ALL_EQUAL, PLAIN};
use super::rans::Decoder;
use super::slots::{Contexts, Slots, class_rounds};
use super::stream::{StreamParts, range, unzigzag};
use super::symbols::{ChunkLayout, ChunkSymbols, EXACT, Unit};
use super::tables::{EXACT_CLASS, TABLES};
use crate::simd::{Kernel, dispatch};
use crate::{Error, Result};
use std::ops::Range;

/// What the class rounds say of a unit.
#[derive(Clone, Copy, Default)]
struct UnitClass {
    class: u8,
    /// Of exact units.
    table: u8,
    shift: u8,
}

/// Decodes the tiles `tiles` into `symbols`, whose q are all 0.
pub fn decode_stream(
    layout: &ChunkLayout,
    parts: &StreamParts,
    slots: &Slots,
    tiles: Range<usize>,
    symbols: &mut ChunkSymbols,
) -> Result<()> {
    let mut stream = Stream {
        decoder: Decoder::new(&parts.states, &parts.words, parts.word_count),
        lanes: parts.states.len(),
        bits: layout.bits,
        lists: Lists { escapes: parts.escapes.iter(), exact: parts.exact.iter(), raw: BitReader::new(&parts.raw) },
        tokens: Vec::new(),
    };
    let mut contexts = Contexts::new(slots);
    let mut classes = Vec::new();
    for tile in &layout.tiles[tiles] {
        let units = &layout.shapes[tile.shape].units;
        stream.classes(units, &mut contexts, &mut classes);
        for (unit, &class) in units.iter().zip(&classes) {
            stream.unit(range(tile, unit), class, symbols)?;
            if !stream.decoder.within() {
                return Err(Error::truncated("words are missing"));
            }
        }
    }
    stream.finish()
}

struct Lists<'a> {
    escapes: std::slice::Iter<'a, u16>,
    exact: std::slice::Iter<'a, u64>,
    raw: BitReader<'a>,
}

impl Lists<'_> {
    fn escape(&mut self) -> Result<i16> {
        self.escapes.next().map(|&e| e as i16).ok_or_else(|| Error::corrupt("the escape list is too short"))
    }
    fn exact(&mut self) -> Result<u64> {
        self.exact.next().copied().ok_or_else(|| Error::corrupt("the list of exact values is too short"))
    }
    fn expect_raw(&self, count: usize, width: u32) -> Result<()> {
        if self.raw.has(count, width) { Ok(()) } else { Err(Error::corrupt("the raw bits are too short")) }
    }
}

struct Stream<'a> {
    decoder: Decoder<'a>,
    lanes: usize,
    bits: u32,
    lists: Lists<'a>,
    tokens: Vec<u8>,
}

impl Stream<'_> {
    /// The class rounds of a tile.
    fn classes(&mut self, units: &[Unit], contexts: &mut Contexts, out: &mut Vec<UnitClass>) {
        out.clear();
        out.resize(units.len(), UnitClass::default());
        for round in class_rounds(units, self.lanes) {
            let (units, out) = (&units[round.clone()], &mut out[round]);
            for (lane, (unit, out)) in units.iter().zip(&mut *out).enumerate() {
                out.class = self.decoder.get_lane(lane, contexts.table(unit));
                contexts.set(unit, out.class);
            }
            for (lane, out) in out.iter_mut().enumerate().filter(|(_, o)| o.class == EXACT_CLASS) {
                out.table = self.decoder.get_lane(lane, &TABLES.uniform);
            }
            for (lane, out) in out.iter_mut().enumerate().filter(|(_, o)| o.class == EXACT_CLASS) {
                out.shift = self.decoder.get_lane(lane, &TABLES.uniform);
            }
        }
    }

    fn unit(&mut self, nodes: Range<usize>, class: UnitClass, symbols: &mut ChunkSymbols) -> Result<()> {
        match class.class {
            0 => Ok(()),
            EXACT_CLASS => self.exact_unit(nodes, class, symbols),
            quantized => self.quantized_unit(nodes, quantized - 1, symbols),
        }
    }

    fn quantized_unit(&mut self, nodes: Range<usize>, class: u8, symbols: &mut ChunkSymbols) -> Result<()> {
        let class = &TABLES.quantized[class as usize];
        let table = &TABLES.symbols[class.table as usize];
        self.tokens.resize(nodes.len(), 0);
        self.decoder.get(table, &mut self.tokens);
        let width = class.shift as u32;
        self.lists.expect_raw(nodes.len(), width)?;
        let q = &mut symbols.q[nodes.clone()];
        dispatch(Symbols { tokens: &self.tokens, width, raw: &mut self.lists.raw, q });
        if !self.tokens.contains(&table.escape()) {
            return Ok(());
        }
        for (i, _) in self.tokens.iter().enumerate().filter(|(_, t)| **t == table.escape()) {
            let node = nodes.start + i;
            symbols.q[node] = self.lists.escape()?;
            if symbols.q[node] == EXACT {
                set_delta(symbols, node, self.lists.exact()?);
            }
        }
        Ok(())
    }

    fn exact_unit(&mut self, nodes: Range<usize>, class: UnitClass, symbols: &mut ChunkSymbols) -> Result<()> {
        symbols.q[nodes.clone()].fill(EXACT);
        let width = if class.table == PLAIN { self.bits } else { class.shift as u32 };
        if width >= self.bits && class.table != PLAIN {
            return Err(Error::corrupt("a shift is out of range"));
        }
        self.lists.expect_raw(nodes.len(), width)?;
        if matches!(class.table, ALL_EQUAL | PLAIN) {
            for node in nodes {
                let delta = self.lists.raw.get(width);
                set_delta(symbols, node, delta);
            }
            return Ok(());
        }
        let table =
            TABLES.symbols.get(class.table as usize).ok_or_else(|| Error::corrupt("a table is out of range"))?;
        self.tokens.resize(nodes.len(), 0);
        self.decoder.get(table, &mut self.tokens);
        for (i, node) in nodes.enumerate() {
            let token = self.tokens[i];
            let low = self.lists.raw.get(width);
            let delta = if token == table.escape() { self.lists.exact()? } else { (token as u64) << width | low };
            if self.bits < 64 && delta >> self.bits != 0 {
                return Err(Error::corrupt("a delta is wider than the element type"));
            }
            set_delta(symbols, node, delta);
        }
        Ok(())
    }

    /// Everything must be used up.
    fn finish(mut self) -> Result<()> {
        if !self.decoder.is_finished() {
            return Err(Error::corrupt("the states do not end where they began"));
        }
        if self.lists.escapes.next().is_some() || self.lists.exact.next().is_some() || !self.lists.raw.is_finished() {
            return Err(Error::corrupt("entries are left over in its lists"));
        }
        Ok(())
    }
}

/// From tokens and raw low bits to symbols.
struct Symbols<'a, 'b> {
    tokens: &'a [u8],
    /// Raw bits of a node, at most 8; enough of them are there.
    width: u32,
    raw: &'a mut BitReader<'b>,
    q: &'a mut [i16],
}

impl Kernel for Symbols<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { tokens, width, raw, q } = self;
        if width == 0 {
            for (q, &token) in q.iter_mut().zip(tokens) {
                *q = unzigzag(token as u16);
            }
            return;
        }
        let low = (1u64 << width) - 1;
        let pair = 0x1_0000_0001 * ((1 << (2 * width)) - 1);
        for (q, tokens) in q.chunks_mut(4).zip(tokens.chunks(4)) {
            let bits = raw.get(width * tokens.len() as u32);
            // Four nodes apart in one word.
            let pairs = (bits | bits << (32 - 2 * width)) & pair;
            let words = (pairs | pairs << (16 - width)) & (0x1_0001_0001_0001 * low);
            for (i, (q, &token)) in q.iter_mut().zip(tokens).enumerate() {
                *q = unzigzag((token as u16) << width | (words >> (16 * i)) as u16);
            }
        }
    }
}

/// Sets one delta; the first one of a chunk makes room for all.
fn set_delta(symbols: &mut ChunkSymbols, node: usize, delta: u64) {
    if symbols.delta.is_empty() {
        symbols.delta.resize(symbols.q.len(), 0);
    }
    symbols.delta[node] = delta;
}
