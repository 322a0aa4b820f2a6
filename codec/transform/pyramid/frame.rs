//! A frame as a whole: what all its chunks share, and their order in the stream.

use super::chunk::{Chunk, Pool};
use super::coarse::{self, Corners};
use super::geometry::{Array, arrays};
use super::lanes::Real;
use super::packet::Coding;
use super::plan::ArrayPlan;
use super::quantizer::{QuantizerTable, table};
use super::tiers::Tiers;
use crate::backend::{FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::{Coder, Control, Error, Params, Region, Result, ToleranceMap};
use rayon::prelude::*;

/// Chunks that a thread takes on before the finished ones are written: bounds the memory of an encoder.
const CHUNKS_IN_FLIGHT: usize = 16;

/// What all chunks of a frame share.
pub struct Frame<'a, T> {
    /// Every array but the last, the frame itself first; empty when the frame is its own last array.
    pub plans: Vec<ArrayPlan<T>>,
    pub last: Array,
    pub quantizers: QuantizerTable<T>,
    pub coding: Coding,
    pub tolerance: &'a ToleranceMap,
}

impl<'a, T: Real> Frame<'a, T> {
    pub fn new(n: [usize; 3], tolerance: &'a ToleranceMap, max_abs: T, params: &Params) -> Result<Self> {
        check_map(n, tolerance)?;
        let mut arrays = arrays(n, params.tile)?;
        let last = arrays.pop().ok_or_else(|| Error::invalid("a frame without values"))?;
        let with_groups = params.coder == Coder::Groups;
        let plan = |array| if with_groups { ArrayPlan::new(array).with_groups() } else { ArrayPlan::new(array) };
        let plans = arrays.into_iter().map(plan).collect();
        let quantizers = table(&tolerance.tiers, max_abs);
        Ok(Self { plans, last, quantizers, coding: Coding::new(params), tolerance })
    }
    /// The tiers of the frame's own nodes.
    pub fn tiers(&self) -> Tiers<'_, T> {
        if self.tolerance.tiers.len() == 1 {
            return Tiers::uniform(&self.quantizers);
        }
        let ToleranceMap { blocks, tier_of_block, .. } = self.tolerance;
        Tiers { tier: tier_of_block, blocks: *blocks, shift: 3, quantizers: &self.quantizers }
    }
    /// The corner arrays, first to last (the frame itself when it has no other).
    pub fn corner_arrays(&self) -> Vec<&Array> {
        self.plans.iter().skip(1).map(|p| &p.array).chain([&self.last]).collect()
    }
    fn chunk_count(&self) -> usize {
        self.plans.first().map_or(0, |p| p.array.chunks().iter().product())
    }
    fn chunk<'b>(&'b self, plan: &'b ArrayPlan<T>, index: usize, corners: &'b Corners<T>) -> Chunk<'b, T> {
        Chunk { plan, region: plan.array.chunk_box(index), tiers: self.tiers(), corners: corners.dense() }
    }
}

/// Whether a map has one existing tier for each block of a frame of `n` nodes.
pub fn check_map(n: [usize; 3], map: &ToleranceMap) -> Result<()> {
    let blocks = n.map(|n| n.div_ceil(8));
    if map.blocks != blocks || map.tier_of_block.len() != blocks.iter().product::<usize>() {
        return Err(Error::invalid(format!("tolerance map of {:?} blocks for a frame of {n:?} nodes", map.blocks)));
    }
    if map.tier_of_block.iter().any(|&t| t as usize >= map.tiers.len()) {
        return Err(Error::invalid("tolerance map: a block names a tier that does not exist"));
    }
    match map.tiers.iter().find(|t| t.tau.is_nan() || t.tau < 0.0) {
        Some(t) => Err(Error::invalid(format!("tier {}: tolerance {} is not a number >= 0", t.name, t.tau))),
        None => Ok(()),
    }
}

/// Puts the name of the part of the frame in front of an error.
pub fn in_part(error: Error, part: &str) -> Error {
    Error { message: format!("{part}: {}", error.message), ..error }
}

/// Encodes one frame: the coarse part, then the chunks in raster order.
pub fn encode_frame<T: Real>(input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    let frame = Frame::new(input.field.extents(), input.tolerance, input.max_abs, input.params)?;
    let (bytes, corners) = coarse::encode(&frame, input.field, control)?;
    sink.coarse(&bytes)?;
    let Some(plan) = frame.plans.first() else { return Ok(()) };
    let pool = Pool::default();
    let batch = CHUNKS_IN_FLIGHT * rayon::current_num_threads();
    for first in (0..frame.chunk_count()).step_by(batch) {
        let chunks = first..(first + batch).min(frame.chunk_count());
        let encoded = chunks.into_par_iter().with_max_len(1).map(|index| {
            control.check()?;
            let chunk = frame.chunk(plan, index, &corners);
            pool.with(|workspace| {
                read(input, &chunk.region, &mut workspace.values)?;
                control.advance((workspace.values.len() * T::BYTES) as u64);
                Ok(chunk.pack(frame.coding, false, workspace))
            })
        });
        for bytes in encoded.collect::<Result<Vec<_>>>()? {
            sink.chunk(&bytes)?;
        }
    }
    Ok(())
}

fn read<T: Real>(input: &FrameInput<T>, region: &Region, values: &mut Vec<T>) -> Result<()> {
    values.resize(region.len(), T::ZERO);
    input.field.read_region(region, values)
}

/// What the decoder of a stored frame needs; the stored chunks must be as many as the shape asks for, which also bounds
/// what is allocated by what is there.
fn open<'a, T: Real>(shape: &FrameShape<'a>, source: &dyn FrameSource) -> Result<Frame<'a, T>> {
    let (is, want) = (source.chunk_count(), Array::chunk_count(shape.n, shape.params.tile)?);
    if is != want {
        return Err(Error::corrupt(format!("chunk index: {is} chunks where the shape asks for {want}")));
    }
    Frame::new(shape.n, shape.tolerance, T::from_f64(shape.max_abs), shape.params)
}

/// Decodes the part of a frame inside `region`: reads the coarse part and the chunks that meet it.
pub fn decode_frame<T: Real>(
    shape: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    if (0..3).any(|a| region.lo[a] > region.hi[a] || region.hi[a] > shape.n[a]) {
        return Err(Error::invalid(format!("box {:?}..{:?} is not inside {:?}", region.lo, region.hi, shape.n)));
    }
    let frame = open(shape, source)?;
    let corners = coarse::decode(&frame, &source.coarse()?, 1, control)?;
    let Some(plan) = frame.plans.first() else { return put_last(&corners, region, out) };
    let meets = |index: &usize| !plan.array.chunk_box(*index).intersect(region).is_empty();
    let pool = Pool::default();
    let wanted: Vec<usize> = (0..frame.chunk_count()).filter(meets).collect();
    wanted
        .into_par_iter()
        .with_max_len(1)
        .map(|index| {
            control.check()?;
            let chunk = frame.chunk(plan, index, &corners);
            let part = chunk.region.intersect(region);
            pool.with(|workspace| {
                // the source names a chunk that it cannot give
                let bytes = source.chunk(index)?;
                chunk
                    .unpack(frame.coding, &bytes, &part, workspace)
                    .map_err(|e| in_part(e, &format!("chunk {index}")))?;
                control.advance((workspace.values.len() * T::BYTES) as u64);
                out.put(&part, &workspace.values)
            })
        })
        .collect()
}

/// A frame without tiles: all its values are in the coarse part.
fn put_last<T: Real>(corners: &Corners<T>, region: &Region, out: &dyn RegionSink<T>) -> Result<()> {
    if region.is_empty() { Ok(()) } else { out.put(region, &corners.copy_box(region)) }
}

/// A coarse look at a frame: every value is a node of the frame, within its tolerance.
#[derive(Clone, Debug)]
pub struct Preview<T> {
    /// Extents in nodes.
    pub n: [usize; 3],
    /// Frame coordinates of the nodes of each axis, ascending.
    pub coordinates: [Vec<usize>; 3],
    /// C order.
    pub values: Vec<T>,
}

/// Decodes the finest corner array of at most `max_values` values (the last array if all have more).
/// Reads the coarse part only.
pub fn preview<T: Real>(
    shape: &FrameShape,
    source: &dyn FrameSource,
    max_values: usize,
    control: &Control,
) -> Result<Preview<T>> {
    let frame = open(shape, source)?;
    let arrays = frame.corner_arrays();
    let pick = arrays.iter().position(|a| a.len() <= max_values).unwrap_or(arrays.len() - 1);
    let corners = coarse::decode(&frame, &source.coarse()?, pick + 1, control)?;
    let coordinates = [0, 1, 2].map(|a| (0..arrays[pick].n[a]).map(|i| arrays[pick].coordinate(a, i)).collect());
    Ok(Preview { n: corners.n, coordinates, values: corners.values })
}
