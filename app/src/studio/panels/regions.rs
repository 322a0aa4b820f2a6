//! The region list, and what can be done to the selected region.

use super::shell;
use crate::studio::command::{Command, ImportForm, Morphology};
use crate::studio::roi::model::{Measure, RegionItem, RegionKind};
use crate::studio::roi::shape::Ball;
use crate::studio::state::State;
use crate::studio::state::tools::Tool;
use blockmgard::Region;
use eframe::egui::{self, Key, RichText, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State) {
    if state.roi.regions.is_empty() {
        ui.label(RichText::new("Paint on a slice, or select by threshold (T).").color(shell::weak(ui)));
    }
    for region in &state.roi.regions {
        ui.push_id(region.id, |ui| row(ui, state, region));
    }
    let selected = state.selected.and_then(|id| state.roi.region(id));
    if let Some(region) = selected {
        super::region_edit::show(ui, state, region);
    }
    pending(ui, state);
    ui.horizontal_wrapped(|ui| {
        let painted = selected.is_some_and(|r| matches!(r.kind, RegionKind::Painted(_)));
        ui.menu_button("Modify…", |ui| modify_menu(ui, state, painted));
        ui.menu_button("Add…", |ui| add_menu(ui, state));
        if ui.button("Import mask…").on_hover_text("A file of the volume's shape").clicked() {
            state.commands.send(Command::ImportForm(Some(ImportForm::default())));
        }
    });
}

/// Regions without the pointer: about the crosshair, to be changed by their numbers.
fn add_menu(ui: &mut Ui, state: &State) {
    let Some(n) = state.extents() else { return };
    let center = state.crosshair;
    let around = Region {
        lo: center.map(|c| c.saturating_sub(8)),
        hi: std::array::from_fn(|a| (center[a] + 8).min(n[a]).max(1)),
    };
    let ball = Ball { center: center.map(|c| c as f64), radius: [8.0; 3] };
    for (stem, kind) in [("Box", RegionKind::Box(around)), ("Ellipsoid", RegionKind::Ellipsoid(ball))] {
        if ui.button(format!("{stem} about the crosshair")).clicked() {
            state.commands.send(Command::AddRegion { name: state.roi.free_name(stem), kind });
            ui.close();
        }
    }
    if ui.add(egui::Button::new("By threshold").shortcut_text("T")).clicked() {
        state.commands.send(Command::Tool(Tool::Threshold));
        ui.close();
    }
}

fn modify_menu(ui: &mut Ui, state: &State, painted: bool) {
    if !painted {
        ui.label(RichText::new("Select a painted region in the list first").color(shell::weak(ui)));
    }
    for operation in Morphology::ALL {
        if ui.add_enabled(painted, egui::Button::new(operation.title())).clicked() {
            state.commands.send(Command::Morphology(operation));
            ui.close();
        }
    }
}

/// What an operation that is shown would change, and the choice.
fn pending(ui: &mut Ui, state: &State) {
    let Some(shown) = &state.pending_morph else { return };
    let change = |n: u64, what: &str| (n > 0).then(|| format!("{} voxels {what}", shell::count(n as usize)));
    let changes: Vec<String> =
        [change(shown.added, "more"), change(shown.removed, "fewer")].into_iter().flatten().collect();
    let stroke = egui::Stroke::new(1.0, crate::studio::theme::accent(state.dark));
    egui::Frame::new().stroke(stroke).corner_radius(5).inner_margin(egui::Margin::symmetric(8, 6)).show(ui, |ui| {
        ui.label(format!("{}: {}", shown.operation.title(), changes.join(", ")));
        ui.horizontal(|ui| {
            if ui.button("Apply").on_hover_text("Enter").clicked() {
                state.commands.send(Command::ApplyMorphology);
            }
            if ui.button("Cancel").on_hover_text("Esc").clicked() {
                state.commands.send(Command::CancelMorphology);
            }
        });
    });
}

fn row(ui: &mut Ui, state: &State, region: &RegionItem) {
    let selected = state.selected == Some(region.id);
    let fill = if selected { ui.visuals().selection.bg_fill.gamma_multiply(0.55) } else { ui.visuals().faint_bg_color };
    let frame = egui::Frame::new().fill(fill).corner_radius(5).inner_margin(egui::Margin::symmetric(7, 4));
    frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            let mut on = region.on;
            let label = format!("Use {}", region.name);
            if ui.checkbox(&mut on, "").accessible_name(label).on_hover_text("Switch the region on or off").changed() {
                state.commands.send(Command::RegionOn(region.id, on));
            }
            let color = state.roi.tiers.get(region.tier).map_or([128; 3], |t| t.color);
            shell::swatch(ui, color, 10.0);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let delete = ui.add(egui::Button::new("×").frame(false).min_size(vec2(18.0, 18.0)));
                delete.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Delete {}", region.name))
                });
                if delete.on_hover_text("Delete the region (Ctrl+Z brings it back)").clicked() {
                    state.commands.send(Command::RemoveRegion(region.id));
                }
                tier_menu(ui, state, region);
                // What is left belongs to the name, cut where it is too long.
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    name(ui, state, region, selected)
                });
            });
        });
        ui.horizontal(|ui| {
            ui.add_space(24.0);
            ui.label(RichText::new(describe(region)).small().color(shell::weak(ui)));
        });
    });
}

fn name(ui: &mut Ui, state: &State, region: &RegionItem, selected: bool) {
    let id = ui.scope_id().with("rename");
    let Some(mut text) = ui.data_mut(|d| d.get_temp::<String>(id)) else {
        let button = egui::Button::new(region.name.as_str()).frame(false).truncate();
        let response =
            ui.add(button).on_hover_text(format!("{}\nClick to select, double-click to rename", region.name));
        if response.double_clicked() {
            ui.data_mut(|d| d.insert_temp(id, region.name.clone()));
        } else if response.clicked() {
            state.commands.send(Command::SelectRegion((!selected).then_some(region.id)));
        }
        return;
    };
    let response = ui.add(egui::TextEdit::singleline(&mut text).desired_width(90.0)).accessible_name("Region name");
    response.request_focus();
    ui.data_mut(|d| d.insert_temp(id, text.clone()));
    if response.lost_focus() || ui.input(|i| i.key_pressed(Key::Enter)) {
        ui.data_mut(|d| d.remove_temp::<String>(id));
        if !text.trim().is_empty() && !ui.input(|i| i.key_pressed(Key::Escape)) {
            state.commands.send(Command::RenameRegion(region.id, text.trim().to_owned()));
        }
    }
}

fn tier_menu(ui: &mut Ui, state: &State, region: &RegionItem) {
    let name = state.roi.tiers.get(region.tier).map_or("", |t| t.name.as_str());
    let combo = egui::ComboBox::from_id_salt("tier").selected_text(name).width(70.0).show_ui(ui, |ui| {
        for (i, tier) in state.roi.tiers.iter().enumerate().skip(1) {
            if ui.selectable_label(i == region.tier, tier.name.as_str()).clicked() && i != region.tier {
                state.commands.send(Command::RegionTier(region.id, i));
            }
        }
    });
    combo.response.accessible_name(format!("Tier of {}", region.name));
}

fn describe(region: &RegionItem) -> String {
    let blocks = match &region.coverage {
        Some(blocks) => format!("{} blocks", shell::count(blocks.touched.count())),
        None => "finding blocks…".to_owned(),
    };
    if let Some(source) = &region.source {
        let painted = if region.painted_over { ", painted on" } else { "" };
        return format!("{}{painted} · {blocks}", source.title());
    }
    let what = match &region.kind {
        RegionKind::Threshold { measure, lo, hi } | RegionKind::Gradient { measure, lo, hi } => {
            let unit = match measure {
                Measure::Value => "",
                Measure::Percentile => " percentile",
                Measure::Range => " % of range",
            };
            format!("{} {} to {}{unit}", region.kind.title(), shell::number(*lo), shell::number(*hi))
        }
        RegionKind::Box(b) => format!("Box {}", b.shape().map(|n| n.to_string()).join("×")),
        RegionKind::Ellipsoid(e) => format!("Ellipsoid {}", e.radius.map(|r| format!("{:.0}", r * 2.0)).join("×")),
        other => other.title().to_owned(),
    };
    format!("{what} · {blocks}")
}
