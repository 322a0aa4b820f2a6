//! The save dialog: a typed path, or the system's dialog.

use super::shell;
use crate::studio::command::{Command, Export};
use crate::studio::state::State;
use crate::studio::state::export::SaveForm;
use eframe::egui::{self, Context, Key, RichText};
use std::path::PathBuf;

pub fn show(ctx: &Context, state: &State) {
    let Some(form) = &state.save else { return };
    let mut form = form.clone();
    let (mut go, mut cancel) = (false, false);
    let modal = shell::modal(ctx, "save dialog").show(ctx, |ui| {
        ui.set_width(520.0);
        ui.heading(title(form.what));
        ui.label(RichText::new(help(form.what)).color(ui.visuals().weak_text_color()));
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let response =
                ui.add(egui::TextEdit::singleline(&mut form.path).desired_width(410.0)).accessible_name("Path");
            if ui.memory(|m| m.focused().is_none()) {
                response.request_focus();
            }
            go = response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            if ui.button("Browse…").clicked() {
                state.commands.send(Command::BrowseSave);
            }
        });
        let path = PathBuf::from(form.path.trim());
        if path.exists() {
            ui.colored_label(ui.visuals().warn_fg_color, "This file exists and will be replaced");
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            go |= ui.add_enabled(!form.path.trim().is_empty(), egui::Button::new("Save")).clicked();
            cancel = ui.button("Cancel").clicked();
        });
    });
    if go {
        state.commands.send(Command::SaveAs(form.what, PathBuf::from(form.path.trim())));
    } else if cancel || modal.should_close() {
        state.commands.send(Command::SaveForm(None));
    } else if Some(&form) != state.save.as_ref() {
        state.commands.send(Command::SaveForm(Some(SaveForm { ..form })));
    }
}

fn title(what: Export) -> &'static str {
    match what {
        Export::Spec => "Save the ROI spec",
        Export::Masks => "Save the regions as labels",
        Export::Map => "Save the tolerance map",
        Export::Project => "Save the project",
        Export::Stream(_) => "Save the compressed stream",
        Export::Reconstruction(_) => "Save the reconstruction",
        Export::ViewPicture => "Save a picture of the view",
        Export::TableCsv | Export::TableJson => "Save the results",
        Export::Report => "Save the report",
    }
}

fn help(what: Export) -> &'static str {
    match what {
        Export::Spec => "Tiers and regions as .toml or .json; the command line takes it with --roi",
        Export::Masks => "One label per voxel, the index of its tier: .npy, .nrrd, .nii, .vti, .nc or raw",
        Export::Map => "The absolute tolerance of each 8×8×8 block: .npy, .nrrd, .nii, .vti, .nc or raw",
        Export::Project => "File, regions, views and settings; opening it restores the session",
        Export::Stream(_) => "A .bmg file with its regions inside",
        Export::Reconstruction(_) => "The decoded volume: .npy, .nrrd, .nii, .vti, .nc or raw",
        Export::ViewPicture => "Layer A of the maximised or axial view as .png",
        Export::TableCsv => "Comma-separated values",
        Export::TableJson => "Everything that is known of each run",
        Export::Report => "One HTML page with the table, pictures and command lines",
    }
}
