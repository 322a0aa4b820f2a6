//! Compression runs: what is asked, the queue, and what came out.

use super::compare::RunId;
use super::performing::RunInput;
use blockmgard::job::{Goal, Report};
use blockmgard::params::{Budget, Points};
use blockmgard::volume::Values;
use blockmgard::{Basis, Entropy, Mode, Params, ToleranceMap, metrics};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Which tolerances a run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RunTolerance {
    /// The tiers and regions as they are.
    Regions,
    /// The strictest tier everywhere: what one pays without regions.
    UniformStrictest,
    /// The background tier everywhere.
    UniformBackground,
}

/// What a run is matched to, by scaling all tolerances together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Match {
    Nothing,
    Ratio(f64),
    Psnr(f64),
}

impl Match {
    pub fn goal(self) -> Option<Goal> {
        match self {
            Match::Nothing => None,
            Match::Ratio(r) => Some(Goal::Ratio(r)),
            Match::Psnr(db) => Some(Goal::Psnr(db)),
        }
    }
}

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequest {
    /// Empty for a name made from the settings.
    pub name: String,
    pub params: Params,
    pub tolerance: RunTolerance,
    /// As `--device` takes it.
    pub device: String,
    pub matched: Match,
    /// The hybrid mode picks the levels that are predicted to encode within these milliseconds.
    pub budget_ms: Option<f64>,
    /// Uniform tolerance that a run was asked for; set when the run is taken up.
    pub tau: Option<f64>,
    /// Where the run's regions are exported to; likewise.
    pub spec: Option<PathBuf>,
}

impl Default for RunRequest {
    fn default() -> Self {
        Self {
            name: String::new(),
            params: Params::default(),
            tolerance: RunTolerance::Regions,
            device: "auto".to_owned(),
            matched: Match::Nothing,
            budget_ms: None,
            tau: None,
            spec: None,
        }
    }
}

impl RunRequest {
    /// Ready-made settings with what they are for.
    pub fn presets() -> [(&'static str, &'static str, RunRequest); 7] {
        let hybrid = |local_levels, global_levels, basis, budget| Params {
            mode: Mode::Hybrid,
            local_levels,
            global_levels,
            basis,
            entropy: Entropy::Huffman,
            budget,
            ..Params::default()
        };
        let pyramid = |tile, points| Params { mode: Mode::Pyramid, tile, points, ..Params::default() };
        let with = |params| RunRequest { params, ..RunRequest::default() };
        [
            ("Best ratio", "Pyramid, tiles of 32", with(pyramid(32, Points::Auto))),
            (
                "Paper (L1 M2)",
                "The paper's hierarchy: projection, one local and two global levels",
                with(hybrid(1, 2, Basis::Projection, Budget::Uniform)),
            ),
            (
                "Local levels",
                "Hybrid, hierarchical basis, local levels only",
                with(hybrid(2, 0, Basis::Hierarchical, Budget::Coefficients)),
            ),
            ("Small tiles", "Pyramid, tiles of 16: faster on GPUs, f64 above all", with(pyramid(16, Points::Auto))),
            (
                "Balanced",
                "Pyramid, tiles of 32, predicted along one axis, groups: faster on GPUs, somewhat larger",
                with(Params::balanced()),
            ),
            ("Fast", "Pyramid, tiles of 8, bit planes: the most speed, larger streams", with(Params::fast())),
            (
                "Uniform strict",
                "The strictest tolerance everywhere, for comparison",
                RunRequest { tolerance: RunTolerance::UniformStrictest, ..with(pyramid(32, Points::Auto)) },
            ),
        ]
    }

    /// Uniform at the strictest tier, the paper's hybrid and the pyramid with the regions.
    pub fn three() -> [RunRequest; 3] {
        ["Uniform strict", "Paper (L1 M2)", "Best ratio"].map(Self::preset)
    }

    /// The preset of that name, or the usual settings.
    pub fn preset(name: &str) -> RunRequest {
        Self::presets().into_iter().find(|preset| preset.0 == name).map(|preset| preset.2).unwrap_or_default()
    }

    /// The time budget, which the hybrid mode alone keeps.
    pub fn budget(&self) -> Option<f64> {
        self.budget_ms.filter(|_| self.params.mode == Mode::Hybrid)
    }

    /// A name that says what the run is to be.
    pub fn title(&self) -> String {
        self.named(self.budget().is_none())
    }

    /// A name that says what the run is, with the levels that a budget gave.
    pub fn title_of_done(&self) -> String {
        self.named(true)
    }

    fn named(&self, levels: bool) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let p = &self.params;
        let method = match p.mode {
            Mode::Hybrid => {
                let basis = if p.basis == Basis::Projection { " proj." } else { "" };
                let levels = if levels { format!(" L{} M{}", p.local_levels, p.global_levels) } else { String::new() };
                let budget = self.budget().map_or_else(String::new, |ms| format!(" in {ms} ms"));
                format!("Hybrid{levels}{basis}{budget}")
            }
            Mode::Pyramid => {
                let coding = |p: &Params| (p.tile, p.coder, p.effective_order());
                match coding(p) {
                    own if own == coding(&Params::balanced()) => "Balanced".to_owned(),
                    own if own == coding(&Params::fast()) => "Fast".to_owned(),
                    _ => format!("Pyramid {} {}", p.tile, p.coding_name()).trim_end().to_owned(),
                }
            }
        };
        let what = match self.tolerance {
            RunTolerance::Regions => "ROI",
            RunTolerance::UniformStrictest => "uniform strict",
            RunTolerance::UniformBackground => "uniform loose",
        };
        let matched = match self.matched {
            Match::Nothing => String::new(),
            Match::Ratio(r) => format!(" at {r}:1"),
            Match::Psnr(db) => format!(" at {db} dB"),
        };
        format!("{method}, {what}{matched}")
    }
}

/// Edits of the results table.
#[derive(Clone, Debug)]
pub enum RunEdit {
    Settings(RunRequest),
    Rename(RunId, String),
    Pin(RunId, bool),
    Remove(RunId),
    Sort(Column),
}

/// Columns of the results table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Name,
    Ratio,
    Bits,
    Compress,
    Decompress,
    Time,
    Error,
    Psnr,
    RoiPsnr,
    Ssim,
    Device,
}

/// The bytes of a stream, and the name that a project keeps them under.
#[derive(Clone)]
pub struct Stream {
    pub bytes: Arc<Vec<u8>>,
    pub name: String,
}

impl Stream {
    /// Names them after their content. Reads them all: not for the UI thread.
    pub fn new(bytes: Vec<u8>) -> Self {
        use std::hash::Hasher;
        let mut hash = rustc_hash::FxHasher::default();
        hash.write(&bytes);
        let name = format!("{:016x}.bmg", hash.finish());
        Self { bytes: Arc::new(bytes), name }
    }
    /// Whether a file is named like one of these.
    pub fn is_name(name: &str) -> bool {
        name.strip_suffix(".bmg").is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit()))
    }
}

/// One finished run.
pub struct Run {
    pub id: RunId,
    pub name: String,
    pub pinned: bool,
    pub request: RunRequest,
    /// Absent when a project's stream was not found again.
    pub stream: Option<Stream>,
    pub compress: Report,
    /// Wall seconds of decoding the whole volume into memory.
    pub decompress_seconds: f64,
    /// What the device's kernels took of that, where the device tells.
    pub decompress_kernel_seconds: Option<f64>,
    /// Milliseconds of encoding in the device's kernels (on the CPU, in the backend).
    pub measured_ms: f64,
    /// The same as the device's stage models predicted it; hybrid mode on a device that was measured.
    pub predicted_ms: Option<f64>,
    pub metrics: metrics::Report,
    pub reconstruction: Option<Values>,
    pub tolerance: Option<Arc<ToleranceMap>>,
    /// Why the values cannot be shown.
    pub lost: Option<String>,
}

impl Run {
    pub fn decompress_gbps(&self) -> f64 {
        self.compress.original_bytes as f64 / 1e9 / self.decompress_seconds.max(1e-9)
    }
    pub fn decompress_kernel_gbps(&self) -> Option<f64> {
        self.decompress_kernel_seconds.map(|s| self.compress.original_bytes as f64 / 1e9 / s.max(1e-9))
    }
    /// The figure of a column, for sorting; names sort apart.
    pub fn figure(&self, column: Column) -> f64 {
        match column {
            Column::Name | Column::Device => 0.0,
            Column::Ratio => self.compress.ratio,
            Column::Bits => self.compress.bits_per_value,
            Column::Compress => self.compress.gbps,
            Column::Decompress => self.decompress_gbps(),
            Column::Time => self.measured_ms,
            Column::Error => self.metrics.max_error_over_tau,
            Column::Psnr => self.metrics.psnr_db,
            Column::RoiPsnr => self.metrics.roi_psnr_db.unwrap_or(f64::NAN),
            Column::Ssim => self.metrics.ssim.as_ref().map_or(f64::NAN, |s| s.value),
        }
    }
}

/// A run in the queue, with all that it needs as it was when the user asked for it; without that while the volume's
/// statistics are missing.
pub struct Waiting {
    pub request: RunRequest,
    pub(super) input: Option<RunInput>,
}

/// The runs of the open volume.
pub struct Runs {
    pub list: Vec<Run>,
    pub queue: VecDeque<Waiting>,
    /// What the run panel is set to.
    pub settings: RunRequest,
    pub sort: Option<(Column, bool)>,
    pub next_id: RunId,
}

impl Default for Runs {
    fn default() -> Self {
        Self { list: vec![], queue: VecDeque::new(), settings: RunRequest::default(), sort: None, next_id: 1 }
    }
}

impl Runs {
    pub fn get(&self, id: RunId) -> Option<&Run> {
        self.list.iter().find(|r| r.id == id)
    }
    pub fn get_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.list.iter_mut().find(|r| r.id == id)
    }

    /// A name that no run has yet: "Pyramid 16, ROI (2)".
    pub fn free_name(&self, name: String) -> String {
        let taken = |name: &String| self.list.iter().any(|r| r.name == *name);
        let numbered = (2..).map(|i| format!("{name} ({i})"));
        std::iter::once(name.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(name)
    }

    /// Runs as the table shows them: pinned first, then by the sorted column, else by age.
    pub fn sorted(&self) -> Vec<&Run> {
        let mut rows: Vec<&Run> = self.list.iter().collect();
        if let Some((column, descending)) = self.sort {
            rows.sort_by(|a, b| {
                let order = match column {
                    Column::Name => a.name.cmp(&b.name),
                    Column::Device => a.compress.device.cmp(&b.compress.device),
                    _ => a.figure(column).total_cmp(&b.figure(column)),
                };
                if descending { order.reverse() } else { order }
            });
        }
        rows.sort_by_key(|r| !r.pinned);
        rows
    }
}
