//! The open dialog: a typed path, the system's dialog, recent files, and what a raw file cannot say itself.

use super::shell;
use crate::studio::command::Command;
use crate::studio::state::document::{OpenRequest, raw_suggestions};
use crate::studio::state::{OpenError, State};
use blockmgard::volume::{OpenHints, StoredType};
use eframe::egui::{self, Context, Id, RichText, Ui};
use std::path::Path;

/// What is typed so far.
#[derive(Clone)]
struct Form {
    path: String,
    dims: String,
    stored: StoredType,
    big_endian: bool,
    offset: u64,
    raw: bool,
    /// The failure that the form has taken up.
    seen: Option<OpenError>,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            path: String::new(),
            dims: String::new(),
            stored: StoredType::F32,
            big_endian: false,
            offset: 0,
            raw: false,
            seen: None,
        }
    }
}

pub fn show(ctx: &Context, state: &State) {
    let id = Id::unique("open form");
    if !state.windows.open_dialog {
        // What was typed for one file is no start for the next.
        return ctx.data_mut(|d| d.remove::<Form>(id));
    }
    let mut form = ctx.data_mut(|d| d.get_temp::<Form>(id)).unwrap_or_default();
    if form.seen != state.open_error {
        if let Some(OpenError { path, raw, .. }) = &state.open_error {
            if form.path.is_empty() {
                form.path = path.clone();
            }
            form.raw |= *raw && form.path.trim() == path;
        }
        form.seen = state.open_error.clone();
    }
    let modal = shell::modal(ctx, "open dialog").show(ctx, |ui| {
        ui.set_width(520.0);
        ui.heading("Open a volume");
        let text = "A data file, a .bmg stream, a project, or an ROI spec for the open volume";
        ui.label(RichText::new(text).color(shell::weak(ui)));
        ui.add_space(6.0);
        content(ui, state, &mut form);
    });
    let close = modal.should_close();
    ctx.data_mut(|d| d.insert_temp(id, form));
    if close {
        state.commands.send(Command::ShowOpenDialog(false));
    }
}

fn content(ui: &mut Ui, state: &State, form: &mut Form) {
    let (mut go, browse) = shell::path_field(ui, &mut form.path, "Path, or path:variable");
    if browse {
        state.commands.send(Command::AskOpen);
    }
    // Another path is another matter.
    if let Some(error) = state.open_error.as_ref().filter(|e| e.path == form.path.trim()) {
        ui.add_space(4.0);
        ui.colored_label(ui.visuals().error_fg_color, &error.text);
    }
    ui.add_space(4.0);
    ui.checkbox(&mut form.raw, "Raw values: state shape and type");
    if form.raw {
        raw(ui, form);
    } else {
        recent(ui, state);
    }
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        let ready = !form.path.trim().is_empty();
        go |= ui.add_enabled(ready, egui::Button::new("Open")).clicked();
        if ui.button("Cancel").clicked() {
            state.commands.send(Command::ShowOpenDialog(false));
        }
        if ui.button("Open the sample").clicked() {
            state.commands.send(Command::OpenSample);
        }
    });
    if go && !form.path.trim().is_empty() {
        state.commands.send(Command::Open(request(form)));
    }
}

fn request(form: &Form) -> OpenRequest {
    let mut hints = OpenHints::default();
    if form.raw {
        let dims: Vec<usize> = form.dims.split(|c: char| !c.is_ascii_digit()).filter_map(|d| d.parse().ok()).collect();
        hints.dims = (!dims.is_empty()).then_some(dims);
        hints.dtype = Some(form.stored);
        hints.big_endian = Some(form.big_endian);
        hints.offset = form.offset;
    }
    OpenRequest { path: form.path.trim().to_owned(), hints, ..Default::default() }
}

fn raw(ui: &mut Ui, form: &mut Form) {
    shell::field(ui, "Type", |ui| {
        egui::ComboBox::from_id_salt("stored").selected_text(form.stored.to_string()).show_ui(ui, |ui| {
            use StoredType::*;
            for t in [F32, F64, U8, I8, U16, I16, U32, I32, U64, I64] {
                ui.selectable_value(&mut form.stored, t, t.to_string());
            }
        });
        ui.checkbox(&mut form.big_endian, "Big-endian");
    });
    shell::field(ui, "Skip", |ui| {
        ui.add(egui::DragValue::new(&mut form.offset).suffix(" bytes")).on_hover_text("Length of a header to skip");
    });
    shell::field(ui, "Shape", |ui| {
        ui.add(
            egui::TextEdit::singleline(&mut form.dims)
                .hint_text("slowest axis first: 100x500x500")
                .desired_width(220.0),
        );
    });
    let path = Path::new(form.path.trim());
    if !path.is_file() {
        return;
    }
    let shapes = raw_suggestions(path, form.stored, form.offset);
    let size = std::fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    if shapes.is_empty() {
        let text =
            format!("{} is no whole number of {} values: check type and header", shell::bytes(size), form.stored);
        ui.colored_label(ui.visuals().warn_fg_color, text);
        return;
    }
    ui.label(RichText::new("Shapes that fit the file").small().color(shell::weak(ui)));
    ui.horizontal_wrapped(|ui| {
        for shape in shapes {
            let text = shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            if ui.selectable_label(form.dims == text, text.as_str()).clicked() {
                form.dims = text;
            }
        }
    });
}

fn recent(ui: &mut Ui, state: &State) {
    if state.settings.recent.is_empty() {
        return;
    }
    ui.add_space(4.0);
    ui.label(RichText::new("Recent").small().color(shell::weak(ui)));
    for path in state.settings.recent.iter().take(8) {
        if ui.add(egui::Button::new(path.as_str()).frame(false).truncate()).clicked() {
            state.commands.send(Command::Open(OpenRequest { path: path.clone(), ..Default::default() }));
        }
    }
}
