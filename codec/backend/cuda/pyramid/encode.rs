//! A frame from values to bytes.

use super::super::gpu::{Gpu, failed};
use super::super::reduce;
use super::{Pyramid, Work};
use crate::params::Points;
use crate::transform::pyramid::Real;
use crate::volume::Field;
use crate::{Region, Result};
use cudarc::driver::CudaStream;
use std::ops::Range;

/// Encoded chunks of a worklist.
pub struct Packed {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Packed {
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.bytes[place.clone()])
    }
}

impl<T: Real> Pyramid<T> {
    /// Reserves all memory and sends the lists of tiles and chunks, and the values.
    pub fn begin(&mut self, gpu: &Gpu, field: &dyn Field<T>) -> Result<()> {
        self.prepare_encode(gpu)?;
        gpu.finish()?;
        let stage = &self.stages[0];
        // SAFETY: `prepare_encode` made room for the whole frame.
        let sent = unsafe { gpu.send(stage.values.address(gpu), field, &stage.whole())? };
        gpu.stream.wait(&sent).map_err(failed("waiting for values"))
    }

    /// Queues the search for the largest |u| of the frame on the device.
    pub fn max_abs(&mut self, gpu: &Gpu) -> Result<u64> {
        let stage = &self.stages[0];
        // SAFETY: `begin` left the whole frame there.
        unsafe { reduce::queue_max_abs::<T>(gpu, &mut self.scratch, stage.values.address(gpu), stage.len()) }
    }

    /// Addresses of the frame and of what `decode_resident` made of it.
    pub fn volumes(&self, gpu: &Gpu) -> [u64; 2] {
        [self.stages[0].values.address(gpu), self.result.address(gpu)]
    }

    fn prepare_encode(&mut self, gpu: &Gpu) -> Result<()> {
        let mut list = self.worklist();
        for (k, stage) in self.stages.iter_mut().enumerate().rev() {
            list.stage = k as u32;
            stage.values.reserve(gpu, stage.len() * T::BYTES)?;
            let chunks = 0..stage.chunk_count();
            stage.list(&mut list, chunks);
        }
        self.prepare(gpu, &list.close()?, true)
    }

    /// Queues the whole encoder, after [`Pyramid::send_tiers`].
    pub fn encode(&mut self, gpu: &Gpu, points: Points) -> Result<()> {
        if self.encode_whole_corners(gpu, points)? {
            let work = self.stages[0].work(true, 0);
            return self.run_tiles(gpu, 0, &work);
        }
        self.reset(gpu, points)?;
        let alone = self.stages.len() == 1;
        self.gather(gpu, 0, !alone)?;
        if alone {
            self.run_last(gpu, true)?;
        }
        // few blocks, which wait for each other, beside many: queued first, since a block that takes a whole multiprocessor would wait until one is idle
        let beside = gpu.fork()?;
        let corners = self.encode_corner_tiles(gpu);
        let chosen = self.choose(gpu, &beside, &self.stages[0].whole(), self.stages[0].values.address(gpu), points);
        gpu.join(&beside)?;
        corners.and(chosen)?;
        let work = self.stages[0].work(true, 0);
        if self.stages[0].plan.is_some() {
            self.run_tiles(gpu, 0, &work)?;
        }
        self.encode_symbols(gpu, Some(&work))
    }

    /// Queues the encoder of the corner arrays (of the frame, where it is its own last array), which the coding is prepared
    /// for.
    pub fn encode_corners(&mut self, gpu: &Gpu, points: Points) -> Result<()> {
        self.reset(gpu, points)?;
        self.run_last(gpu, true)?;
        self.encode_corner_tiles(gpu)?;
        self.encode_symbols(gpu, None)
    }

    /// Queues the encoder of the chunks that the coding is prepared for, those of the slab `region` of the frame, whose
    /// values stand at device address `values`.
    pub fn encode_slab(&mut self, gpu: &Gpu, region: &Region, values: u64, points: Points) -> Result<()> {
        self.reset(gpu, points)?;
        self.choose(gpu, &gpu.stream, region, values, points)?;
        let stage = &self.stages[0];
        let before = (region.lo[0] * stage.n[1] + region.lo[1]) * stage.n[2] + region.lo[2];
        let values = Some(values.wrapping_sub((before * T::BYTES) as u64));
        let work = Work { values, ..stage.work(true, 0) };
        self.run_tiles(gpu, 0, &work)?;
        self.encode_symbols(gpu, Some(&work))
    }

    fn choose(&self, gpu: &Gpu, stream: &CudaStream, region: &Region, values: u64, points: Points) -> Result<()> {
        if self.planes.is_some() {
            return Ok(());
        }
        let stage = &self.stages[0];
        let (Some(choosing), Some(plan)) = (&self.choosing, &stage.plan) else { return Ok(()) };
        let choices = self.coding.choices(gpu) + stage.span.chunks.start as u64;
        let tiers = (self.quantizers.address(gpu), self.tier_count);
        choosing.run((gpu, stream), (stage, plan), (region, values), tiers, choices, (points, self.key.3))
    }

    fn encode_corner_tiles(&mut self, gpu: &Gpu) -> Result<()> {
        if let Some(planes) = self.planes.take() {
            let done = self.run_planes_corners(gpu, &planes, true);
            self.planes = Some(planes);
            return done;
        }
        for k in (1..self.stages.len() - 1).rev() {
            let stage = &self.stages[k];
            let work = stage.work(true, stage.values.address(gpu));
            self.run_tiles(gpu, k, &work)?;
        }
        Ok(())
    }

    /// Waits, and returns the bytes of the chunks that the coding was prepared for.
    pub fn collect(&mut self, gpu: &Gpu) -> Result<Packed> {
        let (chunks, len) = self.coding.results(gpu)?;
        if !self.coding.had_room(len) {
            self.coding.reserve_output(gpu, len)?;
            self.assemble(gpu)?;
        }
        let bytes = self.coding.output(gpu, len)?;
        let mut places = Vec::with_capacity(chunks.len());
        for stage in &self.stages {
            // The class coder's choice stands one byte before the payload; the last array has none.
            let choice = (stage.plan.is_some() && self.planes.is_none()) as usize;
            for (i, c) in chunks.iter().enumerate().skip(stage.span.chunks.start).take(stage.span.chunks.len()) {
                places.push((i, c.offset as usize - choice..c.offset as usize + c.bytes as usize));
            }
        }
        places.sort_unstable_by_key(|(i, _)| *i);
        Ok(Packed { bytes, places: places.into_iter().map(|(_, place)| place).collect() })
    }
}
