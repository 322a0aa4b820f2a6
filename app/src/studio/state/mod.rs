//! The whole state of the studio in one place. Panels read it and send commands; [`State::apply`] carries them out.

pub mod apply;
pub mod aspect;
pub mod command_line;
pub mod compare;
pub mod coverage;
pub mod dialogs;
pub mod display;
pub mod document;
pub mod estimate;
pub mod export;
pub mod files;
pub mod kept;
pub mod layers;
pub mod mapping;
pub mod morph;
pub mod offer;
pub mod opening;
pub mod performing;
pub mod pictures;
pub mod plots;
pub mod probe;
pub mod project;
pub mod regions;
pub mod running;
pub mod runs;
pub mod sample;
pub mod saved;
pub mod slices;
pub mod strokes;
pub mod tools;
pub mod tuning;
pub mod volume3d;

use super::command::{Command, Commands, ImportForm};
use super::gpu::snapshot::Gpu;
use super::jobs::Jobs;
use super::roi::history::History;
use super::roi::model::{RegionId, Roi};
use blockmgard::roi::RoiSpec;
use compare::Compare;
use display::{Display, PaneView};
use document::Document;
use eframe::egui;
use mapping::Mapping;
use plots::Plots;
use runs::Runs;
use slices::Slices;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use strokes::Stroke;
use tools::Tools;
use volume3d::{Camera, Volume3d};

/// Undo keeps at most this much.
const UNDO_BYTES: usize = 256 << 20;

/// A message to the user, shown until dismissed or, when it is only good news, for a few seconds.
#[derive(Clone, Debug)]
pub struct Notice {
    pub text: String,
    pub error: bool,
    pub since: std::time::Instant,
}

/// Where regions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file that has them still.
    File,
    /// The stream on screen, which says itself what they hold.
    Stream,
    /// The user's hands, in this session or one before.
    Work,
}

/// Why a file did not open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenError {
    pub path: String,
    pub text: String,
    /// The file is there, and says too little of its shape or type.
    pub raw: bool,
}

/// Which windows are open.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    pub open_dialog: bool,
    pub help: bool,
    pub hints: bool,
    /// The results panel.
    pub results: bool,
    /// Plots rather than the table in the results panel.
    pub plots: bool,
}

pub struct State {
    pub commands: Commands,
    incoming: Receiver<Command>,
    pub jobs: Jobs<State>,
    pub document: Option<Document>,
    /// Counts opened volumes, so that late results of an earlier one are dropped.
    pub generation: u64,
    pub crosshair: [usize; 3],
    /// Voxel under the pointer, probed in place of the crosshair.
    pub hover: Option<[usize; 3]>,
    /// View that the pointer was over last.
    pub hover_axis: Option<usize>,
    pub panes: [PaneView; 3],
    pub maximized: Option<usize>,
    /// How the user has arranged the views; `None` as they were at first.
    pub layout: Option<serde_json::Value>,
    /// An arrangement that the app is to take over.
    pub layout_wanted: Option<Option<serde_json::Value>>,
    pub display: Display,
    pub compare: Compare,
    pub tools: Tools,
    pub roi: Roi,
    /// Moves on with every change of what the regions cover or the tiers demand.
    pub roi_version: u64,
    pub history: History,
    pub selected: Option<RegionId>,
    pub stroke: Option<Stroke>,
    pub pending_morph: Option<morph::PendingMorph>,
    /// A value of the open volume that may mean "missing"; the user is asked.
    pub suspect: Option<f64>,
    pub slices: Slices,
    pub probing: probe::Probing,
    pub mapping: Mapping,
    pub volume3d: Volume3d,
    pub camera: Camera,
    pub runs: Runs,
    /// Work on other volumes of this session.
    pub kept: Vec<kept::Kept>,
    pub tuning: tuning::Tuning,
    /// The last estimate and what it was made of.
    estimated: RefCell<Option<(estimate::Basis, Option<estimate::Estimate>)>>,
    /// The last session's work, offered to the user at the start.
    pub offer: Option<offer::Offer>,
    pub plots: Plots,
    pub notices: Vec<Notice>,
    pub windows: Windows,
    pub save: Option<export::SaveForm>,
    pub import: Option<ImportForm>,
    /// Where the ROI spec was saved last.
    pub spec_path: Option<PathBuf>,
    /// The window's graphics device; none in tests without one.
    pub gpu: Option<Gpu>,
    /// A spec that waits for the volume's statistics, and the folder of its mask files.
    pub pending_spec: Option<(RoiSpec, PathBuf, Origin)>,
    /// Whether the regions are the user's work rather than a file's.
    regions_are_work: bool,
    /// The tier of each block of the stream on screen, until its regions are changed: on decoded values they may hold other blocks.
    stream_tiers: Option<Arc<Vec<u8>>>,
    /// A project's window lock, set once its own window has been kept.
    pending_lock: Option<bool>,
    last_autosave: std::time::Instant,
    /// The last failed open, while the open dialog shows it.
    pub open_error: Option<OpenError>,
    pub settings: files::Settings,
    pub dark: bool,
    pub wake: Arc<dyn Fn() + Send + Sync>,
    /// Text for the clipboard and requests to the window, carried out by the app.
    pub copy: Option<String>,
    pub quit: bool,
}

impl State {
    pub fn new(ctx: &egui::Context, settings: files::Settings) -> Self {
        let (commands, incoming) = Commands::new();
        let repaint = ctx.clone();
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || repaint.request_repaint());
        Self {
            commands,
            incoming,
            jobs: Jobs::new(wake.clone()),
            document: None,
            generation: 0,
            crosshair: [0; 3],
            hover: None,
            hover_axis: None,
            panes: Default::default(),
            maximized: None,
            layout: None,
            layout_wanted: None,
            display: Display::default(),
            compare: Compare::default(),
            tools: Tools::default(),
            roi: Roi::default(),
            roi_version: 1,
            history: History::new(UNDO_BYTES),
            selected: None,
            stroke: None,
            pending_morph: None,
            suspect: None,
            slices: Slices::new(wake.clone()),
            probing: probe::Probing::new(wake.clone()),
            mapping: Mapping::new(wake.clone()),
            volume3d: Volume3d::new(wake.clone()),
            camera: Camera::default(),
            runs: Runs::default(),
            kept: vec![],
            tuning: tuning::Tuning::new(wake.clone()),
            estimated: RefCell::default(),
            offer: None,
            plots: Plots::new(wake.clone()),
            notices: vec![],
            windows: Windows { hints: settings.show_hints, ..Windows::default() },
            save: None,
            import: None,
            spec_path: None,
            gpu: None,
            pending_spec: None,
            regions_are_work: false,
            stream_tiers: None,
            pending_lock: None,
            last_autosave: std::time::Instant::now(),
            open_error: None,
            dark: settings.dark,
            settings,
            wake,
            copy: None,
            quit: false,
        }
    }

    /// Takes in finished work, then carries out what the user asked for since the last call. Says whether
    /// a command may have changed what is on screen.
    pub fn update(&mut self) -> bool {
        for (name, result) in self.jobs.finished() {
            match result {
                Ok(done) => done(self),
                Err(text) if text.is_empty() => self.say(format!("{name} cancelled")),
                Err(text) => self.complain(format!("{name}: {text}")),
            }
        }
        for error in self.slices.poll() {
            self.complain(error);
        }
        if let Some(error) = self.volume3d.poll() {
            self.complain(error);
        }
        self.mapping.poll();
        self.plots.poll();
        let pending: Vec<Command> = self.incoming.try_iter().collect();
        let mut changed = false;
        for command in pending {
            changed |= match &command {
                Command::Visible { .. } | Command::ShowVolume => false,
                Command::Hover(_, voxel) => *voxel != self.hover,
                _ => true,
            };
            self.apply(command);
        }
        self.continue_stroke(false);
        self.refresh_map();
        self.refresh_labels();
        self.refresh_profile();
        self.refresh_tuning();
        self.refresh_probe();
        self.autosave();
        let now = std::time::Instant::now();
        self.notices.retain(|n| n.error || now.duration_since(n.since).as_secs() < 6);
        changed
    }

    /// Whether nothing is running or waiting in the background.
    pub fn is_idle(&self) -> bool {
        self.jobs.running.is_empty()
            && self.slices.is_idle()
            && self.mapping.is_idle()
            && self.volume3d.is_idle()
            && self.plots.is_idle()
            && self.tuning.is_idle()
            && self.probing.is_idle()
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.notices.push(Notice { text: text.into(), error: false, since: std::time::Instant::now() });
    }
    pub fn complain(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.notices.iter().all(|n| n.text != text) {
            self.notices.push(Notice { text, error: true, since: std::time::Instant::now() });
        }
    }

    /// Extents of the open volume.
    pub fn extents(&self) -> Option<[usize; 3]> {
        self.document.as_ref().map(|d| d.volume.shape.n)
    }
    /// Whether a voxel lies in the open volume.
    pub fn holds(&self, voxel: [usize; 3]) -> bool {
        self.extents().is_some_and(|n| (0..3).all(|a| voxel[a] < n[a]))
    }
    /// Largest |u| and range, the bases of relative tolerances.
    pub fn scales(&self) -> (f64, f64) {
        self.document.as_ref().map_or((1.0, 1.0), |d| (d.max_abs(), d.range()))
    }
}
