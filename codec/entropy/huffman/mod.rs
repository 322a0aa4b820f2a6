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
use codebook::MAX_BITS;
use token::{ACTIONS, END, Kind, Token, unzigzag, value, zero_run};
pub use token::{ALPHABET, EXACT, MAX_UNIT};

/// Units of a segment.
const SEGMENT_UNITS: usize = 16;

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
        for segment in symbols.chunks(unit * SEGMENT_UNITS) {
            segment.chunks(unit).for_each(|u| this.unit(u));
            this.segments.push(this.tokens.len() as u32);
        }
        this
    }

    fn unit(&mut self, unit: &[i32]) {
        let mut expected = 0;
        for (word, symbols) in unit.chunks(64).enumerate() {
            let mut nonzero = nonzero_mask(symbols);
            while nonzero != 0 {
                let at = word * 64 + nonzero.trailing_zeros() as usize;
                nonzero &= nonzero - 1;
                if at > expected {
                    self.push(zero_run((at - expected) as u32));
                }
                self.push(value(unit[at]));
                expected = at + 1;
            }
        }
        if expected < unit.len() {
            self.push(Token { token: END, ..Token::default() });
        }
    }

    #[inline(always)]
    fn push(&mut self, t: Token) {
        self.counts.0[t.token as usize] += 1;
        self.tokens.push(t.token);
        if t.extra_bits > 0 {
            self.extras.push(t.extra);
        }
    }

    /// Appends the payload: the byte lengths of the segments (u16 each), then the segments.
    pub fn encode(&self, book: &Codebook, out: &mut Vec<u8>) {
        let codes = book.codes();
        let lengths_at = out.len();
        out.resize(lengths_at + 2 * self.segments.len(), 0);
        let mut extras = self.extras.iter();
        let mut start = 0;
        for (i, &end) in self.segments.iter().enumerate() {
            let bytes_at = out.len();
            let mut w = BitWriter::new(out);
            for &t in &self.tokens[start..end as usize] {
                let code = codes[t as usize];
                w.put(code.bits as u32, code.length as u32);
                let extra_bits = ACTIONS[t as usize].extra_bits as u32;
                if extra_bits > 0 {
                    w.put(*extras.next().expect("one entry a token with raw bits"), extra_bits);
                }
            }
            w.finish();
            // 16 units of 512 symbols, each at most 12 + 29 bits.
            let length = u16::try_from(out.len() - bytes_at).expect("a segment below 64 KiB");
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
    table: Vec<u16>,
    unit: usize,
}

impl Decoder {
    pub fn new(book: &Codebook, unit: usize) -> Self {
        Self { table: book.table(), unit }
    }
    /// Decodes one segment into `out`, which the caller has filled with zeros.
    pub fn segment(&self, bytes: &[u8], out: &mut [i32]) -> Result<()> {
        let bad = || Error::corrupt("Huffman segment: damaged");
        let mut r = BitReader::new(bytes);
        for unit in out.chunks_mut(self.unit) {
            let mut at = 0;
            while at < unit.len() {
                r.refill();
                let entry = self.table[(r.peek() & ((1 << MAX_BITS) - 1)) as usize];
                let action = ACTIONS[(entry & 0xff) as usize];
                r.skip((entry >> 8) as u32);
                let extra = (r.peek() & ((1 << action.extra_bits) - 1)) as u32;
                r.skip(action.extra_bits as u32);
                match action.kind {
                    Kind::Value => unit[at] = unzigzag(action.base.wrapping_add(extra)),
                    Kind::Run => {
                        at += (action.base + extra) as usize;
                        if at >= unit.len() {
                            return Err(bad());
                        }
                        continue;
                    }
                    Kind::Exact => unit[at] = EXACT,
                    Kind::End if entry == 0 => return Err(bad()),
                    Kind::End => break,
                }
                at += 1;
            }
            if r.overrun() {
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
