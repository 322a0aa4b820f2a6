//! Colours, window, overlays and the level of the tolerance map.

use super::shell;
use crate::studio::command::Command;
use crate::studio::gpu::colormap::ColorMap;
use crate::studio::state::State;
use crate::studio::state::display::{Display, Overlay};
use eframe::egui::{self, Color32, Mesh, Rect, RichText, Sense, Shape, Ui, pos2, vec2};

pub fn show(ui: &mut Ui, state: &State) {
    let mut display = state.display.clone();
    color_map(ui, &mut display);
    color_bar(ui, &display);
    window(ui, state, &mut display);
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut display.log, "Log scale");
        ui.checkbox(&mut display.smooth, "Smooth").on_hover_text("Interpolate between voxels");
        ui.checkbox(&mut display.grid, "Block grid").on_hover_text("Outlines of the 8×8×8 blocks");
        ui.checkbox(&mut display.inset, "Inset").on_hover_text("Four times magnified about the crosshair (I)");
    });
    if display.log && display.window[0] <= 0.0 {
        let text = "Logarithms need a window above 0: values below it are drawn as its lower end. Raise that end.";
        ui.label(RichText::new(text).small().color(ui.visuals().warn_fg_color));
    }
    if display != state.display {
        state.commands.send(Command::Display(Box::new(display)));
    }
}

/// Overlay choice and the level slider.
pub fn overlay(ui: &mut Ui, state: &State) {
    let mut display = state.display.clone();
    shell::field(ui, "Show", |ui| {
        for (overlay, name, what) in [
            (Overlay::Regions, "Regions", "The voxels that regions hold"),
            (Overlay::Map, "Map", "The tier of each 8×8×8 block"),
            (Overlay::Both, "Both", "Blocks, and voxels over them"),
            (Overlay::Off, "Off", "Values alone (S)"),
        ] {
            ui.selectable_value(&mut display.overlay, overlay, name).on_hover_text(what);
        }
    });
    shell::field(ui, "Opacity", |ui| {
        ui.add(egui::Slider::new(&mut display.opacity, 0.0..=1.0).show_value(false)).on_hover_text("A less, D more");
        ui.checkbox(&mut display.outline, "Outline");
    });
    level(ui, state, &mut display);
    if display != state.display {
        state.commands.send(Command::Display(Box::new(display)));
    }
}

fn level(ui: &mut Ui, state: &State, display: &mut Display) {
    shell::field(ui, "Level", |ui| {
        ui.add(egui::Slider::new(&mut display.level, 0..=3).show_value(true))
            .on_hover_text("How tolerances spread in the hybrid hierarchy, Eq. (2): 0 is the finest level");
    });
    let Some(result) = &state.mapping.result else { return };
    let level = display.level.min(result.levels.len() - 1);
    let blocks: usize = result.counts[level].iter().sum();
    let share = |l: usize| {
        let counts = &result.counts[l];
        100.0 - 100.0 * counts.first().copied().unwrap_or(0) as f64 / counts.iter().sum::<usize>().max(1) as f64
    };
    let text = match level {
        0 => format!("{} blocks. In pyramid mode nothing spreads: each block keeps its tier.", shell::count(blocks)),
        _ => format!(
            "{} coarse blocks. Regions take {:.1} % of them, {:.1} % at the finest level; the spread is hatched.",
            shell::count(blocks),
            share(level),
            share(0)
        ),
    };
    ui.label(RichText::new(text).small().color(shell::weak(ui)));
    egui::Grid::new("levels")
        .num_columns(result.counts[level].len() + 1)
        .spacing(vec2(16.0, 2.0))
        .min_col_width(34.0)
        .show(ui, |ui| {
            ui.label(RichText::new("Level").small().color(shell::weak(ui)));
            for tier in &state.roi.tiers {
                ui.label(RichText::new(tier.name.as_str()).small().color(crate::studio::theme::color(tier.color)));
            }
            ui.end_row();
            for (l, counts) in result.counts.iter().enumerate().take(4) {
                let strong = |t: RichText| if l == level { t.strong() } else { t };
                ui.label(strong(RichText::new(l.to_string()).small()));
                let total: usize = counts.iter().sum::<usize>().max(1);
                for count in counts {
                    let share = 100.0 * *count as f64 / total as f64;
                    ui.label(strong(RichText::new(format!("{share:.1} %")).small()))
                        .on_hover_text(format!("{} blocks", shell::count(*count)));
                }
                ui.end_row();
            }
        });
    match state.estimate() {
        Some(e) => {
            let about = if e.rough { "about " } else { "" };
            let text = format!("Expected: {about}{:.3} bits per value, ratio {about}{:.1}", e.bits_per_value, e.ratio);
            let judged = match &e.runs[..] {
                [one] if e.rough => format!("Guessed from the run {one} alone; a looser and a stricter run tell more"),
                [one] => format!("As the run {one}"),
                runs => format!("Between the runs {}", runs.join(" and ")),
            };
            ui.label(RichText::new(text).small()).on_hover_text(judged);
        }
        None => {
            ui.label(RichText::new("Expected size: known after the first run").small().color(shell::weak(ui)));
        }
    }
    let tau = result.levels.get(level).map_or(f64::INFINITY, |m| m.strictest());
    ui.label(RichText::new(format!("tau_global after level {level}: {}", shell::number(tau))).small())
        .on_hover_text("The strictest tolerance present: what all coarser data must keep");
}

fn color_map(ui: &mut Ui, display: &mut Display) {
    shell::field(ui, "Colour map", |ui| {
        egui::ComboBox::from_id_salt("color map").selected_text(display.color_map.name()).show_ui(ui, |ui| {
            for map in ColorMap::ALL {
                ui.selectable_value(&mut display.color_map, map, map.name());
            }
        });
    });
}

fn color_bar(ui: &mut Ui, display: &Display) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 12.0), Sense::hover());
    let mut mesh = Mesh::default();
    let steps = 48;
    for i in 0..=steps {
        let t = i as f32 / steps as f32;
        let [r, g, b] = display.color_map.color(t as f64);
        let color = Color32::from_rgb(r, g, b);
        let x = rect.left() + t * rect.width();
        mesh.colored_vertex(pos2(x, rect.top()), color);
        mesh.colored_vertex(pos2(x, rect.bottom()), color);
        if i > 0 {
            let k = 2 * i as u32;
            mesh.add_triangle(k - 2, k - 1, k);
            mesh.add_triangle(k - 1, k, k + 1);
        }
    }
    ui.painter().add(Shape::mesh(mesh));
    ui.painter().rect_stroke(rect, 2.0, ui.visuals().widgets.noninteractive.bg_stroke, egui::StrokeKind::Outside);
    let tick = |x: f32| Rect::from_min_max(pos2(x, rect.bottom()), pos2(x + 1.0, rect.bottom() + 3.0));
    ui.painter().rect_filled(tick(rect.left()), 0.0, shell::weak(ui));
    ui.painter().rect_filled(tick(rect.right() - 1.0), 0.0, shell::weak(ui));
}

fn window(ui: &mut Ui, state: &State, display: &mut Display) {
    ui.horizontal(|ui| {
        let speed = (state.scales().1 / 400.0).max(f64::MIN_POSITIVE);
        let [mut lo, mut hi] = display.window;
        shell::number_field(ui, &mut lo, speed)
            .accessible_name("Window minimum")
            .on_hover_text("Value at the left end");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            shell::number_field(ui, &mut hi, speed)
                .accessible_name("Window maximum")
                .on_hover_text("Value at the right end");
            if ui.button("Auto").on_hover_text("0.1 % tails of the finite values (C)").clicked() {
                state.commands.send(Command::AutoWindow);
            }
            ui.checkbox(&mut display.locked, "Lock").on_hover_text("Keep the window for the next step or variable");
        });
        if lo.is_finite() && hi.is_finite() && lo < hi {
            display.window = [lo, hi];
        }
    });
}
