//! The kernels of the planes coder, and the order in which they are queued.

use super::super::gpu::Gpu;
use super::arguments::{CornerLevel, CornerTilesArguments, WholeArguments};
use super::planes::{Planes, RECORD_BYTES, TILE_WORDS, WARPS};
use super::{Pyramid, Work, narrow};
use crate::Result;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::quantizer::LEVELS;
use crate::volume::DType;

/// Bytes of a warp's shared memory: symbols of four tiles, two entries of the list; and, encoding, so many rows of values, decoding records and planes.
const SYMBOLS_BYTES: usize = 4 * 1040;
const ENTRIES_BYTES: usize = 2 * 16;
const STAGED_ROWS: usize = 48;
const PLANES_BYTES: usize = 8 * RECORD_BYTES + 16 * TILE_WORDS;
/// As in planes_place.cuh: threads of a block that places a piece of a chunk, and pieces of a chunk.
const PLACE_THREADS: u32 = 128;
const CHUNK_PIECES: u32 = 5;
/// As in planes_corners.cu: arrays of a launch at most.
const MOST_LEVELS: usize = 16;

impl<T: Real> Pyramid<T> {
    /// Whether whole tiles of array `k` are in the worklist and go through the kernels for them.
    fn has_whole(&self, planes: &Planes, k: usize) -> bool {
        planes.takes_whole(k, self.tier_count) && planes.listed[k].quad_count > 0
    }

    /// Queues everything from the planes of whole tiles and the symbols of the others to bytes, where the kernel of the frame's whole tiles has not done it.
    pub(super) fn pack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        if self.has_whole(planes, 0) {
            return Ok(());
        }
        self.pack_others(gpu, planes)?;
        self.assemble_planes(gpu, planes)
    }
    /// Queues the planes of all tiles that the kernels for whole ones do not take.
    fn pack_others(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        let a = planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES);
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe { gpu.launch("pack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, &a) }
    }
    /// Queues the copying of all parts to their places in the output, as far as it has room.
    pub(super) fn assemble_planes(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        let a = planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES);
        // SAFETY: as in `pack_others`.
        unsafe { gpu.launch("assemble_planes", a.chunk_count * CHUNK_PIECES, PLACE_THREADS, 0, &a) }
    }
    /// Queues the search for the planes of each tile, and the symbols of those that are not whole. Damage is noted in the chunks.
    pub(super) fn unpack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        planes.reset(gpu)?;
        let a = planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES);
        // SAFETY: as in `pack_others`; the kernels check every index that comes from the bytes.
        unsafe {
            gpu.launch("parse_planes", a.chunk_count, 512, 0, &a)?;
            gpu.launch("unpack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, &a)
        }
    }

    /// Runs the tile kernels of all corner arrays.
    pub(super) fn run_planes_corners(&mut self, gpu: &Gpu, planes: &Planes, encode: bool) -> Result<()> {
        let mut together = Vec::new();
        for k in (1..self.stages.len() - 1).rev() {
            let (listed, whole) = (planes.listed[k], self.has_whole(planes, k));
            if whole {
                if !self.follows(&together, k) {
                    self.run_levels(gpu, planes, &together, encode)?;
                    together.clear();
                }
                together.push(k);
            }
            let any = if whole { listed.any } else { listed.any + listed.whole };
            if any > 0 {
                // the next array waits for all tiles of this one
                self.run_levels(gpu, planes, &together, encode)?;
                together.clear();
                let work = self.stages[k].work(encode, self.stages[k].values.address(gpu));
                self.run_listed(gpu, &gpu.stream, k, &work, (listed.tiles, any), 0)?;
            }
        }
        self.run_levels(gpu, planes, &together, encode)
    }

    /// Whether whole tiles of array `k` can go into the launch of those of others, which come before it.
    fn follows(&self, others: &[usize], k: usize) -> bool {
        let weights = |k: usize| self.stages[k].eights.as_ref().map(|eights| bytemuck::bytes_of(&eights.weights));
        others.last().is_none_or(|&last| last == k + 1 && weights(last) == weights(k)) && others.len() < MOST_LEVELS
    }

    /// The whole tiles of corner arrays, one array after the other, in one launch.
    fn run_levels(&self, gpu: &Gpu, planes: &Planes, arrays: &[usize], encode: bool) -> Result<()> {
        let Some(eights) = arrays.first().and_then(|&k| self.stages[k].eights.as_ref()) else { return Ok(()) };
        let mut levels: [CornerLevel; MOST_LEVELS] = bytemuck::Zeroable::zeroed();
        let mut end = 0;
        for (level, &k) in levels.iter_mut().zip(arrays) {
            let (stage, corners) = (&self.stages[k], &self.stages[k + 1]);
            end += planes.listed[k].quad_count;
            *level = CornerLevel {
                values: stage.source().address(gpu),
                result: stage.values.address(gpu),
                corners: corners.values.address(gpu),
                list: planes.listed[k].quads,
                end,
                n: narrow(stage.n),
                corner_n: narrow(corners.n),
                stage: k as u32,
            };
        }
        let arguments = CornerTilesArguments {
            quantizers: self.quantizers_at(gpu, LEVELS.len() - 1),
            turns: planes.counts_at(gpu, 2),
            rebuilt: planes.counts_at(gpu, 3),
            level_count: arrays.len() as u32,
            unused: 0,
            weights: eights.weights,
            planes: planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES),
            levels,
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
            // whose planes the kernel for whole tiles finds at hand
            if any.1 > 0 {
                self.run_listed(gpu, &gpu.stream, k, work, any, 0)?;
            }
            self.pack_others(gpu, planes)?;
            return self.run_eights(gpu, planes, k, work);
        }
        let beside = gpu.fork()?;
        let others = if any.1 > 0 { self.run_listed(gpu, &beside, k, work, any, 0) } else { Ok(()) };
        let slow = planes.slow.address(gpu) + 4 * self.stages[k].span.tiles.start as u64;
        let slow_count = planes.counts_at(gpu, 0) + 4 * k as u64;
        let exact = self.run_listed(gpu, &beside, k, work, (slow, listed.whole), slow_count);
        let eights = self.run_eights(gpu, planes, k, work);
        gpu.join(&beside)?;
        others.and(exact).and(eights)
    }

    fn run_eights(&self, gpu: &Gpu, planes: &Planes, k: usize, work: &Work) -> Result<()> {
        let (stage, corners, listed) = (&self.stages[k], &self.stages[k + 1], planes.listed[k]);
        let Some(eights) = &stage.eights else { return Ok(()) };
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
            blocks: stage.blocks(k == 0),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            stage: k as u32,
            weights: eights.weights,
            planes: planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES),
            place: if work.encode { planes.place_arguments(gpu) } else { bytemuck::Zeroable::zeroed() },
        };
        let double = T::DTYPE == DType::F64;
        let name = match (work.encode, double) {
            (true, false) => "encode_whole_f32",
            (true, true) => "encode_whole_f64",
            (false, false) => "decode_whole_f32",
            (false, true) => "decode_whole_f64",
        };
        let ahead = SYMBOLS_BYTES + ENTRIES_BYTES + 32 * T::BYTES;
        let of_warp = ahead + if work.encode { 32 * STAGED_ROWS * T::BYTES } else { PLANES_BYTES };
        // launch bounds of the kernels
        let blocks = gpu.multiprocessors * if double { 2 } else { 4 };
        let grid = listed.quad_count.div_ceil(WARPS).min(blocks);
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch(name, grid, 32 * WARPS, WARPS as usize * of_warp, &arguments) }
    }
}
