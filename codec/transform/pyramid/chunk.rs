//! One chunk of an array: its tiles grouped by shape, W at a time, between C order and symbols.

use super::choice::{Choice, Mix};
use super::kernel::{Group, QuantizerLanes};
use super::lanes::{Lanes, Real};
use super::plan::{ArrayPlan, ChunkPlan, TilePlan, TileSpot};
use super::quantizer::Quantizer;
use crate::Region;
use crate::entropy::class::symbols::ChunkSymbols;

/// Tiles that the kernel works on at once.
const W: usize = 8;

/// The tier of every node of an array.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<'a, T> {
    /// One entry a tolerance block, C order.
    pub tier: &'a [u8],
    /// Tolerance blocks per axis.
    pub blocks: [usize; 3],
    /// 2^shift nodes of an axis share a block.
    pub shift: u32,
    pub quantizers: &'a [Quantizer<T>],
}

impl<'a, T: Real> Tiers<'a, T> {
    /// Tier 0 everywhere.
    pub fn uniform(quantizers: &'a [Quantizer<T>]) -> Self {
        Self { tier: &[0], blocks: [1; 3], shift: usize::BITS - 1, quantizers }
    }
    pub fn quantizer(&self, node: [usize; 3]) -> &'a Quantizer<T> {
        &self.quantizers[self.at(node) as usize]
    }
    /// The tier of a node.
    pub fn at(&self, node: [usize; 3]) -> u8 {
        let [z, y, x] = node.map(|i| i >> self.shift);
        self.tier[(z * self.blocks[1] + y) * self.blocks[2] + x]
    }
}

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

/// A chunk of an array and all that its coding depends on besides its own values or symbols.
pub struct Chunk<'a, T> {
    pub plan: &'a ArrayPlan<T>,
    /// The nodes of the chunk.
    pub region: Region,
    pub tiers: Tiers<'a, T>,
    /// The reconstructed corner array of the whole array.
    pub corners: Dense<'a, T>,
}

impl<'a, T: Real> Chunk<'a, T> {
    pub fn shape(&self) -> &'a ChunkPlan {
        self.plan.chunk(&self.region)
    }

    /// Quantizes the values of the chunk (a box in C order) and leaves the reconstruction in their place
    /// when `keep` is set.
    pub fn encode(&self, choice: Choice, values: &mut [T], keep: bool, scratch: &mut Scratch<T>) -> ChunkSymbols {
        let shape = self.shape();
        let mix = Mix::new(choice);
        let mut symbols = ChunkSymbols { q: vec![0; shape.layout.nodes], delta: Vec::new() };
        for (tile, members) in self.groups(|_| true) {
            let spots = lanes(&members, |&i| shape.spots[i]);
            scratch.fit(tile);
            scratch.load(tile, &spots, values, shape.dims);
            self.load_corners(tile, &spots, scratch);
            self.load_quantizers(tile, &spots, scratch);
            let Scratch { v, q, delta, quantizers } = scratch;
            let group = Group { plan: tile, mix: &mix, shift: self.tiers.shift, quantizers };
            let exact = group.encode(v, q);
            let starts = lanes(&members, |&i| shape.layout.tiles[i].start);
            scatter(tile, q, &starts[..members.len()], &mut symbols.q);
            if exact.contains(&true) {
                delta.resize(tile.len(), [0; W]);
                group.deltas(v, delta);
                symbols.delta.resize(shape.layout.nodes, 0);
                scatter(tile, delta, &starts[..members.len()], &mut symbols.delta);
            }
            if keep {
                store(tile, v, &spots[..members.len()], values, &Region { lo: [0; 3], hi: shape.dims });
            }
        }
        symbols
    }

    /// Rebuilds the nodes of the box `wanted` (in the array's coordinates, inside the chunk), C order.
    /// Tiles that do not meet it are skipped.
    pub fn decode(&self, choice: Choice, symbols: &ChunkSymbols, wanted: &Region, scratch: &mut Scratch<T>) -> Vec<T> {
        let shape = self.shape();
        let mix = Mix::new(choice);
        let relative = |corner: [usize; 3]| std::array::from_fn(|a| corner[a] - self.region.lo[a]);
        let part = Region { lo: relative(wanted.lo), hi: relative(wanted.hi) };
        let mut out = vec![T::ZERO; part.len()];
        for (tile, members) in self.groups(|spot| !self.plan.tile(spot).place(spot).intersect(&part).is_empty()) {
            let spots = lanes(&members, |&i| shape.spots[i]);
            let starts = lanes(&members, |&i| shape.layout.tiles[i].start);
            scratch.fit(tile);
            self.load_corners(tile, &spots, scratch);
            self.load_quantizers(tile, &spots, scratch);
            let Scratch { v, q, delta, quantizers } = scratch;
            gather(tile, &symbols.q, &starts, q);
            delta.clear();
            if !symbols.delta.is_empty() {
                delta.resize(tile.len(), [0; W]);
                gather(tile, &symbols.delta, &starts, delta);
            }
            Group { plan: tile, mix: &mix, shift: self.tiers.shift, quantizers }.decode(v, q, delta);
            store(tile, v, &spots[..members.len()], &mut out, &part);
        }
        out
    }

    /// Tiles of equal shape, at most W together, as indices into the chunk's spots.
    fn groups(&self, wanted: impl Fn(&TileSpot) -> bool) -> Vec<(&'a TilePlan<T>, Vec<usize>)> {
        let shape = self.shape();
        let mut groups = Vec::new();
        for (kind, tile) in self.plan.tile_plans().iter().enumerate() {
            let same = (0..shape.spots.len()).filter(|&i| shape.spots[i].plan == kind && wanted(&shape.spots[i]));
            groups.extend(same.collect::<Vec<_>>().chunks(W).map(|members| (tile, members.to_vec())));
        }
        groups
    }

    /// Puts the reconstructed corners of the tiles in their places.
    fn load_corners(&self, tile: &TilePlan<T>, spots: &[TileSpot; W], scratch: &mut Scratch<T>) {
        let side = self.plan.array.sides().tile;
        let ends = tile.axes.each_ref().map(|a| a.ends.len());
        for (l, spot) in spots.iter().enumerate() {
            let first: [usize; 3] = std::array::from_fn(|a| (self.region.lo[a] + spot.lo[a]) / side * 2);
            let mut positions = tile.corners.iter();
            for z in 0..ends[0] {
                for y in 0..ends[1] {
                    for (x, &position) in (0..ends[2]).zip(&mut positions) {
                        let corner = self.corners.at([first[0] + z, first[1] + y, first[2] + x]);
                        scratch.v[position as usize][l] = corner;
                    }
                }
            }
        }
    }

    fn load_quantizers(&self, tile: &TilePlan<T>, spots: &[TileSpot; W], scratch: &mut Scratch<T>) {
        let tiers = &self.tiers;
        let blocks = tile.dims.map(|m| ((m - 1) >> tiers.shift) + 1);
        scratch.quantizers.resize(blocks.iter().product(), QuantizerLanes::default());
        for (l, spot) in spots.iter().enumerate() {
            let lo: [usize; 3] = std::array::from_fn(|a| self.region.lo[a] + spot.lo[a]);
            let mut entries = scratch.quantizers.iter_mut();
            for z in 0..blocks[0] {
                for y in 0..blocks[1] {
                    for (x, entry) in (0..blocks[2]).zip(&mut entries) {
                        let node = [lo[0] + (z << tiers.shift), lo[1] + (y << tiers.shift), lo[2] + (x << tiers.shift)];
                        entry.set(l, tiers.quantizer(node));
                    }
                }
            }
        }
    }
}

impl<T: Real> Scratch<T> {
    fn fit(&mut self, tile: &TilePlan<T>) {
        self.v.resize(tile.len(), Lanes::default());
        self.q.resize(tile.len(), [0; W]);
    }
    /// Copies tiles out of a box of extents `dims`.
    fn load(&mut self, tile: &TilePlan<T>, spots: &[TileSpot; W], values: &[T], dims: [usize; 3]) {
        let [mz, my, mx] = tile.dims;
        for (row, out) in self.v.chunks_exact_mut(mx).enumerate() {
            let (z, y) = (row / my, row % my);
            debug_assert!(z < mz);
            let rows = spots.map(|s| &values[((s.lo[0] + z) * dims[1] + s.lo[1] + y) * dims[2] + s.lo[2]..][..mx]);
            for (x, out) in out.iter_mut().enumerate() {
                for l in 0..W {
                    out[l] = rows[l][x];
                }
            }
        }
    }
}

/// One entry a lane; lanes without a tile of their own repeat the first.
fn lanes<A: Copy, B>(members: &[A], of: impl Fn(&A) -> B) -> [B; W] {
    std::array::from_fn(|l| of(members.get(l).unwrap_or(&members[0])))
}

/// Copies the parts of tiles that lie in the box `part` into `out`, which holds that box.
fn store<T: Real>(tile: &TilePlan<T>, v: &[Lanes<T, W>], spots: &[TileSpot], out: &mut [T], part: &Region) {
    let [_, ny, nx] = part.shape();
    let strides = tile.strides();
    for (l, spot) in spots.iter().enumerate() {
        let common = tile.place(spot).intersect(part);
        for z in common.lo[0]..common.hi[0] {
            for y in common.lo[1]..common.hi[1] {
                let from = (z - spot.lo[0]) * strides[0] + (y - spot.lo[1]) * strides[1] + common.lo[2] - spot.lo[2];
                let to = ((z - part.lo[0]) * ny + y - part.lo[1]) * nx + common.lo[2] - part.lo[2];
                let width = common.hi[2] - common.lo[2];
                for (out, lanes) in out[to..][..width].iter_mut().zip(&v[from..][..width]) {
                    *out = lanes[l];
                }
            }
        }
    }
}

/// From raster order and lanes to the coding order of each tile.
fn scatter<T: Real, S: Copy>(tile: &TilePlan<T>, from: &[[S; W]], starts: &[usize], to: &mut [S]) {
    const BATCH: usize = 32;
    for (batch, positions) in tile.order.chunks(BATCH).enumerate() {
        for (l, &start) in starts.iter().enumerate() {
            let to = &mut to[start + batch * BATCH..][..positions.len()];
            for (to, &position) in to.iter_mut().zip(positions) {
                *to = from[position as usize][l];
            }
        }
    }
}

/// From the coding order of each tile to raster order and lanes.
fn gather<T: Real, S: Copy>(tile: &TilePlan<T>, from: &[S], starts: &[usize; W], to: &mut [[S; W]]) {
    let from = starts.map(|start| &from[start..][..tile.order.len()]);
    for (i, &position) in tile.order.iter().enumerate() {
        let to = &mut to[position as usize];
        for l in 0..W {
            to[l] = from[l][i];
        }
    }
}
