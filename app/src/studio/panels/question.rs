//! Questions that the program must not answer by itself.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use eframe::egui::{self, Context, vec2};

pub fn show(ctx: &Context, state: &State) {
    if let Some(value) = state.suspect {
        missing(ctx, state, value);
    } else if let Some(offer) = &state.offer {
        last_session(ctx, state, &offer.text);
    }
}

/// Offers the work that the last session left.
fn last_session(ctx: &Context, state: &State, what: &str) {
    let window = egui::Window::new("Take up the last session?")
        .collapsible(false)
        .resizable(false)
        .anchor(egui::Align2::CENTER_TOP, vec2(-130.0, 44.0));
    window.show(ctx, |ui| {
        ui.set_max_width(420.0);
        ui.add_space(2.0);
        ui.label(what);
        ui.label(
            egui::RichText::new(
                "It was kept automatically when the last session ended without being saved as a project.",
            )
            .color(shell::weak(ui)),
        );
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            if ui.button("Restore").clicked() {
                state.commands.send(Command::AnswerOffer(true));
            }
            let later = ui.button("Not now");
            if later.on_hover_text("File, Restore the last session, brings it back later").clicked() {
                state.commands.send(Command::AnswerOffer(false));
            }
        });
    });
}

/// Asks whether a value that stands far from all others means "missing".
fn missing(ctx: &Context, state: &State, value: f64) {
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
