//! Frames in memory.

use blockmgard::backend::{FrameSink, FrameSource, RegionSink};
use blockmgard::{Element, Region, Result};
use std::borrow::Cow;
use std::sync::Mutex;

/// The parts of an encoded frame.
#[derive(Clone, Default, PartialEq)]
pub struct Parts {
    pub coarse: Vec<u8>,
    pub chunks: Vec<Vec<u8>>,
}

impl FrameSink for Parts {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        self.coarse = bytes.to_vec();
        Ok(())
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        self.chunks.push(bytes.to_vec());
        Ok(())
    }
}

impl FrameSource for Parts {
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

/// A box of decoded values.
pub struct Values<T> {
    region: Region,
    values: Mutex<Vec<T>>,
}

impl<T: Element> Values<T> {
    pub fn new(region: Region) -> Self {
        Self { region, values: Mutex::new(vec![T::from_f64(12345.0); region.len()]) }
    }
    pub fn bits(self) -> Vec<u64> {
        self.values.into_inner().unwrap().iter().map(|v| v.to_bits64()).collect()
    }
}

impl<T: Element> RegionSink<T> for Values<T> {
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        let [_, ny, nx] = self.region.shape();
        let mut all = self.values.lock().unwrap();
        for (row, from) in values.chunks_exact(region.shape()[2]).enumerate() {
            let (z, y) = (row / region.shape()[1] + region.lo[0], row % region.shape()[1] + region.lo[1]);
            let at = ((z - self.region.lo[0]) * ny + y - self.region.lo[1]) * nx + region.lo[2] - self.region.lo[2];
            all[at..at + from.len()].copy_from_slice(from);
        }
        Ok(())
    }
}
