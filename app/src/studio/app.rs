//! The window: lays out panels and views, hands input to the state.

use super::command::Command;
use super::gpu::snapshot::Gpu;
use super::luts::Luts;
use super::panels;
use super::state::State;
use super::state::document::OpenRequest;
use super::state::files::Settings;
use super::state::files::Slot;
use super::state::project::AUTOSAVE;
use super::views::geometry::{VIEW_NAMES, view_title};
use super::views::{slice_view, volume_view};
use super::{gpu, keys, theme};
use blockmgard::volume::OpenHints;
use eframe::egui::{self, Panel, ScrollArea, Ui, WidgetText};
use egui_tiles::{SimplificationOptions, TileId, Tiles, Tree, UiResponse};
use serde::{Deserialize, Serialize};

/// A tile of the centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pane {
    Slice(usize),
    Volume,
}

/// The studio as an eframe app.
pub struct Studio {
    pub state: State,
    luts: Luts,
    tree: Tree<Pane>,
}

impl Studio {
    pub fn new(cc: &eframe::CreationContext, file: Option<String>, hints: OpenHints) -> Self {
        theme::install(&cc.egui_ctx);
        let mut gpu_of_window = None;
        if let Some(render) = &cc.wgpu_render_state {
            gpu::install(render);
            gpu_of_window = Some(Gpu { device: render.device.clone(), queue: render.queue.clone() });
            let info = render.adapter.get_info();
            let name = format!("{} ({:?})", info.name, info.backend);
            cc.egui_ctx.data_mut(|d| d.insert_temp(keys::adapter_id(), name));
        }
        let slot = Slot::claim();
        let left = slot.keep_last();
        let mut studio = Self::with_context(&cc.egui_ctx, Settings { slot, ..Settings::load() });
        studio.state.gpu = gpu_of_window;
        studio.state.start(file, hints);
        if left {
            studio.state.offer_last_session();
        }
        studio
    }

    /// Without a window, and without reading or writing the user's settings; for tests and benchmarks.
    pub fn headless(ctx: &egui::Context) -> Self {
        theme::install(ctx);
        Self::with_context(ctx, Settings { read_only: true, show_hints: false, ..Settings::default() })
    }

    fn with_context(ctx: &egui::Context, settings: Settings) -> Self {
        Self { state: State::new(ctx, settings), luts: Luts::default(), tree: default_layout() }
    }

    /// Lays out everything; the only place that draws.
    pub fn show(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        ctx.set_theme(if self.state.dark { egui::Theme::Dark } else { egui::Theme::Light });
        keys::handle(&ctx, &self.state);
        dropped_files(&ctx, &self.state);
        // What workers finished is shown in this frame, what the user asks for in the next.
        self.state.update();
        if let Some(layout) = self.state.layout_wanted.take() {
            // One that cannot be read is as good as none.
            self.tree = layout.and_then(|l| serde_json::from_value(l).ok()).unwrap_or_else(default_layout);
        }
        let state = &self.state;
        Panel::top("menu").show(ui, |ui| panels::menu::show(ui, state));
        Panel::bottom("status").exact_size(26.0).show(ui, |ui| panels::status::show(ui, state));
        Panel::left("tools").exact_size(46.0).resizable(false).show(ui, |ui| panels::toolbar::show(ui, state));
        Panel::right("side").default_size(318.0).size_range(280.0..=520.0).show(ui, |ui| side(ui, state));
        let mut results = state.windows.results;
        let panel = Panel::bottom("results").default_size(250.0).size_range(150.0..=600.0).resizable(true);
        panel.show_collapsible(ui, &mut results, |ui| results_panel(ui, state));
        if results != state.windows.results {
            state.commands.send(Command::ShowResults(results));
        }
        let frame = egui::Frame::central_panel(&ctx.global_style()).inner_margin(0);
        egui::CentralPanel::default().frame(frame).show(ui, |ui| {
            let mut behavior = Behavior { state, luts: &self.luts, edited: false };
            match state.maximized {
                Some(axis) => maximized(ui, state, &self.luts, axis),
                None => self.tree.ui(&mut behavior, ui),
            }
            if behavior.edited {
                state.commands.send(Command::Layout(serde_json::to_value(&self.tree).ok()));
            }
        });
        panels::open::show(&ctx, state);
        panels::save::show(&ctx, state);
        panels::import::show(&ctx, state);
        panels::help::show(&ctx, state);
        panels::notices::show(&ctx, state);
        panels::question::show(&ctx, state);
        if state.settings.autosave_due {
            ctx.request_repaint_after(AUTOSAVE);
        }
        if self.state.update() {
            ctx.request_repaint();
        }
        if let Some(text) = self.state.copy.take() {
            ctx.copy_text(text);
        }
        if self.state.quit {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
    }
}

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.show(ui);
    }

    fn on_exit(&mut self) {
        self.state.autosave_at_exit();
    }
}

/// One view alone, with a bar to go back.
fn maximized(ui: &mut Ui, state: &State, luts: &Luts, axis: usize) {
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        ui.label(egui::RichText::new(view_title(state, axis)).strong());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.button("All views").clicked() {
                state.commands.send(Command::Maximize(None));
            }
            slice_bar(ui, state, axis);
        });
    });
    slice_view::show(ui, state, luts, axis);
}

/// The table of runs or the plots.
fn results_panel(ui: &mut Ui, state: &State) {
    ui.horizontal(|ui| {
        let mut plots = state.windows.plots;
        ui.selectable_value(&mut plots, false, "Results");
        ui.selectable_value(&mut plots, true, "Plots");
        if plots != state.windows.plots {
            state.commands.send(Command::ShowPlots(plots));
        }
        panels::results::kept(ui, state);
    });
    ui.separator();
    if state.windows.plots {
        panels::plots::show(ui, state);
    } else {
        panels::results::show(ui, state);
    }
}

fn side(ui: &mut Ui, state: &State) {
    // Room for the scroll bar, so that nothing to drag lies under it.
    let frame = egui::Frame::new().inner_margin(egui::Margin { right: 10, ..egui::Margin::ZERO });
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| frame.show(ui, |ui| sections(ui, state)));
}

fn sections(ui: &mut Ui, state: &State) {
    ui.add_space(4.0);
    // Another tool's settings are what its user looks for next.
    let last = egui::Id::unique("tool shown last");
    let tool = state.tools.tool;
    let before = ui.data_mut(|d| std::mem::replace(d.get_temp_mut_or(last, tool), tool));
    if before != tool {
        ui.scroll_to_cursor(Some(egui::Align::TOP));
    }
    panels::shell::steady(ui, "tool", |ui| panels::tool_options::show(ui, state));
    ui.separator();
    panels::shell::section(ui, "Tiers", true, |ui| panels::tiers::show(ui, state));
    panels::shell::section(ui, "Regions", true, |ui| panels::regions::show(ui, state));
    panels::shell::section(ui, "Tolerance map", true, |ui| panels::display::overlay(ui, state));
    panels::shell::section(ui, "Run", true, |ui| panels::run::show(ui, state));
    panels::shell::section(ui, "Compare", true, |ui| panels::compare::show(ui, state));
    panels::shell::section(ui, "Display", false, |ui| panels::display::show(ui, state));
}

fn dropped_files(ctx: &egui::Context, state: &State) {
    let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_path_buf()));
    if let Some(path) = dropped {
        let path = path.to_string_lossy().into_owned();
        state.commands.send(Command::Open(OpenRequest { path, ..Default::default() }));
    }
}

fn default_layout() -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let panes: Vec<TileId> = (0..3).map(|axis| tiles.insert_pane(Pane::Slice(axis))).collect();
    let volume = tiles.insert_pane(Pane::Volume);
    let left = tiles.insert_vertical_tile(vec![panes[0], volume]);
    let right = tiles.insert_vertical_tile(vec![panes[1], panes[2]]);
    let root = tiles.insert_horizontal_tile(vec![left, right]);
    Tree::new(egui::Id::unique("views"), root, tiles)
}

struct Behavior<'a> {
    state: &'a State,
    luts: &'a Luts,
    /// The user has moved or resized a view.
    edited: bool,
}

impl egui_tiles::Behavior<Pane> for Behavior<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        match pane {
            Pane::Slice(axis) => slice_view::show(ui, self.state, self.luts, *axis),
            Pane::Volume => volume_view::show(ui, self.state, self.luts),
        }
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        match pane {
            Pane::Slice(axis) => view_title(self.state, *axis).into(),
            Pane::Volume => "3-D".into(),
        }
    }

    fn on_edit(&mut self, action: egui_tiles::EditAction) {
        use egui_tiles::EditAction::{TileDropped, TileResized};
        self.edited |= matches!(action, TileResized | TileDropped);
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..Default::default() }
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<Pane>,
        ui: &mut Ui,
        _tile: TileId,
        tabs: &egui_tiles::Tabs,
        _scroll: &mut f32,
    ) {
        let active = tabs.active.and_then(|id| tiles.get_pane(&id));
        if let Some(Pane::Slice(axis)) = active {
            slice_bar(ui, self.state, *axis);
        }
    }
}

/// Room for a view's title in its tab.
const TITLE_WIDTH: f32 = 92.0;

/// Slice number and maximise button in a view's title bar.
fn slice_bar(ui: &mut Ui, state: &State, axis: usize) {
    let Some(n) = state.extents() else { return };
    // The title keeps its place: what does not fit beside it is left out.
    let room = ui.available_width() - TITLE_WIDTH;
    ui.spacing_mut().item_spacing.x = 4.0;
    ui.add_space(4.0);
    let (rect, full) = ui.allocate_exact_size(egui::vec2(18.0, 18.0), egui::Sense::click());
    full.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Maximise {}", VIEW_NAMES[axis])));
    let ink = if full.hovered() { ui.visuals().strong_text_color() } else { ui.visuals().weak_text_color() };
    let frame = egui::Rect::from_center_size(rect.center(), egui::vec2(10.0, 10.0));
    ui.painter().rect_stroke(frame, 1.0, egui::Stroke::new(1.5, ink), egui::StrokeKind::Inside);
    if full.on_hover_text("Only this view").clicked() {
        state.commands.send(Command::Maximize(Some(axis)));
    }
    let mut index = state.crosshair[axis];
    if room > 104.0 {
        ui.label(egui::RichText::new(format!("/ {}", n[axis] - 1)).small().weak());
    }
    if room < 64.0 {
        return;
    }
    let drag = egui::DragValue::new(&mut index).range(0..=n[axis] - 1).speed(0.2);
    if ui.add(drag).accessible_name("Slice").changed() {
        let mut p = state.crosshair;
        p[axis] = index;
        state.commands.send(Command::Crosshair(p));
    }
}
