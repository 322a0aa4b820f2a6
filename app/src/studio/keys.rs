//! Keyboard shortcuts, and the sheet that lists them.

use super::command::{Command, Export};
use super::state::State;
use super::state::display::{Display, Overlay};
use super::state::tools::{Tool, Tools};
use super::views::gestures::resized;
use eframe::egui::{Context, Id, Key, KeyboardShortcut, Modifiers, Popup};

type Rows = &'static [(&'static str, &'static str)];

/// All shortcuts by topic.
pub const SHEET: &[(&str, Rows)] = &[
    (
        "Tools",
        &[
            ("P", "brush"),
            ("E", "eraser (right-drag erases too)"),
            ("F", "flood fill"),
            ("L", "pick the tier under the pointer"),
            ("B  O  G", "box, ellipsoid, polygon"),
            ("T", "threshold"),
            ("W", "window/level"),
            ("Z  Esc", "navigate"),
            ("Space", "back to the tool before"),
            ("1 … 9", "tier to paint"),
        ],
    ),
    (
        "Slices",
        &[
            ("Wheel", "next or previous slice"),
            ("PgUp PgDn  , .", "the same, in the view under the pointer"),
            ("Shift+wheel", "ten slices, or the brush size"),
            ("Ctrl+wheel", "zoom about the pointer"),
            ("Middle-drag", "pan"),
            ("Shift+move", "move the crosshair along"),
            ("R", "fit all views"),
            ("Double-click", "one view alone (navigate)"),
        ],
    ),
    (
        "Brush",
        &[
            ("[  ]  -  +", "smaller, larger"),
            ("X", "brush to eraser and back"),
            ("Enter", "close polygon, apply threshold or operation"),
            ("Esc", "take a shown operation back"),
        ],
    ),
    (
        "Picture",
        &[
            ("C", "auto window"),
            ("S", "overlay on or off"),
            ("A  D", "overlay fainter, stronger"),
            ("K", "block grid"),
            ("I", "inset about the crosshair"),
            ("V", "next map level"),
        ],
    ),
    (
        "Work",
        &[
            ("Ctrl+O", "open"),
            ("Ctrl+S", "save project"),
            ("Ctrl+Z", "undo"),
            ("Ctrl+Shift+Z  Ctrl+Y", "redo"),
            ("F5", "run"),
            ("F1", "this sheet"),
        ],
    ),
];

/// Reads the keys of one frame, unless a text field has them.
pub fn handle(ctx: &Context, state: &State) {
    let send = |c| state.commands.send(c);
    for (modifiers, key, command) in chords() {
        if ctx.input_mut(|i| i.consume_shortcut(&KeyboardShortcut::new(modifiers, key))) {
            send(command);
        }
    }
    if ctx.input(|i| i.key_pressed(Key::F1)) {
        send(Command::ShowHelp(!state.windows.help));
    }
    if ctx.input(|i| i.key_pressed(Key::F5)) {
        send(Command::RunCurrent);
    }
    // A dialog or an open menu keeps the keys from the tools behind it.
    if Popup::is_any_open(ctx)
        || state.save.is_some()
        || state.import.is_some()
        || state.windows.open_dialog
        || state.windows.help
    {
        return;
    }
    if ctx.text_edit_focused() || ctx.input(|i| i.modifiers.any() && !i.modifiers.shift_only()) {
        return;
    }
    let pressed = |key| ctx.input(|i| i.key_pressed(key));
    if state.pending_morph.is_some() && (pressed(Key::Enter) || pressed(Key::Escape)) {
        let apply = pressed(Key::Enter);
        return send(if apply { Command::ApplyMorphology } else { Command::CancelMorphology });
    }
    tools(state, &pressed);
    slices(ctx, state, &pressed);
    display(state, &pressed);
}

/// Chords with Shift come first: matching ignores extra modifiers.
fn chords() -> [(Modifiers, Key, Command); 6] {
    let command = Modifiers::COMMAND;
    [
        (command | Modifiers::SHIFT, Key::Z, Command::Redo),
        (command, Key::Z, Command::Undo),
        (command, Key::Y, Command::Redo),
        (command, Key::O, Command::ShowOpenDialog(true)),
        (command, Key::S, Command::Export(Export::Project)),
        (command, Key::Q, Command::Quit),
    ]
}

fn tools(state: &State, pressed: &dyn Fn(Key) -> bool) {
    let send = |c| state.commands.send(c);
    for (key, tool) in [
        (Key::P, Tool::Brush),
        (Key::E, Tool::Erase),
        (Key::F, Tool::Flood),
        (Key::L, Tool::Pick),
        (Key::B, Tool::Box),
        (Key::O, Tool::Ellipsoid),
        (Key::G, Tool::Polygon),
        (Key::T, Tool::Threshold),
        (Key::W, Tool::Window),
        (Key::Z, Tool::Navigate),
    ] {
        if pressed(key) {
            send(Command::Tool(tool));
        }
    }
    // A polygon under construction takes Esc for itself.
    if pressed(Key::Escape) && state.tools.tool != Tool::Polygon {
        send(Command::Tool(Tool::Navigate));
    }
    if pressed(Key::Space) {
        send(Command::PreviousTool);
    }
    if pressed(Key::X) {
        send(Command::Tool(if state.tools.tool == Tool::Brush { Tool::Erase } else { Tool::Brush }));
    }
    if pressed(Key::Enter) && state.tools.tool == Tool::Threshold {
        send(Command::ApplyThreshold);
    }
    let digits = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];
    for (i, key) in digits.into_iter().enumerate() {
        if pressed(key) && i + 1 < state.roi.tiers.len() {
            send(Command::Tier(i + 1));
        }
    }
    for (keys, steps) in [([Key::OpenBracket, Key::Minus], -1.0), ([Key::CloseBracket, Key::Plus], 1.0)] {
        if keys.into_iter().any(pressed) {
            let brush_size = resized(state.tools.brush_size, steps);
            send(Command::Tools(Box::new(Tools { brush_size, ..state.tools.clone() })));
        }
    }
}

fn slices(ctx: &Context, state: &State, pressed: &dyn Fn(Key) -> bool) {
    let axis = state.hover_axis.unwrap_or_else(|| state.focus_axis());
    for (keys, by) in [([Key::PageUp, Key::Period], 1), ([Key::PageDown, Key::Comma], -1)] {
        // On a busy machine one frame may hold several.
        let presses: usize = ctx.input(|i| keys.into_iter().map(|key| i.num_presses(key)).sum());
        if presses > 0 {
            state.commands.send(Command::Step { axis, by: by * presses as isize });
        }
    }
    if pressed(Key::R) {
        state.commands.send(Command::ResetPanes);
    }
}

fn display(state: &State, pressed: &dyn Fn(Key) -> bool) {
    let mut d: Display = state.display.clone();
    if pressed(Key::S) {
        d.overlay = if d.overlay == Overlay::Off { Overlay::Both } else { Overlay::Off };
    }
    if pressed(Key::A) {
        d.opacity = (d.opacity - 0.1).max(0.0);
    }
    if pressed(Key::D) {
        d.opacity = (d.opacity + 0.1).min(1.0);
    }
    if pressed(Key::K) {
        d.grid = !d.grid;
    }
    if pressed(Key::I) {
        d.inset = !d.inset;
    }
    if pressed(Key::V) {
        d.level = (d.level + 1) % 4;
    }
    if d != state.display {
        state.commands.send(Command::Display(Box::new(d)));
    }
    if pressed(Key::C) {
        state.commands.send(Command::AutoWindow);
    }
}

/// Which adapter draws the window, as the app stored it.
pub fn adapter_line(ctx: &Context) -> String {
    ctx.data(|d| d.get_temp::<String>(adapter_id())).unwrap_or_default()
}

/// Where the app stores the adapter's name.
pub fn adapter_id() -> Id {
    Id::unique("adapter name")
}
