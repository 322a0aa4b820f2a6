//! The groups coder on the device: streams between their symbols and bytes.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{AssembleArguments, GroupChunk, GroupTile, GroupsArguments};
use super::blob::Blob;
use super::class_arguments::Chunk;
use super::coding::Coding;
use super::group_shapes::Tables;
use super::level::{NO_TILE, Worklist};
use super::tables::{Numbers, Spacing};
use super::whole::WholePart;
use super::{Pyramid, Stage, Work};
use crate::entropy::groups::geometry::TileGroups;
use crate::transform::pyramid::Real;
use crate::{Error, Result};
use cudarc::driver::CudaStream;
use std::ops::Range;

/// Warps of a block that packs or unpacks streams, and blocks of a multiprocessor: as in groups_pack.cu.
const WARPS: u32 = 4;
const BLOCKS: u32 = 8;
/// Threads of a block that assembles or parses a chunk: as in groups_assemble.cu.
const CHUNK_THREADS: u32 = 256;
/// Blocks that share the copying of the streams of a chunk at most.
const MOST_SHARES: u32 = 4;
/// Device addresses of the tables of shapes.
#[derive(Clone, Copy, Default)]
struct TableAddresses {
    shapes: u64,
    streams: u64,
    runs: u64,
}

/// Streams that are packed together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    All,
    /// Those of tiles all of whose streams pass through symbols.
    Listed,
    /// The streams 0 of tiles whose bands are coded elsewhere.
    Banded,
    /// The bands of such tiles for which that was not possible.
    LeftOut,
}

/// When streams are copied to their places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Assembling {
    Always,
    /// If no tiles were left out.
    AtOnce,
    /// If there were some.
    Late,
}

/// Tiles whose streams are unpacked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// Those of the arrays after the frame.
    Corners,
    /// Half of the others.
    First,
    /// What is left.
    Second,
}

/// Memory of the groups coder between symbols and bytes.
#[derive(Default)]
pub struct Groups {
    /// Held for its life.
    _tables: Buffer,
    at: TableAddresses,
    /// Of each shape: its streams by walk, and words of its slots.
    shapes: Vec<([u32; 2], u32)>,
    tile_streams: u32,
    group_tiles: Buffer,
    group_chunks: Buffer,
    slots: Buffer,
    exact: Buffer,
    lengths: Buffer,
    exact_counts: Buffer,
    places: Buffer,
    exact_places: Buffer,
    list: Buffer,
    left_out: Buffer,
    left_out_count: Buffer,
    /// Tiles of the list of which all streams pass through symbols, those of corner arrays first, and how many these are.
    list_count: u32,
    corner_count: u32,
    banded_count: u32,
    /// Of banded tiles.
    banded_shape: u32,
}

impl Groups {
    /// Tables for the tiles of all arrays of a frame with three axes.
    pub fn new<T: Real>(gpu: &Gpu, stages: &[Stage<T>]) -> Result<Self> {
        let mut tables = Tables::default();
        for stage in stages {
            // between the shapes of two arrays are some without streams
            let first = stage.level.first_shape as usize;
            tables.shapes.resize(first, bytemuck::Zeroable::zeroed());
            tables.slot_words.resize(first, 0);
            match &stage.plan {
                Some(plan) => {
                    for tile in plan.tile_plans() {
                        let streams = [0, 1].map(|walk| tile.groups(Some(walk)));
                        let numbers = Numbers::new(plan, tile, Spacing::Steps);
                        tables.add(&numbers.of_node, streams.each_ref());
                    }
                }
                None => {
                    let streams = TileGroups::without_bands(stage.len());
                    let numbers: Vec<u16> = (0..stage.len() as u16).collect();
                    tables.add(&numbers, [&streams; 2]);
                }
            }
        }
        let mut blob = Blob::default();
        let at = [blob.add(&tables.shapes), blob.add(&tables.streams), blob.add(&tables.runs)];
        let mut memory = Buffer::default();
        let base = blob.upload(gpu, &mut memory)?;
        let [shapes, streams, runs] = at.map(|offset| base + offset);
        let of_shapes: Vec<_> = tables.shapes.iter().zip(&tables.slot_words).map(|(s, &w)| (s.streams, w)).collect();
        Ok(Self {
            _tables: memory,
            at: TableAddresses { shapes, streams, runs },
            tile_streams: of_shapes.iter().flat_map(|(streams, _)| streams).copied().max().unwrap_or(1),
            shapes: of_shapes,
            ..Self::default()
        })
    }

    /// Reserves memory for the tiles of `list`, and sends where their streams stand. The bands of the tiles with the numbers `banded`, all those of
    /// one shape, are coded elsewhere.
    pub fn prepare<T: Real>(&mut self, gpu: &Gpu, list: &Worklist, banded: &[u32], encode: bool) -> Result<()> {
        let numbered = self.number(list)?;
        let tiles = numbered.tiles.len();
        self.banded_shape = banded.first().map_or(NO_TILE, |&number| list.tiles[number as usize].shape);
        let is_banded = |number: &u32| list.tiles[*number as usize].shape == self.banded_shape;
        let mut numbers: Vec<u32> = (0..tiles as u32).filter(|number| !is_banded(number)).collect();
        (self.list_count, self.banded_count) = (numbers.len() as u32, banded.len() as u32);
        let of_corners = |number: &u32| list.chunks[list.tiles[*number as usize].chunk as usize].stream > 0;
        self.corner_count = numbers.partition_point(of_corners) as u32;
        numbers.extend(banded);
        for numbers in [&mut self.lengths, &mut self.exact_counts] {
            numbers.reserve(gpu, 4 * numbered.streams as usize)?;
        }
        for places in [&mut self.places, &mut self.exact_places] {
            places.reserve(gpu, 8 * numbered.streams as usize)?;
        }
        if encode {
            // copies of the last stream may read a word behind it
            self.slots.reserve(gpu, 4 * (numbered.words as usize + 1))?;
            self.exact.reserve(gpu, T::BYTES * list.nodes as usize + 4)?;
        }
        self.left_out.reserve(gpu, 4 * tiles)?;
        self.left_out_count.reserve(gpu, 4)?;
        let of_tiles = self.group_tiles.reserve(gpu, size_of_val(&numbered.tiles[..]))?;
        let of_chunks = self.group_chunks.reserve(gpu, size_of_val(&numbered.chunks[..]))?;
        let listed = self.list.reserve(gpu, size_of_val(&numbers[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe {
            gpu.upload(of_tiles, &numbered.tiles)?;
            gpu.upload(of_chunks, &numbered.chunks)?;
            gpu.upload(listed, &numbers)
        }
    }

    /// Numbers the streams of a worklist: of each chunk one after the other, for either walk.
    fn number(&self, list: &Worklist) -> Result<Numbered> {
        let mut all = Numbered::default();
        let mut streams = 0u64;
        for Chunk { tile, tile_end, .. } in &list.chunks {
            let mut of_chunk = GroupChunk { first: streams as u32, streams: [0; 2], unused: 0 };
            for tile in &list.tiles[*tile as usize..*tile_end as usize] {
                let (of_shape, words) = self.shapes[tile.shape as usize];
                let first = of_chunk.streams.map(|before| of_chunk.first + before);
                all.tiles.push(GroupTile { first, slot: all.words });
                (0..2).for_each(|walk| of_chunk.streams[walk] += of_shape[walk]);
                all.words += words as u64;
            }
            streams += of_chunk.streams[0].max(of_chunk.streams[1]) as u64;
            all.chunks.push(of_chunk);
        }
        all.streams = u32::try_from(streams).map_err(|_| {
            Error::invalid("a frame with so many streams does not fit the GPU's tables")
                .remedy("use smaller frames (--frame)")
        })?;
        Ok(all)
    }

    /// Whether there are tiles in the worklist whose bands are coded elsewhere.
    pub fn has_banded(&self) -> bool {
        self.banded_count > 0
    }
    pub fn arguments(&self, gpu: &Gpu, coding: &Coding, value_bytes: usize) -> GroupsArguments {
        let parts = coding.parts(gpu);
        GroupsArguments {
            tiles: coding.tiles(gpu),
            chunks: parts.chunks,
            group_tiles: self.group_tiles.address(gpu),
            group_chunks: self.group_chunks.address(gpu),
            shapes: self.at.shapes,
            shape_streams: self.at.streams,
            runs: self.at.runs,
            q: coding.q(gpu),
            delta: coding.delta(gpu),
            slots: self.slots.address(gpu),
            exact: self.exact.address(gpu),
            lengths: self.lengths.address(gpu),
            exact_counts: self.exact_counts.address(gpu),
            places: self.places.address(gpu),
            exact_places: self.exact_places.address(gpu),
            list: self.list.address(gpu),
            banded: self.list.address(gpu) + 4 * self.list_count as u64,
            left_out: self.left_out.address(gpu),
            left_out_count: self.left_out_count.address(gpu),
            choices: coding.choices(gpu),
            output: parts.output,
            totals: parts.totals,
            capacity: parts.capacity,
            list_count: self.list_count,
            banded_count: self.banded_count,
            tile_streams: self.tile_streams,
            chunk_count: parts.chunk_count,
            value_bytes: value_bytes as u32,
            banded_shape: self.banded_shape,
        }
    }
    /// Device addresses of the list of tiles that the kernels of bands left out, and of their number.
    pub fn left_out(&self, gpu: &Gpu) -> (u64, u64) {
        (self.left_out.address(gpu), self.left_out_count.address(gpu))
    }
    /// [`Coding::reset`], and [`Groups::reset`].
    pub fn reset_chunks(&self, gpu: &Gpu, coding: &Coding, choice: u8) -> Result<()> {
        coding.reset_with(gpu, choice, (self.left_out_count.address(gpu), 1))
    }
    /// Forgets the tiles that were left out the last time.
    pub fn reset(&self, gpu: &Gpu) -> Result<()> {
        // SAFETY: reserved by `prepare`.
        unsafe { gpu.fill(self.left_out_count.address(gpu), 0, 4) }
    }
}

/// The streams of a worklist.
#[derive(Default)]
struct Numbered {
    tiles: Vec<GroupTile>,
    chunks: Vec<GroupChunk>,
    streams: u32,
    /// Of all slots.
    words: u64,
}

impl<T: Real> Pyramid<T> {
    /// Queues, on `stream`, the way from symbols to streams, after [`Coding::reset`].
    pub(super) fn pack_groups(&self, gpu: &Gpu, stream: &CudaStream, groups: &Groups, which: Packing) -> Result<()> {
        let all = groups.arguments(gpu, &self.coding, T::BYTES);
        let a = match which {
            Packing::All => all,
            Packing::Listed => GroupsArguments { banded_count: 0, left_out_count: 0, ..all },
            Packing::Banded => GroupsArguments { list_count: 0, left_out_count: 0, ..all },
            Packing::LeftOut => GroupsArguments { list_count: 0, banded_count: 0, ..all },
        };
        // SAFETY: every pointer was reserved by `prepare` for the tiles and chunks of the worklist.
        unsafe { gpu.launch_on(stream, "pack_groups", blocks(gpu, &a), 32 * WARPS, 0, &a) }
    }
    /// Queues, on `stream`, the copying of the streams of these chunks to their places in the output, when those of all chunks before them are there too;
    /// nothing happens when it is too small.
    pub(super) fn assemble_groups(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        groups: &Groups,
        chunks: Range<u32>,
        when: Assembling,
    ) -> Result<()> {
        let all = groups.arguments(gpu, &self.coding, T::BYTES);
        let left_out_count = if when == Assembling::Always { 0 } else { all.left_out_count };
        let name = if when == Assembling::Late { "assemble_left_groups" } else { "assemble_groups" };
        let (first, chunk_count) = (chunks.start, chunks.end);
        // where chunks are few, several blocks each
        let shares = (2 * gpu.multiprocessors / (chunks.len() as u32).max(1)).clamp(1, MOST_SHARES);
        let grid = chunks.len() as u32 * shares;
        let a = AssembleArguments { groups: GroupsArguments { left_out_count, chunk_count, ..all }, first, shares };
        // SAFETY: as in `pack_groups`.
        unsafe { gpu.launch_on(stream, name, grid, CHUNK_THREADS, 0, &a) }
    }
    /// The same for all chunks, whatever was left out.
    pub(super) fn assemble_all(&self, gpu: &Gpu, groups: &Groups) -> Result<()> {
        let chunks = 0..self.coding.parts(gpu).chunk_count;
        self.assemble_groups(gpu, &gpu.stream, groups, chunks, Assembling::Always)
    }
    /// The chunks that are whole when all tiles before `rest` are done; none where tiles of other shapes may take longer.
    pub(super) fn chunks_before(&self, rest: Option<&WholePart>) -> Range<u32> {
        let rest = rest.filter(|_| self.stages[0].tiles.all_whole());
        0..rest.zip(self.bands.as_ref()).map_or(0, |(part, bands)| bands.chunk(part.tiles.start))
    }
    /// Queues the way from the bands, of which some tiles may be left out, to bytes.
    pub(super) fn finish_groups(&mut self, gpu: &Gpu, work: &Work) -> Result<()> {
        // mostly there are none: what follows from them runs beside
        let count = self.coding.parts(gpu).chunk_count;
        let rest = self.chunks_before(self.whole_parts(gpu, 0, work).1.as_ref()).end..count;
        let beside = gpu.fork()?;
        let mut left = self.run_left_out(gpu, &beside, 0, work);
        let Some(groups) = &self.groups else { return left };
        left = left.and_then(|()| self.pack_groups(gpu, &beside, groups, Packing::LeftOut));
        let assembled = self.assemble_groups(gpu, &gpu.stream, groups, rest, Assembling::AtOnce);
        left = left.and_then(|()| self.assemble_groups(gpu, &beside, groups, 0..count, Assembling::Late));
        gpu.join(&beside)?;
        left.and(assembled)
    }
    /// Queues everything from bytes to symbols. Damage is noted in the chunks.
    pub(super) fn decode_groups(&self, gpu: &Gpu, groups: &Groups) -> Result<()> {
        self.parse_groups(gpu, groups)?;
        self.unpack_groups(gpu, &gpu.stream, groups, Part::All)
    }
    /// Queues the search for the streams in the bytes.
    pub(super) fn parse_groups(&self, gpu: &Gpu, groups: &Groups) -> Result<()> {
        groups.reset(gpu)?;
        let a = groups.arguments(gpu, &self.coding, T::BYTES);
        // SAFETY: as in `pack_groups`; the kernels check every place that comes from the bytes.
        unsafe { gpu.launch("parse_groups", a.chunk_count, CHUNK_THREADS, 0, &a) }
    }
    /// Queues, on `stream`, the way from the bytes of streams to symbols, after `parse_groups`.
    pub(super) fn unpack_groups(&self, gpu: &Gpu, stream: &CudaStream, groups: &Groups, part: Part) -> Result<()> {
        let all = groups.arguments(gpu, &self.coding, T::BYTES);
        let (corners, listed, banded) = (groups.corner_count, groups.list_count, groups.banded_count);
        let (half, half_banded) = (corners + (listed - corners) / 2, banded / 2);
        let of = |listed: Range<u32>, banded: Range<u32>, left_out_count| GroupsArguments {
            list: all.list + 4 * listed.start as u64,
            list_count: listed.len() as u32,
            banded: all.banded + 4 * banded.start as u64,
            banded_count: banded.len() as u32,
            left_out_count,
            ..all
        };
        let a = match part {
            Part::All => all,
            Part::Corners => of(0..corners, 0..0, 0),
            Part::First => of(corners..half, 0..half_banded, 0),
            Part::Second => of(half..listed, half_banded..banded, all.left_out_count),
        };
        // SAFETY: as in `parse_groups`.
        unsafe { gpu.launch_on(stream, "unpack_groups", blocks(gpu, &a), 32 * WARPS, 0, &a) }
    }
}

/// Blocks of threads that pack or unpack the streams of `a`, of which the device alone knows how many tiles are left out.
fn blocks(gpu: &Gpu, a: &GroupsArguments) -> u32 {
    let known = (a.list_count * a.tile_streams + a.banded_count).div_ceil(WARPS);
    let most = gpu.multiprocessors * BLOCKS;
    match (a.left_out_count, known) {
        (0, _) => known.min(most),
        // mostly none: few blocks that end at once
        (_, 0) => most / 2,
        _ => most,
    }
}
