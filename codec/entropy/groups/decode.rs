//! From the bytes of a chunk to symbols; nothing in them is trusted.

use super::bits::BitReader;
use super::geometry::{GROUP, NO_NODE, TileGroups};
use super::{ChunkGroups, EXACT_MAGNITUDE, HAS_EXACT, MOST_WIDTH};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::entropy::reader::Reader;
use crate::{Error, Result};

/// The most bits of a length, or of a number of exact nodes.
const MOST_TABLE_BITS: u32 = 31;

/// Reads what [`super::encode_chunk`] wrote. `symbols` is overwritten; its buffers are reused.
///
/// # Errors
/// Corruption or truncation of the payload.
pub fn decode_chunk(
    layout: &ChunkLayout,
    groups: ChunkGroups,
    payload: &[u8],
    symbols: &mut ChunkSymbols,
) -> Result<()> {
    symbols.q.clear();
    symbols.q.resize(layout.nodes, 0);
    symbols.delta.clear();
    let mut reader = Reader { rest: payload };
    let count = groups.streams(layout).count();
    let head = reader.take(1, "head")?[0];
    let lengths = read_table(count, head & !HAS_EXACT, "lengths", &mut reader)?;
    let exact = match head & HAS_EXACT {
        0 => vec![0; count],
        _ => read_counts(count, &mut reader)?,
    };
    for (((start, tile, stream), length), exact) in groups.streams(layout).zip(lengths).zip(&exact) {
        let bytes = reader.take(length, "streams")?;
        let found = if bytes.is_empty() { 0 } else { decode_stream(tile, stream, bytes, &mut symbols.q[start..])? };
        if found != *exact {
            return Err(Error::corrupt(format!("chunk payload: {found} exact nodes in a stream, not {exact}")));
        }
    }
    if head & HAS_EXACT != 0 {
        read_exact_values(layout, groups, symbols, &mut reader)?;
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
    let bytes = reader.take((count * width as usize).div_ceil(8), what)?;
    let mut bits = BitReader::new(bytes);
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

/// Fills in the symbols of a tile and counts the exact ones.
fn decode_stream(tile: &TileGroups, stream: usize, bytes: &[u8], q: &mut [i16]) -> Result<usize> {
    let mut bits = BitReader::new(bytes);
    let (mut before, mut exact) = (0, 0);
    for run in tile.runs_of(stream) {
        exact += decode_run(tile, run, &mut before, &mut bits, q)?;
    }
    if bytes.last() == Some(&0) || bytes.len() > bits.bytes_read() {
        return Err(Error::corrupt("chunk payload: a stream that is longer than it needs to be"));
    }
    Ok(exact)
}

/// `before`: the width of the first live group of the latest run that has one.
fn decode_run(tile: &TileGroups, run: usize, before: &mut i32, bits: &mut BitReader, q: &mut [i16]) -> Result<usize> {
    let live: Vec<&[u16]> =
        tile.groups_of(run).map(|g| tile.places_of(g)).filter(|places| !places.is_empty()).collect();
    if live.is_empty() {
        return Ok(0);
    }
    let widths = read_widths(live.len(), *before, bits)?;
    *before = widths[0] as i32;
    let mut symbols = Vec::with_capacity(live.len() * GROUP);
    for width in &widths {
        symbols.extend((0..GROUP).map(|_| bits.get(*width) as u16));
    }
    let mut exact = 0;
    for (node, magnitude) in live.iter().copied().flatten().zip(symbols).filter(|(_, magnitude)| *magnitude > 0) {
        let negative = bits.get(1) == 1;
        let fits = magnitude < EXACT_MAGNITUDE || magnitude == EXACT_MAGNITUDE && negative;
        if !fits || *node == NO_NODE {
            return Err(Error::corrupt(format!("chunk payload: {magnitude} is no magnitude of this place")));
        }
        exact += (magnitude == EXACT_MAGNITUDE) as usize;
        let magnitude = magnitude as i16;
        q[*node as usize] = if negative { magnitude.wrapping_neg() } else { magnitude };
    }
    Ok(exact)
}

fn read_widths(groups: usize, before: i32, bits: &mut BitReader) -> Result<Vec<u32>> {
    let mut steps = vec![0; groups];
    if bits.get(1) == 1 {
        steps.iter_mut().for_each(|d| *d = bits.get(1) as i32);
        steps.iter_mut().filter(|d| **d != 0).for_each(|d| *d = 1 - 2 * bits.get(1) as i32);
        steps.iter_mut().filter(|d| **d != 0).for_each(|d| *d *= 1 + bits.get(1) as i32);
        steps.iter_mut().filter(|d| d.abs() > 1).for_each(|d| *d = d.signum() * (2 + bits.get(4) as i32));
    }
    let mut width = before;
    let widths = steps.iter().map(|d| {
        width += d;
        u32::try_from(width)
            .ok()
            .filter(|width| *width <= MOST_WIDTH)
            .ok_or_else(|| Error::corrupt(format!("chunk payload: a group of width {width}")))
    });
    widths.collect()
}

/// The deltas of the exact nodes, which were counted.
fn read_exact_values(
    layout: &ChunkLayout,
    groups: ChunkGroups,
    symbols: &mut ChunkSymbols,
    reader: &mut Reader,
) -> Result<()> {
    let bytes = layout.bits as usize / 8;
    symbols.delta.resize(layout.nodes, 0);
    for (start, tile, stream) in groups.streams(layout) {
        let nodes = tile.places_of_stream(stream).filter(|node| **node != NO_NODE).map(|node| start + *node as usize);
        for node in nodes.filter(|node| symbols.q[*node] == EXACT) {
            let mut wide = [0; 8];
            wide[..bytes].copy_from_slice(reader.take(bytes, "exact values")?);
            symbols.delta[node] = u64::from_le_bytes(wide);
        }
    }
    Ok(())
}
