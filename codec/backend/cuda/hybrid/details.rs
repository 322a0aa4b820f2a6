//! Which nodes of a block the details belong to.

use crate::Region;

/// Nodes of a block, in raster order, that are not coarse on all axes.
pub struct Details {
    nodes: Vec<[usize; 3]>,
}

impl Details {
    pub fn new(rank: usize) -> Self {
        let side = |axis: usize| if axis + rank >= 3 { 8 } else { 1 };
        let kept = |i: usize| i.is_multiple_of(2) || i == 7;
        let all = (0..side(0)).flat_map(|z| (0..side(1)).flat_map(move |y| (0..8).map(move |x| [z, y, x])));
        Self { nodes: all.filter(|node| !node.iter().all(|&i| kept(i))).collect() }
    }
    /// The node of detail `index` of the blocks of a box, in nodes of the frame.
    pub fn node(&self, blocks: &Region, index: usize) -> [usize; 3] {
        let ([_, by, bx], block) = (blocks.shape(), index / self.nodes.len());
        let at = [block / (by * bx), block / bx % by, block % bx];
        let node = self.nodes[index % self.nodes.len()];
        std::array::from_fn(|a| (blocks.lo[a] + at[a]) * 8 + node[a])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::hybrid::local::block_details;

    #[test]
    fn a_block_has_as_many_details_as_symbols() {
        for rank in 1..=3 {
            assert_eq!(Details::new(rank).nodes.len(), block_details(rank));
        }
        let blocks = Region { lo: [1, 0, 2], hi: [2, 2, 4] };
        assert_eq!(Details::new(3).node(&blocks, 387 + 1), [8, 0, 27]);
    }
}
