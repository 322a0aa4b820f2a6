//! What is known of one voxel.

use super::State;
use super::compare::LayerChoice;
use crate::studio::data::slice::read_value;
use crate::studio::worker::Worker;
use blockmgard::volume::Values;
use blockmgard::with_values;
use std::sync::Arc;

/// A value of the volume.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    Value(f64),
    /// It is being read or decoded.
    Waiting,
    /// It cannot be read.
    Failed,
}

/// Reads voxels that take work: a box of a stream, a chunk of a compressed file.
pub struct Probing {
    worker: Worker<(), (Key, Reading)>,
    asked: Option<Key>,
    last: Option<(Key, Reading)>,
}

/// Generation of the volume, and voxel.
type Key = (u64, [usize; 3]);

impl Probing {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { worker: Worker::new("probe", wake), asked: None, last: None }
    }
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }
}

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
    pub value: Reading,
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
        let voxel = self.probed();
        let value = match self.probing.last.as_ref().filter(|(key, _)| *key == (self.generation, voxel)) {
            _ if at_hand(&document.shown) => reading(&document.shown, voxel),
            Some((_, reading)) => reading.clone(),
            None => Reading::Waiting,
        };
        let map = self.mapping.result.as_ref().and_then(|r| r.levels.first());
        let tier = self.tier_at(voxel).and_then(|t| Some((t, self.roi.tiers.get(t)?.name.clone())));
        let run = [self.compare.a, self.compare.b].into_iter().find_map(|layer| match layer {
            LayerChoice::Run(id) | LayerChoice::Error(id) | LayerChoice::ErrorOverTau(id) => self.runs.get(id),
            _ => None,
        });
        let run = run.and_then(|r| {
            let Reading::Value(value) = value else { return None };
            let rebuilt = read_value(r.reconstruction.as_ref()?, voxel).ok()?;
            let tau = r.tolerance.as_ref().map_or(f64::INFINITY, |m| m.tau_at(voxel));
            Some(RunProbe { name: r.name.clone(), value: rebuilt, error: rebuilt - value, tau })
        });
        Some(Probe { voxel, value, tier, block: voxel.map(|v| v / 8), tau: map.map(|m| m.tau_at(voxel)), run })
    }

    fn probed(&self) -> [usize; 3] {
        self.hover.unwrap_or(self.crosshair)
    }

    /// Asks for the probed voxel where reading it takes work: no frame waits for that.
    pub(super) fn refresh_probe(&mut self) {
        if let Some((_, found)) = self.probing.worker.finished().pop() {
            self.probing.last = Some(found);
        }
        let Some(document) = self.document.as_ref().filter(|d| !at_hand(&d.shown)) else { return };
        let key = (self.generation, self.probed());
        if self.probing.asked != Some(key) {
            self.probing.asked = Some(key);
            let values = document.shown.clone();
            self.probing.worker.request((), move || (key, reading(&values, key.1)));
        }
    }

    /// Tier of the block that holds a voxel.
    pub fn tier_at(&self, voxel: [usize; 3]) -> Option<usize> {
        let map = self.mapping.result.as_ref()?.levels.first()?;
        let [_, by, bx] = map.blocks;
        let [z, y, x] = voxel.map(|v| v / 8);
        map.tier_of_block.get((z * by + y) * bx + x).map(|t| *t as usize)
    }
}

/// Whether values are read without work.
fn at_hand(values: &Values) -> bool {
    with_values!(values, field => field.as_slice().is_some())
}

fn reading(values: &Values, voxel: [usize; 3]) -> Reading {
    read_value(values, voxel).map_or(Reading::Failed, Reading::Value)
}
