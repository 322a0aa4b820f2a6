//! The shortcut sheet and the first steps.

use super::shell;
use crate::studio::command::Command;
use crate::studio::keys::SHEET;
use crate::studio::state::State;
use eframe::egui::{self, Context, RichText, vec2};

pub fn show(ctx: &Context, state: &State) {
    if state.windows.help {
        sheet(ctx, state);
    }
    // They would lie over the results, and who has those knows the steps.
    if state.windows.hints && state.document.is_some() && !state.windows.open_dialog && !state.windows.results {
        hints(ctx, state);
    }
}

fn sheet(ctx: &Context, state: &State) {
    let modal = shell::modal(ctx, "shortcuts").show(ctx, |ui| {
        ui.heading("Shortcuts");
        ui.add_space(6.0);
        ui.columns(2, |columns| {
            for (i, (title, keys)) in SHEET.iter().enumerate() {
                let ui = &mut columns[i % 2];
                ui.label(RichText::new(*title).strong());
                egui::Grid::new(title).num_columns(2).spacing(vec2(14.0, 3.0)).show(ui, |ui| {
                    for (key, what) in *keys {
                        ui.label(RichText::new(*key).monospace().color(shell::weak(ui)));
                        ui.label(*what);
                        ui.end_row();
                    }
                });
                ui.add_space(8.0);
            }
        });
        if ui.button("Close").clicked() {
            ui.close();
        }
    });
    if modal.should_close() {
        state.commands.send(Command::ShowHelp(false));
    }
}

const STEPS: [(&str, &str); 4] = [
    ("Paint", "Drag on a slice to mark what matters. Digits pick the tier, [ and ] the brush size."),
    ("Or select", "Press T to select by value, percentile or gradient."),
    ("See it spread", "The level slider shows what Eq. (2) adds at coarser levels."),
    ("Run", "Compress with several methods, then compare by swipe, blink or error map."),
];

fn hints(ctx: &Context, state: &State) {
    let window = egui::Window::new("First steps")
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::LEFT_BOTTOM, vec2(64.0, -44.0));
    window.show(ctx, |ui| {
        ui.set_max_width(330.0);
        for (i, (title, text)) in STEPS.iter().enumerate() {
            ui.horizontal_top(|ui| {
                ui.label(RichText::new((i + 1).to_string()).strong().color(crate::studio::theme::accent(state.dark)));
                ui.vertical(|ui| {
                    ui.label(RichText::new(*title).strong());
                    ui.label(RichText::new(*text).color(shell::weak(ui)));
                });
            });
            ui.add_space(2.0);
        }
        ui.horizontal(|ui| {
            if ui.button("Got it").clicked() {
                state.commands.send(Command::ShowHints(false));
            }
            if ui.button("All shortcuts (F1)").clicked() {
                state.commands.send(Command::ShowHelp(true));
            }
        });
    });
}
