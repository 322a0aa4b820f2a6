//! From symbols to the bytes of a chunk.

use super::bits::BitWriter;
use super::geometry::{NO_NODE, TileGroups};
use super::{ChunkGroups, HAS_EXACT};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};

/// Appends the payload of a chunk to its choice byte.
pub fn encode_chunk(layout: &ChunkLayout, groups: ChunkGroups, symbols: &ChunkSymbols, out: &mut Vec<u8>) {
    let encoded = groups.streams(layout).map(|(start, tile, stream)| encode_stream(tile, stream, &symbols.q[start..]));
    let streams: Vec<Vec<u8>> = encoded.collect();
    let (lengths, width) = table(streams.iter().map(Vec::len));
    let exact = exact_values(layout, groups, symbols);
    out.push(width | if exact.is_empty() { 0 } else { HAS_EXACT });
    out.extend(lengths);
    if !exact.is_empty() {
        let (counts, width) = table(exact.iter().map(Vec::len));
        out.push(width);
        out.extend(counts);
    }
    streams.iter().for_each(|bytes| out.extend_from_slice(bytes));
    for delta in exact.iter().flatten() {
        out.extend_from_slice(&delta.to_le_bytes()[..layout.bits as usize / 8]);
    }
}

/// Numbers with as many bits each as the largest has, and how many these are.
fn table(numbers: impl Iterator<Item = usize> + Clone) -> (Vec<u8>, u8) {
    let width = usize::BITS - numbers.clone().max().unwrap_or(0).leading_zeros();
    let mut bits = BitWriter::default();
    numbers.for_each(|number| bits.put(number as u64, width));
    (bits.finish(), width as u8)
}

/// The deltas of the exact nodes of each stream; nothing when no node is exact.
fn exact_values(layout: &ChunkLayout, groups: ChunkGroups, symbols: &ChunkSymbols) -> Vec<Vec<u64>> {
    if symbols.delta.is_empty() || !symbols.q.contains(&EXACT) {
        return Vec::new();
    }
    let of_stream = |(start, tile, stream): (usize, &TileGroups, usize)| {
        let nodes = tile.places_of_stream(stream).filter(|node| **node != NO_NODE).map(|node| start + *node as usize);
        nodes.filter(|node| symbols.q[*node] == EXACT).map(|node| symbols.delta[node]).collect()
    };
    groups.streams(layout).map(of_stream).collect()
}

/// The bytes of a stream; `q` are the symbols of its tile in coding order.
fn encode_stream(tile: &TileGroups, stream: usize, q: &[i16]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let mut before = 0;
    for run in tile.runs_of(stream) {
        encode_run(tile, run, q, &mut before, &mut bits);
    }
    let mut bytes = bits.finish();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

/// `before`: the width of the first live group of the latest run that has one.
fn encode_run(tile: &TileGroups, run: usize, q: &[i16], before: &mut i32, bits: &mut BitWriter) {
    let live: Vec<&[u16]> =
        tile.groups_of(run).map(|g| tile.places_of(g)).filter(|places| !places.is_empty()).collect();
    let symbol = |node: &u16| if *node == NO_NODE { 0 } else { q[*node as usize] };
    let any = |places: &&[u16]| places.iter().fold(0, |any, node| any | symbol(node).unsigned_abs());
    let widths: Vec<i32> = live.iter().map(|places| (u16::BITS - any(places).leading_zeros()) as i32).collect();
    let Some(&first) = widths.first() else { return };
    put_widths(&widths, *before, bits);
    *before = first;
    for (places, width) in live.iter().zip(&widths) {
        places.iter().for_each(|node| bits.put(symbol(node).unsigned_abs() as u64, *width as u32));
    }
    for q in live.iter().copied().flatten().map(symbol).filter(|q| *q != 0) {
        bits.put((q < 0) as u64, 1);
    }
}

fn put_widths(widths: &[i32], before: i32, bits: &mut BitWriter) {
    let befores = std::iter::once(&before).chain(widths);
    let steps: Vec<i32> = widths.iter().zip(befores).map(|(width, before)| width - before).collect();
    let changes = steps.iter().any(|d| *d != 0);
    bits.put(changes as u64, 1);
    if changes {
        steps.iter().for_each(|d| bits.put((*d != 0) as u64, 1));
        steps.iter().filter(|d| **d != 0).for_each(|d| bits.put((*d < 0) as u64, 1));
        steps.iter().filter(|d| **d != 0).for_each(|d| bits.put((d.abs() > 1) as u64, 1));
        steps.iter().filter(|d| d.abs() > 1).for_each(|d| bits.put(d.unsigned_abs() as u64 - 2, 4));
    }
}
