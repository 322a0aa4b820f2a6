//! Messages above the views.

use crate::studio::command::Command;
use crate::studio::state::State;
use eframe::egui::{self, Context, Stroke, vec2};

pub fn show(ctx: &Context, state: &State) {
    if state.notices.is_empty() {
        return;
    }
    egui::Area::new(egui::Id::unique("notices"))
        .order(egui::Order::Foreground)
        .anchor(egui::Align2::CENTER_TOP, vec2(-130.0, 34.0))
        .show(ctx, |ui| {
            for (i, notice) in state.notices.iter().enumerate().rev().take(4) {
                let color =
                    if notice.error { ui.visuals().error_fg_color } else { crate::studio::theme::accent(state.dark) };
                egui::Frame::popup(ui.style()).stroke(Stroke::new(1.0, color)).show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.set_max_width(420.0);
                        ui.add(egui::Label::new(&notice.text).wrap());
                        let close = ui.add(egui::Button::new("×").frame(false));
                        close.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Dismiss"));
                        if close.clicked() {
                            state.commands.send(Command::DismissNotice(i));
                        }
                    });
                });
                ui.add_space(4.0);
            }
        });
    if state.notices.iter().any(|n| !n.error) {
        ctx.request_repaint_after(std::time::Duration::from_secs(1));
    }
}
