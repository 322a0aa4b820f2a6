//! The table of runs.

use super::shell;
use crate::studio::command::{Command, Export};
use crate::studio::state::State;
use crate::studio::state::compare::{Compare, CompareMode, LayerChoice};
use crate::studio::state::runs::{Column, Run, RunEdit};
use crate::studio::theme;
use eframe::egui::{self, Align, Key, Layout, RichText, Ui, vec2};
use egui_extras::{Column as Width, TableBuilder};

const COLUMNS: [(Column, &str, &str, f32); 11] = [
    (Column::Name, "Run", "Double-click to rename", 168.0),
    (Column::Ratio, "Ratio", "Original bytes over stream bytes", 50.0),
    (Column::Bits, "Bits/value", "Stream bits per value", 66.0),
    (Column::Compress, "Compress GB/s", "End to end, and in the kernels", 94.0),
    (Column::Decompress, "Decomp. GB/s", DECOMPRESS, 88.0),
    (Column::Time, "Encode ms", "In the device's kernels, and as its stage models predicted", 80.0),
    (Column::Error, "Err/tau", "Largest error over its block's tolerance, worst tier", 58.0),
    (Column::Psnr, "PSNR dB", "20 log10(range / RMSE), all values", 56.0),
    (Column::RoiPsnr, "ROI PSNR", "The same over the blocks of the ROI tiers", 64.0),
    (Column::Ssim, "SSIM", "Middle slice across the slowest axis", 56.0),
    (Column::Device, "Device", "What did the work", 96.0),
];
const DECOMPRESS: &str = "Whole volume into memory (beyond 512 MB, into a temporary file), and in a GPU's kernels";

pub fn show(ui: &mut Ui, state: &State) {
    if state.runs.list.is_empty() {
        ui.add_space(8.0);
        ui.label(RichText::new("No runs yet. Set up a run in the side panel, or press F5.").color(shell::weak(ui)));
        return;
    }
    egui::ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| table(ui, state));
}

/// The way back to volumes of this session that have work of their own.
pub fn kept(ui: &mut Ui, state: &State) {
    if state.kept.is_empty() {
        return;
    }
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let count = state.kept.iter().map(|k| k.runs.len()).sum::<usize>();
        let text = match (state.kept.len(), count) {
            (1, 0) => "Regions of another volume".to_owned(),
            (_, 0) => "Regions of other volumes".to_owned(),
            (1, 1) => "1 run of another volume".to_owned(),
            (1, n) => format!("{n} runs of another volume"),
            (_, n) => format!("{n} runs of other volumes"),
        };
        let menu = ui.menu_button(text, |ui| {
            for kept in &state.kept {
                let mut what = vec![];
                if !kept.runs.is_empty() {
                    what.push(format!("{} run{}", kept.runs.len(), if kept.runs.len() == 1 { "" } else { "s" }));
                }
                if let Some(roi) = &kept.roi {
                    what.push(format!("{} region{}", roi.regions.len(), if roi.regions.len() == 1 { "" } else { "s" }));
                }
                if ui.button(format!("{}   {}", kept.of.title(), what.join(", "))).clicked() {
                    state.commands.send(Command::OpenKept(kept.of.clone()));
                    ui.close();
                }
            }
        });
        menu.response.on_hover_text("They come back with their volume");
    });
}

fn table(ui: &mut Ui, state: &State) {
    let layout = Layout::left_to_right(Align::Center);
    let mut table = TableBuilder::new(ui).striped(true).cell_layout(layout).resizable(true);
    table = table.column(Width::exact(52.0)).column(Width::exact(54.0));
    for (_, _, _, width) in COLUMNS {
        table = table.column(Width::initial(width).at_least(48.0).clip(true));
    }
    table
        .header(22.0, |mut header| {
            header.col(|ui| {
                ui.label(RichText::new("A    B").small().color(shell::weak(ui)))
                    .on_hover_text("Which runs the views show");
            });
            header.col(|_| {});
            for (column, name, what, _) in COLUMNS {
                header.col(|ui| heading(ui, state, column, name, what));
            }
        })
        .body(|mut body| {
            for run in state.runs.sorted() {
                body.row(24.0, |mut row| {
                    row.col(|ui| choose(ui, state, run));
                    row.col(|ui| actions(ui, state, run));
                    for (column, ..) in COLUMNS {
                        row.col(|ui| cell(ui, state, run, column));
                    }
                });
            }
        });
}

fn heading(ui: &mut Ui, state: &State, column: Column, name: &str, what: &str) {
    let button = egui::Button::new(RichText::new(name).strong()).frame(false);
    if ui.add(button).on_hover_text(what).clicked() {
        state.commands.send(Command::Runs(RunEdit::Sort(column)));
    }
    if let Some((_, descending)) = state.runs.sort.filter(|(c, _)| *c == column) {
        shell::triangle(ui, !descending, egui::Sense::hover());
    }
}

/// Puts a run on side A or B of the comparison.
fn choose(ui: &mut Ui, state: &State, run: &Run) {
    let layer = LayerChoice::Run(run.id);
    if ui.radio(state.compare.a == layer, "").accessible_name(format!("{} as A", run.name)).clicked() {
        // The first run that is picked beside another one: now there are two to compare.
        let Compare { a, b, .. } = state.compare;
        let two = (a == LayerChoice::Original || a == b) && b != layer;
        let mode = if two { with_line(state.compare.mode) } else { state.compare.mode };
        state.commands.send(Command::Compare(Compare { a: layer, mode, ..state.compare }));
    }
    if ui.radio(state.compare.b == layer, "").accessible_name(format!("{} as B", run.name)).clicked() {
        let mode = with_line(state.compare.mode);
        state.commands.send(Command::Compare(Compare { b: layer, mode, ..state.compare }));
    }
}

/// A mode that shows both sides.
fn with_line(mode: CompareMode) -> CompareMode {
    if mode == CompareMode::Single { CompareMode::Swipe } else { mode }
}

fn cell(ui: &mut Ui, state: &State, run: &Run, column: Column) {
    let m = &run.metrics;
    let text = match column {
        Column::Name => return name(ui, state, run),
        Column::Ratio => format!("{:.2}", run.compress.ratio),
        Column::Bits => format!("{:.3}", run.compress.bits_per_value),
        Column::Compress => format!("{:.3}  ({:.3})", run.compress.gbps, run.compress.kernel_gbps),
        Column::Decompress => match run.decompress_kernel_gbps() {
            Some(kernel) => format!("{:.3}  ({kernel:.3})", run.decompress_gbps()),
            None => format!("{:.3}", run.decompress_gbps()),
        },
        Column::Time => return time(ui, run),
        Column::Error => return error(ui, run),
        Column::Psnr => shell::decibels(m.psnr_db),
        Column::RoiPsnr => m.roi_psnr_db.map_or_else(|| "–".to_owned(), shell::decibels),
        Column::Ssim => m.ssim.as_ref().map_or_else(|| "–".to_owned(), |s| format!("{:.5}", s.value)),
        Column::Device => run.compress.device.clone(),
    };
    ui.add(egui::Label::new(text).truncate());
}

/// Measured and predicted time of encoding.
fn time(ui: &mut Ui, run: &Run) {
    let measured = shell::number(run.measured_ms);
    let Some(predicted) = run.predicted_ms else {
        ui.label(measured);
        return;
    };
    let text = format!("{measured}  ({})", shell::number(predicted));
    ui.add(egui::Label::new(text).truncate()).on_hover_ui(|ui| {
        let mut lines = format!("Measured {measured} ms, predicted {} ms", shell::number(predicted));
        if let Some(budget) = run.request.budget() {
            lines += &format!(" for a budget of {} ms", shell::number(budget));
        }
        ui.label(lines);
    });
}

fn error(ui: &mut Ui, run: &Run) {
    let m = &run.metrics;
    let violated = m.violations > 0;
    let text = RichText::new(format!("{:.4}", m.max_error_over_tau));
    let text = if violated { text.color(ui.visuals().error_fg_color).strong() } else { text };
    ui.label(text).on_hover_ui(|ui| {
        egui::Grid::new("tiers").num_columns(4).spacing(vec2(14.0, 3.0)).show(ui, |ui| {
            for head in ["Tier", "tau", "Max error", "/ tau", "PSNR dB"] {
                ui.label(RichText::new(head).strong());
            }
            ui.end_row();
            for tier in &m.tiers {
                ui.label(&tier.name);
                ui.label(shell::number(tier.tau));
                ui.label(shell::number(tier.max_error));
                ui.label(format!("{:.4}", tier.max_error_over_tau));
                ui.label(shell::decibels(tier.psnr_db));
                ui.end_row();
            }
        });
        ui.label(if violated {
            format!("{} values miss their bound", m.violations)
        } else {
            "Every value keeps its bound".to_owned()
        });
    });
}

fn name(ui: &mut Ui, state: &State, run: &Run) {
    let id = egui::Id::unique(("rename run", run.id));
    let Some(mut text) = ui.data_mut(|d| d.get_temp::<String>(id)) else {
        let color = theme::color(theme::run_color(run.id));
        let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), egui::Sense::hover());
        ui.painter().circle_filled(rect.center(), 4.0, color);
        if run.pinned {
            ui.label(RichText::new("pinned").small().color(shell::weak(ui)));
        }
        let button = egui::Button::new(run.name.as_str()).frame(false).truncate();
        if ui.add(button).on_hover_text(&run.name).double_clicked() {
            ui.data_mut(|d| d.insert_temp(id, run.name.clone()));
        }
        return;
    };
    let response =
        ui.add(egui::TextEdit::singleline(&mut text).desired_width(f32::INFINITY)).accessible_name("Run name");
    response.request_focus();
    ui.data_mut(|d| d.insert_temp(id, text.clone()));
    if response.lost_focus() || ui.input(|i| i.key_pressed(Key::Enter) || i.key_pressed(Key::Escape)) {
        ui.data_mut(|d| d.remove_temp::<String>(id));
        if !text.trim().is_empty() && !ui.input(|i| i.key_pressed(Key::Escape)) {
            state.commands.send(Command::Runs(RunEdit::Rename(run.id, text.trim().to_owned())));
        }
    }
}

fn actions(ui: &mut Ui, state: &State, run: &Run) {
    ui.menu_button("More", |ui| {
        let send = |command| state.commands.send(command);
        if ui.add_enabled(run.stream.is_some(), egui::Button::new("Save .bmg…")).clicked() {
            send(Command::Export(Export::Stream(run.id)));
            ui.close();
        }
        if ui.add_enabled(run.reconstruction.is_some(), egui::Button::new("Save reconstruction…")).clicked() {
            send(Command::Export(Export::Reconstruction(run.id)));
            ui.close();
        }
        let line = state.command_line(&run.request, run.id);
        if ui.button("Copy command line").on_hover_text(line).clicked() {
            send(Command::CopyCommandLine(run.id));
            ui.close();
        }
        if ui.button(if run.pinned { "Unpin" } else { "Pin to the top" }).clicked() {
            send(Command::Runs(RunEdit::Pin(run.id, !run.pinned)));
            ui.close();
        }
        if ui.button("Show error / tau").clicked() {
            send(Command::Compare(Compare {
                mode: CompareMode::Single,
                a: LayerChoice::ErrorOverTau(run.id),
                ..state.compare
            }));
            ui.close();
        }
        if let Some(voxel) = run.metrics.worst_at
            && ui.button("Go to the largest error").clicked()
        {
            send(Command::Crosshair(voxel));
            ui.close();
        }
        ui.separator();
        if ui.button("Remove").clicked() {
            send(Command::Runs(RunEdit::Remove(run.id)));
            ui.close();
        }
    });
}
