//! The strip of tools at the left, drawn as small line icons.

use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::tools::Tool;
use eframe::egui::epaint::EllipseShape;
use eframe::egui::{self, Color32, Painter, Pos2, Rect, Sense, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

pub fn show(ui: &mut Ui, state: &State) {
    ui.spacing_mut().item_spacing.y = 3.0;
    ui.add_space(4.0);
    for (i, tool) in Tool::ALL.into_iter().enumerate() {
        if i == 3 || i == 6 {
            ui.add_space(2.0);
            ui.separator();
            ui.add_space(2.0);
        }
        button(ui, state, tool);
    }
}

fn button(ui: &mut Ui, state: &State, tool: Tool) {
    let (name, key, what) = tool.describe();
    let (rect, response) = ui.allocate_exact_size(vec2(34.0, 32.0), Sense::click());
    let selected = state.tools.tool == tool;
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, selected, name));
    let visuals = ui.style().interact_selectable(&response, selected);
    if selected || response.hovered() || response.has_focus() {
        ui.painter().rect(rect, 5.0, visuals.weak_bg_fill, visuals.bg_stroke, StrokeKind::Inside);
    }
    let ink = if selected { ui.visuals().strong_text_color() } else { visuals.text_color() };
    icon(ui.painter(), tool, Rect::from_center_size(rect.center(), vec2(18.0, 18.0)), ink);
    let response = response.on_hover_text(format!("{name} ({key})\n{what}"));
    if response.clicked() {
        state.commands.send(Command::Tool(tool));
    }
}

fn icon(painter: &Painter, tool: Tool, r: Rect, ink: Color32) {
    let stroke = Stroke::new(1.6, ink);
    let at = |x: f32, y: f32| pos2(r.left() + x * r.width(), r.top() + y * r.height());
    let line = |points: &[(f32, f32)]| {
        let points: Vec<Pos2> = points.iter().map(|&(x, y)| at(x, y)).collect();
        painter.add(Shape::line(points, stroke));
    };
    match tool {
        Tool::Navigate => {
            line(&[(0.5, 0.0), (0.5, 1.0)]);
            line(&[(0.0, 0.5), (1.0, 0.5)]);
            for (x, y, dx, dy) in [(0.5, 0.0, 1.0, 1.0), (0.5, 1.0, 1.0, -1.0)] {
                line(&[(x - 0.16 * dx, y + 0.16 * dy), (x, y), (x + 0.16 * dx, y + 0.16 * dy)]);
            }
            for (x, d) in [(0.0, 1.0), (1.0, -1.0)] {
                line(&[(x + 0.16 * d, 0.34), (x, 0.5), (x + 0.16 * d, 0.66)]);
            }
        }
        Tool::Window => {
            painter.circle_stroke(r.center(), r.width() * 0.44, stroke);
            let half: Vec<Pos2> = (0..=16)
                .map(|i| {
                    let a = std::f32::consts::PI * (i as f32 / 16.0 - 0.5);
                    r.center() + vec2(a.cos(), a.sin()) * r.width() * 0.44
                })
                .collect();
            painter.add(Shape::convex_polygon(half, ink, Stroke::NONE));
        }
        Tool::Pick => {
            line(&[(0.0, 1.0), (0.08, 0.78), (0.6, 0.26), (0.74, 0.4), (0.22, 0.92), (0.0, 1.0)]);
            line(&[(0.52, 0.18), (0.82, 0.48)]);
            line(&[(0.7, 0.3), (0.95, 0.05)]);
        }
        Tool::Brush => {
            line(&[(0.95, 0.05), (0.48, 0.52)]);
            line(&[
                (0.48, 0.52),
                (0.34, 0.5),
                (0.2, 0.62),
                (0.16, 0.84),
                (0.04, 0.96),
                (0.34, 0.94),
                (0.5, 0.8),
                (0.5, 0.64),
                (0.48, 0.52),
            ]);
        }
        Tool::Erase => {
            line(&[(0.36, 0.9), (0.06, 0.6), (0.58, 0.08), (0.94, 0.44), (0.48, 0.9), (0.36, 0.9)]);
            line(&[(0.3, 0.36), (0.66, 0.72)]);
            line(&[(0.36, 0.94), (1.0, 0.94)]);
        }
        Tool::Flood => {
            line(&[(0.4, 0.1), (0.86, 0.56), (0.46, 0.94), (0.04, 0.52), (0.4, 0.16)]);
            line(&[(0.04, 0.52), (0.86, 0.56)]);
            painter.circle_filled(at(0.95, 0.85), 1.8, ink);
        }
        Tool::Box => {
            painter.rect_stroke(r.shrink(1.5), 1.0, stroke, StrokeKind::Middle);
        }
        Tool::Ellipsoid => {
            painter.add(Shape::Ellipse(EllipseShape::stroke(r.center(), vec2(0.5, 0.36) * r.size(), stroke)));
        }
        Tool::Polygon => {
            line(&[(0.5, 0.04), (0.98, 0.4), (0.78, 0.96), (0.2, 0.96), (0.02, 0.4), (0.5, 0.04)]);
            for (x, y) in [(0.5, 0.04), (0.98, 0.4), (0.78, 0.96), (0.2, 0.96), (0.02, 0.4)] {
                painter.circle_filled(at(x, y), 2.0, ink);
            }
        }
        Tool::Threshold => {
            for (x, h) in [(0.06, 0.3), (0.28, 0.7), (0.5, 1.0), (0.72, 0.5), (0.94, 0.22)] {
                painter.line_segment([at(x, 1.0), at(x, 1.0 - h * 0.9)], Stroke::new(2.4, ink));
            }
        }
    }
}
