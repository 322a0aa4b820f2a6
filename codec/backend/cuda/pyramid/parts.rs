//! The parts of a list of tiles of any shape: kernels differ by how many threads take a tile.

use super::level::TileSize;

/// Tiles of a list that one kernel takes: where they begin in it, and how many there are; the most that one takes.
#[derive(Clone, Copy)]
pub struct TilePart {
    pub first: u32,
    pub count: u32,
    pub largest: TileSize,
    /// They are few, and all there are.
    pub few: bool,
}

/// Nodes of the tiles of which a warp takes several, in axis order; of those that a warp takes, and of those that two take, else.
pub const TINY_NODES: usize = 512;
pub const SMALL_NODES: usize = 1024;
pub const MIDDLE_NODES: usize = 8192;
/// Tiles of a size that are fewer than one in so many multiprocessors do not get a kernel of their own.
const FEW_OF: u32 = 16;

impl TilePart {
    /// Parts of a list of tiles of these sizes, largest first: few tiles stay together, with larger ones too.
    pub fn of(sizes: &[TileSize], multiprocessors: u32) -> Vec<Self> {
        let few = sizes.len() < multiprocessors as usize;
        let kind = |size: &TileSize| (!few && size.nodes <= SMALL_NODES, !few && size.nodes <= MIDDLE_NODES);
        let mut parts: Vec<Self> = Vec::new();
        for sizes in sizes.chunk_by(|a, b| kind(a) == kind(b)) {
            let count = sizes.len() as u32;
            match parts.last_mut() {
                // alone they would take as long as many of their size
                Some(larger) if count <= multiprocessors / FEW_OF => larger.count += count,
                before => {
                    let first = before.map_or(0, |part| part.first + part.count);
                    parts.push(Self { first, count, largest: TileSize::most(sizes.iter().copied()), few });
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tiles_stay_together_and_many_are_parted_by_size() {
        let size = |nodes| TileSize { nodes, ..TileSize::default() };
        let sizes: Vec<_> = [20_000, 8192, 8000, 1024, 30].map(size).into();
        assert_eq!(TilePart::of(&sizes, 6).len(), 1);
        let parts = TilePart::of(&sizes, 5);
        let found: Vec<_> = parts.iter().map(|p| (p.first, p.count, p.largest.nodes, p.few)).collect();
        assert_eq!(found, [(0, 1, 20_000, false), (1, 2, 8192, false), (3, 2, 1024, false)]);
        assert!(TilePart::of(&[], 5).is_empty());
        let sizes: Vec<_> = [20_000; 20].into_iter().chain([8000; 2]).map(size).collect();
        assert_eq!(TilePart::of(&sizes, 20).len(), 2);
        assert_eq!(TilePart::of(&sizes[..21], 20).len(), 1, "one tile by few threads takes as long as many");
    }
}
