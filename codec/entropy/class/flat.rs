//! Plain arrays of symbols, for the hybrid hierarchy: a class per 512 symbols.

use super::chunk::{decode_chunk, encode_chunk};
use super::symbols::{ChunkLayout, ChunkSymbols, EXACT, TileLayout, TileRef, Unit};
use crate::Result;

/// Symbols of a unit.
const UNIT: usize = 512;
/// Symbols of a tile: 32 units, one round of classes.
const TILE: usize = 32 * UNIT;

/// The array as a chunk of tiles of 32 units, all of step 0.
pub(crate) fn layout(count: usize) -> ChunkLayout {
    let tile = |nodes: usize| TileLayout {
        units: (0..nodes.div_ceil(UNIT))
            .map(|u| Unit {
                start: (u * UNIT) as u32,
                len: UNIT.min(nodes - u * UNIT) as u32,
                step: 0,
                cell: [0, 0, u as u8],
            })
            .collect(),
        nodes,
        ..TileLayout::default()
    };
    ChunkLayout {
        shapes: vec![tile(TILE.min(count)), tile(count % TILE)],
        tiles: (0..count.div_ceil(TILE))
            .map(|t| TileRef { shape: ((t + 1) * TILE > count) as usize, start: t * TILE })
            .collect(),
        nodes: count,
        bits: 32,
    }
}

/// Appends the payload of any symbols. One call makes at most 16 streams: cut long arrays into chunks of about 2^18.
pub fn encode_flat(symbols: &[i32], out: &mut Vec<u8>) {
    let fits = |s: i32| s.unsigned_abs() <= i16::MAX as u32;
    let mut chunk = ChunkSymbols::default();
    chunk.q.extend(symbols.iter().map(|&s| if fits(s) { s as i16 } else { EXACT }));
    if !symbols.iter().all(|&s| fits(s)) {
        chunk.delta.extend(symbols.iter().map(|&s| ((s << 1) ^ (s >> 31)) as u32 as u64));
    }
    encode_chunk(&layout(symbols.len()), &chunk, out);
}

/// The `count` symbols of a payload made by [`encode_flat`].
pub fn decode_flat(count: usize, payload: &[u8]) -> Result<Vec<i32>> {
    let mut chunk = ChunkSymbols::default();
    decode_chunk(&layout(count), payload, &mut chunk)?;
    let symbol = |(i, &q): (usize, &i16)| match q {
        EXACT => {
            let z = chunk.delta[i] as u32;
            (z >> 1) as i32 ^ -((z & 1) as i32)
        }
        q => q as i32,
    };
    Ok(chunk.q.iter().enumerate().map(symbol).collect())
}
