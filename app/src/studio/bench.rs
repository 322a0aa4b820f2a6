//! `blockmgard bench ui`: UI-thread time of a frame, without rasterizing, on a 512^3 volume.

use super::app::Studio;
use super::command::Command;
use super::data::memory::MemoryDataset;
use super::data::slice::{Geometry, Layer};
use super::roi::model::Measure;
use super::state::document::{Document, OpenRequest};
use super::state::tools::{Tool, Tools};
use blockmgard::volume::{Metadata, OpenHints, Values, VecField, Volume};
use blockmgard::{Control, Shape};
use eframe::egui::{self, Event, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Frame times of one activity, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct FrameTimes {
    pub activity: &'static str,
    pub frames: usize,
    pub median_ms: f64,
    pub p99_ms: f64,
    pub worst_ms: f64,
}

const SIDE: usize = 512;
const FRAMES: usize = 240;

/// What `bench ui` reports.
#[derive(Clone, Debug, Serialize)]
pub struct UiTimes {
    pub frames: Vec<FrameTimes>,
    /// From the request to the texels of the first slice of a raw file of 2 GiB, in milliseconds.
    pub first_slice_ms: f64,
}

/// Paints with a 64-voxel ball and drags a threshold, and opens a large file.
pub fn run() -> anyhow::Result<UiTimes> {
    let mut bench = Bench::new(generated(SIDE)?)?;
    Ok(UiTimes { frames: vec![bench.paint(), bench.threshold()], first_slice_ms: first_slice_ms()? })
}

/// Opens a sparse raw file of 2 GiB, as the open job does, and reads its middle slice.
fn first_slice_ms() -> anyhow::Result<f64> {
    let path = std::env::temp_dir().join(format!("blockmgard-bench-{}.f32", std::process::id()));
    let open = || -> anyhow::Result<f64> {
        std::fs::File::create(&path)?.set_len(2 << 30)?;
        let hints = OpenHints { dims: Some(vec![512, 1024, 1024]), ..OpenHints::default() };
        let request = OpenRequest { path: path.display().to_string(), hints, ..OpenRequest::default() };
        let started = Instant::now();
        let document = Document::open(&request, &Control::default())?;
        let n = document.volume.shape.n;
        let geometry = Geometry::covering(n, 0, n[0] / 2, [0, 0], [n[2], n[1]]);
        std::hint::black_box(Layer::Values(document.shown.clone()).image(geometry)?);
        Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    let time = open();
    // Removed whatever happened; a file that was never made cannot be.
    let _ = std::fs::remove_file(&path);
    time
}

/// A smooth field with detail, made in parallel.
fn generated(side: usize) -> anyhow::Result<Volume> {
    let mut values = vec![0f32; side * side * side];
    values.par_chunks_mut(side).enumerate().for_each(|(row, out)| {
        let (z, y) = ((row / side) as f32 * 0.03, (row % side) as f32 * 0.04);
        let base = (z.sin() + y.cos()) * 2.0;
        out.iter_mut().enumerate().for_each(|(x, o)| *o = base + (x as f32 * 0.05 + z * 0.7).sin() + y * z * 0.01);
    });
    let shape = Shape::new(&[side; 3])?;
    let values = Values::F32(Arc::new(VecField::new(values, shape.n)));
    Ok(Volume { shape, values, meta: Metadata::default(), missing: Default::default() })
}

struct Bench {
    ctx: egui::Context,
    studio: Studio,
    time: f64,
}

impl Bench {
    fn new(volume: Volume) -> anyhow::Result<Self> {
        let ctx = egui::Context::default();
        let mut studio = Studio::headless(&ctx);
        let dataset = Arc::new(MemoryDataset::new(volume, "generated"));
        let document = Document::of_dataset("generated".into(), OpenHints::default(), dataset, 0, 0)?;
        studio.state.set_document(document);
        let mut bench = Self { ctx, studio, time: 0.0 };
        let started = Instant::now();
        loop {
            bench.frame(vec![]);
            if bench.studio.state.is_idle() && bench.studio.state.mapping.result.is_some() {
                break;
            }
            anyhow::ensure!(started.elapsed() < Duration::from_secs(300), "the volume's statistics take too long");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(bench)
    }

    /// One frame: input, layout, commands, tessellation. Returns its milliseconds.
    fn frame(&mut self, events: Vec<Event>) -> f64 {
        self.time += 1.0 / 60.0;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(1480.0, 920.0))),
            time: Some(self.time),
            events,
            ..Default::default()
        };
        let started = Instant::now();
        let output = self.ctx.run_ui(input, |ui| self.studio.show(ui));
        let shapes = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        let elapsed = started.elapsed().as_secs_f64() * 1e3;
        std::hint::black_box(shapes);
        // The rest of a 60 Hz frame belongs to the workers.
        std::thread::sleep(Duration::from_secs_f64((16.0 - elapsed).max(1.0) / 1e3));
        elapsed
    }

    fn paint(&mut self) -> FrameTimes {
        let tools = Tools { tool: Tool::Brush, brush_size: 64.0, ..Tools::default() };
        self.studio.state.apply(Command::Tools(Box::new(tools)));
        let at = |i: usize| {
            let a = i as f32 * 0.06;
            pos2(280.0 + 110.0 * a.cos(), 230.0 + 90.0 * (1.3 * a).sin())
        };
        let press = |pos, pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(at(0))]);
        self.frame(vec![press(at(0), true)]);
        let times = (0..FRAMES).map(|i| self.frame(vec![Event::PointerMoved(at(i))])).collect();
        self.frame(vec![press(at(FRAMES), false)]);
        summary("painting with a 64-voxel ball", times)
    }

    fn threshold(&mut self) -> FrameTimes {
        self.studio.state.apply(Command::Tool(Tool::Threshold));
        let times = (0..FRAMES)
            .map(|i| {
                let tools = Tools {
                    measure: Measure::Percentile,
                    lo: 50.0 + 45.0 * (i as f64 * 0.05).sin().abs(),
                    ..self.studio.state.tools.clone()
                };
                self.studio.state.commands.send(Command::Tools(Box::new(tools)));
                self.frame(vec![])
            })
            .collect();
        summary("dragging a threshold", times)
    }
}

fn summary(activity: &'static str, mut times: Vec<f64>) -> FrameTimes {
    times.sort_by(f64::total_cmp);
    let at = |p: f64| times[((times.len() - 1) as f64 * p).round() as usize];
    FrameTimes { activity, frames: times.len(), median_ms: at(0.5), p99_ms: at(0.99), worst_ms: at(1.0) }
}
