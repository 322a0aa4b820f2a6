//! Chunked canonical Huffman with an escape (Section IV, entropy stage).
//!
//! Symbols are cut into *units* of a fixed length; 16 units make a *segment*, a bit stream of its own that
//! starts on a byte. Segments are what threads share: their lengths stand in front, so that none waits for another.

mod bits;
mod codebook;
mod token;

use crate::{Error, Result};
use bits::{BitReader, BitWriter};
pub use codebook::Codebook;
use codebook::{Entry, MAX_BITS};
use token::{ACTIONS, END, Token, ZERO_RUNS, unzigzag, value};
pub use token::{ALPHABET, EXACT, MAX_UNIT};

/// Units of a segment.
pub const SEGMENT_UNITS: usize = 16;

/// How often each token occurs.
#[derive(Clone, Debug)]
pub struct Counts(pub [u64; ALPHABET]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; ALPHABET])
    }
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }
    pub fn codebook(&self) -> Codebook {
        Codebook::from_counts(&self.0)
    }
}

/// Symbols spelt out as tokens, waiting for a codebook.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    tokens: Vec<u8>,
    /// Raw bits of the tokens that have some, in order.
    extras: Vec<u32>,
    /// Ends of the segments in `tokens`.
    segments: Vec<u32>,
    pub counts: Counts,
}

impl Tokens {
    /// Spells out `symbols` in units of `unit` (at most [`MAX_UNIT`]) symbols; the last may be shorter.
    /// Symbols that are all zero take no tokens at all.
    pub fn new(symbols: &[i32], unit: usize) -> Self {
        assert!((1..=MAX_UNIT).contains(&unit));
        let mut this = Self::default();
        if symbols.iter().all(|&q| q == 0) {
            return this;
        }
        this.tokens.reserve(symbols.len());
        for segment in symbols.chunks(unit * SEGMENT_UNITS) {
            segment.chunks(unit).for_each(|u| this.unit(u));
            this.segments.push(this.tokens.len() as u32);
        }
        this
    }

    fn unit(&mut self, unit: &[i32]) {
        // A token or two a symbol, and the end.
        let (mut tokens, mut count) = ([0u8; 2 * MAX_UNIT + 1], 0);
        let mut expected = 0;
        let mut push = |t: Token, extras: &mut Vec<u32>| {
            tokens[count] = t.token;
            count += 1;
            if t.extra_bits > 0 {
                extras.push(t.extra);
            }
        };
        for (word, symbols) in unit.chunks(64).enumerate() {
            let mut nonzero = nonzero_mask(symbols);
            while nonzero != 0 {
                let at = word * 64 + nonzero.trailing_zeros() as usize;
                nonzero &= nonzero - 1;
                if at > expected {
                    push(ZERO_RUNS[at - expected], &mut self.extras);
                }
                push(value(unit[at]), &mut self.extras);
                expected = at + 1;
            }
        }
        if expected < unit.len() {
            push(Token { token: END, ..Token::default() }, &mut self.extras);
        }
        let tokens = &tokens[..count];
        tokens.iter().for_each(|&t| self.counts.0[t as usize % ALPHABET] += 1);
        self.tokens.extend_from_slice(tokens);
    }

    /// Appends the payload: the byte lengths of the segments (u16 each), then the segments.
    pub fn encode(&self, book: &Codebook, out: &mut Vec<u8>) {
        let codes = book.codes();
        let lengths_at = out.len();
        out.resize(lengths_at + 2 * self.segments.len(), 0);
        let mut extras = self.extras.iter();
        let mut start = 0;
        for (i, &end) in self.segments.iter().enumerate() {
            let tokens = &self.tokens[start..end as usize];
            let bytes_at = out.len();
            out.resize(bytes_at + tokens.len() * (MAX_BITS as usize + 29).div_ceil(8) + 8, 0);
            let mut w = BitWriter::new(&mut out[bytes_at..]);
            for &t in tokens {
                let code = codes[t as usize];
                let extra_bits = ACTIONS[t as usize].extra_bits as u32;
                let extra = if extra_bits > 0 { *extras.next().expect("one entry a token with raw bits") } else { 0 };
                w.put(code.bits as u64 | (extra as u64) << code.length, code.length as u32 + extra_bits);
            }
            let bytes = w.finish();
            out.truncate(bytes_at + bytes);
            // 16 units of 512 symbols, each at most 12 + 29 bits.
            let length = u16::try_from(bytes).expect("a segment below 64 KiB");
            out[lengths_at + 2 * i..][..2].copy_from_slice(&length.to_le_bytes());
            start = end as usize;
        }
    }
}

/// Bit i is set when symbol i (of at most 64) is not zero.
#[inline(always)]
fn nonzero_mask(symbols: &[i32]) -> u64 {
    symbols.iter().enumerate().fold(0, |m, (i, &q)| m | ((q != 0) as u64) << i)
}

/// A payload cut into its segments.
pub struct Segments<'a> {
    segments: Vec<&'a [u8]>,
    unit: usize,
}

impl<'a> Segments<'a> {
    /// Checks the lengths in `payload`, which holds `count` symbols in units of `unit`.
    pub fn parse(payload: &'a [u8], unit: usize, count: usize) -> Result<Self> {
        let n = if payload.is_empty() { 0 } else { count.div_ceil(unit * SEGMENT_UNITS) };
        let ends_early = || Error::truncated("Huffman payload: ends inside its segments");
        let (lengths, mut rest) = payload.split_at_checked(2 * n).ok_or_else(ends_early)?;
        let mut segments = Vec::with_capacity(n);
        for l in lengths.chunks_exact(2) {
            let length = u16::from_le_bytes([l[0], l[1]]) as usize;
            let (segment, tail) = rest.split_at_checked(length).ok_or_else(ends_early)?;
            segments.push(segment);
            rest = tail;
        }
        if !rest.is_empty() {
            return Err(Error::corrupt("Huffman payload: bytes behind the last segment"));
        }
        Ok(Self { segments, unit })
    }
    /// The segments; none when all symbols are zero.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.segments.iter().copied()
    }
    /// Most symbols of one segment.
    pub fn segment_symbols(&self) -> usize {
        self.unit * SEGMENT_UNITS
    }
}

/// Decodes segments with one codebook.
pub struct Decoder {
    table: Vec<Entry>,
    unit: usize,
}

impl Decoder {
    pub fn new(book: &Codebook, unit: usize) -> Self {
        Self { table: book.table(), unit }
    }
    /// Decodes one segment into `out`, which the caller has filled with zeros.
    pub fn segment(&self, bytes: &[u8], out: &mut [i32]) -> Result<()> {
        let bad = || Error::corrupt("Huffman segment: damaged");
        let table: &[Entry; 1 << MAX_BITS] = self.table.as_slice().try_into().expect("a full table");
        let mut r = BitReader::new(bytes);
        for unit in out.chunks_mut(self.unit) {
            let (mut at, mut last, mut valid) = (0, END, true);
            while at < unit.len() {
                r.refill();
                let bits = r.peek();
                let entry = table[(bits & ((1 << MAX_BITS) - 1)) as usize];
                r.skip(entry.with_extra as u32);
                let action = ACTIONS[entry.token as usize];
                let extra = (bits >> entry.length) & ((1 << action.extra_bits) - 1);
                let number = action.base.wrapping_add(extra as u32);
                unit[at] = if action.is_value { unzigzag(number) } else { 0 };
                at += if action.is_value { 1 } else { number as usize };
                last = entry.token;
                valid &= entry.length > 0;
            }
            let ends_well = last == END || ACTIONS[last as usize].is_value;
            if !valid || !ends_well || r.overrun() {
                return Err(bad());
            }
        }
        if r.ended_cleanly() { Ok(()) } else { Err(bad()) }
    }
    /// Decodes a whole payload on the calling thread into `out`, which the caller has filled with zeros.
    pub fn decode(&self, payload: &[u8], out: &mut [i32]) -> Result<()> {
        let segments = Segments::parse(payload, self.unit, out.len())?;
        let length = segments.segment_symbols();
        segments.iter().zip(out.chunks_mut(length)).try_for_each(|(bytes, out)| self.segment(bytes, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(symbols: &[i32], unit: usize) -> Vec<u8> {
        let tokens = Tokens::new(symbols, unit);
        let book = tokens.counts.codebook();
        let mut bytes = Vec::new();
        tokens.encode(&book, &mut bytes);
        let mut back = vec![0; symbols.len()];
        Decoder::new(&book, unit).decode(&bytes, &mut back).unwrap();
        assert_eq!(back, symbols);
        bytes
    }

    #[test]
    fn sparse_symbols_cost_less_than_a_bit_each() {
        let symbols: Vec<i32> = (0..100_000).map(|i| (i % 97 == 0) as i32).collect();
        assert!(round_trip(&symbols, 387).len() < 100_000 / 50);
        assert!(round_trip(&vec![0; 5000], 387).is_empty());
    }

    fn symbols() -> impl Strategy<Value = Vec<i32>> {
        let one = prop_oneof![8 => Just(0), 4 => -3..4i32, 1 => any::<i32>(), 1 => Just(EXACT)];
        prop::collection::vec(one, 0..9000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn all_symbols_come_back(symbols in symbols(), unit in 1usize..=512) {
            round_trip(&symbols, unit);
        }
        #[test]
        fn damage_never_panics(symbols in symbols(), at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
            let tokens = Tokens::new(&symbols, 387);
            let book = tokens.counts.codebook();
            let mut bytes = Vec::new();
            tokens.encode(&book, &mut bytes);
            prop_assume!(!bytes.is_empty());
            let i = at.index(bytes.len());
            if cut { bytes.truncate(i) } else { bytes[i] ^= 1 << bit }
            let mut out = vec![0; symbols.len()];
            let result = Decoder::new(&book, 387).decode(&bytes, &mut out);
            if cut && i > 0 { prop_assert!(result.is_err()) }
        }
    }
}
