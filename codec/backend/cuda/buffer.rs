//! Device memory that is allocated once and reused: a buffer grows when a job needs more and never shrinks.

use super::gpu::{Gpu, failed};
use crate::{Error, ErrorKind, Result};
use cudarc::driver::{CudaSlice, DevicePtr, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What this backend holds of a device's memory.
pub(super) struct Account {
    /// Bytes that it may hold, and holds.
    limit: usize,
    held: AtomicUsize,
    short: AtomicBool,
}

impl Account {
    pub fn new(limit: usize) -> Self {
        Self { limit, held: AtomicUsize::new(0), short: AtomicBool::new(false) }
    }
    /// Whether memory was refused since the last [`Account::forgive`].
    pub fn was_short(&self) -> bool {
        self.short.load(Relaxed)
    }
    pub fn forgive(&self) {
        self.short.store(false, Relaxed);
    }
}

/// An allocation and where it is accounted for.
struct Memory {
    bytes: CudaSlice<u8>,
    account: Arc<Account>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.account.held.fetch_sub(self.bytes.len(), Relaxed);
    }
}

/// Untyped device memory of at least the size last reserved.
#[derive(Default)]
pub(super) struct Buffer {
    memory: Option<Memory>,
}

impl Buffer {
    /// Makes room for `bytes` (contents are lost when it grows) and returns the address, aligned to 256 bytes.
    pub fn reserve(&mut self, gpu: &Gpu, bytes: usize) -> Result<u64> {
        if self.memory.as_ref().is_none_or(|m| m.bytes.len() < bytes) {
            self.memory = None;
            self.memory = Some(allocate(gpu, bytes.max(256))?);
        }
        Ok(self.address(gpu))
    }

    /// Address of the memory last reserved; 0 before the first [`Buffer::reserve`].
    pub fn address(&self, gpu: &Gpu) -> u64 {
        self.memory.as_ref().map_or(0, |m| m.bytes.device_ptr(&gpu.stream).0)
    }
}

fn allocate(gpu: &Gpu, bytes: usize) -> Result<Memory> {
    let account = gpu.account.clone();
    if account.held.load(Relaxed).saturating_add(bytes) > account.limit {
        return Err(short_of_memory(gpu, bytes));
    }
    // SAFETY: kernels write before they read; copies out follow the kernels that filled the memory.
    let memory = unsafe { gpu.stream.alloc::<u8>(bytes) }.map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => short_of_memory(gpu, bytes),
        _ => failed("allocating memory")(error),
    })?;
    account.held.fetch_add(bytes, Relaxed);
    Ok(Memory { bytes: memory, account })
}

fn short_of_memory(gpu: &Gpu, bytes: usize) -> Error {
    gpu.account.short.store(true, Relaxed);
    let free = gpu.context.mem_get_info().map_or(0, |(free, _)| free);
    let free = free.min(gpu.account.limit.saturating_sub(gpu.account.held.load(Relaxed)));
    let message = format!("{}: {} MB of GPU memory needed, {} MB free", gpu.name, bytes.div_ceil(1 << 20), free >> 20);
    Error::new(ErrorKind::Device, message).remedy("use smaller frames (--frame) or --device cpu")
}

impl Gpu {
    /// Queues a copy of `bytes` bytes on the device.
    ///
    /// # Safety
    /// `to` must have room for them, `from` must hold as many.
    pub unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller vouches for both ranges.
        unsafe { cudarc::driver::result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }
            .map_err(failed("copying on the device"))
    }

    /// Queues filling `bytes` bytes with `value`.
    ///
    /// # Safety
    /// `address` must have room for them.
    pub unsafe fn fill(&self, address: u64, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller vouches for the range.
        unsafe { cudarc::driver::result::memset_d8_async(address, value, bytes, self.stream.cu_stream()) }
            .map_err(failed("filling memory"))
    }
}
