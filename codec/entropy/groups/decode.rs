//! From the bytes of a chunk to symbols; nothing in them is trusted.

use super::bits::BitReader;
use super::geometry::{GROUP, RUN};
use super::lanes::{Group, Moves, Plain, group, negate, signs, spread};
use super::{FAR_BITS, FARTHER, FARTHER_BITS, HAS_EXACT, MOST_SIZE, streams};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::entropy::reader::Reader;
use crate::simd::{Kernel, dispatch};
use crate::{Error, Result};
use std::marker::PhantomData;

/// The most bits of a length, or of a number of exact nodes.
const MOST_TABLE_BITS: u32 = 31;

/// Reads what [`super::encode_chunk`] wrote. `symbols` is overwritten; its buffers are reused. The layout and the symbols are
/// those of the places of groups.
///
/// # Errors
/// Corruption or truncation of the payload.
pub fn decode_chunk(layout: &ChunkLayout, payload: &[u8], symbols: &mut ChunkSymbols) -> Result<()> {
    symbols.q.clear();
    symbols.q.resize(layout.nodes, 0);
    symbols.delta.clear();
    let mut reader = Reader { rest: payload };
    let count = streams(layout).count();
    let head = reader.take(1, "head")?[0];
    let lengths = read_table(count, head & !HAS_EXACT, "lengths", &mut reader)?;
    let exact = match head & HAS_EXACT {
        0 => vec![0; count],
        _ => read_counts(count, &mut reader)?,
    };
    decode_streams(layout, &lengths, &exact, &mut reader, &mut symbols.q)?;
    if head & HAS_EXACT != 0 {
        reader.exact_values(layout, symbols)?;
    }
    reader.finish()
}

/// The number of exact nodes of every stream.
fn read_counts(streams: usize, reader: &mut Reader) -> Result<Vec<usize>> {
    let width = reader.take(1, "numbers of exact nodes")?[0];
    if width == 0 {
        return Err(Error::corrupt("chunk payload: exact nodes announced, but none there"));
    }
    read_table(streams, width, "numbers of exact nodes", reader)
}

/// Numbers of `width` bits each, which the largest of them needs.
fn read_table(count: usize, width: u8, what: &str, reader: &mut Reader) -> Result<Vec<usize>> {
    let width = width as u32;
    if width > MOST_TABLE_BITS {
        return Err(Error::corrupt(format!("chunk payload: {what} of {width} bits")));
    }
    let mut bits = BitReader::default();
    bits.start(reader.take((count * width as usize).div_ceil(8), what)?);
    let numbers: Vec<usize> = (0..count).map(|_| bits.get(width) as usize).collect();
    if bits.get(7) != 0 {
        return Err(Error::corrupt(format!("chunk payload: padding of its {what} that is not 0")));
    }
    let largest = numbers.iter().max().copied().unwrap_or(0);
    if usize::BITS - largest.leading_zeros() != width {
        return Err(Error::corrupt(format!("chunk payload: {what} with more bits than they need")));
    }
    Ok(numbers)
}

/// Fills in all symbols; `exact` are the numbers of exact nodes that streams should have.
fn decode_streams(
    layout: &ChunkLayout,
    lengths: &[usize],
    exact: &[usize],
    reader: &mut Reader,
    q: &mut [i16],
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::instructions() >= crate::simd::Instructions::Avx2 {
        let moves = PhantomData;
        return dispatch(Streams::<super::lanes::Bmi2> { layout, lengths, exact, reader, q, moves });
    }
    dispatch(Streams::<Plain> { layout, lengths, exact, reader, q, moves: PhantomData })
}

struct Streams<'a, 'b, M> {
    layout: &'a ChunkLayout,
    lengths: &'a [usize],
    exact: &'a [usize],
    reader: &'a mut Reader<'b>,
    q: &'a mut [i16],
    moves: PhantomData<M>,
}

impl<M: Moves> Kernel for Streams<'_, '_, M> {
    type Output = Result<()>;

    #[inline(always)]
    fn run(self) -> Result<()> {
        let Self { layout, lengths, exact, reader, q, .. } = self;
        let mut bits = BitReader::default();
        for (((start, tile, stream), length), exact) in streams(layout).zip(lengths).zip(exact) {
            let bytes = reader.take(*length, "streams")?;
            let mut found = 0;
            if !bytes.is_empty() {
                bits.start(bytes);
                let mut before = 0;
                let groups = q[start..][..tile.places()].as_chunks_mut::<GROUP>().0;
                for run in tile.runs_of(stream) {
                    let run = tile.groups_of(run);
                    let present = tile.present(run.clone());
                    found += decode_run::<M>(&mut groups[run], present, &mut before, &mut bits)?;
                }
                if bytes.last() == Some(&0) || bytes.len() > bits.bytes_read() {
                    return Err(Error::corrupt("chunk payload: a stream that is longer than it needs to be"));
                }
            }
            if found != *exact {
                return Err(Error::corrupt(format!("chunk payload: {found} exact nodes in a stream, not {exact}")));
            }
        }
        Ok(())
    }
}

/// Fills in a run and counts its exact nodes. `before`: the size of the first live group of the run before.
#[inline(always)]
fn decode_run<M: Moves>(groups: &mut [Group], present: &[u8], before: &mut u32, bits: &mut BitReader) -> Result<usize> {
    let sizes = read_sizes::<M>(groups.len(), *before, bits)?;
    *before = sizes[0];
    if sizes == [0; RUN] {
        return Ok(0);
    }
    for (group, size) in groups.iter_mut().zip(sizes).filter(|(_, size)| *size > 0) {
        *group = read_magnitudes(size, bits);
    }
    let may_be_exact = sizes.iter().any(|size| *size > MOST_SIZE - 2);
    let (mut stray, mut exact) = (0, 0);
    for (groups, present) in groups.chunks_mut(4).zip(present.chunks(4)) {
        let mut four = [[0; GROUP]; 4];
        four[..groups.len()].copy_from_slice(groups);
        let (nonzero, odd) = signs(&four);
        if nonzero == 0 {
            continue;
        }
        let negative = M::scatter(bits.get(nonzero.count_ones()) as u32, nonzero);
        let mut nodes = [0; 4];
        nodes[..present.len()].copy_from_slice(present);
        stray |= nonzero & !u32::from_le_bytes(nodes);
        if may_be_exact {
            exact += count_exact(&four, odd, negative)?;
        }
        for (group, negative) in groups.iter_mut().zip(negative.to_le_bytes()) {
            negate(group, negative);
        }
    }
    if stray != 0 {
        return Err(Error::corrupt("chunk payload: a symbol at a place without a node"));
    }
    Ok(exact)
}

/// How many magnitudes are those of exact nodes; bit k of `large`: the one at place k is at least as large.
fn count_exact(four: &[Group; 4], large: u32, negative: u32) -> Result<usize> {
    let exact = four.as_flattened().iter().filter(|magnitude| **magnitude == EXACT).count();
    if exact != large.count_ones() as usize || large & !negative != 0 {
        return Err(Error::corrupt("chunk payload: a symbol of more than 15 bits that is not that of an exact node"));
    }
    Ok(exact)
}

#[inline(always)]
fn read_magnitudes(size: u32, bits: &mut BitReader) -> Group {
    let width = size / 2;
    // in one word or the other, if anywhere
    let (mut first, mut second) = (0, 0);
    if size % 2 == 1 {
        let place = bits.get(3);
        let highest = 1 << (16 * (place % 4) + width as u64);
        (first, second) = if place < 4 { (highest, 0) } else { (0, highest) };
    }
    let [near, far] = match width {
        0..=7 => {
            let both = bits.get(8 * width);
            [both, both >> (4 * width)]
        }
        8..=14 => [bits.get(4 * width), bits.get(4 * width)],
        _ => [(); 2].map(|()| bits.get(2 * width) | bits.get(2 * width) << (2 * width)),
    };
    group([spread(near, width) | first, spread(far, width) | second])
}

/// The sizes of a run's groups, 0 beyond them.
#[inline(always)]
fn read_sizes<M: Moves>(groups: usize, before: u32, bits: &mut BitReader) -> Result<[u32; RUN]> {
    let mut sizes = [0; RUN];
    if bits.get(1) == 0 {
        sizes[..groups].fill(before);
        return Ok(sizes);
    }
    let changed = bits.get(groups as u32) as u32;
    let count = changed.count_ones();
    let down = M::scatter(bits.get(count) as u32, changed);
    let wide = M::scatter(bits.get(count) as u32, changed);
    let mut steps = [0; RUN];
    for (g, step) in steps[..groups].iter_mut().enumerate() {
        *step = if wide >> g & 1 == 1 { 2 + bits.get(FAR_BITS) as u32 } else { changed >> g & 1 };
    }
    if wide != 0 {
        for step in steps.iter_mut().filter(|step| **step == FARTHER) {
            *step += bits.get(FARTHER_BITS) as u32;
        }
    }
    let (mut last, mut all) = (before, 0);
    for (g, (size, step)) in sizes[..groups].iter_mut().zip(steps).enumerate() {
        last = if down >> g & 1 == 1 { last.wrapping_sub(step) } else { last.wrapping_add(step) };
        // too large, or less than 0
        all |= (last > MOST_SIZE) as u32;
        *size = last;
    }
    if all != 0 {
        return Err(Error::corrupt("chunk payload: a group of a size that no symbols have"));
    }
    Ok(sizes)
}
