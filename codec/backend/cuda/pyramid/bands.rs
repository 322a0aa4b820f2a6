//! Whole tiles in axis order with the groups coder: step 0 goes straight between values and bits (`kernels/bands.cuh`).

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::arguments::{BandArguments, BandTile, Tile};
use super::groups::Groups;
use super::level::WholeTiles;
use super::whole::WholePart;
use super::{Pyramid, Work, narrow};
use crate::Result;
use crate::transform::pyramid::Real;
use crate::transform::pyramid::plan::TilePlan;
use crate::volume::DType;
use cudarc::driver::CudaStream;

/// As in bands_memory.cuh: weights of a new node.
const MOST_POINTS: usize = 6;

/// A kernel of bands, as in bands_encode.cu and bands_decode.cu: what it does and for which tiles, its name, the shared memory of a block in bytes, threads
/// of a block, and blocks of a multiprocessor at most, by its registers.
struct BandKernel {
    encode: bool,
    side: u32,
    dtype: DType,
    name: &'static str,
    shared: usize,
    threads: u32,
    blocks: usize,
}

#[rustfmt::skip]
const KERNELS: [BandKernel; 8] = [
    BandKernel { encode: true, side: 32, dtype: DType::F32, name: "encode_bands_32_f32", shared: 73648, threads: 256, blocks: 3 },
    BandKernel { encode: true, side: 16, dtype: DType::F32, name: "encode_bands_16_f32", shared: 19248, threads: 64, blocks: 11 },
    BandKernel { encode: true, side: 32, dtype: DType::F64, name: "encode_bands_32_f64", shared: 104496, threads: 256, blocks: 2 },
    BandKernel { encode: true, side: 16, dtype: DType::F64, name: "encode_bands_16_f64", shared: 27632, threads: 64, blocks: 8 },
    BandKernel { encode: false, side: 32, dtype: DType::F32, name: "decode_bands_32_f32", shared: 58960, threads: 256, blocks: 3 },
    BandKernel { encode: false, side: 16, dtype: DType::F32, name: "decode_bands_16_f32", shared: 15856, threads: 64, blocks: 8 },
    BandKernel { encode: false, side: 32, dtype: DType::F64, name: "decode_bands_32_f64", shared: 75728, threads: 256, blocks: 2 },
    BandKernel { encode: false, side: 16, dtype: DType::F64, name: "decode_bands_16_f64", shared: 20848, threads: 64, blocks: 5 },
];

/// Of tiles of `side`: the kernel that encodes them, or the one that decodes them.
fn kernel(encode: bool, side: u32, dtype: DType) -> Option<&'static BandKernel> {
    KERNELS.iter().find(|kernel| (kernel.encode, kernel.side, kernel.dtype) == (encode, side, dtype))
}

/// The kernels of bands for the whole tiles of a frame.
pub struct Bands {
    encode: &'static BandKernel,
    decode: &'static BandKernel,
    weights: Buffer,
    list: Buffer,
    /// Of each tile of the list.
    chunks: Vec<u32>,
}

impl Bands {
    /// None where there are no kernels for such tiles, or shared memory is too small for them.
    pub fn new<T: Real>(gpu: &Gpu, plan: &TilePlan<T>, whole: &WholeTiles) -> Result<Option<Self>> {
        let [encode, decode] = [true, false].map(|encode| kernel(encode, whole.side, T::DTYPE));
        let (Some(encode), Some(decode)) = (encode, decode) else { return Ok(None) };
        let fits = encode.shared.max(decode.shared) <= gpu.shared_per_block;
        let Some(weights) = weights(plan).filter(|_| fits) else { return Ok(None) };
        let mut bands =
            Self { encode, decode, weights: Buffer::default(), list: Buffer::default(), chunks: Vec::new() };
        let address = bands.weights.reserve(gpu, size_of_val(&weights[..]))?;
        // SAFETY: just reserved for exactly these.
        unsafe { gpu.upload(address, &weights)? };
        Ok(Some(bands))
    }
    /// That of a tile of the list.
    pub fn chunk(&self, tile: u32) -> u32 {
        self.chunks[tile as usize]
    }
    /// Sends the list of the tiles with these numbers.
    pub fn prepare(&mut self, gpu: &Gpu, numbers: &[u32], all: &[Tile]) -> Result<()> {
        let tiles: Vec<_> = numbers.iter().map(|&number| BandTile { number, at: all[number as usize].at }).collect();
        self.chunks = numbers.iter().map(|&number| all[number as usize].chunk).collect();
        let address = self.list.reserve(gpu, size_of_val(&tiles[..]))?;
        // SAFETY: just reserved for exactly this list.
        unsafe { gpu.upload(address, &tiles) }
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
    /// Queues, on `stream`, step 0 of a part of the listed tiles, whose nodes of S(1) are rebuilt.
    pub(super) fn run_bands(
        &self,
        (gpu, stream): (&Gpu, &CudaStream),
        bands: &Bands,
        groups: &Groups,
        work: &Work,
        part: &WholePart,
    ) -> Result<()> {
        let stage = &self.stages[0];
        let arguments = BandArguments {
            values: if work.encode { work.values.unwrap_or(stage.values.address(gpu)) } else { 0 },
            result: work.result,
            coarse: self.coarse.address(gpu) + self.coarse_bytes(part.tiles.start),
            tiers: stage.tiers.address(gpu),
            quantizers: self.quantizers_at(gpu, 0),
            list: bands.list.address(gpu) + part.tiles.start as u64 * size_of::<BandTile>() as u64,
            weights: bands.weights.address(gpu),
            list_count: part.tiles.len() as u32,
            tier_count: self.tier_count,
            n: narrow(stage.n),
            blocks: stage.blocks(true),
            lo: narrow(work.lo),
            hi: narrow(work.hi),
            part: part.number,
            unused: 0,
            groups: groups.arguments(gpu, &self.coding, T::BYTES),
        };
        let kernel = if work.encode { bands.encode } else { bands.decode };
        // each block also takes 1 KiB for the system
        let fitting = gpu.shared_per_multiprocessor / (kernel.shared + 1024);
        let blocks = gpu.multiprocessors * fitting.clamp(1, kernel.blocks) as u32;
        // SAFETY: all buffers were reserved for this worklist and the frame's extents.
        unsafe {
            let grid = arguments.list_count.min(blocks);
            gpu.launch_on(stream, kernel.name, grid, kernel.threads, kernel.shared, &arguments)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler of the kernels compares these with the true sizes.
    #[test]
    fn kernels_are_as_in_their_sources() {
        for BandKernel { encode, side, dtype, name, shared, threads, blocks } in &KERNELS {
            let source = match encode {
                true => include_str!("../../../../kernels/bands_encode.cu"),
                false => include_str!("../../../../kernels/bands_decode.cu"),
            };
            let real = if *dtype == DType::F32 { "float" } else { "double" };
            let (bytes, bounds) = (
                format!("BAND_BYTES<{real}, {side}, {encode}> == {shared},"),
                format!("({threads}, {blocks}) {name}(const"),
            );
            assert!(source.contains(&bytes) && source.contains(&bounds), "{name}");
        }
    }
}
