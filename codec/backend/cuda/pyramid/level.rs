//! One array of the pyramid on the device: the tables of its tiles, and the memory of the stages.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{Chunk, Row, Tile, TileShape, Unit};
use super::blob::Blob;
use crate::entropy::class::slots::Slots;
use crate::entropy::class::symbols::{self, ChunkLayout};
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};
use crate::transform::pyramid::predict::PASSES;
use crate::transform::pyramid::stencil::{AxisPlan, POINTS};
use crate::transform::pyramid::{Real, last};
use crate::volume::DType;
use crate::{Error, Result};

/// Bits of an entry that hold the local coordinates; its place in coding order lies above them.
const SYMBOL_SHIFT: u32 = 15;

/// What all chunks of an array share, on the device.
#[derive(Default)]
pub struct Level {
    /// Held for its life.
    _memory: Buffer,
    pub shapes: u64,
    pub table: u64,
    pub rows: u64,
    /// Of whole tiles: raster place of each coded node, and the inverse.
    pub order: u64,
    pub place: u64,
    pub units: u64,
    pub unit_first: u64,
    /// Units of each tile shape.
    shape_units: Vec<u32>,
    pub slots: u32,
    /// The most units of a tile.
    pub units_in_tile: u32,
    /// Nodes of a whole tile.
    pub tile_nodes: u32,
}

impl Level {
    /// Tables of an array.
    pub fn new<T: Real>(gpu: &Gpu, plan: &ArrayPlan<T>) -> Result<Self> {
        let mut tables = Tables::default();
        for tile in plan.tile_plans() {
            tables.add(tile, is_whole(plan, tile));
        }
        let tile_nodes = plan.tile_plans().iter().map(TilePlan::len).max().unwrap_or(0);
        Self::upload(gpu, &tables, &plan.chunk(&plan.array.chunk_box(0)).layout, tile_nodes)
    }

    /// The last array: one unit, no tiles to predict.
    pub fn last<T: Real>(gpu: &Gpu, nodes: usize) -> Result<Self> {
        Self::upload::<T>(gpu, &Tables::default(), &last::layout::<T>(nodes), nodes)
    }

    fn upload<T: Real>(gpu: &Gpu, tables: &Tables<T>, layout: &ChunkLayout, nodes: usize) -> Result<Self> {
        let slots = Slots::of(layout);
        let (mut units, mut first) = (Vec::new(), vec![0]);
        for layout in &layout.shapes {
            units.extend(layout.units.iter().map(|u| device_unit(u, &layout.units, &slots)));
            first.push(units.len() as u32);
        }
        let shape_units: Vec<u32> = first.windows(2).map(|w| w[1] - w[0]).collect();
        let mut blob = Blob::default();
        let at = [
            blob.add(&tables.shapes),
            blob.add(&tables.table),
            blob.add(&tables.rows),
            blob.add(&tables.order),
            blob.add(&tables.place),
            blob.add(&units),
            blob.add(&first),
        ];
        let mut memory = Buffer::default();
        let base = blob.upload(gpu, &mut memory)?;
        let [shapes, table, rows, order, place, units, unit_first] = at.map(|offset| base + offset);
        let units_in_tile = shape_units.iter().copied().max().unwrap_or(0);
        let (slots, tile_nodes) = (slots.count as u32, nodes as u32);
        Ok(Self {
            _memory: memory,
            shapes,
            table,
            rows,
            order,
            place,
            units,
            unit_first,
            shape_units,
            slots,
            units_in_tile,
            tile_nodes,
        })
    }
}

/// In place of a slot that does not exist.
const NONE: u32 = u32::MAX;

/// A unit among those of its tile.
fn device_unit(unit: &symbols::Unit, all: &[symbols::Unit], slots: &Slots) -> Unit {
    let (slot, parent) = slots.of_unit(unit);
    let step_begin = all.partition_point(|u| u.step > unit.step) as u32;
    let step_end = all.partition_point(|u| u.step >= unit.step) as u32;
    let parent = parent.map_or(NONE, |p| p as u32);
    Unit { start: unit.start, len: unit.len, slot: slot as u32, parent, step_begin, step_end }
}

/// The host's side of the tables.
struct Tables<T> {
    shapes: Vec<TileShape>,
    table: Vec<u32>,
    rows: Vec<Row<T>>,
    order: Vec<u16>,
    place: Vec<u16>,
}

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self { shapes: Vec::new(), table: Vec::new(), rows: Vec::new(), order: Vec::new(), place: Vec::new() }
    }
}

impl<T: Real> Tables<T> {
    fn add(&mut self, plan: &TilePlan<T>, whole: bool) {
        if whole && self.order.is_empty() {
            self.add_whole(plan);
        }
        let dims = plan.dims.map(|d| d as u32);
        let shift_y = bits(dims[2]);
        let shift_z = shift_y + bits(dims[1]);
        let entries = self.table.len() as u32;
        let ranges = self.add_entries(plan, shift_y, shift_z);
        let rows = plan.axes.each_ref().map(|axis| self.add_rows(axis));
        let ends = plan.axes.each_ref().map(|axis| axis.ends.len() as u32);
        let (steps, nodes) = (plan.steps as u32, plan.order.len() as u32);
        self.shapes.push(TileShape {
            dims,
            steps,
            nodes,
            entries,
            ranges,
            rows,
            shift_y,
            shift_z,
            ends,
            whole: whole as u32,
        });
    }

    /// The tables of whole tiles, which are all alike.
    fn add_whole(&mut self, plan: &TilePlan<T>) {
        self.order = plan.order.iter().map(|&p| p as u16).collect();
        self.place = vec![0; plan.len()];
        for (symbol, &position) in self.order.iter().enumerate() {
            self.place[position as usize] = symbol as u16;
        }
    }

    /// The coded nodes by step and pass; returns the place of the ranges.
    fn add_entries(&mut self, plan: &TilePlan<T>, shift_y: u32, shift_z: u32) -> u32 {
        let born = plan.axes.each_ref().map(born);
        let mut passes = vec![Vec::new(); 7 * plan.steps];
        for (symbol, &position) in plan.order.iter().enumerate() {
            let row = position as usize / plan.dims[2];
            let at = [row / plan.dims[1], row % plan.dims[1], position as usize % plan.dims[2]];
            let (step, axes) = new_on(&born, at);
            let local = (at[0] as u32) << shift_z | (at[1] as u32) << shift_y | at[2] as u32;
            let pass = PASSES.iter().position(|&p| p == axes).unwrap_or(0);
            passes[7 * step + pass].push(local | (symbol as u32) << SYMBOL_SHIFT);
        }
        let mut ranges = Vec::with_capacity(8 * plan.steps);
        let mut at = 0;
        for step in passes.chunks(7) {
            for pass in step {
                ranges.push(at);
                at += pass.len() as u32;
            }
            ranges.push(at);
        }
        self.table.extend(passes.iter().flatten());
        let place = self.table.len() as u32;
        self.table.extend(ranges);
        place
    }

    /// The stencils of one axis, for 2, 4 and 6 points; returns the place of the first row.
    fn add_rows(&mut self, axis: &AxisPlan<T>) -> u32 {
        let place = self.rows.len();
        self.rows.resize(
            place + POINTS.len() * axis.len,
            Row { weight: [T::ZERO; 6], node: [0; 6], len: 0, first: 0, end: 0 },
        );
        for step in &axis.steps {
            for (points, stencils) in step.stencils.iter().enumerate() {
                for (&new, stencil) in step.new.iter().zip(stencils) {
                    let node = stencil.node.map(|n| n as u16);
                    let [first, end] = stencil.inner.map(|i| i as u8);
                    let row = Row { weight: stencil.weight, node, len: stencil.len as u16, first, end };
                    self.rows[place + points * axis.len + new as usize] = row;
                }
            }
        }
        place as u32
    }
}

/// Whether `pyramid_full.cu` knows such tiles: whole, of the frame, with three axes, f32.
fn is_whole<T: Real>(plan: &ArrayPlan<T>, tile: &TilePlan<T>) -> bool {
    let side = plan.array.sides().tile;
    T::DTYPE == DType::F32 && plan.array.is_frame() && plan.array.n.iter().all(|&n| n > 1) && tile.dims == [side; 3]
}

/// Bits that hold the numbers below `count`.
fn bits(count: u32) -> u32 {
    u32::BITS - (count - 1).leading_zeros()
}

/// The coarsest set that each node of an axis belongs to (the number of steps of the axis for its ends).
fn born<T>(axis: &AxisPlan<T>) -> Vec<u8> {
    let mut set = vec![0; axis.len];
    for (s, step) in axis.steps.iter().enumerate() {
        step.old.iter().for_each(|&p| set[p as usize] = s as u8 + 1);
    }
    set
}

/// The step that adds a coded node and the set of axes on which it is new.
fn new_on(born: &[Vec<u8>; 3], at: [usize; 3]) -> (usize, usize) {
    let set: [u8; 3] = std::array::from_fn(|a| born[a][at[a]]);
    let open = (0..3).filter(|&a| set[a] < born[a][0]);
    let step = open.clone().map(|a| set[a]).min().unwrap_or(0);
    (step as usize, open.filter(|&a| set[a] == step).map(|a| 1 << a).sum())
}

/// Tiles and chunks to work on, in the order of their symbols.
#[derive(Default)]
pub struct Worklist {
    /// One more than there are: the last marks the end.
    pub tiles: Vec<Tile>,
    pub chunks: Vec<Chunk>,
    /// Coded nodes, and units.
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
            for (spot, place) in shape.spots.iter().zip(&shape.layout.tiles) {
                let at = std::array::from_fn(|a| (region.lo[a] + spot.lo[a]) as u32);
                let start = list.nodes + place.start as u64;
                list.add_tile(level, at, spot.plan, start, number);
            }
            list.nodes += shape.layout.nodes as u64;
            list.add_chunk(tile, shape.layout.nodes);
        }
        list.close()
    }

    /// The last array: one tile in one chunk.
    pub fn last(level: &Level, nodes: usize) -> Result<Self> {
        let mut list = Self { nodes: nodes as u64, ..Self::default() };
        list.add_tile(level, [0; 3], 0, 0, 0);
        list.add_chunk(0, nodes);
        list.close()
    }

    fn add_tile(&mut self, level: &Level, at: [u32; 3], shape: usize, start: u64, chunk: usize) {
        let (shape, units_before) = (shape as u32, self.units as u32);
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
