//! Whole tiles in axis order with the groups coder: step 0 goes straight between values and bits (`kernels/bands.cuh`).

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{BandArguments, BandTile, Tile};
use super::groups::Groups;
use super::level::WholeTiles;
use super::{Pyramid, Work, narrow};
use crate::Result;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::plan::TilePlan;
use crate::volume::DType;

/// As in bands.cuh: weights of a new node, rows of a lane, steps in shared memory, and old rows of 0 around those of a plane.
const MOST_POINTS: usize = 6;
const ROWS: usize = 4;
const STAGES: usize = 4;
const PADDING: usize = 4;
/// Words of a warp, as in groups.cuh: a writer's buffer, a reader's window.
const WRITER_WORDS: usize = 768;
const READER_WORDS: usize = 512 + 4;

/// The kernels of bands for the whole tiles of a frame.
pub struct Bands {
    side: usize,
    weights: Buffer,
    list: Buffer,
    count: u32,
}

impl Bands {
    /// None where there are no kernels for such tiles, or shared memory is too small for them.
    pub fn new<T: Real>(gpu: &Gpu, plan: &TilePlan<T>, whole: &WholeTiles) -> Result<Option<Self>> {
        let side = whole.side as usize;
        let mut bands = Self { side, weights: Buffer::default(), list: Buffer::default(), count: 0 };
        let fits = [true, false].iter().all(|&encode| bands.shared_bytes(T::BYTES, encode) <= gpu.shared_per_block);
        let Some(weights) = weights(plan).filter(|_| side > 8 && fits) else { return Ok(None) };
        let address = bands.weights.reserve(gpu, size_of_val(&weights[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe { gpu.upload(address, &weights)? };
        Ok(Some(bands))
    }
    /// Sends the list of the tiles with these numbers.
    pub fn prepare(&mut self, gpu: &Gpu, numbers: &[u32], all: &[Tile]) -> Result<()> {
        let tiles: Vec<_> = numbers.iter().map(|&number| BandTile { number, at: all[number as usize].at }).collect();
        self.count = tiles.len() as u32;
        let address = self.list.reserve(gpu, size_of_val(&tiles[..]))?;
        // SAFETY: just reserved for exactly this list.
        unsafe { gpu.upload(address, &tiles) }
    }
    fn warps(&self) -> usize {
        self.side / ROWS / (32 / self.side)
    }
    /// Shared memory of a block: `BandMemory`, and what each warp reads or writes.
    fn shared_bytes(&self, value: usize, encode: bool) -> usize {
        let (side, old) = (self.side, self.side / 2 + 1);
        let plane = if encode { side * side } else { 4 };
        let stage = value * (2 * plane + (old * old).next_multiple_of(4));
        let rows = value * 2 * (old + PADDING) * side;
        let quantizers = (side / 8).pow(3) * 4 * value;
        let weights = value * side / 2 * 8;
        let words = if encode { WRITER_WORDS } else { READER_WORDS };
        let memory = STAGES * stage + rows + quantizers + weights + size_of::<u32>();
        memory.next_multiple_of(16) + 4 * words * self.warps()
    }
}

/// For 2, 4 and 6 points: of each new node of step 0 the weights of the old nodes around it, 0 for those that do not exist. None where axes differ.
fn weights<T: Real>(plan: &TilePlan<T>) -> Option<Vec<T>> {
    let of_axis = |axis: usize| -> Vec<T> {
        let new = plan.dims[axis] / 2;
        let mut all = vec![T::ZERO; 3 * new * MOST_POINTS];
        for (points, stencils) in plan.axes[axis].steps[0].stencils.iter().enumerate() {
            for (j, stencil) in stencils.iter().enumerate() {
                let first = (points * new + j) * MOST_POINTS + points + 1 - stencil.before;
                all[first..][..stencil.len].copy_from_slice(&stencil.weight[..stencil.len]);
            }
        }
        all
    };
    let [first, others @ ..] = [0, 1, 2].map(of_axis);
    let same = |axis: &Vec<T>| bytemuck::cast_slice::<T, u8>(axis) == bytemuck::cast_slice::<T, u8>(&first);
    others.iter().all(same).then_some(first)
}

impl<T: Real> Pyramid<T> {
    /// Step 0 of the listed tiles, whose nodes of S(1) are rebuilt; then those that were left out, as tiles of any shape.
    pub(super) fn run_bands(&mut self, gpu: &Gpu, bands: &Bands, groups: &Groups, work: &Work) -> Result<()> {
        let stage = &self.stages[0];
        let arguments = BandArguments {
            values: if work.encode { work.values.unwrap_or(stage.values.address(gpu)) } else { 0 },
            result: work.result,
            coarse: self.coarse.address(gpu),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers_at(gpu, 0),
            list: bands.list.address(gpu),
            weights: bands.weights.address(gpu),
            list_count: bands.count,
            tier_count: self.tier_count,
            n: narrow(stage.n),
            blocks: stage.blocks(true),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            groups: groups.arguments(gpu, &self.coding, T::BYTES),
        };
        let name = match (work.encode, bands.side, T::DTYPE) {
            (true, 16, DType::F32) => "encode_bands_16_f32",
            (true, 16, DType::F64) => "encode_bands_16_f64",
            (true, _, DType::F32) => "encode_bands_32_f32",
            (true, _, DType::F64) => "encode_bands_32_f64",
            (false, 16, DType::F32) => "decode_bands_16_f32",
            (false, 16, DType::F64) => "decode_bands_16_f64",
            (false, _, DType::F32) => "decode_bands_32_f32",
            (false, _, DType::F64) => "decode_bands_32_f64",
        };
        let shared = bands.shared_bytes(T::BYTES, work.encode);
        // launch bounds of the kernels; each block also takes 1 KiB for the system
        let most = match (bands.side, T::DTYPE) {
            (16, DType::F32) => 8,
            (16, DType::F64) => 5,
            (_, DType::F32) => 2,
            (_, DType::F64) => 1,
        };
        let blocks = gpu.multiprocessors * (gpu.shared_per_multiprocessor / (shared + 1024)).clamp(1, most) as u32;
        let left_out = groups.left_out(gpu);
        // SAFETY: all buffers were reserved for this worklist and the frame's extents.
        unsafe {
            gpu.launch(name, bands.count.min(blocks), 32 * bands.warps() as u32, shared, &arguments)?;
        }
        self.run_any(gpu, 0, work, (left_out.0, bands.count), left_out.1)
    }
}
