//! The finest level and the global one behind it by one kernel, which the encoder takes where it can.

use super::super::gpu::Gpu;
use super::Hybrid;
use super::arguments::TwoLevelsArguments;
use super::levels::{BLOCK_WARPS, LocalWork};
use crate::volume::DType;
use crate::{Element, Result};

/// Nodes of a tile of hybrid_two_levels.cu, its blocks, and in shared memory the nodes that the finest level leaves and symbols of
/// a warp; for f32 also the frame's nodes, as in hybrid_tile.cuh.
const TILE: [usize; 3] = [16, 16, 32];
const TILE_BLOCKS: u32 = 16;
const TILE_KEPT: usize = 10 * 10 * 20;
const TILE_STAGED: usize = 4 * (387 + 12) + 4;
const TILE_NODES: usize = (16 * 16 + 2 * 6) * 32 + 6 * 6;

impl<T: Element> Hybrid<T> {
    /// Whether one kernel takes the finest level and the first of the coarse part.
    pub fn takes_two_levels(&self) -> bool {
        let whole = self.plan.n.iter().zip(TILE).all(|(n, tile)| n % tile == 0);
        self.samples() && self.plan.levels.len() > 2 && self.plan.rank() == 3 && whole
    }

    /// Queues the symbols of the finest level and of the one behind, which begin at `symbol`, and the search for what the decoder would miss.
    pub fn quantize_two_levels(&self, gpu: &Gpu, symbol: u64) -> Result<()> {
        let work = LocalWork { rebuilt: self.arrays[1].address(gpu), ..self.chunk_work() };
        let (finest, behind) = (self.local_arguments(gpu, 0, work), self.global_arguments(gpu, 1, symbol));
        let a = TwoLevelsArguments { finest, behind };
        let name = if T::DTYPE == DType::F32 { "hybrid_two_levels_f32" } else { "hybrid_two_levels_f64" };
        let tiles = work.cells as u32 * (work.cell_blocks / TILE_BLOCKS);
        let nodes = TILE_KEPT + if T::DTYPE == DType::F32 { TILE_NODES } else { 0 };
        let shared = nodes * T::BYTES + BLOCK_WARPS as usize * TILE_STAGED * 2;
        // A block a tile: with fixed shares of several the last ones end late.
        // SAFETY: all arrays were reserved for the extents of their levels, symbols for cells and level.
        unsafe { gpu.launch(name, tiles, 32 * BLOCK_WARPS, shared, &a)? };
        let work = LocalWork { only_redo: true, ..work };
        self.run_local(gpu, ["hybrid_quantize_f32", "hybrid_quantize_f64"], 0, work)
    }
}
