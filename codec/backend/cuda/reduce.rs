//! Reductions over whole fields, `kernels/reduce.cu`.

use super::buffer::Buffer;
use super::device_struct::device_struct;
use super::gpu::Gpu;
use crate::volume::DType;
use crate::{Element, Result};

/// Threads of a block.
const BLOCK: usize = 256;
/// Blocks of a multiprocessor: as many threads as it holds.
const BLOCKS: usize = 8;

device_struct! {
    pub struct MaxAbs {
        pub values: u64,
        pub count: u64,
        pub result: u64,
    }
}

/// Queues the search for the largest |u| of `count` finite values at device address `values`, aligned to 16 bytes.
/// Returns the address of its bits, which [`read_max_abs`] reads.
///
/// # Safety
/// `values` must hold `count` values of T.
pub(super) unsafe fn queue_max_abs<T: Element>(
    gpu: &Gpu,
    scratch: &mut Buffer,
    values: u64,
    count: usize,
) -> Result<u64> {
    let result = scratch.reserve(gpu, 8)?;
    let kernel = match T::DTYPE {
        DType::F32 => "max_abs_f32",
        DType::F64 => "max_abs_f64",
    };
    let threads = (count * T::BYTES).div_ceil(16).max(1);
    let grid = threads.div_ceil(BLOCK).min(gpu.multiprocessors as usize * BLOCKS) as u32;
    // SAFETY: `result` has 8 bytes, the caller vouches for `values`.
    unsafe {
        gpu.fill(result, 0, 8)?;
        gpu.launch(kernel, grid, BLOCK as u32, 0, &MaxAbs { values, count: count as u64, result })?;
    }
    Ok(result)
}

/// Waits for what [`queue_max_abs`] queued.
///
/// # Safety
/// `result` must come from it, with its scratch memory still there.
pub(super) unsafe fn read_max_abs<T: Element>(gpu: &Gpu, result: u64) -> Result<T> {
    let mut bits = [0u64];
    // SAFETY: the caller's promise.
    unsafe { gpu.download(result, &mut bits)? };
    Ok(T::from_bits64(bits[0]))
}
