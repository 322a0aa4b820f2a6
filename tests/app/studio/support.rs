//! The window under test, and the hands of its user.

pub use blockmgard::volume::{Metadata, OpenHints, Stats, Values, VecField, Volume};
pub use blockmgard::{Control, Shape};
pub use blockmgard_app::studio::app::Studio;
pub use blockmgard_app::studio::command::{Command, Export, ImportForm, Morphology, PictureForm, PictureView};
pub use blockmgard_app::studio::data::memory::MemoryDataset;
pub use blockmgard_app::studio::gpu::snapshot::Gpu;
pub use blockmgard_app::studio::roi::model::{Measure, RegionKind};
pub use blockmgard_app::studio::roi::shape::{Ball, Extruded};
pub use blockmgard_app::studio::state::compare::{Compare, CompareMode, LayerChoice};
pub use blockmgard_app::studio::state::document::Document;
pub use blockmgard_app::studio::state::runs::{Match, RunEdit, RunRequest, RunTolerance};
pub use blockmgard_app::studio::state::tools::{BrushShape, ThresholdOf, Tool, Tools};
pub use blockmgard_app::studio::state::tuning::Tuned;
pub use eframe::egui::{self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, vec2};
pub use egui_kittest::Harness;
pub use egui_kittest::kittest::Queryable;
pub use std::sync::Arc;
pub use std::time::{Duration, Instant};

pub type Window = Harness<'static, Studio>;

/// A smooth volume with one NaN.
pub fn volume(n: [usize; 3]) -> Volume {
    let shape = Shape::new(&n).unwrap();
    let mut values: Vec<f32> = (0..shape.len())
        .map(|i| {
            let (z, y, x) = (i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
            (z as f32 * 0.3).sin() + (y as f32 * 0.2).cos() + x as f32 * 0.05
        })
        .collect();
    values[0] = f32::NAN;
    Volume {
        shape,
        values: Values::F32(Arc::new(VecField::new(values, n))),
        meta: Metadata::default(),
        missing: Default::default(),
    }
}

pub fn document(n: [usize; 3]) -> Document {
    let dataset = Arc::new(MemoryDataset::new(volume(n), "test"));
    Document::of_dataset("test.f32".into(), OpenHints::default(), dataset, 0, 0).unwrap()
}

pub fn window(n: [usize; 3]) -> Window {
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
pub fn settle(harness: &mut Window) {
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 3 {
        harness.step();
        quiet = if harness.state().state.is_idle() { quiet + 1 } else { 0 };
        assert!(started.elapsed() < Duration::from_secs(120), "the background does not come to rest");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Does what a user of the open dialog would.
pub fn open(harness: &mut Window, path: &str) {
    harness.state_mut().state.start(Some(path.to_owned()), OpenHints::default());
    settle(harness);
    settle(harness);
}

pub fn axial(harness: &Window) -> Rect {
    harness.get_by_label("Axial view").rect()
}

pub fn button(harness: &Window, pos: Pos2, button: PointerButton, pressed: bool) {
    harness.event(Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE });
}

/// Drags across the axial view with a button held.
pub fn drag(harness: &mut Window, which: PointerButton, from: Pos2, to: Pos2) {
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

pub fn painted(harness: &Window) -> u64 {
    harness.state().state.roi.painted().map(|(_, m)| m.read().unwrap().count()).sum()
}

pub fn key(harness: &mut Window, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.step();
    settle(harness);
}

/// A raw file of a ramp with waves, its shape in its name. Returns its path.
pub fn raw_file(folder: &std::path::Path, [nz, ny, nx]: [usize; 3]) -> String {
    let path = folder.join(format!("waves_{nz}x{ny}x{nx}.f32"));
    let value = |i: usize| (i as f32 * 0.001 + (i as f32 * 0.05).sin()).to_le_bytes();
    std::fs::write(&path, (0..nz * ny * nx).flat_map(value).collect::<Vec<u8>>()).unwrap();
    path.display().to_string()
}
