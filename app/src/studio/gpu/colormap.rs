//! Perceptual colour maps as 256-entry tables.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A named colour map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColorMap {
    Viridis,
    Inferno,
    Magma,
    Cividis,
    Turbo,
    Gray,
    /// Blue through white to red; symmetric, for differences and errors.
    Diverging,
}

impl ColorMap {
    pub const ALL: [ColorMap; 7] = [
        ColorMap::Viridis,
        ColorMap::Inferno,
        ColorMap::Magma,
        ColorMap::Cividis,
        ColorMap::Turbo,
        ColorMap::Gray,
        ColorMap::Diverging,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ColorMap::Viridis => "Viridis",
            ColorMap::Inferno => "Inferno",
            ColorMap::Magma => "Magma",
            ColorMap::Cividis => "Cividis",
            ColorMap::Turbo => "Turbo",
            ColorMap::Gray => "Gray",
            ColorMap::Diverging => "Diverging",
        }
    }

    /// Colour at `t` in 0..=1.
    pub fn color(self, t: f64) -> [u8; 3] {
        let c = match self {
            ColorMap::Viridis => colorous::VIRIDIS.eval_continuous(t),
            ColorMap::Inferno => colorous::INFERNO.eval_continuous(t),
            ColorMap::Magma => colorous::MAGMA.eval_continuous(t),
            ColorMap::Cividis => colorous::CIVIDIS.eval_continuous(t),
            ColorMap::Turbo => colorous::TURBO.eval_continuous(t),
            ColorMap::Gray => {
                let g = (t * 255.0).round() as u8;
                return [g; 3];
            }
            ColorMap::Diverging => colorous::RED_BLUE.eval_continuous(1.0 - t),
        };
        [c.r, c.g, c.b]
    }

    /// The table the shader reads.
    pub fn table(self) -> Arc<Vec<[u8; 4]>> {
        Arc::new(
            (0..256)
                .map(|i| {
                    let [r, g, b] = self.color(i as f64 / 255.0);
                    [r, g, b, 255]
                })
                .collect(),
        )
    }
}
