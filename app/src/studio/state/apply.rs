//! Carries out commands.

use super::State;
use super::document::widened;
use super::tools::{ThresholdOf, Tool};
use crate::studio::command::Command;
use crate::studio::data::slice::plane_axes;
use crate::studio::roi::model::{Measure, RegionItem};
use crate::studio::roi::shown_name;

impl State {
    pub fn apply(&mut self, command: Command) {
        match command {
            Command::AskOpen => self.ask_open(),
            Command::OpenSample => self.open_sample(),
            Command::Open(request) => self.open(request),
            Command::Missing(yes) => self.answer_missing(yes),
            Command::OpenVariable { variable, step } => self.open_variable(variable, step),
            Command::ShowOpenDialog(on) => {
                self.windows.open_dialog = on;
                self.open_error = None;
            }
            // A command may be older than the volume on screen: what lies outside it is nowhere.
            Command::Hover(axis, voxel) => {
                (self.hover_axis, self.hover) = (Some(axis), voxel.filter(|v| self.holds(*v)));
            }
            Command::Crosshair(p) => self.set_crosshair(p),
            Command::Step { axis, by } => self.step(axis, by),
            Command::Display(display) => self.display = *display,
            Command::ColorMap(map) => self.display.color_map = map,
            Command::AutoWindow => self.auto_window(),
            Command::Pane { axis, view } => self.panes[axis] = view,
            Command::ShowVolume => self.show_volume(),
            Command::Camera(camera) => self.camera = camera,
            Command::ResetPanes => self.reset_panes(),
            Command::Maximize(axis) => self.maximized = axis,
            Command::Layout(layout) => self.layout = layout,
            Command::ResetLayout => self.arrange(None),
            Command::Visible { axis, slot, lo, hi } => self.show_plane(axis, slot, lo, hi),
            Command::Compare(compare) => self.compare = compare,
            Command::Tool(tool) => self.pick_tool(tool),
            Command::Tools(tools) => self.set_tools(*tools),
            Command::PreviousTool => self.pick_tool(self.tools.previous),
            Command::Tier(tier) => self.tools.tier = tier.min(self.roi.tiers.len() - 1),
            Command::ShowHelp(on) => self.windows.help = on,
            Command::ShowHints(on) => self.show_hints(on),
            Command::DarkMode(on) => self.set_dark(on),
            Command::DismissNotice(i) => {
                if i < self.notices.len() {
                    self.notices.remove(i);
                }
            }
            Command::CopyText(text) => self.copy = Some(text),
            Command::Quit => self.quit = true,
            Command::Cancel(id) => self.jobs.cancel(id),
            other => self.apply_to_roi(other),
        }
    }

    fn apply_to_roi(&mut self, command: Command) {
        match command {
            Command::SetTiers(tiers) => self.set_tiers(tiers),
            Command::RemoveTier(i) => self.remove_tier(i),
            Command::RaiseTier(i) => self.raise_tier(i),
            Command::StrokeBegin { erase, axis } => self.begin_stroke(erase, axis),
            Command::StrokeTo(points) => self.extend_stroke(&points),
            Command::StrokeEnd => self.release_stroke(),
            Command::AddRegion { name, kind } => self.add_region(name, kind, None),
            Command::RegionOn(id, on) => self.edit_region("region switch", id, |r| r.on = on),
            Command::RegionTier(id, tier) => self.edit_region("move to tier", id, |r| r.tier = tier),
            Command::RenameRegion(id, name) => self.edit_region("rename region", id, |r| r.name = shown_name(&name)),
            Command::RemoveRegion(id) => {
                self.edit_lists("delete region", |roi| roi.regions.retain(|r| r.id != id));
            }
            Command::SelectRegion(id) => self.selected = id,
            Command::SetRegionKind(id, kind) => self.edit_region("region change", id, |r| {
                r.kind = kind;
                r.coverage = None;
            }),
            Command::Flood(seed) if self.holds(seed) => self.flood(seed),
            Command::ApplyThreshold => self.apply_threshold(),
            Command::Morphology(operation) => self.morph(operation),
            Command::ApplyMorphology => self.apply_morph(),
            Command::CancelMorphology => self.cancel_morph(),
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            other => self.apply_to_files(other),
        }
    }

    fn apply_to_files(&mut self, command: Command) {
        match command {
            Command::Export(what) => self.ask_save(what),
            Command::SaveForm(form) => self.save = form,
            Command::BrowseSave => self.browse_save(),
            Command::SaveAs(what, path) => self.save_as(what, path),
            Command::RestoreLastSession => match self.settings.slot.last().filter(|p| p.exists()) {
                Some(path) => self.open_project_or_spec(path),
                None => self.say("No earlier session left work to restore"),
            },
            Command::OpenProject(path) => self.open_project_or_spec(path),
            Command::AnswerOffer(yes) => self.answer_offer(yes),
            Command::OpenKept(key) => self.open_kept(key),
            Command::MeasureDevice(device) => self.measure_device(device),
            Command::ImportForm(form) => self.import = form,
            Command::BrowseImport => self.browse_import(),
            Command::ImportMask(form) => self.import_mask(form),
            Command::Run(request) => self.enqueue(request),
            Command::ClearQueue => self.runs.queue.clear(),
            Command::RunCurrent => self.enqueue(self.runs.settings.clone()),
            Command::Runs(edit) => self.edit_runs(edit),
            Command::ShowResults(on) => self.windows.results = on,
            Command::ShowPlots(on) => self.windows.plots = on,
            Command::Plots(settings) => self.plots.settings = settings,
            Command::Sweep(request) => self.sweep(request),
            Command::ClearSweeps => self.plots.sweeps.clear(),
            Command::CopyCommandLine(id) => self.copy_command_line(id),
            _ => {}
        }
    }

    fn edit_region(&mut self, name: &'static str, id: u64, edit: impl FnOnce(&mut RegionItem)) {
        self.edit_lists(name, |roi| {
            if let Some(region) = roi.region_mut(id) {
                edit(region);
            }
        });
    }

    fn undo(&mut self) {
        if self.stroke.is_some() {
            return self.cancel_stroke();
        }
        if self.pending_morph.is_some() {
            return self.cancel_morph();
        }
        if self.history.undo(&mut self.roi) {
            self.touched();
        }
    }
    fn redo(&mut self) {
        self.apply_morph();
        if self.stroke.is_none() && self.history.redo(&mut self.roi) {
            self.touched();
        }
    }

    pub(super) fn set_crosshair(&mut self, p: [usize; 3]) {
        if let Some(n) = self.extents() {
            self.crosshair = std::array::from_fn(|a| p[a].min(n[a] - 1));
        }
    }

    fn step(&mut self, axis: usize, by: isize) {
        let mut p = self.crosshair;
        p[axis] = p[axis].saturating_add_signed(by);
        self.set_crosshair(p);
    }

    /// 0.1 % tails over finite values.
    pub(super) fn auto_window(&mut self) {
        let Some(document) = &self.document else { return };
        self.display.window = match &document.stats {
            Some(stats) if stats.valid > 0 => widened(stats.percentile(0.1), stats.percentile(99.9)),
            _ => document.first_window,
        };
    }

    /// Arranges the views as in a project, or as at first.
    pub(super) fn arrange(&mut self, layout: Option<serde_json::Value>) {
        self.layout = layout.clone();
        self.layout_wanted = Some(layout);
    }

    fn reset_panes(&mut self) {
        self.panes = Default::default();
        if let Some(n) = self.extents() {
            for axis in 0..3 {
                let [av, au] = plane_axes(axis);
                self.panes[axis].center = [n[au] as f64 / 2.0, n[av] as f64 / 2.0];
            }
        }
    }

    fn pick_tool(&mut self, tool: Tool) {
        self.end_stroke();
        self.tools.pick(tool);
        self.need_gradient();
        self.fit_first_interval();
    }

    /// Where so many values are nearly equal that the first interval has no width to see, the threshold tool starts with the
    /// middle of the range instead: two handles to take.
    pub(super) fn fit_first_interval(&mut self) {
        let Some(stats) = self.document.as_ref().and_then(|d| d.stats.clone()) else { return };
        let t = &self.tools;
        if t.tool != Tool::Threshold || t.threshold_of != ThresholdOf::Value || !t.has_first_interval() {
            return;
        }
        let [lo, hi] = self.mask_interval();
        if hi - lo < 0.02 * stats.range() && stats.max > stats.min {
            (self.tools.measure, self.tools.lo, self.tools.hi) = (Measure::Range, 25.0, 75.0);
        }
    }

    fn set_tools(&mut self, tools: super::tools::Tools) {
        self.tools = tools;
        self.need_gradient();
    }

    fn show_hints(&mut self, on: bool) {
        self.windows.hints = on;
        self.settings.show_hints = on;
        self.settings.save();
    }

    fn set_dark(&mut self, on: bool) {
        self.dark = on;
        self.settings.dark = on;
        self.settings.save();
    }
}
