//! Settings of the tool in hand.

use super::{shell, threshold};
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::tools::{BrushShape, Tool, Tools};
use eframe::egui::{self, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State) {
    let (name, key, what) = state.tools.tool.describe();
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).strong());
        ui.label(RichText::new(key).small().monospace().color(shell::weak(ui)));
    });
    ui.label(RichText::new(what).small().color(shell::weak(ui)));
    ui.add_space(4.0);
    let mut tools = state.tools.clone();
    match tools.tool {
        Tool::Brush | Tool::Erase => brush(ui, &mut tools),
        Tool::Box | Tool::Ellipsoid | Tool::Polygon => depth(ui, &mut tools),
        Tool::Flood => {
            shell::field(ui, "Similar within", |ui| {
                let drag = egui::DragValue::new(&mut tools.flood_percent).range(0.0..=100.0).speed(0.1).suffix(" %");
                ui.add(drag).on_hover_text("Of the data's range, to either side of the clicked value");
            });
        }
        Tool::Threshold => threshold::show(ui, state, &mut tools),
        Tool::Navigate | Tool::Window | Tool::Pick => {}
    }
    if tools != state.tools {
        state.commands.send(Command::Tools(Box::new(tools)));
    }
}

fn brush(ui: &mut Ui, tools: &mut Tools) {
    shell::field(ui, "Shape", |ui| {
        for (shape, name, what) in [
            (BrushShape::Disc, "Disc", "One slice thick"),
            (BrushShape::Ball, "Ball", "Round in all three axes"),
            (BrushShape::Blocks, "Blocks", "Whole 8×8×8 blocks"),
        ] {
            ui.selectable_value(&mut tools.brush, shape, name).on_hover_text(what);
        }
    });
    shell::field(ui, "Diameter", |ui| {
        let drag = egui::DragValue::new(&mut tools.brush_size).range(1.0..=f64::MAX).speed(0.25).suffix(" voxels");
        ui.add(drag.max_decimals(0)).on_hover_text("[ and ], + and -, or Shift+wheel");
    });
    if tools.tool == Tool::Brush {
        ui.checkbox(&mut tools.protect, "Never loosen a stricter tier")
            .on_hover_text("Off: painting a looser tier takes voxels out of stricter painted regions");
        ui.checkbox(&mut tools.masked, "Only inside the threshold")
            .on_hover_text("Paint only voxels whose value lies in the interval of the threshold tool");
    }
}

fn depth(ui: &mut Ui, tools: &mut Tools) {
    shell::field(ui, "Depth", |ui| {
        let drag = egui::DragValue::new(&mut tools.depth).range(1..=usize::MAX).speed(0.25).suffix(" slices");
        ui.add(drag).on_hover_text("Along the view's axis, about the current slice");
    });
}
