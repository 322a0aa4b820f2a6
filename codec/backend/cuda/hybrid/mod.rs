//! The hybrid mode on the device.
//!
//! A frame's arrays, one per level, live in device memory; symbols are 16 bits wide, those that do not fit stand beside them. What is
//! rare goes to the CPU, which gives the same bytes: see [`Outcome`].

mod arguments;
mod decode;
mod decoders;
mod details;
mod encode;
mod huffman;
mod layout;
mod levels;
mod plain;
mod two_levels;

use super::buffer::Buffer;
use super::gpu::Gpu;
use super::pyramid::Flat;
use crate::transform::hybrid::chunk::Patch;
use crate::transform::hybrid::frame::Frame;
use crate::transform::hybrid::grid::ChunkGrid;
use crate::transform::hybrid::mass::{MassSolver, local_projection, restriction};
use crate::transform::hybrid::plan::Plan;
use crate::volume::DType;
use crate::{Basis, Element, Entropy, Params, Result, ToleranceMap};
use arguments::{HybridState, Step};
use cudarc::driver::{CudaStream, DeviceRepr};
pub use decode::decode_frame;
pub use decoders::HuffmanDecoder;
pub use encode::{encode_frame, stage_times};
use huffman::Huffman;
use layout::Layout;
pub use plain::{Details as PlainDetails, Mapping};

/// Most values of a frame: kernels count in 32 bits.
const MOST_VALUES: usize = 1 << 31;
/// Entries of the lists of patches and of exact details; more than so many mean that coding does not pay.
const LIST: usize = 1 << 20;

/// Whether the device did the work, or leaves it to the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// For the reason given.
    LeftToCpu(&'static str),
}

/// Why the device does not take a frame at all.
pub fn refusal(n: [usize; 3]) -> Option<&'static str> {
    (n.iter().product::<usize>() >= MOST_VALUES).then_some("frames of 2^31 values")
}

/// The settings that shape a hierarchy.
type Key = ([usize; 3], u8, u8, Basis, Entropy);

/// Memory for frames of one shape, and what follows from the shape.
pub struct Hybrid<T> {
    key: Key,
    plan: Plan,
    grid: ChunkGrid,
    /// All chunks and the coarse part, as the encoder has them.
    layout: Layout,
    /// The arrays: the frame, what each level leaves, finest first.
    arrays: Vec<Buffer>,
    /// Decoded values.
    result: Buffer,
    /// Symbols for Huffman, and those of 32 bits at the same places; the class coder has its own.
    symbols: [Buffer; 2],
    /// Symbols of each chunk that stand for a detail stored exactly, as the decoder found them.
    stored_counts: Buffer,
    cells: Buffer,
    tiers: Vec<Buffer>,
    /// Whether they say that all blocks are of the one tier there is.
    one_tier: bool,
    /// Steps of all levels by tier, then that of the coarsest array.
    steps: Buffer,
    tier_count: usize,
    /// P of a block axis, then the solver's rows for the axes of each global level.
    tables: Buffer,
    /// Byte offsets in `tables`, by level and axis.
    axis_rows: Vec<[u64; 3]>,
    /// Details and their correction, in the projection basis.
    scratch: [Buffer; 2],
    state: Buffer,
    /// Blocks for a second look, one entry a block of the finest level.
    redo: Buffer,
    /// Keys and values of the exact details, then of the missed nodes.
    lists: [Buffer; 4],
    /// Places and values of patches, values of raw chunks.
    places: [Buffer; 2],
    huffman: Huffman,
    class: Flat,
    reduced: Buffer,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Hybrid<T> {
    /// Tables for frames of `n` nodes.
    pub fn new(gpu: &Gpu, n: [usize; 3], params: &Params) -> Result<Self> {
        let plan = Plan::new(n, params);
        let grid = ChunkGrid::new(plan.n);
        let layout = Layout::new(&plan, &grid, 0..grid.len());
        let mut this = Self {
            key: key(n, params),
            arrays: (0..=plan.levels.len()).map(|_| Buffer::default()).collect(),
            tiers: plan.levels.iter().map(|_| Buffer::default()).collect(),
            one_tier: false,
            plan,
            grid,
            layout,
            result: Buffer::default(),
            symbols: Default::default(),
            stored_counts: Buffer::default(),
            cells: Buffer::default(),
            steps: Buffer::default(),
            tier_count: 1,
            tables: Buffer::default(),
            axis_rows: Vec::new(),
            scratch: Default::default(),
            state: Buffer::default(),
            redo: Buffer::default(),
            lists: Default::default(),
            places: Default::default(),
            huffman: Huffman::default(),
            class: Flat::default(),
            reduced: Buffer::default(),
            element: std::marker::PhantomData,
        };
        this.send_tables(gpu)?;
        Ok(this)
    }
    pub fn is_for(&self, n: [usize; 3], params: &Params) -> bool {
        self.key == key(n, params)
    }

    /// Decodes Huffman payloads that way from now on.
    pub fn decode_by(&mut self, decoder: HuffmanDecoder) {
        self.huffman.decoder = decoder;
    }

    /// The tables of the projection.
    fn send_tables(&mut self, gpu: &Gpu) -> Result<()> {
        if self.plan.basis == Basis::Hierarchical {
            return Ok(());
        }
        let mut table: Vec<T> = local_projection::<T>().concat();
        for level in &self.plan.levels {
            let mut at = [0; 3];
            for axis in (0..3).filter(|&a| !level.local && level.fine[a] > 1) {
                at[axis] = (table.len() * T::BYTES) as u64;
                table.extend(solver_rows::<T>(level.fine[axis]));
            }
            self.axis_rows.push(at);
        }
        let address = self.tables.reserve(gpu, table.len() * T::BYTES)?;
        // SAFETY: just reserved.
        unsafe { gpu.upload(address, &table) }
    }

    /// Sends what depends on the tolerances: steps, and tiers of the local levels.
    pub fn send_tolerances(&mut self, gpu: &Gpu, frame: &Frame<T>, map: &ToleranceMap) -> Result<()> {
        let hierarchy = &frame.hierarchy;
        self.tier_count = map.tiers.len();
        let mut steps = Vec::new();
        for k in 0..self.plan.levels.len() {
            for (by, bound) in hierarchy.quantizers(k).iter().zip(&hierarchy.bounds) {
                let check = if bound.lossless { -T::from_f64(1.0) } else { bound.check };
                steps.push(Step { step: by.step, inverse: by.inverse, check });
            }
        }
        let coarsest = hierarchy.coarsest_quantizer();
        for bound in &hierarchy.bounds {
            let check = if bound.lossless { -T::from_f64(1.0) } else { bound.check };
            steps.push(Step { step: coarsest.step, inverse: coarsest.inverse, check });
        }
        let address = self.steps.reserve(gpu, size_of_val(&steps[..]))?;
        // SAFETY: just reserved.
        unsafe { gpu.upload(address, &steps)? };
        if self.plan.levels.is_empty() {
            self.tiers.resize_with(1, Buffer::default);
        }
        let known = std::mem::take(&mut self.one_tier);
        for (k, memory) in self.tiers.iter_mut().enumerate() {
            let tiers = match self.plan.levels.get(k) {
                Some(level) if level.local => hierarchy.local(k).tiers,
                _ if k == 0 => hierarchy.tiers(),
                _ => continue,
            };
            let address = memory.reserve(gpu, tiers.len())?;
            // looking through the tiers of all blocks would take longer than some kernels
            // SAFETY: just reserved.
            match self.tier_count {
                1 if known => {}
                1 => unsafe { gpu.fill(address, 0, tiers.len())? },
                _ => unsafe { gpu.upload(address, tiers)? },
            }
        }
        self.one_tier = self.tier_count == 1;
        Ok(())
    }
    fn entropy(&self) -> Entropy {
        self.key.4
    }
    /// Addresses of the symbols of 16 bits, and of those that need more.
    fn symbols(&self, gpu: &Gpu) -> [u64; 2] {
        match self.entropy() {
            Entropy::Huffman => self.symbols.each_ref().map(|buffer| buffer.address(gpu)),
            Entropy::Class => self.class.symbols(gpu),
        }
    }
    /// Queues the entropy stage of the encoder.
    fn encode_symbols(&self, gpu: &Gpu) -> Result<()> {
        match self.entropy() {
            Entropy::Huffman => self.huffman.encode(gpu, self.symbols(gpu)),
            Entropy::Class => self.class.encode(gpu),
        }
    }
    /// Queues the entropy stage of the decoder.
    fn decode_symbols(&self, gpu: &Gpu) -> Result<()> {
        match self.entropy() {
            Entropy::Huffman => self.huffman.decode(gpu, self.symbols(gpu)),
            Entropy::Class => self.class.decode(gpu),
        }
    }
    /// Address of the steps of level `k`; of the coarsest array behind the last level.
    fn steps_of(&self, gpu: &Gpu, k: usize) -> u64 {
        self.steps.address(gpu) + (k * self.tier_count * size_of::<Step<T>>()) as u64
    }
    /// Values of the array that level `k` takes, or of the coarsest one.
    fn len_of(&self, k: usize) -> usize {
        self.extents_of(k).iter().product()
    }
    fn extents_of(&self, k: usize) -> [usize; 3] {
        self.plan.levels.get(k).map_or(self.plan.coarsest, |l| l.fine)
    }
    fn clear_state(&mut self, gpu: &Gpu) -> Result<u64> {
        let state = self.state.reserve(gpu, size_of::<HybridState>())?;
        // SAFETY: just reserved.
        unsafe { gpu.fill(state, 0, size_of::<HybridState>())? };
        Ok(state)
    }
    fn download_state(&self, gpu: &Gpu) -> Result<HybridState> {
        let mut state = [bytemuck::Zeroable::zeroed()];
        // SAFETY: reserved by `clear_state`.
        unsafe { gpu.download(self.state.address(gpu), &mut state)? };
        Ok(state[0])
    }

    /// Launches a kernel of which each element type has one, a thread for each of `threads`.
    ///
    /// # Safety
    /// As for [`Gpu::launch`].
    unsafe fn launch<A: DeviceRepr>(
        &self,
        gpu: &Gpu,
        names: [&'static str; 2],
        threads: usize,
        arguments: &A,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_on(gpu, &gpu.stream, names, threads, arguments) }
    }
    /// The same on another stream.
    ///
    /// # Safety
    /// As for [`Gpu::launch`].
    unsafe fn launch_on<A: DeviceRepr>(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        [f32, f64]: [&'static str; 2],
        threads: usize,
        arguments: &A,
    ) -> Result<()> {
        let grid = threads.div_ceil(256).min(gpu.multiprocessors as usize * 16) as u32;
        let name = if T::DTYPE == DType::F32 { f32 } else { f64 };
        // SAFETY: the caller's promise.
        unsafe { gpu.launch_on(stream, name, grid, 256, 0, arguments) }
    }
}

fn key(n: [usize; 3], params: &Params) -> Key {
    (n, params.local_levels, params.global_levels, params.basis, params.entropy)
}

/// For each coarse node of an axis of `n`: w, inverse and c of the solver, then the weights of the restriction.
fn solver_rows<T: Element>(n: usize) -> Vec<T> {
    let solver = MassSolver::<T>::new(n);
    let mut rows = Vec::with_capacity(8 * solver.coarse());
    for k in 0..solver.coarse() {
        let mut weights = [T::ZERO; 5];
        let (_, exact) = restriction(n, k);
        weights.iter_mut().zip(exact).for_each(|(w, &v)| *w = T::from_f64(v));
        rows.extend([solver.w[k], solver.inverse[k], solver.c[k]]);
        rows.extend(weights);
    }
    rows
}

/// Extents in the width that kernels use.
fn narrow(n: [usize; 3]) -> [u32; 3] {
    n.map(|n| n as u32)
}

/// Found nodes of one chunk.
type Found<T> = Vec<Patch<T>>;
