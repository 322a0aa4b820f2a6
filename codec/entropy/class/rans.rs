//! Interleaved rANS: up to 32 states take turns over one run of 16-bit words.
//!
//! A *round* codes one token per active lane. Symbol i of a unit belongs to lane i mod lanes; within a round the words
//! lie in ascending lane order, as a GPU warp writes them with one ballot.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::tables::{EncodeEntry, PROB_BITS, PROB_SUM, Table};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Instructions, instructions};

/// Most lanes of one stream.
pub const MAX_LANES: usize = 32;
/// Lower bound of a state, and the state every lane starts from.
pub const STATE_MIN: u32 = 1 << 15;

/// Words beyond the last one in use that vector code may touch.
pub const SLACK: usize = 32;

/// The vector code to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vector {
    None,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Vector {
    /// What this machine can run for so many lanes, plain code first.
    fn available(lanes: usize) -> impl DoubleEndedIterator<Item = Self> {
        let mut all = [Some(Self::None), None, None];
        #[cfg(target_arch = "x86_64")]
        {
            let best = instructions();
            all[1] = (lanes >= avx2::WIDTH && best >= Instructions::Avx2).then_some(Self::Avx2);
            all[2] = (lanes >= avx512::WIDTH && best == Instructions::Avx512).then_some(Self::Avx512);
        }
        all.into_iter().flatten()
    }

    /// The fastest.
    fn of_lanes(lanes: usize) -> Self {
        Self::available(lanes).next_back().unwrap_or(Self::None)
    }
}

/// Codes backwards: the last token first, words from the end of the buffer to its front.
pub struct Encoder {
    states: [u32; MAX_LANES],
    lanes: usize,
    words: Vec<u16>,
    at: usize,
}

impl Encoder {
    /// For at most `capacity` tokens.
    pub fn new(lanes: usize, capacity: usize) -> Self {
        let room = capacity + SLACK;
        Self { states: [STATE_MIN; MAX_LANES], lanes, words: vec![0; room], at: room }
    }

    #[inline(always)]
    fn step(&mut self, lane: usize, entry: &EncodeEntry) {
        let x = self.states[lane];
        let full = x >= entry.limit;
        self.at -= full as usize;
        if full {
            self.words[self.at] = x as u16;
        }
        let x = if full { x >> 16 } else { x };
        let quotient = ((x as u64 * entry.reciprocal as u64) >> 32) as u32 >> (entry.complement >> 16);
        self.states[lane] = x + entry.bias + quotient * (entry.complement & 0xffff);
    }

    /// Codes the tokens of a unit with one table.
    pub fn put(&mut self, table: &Table, tokens: &[u8]) {
        self.put_with(Vector::of_lanes(self.lanes), table, tokens);
    }

    fn put_with(&mut self, vector: Vector, table: &Table, tokens: &[u8]) {
        // what the vector code relies on: room for a word per token, and tokens that are in the table
        let largest = tokens.iter().fold(0, |most, &t| most.max(t));
        assert!(self.at >= tokens.len() + SLACK && largest <= table.escape());
        let (states, words) = (&mut self.states, &mut self.words);
        match vector {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Vector` names it only where the features are there; the assertion made sure of the rest.
            Vector::Avx512 => self.at = unsafe { avx512::encode(table, states, self.lanes, words, self.at, tokens) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Vector::Avx2 => self.at = unsafe { avx2::encode(table, states, self.lanes, words, self.at, tokens) },
            Vector::None => {
                for (i, &token) in tokens.iter().enumerate().rev() {
                    self.step(i & (self.lanes - 1), &table.encode[token as usize]);
                }
            }
        }
    }

    /// Codes one round with a table and a token per lane; `None` where the lane is idle.
    pub fn put_round(&mut self, tokens: &[Option<(&Table, u8)>]) {
        for (lane, entry) in tokens.iter().enumerate().rev() {
            if let Some((table, token)) = entry {
                self.step(lane, &table.encode[*token as usize]);
            }
        }
    }

    /// The states of the lanes in use and the words, as the decoder reads them.
    pub fn finish(&self) -> (&[u32], &[u16]) {
        (&self.states[..self.lanes], &self.words[self.at..])
    }
}

/// Decodes forwards.
pub struct Decoder<'a> {
    states: [u32; MAX_LANES],
    lanes: usize,
    /// The words of the stream, then padding for at least as many tokens as are read between two calls of
    /// [`Decoder::within`].
    words: &'a [u16],
    count: usize,
    at: usize,
}

impl<'a> Decoder<'a> {
    /// `words` holds `count` words and padding; states are at least [`STATE_MIN`] and below 2^31.
    pub fn new(states: &[u32], words: &'a [u16], count: usize) -> Self {
        let mut all = [0; MAX_LANES];
        all[..states.len()].copy_from_slice(states);
        Self { states: all, lanes: states.len(), words, count, at: 0 }
    }

    #[inline(always)]
    fn step(&mut self, lane: usize, table: &Table) -> u8 {
        let x = self.states[lane];
        let entry = table.decode[(x & (PROB_SUM - 1)) as usize];
        let x = ((entry >> 8) & 0xfff) * (x >> PROB_BITS) + (entry >> 20);
        let refill = x < STATE_MIN;
        self.states[lane] = if refill { x << 16 | self.words[self.at] as u32 } else { x };
        self.at += refill as usize;
        entry as u8
    }

    /// Decodes the tokens of a unit.
    pub fn get(&mut self, table: &Table, tokens: &mut [u8]) {
        self.get_with(Vector::of_lanes(self.lanes), table, tokens);
    }

    fn get_with(&mut self, vector: Vector, table: &Table, tokens: &mut [u8]) {
        // what the vector code relies on
        assert!(self.words.len() >= self.at + tokens.len() + SLACK);
        match vector {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Vector` names it only where the features are there; the assertion made sure of the rest.
            Vector::Avx512 => {
                self.at = unsafe { avx512::decode(table, &mut self.states, self.lanes, self.words, self.at, tokens) };
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Vector::Avx2 => {
                self.at = unsafe { avx2::decode(table, &mut self.states, self.lanes, self.words, self.at, tokens) };
            }
            Vector::None => {
                for (i, token) in tokens.iter_mut().enumerate() {
                    *token = self.step(i & (self.lanes - 1), table);
                }
            }
        }
    }

    /// Decodes one token of one lane; the caller goes through the lanes of a round in ascending order.
    pub fn get_lane(&mut self, lane: usize, table: &Table) -> u8 {
        self.step(lane, table)
    }

    /// Whether no word beyond the end has been read so far.
    pub fn within(&self) -> bool {
        self.at <= self.count
    }

    /// Whether every word is used and every lane is back at its start, as it must be after the last token.
    pub fn is_finished(&self) -> bool {
        self.at == self.count && self.states[..self.lanes].iter().all(|&x| x == STATE_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::TABLES;
    use super::*;

    #[test]
    fn vector_code_gives_the_words_of_plain_code() {
        for (index, table) in TABLES.symbols.iter().enumerate() {
            for lanes in [1, 2, 4, 8, 16, 32] {
                for count in [1, 7, 33, 448, 601] {
                    let mut slot = (index * 977 + lanes * 31 + count) as u32;
                    let token = |_| {
                        slot = slot.wrapping_mul(1664525).wrapping_add(1013904223);
                        table.decode[(slot >> 21) as usize] as u8
                    };
                    let tokens: Vec<u8> = (0..count).map(token).collect();
                    check(table, lanes, &tokens);
                }
            }
        }
    }

    fn check(table: &Table, lanes: usize, tokens: &[u8]) {
        let encode = |vector| {
            let mut encoder = Encoder::new(lanes, 2 * tokens.len());
            encoder.put_with(vector, table, tokens);
            encoder.put_with(vector, table, tokens);
            let (states, words) = encoder.finish();
            (states.to_vec(), words.to_vec())
        };
        let (states, mut words) = encode(Vector::None);
        let count = words.len();
        for vector in Vector::available(lanes) {
            assert!(encode(vector) == (states.clone(), words[..count].to_vec()), "{vector:?}, {lanes} lanes");
            words.resize(count + tokens.len() + SLACK, 0xabcd);
            let mut decoder = Decoder::new(&states, &words, count);
            let mut back = vec![0; tokens.len()];
            for _ in 0..2 {
                decoder.get_with(vector, table, &mut back);
                assert!(back == tokens, "{vector:?}, {lanes} lanes");
            }
            assert!(decoder.is_finished());
        }
    }
}
