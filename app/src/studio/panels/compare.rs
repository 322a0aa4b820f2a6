//! Which layers the views show, and how two of them are compared.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::State;
use crate::studio::state::compare::{Compare, CompareMode, LayerChoice};
use eframe::egui::{self, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State) {
    let mut compare = state.compare;
    if state.runs.list.is_empty() {
        ui.label(RichText::new("Make a run to compare it with the original.").color(shell::weak(ui)));
        return;
    }
    shell::field(ui, "Mode", |ui| {
        for (mode, name, what) in [
            (CompareMode::Single, "A", "Layer A alone"),
            (CompareMode::SideBySide, "A | B", "Side by side, linked"),
            (CompareMode::Swipe, "Swipe", "Drag the line across"),
            (CompareMode::Blink, "Blink", "A and B by turns"),
        ] {
            ui.selectable_value(&mut compare.mode, mode, name).on_hover_text(what);
        }
    });
    layer(ui, state, "Layer A", &mut compare.a);
    if compare.mode != CompareMode::Single {
        layer(ui, state, "Layer B", &mut compare.b);
        if ui.button("Swap").clicked() {
            std::mem::swap(&mut compare.a, &mut compare.b);
        }
    }
    if compare != state.compare {
        state.commands.send(Command::Compare(Compare { ..compare }));
    }
}

/// A choice among the original, the runs and their errors.
pub fn layer(ui: &mut Ui, state: &State, label: &str, choice: &mut LayerChoice) {
    shell::field(ui, label, |ui| {
        egui::ComboBox::from_id_salt(label).selected_text(state.layer_name(*choice)).width(190.0).truncate().show_ui(
            ui,
            |ui| {
                for option in options(state) {
                    ui.selectable_value(choice, option, state.layer_name(option));
                }
            },
        );
    });
}

fn options(state: &State) -> Vec<LayerChoice> {
    let mut all = vec![LayerChoice::Original];
    let ids: Vec<_> = state.runs.sorted().iter().map(|r| r.id).collect();
    all.extend(ids.iter().map(|&id| LayerChoice::Run(id)));
    all.extend(ids.iter().map(|&id| LayerChoice::ErrorOverTau(id)));
    all.extend(ids.iter().map(|&id| LayerChoice::Error(id)));
    for (i, &first) in ids.iter().enumerate() {
        all.extend(ids[i + 1..].iter().map(|&second| LayerChoice::Difference(first, second)));
    }
    all
}
