//! The groups coder: groups of 8 symbols, magnitudes as wide as the largest of their group, the highest bit as a place where it is alone, then signs. `FORMAT.md` fixes every byte.

mod bits;
mod decode;
mod encode;
pub mod geometry;
mod lanes;
pub mod runs;
#[cfg(test)]
mod tests;

pub use decode::decode_chunk;
pub use encode::encode_chunk;

use super::class::symbols::{ChunkLayout, TileLayout, TileRef};
use runs::TileRuns;

/// Flag in the first byte: the deltas of exact nodes follow the streams.
const HAS_EXACT: u8 = 128;
/// The size of the largest groups: twice the bits of the largest |q|.
const MOST_SIZE: u32 = 32;
/// Bits of a change of size of more than 1, less 2; where all are 1, it is this and what follows in so many bits.
const FAR_BITS: u32 = 2;
const FARTHER_BITS: u32 = 5;
/// The least of those changes.
const FARTHER: u32 = 5;

/// First place, tile and stream of every stream of a chunk, in turn.
#[inline(always)]
fn streams(layout: &ChunkLayout) -> impl Iterator<Item = (usize, &TileRuns, usize)> {
    layout.tiles.iter().flat_map(move |tile| {
        let runs = &layout.shapes[tile.shape].runs;
        (0..runs.streams()).map(move |stream| (tile.start, runs, stream))
    })
}

/// The layout of a chunk whose symbols lie at the places of groups; `runs` are those of its shapes of tiles.
pub fn layout_in_places(of: &ChunkLayout, runs: impl Iterator<Item = TileRuns>) -> ChunkLayout {
    let shapes = runs.map(|runs| TileLayout { units: Vec::new(), nodes: runs.places(), runs });
    let mut layout = ChunkLayout { shapes: shapes.collect(), bits: of.bits, ..ChunkLayout::default() };
    for tile in &of.tiles {
        layout.tiles.push(TileRef { start: layout.nodes, ..*tile });
        layout.nodes += layout.shapes[tile.shape].nodes;
    }
    layout
}
