//! The tier list: colour, name, tolerance, how many blocks each holds.

use super::shell;
use crate::studio::command::Command;
use crate::studio::roi::model::{TIER_COLORS, TierDef, Tolerance};
use crate::studio::state::State;
use eframe::egui::{self, Key, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State) {
    let mut tiers = state.roi.tiers.clone();
    let mut removed = None;
    for (i, tier) in tiers.iter_mut().enumerate() {
        ui.push_id(i, |ui| {
            if row(ui, state, i, tier) {
                removed = Some(i);
            }
        });
    }
    if let Some(i) = removed {
        state.commands.send(Command::RemoveTier(i));
    } else if tiers != state.roi.tiers {
        state.commands.send(Command::SetTiers(tiers));
    }
    ui.horizontal(|ui| {
        if ui.button("Add tier").on_hover_text("A new tier, ten times stricter than the last").clicked() {
            state.commands.send(Command::SetTiers(with_new_tier(state)));
        }
    });
}

fn with_new_tier(state: &State) -> Vec<TierDef> {
    let mut tiers = state.roi.tiers.clone();
    let i = tiers.len();
    let tenth = |t: Tolerance| match t {
        Tolerance::Abs(v) => Tolerance::Abs(v / 10.0),
        Tolerance::Rel(v) => Tolerance::Rel(v / 10.0),
        Tolerance::Range(v) => Tolerance::Range(v / 10.0),
        _ => Tolerance::Rel(1e-5),
    };
    let tolerance = tiers.last().map_or(Tolerance::Rel(1e-3), |t| tenth(t.tolerance));
    tiers.push(TierDef { name: format!("Tier {i}"), color: TIER_COLORS[i % TIER_COLORS.len()], tolerance });
    tiers
}

/// Draws one tier; says whether its removal was asked for.
fn row(ui: &mut Ui, state: &State, index: usize, tier: &mut TierDef) -> bool {
    let selected = state.tools.tier == index && index > 0;
    let fill = if selected { ui.visuals().selection.bg_fill.gamma_multiply(0.55) } else { ui.visuals().faint_bg_color };
    let mut remove = false;
    egui::Frame::new().fill(fill).corner_radius(5).inner_margin(egui::Margin::symmetric(7, 5)).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.color_edit_button_srgb(&mut tier.color).on_hover_text("Colour of the tier");
            name_field(ui, index, &mut tier.name);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if index > 0 && state.roi.tiers.len() > 2 {
                    let button = egui::Button::new("×").frame(false).min_size(vec2(18.0, 18.0));
                    let response = ui.add(button).on_hover_text("Remove the tier; its regions move to the one above");
                    response.widget_info(|| {
                        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Remove tier {}", tier.name))
                    });
                    remove = response.clicked();
                }
                if index > 1 {
                    let response = shell::triangle(ui, true, egui::Sense::click())
                        .on_hover_text("Move the tier up; the digits follow the order");
                    response.widget_info(|| {
                        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Move tier {} up", tier.name))
                    });
                    if response.clicked() {
                        state.commands.send(Command::RaiseTier(index));
                    }
                }
                if index > 0 {
                    let text = if selected { "Painting".to_owned() } else { format!("Paint ({index})") };
                    let button = egui::Button::selectable(selected, egui::RichText::new(text).small());
                    if ui.add(button).on_hover_text("Strokes and new regions get this tier").clicked() {
                        state.commands.send(Command::Tier(index));
                    }
                } else {
                    ui.label(egui::RichText::new("everywhere else").small().color(shell::weak(ui)));
                }
            });
        });
        ui.horizontal(|ui| {
            ui.add_space(30.0);
            tolerance_field(ui, state, &mut tier.tolerance);
            let blocks = state.mapping.result.as_ref().and_then(|r| r.counts.first()?.get(index).copied());
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if let Some(blocks) = blocks {
                    let text = format!("{} blocks", shell::count(blocks));
                    ui.label(egui::RichText::new(text).small().color(shell::weak(ui)));
                }
            });
        });
    });
    remove
}

/// Names are taken over when editing ends, so that each is one undo step.
fn name_field(ui: &mut Ui, index: usize, name: &mut String) {
    let id = ui.scope_id().with(("tier name", index));
    let mut text = ui.data_mut(|d| d.get_temp::<String>(id)).unwrap_or_else(|| name.clone());
    let edit = egui::TextEdit::singleline(&mut text)
        .id(id.with("edit"))
        .desired_width(84.0)
        .min_size(vec2(0.0, ui.spacing().interact_size.y))
        .align(egui::Align2::LEFT_CENTER)
        .frame(egui::Frame::NONE);
    let response = ui.add(edit).accessible_name(format!("Name of tier {index}"));
    if response.has_focus() {
        ui.data_mut(|d| d.insert_temp(id, text.clone()));
    }
    if response.lost_focus() {
        ui.data_mut(|d| d.remove_temp::<String>(id));
        if !ui.input(|i| i.key_pressed(Key::Escape)) && !text.trim().is_empty() {
            *name = text.trim().to_owned();
        }
    }
}

/// Kind and number of a tolerance, with its absolute value in the tooltip.
fn tolerance_field(ui: &mut Ui, state: &State, tolerance: &mut Tolerance) {
    let (max_abs, range) = state.scales();
    let value = tolerance.number().unwrap_or(1e-3);
    let kinds = [
        (Tolerance::Abs(value), "ABS", "In the data's own units"),
        (Tolerance::Rel(value), "REL", "Times the largest |u| (the paper's)"),
        (Tolerance::Range(value), "RANGE", "Times max - min (as SZ has it)"),
        (Tolerance::Lossless, "Lossless", "Every bit as it was"),
        (Tolerance::Ignore, "Ignore", "No detail kept"),
    ];
    let same = |a: &Tolerance, b: &Tolerance| std::mem::discriminant(a) == std::mem::discriminant(b);
    let now = kinds.iter().find(|k| same(&k.0, tolerance)).map_or("ABS", |k| k.1);
    let combo = egui::ComboBox::from_id_salt("kind").selected_text(now).width(74.0).show_ui(ui, |ui| {
        for (kind, name, what) in kinds {
            if ui.selectable_label(same(&kind, tolerance), name).on_hover_text(what).clicked() {
                // Switching the kind keeps the absolute tolerance where both kinds have one.
                *tolerance = converted(*tolerance, kind, max_abs, range);
            }
        }
    });
    combo.response.accessible_name("Kind of tolerance");
    if let Tolerance::Abs(v) | Tolerance::Rel(v) | Tolerance::Range(v) = tolerance {
        let mut next = *v;
        let response = shell::number_field(ui, &mut next, (*v * 0.02).max(1e-12)).accessible_name("Tolerance");
        if response.changed() && next.is_finite() && next >= 0.0 {
            *v = next;
        }
        let absolute = tolerance.absolute(max_abs, range);
        response.on_hover_text(format!("tau = {} in the data's units", shell::number(absolute)));
    }
}

fn converted(from: Tolerance, to: Tolerance, max_abs: f64, range: f64) -> Tolerance {
    let Some(_) = from.number() else { return to };
    let absolute = from.absolute(max_abs, range);
    let rounded = |v: f64| if v.is_finite() && v > 0.0 { format!("{v:.2e}").parse().unwrap_or(v) } else { 1e-3 };
    match to {
        Tolerance::Abs(_) => Tolerance::Abs(rounded(absolute)),
        Tolerance::Rel(_) => Tolerance::Rel(rounded(absolute / max_abs)),
        Tolerance::Range(_) => Tolerance::Range(rounded(absolute / range)),
        other => other,
    }
}
