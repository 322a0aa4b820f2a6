//! A frame in slabs: runs of layers of chunks, which need nothing of each other but the corner arrays. So copies and
//! kernels overlap, a frame larger than the device's memory passes in parts, and several devices share one.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::Quantizer;
use super::coding::Coding;
use super::level::{Span, Worklist};
use super::{Pyramid, Stage};
use crate::transform::pyramid::Real;
use crate::transform::pyramid::geometry::Array;
use crate::transform::pyramid::quantizer::LEVELS;
use crate::{Region, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Bytes of values of a slab, roughly: enough to fill a device.
const SLAB_BYTES: usize = 64 << 20;

/// Tiers of a map.
const MOST_TIERS: usize = 255;

/// Some layers of chunks of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Slab {
    /// Numbers of its chunks, ascending.
    pub chunks: Vec<usize>,
    /// Its nodes, as far as they lie in the box that is cut.
    pub region: Region,
}

/// The axis that frames are cut along: slabs are dense in memory.
pub fn axis(array: &Array) -> usize {
    (0..3).find(|&a| array.n[a] > 1).unwrap_or(2)
}

/// Slabs of at most `layers` layers of chunks that cover a box of the frame.
fn cut(array: &Array, region: &Region, layers: usize) -> Vec<Slab> {
    let (axis, side, chunks) = (axis(array), array.sides().chunk, array.chunks());
    let of_layer = chunks[axis + 1..].iter().product::<usize>();
    let (first, last) = (region.lo[axis] / side, region.hi[axis].div_ceil(side));
    let slab = |layer: usize| {
        let end = (layer + layers).min(last);
        let mut part = *region;
        part.lo[axis] = part.lo[axis].max(layer * side);
        part.hi[axis] = part.hi[axis].min(end * side);
        let meets = |&c: &usize| !array.chunk_box(c).intersect(region).is_empty();
        Slab { chunks: (layer * of_layer..end * of_layer).filter(meets).collect(), region: part }
    };
    (first..last).step_by(layers).map(slab).collect()
}

/// A worklist, and where the chunks of each array stand in it.
pub struct Listed {
    list: Worklist,
    spans: Vec<Span>,
}

/// The slabs last worked on.
#[derive(Default)]
pub struct Slabs {
    pub slabs: Arc<Vec<Slab>>,
    /// Of each slab.
    lists: Arc<Vec<Listed>>,
    /// Of the corner arrays (of the frame, where it is its own last array).
    corners: Option<Arc<Listed>>,
    /// Values or reconstructions: while one is worked on, the other travels.
    pub memory: [Buffer; 2],
}

/// A device and its memory for frames of the shape at hand.
pub struct Worker<'a, T> {
    pub gpu: &'a Gpu,
    pub pyramid: &'a mut Pyramid<T>,
}

/// Devices with memory for the slabs of one box of a frame, which they take in turns.
pub struct Team<'a, T> {
    pub workers: Vec<Worker<'a, T>>,
}

impl<'a, T: Real> Team<'a, T> {
    /// Reserves all memory, for slabs of fewer layers where it is short.
    ///
    /// # Errors
    /// When there is too little memory for a single layer of chunks.
    pub fn new(mut workers: Vec<Worker<'a, T>>, region: &Region, encode: bool) -> Result<Self> {
        let Some(plan) = &workers[0].pyramid.stages[0].plan else {
            // The frame is its own last array, which one device takes.
            workers.truncate(1);
            let worker = &mut workers[0];
            worker.pyramid.reserve(worker.gpu, Arc::default(), Arc::default(), encode)?;
            return Ok(Self { workers });
        };
        let array = plan.array.clone();
        let (axis, side) = (axis(&array), array.sides().chunk);
        let all = region.hi[axis].div_ceil(side) - region.lo[axis] / side;
        let layer_bytes = array.n[axis + 1..].iter().product::<usize>() * side * T::BYTES;
        let mut layers = (SLAB_BYTES / layer_bytes).clamp(1, all.div_ceil(workers.len()));
        loop {
            let slabs = Arc::new(cut(&array, region, layers));
            let lists = workers[0].pyramid.lists(&slabs)?;
            let reserve = |w: &mut Worker<T>| w.pyramid.reserve(w.gpu, slabs.clone(), lists.clone(), encode);
            let Err(error) = workers.iter_mut().try_for_each(reserve) else { break };
            if !workers.iter().any(|w| w.gpu.account.was_short()) || layers == 1 {
                return Err(error);
            }
            workers.iter().for_each(|w| w.gpu.account.forgive());
            layers = layers.div_ceil(2);
        }
        let busy = workers[0].pyramid.slabs.slabs.len();
        workers.truncate(busy);
        Ok(Self { workers })
    }
}

impl<T: Real> Pyramid<T> {
    /// Tiles and chunks of slabs; those of the last time where they are the same.
    fn lists(&self, slabs: &[Slab]) -> Result<Arc<Vec<Listed>>> {
        let Stage { plan: Some(plan), level, .. } = &self.stages[0] else { return Ok(Arc::default()) };
        if self.slabs.slabs[..] == *slabs {
            return Ok(self.slabs.lists.clone());
        }
        let listed = |slab: &Slab| {
            let mut list = self.worklist();
            let span = list.add(plan, level, slab.chunks.iter().copied());
            let mut spans = vec![Span::default(); self.stages.len()];
            spans[0] = span;
            Ok(Listed { list: list.close()?, spans })
        };
        Ok(Arc::new(slabs.par_iter().map(listed).collect::<Result<_>>()?))
    }

    fn corner_list(&mut self) -> Result<Arc<Listed>> {
        if let Some(listed) = &self.slabs.corners {
            return Ok(listed.clone());
        }
        let (mut list, first) = (self.worklist(), (self.stages.len() - 1).min(1));
        let mut spans = vec![Span::default(); self.stages.len()];
        for (k, (stage, span)) in self.stages.iter_mut().zip(&mut spans).enumerate().skip(first).rev() {
            list.stage = k as u32;
            let chunks = 0..stage.chunk_count();
            stage.list(&mut list, chunks);
            *span = stage.span.clone();
        }
        let listed = Arc::new(Listed { list: list.close()?, spans });
        self.slabs.corners = Some(listed.clone());
        Ok(listed)
    }

    /// Prepares the coding for the chunks of a list.
    fn take(&mut self, gpu: &Gpu, listed: &Listed, encode: bool) -> Result<()> {
        self.stages.iter_mut().zip(&listed.spans).for_each(|(stage, span)| stage.span = span.clone());
        self.prepare(gpu, &listed.list, encode)
    }
    /// Prepares the coding for the chunks of the coarse part.
    pub fn take_corners(&mut self, gpu: &Gpu, encode: bool) -> Result<()> {
        let listed = self.corner_list()?;
        self.take(gpu, &listed, encode)
    }
    /// Prepares the coding for the chunks of a slab.
    pub fn take_slab(&mut self, gpu: &Gpu, index: usize, encode: bool) -> Result<()> {
        let lists = self.slabs.lists.clone();
        self.take(gpu, &lists[index], encode)
    }

    /// Memory for any one of `slabs`, and for the corner arrays.
    fn reserve(&mut self, gpu: &Gpu, slabs: Arc<Vec<Slab>>, lists: Arc<Vec<Listed>>, encode: bool) -> Result<()> {
        gpu.bind()?;
        (self.slabs.slabs, self.slabs.lists) = (slabs, lists);
        let done = self.try_reserve(gpu, encode);
        if done.is_err() {
            self.coding = Coding::default();
            self.stages[0].values = Buffer::default();
            self.result = Buffer::default();
            self.coarse = Buffer::default();
            self.coarse = Buffer::default();
            self.slabs.memory = Default::default();
        }
        // Memory that was given back is there once the stream has passed it, and copies on other streams need it now.
        gpu.finish()?;
        done
    }

    fn try_reserve(&mut self, gpu: &Gpu, encode: bool) -> Result<()> {
        self.reserve_fixed(gpu)?;
        let (slabs, lists) = (self.slabs.slabs.clone(), self.slabs.lists.clone());
        let bytes = slabs.iter().map(|s| s.region.len()).max().unwrap_or(0) * T::BYTES;
        for memory in self.slabs.memory.iter_mut().take(slabs.len()) {
            memory.reserve(gpu, bytes)?;
        }
        let corners = self.corner_list()?;
        let largest = lists.iter().max_by_key(|listed| listed.list.nodes);
        for listed in [Some(&*corners), largest].into_iter().flatten() {
            self.take(gpu, listed, encode)?;
            // What nodes are at most when they are encoded; damaged streams may ask for more.
            let (nodes, chunks) = (listed.list.nodes, listed.list.chunks.len() as u64);
            self.coding.reserve_output(gpu, nodes * (T::BYTES as u64 + 1) + 4096 + 1024 * chunks)?;
        }
        Ok(())
    }

    /// Memory whose size does not depend on the slabs.
    fn reserve_fixed(&mut self, gpu: &Gpu) -> Result<()> {
        self.quantizers.reserve(gpu, LEVELS.len() * MOST_TIERS * size_of::<Quantizer<T>>())?;
        let alone = self.stages.len() == 1;
        for (k, stage) in self.stages.iter_mut().enumerate() {
            let tiers: usize = stage.blocks(k == 0).iter().map(|&b| b as usize).product();
            stage.tiers.reserve(gpu, tiers)?;
            if k > 0 || alone {
                stage.reserve_corners(gpu)?;
            }
            let bytes = stage.level.largest().bytes(T::BYTES, true);
            if bytes > gpu.shared_per_block {
                self.spill.reserve(gpu, bytes * gpu.multiprocessors as usize)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::pyramid::geometry::Sides;

    #[test]
    fn slabs_cover_a_box_and_its_chunks_once() {
        for (n, lo, hi) in [
            ([200, 130, 70], [0, 0, 0], [200, 130, 70]),
            ([200, 130, 70], [70, 3, 65], [129, 131 - 1, 70]),
            ([1, 3000, 700], [0, 600, 0], [1, 3000, 700]),
            ([1, 1, 700_000], [0, 0, 5], [1, 1, 600_000]),
        ] {
            let array = Array::frame(n, Sides::new(n, 16).unwrap());
            let region = Region { lo, hi };
            for layers in [1, 2, 10] {
                let slabs = cut(&array, &region, layers);
                assert_eq!(slabs.iter().map(|s| s.region.len()).sum::<usize>(), region.len());
                let all: Vec<usize> = slabs.iter().flat_map(|s| s.chunks.clone()).collect();
                let count = array.chunks().iter().product();
                let meets = |&c: &usize| !array.chunk_box(c).intersect(&region).is_empty();
                assert_eq!(all, (0..count).filter(meets).collect::<Vec<_>>());
                assert!(
                    slabs.iter().all(|s| s.chunks.iter().all(|&c| !array.chunk_box(c).intersect(&s.region).is_empty()))
                );
            }
        }
    }
}
