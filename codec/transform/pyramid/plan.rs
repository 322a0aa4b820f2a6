//! Plans shared by all tiles and chunks of an array that have the same shape.

use super::choice::Choice;
use super::geometry::Array;
use super::stencil::AxisPlan;
use crate::entropy::class::symbols::{ChunkLayout, TileLayout, TileRef, Unit};
use crate::entropy::groups::geometry::{NO_NODE, TileGroups, TileShape};
use crate::entropy::groups::{layout_in_places, runs::TileRuns};
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
    /// For the groups coder, by the axis that bands are walked along: raster position of the node at each place, [`TilePlan::len`] where
    /// there is none. Empty unless that coder is used.
    pub places: [Vec<u32>; 2],
}

impl<T: Element> TilePlan<T> {
    pub fn new(axes: [AxisPlan<T>; 3], unit: usize) -> Self {
        let dims = axes.each_ref().map(|a| a.len);
        let steps = axes.each_ref().map(|a| a.steps.len()).into_iter().max().unwrap_or(0);
        let (order, corners, layout) = (Vec::new(), Vec::new(), TileLayout::default());
        let mut plan = Self { axes, dims, steps, order, corners, layout, places: Default::default() };
        plan.corners = plan.positions(steps, [0; 3], dims).collect();
        for step in (0..steps).rev() {
            plan.add_units(step, unit << step);
        }
        plan.layout.nodes = plan.order.len();
        plan
    }

    /// Raster positions of the nodes of S(set) of all axes inside the box `lo..hi`.
    fn positions(&self, set: usize, lo: [usize; 3], hi: [usize; 3]) -> impl Iterator<Item = u32> {
        let [z, y, x] = std::array::from_fn(|a| {
            let inside = move |p: &u32| (lo[a]..hi[a]).contains(&(*p as usize));
            self.axes[a].set(set).filter(inside).collect::<Vec<u32>>()
        });
        let [_, my, mx] = self.dims.map(|m| m as u32);
        z.into_iter().flat_map(move |z| {
            let x = x.clone();
            y.clone().into_iter().flat_map(move |y| x.clone().into_iter().map(move |x| (z * my + y) * mx + x))
        })
    }

    /// Appends the units of one step: the new nodes inside each box of `side` nodes.
    fn add_units(&mut self, step: usize, side: usize) {
        let cells = self.dims.map(|m| m.div_ceil(side));
        for cell in boxes(cells) {
            let lo = cell.map(|c| c * side);
            let hi = std::array::from_fn(|a| (lo[a] + side).min(self.dims[a]));
            let start = self.order.len();
            let mut old = self.positions(step + 1, lo, hi).peekable();
            let nodes: Vec<u32> = self.positions(step, lo, hi).filter(|p| old.next_if_eq(p).is_none()).collect();
            drop(old);
            self.order.extend(&nodes);
            if !nodes.is_empty() {
                let (start, len, cell) = (start as u32, nodes.len() as u32, cell.map(|c| c as u8));
                self.layout.units.push(Unit { start, len, step: step as u8, cell });
            }
        }
    }

    /// The streams of the groups coder; `walk` is the axis that bands are walked along, where the tile is cut into bands.
    pub fn groups(&self, walk: Option<usize>) -> TileGroups {
        let Some(walk) = walk else { return TileGroups::without_bands(self.layout.nodes) };
        let coarse = self.layout.units.iter().filter(|unit| unit.step > 0).map(|unit| unit.len as usize).sum();
        TileGroups::with_bands(TileShape { dims: self.dims, order: &self.order, coarse }, walk)
    }
    /// Raster positions in the order of symbols; `walk` with the groups coder.
    pub fn symbols(&self, walk: Option<usize>) -> &[u32] {
        walk.map_or(&self.order, |walk| &self.places[walk])
    }
    fn set_places(&mut self, walk: usize, groups: &TileGroups) {
        let nodes = (0..groups.streams()).flat_map(|stream| groups.places_of_stream(stream));
        let position = |node: &u16| if *node == NO_NODE { self.len() as u32 } else { self.order[*node as usize] };
        self.places[walk] = nodes.map(position).collect();
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

/// All places of a raster, in order.
fn boxes([nz, ny, nx]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz * ny * nx).map(move |i| [i / (ny * nx), i / nx % ny, i % nx])
}

/// One tile inside a chunk.
#[derive(Clone, Copy, Debug)]
pub struct TileSpot {
    /// First node, relative to the chunk.
    pub lo: [usize; 3],
    /// Which [`TilePlan`]: bit a is set when the tile is the last of its axis and differs from the others.
    pub plan: usize,
}

/// One shape of chunk: its tiles in raster order and how their nodes are coded.
#[derive(Clone, Debug, Default)]
pub struct ChunkPlan {
    pub dims: [usize; 3],
    pub spots: Vec<TileSpot>,
    pub layout: ChunkLayout,
    /// The layouts of the groups coder, as [`TilePlan::places`].
    places: [ChunkLayout; 2],
}

impl ChunkPlan {
    /// How symbols lie; `walk` with the groups coder.
    pub fn symbols(&self, walk: Option<usize>) -> &ChunkLayout {
        walk.map_or(&self.layout, |walk| &self.places[walk])
    }
}

/// An array with the plans of its tiles and chunks.
#[derive(Clone, Debug)]
pub struct ArrayPlan<T> {
    pub array: Array,
    /// By [`TileSpot::plan`]; without nodes where the array has no such tile.
    tiles: Vec<TilePlan<T>>,
    chunks: Vec<ChunkPlan>,
    has_groups: bool,
    /// For each axis: any tile but the last, the last tile.
    pub axes: [[AxisPlan<T>; 2]; 3],
}

impl<T: Element> ArrayPlan<T> {
    pub fn new(array: Array) -> Self {
        let axes: [[AxisPlan<T>; 2]; 3] =
            std::array::from_fn(|a| [false, true].map(|last| AxisPlan::new(&array.tile_axis(a, last))));
        let differs: [bool; 3] = std::array::from_fn(|a| array.tile_axis(a, false) != array.tile_axis(a, true));
        let tile = |kind: usize| {
            let exists = (0..3).all(|a| kind >> a & 1 == 0 || differs[a]);
            let axes =
                std::array::from_fn(|a| if exists { axes[a][kind >> a & 1].clone() } else { AxisPlan::new(&[0.0]) });
            TilePlan::new(axes, array.sides().unit)
        };
        let tiles: Vec<_> = (0..8).map(tile).collect();
        let chunks = (0..8).map(|bits| ChunkPlan::new(&array, bits, differs, &tiles)).collect();
        Self { array, tiles, chunks, has_groups: false, axes }
    }
    /// The same for the groups coder.
    pub fn with_groups(mut self) -> Self {
        let banded = self.array.n.iter().all(|&n| n > 1);
        for walk in [0, 1] {
            let groups: Vec<_> = self.tiles.iter().map(|tile| tile.groups(banded.then_some(walk))).collect();
            self.tiles.iter_mut().zip(&groups).for_each(|(tile, groups)| tile.set_places(walk, groups));
            for chunk in &mut self.chunks {
                chunk.places[walk] = layout_in_places(&chunk.layout, groups.iter().map(TileRuns::new));
            }
        }
        self.has_groups = true;
        self
    }
    /// With the groups coder the axis that the bands of a chunk are walked along.
    pub fn walk(&self, choice: Choice) -> Option<usize> {
        self.has_groups.then(|| choice.walk())
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
    fn new<T: Element>(array: &Array, bits: usize, differs: [bool; 3], plans: &[TilePlan<T>]) -> Self {
        let sides = array.sides();
        let mut chunk = Self::default();
        chunk.layout.bits = 8 * T::BYTES as u32;
        let last: [bool; 3] = std::array::from_fn(|a| bits >> a & 1 == 1);
        chunk.dims = std::array::from_fn(|a| if last[a] { (array.n[a] - 1) % sides.chunk + 1 } else { sides.chunk });
        if (0..3).any(|a| !last[a] && array.n[a] <= sides.chunk) {
            return chunk; // no such chunk in this array
        }
        let tiles = chunk.dims.map(|m| m.div_ceil(sides.tile));
        for at in boxes(tiles) {
            let plan = (0..3).filter(|&a| differs[a] && last[a] && at[a] + 1 == tiles[a]).map(|a| 1 << a).sum();
            chunk.spots.push(TileSpot { lo: at.map(|t| t * sides.tile), plan });
            chunk.layout.tiles.push(TileRef { shape: plan, start: chunk.layout.nodes });
            chunk.layout.nodes += plans[plan].layout.nodes;
        }
        chunk.layout.shapes = plans.iter().map(|p| p.layout.clone()).collect();
        chunk
    }
}
