//! Which two layers are shown, and how.

use serde::{Deserialize, Serialize};

/// Stable number of a run in the session.
pub type RunId = u64;

/// What a layer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LayerChoice {
    Original,
    /// A run's reconstruction.
    Run(RunId),
    /// Reconstruction minus original.
    Error(RunId),
    /// Error in units of the block's tolerance.
    ErrorOverTau(RunId),
    /// First run minus second.
    Difference(RunId, RunId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareMode {
    /// Layer A alone.
    Single,
    SideBySide,
    Swipe,
    Blink,
}

/// The comparison of two layers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    pub mode: CompareMode,
    pub a: LayerChoice,
    pub b: LayerChoice,
    /// Position of the swipe line, 0 to 1 of the view's width.
    pub swipe: f32,
}

impl Default for Compare {
    fn default() -> Self {
        Self { mode: CompareMode::Single, a: LayerChoice::Original, b: LayerChoice::Original, swipe: 0.5 }
    }
}
