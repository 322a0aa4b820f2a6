//! A frame from values to bytes.

use super::super::gpu::Gpu;
use super::super::reduce;
use super::Pyramid;
use super::level::Worklist;
use crate::backend::{FrameInput, FrameSink};
use crate::params::Points;
use crate::transform::pyramid::choose::candidates;
use crate::transform::pyramid::{Real, coarse};
use crate::volume::Field;
use crate::{Control, Result, ToleranceMap};

/// Encodes one frame; the tolerance map fits its extents.
pub fn encode_frame<T: Real>(
    gpu: &Gpu,
    pyramid: &mut Pyramid<T>,
    input: &FrameInput<T>,
    sink: &mut dyn FrameSink,
    control: &Control,
) -> Result<()> {
    pyramid.begin(gpu, input.field)?;
    control.check()?;
    pyramid.encode(gpu, input.tolerance, input.max_abs, input.params.points)?;
    let chunks = pyramid.collect(gpu)?;
    control.check()?;
    let (frame, corners) = match pyramid.stages.len() {
        1 => (&[][..], &chunks[..]),
        _ => (&chunks[0][..], &chunks[1..]),
    };
    let mut bytes = Vec::new();
    for part in corners.iter().rev().flatten() {
        coarse::append(&mut bytes, part);
    }
    sink.coarse(&bytes)?;
    for chunk in frame {
        sink.chunk(chunk)?;
    }
    let [nz, ny, nx] = input.field.extents();
    control.advance((nz * ny * nx * T::BYTES) as u64);
    Ok(())
}

impl<T: Real> Pyramid<T> {
    /// Reserves all memory and sends the lists of tiles and chunks, and the values.
    pub fn begin(&mut self, gpu: &Gpu, field: &dyn Field<T>) -> Result<()> {
        self.prepare_encode(gpu)?;
        let address = self.stages[0].values.address(gpu);
        // SAFETY: `prepare_encode` made room for the whole frame.
        unsafe { self.staging.send(gpu, address, field) }
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
        let mut list = Worklist::default();
        for stage in self.stages.iter_mut().rev() {
            stage.values.reserve(gpu, stage.len() * T::BYTES)?;
            let chunks = 0..stage.chunk_count();
            stage.list(&mut list, chunks);
        }
        self.coding.prepare(gpu, &list.close()?, self.shapes.slots, T::BYTES, true)
    }

    /// Queues the whole encoder.
    pub fn encode(&mut self, gpu: &Gpu, map: &ToleranceMap, max_abs: T, points: Points) -> Result<()> {
        self.send_tiers(gpu, map, max_abs, true)?;
        self.coding.reset(gpu, candidates(points)[0])?;
        if let (Some(choosing), Some(plan)) = (&self.choosing, &self.stages[0].plan) {
            let choices = self.coding.choices(gpu) + self.stages[0].span.chunks.start as u64;
            choosing.run(gpu, &self.stages[0], plan, self.quantizers.address(gpu), choices, points)?;
        }
        self.run_last(gpu, true)?;
        for k in (0..self.stages.len() - 1).rev() {
            let stage = &self.stages[k];
            let work = stage.work(true, if k == 0 { 0 } else { stage.values.address(gpu) });
            self.run_tiles(gpu, k, &work)?;
        }
        self.coding.encode(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32)
    }

    /// Waits, and returns the bytes of the chunks of every array.
    fn collect(&mut self, gpu: &Gpu) -> Result<Vec<Vec<Vec<u8>>>> {
        let (chunks, bytes) = self.coding.results(gpu)?;
        if !self.coding.had_room(bytes) {
            self.coding.reserve_output(gpu, bytes)?;
            self.coding.assemble(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32)?;
        }
        let output = self.coding.output(gpu, bytes)?;
        let of_stage = |stage: &super::Stage<T>| {
            // The choice stands one byte before the payload; the last array has none.
            let choice = stage.plan.is_some() as usize;
            let part = |c: &super::arguments::Chunk| {
                output[c.offset as usize - choice..c.offset as usize + c.bytes as usize].to_vec()
            };
            chunks[stage.span.chunks.clone()].iter().map(part).collect()
        };
        Ok(self.stages.iter().map(of_stage).collect())
    }
}
