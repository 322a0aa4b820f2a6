//! The colour-map tables, made once.

use super::gpu::colormap::ColorMap;
use std::sync::Arc;

/// One shared table per colour map, so that uploads are told apart by pointer.
pub struct Luts(Vec<Arc<Vec<[u8; 4]>>>);

impl Default for Luts {
    fn default() -> Self {
        Self(ColorMap::ALL.iter().map(|m| m.table()).collect())
    }
}

impl Luts {
    pub fn get(&self, map: ColorMap) -> Arc<Vec<[u8; 4]>> {
        let at = ColorMap::ALL.iter().position(|m| *m == map).unwrap_or(0);
        self.0[at].clone()
    }
}
