//! The finest local level in several mappings, side by side: the comparison of the paper's Fig. 7.

use super::super::buffer::Buffer;
use super::super::device_struct::device_struct;
use super::super::gpu::Gpu;
use super::Hybrid;
use super::arguments::LocalArguments;
use crate::volume::DType;
use crate::{Element, Error, ErrorKind, Result};

device_struct! {
    pub struct PlainArguments {
        pub details: u64,
        pub symbols: u64,
        pub wide: u64,
        pub step: u64,
        pub count: u64,
    }
}

/// One way to do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// A thread a node, 512 a block; details are written as they are, another kernel quantizes them.
    Plain,
    /// The same threads, which quantize at once.
    PlainFused,
    /// The codec's own kernels; the encoder's also check every value against its tolerance.
    Own,
}

/// Memory for details that are not quantized yet.
#[derive(Default)]
pub struct Details {
    memory: Buffer,
}

impl<T: Element> Hybrid<T> {
    /// Whether the finest level is one that all mappings know.
    pub fn has_mappings(&self) -> bool {
        self.plan.chunked() && self.plan.rank() == 3 && self.entropy_symbols() > 0
    }
    fn entropy_symbols(&self) -> usize {
        self.layout.symbols as usize
    }

    fn plain_arguments(&self, gpu: &Gpu, details: &Details) -> (LocalArguments, PlainArguments) {
        let local = self.local_arguments(gpu, 0, self.chunk_work());
        let count = self.layout.parts[..self.layout.chunks].last().map_or(0, |last| {
            let segment = &self.layout.segments[last.segment_end as usize - 1];
            segment.symbol + segment.count as u64
        });
        let details = details.memory.address(gpu);
        (local, PlainArguments { details, symbols: local.symbols, wide: local.wide, step: local.steps, count })
    }
    unsafe fn launch_blocks(&self, gpu: &Gpu, [f32, f64]: [&'static str; 2], a: &LocalArguments) -> Result<()> {
        let name = if T::DTYPE == DType::F32 { f32 } else { f64 };
        // SAFETY: the caller's promise.
        unsafe { gpu.launch(name, a.cell_count * a.cell_blocks, 512, 0, a) }
    }

    /// Reserves memory for all mappings; the frame is on the device, with its tolerances.
    pub fn prepare_mappings(&mut self, gpu: &Gpu, details: &mut Details) -> Result<()> {
        details.memory.reserve(gpu, self.entropy_symbols() * T::BYTES)?;
        self.result.reserve(gpu, self.len_of(0) * T::BYTES)?;
        self.clear_state(gpu).map(drop)
    }

    /// Queues the way from values to coarse nodes and symbols.
    pub fn decompose_by(&mut self, gpu: &Gpu, mapping: Mapping, details: &Details) -> Result<()> {
        let (local, plain) = self.plain_arguments(gpu, details);
        // SAFETY: all arrays were reserved for the level, details for its symbols.
        unsafe {
            match mapping {
                Mapping::Plain => {
                    let a = LocalArguments { result: plain.details, ..local };
                    self.launch_blocks(gpu, ["plain_decompose_f32", "plain_decompose_f64"], &a)?;
                    self.launch(gpu, ["plain_quantize_f32", "plain_quantize_f64"], plain.count as usize, &plain)
                }
                Mapping::PlainFused => {
                    self.launch_blocks(gpu, ["plain_decompose_fused_f32", "plain_decompose_fused_f64"], &local)
                }
                Mapping::Own => {
                    self.clear_state(gpu)?;
                    self.coarsen(gpu)?;
                    self.quantize_finest(gpu)
                }
            }
        }
    }

    /// Queues the way back, from the coarse nodes as they are.
    pub fn recompose_by(&mut self, gpu: &Gpu, mapping: Mapping, details: &Details) -> Result<()> {
        let (local, plain) = self.plain_arguments(gpu, details);
        let result = self.result.address(gpu);
        // SAFETY: as above; the result holds a frame.
        unsafe {
            match mapping {
                Mapping::Plain => {
                    self.launch(gpu, ["plain_dequantize_f32", "plain_dequantize_f64"], plain.count as usize, &plain)?;
                    let a = LocalArguments { rebuilt: plain.details, result, ..local };
                    self.launch_blocks(gpu, ["plain_recompose_f32", "plain_recompose_f64"], &a)
                }
                Mapping::PlainFused => {
                    let a = LocalArguments { result, ..local };
                    self.launch_blocks(gpu, ["plain_recompose_fused_f32", "plain_recompose_fused_f64"], &a)
                }
                Mapping::Own => {
                    let work = self.chunk_work();
                    self.recompose_finest(gpu, super::levels::LocalWork { result, ..work })
                }
            }
        }
    }

    /// Refuses mappings that do not give the symbols and the values of the codec's own kernels.
    pub fn check_mappings(&mut self, gpu: &Gpu, details: &Details) -> Result<()> {
        let mut of = |mapping| -> Result<(Vec<i16>, Vec<T>)> {
            self.decompose_by(gpu, mapping, details)?;
            self.recompose_by(gpu, mapping, details)?;
            let (_, plain) = self.plain_arguments(gpu, details);
            let mut symbols = vec![0i16; plain.count as usize];
            let mut values = vec![T::ZERO; self.len_of(0)];
            // SAFETY: reserved for as many.
            unsafe {
                gpu.download(plain.symbols, &mut symbols)?;
                gpu.download(self.result.address(gpu), &mut values)?;
            }
            Ok((symbols, values))
        };
        let (own, fused, plain) = (of(Mapping::Own)?, of(Mapping::PlainFused)?, of(Mapping::Plain)?);
        match own == fused && own.0 == plain.0 {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Device, "GPU: the mappings of a local level do not agree")),
        }
    }
}
