//! Decoded values in memory.

use blockmgard::backend::RegionSink;
use blockmgard::{Element, Region, Result};
use std::sync::Mutex;

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
