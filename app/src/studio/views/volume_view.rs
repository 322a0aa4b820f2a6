//! The 3-D view: orbit, zoom, pan, and its opacity curve.

use super::marks;
use crate::studio::command::Command;
use crate::studio::gpu::raycast::{RayCallback, RayUniforms};
use crate::studio::luts::Luts;
use crate::studio::state::State;
use crate::studio::state::display::Overlay;
use crate::studio::state::volume3d::Camera;
use crate::studio::theme;
use eframe::egui::{self, Align2, Color32, FontId, PointerButton, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};
use eframe::egui_wgpu;

pub fn show(ui: &mut Ui, state: &State, luts: &Luts) {
    let rect = ui.available_rect_before_wrap();
    let response = ui.interact(rect, egui::Id::unique("3-D view"), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "3-D view"));
    ui.painter().rect_filled(rect, 0.0, theme::canvas(state.dark));
    if state.document.is_none() {
        return;
    }
    state.commands.send(Command::ShowVolume);
    let mut camera = state.camera;
    orbit(ui, &response, &mut camera, rect);
    let Some(volume) = state.volume3d.volume.clone() else {
        let font = FontId::proportional(14.0);
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, "Loading…", font, ui.visuals().weak_text_color());
        return;
    };
    let pixels = rect.size() * ui.ctx().pixels_per_point();
    let callback = RayCallback {
        uniforms: uniforms(state, &camera, rect.width() / rect.height().max(1.0), volume.size),
        size: [pixels.x.max(1.0) as u32, pixels.y.max(1.0) as u32],
        volume,
        tiers: state.shell_tiers(),
        lut: luts.get(state.display.color_map),
    };
    ui.painter_at(rect).add(egui_wgpu::Callback::new_paint_callback(rect, callback));
    outline(ui, state, &camera, rect);
    opacity_curve(ui, &mut camera, rect);
    if camera != state.camera {
        state.commands.send(Command::Camera(camera));
    }
}

fn orbit(ui: &Ui, response: &egui::Response, camera: &mut Camera, rect: Rect) {
    let delta = response.drag_delta();
    let shifted = ui.input(|i| i.modifiers.shift);
    if response.dragged_by(PointerButton::Middle) || (response.dragged_by(PointerButton::Primary) && shifted) {
        camera.pan[0] += delta.x * 2.0 / rect.height();
        camera.pan[1] -= delta.y * 2.0 / rect.height();
    } else if response.dragged_by(PointerButton::Primary) {
        camera.yaw -= delta.x * 0.01;
        camera.pitch = (camera.pitch + delta.y * 0.01).clamp(-1.55, 1.55);
    }
    if response.hovered() {
        let (scroll, zoom) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        camera.distance = (camera.distance * (-scroll * 0.002).exp() / zoom).clamp(1.2, 30.0);
        if ui.input(|i| i.key_pressed(egui::Key::R)) {
            *camera = Camera { opacity: camera.opacity, shells: camera.shells, ..Camera::default() };
        }
    }
}

/// Right, up and forward in (x, y, z); y of the volume points down, as in the slices.
fn basis(camera: &Camera) -> [[f32; 3]; 3] {
    let (sy, cy) = camera.yaw.sin_cos();
    let (sp, cp) = camera.pitch.sin_cos();
    let forward = [sy * cp, sp, cy * cp];
    let right = [cy, 0.0, -sy];
    let up = [
        right[1] * forward[2] - right[2] * forward[1],
        right[2] * forward[0] - right[0] * forward[2],
        right[0] * forward[1] - right[1] * forward[0],
    ];
    [right, up, forward]
}

/// Half extents (x, y, z) of the box; the longest is 1.
fn half_size(state: &State) -> [f32; 3] {
    let Some(document) = &state.document else { return [1.0; 3] };
    let spacing = state.voxel_size(&[0, 1, 2]);
    let n = document.volume.shape.n;
    let length: [f64; 3] = std::array::from_fn(|a| n[a] as f64 * spacing[a]);
    let longest = length.iter().copied().fold(0.0, f64::max);
    [2, 1, 0].map(|a| (length[a] / longest).max(0.02) as f32)
}

/// What the shader needs for a picture `aspect` times as wide as high of a volume of `size` texels.
pub fn uniforms(state: &State, camera: &Camera, aspect: f32, size: [usize; 3]) -> RayUniforms {
    let [right, up, forward] = basis(camera);
    let v4 = |v: [f32; 3]| [v[0], v[1], v[2], 0.0];
    let half = half_size(state);
    let n = state.extents().unwrap_or([1; 3]);
    let steps = (size.iter().copied().max().unwrap_or(64) as f32 * 1.7).clamp(64.0, 256.0);
    let mut tier_colors = [[0.0; 4]; 16];
    for (i, (out, tier)) in tier_colors.iter_mut().zip(&state.roi.tiers).enumerate() {
        *out = theme::rgba(tier.color, if i == 0 { 0.0 } else { 1.0 });
    }
    // The overlay switch means the shells too.
    let shells = if state.display.overlay == Overlay::Off { 0.0 } else { camera.shells };
    let background = theme::canvas(state.dark).to_normalized_gamma_f32();
    RayUniforms {
        tier_colors,
        right: v4(right),
        up: v4(up),
        forward: v4(forward),
        half_size: [half[0], half[1], half[2], steps],
        opacity: [camera.opacity[0], camera.opacity[1], camera.opacity[2], camera.opacity[3]],
        more: [camera.opacity[4], shells, camera.distance, aspect],
        background,
        blocks: [n[2] as f32 / 8.0, n[1] as f32 / 8.0, n[0] as f32 / 8.0, 0.0],
        pan: [camera.pan[0], camera.pan[1], 0.0, 0.0],
    }
}

/// Screen position of a point of the box, each coordinate -1 to 1.
fn project(camera: &Camera, half: [f32; 3], rect: Rect, corner: [f32; 3]) -> Pos2 {
    let [right, up, forward] = basis(camera);
    let p: [f32; 3] = std::array::from_fn(|a| corner[a] * half[a] + forward[a] * camera.distance);
    let dot = |v: [f32; 3]| v[0] * p[0] + v[1] * p[1] + v[2] * p[2];
    let depth = dot(forward).max(0.05);
    let (x, y) = (2.2 * dot(right) / depth + camera.pan[0], 2.2 * dot(up) / depth + camera.pan[1]);
    rect.center() + vec2(x * rect.height() / 2.0, -y * rect.height() / 2.0)
}

/// Edges of the box on a picture of the given place and size, and where the names of axes 0, 1 and 2 stand.
pub fn box_lines(state: &State, camera: &Camera, rect: Rect) -> ([[Pos2; 2]; 12], [Pos2; 3]) {
    let half = half_size(state);
    let edge = |i: usize| {
        let (axis, a, b) = (i / 4, if i & 1 == 0 { -1.0 } else { 1.0 }, if i & 2 == 0 { -1.0 } else { 1.0 });
        [-1.0, 1.0].map(|v| {
            let mut corner = [v; 3];
            (corner[(axis + 1) % 3], corner[(axis + 2) % 3]) = (a, b);
            project(camera, half, rect, corner)
        })
    };
    let name = |axis: usize| {
        let mut corner = [-1.0; 3];
        corner[2 - axis] = 1.12;
        project(camera, half, rect, corner)
    };
    (std::array::from_fn(edge), std::array::from_fn(name))
}

/// Edges of the box and names of the axes.
fn outline(ui: &Ui, state: &State, camera: &Camera, rect: Rect) {
    let painter = ui.painter_at(rect);
    let stroke = Stroke::new(1.0, ui.visuals().weak_text_color().gamma_multiply(0.5));
    let (edges, places) = box_lines(state, camera, rect);
    for edge in edges {
        painter.line_segment(edge, stroke);
    }
    let Some(document) = &state.document else { return };
    for (axis, (name, at)) in document.axis_names().iter().zip(places).enumerate() {
        // The axis colours are too light for a light plate.
        let ink = if state.dark { theme::color(theme::AXIS_COLORS[axis]) } else { ui.visuals().strong_text_color() };
        marks::label(&painter, at, Align2::CENTER_CENTER, name, &FontId::proportional(11.5), ink, ui.visuals());
    }
}

/// Five points to drag over the colour map, and the strength of the shells.
fn opacity_curve(ui: &mut Ui, camera: &mut Camera, rect: Rect) {
    let area = Rect::from_min_size(rect.left_bottom() + vec2(10.0, -58.0), vec2(120.0, 48.0));
    if rect.width() < 220.0 || rect.height() < 140.0 {
        return;
    }
    let painter = ui.painter_at(rect);
    painter.rect_filled(area.expand(4.0), 4.0, ui.visuals().extreme_bg_color.gamma_multiply(0.8));
    // Square root: small opacities matter most.
    let at =
        |i: usize, o: f32| pos2(area.left() + area.width() * i as f32 / 4.0, area.bottom() - area.height() * o.sqrt());
    let points: Vec<Pos2> = camera.opacity.iter().enumerate().map(|(i, o)| at(i, *o)).collect();
    let color = theme::accent(ui.visuals().dark_mode);
    painter.add(Shape::line(points.clone(), Stroke::new(1.5, color)));
    for (i, p) in points.iter().enumerate() {
        let response =
            ui.interact(Rect::from_center_size(*p, vec2(14.0, 14.0)), egui::Id::unique(("opacity", i)), Sense::drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, format!("Opacity {}", i + 1)));
        let hot = response.hovered() || response.dragged();
        painter.circle_filled(*p, if hot { 5.0 } else { 3.5 }, if hot { Color32::WHITE } else { color });
        if let Some(pointer) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            let o = ((area.bottom() - pointer.y) / area.height()).clamp(0.0, 1.0);
            camera.opacity[i] = o * o;
        }
    }
    let caption = |at: Pos2, text: &str| {
        painter.text(at, Align2::LEFT_TOP, text, FontId::proportional(11.0), ui.visuals().weak_text_color());
    };
    let slider = Rect::from_min_size(area.right_bottom() + vec2(14.0, -20.0), vec2(90.0, 18.0));
    let plate = ui.visuals().extreme_bg_color.gamma_multiply(0.8);
    painter.rect_filled(slider.expand2(vec2(5.0, 4.0)).with_min_y(slider.top() - 16.0), 4.0, plate);
    caption(area.left_top(), "Opacity by value");
    caption(slider.left_top() - vec2(0.0, 14.0), "Tier shells");
    ui.scope_builder(egui::UiBuilder::new().max_rect(slider), |ui| {
        ui.spacing_mut().slider_width = 80.0;
        ui.add(egui::Slider::new(&mut camera.shells, 0.0..=1.0).show_value(false))
            .accessible_name("Opacity of the tier shells")
            .on_hover_text("Opacity of the tier shells");
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_camera_sees_a_right_handed_basis_of_unit_vectors() {
        let [r, u, f] = basis(&Camera { yaw: 0.7, pitch: -0.4, ..Camera::default() });
        for v in [r, u, f] {
            assert!((v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
        }
        let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        assert!(dot(r, u).abs() < 1e-6 && dot(r, f).abs() < 1e-6 && dot(u, f).abs() < 1e-6);
    }
}
