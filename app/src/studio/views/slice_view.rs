//! One slice view: the layers of the comparison, overlays, marks and gestures.

use super::geometry::{PlaneTransform, VIEW_NAMES};
use super::{gestures, marks};
use crate::studio::command::Command;
use crate::studio::data::slice::{SliceImage, plane_axes};
use crate::studio::gpu::slice::{SliceCallback, Uniforms, flag};
use crate::studio::luts::Luts;
use crate::studio::state::State;
use crate::studio::state::compare::CompareMode;
use crate::studio::state::display::Overlay;
use crate::studio::theme;
use eframe::egui::{self, Rect, Sense, Ui};
use eframe::egui_wgpu;

/// A slot of a view and where it is drawn.
pub struct Part {
    pub slot: usize,
    /// Area that gestures and the transform refer to.
    pub area: Rect,
    /// Area that is painted.
    pub clip: Rect,
}

/// Draws view `axis` into all of `ui`.
pub fn show(ui: &mut Ui, state: &State, luts: &Luts, axis: usize) {
    let rect = ui.available_rect_before_wrap();
    let response = ui.interact(rect, egui::Id::unique(("slice view", axis)), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("{} view", VIEW_NAMES[axis])));
    ui.painter().rect_filled(rect, 0.0, theme::canvas(state.dark));
    let parts = parts(state, rect, ui);
    for part in &parts {
        let Some(transform) = PlaneTransform::new(state, axis, part.area) else {
            hint(ui, part.clip, "Open a volume to begin");
            continue;
        };
        let (lo, hi) = transform.visible(part.clip);
        if lo[0] < hi[0] && lo[1] < hi[1] {
            state.commands.send(Command::Visible { axis, slot: part.slot, lo, hi });
        }
        draw_slot(ui, state, luts, &transform, part, part.slot);
        marks::draw(&ui.painter_at(part.clip), state, &transform, part.area, ui.visuals());
        if state.display.inset {
            inset(ui, state, luts, &transform, part);
        }
    }
    let hovered = ui.input(|i| i.pointer.hover_pos());
    let active = parts.iter().find(|p| hovered.is_some_and(|h| p.clip.contains(h)));
    let area = active.or(parts.first()).map_or(rect, |p| p.area);
    if let Some(transform) = PlaneTransform::new(state, axis, area) {
        gestures::handle(ui, state, &response, &transform, rect);
    }
    marks::comparison(ui, state, rect, &parts);
}

fn hint(ui: &Ui, rect: Rect, text: &str) {
    let font = egui::FontId::proportional(14.0);
    ui.painter().text(rect.center(), egui::Align2::CENTER_CENTER, text, font, ui.visuals().weak_text_color());
}

/// Splits a view by the mode of the comparison.
fn parts(state: &State, rect: Rect, ui: &Ui) -> Vec<Part> {
    let whole = |slot, clip| Part { slot, area: rect, clip };
    match state.compare.mode {
        CompareMode::Single => vec![whole(0, rect)],
        CompareMode::SideBySide => {
            let half = |slot, clip| Part { slot, area: clip, clip };
            let (left, right) = rect.split_left_right_at_fraction(0.5);
            vec![half(0, left.with_max_x(left.right() - 1.0)), half(1, right.with_min_x(right.left() + 1.0))]
        }
        CompareMode::Swipe => {
            let (left, right) = rect.split_left_right_at_fraction(state.compare.swipe);
            vec![whole(0, left), whole(1, right)]
        }
        CompareMode::Blink => {
            const PERIOD_SECS: f64 = 0.7;
            let time = ui.input(|i| i.time);
            let next = PERIOD_SECS - time % PERIOD_SECS;
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(next));
            vec![whole((time / PERIOD_SECS) as usize % 2, rect)]
        }
    }
}

/// A magnified cut about the crosshair, in the lower right corner.
fn inset(ui: &Ui, state: &State, luts: &Luts, transform: &PlaneTransform, part: &Part) {
    const MAGNIFY: f32 = 4.0;
    let size = part.area.size().min_elem() * 0.4;
    let rect =
        Rect::from_min_max(part.clip.max - egui::vec2(size + 8.0, size + 8.0), part.clip.max - egui::vec2(8.0, 8.0));
    if rect.width() < 60.0 || !part.clip.contains_rect(rect) {
        return;
    }
    let [av, au] = plane_axes(transform.axis);
    let scale = transform.scale * MAGNIFY;
    let center = egui::vec2(state.crosshair[au] as f32 + 0.5, state.crosshair[av] as f32 + 0.5);
    let magnified = PlaneTransform { scale, origin: rect.center() - center * scale, ..*transform };
    ui.painter().rect_filled(rect, 0.0, theme::canvas(state.dark));
    draw_slot(ui, state, luts, &magnified, &Part { slot: part.slot, area: rect, clip: rect }, part.slot + 2);
    let stroke = egui::Stroke::new(1.5, ui.visuals().strong_text_color());
    // Where the cut comes from.
    let source = Rect::from_center_size(transform.origin + center * transform.scale, rect.size() / MAGNIFY);
    ui.painter_at(part.clip).rect_stroke(source, 0.0, stroke, egui::StrokeKind::Outside);
    ui.painter_at(part.clip).rect_stroke(rect, 0.0, stroke, egui::StrokeKind::Outside);
}

/// `key` tells the GPU objects of several drawings of a view apart.
fn draw_slot(ui: &Ui, state: &State, luts: &Luts, transform: &PlaneTransform, part: &Part, key: usize) {
    let Some(image) = state.slices.images.get(&(transform.axis, part.slot)) else {
        return hint(ui, part.clip, "Loading…");
    };
    let choice = state.shown_layers().get(part.slot).copied().unwrap_or(state.compare.a);
    let look = state.layer_look(choice);
    let labels = state.slices.labels.get(&transform.axis).filter(|l| l.geometry == image.geometry);
    let plane = |level| state.mapping.plane(transform.axis, image.geometry.index, level);
    let map = plane(state.display.level).zip(plane(0));
    let mut uniforms = uniforms(state, transform, image, ui.ctx().pixels_per_point());
    uniforms.lo = image.texel(look.window[0]);
    uniforms.hi = image.texel(look.window[1]);
    let overlay = state.display.overlay;
    let shows = |wanted| overlay == wanted || overlay == Overlay::Both;
    for (on, bit) in [
        (look.log, flag::LOG),
        (look.alarm, flag::ALARM),
        (map.is_some() && shows(Overlay::Map), flag::MAP),
        (labels.is_some() && shows(Overlay::Regions), flag::LABELS),
    ] {
        uniforms.flags |= if on { bit } else { 0 };
    }
    if let Some((map, _)) = &map {
        uniforms.map_size = map.size.map(|s| s as i32);
    }
    let callback = SliceCallback {
        key: (transform.axis as u64, key),
        uniforms,
        image: image.clone(),
        labels: labels.map(|l| l.texels.clone()),
        map,
        lut: luts.get(look.color_map),
    };
    ui.painter_at(part.clip).add(egui_wgpu::Callback::new_paint_callback(part.clip, callback));
}

fn uniforms(state: &State, transform: &PlaneTransform, image: &SliceImage, pixels_per_point: f32) -> Uniforms {
    let display = &state.display;
    let mut tier_colors = [[0.0; 4]; 16];
    for (i, (out, tier)) in tier_colors.iter_mut().zip(&state.roi.tiers).enumerate() {
        // The background tier is left uncoloured: it is where the user has said nothing.
        *out = theme::rgba(tier.color, if i == 0 { 0.0 } else { 1.0 });
    }
    let preview = state.preview_threshold().filter(|p| !p.gradient || image.aux.is_some());
    let (preview_lo, preview_hi, preview_color) = preview.as_ref().map_or((0.0, 0.0, [0.0; 4]), |p| {
        let color = state.roi.tiers.get(p.tier).map_or([255; 3], |t| t.color);
        let bound = |v: f64| if p.gradient { v as f32 } else { image.texel(v) };
        (bound(p.lo), bound(p.hi), theme::rgba(color, 0.6))
    });
    let mut flags = 0;
    for (on, bit) in [
        (display.smooth, flag::SMOOTH),
        (display.outline, flag::OUTLINE),
        (preview.is_some(), flag::PREVIEW),
        (preview.as_ref().is_some_and(|p| p.gradient), flag::PREVIEW_AUX),
    ] {
        flags |= if on { bit } else { 0 };
    }
    Uniforms {
        tier_colors,
        preview_color,
        nan_color: theme::rgba(theme::NAN, 1.0),
        inf_color: theme::rgba(theme::INFINITE, 1.0),
        alarm_color: theme::rgba(theme::ALARM, 1.0),
        origin_px: [transform.origin.x * pixels_per_point, transform.origin.y * pixels_per_point],
        px_per_voxel: [transform.scale.x * pixels_per_point, transform.scale.y * pixels_per_point],
        tex_origin: image.geometry.origin.map(|v| v as i32),
        plane_size: transform.size.map(|v| v as i32),
        tex_size: image.size.map(|v| v as i32),
        map_size: [1, 1],
        lo: 0.0,
        hi: 1.0,
        log_offset: (image.offset * image.scale) as f32,
        map_alpha: display.opacity * if display.overlay == Overlay::Both { 0.55 } else { 1.0 },
        label_alpha: display.opacity,
        preview_lo,
        preview_hi,
        grid_alpha: if display.grid { 0.28 } else { 0.0 },
        stride: image.geometry.stride as i32,
        level: display.level as i32,
        flags,
        pad: 0,
    }
}
