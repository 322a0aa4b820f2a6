//! The bytes of a chunk's payload, one part after the other.

use super::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::{Error, Result};

/// The bytes not yet read.
pub(super) struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| Error::truncated(format!("chunk payload: ends inside its {what}")))?;
        self.rest = rest;
        Ok(head)
    }
    /// As [`Reader::take`]; passes over the padding to a multiple of 4 bytes.
    pub fn padded(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let bytes = self.take(count, what)?;
        if self.take(count.next_multiple_of(4) - count, what)?.iter().any(|byte| *byte != 0) {
            return Err(Error::corrupt(format!("chunk payload: padding of its {what} that is not 0")));
        }
        Ok(bytes)
    }
    /// The deltas of the exact nodes of `symbols`, which say how many there are.
    pub fn exact_values(&mut self, layout: &ChunkLayout, symbols: &mut ChunkSymbols) -> Result<()> {
        let bytes = layout.bits as usize / 8;
        let count = symbols.q.iter().filter(|q| **q == EXACT).count();
        let mut values = self.take(count * bytes, "exact values")?.chunks_exact(bytes);
        symbols.delta.resize(layout.nodes, 0);
        for (delta, _) in symbols.delta.iter_mut().zip(&symbols.q).filter(|(_, q)| **q == EXACT) {
            if let Some(value) = values.next() {
                let mut wide = [0; 8];
                wide[..bytes].copy_from_slice(value);
                *delta = u64::from_le_bytes(wide);
            }
        }
        Ok(())
    }
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::corrupt("chunk payload: bytes after its end")) }
    }
}
