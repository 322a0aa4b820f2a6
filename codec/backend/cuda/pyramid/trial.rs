//! The choice of each chunk, by trials on a sample of its tiles.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Tile, TrialArguments};
use super::coder::Coder;
use super::level::{Level, Worklist};
use crate::Result;
use crate::params::Points;
use crate::transform::pyramid::choose::point_candidates;

/// Threads of a block.
const BLOCK: u32 = 256;

/// What a trial tries next, as `improve_choices` has it.
const SMOOTHEST: u32 = 3;
const FINE: u32 = 6;
const NOTHING: u32 = 7;

/// The sample of an array and the state of its trials.
#[derive(Default)]
pub struct Trials {
    tiles: Buffer,
    q: Buffer,
    delta: Buffer,
    cost: Buffer,
    best_cost: Buffer,
    candidate: Buffer,
    smoothest: Buffer,
    last_batch: Buffer,
    first_points: u32,
    tile_count: u32,
    chunk_count: u32,
}

impl Trials {
    /// Reserves memory for the sample (values of `bytes` bytes) and copies it; `last_batch` has an entry a chunk.
    pub fn prepare(&mut self, gpu: &Gpu, list: &Worklist, last_batch: &[[u32; 2]], bytes: usize) -> Result<()> {
        let (chunks, nodes) = (last_batch.len(), list.nodes as usize);
        (self.tile_count, self.chunk_count) = (list.tiles.len() as u32 - 1, chunks as u32);
        let tiles = self.tiles.reserve(gpu, list.tiles.len() * size_of::<Tile>())?;
        self.q.reserve(gpu, 2 * nodes)?;
        self.delta.reserve(gpu, bytes * nodes)?;
        self.cost.reserve(gpu, 8 * chunks)?;
        self.best_cost.reserve(gpu, 8 * chunks)?;
        self.candidate.reserve(gpu, chunks)?;
        self.smoothest.reserve(gpu, chunks)?;
        let last = self.last_batch.reserve(gpu, 8 * chunks)?;
        // SAFETY: just reserved for exactly these.
        unsafe {
            gpu.upload(tiles, &list.tiles)?;
            gpu.upload(last, last_batch)
        }
    }

    /// What to try, in turn, and that nothing comes after it.
    pub fn steps(&mut self, points: Points, is_frame: bool) -> Vec<u32> {
        let points = point_candidates(points).iter().map(|&p| p as u32);
        let steps: Vec<u32> = points.chain([SMOOTHEST]).chain(is_frame.then_some(FINE)).chain([NOTHING]).collect();
        self.first_points = steps[0];
        steps
    }

    pub fn sample(&self, gpu: &Gpu) -> Sample {
        Sample {
            tiles: self.tiles.address(gpu),
            q: self.q.address(gpu),
            delta: self.delta.address(gpu),
            candidate: self.candidate.address(gpu),
            tile_count: self.tile_count,
        }
    }

    /// Queues the costs of the trial that was run (none yet when `first`; after the first one the smoothest axes as well), keeps the better choices at device address
    /// `best` and names the candidates of the trial `next`.
    pub fn improve(
        &self,
        gpu: &Gpu,
        coder: &Coder,
        level: &Level,
        best: u64,
        bytes: usize,
        (next, number): (u32, usize),
    ) -> Result<()> {
        let (first, after_first) = (number == 0, number == 1);
        let a = TrialArguments {
            tables: coder.tables,
            tiles: self.tiles.address(gpu),
            units: level.units,
            unit_first: level.unit_first,
            q: self.q.address(gpu),
            delta: self.delta.address(gpu),
            cost: self.cost.address(gpu),
            best_cost: self.best_cost.address(gpu),
            candidate: self.candidate.address(gpu),
            best,
            smoothest: self.smoothest.address(gpu),
            last_batch: self.last_batch.address(gpu),
            lone_first: level.lone_first,
            lone: level.lone,
            tile_count: self.tile_count,
            chunk_count: self.chunk_count,
            bits: 8 * bytes as u32,
            next,
            first: first as u32,
            first_points: self.first_points,
        };
        let kernel = if bytes == 4 { "cost_trials_32" } else { "cost_trials_64" };
        let grid = if first { 0 } else { self.tile_count.div_ceil(BLOCK / 32).min(gpu.multiprocessors * 8) };
        // SAFETY: all buffers were reserved by `prepare` for this sample, an entry a chunk or a tile.
        unsafe {
            gpu.launch(kernel, grid, BLOCK, 0, &a)?;
            if after_first {
                gpu.launch("find_smoothest", self.chunk_count, BLOCK, 0, &a)?;
            }
            gpu.launch("improve_choices", self.chunk_count.div_ceil(BLOCK), BLOCK, 0, &a)
        }
    }
}

/// What the tile kernel needs for a trial.
pub struct Sample {
    pub tiles: u64,
    pub q: u64,
    pub delta: u64,
    pub candidate: u64,
    pub tile_count: u32,
}
