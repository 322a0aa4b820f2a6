//! The open volume: where it came from, its values, and what is known of them.

use super::sample;
use crate::studio::data::shown::shown;
use crate::studio::data::slice::{Geometry, read_texels};
use crate::studio::data::stats::BlockStats;
use crate::studio::data::stream_file::{self, StreamFacts};
use crate::studio::roi::shown_name;
use anyhow::Context as _;
use blockmgard::volume::{self, Dataset, NodeSteps, OpenHints, Stats, StoredType, Values, Volume};
use blockmgard::{Control, Element, with_values};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the user asks to open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenRequest {
    /// A path, or `PATH:VARIABLE`.
    pub path: String,
    pub hints: OpenHints,
    pub variable: Option<String>,
    pub step: usize,
}

/// The volume on screen.
pub struct Document {
    pub path: PathBuf,
    pub hints: OpenHints,
    pub dataset: Arc<dyn Dataset>,
    pub variable: usize,
    pub step: usize,
    pub volume: Volume,
    /// The volume's values with missing ones as NaN.
    pub shown: Values,
    /// Guess of a good window from one slice, until the statistics are there.
    pub first_window: [f64; 2],
    pub stats: Option<Arc<Stats>>,
    pub blocks: Option<Arc<BlockStats>>,
    /// Statistics and block extremes of the gradient magnitude, made when first needed.
    pub gradient: Option<Arc<GradientInfo>>,
    /// Values that look like codes for "missing" and are data, says the user (bits).
    pub kept_codes: Vec<u64>,
    /// What a `.bmg` stream knows of itself.
    pub stream: Option<StreamFacts>,
}

/// What gradient thresholds need.
pub struct GradientInfo {
    pub stats: Stats,
    pub blocks: Arc<BlockStats>,
}

impl Document {
    /// Opens a file and looks at its middle slice. Off the UI thread.
    pub fn open(request: &OpenRequest, control: &Control) -> anyhow::Result<Self> {
        let (path, named) = split_variable(&request.path);
        if path.file_name().is_some_and(|n| n == sample::NAME) && !path.exists() {
            return sample::document();
        }
        if stream_file::is_stream(&path) {
            let (dataset, facts) = stream_file::open(&path, control)?;
            let document = Self::of_dataset(path, OpenHints::default(), Arc::new(dataset), 0, 0)?;
            // The stream knows its range: no need to guess from one slice.
            let [lo, hi] = facts.extent;
            let first_window = if lo <= hi { widened(lo, hi) } else { document.first_window };
            return Ok(Self { stream: Some(facts), first_window, ..document });
        }
        let dataset: Arc<dyn Dataset> = volume::open(&path, &request.hints)?.into();
        let wanted = request.variable.clone().or(named);
        let variable = find_variable(&*dataset, wanted.as_deref())?;
        Self::of_dataset(path, request.hints.clone(), dataset, variable, request.step)
    }

    /// Another volume of the same file.
    pub fn of_dataset(
        path: PathBuf,
        hints: OpenHints,
        dataset: Arc<dyn Dataset>,
        variable: usize,
        step: usize,
    ) -> anyhow::Result<Self> {
        let volume = dataset.open(variable, step).with_context(|| format!("cannot read {}", path.display()))?;
        let shown = shown(&volume);
        let first_window = window_of_slice(&shown)?;
        Ok(Self {
            path,
            hints,
            dataset,
            variable,
            step,
            volume,
            shown,
            first_window,
            stats: None,
            blocks: None,
            gradient: None,
            kept_codes: vec![],
            stream: None,
        })
    }

    /// The path as the command line takes it: `FILE:VARIABLE` where there are several.
    pub fn named_path(&self) -> String {
        let variables = self.dataset.variables();
        let path = self.path.display();
        if variables.len() > 1 { format!("{path}:{}", variables[self.variable].name) } else { path.to_string() }
    }

    /// File name, and the variable where there are several.
    pub fn title(&self) -> String {
        let file = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let variables = self.dataset.variables();
        match variables.len() {
            0 | 1 => file,
            _ => format!("{file} · {}", variables[self.variable].name),
        }
    }

    /// How far the nodes lie apart, uneven axes by their coordinates.
    pub fn steps(&self) -> NodeSteps {
        NodeSteps::of(&self.volume.meta, self.volume.shape.n)
    }

    /// Names of the three axes, slowest first.
    pub fn axis_names(&self) -> [String; 3] {
        let given = &self.volume.meta.axes;
        let lead = 3usize.saturating_sub(given.len());
        std::array::from_fn(|a| {
            let name = if a >= lead { given.get(a - lead).map(|n| shown_name(n)) } else { None };
            name.filter(|n| !n.is_empty()).unwrap_or_else(|| ["z", "y", "x"][a].to_owned())
        })
    }

    pub fn max_abs(&self) -> f64 {
        self.stats.as_ref().map_or(self.first_window[0].abs().max(self.first_window[1].abs()), |s| s.max_abs)
    }
    pub fn range(&self) -> f64 {
        self.stats.as_ref().map_or(self.first_window[1] - self.first_window[0], |s| s.range())
    }
}

/// `file.nc:temperature` names a variable, unless a file of that whole name exists.
fn split_variable(text: &str) -> (PathBuf, Option<String>) {
    let whole = PathBuf::from(text);
    match text.rsplit_once(':') {
        Some((path, name)) if !whole.exists() && Path::new(path).exists() => {
            (PathBuf::from(path), Some(name.to_owned()))
        }
        _ => (whole, None),
    }
}

fn find_variable(dataset: &dyn Dataset, name: Option<&str>) -> anyhow::Result<usize> {
    let variables = dataset.variables();
    let Some(name) = name else {
        // The largest one is what most people come for.
        let size = |i: &usize| variables[*i].extents.iter().product::<usize>();
        return (0..variables.len()).rev().max_by_key(size).context("the file holds no variable with numbers");
    };
    variables.iter().position(|v| v.name == name).with_context(|| {
        let names: Vec<_> = variables.iter().map(|v| v.name.as_str()).collect();
        format!("no variable {name}; the file has {}", names.join(", "))
    })
}

/// 0.1 % tails of the finite values of the middle slice.
fn window_of_slice(values: &Values) -> anyhow::Result<[f64; 2]> {
    let n = with_values!(values, f => f.extents());
    let g = Geometry::covering(n, 0, n[0] / 2, [0, 0], [n[2], n[1]]);
    let mut values: Vec<f64> = with_values!(values, f => {
        read_texels(&**f, &g)?.iter().map(|v| v.to_f64()).filter(|v| v.is_finite()).collect()
    });
    if values.is_empty() {
        return Ok([0.0, 1.0]);
    }
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[((values.len() - 1) as f64 * p) as usize];
    Ok(widened(at(0.001), at(0.999)))
}

/// A window of nonzero width.
pub fn widened(lo: f64, hi: f64) -> [f64; 2] {
    if hi > lo {
        [lo, hi]
    } else {
        let pad = if lo == 0.0 { 1.0 } else { lo.abs() * 0.01 };
        [lo - pad, lo + pad]
    }
}

/// Shapes and types that a raw file of this size may have, likeliest first.
pub fn raw_suggestions(path: &Path, stored: StoredType, offset: u64) -> Vec<Vec<usize>> {
    let bytes = std::fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    volume::suggest_shapes(bytes.saturating_sub(offset), stored)
}
