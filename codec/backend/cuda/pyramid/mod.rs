//! The pyramid on the device: all arrays of a frame stay there from values to bytes and back.

mod arguments;
mod bands;
mod blob;
mod choosing;
mod class_arguments;
mod coder;
mod coding;
mod decode;
mod encode;
mod flat;
mod group_shapes;
mod groups;
mod host_decode;
mod host_encode;
mod level;
mod lines;
mod parts;
mod planes;
mod planes_run;
mod slabs;
mod stage;
mod tables;
mod tiles;
mod whole;

use super::buffer::Buffer;
use super::gpu::Gpu;
use crate::params::{Order, Points};
use crate::transform::pyramid::choose::of_corner_arrays;
use crate::transform::pyramid::geometry::arrays;
use crate::transform::pyramid::quantizer::{self, LEVELS};
use crate::transform::pyramid::{Real, packet};
use crate::volume::DType;
use crate::{Params, Result, ToleranceMap};
use arguments::{CornerArray, CornersArguments, LastArguments, Quantizer};
use bands::Bands;
use choosing::Choosing;
use coder::Coder;
use coding::Coding;
pub(super) use flat::{Flat, FlatPart};
use groups::{Groups, Packing};
pub(super) use host_decode::decode_frame;
pub(super) use host_encode::encode_frame;
use level::{Gathering, Shapes, Worklist};
use lines::Lines;
use planes::Planes;
use slabs::Slabs;
pub(super) use slabs::{Team, Worker};
use stage::Stage;
use tables::Spacing;

/// Corner arrays of a frame at most, threads of a block that gathers them, and its rows: as in corners.cu.
const MOST_ARRAYS: usize = 16;
const CORNERS_PIECE: u32 = 128;
const CORNERS_ROWS: u32 = 8;

/// What a run of the tile kernels works on.
struct Work {
    encode: bool,
    /// Where the values of the whole array start or would start, if not in its own memory.
    values: Option<u64>,
    /// Device memory for the box `lo..hi` of the reconstruction, or 0.
    result: u64,
    lo: [usize; 3],
    hi: [usize; 3],
}

/// Everything that depends on the frame's shape alone, kept from frame to frame.
pub(super) struct Pyramid<T> {
    key: ([usize; 3], u8, crate::Coder, Order),
    /// The frame first, the last array at the end.
    stages: Vec<Stage<T>>,
    shapes: Shapes,
    lines: Lines,
    coder: Coder,
    /// Chunks of all arrays: those of the last array first, those of the frame at the end.
    coding: Coding,
    /// Of the planes coder, else none.
    planes: Option<Planes>,
    /// Of the groups coder, else none.
    groups: Option<Groups>,
    /// Of the groups coder in axis order, where there are kernels for it.
    bands: Option<Bands>,
    /// None where the frame is its own last array.
    choosing: Option<Choosing>,
    quantizers: Buffer,
    spill: Buffer,
    /// Rebuilt nodes of S(1) of whole tiles.
    coarse: Buffer,
    scratch: Buffer,
    /// Decoded values on their way to the host.
    result: Buffer,
    slabs: Slabs,
    tier_count: u32,
    /// The tiers of the frame's blocks on the device are those of a single one.
    one_tier: bool,
}

impl<T: Real> Pyramid<T> {
    /// Tables for frames of `n` nodes. With the planes coder they have three axes, and tiles of 8; with the groups coder three axes.
    pub fn new(gpu: &Gpu, n: [usize; 3], params: &Params) -> Result<Self> {
        let tile = params.tile;
        let mut gathering = Gathering::new(spacing(params.coder));
        let stages: Vec<_> =
            arrays(n, tile)?.into_iter().map(|array| Stage::new(&mut gathering, array, params)).collect();
        let shapes = gathering.upload(gpu)?;
        let lines = stages[0].lines(gpu)?;
        let coder = Coder::new(gpu)?;
        let planes = match params.coder {
            crate::Coder::Class | crate::Coder::Groups => None,
            crate::Coder::Planes => Some(Planes::new(gpu, &gathering.shape_nodes, &stages)?),
        };
        let groups = match params.coder {
            crate::Coder::Class | crate::Coder::Planes => None,
            crate::Coder::Groups => Some(Groups::new(gpu, &stages)?),
        };
        let bands = match (&groups, params.effective_order()) {
            (Some(_), Order::Axis) => stages[0].bands(gpu)?,
            _ => None,
        };
        let choosing = stages[0].plan.as_ref().map(|plan| Choosing::new(gpu, plan)).transpose()?;
        let [quantizers, spill, coarse, scratch, result] = std::array::from_fn(|_| Buffer::default());
        Ok(Self {
            key: (n, tile, params.coder, params.effective_order()),
            stages,
            shapes,
            lines,
            coder,
            coding: Coding::default(),
            planes,
            groups,
            bands,
            choosing,
            quantizers,
            spill,
            coarse,
            scratch,
            result,
            slabs: Slabs::default(),
            tier_count: 1,
            one_tier: false,
        })
    }
    pub fn is_for(&self, n: [usize; 3], params: &Params) -> bool {
        self.key == (n, params.tile, params.coder, params.effective_order())
    }
    /// An empty worklist for this coder.
    fn worklist(&self) -> Worklist {
        Worklist::new(spacing(self.key.2))
    }
    /// Reserves memory for the tiles and chunks of `list`, and sends what the kernels need to know of them.
    fn prepare(&mut self, gpu: &Gpu, list: &Worklist, encode: bool) -> Result<()> {
        if let Some(planes) = &mut self.planes {
            planes.prepare(gpu, list, &self.stages, encode)?;
        } else {
            let whole = self.sort_tiles(gpu, list)?;
            let Some(groups) = &mut self.groups else {
                return self.coding.prepare(gpu, list, self.shapes.slots, T::BYTES, encode);
            };
            let mut banded = &[][..];
            if let Some(bands) = &mut self.bands {
                bands.prepare(gpu, &whole, &list.tiles)?;
                banded = &whole;
            }
            groups.prepare::<T>(gpu, list, banded, encode)?;
        }
        self.coding.prepare(gpu, list, 0, T::BYTES, false)?;
        if encode { self.coding.reserve_output(gpu, list.nodes * T::BYTES as u64 / 4 + 4096) } else { Ok(()) }
    }
    /// What the chunks of a frame choose that is not written in each of them.
    fn set_points(&mut self, points: Points) {
        if let Some(planes) = &mut self.planes {
            planes.choice = packet::Coding { coder: self.key.2, points, order: Order::Axis }.axis_order().to_byte();
        }
    }
    /// Makes the chunks of the worklist ready to be encoded.
    fn reset(&mut self, gpu: &Gpu, points: Points) -> Result<()> {
        self.set_points(points);
        let choice = of_corner_arrays(points).to_byte();
        match (&self.planes, &self.groups) {
            (Some(planes), _) => planes.reset_chunks(gpu, &self.coding),
            (_, Some(groups)) => groups.reset_chunks(gpu, &self.coding, choice),
            _ => self.coding.reset(gpu, choice),
        }
    }
    /// Queues everything from symbols to bytes; `work`: on the tiles of the frame, if it is among that.
    fn encode_symbols(&mut self, gpu: &Gpu, work: Option<&Work>) -> Result<()> {
        match (&self.planes, &self.groups, work) {
            (Some(planes), ..) => self.pack(gpu, planes),
            // the others are packed beside the bands
            (_, Some(groups), Some(work)) if groups.has_banded() => self.finish_groups(gpu, work),
            (_, Some(groups), _) => {
                self.pack_groups(gpu, &gpu.stream, groups, Packing::All)?;
                self.assemble_all(gpu, groups)
            }
            _ => self.coding.encode(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32),
        }
    }
    /// Queues the last step of that once more.
    fn assemble(&self, gpu: &Gpu) -> Result<()> {
        match (&self.planes, &self.groups) {
            (Some(planes), _) => self.assemble_planes(gpu, planes),
            (_, Some(groups)) => self.assemble_all(gpu, groups),
            _ => self.coding.assemble(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32),
        }
    }
    /// Queues everything from bytes to symbols.
    fn decode_symbols(&self, gpu: &Gpu) -> Result<()> {
        match (&self.planes, &self.groups) {
            (Some(planes), _) => self.unpack(gpu, planes),
            (_, Some(groups)) => self.decode_groups(gpu, groups),
            _ => self.coding.decode(gpu, &self.coder, &self.shapes, 8 * T::BYTES as u32),
        }
    }
    /// Address of the quantizers of a level.
    fn quantizers_at(&self, gpu: &Gpu, level: usize) -> u64 {
        self.quantizers.address(gpu) + (level * self.tier_count as usize * size_of::<Quantizer<T>>()) as u64
    }

    /// Sends the quantizers and the tiers of the frame's blocks.
    pub fn send_tiers(&mut self, gpu: &Gpu, map: &ToleranceMap, max_abs: T) -> Result<()> {
        let table: Vec<_> = quantizer::table::<T>(&map.tiers, max_abs)
            .iter()
            .flatten()
            .map(|q| Quantizer { step: q.step, inverse: q.inverse, check: q.check })
            .collect();
        self.tier_count = map.tiers.len() as u32;
        let known = std::mem::take(&mut self.one_tier);
        let address = self.quantizers.reserve(gpu, std::mem::size_of_val(&table[..]))?;
        let blocks = self.stages[0].tiers.reserve(gpu, map.tier_of_block.len())?;
        // SAFETY: just reserved for exactly these tables.
        unsafe {
            gpu.upload(address, &table)?;
            match map.tiers.len() {
                1 if known => {}
                1 => gpu.fill(blocks, 0, map.tier_of_block.len())?,
                _ => gpu.upload(blocks, &map.tier_of_block)?,
            }
        }
        self.one_tier = self.tier_count == 1;
        Ok(())
    }

    /// Queues the gathering of the tiers of the corner arrays. The corners' values are gathered as well, from the array of
    /// number `from`, for those after it. `with_last`: then the last array is quantized, as `run_last` does it.
    fn gather(&mut self, gpu: &Gpu, from: usize, with_last: bool) -> Result<()> {
        let mut arrays: [CornerArray; MOST_ARRAYS] = bytemuck::Zeroable::zeroed();
        let mut pieces = 0;
        for (k, (stage, array)) in self.stages[1..].iter_mut().zip(&mut arrays).enumerate() {
            stage.reserve_corners(gpu)?;
            let values = stage.source().address(gpu);
            let tiers = stage.tiers.reserve(gpu, stage.len())?;
            let [nz, ny, nx] = narrow(stage.n);
            pieces += (nz * ny).div_ceil(CORNERS_ROWS) * nx.div_ceil(CORNERS_PIECE);
            let values = if k + 1 > from { values } else { 0 };
            *array = CornerArray { n: [nz, ny, nx], pieces_end: pieces, values, tiers };
        }
        let (frame, source) = (&self.stages[0], self.stages.get(from));
        let arguments = CornersArguments {
            tiers: if self.tier_count == 1 { 0 } else { frame.tiers.address(gpu) },
            values: source.map_or(0, |stage| stage.source().address(gpu)),
            n: narrow(frame.n),
            blocks: frame.blocks(true),
            from: from.min(MOST_ARRAYS) as u32,
            array_count: self.stages.len() as u32 - 1,
            side: frame.side(),
            with_last: with_last as u32,
            quantizers: self.quantizers_at(gpu, LEVELS.len() - 1),
            q: self.coding.q(gpu),
            delta: self.coding.delta(gpu),
            arrays,
        };
        let name = if T::DTYPE == DType::F32 { "gather_corners_f32" } else { "gather_corners_f64" };
        // SAFETY: reserved just now, and by whoever filled the frame's tiers and the array that is read.
        unsafe { gpu.launch(name, pieces, CORNERS_PIECE, 0, &arguments) }
    }

    /// Quantizes or rebuilds the last array in place. Its symbols are the first of the worklist.
    fn run_last(&self, gpu: &Gpu, encode: bool) -> Result<()> {
        let stage = &self.stages[self.stages.len() - 1];
        let arguments = LastArguments {
            values: stage.values.address(gpu),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers_at(gpu, LEVELS.len() - 1),
            q: self.coding.q(gpu),
            delta: self.coding.delta(gpu),
            count: stage.len() as u32,
            shift: if self.stages.len() == 1 { 3 } else { 0 },
        };
        let name = match (encode, T::DTYPE) {
            (true, DType::F32) => "encode_last_f32",
            (true, DType::F64) => "encode_last_f64",
            (false, DType::F32) => "decode_last_f32",
            (false, DType::F64) => "decode_last_f64",
        };
        // SAFETY: the last array has at most 8 nodes, all buffers were reserved for them.
        unsafe { gpu.launch(name, 1, 32, 0, &arguments) }
    }
}

/// How the symbols of a coder lie in memory.
fn spacing(coder: crate::Coder) -> Spacing {
    match coder {
        crate::Coder::Class => Spacing::Units,
        crate::Coder::Groups => Spacing::Steps,
        crate::Coder::Planes => Spacing::Tiles,
    }
}

/// Extents in the width that kernels use.
fn narrow(n: [usize; 3]) -> [u32; 3] {
    n.map(|n| n as u32)
}
