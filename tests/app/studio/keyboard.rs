//! Keys, wheel and menus.

use super::support::*;

#[test]
fn letters_pick_tools_digits_pick_tiers_and_brackets_size_the_brush() {
    let mut h = window([32, 32, 32]);
    for (k, tool) in [(Key::E, Tool::Erase), (Key::T, Tool::Threshold), (Key::G, Tool::Polygon), (Key::P, Tool::Brush)]
    {
        key(&mut h, Modifiers::NONE, k);
        assert_eq!(h.state().state.tools.tool, tool);
    }
    key(&mut h, Modifiers::NONE, Key::Space);
    assert_eq!(h.state().state.tools.tool, Tool::Polygon);
    key(&mut h, Modifiers::NONE, Key::Num1);
    assert_eq!(h.state().state.tools.tier, 1);
    key(&mut h, Modifiers::NONE, Key::P);
    let before = h.state().state.tools.brush_size;
    key(&mut h, Modifiers::NONE, Key::CloseBracket);
    assert!(h.state().state.tools.brush_size > before);
}

#[test]
fn the_wheel_moves_slices_and_zooms_with_ctrl() {
    let mut h = window([40, 50, 60]);
    let c = axial(&h).center();
    h.event(Event::PointerMoved(c));
    h.step();
    let wheel = |h: &mut Window, modifiers| {
        h.event(Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta: vec2(0.0, -1.0),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers,
        });
        h.step();
        settle(h);
    };
    let z = h.state().state.crosshair[0];
    wheel(&mut h, Modifiers::NONE);
    assert_eq!(h.state().state.crosshair[0], z + 1);
    key(&mut h, Modifiers::NONE, Key::Z);
    wheel(&mut h, Modifiers::SHIFT);
    assert_eq!(h.state().state.crosshair[0], z + 11);
    wheel(&mut h, Modifiers::COMMAND);
    assert!(h.state().state.panes[0].zoom.is_some());
    key(&mut h, Modifiers::NONE, Key::R);
    assert!(h.state().state.panes[0].zoom.is_none());
}

#[test]
fn every_press_of_a_key_moves_a_slice() {
    let mut h = window([40, 50, 60]);
    let z = h.state().state.crosshair[0];
    let press = |pressed| Event::Key {
        key: Key::PageDown,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    // All within one frame, as on a slow machine.
    h.input_mut().events.extend((0..8).flat_map(|_| [press(true), press(false)]));
    h.step();
    settle(&mut h);
    assert_eq!(h.state().state.crosshair[0], z - 8);
}

#[test]
fn menus_open_on_a_quick_click_and_their_entries_work() {
    let mut h = window([16, 16, 16]);
    let at = h.get_by_label("Help").rect().center();
    h.event(Event::PointerMoved(at));
    h.step();
    // Press and release within one frame, as on a slow machine.
    let press =
        |pressed| Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
    h.input_mut().events.extend([press(true), press(false)]);
    h.step();
    settle(&mut h);
    h.get_by_label_contains("Shortcuts").click();
    settle(&mut h);
    assert!(h.state().state.windows.help);
}

#[test]
fn enter_in_the_path_field_opens_what_was_typed() {
    let folder = tempfile::tempdir().unwrap();
    let path = raw_file(folder.path(), [8, 9, 10]);
    let mut h = window([16, 16, 16]);
    key(&mut h, Modifiers::COMMAND, Key::O);
    h.event(Event::Text(path));
    h.step();
    key(&mut h, Modifiers::NONE, Key::Enter);
    assert_eq!(h.state().state.extents(), Some([8, 9, 10]));
    assert!(!h.state().state.windows.open_dialog);
}

#[test]
fn escape_closes_a_menu_and_leaves_the_tool_alone() {
    let mut h = window([16, 16, 16]);
    h.get_by_label("Edit").click();
    settle(&mut h);
    h.get_by_label_contains("Redo");
    key(&mut h, Modifiers::NONE, Key::Escape);
    assert_eq!(h.state().state.tools.tool, Tool::Brush);
    key(&mut h, Modifiers::NONE, Key::Escape);
    assert_eq!(h.state().state.tools.tool, Tool::Navigate);
}

/// Smooth wheels and touchpads send parts of a line.
#[test]
fn parts_of_a_wheel_notch_add_up_to_one_slice() {
    let mut h = window([40, 50, 60]);
    h.event(Event::PointerMoved(axial(&h).center()));
    h.step();
    let z = h.state().state.crosshair[0];
    let mut wheel = |unit, delta: f32, times: usize| {
        for _ in 0..times {
            h.event(Event::MouseWheel {
                unit,
                delta: vec2(0.0, -delta),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Unknown,
                modifiers: Modifiers::NONE,
            });
            h.step();
        }
        settle(&mut h);
        h.state().state.crosshair[0]
    };
    assert_eq!(wheel(MouseWheelUnit::Line, 0.1, 9), z);
    assert_eq!(wheel(MouseWheelUnit::Line, 0.1, 1), z + 1);
    assert_eq!(wheel(MouseWheelUnit::Point, 10.0, 4), z + 2);
    assert_eq!(wheel(MouseWheelUnit::Line, 1.0, 1), z + 3);
}
