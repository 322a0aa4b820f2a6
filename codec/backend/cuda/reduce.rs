//! Reductions over whole fields, `kernels/reduce.cu`.

use super::buffer::Buffer;
use super::gpu::Gpu;
use crate::volume::DType;
use crate::{Element, Result};
use cudarc::driver::DeviceRepr;

#[repr(C)]
struct MaxAbs {
    values: u64,
    count: u64,
    result: u64,
}
// SAFETY: plain words, as `MaxAbsArguments` in reduce.cu.
unsafe impl DeviceRepr for MaxAbs {}

/// Largest |u| of `count` finite values at device address `values`.
///
/// # Safety
/// `values` must hold `count` values of T.
pub(super) unsafe fn max_abs<T: Element>(gpu: &Gpu, scratch: &mut Buffer, values: u64, count: usize) -> Result<T> {
    let result = scratch.reserve(gpu, 8)?;
    let kernel = match T::DTYPE {
        DType::F32 => "max_abs_f32",
        DType::F64 => "max_abs_f64",
    };
    let grid = count.div_ceil(1024).min(gpu.multiprocessors as usize * 8) as u32;
    let mut bits = [0u64];
    // SAFETY: `result` has 8 bytes, the caller vouches for `values`.
    unsafe {
        gpu.fill(result, 0, 8)?;
        gpu.launch(kernel, grid, 256, 0, &MaxAbs { values, count: count as u64, result })?;
        gpu.download(result, &mut bits)?;
    }
    Ok(T::from_bits64(bits[0]))
}
