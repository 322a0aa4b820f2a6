//! Lines and words over a slice: crosshair, axes, brush, shapes under construction.

use super::geometry::PlaneTransform;
use super::slice_view::Part;
use crate::studio::command::Command;
use crate::studio::data::slice::plane_axes;
use crate::studio::state::State;
use crate::studio::state::compare::{Compare, CompareMode, LayerChoice};
use crate::studio::state::tools::{BrushShape, Tool};
use crate::studio::theme;
use eframe::egui::epaint::EllipseShape;
use eframe::egui::{
    self, Align2, Color32, FontId, Painter, Pos2, Rect, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, Visuals, pos2, vec2,
};

/// Draws everything that belongs to one plane.
pub fn draw(painter: &Painter, state: &State, transform: &PlaneTransform, area: Rect, visuals: &Visuals) {
    crosshair(painter, state, transform);
    axes(painter, state, transform, area, visuals);
}

fn crosshair(painter: &Painter, state: &State, t: &PlaneTransform) {
    let [av, au] = plane_axes(t.axis);
    let at = t.screen(state.crosshair[au] as f64 + 0.5, state.crosshair[av] as f64 + 0.5);
    let bounds = t.bounds();
    if !bounds.contains(at) {
        return;
    }
    let gap = 10.0;
    let line = |axis: usize, a: Pos2, b: Pos2| {
        let color = theme::color(theme::AXIS_COLORS[axis]).gamma_multiply(0.75);
        painter.line_segment([a, b], Stroke::new(1.0, color));
    };
    line(av, pos2(bounds.left(), at.y), pos2((at.x - gap).max(bounds.left()), at.y));
    line(av, pos2((at.x + gap).min(bounds.right()), at.y), pos2(bounds.right(), at.y));
    line(au, pos2(at.x, bounds.top()), pos2(at.x, (at.y - gap).max(bounds.top())));
    line(au, pos2(at.x, (at.y + gap).min(bounds.bottom())), pos2(at.x, bounds.bottom()));
}

/// Axis arrows with names, and the slice's place, so that orientation is never a guess.
fn axes(painter: &Painter, state: &State, t: &PlaneTransform, area: Rect, visuals: &Visuals) {
    let Some(document) = &state.document else { return };
    let names = document.axis_names();
    let [av, au] = plane_axes(t.axis);
    let font = FontId::proportional(11.5);
    let ink = visuals.strong_text_color();
    let corner = area.left_top() + vec2(12.0, 12.0);
    let arrow = |direction: Vec2, axis: usize, anchor: Align2| {
        let tip = corner + direction * 22.0;
        painter.arrow(corner, direction * 22.0, Stroke::new(1.5, theme::color(theme::AXIS_COLORS[axis])));
        let beside = if direction.x == 0.0 { vec2(-4.0, 4.0) } else { direction * 6.0 };
        label(painter, tip + beside, anchor, &names[axis], &font, ink, visuals);
    };
    arrow(vec2(1.0, 0.0), au, Align2::LEFT_CENTER);
    // Beside the line, so that a long name stays inside the view.
    arrow(vec2(0.0, 1.0), av, Align2::LEFT_TOP);
}

/// Text on a translucent plate, readable on any picture.
pub fn label(painter: &Painter, at: Pos2, anchor: Align2, text: &str, font: &FontId, ink: Color32, visuals: &Visuals) {
    let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), ink);
    let rect = anchor.anchor_size(at, galley.size());
    let plate = visuals.extreme_bg_color.gamma_multiply(0.72);
    painter.rect_filled(rect.expand2(vec2(4.0, 2.0)), 3.0, plate);
    painter.galley(rect.min, galley, ink);
}

/// Names of the layers of a comparison, and the swipe handle.
pub fn comparison(ui: &mut Ui, state: &State, rect: Rect, parts: &[Part]) {
    if state.compare.mode == CompareMode::Single && state.compare.a == LayerChoice::Original {
        return;
    }
    let font = FontId::proportional(12.0);
    let ink = ui.visuals().strong_text_color();
    for part in parts {
        if let Some(&choice) = state.shown_layers().get(part.slot) {
            // At the left: the inset is at the right.
            let at = part.clip.left_bottom() + vec2(10.0, -8.0);
            let text = state.layer_legend(choice);
            label(&ui.painter_at(part.clip), at, Align2::LEFT_BOTTOM, &text, &font, ink, ui.visuals());
        }
    }
    if let Some(area) = swipe_area(state, rect) {
        swipe_handle(ui, state, rect, area);
    }
}

fn swipe_grip(state: &State, rect: Rect) -> Rect {
    let x = rect.left() + rect.width() * state.compare.swipe;
    Rect::from_center_size(pos2(x, rect.center().y), vec2(16.0, 36.0))
}

/// Where a press takes hold of the swipe line, if there is one.
pub fn swipe_area(state: &State, rect: Rect) -> Option<Rect> {
    let grip = swipe_grip(state, rect);
    let x = grip.center().x;
    let line = Rect::from_x_y_ranges(x - 5.0..=x + 5.0, rect.y_range());
    (state.compare.mode == CompareMode::Swipe).then(|| line.union(grip).intersect(rect))
}

fn swipe_handle(ui: &mut Ui, state: &State, rect: Rect, area: Rect) {
    let grip = swipe_grip(state, rect);
    let x = grip.center().x;
    let response = ui.interact(area, ui.scope_id().with("swipe"), Sense::drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, "Swipe position"));
    let hot = response.hovered() || response.dragged();
    let color = if hot { Color32::WHITE } else { Color32::from_gray(220) };
    let painter = ui.painter_at(rect);
    painter.vline(x, rect.y_range(), Stroke::new(1.5, color));
    let plate = Color32::from_black_alpha(170);
    painter.rect(grip.shrink2(vec2(3.0, 4.0)), 4.0, plate, Stroke::new(1.0, color), StrokeKind::Inside);
    if hot {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
    }
    if let Some(p) = response.interact_pointer_pos().filter(|_| response.dragged()) {
        let swipe = ((p.x - rect.left()) / rect.width()).clamp(0.02, 0.98);
        state.commands.send(Command::Compare(Compare { swipe, ..state.compare }));
    }
}

fn tier_color(state: &State) -> Color32 {
    theme::color(state.roi.tiers.get(state.tools.tier).map_or([255; 3], |t| t.color))
}

/// The brush under the pointer: its voxels and the blocks that will really change.
pub fn brush(painter: &Painter, state: &State, t: &PlaneTransform, at: [f64; 3], erase: bool) {
    let [av, au] = plane_axes(t.axis);
    let color = if erase { Color32::WHITE } else { tier_color(state) };
    let touched = state.brush_at(at, t.axis).bounds();
    let block = |v: usize| (v / 8 * 8) as f64;
    let lo = t.screen(block(touched.lo[au]), block(touched.lo[av]));
    let hi = t.screen(block(touched.hi[au] + 7), block(touched.hi[av] + 7));
    let blocks = Rect::from_min_max(lo, hi);
    if state.tools.brush == BrushShape::Blocks {
        painter.rect_stroke(blocks, 0.0, Stroke::new(1.5, color), StrokeKind::Inside);
        return;
    }
    painter.rect_stroke(blocks, 0.0, Stroke::new(1.0, color.gamma_multiply(0.5)), StrokeKind::Inside);
    let radius = (state.tools.brush_size / 2.0) as f32;
    let (center, size) = (t.screen(at[au] + 0.5, at[av] + 0.5), t.scale * radius);
    painter.add(Shape::Ellipse(EllipseShape::stroke(center, size, Stroke::new(3.0, Color32::from_black_alpha(120)))));
    painter.add(Shape::Ellipse(EllipseShape::stroke(center, size, Stroke::new(1.5, color))));
}

/// A rectangle or ellipse being dragged.
pub fn dragged_shape(painter: &Painter, state: &State, from: Pos2, to: Pos2) {
    let stroke = Stroke::new(1.5, tier_color(state));
    let rect = Rect::from_two_pos(from, to);
    if state.tools.tool == Tool::Ellipsoid {
        painter.add(Shape::Ellipse(EllipseShape::stroke(rect.center(), rect.size() / 2.0, stroke)));
    } else {
        painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Inside);
    }
}

/// The polygon under construction, with a line to the pointer. Points are (v, u) voxel centres.
pub fn polygon(painter: &Painter, state: &State, t: &PlaneTransform, points: &[[f64; 2]], pointer: Option<Pos2>) {
    let color = tier_color(state);
    let mut line: Vec<Pos2> = points.iter().map(|p| t.screen(p[1] + 0.5, p[0] + 0.5)).collect();
    for p in &line {
        painter.circle_filled(*p, 3.0, color);
    }
    line.extend(pointer);
    painter.add(Shape::line(line, Stroke::new(1.5, color)));
}
