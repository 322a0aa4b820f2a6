//! How slices are shown: window, colours, overlays, and each view's pan and zoom.

use super::aspect::Aspect;
use crate::studio::gpu::colormap::ColorMap;
use serde::{Deserialize, Serialize};

/// What lies over the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overlay {
    /// Voxels of the regions.
    Regions,
    /// The tolerance map per block, at the chosen level.
    Map,
    Both,
    Off,
}

/// Settings shared by all slice views.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Display {
    pub color_map: ColorMap,
    /// Values at the ends of the colour map.
    pub window: [f64; 2],
    /// A locked window survives another step or variable.
    pub locked: bool,
    pub log: bool,
    pub smooth: bool,
    pub grid: bool,
    /// A magnified cut about the crosshair in each view.
    pub inset: bool,
    pub overlay: Overlay,
    /// Overlay opacity, 0 to 1.
    pub opacity: f32,
    pub outline: bool,
    /// Displayed level of the tolerance map: 0 = finest.
    pub level: usize,
    pub aspect: Aspect,
}

impl Default for Display {
    fn default() -> Self {
        Self {
            // Gray leaves hue to the tiers.
            color_map: ColorMap::Gray,
            window: [0.0, 1.0],
            locked: false,
            log: false,
            smooth: false,
            grid: false,
            inset: false,
            overlay: Overlay::Both,
            opacity: 0.35,
            outline: false,
            level: 0,
            aspect: Aspect::default(),
        }
    }
}

/// Pan and zoom of one slice view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PaneView {
    /// Voxel (u, v) in the middle of the view.
    pub center: [f64; 2],
    /// Screen points per unit of length; `None` fits the slice into the view.
    pub zoom: Option<f64>,
}
