//! Copies between host and device through two page-locked buffers: while one is filled or emptied, the other travels.

use super::gpu::{Gpu, failed};
use crate::backend::RegionSink;
use crate::volume::Field;
use crate::{Element, Region, Result};
use cudarc::driver::result;
use rayon::prelude::*;
use std::ffi::c_void;

/// Bytes of a buffer, unless a single row or plane needs more.
const STAGE_BYTES: usize = 32 << 20;

/// Page-locked memory.
struct Pinned {
    memory: *mut c_void,
    bytes: usize,
}
// SAFETY: plain memory, owned.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(gpu: &Gpu, bytes: usize) -> Result<Self> {
        gpu.context.bind_to_thread().map_err(failed("using the device"))?;
        // SAFETY: freed in `drop`; 0 asks for ordinary cached memory.
        let memory = unsafe { result::malloc_host(bytes, 0) }.map_err(failed("page-locking memory"))?;
        Ok(Self { memory, bytes })
    }
    fn values<T: Element>(&mut self) -> &mut [T] {
        // SAFETY: page-aligned, of this size, and any bits are values.
        unsafe { std::slice::from_raw_parts_mut(self.memory.cast(), self.bytes / T::BYTES) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error here would leave memory behind, and there is nobody to tell.
        // SAFETY: allocated in `new`; copies end before the buffers go.
        let _ = unsafe { result::free_host(self.memory) };
    }
}

/// The two buffers, made at their first use.
#[derive(Default)]
pub(super) struct Staging {
    buffers: Vec<Pinned>,
}

impl Staging {
    fn reserve(&mut self, gpu: &Gpu, bytes: usize) -> Result<&mut [Pinned]> {
        if self.buffers.first().is_none_or(|b| b.bytes < bytes) {
            self.buffers.clear();
            for _ in 0..2 {
                self.buffers.push(Pinned::new(gpu, bytes.max(STAGE_BYTES))?);
            }
        }
        Ok(&mut self.buffers)
    }

    /// Copies all values of a frame to the device.
    ///
    /// # Safety
    /// `address` must have room for them.
    pub unsafe fn send<T: Element>(&mut self, gpu: &Gpu, address: u64, field: &dyn Field<T>) -> Result<()> {
        let [nz, ny, nx] = field.extents();
        let boxes = cut(&Region { lo: [0; 3], hi: [nz, ny, nx] }, T::BYTES);
        let largest = boxes.iter().map(Region::len).max().unwrap_or(0);
        let buffers = self.reserve(gpu, largest * T::BYTES)?;
        let mut sent = [None, None];
        for (i, part) in boxes.iter().enumerate() {
            if let Some(event) = sent[i % 2].take() {
                wait(&event)?;
            }
            let values = &mut buffers[i % 2].values::<T>()[..part.len()];
            read(field, part, values)?;
            let offset = (part.lo[0] * ny + part.lo[1]) * nx + part.lo[2];
            // SAFETY: inside the frame; the buffer is left alone until the event.
            unsafe { gpu.upload(address + (offset * T::BYTES) as u64, values)? };
            sent[i % 2] = Some(gpu.event()?);
        }
        gpu.finish()
    }

    /// Hands the box `region`, dense at `address`, to `out`.
    ///
    /// # Safety
    /// `address` must hold as many values.
    pub unsafe fn receive<T: Element>(
        &mut self,
        gpu: &Gpu,
        address: u64,
        region: &Region,
        out: &dyn RegionSink<T>,
    ) -> Result<()> {
        let boxes = cut(region, T::BYTES);
        let largest = boxes.iter().map(Region::len).max().unwrap_or(0);
        let buffers = self.reserve(gpu, largest * T::BYTES)?;
        let mut offset = 0;
        let mut travelling = None;
        for (i, part) in boxes.iter().enumerate() {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut buffers[i % 2].values::<T>()[..part.len()]);
            let from = address + (offset * T::BYTES) as u64;
            // SAFETY: inside the box; the buffer was emptied two boxes ago.
            unsafe { result::memcpy_dtoh_async(bytes, from, gpu.stream.cu_stream()) }
                .map_err(failed("copying from the device"))?;
            offset += part.len();
            let event = gpu.event()?;
            if let Some((before, event)) = travelling.replace((i, event)) {
                wait(&event)?;
                put(&boxes[before], buffers[before % 2].values::<T>(), out)?;
            }
        }
        if let Some((last, event)) = travelling {
            wait(&event)?;
            put(&boxes[last], buffers[last % 2].values::<T>(), out)?;
        }
        Ok(())
    }
}

fn wait(event: &cudarc::driver::CudaEvent) -> Result<()> {
    event.synchronize().map_err(failed("copying"))
}

/// Boxes of about [`STAGE_BYTES`], in order: the region cut along its slowest axis of more than one node.
fn cut(region: &Region, bytes: usize) -> Vec<Region> {
    slices(region, (STAGE_BYTES / bytes).max(1))
}

fn slices(region: &Region, values: usize) -> Vec<Region> {
    let shape = region.shape();
    let axis = (0..3).find(|&a| shape[a] > 1).unwrap_or(2);
    let layer = region.len() / shape[axis].max(1);
    let layers = (values / layer.max(1)).max(1);
    let starts = (region.lo[axis]..region.hi[axis]).step_by(layers);
    starts
        .map(|lo| {
            let mut part = *region;
            part.lo[axis] = lo;
            part.hi[axis] = (lo + layers).min(region.hi[axis]);
            part
        })
        .collect()
}

/// A box for each thread, roughly.
fn shares(region: &Region) -> Vec<Region> {
    slices(region, region.len().div_ceil(2 * rayon::current_num_threads()).max(1 << 16))
}

fn read<T: Element>(field: &dyn Field<T>, region: &Region, values: &mut [T]) -> Result<()> {
    let parts = shares(region);
    let mut rest = values;
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        let (piece, later) = rest.split_at_mut(part.len());
        pieces.push((part, piece));
        rest = later;
    }
    pieces.into_par_iter().try_for_each(|(part, piece)| field.read_region(&part, piece))
}

fn put<T: Element>(region: &Region, values: &[T], out: &dyn RegionSink<T>) -> Result<()> {
    let parts = shares(region);
    let mut pieces = Vec::with_capacity(parts.len());
    let mut at = 0;
    for part in parts {
        pieces.push((part, &values[at..at + part.len()]));
        at += part.len();
    }
    pieces.into_par_iter().try_for_each(|(part, piece)| out.put(&part, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_a_box_in_order_without_overlap() {
        for (lo, hi) in
            [([0; 3], [5, 7, 9]), ([2, 3, 4], [3, 9, 11]), ([0, 0, 7], [1, 1, 1000]), ([1, 2, 3], [2, 3, 4])]
        {
            let region = Region { lo, hi };
            for values in [1, 10, 64, 100_000] {
                let parts = slices(&region, values);
                assert_eq!(parts.iter().map(Region::len).sum::<usize>(), region.len());
                assert_eq!((parts[0].lo, parts[parts.len() - 1].hi), (lo, hi));
                for pair in parts.windows(2) {
                    assert!(pair[0].intersect(&pair[1]).is_empty());
                }
            }
        }
    }
}
