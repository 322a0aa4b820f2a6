//! The levels: their kernels in the order of the encoder and of the decoder.

use super::super::gpu::Gpu;
use super::arguments::{
    AxisArguments, FoundList, GlobalArguments, HybridState, JoinArguments, LocalArguments, MissedArguments,
};
use super::{Hybrid, LIST, narrow};
use crate::volume::DType;
use crate::{Basis, Element, Entropy, Region, Result};
use cudarc::driver::CudaStream;

/// Warps of a block of threads of the local kernels, and values in shared memory of each: as in hybrid_block.cuh.
pub const BLOCK_WARPS: u32 = 4;
const BLOCK_VALUES: usize = 512 + 512 + 320 + 200;
/// Blocks of a warp of the finest level's own kernels, as in hybrid_finest.cu.
const GROUP: u32 = 4;
/// What a local kernel works on, besides what follows from its level.
#[derive(Clone, Copy, Default)]
pub struct LocalWork {
    pub first_cell: usize,
    pub cells: usize,
    pub cell_blocks: u32,
    pub only_redo: bool,
    pub rebuilt: u64,
    pub result: u64,
    pub stored_counts: u64,
    pub lo: [usize; 3],
    pub hi: [usize; 3],
}

impl<T: Element> Hybrid<T> {
    /// Memory of the arrays and symbols that an encoder or decoder of the coarse part needs.
    pub fn reserve_levels(&mut self, gpu: &Gpu, symbols: u64) -> Result<()> {
        for k in self.plan.chunked() as usize..self.arrays.len() {
            let bytes = self.len_of(k) * T::BYTES;
            self.arrays[k].reserve(gpu, bytes)?;
        }
        if self.entropy() == Entropy::Huffman {
            self.symbols[0].reserve(gpu, 2 * symbols as usize)?;
            self.symbols[1].reserve(gpu, 4 * symbols as usize)?;
        }
        if self.plan.chunked() {
            self.redo.reserve(gpu, 4 * self.layout.chunks * self.layout.chunk_blocks as usize)?;
        }
        if self.plan.basis == Basis::Projection {
            let first = (0..self.plan.levels.len()).find(|&k| !self.plan.levels[k].local);
            let bytes = first.map_or(0, |k| self.len_of(k) * T::BYTES);
            self.scratch[0].reserve(gpu, bytes)?;
            self.scratch[1].reserve(gpu, bytes)?;
        }
        for (i, list) in self.lists.iter_mut().enumerate() {
            list.reserve(gpu, LIST * if i % 2 == 0 { 8 } else { T::BYTES })?;
        }
        Ok(())
    }

    fn list(&self, gpu: &Gpu, which: usize) -> FoundList {
        let count = match which {
            0 => std::mem::offset_of!(HybridState, stored_count),
            _ => std::mem::offset_of!(HybridState, missed_count),
        };
        FoundList {
            keys: self.lists[2 * which].address(gpu),
            values: self.lists[2 * which + 1].address(gpu),
            count: self.state.address(gpu) + count as u64,
            capacity: LIST as u32,
            unused: 0,
        }
    }

    pub fn local_arguments(&self, gpu: &Gpu, k: usize, work: LocalWork) -> LocalArguments {
        let level = &self.plan.levels[k];
        let cell_bytes = size_of::<super::arguments::Cell>();
        let projection = if self.plan.basis == Basis::Projection { self.tables.address(gpu) } else { 0 };
        let [symbols, wide] = self.symbols(gpu);
        LocalArguments {
            fine: self.arrays[k].address(gpu),
            coarse: self.arrays[k + 1].address(gpu),
            rebuilt: work.rebuilt,
            result: work.result,
            symbols,
            wide,
            tiers: self.tiers[k].address(gpu),
            steps: self.steps_of(gpu, k),
            projection,
            cells: self.cells.address(gpu) + (work.first_cell * cell_bytes) as u64,
            state: self.state.address(gpu),
            redo: self.redo.address(gpu),
            stored_counts: work.stored_counts,
            stored: self.list(gpu, 0),
            missed: self.list(gpu, 1),
            cell_count: work.cells as u32,
            cell_blocks: work.cell_blocks,
            n: narrow(level.fine),
            blocks: narrow(level.blocks()),
            coarse_n: narrow(level.coarse),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            rank: self.plan.rank() as u32,
            only_redo: work.only_redo as u32,
            unused: 0,
        }
    }

    /// Launches a kernel over blocks of local level `k`.
    pub fn run_local(&self, gpu: &Gpu, [f32, f64]: [&'static str; 2], k: usize, work: LocalWork) -> Result<()> {
        let arguments = self.local_arguments(gpu, k, work);
        let name = if T::DTYPE == DType::F32 { f32 } else { f64 };
        let finest = f32.starts_with("hybrid_finest");
        // A warp takes a group of blocks, or a block that stands in shared memory.
        let (tasks, shared) = match finest {
            true => (work.cells as u32 * work.cell_blocks.div_ceil(GROUP), 0),
            false => (work.cells as u32 * work.cell_blocks, BLOCK_WARPS as usize * BLOCK_VALUES * T::BYTES),
        };
        let most = gpu.multiprocessors * if work.only_redo { 4 } else { 32 };
        let grid = tasks.div_ceil(BLOCK_WARPS).min(most);
        // SAFETY: all arrays were reserved for the extents of the level, symbols for the cells.
        unsafe { gpu.launch(name, grid, 32 * BLOCK_WARPS, shared, &arguments) }
    }

    /// All blocks of local level `k` of the coarse part.
    fn level_work(&self, k: usize) -> LocalWork {
        let level = &self.plan.levels[k];
        // The local levels stand before the global ones.
        let cell = k - self.first();
        let cell_blocks = level.blocks().iter().product::<usize>() as u32;
        LocalWork { first_cell: cell, cells: 1, cell_blocks, hi: level.fine, ..LocalWork::default() }
    }
    /// The first level of the coarse part.
    pub fn first(&self) -> usize {
        self.plan.chunked() as usize
    }
    /// Queues the coarse nodes of the finest level, which is local.
    pub fn coarsen(&self, gpu: &Gpu) -> Result<()> {
        if self.plan.basis == Basis::Projection {
            return self.run_local(gpu, ["hybrid_coarsen_f32", "hybrid_coarsen_f64"], 0, self.chunk_work());
        }
        let a = self.local_arguments(gpu, 0, self.chunk_work());
        // SAFETY: both arrays were reserved for the extents of the level.
        unsafe { self.launch(gpu, ["hybrid_sample_f32", "hybrid_sample_f64"], self.len_of(1), &a) }
    }
    /// Whether the finest level has kernels of its own.
    fn has_finest_kernels(&self) -> bool {
        self.plan.rank() == 3 && self.plan.basis == Basis::Hierarchical
    }
    /// Queues the symbols of the finest level, which is local, and the search for what the decoder would miss.
    pub fn quantize_finest(&self, gpu: &Gpu) -> Result<()> {
        let mut work = LocalWork { rebuilt: self.arrays[1].address(gpu), ..self.chunk_work() };
        if self.has_finest_kernels() {
            self.run_local(gpu, ["hybrid_finest_quantize_f32", "hybrid_finest_quantize_f64"], 0, work)?;
            work.only_redo = true;
        }
        self.run_local(gpu, ["hybrid_quantize_f32", "hybrid_quantize_f64"], 0, work)
    }
    /// Queues the values of a box from the symbols of the finest level, which is local.
    pub fn recompose_finest(&self, gpu: &Gpu, work: LocalWork) -> Result<()> {
        let names = match self.has_finest_kernels() {
            true => ["hybrid_finest_recompose_f32", "hybrid_finest_recompose_f64"],
            false => ["hybrid_recompose_f32", "hybrid_recompose_f64"],
        };
        self.run_local(gpu, names, 0, LocalWork { rebuilt: self.arrays[1].address(gpu), ..work })
    }
    /// All chunks.
    pub fn chunk_work(&self) -> LocalWork {
        let (cells, cell_blocks) = (self.layout.chunks, self.layout.chunk_blocks);
        let first_cell = self.layout.first_chunk;
        LocalWork { first_cell, cells, cell_blocks, hi: self.plan.n, ..LocalWork::default() }
    }

    pub fn global_arguments(&self, gpu: &Gpu, k: usize, symbol: u64) -> GlobalArguments {
        let coarse_n = self.plan.levels.get(k).map_or([0; 3], |l| l.coarse);
        let [symbols, wide] = self.symbols(gpu);
        GlobalArguments {
            fine: self.arrays[k].address(gpu),
            coarse: self.arrays.get(k + 1).map_or(0, |a| a.address(gpu)),
            result: self.arrays[k].address(gpu),
            details: if self.plan.basis == Basis::Projection { self.scratch[0].address(gpu) } else { 0 },
            symbols: symbols + 2 * symbol,
            wide: wide + 4 * symbol,
            step: self.steps_of(gpu, k),
            state: self.state.address(gpu),
            n: narrow(self.extents_of(k)),
            coarse_n: narrow(coarse_n),
            sampled_n: [0; 3],
            unused: 0,
        }
    }
    /// Whether the first level of the coarse part takes its values from the frame, which then needs no [`Hybrid::coarsen`].
    pub fn samples(&self) -> bool {
        let global = self.plan.levels.get(1).is_some_and(|level| !level.local);
        self.plan.chunked() && global && self.plan.basis == Basis::Hierarchical
    }

    /// Queues the levels of the coarse part and the coarsest array: values to symbols and, for the finest of them, what
    /// the decoder will have, in place; in a frame without chunked symbols beside it, in `result`.
    pub fn decompose(&self, gpu: &Gpu, symbols: &[u64]) -> Result<()> {
        let levels = self.plan.levels.len();
        let mut beside = None;
        // the finest of them may be taken together with the finest level of the frame
        let first = self.first() + self.takes_two_levels() as usize;
        for k in first..levels {
            if self.plan.levels[k].local {
                self.run_local(gpu, ["hybrid_decompose_f32", "hybrid_decompose_f64"], k, self.level_work(k))?;
                continue;
            }
            let mut a = self.global_arguments(gpu, k, symbols[k - self.first()]);
            let mut names = ["hybrid_global_decompose_f32", "hybrid_global_decompose_f64"];
            if k <= 2 && self.samples() {
                (a.fine, a.sampled_n) = (self.arrays[0].address(gpu), narrow(self.plan.n));
                names = match k {
                    1 => ["hybrid_sample_decompose_f32", "hybrid_sample_decompose_f64"],
                    _ => ["hybrid_sample_level_decompose_f32", "hybrid_sample_level_decompose_f64"],
                };
            }
            // The levels behind the first one need not wait for its symbols; their small kernels find room before its blocks.
            let on = if k == 1 && self.samples() && levels > 2 {
                a.coarse = 0;
                &*beside.insert(gpu.fork_behind()?)
            } else {
                &gpu.stream
            };
            // SAFETY: arrays and symbols were reserved for the extents of the level.
            unsafe { self.launch_on(gpu, on, names, self.len_of(k).div_ceil(2), &a)? };
            if self.plan.basis == Basis::Projection {
                let coarse = self.arrays[k + 1].address(gpu);
                let correction = self.correction(gpu, k)?;
                self.join(gpu, k, JoinArguments { coarse, correction, result: coarse, count: 0, subtract: 0 })?;
            }
        }
        let a = self.global_arguments(gpu, levels, symbols[levels - self.first()]);
        let names = ["hybrid_quantize_coarsest_f32", "hybrid_quantize_coarsest_f64"];
        // SAFETY: as above.
        unsafe { self.launch(gpu, names, self.len_of(levels), &a)? };
        let a = GlobalArguments { result: if levels == 0 { self.result.address(gpu) } else { a.result }, ..a };
        // SAFETY: as above.
        unsafe {
            self.launch(gpu, ["hybrid_round_coarsest_f32", "hybrid_round_coarsest_f64"], self.len_of(levels), &a)?
        };
        self.recompose_from(gpu, first, symbols, self.result.address(gpu), beside.as_deref())
    }

    /// Queues the way back, from the coarsest array to the array that the coarse part holds; `whole` takes the frame
    /// where that is the frame itself.
    pub fn recompose(&self, gpu: &Gpu, symbols: &[u64], whole: u64) -> Result<()> {
        self.recompose_from(gpu, self.first(), symbols, whole, None)
    }
    /// The same as far as level `first`. `beside`: where the symbols of level 1 come from, unless they are there.
    fn recompose_from(
        &self,
        gpu: &Gpu,
        first: usize,
        symbols: &[u64],
        whole: u64,
        beside: Option<&CudaStream>,
    ) -> Result<()> {
        for k in (first..self.plan.levels.len()).rev() {
            if let (1, Some(beside)) = (k, beside) {
                gpu.join(beside)?;
            }
            let result = if k == 0 { whole } else { self.arrays[k].address(gpu) };
            if self.plan.levels[k].local {
                let rebuilt = self.arrays[k + 1].address(gpu);
                let work = LocalWork { rebuilt, result, ..self.level_work(k) };
                self.run_local(gpu, ["hybrid_recompose_f32", "hybrid_recompose_f64"], k, work)?;
                continue;
            }
            let mut a = GlobalArguments { result, ..self.global_arguments(gpu, k, symbols[k - self.first()]) };
            let threads = self.len_of(k).div_ceil(2);
            if self.plan.basis == Basis::Projection {
                // SAFETY: as in `decompose`.
                unsafe { self.launch(gpu, ["hybrid_spread_details_f32", "hybrid_spread_details_f64"], threads, &a)? };
                let (coarse, correction) = (a.coarse, self.correction(gpu, k)?);
                // The coarse array itself may still be asked for.
                a.coarse = correction;
                self.join(gpu, k, JoinArguments { coarse, correction, result: correction, count: 0, subtract: 1 })?;
            }
            // SAFETY: as in `decompose`.
            unsafe { self.launch(gpu, ["hybrid_global_recompose_f32", "hybrid_global_recompose_f64"], threads, &a)? };
        }
        Ok(())
    }

    /// Queues the projection's correction of the coarse nodes of global level `k`, from details in scratch memory, and
    /// returns its address.
    fn correction(&self, gpu: &Gpu, k: usize) -> Result<u64> {
        let level = &self.plan.levels[k];
        let mut n = level.fine;
        let [mut from, mut to] = [0, 1].map(|i| self.scratch[i].address(gpu));
        for axis in (0..3).rev().filter(|&a| level.fine[a] > 1) {
            let (outer, inner) = (n[..axis].iter().product::<usize>(), n[axis + 1..].iter().product::<usize>());
            let rows = self.tables.address(gpu) + self.axis_rows[k][axis];
            let m = level.coarse[axis];
            let (outer, inner) = (outer as u32, inner as u32);
            let a = AxisArguments { from, to, rows, outer, n: n[axis] as u32, inner, m: m as u32 };
            let names = ["hybrid_project_axis_f32", "hybrid_project_axis_f64"];
            // SAFETY: both scratch arrays hold a whole level.
            unsafe { self.launch(gpu, names, (outer * inner) as usize, &a)? };
            n[axis] = m;
            (from, to) = (to, from);
        }
        Ok(from)
    }
    /// Queues the joining of coarse nodes of level `k` and their correction.
    fn join(&self, gpu: &Gpu, k: usize, a: JoinArguments) -> Result<()> {
        let count = self.len_of(k + 1);
        let a = JoinArguments { count: count as u32, ..a };
        // SAFETY: the coarse array and scratch memory hold that many values.
        unsafe { self.launch(gpu, ["hybrid_join_f32", "hybrid_join_f64"], count, &a) }
    }

    /// Queues the way from the symbols of the coarsest array to its values.
    pub fn dequantize_coarsest(&self, gpu: &Gpu, symbol: u64, result: u64) -> Result<()> {
        let levels = self.plan.levels.len();
        let a = GlobalArguments { result, ..self.global_arguments(gpu, levels, symbol) };
        let [nz, ny, nx] = self.plan.coarsest;
        let names = ["hybrid_dequantize_coarsest_f32", "hybrid_dequantize_coarsest_f64"];
        // SAFETY: symbols and array were reserved for the coarsest extents.
        unsafe {
            self.launch(gpu, ["hybrid_sum_rows"; 2], nz * ny * 32, &a)?;
            self.launch(gpu, ["hybrid_sum_columns"; 2], nz * nx, &a)?;
            self.launch(gpu, names, ny * nx, &a)
        }
    }

    /// Queues the search for nodes that `rebuilt` misses, where the chunks have no symbols.
    pub fn find_missed(&self, gpu: &Gpu, rebuilt: u64) -> Result<()> {
        let n = self.plan.n;
        let a = MissedArguments {
            fine: self.arrays[0].address(gpu),
            rebuilt,
            tiers: self.tiers[0].address(gpu),
            steps: self.steps_of(gpu, 0),
            missed: self.list(gpu, 1),
            n: narrow(n),
            blocks: narrow(n.map(|n| n.div_ceil(8))),
            side: narrow(self.grid.side()),
            chunks: narrow(self.grid.chunks()),
        };
        let names = ["hybrid_find_missed_f32", "hybrid_find_missed_f64"];
        // SAFETY: frame, reconstruction and tiers were reserved for the frame's extents.
        unsafe { self.launch(gpu, names, Region { lo: [0; 3], hi: n }.len(), &a) }
    }
}
