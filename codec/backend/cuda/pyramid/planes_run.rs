//! The kernels of the planes coder, and the order in which they are queued.

use super::super::gpu::Gpu;
use super::arguments::{
    AxisWeights, BorderArguments, CornerChain, CornerLevel, CornerTilesArguments, PlanesArguments, WholeArguments,
};
use super::class_arguments::Chunk;
use super::planes::{Planes, RECORD_BYTES, TILE_WORDS, WARPS};
use super::tiles::{kernel, kernels};
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
/// As in planes_assemble.cu: threads of a block.
const ASSEMBLE_THREADS: u32 = 512;
/// As in planes_corners.cu: arrays of a launch at most.
const MOST_LEVELS: usize = 8;
/// As in planes_border.cu: warps of a block.
const BORDER_WARPS: u32 = 2;

impl<T: Real> Pyramid<T> {
    /// Whether tiles of the frame are in the worklist and go straight between values and planes.
    fn has_frame(&self, planes: &Planes) -> bool {
        let frame = planes.listed[0];
        planes.takes(0, self.tier_count) && self.stages[0].plan.is_some() && frame.any + frame.whole > 0
    }

    fn planes_arguments(&self, gpu: &Gpu, planes: &Planes) -> PlanesArguments {
        planes.arguments(gpu, &self.coding, self.tier_count, T::BYTES)
    }

    /// Queues everything from the planes of whole tiles and the symbols of the others to bytes, where this is not done with the frame's tiles.
    pub(super) fn pack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        if self.has_frame(planes) {
            return Ok(());
        }
        self.pack_others(gpu, &gpu.stream, &self.planes_arguments(gpu, planes))?;
        self.assemble_planes(gpu, planes)
    }
    /// Queues the planes of tiles that come by way of their symbols.
    fn pack_others(&self, gpu: &Gpu, stream: &CudaStream, a: &PlanesArguments) -> Result<()> {
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe { gpu.launch_on(stream, "pack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, a) }
    }
    /// Queues the copying of all parts to their places in the output; nothing happens when it is too small.
    pub(super) fn assemble_planes(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        let a = self.planes_arguments(gpu, planes);
        // SAFETY: as in `pack_others`.
        unsafe { gpu.launch("assemble_planes", a.chunk_count, ASSEMBLE_THREADS, 0, &a) }
    }
    /// Queues the search for the planes of each tile, and the symbols of those that come by way of them. Damage is noted in the chunks.
    pub(super) fn unpack(&self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        planes.reset(gpu)?;
        let a = self.planes_arguments(gpu, planes);
        // SAFETY: as in `pack_others`; the kernels check every index that comes from the bytes.
        unsafe { gpu.launch("parse_planes", a.chunk_count, 512, 0, &a)? };
        // one launch for all corner arrays finds theirs itself, and the frame's can wait
        if self.has_one_launch(planes) { Ok(()) } else { self.unpack_others(gpu, &gpu.stream, &a) }
    }
    fn unpack_others(&self, gpu: &Gpu, stream: &CudaStream, a: &PlanesArguments) -> Result<()> {
        // SAFETY: as in `unpack`.
        unsafe { gpu.launch_on(stream, "unpack_planes", gpu.multiprocessors * 4, 32 * WARPS, 0, a) }
    }

    /// The corner arrays with tiles, the smallest first.
    fn corner_arrays(&self) -> Vec<usize> {
        (1..self.stages.len() - 1).rev().collect()
    }
    /// Whether one launch takes all corner arrays.
    fn has_one_launch(&self, planes: &Planes) -> bool {
        let arrays = self.corner_arrays();
        planes.takes(1, self.tier_count) && !arrays.is_empty() && arrays.len() <= MOST_LEVELS
    }

    /// Queues everything that comes before the frame's tiles when the whole pyramid is encoded, if one launch does it. Whether it does.
    pub(super) fn encode_whole_corners(&mut self, gpu: &Gpu, points: Points) -> Result<bool> {
        self.set_points(points);
        let Some(planes) = self.planes.take() else { return Ok(false) };
        let one_launch = self.has_one_launch(&planes);
        let done = if one_launch { self.encode_from_frame(gpu, &planes) } else { Ok(()) };
        self.planes = Some(planes);
        done.map(|()| one_launch)
    }

    /// The corner arrays and the last one, from the values of the frame.
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
        self.run_levels(gpu, planes, &self.corner_arrays(), true, chain)
    }

    /// Queues the way from symbols to the values of all corner arrays.
    pub(super) fn rebuild_planes_corners(&mut self, gpu: &Gpu, planes: &Planes) -> Result<()> {
        if !self.has_one_launch(planes) {
            self.run_last(gpu, false)?;
            return self.run_planes_corners(gpu, planes, false);
        }
        let last = self.stages[self.stages.len() - 1].values.address(gpu);
        let chain = CornerChain { last, is_whole: 1, ..bytemuck::Zeroable::zeroed() };
        self.run_levels(gpu, planes, &self.corner_arrays(), false, chain)
    }

    /// Runs the tile kernels of all corner arrays, whose last one is there.
    pub(super) fn run_planes_corners(&mut self, gpu: &Gpu, planes: &Planes, encode: bool) -> Result<()> {
        let arrays = self.corner_arrays();
        if planes.takes(1, self.tier_count) {
            let alone = bytemuck::Zeroable::zeroed();
            let mut launches = arrays.chunks(MOST_LEVELS);
            return launches.try_for_each(|some| self.run_levels(gpu, planes, some, encode, alone));
        }
        for k in arrays {
            let listed = planes.listed[k];
            let work = self.stages[k].work(encode, self.stages[k].values.address(gpu));
            self.run_listed(gpu, &gpu.stream, k, &work, (listed.tiles, listed.any + listed.whole), 0)?;
        }
        Ok(())
    }

    /// The tiles of corner arrays, one array after the other, in one launch.
    fn run_levels(&self, gpu: &Gpu, planes: &Planes, arrays: &[usize], encode: bool, chain: CornerChain) -> Result<()> {
        let mut levels: [CornerLevel; MOST_LEVELS] = bytemuck::Zeroable::zeroed();
        let mut weights: [AxisWeights<T>; MOST_LEVELS] = bytemuck::Zeroable::zeroed();
        let (mut end, mut has_borders) = (0, false);
        for ((level, weights), &k) in levels.iter_mut().zip(&mut weights).zip(arrays) {
            let (stage, corners) = (&self.stages[k], &self.stages[k + 1]);
            if let Some(eights) = &stage.eights {
                *weights = eights.weights;
            }
            let listed = planes.listed[k];
            end += listed.quad_count + listed.border_count;
            has_borders |= listed.border_count > 0;
            *level = CornerLevel {
                values: if chain.frame == 0 { stage.source().address(gpu) } else { 0 },
                result: stage.values.address(gpu),
                corners: corners.values.address(gpu),
                list: listed.quads,
                borders: listed.borders,
                end,
                border_count: listed.border_count,
                n: narrow(stage.n),
                corner_n: narrow(corners.n),
                stage: k as u32,
                unused: 0,
            };
        }
        let [turns, loaded, done, rebuilt] = planes.corner_counts(gpu);
        let arguments = CornerTilesArguments {
            quantizers: self.quantizers_at(gpu, LEVELS.len() - 1),
            turns,
            loaded,
            done,
            rebuilt,
            shapes: planes.border_shapes(gpu),
            level_count: arrays.len() as u32,
            unused: 0,
            chain,
            planes: self.planes_arguments(gpu, planes),
            levels,
            weights,
        };
        let kernels = if has_borders { kernels!("any_corners") } else { kernels!("corner_tiles") };
        // launch bounds of the kernels
        let blocks = match (T::DTYPE, has_borders) {
            (DType::F64, _) => 4,
            (_, true) => 6,
            (_, false) => 8,
        };
        let (name, grid) = (kernel::<T>(kernels, encode), end.min(gpu.multiprocessors * blocks));
        // SAFETY: all buffers were reserved for the worklist and the extents of the arrays.
        unsafe { gpu.launch(name, grid, 32 * WARPS, 0, &arguments) }
    }

    /// Runs the tile kernels of the frame, as [`Pyramid::run_tiles`].
    pub(super) fn run_planes_tiles(&mut self, gpu: &Gpu, planes: &Planes, k: usize, work: &Work) -> Result<()> {
        let listed = planes.listed[k];
        let all = listed.any + listed.whole;
        if !self.has_frame(planes) {
            return self.run_listed(gpu, &gpu.stream, k, work, (listed.tiles, all), 0);
        }
        if work.encode {
            return self.encode_frame(gpu, planes, work);
        }
        let beside = gpu.fork()?;
        let borders = self.run_borders(gpu, &beside, planes, work);
        let unpacked = if self.has_one_launch(planes) {
            let a = self.planes_arguments(gpu, planes);
            self.unpack_others(gpu, &beside, &PlanesArguments { list_count: 0, stage_count: 1, ..a })
        } else {
            Ok(())
        };
        let slow = planes.slow.address(gpu) + 4 * self.stages[k].span.tiles.start as u64;
        let exact = self.run_listed(gpu, &beside, k, work, (slow, all), planes.slow_count(gpu));
        let eights = self.run_eights(gpu, planes, work, false);
        gpu.join(&beside)?;
        borders.and(unpacked).and(exact).and(eights)
    }

    /// The tiles of the frame, from values to bytes.
    fn encode_frame(&mut self, gpu: &Gpu, planes: &Planes, work: &Work) -> Result<()> {
        let a = self.planes_arguments(gpu, planes);
        // the last array is done where one launch has taken all corner arrays
        let packs = a.list_count > 0 && !self.has_one_launch(planes);
        if !packs && planes.listed[0].border_count == 0 {
            // nothing stands between the kernels: each may start before the one before it is done
            self.run_eights(gpu, planes, work, true)?;
            // SAFETY: as in `pack_others`; the kernel waits before it reads anything.
            return unsafe { gpu.launch_early("assemble_planes", a.chunk_count, ASSEMBLE_THREADS, 0, &a) };
        }
        let beside = gpu.fork()?;
        let borders = self.run_borders(gpu, &beside, planes, work);
        let packed = if packs { self.pack_others(gpu, &beside, &a) } else { Ok(()) };
        let whole = self.run_eights(gpu, planes, work, false);
        gpu.join(&beside)?;
        borders.and(packed).and(whole)?;
        self.assemble_planes(gpu, planes)
    }

    /// The tiles at the border of the frame.
    fn run_borders(&self, gpu: &Gpu, stream: &CudaStream, planes: &Planes, work: &Work) -> Result<()> {
        let (stage, corners, listed) = (&self.stages[0], &self.stages[1], planes.listed[0]);
        let arguments = BorderArguments {
            values: if work.encode { work.values.unwrap_or(stage.source().address(gpu)) } else { 0 },
            result: work.result,
            corners: corners.values.address(gpu),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers_at(gpu, 0),
            list: listed.borders,
            shapes: planes.border_shapes(gpu),
            list_count: listed.border_count,
            tier_count: self.tier_count,
            n: narrow(stage.n),
            corner_n: narrow(corners.n),
            blocks: stage.blocks(true),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            unused: 0,
            planes: self.planes_arguments(gpu, planes),
        };
        let name = kernel::<T>(kernels!("border"), work.encode);
        let grid = listed.border_count.div_ceil(BORDER_WARPS);
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch_on(stream, name, grid, 32 * BORDER_WARPS, 0, &arguments) }
    }

    /// The whole tiles of the frame; encoding, `early`: perhaps before the kernel that is queued before is done.
    fn run_eights(&self, gpu: &Gpu, planes: &Planes, work: &Work, early: bool) -> Result<()> {
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
        let kernels = if !work.encode && straddle::<T>(work) { kernels!("together") } else { kernels!("whole") };
        let name = kernel::<T>(kernels, work.encode);
        let ahead = SYMBOLS_BYTES + ENTRIES_BYTES + 32 * T::BYTES;
        let of_warp = ahead + if work.encode { 32 * STAGED_ROWS * T::BYTES } else { PLANES_BYTES };
        let grid = if work.encode { entries - long_blocks * (ROUNDS - 1) } else { entries.min(resident) };
        let shared = WARPS as usize * of_warp;
        // SAFETY: all buffers were reserved for this stage's worklist and extents. Before the encoder waits it reads the frame and lists only, which no kernel
        // writes.
        unsafe {
            if early {
                gpu.launch_early(name, grid, 32 * WARPS, shared, &arguments)
            } else {
                gpu.launch(name, grid, 32 * WARPS, shared, &arguments)
            }
        }
    }
}

/// Whether rows of the result do not begin where sectors of memory do, but lie alike in all its planes.
fn straddle<T: Real>(work: &Work) -> bool {
    const SECTOR: usize = 32;
    let [rows, row] = [1, 2].map(|axis| work.hi[axis] - work.lo[axis]);
    row * T::BYTES % SECTOR != 0 && rows * row * T::BYTES % SECTOR == 0 && rows * row <= u32::MAX as usize
}
