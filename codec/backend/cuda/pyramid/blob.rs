//! Several tables in one piece of device memory, copied at once.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use crate::Result;

/// Alignment of each table.
const ALIGNMENT: usize = 64;

#[derive(Default)]
pub struct Blob {
    bytes: Vec<u8>,
}

impl Blob {
    /// Appends a table and returns its offset.
    pub fn add<A: bytemuck::Pod>(&mut self, table: &[A]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytemuck::cast_slice(table));
        offset
    }
    /// Copies everything to `memory` and returns its address.
    pub fn upload(&self, gpu: &Gpu, memory: &mut Buffer) -> Result<u64> {
        let address = memory.reserve(gpu, self.bytes.len())?;
        // SAFETY: just reserved.
        unsafe { gpu.upload(address, &self.bytes)? };
        Ok(address)
    }
}
