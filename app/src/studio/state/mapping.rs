//! The live tolerance map: tiers per block at every local level, counted, off the UI thread.

use crate::studio::data::slice::plane_axes;
use crate::studio::data::stats::BlockStats;
use crate::studio::gpu::raycast::ByteVolume;
use crate::studio::gpu::slice::MapPlane;
use crate::studio::roi::block_set::Coverage;
use crate::studio::worker::Worker;
use blockmgard::{Tier, ToleranceMap};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// A threshold that is being dragged, not yet a region.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewThreshold {
    pub tier: usize,
    pub gradient: bool,
    pub lo: f64,
    pub hi: f64,
}

/// What the map is made of.
#[derive(Clone)]
pub struct MapInput {
    pub blocks: [usize; 3],
    pub tiers: Vec<Tier>,
    /// Rank of each tier, larger = stricter.
    pub strictness: Vec<usize>,
    /// The tier of each block where that is known: the regions are not asked then.
    pub stored: Option<Arc<Vec<u8>>>,
    /// (tier, blocks) of each region that is switched on.
    pub regions: Vec<(usize, Arc<Coverage>)>,
    pub preview: Option<(PreviewThreshold, Arc<BlockStats>)>,
    /// Local levels to propagate through.
    pub levels: usize,
}

/// The map at each local level.
pub struct MapResult {
    /// Finest first; `levels[l]` after l applications of Eq. (2).
    pub levels: Vec<ToleranceMap>,
    /// Blocks per tier at each level.
    pub counts: Vec<Vec<usize>>,
    /// Strictest tolerance of the last level: what the global levels must keep.
    pub tau_global: f64,
    /// The tiers of the finest level as the 3-D view's texture.
    pub shells: Arc<ByteVolume>,
}

impl MapInput {
    /// The strictest tier of each block's voxels; a tier looser than the background holds only in blocks
    /// that its region covers in full and no other region touches.
    fn base(&self) -> ToleranceMap {
        let blocks = self.blocks.iter().product();
        let mut tier_of_block = self.stored.as_ref().map_or_else(|| vec![0u8; blocks], |tiers| tiers.to_vec());
        let regions = if self.stored.is_some() { &[] } else { &self.regions[..] };
        let rank = |tier: u8| self.strictness[tier as usize];
        let loose = |tier: usize| self.tiers[tier].tau > self.tiers[0].tau;
        for (tier, blocks) in regions.iter().filter(|(t, _)| !loose(*t)) {
            raise(&mut tier_of_block, blocks.touched.iter(), *tier as u8, rank);
        }
        if let Some((p, stats)) = self.preview.as_ref().filter(|(p, _)| !loose(p.tier)) {
            let (sure, unsure) = stats.in_interval(p.lo, p.hi);
            // A dragged interval inside a block's extremes almost surely meets a voxel; exact when applied.
            raise(&mut tier_of_block, sure.touched.iter().chain(unsure), p.tier as u8, rank);
        }
        let mut order: Vec<_> = regions.iter().filter(|(t, _)| loose(*t)).collect();
        order.sort_by_key(|(t, _)| self.strictness[*t]);
        let strict: Vec<bool> = tier_of_block.iter().map(|t| *t != 0).collect();
        for (i, (tier, blocks)) in order.iter().enumerate() {
            for block in blocks.full.iter().filter(|b| !strict[*b]) {
                // A stricter loose region that touches the block decides it.
                let stricter = order[i + 1..].iter().rev().find(|(_, b)| b.touched.contains(block));
                tier_of_block[block] = stricter.map_or(*tier, |(t, _)| *t) as u8;
            }
        }
        ToleranceMap { blocks: self.blocks, tiers: self.tiers.clone(), tier_of_block }
    }

    /// The whole computation.
    pub fn compute(&self) -> MapResult {
        let levels = self.base().propagated(self.levels);
        let counts = levels.iter().map(|m| m.blocks_per_tier()).collect();
        let tau_global = levels.last().map_or(f64::INFINITY, |m| m.strictest());
        let [z, y, x] = self.blocks;
        let shells = Arc::new(ByteVolume { size: [x, y, z], texels: levels[0].tier_of_block.clone() });
        MapResult { levels, counts, tau_global, shells }
    }
}

/// Gives blocks a tier unless they have a stricter one; any tier beats the background.
fn raise(map: &mut [u8], blocks: impl Iterator<Item = usize>, tier: u8, rank: impl Fn(u8) -> usize) {
    for block in blocks {
        let old = &mut map[block];
        if *old == 0 || rank(tier) > rank(*old) {
            *old = tier;
        }
    }
}

/// The map worker and the planes cut from its last result.
pub struct Mapping {
    worker: Worker<(), (u64, MapResult)>,
    asked: u64,
    pub result: Option<Arc<MapResult>>,
    planes: RefCell<HashMap<(usize, usize, usize), Arc<MapPlane>>>,
}

impl Mapping {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { worker: Worker::new("tolerance map", wake), asked: 0, result: None, planes: RefCell::default() }
    }
    pub fn clear(&mut self) {
        self.asked = 0;
        self.result = None;
        self.planes.get_mut().clear();
    }
    /// Asks for a new map when `version` moved on.
    pub fn want(&mut self, version: u64, input: impl FnOnce() -> MapInput) {
        if self.asked != version {
            self.asked = version;
            let input = input();
            self.worker.request((), move || (version, input.compute()));
        }
    }
    pub fn poll(&mut self) -> bool {
        let Some((_, (_, result))) = self.worker.finished().pop() else { return false };
        self.result = Some(Arc::new(result));
        self.planes.get_mut().clear();
        true
    }
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }

    /// The plane of blocks at `level` that slice `index` of `axis` runs through.
    pub fn plane(&self, axis: usize, index: usize, level: usize) -> Option<Arc<MapPlane>> {
        let result = self.result.clone()?;
        let map = result.levels.get(level)?;
        let layer = block_at_level(index, level).min(map.blocks[axis] - 1);
        let mut planes = self.planes.borrow_mut();
        let plane = planes.entry((axis, layer, level)).or_insert_with(|| Arc::new(cut(map, axis, layer)));
        Some(plane.clone())
    }
}

/// Block index at `level` of a node of the finest grid along one axis: nodes 0, 2, 4, 6, 7 of each 8
/// survive a level.
pub fn block_at_level(node: usize, level: usize) -> usize {
    const KEPT: [usize; 8] = [0, 0, 1, 1, 2, 2, 3, 4];
    (0..level).fold(node, |x, _| x / 8 * 5 + KEPT[x % 8]) / 8
}

fn cut(map: &ToleranceMap, axis: usize, layer: usize) -> MapPlane {
    let [av, au] = plane_axes(axis);
    let [_, by, bx] = map.blocks;
    let size = [map.blocks[au], map.blocks[av]];
    let mut tiers = Vec::with_capacity(size[0] * size[1]);
    for v in 0..size[1] {
        for u in 0..size[0] {
            let mut b = [0; 3];
            (b[axis], b[av], b[au]) = (layer, v, u);
            tiers.push(map.tier_of_block[(b[0] * by + b[1]) * bx + b[2]]);
        }
    }
    MapPlane { size, tiers }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(regions: Vec<(usize, Arc<Coverage>)>) -> MapInput {
        let tier = |name: &str, tau| Tier { name: name.into(), tau };
        MapInput {
            blocks: [4, 4, 4],
            tiers: vec![tier("background", 1.0), tier("normal", 0.1), tier("strict", 0.01)],
            strictness: vec![0, 1, 2],
            stored: None,
            regions,
            preview: None,
            levels: 2,
        }
    }

    #[test]
    fn the_strictest_region_of_a_block_wins_in_any_order() {
        let mut one = Coverage::new(64);
        one.set(5, true, false);
        let one = Arc::new(one);
        for order in [[1, 2], [2, 1]] {
            let map = input(order.map(|t| (t, one.clone())).to_vec()).compute();
            assert_eq!(map.levels[0].tier_of_block[5], 2);
            assert_eq!(map.counts[0], [63, 0, 1]);
            assert_eq!(map.tau_global, 0.01);
        }
    }

    #[test]
    fn a_tier_looser_than_the_background_needs_the_whole_block() {
        let mut part = Coverage::new(64);
        part.set(5, true, false);
        part.set(6, true, true);
        part.set(7, true, true);
        let mut strict = Coverage::new(64);
        strict.set(7, true, false);
        let mut input = input(vec![(1, Arc::new(part)), (2, Arc::new(strict))]);
        input.tiers[1].tau = f64::INFINITY;
        input.strictness = vec![1, 0, 2];
        let map = input.compute();
        assert_eq!(map.levels[0].tier_of_block[5..8], [0, 1, 2]);
    }

    #[test]
    fn nodes_find_their_block_at_coarser_levels() {
        assert_eq!(block_at_level(63, 0), 7);
        // Block 7 keeps coarse nodes 35..39: node 63 is coarse node 39, in block 4.
        assert_eq!(block_at_level(63, 1), 4);
        assert_eq!(block_at_level(0, 3), 0);
    }
}
