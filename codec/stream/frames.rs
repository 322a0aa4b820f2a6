//! How a volume is cut into frames: a fixed rule of the shape and `frame_values` alone.

use crate::{Region, Shape, ToleranceMap};

/// The cut of a volume along its first axis with more than one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    n: [usize; 3],
    /// Axis that is cut.
    pub axis: usize,
    /// Nodes of that axis in each frame but the last.
    pub layers: usize,
    pub count: usize,
}

/// Frame boundaries fall on multiples of this many nodes, by the number of axes with more than one node.
fn unit(active_axes: usize) -> usize {
    match active_axes {
        3 => 32,
        2 => 128,
        _ => 4096,
    }
}

impl Frames {
    /// As few frames of at most `frame_values` values as possible (but whole units), of nearly equal size.
    pub fn new(shape: &Shape, frame_values: u64) -> Self {
        let n = shape.n;
        let axis = n.iter().position(|&e| e > 1).unwrap_or(2);
        let unit = unit(n.iter().filter(|&&e| e > 1).count());
        let plane = (shape.len() / n[axis]) as u64;
        let most = ((frame_values / plane) as usize / unit * unit).max(unit);
        let layers = n[axis].div_ceil(n[axis].div_ceil(most)).next_multiple_of(unit).min(n[axis]);
        Self { n, axis, layers, count: n[axis].div_ceil(layers) }
    }
    /// The part of the volume in frame `index`.
    pub fn region(&self, index: usize) -> Region {
        let mut region = Region { lo: [0; 3], hi: self.n };
        region.lo[self.axis] = index * self.layers;
        region.hi[self.axis] = ((index + 1) * self.layers).min(self.n[self.axis]);
        region
    }
    /// Blocks per axis of frame `index`.
    pub fn blocks(&self, index: usize) -> [usize; 3] {
        self.region(index).shape().map(|n| n.div_ceil(8))
    }
    /// The tolerance map of frame `index`, cut out of the volume's.
    pub fn map(&self, map: &ToleranceMap, index: usize) -> ToleranceMap {
        let blocks = self.blocks(index);
        let plane: usize = map.blocks.iter().product::<usize>() / map.blocks[self.axis];
        let first = index * self.layers / 8 * plane;
        let tier_of_block = map.tier_of_block[first..first + blocks.iter().product::<usize>()].to_vec();
        ToleranceMap { blocks, tiers: map.tiers.clone(), tier_of_block }
    }
    /// Frames that meet `region`.
    pub fn meeting(&self, region: &Region) -> std::ops::Range<usize> {
        region.lo[self.axis] / self.layers..region.hi[self.axis].div_ceil(self.layers).min(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sets_of_the_paper_are_one_frame() {
        for extents in [[512, 512, 512], [100, 500, 500], [98, 1200, 1200], [256, 384, 384], [500, 500, 500]] {
            assert_eq!(Frames::new(&Shape::new(&extents).unwrap(), 1 << 28).count, 1);
        }
    }

    proptest! {
        #[test]
        fn frames_tile_the_volume_on_block_boundaries(
            extents in prop::collection::vec(1usize..200, 1..=3), frame_values in 1u64..100_000,
        ) {
            let shape = Shape::new(&extents).unwrap();
            let frames = Frames::new(&shape, frame_values);
            let mut next = 0;
            for index in 0..frames.count {
                let region = frames.region(index);
                prop_assert_eq!(region.lo[frames.axis], next);
                prop_assert!(next % 8 == 0 && !region.is_empty());
                next = region.hi[frames.axis];
                prop_assert_eq!(frames.meeting(&region), index..index + 1);
            }
            prop_assert_eq!(next, shape.n[frames.axis]);
            let map = ToleranceMap::uniform(&shape, 1.0).unwrap();
            let blocks: usize = (0..frames.count).map(|i| frames.map(&map, i).tier_of_block.len()).sum();
            prop_assert_eq!(blocks, map.tier_of_block.len());
        }
    }
}
