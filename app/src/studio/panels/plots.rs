//! Plots of the runs: error histogram, ratio against PSNR, throughput, line profile.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::plots::{PlotKind, PlotSettings, ProfileLine};
use crate::studio::theme;
use eframe::egui::{self, RichText, Ui};
use egui_plot::{Bar, BarChart, Corner, Legend, Line, Plot, PlotPoints, Points, VLine};

pub fn show(ui: &mut Ui, state: &State) {
    let mut settings = state.plots.settings;
    ui.horizontal(|ui| {
        for (kind, name, what) in [
            (PlotKind::Profile, "Line profile", "Values along a line through the crosshair"),
            (PlotKind::Errors, "Error histogram", "Errors of each tier in units of its tolerance"),
            (PlotKind::Rate, "Ratio and PSNR", "A sweep of tolerances per method"),
            (PlotKind::Throughput, "Throughput", "GB/s of the runs"),
        ] {
            ui.selectable_value(&mut settings.kind, kind, name).on_hover_text(what);
        }
        ui.separator();
        options(ui, state, &mut settings);
    });
    match settings.kind {
        PlotKind::Profile => profile(ui, state),
        PlotKind::Errors => errors(ui, state),
        PlotKind::Rate => rate(ui, state),
        PlotKind::Throughput => throughput(ui, state),
    }
    if settings != state.plots.settings {
        state.commands.send(Command::Plots(settings));
    }
}

fn options(ui: &mut Ui, state: &State, settings: &mut PlotSettings) {
    match settings.kind {
        PlotKind::Profile => {
            let names = state.document.as_ref().map(|d| d.axis_names()).unwrap_or_default();
            for (axis, name) in names.iter().enumerate() {
                ui.selectable_value(&mut settings.axis, axis, format!("along {name}"));
            }
        }
        PlotKind::Rate => {
            let sweep = ui.add_enabled(state.document.is_some(), egui::Button::new("Sweep this method"));
            if sweep.on_hover_text("Seven runs with all tolerances scaled from 1/30 to 30 times").clicked() {
                state.commands.send(Command::Sweep(state.runs.settings.clone()));
            }
            if !state.plots.sweeps.is_empty() && ui.button("Clear").clicked() {
                state.commands.send(Command::ClearSweeps);
            }
        }
        PlotKind::Errors | PlotKind::Throughput => {}
    }
}

/// A plot with its legend in a corner where it hides little.
fn plot<'a>(id: &str, corner: Corner) -> Plot<'a> {
    let legend = Legend::default().position(corner).background_alpha(0.6);
    Plot::new(id.to_owned()).legend(legend).allow_scroll(false)
}

fn empty(ui: &mut Ui, text: &str) {
    ui.centered_and_justified(|ui| ui.label(RichText::new(text).color(shell::weak(ui))));
}

fn profile(ui: &mut Ui, state: &State) {
    let Some(document) = &state.document else { return };
    let axis = state.plots.settings.axis;
    let units = document.volume.meta.units.clone().unwrap_or_default();
    let lines: Vec<(String, [u8; 3], &ProfileLine)> =
        state.plots.profile.iter().map(|line| (state.layer_name(line.layer), line_color(state, line), line)).collect();
    plot("profile", Corner::RightTop).x_axis_label(document.axis_names()[axis].clone()).y_axis_label(units).show(
        ui,
        |p| {
            p.vline(
                VLine::new("crosshair", state.crosshair[axis] as f64).color(theme::color(theme::AXIS_COLORS[axis])),
            );
            for (name, color, line) in lines {
                let points: PlotPoints = line.points.iter().copied().collect();
                p.line(Line::new(name, points).color(theme::color(color)));
            }
        },
    );
}

fn line_color(state: &State, line: &ProfileLine) -> [u8; 3] {
    use crate::studio::state::compare::LayerChoice;
    match line.layer {
        LayerChoice::Original if state.dark => [225, 225, 225],
        LayerChoice::Original => [40, 40, 40],
        LayerChoice::Run(id) | LayerChoice::Error(id) | LayerChoice::ErrorOverTau(id) => theme::run_color(id),
        LayerChoice::Difference(id, _) => theme::run_color(id),
    }
}

/// Errors of the run on side B (or the last run), one curve a tier.
fn errors(ui: &mut Ui, state: &State) {
    let Some(run) = state.plotted_run() else { return empty(ui, "Make a run to see its errors") };
    let title = format!("error / tau of {}", run.name);
    plot("errors", Corner::RightTop).x_axis_label(title).y_axis_label("share").show(ui, |p| {
        for (i, tier) in run.metrics.tiers.iter().enumerate() {
            let total = tier.histogram.iter().sum::<u64>() as f64;
            if total == 0.0 {
                continue;
            }
            let bins = tier.histogram.len() as f64;
            let points: PlotPoints = tier
                .histogram
                .iter()
                .enumerate()
                .map(|(b, n)| [(b as f64 + 0.5) / bins * 2.0 - 1.0, *n as f64 / total])
                .collect();
            let color = state.roi.tiers.get(i).map_or([160; 3], |t| t.color);
            p.line(Line::new(tier.name.clone(), points).color(theme::color(color)));
        }
        for bound in [-1.0, 1.0] {
            p.vline(VLine::new("bound", bound).color(theme::color(theme::ALARM).gamma_multiply(0.6)));
        }
    });
}

fn rate(ui: &mut Ui, state: &State) {
    if state.plots.sweeps.is_empty() && state.runs.list.is_empty() {
        return empty(ui, "Sweep a method, or make runs, to see ratio against PSNR");
    }
    plot("rate", Corner::RightBottom).x_axis_label("bits per value").y_axis_label("PSNR dB").show(ui, |p| {
        for (i, sweep) in state.plots.sweeps.iter().enumerate() {
            let points: Vec<[f64; 2]> = sweep.points.iter().map(|s| [s.bits_per_value, s.psnr_db]).collect();
            let color = theme::color(theme::run_color(i as u64 + 1));
            let name = format!("{}, sweep", sweep.name);
            p.line(Line::new(name.clone(), PlotPoints::from(points.clone())).color(color));
            p.points(Points::new(name, PlotPoints::from(points)).radius(3.5).color(color));
        }
        for run in state.runs.list.iter().filter(|r| r.metrics.psnr_db.is_finite()) {
            let point = vec![[run.compress.bits_per_value, run.metrics.psnr_db]];
            let color = theme::color(theme::run_color(run.id));
            p.points(Points::new(run.name.clone(), PlotPoints::from(point)).radius(5.0).color(color));
        }
    });
}

fn throughput(ui: &mut Ui, state: &State) {
    if state.runs.list.is_empty() {
        return empty(ui, "Make a run to see its throughput");
    }
    let runs = state.runs.sorted();
    let names: Vec<String> = runs.iter().map(|r| r.name.clone()).collect();
    let label = move |mark: egui_plot::GridMark, _: &std::ops::RangeInclusive<f64>| {
        let i = mark.value.round();
        let whole = (mark.value - i).abs() < 1e-6 && i >= 0.0;
        if whole { names.get(i as usize).cloned().unwrap_or_default() } else { String::new() }
    };
    plot("throughput", Corner::RightTop)
        // Room for the legend beside the bars.
        .include_x(runs.len() as f64 + 0.1 * runs.len().max(3) as f64)
        .y_axis_label("GB/s")
        .x_axis_formatter(label)
        .x_grid_spacer(egui_plot::uniform_grid_spacer(|_| [1.0; 3]))
        .show(ui, |p| {
            let chart = |name: &str, offset: f64, color, figure: &dyn Fn(usize) -> f64| {
                let bars = (0..runs.len()).map(|i| Bar::new(i as f64 + offset, figure(i)).width(0.25)).collect();
                BarChart::new(name.to_owned(), bars).color(color)
            };
            let [a, b, c] = [1, 2, 3].map(|i| theme::color(theme::run_color(i)));
            p.bar_chart(chart("compress, end to end", -0.27, a, &|i| runs[i].compress.gbps));
            p.bar_chart(chart("compress, kernels", 0.0, b, &|i| runs[i].compress.kernel_gbps));
            p.bar_chart(chart("decompress", 0.27, c, &|i| runs[i].decompress_gbps()));
        });
}
