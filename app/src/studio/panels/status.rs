//! The line at the bottom: the probe at the left, running jobs at the right.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::probe::Reading;
use eframe::egui::{self, Layout, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State) {
    ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
        jobs(ui, state);
        ui.with_layout(Layout::left_to_right(egui::Align::Center), |ui| {
            // In a narrow window the probe is cut; it does not run over the jobs.
            ui.shrink_clip_rect(ui.max_rect());
            probe(ui, state);
        });
    });
}

fn probe(ui: &mut Ui, state: &State) {
    let (Some(probe), Some(document)) = (state.probe(), state.document.as_ref()) else {
        ui.label(RichText::new("No volume").color(shell::weak(ui)));
        return;
    };
    let names = document.axis_names();
    let inked = |ui: &mut Ui, text: String, width: f32, ink: egui::Color32| {
        let galley = ui.painter().layout_no_wrap(text, egui::FontId::monospace(12.0), ink);
        // Fields keep their place unless a long one needs more.
        let size = egui::vec2(width.max(galley.size().x + 12.0), ui.spacing().interact_size.y);
        if galley.size().x > ui.available_width() {
            // A number that is cut reads as another one.
            return;
        }
        let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
        let at = rect.left_center() - egui::vec2(0.0, galley.size().y / 2.0);
        ui.painter_at(rect).galley(at, galley, ink);
    };
    let mono = |ui: &mut Ui, text: String, width: f32| {
        let ink = ui.visuals().text_color();
        inked(ui, text, width, ink);
    };
    let place = (0..3).map(|a| format!("{} {}", names[a], probe.voxel[a])).collect::<Vec<_>>().join("  ");
    mono(ui, place, 160.0);
    let units = document.volume.meta.units.as_deref().unwrap_or("");
    let value = match probe.value {
        Reading::Value(v) => format!("{} {units}", shell::number(v)),
        Reading::Waiting => "…".to_owned(),
        Reading::Failed => "not readable".to_owned(),
    };
    mono(ui, value, 130.0);
    if let Some((tier, name)) = &probe.tier {
        if let Some(t) = state.roi.tiers.get(*tier) {
            shell::swatch(ui, t.color, 10.0);
        }
        mono(ui, short(name), 120.0);
    }
    if let Some(tau) = probe.tau {
        mono(ui, format!("tau {}", shell::number(tau)), 110.0);
    }
    mono(ui, format!("block {}", probe.block.map(|b| b.to_string()).join(" ")), 120.0);
    if let Some(run) = &probe.run {
        let text = format!("{}: {}  error {}", run.name, shell::number(run.value), shell::number(run.error));
        let beyond = run.error.abs() > run.tau;
        let color = if beyond { ui.visuals().error_fg_color } else { ui.visuals().text_color() };
        inked(ui, text, 0.0, color);
    }
}

/// Long names are cut, so that the line stays in place.
fn short(name: &str) -> String {
    match name.char_indices().nth(15) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

fn jobs(ui: &mut Ui, state: &State) {
    for job in state.jobs.running.iter().rev().take(2) {
        let (done, total) = job.control.progress();
        let cancel = ui.small_button("Cancel").on_hover_text(format!("Stop: {}", job.name));
        if cancel.clicked() {
            state.commands.send(Command::Cancel(job.id));
        }
        if total > 0 {
            let part = (done as f32 / total as f32).min(1.0);
            ui.add(egui::ProgressBar::new(part).desired_width(110.0).desired_height(10.0));
        } else {
            ui.add(egui::Spinner::new().size(14.0));
        }
        ui.label(RichText::new(&job.name).small());
    }
    let rest = state.jobs.running.len().saturating_sub(2);
    if rest > 0 {
        ui.label(RichText::new(format!("+{rest} more")).small().color(shell::weak(ui)));
    }
    if state.jobs.running.is_empty() {
        if let Some(d) = &state.document {
            let shape = d.volume.shape;
            let bytes = shape.len() as u64 * d.volume.values.dtype().bytes() as u64;
            let kind = format!("{:?}", d.volume.values.dtype()).to_lowercase();
            let names = d.axis_names()[3 - shape.rank as usize..].join("×");
            let text = format!("{shape} ({names})  {kind}  {}", shell::bytes(bytes));
            ui.label(RichText::new(text).small().color(shell::weak(ui)));
        }
    } else {
        // Progress moves about 10 times a second; nothing repaints when no job runs.
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
    }
}
