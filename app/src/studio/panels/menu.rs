//! The menu bar.

use crate::studio::command::{Command, Export};
use crate::studio::keys;
use crate::studio::state::State;
use crate::studio::state::aspect::Aspect;
use crate::studio::state::display::Display;
use crate::studio::state::document::OpenRequest;
use crate::studio::state::runs::RunRequest;
use crate::studio::theme;
use eframe::egui::{self, Align, Button, Color32, Layout, RichText, Ui, vec2};

const COMPARE_THREE: &str = "Uniform at the strictest tier, then hybrid and pyramid with the regions";

pub fn show(ui: &mut Ui, state: &State) {
    egui::MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, state));
        ui.menu_button("Edit", |ui| edit(ui, state));
        ui.menu_button("View", |ui| view(ui, state));
        ui.menu_button("Export", |ui| export(ui, state));
        ui.menu_button("Help", |ui| help(ui, state));
        variables(ui, state);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| run_buttons(ui, state));
    });
}

/// The main deed of the program, always in sight.
fn run_buttons(ui: &mut Ui, state: &State) {
    let open = state.document.is_some();
    let text = RichText::new("Run").color(Color32::WHITE).strong();
    let run = Button::new(text).fill(theme::primary(state.dark)).min_size(vec2(64.0, 22.0));
    let title = state.runs.settings.title();
    let response = ui.add_enabled(open, run).on_hover_text(format!("Compress, decompress and measure: {title} (F5)"));
    if response.clicked() {
        state.commands.send(Command::RunCurrent);
    }
    if ui.add_enabled(open, Button::new("Compare three")).on_hover_text(COMPARE_THREE).clicked() {
        RunRequest::three().into_iter().for_each(|request| state.commands.send(Command::Run(request)));
    }
    if !state.runs.queue.is_empty() {
        let waiting = Button::new(format!("{} waiting ×", state.runs.queue.len())).frame(false);
        if ui.add(waiting).on_hover_text("Drop the runs that wait; the one under way goes on").clicked() {
            state.commands.send(Command::ClearQueue);
        }
    }
}

/// A menu entry with its key; sends the command and closes the menu.
fn item(ui: &mut Ui, state: &State, enabled: bool, text: &str, key: &str, command: impl FnOnce() -> Command) {
    if ui.add_enabled(enabled, Button::new(text).shortcut_text(key)).clicked() {
        state.commands.send(command());
        ui.close();
    }
}

fn file(ui: &mut Ui, state: &State) {
    item(ui, state, true, "Open…", "Ctrl+O", || Command::ShowOpenDialog(true));
    ui.menu_button("Open recent", |ui| {
        if state.settings.recent.is_empty() {
            ui.label("Nothing opened yet");
        }
        for path in &state.settings.recent {
            item(ui, state, true, path, "", || Command::Open(OpenRequest { path: path.clone(), ..Default::default() }));
        }
    });
    item(ui, state, true, "Open the sample", "", || Command::OpenSample);
    ui.separator();
    item(ui, state, state.document.is_some(), "Save project…", "Ctrl+S", || Command::Export(Export::Project));
    item(ui, state, true, "Restore the last session", "", || Command::RestoreLastSession);
    ui.separator();
    item(ui, state, true, "Quit", "Ctrl+Q", || Command::Quit);
}

fn edit(ui: &mut Ui, state: &State) {
    let name = |verb: &str, step: Option<&str>| step.map_or(verb.to_owned(), |s| format!("{verb} {s}"));
    let (undo, redo) = (state.history.undo_name(), state.history.redo_name());
    item(ui, state, undo.is_some(), &name("Undo", undo), "Ctrl+Z", || Command::Undo);
    item(ui, state, redo.is_some(), &name("Redo", redo), "Ctrl+Shift+Z", || Command::Redo);
}

fn view(ui: &mut Ui, state: &State) {
    item(ui, state, true, "Fit slices", "R", || Command::ResetPanes);
    item(ui, state, true, "Auto window", "C", || Command::AutoWindow);
    for (axis, name) in crate::studio::views::geometry::VIEW_NAMES.iter().enumerate() {
        let full = state.maximized == Some(axis);
        let text = if full { format!("Restore {name}") } else { format!("Maximise {name}") };
        item(ui, state, true, &text, "", || Command::Maximize((!full).then_some(axis)));
    }
    ui.menu_button("Aspect", |ui| {
        for (aspect, name, what) in Aspect::ALL {
            if ui.radio(state.display.aspect == aspect, name).on_hover_text(what).clicked() {
                state.commands.send(Command::Display(Box::new(Display { aspect, ..state.display.clone() })));
                // Another shape of the slices needs another zoom.
                state.commands.send(Command::ResetPanes);
                ui.close();
            }
        }
    });
    item(ui, state, state.layout.is_some(), "Reset the layout", "", || Command::ResetLayout);
    let results = if state.windows.results { "Hide results" } else { "Show results" };
    item(ui, state, true, results, "", || Command::ShowResults(!state.windows.results));
    ui.separator();
    let theme = if state.dark { "Light theme" } else { "Dark theme" };
    item(ui, state, true, theme, "", || Command::DarkMode(!state.dark));
}

fn export(ui: &mut Ui, state: &State) {
    let open = state.document.is_some();
    // The run that the other panels talk about: of layer B, else of layer A, else the last.
    let run = state.plotted_run();
    let id = run.map_or(0, |r| r.id);
    let named = |what: &str| run.map_or_else(|| format!("{what}…"), |r| format!("{what} of {}…", r.name));
    item(ui, state, run.is_some(), &named("Stream (.bmg)"), "", || Command::Export(Export::Stream(id)));
    item(ui, state, run.is_some(), &named("Reconstruction"), "", || Command::Export(Export::Reconstruction(id)));
    ui.separator();
    for (text, what) in [
        ("ROI spec…", Export::Spec),
        ("Regions as labels…", Export::Masks),
        ("Tolerance map…", Export::Map),
        ("Picture of a view…", Export::Picture(state.picture_form())),
    ] {
        item(ui, state, open, text, "", || Command::Export(what));
    }
    ui.separator();
    let runs = !state.runs.list.is_empty();
    for (text, what) in [
        ("Results as CSV…", Export::TableCsv),
        ("Results as JSON…", Export::TableJson),
        ("Report (HTML)…", Export::Report),
    ] {
        item(ui, state, runs, text, "", || Command::Export(what));
    }
}

fn help(ui: &mut Ui, state: &State) {
    item(ui, state, true, "Shortcuts", "F1", || Command::ShowHelp(true));
    item(ui, state, true, "First steps", "", || Command::ShowHints(true));
    ui.separator();
    ui.label(format!("BlockMGARD studio {}", env!("CARGO_PKG_VERSION")));
    ui.label(keys::adapter_line(ui.ctx()));
}

/// Variable and step of the open file, where there is a choice.
fn variables(ui: &mut Ui, state: &State) {
    let Some(document) = &state.document else { return };
    ui.separator();
    ui.label(egui::RichText::new(document.path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default()).strong())
        .on_hover_text(document.path.display().to_string());
    if let Some(stream) = &document.stream {
        ui.label(RichText::new(&stream.summary).weak());
        if stream.preview && document.stats.is_none() {
            ui.label(RichText::new("coarse preview").color(ui.visuals().warn_fg_color))
                .on_hover_text("The coarse levels are shown until everything is decoded");
        }
    }
    let variables = document.dataset.variables();
    let now = &variables[document.variable];
    if variables.len() > 1 {
        let combo = egui::ComboBox::from_id_salt("variable").selected_text(now.name.as_str()).show_ui(ui, |ui| {
            for (i, v) in variables.iter().enumerate() {
                let shape = v.extents.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
                if ui.selectable_label(i == document.variable, format!("{}   {shape}", v.name)).clicked() {
                    state.commands.send(Command::OpenVariable { variable: i, step: 0 });
                }
            }
        });
        combo.response.accessible_name("Variable");
    }
    if now.steps() > 1 {
        let mut step = document.step;
        let drag = egui::DragValue::new(&mut step)
            .range(0..=now.steps() - 1)
            .prefix("step ")
            .suffix(format!(" / {}", now.steps() - 1));
        if ui.add(drag).accessible_name("Step").changed() {
            state.commands.send(Command::OpenVariable { variable: document.variable, step });
        }
    }
}
