//! From screen points to voxels and back.

use crate::studio::data::slice::plane_axes;
use crate::studio::state::State;
use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

/// Names of the three views, by the axis they cut across.
pub const VIEW_NAMES: [&str; 3] = ["Axial", "Coronal", "Sagittal"];

/// Where a slice lies on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneTransform {
    pub axis: usize,
    /// Extents (u, v) of the plane in voxels.
    pub size: [usize; 2],
    /// Screen position of the corner of voxel (0, 0).
    pub origin: Pos2,
    /// Screen points per voxel along u and v.
    pub scale: Vec2,
}

impl PlaneTransform {
    /// The transform of view `axis` inside `rect`.
    pub fn new(state: &State, axis: usize, rect: Rect) -> Option<Self> {
        let document = state.document.as_ref()?;
        let n = document.volume.shape.n;
        let [av, au] = plane_axes(axis);
        let size = [n[au], n[av]];
        let spacing = state.voxel_size(&[au, av]);
        let least = spacing[au].min(spacing[av]);
        let unit = [spacing[au] / least, spacing[av] / least];
        let pane = state.panes[axis];
        let (zoom, center) = match pane.zoom {
            Some(zoom) => (zoom, pane.center),
            None => (fit_zoom(size, unit, rect), [size[0] as f64 / 2.0, size[1] as f64 / 2.0]),
        };
        let scale = vec2((zoom * unit[0]) as f32, (zoom * unit[1]) as f32);
        let origin = rect.center() - vec2(center[0] as f32 * scale.x, center[1] as f32 * scale.y);
        Some(Self { axis, size, origin, scale })
    }

    /// Fractional voxel (u, v) under a screen position; voxel centres lie at +0.5.
    pub fn plane_pos(&self, p: Pos2) -> [f64; 2] {
        [((p.x - self.origin.x) / self.scale.x) as f64, ((p.y - self.origin.y) / self.scale.y) as f64]
    }
    pub fn screen(&self, u: f64, v: f64) -> Pos2 {
        pos2(self.origin.x + u as f32 * self.scale.x, self.origin.y + v as f32 * self.scale.y)
    }
    /// Voxel index under a screen position, when it is inside the volume.
    pub fn voxel(&self, p: Pos2, index: usize) -> Option<[usize; 3]> {
        let [u, v] = self.plane_pos(p);
        let inside = u >= 0.0 && v >= 0.0 && u < self.size[0] as f64 && v < self.size[1] as f64;
        inside.then(|| self.place(u.floor(), v.floor(), index as f64).map(|c| c as usize))
    }
    /// Position in voxel coordinates (integers are voxel centres), not clamped to the volume.
    pub fn position(&self, p: Pos2, index: usize) -> [f64; 3] {
        let [u, v] = self.plane_pos(p);
        self.place(u - 0.5, v - 0.5, index as f64)
    }
    fn place(&self, u: f64, v: f64, index: f64) -> [f64; 3] {
        let [av, au] = plane_axes(self.axis);
        let mut out = [0.0; 3];
        (out[self.axis], out[av], out[au]) = (index, v, u);
        out
    }
    /// The part of the plane inside `rect`, as voxel bounds `lo`, `hi` (u, v).
    pub fn visible(&self, rect: Rect) -> ([usize; 2], [usize; 2]) {
        let (a, b) = (self.plane_pos(rect.min), self.plane_pos(rect.max));
        let clamp = |x: f64, n: usize| x.clamp(0.0, n as f64);
        let lo = std::array::from_fn(|i| clamp(a[i].floor(), self.size[i]) as usize);
        let hi = std::array::from_fn(|i| clamp(b[i].ceil(), self.size[i]) as usize);
        (lo, hi)
    }
    /// Screen rectangle of the whole plane.
    pub fn bounds(&self) -> Rect {
        Rect::from_two_pos(self.screen(0.0, 0.0), self.screen(self.size[0] as f64, self.size[1] as f64))
    }
}

/// Points per unit at which a plane just fits, with a small margin.
fn fit_zoom(size: [usize; 2], unit: [f64; 2], rect: Rect) -> f64 {
    let margin = 16.0;
    let w = ((rect.width() - margin).max(8.0) as f64) / (size[0] as f64 * unit[0]);
    let h = ((rect.height() - margin).max(8.0) as f64) / (size[1] as f64 * unit[1]);
    w.min(h)
}

/// Title of a view.
pub fn view_title(state: &State, axis: usize) -> String {
    let name = state.document.as_ref().map(|d| d.axis_names()[axis].clone());
    format!("{} ({})", VIEW_NAMES[axis], name.as_deref().unwrap_or(["z", "y", "x"][axis]))
}
