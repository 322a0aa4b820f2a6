//! The import dialog for mask files.

use super::shell;
use crate::studio::command::{Command, ImportForm};
use crate::studio::state::State;
use eframe::egui::{self, Context, RichText};

pub fn show(ctx: &Context, state: &State) {
    let Some(form) = &state.import else { return };
    let mut form = form.clone();
    let (mut go, mut cancel) = (false, false);
    let modal = shell::modal(ctx, "import dialog").show(ctx, |ui| {
        ui.set_width(520.0);
        ui.heading("Import a mask");
        let tier = state.roi.tiers.get(state.tools.tier).map_or("", |t| t.name.as_str());
        let text = format!("A file of the volume's shape, in any format that opens; the region gets the tier {tier}");
        ui.label(RichText::new(text).color(shell::weak(ui)));
        ui.add_space(6.0);
        let (entered, browse) = shell::path_field(ui, &mut form.path, "Path");
        if browse {
            state.commands.send(Command::BrowseImport);
        }
        shell::field(ui, "Inside is", |ui| {
            let mut one = form.label.is_some();
            ui.selectable_value(&mut one, false, "All that is not 0");
            ui.selectable_value(&mut one, true, "One label");
            form.label = one.then(|| form.label.unwrap_or(1));
            if let Some(label) = &mut form.label {
                ui.add(egui::DragValue::new(label)).accessible_name("Label");
            }
        });
        ui.add_space(6.0);
        let ready = !form.path.trim().is_empty();
        go = entered && ready;
        ui.horizontal(|ui| {
            go |= ui.add_enabled(ready, egui::Button::new("Import")).clicked();
            cancel = ui.button("Cancel").clicked();
        });
    });
    if go {
        state.commands.send(Command::ImportMask(ImportForm { path: form.path.trim().to_owned(), ..form }));
    } else if cancel || modal.should_close() {
        state.commands.send(Command::ImportForm(None));
    } else if Some(&form) != state.import.as_ref() {
        state.commands.send(Command::ImportForm(Some(form)));
    }
}
