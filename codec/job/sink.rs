//! Where decoded boxes go.

use crate::backend::RegionSink;
use crate::stream::Special;
use crate::{Control, Element, Error, Region, Result};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Collects the boxes of one region in memory, from any number of threads.
pub struct MemorySink<'a, T> {
    region: Region,
    start: *mut T,
    placed: AtomicUsize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: `put` writes through `start` only; the contract of `RegionSink` is that boxes never overlap, so two threads
// never write the same value.
unsafe impl<T: Send> Sync for MemorySink<'_, T> {}

impl<'a, T: Element> MemorySink<'a, T> {
    /// `values` holds `region` in C order.
    pub fn new(region: Region, values: &'a mut [T]) -> Self {
        assert_eq!(values.len(), region.len());
        Self { region, start: values.as_mut_ptr(), placed: AtomicUsize::new(0), life: PhantomData }
    }
    /// Errors unless every value of the region arrived.
    pub fn finish(self) -> Result<()> {
        match self.placed.into_inner() {
            n if n == self.region.len() => Ok(()),
            n => Err(Error::corrupt(format!("only {n} of {} values could be decoded", self.region.len()))),
        }
    }
}

/// C-order index of a node of `region`.
fn index(region: &Region, at: [usize; 3]) -> usize {
    let [_, ny, nx] = region.shape();
    ((at[0] - region.lo[0]) * ny + at[1] - region.lo[1]) * nx + at[2] - region.lo[2]
}

impl<T: Element> RegionSink<T> for MemorySink<'_, T> {
    /// Values outside the region are passed over.
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        assert_eq!(values.len(), region.len());
        let common = region.intersect(&self.region);
        let [nz, ny, nx] = common.shape();
        if common.is_empty() {
            return Ok(());
        }
        for z in 0..nz {
            for y in 0..ny {
                let at = [common.lo[0] + z, common.lo[1] + y, common.lo[2]];
                let row = &values[index(region, at)..][..nx];
                // SAFETY: the row lies inside `self.region`, for which `start` points to enough values.
                unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), self.start.add(index(&self.region, at)), nx) };
            }
        }
        self.placed.fetch_add(common.len(), Relaxed);
        Ok(())
    }
}

/// Brings values into the limits: never farther from the original, which lies inside.
pub fn clamp<T: Element>(values: &mut [T], limits: Option<[T; 2]>) {
    let Some([lo, hi]) = limits else { return };
    for v in values {
        *v = if *v < lo {
            lo
        } else if *v > hi {
            hi
        } else {
            *v
        };
    }
}

/// Takes the boxes of one frame: brings values into the valid range, puts special values back, moves the box to its place in the volume, counts progress.
pub struct FrameRegionSink<'a, T: Element> {
    pub sink: &'a dyn RegionSink<T>,
    pub special: Option<Special<T>>,
    /// See [`crate::stream::FrameReader::limits`].
    pub limits: Option<[T; 2]>,
    /// Corner of the frame in the volume.
    pub corner: [usize; 3],
    pub control: &'a Control,
}

impl<T: Element> RegionSink<T> for FrameRegionSink<'_, T> {
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        let moved = |at: [usize; 3]| std::array::from_fn(|a| at[a] + self.corner[a]);
        let place = Region { lo: moved(region.lo), hi: moved(region.hi) };
        if self.special.is_none() && self.limits.is_none() {
            self.sink.put(&place, values)?;
        } else {
            let mut values = values.to_vec();
            clamp(&mut values, self.limits);
            if let Some(special) = &self.special {
                special.restore(region, &mut values);
            }
            self.sink.put(&place, &values)?;
        }
        self.control.advance(values.len() as u64 * T::BYTES as u64);
        Ok(())
    }
}
