//! Mouse and wheel on a slice view.

use super::geometry::PlaneTransform;
use super::marks;
use crate::studio::command::Command;
use crate::studio::data::slice::plane_axes;
use crate::studio::roi::model::RegionKind;
use crate::studio::roi::shape::{Ball, Extruded};
use crate::studio::state::State;
use crate::studio::state::display::PaneView;
use crate::studio::state::tools::{Tool, Tools};
use blockmgard::Region;
use eframe::egui::{self, Event, Id, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, Response, Ui};

/// Corners (v, u) of the polygon under construction, and the slice they were put on.
#[derive(Clone, Default)]
struct Draft {
    points: Vec<[f64; 2]>,
    index: usize,
}

/// Reads the input that belongs to one view and sends commands.
pub fn handle(ui: &Ui, state: &State, response: &Response, t: &PlaneTransform, rect: Rect) {
    let index = state.crosshair[t.axis];
    let pointer = response.hover_pos();
    if let Some(p) = pointer {
        state.commands.send(Command::Hover(t.axis, t.voxel(p, index)));
        wheel(ui, state, t, rect, p);
        if ui.input(|i| i.modifiers.shift_only()) && !ui.input(|i| i.pointer.any_down()) {
            send_crosshair(state, t, p);
        }
    }
    if response.dragged_by(PointerButton::Middle) {
        pan(state, t, rect, response.drag_delta());
        return;
    }
    match state.tools.tool {
        Tool::Brush | Tool::Erase => paint(ui, state, response, t, rect),
        Tool::Polygon => draw_polygon(ui, state, response, t, rect),
        Tool::Box | Tool::Ellipsoid => drag_shape(ui, state, response, t, rect),
        Tool::Window => drag_window(state, response),
        Tool::Navigate | Tool::Threshold => navigate(state, response, t, rect),
        Tool::Pick | Tool::Flood => click_tool(state, response, t),
    }
    if response.double_clicked() && matches!(state.tools.tool, Tool::Navigate | Tool::Threshold) {
        let full = state.maximized == Some(t.axis);
        state.commands.send(Command::Maximize((!full).then_some(t.axis)));
    }
}

fn send_crosshair(state: &State, t: &PlaneTransform, p: Pos2) {
    if let Some(voxel) = t.voxel(p, state.crosshair[t.axis]) {
        state.commands.send(Command::Crosshair(voxel));
    }
}

/// Wheel: slices; with Ctrl: zoom about the pointer; with Shift: brush size, or ten slices.
fn wheel(ui: &Ui, state: &State, t: &PlaneTransform, rect: Rect, pointer: Pos2) {
    let events: Vec<(f32, Modifiers)> = ui.input(|i| {
        let lines = |e: &Event| match e {
            Event::MouseWheel { unit, delta, modifiers, .. } => {
                let amount = if delta.y != 0.0 { delta.y } else { delta.x };
                let lines = match unit {
                    MouseWheelUnit::Point => amount / 40.0,
                    MouseWheelUnit::Line => amount,
                    MouseWheelUnit::Page => amount * 10.0,
                };
                Some((lines, *modifiers))
            }
            _ => None,
        };
        i.events.iter().filter_map(lines).collect()
    });
    for (lines, modifiers) in events {
        if modifiers.command {
            zoom(state, t, rect, pointer, 1.2f64.powf(lines as f64));
        } else if modifiers.shift && state.tools.tool.paints() {
            let brush_size = resized(state.tools.brush_size, lines as f64);
            state.commands.send(Command::Tools(Box::new(Tools { brush_size, ..state.tools.clone() })));
        } else {
            let id = Id::unique(("wheel rest", t.axis));
            let rest = ui.data_mut(|d| d.get_temp::<f32>(id)).unwrap_or(0.0) - lines;
            // Tenths of a line need not add up to a whole one exactly.
            let steps = (rest + 1e-3f32.copysign(rest)).trunc();
            ui.data_mut(|d| d.insert_temp(id, rest - steps));
            let by = steps as isize * if modifiers.shift { 10 } else { 1 };
            if by != 0 {
                state.commands.send(Command::Step { axis: t.axis, by });
            }
        }
    }
}

/// A brush size `steps` steps of 20 % larger or smaller, at least by one voxel.
pub fn resized(size: f64, steps: f64) -> f64 {
    let next = size * 1.2f64.powf(steps);
    let least = size + steps.signum();
    if steps > 0.0 { next.max(least).round() } else { next.min(least).round().max(1.0) }
}

/// Zooms by `factor` and keeps the voxel under the pointer in place.
pub fn zoom(state: &State, t: &PlaneTransform, rect: Rect, pointer: Pos2, factor: f64) {
    let at = t.plane_pos(pointer);
    let old = current(state, t, rect);
    let zoom = (old.zoom.unwrap_or(1.0) * factor).clamp(0.01, 400.0);
    let ratio = old.zoom.unwrap_or(1.0) / zoom;
    let center = std::array::from_fn(|i| at[i] + (old.center[i] - at[i]) * ratio);
    state.commands.send(Command::Pane { axis: t.axis, view: PaneView { center, zoom: Some(zoom) } });
}

fn pan(state: &State, t: &PlaneTransform, rect: Rect, delta: egui::Vec2) {
    let old = current(state, t, rect);
    let center = [old.center[0] - (delta.x / t.scale.x) as f64, old.center[1] - (delta.y / t.scale.y) as f64];
    state.commands.send(Command::Pane { axis: t.axis, view: PaneView { center, ..old } });
}

/// The view's pan and zoom with the fitted values filled in.
fn current(state: &State, t: &PlaneTransform, _rect: Rect) -> PaneView {
    let pane = state.panes[t.axis];
    match pane.zoom {
        Some(_) => pane,
        None => PaneView {
            center: [t.size[0] as f64 / 2.0, t.size[1] as f64 / 2.0],
            // The finer axis has unit length one, so its scale is the zoom.
            zoom: Some(t.scale.x.min(t.scale.y) as f64),
        },
    }
}

fn navigate(state: &State, response: &Response, t: &PlaneTransform, rect: Rect) {
    if response.dragged_by(PointerButton::Primary) {
        pan(state, t, rect, response.drag_delta());
    } else if response.clicked()
        && let Some(p) = response.interact_pointer_pos()
    {
        send_crosshair(state, t, p);
    }
}

fn drag_window(state: &State, response: &Response) {
    if !response.dragged_by(PointerButton::Primary) {
        return;
    }
    let delta = response.drag_delta();
    let [lo, hi] = state.display.window;
    let (mut level, mut width) = ((lo + hi) / 2.0, hi - lo);
    width *= 1.01f64.powf(delta.x as f64);
    level += delta.y as f64 * width / 300.0;
    let mut display = state.display.clone();
    display.window = [level - width / 2.0, level + width / 2.0];
    state.commands.send(Command::Display(Box::new(display)));
}

fn click_tool(state: &State, response: &Response, t: &PlaneTransform) {
    let Some(voxel) = response.interact_pointer_pos().and_then(|p| t.voxel(p, state.crosshair[t.axis])) else { return };
    if response.clicked() {
        match state.tools.tool {
            Tool::Flood => state.commands.send(Command::Flood(voxel)),
            _ => {
                if let Some(tier) = state.tier_at(voxel) {
                    state.commands.send(Command::Tier(tier));
                }
            }
        }
    }
}

fn paint(ui: &Ui, state: &State, response: &Response, t: &PlaneTransform, rect: Rect) {
    let index = state.crosshair[t.axis];
    let erase_tool = state.tools.tool == Tool::Erase;
    let secondary = ui.input(|i| i.pointer.secondary_down());
    if let Some(p) = ui.input(|i| i.pointer.latest_pos()).filter(|p| rect.contains(*p))
        && (response.hovered() || response.is_pointer_button_down_on())
    {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Crosshair);
        marks::brush(&ui.painter_at(rect), state, t, t.position(p, index), erase_tool || secondary);
    }
    let mut active = state.stroke_axis() == Some(t.axis);
    let mut points = vec![];
    for touch in touches(ui, state, rect) {
        match touch {
            Touch::Press(p, button) if !active => {
                let erase = erase_tool || button == PointerButton::Secondary;
                state.commands.send(Command::StrokeBegin { erase, axis: t.axis });
                points.push(t.position(p, index));
                active = true;
            }
            Touch::Move(p) if active => points.push(t.position(p, index)),
            Touch::Release(p) if active => {
                points.push(t.position(p, index));
                state.commands.send(Command::StrokeTo(std::mem::take(&mut points)));
                state.commands.send(Command::StrokeEnd);
                active = false;
            }
            _ => {}
        }
    }
    if !points.is_empty() {
        state.commands.send(Command::StrokeTo(points));
    }
}

/// What the pointer did in a frame.
enum Touch {
    /// A button but the middle one went down on the view.
    Press(Pos2, PointerButton),
    Move(Pos2),
    Release(Pos2),
}

/// All of a frame in its order: on a busy machine a whole stroke, or the end of one and the start of the next, may lie in one
/// frame, and fast strokes stay round.
fn touches(ui: &Ui, state: &State, rect: Rect) -> Vec<Touch> {
    // The edges belong to those who drag views larger. The swipe line takes no press before the frame that first draws it; such
    // a press was still meant for the line.
    let (inner, line) = (rect.shrink(3.0), marks::swipe_area(state, rect));
    let ours = |p: Pos2| {
        let layer = ui.ctx().layer_id_at(p);
        inner.contains(p) && line.is_none_or(|l| !l.contains(p)) && layer.is_none_or(|l| l == ui.layer_id())
    };
    let touch = |event: Event| match event {
        Event::PointerButton { button: PointerButton::Middle, .. } => None,
        Event::PointerButton { pos, button, pressed: true, .. } => ours(pos).then_some(Touch::Press(pos, button)),
        Event::PointerButton { pos, pressed: false, .. } => Some(Touch::Release(pos)),
        Event::PointerMoved(pos) => Some(Touch::Move(pos)),
        _ => None,
    };
    ui.input(|i| i.events.clone()).into_iter().filter_map(touch).collect()
}

fn drag_shape(ui: &Ui, state: &State, response: &Response, t: &PlaneTransform, rect: Rect) {
    if response.contains_pointer() {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Crosshair);
    }
    let id = Id::unique(("shape start", t.axis));
    let mut from = ui.data(|d| d.get_temp::<Option<Pos2>>(id)).flatten();
    for touch in touches(ui, state, rect) {
        match touch {
            Touch::Press(p, PointerButton::Primary) => from = Some(p),
            Touch::Release(p) => {
                let shape = from.take().filter(|f| f.distance(p) > CLICK).and_then(|f| shape_between(state, t, f, p));
                if let Some((stem, kind)) = shape {
                    let name = state.roi.free_name(stem);
                    state.commands.send(Command::AddRegion { name, kind });
                }
            }
            _ => {}
        }
    }
    ui.data_mut(|d| d.insert_temp(id, from));
    if let (Some(from), Some(to)) = (from, ui.input(|i| i.pointer.latest_pos())) {
        marks::dragged_shape(&ui.painter_at(rect), state, from, to);
    }
}

/// Points that the pointer may move between press and release of a click.
const CLICK: f32 = 3.0;

/// The box or ellipsoid between two corners on the slice, as deep as the tool says.
fn shape_between(state: &State, t: &PlaneTransform, from: Pos2, to: Pos2) -> Option<(&'static str, RegionKind)> {
    let n = state.extents()?;
    let [av, au] = plane_axes(t.axis);
    let (a, b) = (t.plane_pos(from), t.plane_pos(to));
    let bounds = |i: usize| (a[i].min(b[i]), a[i].max(b[i]));
    let (u, v) = (bounds(0), bounds(1));
    let depth = state.tools.depth.max(1);
    if state.tools.tool == Tool::Ellipsoid {
        let (mut center, mut radius) = ([0.0; 3], [0.0; 3]);
        (center[au], center[av]) = ((u.0 + u.1) / 2.0 - 0.5, (v.0 + v.1) / 2.0 - 0.5);
        (radius[au], radius[av]) = (((u.1 - u.0) / 2.0).max(0.5), ((v.1 - v.0) / 2.0).max(0.5));
        (center[t.axis], radius[t.axis]) = (state.crosshair[t.axis] as f64, depth as f64 / 2.0);
        return Some(("Ellipsoid", RegionKind::Ellipsoid(Ball { center, radius })));
    }
    let (mut lo, mut hi) = ([0; 3], [0; 3]);
    for (axis, (first, last)) in [(au, u), (av, v)] {
        lo[axis] = first.floor().clamp(0.0, n[axis] as f64) as usize;
        hi[axis] = last.ceil().clamp(0.0, n[axis] as f64) as usize;
    }
    let layers = layers(state, t.axis, depth);
    (lo[t.axis], hi[t.axis]) = (layers.start, layers.end);
    let region = Region { lo, hi };
    (0..3).all(|a| lo[a] < hi[a]).then_some(("Box", RegionKind::Box(region)))
}

/// `depth` layers of an axis about the crosshair, inside the volume.
fn layers(state: &State, axis: usize, depth: usize) -> std::ops::Range<usize> {
    let n = state.extents().map_or(1, |n| n[axis]);
    let start = state.crosshair[axis].saturating_sub((depth - 1) / 2);
    start..(start + depth).min(n)
}

fn draw_polygon(ui: &Ui, state: &State, response: &Response, t: &PlaneTransform, rect: Rect) {
    let id = Id::unique(("polygon", t.axis));
    let mut draft = ui.data_mut(|d| d.get_temp::<Draft>(id)).unwrap_or_default();
    let index = state.crosshair[t.axis];
    if draft.index != index {
        draft = Draft { points: vec![], index };
    }
    let over = response.contains_pointer();
    let pointer = response.hover_pos();
    if over {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Crosshair);
    }
    let key = |k| over && ui.input(|i| i.key_pressed(k));
    if response.clicked()
        && let Some(p) = response.interact_pointer_pos()
    {
        let [u, v] = t.plane_pos(p);
        let point = [v - 0.5, u - 0.5];
        // The second click of a double click is the same corner.
        if draft.points.last() != Some(&point) {
            draft.points.push(point);
        }
    }
    if key(Key::Backspace) {
        draft.points.pop();
    }
    if key(Key::Escape) {
        draft.points.clear();
    }
    if (key(Key::Enter) || response.double_clicked()) && draft.points.len() >= 3 {
        let layers = layers(state, t.axis, state.tools.depth.max(1));
        let points = std::mem::take(&mut draft.points);
        let kind = RegionKind::Polygon(Extruded { axis: t.axis, points, layers });
        state.commands.send(Command::AddRegion { name: state.roi.free_name("Polygon"), kind });
    }
    if !draft.points.is_empty() {
        marks::polygon(&ui.painter_at(rect), state, t, &draft.points, pointer);
    }
    ui.data_mut(|d| d.insert_temp(id, draft));
}

#[cfg(test)]
mod tests {
    use super::resized;

    #[test]
    fn brush_steps_always_move_and_never_reach_zero() {
        assert_eq!(resized(1.0, 1.0), 2.0);
        assert_eq!(resized(2.0, -1.0), 1.0);
        assert_eq!(resized(1.0, -1.0), 1.0);
        assert_eq!(resized(100.0, 1.0), 120.0);
    }
}
