//! The planes coder: groups of 32 symbols as bit planes, as many as the largest symbol of the group needs. A prefix sum over
//! the head of a chunk gives the place of everything, so that no node waits for another. `FORMAT.md` fixes every byte.

mod decode;
mod encode;
mod group;
#[cfg(test)]
mod tests;

pub use decode::decode_chunk;
pub use encode::encode_chunk;

use super::class::symbols::{ChunkLayout, TileLayout};

/// Flags of a chunk.
const HAS_EXACT: u8 = 1;
const EMPTY: u8 = 2;

/// Groups of a tile.
fn groups(tile: &TileLayout) -> usize {
    tile.nodes.div_ceil(group::LEN)
}

/// Bytes of the bits that say which tiles have symbols: whole words of 32 bits.
fn tile_bytes(layout: &ChunkLayout) -> usize {
    layout.tiles.len().div_ceil(32) * 4
}
