//! Small pieces that all panels share.

use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::{self, Color32, Response, RichText, Sense, Ui, vec2};

/// A titled section of the side panel that can be folded.
pub fn section(ui: &mut Ui, title: &str, open: bool, content: impl FnOnce(&mut Ui)) {
    steady(ui, title, |ui| {
        egui::CollapsingHeader::new(RichText::new(title).strong()).default_open(open).show(ui, |ui| {
            ui.add_space(2.0);
            content(ui);
            ui.add_space(4.0);
        });
    });
}

/// Widgets whose ids do not depend on what comes before them, so that the keyboard focus stays where it is when
/// something appears above.
pub fn steady<R>(ui: &mut Ui, name: &str, content: impl FnOnce(&mut Ui) -> R) -> R {
    let id = egui::Id::unique(("steady", name));
    ui.scope_builder(egui::UiBuilder::new().scope_id(id), content).inner
}

/// A text field for a path with a button that opens the system's dialog; the field takes the focus when nothing has
/// it. Says whether Enter was pressed in the field, and whether the button was.
pub fn path_field(ui: &mut Ui, path: &mut String, hint: &str) -> (bool, bool) {
    ui.horizontal(|ui| {
        let width = ui.available_width() - 92.0;
        let edit = egui::TextEdit::singleline(path).hint_text(hint).desired_width(width);
        let mut output = edit.show(ui);
        let response = output.response.response.accessible_name("Path");
        // Enter takes the focus away: it must be seen before the field asks for it again.
        let entered = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if !entered && ui.memory(|m| m.focused().is_none()) {
            response.request_focus();
            // What is there is replaced by typing: a path that failed, or a suggestion.
            let all = CCursorRange::two(CCursor::new(0), CCursor::new(path.chars().count()));
            output.state.cursor.set_char_range(Some(all));
            output.state.store(ui.ctx(), response.id);
        }
        (entered, ui.add(egui::Button::new("Browse…").min_size(vec2(78.0, 0.0))).clicked())
    })
    .inner
}

/// A dialog in front of everything.
pub fn modal(ctx: &egui::Context, name: &str) -> egui::Modal {
    let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(16);
    egui::Modal::new(egui::Id::unique(name)).frame(frame)
}

/// A row with a label of fixed width, so that fields line up.
pub fn field<R>(ui: &mut Ui, label: &str, content: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        let height = ui.spacing().interact_size.y;
        let (rect, _) = ui.allocate_exact_size(vec2(84.0, height), Sense::hover());
        let font = egui::TextStyle::Body.resolve(ui.style());
        ui.painter().text(rect.left_center(), egui::Align2::LEFT_CENTER, label, font, weak(ui));
        ui.name_inputs(label, content)
    })
    .inner
}

/// A small triangle, which the fonts lack.
pub fn triangle(ui: &mut Ui, up: bool, sense: Sense) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(16.0, ui.spacing().interact_size.y), sense);
    let ink = if response.hovered() || response.has_focus() { ui.visuals().strong_text_color() } else { weak(ui) };
    let (c, d) = (rect.center(), if up { 1.0 } else { -1.0 });
    let points = vec![c + vec2(0.0, -3.5 * d), c + vec2(4.5, 3.0 * d), c + vec2(-4.5, 3.0 * d)];
    ui.painter().add(egui::Shape::convex_polygon(points, ink, egui::Stroke::NONE));
    response
}

/// A square of colour.
pub fn swatch(ui: &mut Ui, color: [u8; 3], size: f32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(size, ui.spacing().interact_size.y), Sense::hover());
    let square = egui::Rect::from_center_size(rect.center(), vec2(size, size));
    ui.painter().rect_filled(square, 3.0, super::super::theme::color(color));
    response
}

/// A number as people write it: 4 significant digits, exponents only where they help.
pub fn number(v: f64) -> String {
    let a = v.abs();
    if v == 0.0 {
        "0".to_owned()
    } else if !v.is_finite() {
        if v.is_nan() {
            "NaN".to_owned()
        } else if v > 0.0 {
            "+Inf".to_owned()
        } else {
            "-Inf".to_owned()
        }
    } else if (1e-3..1e6).contains(&a) {
        let digits = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
        trim(format!("{v:.digits$}"))
    } else {
        let text = format!("{v:.3e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trim(mantissa.to_owned())),
            None => text,
        }
    }
}

fn trim(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A PSNR: infinite when every value came back, minus infinity when errors stand against a range of zero.
pub fn decibels(db: f64) -> String {
    if db == f64::INFINITY { "exact".to_owned() } else { format!("{db:.2}") }
}

/// Bytes as people read them.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.3} {}", UNITS[unit]).replace(".000", "") }
}

/// A count with thin groups of three.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A number field that accepts scientific notation.
pub fn number_field(ui: &mut Ui, value: &mut f64, speed: f64) -> Response {
    ui.add(
        egui::DragValue::new(value)
            .speed(speed)
            .custom_formatter(|v, _| number(v))
            .custom_parser(|t| t.trim().parse().ok())
            .update_while_editing(false),
    )
}

/// Ink of weak text.
pub fn weak(ui: &Ui) -> Color32 {
    ui.visuals().weak_text_color()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (v, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.01, "0.01"),
            (123.456, "123.5"),
            (1e-4, "1e-4"),
            (-2.5e-7, "-2.5e-7"),
            (1.0e9, "1e9"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(number(v), text);
        }
        assert_eq!((decibels(f64::INFINITY), decibels(f64::NEG_INFINITY)), ("exact".into(), "-inf".into()));
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(3_014_284), "3.014 MB");
    }
}
