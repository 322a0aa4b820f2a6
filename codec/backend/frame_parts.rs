//! An encoded frame held in memory.

use super::{FrameSink, FrameSource};
use crate::Result;
use std::borrow::Cow;

/// The parts of an encoded frame, in memory: what an encoder fills and a decoder reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameParts {
    pub coarse: Vec<u8>,
    pub chunks: Vec<Vec<u8>>,
}

impl FrameParts {
    /// Bytes of all parts.
    pub fn len_bytes(&self) -> u64 {
        let chunks: usize = self.chunks.iter().map(Vec::len).sum();
        (self.coarse.len() + chunks) as u64
    }
}

impl FrameSink for FrameParts {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        self.coarse = bytes.to_vec();
        Ok(())
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        self.chunks.push(bytes.to_vec());
        Ok(())
    }
}

impl FrameSource for FrameParts {
    fn coarse(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(&self.coarse))
    }
    fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
    fn chunk(&self, index: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(&self.chunks[index]))
    }
}
