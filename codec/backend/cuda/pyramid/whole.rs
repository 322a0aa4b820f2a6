//! The kernels of whole tiles of a frame: their nodes of S(1), then those of step 0.

use super::super::gpu::Gpu;
use super::arguments::{CoarsePackArguments, TileArguments};
use super::groups::Groups;
use super::level::WholeTiles;
use super::lines::FineLayout;
use super::tiles::{Launch, kernel, kernels};
use super::{Pyramid, Work};
use crate::Result;
use crate::params::Order;
use crate::transform::pyramid::Real;
use crate::volume::DType;
use cudarc::driver::CudaStream;
use std::ops::Range;

/// Threads of a block for the nodes of S(1).
const COARSE_THREADS: u32 = 128;

/// Whole tiles of the frame that go through their kernels together, by their places in the list; parts are numbered from 0.
pub struct WholePart {
    pub number: u32,
    pub tiles: Range<u32>,
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
    /// Values from a row of rebuilt nodes of S(1) to the next; the kernels of bands read them by 16 bytes.
    fn coarse_row(&self, bytes: usize, banded: bool) -> usize {
        let nodes = self.side as usize / 2 + 1;
        if banded { (nodes * bytes).next_multiple_of(16) / bytes } else { nodes }
    }
    /// Bytes of the rebuilt nodes of S(1) of a tile.
    pub fn rebuilt_bytes(&self, bytes: usize, banded: bool) -> usize {
        (self.side as usize / 2 + 1).pow(2) * self.coarse_row(bytes, banded) * bytes
    }
    /// Shared memory of a block of the kernel of step 0.
    pub fn fine_bytes(&self, bytes: usize) -> usize {
        self.layout(bytes).shared_bytes(self.symbols - self.coarse_symbols)
    }
    pub fn layout(&self, bytes: usize) -> FineLayout {
        FineLayout::new(self.side as usize, bytes)
    }
}

impl<T: Real> Pyramid<T> {
    /// How the kernel of the nodes of S(1) of whole tiles is launched; the shared memory of a group of its threads.
    fn coarse_launch(&self, gpu: &Gpu, whole: &WholeTiles, encode: bool) -> (Launch, usize) {
        let bytes = whole.coarse_bytes(T::BYTES, self.tier_count > 1);
        let in_order = self.key.3 == Order::Axis;
        let kernels = match (whole.side, in_order) {
            (8, false) => kernels!("coarse_8"),
            (8, true) => kernels!("coarse_axis_8"),
            (16, false) => kernels!("coarse_16"),
            (16, true) => kernels!("coarse_axis_16"),
            (_, false) => kernels!("coarse_32"),
            (_, true) => kernels!("coarse_axis_32"),
        };
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
        let shared = groups as usize * bytes + 4 * (whole.side as usize / 2 + 1).pow(2);
        let name = kernel::<T>(kernels, encode);
        (Launch::new(gpu, name, [COARSE_THREADS, most], groups * tiles, shared), bytes)
    }

    /// All whole tiles, in two parts where the kernel of the nodes of S(1) also packs them and some of its blocks take one tile more than others: that last
    /// round takes as long as those before it, with few tiles, and the others need not wait for it.
    pub(super) fn whole_parts(&self, gpu: &Gpu, k: usize, work: &Work) -> (WholePart, Option<WholePart>) {
        let all = self.stages[k].tiles.whole;
        let split = match &self.stages[k].level.whole {
            Some(whole) if self.packed_with_coarse(work).is_some() => {
                let at_a_time = self.coarse_launch(gpu, whole, true).0.grid(gpu, u32::MAX);
                all - all % at_a_time
            }
            _ => 0,
        };
        if split == 0 || split == all {
            return (WholePart { number: 0, tiles: 0..all }, None);
        }
        (WholePart { number: 0, tiles: 0..split }, Some(WholePart { number: 1, tiles: split..all }))
    }

    /// Queues, on `stream`, the nodes of S(1) of a part of the whole tiles of the frame.
    pub(super) fn run_coarse(
        &self,
        (gpu, stream): (&Gpu, &CudaStream),
        k: usize,
        work: &Work,
        part: &WholePart,
    ) -> Result<()> {
        let Some(whole) = &self.stages[k].level.whole else { return Ok(()) };
        let (launch, bytes) = self.coarse_launch(gpu, whole, work.encode);
        let Some(groups) = self.packed_with_coarse(work) else {
            return self.run_whole(gpu, (k, work), whole, &launch, bytes);
        };
        let tiles = self.whole_arguments(gpu, (k, work), whole, bytes);
        let arguments = CoarsePackArguments {
            tiles: TileArguments {
                list: tiles.list + 4 * part.tiles.start as u64,
                list_count: part.tiles.len() as u32,
                coarse: tiles.coarse + self.coarse_bytes(part.tiles.start),
                ..tiles
            },
            groups: groups.arguments(gpu, &self.coding, T::BYTES),
            part: part.number,
            unused: 0,
        };
        let name = if T::DTYPE == DType::F32 { "pack_coarse_axis_32_f32" } else { "pack_coarse_axis_32_f64" };
        let grid = launch.grid(gpu, arguments.tiles.list_count);
        // SAFETY: as in `run_whole`, and `prepare` reserved everything for the streams.
        unsafe { gpu.launch_on(stream, name, grid, launch.threads, launch.shared, &arguments) }
    }

    /// Bytes of the rebuilt nodes of S(1) of so many whole tiles of the frame.
    pub(super) fn coarse_bytes(&self, tiles: u32) -> u64 {
        let of_tile = |whole: &WholeTiles| whole.rebuilt_bytes(T::BYTES, self.bands.is_some());
        tiles as u64 * self.stages[0].level.whole.as_ref().map_or(0, of_tile) as u64
    }

    /// Where the kernel of the nodes of S(1) also packs their streams, whose symbols are nowhere else then: in tiles of 32 whose bands are coded elsewhere.
    pub(super) fn packed_with_coarse(&self, work: &Work) -> Option<&Groups> {
        let side = self.stages[0].level.whole.as_ref().map_or(0, |whole| whole.side);
        self.groups
            .as_ref()
            .filter(|groups| work.encode && side == 32 && self.key.3 == Order::Axis && groups.has_banded())
    }

    /// All others of their nodes, once these are rebuilt.
    pub(super) fn run_finest(
        &self,
        (gpu, stream): (&Gpu, &CudaStream),
        k: usize,
        work: &Work,
        part: &WholePart,
    ) -> Result<()> {
        let Some(whole) = &self.stages[k].level.whole else { return Ok(()) };
        if let (Some(bands), Some(groups)) = (&self.bands, &self.groups) {
            return self.run_bands((gpu, stream), bands, groups, work, part);
        }
        let kernels = match whole.side {
            8 => kernels!("fine_8"),
            16 => kernels!("fine_16"),
            _ => kernels!("fine_32"),
        };
        let threads = match (whole.side, T::DTYPE) {
            (32, _) => [512, 1],
            (16, DType::F64) => [128, 4],
            (16, _) => [96, 8],
            (_, DType::F64) => [128, 4],
            _ => [128, 5],
        };
        let together = whole.layout(T::BYTES).together as u32;
        let name = kernel::<T>(kernels, work.encode);
        let launch = Launch::new(gpu, name, threads, together, whole.fine_bytes(T::BYTES));
        self.run_whole(gpu, (k, work), whole, &launch, 0)
    }

    /// A kernel over the whole tiles of stage `k`; `bytes`: of shared memory for a group of them.
    fn run_whole(
        &self,
        gpu: &Gpu,
        (k, work): (usize, &Work),
        whole: &WholeTiles,
        launch: &Launch,
        bytes: usize,
    ) -> Result<()> {
        let arguments = self.whole_arguments(gpu, (k, work), whole, bytes);
        let grid = launch.grid(gpu, self.stages[k].tiles.whole);
        // SAFETY: all buffers were reserved for this stage's worklist and extents.
        unsafe { gpu.launch(launch.name, grid, launch.threads, launch.shared, &arguments) }
    }

    fn whole_arguments(&self, gpu: &Gpu, (k, work): (usize, &Work), whole: &WholeTiles, bytes: usize) -> TileArguments {
        let [lines, columns] = self.lines.addresses(gpu);
        let tiles = &self.stages[k].tiles;
        TileArguments {
            list: tiles.whole_at(gpu),
            list_count: tiles.whole,
            lines,
            columns,
            coarse: self.coarse.address(gpu),
            tile_bytes: bytes as u32,
            whole_shape: whole.shape,
            coarse_shape: whole.coarse_shape,
            coarse_row: whole.coarse_row(T::BYTES, self.bands.is_some()) as u32,
            ..self.arguments(gpu, k, work)
        }
    }
}
