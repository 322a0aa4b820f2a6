//! One array of the pyramid on the device: the tables of its tiles, and the memory of the stages.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Chunk, Tile, Unit};
use super::blob::Blob;
use super::tables::{Tables, padded, padded_starts};
use crate::entropy::class::slots::Slots;
use crate::entropy::class::symbols::{self, ChunkLayout};
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};
use crate::transform::pyramid::{Real, last};
use crate::{Error, Result};

/// What all chunks of an array share, on the device.
#[derive(Default)]
pub struct Level {
    /// Held for its life.
    _memory: Buffer,
    pub shapes: u64,
    pub steps: u64,
    pub nodes: u64,
    pub stencils: [u64; 3],
    pub order: u64,
    pub coded_at: u64,
    pub offsets: u64,
    pub units: u64,
    pub unit_first: u64,
    /// Units of each tile shape.
    shape_units: Vec<u32>,
    pub slots: u32,
    /// The most units of a tile.
    pub units_in_tile: u32,
    /// Nodes of the largest tile, and elements and tiers of its memory.
    pub tile_nodes: usize,
    pub tile_places: usize,
    pub tile_tiers: usize,
}

impl Level {
    /// Tables of an array.
    pub fn new<T: Real>(gpu: &Gpu, plan: &ArrayPlan<T>) -> Result<Self> {
        let mut tables = Tables::default();
        for tile in plan.tile_plans() {
            tables.add(tile, plan.array.is_frame() && tile.dims == [plan.array.sides().tile; 3]);
        }
        let layout = &plan.chunk(&plan.array.chunk_box(0)).layout;
        let mut level = Self::upload(gpu, &tables, layout)?;
        level.tile_nodes = plan.tile_plans().iter().map(TilePlan::len).max().unwrap_or(0);
        let block = if plan.array.is_frame() { 8 } else { 1 };
        let tiers = |tile: &TilePlan<T>| tile.dims.iter().map(|d| d.div_ceil(block)).product();
        level.tile_tiers = plan.tile_plans().iter().map(tiers).max().unwrap_or(0);
        Ok(level)
    }

    /// The last array: one unit, no tiles to predict.
    pub fn last<T: Real>(gpu: &Gpu, nodes: usize) -> Result<Self> {
        Self::upload(gpu, &Tables::default(), &last::layout::<T>(nodes))
    }

    fn upload(gpu: &Gpu, tables: &Tables, layout: &ChunkLayout) -> Result<Self> {
        let slots = Slots::of(layout);
        let (mut units, mut first) = (Vec::new(), vec![0]);
        for layout in &layout.shapes {
            let starts = padded_starts(&layout.units);
            units
                .extend(layout.units.iter().zip(starts).map(|(u, start)| device_unit(u, start, &layout.units, &slots)));
            first.push(units.len() as u32);
        }
        let shape_units: Vec<u32> = first.windows(2).map(|w| w[1] - w[0]).collect();
        let mut blob = Blob::default();
        let at = [
            blob.add(&tables.shapes),
            blob.add(&tables.steps),
            blob.add(&tables.nodes),
            blob.add(&tables.stencils[0]),
            blob.add(&tables.stencils[1]),
            blob.add(&tables.stencils[2]),
            blob.add(&tables.order),
            blob.add(&tables.coded_at),
            blob.add(&tables.offsets),
            blob.add(&units),
            blob.add(&first),
        ];
        let mut memory = Buffer::default();
        let base = blob.upload(gpu, &mut memory)?;
        let [shapes, steps, nodes, two, four, six, order, coded_at, offsets, units, unit_first] =
            at.map(|offset| base + offset);
        Ok(Self {
            _memory: memory,
            shapes,
            steps,
            nodes,
            stencils: [two, four, six],
            order,
            coded_at,
            offsets,
            units,
            unit_first,
            units_in_tile: shape_units.iter().copied().max().unwrap_or(0),
            shape_units,
            slots: slots.count as u32,
            tile_nodes: 0,
            tile_places: tables.shapes.iter().map(|s| s.places as usize).max().unwrap_or(0),
            tile_tiers: 0,
        })
    }
}

/// In place of a slot that does not exist.
const NONE: u32 = u32::MAX;

/// A unit among those of its tile.
fn device_unit(unit: &symbols::Unit, start: u32, all: &[symbols::Unit], slots: &Slots) -> Unit {
    let (slot, parent) = slots.of_unit(unit);
    let step_begin = all.partition_point(|u| u.step > unit.step) as u32;
    let step_end = all.partition_point(|u| u.step >= unit.step) as u32;
    let parent = parent.map_or(NONE, |p| p as u32);
    Unit { start, len: unit.len, slot: slot as u32, parent, step_begin, step_end }
}

/// Tiles and chunks to work on, in the order of their symbols.
#[derive(Default)]
pub struct Worklist {
    /// One more than there are: the last marks the end.
    pub tiles: Vec<Tile>,
    pub chunks: Vec<Chunk>,
    /// Coded nodes with the padding between tiles, and units.
    pub nodes: u64,
    pub units: u64,
}

impl Worklist {
    /// The given chunks of an array.
    pub fn new<T: Real>(plan: &ArrayPlan<T>, level: &Level, chunks: impl Iterator<Item = usize>) -> Result<Self> {
        let mut list = Self::default();
        for (number, index) in chunks.enumerate() {
            let region = plan.array.chunk_box(index);
            let shape = plan.chunk(&region);
            let tile = list.tiles.len();
            for spot in &shape.spots {
                let at = std::array::from_fn(|a| (region.lo[a] + spot.lo[a]) as u32);
                let units = &plan.tile(spot).layout.units;
                list.add_tile(level, at, spot.plan, units.iter().map(|u| padded(u.len)).sum(), number);
            }
            list.add_chunk(tile, shape.layout.nodes);
        }
        list.close()
    }

    /// The last array: one tile in one chunk.
    pub fn last(level: &Level, nodes: usize) -> Result<Self> {
        let mut list = Self::default();
        list.add_tile(level, [0; 3], 0, padded(nodes as u32), 0);
        list.add_chunk(0, nodes);
        list.close()
    }

    /// `nodes`: with the padding of its units.
    fn add_tile(&mut self, level: &Level, at: [u32; 3], shape: usize, nodes: u32, chunk: usize) {
        let (shape, start, units_before) = (shape as u32, self.nodes, self.units as u32);
        self.nodes += nodes as u64;
        self.tiles.push(Tile { at, shape, start, chunk: chunk as u32, units_before });
        self.units += level.shape_units[shape as usize] as u64;
    }
    fn add_chunk(&mut self, first_tile: usize, nodes: usize) {
        let (tile, tile_end) = (first_tile as u32, self.tiles.len() as u32);
        let nodes = nodes as u32;
        self.chunks.push(Chunk {
            tile,
            tile_end,
            nodes,
            stream: 0,
            cost: 0,
            offset: 0,
            bytes: 0,
            code: 0,
            flags: 0,
            error: 0,
            coded: 0,
            unused: 0,
        });
    }
    fn close(mut self) -> Result<Self> {
        if self.units > u32::MAX as u64 / 4 {
            return Err(Error::invalid("a frame with so many tiles does not fit the GPU's tables")
                .remedy("use smaller frames (--frame)"));
        }
        let end = Tile { at: [0; 3], shape: 0, start: self.nodes, chunk: 0, units_before: self.units as u32 };
        self.tiles.push(end);
        Ok(self)
    }
}
