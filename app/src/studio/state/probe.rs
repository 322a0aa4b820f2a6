//! What is known of one voxel.

use super::State;
use super::compare::LayerChoice;
use crate::studio::data::slice::read_value;

/// What the compared run makes of a voxel.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProbe {
    pub name: String,
    pub value: f64,
    pub error: f64,
    /// The tolerance that the run kept there, whatever the regions are now.
    pub tau: f64,
}

/// The probe's findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub voxel: [usize; 3],
    pub value: f64,
    /// Index and name of the block's tier.
    pub tier: Option<(usize, String)>,
    pub block: [usize; 3],
    pub tau: Option<f64>,
    pub run: Option<RunProbe>,
}

impl State {
    /// The voxel under the pointer, else the crosshair.
    pub fn probe(&self) -> Option<Probe> {
        let document = self.document.as_ref()?;
        let voxel = self.hover.unwrap_or(self.crosshair);
        let value = read_value(&document.shown, voxel).ok()?;
        let map = self.mapping.result.as_ref().and_then(|r| r.levels.first());
        let tier = self.tier_at(voxel).and_then(|t| Some((t, self.roi.tiers.get(t)?.name.clone())));
        let run = [self.compare.a, self.compare.b].into_iter().find_map(|layer| match layer {
            LayerChoice::Run(id) | LayerChoice::Error(id) | LayerChoice::ErrorOverTau(id) => self.runs.get(id),
            _ => None,
        });
        let run = run.and_then(|r| {
            let rebuilt = read_value(r.reconstruction.as_ref()?, voxel).ok()?;
            let tau = r.tolerance.as_ref().map_or(f64::INFINITY, |m| m.tau_at(voxel));
            Some(RunProbe { name: r.name.clone(), value: rebuilt, error: rebuilt - value, tau })
        });
        Some(Probe { voxel, value, tier, block: voxel.map(|v| v / 8), tau: map.map(|m| m.tau_at(voxel)), run })
    }

    /// Tier of the block that holds a voxel.
    pub fn tier_at(&self, voxel: [usize; 3]) -> Option<usize> {
        let map = self.mapping.result.as_ref()?.levels.first()?;
        let [_, by, bx] = map.blocks;
        let [z, y, x] = voxel.map(|v| v / 8);
        map.tier_of_block.get((z * by + y) * bx + x).map(|t| *t as usize)
    }
}
