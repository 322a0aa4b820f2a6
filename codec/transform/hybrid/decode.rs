//! Decoding of a box of a frame: the coarse part, then the chunks that meet the box.

use super::chunk::Chunk;
use super::coarse::{self, check_exact};
use super::finest::{ChunkBlocks, Recompose};
use super::frame::Frame;
use super::local::{Array, block_details, with_block_rows};
use super::plan::Plan;
use super::symbols::{ChunkDecoder, local_unit};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::simd::dispatch;
use crate::{Control, Element, Error, Region, Result};
use rayon::prelude::*;

/// See [`super::decode_frame`].
pub fn decode<T: Element>(
    shape: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    let plan = Plan::new(shape.n, shape.params);
    let bytes = source.coarse()?;
    let part = coarse::read::<T>(&plan, shape.params.entropy, &bytes)?;
    let (mut factors, mut book, mut levels) = (None, None, None);
    if let Some(part) = part {
        factors = Some(part.factors);
        book = part.book;
        levels = Some((part.levels, part.coarsest));
    }
    let frame = Frame::new(shape.n, shape.tolerance, shape.max_abs, shape.params, factors);
    if source.chunk_count() != frame.grid.len() {
        let (found, wanted) = (source.chunk_count(), frame.grid.len());
        return Err(Error::corrupt(format!("chunk index: {found} chunks where the frame has {wanted}")));
    }
    let rebuilt = levels.map(|(levels, coarsest)| frame.hierarchy.recompose(&levels, &coarsest));
    let decoder = plan.chunked().then(|| ChunkDecoder::new(book, local_unit(plan.rank())));
    let job = Job { frame: &frame, rebuilt: rebuilt.as_deref(), decoder };
    let wanted = frame.region_of_frame(region);
    let chunks = (0..frame.grid.len()).into_par_iter();
    let chunks = chunks.filter(|&i| !frame.grid.nodes(i).intersect(&wanted).is_empty());
    chunks.try_for_each_init(Scratch::default, |scratch, i| {
        control.check()?;
        let nodes = frame.grid.nodes(i);
        job.chunk(&source.chunk(i)?, i, scratch).map_err(|e| in_chunk(e, i))?;
        let part = nodes.intersect(&wanted);
        let cropped = if part == nodes { None } else { Some(crop(&scratch.values, &nodes, &part)) };
        out.put(&frame.region_of_field(&part), cropped.as_ref().unwrap_or(&scratch.values))?;
        control.advance((part.len() * T::BYTES) as u64);
        Ok(())
    })
}

/// Says which chunk failed.
pub fn in_chunk(mut e: Error, index: usize) -> Error {
    e.message = format!("chunk {index}: {}", e.message);
    e
}

/// The values of `part` of the box `nodes`.
fn crop<T: Element>(values: &[T], nodes: &Region, part: &Region) -> Vec<T> {
    let (n, [nz, ny, nx]) = (nodes.shape(), part.shape());
    let lo: [usize; 3] = std::array::from_fn(|a| part.lo[a] - nodes.lo[a]);
    let row = |i: usize| ((lo[0] + i / ny) * n[1] + lo[1] + i % ny) * n[2] + lo[2];
    (0..nz * ny).flat_map(|i| &values[row(i)..][..nx]).copied().collect()
}

/// Buffers that a thread uses for one chunk after the other.
#[derive(Default)]
struct Scratch<T> {
    values: Vec<T>,
    symbols: Vec<i32>,
}

struct Job<'a, T: Element> {
    frame: &'a Frame<T>,
    /// The array of the coarse part, when there is one.
    rebuilt: Option<&'a [T]>,
    decoder: Option<ChunkDecoder>,
}

impl<T: Element> Job<'_, T> {
    /// Rebuilds the values of a chunk's box in `scratch.values`.
    fn chunk(&self, bytes: &[u8], index: usize, scratch: &mut Scratch<T>) -> Result<()> {
        let nodes = self.frame.grid.nodes(index);
        let lossless_rows = self.frame.lossless_nodes(index);
        let lossless_nodes = lossless_rows.iter().map(|r| r.len()).sum();
        let chunked = self.frame.hierarchy.plan.chunked();
        let (payload, exact, patches, lossless) = match Chunk::<T>::read(bytes, nodes.len(), lossless_nodes, chunked)? {
            Chunk::Raw(values) => {
                scratch.values = values;
                return Ok(());
            }
            Chunk::Coded { payload, exact, patches, lossless } => (payload, exact, patches, lossless),
        };
        let rebuilt = self.rebuilt.ok_or_else(coarse::missing)?;
        let coarse = Array { values: rebuilt, n: self.frame.hierarchy.coarse_extents() };
        match &self.decoder {
            Some(decoder) => self.recompose(decoder, payload, &exact, coarse, index, scratch)?,
            None => scratch.values = crop(rebuilt, &Region { lo: [0; 3], hi: coarse.n }, &nodes),
        }
        let values = &mut scratch.values;
        let mut lossless = &lossless[..];
        for row in lossless_rows {
            let (here, rest) = lossless.split_at(row.len());
            values[row].copy_from_slice(here);
            lossless = rest;
        }
        patches.iter().for_each(|&(at, v)| values[at as usize] = v);
        Ok(())
    }

    fn recompose(
        &self,
        decoder: &ChunkDecoder,
        payload: &[u8],
        exact: &[T],
        coarse: Array<T>,
        index: usize,
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let hierarchy = &self.frame.hierarchy;
        let rank = hierarchy.plan.rank();
        let blocks = ChunkBlocks { region: self.frame.grid.blocks(index) };
        let nodes = self.frame.grid.nodes(index);
        let Scratch { values, symbols } = scratch;
        decoder.decode(payload, blocks.region.len() * block_details(rank), symbols)?;
        check_exact(symbols, exact.len()).map_err(Error::corrupt)?;
        values.resize(nodes.len(), T::ZERO);
        let (level, n) = (&hierarchy.local(0), nodes.shape());
        with_block_rows!(rank, NZ, NY => dispatch(Recompose::<T, NZ, NY> {
            level, blocks, coarse, symbols, exact, out: values, n,
        }));
        Ok(())
    }
}
