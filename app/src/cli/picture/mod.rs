//! Small pictures of slices, with words on them.

mod canvas;
mod slice;

pub use canvas::Canvas;
pub use slice::Slice;

use blockmgard::ToleranceMap;

/// A picture of one slice, one pixel a node.
pub struct Panel {
    pub width: usize,
    /// Row after row.
    pub pixels: Vec<[u8; 3]>,
}

/// Whole factor that brings the longer side near `target` pixels.
pub fn scale_for(width: usize, height: usize, target: usize) -> usize {
    (target / width.max(height)).max(1)
}

/// Values from `lo` to `hi` in viridis; anything that is no number is grey.
pub fn values(slice: &Slice, values: &[f64], (lo, hi): (f64, f64)) -> Panel {
    let span = if hi > lo { hi - lo } else { 1.0 };
    slice.panel(|i| colored(colorous::VIRIDIS, (values[i] - lo) / span))
}

/// Errors as fractions of the tolerance in inferno, 0 to 1; beyond 1 (a violated bound) they are cyan.
pub fn errors(slice: &Slice, over_tau: &[f64]) -> Panel {
    slice.panel(|i| error_color(over_tau[i]))
}

/// The colour of one error over its tolerance.
pub fn error_color(over_tau: f64) -> [u8; 3] {
    if over_tau > 1.0 { [0, 255, 255] } else { colored(colorous::INFERNO, over_tau) }
}

/// The colour of each node's tier, dimmed by the values so that structures stay visible.
pub fn tiers_over_values(slice: &Slice, values: &[f64], map: &ToleranceMap, colors: &[[u8; 3]]) -> Panel {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let span = if hi > lo { hi - lo } else { 1.0 };
    let [_, by, bx] = map.blocks;
    slice.panel(|i| {
        let [z, y, x] = slice.node(i);
        let tier = map.tier_of_block[(z / 8 * by + y / 8) * bx + x / 8];
        let light = if values[i].is_finite() { 0.45 + 0.55 * (values[i] - lo) / span } else { 0.2 };
        colors[usize::from(tier)].map(|c| (f64::from(c) * light) as u8)
    })
}

fn colored(map: colorous::Gradient, t: f64) -> [u8; 3] {
    if t.is_finite() { map.eval_continuous(t.clamp(0.0, 1.0)).as_array() } else { [128; 3] }
}
