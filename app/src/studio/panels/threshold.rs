//! The threshold tool: a histogram with two handles to drag, presets, apply.

use super::shell;
use crate::studio::command::Command;
use crate::studio::roi::model::{Measure, RegionKind};
use crate::studio::state::State;
use crate::studio::state::tools::{ThresholdOf, Tools};
use crate::studio::theme;
use blockmgard::volume::Stats;
use eframe::egui::{self, Color32, Event, Id, PointerButton, Rect, Sense, Stroke, Ui, pos2, vec2};

const BINS: usize = 96;

pub fn show(ui: &mut Ui, state: &State, tools: &mut Tools) {
    shell::field(ui, "Select by", |ui| {
        for (of, name) in [(ThresholdOf::Value, "Value"), (ThresholdOf::Gradient, "Gradient")] {
            let chosen = tools.threshold_of == of;
            if ui.selectable_label(chosen, name).clicked() && !chosen {
                // Numbers of one quantity mean nothing for the other; shares of the voxels do.
                if tools.measure == Measure::Value {
                    convert(state, tools, Measure::Percentile);
                }
                tools.threshold_of = of;
            }
        }
    });
    shell::field(ui, "In", |ui| {
        for (measure, name, what) in [
            (Measure::Value, "Values", "The data's own units"),
            (Measure::Percentile, "Percentile", "Share of the voxels, 0 to 100"),
            (Measure::Range, "% of range", "Way from the smallest to the largest value"),
        ] {
            let chosen = tools.measure == measure;
            if ui.selectable_label(chosen, name).on_hover_text(what).clicked() && !chosen {
                convert(state, tools, measure);
            }
        }
    });
    let stats = statistics(state, tools.threshold_of);
    match &stats {
        Some(stats) => histogram(ui, state, tools, stats),
        None => {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label("Reading statistics…");
            });
        }
    }
    shell::field(ui, "From, to", |ui| {
        let speed = match (tools.measure, &stats) {
            (Measure::Value, Some(s)) => s.range() / 500.0,
            _ => 0.1,
        };
        shell::number_field(ui, &mut tools.lo, speed).accessible_name("From");
        shell::number_field(ui, &mut tools.hi, speed).accessible_name("To");
    });
    if let Some(stats) = &stats {
        let [lo, hi] = state.interval(tools.threshold_of, tools.measure, tools.lo, tools.hi);
        let share = (stats.rank(hi.next_up()) - stats.rank(lo)).max(0.0);
        ui.label(egui::RichText::new(format!("{share:.2} % of the voxels")).small().color(shell::weak(ui)));
    }
    ui.horizontal(|ui| {
        let tier = state.roi.tiers.get(tools.tier).map_or("", |t| t.name.as_str());
        if ui.button(format!("Add to {tier}")).on_hover_text("Make a region of it (Enter)").clicked() {
            state.commands.send(Command::ApplyThreshold);
        }
        if ui
            .button("Lowest 15 % / 40 %")
            .on_hover_text("The paper's example: the lowest 15 % of the value range strict, the next to 40 % normal")
            .clicked()
        {
            paper_example(state);
        }
    });
}

fn paper_example(state: &State) {
    let tier = |t: usize| t.min(state.roi.tiers.len() - 1);
    for (t, lo, hi, name) in [(tier(2), 0.0, 15.0, "Lowest 15 %"), (tier(1), 15.0, 40.0, "15 to 40 %")] {
        state.commands.send(Command::Tier(t));
        let kind = RegionKind::Threshold { measure: Measure::Range, lo, hi };
        state.commands.send(Command::AddRegion { name: name.to_owned(), kind });
    }
}

fn statistics(state: &State, of: ThresholdOf) -> Option<Stats> {
    let document = state.document.as_ref()?;
    match of {
        ThresholdOf::Value => document.stats.as_deref().cloned(),
        ThresholdOf::Gradient => document.gradient.as_ref().map(|g| g.stats.clone()),
    }
}

/// Another measure for the same interval.
fn convert(state: &State, tools: &mut Tools, measure: Measure) {
    let values = state.interval(tools.threshold_of, tools.measure, tools.lo, tools.hi);
    if let Some(stats) = statistics(state, tools.threshold_of) {
        let [lo, hi] = values.map(|v| from_value(&stats, measure, v));
        (tools.lo, tools.hi) = (lo, hi);
        tools.measure = measure;
    }
}

fn from_value(stats: &Stats, measure: Measure, v: f64) -> f64 {
    match measure {
        Measure::Value => v,
        Measure::Percentile if v >= stats.max => 100.0,
        Measure::Percentile => stats.rank(v),
        Measure::Range => 100.0 * (v - stats.min) / stats.range().max(f64::MIN_POSITIVE),
    }
}

/// Which handle the pointer holds.
#[derive(Clone, Copy)]
enum Held {
    Low,
    High,
    /// Both lie where the button went down: the first move tells.
    Either(f32),
}

/// Bars over the values, and two handles to drag.
fn histogram(ui: &mut Ui, state: &State, tools: &mut Tools, stats: &Stats) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 84.0), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, "Threshold interval"));
    let scale = Scale { rect, min: stats.min, max: if stats.max > stats.min { stats.max } else { stats.min + 1.0 } };
    drag_handles(ui, state, tools, stats, &scale);
    let [lo, hi] = state.interval(tools.threshold_of, tools.measure, tools.lo, tools.hi);
    let color = theme::color(state.roi.tiers.get(tools.tier).map_or([255; 3], |t| t.color));
    let counts = cached_histogram(ui, state, tools.threshold_of, stats, &scale);
    bars(ui, &scale, &counts, |v| (lo..=hi).contains(&v), color);
    // Grips on the outer sides: both can be seen and taken where the handles meet.
    for (v, side) in [(lo, -1.0), (hi, 1.0)] {
        let (x, y) = (scale.x_of(v), rect.center().y);
        ui.painter().vline(x, rect.y_range(), Stroke::new(2.0, color));
        let grip = vec![pos2(x, y - 8.0), pos2(x + side * 8.0, y), pos2(x, y + 8.0)];
        ui.painter().add(egui::Shape::convex_polygon(grip, color, Stroke::NONE));
    }
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
    }
}

/// Places of values on the histogram.
struct Scale {
    rect: Rect,
    min: f64,
    max: f64,
}

impl Scale {
    fn x_of(&self, v: f64) -> f32 {
        let part = ((v - self.min) / (self.max - self.min)).clamp(0.0, 1.0);
        self.rect.left() + part as f32 * self.rect.width()
    }
    fn v_of(&self, x: f32) -> f64 {
        let part = ((x - self.rect.left()) / self.rect.width()).clamp(0.0, 1.0);
        self.min + part as f64 * (self.max - self.min)
    }
}

/// Every event of the frame in its order: on a busy machine one frame may hold the end of a drag and the next one whole.
fn drag_handles(ui: &Ui, state: &State, tools: &mut Tools, stats: &Stats, scale: &Scale) {
    let id = Id::unique("threshold handle");
    let mut held = ui.data(|d| d.get_temp::<Option<Held>>(id)).flatten();
    let on_top = |p| {
        let layer = ui.ctx().layer_id_at(p);
        scale.rect.contains(p) && ui.clip_rect().contains(p) && layer.is_none_or(|l| l == ui.layer_id())
    };
    for event in ui.input(|i| i.events.clone()) {
        let ends = state.interval(tools.threshold_of, tools.measure, tools.lo, tools.hi);
        let [lo, hi] = ends.map(|v| scale.x_of(v));
        match event {
            Event::PointerButton { pos, button: PointerButton::Primary, pressed: true, .. } if on_top(pos) => {
                held = Some(nearest(pos.x, lo, hi));
                held = move_handle(held, pos.x, tools, stats, scale);
            }
            Event::PointerMoved(pos) => held = move_handle(held, pos.x, tools, stats, scale),
            Event::PointerButton { pos, button: PointerButton::Primary, pressed: false, .. } => {
                move_handle(held, pos.x, tools, stats, scale);
                held = None;
            }
            _ => {}
        }
    }
    ui.data_mut(|d| d.insert_temp(id, held));
}

fn nearest(x: f32, lo: f32, hi: f32) -> Held {
    let (a, b) = ((x - lo).abs(), (x - hi).abs());
    match (a - b).abs() < 1.0 {
        true if (x - lo).abs() < 1.0 => Held::Either(x),
        true if x < lo => Held::Low,
        true => Held::High,
        false if a < b => Held::Low,
        false => Held::High,
    }
}

/// Moves the held handle to `x`; says which one it is.
fn move_handle(held: Option<Held>, x: f32, tools: &mut Tools, stats: &Stats, scale: &Scale) -> Option<Held> {
    let held = match held? {
        Held::Either(from) if (x - from).abs() < 1.0 => return Some(Held::Either(from)),
        Held::Either(from) if x < from => Held::Low,
        Held::Either(_) => Held::High,
        known => known,
    };
    let v = from_value(stats, tools.measure, scale.v_of(x));
    match held {
        Held::Low => tools.lo = v.min(tools.hi),
        _ => tools.hi = v.max(tools.lo),
    }
    Some(held)
}

/// The histogram is made once per volume, not per frame.
fn cached_histogram(ui: &Ui, state: &State, of: ThresholdOf, stats: &Stats, scale: &Scale) -> std::sync::Arc<Vec<f64>> {
    let id = Id::unique(("histogram", state.generation, of == ThresholdOf::Gradient, stats.valid));
    let cached = ui.data(|d| d.get_temp::<std::sync::Arc<Vec<f64>>>(id));
    cached.unwrap_or_else(|| {
        let made = std::sync::Arc::new(stats.histogram(scale.min, scale.max, BINS));
        ui.data_mut(|d| d.insert_temp(id, made.clone()));
        made
    })
}

fn bars(ui: &Ui, scale: &Scale, counts: &[f64], inside: impl Fn(f64) -> bool, color: Color32) {
    let Scale { rect, min, max } = *scale;
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 4.0, ui.visuals().extreme_bg_color);
    // Square root: rare values stay visible beside the bulk.
    let most = counts.iter().copied().fold(1.0, f64::max).sqrt();
    let width = rect.width() / counts.len() as f32;
    for (i, count) in counts.iter().enumerate() {
        let height = ((count.sqrt() / most) as f32 * (rect.height() - 4.0)).max(if *count > 0.0 { 1.0 } else { 0.0 });
        let x = rect.left() + i as f32 * width;
        let bar = Rect::from_min_max(pos2(x, rect.bottom() - height), pos2(x + width - 0.5, rect.bottom()));
        let middle = min + (i as f64 + 0.5) / counts.len() as f64 * (max - min);
        let ink = if inside(middle) { color } else { ui.visuals().weak_text_color().gamma_multiply(0.6) };
        painter.rect_filled(bar, 0.0, ink);
    }
}
