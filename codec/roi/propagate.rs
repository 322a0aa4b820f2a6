//! Propagation of tolerances to the coarser local levels, Eq. (2) of the paper.

use super::ToleranceMap;

/// Coarse nodes that a block of 8 nodes leaves on an axis.
const COARSE: usize = 5;

impl ToleranceMap {
    /// The map of the next coarser local level: each of its blocks takes the strictest tier of the blocks that
    /// contribute to it. Coarse block j of an axis covers the coarse nodes 8j .. 8j + 7, and coarse node k came
    /// from block k / 5. Tiers keep their indices; of equal tolerances the smaller index wins.
    pub fn propagate(&self) -> ToleranceMap {
        let rank = strictness(self);
        let mut blocks = self.blocks;
        let mut tier_of_block = self.tier_of_block.clone();
        for axis in 0..3 {
            let inner: usize = blocks[axis + 1..].iter().product();
            let (fine, coarse) = (blocks[axis], coarse_blocks(blocks[axis]));
            let mut out = Vec::with_capacity(tier_of_block.len() / fine * coarse);
            for layer in tier_of_block.chunks_exact(fine * inner) {
                for j in 0..coarse {
                    let (lo, hi) = (8 * j / COARSE, (8 * j + 7).min(COARSE * fine - 1) / COARSE);
                    let strictest = |i: usize| {
                        let tiers = (lo..=hi).map(|k| layer[k * inner + i]);
                        tiers.min_by_key(|&t| rank[t as usize]).expect("a coarse block covers a block")
                    };
                    out.extend((0..inner).map(strictest));
                }
            }
            blocks[axis] = coarse;
            tier_of_block = out;
        }
        ToleranceMap { blocks, tiers: self.tiers.clone(), tier_of_block }
    }

    /// This map and those of the next `levels` coarser local levels, finest first.
    pub fn propagated(&self, levels: usize) -> Vec<ToleranceMap> {
        let next = |map: &ToleranceMap| Some(map.propagate());
        std::iter::successors(Some(self.clone()), next).take(levels + 1).collect()
    }

    /// Number of blocks that each tier holds.
    pub fn blocks_per_tier(&self) -> Vec<usize> {
        let mut counts = vec![0; self.tiers.len()];
        self.tier_of_block.iter().for_each(|&t| counts[t as usize] += 1);
        counts
    }

    /// The strictest tolerance that any block carries: tau_global of Section IV-C when taken of the last local level.
    pub fn strictest(&self) -> f64 {
        let present = self.blocks_per_tier();
        let taus = self.tiers.iter().zip(present).filter(|&(_, n)| n > 0).map(|(t, _)| t.tau);
        taus.fold(f64::INFINITY, f64::min)
    }
}

/// Blocks of the next coarser local level on an axis of `blocks` blocks.
fn coarse_blocks(blocks: usize) -> usize {
    (COARSE * blocks).div_ceil(8)
}

/// Rank of each tier, 0 = strictest.
fn strictness(map: &ToleranceMap) -> Vec<u8> {
    let mut order: Vec<usize> = (0..map.tiers.len()).collect();
    order.sort_by(|&a, &b| map.tiers[a].tau.total_cmp(&map.tiers[b].tau));
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(r, &t)| rank[t] = r as u8);
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Tier};

    fn map(blocks: [usize; 3], strict: &[usize]) -> ToleranceMap {
        let tier = |name: &str, tau| Tier { name: name.into(), tau };
        let mut tier_of_block = vec![0; blocks.iter().product()];
        strict.iter().for_each(|&b| tier_of_block[b] = 1);
        ToleranceMap { blocks, tiers: vec![tier("background", 1.0), tier("strict", 1e-3)], tier_of_block }
    }

    #[test]
    fn strictest_tier_wins_and_spreads() {
        let coarse = map([3, 3, 3], &[0]).propagate();
        assert_eq!((coarse.blocks, coarse.blocks_per_tier()), ([2, 2, 2], vec![7, 1]));
        // Block 1 of an axis holds coarse nodes 5..9, which blocks 0 (0..7) and 1 (8..15) of the next level share.
        let coarse = map([1, 1, 3], &[1]).propagate();
        assert_eq!(coarse.tier_of_block, [1, 1]);
        assert_eq!(coarse.strictest(), 1e-3);
    }

    #[test]
    fn a_single_block_stays_one() {
        let map = ToleranceMap::uniform(&Shape::new(&[1, 7, 3]).unwrap(), 0.5).unwrap();
        let levels = map.propagated(4);
        assert!(levels.len() == 5 && levels.iter().all(|m| m.blocks == [1, 1, 1]));
    }

    #[derive(serde::Deserialize)]
    struct Vectors {
        taus: Vec<f64>,
        maps: Vec<Case>,
    }
    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        levels: Vec<Stored>,
    }
    #[derive(serde::Deserialize)]
    struct Stored {
        blocks: [usize; 3],
        offset: usize,
        count: usize,
    }

    #[test]
    fn propagation_equals_the_oracle() {
        let packed = include_bytes!("../../tests/data/hybrid/propagate.bin.zst");
        let bytes = zstd::decode_all(&packed[..]).unwrap();
        let (index, tiers) = bytes.split_at(bytes.iter().position(|&b| b == b'\n').unwrap() + 1);
        let vectors: Vectors = serde_json::from_slice(index).unwrap();
        assert_eq!(vectors.maps.len(), 4);
        for case in vectors.maps {
            let level = |s: &Stored| ToleranceMap {
                blocks: s.blocks,
                tiers: vectors.taus.iter().map(|&tau| Tier { name: tau.to_string(), tau }).collect(),
                tier_of_block: tiers[s.offset..][..s.count].to_vec(),
            };
            let found = level(&case.levels[0]).propagated(case.levels.len() - 1);
            for (k, (found, stored)) in found.iter().zip(&case.levels).enumerate() {
                assert_eq!(found, &level(stored), "{} level {k}", case.name);
            }
        }
    }
}
