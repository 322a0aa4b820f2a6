//! How a frame is cut into chunks: boxes of whole blocks, about 1 MB of f32 input each.

use super::plan::BLOCK;
use crate::Region;

/// Nodes of a chunk, 2^18, whatever the number of axes.
const CHUNK_NODES: usize = 1 << 18;

/// The chunks of a frame, in raster order.
#[derive(Clone, Debug)]
pub struct ChunkGrid {
    n: [usize; 3],
    /// Blocks per axis.
    blocks: [usize; 3],
    /// Blocks of a full chunk per axis.
    side: [usize; 3],
    chunks: [usize; 3],
}

impl ChunkGrid {
    /// Sides double from 1, the shortest first and of equal ones the fastest axis first, until a chunk holds 2^18
    /// nodes or the frame; an axis that the frame does not fill stops growing.
    pub fn new(n: [usize; 3]) -> Self {
        let blocks = n.map(|n| n.div_ceil(BLOCK));
        let nodes_of_block: usize = n.iter().map(|&n| if n == 1 { 1 } else { BLOCK }).product();
        let mut side = [1; 3];
        while side.iter().product::<usize>() * nodes_of_block < CHUNK_NODES {
            let growing = (0..3).rev().filter(|&a| side[a] < blocks[a]);
            let Some(axis) = growing.min_by_key(|&a| side[a]) else { break };
            side[axis] *= 2;
        }
        let chunks = std::array::from_fn(|a| blocks[a].div_ceil(side[a]));
        Self { n, blocks, side, chunks }
    }
    pub fn len(&self) -> usize {
        self.chunks.iter().product()
    }
    /// Blocks of a full chunk per axis.
    #[cfg(feature = "cuda")]
    pub fn side(&self) -> [usize; 3] {
        self.side
    }
    /// Chunks per axis.
    #[cfg(feature = "cuda")]
    pub fn chunks(&self) -> [usize; 3] {
        self.chunks
    }
    /// The blocks of a chunk.
    pub fn blocks(&self, index: usize) -> Region {
        let [_, cy, cx] = self.chunks;
        let at = [index / (cy * cx), index / cx % cy, index % cx];
        let lo: [usize; 3] = std::array::from_fn(|a| at[a] * self.side[a]);
        Region { lo, hi: std::array::from_fn(|a| (lo[a] + self.side[a]).min(self.blocks[a])) }
    }
    /// The nodes of a chunk.
    pub fn nodes(&self, index: usize) -> Region {
        let b = self.blocks(index);
        Region {
            lo: std::array::from_fn(|a| b.lo[a] * BLOCK),
            hi: std::array::from_fn(|a| (b.hi[a] * BLOCK).min(self.n[a])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_frame_once() {
        for n in
            [[1, 1, 1], [64, 64, 64], [100, 500, 500], [1, 1000, 1000], [1, 1, 1 << 20], [2, 900, 900], [65, 7, 3000]]
        {
            let grid = ChunkGrid::new(n);
            let total: usize = (0..grid.len()).map(|i| grid.nodes(i).len()).sum();
            assert_eq!(total, n.iter().product::<usize>());
            assert!((0..grid.len()).all(|i| grid.nodes(i).len() <= 1 << 18));
        }
        assert_eq!(ChunkGrid::new([512; 3]).side, [8; 3]);
        assert_eq!(ChunkGrid::new([1, 2048, 2048]).side, [1, 64, 64]);
    }
}
