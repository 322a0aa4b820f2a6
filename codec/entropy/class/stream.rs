//! One stream of a chunk: a run of tiles under one set of rANS lanes, with its lists.

use super::bits::BitWriter;
use super::choice::{ALL_EQUAL, Form, PLAIN};
use super::rans::{Encoder, MAX_LANES, STATE_MIN};
use super::slots::{Contexts, Slots, class_rounds};
use super::symbols::{ChunkLayout, ChunkSymbols, EXACT, TileRef, Unit};
use super::tables::{EXACT_CLASS, TABLES, Table};
use crate::entropy::reader::Reader;
use crate::simd::{Kernel, dispatch};
use crate::{Error, Result};
use std::ops::Range;

/// The content of a stream in the order of its bytes.
#[derive(Default)]
pub struct StreamParts {
    pub states: Vec<u32>,
    pub words: Vec<u16>,
    /// Residuals beyond their table; [`EXACT`] sends on to `exact`.
    pub escapes: Vec<u16>,
    /// Deltas of exact nodes that are not tokens.
    pub exact: Vec<u64>,
    /// Raw low bits.
    pub raw: Vec<u8>,
    /// Number of words, without the padding that [`StreamParts::read`] adds.
    pub word_count: usize,
}

impl StreamParts {
    /// Words, escapes, exact values, raw bytes.
    pub fn sizes(&self) -> [usize; 4] {
        [self.word_count, self.escapes.len(), self.exact.len(), self.raw.len()]
    }

    pub fn write(&self, bits: u32, out: &mut Vec<u8>) {
        out.extend(self.states.iter().flat_map(|x| x.to_le_bytes()));
        out.extend(self.words[..self.word_count].iter().chain(&self.escapes).flat_map(|w| w.to_le_bytes()));
        for value in &self.exact {
            out.extend_from_slice(&value.to_le_bytes()[..bits as usize / 8]);
        }
        out.extend_from_slice(&self.raw);
    }

    /// `padding` words of zero are added, so that a damaged stream cannot read beyond the buffer between two checks.
    pub fn read(sizes: [usize; 4], lanes: usize, bits: u32, padding: usize, reader: &mut Reader) -> Result<Self> {
        let states = reader.take(4 * lanes, "states")?;
        let states: Vec<u32> = states.as_chunks().0.iter().map(|&x| u32::from_le_bytes(x)).collect();
        if states.iter().any(|&x| !(STATE_MIN..1 << 31).contains(&x)) {
            return Err(Error::corrupt("chunk payload: a state is out of range"));
        }
        let words = reader.take(2 * sizes[0], "words")?;
        let escapes = reader.take(2 * sizes[1], "escapes")?;
        let exact = reader.take(bits as usize / 8 * sizes[2], "exact values")?;
        let raw = reader.take(sizes[3], "raw bits")?;
        let as_words = |b: &[u8]| b.as_chunks().0.iter().map(|&w| u16::from_le_bytes(w)).collect::<Vec<_>>();
        let mut padded = as_words(words);
        padded.resize(sizes[0] + padding, 0);
        Ok(Self {
            states,
            words: padded,
            escapes: as_words(escapes),
            exact: exact.chunks_exact(bits as usize / 8).map(little_endian).collect(),
            raw: raw.to_vec(),
            word_count: sizes[0],
        })
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

#[inline(always)]
fn zigzag(q: i16) -> u16 {
    ((q << 1) ^ (q >> 15)) as u16
}

#[inline(always)]
pub fn unzigzag(z: u16) -> i16 {
    (z >> 1) as i16 ^ -((z & 1) as i16)
}

fn class_of(form: Form) -> u8 {
    match form {
        Form::Zero => 0,
        Form::Quantized(class) => class + 1,
        Form::Exact { .. } => EXACT_CLASS,
    }
}

pub fn range(tile: &TileRef, unit: &Unit) -> Range<usize> {
    tile.start + unit.start as usize..tile.start + (unit.start + unit.len) as usize
}

/// Encodes the tiles `tiles`. `forms` holds the form of each unit of each tile of the chunk.
pub fn encode_stream(
    layout: &ChunkLayout,
    symbols: &ChunkSymbols,
    forms: &[Vec<Form>],
    slots: &Slots,
    tiles: Range<usize>,
    lanes: usize,
) -> StreamParts {
    let mut lists = Lists::default();
    let mut nodes = 0;
    let mut contexts = Contexts::new(slots);
    let mut class_tables = Vec::with_capacity(tiles.len());
    for t in tiles.clone() {
        let tile = &layout.tiles[t];
        let units = &layout.shapes[tile.shape].units;
        // units of one step do not see each other, so the order inside a round does not matter
        let of_tile = units.iter().zip(&forms[t]).map(|(unit, &form)| {
            nodes += unit.len as usize + 3;
            lists.add(form, symbols, range(tile, unit), layout.bits);
            let table = contexts.table(unit);
            contexts.set(unit, class_of(form));
            table
        });
        class_tables.push(of_tile.collect::<Vec<_>>());
    }
    let mut encoder = Encoder::new(lanes, nodes);
    let mut tokens = Vec::new();
    for t in tiles.clone().rev() {
        let tile = &layout.tiles[t];
        let units = &layout.shapes[tile.shape].units;
        for (unit, &form) in units.iter().zip(&forms[t]).rev() {
            if let Some(table) = tokens_of(form, symbols, range(tile, unit), &mut tokens) {
                encoder.put(table, &tokens);
            }
        }
        for round in class_rounds(units, lanes).rev() {
            put_classes(&mut encoder, &forms[t][round.clone()], &class_tables[t - tiles.start][round]);
        }
    }
    let (states, words) = encoder.finish();
    StreamParts {
        states: states.to_vec(),
        words: words.to_vec(),
        word_count: words.len(),
        escapes: lists.escapes,
        exact: lists.exact,
        raw: lists.raw.finish(),
    }
}

/// A class round, backwards: the classes, then, for exact units, the table and the shift.
fn put_classes(encoder: &mut Encoder, forms: &[Form], tables: &[&'static Table]) {
    let mut rounds = [[None; MAX_LANES]; 3];
    for (lane, (&form, &table)) in forms.iter().zip(tables).enumerate() {
        rounds[0][lane] = Some((table, class_of(form)));
        if let Form::Exact { table, shift } = form {
            rounds[1][lane] = Some((&TABLES.uniform, table));
            rounds[2][lane] = Some((&TABLES.uniform, shift));
        }
    }
    for round in rounds.iter().rev() {
        encoder.put_round(round);
    }
}

/// Fills `tokens` and names their table; `None` where a unit has no tokens.
fn tokens_of(form: Form, symbols: &ChunkSymbols, nodes: Range<usize>, tokens: &mut Vec<u8>) -> Option<&'static Table> {
    match form {
        Form::Zero => None,
        Form::Quantized(class) => {
            let class = &TABLES.quantized[class as usize];
            let table = &TABLES.symbols[class.table as usize];
            // the zigzag of an exact node is 0xffff, beyond every table
            let (shift, escape) = (class.shift, table.escape() as u16);
            tokens.resize(nodes.len(), 0);
            dispatch(Tokens { q: &symbols.q[nodes], shift, escape, tokens });
            Some(table)
        }
        Form::Exact { table: ALL_EQUAL | PLAIN, .. } => None,
        Form::Exact { table, shift } => {
            let table = &TABLES.symbols[table as usize];
            let escape = table.escape() as u64;
            tokens.clear();
            tokens.extend(symbols.delta[nodes].iter().map(|&d| (d >> shift).min(escape) as u8));
            Some(table)
        }
    }
}

/// Appends the low bits of each zigzag.
struct LowBits<'a> {
    q: &'a [i16],
    /// At most 8.
    shift: u32,
    raw: &'a mut BitWriter,
}

impl Kernel for LowBits<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { q, shift, raw } = self;
        let low = (1u64 << shift) - 1;
        let (fours, rest) = q.as_chunks::<4>();
        for four in fours {
            // Four nodes in one word, moved together.
            let mut words = 0;
            for (i, &q) in four.iter().enumerate() {
                words |= (zigzag(q) as u64 & low) << (16 * i);
            }
            let pairs = (words | words >> (16 - shift)) & 0xffff_0000_ffff;
            raw.put_few((pairs | pairs >> (32 - 2 * shift)) & 0xffff_ffff, 4 * shift);
        }
        rest.iter().for_each(|&q| raw.put_few(zigzag(q) as u64 & low, shift));
    }
}

/// The largest zigzag.
struct Largest<'a>(&'a [i16]);

impl Kernel for Largest<'_> {
    type Output = u16;

    #[inline(always)]
    fn run(self) -> u16 {
        let mut largest = 0;
        for &q in self.0 {
            largest = largest.max(zigzag(q));
        }
        largest
    }
}

/// Tokens of quantized nodes.
struct Tokens<'a> {
    q: &'a [i16],
    shift: u8,
    escape: u16,
    tokens: &'a mut [u8],
}

impl Kernel for Tokens<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (token, &q) in self.tokens.iter_mut().zip(self.q) {
            *token = (zigzag(q) >> self.shift).min(self.escape) as u8;
        }
    }
}

/// The lists of a stream while it is encoded.
#[derive(Default)]
struct Lists {
    escapes: Vec<u16>,
    exact: Vec<u64>,
    raw: BitWriter,
}

impl Lists {
    fn add(&mut self, form: Form, symbols: &ChunkSymbols, nodes: Range<usize>, bits: u32) {
        match form {
            Form::Zero => {}
            Form::Quantized(class) => self.add_quantized(class, symbols, nodes),
            Form::Exact { table: ALL_EQUAL, .. } => {}
            Form::Exact { table: PLAIN, .. } => symbols.delta[nodes].iter().for_each(|&d| self.raw.put(d, bits)),
            Form::Exact { table, shift } => {
                let escape = TABLES.symbols[table as usize].escape() as u64;
                for &delta in &symbols.delta[nodes] {
                    self.raw.put(delta, shift as u32);
                    if delta >> shift >= escape {
                        self.exact.push(delta);
                    }
                }
            }
        }
    }

    fn add_quantized(&mut self, class: u8, symbols: &ChunkSymbols, nodes: Range<usize>) {
        let class = &TABLES.quantized[class as usize];
        let (shift, escape) = (class.shift, TABLES.symbols[class.table as usize].escape() as u16);
        let q = &symbols.q[nodes.clone()];
        if shift > 0 {
            dispatch(LowBits { q, shift: shift as u32, raw: &mut self.raw });
        }
        if dispatch(Largest(q)) >> shift < escape {
            return;
        }
        for (&q, node) in q.iter().zip(nodes).filter(|(q, _)| zigzag(**q) >> shift >= escape) {
            self.escapes.push(q as u16);
            if q == EXACT {
                self.exact.push(symbols.delta[node]);
            }
        }
    }
}
