//! Device memory that is allocated once and reused: a buffer grows when a job needs more and never shrinks.

use super::gpu::{Gpu, failed};
use crate::{Error, ErrorKind, Result};
use cudarc::driver::{CudaSlice, DevicePtr, sys};

/// Untyped device memory of at least the size last reserved.
#[derive(Default)]
pub(super) struct Buffer {
    memory: Option<CudaSlice<u8>>,
}

impl Buffer {
    /// Makes room for `bytes` (contents are lost when it grows) and returns the address, aligned to 256 bytes.
    pub fn reserve(&mut self, gpu: &Gpu, bytes: usize) -> Result<u64> {
        if self.memory.as_ref().is_none_or(|m| m.len() < bytes) {
            self.memory = None;
            // SAFETY: kernels write before they read; copies out follow the kernels that filled the memory.
            let memory = unsafe { gpu.stream.alloc::<u8>(bytes.max(256)) };
            self.memory = Some(memory.map_err(|error| match error.0 {
                sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => short_of_memory(gpu, bytes),
                _ => failed("allocating memory")(error),
            })?);
        }
        Ok(self.address(gpu))
    }

    /// Address of the memory last reserved; 0 before the first [`Buffer::reserve`].
    pub fn address(&self, gpu: &Gpu) -> u64 {
        self.memory.as_ref().map_or(0, |m| m.device_ptr(&gpu.stream).0)
    }
}

fn short_of_memory(gpu: &Gpu, bytes: usize) -> Error {
    let free = gpu.context.mem_get_info().map_or(0, |(free, _)| free);
    let message = format!("{}: {} MB of GPU memory needed, {} MB free", gpu.name, bytes >> 20, free >> 20);
    Error::new(ErrorKind::Device, message).remedy("use smaller frames (--frame) or --device cpu")
}

impl Gpu {
    /// Queues a copy of `values` to device memory at `address`.
    ///
    /// # Safety
    /// `address` must have room for the values.
    pub unsafe fn upload<T: bytemuck::Pod>(&self, address: u64, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: pageable memory is staged by the driver before the call returns.
        unsafe { cudarc::driver::result::memcpy_htod_async(address, bytes, self.stream.cu_stream()) }
            .map_err(failed("copying to the device"))
    }

    /// Copies device memory at `address` into `values` and waits for it.
    ///
    /// # Safety
    /// `address` must hold as many values.
    pub unsafe fn download<T: bytemuck::Pod>(&self, address: u64, values: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        if !bytes.is_empty() {
            // SAFETY: `bytes` outlives the copy, which ends in `finish`.
            unsafe { cudarc::driver::result::memcpy_dtoh_async(bytes, address, self.stream.cu_stream()) }
                .map_err(failed("copying from the device"))?;
        }
        self.finish()
    }

    /// Queues filling `bytes` bytes with `value`.
    ///
    /// # Safety
    /// `address` must have room for them.
    pub unsafe fn fill(&self, address: u64, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller vouches for the range.
        unsafe { cudarc::driver::result::memset_d8_async(address, value, bytes, self.stream.cu_stream()) }
            .map_err(failed("filling memory"))
    }
}
