//! Everything the user can ask for. Panels, keys and gestures send these; the state carries them out.

use super::gpu::colormap::ColorMap;
use super::roi::model::{RegionId, RegionKind, TierDef};
use super::state::compare::{Compare, LayerChoice};
use super::state::display::{Display, PaneView};
use super::state::document::OpenRequest;
use super::state::tools::{Tool, Tools};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One request of the user.
#[derive(Debug)]
pub enum Command {
    /// Ask for a file in a dialog of the system, off the UI thread.
    AskOpen,
    Open(OpenRequest),
    /// The bundled sample with its regions.
    OpenSample,
    /// The answer to the question whether a value means "missing".
    Missing(bool),
    /// Another variable or step of the open file.
    OpenVariable {
        variable: usize,
        step: usize,
    },
    /// Show or hide the open dialog with its typed path and raw settings.
    ShowOpenDialog(bool),
    /// The view and voxel under the pointer.
    Hover(usize, Option<[usize; 3]>),
    Crosshair([usize; 3]),
    /// Move the slice of an axis.
    Step {
        axis: usize,
        by: isize,
    },
    Display(Box<Display>),
    ColorMap(ColorMap),
    AutoWindow,
    Pane {
        axis: usize,
        view: PaneView,
    },
    /// The 3-D view is on screen.
    ShowVolume,
    Camera(super::state::volume3d::Camera),
    ResetPanes,
    Maximize(Option<usize>),
    /// The user has arranged the views.
    Layout(Option<serde_json::Value>),
    /// The views as they were at first.
    ResetLayout,
    /// The part (u, v voxels) of a plane that a view shows now.
    Visible {
        axis: usize,
        slot: usize,
        lo: [usize; 2],
        hi: [usize; 2],
    },
    Compare(Compare),
    Tool(Tool),
    Tools(Box<Tools>),
    PreviousTool,
    Tier(usize),
    SetTiers(Vec<TierDef>),
    RemoveTier(usize),
    /// Swap a tier with the one above it.
    RaiseTier(usize),
    /// A brush or eraser drag: voxel positions along it, in order.
    StrokeBegin {
        erase: bool,
        axis: usize,
    },
    StrokeTo(Vec<[f64; 3]>),
    StrokeEnd,
    AddRegion {
        name: String,
        kind: RegionKind,
    },
    RegionOn(RegionId, bool),
    RegionTier(RegionId, usize),
    RenameRegion(RegionId, String),
    RemoveRegion(RegionId),
    SelectRegion(Option<RegionId>),
    SetRegionKind(RegionId, RegionKind),
    Flood([usize; 3]),
    ApplyThreshold,
    /// Show an operation on the selected painted region; then apply or cancel it.
    Morphology(Morphology),
    ApplyMorphology,
    CancelMorphology,
    /// Show the import dialog as filled in, or close it.
    ImportForm(Option<ImportForm>),
    /// The system's open dialog for the import dialog.
    BrowseImport,
    ImportMask(ImportForm),
    Undo,
    Redo,
    Run(super::state::runs::RunRequest),
    /// Run what the run panel is set to.
    RunCurrent,
    Cancel(u64),
    /// Drop the runs that wait.
    ClearQueue,
    Runs(super::state::runs::RunEdit),
    /// The command line that makes a run.
    CopyCommandLine(super::state::compare::RunId),
    ShowResults(bool),
    ShowPlots(bool),
    Plots(super::state::plots::PlotSettings),
    Sweep(super::state::runs::RunRequest),
    ClearSweeps,
    Export(Export),
    SaveForm(Option<super::state::export::SaveForm>),
    /// The system's save dialog.
    BrowseSave,
    SaveAs(Export, PathBuf),
    OpenProject(PathBuf),
    /// Take up the work that autosave kept of the last session.
    RestoreLastSession,
    /// The answer to the offer to do so.
    AnswerOffer(bool),
    /// Another volume of this session that has runs or regions.
    OpenKept(super::state::kept::VolumeKey),
    /// Measure the stages of a device, for time budgets.
    MeasureDevice(String),
    ShowHelp(bool),
    ShowHints(bool),
    DarkMode(bool),
    DismissNotice(usize),
    CopyText(String),
    Quit,
}

/// The import of a mask: where it is, and which of its labels is the region (all that are not 0 when `None`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportForm {
    pub path: String,
    pub label: Option<i64>,
}

/// Whole-mask operations on the selected painted region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Morphology {
    Grow,
    Shrink,
    KeepLargest,
    RemoveSmall,
    FillBetween,
}

impl Morphology {
    pub const ALL: [Self; 5] = [Self::Grow, Self::Shrink, Self::KeepLargest, Self::RemoveSmall, Self::FillBetween];
    pub fn title(self) -> &'static str {
        match self {
            Self::Grow => "Grow by one block",
            Self::Shrink => "Shrink by one block",
            Self::KeepLargest => "Keep the largest island",
            Self::RemoveSmall => "Remove islands under 8 blocks",
            Self::FillBetween => "Fill between painted slices",
        }
    }
}

/// Which picture is exported, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureForm {
    pub view: PictureView,
    pub layer: LayerChoice,
    /// Regions drawn over the values, or shells in the 3-D view.
    pub overlay: bool,
    /// Pixels per voxel; for the 3-D view, its size on screen times this.
    pub scale: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureView {
    /// The slice through the crosshair across this axis.
    Slice(usize),
    Volume,
}

/// What can be written to a file; the path is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Export {
    Spec,
    Masks,
    Map,
    Project,
    Stream(u64),
    Reconstruction(u64),
    Picture(PictureForm),
    TableCsv,
    TableJson,
    Report,
}

/// The sending end that panels hold.
#[derive(Clone)]
pub struct Commands(Sender<Command>);

impl Commands {
    pub fn new() -> (Self, Receiver<Command>) {
        let (send, receive) = channel();
        (Self(send), receive)
    }
    pub fn send(&self, command: Command) {
        // The receiver lives as long as the window.
        let _ = self.0.send(command);
    }
}
