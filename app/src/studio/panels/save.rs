//! The save dialog: a typed path, or the system's dialog.

use super::shell;
use crate::studio::command::{Command, Export, PictureForm, PictureView};
use crate::studio::state::State;
use crate::studio::state::export::SaveForm;
use crate::studio::views::geometry::VIEW_NAMES;
use eframe::egui::{self, Context, RichText, Ui};
use std::path::{Path, PathBuf};

pub fn show(ctx: &Context, state: &State) {
    let Some(form) = &state.save else { return };
    let mut form = form.clone();
    let (mut go, mut cancel) = (false, false);
    let modal = shell::modal(ctx, "save dialog").show(ctx, |ui| {
        ui.set_width(520.0);
        ui.heading(title(form.what));
        ui.label(RichText::new(help(form.what)).color(ui.visuals().weak_text_color()));
        ui.add_space(6.0);
        if let Export::Picture(options) = &mut form.what {
            picture(ui, state, options);
        }
        let (entered, browse) = shell::path_field(ui, &mut form.path, "Path");
        go = entered && !form.path.trim().is_empty();
        if browse {
            state.commands.send(Command::BrowseSave);
        }
        let path = PathBuf::from(form.path.trim());
        if let Some(error) = &form.error {
            ui.colored_label(ui.visuals().error_fg_color, error);
        } else if path.exists() {
            ui.colored_label(ui.visuals().warn_fg_color, "This file exists and will be replaced");
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            go |= ui.add_enabled(!form.path.trim().is_empty(), egui::Button::new("Save")).clicked();
            cancel = ui.button("Cancel").clicked();
        });
    });
    // The suggested name follows the chosen view.
    let before = state.save.as_ref().filter(|f| f.what != form.what);
    if before.is_some_and(|f| Path::new(&f.path) == state.usual_path(f.what)) {
        form.path = state.usual_path(form.what).display().to_string();
    }
    if go {
        state.commands.send(Command::SaveAs(form.what, PathBuf::from(form.path.trim())));
    } else if cancel || modal.should_close() {
        state.commands.send(Command::SaveForm(None));
    } else if Some(&form) != state.save.as_ref() {
        state.commands.send(Command::SaveForm(Some(SaveForm { error: None, ..form })));
    }
}

/// Which view, what on it, how large.
fn picture(ui: &mut Ui, state: &State, options: &mut PictureForm) {
    shell::field(ui, "View", |ui| {
        for (axis, name) in VIEW_NAMES.into_iter().enumerate() {
            ui.selectable_value(&mut options.view, PictureView::Slice(axis), name);
        }
        ui.selectable_value(&mut options.view, PictureView::Volume, "3-D");
    });
    let volume = options.view == PictureView::Volume;
    if !volume {
        super::compare::layer(ui, state, "Shows", &mut options.layer);
    }
    shell::field(ui, "Scale", |ui| {
        ui.add(egui::Slider::new(&mut options.scale, 1..=16));
        let text = if volume { "times 400×300 pixels" } else { "pixels per voxel" };
        ui.label(RichText::new(text).color(shell::weak(ui)));
    });
    shell::field(ui, "", |ui| ui.checkbox(&mut options.overlay, "With the regions"));
    ui.add_space(4.0);
}

fn title(what: Export) -> &'static str {
    match what {
        Export::Spec => "Save the ROI spec",
        Export::Masks => "Save the regions as labels",
        Export::Map => "Save the tolerance map",
        Export::Project => "Save the project",
        Export::Stream(_) => "Save the compressed stream",
        Export::Reconstruction(_) => "Save the reconstruction",
        Export::Picture(_) => "Save a picture of a view",
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
        Export::Picture(_) => "A slice through the crosshair, or the 3-D view as it stands, as .png",
        Export::TableCsv => "Comma-separated values",
        Export::TableJson => "Everything that is known of each run",
        Export::Report => "One HTML page with the table, pictures and command lines",
    }
}
