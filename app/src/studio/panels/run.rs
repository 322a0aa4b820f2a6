//! What to run: presets, method, tolerance, device; the queue.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::runs::{Match, RunEdit, RunRequest, RunTolerance};
use blockmgard::params::{Budget, Points};
use blockmgard::{Basis, Entropy, Mode};
use eframe::egui::{self, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State) {
    let mut settings = state.runs.settings.clone();
    presets(ui, &mut settings);
    method(ui, &mut settings);
    shell::field(ui, "Tolerance", |ui| {
        egui::ComboBox::from_id_salt("tolerance")
            .selected_text(tolerance_name(settings.tolerance))
            .width(170.0)
            .show_ui(ui, |ui| {
                for t in [RunTolerance::Regions, RunTolerance::UniformStrictest, RunTolerance::UniformBackground] {
                    ui.selectable_value(&mut settings.tolerance, t, tolerance_name(t));
                }
            });
    });
    matching(ui, &mut settings);
    shell::field(ui, "Device", |ui| {
        for (device, name) in [("auto", "Auto"), ("cpu", "CPU"), ("cuda", "GPU")] {
            ui.selectable_value(&mut settings.device, device.to_owned(), name);
        }
    });
    ui.horizontal(|ui| {
        let run = egui::Button::new(RichText::new("Run").strong()).min_size(egui::vec2(84.0, 26.0));
        let enabled = state.document.is_some();
        if ui.add_enabled(enabled, run).on_hover_text("Compress, decompress and measure (F5)").clicked() {
            state.commands.send(Command::Run(settings.clone()));
        }
    });
    if settings != state.runs.settings {
        state.commands.send(Command::Runs(RunEdit::Settings(settings)));
    }
}

fn presets(ui: &mut Ui, settings: &mut RunRequest) {
    ui.horizontal_wrapped(|ui| {
        for (name, what, request) in RunRequest::presets() {
            let chosen = *settings == RunRequest { device: settings.device.clone(), ..request.clone() };
            if ui.selectable_label(chosen, name).on_hover_text(what).clicked() {
                *settings = RunRequest { device: settings.device.clone(), ..request };
            }
        }
    });
}

fn method(ui: &mut Ui, settings: &mut RunRequest) {
    let p = &mut settings.params;
    shell::field(ui, "Method", |ui| {
        ui.selectable_value(&mut p.mode, Mode::Pyramid, "Pyramid")
            .on_hover_text("Closed-loop interpolation; tolerances do not spread");
        ui.selectable_value(&mut p.mode, Mode::Hybrid, "Hybrid").on_hover_text("The paper's hierarchy");
    });
    match p.mode {
        Mode::Hybrid => {
            shell::field(ui, "Levels", |ui| {
                ui.add(egui::DragValue::new(&mut p.local_levels).range(0..=8).prefix("L "))
                    .on_hover_text("Local levels, inside 8×8×8 blocks");
                ui.add(egui::DragValue::new(&mut p.global_levels).range(0..=16).prefix("M "))
                    .on_hover_text("Global MGARD levels");
            });
            shell::field(ui, "Basis", |ui| {
                ui.selectable_value(&mut p.basis, Basis::Hierarchical, "Hierarchical");
                ui.selectable_value(&mut p.basis, Basis::Projection, "Projection");
            });
            shell::field(ui, "Budget", |ui| {
                ui.selectable_value(&mut p.budget, Budget::Coefficients, "Optimal")
                    .on_hover_text("Shares by number of coefficients");
                ui.selectable_value(&mut p.budget, Budget::Uniform, "Equal").on_hover_text("The paper's equal shares");
            });
            shell::field(ui, "Entropy", |ui| {
                ui.selectable_value(&mut p.entropy, Entropy::Huffman, "Huffman");
                ui.selectable_value(&mut p.entropy, Entropy::Class, "Class rANS");
            });
        }
        Mode::Pyramid => {
            shell::field(ui, "Tile", |ui| {
                for side in [8, 16, 32] {
                    ui.selectable_value(&mut p.tile, side, side.to_string());
                }
            });
            shell::field(ui, "Points", |ui| {
                for (points, name) in
                    [(Points::Auto, "Auto"), (Points::Two, "2"), (Points::Four, "4"), (Points::Six, "6")]
                {
                    ui.selectable_value(&mut p.points, points, name);
                }
            });
        }
    }
}

fn matching(ui: &mut Ui, settings: &mut RunRequest) {
    shell::field(ui, "Match", |ui| {
        let m = &mut settings.matched;
        if ui.selectable_label(*m == Match::Nothing, "Tiers").on_hover_text("Tolerances as they are").clicked() {
            *m = Match::Nothing;
        }
        if ui
            .selectable_label(matches!(m, Match::Ratio(_)), "Ratio")
            .on_hover_text("Scale all tiers to reach a ratio")
            .clicked()
        {
            *m = Match::Ratio(50.0);
        }
        if ui
            .selectable_label(matches!(m, Match::Psnr(_)), "PSNR")
            .on_hover_text("Scale all tiers to reach a PSNR")
            .clicked()
        {
            *m = Match::Psnr(80.0);
        }
        match m {
            Match::Ratio(v) => {
                ui.add(egui::DragValue::new(v).range(1.01..=1e6).speed(0.5)).accessible_name("Target ratio");
            }
            Match::Psnr(v) => {
                ui.add(egui::DragValue::new(v).range(1.0..=400.0).speed(0.2).suffix(" dB"))
                    .accessible_name("Target PSNR");
            }
            Match::Nothing => {}
        }
    });
}

fn tolerance_name(t: RunTolerance) -> &'static str {
    match t {
        RunTolerance::Regions => "Tiers and regions",
        RunTolerance::UniformStrictest => "Strictest tier everywhere",
        RunTolerance::UniformBackground => "Background everywhere",
    }
}
