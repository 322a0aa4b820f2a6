//! From a spec and a volume to the tolerance map: the strictest tier wins in every block.

use super::spec::RoiSpec;
use super::{Analysis, BlockMask, Cover, RegionMask};
use crate::volume::{Stats, Volume};
use crate::{Control, Result, Shape, Tier, ToleranceMap};
use rayon::prelude::*;

/// An enabled region bound to a volume.
pub struct ResolvedRegion<'a> {
    /// Position in [`RoiSpec::regions`].
    pub index: usize,
    /// Position in [`RoiSpec::tiers`].
    pub tier: usize,
    pub mask: RegionMask<'a>,
    pub blocks: BlockMask,
}

impl RoiSpec {
    /// The tolerance map of a volume; `stats` are the volume's.
    ///
    /// # Errors
    /// When a region does not fit the volume (the message names it), reading fails, or `control` was cancelled.
    pub fn resolve(&self, volume: &Volume, stats: &Stats, control: &Control) -> Result<ToleranceMap> {
        self.resolve_with(&Analysis::new(volume.clone(), stats.clone()), control)
    }
    /// As [`RoiSpec::resolve`], for callers that keep an [`Analysis`] between edits.
    pub fn resolve_with(&self, analysis: &Analysis, control: &Control) -> Result<ToleranceMap> {
        Ok(self.resolve_told(analysis, control)?.0)
    }
    /// As [`RoiSpec::resolve_with`]; also says which regions hold no voxel, and which reach beyond the volume.
    pub fn resolve_told(&self, analysis: &Analysis, control: &Control) -> Result<(ToleranceMap, Vec<String>)> {
        self.check()?;
        let regions = self.resolve_regions(analysis, control)?;
        let background = self.tier_of(&self.background)?;
        let parts: Vec<Part> = regions.iter().map(|r| (r.tier, &r.mask, &r.blocks)).collect();
        let shape = &analysis.volume().shape;
        let map = compose(self.resolve_tiers(analysis.stats()), background, shape, &parts)?;
        Ok((map, self.remarks(&regions, shape)))
    }
    /// All enabled regions bound to a volume.
    pub fn resolve_regions<'a>(&'a self, analysis: &Analysis, control: &Control) -> Result<Vec<ResolvedRegion<'a>>> {
        let enabled = self.regions.iter().enumerate().filter(|(_, r)| r.enabled);
        enabled
            .map(|(index, region)| {
                let named = |mut e: crate::Error| {
                    e.message = format!("{}: {}", self.region_title(index), e.message);
                    e
                };
                let tier = self.tier_of(&region.tier).map_err(named)?;
                let mask = region.resolve(analysis, &self.folder, control).map_err(named)?;
                let blocks = mask.blocks(control)?;
                Ok(ResolvedRegion { index, tier, mask, blocks })
            })
            .collect()
    }
}

/// A region's tier (as a position), its voxels and its blocks.
pub type Part<'a> = (usize, &'a RegionMask<'a>, &'a BlockMask);

/// Joins regions into a tolerance map. A block takes the strictest tier among its voxels; a voxel takes the strictest among its
/// regions, and `background` where there are none. So a tier looser than the background holds only in blocks that are covered in full.
pub fn compose(tiers: Vec<Tier>, background: usize, shape: &Shape, parts: &[Part]) -> Result<ToleranceMap> {
    let blocks = shape.blocks();
    let tau = |tier: usize| tiers[tier].tau;
    let mut order: Vec<&Part> = parts.iter().collect();
    // Stable: of two equally strict tiers, the one listed first wins, and any region wins over the background.
    order.sort_by(|a, b| tau(a.0).total_cmp(&tau(b.0)));
    let (strict, loose) = order.split_at(order.partition_point(|p| tau(p.0) <= tau(background)));
    let mut tier_of_block = vec![background as u8; blocks.iter().product()];
    tier_of_block.par_chunks_mut(blocks[2]).enumerate().try_for_each(|(row, out)| {
        let start = row * blocks[2];
        for (tier, _, mask) in strict.iter().rev() {
            for (o, c) in out.iter_mut().zip(&mask.cover[start..]) {
                *o = if *c == Cover::None { *o } else { *tier as u8 };
            }
        }
        if loose.is_empty() {
            return Ok(());
        }
        for (bx, o) in out.iter_mut().enumerate() {
            if strict.iter().all(|(_, _, m)| m.cover[start + bx] == Cover::None) {
                *o = loosened(loose, start + bx, [row / blocks[1], row % blocks[1], bx])?.unwrap_or(background) as u8;
            }
        }
        Ok::<(), crate::Error>(())
    })?;
    Ok(ToleranceMap { blocks, tiers, tier_of_block })
}

/// The tier of a block that only regions looser than the background touch (strictest first); `None` when they leave a voxel to the
/// background.
fn loosened(loose: &[&Part], block: usize, at: [usize; 3]) -> Result<Option<usize>> {
    let touching: Vec<&&Part> = loose.iter().filter(|(_, _, m)| m.cover[block] != Cover::None).collect();
    let Some(strictest) = touching.first() else { return Ok(None) };
    let covered = touching.iter().any(|(_, _, m)| m.cover[block] == Cover::Full)
        || (touching.len() > 1 && RegionMask::fill_block(&touching.iter().map(|p| p.1).collect::<Vec<_>>(), at)?);
    Ok(covered.then_some(strictest.0))
}
