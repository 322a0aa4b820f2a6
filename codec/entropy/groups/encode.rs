//! From symbols to the bytes of a chunk.

use super::bits::BitWriter;
use super::geometry::{GROUP, RUN};
use super::lanes::{Group, Moves, Plain, highest, magnitudes, sign_bits, signs, size, squeeze};
use super::{FAR_BITS, FARTHER, FARTHER_BITS, HAS_EXACT, streams};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::simd::{Kernel, dispatch};
use std::marker::PhantomData;

/// Appends the payload of a chunk to its choice byte. The layout and the symbols are those of the places of groups.
pub fn encode_chunk(layout: &ChunkLayout, symbols: &ChunkSymbols, out: &mut Vec<u8>) {
    let mut bits = BitWriter::default();
    let lengths = encode_streams(layout, &symbols.q, &mut bits);
    let exact = exact_values(layout, symbols);
    let (bytes, width) = table(&lengths);
    out.push(width | if exact.is_empty() { 0 } else { HAS_EXACT });
    out.extend(bytes);
    if !exact.is_empty() {
        let (bytes, width) = table(&exact.iter().map(Vec::len).collect::<Vec<_>>());
        out.push(width);
        out.extend(bytes);
    }
    out.extend_from_slice(bits.bytes());
    for delta in exact.iter().flatten() {
        out.extend_from_slice(&delta.to_le_bytes()[..layout.bits as usize / 8]);
    }
}

/// Numbers with as many bits each as the largest has, and how many these are.
fn table(numbers: &[usize]) -> (Vec<u8>, u8) {
    let width = usize::BITS - numbers.iter().max().unwrap_or(&0).leading_zeros();
    let mut bits = BitWriter::default();
    bits.reserve(numbers.len() * width as usize);
    numbers.iter().for_each(|number| bits.put(*number as u64, width));
    bits.end_of_byte();
    (bits.bytes().to_vec(), width as u8)
}

/// The deltas of the exact nodes of each stream; nothing when no node is exact.
fn exact_values(layout: &ChunkLayout, symbols: &ChunkSymbols) -> Vec<Vec<u64>> {
    if symbols.delta.is_empty() || !symbols.q.contains(&EXACT) {
        return Vec::new();
    }
    let of_stream = |(start, groups): (usize, std::ops::Range<usize>)| {
        let places = start + GROUP * groups.start..start + GROUP * groups.end;
        places.filter(|place| symbols.q[*place] == EXACT).map(|place| symbols.delta[place]).collect()
    };
    streams(layout).map(|(start, runs, stream)| of_stream((start, runs.groups_of_stream(stream)))).collect()
}

/// The bytes of all streams and their lengths.
fn encode_streams(layout: &ChunkLayout, q: &[i16], bits: &mut BitWriter) -> Vec<usize> {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::instructions() >= crate::simd::Instructions::Avx2 {
        return dispatch(Streams::<super::lanes::Bmi2> { layout, q, bits, moves: PhantomData });
    }
    dispatch(Streams::<Plain> { layout, q, bits, moves: PhantomData })
}

struct Streams<'a, M> {
    layout: &'a ChunkLayout,
    q: &'a [i16],
    bits: &'a mut BitWriter,
    moves: PhantomData<M>,
}

/// More bits than any run has.
const RUN_BITS: usize = 1 + 10 * RUN + 17 * GROUP * RUN;

impl<M: Moves> Kernel for Streams<'_, M> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self) -> Vec<usize> {
        let Self { layout, q, bits, .. } = self;
        let mut lengths = Vec::new();
        let mut begin = 0;
        for (start, tile, stream) in streams(layout) {
            let mut before = 0;
            let groups = q[start..][..tile.places()].as_chunks::<GROUP>().0;
            for run in tile.runs_of(stream) {
                bits.reserve(RUN_BITS);
                encode_run::<M>(&groups[tile.groups_of(run)], &mut before, bits);
            }
            bits.end_of_byte();
            let end = bits.trim(begin);
            lengths.push(end - begin);
            begin = end;
        }
        lengths
    }
}

/// `before`: the size of the first live group of the run before.
#[inline(always)]
fn encode_run<M: Moves>(groups: &[Group], before: &mut u8, bits: &mut BitWriter) {
    if *before == 0 && groups.as_flattened().iter().fold(0, |any, q| any | q) == 0 {
        return bits.put(0, 1);
    }
    let mut padded = [[0; GROUP]; RUN];
    let all = match groups.first_chunk::<RUN>() {
        Some(all) => all,
        None => {
            padded[..groups.len()].copy_from_slice(groups);
            &padded
        }
    };
    let mut sizes = [0; RUN];
    for (size_of, group) in sizes.iter_mut().zip(all) {
        *size_of = size(group) as u8;
    }
    put_sizes::<M>(&sizes, groups.len() as u32, *before, bits);
    *before = sizes[0];
    for (group, size) in all.iter().zip(sizes) {
        put_magnitudes(magnitudes(group), size as u32, bits);
    }
    for four in all.as_chunks::<4>().0 {
        let (nonzero, negative) = signs(four);
        bits.put(M::gather(negative, nonzero) as u64, nonzero.count_ones());
    }
}

#[inline(always)]
fn put_magnitudes([mut near, mut far]: [u64; 2], size: u32, bits: &mut BitWriter) {
    let width = size / 2;
    if size % 2 == 1 {
        let [first, second] = highest([near, far], width + 1);
        let place = if first != 0 { first.trailing_zeros() } else { 64 + second.trailing_zeros() } / 16;
        bits.put(place as u64, 3);
        near ^= first << width;
        far ^= second << width;
    }
    if width == 0 {
        return;
    }
    let (near, far) = (squeeze(near, width), squeeze(far, width));
    match width {
        0..=7 => bits.put(near | far << (4 * width), 8 * width),
        8..=14 => {
            bits.put(near, 4 * width);
            bits.put(far, 4 * width);
        }
        _ => {
            let low = (1 << (2 * width)) - 1;
            for half in [near & low, near >> (2 * width), far & low, far >> (2 * width)] {
                bits.put(half, 2 * width);
            }
        }
    }
}

/// The sizes of `count` groups; those beyond them are 0.
#[inline(always)]
fn put_sizes<M: Moves>(sizes: &[u8; RUN], count: u32, before: u8, bits: &mut BitWriter) {
    let mut last = [before; RUN];
    last[1..].copy_from_slice(&sizes[..RUN - 1]);
    let (mut change, mut differs, mut far) = ([0i8; RUN], [0; RUN], [0; RUN]);
    for g in 0..RUN {
        change[g] = sizes[g] as i8 - last[g] as i8;
        differs[g] = if change[g] != 0 { -1 } else { 0 };
        far[g] = if change[g].abs() > 1 { -1 } else { 0 };
    }
    let changed = sign_bits(&differs) & (u32::MAX >> (RUN as u32 - count));
    if changed == 0 {
        return bits.put(0, 1);
    }
    bits.put(1 | (changed as u64) << 1, 1 + count);
    let changes = changed.count_ones();
    bits.put(M::gather(sign_bits(&change), changed) as u64, changes);
    let mut wide = sign_bits(&far) & changed;
    bits.put(M::gather(wide, changed) as u64, changes);
    let mut farther = 0;
    while wide != 0 {
        let g = wide.trailing_zeros();
        let step = change[g as usize].unsigned_abs() as u32;
        bits.put(step.min(FARTHER) as u64 - 2, FAR_BITS);
        farther |= ((step >= FARTHER) as u32) << g;
        wide &= wide - 1;
    }
    while farther != 0 {
        let g = farther.trailing_zeros() as usize;
        bits.put(change[g].unsigned_abs() as u64 - FARTHER as u64, FARTHER_BITS);
        farther &= farther - 1;
    }
}
