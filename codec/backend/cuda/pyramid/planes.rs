//! The planes coder on the device: tiles go straight between values and planes where chunks choose four points, else by way of their symbols.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::Stage;
use super::arguments::{AxisWeights, BorderEntry, BorderShape, PlanesArguments, Quad, Tile};
use super::coding::Coding;
use super::level::{NO_TILE, Worklist};
use crate::Result;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::choice::Choice;
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};

/// As in planes.cuh and planes_tile.cuh: groups of a tile, words of its planes at most, bytes of its record; nodes of a tile's side, tiles of
/// a warp, warps of a block.
const GROUPS: usize = 16;
pub(super) const TILE_WORDS: usize = 256;
pub(super) const RECORD_BYTES: usize = 16;
const SIDE: u32 = 8;
const QUAD: u32 = 4;
pub(super) const WARPS: u32 = 4;
/// Counts of an array: tiles left out, and turns that blocks took.
const COUNTS: usize = 2;
/// Words from one count of corner arrays to the next, as in planes_corners.cu.
const COUNT_WORDS: usize = 32;
/// As in planes_border.cuh: where the weights of each step of an axis begin.
const FIRST_WEIGHTS: [usize; 3] = [0, 3, 5];
/// Number of four points among the choices, the only ones that the kernels of whole tiles know.
const FOUR_POINTS: u8 = 1;

/// The whole tiles of an array: their shapes, which all have the same weights on all axes.
pub struct Eights<T> {
    shapes: Vec<u32>,
    pub(super) weights: AxisWeights<T>,
}

impl<T: Real> Eights<T> {
    /// `first_shape`: of the array.
    pub fn new(plan: &ArrayPlan<T>, first_shape: u32) -> Option<Self> {
        let kinds: Vec<_> = plan.tile_plans().iter().map(weights).collect();
        let weights = kinds.iter().flatten().next().copied()?;
        let same = |kind: &Option<AxisWeights<T>>| {
            kind.is_some_and(|kind| bytemuck::bytes_of(&kind) == bytemuck::bytes_of(&weights))
        };
        let shapes = (first_shape..).zip(&kinds).filter(|(_, kind)| same(kind)).map(|(shape, _)| shape).collect();
        Some(Self { shapes, weights })
    }
}

/// The weights of a tile of 8 x 8 x 8 nodes whose axes have the same.
fn weights<T: Real>(plan: &TilePlan<T>) -> Option<AxisWeights<T>> {
    if plan.dims != [SIDE as usize; 3] {
        return None;
    }
    let of_axis = |axis: usize| {
        let mut of = AxisWeights { step0: [[T::ZERO; 4]; 3], step1: [[T::ZERO; 3]; 2], step2: [T::ZERO; 2] };
        let stencil = |step: usize, new: usize| plan.axes[axis].steps[step].stencils[FOUR_POINTS as usize][new];
        (0..3).for_each(|new| of.step0[new].copy_from_slice(&stencil(0, new).weight[..4]));
        (0..2).for_each(|new| of.step1[new].copy_from_slice(&stencil(1, new).weight[..3]));
        of.step2.copy_from_slice(&stencil(2, 0).weight[..2]);
        of
    };
    let [first, others @ ..] = [0, 1, 2].map(of_axis);
    others.iter().all(|axis| bytemuck::bytes_of(axis) == bytemuck::bytes_of(&first)).then_some(first)
}

/// A shape of tiles, for the kernels of those that are not whole.
fn border_shape<T: Real>(plan: &TilePlan<T>) -> BorderShape<T> {
    let mut shape = BorderShape { dims: plan.dims.map(|n| n as u32), unused: 0, weights: [[[T::ZERO; 4]; 6]; 3] };
    for (axis, weights) in plan.axes.iter().zip(&mut shape.weights) {
        for (step, first) in axis.steps.iter().zip(FIRST_WEIGHTS) {
            for (stencil, weights) in step.stencils[FOUR_POINTS as usize].iter().zip(&mut weights[first..]) {
                weights[..stencil.len].copy_from_slice(&stencil.weight[..stencil.len]);
            }
        }
    }
    shape
}

/// Where the tiles of one array stand in the lists on the device.
#[derive(Clone, Copy, Default)]
pub(super) struct Listed {
    /// Address of the numbers of its tiles: those of any shape, then the whole ones.
    pub tiles: u64,
    pub any: u32,
    pub whole: u32,
    pub quads: u64,
    pub quad_count: u32,
    /// Those of any shape once more, by fours.
    pub borders: u64,
    pub border_count: u32,
}

/// Memory of the planes coder between values and bytes.
#[derive(Default)]
pub struct Planes {
    shape_nodes: Buffer,
    /// All shapes of tiles but that of the last array.
    border_shapes: Buffer,
    lists: Buffer,
    widths: Buffer,
    slots: Buffer,
    sources: Buffer,
    records: Buffer,
    exact_at: Buffer,
    pub(super) slow: Buffer,
    counts: Buffer,
    /// Of the kernels of corner arrays, which leave them 0.
    corner_counts: Buffer,
    /// Of each array of the pyramid, the frame first.
    pub(super) listed: Vec<Listed>,
    /// Addresses of all tile numbers (the last array's, those of corner arrays, of the frame) and of the first place of each array in the list of tiles
    /// left out.
    all: u64,
    slow_first: u64,
    /// How many of all tiles are the last array's, the last array's or those of corner arrays, and all of them.
    ends: [u32; 3],
    /// The choice of every chunk.
    pub choice: u8,
}

impl Planes {
    /// `shape_nodes`: coded nodes of each shape.
    pub fn new<T: Real>(gpu: &Gpu, shape_nodes: &[u32], stages: &[Stage<T>]) -> Result<Self> {
        let mut planes = Self::default();
        let address = planes.shape_nodes.reserve(gpu, size_of_val(shape_nodes))?;
        let plans = stages.iter().filter_map(|stage| stage.plan.as_ref());
        let shapes: Vec<_> = plans.flat_map(|plan| plan.tile_plans().iter().map(border_shape)).collect();
        let shapes_at = planes.border_shapes.reserve(gpu, size_of_val(&shapes[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe {
            gpu.upload(address, shape_nodes)?;
            gpu.upload(shapes_at, &shapes)?;
        }
        Ok(planes)
    }

    /// Reserves memory for the tiles of `list`, and sends the lists of them.
    pub fn prepare<T: Real>(&mut self, gpu: &Gpu, list: &Worklist, stages: &[Stage<T>], encode: bool) -> Result<()> {
        let tiles = list.tiles.len() - 1;
        self.slow.reserve(gpu, 4 * tiles)?;
        if encode {
            self.widths.reserve(gpu, GROUPS * tiles)?;
            self.slots.reserve(gpu, 4 * TILE_WORDS * tiles)?;
            self.sources.reserve(gpu, 4 * tiles)?;
        }
        self.records.reserve(gpu, RECORD_BYTES * tiles)?;
        self.exact_at.reserve(gpu, 4 * tiles)?;
        let sorted: Vec<_> = stages.iter().map(|stage| Sorted::new(stage, &list.tiles)).collect();
        let mut words: Vec<u32> = Vec::new();
        // quads first, 16 bytes each: they start where 16 bytes do
        let quads: Vec<u64> =
            sorted.iter().map(|s| append(&mut words, bytemuck::cast_slice(&s.quads).iter().copied())).collect();
        let borders: Vec<u64> =
            sorted.iter().map(|s| append(&mut words, bytemuck::cast_slice(&s.borders).iter().copied())).collect();
        let mut listed = Vec::with_capacity(sorted.len());
        for ((s, quads), borders) in sorted.iter().zip(quads).zip(borders) {
            let tiles = append(&mut words, s.any.iter().chain(&s.whole).copied());
            let [any, whole, quad_count, border_count] =
                [s.any.len(), s.whole.len(), s.quads.len(), s.borders.len()].map(|count| count as u32);
            listed.push(Listed { tiles, any, whole, quads, quad_count, borders, border_count });
        }
        let all = 4 * words.len() as u64;
        let mut end_of = |arrays: &[Sorted]| {
            append(&mut words, arrays.iter().flat_map(|s| s.any.iter().chain(&s.whole).copied()));
            (words.len() as u64 - all / 4) as u32
        };
        let (others, last) = sorted.split_at(sorted.len() - 1);
        let (frame, corners) = others.split_at(others.len().min(1));
        self.ends = [last, corners, frame].map(&mut end_of);
        let slow_first = append(&mut words, stages.iter().map(|s| s.span.tiles.start as u32));
        let base = self.lists.reserve(gpu, size_of_val(&words[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe { gpu.upload(base, &words)? };
        self.listed = listed
            .into_iter()
            .map(|l| Listed { tiles: base + l.tiles, quads: base + l.quads, borders: base + l.borders, ..l })
            .collect();
        (self.all, self.slow_first) = (base + all, base + slow_first);
        self.counts.reserve(gpu, 4 * self.count_words())?;
        let bytes = 4 * COUNT_WORDS * (3 + stages.len());
        let corner_counts = self.corner_counts.reserve(gpu, bytes)?;
        // SAFETY: just reserved for as many.
        unsafe { gpu.fill(corner_counts, 0, bytes) }
    }

    /// Words of the counts of tiles left out and of turns, of each array.
    fn count_words(&self) -> usize {
        COUNTS * self.listed.len()
    }
    /// Device address of the shapes of tiles.
    pub(super) fn border_shapes(&self, gpu: &Gpu) -> u64 {
        self.border_shapes.address(gpu)
    }
    /// Device address of the number of the frame's tiles that are left out.
    pub(super) fn slow_count(&self, gpu: &Gpu) -> u64 {
        self.counts.address(gpu)
    }
    /// Where the counts of the kernels of corner arrays stand: the turns that blocks took, how many have their values, the blocks that are done,
    /// the entries of each array.
    pub(super) fn corner_counts(&self, gpu: &Gpu) -> [u64; 4] {
        [0, 1, 2, 3].map(|line| self.corner_counts.address(gpu) + 4 * COUNT_WORDS as u64 * line)
    }
    /// The counts that are 0 before a frame: their address, and how many words they are.
    pub(super) fn counts(&self, gpu: &Gpu) -> (u64, u32) {
        (self.counts.address(gpu), self.count_words() as u32)
    }

    /// [`Coding::reset`], and [`Planes::reset`].
    pub fn reset_chunks(&self, gpu: &Gpu, coding: &Coding) -> Result<()> {
        coding.reset_with(gpu, self.choice, self.counts(gpu))
    }

    /// Forgets all counts of the last time.
    pub fn reset(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.fill(self.counts.address(gpu), 0, 4 * self.count_words()) }
    }

    /// Whether tiles of array `k`, if it is not the last one, go straight between values and planes: those of corner arrays have a tier a node.
    pub(super) fn takes(&self, k: usize, tier_count: u32) -> bool {
        Choice::from_byte(self.choice).is_some_and(|c| c.points == FOUR_POINTS) && (k == 0 || tier_count == 1)
    }

    pub(super) fn arguments(&self, gpu: &Gpu, coding: &Coding, tier_count: u32, value_bytes: usize) -> PlanesArguments {
        let others = match (self.takes(1, tier_count), self.takes(0, tier_count)) {
            (true, _) => self.ends[0],
            (false, true) => self.ends[1],
            (false, false) => self.ends[2],
        };
        let parts = coding.parts(gpu);
        PlanesArguments {
            tiles: coding.tiles(gpu),
            chunks: parts.chunks,
            shape_nodes: self.shape_nodes.address(gpu),
            q: coding.q(gpu),
            delta: coding.delta(gpu),
            widths: self.widths.address(gpu),
            slots: self.slots.address(gpu),
            sources: self.sources.address(gpu),
            records: self.records.address(gpu),
            exact_at: self.exact_at.address(gpu),
            list: self.all,
            slow: self.slow.address(gpu),
            slow_count: self.counts.address(gpu),
            slow_first: self.slow_first,
            choices: coding.choices(gpu),
            output: parts.output,
            totals: parts.totals,
            capacity: parts.capacity,
            list_count: others,
            stage_count: self.listed.len() as u32,
            chunk_count: parts.chunk_count,
            value_bytes: value_bytes as u32,
        }
    }
}

/// Appends numbers, and returns where they start, in bytes.
fn append(words: &mut Vec<u32>, more: impl IntoIterator<Item = u32>) -> u64 {
    let at = 4 * words.len() as u64;
    words.extend(more);
    at
}

impl Quad {
    /// The number of its first tile.
    fn number(&self) -> u32 {
        self.tiles & 0x3fff_ffff
    }
}

impl BorderEntry {
    /// Up to four tiles.
    fn new(some: &[u32]) -> Self {
        Self { tiles: std::array::from_fn(|i| some.get(i).copied().unwrap_or(NO_TILE)) }
    }
}

/// The tiles of an array by what takes them.
#[derive(Default)]
struct Sorted {
    any: Vec<u32>,
    whole: Vec<u32>,
    quads: Vec<Quad>,
    borders: Vec<BorderEntry>,
}

impl Sorted {
    /// `all`: of all arrays.
    fn new<T: Real>(stage: &Stage<T>, all: &[Tile]) -> Self {
        let mut sorted = Self::default();
        let shapes = stage.eights.as_ref().map_or(&[][..], |eights| &eights.shapes);
        for number in stage.span.tiles.clone() {
            let tile = &all[number];
            if shapes.contains(&tile.shape) { sorted.add(number as u32, tile) } else { sorted.any.push(number as u32) }
        }
        // neighbours along a row, whatever chunk they are in, are written at about the same time: sectors that they share, and pages of memory
        sorted.quads.sort_by_key(|quad| quad.at);
        if let Some(plan) = &stage.plan {
            // in the frame four have the same shape
            let kind = |&number: &u32| {
                let tile = &all[number as usize];
                (tile.chunk, if plan.array.is_frame() { tile.shape } else { 0 })
            };
            let mut any = sorted.any.clone();
            any.sort_by_key(kind);
            let together = any.chunk_by(|a, b| kind(a) == kind(b)).flat_map(|same| same.chunks(QUAD as usize));
            sorted.borders = together.map(BorderEntry::new).collect();
        }
        sorted
    }
    /// A whole tile: with the one before it where they are neighbours.
    fn add(&mut self, number: u32, tile: &Tile) {
        self.whole.push(number);
        if let Some(quad) = self.quads.last_mut() {
            let (first, count) = (quad.number(), (quad.tiles >> 30) + 1);
            let next = [quad.at[0], quad.at[1], quad.at[2] + SIDE * count];
            // four start where 32 nodes do, so that they lie in one chunk
            if count < QUAD && first + count == number && tile.at == next && !next[2].is_multiple_of(QUAD * SIDE) {
                quad.tiles += 1 << 30;
                return;
            }
        }
        self.quads.push(Quad { tiles: number, at: tile.at });
    }
}
