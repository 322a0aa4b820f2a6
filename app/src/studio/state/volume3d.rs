//! What the 3-D view shows: the camera, the opacity curve, and the thinned-out volume.

use super::State;
use crate::studio::gpu::raycast::ByteVolume;
use crate::studio::worker::Worker;
use blockmgard::volume::Field;
use blockmgard::{Element, Result, with_values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Longest side of the 3-D texture.
const MOST_TEXELS: usize = 128;

/// Camera and transfer settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Camera {
    /// Radians about the vertical, and above the horizon.
    pub yaw: f32,
    pub pitch: f32,
    /// From the centre, in half lengths of the longest axis.
    pub distance: f32,
    pub pan: [f32; 2],
    /// Opacity at five even places of the window.
    pub opacity: [f32; 5],
    /// Opacity of the tier shells.
    pub shells: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { yaw: 0.6, pitch: 0.45, distance: 4.6, pan: [0.0; 2], opacity: [0.0, 0.01, 0.08, 0.3, 0.6], shells: 0.25 }
    }
}

/// The textures of the 3-D view and the worker that makes them.
pub struct Volume3d {
    worker: Worker<(), Result<ByteVolume>>,
    asked: Option<(u64, [u64; 2])>,
    pub volume: Option<Arc<ByteVolume>>,
}

impl Volume3d {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { worker: Worker::new("3-D view", wake), asked: None, volume: None }
    }

    pub fn poll(&mut self) -> Option<String> {
        match self.worker.finished().pop() {
            Some((_, Ok(volume))) => self.volume = Some(Arc::new(volume)),
            Some((_, Err(error))) => return Some(error.to_string()),
            None => {}
        }
        None
    }
    /// Values have changed.
    pub fn ask_again(&mut self) {
        self.asked = None;
    }
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }
}

impl State {
    /// The 3-D view is visible: asks for its texture unless it is there.
    pub(super) fn show_volume(&mut self) {
        let Some(document) = &self.document else { return };
        let window = self.display.window;
        let key = (self.generation, window.map(f64::to_bits));
        if self.volume3d.asked != Some(key) {
            self.volume3d.asked = Some(key);
            let values = document.shown.clone();
            self.volume3d.worker.request((), move || with_values!(&values, f => thin(&**f, window)));
        }
    }

    /// Tiers of the blocks for the 3-D view; one empty block while there is no map.
    pub fn shell_tiers(&self) -> Arc<ByteVolume> {
        match &self.mapping.result {
            Some(map) => map.shells.clone(),
            None => Arc::new(ByteVolume { size: [1; 3], texels: vec![0] }),
        }
    }
}

/// Every k-th value as its place in the window, 0 to 255; special values are transparent.
fn thin<T: Element>(field: &dyn Field<T>, [lo, hi]: [f64; 2]) -> Result<ByteVolume> {
    let n = field.extents();
    let stride = n.map(|n| n.div_ceil(MOST_TEXELS));
    let size: [usize; 3] = std::array::from_fn(|a| n[a].div_ceil(stride[a]));
    let mut texels = Vec::with_capacity(size.iter().product());
    let mut row = vec![T::ZERO; n[2]];
    let scale = 255.0 / (hi - lo).max(f64::MIN_POSITIVE);
    for z in 0..size[0] {
        for y in 0..size[1] {
            field.read_row(z * stride[0], y * stride[1], 0, &mut row)?;
            texels.extend(row.iter().step_by(stride[2]).map(|v| {
                let v = v.to_f64();
                if v.is_finite() { ((v - lo) * scale).clamp(0.0, 255.0) as u8 } else { 0 }
            }));
        }
    }
    Ok(ByteVolume { size: [size[2], size[1], size[0]], texels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::volume::SliceField;

    #[test]
    fn a_long_axis_is_thinned_and_special_values_are_transparent() {
        let mut data = vec![1.0f32; 2 * 3 * 300];
        data[0] = f32::NAN;
        let thin = thin(&SliceField::new(&data, [2, 3, 300]), [0.0, 1.0]).unwrap();
        assert_eq!(thin.size, [100, 3, 2]);
        assert_eq!((thin.texels[0], thin.texels[1], thin.texels.len()), (0, 255, 600));
    }
}
