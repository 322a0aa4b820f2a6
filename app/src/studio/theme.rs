//! Colours, spacing and type sizes of the studio.

use eframe::egui::{self, Color32, CornerRadius, FontFamily, FontId, Margin, Stroke, TextStyle, Theme, Visuals, vec2};

/// Missing values.
pub const NAN: [u8; 3] = [148, 60, 160];
/// Infinite values.
pub const INFINITE: [u8; 3] = [255, 255, 255];
/// A value beyond its bound.
pub const ALARM: [u8; 3] = [255, 235, 0];

/// Lines of the planes across axis 0, 1 and 2.
pub const AXIS_COLORS: [[u8; 3]; 3] = [[235, 90, 90], [95, 200, 110], [240, 200, 80]];

/// Runs in tables and plots, by their number.
pub fn run_color(id: u64) -> [u8; 3] {
    const COLORS: [[u8; 3]; 8] = [
        [86, 156, 230],
        [240, 150, 60],
        [110, 200, 120],
        [230, 110, 130],
        [170, 135, 235],
        [225, 200, 80],
        [90, 205, 205],
        [200, 140, 100],
    ];
    COLORS[id.wrapping_sub(1) as usize % COLORS.len()]
}

/// Behind the slices.
pub fn canvas(dark: bool) -> Color32 {
    if dark { Color32::from_rgb(14, 15, 18) } else { Color32::from_rgb(226, 228, 232) }
}

pub fn color([r, g, b]: [u8; 3]) -> Color32 {
    Color32::from_rgb(r, g, b)
}

/// As the shaders take it: gamma-space, not premultiplied.
pub fn rgba(c: [u8; 3], alpha: f32) -> [f32; 4] {
    [c[0] as f32 / 255.0, c[1] as f32 / 255.0, c[2] as f32 / 255.0, alpha]
}

/// The one accent of the interface.
pub fn accent(dark: bool) -> Color32 {
    if dark { Color32::from_rgb(86, 156, 230) } else { Color32::from_rgb(28, 104, 190) }
}

/// Ground of the one button that does the main deed; white text is readable on it.
pub fn primary(dark: bool) -> Color32 {
    if dark { Color32::from_rgb(34, 108, 178) } else { Color32::from_rgb(28, 104, 190) }
}

/// Installs both themes.
pub fn install(ctx: &egui::Context) {
    for (theme, dark) in [(Theme::Dark, true), (Theme::Light, false)] {
        ctx.style_mut_of(theme, |style| {
            style.visuals = visuals(dark);
            style.text_styles = [
                (TextStyle::Heading, FontId::new(16.0, FontFamily::Proportional)),
                (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
                (TextStyle::Button, FontId::new(13.0, FontFamily::Proportional)),
                (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
                (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
            ]
            .into();
            let s = &mut style.spacing;
            s.item_spacing = vec2(6.0, 5.0);
            s.button_padding = vec2(8.0, 3.0);
            s.interact_size.y = 22.0;
            s.slider_width = 120.0;
            s.window_margin = Margin::same(12);
            s.menu_margin = Margin::same(6);
        });
    }
}

fn visuals(dark: bool) -> Visuals {
    let mut v = if dark { Visuals::dark() } else { Visuals::light() };
    let accent = accent(dark);
    let gray = |d: u8, l: u8| Color32::from_gray(if dark { d } else { l });
    let tint = |d: [u8; 3], l: [u8; 3]| color(if dark { d } else { l });
    v.panel_fill = tint([27, 29, 34], [246, 247, 249]);
    v.window_fill = tint([32, 34, 40], [252, 252, 253]);
    v.extreme_bg_color = tint([18, 19, 23], [255, 255, 255]);
    v.faint_bg_color = tint([33, 35, 41], [238, 240, 243]);
    v.window_stroke = Stroke::new(1.0, gray(60, 200));
    v.selection.bg_fill = if dark { Color32::from_rgb(38, 79, 120) } else { Color32::from_rgb(190, 217, 247) };
    v.selection.stroke = Stroke::new(1.0, if dark { Color32::from_gray(240) } else { Color32::from_gray(20) });
    v.error_fg_color = tint([255, 128, 118], [178, 24, 32]);
    v.warn_fg_color = tint([245, 180, 80], [150, 88, 0]);
    v.hyperlink_color = accent;
    v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, gray(48, 214));
    v.widgets.noninteractive.fg_stroke = Stroke::new(1.0, gray(196, 50));
    v.widgets.inactive.bg_fill = tint([50, 53, 60], [228, 230, 234]);
    v.widgets.inactive.weak_bg_fill = tint([46, 49, 56], [231, 233, 237]);
    v.widgets.inactive.fg_stroke = Stroke::new(1.0, gray(210, 40));
    v.widgets.hovered.weak_bg_fill = tint([60, 64, 73], [218, 222, 228]);
    v.widgets.hovered.bg_stroke = Stroke::new(1.0, gray(100, 160));
    v.widgets.active.weak_bg_fill = tint([70, 75, 86], [205, 211, 220]);
    for w in [&mut v.widgets.inactive, &mut v.widgets.hovered, &mut v.widgets.active, &mut v.widgets.open] {
        w.corner_radius = CornerRadius::same(4);
        w.expansion = 0.0;
    }
    v.window_corner_radius = CornerRadius::same(8);
    v.menu_corner_radius = CornerRadius::same(6);
    v.striped = true;
    v
}
