//! The groups coder: groups of 8 symbols, magnitudes as wide as the largest of their group, then signs. `FORMAT.md` fixes every byte.

mod bits;
mod decode;
mod encode;
pub mod geometry;
#[cfg(test)]
mod tests;

pub use decode::decode_chunk;
pub use encode::encode_chunk;

use super::class::symbols::ChunkLayout;
use geometry::TileGroups;

/// Flag in the first byte: the deltas of exact nodes follow the streams.
const HAS_EXACT: u8 = 128;
/// |q| of an exact node.
const EXACT_MAGNITUDE: u16 = 1 << 15;
/// Bits of the largest |q|.
const MOST_WIDTH: u32 = 16;

/// The streams of every shape of tile ([`ChunkLayout::shapes`]) of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct ChunkGroups<'a> {
    pub shapes: &'a [TileGroups],
}

impl<'a> ChunkGroups<'a> {
    /// First node, shape and stream of every stream of a chunk, in turn.
    fn streams(self, layout: &'a ChunkLayout) -> impl Iterator<Item = (usize, &'a TileGroups, usize)> {
        layout.tiles.iter().flat_map(move |tile| {
            let shape = &self.shapes[tile.shape];
            (0..shape.streams()).map(move |stream| (tile.start, shape, stream))
        })
    }
}
