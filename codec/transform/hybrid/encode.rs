//! Encoding of a frame: coarse array, coarser levels, then the chunks against the coarse array as it will be decoded.

use super::block::misses;
use super::chunk::{Draft, raw};
use super::coarse;
use super::disjoint::DisjointRows;
use super::finest::{ChunkBlocks, Coarsen, Quantize};
use super::frame::Frame;
use super::local::{Array, block_details, with_block_rows};
use super::simd::dispatch;
use super::symbols::{Drafted, local_unit};
use crate::backend::{FrameInput, FrameSink};
use crate::entropy::huffman::{Codebook, Counts};
use crate::{Control, Element, Region, Result};
use rayon::prelude::*;

/// See [`super::encode_frame`].
pub fn encode<T: Element>(input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    let frame = Frame::new(input.field.extents(), input.tolerance, input.max_abs.to_f64(), input.params, None);
    let job = Job { frame: &frame, input, control };
    let (levels, coarsest) = frame.hierarchy.decompose(job.coarse_array()?);
    let rebuilt = frame.hierarchy.recompose(&levels, &coarsest);
    let drafts: Vec<Draft<T>> =
        (0..frame.grid.len()).into_par_iter().map(|i| job.draft(i, &rebuilt)).collect::<Result<_>>()?;
    drop(rebuilt);
    let book = codebook(&drafts);
    let coded: Vec<Option<Vec<u8>>> = drafts
        .into_par_iter()
        .enumerate()
        .map(|(i, draft)| draft.code(book.as_ref(), frame.grid.nodes(i).len() * T::BYTES))
        .collect::<Result<_>>()?;
    let coarse =
        coarse::write(&frame.hierarchy, &frame.factors, input.params.entropy, book.as_ref(), &levels, &coarsest);
    let saved = |(i, c): (usize, &Option<Vec<u8>>)| match c {
        Some(bytes) => (1 + frame.grid.nodes(i).len() * T::BYTES) - bytes.len(),
        None => 0,
    };
    // The hierarchy must earn its place, or the frame is stored plainly.
    if coded.iter().enumerate().map(saved).sum::<usize>() > coarse.len() {
        sink.coarse(&coarse)?;
        job.send(coded, sink)
    } else {
        sink.coarse(&coarse::no_hierarchy())?;
        job.send(coded.iter().map(|_| None).collect(), sink)
    }
}

/// The codebook that suits all chunks together, where they are coded with one.
fn codebook<T: Element>(drafts: &[Draft<T>]) -> Option<Codebook> {
    let mut counts = None;
    for draft in drafts {
        if let Some(Drafted::Tokens(tokens)) = &draft.symbols {
            counts.get_or_insert_with(Counts::default).add(&tokens.counts);
        }
    }
    counts.map(|c| c.codebook())
}

struct Job<'a, T: Element> {
    frame: &'a Frame<T>,
    input: &'a FrameInput<'a, T>,
    control: &'a Control,
}

impl<T: Element> Job<'_, T> {
    /// The values of a box of the frame.
    fn read(&self, region: &Region) -> Result<Vec<T>> {
        let mut values = vec![T::ZERO; region.len()];
        self.input.field.read_region(&self.frame.region_of_field(region), &mut values)?;
        Ok(values)
    }

    /// The array that the coarse part holds: what the finest level leaves, or the frame itself.
    fn coarse_array(&self) -> Result<Vec<T>> {
        let hierarchy = &self.frame.hierarchy;
        if !hierarchy.plan.chunked() {
            return self.read(&Region { lo: [0; 3], hi: hierarchy.plan.n });
        }
        let mut array = vec![T::ZERO; hierarchy.coarse_extents().iter().product()];
        let coarse = DisjointRows::new(&mut array);
        let level = hierarchy.local(0);
        (0..self.frame.grid.len()).into_par_iter().try_for_each(|i| {
            self.control.check()?;
            let nodes = self.frame.grid.nodes(i);
            let values = self.read(&nodes)?;
            let u = Array { values: &values, n: nodes.shape() };
            let blocks = ChunkBlocks { region: self.frame.grid.blocks(i) };
            with_block_rows!(hierarchy.plan.rank(), NZ, NY =>
                dispatch(Coarsen::<T, NZ, NY> { level: &level, u, blocks, coarse: &coarse }));
            Ok(())
        })?;
        Ok(array)
    }

    /// Everything of a chunk that does not depend on the codebook.
    fn draft(&self, index: usize, rebuilt: &[T]) -> Result<Draft<T>> {
        self.control.check()?;
        let nodes = self.frame.grid.nodes(index);
        let values = self.read(&nodes)?;
        let coarse = Array { values: rebuilt, n: self.frame.hierarchy.coarse_extents() };
        let mut draft = if self.frame.hierarchy.plan.chunked() {
            self.draft_local(index, Array { values: &values, n: nodes.shape() }, coarse)
        } else {
            let missed = self.missed_by(&values, index, coarse);
            self.assemble(None, Vec::new(), missed, &values)
        };
        let lossless = self.frame.lossless_nodes(index);
        draft.lossless.extend(lossless.iter().flat_map(|r| r.clone().map(|at| values[at])));
        self.control.advance((nodes.len() * T::BYTES) as u64);
        Ok(draft)
    }

    fn draft_local(&self, index: usize, u: Array<T>, coarse: Array<T>) -> Draft<T> {
        let hierarchy = &self.frame.hierarchy;
        let rank = hierarchy.plan.rank();
        let blocks = ChunkBlocks { region: self.frame.grid.blocks(index) };
        let mut symbols = vec![0; blocks.region.len() * block_details(rank)];
        let (mut exact, mut missed) = (Vec::new(), Vec::new());
        let (level, bounds) = (&hierarchy.local(0), &hierarchy.bounds);
        with_block_rows!(rank, NZ, NY => dispatch(Quantize::<T, NZ, NY> {
            level, bounds, u, blocks, coarse, symbols: &mut symbols, exact: &mut exact, missed: &mut missed,
        }));
        missed.sort_unstable();
        let symbols = Drafted::new(self.input.params.entropy, &symbols, local_unit(rank));
        self.assemble(Some(symbols), exact, missed, u.values)
    }

    /// Nodes of a chunk that the rebuilt frame misses, ascending.
    fn missed_by(&self, values: &[T], index: usize, rebuilt: Array<T>) -> Vec<u32> {
        let nodes = self.frame.grid.nodes(index);
        let [_, ny, nx] = nodes.shape();
        let missed = |&at: &usize| {
            let place = [nodes.lo[0] + at / (ny * nx), nodes.lo[1] + at / nx % ny, nodes.lo[2] + at % nx];
            let bound = self.frame.bound(place);
            !bound.lossless && misses(values[at], rebuilt.at(place), bound.check)
        };
        (0..values.len()).filter(missed).map(|at| at as u32).collect()
    }

    fn assemble(&self, symbols: Option<Drafted>, exact: Vec<T>, missed: Vec<u32>, values: &[T]) -> Draft<T> {
        let patches = missed.into_iter().map(|at| (at, values[at as usize])).collect();
        Draft { symbols, exact, patches, lossless: Vec::new() }
    }

    /// Hands all chunks to the sink, raw where they are not coded.
    fn send(&self, coded: Vec<Option<Vec<u8>>>, sink: &mut dyn FrameSink) -> Result<()> {
        for (i, bytes) in coded.into_iter().enumerate() {
            match bytes {
                Some(bytes) => sink.chunk(&bytes)?,
                None => sink.chunk(&raw(&self.read(&self.frame.grid.nodes(i))?))?,
            }
        }
        Ok(())
    }
}
