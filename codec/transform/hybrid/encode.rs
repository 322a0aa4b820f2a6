//! Encoding of a frame: coarse array, coarser levels, then the chunks against the coarse array as it will be decoded.

use super::block::{coarse_of, misses};
use super::chunk::{Draft, raw};
use super::coarse;
use super::disjoint::DisjointRows;
use super::finest::{ChunkBlocks, Coarsen, Quantize};
use super::frame::Frame;
use super::local::{Array, block_details, with_block_rows};
use super::plan::{BLOCK, COARSE};
use super::symbols::{Drafted, local_unit};
use crate::backend::{FrameInput, FrameSink, StageTimes};
use crate::entropy::huffman::{Codebook, Counts};
use crate::simd::dispatch;
use crate::{Basis, Control, Element, Region, Result};
use rayon::prelude::*;
use std::time::Instant;

/// See [`super::encode_frame`].
pub fn encode<T: Element>(input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<StageTimes> {
    let mut times = StageTimes::default();
    let mut since = Instant::now();
    let mut lap = || std::mem::replace(&mut since, Instant::now()).elapsed().as_secs_f64() * 1e3;
    let frame = Frame::new(input.field.extents(), input.tolerance, input.max_abs.to_f64(), input.params, None);
    let job = Job { frame: &frame, input, control };
    let array = job.coarse_array()?;
    times.local += lap();
    let (levels, coarsest) = frame.hierarchy.decompose(array);
    let rebuilt = frame.hierarchy.recompose(&levels, &coarsest);
    times.coarse += lap();
    let drafts: Vec<Draft<T>> = (0..frame.grid.len())
        .into_par_iter()
        .map_init(Scratch::default, |scratch, i| job.draft(i, &rebuilt, scratch))
        .collect::<Result<_>>()?;
    drop(rebuilt);
    times.local += lap();
    let book = codebook(&drafts);
    let coded: Vec<Option<Vec<u8>>> = drafts
        .into_par_iter()
        .enumerate()
        .map(|(i, draft)| draft.code(book.as_ref(), frame.grid.nodes(i).len() * T::BYTES))
        .collect::<Result<_>>()?;
    let coarse =
        coarse::write(&frame.hierarchy, &frame.factors, input.params.entropy, book.as_ref(), &levels, &coarsest);
    send(&frame, input, &coarse, coded, sink)?;
    times.lossless += lap();
    Ok(times)
}

/// Hands the parts of a frame to the sink: chunks that are `None` go as plain values.
pub fn send<T: Element>(
    frame: &Frame<T>,
    input: &FrameInput<T>,
    coarse: &[u8],
    mut coded: Vec<Option<Vec<u8>>>,
    sink: &mut dyn FrameSink,
) -> Result<()> {
    let saved = |(i, c): (usize, &Option<Vec<u8>>)| match c {
        Some(bytes) => (1 + frame.grid.nodes(i).len() * T::BYTES) - bytes.len(),
        None => 0,
    };
    // The hierarchy must earn its place, or the frame is stored plainly.
    if coded.iter().enumerate().map(saved).sum::<usize>() > coarse.len() {
        sink.coarse(coarse)?;
    } else {
        sink.coarse(&coarse::no_hierarchy())?;
        coded.iter_mut().for_each(|chunk| *chunk = None);
    }
    for (i, bytes) in coded.into_iter().enumerate() {
        match bytes {
            Some(bytes) => sink.chunk(&bytes)?,
            None => sink.chunk(&raw(&frame.read(input.field, &frame.grid.nodes(i))?))?,
        }
    }
    Ok(())
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

/// Buffers that a thread uses for one chunk after the other.
#[derive(Default)]
struct Scratch<T> {
    values: Vec<T>,
    symbols: Vec<i32>,
}

struct Job<'a, T: Element> {
    frame: &'a Frame<T>,
    input: &'a FrameInput<'a, T>,
    control: &'a Control,
}

impl<T: Element> Job<'_, T> {
    /// Reads a box of the frame into `values`.
    fn read_into(&self, region: &Region, values: &mut Vec<T>) -> Result<()> {
        values.resize(region.len(), T::ZERO);
        self.input.field.read_region(&self.frame.region_of_field(region), values)
    }
    /// The values of a box of the frame.
    fn read(&self, region: &Region) -> Result<Vec<T>> {
        self.frame.read(self.input.field, region)
    }

    /// The array that the coarse part holds: what the finest level leaves, or the frame itself.
    fn coarse_array(&self) -> Result<Vec<T>> {
        let hierarchy = &self.frame.hierarchy;
        if !hierarchy.plan.chunked() {
            return self.read(&Region { lo: [0; 3], hi: hierarchy.plan.n });
        }
        if hierarchy.plan.basis == Basis::Hierarchical {
            return self.samples();
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

    /// The values at the coarse nodes of all blocks: the coarse array of the hierarchical basis.
    fn samples(&self) -> Result<Vec<T>> {
        let (n, m) = (self.frame.hierarchy.plan.n, self.frame.hierarchy.coarse_extents());
        let mut array = vec![T::ZERO; m.iter().product()];
        let node = |k: usize, a: usize| (k / COARSE * BLOCK + coarse_of(BLOCK)[k % COARSE]).min(n[a] - 1);
        let rows = array.par_chunks_mut(m[2]).enumerate();
        rows.try_for_each_init(
            || vec![T::ZERO; n[2]],
            |line, (row, out)| {
                let lo = [node(row / m[1], 0), node(row % m[1], 1), 0];
                let region = Region { lo, hi: [lo[0] + 1, lo[1] + 1, n[2]] };
                self.input.field.read_region(&self.frame.region_of_field(&region), line)?;
                let full = n[2] / BLOCK;
                for (out, block) in out.chunks_exact_mut(COARSE).zip(line.chunks_exact(BLOCK)) {
                    out.copy_from_slice(&[block[0], block[2], block[4], block[6], block[7]]);
                }
                let rest = out.iter_mut().enumerate().skip(full * COARSE);
                rest.for_each(|(k, v)| *v = line[node(k, 2)]);
                Ok(())
            },
        )?;
        self.control.check()?;
        Ok(array)
    }

    /// Everything of a chunk that does not depend on the codebook.
    fn draft(&self, index: usize, rebuilt: &[T], scratch: &mut Scratch<T>) -> Result<Draft<T>> {
        self.control.check()?;
        let nodes = self.frame.grid.nodes(index);
        let Scratch { values, symbols } = scratch;
        self.read_into(&nodes, values)?;
        let coarse = Array { values: rebuilt, n: self.frame.hierarchy.coarse_extents() };
        let mut draft = if self.frame.hierarchy.plan.chunked() {
            self.draft_local(index, Array { values, n: nodes.shape() }, coarse, symbols)
        } else {
            let missed = self.missed_by(values, index, coarse);
            self.assemble(None, Vec::new(), missed, values)
        };
        let lossless = self.frame.lossless_nodes(index);
        draft.lossless.extend(lossless.iter().flat_map(|r| r.clone().map(|at| values[at])));
        self.control.advance((nodes.len() * T::BYTES) as u64);
        Ok(draft)
    }

    fn draft_local(&self, index: usize, u: Array<T>, coarse: Array<T>, symbols: &mut Vec<i32>) -> Draft<T> {
        let hierarchy = &self.frame.hierarchy;
        let rank = hierarchy.plan.rank();
        let blocks = ChunkBlocks { region: self.frame.grid.blocks(index) };
        symbols.resize(blocks.region.len() * block_details(rank), 0);
        let (mut exact, mut missed) = (Vec::new(), Vec::new());
        let (level, bounds) = (&hierarchy.local(0), &hierarchy.bounds);
        with_block_rows!(rank, NZ, NY => dispatch(Quantize::<T, NZ, NY> {
            level, bounds, u, blocks, coarse, symbols, exact: &mut exact, missed: &mut missed,
        }));
        missed.sort_unstable();
        let symbols = Drafted::new(self.input.params.entropy, symbols, local_unit(rank));
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
}
