//! Plans shared by all tiles and chunks of an array that have the same shape.

use super::geometry::Array;
use super::stencil::AxisPlan;
use crate::entropy::class::symbols::{ChunkLayout, TileLayout, TileRef, Unit};
use crate::{Element, Region};

/// One shape of (clipped) tile: its stencils and the order in which its nodes are coded.
#[derive(Clone, Debug)]
pub struct TilePlan<T> {
    pub axes: [AxisPlan<T>; 3],
    /// Extents in nodes.
    pub dims: [usize; 3],
    /// Number of steps K.
    pub steps: usize,
    /// Raster position of each coded node, in coding order.
    pub order: Vec<u32>,
    /// Raster positions of the corners, in raster order.
    pub corners: Vec<u32>,
    pub layout: TileLayout,
}

impl<T: Element> TilePlan<T> {
    pub fn new(axes: [AxisPlan<T>; 3], unit: usize) -> Self {
        let dims = axes.each_ref().map(|a| a.len);
        let steps = axes.each_ref().map(|a| a.steps.len()).into_iter().max().unwrap_or(0);
        let born = axes.each_ref().map(born);
        let corners = box_positions([0; 3], dims, dims).filter(|&(_, at)| step_of(&born, at).is_none());
        let corners = corners.map(|(position, _)| position).collect();
        let mut plan = Self { axes, dims, steps, order: Vec::new(), corners, layout: TileLayout::default() };
        for step in (0..steps).rev() {
            plan.add_units(step, unit << step, &born);
        }
        plan.layout.nodes = plan.order.len();
        plan
    }

    /// Appends the units of one step: the new nodes inside each box of `side` nodes.
    fn add_units(&mut self, step: usize, side: usize, born: &[Vec<u8>; 3]) {
        let cells = self.dims.map(|m| m.div_ceil(side));
        for (_, cell) in box_positions([0; 3], cells, cells) {
            let lo = cell.map(|c| c * side);
            let hi = std::array::from_fn(|a| (lo[a] + side).min(self.dims[a]));
            let start = self.order.len();
            let nodes = box_positions(lo, hi, self.dims).filter(|&(_, at)| step_of(born, at) == Some(step));
            self.order.extend(nodes.map(|(position, _)| position));
            let len = self.order.len() - start;
            if len > 0 {
                let (start, len, cell) = (start as u32, len as u32, cell.map(|c| c as u8));
                self.layout.units.push(Unit { start, len, step: step as u8, cell });
            }
        }
    }

    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }
    /// The box of a tile of this shape, relative to its chunk.
    pub fn place(&self, spot: &TileSpot) -> Region {
        Region { lo: spot.lo, hi: std::array::from_fn(|a| spot.lo[a] + self.dims[a]) }
    }
    /// Distance in memory between neighbours on each axis.
    pub fn strides(&self) -> [usize; 3] {
        [self.dims[1] * self.dims[2], self.dims[2], 1]
    }
}

/// The coarsest set that a node of an axis belongs to (the number of steps of the axis for its ends).
fn born<T>(axis: &AxisPlan<T>) -> Vec<u8> {
    let mut set = vec![0; axis.len];
    for (s, step) in axis.steps.iter().enumerate() {
        step.old.iter().for_each(|&p| set[p as usize] = s as u8 + 1);
    }
    set
}

/// The step that adds a node: it is in S(s) on every axis, but not in S(s+1) on all of them.
/// None for corners, which are in the last set of every axis.
fn step_of(born: &[Vec<u8>; 3], at: [usize; 3]) -> Option<usize> {
    let axes = born.iter().zip(at).map(|(set, p)| (set[p], set[0]));
    axes.filter(|(set, last)| set < last).map(|(set, _)| set as usize).min()
}

/// Raster positions (in an array of extents `dims`) and coordinates of the box `lo..hi`.
fn box_positions(lo: [usize; 3], hi: [usize; 3], dims: [usize; 3]) -> impl Iterator<Item = (u32, [usize; 3])> {
    (lo[0]..hi[0]).flat_map(move |z| {
        (lo[1]..hi[1])
            .flat_map(move |y| (lo[2]..hi[2]).map(move |x| (((z * dims[1] + y) * dims[2] + x) as u32, [z, y, x])))
    })
}

/// One tile inside a chunk.
#[derive(Clone, Copy, Debug)]
pub struct TileSpot {
    /// First node, relative to the chunk.
    pub lo: [usize; 3],
    /// Which [`TilePlan`]: bit a is set when the tile is the last of its axis.
    pub plan: usize,
}

/// One shape of chunk: its tiles in raster order and how their nodes are coded.
#[derive(Clone, Debug, Default)]
pub struct ChunkPlan {
    pub dims: [usize; 3],
    pub spots: Vec<TileSpot>,
    pub layout: ChunkLayout,
}

/// An array with the plans of its tiles and chunks.
#[derive(Clone, Debug)]
pub struct ArrayPlan<T> {
    pub array: Array,
    tiles: Vec<TilePlan<T>>,
    chunks: Vec<ChunkPlan>,
}

impl<T: Element> ArrayPlan<T> {
    pub fn new(array: Array) -> Self {
        let axes: [[AxisPlan<T>; 2]; 3] =
            std::array::from_fn(|a| [array.axis_plan(a, false), array.axis_plan(a, true)]);
        let unit = array.sides().unit;
        let pick = |bits: usize| std::array::from_fn(|a| axes[a][bits >> a & 1].clone());
        let tiles: Vec<_> = (0..8).map(|bits| TilePlan::new(pick(bits), unit)).collect();
        let chunks = (0..8).map(|bits| ChunkPlan::new(&array, bits, &tiles)).collect();
        Self { array, tiles, chunks }
    }
    pub fn tile(&self, spot: &TileSpot) -> &TilePlan<T> {
        &self.tiles[spot.plan]
    }
    pub fn tile_plans(&self) -> &[TilePlan<T>] {
        &self.tiles
    }
    /// The plan for the chunk that covers `region`.
    pub fn chunk(&self, region: &Region) -> &ChunkPlan {
        let bits = (0..3).filter(|&a| region.hi[a] == self.array.n[a]).map(|a| 1 << a).sum::<usize>();
        &self.chunks[bits]
    }
}

impl ChunkPlan {
    /// `bits`: bit a is set when the chunk is the last of axis a.
    fn new<T: Element>(array: &Array, bits: usize, plans: &[TilePlan<T>]) -> Self {
        let sides = array.sides();
        let mut chunk = Self::default();
        chunk.layout.bits = 8 * T::BYTES as u32;
        let last: [bool; 3] = std::array::from_fn(|a| bits >> a & 1 == 1);
        chunk.dims = std::array::from_fn(|a| if last[a] { (array.n[a] - 1) % sides.chunk + 1 } else { sides.chunk });
        if (0..3).any(|a| !last[a] && array.n[a] <= sides.chunk) {
            return chunk; // no such chunk in this array
        }
        let tiles = chunk.dims.map(|m| m.div_ceil(sides.tile));
        for (_, at) in box_positions([0; 3], tiles, tiles) {
            let plan = (0..3).filter(|&a| last[a] && at[a] + 1 == tiles[a]).map(|a| 1 << a).sum();
            chunk.spots.push(TileSpot { lo: at.map(|t| t * sides.tile), plan });
            chunk.layout.tiles.push(TileRef { shape: plan, start: chunk.layout.nodes });
            chunk.layout.nodes += plans[plan].layout.nodes;
        }
        chunk.layout.shapes = plans.iter().map(|p| p.layout.clone()).collect();
        chunk
    }
}
