//! The kernels of the planes coder, and the order in which they are queued.

use super::super::gpu::Gpu;
use super::arguments::{AxisWeights, CornerChain, CornerLevel, CornerTilesArguments, PlanesArguments, WholeArguments};
use super::class_arguments::Chunk;
use super::planes::{Planes, RECORD_BYTES, TILE_WORDS, WARPS};
use super::{Pyramid, Work, narrow};
use crate::Result;
use crate::params::Points;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::quantizer::LEVELS;
use crate::volume::DType;
use cudarc::driver::CudaStream;

/// Bytes of a warp's shared memory: symbols of four tiles, two entries of the list; and, encoding, so many rows of values, decoding records and planes.
const SYMBOLS_BYTES: usize = 4 * 1040;
const ENTRIES_BYTES: usize = 2 * 16;
const STAGED_ROWS: usize = 48;
const PLANES_BYTES: usize = 8 * RECORD_BYTES + 16 * TILE_WORDS;
/// As in planes_encode.cu: blocks of the kernels for whole tiles that a multiprocessor has at a time, for f32 and f64; entries of the list that a warp of the
/// encoder takes at most: with few each, a block makes room for another one before those beside it are done; so many rounds of a full device have blocks with one.
const WHOLE_BLOCKS: [u32; 2] = [4, 2];
const ROUNDS: u32 = 4;
const LAST_ROUNDS: u32 = 2;
/// As in planes_corners.cu: arrays of a launch at most.
const MOST_LEVELS: usize = 8;

impl<T: Real> Pyramid<T> {
    /// Whether whole tiles of array `k` are in the worklist and go through the kernels for them.
    fn has_whole(&self, planes: &Planes, k: usize) -> bool {
        planes.takes_whole(k, self.tier_count) && planes.listed[k].quad_count > 0
    }

    fn planes_arguments(&self, gpu: &Gpu, planes: &Planes) -> PlanesArguments {
        planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES)
    }

    /// Queues everything from the planes of whole tiles and the symbols of the others to bytes, where this is not done with the frame's tiles.
    pub(super) fn pack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        if self.has_whole(planes, 0) {
            return Ok(());
        }
        self.pack_others(gpu, &gpu.stream, &self.planes_arguments(gpu, planes))?;
        self.assemble_planes(gpu, planes)
    }
    /// Queues the planes of tiles that the kernels for whole ones do not take.
    fn pack_others(&self, gpu: &Gpu, stream: &CudaStream, a: &PlanesArguments) -> Result<()> {
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe { gpu.launch_on(stream, "pack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, a) }
    }
    /// Queues the copying of all parts to their places in the output; nothing happens when it is too small.
    pub(super) fn assemble_planes(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        let a = self.planes_arguments(gpu, planes);
        // SAFETY: as in `pack_others`.
        unsafe { gpu.launch("assemble_planes", a.chunk_count, 512, 0, &a) }
    }
    /// Queues the search for the planes of each tile, and the symbols of those that are not whole. Damage is noted in the chunks.
    pub(super) fn unpack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        planes.reset(gpu)?;
        let a = self.planes_arguments(gpu, planes);
        // SAFETY: as in `pack_others`; the kernels check every index that comes from the bytes.
        unsafe {
            gpu.launch("parse_planes", a.chunk_count, 512, 0, &a)?;
            gpu.launch("unpack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, &a)
        }
    }

    /// Whether one launch takes all corner arrays: all their tiles are whole.
    fn has_whole_corners(&self, planes: &Planes) -> bool {
        let arrays: Vec<_> = (1..self.stages.len() - 1).rev().collect();
        let whole = |(i, &k): (usize, &usize)| {
            self.has_whole(planes, k) && planes.listed[k].any == 0 && self.follows(&arrays[..i], k)
        };
        !arrays.is_empty() && arrays.iter().enumerate().all(whole)
    }

    /// Queues everything that comes before the frame's tiles when the whole pyramid is encoded, if one launch does it. Whether it does.
    pub(super) fn encode_whole_corners(&mut self, gpu: &Gpu, points: Points) -> Result<bool> {
        self.set_points(points);
        let Some(planes) = self.planes.take() else { return Ok(false) };
        let whole = self.has_whole_corners(&planes);
        let done = if whole { self.encode_from_frame(gpu, &planes) } else { Ok(()) };
        self.planes = Some(planes);
        done.map(|()| whole)
    }

    /// The corner arrays, all of whose tiles are whole, and the last one, from the values of the frame.
    fn encode_from_frame(&mut self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        self.stages[1..].iter_mut().try_for_each(|stage| stage.reserve_corners(gpu))?;
        let (frame, last) = (&self.stages[0], &self.stages[self.stages.len() - 1]);
        let (counts, count_words) = planes.counts(gpu);
        let words = (size_of::<Chunk>() / 4) as u32;
        let chain = CornerChain {
            last: last.values.address(gpu),
            frame: frame.values.address(gpu),
            fresh: self.coding.fresh(gpu),
            counts,
            n: narrow(frame.n),
            chunk_words: words * self.coding.initial().len() as u32,
            corner_words: words * frame.span.chunks.start as u32,
            count_words,
            choice: planes.choice as u32,
            last_tile: last.span.tiles.start as u32,
            is_whole: 1,
            unused: 0,
        };
        let arrays: Vec<_> = (1..self.stages.len() - 1).rev().collect();
        self.run_levels(gpu, planes, &arrays, true, chain)
    }

    /// Queues the way from symbols to the values of all corner arrays.
    pub(super) fn rebuild_planes_corners(&mut self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        if !self.has_whole_corners(planes) {
            self.run_last(gpu, false)?;
            return self.run_planes_corners(gpu, planes, false);
        }
        let last = self.stages[self.stages.len() - 1].values.address(gpu);
        let chain = CornerChain { last, is_whole: 1, ..bytemuck::Zeroable::zeroed() };
        let arrays: Vec<_> = (1..self.stages.len() - 1).rev().collect();
        self.run_levels(gpu, planes, &arrays, false, chain)
    }

    /// Runs the tile kernels of all corner arrays, whose last one is there.
    pub(super) fn run_planes_corners(&mut self, gpu: &Gpu, planes: &Planes, encode: bool) -> Result<()> {
        let alone = bytemuck::Zeroable::zeroed();
        let mut together = Vec::new();
        for k in (1..self.stages.len() - 1).rev() {
            let (listed, whole) = (planes.listed[k], self.has_whole(planes, k));
            if whole {
                if !self.follows(&together, k) {
                    self.run_levels(gpu, planes, &together, encode, alone)?;
                    together.clear();
                }
                together.push(k);
            }
            let any = if whole { listed.any } else { listed.any + listed.whole };
            if any > 0 {
                // the next array waits for all tiles of this one
                self.run_levels(gpu, planes, &together, encode, alone)?;
                together.clear();
                let work = self.stages[k].work(encode, self.stages[k].values.address(gpu));
                self.run_listed(gpu, &gpu.stream, k, &work, (listed.tiles, any), 0)?;
            }
        }
        self.run_levels(gpu, planes, &together, encode, alone)
    }

    /// Whether whole tiles of array `k` can go into the launch of those of others, which come before it.
    fn follows(&self, others: &[usize], k: usize) -> bool {
        others.last().is_none_or(|&last| last == k + 1) && others.len() < MOST_LEVELS
    }

    /// The whole tiles of corner arrays, one array after the other, in one launch.
    fn run_levels(&self, gpu: &Gpu, planes: &Planes, arrays: &[usize], encode: bool, chain: CornerChain) -> Result<()> {
        if arrays.is_empty() {
            return Ok(());
        }
        let mut levels: [CornerLevel; MOST_LEVELS] = bytemuck::Zeroable::zeroed();
        let mut weights: [AxisWeights<T>; MOST_LEVELS] = bytemuck::Zeroable::zeroed();
        let mut end = 0;
        for ((level, weights), &k) in levels.iter_mut().zip(&mut weights).zip(arrays) {
            let (stage, corners) = (&self.stages[k], &self.stages[k + 1]);
            if let Some(eights) = &stage.eights {
                *weights = eights.weights;
            }
            end += planes.listed[k].quad_count;
            *level = CornerLevel {
                values: if chain.frame == 0 { stage.source().address(gpu) } else { 0 },
                result: stage.values.address(gpu),
                corners: corners.values.address(gpu),
                list: planes.listed[k].quads,
                end,
                n: narrow(stage.n),
                corner_n: narrow(corners.n),
                stage: k as u32,
            };
        }
        let [turns, loaded, done, rebuilt] = planes.corner_counts(gpu);
        let arguments = CornerTilesArguments {
            quantizers: self.quantizers_at(gpu, LEVELS.len() - 1),
            turns,
            loaded,
            done,
            rebuilt,
            level_count: arrays.len() as u32,
            unused: 0,
            chain,
            planes: self.planes_arguments(gpu, planes),
            levels,
            weights,
        };
        let double = T::DTYPE == DType::F64;
        let name = match (encode, double) {
            (true, false) => "encode_corner_tiles_f32",
            (true, true) => "encode_corner_tiles_f64",
            (false, false) => "decode_corner_tiles_f32",
            (false, true) => "decode_corner_tiles_f64",
        };
        // launch bounds of the kernels
        let grid = end.min(gpu.multiprocessors * if double { 4 } else { 8 });
        // SAFETY: all buffers were reserved for the worklist and the extents of the arrays.
        unsafe { gpu.launch(name, grid, 32 * WARPS, 0, &arguments) }
    }

    /// Runs the tile kernels of the frame, as [`Pyramid::run_tiles`].
    pub(super) fn run_planes_tiles(&mut self, gpu: &Gpu, planes: &Planes, k: usize, work: &Work) -> Result<()> {
        let (listed, whole) = (planes.listed[k], self.has_whole(planes, k));
        let any = (listed.tiles, if whole { listed.any } else { listed.any + listed.whole });
        if !whole {
            return if any.1 > 0 { self.run_listed(gpu, &gpu.stream, k, work, any, 0) } else { Ok(()) };
        }
        if work.encode {
            return self.encode_frame(gpu, planes, work, any);
        }
        let beside = gpu.fork()?;
        let others = if any.1 > 0 { self.run_listed(gpu, &beside, k, work, any, 0) } else { Ok(()) };
        let slow = planes.slow.address(gpu) + 4 * self.stages[k].span.tiles.start as u64;
        let exact = self.run_listed(gpu, &beside, k, work, (slow, listed.whole), planes.slow_count(gpu));
        let eights = self.run_eights(gpu, planes, work);
        gpu.join(&beside)?;
        others.and(exact).and(eights)
    }

    /// The tiles of the frame, from values to bytes: `any`, a list, by way of their symbols, beside the whole ones.
    fn encode_frame(&mut self, gpu: &Gpu, planes: &Planes, work: &Work, any: (u64, u32)) -> Result<()> {
        let a = self.planes_arguments(gpu, planes);
        // the last array's tile is the last of the list, and done where one launch has taken all corner arrays
        let list_count = a.list_count - self.has_whole_corners(planes) as u32;
        let beside = gpu.fork()?;
        let listed = if any.1 > 0 { self.run_listed(gpu, &beside, 0, work, any, 0) } else { Ok(()) };
        let packed = match list_count {
            0 => Ok(()),
            _ => self.pack_others(gpu, &beside, &PlanesArguments { list_count, ..a }),
        };
        let whole = self.run_eights(gpu, planes, work);
        gpu.join(&beside)?;
        listed.and(packed).and(whole)?;
        self.assemble_planes(gpu, planes)
    }

    /// The whole tiles of the frame.
    fn run_eights(&self, gpu: &Gpu, planes: &Planes, work: &Work) -> Result<()> {
        let (stage, corners, listed) = (&self.stages[0], &self.stages[1], planes.listed[0]);
        let Some(eights) = &stage.eights else { return Ok(()) };
        let double = T::DTYPE == DType::F64;
        // launch bounds of the kernels
        let resident = gpu.multiprocessors * WHOLE_BLOCKS[double as usize];
        let entries = listed.quad_count.div_ceil(WARPS);
        let long_blocks = entries.saturating_sub(LAST_ROUNDS * resident) / ROUNDS;
        let arguments = WholeArguments {
            values: if work.encode { work.values.unwrap_or(stage.source().address(gpu)) } else { 0 },
            result: work.result,
            corners: corners.values.address(gpu),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers_at(gpu, 0),
            list: listed.quads,
            list_count: listed.quad_count,
            tier_count: self.tier_count,
            n: narrow(stage.n),
            corner_n: narrow(corners.n),
            blocks: stage.blocks(true),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            stage: 0,
            rounds: ROUNDS,
            long_blocks,
            weights: eights.weights,
            planes: self.planes_arguments(gpu, planes),
        };
        let name = match (work.encode, double) {
            (true, false) => "encode_whole_f32",
            (true, true) => "encode_whole_f64",
            (false, false) => "decode_whole_f32",
            (false, true) => "decode_whole_f64",
        };
        let ahead = SYMBOLS_BYTES + ENTRIES_BYTES + 32 * T::BYTES;
        let of_warp = ahead + if work.encode { 32 * STAGED_ROWS * T::BYTES } else { PLANES_BYTES };
        let grid = if work.encode { entries - long_blocks * (ROUNDS - 1) } else { entries.min(resident) };
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch(name, grid, 32 * WARPS, WARPS as usize * of_warp, &arguments) }
    }
}
