//! The studio driven like a user does: pointer, wheel and keys on the real panels and views.

use blockmgard::volume::{Metadata, OpenHints, Stats, Values, Volume};
use blockmgard::{Control, Shape};
use blockmgard_app::studio::app::Studio;
use blockmgard_app::studio::command::{Command, Export};
use blockmgard_app::studio::data::memory::MemoryDataset;
use blockmgard_app::studio::data::owned::Owned;
use blockmgard_app::studio::roi::model::{Measure, RegionKind};
use blockmgard_app::studio::roi::shape::{Ball, Extruded};
use blockmgard_app::studio::state::document::Document;
use blockmgard_app::studio::state::runs::RunRequest;
use blockmgard_app::studio::state::tools::{BrushShape, Tool, Tools};
use eframe::egui::{self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Window = Harness<'static, Studio>;

/// A smooth volume with one NaN.
fn volume(n: [usize; 3]) -> Volume {
    let shape = Shape::new(&n).unwrap();
    let mut values: Vec<f32> = (0..shape.len())
        .map(|i| {
            let (z, y, x) = (i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
            (z as f32 * 0.3).sin() + (y as f32 * 0.2).cos() + x as f32 * 0.05
        })
        .collect();
    values[0] = f32::NAN;
    Volume { shape, values: Values::F32(Arc::new(Owned::new(values, n))), meta: Metadata::default(), missing: vec![] }
}

fn document(n: [usize; 3]) -> Document {
    let dataset = Arc::new(MemoryDataset::new(volume(n), "test"));
    Document::of_dataset("test.f32".into(), OpenHints::default(), dataset, 0, 0).unwrap()
}

fn window(n: [usize; 3]) -> Window {
    let mut studio = Studio::headless(&egui::Context::default());
    studio.state.set_document(document(n));
    let mut harness = Harness::builder()
        .with_size(vec2(1480.0, 1000.0))
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(|ui, studio: &mut Studio| studio.show(ui), studio);
    settle(&mut harness);
    harness
}

/// Steps until the background is quiet.
fn settle(harness: &mut Window) {
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 3 {
        harness.step();
        quiet = if harness.state().state.is_idle() { quiet + 1 } else { 0 };
        assert!(started.elapsed() < Duration::from_secs(120), "the background does not come to rest");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn axial(harness: &Window) -> Rect {
    harness.get_by_label("Axial view").rect()
}

fn button(harness: &Window, pos: Pos2, button: PointerButton, pressed: bool) {
    harness.event(Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE });
}

/// Drags across the axial view with a button held.
fn drag(harness: &mut Window, which: PointerButton, from: Pos2, to: Pos2) {
    harness.event(Event::PointerMoved(from));
    harness.step();
    button(harness, from, which, true);
    harness.step();
    for i in 1..=6 {
        harness.event(Event::PointerMoved(from + (to - from) * i as f32 / 6.0));
        harness.step();
    }
    button(harness, to, which, false);
    harness.step();
    settle(harness);
}

fn painted(harness: &Window) -> u64 {
    harness.state().state.roi.painted().map(|(_, m)| m.read().unwrap().count()).sum()
}

fn key(harness: &mut Window, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.step();
    settle(harness);
}

#[test]
fn a_brush_stroke_paints_and_undo_takes_back_the_whole_stroke() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 20.0));
    let full = painted(&h);
    assert!(full > 500, "{full}");
    assert_eq!(h.state().state.roi.regions.len(), 1);
    assert!(h.state().state.mapping.result.as_ref().unwrap().counts[0][2] > 0);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert!(h.state().state.roi.regions.is_empty());
    key(&mut h, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(painted(&h), full);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    key(&mut h, Modifiers::COMMAND, Key::Y);
    assert_eq!(painted(&h), full);
}

#[test]
fn the_right_button_erases_and_an_idle_click_leaves_no_undo_step() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    let full = painted(&h);
    drag(&mut h, PointerButton::Secondary, c - vec2(20.0, 0.0), c + vec2(20.0, 0.0));
    let erased = painted(&h);
    assert!(erased < full && erased > 0, "{erased} of {full}");
    drag(&mut h, PointerButton::Secondary, c - vec2(0.0, 100.0), c - vec2(0.0, 110.0));
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert_eq!(painted(&h), full, "the empty stroke must not be a step");
}

#[test]
fn a_looser_tier_never_takes_voxels_from_a_stricter_one_unless_asked() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 0.0), c + vec2(40.0, 0.0));
    let strict = painted(&h);
    key(&mut h, Modifiers::NONE, Key::Num1);
    drag(&mut h, PointerButton::Primary, c - vec2(10.0, 0.0), c + vec2(10.0, 0.0));
    let count = |h: &Window, tier| {
        let roi = &h.state().state.roi;
        roi.painted().filter(|(r, _)| r.tier == tier).map(|(_, m)| m.read().unwrap().count()).sum::<u64>()
    };
    assert_eq!(count(&h, 2), strict);
    assert!(count(&h, 1) > 0);
    let tools = Tools { protect: false, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    drag(&mut h, PointerButton::Primary, c - vec2(10.0, 0.0), c + vec2(10.0, 0.0));
    assert!(count(&h, 2) < strict);
}

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
fn a_polygon_closes_with_enter_and_loses_a_corner_with_backspace() {
    let mut h = window([64, 64, 64]);
    key(&mut h, Modifiers::NONE, Key::G);
    let c = axial(&h).center();
    let click = |h: &mut Window, at| {
        h.event(Event::PointerMoved(at));
        h.step();
        button(h, at, PointerButton::Primary, true);
        h.step();
        button(h, at, PointerButton::Primary, false);
        // Longer than a double click.
        h.run_steps(40);
    };
    for d in [vec2(-80.0, -80.0), vec2(80.0, -80.0), vec2(80.0, 80.0), vec2(0.0, 0.0)] {
        click(&mut h, c + d);
    }
    key(&mut h, Modifiers::NONE, Key::Backspace);
    key(&mut h, Modifiers::NONE, Key::Enter);
    let roi = &h.state().state.roi;
    let RegionKind::Polygon(Extruded { points, .. }) = &roi.regions[0].kind else { panic!("no polygon") };
    assert_eq!(points.len(), 3);
}

#[test]
fn a_dragged_box_becomes_a_region_of_the_chosen_tier() {
    let mut h = window([64, 64, 64]);
    key(&mut h, Modifiers::NONE, Key::B);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(50.0, 40.0), c + vec2(50.0, 40.0));
    let region = &h.state().state.roi.regions[0];
    assert!(matches!(region.kind, RegionKind::Box(_)));
    assert_eq!(region.tier, 2);
    assert!(region.coverage.as_ref().unwrap().touched.count() > 0);
}

/// What the studio shows live must be what the library resolves for a run.
#[test]
fn the_live_map_equals_the_librarys_for_every_kind_of_region() {
    let mut h = window([40, 41, 42]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 30.0), c + vec2(30.0, 20.0));
    let kinds = [
        RegionKind::Threshold { measure: Measure::Percentile, lo: 90.0, hi: 100.0 },
        RegionKind::Threshold { measure: Measure::Range, lo: 0.0, hi: 15.0 },
        RegionKind::Gradient { measure: Measure::Percentile, lo: 95.0, hi: 100.0 },
        RegionKind::Box(blockmgard::Region { lo: [2, 3, 4], hi: [12, 9, 21] }),
        RegionKind::Ellipsoid(Ball { center: [30.0, 20.0, 33.3], radius: [6.0, 7.0, 4.5] }),
        RegionKind::Polygon(Extruded { axis: 1, points: vec![[2.5, 3.5], [30.0, 8.0], [18.0, 35.0]], layers: 33..38 }),
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        let state = &mut h.state_mut().state;
        state.apply(Command::Tier(1 + i % 2));
        state.apply(Command::AddRegion { name: format!("R{i}"), kind });
        settle(&mut h);
        let state = &h.state().state;
        let document = state.document.as_ref().unwrap();
        let stats = Stats::of(&document.volume, &Control::default()).unwrap();
        let expected = state.spec().unwrap().resolve(&document.volume, &stats, &Control::default()).unwrap();
        let live = &state.mapping.result.as_ref().unwrap().levels[0];
        assert_eq!(live.tier_of_block, expected.tier_of_block, "after region {i}");
    }
}

#[test]
fn a_run_keeps_its_bound_and_fills_the_table() {
    let mut h = window([32, 32, 32]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 0.0), c + vec2(40.0, 0.0));
    for (_, _, request) in RunRequest::presets() {
        h.state().state.commands.send(Command::Run(request));
    }
    h.step();
    settle(&mut h);
    let runs = &h.state().state.runs.list;
    assert_eq!(runs.len(), 5, "{:?}", h.state().state.notices);
    for run in runs {
        assert_eq!(run.metrics.violations, 0, "{}", run.name);
        assert!(run.metrics.max_error_over_tau <= 1.0);
        assert!(run.metrics.roi_psnr_db.is_some(), "{} must compare over the regions", run.name);
    }
    assert!(runs[0].compress.ratio > runs[4].compress.ratio, "regions must cost less than strict everywhere");
    h.get_by_label("Results");
    let command = h.state().state.command_line(&runs[1].request);
    assert!(command.contains("--mode hybrid") && command.contains("-L 1 -M 2"), "{command}");
}

#[test]
fn a_project_restores_regions_views_and_tools() {
    let folder = std::env::temp_dir().join(format!("blockmgard-studio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ramp_24x24x24.f32");
    let bytes: Vec<u8> = (0..24 * 24 * 24).flat_map(|i| (i as f32).to_le_bytes()).collect();
    std::fs::write(&path, bytes).unwrap();
    let mut h = window([32, 32, 32]);
    h.state_mut().state.start(Some(path.display().to_string()), OpenHints::default());
    settle(&mut h);
    assert_eq!(h.state().state.extents(), Some([24; 3]));
    let c = axial(&h).center();
    let tools = Tools { brush: BrushShape::Blocks, brush_size: 9.0, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    drag(&mut h, PointerButton::Primary, c, c + vec2(30.0, 30.0));
    h.state_mut().state.apply(Command::Crosshair([3, 4, 5]));
    let count = painted(&h);
    let project = folder.join("work.json");
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);

    let mut second = window([16, 16, 16]);
    second.state_mut().state.start(Some(project.display().to_string()), OpenHints::default());
    settle(&mut second);
    settle(&mut second);
    assert_eq!(painted(&second), count, "{:?}", second.state().state.notices);
    let state = &second.state().state;
    assert_eq!((state.crosshair, state.tools.brush, state.tools.brush_size), ([3, 4, 5], BrushShape::Blocks, 9.0));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_file_opens_the_dialog_with_a_sentence() {
    let mut h = window([16, 16, 16]);
    h.state_mut().state.start(Some("/no/such/file_4x4x4.f32".into()), OpenHints::default());
    settle(&mut h);
    let (path, error) = h.state().state.open_error.clone().unwrap();
    assert!(path.contains("file_4x4x4") && !error.is_empty());
    h.get_by_label("Open a volume");
}

#[test]
fn slices_are_drawn_through_the_colour_map_and_a_nan_has_its_own_colour() {
    let setup = egui_kittest::wgpu::default_wgpu_setup();
    let state = egui_kittest::wgpu::create_render_state(setup, eframe::egui_wgpu::RendererOptions::PREDICTABLE);
    blockmgard_app::studio::gpu::install(&state);
    let mut studio = Studio::headless(&egui::Context::default());
    studio.state.set_document(document([8, 8, 8]));
    studio.state.crosshair = [0, 4, 4];
    let mut h = Harness::builder()
        .with_size(vec2(1480.0, 1000.0))
        .with_step_dt(1.0 / 60.0)
        .renderer(egui_kittest::wgpu::WgpuTestRenderer::from_render_state(state))
        .build_ui_state(|ui, studio: &mut Studio| studio.show(ui), studio);
    settle(&mut h);
    let transform =
        blockmgard_app::studio::views::geometry::PlaneTransform::new(&h.state().state, 0, axial(&h)).unwrap();
    let picture = h.render().unwrap();
    let pixel = |u: f64, v: f64| {
        let p = transform.screen(u, v);
        picture.get_pixel(p.x as u32, p.y as u32).0
    };
    let nan = blockmgard_app::studio::theme::NAN;
    // Off the corner, where the axes' arrows are drawn.
    assert_eq!(pixel(0.9, 0.9)[..3], nan, "the NaN voxel");
    let state = &h.state().state;
    let value =
        blockmgard_app::studio::data::slice::read_value(&state.document.as_ref().unwrap().volume.values, [0, 6, 6])
            .unwrap();
    let [lo, hi] = state.display.window;
    let expected = state.display.color_map.color(((value - lo) / (hi - lo)).clamp(0.0, 1.0));
    let got = pixel(6.3, 6.3);
    for c in 0..3 {
        assert!(got[c].abs_diff(expected[c]) <= 3, "{got:?} is not {expected:?}");
    }
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
