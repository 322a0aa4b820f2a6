//! The tile kernels: which tiles of an array each of them takes, and how they are launched.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Tile, TileArguments};
use super::level::{WholeTiles, Worklist};
use super::lines::FineLayout;
use super::{Pyramid, Stage, Work, narrow};
use crate::Result;
use crate::params::Order;
use crate::transform::pyramid::Real;
use crate::volume::DType;

/// In a list, where there are not enough tiles: `NO_TILE` in pyramid.cuh.
pub const NO_TILE: u32 = u32::MAX;

/// The tiles of an array on the device, by number: those of any shape, then the whole ones.
#[derive(Default)]
pub struct TileList {
    memory: Buffer,
    any: u32,
    whole: u32,
}

impl TileList {
    /// Sends the lists.
    fn send(&mut self, gpu: &Gpu, (mut list, whole): (Vec<u32>, Vec<u32>)) -> Result<()> {
        (self.any, self.whole) = (list.len() as u32, whole.len() as u32);
        list.extend(whole);
        let address = self.memory.reserve(gpu, size_of_val(&list[..]))?;
        // SAFETY: just reserved for exactly this list.
        unsafe { gpu.upload(address, &list) }
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
        (list, whole)
    }
}

/// Threads of a block for the nodes of S(1).
const COARSE_THREADS: u32 = 128;

/// Threads and tiles of a block, blocks of a multiprocessor, and bytes of shared memory of a block.
struct Launch {
    name: &'static str,
    threads: u32,
    tiles: u32,
    blocks: u32,
    shared: usize,
}

impl Launch {
    /// `most`: blocks of a multiprocessor by the launch bounds of the kernel. No more are started than run at a time, since each goes
    /// through its share of the tiles.
    fn new(gpu: &Gpu, name: &'static str, [threads, most]: [u32; 2], tiles: u32, shared: usize) -> Self {
        // each block also takes 1 KiB for the system
        let blocks = (gpu.shared_per_multiprocessor / (shared + 1024)).clamp(1, most as usize) as u32;
        Self { name, threads, tiles, blocks, shared }
    }
    fn grid(&self, gpu: &Gpu, count: u32) -> u32 {
        count.div_ceil(self.tiles).min(gpu.multiprocessors * self.blocks)
    }
}

impl WholeTiles {
    fn tiers(&self, many: bool) -> usize {
        if many { (self.side as usize / 8).pow(3) } else { 0 }
    }
    /// The threads that stay together for the nodes of S(1), and the tiles they take: as in whole_8.cu and so on.
    fn coarse_group(&self) -> (u32, u32) {
        match self.side {
            8 => (32, 8),
            16 => (32, 2),
            _ => (COARSE_THREADS, 1),
        }
    }
    /// Shared memory of the nodes of S(1) of the tiles of a group; `many`: there is more than one tier.
    fn coarse_bytes(&self, bytes: usize, many: bool) -> usize {
        let tiles = self.coarse_group().1 as usize;
        let values = (tiles * self.coarse_nodes).next_multiple_of(8) * bytes;
        (values + tiles * (2 * self.coarse_symbols + self.tiers(many))).next_multiple_of(16)
    }
    /// Shared memory of a block of the kernel of step 0.
    fn fine_bytes(&self, bytes: usize) -> usize {
        self.layout(bytes).shared_bytes(self.symbols - self.coarse_symbols)
    }
    fn layout(&self, bytes: usize) -> FineLayout {
        FineLayout::new(self.side as usize, bytes)
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
type Kernels = [[&'static str; 2]; 2];

fn kernel<T: Real>(kernels: Kernels, encode: bool) -> &'static str {
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
            stage.tiles.send(gpu, sorted)?;
            let whole = stage.level.whole.as_ref().map_or(0, |w| w.coarse_nodes * stage.tiles.whole as usize);
            self.coarse.reserve(gpu, whole * T::BYTES)?;
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
        let tiles = &self.stages[k].tiles;
        if tiles.any > 0 {
            self.run_any(gpu, k, work, (tiles.memory.address(gpu), tiles.any), 0)?;
        }
        if self.stages[k].tiles.whole > 0 { self.run_whole(gpu, k, work) } else { Ok(()) }
    }

    /// The tiles of a list: of `count`, or of as many as stand at device address `device_count`, if not 0, and at most `count`.
    pub(super) fn run_any(
        &mut self,
        gpu: &Gpu,
        k: usize,
        work: &Work,
        (list, count): (u64, u32),
        device_count: u64,
    ) -> Result<()> {
        let level = &self.stages[k].level;
        let bytes = level.tile_bytes(T::BYTES, self.tier_count > 1);
        let double = T::DTYPE == DType::F64;
        let most = if double { 5 } else { 8 };
        // few tiles take as long as one, which many threads shorten
        let few = count < gpu.multiprocessors;
        let (kernels, threads, tiles) = match level.tile_nodes {
            0..=1024 if !few => (kernels!("tiles_small"), [128, most], 4),
            1025..=8192 if !few => (kernels!("tiles_middle"), [64, most], 1),
            _ => (kernels!("tiles_large"), [512, 1], 1),
        };
        let name = |kernels| kernel::<T>(kernels, work.encode);
        let launch = match bytes * tiles as usize {
            shared if shared <= gpu.shared_per_block => Launch::new(gpu, name(kernels), threads, tiles, shared),
            _ => Launch { name: name(kernels!("tiles_spilled")), threads: 512, tiles: 1, blocks: 1, shared: 0 },
        };
        let grid = match device_count {
            0 => launch.grid(gpu, count),
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
            ..self.arguments(gpu, k, work)
        };
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch(launch.name, grid, launch.threads, launch.shared, &arguments) }
    }

    /// Whole tiles of the frame: first their nodes of S(1), then all others.
    fn run_whole(&mut self, gpu: &Gpu, k: usize, work: &Work) -> Result<()> {
        let stage = &self.stages[k];
        let Some(whole) = stage.level.whole.clone() else { return Ok(()) };
        let count = stage.tiles.whole;
        let many = self.tier_count > 1;
        let coarse_bytes = whole.coarse_bytes(T::BYTES, many);
        let list = self.stages[k].tiles.memory.address(gpu) + 4 * self.stages[k].tiles.any as u64;
        let [lines, columns] = self.lines.addresses(gpu);
        let arguments = TileArguments {
            list,
            list_count: count,
            lines,
            columns,
            coarse: self.coarse.address(gpu),
            tile_bytes: coarse_bytes as u32,
            whole_shape: whole.shape,
            coarse_shape: whole.coarse_shape,
            ..self.arguments(gpu, k, work)
        };
        let in_order = self.key.3 == Order::Axis;
        let (first, second) = match (whole.side, in_order) {
            (8, false) => (kernels!("coarse_8"), kernels!("fine_8")),
            (8, true) => (kernels!("coarse_axis_8"), kernels!("fine_8")),
            (16, false) => (kernels!("coarse_16"), kernels!("fine_16")),
            (16, true) => (kernels!("coarse_axis_16"), kernels!("fine_16")),
            (_, false) => (kernels!("coarse_32"), kernels!("fine_32")),
            (_, true) => (kernels!("coarse_axis_32"), kernels!("fine_32")),
        };
        let [first, second] = [first, second].map(|kernels| kernel::<T>(kernels, work.encode));
        let most = match (whole.side, T::DTYPE, in_order) {
            (32, _, false) => 5,
            (32, DType::F32, true) => 7,
            (8, DType::F32, _) | (16, DType::F32, true) => 8,
            (16, DType::F32, false) => 6,
            (16, _, false) => 3,
            _ => 4,
        };
        let (threads, tiles) = whole.coarse_group();
        let groups = COARSE_THREADS / threads;
        let shared = groups as usize * coarse_bytes + 4 * (whole.side as usize / 2 + 1).pow(2);
        let first = Launch::new(gpu, first, [COARSE_THREADS, most], groups * tiles, shared);
        let threads = match (whole.side, T::DTYPE) {
            (32, _) => [512, 1],
            (16, DType::F64) => [128, 4],
            (16, _) => [96, 8],
            (_, DType::F64) => [128, 4],
            _ => [128, 5],
        };
        let together = whole.layout(T::BYTES).together as u32;
        let second = Launch::new(gpu, second, threads, together, whole.fine_bytes(T::BYTES));
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        let run = |launch: Launch| unsafe {
            gpu.launch(launch.name, launch.grid(gpu, count), launch.threads, launch.shared, &arguments)
        };
        run(first)?;
        match (self.bands.take(), self.groups.take()) {
            (Some(bands), Some(groups)) => {
                let done = self.run_bands(gpu, &bands, &groups, work);
                (self.bands, self.groups) = (Some(bands), Some(groups));
                done
            }
            (_, groups) => {
                self.groups = groups;
                run(second)
            }
        }
    }

    fn arguments(&self, gpu: &Gpu, k: usize, work: &Work) -> TileArguments {
        let (stage, corners) = (&self.stages[k], &self.stages[k + 1]);
        let (shapes, coding) = (&self.shapes, &self.coding);
        TileArguments {
            values: if work.encode { work.values.unwrap_or(stage.values.address(gpu)) } else { 0 },
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
        }
    }
}
