//! What to run: presets, method, tolerance, device; the queue.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::runs::{Match, RunEdit, RunRequest, RunTolerance};
use crate::studio::state::tuning::{MEASURING, Tuned};
use blockmgard::params::{Budget, Points};
use blockmgard::{Basis, Coder, Entropy, Mode, Order};
use eframe::egui::{self, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State) {
    let mut settings = state.runs.settings.clone();
    presets(ui, &mut settings);
    method(ui, state, &mut settings);
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

fn method(ui: &mut Ui, state: &State, settings: &mut RunRequest) {
    let p = &mut settings.params;
    shell::field(ui, "Method", |ui| {
        ui.selectable_value(&mut p.mode, Mode::Pyramid, "Pyramid")
            .on_hover_text("Closed-loop interpolation; tolerances do not spread");
        ui.selectable_value(&mut p.mode, Mode::Hybrid, "Hybrid").on_hover_text("The paper's hierarchy");
    });
    match p.mode {
        Mode::Hybrid => {
            levels(ui, state, settings);
            let p = &mut settings.params;
            shell::field(ui, "Basis", |ui| {
                ui.selectable_value(&mut p.basis, Basis::Hierarchical, "Hierarchical");
                ui.selectable_value(&mut p.basis, Basis::Projection, "Projection");
            });
            shell::field(ui, "Shares", |ui| {
                ui.selectable_value(&mut p.budget, Budget::Coefficients, "Optimal")
                    .on_hover_text("The tolerance shared among the levels by their numbers of coefficients");
                ui.selectable_value(&mut p.budget, Budget::Uniform, "Equal")
                    .on_hover_text("The same share of the tolerance for each level, as in the paper");
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
            shell::field(ui, "Coder", |ui| {
                ui.selectable_value(&mut p.coder, Coder::Class, "Class rANS").on_hover_text("The best ratios");
                ui.selectable_value(&mut p.coder, Coder::Groups, "Groups")
                    .on_hover_text("Nearly the ratios of class rANS, faster");
                ui.selectable_value(&mut p.coder, Coder::Planes, "Bit planes")
                    .on_hover_text("The most speed: always in axis order");
            });
            let mut order = p.effective_order();
            ui.add_enabled_ui(p.coder != Coder::Planes, |ui| {
                shell::field(ui, "Order", |ui| {
                    ui.selectable_value(&mut order, Order::Parity, "Parity")
                        .on_hover_text("Nodes predicted along all axes that they are new on: the best ratios");
                    ui.selectable_value(&mut order, Order::Axis, "Axis")
                        .on_hover_text("Nodes predicted along one axis: faster");
                });
            });
            if p.coder != Coder::Planes {
                p.order = order;
            }
        }
    }
}

/// L and M as given, or as a time budget gives them.
fn levels(ui: &mut Ui, state: &State, settings: &mut RunRequest) {
    shell::field(ui, "Levels by", |ui| {
        let budget = &mut settings.budget_ms;
        if ui.selectable_label(budget.is_none(), "Hand").on_hover_text("L and M as you set them").clicked() {
            *budget = None;
        }
        let what = "As many global levels as are predicted to fit into a time (Algorithm 1)";
        if ui.selectable_label(budget.is_some(), "Time budget").on_hover_text(what).clicked() && budget.is_none() {
            *budget = Some(usual_budget(state));
        }
    });
    match &mut settings.budget_ms {
        None => shell::field(ui, "Levels", |ui| {
            let p = &mut settings.params;
            ui.add(egui::DragValue::new(&mut p.local_levels).range(0..=8).prefix("L "))
                .on_hover_text("Local levels, inside 8×8×8 blocks");
            ui.add(egui::DragValue::new(&mut p.global_levels).range(0..=16).prefix("M "))
                .on_hover_text("Global MGARD levels");
        }),
        Some(ms) => {
            shell::field(ui, "Encode in", |ui| {
                let speed = *ms * 0.01;
                let drag = egui::DragValue::new(ms).range(0.01..=1e6).speed(speed).suffix(" ms");
                ui.add(drag.max_decimals(3)).accessible_name("Time budget");
            });
            shell::field(ui, "", |ui| budget_line(ui, state, &settings.device));
        }
    }
}

/// A round time that a usual CPU takes for the volume, to start from: about a gigabyte a second.
fn usual_budget(state: &State) -> f64 {
    let bytes = state.document.as_ref().map_or(1, |d| d.volume.shape.len() * d.volume.values.dtype().bytes());
    let ms = (bytes as f64 / 1e6).max(1.0);
    let unit = 10f64.powf(ms.log10().floor());
    (ms / unit).round() * unit
}

/// What the budget gives, or what is needed to know it.
fn budget_line(ui: &mut Ui, state: &State, device: &str) {
    let quiet = |text: &str| RichText::new(text).small();
    ui.vertical(|ui| match state.tuning.device(device) {
        _ if state.jobs.is_running(MEASURING) => {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(quiet("Measuring…"));
                if let Some(job) = state.jobs.running.iter().find(|j| j.name == MEASURING)
                    && ui.small_button("Cancel").clicked()
                {
                    state.commands.send(Command::Cancel(job.id));
                }
            });
        }
        None | Some(Tuned::Looking) => {
            ui.spinner();
        }
        Some(Tuned::Failed(why)) => {
            ui.add(egui::Label::new(quiet(why).color(ui.visuals().error_fg_color)).wrap());
        }
        Some(Tuned::Never(name)) => {
            ui.add(egui::Label::new(quiet(&format!("Not measured yet: {name}.")).color(shell::weak(ui))).wrap());
            let button = ui.button("Measure this device");
            if button.on_hover_text("Some seconds, once for each device; as `blockmgard tune` does").clicked() {
                state.commands.send(Command::MeasureDevice(device.to_owned()));
            }
        }
        Some(Tuned::Ready(_)) => match state.budget_choice() {
            None => {
                ui.spinner();
            }
            Some(Ok(c)) => {
                let text = format!(
                    "L {}, M {}: {} ms predicted",
                    c.local_levels,
                    c.global_levels,
                    shell::number(c.predicted_ms)
                );
                ui.label(quiet(&text));
            }
            Some(Err(error)) => {
                let text = format!("Too short: {}", error.remedy);
                ui.add(egui::Label::new(quiet(&text).color(ui.visuals().warn_fg_color)).wrap());
            }
        },
    });
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
