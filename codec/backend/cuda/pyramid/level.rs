//! The arrays of the pyramid on the device: the tables of their tiles, and the lists of tiles and chunks to work on.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Tile, TileShape};
use super::blob::Blob;
use super::class_arguments::{Chunk, Unit};
use super::tables::{Numbers, Spacing, Tables, stencil_bytes};
use crate::entropy::class::slots::Slots;
use crate::entropy::class::symbols::{self, ChunkLayout, TileLayout};
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};
use crate::transform::pyramid::{Real, last};
use crate::{Error, Result};
use std::ops::Range;

/// In a list, where there are not enough tiles: `NO_TILE` in pyramid.cuh.
pub const NO_TILE: u32 = u32::MAX;

/// The tables of the tile shapes of all arrays, on the device: a shape has the same number in all of them.
pub struct Shapes {
    /// Held for its life.
    _memory: Buffer,
    pub shapes: u64,
    pub steps: u64,
    pub nodes: u64,
    pub stencils: [u64; 3],
    pub coded_at: u64,
    pub offsets: u64,
    pub units: u64,
    pub unit_first: u64,
    /// The most slots of an array, and units of a tile.
    pub slots: u32,
    pub units_in_tile: u32,
}

/// What a tile is and takes in memory, or the most that some do.
#[derive(Clone, Copy, Default)]
pub struct TileSize {
    pub nodes: usize,
    pub planes: usize,
    /// Values, symbols and tiers of its memory.
    pub places: usize,
    pub symbols: usize,
    pub tiers: usize,
    /// Bytes of the tables that the kernels of axis order copy for a tile.
    pub tables: usize,
}

impl TileSize {
    pub fn most(sizes: impl Iterator<Item = Self>) -> Self {
        sizes.fold(Self::default(), |a, b| Self {
            nodes: a.nodes.max(b.nodes),
            planes: a.planes.max(b.planes),
            places: a.places.max(b.places),
            symbols: a.symbols.max(b.symbols),
            tiers: a.tiers.max(b.tiers),
            tables: a.tables.max(b.tables),
        })
    }
    /// Bytes in memory, for values of `value` bytes.
    pub fn bytes(&self, value: usize, tiers: bool) -> usize {
        (self.places * value + 2 * self.symbols + if tiers { self.tiers } else { 0 }).next_multiple_of(16)
    }
    /// The same for the kernels of axis order, which have tables there instead of symbols, and as many such `tiles` together.
    pub fn ordered_bytes(&self, value: usize, tiers: bool, tiles: usize) -> usize {
        let of_tile = self.places * value + if tiers { self.tiers } else { 0 };
        (tiles * of_tile + self.tables + TOGETHER * size_of::<Tile>()).next_multiple_of(16)
    }
}

/// What the tiles of one array have in common.
#[derive(Default)]
pub struct Level {
    /// Number of the array's first shape.
    pub first_shape: u32,
    /// Units of each shape.
    shape_units: Vec<u32>,
    /// Of each shape: from the symbols of such a tile to those of the next.
    spacings: Vec<u32>,
    /// Of each shape.
    sizes: Vec<TileSize>,
    /// The whole tiles of a frame with three axes, when there are kernels for them.
    pub whole: Option<WholeTiles>,
}

/// Whole tiles: the numbers of their shape and of that of their nodes of S(1), and symbols and nodes.
#[derive(Clone)]
pub struct WholeTiles {
    pub side: u32,
    pub shape: u32,
    pub coarse_shape: u32,
    pub symbols: usize,
    pub coarse_symbols: usize,
    pub coarse_nodes: usize,
}

impl Level {
    /// Of a tile of the array, whose shape has this number.
    pub fn size(&self, shape: u32) -> TileSize {
        self.sizes[(shape - self.first_shape) as usize]
    }
    /// The most that a tile takes.
    pub fn largest(&self) -> TileSize {
        TileSize::most(self.sizes.iter().copied())
    }
}

/// Gathers the shapes of one array after the other; the last array, which has no tiles to predict, comes last.
#[derive(Default)]
pub struct Gathering {
    tables: Tables,
    units: Vec<Unit>,
    /// One past the last unit of each shape.
    unit_ends: Vec<u32>,
    /// Coded nodes of each shape.
    pub shape_nodes: Vec<u32>,
    slots: usize,
}

impl Gathering {
    pub fn new(spacing: Spacing) -> Self {
        Self { tables: Tables::new(spacing), ..Self::default() }
    }
    pub fn add<T: Real>(&mut self, plan: &ArrayPlan<T>) -> Level {
        let first = self.tables.shapes.len();
        let block = if plan.array.is_frame() { 8 } else { 1 };
        for tile in plan.tile_plans() {
            self.tables.add(tile, &Numbers::new(plan, tile, self.tables.spacing), block, 0);
        }
        let shapes = &self.tables.shapes[first..];
        let size = |(tile, shape): (&TilePlan<T>, &TileShape)| TileSize {
            nodes: tile.len(),
            planes: tile.dims[0],
            places: shape.places as usize,
            symbols: shape.nodes as usize,
            tiers: tile.dims.iter().map(|d| d.div_ceil(block)).product(),
            tables: tables_of_axis_order(tile),
        };
        let sizes = plan.tile_plans().iter().zip(shapes).map(size).collect();
        let spacing = self.tables.spacing;
        let spacings = plan.tile_plans().iter().map(|tile| Numbers::new(plan, tile, spacing).tile(spacing)).collect();
        let mut level = Level { sizes, spacings, ..self.add_units(&plan.chunk(&plan.array.chunk_box(0)).layout) };
        level.whole = self.add_whole(plan, first);
        level
    }

    /// The shape of the nodes of S(1) of whole tiles, which are among the shapes from `first` on.
    fn add_whole<T: Real>(&mut self, plan: &ArrayPlan<T>, first: usize) -> Option<WholeTiles> {
        let side = plan.array.sides().tile;
        if !plan.array.is_frame() || self.tables.spacing == Spacing::Tiles {
            return None;
        }
        let index = plan.tile_plans().iter().position(|tile| tile.dims == [side; 3])?;
        let tile = &plan.tile_plans()[index];
        self.tables.add(tile, &Numbers::new(plan, tile, self.tables.spacing), 8, 1);
        // it has no units of its own
        self.unit_ends.push(self.units.len() as u32);
        self.shape_nodes.push(0);
        let (shape, coarse_shape) = (first + index, self.tables.shapes.len() - 1);
        let [whole, coarse] = [shape, coarse_shape].map(|number| &self.tables.shapes[number]);
        Some(WholeTiles {
            side: side as u32,
            shape: shape as u32,
            coarse_shape: coarse_shape as u32,
            symbols: whole.nodes as usize,
            coarse_symbols: coarse.nodes as usize,
            coarse_nodes: (side / 2 + 1).pow(3),
        })
    }

    /// The last array: one unit.
    pub fn add_last<T: Real>(&mut self, nodes: usize) -> Level {
        self.add_units(&last::layout::<T>(nodes))
    }

    /// Tiles without tables: those of the last array, or of a flat array.
    pub fn add_units(&mut self, layout: &ChunkLayout) -> Level {
        let slots = Slots::of(layout);
        self.slots = self.slots.max(slots.count);
        let first_shape = self.unit_ends.len() as u32;
        self.shape_nodes.extend(layout.shapes.iter().map(|shape| shape.nodes as u32));
        for TileLayout { units, .. } in &layout.shapes {
            let starts = self.tables.spacing.starts(units);
            self.units.extend(units.iter().zip(starts).map(|(u, start)| device_unit(u, start, units, &slots)));
            self.unit_ends.push(self.units.len() as u32);
        }
        let shape_units = layout.shapes.iter().map(|s| s.units.len() as u32).collect();
        Level { first_shape, shape_units, ..Level::default() }
    }

    /// Copies all tables to the device.
    pub fn upload(&self, gpu: &Gpu) -> Result<Shapes> {
        let tables = &self.tables;
        let unit_first: Vec<u32> = [0].into_iter().chain(self.unit_ends.iter().copied()).collect();
        let mut blob = Blob::default();
        let at = [
            blob.add(&tables.shapes),
            blob.add(&tables.steps),
            blob.add(&tables.nodes),
            blob.add(&tables.stencils[0]),
            blob.add(&tables.stencils[1]),
            blob.add(&tables.stencils[2]),
            blob.add(&tables.coded_at),
            blob.add(&tables.offsets),
            blob.add(&self.units),
            blob.add(&unit_first),
        ];
        let mut memory = Buffer::default();
        let base = blob.upload(gpu, &mut memory)?;
        let [shapes, steps, nodes, two, four, six, coded_at, offsets, units, first] = at.map(|offset| base + offset);
        Ok(Shapes {
            _memory: memory,
            shapes,
            steps,
            nodes,
            stencils: [two, four, six],
            coded_at,
            offsets,
            units,
            unit_first: first,
            slots: self.slots as u32,
            units_in_tile: unit_first.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0),
        })
    }
}

/// The longest axis of a tile that the kernels of axis order know, and tiles that they take together: as in ordered_pass.cuh.
const LONGEST: usize = 32;
const TOGETHER: usize = 2;

/// Bytes of the passes of a tile, of its stencils of 6 points and of the positions of its axes' ranks, as ordered_pass.cuh lays
/// them out.
fn tables_of_axis_order<T: Real>(tile: &TilePlan<T>) -> usize {
    if tile.dims.iter().any(|&nodes| nodes > LONGEST) {
        return 0;
    }
    let pass = (64 + 3 * T::BYTES).next_multiple_of(16);
    let stencils: usize = tile.axes.iter().flat_map(|axis| &axis.steps).map(|step| step.new.len()).sum();
    3 * tile.steps * pass + stencils * stencil_bytes::<T>(2) + 3 * LONGEST
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

/// Where the tiles and chunks of one array stand in a [`Worklist`].
#[derive(Clone, Default)]
pub struct Span {
    pub tiles: Range<usize>,
    pub chunks: Range<usize>,
}

/// Tiles and chunks to work on, of one array after the other, in the order of their symbols.
#[derive(Default)]
pub struct Worklist {
    pub spacing: Spacing,
    /// Number of the array whose chunks come next: 0 for the frame.
    pub stage: u32,
    /// Once closed, one more than there are: the last marks the end.
    pub tiles: Vec<Tile>,
    pub chunks: Vec<Chunk>,
    /// Coded nodes with the padding between tiles, and units.
    pub nodes: u64,
    pub units: u64,
}

impl Worklist {
    pub fn new(spacing: Spacing) -> Self {
        Self { spacing, ..Self::default() }
    }
    /// Appends the given chunks of an array.
    pub fn add<T: Real>(&mut self, plan: &ArrayPlan<T>, level: &Level, chunks: impl Iterator<Item = usize>) -> Span {
        let (first_tile, first_chunk) = (self.tiles.len(), self.chunks.len());
        for index in chunks {
            let region = plan.array.chunk_box(index);
            let shape = plan.chunk(&region);
            let tile = self.tiles.len();
            for spot in &shape.spots {
                let at = std::array::from_fn(|a| (region.lo[a] + spot.lo[a]) as u32);
                self.add_tile(level, at, spot.plan, level.spacings[spot.plan]);
            }
            self.add_chunk(tile, shape.layout.nodes);
        }
        Span { tiles: first_tile..self.tiles.len(), chunks: first_chunk..self.chunks.len() }
    }

    /// Appends the last array: one tile in one chunk.
    pub fn add_last(&mut self, level: &Level, nodes: usize) -> Span {
        let (tile, chunk) = (self.tiles.len(), self.chunks.len());
        self.add_tile(level, [0; 3], 0, self.spacing.one_unit(nodes as u32));
        self.add_chunk(tile, nodes);
        Span { tiles: tile..tile + 1, chunks: chunk..chunk + 1 }
    }

    /// Appends a flat array as one chunk.
    pub fn add_flat(&mut self, level: &Level, layout: &ChunkLayout) -> Span {
        let (tile, chunk) = (self.tiles.len(), self.chunks.len());
        for t in &layout.tiles {
            self.add_tile(level, [0; 3], t.shape, self.spacing.tile(&layout.shapes[t.shape].units));
        }
        self.add_chunk(tile, layout.nodes);
        Span { tiles: tile..self.tiles.len(), chunks: chunk..chunk + 1 }
    }

    /// A tile of the next chunk. `nodes`: with the padding of its units.
    fn add_tile(&mut self, level: &Level, at: [u32; 3], shape: usize, nodes: u32) {
        let (start, units_before, chunk) = (self.nodes, self.units as u32, self.chunks.len() as u32);
        self.nodes += nodes as u64;
        self.tiles.push(Tile { at, shape: level.first_shape + shape as u32, start, chunk, units_before });
        self.units += level.shape_units[shape] as u64;
    }
    fn add_chunk(&mut self, first_tile: usize, nodes: usize) {
        let (tile, tile_end) = (first_tile as u32, self.tiles.len() as u32);
        let nodes = nodes as u32;
        // the class coder's kernels put the first stream in its place
        self.chunks.push(Chunk { tile, tile_end, nodes, stream: self.stage, ..bytemuck::Zeroable::zeroed() });
    }
    pub fn close(mut self) -> Result<Self> {
        if self.units > u32::MAX as u64 / 4 {
            return Err(Error::invalid("a frame with so many tiles does not fit the GPU's tables")
                .remedy("use smaller frames (--frame)"));
        }
        let end = Tile { at: [0; 3], shape: 0, start: self.nodes, chunk: 0, units_before: self.units as u32 };
        self.tiles.push(end);
        Ok(self)
    }
}
