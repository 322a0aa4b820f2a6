//! Interleaved rANS: up to 32 states take turns over one run of 16-bit words.
//!
//! A *round* codes one token per active lane. Symbol i of a unit belongs to lane i mod lanes; within a round the words
//! lie in ascending lane order, as a GPU warp writes them with one ballot.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::tables::{EncodeEntry, PROB_BITS, PROB_SUM, Table};

/// Most lanes of one stream.
pub const MAX_LANES: usize = 32;
/// Lower bound of a state, and the state every lane starts from.
pub const STATE_MIN: u32 = 1 << 15;

/// Words beyond the last one in use that vector code may touch.
pub const SLACK: usize = 32;

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

    /// What the vector code relies on: room for a word per token, and tokens that are in the table.
    #[cfg(target_arch = "x86_64")]
    fn check(&self, table: &Table, tokens: &[u8]) {
        let largest = tokens.iter().fold(0, |most, &t| most.max(t));
        assert!(self.at >= tokens.len() + SLACK && largest <= table.escape());
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
        #[cfg(target_arch = "x86_64")]
        if self.lanes >= 16 && avx512::available() {
            self.check(table, tokens);
            // SAFETY: the features are there, and `check` has made sure of the rest.
            self.at = unsafe { avx512::encode(table, &mut self.states, self.lanes, &mut self.words, self.at, tokens) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.lanes >= avx2::WIDTH && avx2::available() {
            self.check(table, tokens);
            // SAFETY: as above.
            self.at = unsafe { avx2::encode(table, &mut self.states, self.lanes, &mut self.words, self.at, tokens) };
            return;
        }
        for (i, &token) in tokens.iter().enumerate().rev() {
            self.step(i & (self.lanes - 1), &table.encode[token as usize]);
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
    /// `words` holds `count` words and padding.
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
        #[cfg(target_arch = "x86_64")]
        if self.lanes >= 16 && avx512::available() {
            assert!(self.words.len() >= self.at + tokens.len() + SLACK);
            // SAFETY: the features are there, and the line above has made sure of the rest.
            self.at = unsafe { avx512::decode(table, &mut self.states, self.lanes, self.words, self.at, tokens) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.lanes >= avx2::WIDTH && avx2::available() {
            assert!(self.words.len() >= self.at + tokens.len() + SLACK);
            // SAFETY: as above.
            self.at = unsafe { avx2::decode(table, &mut self.states, self.lanes, self.words, self.at, tokens) };
            return;
        }
        for (i, token) in tokens.iter_mut().enumerate() {
            *token = self.step(i & (self.lanes - 1), table);
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
