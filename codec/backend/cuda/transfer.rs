//! Copies between host and device through page-locked pieces: while one is filled or emptied, others travel.

use super::gpu::{Gpu, failed};
use crate::backend::RegionSink;
use crate::volume::Field;
use crate::{Element, Region, Result};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result};
use rayon::prelude::*;
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of a piece, and how many a direction has.
const PIECE_BYTES: usize = 8 << 20;
const PIECES: usize = 4;
/// Copies of less go without a piece: the driver stages them.
const SMALL: usize = 64 << 10;
/// Bytes that a thread copies at least.
const SHARE: usize = 256 << 10;

/// Page-locked memory.
struct Pinned {
    memory: *mut c_void,
    context: Arc<CudaContext>,
}
// SAFETY: plain memory, owned.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(gpu: &Gpu) -> Result<Self> {
        // SAFETY: freed in `drop`; 0 asks for ordinary cached memory.
        let memory = unsafe { result::malloc_host(PIECE_BYTES, 0) }.map_err(failed("page-locking memory"))?;
        Ok(Self { memory, context: gpu.context.clone() })
    }
    fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= PIECE_BYTES);
        // SAFETY: page-aligned, of at least this size, and any bits are bytes.
        unsafe { std::slice::from_raw_parts_mut(self.memory.cast(), len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error here would leave memory behind, and there is nobody to tell.
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated in `new`; the ring waits for its copies.
        let _ = unsafe { result::free_host(self.memory) };
    }
}

struct Piece {
    memory: Pinned,
    /// The end of its last copy.
    copied: Option<CudaEvent>,
}

impl Piece {
    fn wait(&mut self) -> Result<()> {
        self.copied.take().map_or(Ok(()), |event| event.synchronize().map_err(failed("copying")))
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// Pieces that take turns; made at their first use.
#[derive(Default)]
pub(super) struct Ring {
    pieces: Vec<Piece>,
    next: usize,
}

impl Ring {
    /// The piece whose turn it is, with nothing under way.
    fn take(&mut self, gpu: &Gpu) -> Result<usize> {
        let turn = self.next;
        if self.pieces.len() <= turn {
            self.pieces.push(Piece { memory: Pinned::new(gpu)?, copied: None });
        }
        self.next = (turn + 1) % PIECES;
        self.pieces[turn].wait()?;
        Ok(turn)
    }

    /// Queues copies of `lens` bytes each to device memory from `address` on; `fill` writes a piece by its number.
    ///
    /// # Safety
    /// `address` must have room for them.
    unsafe fn push(
        &mut self,
        gpu: &Gpu,
        stream: &CudaStream,
        mut address: u64,
        lens: impl Iterator<Item = usize>,
        mut fill: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        for (i, len) in lens.enumerate() {
            let turn = self.take(gpu)?;
            let piece = &mut self.pieces[turn];
            let bytes = piece.memory.bytes(len);
            fill(i, bytes)?;
            // SAFETY: the caller vouches for the address; the piece is left alone until the event.
            unsafe { result::memcpy_htod_async(address, bytes, stream.cu_stream()) }
                .map_err(failed("copying to the device"))?;
            piece.copied = Some(gpu.event_on(stream)?);
            address += len as u64;
        }
        Ok(())
    }

    /// Copies `lens` bytes each from device memory from `address` on; `empty` takes a piece by its number.
    ///
    /// # Safety
    /// `address` must hold as many bytes.
    unsafe fn pull(
        &mut self,
        gpu: &Gpu,
        stream: &CudaStream,
        mut address: u64,
        lens: &[usize],
        mut empty: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut turns = Vec::with_capacity(lens.len());
        for i in 0..lens.len() + PIECES {
            if let Some(before) = i.checked_sub(PIECES) {
                let (Some(&len), Some(&turn)) = (lens.get(before), turns.get(before)) else { break };
                let piece: &mut Piece = &mut self.pieces[turn];
                piece.wait()?;
                empty(before, piece.memory.bytes(len))?;
            }
            let Some(&len) = lens.get(i) else { continue };
            let turn = self.take(gpu)?;
            let piece = &mut self.pieces[turn];
            // SAFETY: the caller vouches for the address; the piece is left alone until the event.
            unsafe { result::memcpy_dtoh_async(piece.memory.bytes(len), address, stream.cu_stream()) }
                .map_err(failed("copying from the device"))?;
            piece.copied = Some(gpu.event_on(stream)?);
            address += len as u64;
            turns.push(turn);
        }
        Ok(())
    }
}

impl Gpu {
    /// Queues a copy of a box of `field`, on the stream of copies to the device; the memory must be at rest. The event
    /// is its end.
    ///
    /// # Safety
    /// `address` must have room for the box, dense and in C order.
    pub unsafe fn send<T: Element>(&self, address: u64, field: &dyn Field<T>, region: &Region) -> Result<CudaEvent> {
        self.bind()?;
        let boxes = slices(region, PIECE_BYTES / T::BYTES);
        let mut ring = self.incoming.lock().unwrap_or_else(|e| e.into_inner());
        let lens = boxes.iter().map(|part| part.len() * T::BYTES);
        // SAFETY: the caller's promise.
        unsafe {
            ring.push(self, &self.copy_in, address, lens, |i, bytes| {
                read(field, &boxes[i], bytemuck::cast_slice_mut(bytes))
            })?;
        }
        self.event_on(&self.copy_in)
    }

    /// Hands the box `region`, dense at `address`, to `out`, once `ready` has happened.
    ///
    /// # Safety
    /// `address` must hold as many values.
    pub unsafe fn receive<T: Element>(
        &self,
        address: u64,
        region: &Region,
        out: &dyn RegionSink<T>,
        ready: &CudaEvent,
    ) -> Result<()> {
        self.bind()?;
        self.copy_out.wait(ready).map_err(failed("waiting for the kernels"))?;
        let boxes = slices(region, PIECE_BYTES / T::BYTES);
        let lens: Vec<usize> = boxes.iter().map(|part| part.len() * T::BYTES).collect();
        let mut ring = self.outgoing.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the caller's promise.
        unsafe {
            ring.pull(self, &self.copy_out, address, &lens, |i, bytes| put(&boxes[i], bytemuck::cast_slice(bytes), out))
        }
    }

    /// Queues a copy of `values` to device memory at `address`, in order with the kernels.
    ///
    /// # Safety
    /// `address` must have room for the values.
    pub unsafe fn upload<T: bytemuck::Pod>(&self, address: u64, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.is_empty() {
            return Ok(());
        }
        self.bind()?;
        if bytes.len() < SMALL {
            // SAFETY: pageable memory is staged by the driver before the call returns.
            return unsafe { result::memcpy_htod_async(address, bytes, self.stream.cu_stream()) }
                .map_err(failed("copying to the device"));
        }
        let lens = bytes.chunks(PIECE_BYTES).map(<[u8]>::len);
        let mut ring = self.incoming.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the caller's promise.
        unsafe {
            ring.push(self, &self.stream, address, lens, |i, piece| {
                copy(&bytes[i * PIECE_BYTES..][..piece.len()], piece);
                Ok(())
            })
        }
    }

    /// Copies device memory at `address` into `values`, in order with the kernels, and waits for both.
    ///
    /// # Safety
    /// `address` must hold as many values.
    pub unsafe fn download<T: bytemuck::Pod>(&self, address: u64, values: &mut [T]) -> Result<()> {
        self.bind()?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        if bytes.len() < SMALL {
            if !bytes.is_empty() {
                // SAFETY: `bytes` outlives the copy, which ends in `finish`.
                unsafe { result::memcpy_dtoh_async(bytes, address, self.stream.cu_stream()) }
                    .map_err(failed("copying from the device"))?;
            }
            return self.finish();
        }
        let lens: Vec<usize> = bytes.chunks(PIECE_BYTES).map(<[u8]>::len).collect();
        let mut ring = self.outgoing.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the caller's promise.
        unsafe {
            ring.pull(self, &self.stream, address, &lens, |i, piece| {
                copy(piece, &mut bytes[i * PIECE_BYTES..][..piece.len()]);
                Ok(())
            })?;
        }
        self.finish()
    }
}

/// Copies on several threads.
fn copy(from: &[u8], to: &mut [u8]) {
    to.par_chunks_mut(SHARE).zip(from.par_chunks(SHARE)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// Boxes of at most `values` values, in C order of the region: whole layers of an axis where one fits, else layers cut
/// along the next axis.
fn slices(region: &Region, values: usize) -> Vec<Region> {
    let shape = region.shape();
    if region.len() <= values {
        return vec![*region];
    }
    let axis = (0..3).find(|&a| shape[a] > 1).unwrap_or(2);
    let layers = (values / (region.len() / shape[axis])).max(1);
    let parts = (region.lo[axis]..region.hi[axis]).step_by(layers).map(|lo| {
        let mut part = *region;
        part.lo[axis] = lo;
        part.hi[axis] = (lo + layers).min(region.hi[axis]);
        part
    });
    parts.flat_map(|part| slices(&part, values)).collect()
}

/// A box for each thread, roughly.
fn shares<T: Element>(region: &Region) -> Vec<Region> {
    slices(region, region.len().div_ceil(2 * rayon::current_num_threads()).max(SHARE / T::BYTES))
}

fn read<T: Element>(field: &dyn Field<T>, region: &Region, values: &mut [T]) -> Result<()> {
    let parts = shares::<T>(region);
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
    let parts = shares::<T>(region);
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
                assert!(parts.iter().all(|p| p.len() <= values));
                // In C order of the region, one behind the other.
                let [_, ny, nx] = region.shape();
                let at = |p: [usize; 3]| ((p[0] - lo[0]) * ny + p[1] - lo[1]) * nx + p[2] - lo[2];
                let mut next = 0;
                for part in &parts {
                    assert_eq!(at(part.lo), next);
                    next += part.len();
                    assert_eq!(at(part.hi.map(|h| h - 1)) + 1, next);
                }
            }
        }
    }
}
