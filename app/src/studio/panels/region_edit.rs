//! Numbers of the selected parametric region.

use super::shell;
use crate::studio::command::Command;
use crate::studio::roi::model::{Measure, RegionItem, RegionKind};
use crate::studio::state::State;
use eframe::egui::{self, Id, Ui};

pub fn show(ui: &mut Ui, state: &State, region: &RegionItem) {
    if matches!(region.kind, RegionKind::Painted(_)) {
        return;
    }
    // Drags are kept aside until the button is released, so that each is one undo step.
    let id = Id::unique(("region edit", region.id));
    let mut kind = ui.data_mut(|d| d.get_temp::<RegionKind>(id)).unwrap_or_else(|| region.kind.clone());
    let changed = fields(ui, state, &mut kind);
    if changed {
        ui.data_mut(|d| d.insert_temp(id, kind.clone()));
    }
    let pending = ui.data(|d| d.get_temp::<RegionKind>(id)).is_some();
    if pending && !ui.input(|i| i.pointer.any_down()) {
        ui.data_mut(|d| d.remove::<RegionKind>(id));
        state.commands.send(Command::SetRegionKind(region.id, kind));
    }
}

fn fields(ui: &mut Ui, state: &State, kind: &mut RegionKind) -> bool {
    let names = state.document.as_ref().map(|d| d.axis_names()).unwrap_or_default();
    let n = state.extents().unwrap_or([1; 3]);
    let mut changed = false;
    match kind {
        RegionKind::Threshold { measure, lo, hi } | RegionKind::Gradient { measure, lo, hi } => {
            let speed = if *measure == Measure::Value { state.scales().1 / 500.0 } else { 0.1 };
            let unit = match measure {
                Measure::Value => "Values",
                Measure::Percentile => "Percentile",
                Measure::Range => "% of range",
            };
            shell::field(ui, unit, |ui| {
                changed |= shell::number_field(ui, lo, speed).accessible_name("From").changed();
                changed |= shell::number_field(ui, hi, speed).accessible_name("To").changed();
            });
        }
        RegionKind::Box(region) => {
            for axis in 0..3 {
                shell::field(ui, &names[axis], |ui| {
                    let (lo, hi) = (&mut region.lo[axis], &mut region.hi[axis]);
                    changed |= ui.add(egui::DragValue::new(lo).range(0..=*hi - 1)).accessible_name("First").changed();
                    changed |=
                        ui.add(egui::DragValue::new(hi).range(*lo + 1..=n[axis])).accessible_name("End").changed();
                });
            }
        }
        RegionKind::Ellipsoid(ball) => {
            for axis in 0..3 {
                shell::field(ui, &names[axis], |ui| {
                    let center = egui::DragValue::new(&mut ball.center[axis]).speed(0.2).max_decimals(1);
                    changed |= ui.add(center).accessible_name("Centre").on_hover_text("Centre").changed();
                    let radius =
                        egui::DragValue::new(&mut ball.radius[axis]).speed(0.1).range(0.5..=1e6).max_decimals(1);
                    changed |= ui.add(radius).accessible_name("Radius").on_hover_text("Radius").changed();
                });
            }
        }
        RegionKind::Polygon(polygon) => {
            shell::field(ui, "Slices", |ui| {
                let (lo, hi) = (&mut polygon.layers.start, &mut polygon.layers.end);
                changed |= ui.add(egui::DragValue::new(lo).range(0..=*hi - 1)).accessible_name("First").changed();
                let last = n[polygon.axis];
                changed |= ui.add(egui::DragValue::new(hi).range(*lo + 1..=last)).accessible_name("End").changed();
            });
        }
        RegionKind::Painted(_) => {}
    }
    changed
}
