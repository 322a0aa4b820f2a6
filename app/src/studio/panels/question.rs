//! Questions that the program must not answer by itself.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use eframe::egui::{self, Context, vec2};

/// Asks whether a value that stands far from all others means "missing".
pub fn show(ctx: &Context, state: &State) {
    let Some(value) = state.suspect else { return };
    let window = egui::Window::new("Missing values?")
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::CENTER_TOP, vec2(-130.0, 44.0));
    window.show(ctx, |ui| {
        ui.set_max_width(420.0);
        let value = shell::number(value);
        ui.label(format!(
            "The value {value} comes up often and stands far from all others. Does it mean \u{201c}missing\u{201d}?"
        ));
        ui.label(
            egui::RichText::new(
                "Missing values come back exactly and count neither for ranges nor for tolerances. As data, they \
                 stretch every relative tolerance.",
            )
            .color(shell::weak(ui)),
        );
        ui.horizontal(|ui| {
            if ui.button(format!("Treat {value} as missing")).clicked() {
                state.commands.send(Command::Missing(true));
            }
            if ui.button("It is data").clicked() {
                state.commands.send(Command::Missing(false));
            }
        });
    });
}
