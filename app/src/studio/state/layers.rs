//! From a layer choice to its values, and the window it is shown with.

use super::State;
use super::compare::{CompareMode, LayerChoice};
use crate::studio::data::slice::{Geometry, Layer, plane_axes};
use crate::studio::gpu::colormap::ColorMap;
use crate::studio::panels::shell::number;

/// How a layer is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerLook {
    pub color_map: ColorMap,
    pub window: [f64; 2],
    pub log: bool,
    /// Values beyond +-1 are drawn in the alarm colour.
    pub alarm: bool,
}

impl State {
    /// The layers on screen: A, and B where the mode shows two.
    pub fn shown_layers(&self) -> Vec<LayerChoice> {
        match self.compare.mode {
            CompareMode::Single => vec![self.compare.a],
            _ => vec![self.compare.a, self.compare.b],
        }
    }

    /// A layer's values; `None` while its run has no reconstruction.
    pub fn layer(&self, choice: LayerChoice) -> Option<Layer> {
        let document = self.document.as_ref()?;
        let original = document.shown.clone();
        let run = |id| self.runs.get(id)?.reconstruction.clone();
        Some(match choice {
            LayerChoice::Original => Layer::Values(original),
            LayerChoice::Run(id) => Layer::Values(run(id)?),
            LayerChoice::Error(id) => Layer::Difference(run(id)?, original),
            LayerChoice::ErrorOverTau(id) => {
                Layer::ErrorOverTau(original, run(id)?, self.runs.get(id)?.tolerance.clone()?)
            }
            LayerChoice::Difference(a, b) => Layer::Difference(run(a)?, run(b)?),
        })
    }

    /// Name of a layer for headings and menus.
    pub fn layer_name(&self, choice: LayerChoice) -> String {
        let run = |id| self.runs.get(id).map_or_else(|| "removed run".to_owned(), |r| r.name.clone());
        match choice {
            LayerChoice::Original => "Original".to_owned(),
            LayerChoice::Run(id) => run(id),
            LayerChoice::Error(id) => format!("{} - original", run(id)),
            LayerChoice::ErrorOverTau(id) => format!("{}: error / tau", run(id)),
            LayerChoice::Difference(a, b) => format!("{} - {}", run(a), run(b)),
        }
    }

    /// The name with what the ends of an error map's colours mean.
    pub fn layer_legend(&self, choice: LayerChoice) -> String {
        let name = self.layer_name(choice);
        match choice {
            LayerChoice::Original | LayerChoice::Run(_) => name,
            _ => format!("{name} (blue to red: ±{})", number(self.layer_look(choice).window[1])),
        }
    }

    /// Original and reconstructions share one window; errors get a symmetric one.
    pub fn layer_look(&self, choice: LayerChoice) -> LayerLook {
        let symmetric =
            |half: f64, alarm| LayerLook { color_map: ColorMap::Diverging, window: [-half, half], log: false, alarm };
        match choice {
            LayerChoice::Original | LayerChoice::Run(_) => LayerLook {
                color_map: self.display.color_map,
                window: self.display.window,
                log: self.display.log,
                alarm: false,
            },
            LayerChoice::ErrorOverTau(_) => symmetric(1.0, true),
            LayerChoice::Error(id) => symmetric(self.loosest_tau(id), false),
            LayerChoice::Difference(a, b) => symmetric(self.loosest_tau(a).max(self.loosest_tau(b)), false),
        }
    }

    fn loosest_tau(&self, id: super::compare::RunId) -> f64 {
        let map = self.runs.get(id).and_then(|r| r.tolerance.clone());
        let taus = map.iter().flat_map(|m| m.tiers.iter().map(|t| t.tau)).filter(|t| t.is_finite() && *t > 0.0);
        let loosest = taus.fold(0.0, f64::max);
        if loosest > 0.0 { loosest } else { self.scales().1 * 1e-3 }
    }

    /// A view shows `lo..hi` (u, v) of its plane: asks for the texels it lacks.
    pub(super) fn show_plane(&mut self, axis: usize, slot: usize, lo: [usize; 2], hi: [usize; 2]) {
        let (Some(extents), Some(&choice)) = (self.extents(), self.shown_layers().get(slot)) else { return };
        let Some(layer) = self.layer(choice) else { return };
        let [av, au] = plane_axes(axis);
        // The request may be older than the volume.
        let lo = [lo[0].min(extents[au] - 1), lo[1].min(extents[av] - 1)];
        let hi = [hi[0].clamp(lo[0] + 1, extents[au]), hi[1].clamp(lo[1] + 1, extents[av])];
        let geometry = Geometry::covering(extents, axis, self.crosshair[axis], lo, hi);
        let gradient = self.preview_threshold().is_some_and(|p| p.gradient) && slot == 0;
        let values = self.document.as_ref().filter(|_| gradient).map(|d| (d.shown.clone(), d.steps()));
        let id = self.layer_id(choice);
        self.slices.want((axis, slot), geometry, id, layer, values);
    }

    fn layer_id(&self, choice: LayerChoice) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut h = DefaultHasher::new();
        (choice, self.generation).hash(&mut h);
        h.finish()
    }
}
