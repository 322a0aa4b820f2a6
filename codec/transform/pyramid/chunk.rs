//! One chunk of an array: its tiles grouped by shape, W at a time, between C order and symbols.

use super::choice::{Choice, Levels};
use super::lanes::{Lanes, Real, W};
use super::plan::{ArrayPlan, ChunkPlan, TilePlan, TileSpot};
use super::predict::Group;
use super::quantizer::QuantizerLanes;
use super::tiers::Tiers;
use super::transpose::{gather_delta, gather_q, load, scatter_delta, scatter_q, store};
use crate::Region;
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols};
use std::sync::Mutex;

/// A dense box of values, C order.
#[derive(Clone, Copy)]
pub struct Dense<'a, T> {
    pub values: &'a [T],
    pub n: [usize; 3],
}

impl<T: Copy> Dense<'_, T> {
    fn at(&self, [z, y, x]: [usize; 3]) -> T {
        self.values[(z * self.n[1] + y) * self.n[2] + x]
    }
}

/// Buffers that a thread keeps between chunks.
#[derive(Default)]
pub struct Scratch<T> {
    v: Vec<Lanes<T, W>>,
    q: Vec<[i16; W]>,
    delta: Vec<[u64; W]>,
    quantizers: Vec<QuantizerLanes<T, W>>,
}

/// All that a thread needs for one chunk after another.
#[derive(Default)]
pub struct Workspace<T> {
    /// A chunk's values.
    pub values: Vec<T>,
    pub symbols: ChunkSymbols,
    pub scratch: Scratch<T>,
}

/// Workspaces that nobody uses at the moment. Memory is touched for the first time once a thread, not once a chunk.
#[derive(Default)]
pub struct Pool<T>(Mutex<Vec<Workspace<T>>>);

impl<T> Pool<T> {
    /// Runs `work` with a workspace of its own.
    pub fn with<R>(&self, work: impl FnOnce(&mut Workspace<T>) -> R) -> R
    where
        Workspace<T>: Default,
    {
        let kept = self.0.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut workspace = kept.unwrap_or_default();
        let result = work(&mut workspace);
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(workspace);
        result
    }
}

/// A chunk of an array and all that its coding depends on besides its own values or symbols.
pub struct Chunk<'a, T> {
    pub plan: &'a ArrayPlan<T>,
    /// The nodes of the chunk.
    pub region: Region,
    pub tiers: Tiers<'a, T>,
    /// The reconstructed corner array of the whole array.
    pub corners: Dense<'a, T>,
}

/// Up to W tiles of the same shape, as indices into the spots of their chunk.
pub struct Batch<'a, T> {
    pub tile: &'a TilePlan<T>,
    pub members: Vec<usize>,
}

impl<T> Batch<'_, T> {
    /// One entry a lane; lanes without a tile of their own repeat the first.
    fn lanes<B>(&self, of: impl Fn(usize) -> B) -> [B; W] {
        std::array::from_fn(|l| of(*self.members.get(l).unwrap_or(&self.members[0])))
    }
}

impl<'a, T: Real> Chunk<'a, T> {
    pub fn shape(&self) -> &'a ChunkPlan {
        self.plan.chunk(&self.region)
    }

    /// How the symbols of the chunk lie.
    pub fn layout(&self, choice: Choice) -> &'a ChunkLayout {
        self.shape().symbols(self.plan.walk(choice))
    }

    /// Quantizes the values of the workspace (the chunk in C order) into its symbols. With `keep` the values become the
    /// reconstruction.
    pub fn encode(&self, choice: Choice, keep: bool, workspace: &mut Workspace<T>) {
        let (shape, layout) = (self.shape(), self.layout(choice));
        let Workspace { values, symbols, scratch } = workspace;
        symbols.q.resize(layout.nodes, 0);
        symbols.delta.clear();
        for batch in self.batches(|_| true) {
            let starts: Vec<_> = batch.members.iter().map(|&i| layout.tiles[i].start).collect();
            self.encode_batch(choice, &batch, values, &starts, symbols, scratch);
            if keep {
                let spots: Vec<_> = batch.members.iter().map(|&i| shape.spots[i]).collect();
                store(batch.tile, &scratch.v, &spots, values, &Region { lo: [0; 3], hi: shape.dims });
            }
        }
    }

    /// Quantizes some tiles; the symbols of each go to its entry of `starts` in `symbols`, whose `q` must have room.
    fn encode_batch(
        &self,
        choice: Choice,
        batch: &Batch<T>,
        values: &[T],
        starts: &[usize],
        symbols: &mut ChunkSymbols,
        scratch: &mut Scratch<T>,
    ) {
        let (tile, spots) = (batch.tile, batch.lanes(|i| self.shape().spots[i]));
        let levels = self.prepare(choice, batch, scratch);
        load(tile, &spots, values, self.shape().dims, &mut scratch.v);
        self.load_corners(tile, &spots, &mut scratch.v);
        let Scratch { v, q, delta, quantizers } = scratch;
        let group = Group { plan: tile, choice, shift: self.tiers.shift, quantizers, levels };
        let exact = group.encode(v, q);
        let order = tile.symbols(self.plan.walk(choice));
        scatter_q(order, q, starts, &mut symbols.q);
        if exact {
            delta.resize(tile.len() + 1, [0; W]);
            group.deltas(v, delta);
            symbols.delta.resize(symbols.q.len(), 0);
            scatter_delta(order, delta, starts, &mut symbols.delta);
        }
    }

    /// Rebuilds the nodes of the box `wanted` (in the array's coordinates, inside the chunk), C order.
    /// Tiles that do not meet it are skipped. From the symbols of the workspace into its values.
    pub fn decode(&self, choice: Choice, wanted: &Region, workspace: &mut Workspace<T>) {
        let (shape, layout) = (self.shape(), self.layout(choice));
        let relative = |corner: [usize; 3]| std::array::from_fn(|a| corner[a] - self.region.lo[a]);
        let part = Region { lo: relative(wanted.lo), hi: relative(wanted.hi) };
        let Workspace { values, symbols, scratch } = workspace;
        values.resize(part.len(), T::ZERO);
        for batch in self.batches(|spot| !self.plan.tile(spot).place(spot).intersect(&part).is_empty()) {
            let (tile, spots) = (batch.tile, batch.lanes(|i| shape.spots[i]));
            let starts = batch.lanes(|i| layout.tiles[i].start);
            let order = tile.symbols(self.plan.walk(choice));
            let levels = self.prepare(choice, &batch, scratch);
            self.load_corners(tile, &spots, &mut scratch.v);
            let Scratch { v, q, delta, quantizers } = scratch;
            gather_q(order, &symbols.q, &starts, q);
            delta.clear();
            if !symbols.delta.is_empty() {
                delta.resize(tile.len() + 1, [0; W]);
                gather_delta(order, &symbols.delta, &starts, delta);
            }
            Group { plan: tile, choice, shift: self.tiers.shift, quantizers, levels }.decode(v, q, delta);
            store(tile, v, &spots[..batch.members.len()], values, &part);
        }
    }

    /// The tiles that are wanted.
    fn batches(&self, wanted: impl Fn(&TileSpot) -> bool) -> Vec<Batch<'a, T>> {
        let shape = self.shape();
        let mut batches = Vec::new();
        for (kind, tile) in self.plan.tile_plans().iter().enumerate() {
            let same = (0..shape.spots.len()).filter(|&i| shape.spots[i].plan == kind && wanted(&shape.spots[i]));
            batches.extend(same.collect::<Vec<_>>().chunks(W).map(|members| Batch { tile, members: members.to_vec() }));
        }
        batches
    }

    /// Makes room for a batch and fills in its quantizers.
    fn prepare(&self, choice: Choice, batch: &Batch<T>, scratch: &mut Scratch<T>) -> Levels {
        let (tile, tiers) = (batch.tile, &self.tiers);
        let levels = match (self.plan.array.is_frame(), choice.fine) {
            (true, false) => Levels::Full,
            (true, true) => Levels::ByStep,
            (false, _) => Levels::Corners,
        };
        scratch.v.resize(tile.len(), Lanes::default());
        // a place without a node has the symbol 0
        scratch.q.resize(tile.len() + 1, [0; W]);
        scratch.q[tile.len()] = [0; W];
        let blocks = tile.dims.map(|m| ((m - 1) >> tiers.shift) + 1);
        let count = blocks.iter().product::<usize>();
        scratch.quantizers.resize(count * levels.range().len(), QuantizerLanes::default());
        for (level, entries) in levels.range().zip(scratch.quantizers.chunks_exact_mut(count)) {
            for (l, spot) in batch.lanes(|i| self.shape().spots[i]).iter().enumerate() {
                let lo: [usize; 3] = std::array::from_fn(|a| self.region.lo[a] + spot.lo[a]);
                for (i, entry) in entries.iter_mut().enumerate() {
                    let at = [i / (blocks[1] * blocks[2]), i / blocks[2] % blocks[1], i % blocks[2]];
                    let node = std::array::from_fn(|a| lo[a] + (at[a] << tiers.shift));
                    entry.set(l, tiers.quantizer(node, level));
                }
            }
        }
        levels
    }

    /// Puts the reconstructed corners of the tiles in their places.
    fn load_corners(&self, tile: &TilePlan<T>, spots: &[TileSpot; W], v: &mut [Lanes<T, W>]) {
        let side = self.plan.array.sides().tile;
        let ends = tile.axes.each_ref().map(|a| a.ends.len());
        for (l, spot) in spots.iter().enumerate() {
            let first: [usize; 3] = std::array::from_fn(|a| (self.region.lo[a] + spot.lo[a]) / side * 2);
            let mut positions = tile.corners.iter();
            for z in 0..ends[0] {
                for y in 0..ends[1] {
                    for (x, &position) in (0..ends[2]).zip(&mut positions) {
                        let corner = self.corners.at([first[0] + z, first[1] + y, first[2] + x]);
                        v[position as usize][l] = corner;
                    }
                }
            }
        }
    }
}
