//! The tile kernels: which tiles of an array each of them takes, and how they are launched.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Tile, TileArguments};
use super::groups::{Assembling, Groups, Packing};
use super::level::{NO_TILE, TileSize, WholeTiles, Worklist};
use super::parts::{MIDDLE_NODES, SMALL_NODES, TINY_NODES, TilePart};
use super::tables::SLAB_PLANES;
use super::whole::WholePart;
use super::{Pyramid, Stage, Work, narrow};
use crate::Result;
use crate::params::Order;
use crate::transform::pyramid::Real;
use crate::volume::DType;
use cudarc::driver::CudaStream;
use std::cmp::Reverse;

/// The tiles of an array on the device, by number: those of any shape, then the whole ones.
#[derive(Default)]
pub struct TileList {
    memory: Buffer,
    any: Vec<TilePart>,
    pub whole: u32,
}

impl TileList {
    /// Sends the lists; `sizes`: of the tiles of the first.
    fn send(&mut self, gpu: &Gpu, (mut list, whole): (Vec<u32>, Vec<u32>), sizes: &[TileSize]) -> Result<()> {
        (self.any, self.whole) = (TilePart::of(sizes, gpu.multiprocessors), whole.len() as u32);
        list.extend(whole);
        let address = self.memory.reserve(gpu, size_of_val(&list[..]))?;
        // SAFETY: just reserved for exactly this list.
        unsafe { gpu.upload(address, &list) }
    }
    /// Whether there are no others than whole ones.
    pub fn all_whole(&self) -> bool {
        self.any.iter().all(|part| part.count == 0)
    }
    /// Device address of the list of whole tiles.
    pub fn whole_at(&self, gpu: &Gpu) -> u64 {
        self.memory.address(gpu) + 4 * self.any.iter().map(|part| part.count as u64).sum::<u64>()
    }
}

impl<T: Real> Stage<T> {
    /// Its tiles among those of all arrays: of any shape, and the whole ones, whose step 0 is `banded` or fits shared memory.
    fn sorted(&self, gpu: &Gpu, all: &[Tile], banded: bool) -> (Vec<u32>, Vec<u32>) {
        let (mut list, mut whole, mut chunk) = (Vec::new(), Vec::new(), 0);
        let fits = |w: &&WholeTiles| banded || w.fine_bytes(T::BYTES) <= gpu.shared_per_block;
        let known = self.level.whole.as_ref().filter(fits);
        let together = known.map_or(1, |w| w.layout(T::BYTES).together);
        for number in self.span.tiles.clone() {
            let tile = &all[number];
            if known.is_none_or(|w| w.shape != tile.shape) {
                list.push(number as u32);
                continue;
            }
            // those that a block takes belong to one chunk
            if tile.chunk != chunk {
                whole.resize(whole.len().next_multiple_of(together), NO_TILE);
                chunk = tile.chunk;
            }
            whole.push(number as u32);
        }
        whole.resize(whole.len().next_multiple_of(together), NO_TILE);
        // those that take longest begin first
        list.sort_by_key(|&number| Reverse(self.size(all, number).nodes));
        (list, whole)
    }
    fn size(&self, all: &[Tile], number: u32) -> TileSize {
        self.level.size(all[number as usize].shape)
    }
}

/// Threads and tiles of a block, blocks of a multiprocessor, and bytes of shared memory of a block.
pub(super) struct Launch {
    pub name: &'static str,
    pub threads: u32,
    tiles: u32,
    blocks: u32,
    pub shared: usize,
}

impl Launch {
    /// `most`: blocks of a multiprocessor by the launch bounds of the kernel. No more are started than run at a time, since each goes
    /// through its share of the tiles.
    pub fn new(gpu: &Gpu, name: &'static str, [threads, most]: [u32; 2], tiles: u32, shared: usize) -> Self {
        // each block also takes 1 KiB for the system
        let blocks = (gpu.shared_per_multiprocessor / (shared + 1024)).clamp(1, most as usize) as u32;
        Self { name, threads, tiles, blocks, shared }
    }
    pub fn grid(&self, gpu: &Gpu, count: u32) -> u32 {
        count.div_ceil(self.tiles).min(gpu.multiprocessors * self.blocks)
    }
}

/// The kernels of one kind: decoding and encoding, f32 and f64.
macro_rules! kernels {
    ($kind:literal) => {
        [
            [concat!("decode_", $kind, "_f32"), concat!("decode_", $kind, "_f64")],
            [concat!("encode_", $kind, "_f32"), concat!("encode_", $kind, "_f64")],
        ]
    };
}
pub(super) use kernels;
pub(super) type Kernels = [[&'static str; 2]; 2];

pub(super) fn kernel<T: Real>(kernels: Kernels, encode: bool) -> &'static str {
    kernels[encode as usize][(T::DTYPE == DType::F64) as usize]
}

impl<T: Real> Pyramid<T> {
    /// Sends the lists of the tiles of all arrays of the worklist, and reserves memory for what the kernels hand to each other. Returns the whole tiles
    /// of the frame.
    pub(super) fn sort_tiles(&mut self, gpu: &Gpu, list: &Worklist) -> Result<Vec<u32>> {
        let mut of_frame = Vec::new();
        for (k, stage) in self.stages.iter_mut().enumerate().filter(|(_, s)| s.plan.is_some()) {
            let sorted = stage.sorted(gpu, &list.tiles, self.bands.is_some());
            if k == 0 {
                of_frame.clone_from(&sorted.1);
            }
            let sizes: Vec<_> = sorted.0.iter().map(|&number| stage.size(&list.tiles, number)).collect();
            stage.tiles.send(gpu, sorted, &sizes)?;
            let bytes = stage.level.whole.as_ref().map_or(0, |w| w.rebuilt_bytes(T::BYTES, self.bands.is_some()));
            self.coarse.reserve(gpu, bytes * stage.tiles.whole as usize)?;
        }
        Ok(of_frame)
    }

    /// Runs the tile kernels of stage `k`, which read the reconstruction of stage `k + 1`, over its tiles in the worklist.
    pub(super) fn run_tiles(&mut self, gpu: &Gpu, k: usize, work: &Work) -> Result<()> {
        if let Some(planes) = self.planes.take() {
            let done = self.run_planes_tiles(gpu, &planes, k, work);
            self.planes = Some(planes);
            return done;
        }
        let any = self.stages[k].tiles.any.clone();
        let run_any = |pyramid: &mut Self, stream: &CudaStream| {
            let list = pyramid.stages[k].tiles.memory.address(gpu);
            // the small ones leave room for others
            any.iter()
                .rev()
                .try_for_each(|&part| pyramid.run_any(gpu, stream, k, work, (list + 4 * part.first as u64, part), 0))
        };
        if self.stages[k].tiles.whole == 0 {
            return run_any(self, &gpu.stream);
        }
        let (first, rest) = self.whole_parts(gpu, k, work);
        let beside = gpu.fork()?;
        let behind = rest.map(|part| gpu.fork_behind().map(|stream| (stream, part))).transpose()?;
        let mut others = Ok(());
        if work.encode {
            // Queued first: few blocks, which the whole tiles' many leave room; behind those of the bands, which hold all registers, they and the packing
            // of what they make would come last.
            others = run_any(self, &beside);
        }
        if let Some(groups) = self.packs_beside(work) {
            others = others.and_then(|()| self.pack_groups(gpu, &beside, groups, Packing::Listed));
        }
        let mut coarse = self.run_coarse((gpu, &gpu.stream), k, work, &first);
        if let Some((stream, part)) = &behind {
            coarse = coarse.and_then(|()| self.run_coarse((gpu, stream), k, work, part));
        }
        if !work.encode {
            // those left out are known since the streams were found
            others = run_any(self, &beside).and_then(|()| self.run_left_out(gpu, &beside, k, work));
        }
        let finest = match self.packs_beside(work) {
            Some(groups) => self.pack_beside_bands(gpu, k, work, groups, &first),
            None => self.run_finest((gpu, &gpu.stream), k, work, &first),
        };
        let behind_bands =
            behind.as_ref().map_or(Ok(()), |(stream, part)| self.run_finest((gpu, stream), k, work, part));
        gpu.join(&beside)?;
        let mut early = Ok(());
        if let (Some((stream, part)), Some(groups)) = (&behind, &self.groups) {
            // the blocks of the last tiles end one by one
            let chunks = self.chunks_before(Some(part));
            early = self.assemble_groups(gpu, &gpu.stream, groups, chunks, Assembling::AtOnce);
            gpu.join(stream)?;
        }
        [coarse, others, finest, behind_bands, early].into_iter().collect()
    }

    /// The streams of which some are packed beside the bands.
    fn packs_beside(&self, work: &Work) -> Option<&Groups> {
        self.groups.as_ref().filter(|groups| work.encode && groups.has_banded())
    }

    /// The bands of whole tiles. The streams 0 of whole ones, where these are not packed yet, are packed where they leave room.
    fn pack_beside_bands(&self, gpu: &Gpu, k: usize, work: &Work, groups: &Groups, part: &WholePart) -> Result<()> {
        let finest = || self.run_finest((gpu, &gpu.stream), k, work, part);
        if self.packed_with_coarse(work).is_some() {
            return finest();
        }
        let behind = gpu.fork_behind()?;
        let bands = finest();
        let banded = self.pack_groups(gpu, &behind, groups, Packing::Banded);
        gpu.join(&behind)?;
        bands.and(banded)
    }

    /// The tiles of a list: of `count`, or of as many as stand at device address `device_count`, if not 0, and at most `count`.
    pub(super) fn run_listed(
        &mut self,
        gpu: &Gpu,
        stream: &CudaStream,
        k: usize,
        work: &Work,
        (list, count): (u64, u32),
        device_count: u64,
    ) -> Result<()> {
        let part =
            TilePart { first: 0, count, largest: self.stages[k].level.largest(), few: count < gpu.multiprocessors };
        self.run_any(gpu, stream, k, work, (list, part), device_count)
    }

    /// The same for a part of a list, on a stream.
    fn run_any(
        &mut self,
        gpu: &Gpu,
        stream: &CudaStream,
        k: usize,
        work: &Work,
        (list, TilePart { count, largest, few, .. }): (u64, TilePart),
        device_count: u64,
    ) -> Result<()> {
        let double = T::DTYPE == DType::F64;
        // corner arrays of the other coders choose parity order
        let ordered = self.key.3 == Order::Axis && (k == 0 || self.key.2 == crate::Coder::Planes);
        // where they leave most multiprocessors idle, several of these share a tile
        let cut = largest.planes.div_ceil(SLAB_PLANES) as u32;
        let alone = few && device_count == 0 && largest.nodes > SMALL_NODES && count * cut <= gpu.multiprocessors;
        let slabs = if alone && !ordered { cut } else { 1 };
        // where others are encoded beside them, these leave them room: they wait more than they compute
        let beside = work.encode && self.stages[k].tiles.whole > 0 && device_count == 0;
        // few tiles take as long as one, which many threads shorten; the last two numbers: groups of threads of a block, and tiles that one takes together
        let (kernels, threads, groups, together) = match (largest.nodes, ordered) {
            (0..=TINY_NODES, true) if !few => (kernels!("ordered_small"), [128, if double { 5 } else { 8 }], 4, 2),
            (0..=MIDDLE_NODES, true) => (kernels!("ordered_middle"), [256, if double { 2 } else { 4 }], 1, 1),
            (_, true) => (kernels!("ordered_large"), [512, if double || beside { 1 } else { 2 }], 1, 1),
            (0..=SMALL_NODES, _) if !few => (kernels!("tiles_small"), [128, if double { 5 } else { 8 }], 4, 1),
            (0..=MIDDLE_NODES, _) if !few => (kernels!("tiles_middle"), [64, if double { 5 } else { 8 }], 1, 1),
            _ => (kernels!("tiles_large"), [if double { 512 } else { 1024 }, 1], 1, 1),
        };
        let tiers = self.tier_count > 1;
        let (spilled, bytes) = match ordered {
            true => (kernels!("ordered_spilled"), largest.ordered_bytes(T::BYTES, tiers, together)),
            false => (kernels!("tiles_spilled"), largest.bytes(T::BYTES, tiers)),
        };
        let name = |kernels| kernel::<T>(kernels, work.encode);
        let launch = match bytes * groups {
            shared if shared <= gpu.shared_per_block => {
                Launch::new(gpu, name(kernels), threads, (groups * together) as u32, shared)
            }
            _ => Launch { name: name(spilled), threads: 512, tiles: 1, blocks: 1, shared: 0 },
        };
        let grid = match device_count {
            0 => launch.grid(gpu, count * slabs),
            // mostly none: few blocks that end at once
            _ => launch.grid(gpu, count).min(4 * gpu.multiprocessors),
        };
        let spill = if launch.shared > 0 { 0 } else { self.spill.reserve(gpu, bytes * grid as usize)? };
        let arguments = TileArguments {
            list,
            list_count: count,
            device_count,
            spill,
            tile_bytes: bytes as u32,
            slabs,
            ..self.arguments(gpu, k, work)
        };
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch_on(stream, launch.name, grid, launch.threads, launch.shared, &arguments) }
    }

    /// Whole tiles whose bands were left out, as tiles of any shape.
    pub(super) fn run_left_out(&mut self, gpu: &Gpu, stream: &CudaStream, k: usize, work: &Work) -> Result<()> {
        let (Some(_), Some(groups)) = (&self.bands, &self.groups) else { return Ok(()) };
        let (list, count) = groups.left_out(gpu);
        self.run_listed(gpu, stream, k, work, (list, self.stages[k].tiles.whole), count)
    }

    pub(super) fn arguments(&self, gpu: &Gpu, k: usize, work: &Work) -> TileArguments {
        let (stage, corners) = (&self.stages[k], &self.stages[k + 1]);
        let (shapes, coding) = (&self.shapes, &self.coding);
        TileArguments {
            values: if work.encode { work.values.unwrap_or(stage.source().address(gpu)) } else { 0 },
            result: work.result,
            corners: corners.values.address(gpu),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers.address(gpu),
            tiles: coding.tiles(gpu),
            list: 0,
            coarse: 0,
            shapes: shapes.shapes,
            steps: shapes.steps,
            nodes: shapes.nodes,
            stencils: shapes.stencils,
            coded_at: shapes.coded_at,
            offsets: shapes.offsets,
            lines: 0,
            columns: 0,
            choices: coding.choices(gpu),
            q: coding.q(gpu),
            delta: coding.delta(gpu),
            spill: 0,
            device_count: 0,
            n: narrow(stage.n),
            corner_n: narrow(corners.n),
            blocks: stage.blocks(k == 0),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            shift: if k == 0 { 3 } else { 0 },
            side: stage.side(),
            list_count: 0,
            tier_count: self.tier_count,
            tile_bytes: 0,
            is_corners: (k > 0) as u32,
            whole_shape: 0,
            coarse_shape: 0,
            slabs: 1,
            coarse_row: 0,
        }
    }
}
