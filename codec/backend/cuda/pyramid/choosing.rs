//! The choices of a frame's chunks: the probes of `kernels/choose.cuh`.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{ChooseArguments, DeviceProbe};
use super::{Stage, narrow, slabs};
use crate::params::{Order, Points};
use crate::transform::pyramid::Real;
use crate::transform::pyramid::choose::candidates;
use crate::transform::pyramid::plan::ArrayPlan;
use crate::transform::pyramid::probe::{Probe, probes};
use crate::volume::DType;
use crate::{Region, Result};
use cudarc::driver::CudaStream;

/// The nodes of a chunk at which predictions are compared, on the device.
pub struct Choosing {
    /// Held for its memory.
    memory: Buffer,
    /// By axis, then for chunks that are not the last of the axis and those that are.
    first: [[u32; 2]; 3],
    count: [[u32; 2]; 3],
    /// Axes with new nodes, one bit each, for chunks that are not the last of an axis and those that are.
    active: [u32; 2],
}

impl Choosing {
    pub fn new<T: Real>(gpu: &Gpu, plan: &ArrayPlan<T>) -> Result<Self> {
        let mut all = Vec::new();
        let (mut first, mut count, mut active) = ([[0; 2]; 3], [[0; 2]; 3], [0; 2]);
        let chunks = plan.array.chunks();
        let regions = [plan.array.chunk_box(0), plan.array.chunk_box(chunks.iter().product::<usize>() - 1)];
        for axis in 0..3 {
            for (kind, region) in regions.iter().enumerate() {
                let found = probes(plan, region, axis);
                first[axis][kind] = all.len() as u32;
                count[axis][kind] = found.len() as u32;
                active[kind] |= (found[0].is_new as u32) << axis;
                all.extend(found.iter().map(device_probe));
            }
        }
        let mut memory = Buffer::default();
        let address = memory.reserve(gpu, std::mem::size_of_val(&all[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe { gpu.upload(address, &all)? };
        Ok(Self { memory, first, count, active })
    }

    /// Queues, on `stream`, the choices of the chunks of the frame's slab `region`, dense at device address `values`, to `choices`; the
    /// tiers of the frame are there, of which there are `tier_count` with their quantizers at `quantizers`.
    pub fn run<T: Real>(
        &self,
        (gpu, stream): (&Gpu, &CudaStream),
        (frame, plan): (&Stage<T>, &ArrayPlan<T>),
        (region, values): (&Region, u64),
        (quantizers, tier_count): (u64, u32),
        choices: u64,
        (points, order): (Points, Order),
    ) -> Result<()> {
        let array = &plan.array;
        let (axis, side, blocks) = (slabs::axis(array), array.sides().chunk, frame.blocks(true));
        let mut chunks = array.chunks();
        chunks[axis] = region.shape()[axis].div_ceil(side);
        // A slab is a frame of its own, whose last chunks are not the last ones of the whole frame.
        let (mut first, mut count, mut active) = (self.first, self.count, self.active);
        if region.hi[axis] < array.n[axis] {
            (first[axis][1], count[axis][1]) = (first[axis][0], count[axis][0]);
            active[1] = active[1] & !(1 << axis) | active[0] & 1 << axis;
        }
        let layer: usize = blocks[axis + 1..].iter().map(|&b| b as usize).product();
        let wanted = candidates(points);
        let arguments = ChooseArguments {
            values,
            tiers: frame.tiers.address(gpu) + (region.lo[axis] / 8 * layer) as u64,
            quantizers,
            probes: self.memory.address(gpu),
            choices,
            first,
            count,
            n: narrow(region.shape()),
            blocks,
            chunks: narrow(chunks),
            side: side as u32,
            active,
            candidates: std::array::from_fn(|i| wanted.get(i).map_or(0, |&p| p as u32)),
            candidate_count: wanted.len() as u32,
            tier_count,
            unused: 0,
        };
        let count = chunks.iter().product::<usize>() as u32;
        // where chunks are few, more threads each
        let in_order = if count > 2 * gpu.multiprocessors { 160 } else { 320 };
        let (name, threads) = match (order, T::DTYPE) {
            (Order::Parity, DType::F32) => ("choose_chunks_f32", 256),
            (Order::Parity, _) => ("choose_chunks_f64", 256),
            (Order::Axis, DType::F32) => ("choose_in_order_f32", in_order),
            (Order::Axis, _) => ("choose_in_order_f64", in_order),
        };
        // SAFETY: values, tiers and choices were reserved for this frame; probes lie inside their chunk.
        unsafe { gpu.launch_on(stream, name, count, threads, 0, &arguments) }
    }
}

fn device_probe<T: Real>(probe: &Probe<T>) -> DeviceProbe<T> {
    DeviceProbe {
        weight: probe.weight,
        gain: probe.gain,
        offset: probe.offset.map(|o| o as i32),
        at: probe.at as u32,
        alone: probe.alone as u32,
    }
}
