//! Writes results to files, off the UI thread, and says what the equivalent command line is.

use super::State;
use super::compare::LayerChoice;
use super::files::write_beside;
use super::runs::{Match, RunRequest, RunTolerance};
use crate::studio::command::Export;
use crate::studio::data::labels::{LabelInput, LabelRegion, label_slice};
use crate::studio::data::slice::{Geometry, Layer};
use crate::studio::jobs::Done;
use crate::studio::picture::{self, PictureOverlay};
use crate::studio::report::{self, Figure};
use anyhow::Context as _;
use blockmgard::params::Points;
use blockmgard::volume::Volume;
use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::{Basis, Entropy, Mode};
use std::path::{Path, PathBuf};

/// The save dialog: what, and the path typed so far.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveForm {
    pub what: Export,
    pub path: String,
}

/// Work of an export, ready to run on another thread.
type Writer = Box<dyn FnOnce(&Path) -> anyhow::Result<()> + Send>;

impl State {
    /// Opens the save dialog with a likely path.
    pub(super) fn ask_save(&mut self, what: Export) {
        let Some(document) = &self.document else { return self.complain("Open a volume first") };
        let stem = document.path.with_extension("");
        let stem = stem.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = std::env::current_dir().unwrap_or_default();
        let (ending, tail) = match what {
            Export::Spec => ("toml", ".roi"),
            Export::Masks => ("npy", "_labels"),
            Export::Map => ("npy", "_tolerance"),
            Export::Project => ("json", ".project"),
            Export::Stream(_) => ("bmg", ""),
            Export::Reconstruction(_) => ("npy", "_rebuilt"),
            Export::ViewPicture => ("png", "_view"),
            Export::TableCsv => ("csv", "_runs"),
            Export::TableJson => ("json", "_runs"),
            Export::Report => ("html", "_report"),
        };
        let path = folder.join(format!("{stem}{tail}.{ending}")).display().to_string();
        self.save = Some(SaveForm { what, path });
    }

    /// Writes to a path; the dialog closes.
    pub(super) fn save_as(&mut self, what: Export, path: PathBuf) {
        self.save = None;
        let writer = match self.writer(what) {
            Ok(writer) => writer,
            Err(error) => return self.complain(format!("Nothing to save: {error:#}")),
        };
        self.jobs.spawn(format!("Saving {}", path.display()), move |_| {
            writer(&path)?;
            let done: Done<State> = Box::new(move |state: &mut State| state.say(format!("Saved {}", path.display())));
            Ok(done)
        });
    }

    fn writer(&self, what: Export) -> anyhow::Result<Writer> {
        Ok(match what {
            Export::Spec => {
                let spec = self.spec()?;
                Box::new(move |path| {
                    let json = path.extension().is_some_and(|e| e == "json");
                    let text = if json { spec.to_json()? } else { spec.to_toml()? };
                    write_beside(path, text.as_bytes())
                })
            }
            Export::Project => {
                let text = serde_json::to_string_pretty(&self.project()?)?;
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
            Export::Masks => self.label_writer()?,
            Export::Map => {
                let map = self.mapping.result.as_ref().and_then(|r| r.levels.first()).context("no map yet")?.clone();
                let volume = self.volume()?;
                Box::new(move |path| {
                    let payload = Payload::tolerance_map(&map, &volume.shape, &volume.meta)?;
                    Ok(write_file(path, WriteFormat::from_path(path)?, &payload)?)
                })
            }
            Export::Stream(id) => {
                let stream = self.runs.get(id).context("the run was removed")?.stream.clone();
                Box::new(move |path| write_beside(path, &stream))
            }
            Export::Reconstruction(id) => {
                let values = self.runs.get(id).and_then(|r| r.reconstruction.clone()).context("the run was removed")?;
                let volume = Volume { values, ..self.volume()? };
                Box::new(move |path| Ok(write_file(path, WriteFormat::from_path(path)?, &Payload::volume(&volume))?))
            }
            Export::ViewPicture => self.picture_writer(self.compare.a, self.focus_axis(), 4)?,
            Export::TableCsv => {
                let text = report::csv(&self.runs.sorted());
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
            Export::TableJson => {
                let runs = self.runs.sorted();
                let commands: Vec<String> = runs.iter().map(|r| self.command_line(&r.request)).collect();
                let text = serde_json::to_string_pretty(&report::json(&runs, &commands))?;
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
            Export::Report => {
                let text = self.report()?;
                Box::new(move |path| write_beside(path, text.as_bytes()))
            }
        })
    }

    fn volume(&self) -> anyhow::Result<Volume> {
        Ok(self.document.as_ref().context("open a volume first")?.volume.clone())
    }

    /// What the label worker needs.
    pub fn label_input(&self) -> Option<LabelInput> {
        let document = self.document.as_ref()?;
        let (max_abs, range) = self.scales();
        let region = |r: &crate::studio::roi::model::RegionItem| LabelRegion {
            tier: r.tier as u8,
            kind: r.kind.clone(),
            interval: self.interval_of(&r.kind),
        };
        Some(LabelInput {
            values: document.shown.clone(),
            spacing: document.spacing(),
            regions: self.roi.regions.iter().filter(|r| r.on).map(region).collect(),
            strictness: self.roi.strictness(max_abs, range),
        })
    }

    /// All regions as one label volume: 0 = background, k = tier k.
    fn label_writer(&self) -> anyhow::Result<Writer> {
        let input = self.label_input().context("open a volume first")?;
        let volume = self.volume()?;
        Ok(Box::new(move |path| {
            let n = volume.shape.n;
            let mut labels = Vec::with_capacity(volume.shape.len());
            for z in 0..n[0] {
                let g = Geometry { axis: 0, index: z, origin: [0; 2], stride: 1, size: [n[2], n[1]] };
                // A label is tier + 1; in the file the tier's own index says more.
                labels.extend(label_slice(&input, &g)?.texels.iter().map(|l| l.saturating_sub(1)));
            }
            let payload = Payload::mask(&labels, volume.shape, &volume.meta)?;
            Ok(write_file(path, WriteFormat::from_path(path)?, &payload)?)
        }))
    }

    fn picture_writer(&self, choice: LayerChoice, axis: usize, scale: u32) -> anyhow::Result<Writer> {
        let (layer, geometry) = self.picture_source(choice, axis)?;
        let (look, input) = (self.layer_look(choice), self.label_input());
        let colors: Vec<[u8; 3]> = self.roi.tiers.iter().map(|t| t.color).collect();
        let opacity = if self.display.overlay == super::display::Overlay::Off { 0.0 } else { self.display.opacity };
        Ok(Box::new(move |path| {
            let slice = layer.image(geometry)?;
            let labels = input.filter(|_| opacity > 0.0).map(|i| label_slice(&i, &geometry)).transpose()?;
            let overlay = labels.as_ref().map(|labels| PictureOverlay { labels, colors: &colors, opacity });
            write_beside(path, &picture::png(&picture::draw(&slice, &look, overlay.as_ref(), scale))?)
        }))
    }

    fn picture_source(&self, choice: LayerChoice, axis: usize) -> anyhow::Result<(Layer, Geometry)> {
        let n = self.extents().context("open a volume first")?;
        let layer = self.layer(choice).context("the run has no reconstruction")?;
        let most = n.iter().copied().max().unwrap_or(1);
        Ok((layer, Geometry::covering(n, axis, self.crosshair[axis], [0; 2], [most; 2])))
    }

    /// The HTML report: table, pictures of the axial slice, command lines.
    fn report(&self) -> anyhow::Result<String> {
        let document = self.document.as_ref().context("open a volume first")?;
        let runs = self.runs.sorted();
        let commands: Vec<String> = runs.iter().map(|r| self.command_line(&r.request)).collect();
        let axis = self.focus_axis();
        let mut layers = vec![LayerChoice::Original];
        layers.extend(runs.iter().flat_map(|r| [LayerChoice::Run(r.id), LayerChoice::ErrorOverTau(r.id)]));
        let mut figures = vec![];
        for choice in layers {
            let (layer, geometry) = self.picture_source(choice, axis)?;
            let slice = layer.image(geometry)?;
            let scale = (340 / slice.size[0].max(1)).clamp(1, 4) as u32;
            let png = picture::png(&picture::draw(&slice, &self.layer_look(choice), None, scale))?;
            figures.push(Figure { title: self.layer_name(choice), png });
        }
        let title = format!("BlockMGARD report: {}", document.title());
        Ok(report::html(&title, &report::facts(document), &runs, &commands, &figures))
    }

    /// The command line that makes the same stream; regions come from a spec file saved beside.
    pub fn command_line(&self, request: &RunRequest) -> String {
        let mut words = vec!["blockmgard".to_owned(), "compress".to_owned()];
        let stem = self.document.as_ref().map_or_else(|| PathBuf::from("volume"), |d| d.path.clone());
        words.push(quoted(&self.document.as_ref().map_or_else(String::new, |d| d.named_path())));
        words.push("-o".to_owned());
        words.push(quoted(&stem.with_extension("bmg").display().to_string()));
        let (max_abs, range) = self.scales();
        let taus = || self.roi.tiers.iter().map(|t| t.tolerance.absolute(max_abs, range));
        match request.tolerance {
            RunTolerance::Regions => {
                words.extend(["--roi".to_owned(), quoted(&stem.with_extension("roi.toml").display().to_string())])
            }
            RunTolerance::UniformStrictest => words.push(format!("--abs {}", taus().fold(f64::INFINITY, f64::min))),
            RunTolerance::UniformBackground => words.push(format!("--abs {}", taus().next().unwrap_or(0.0))),
        }
        match request.matched {
            Match::Nothing => {}
            Match::Ratio(r) => words.push(format!("--ratio {r}")),
            Match::Psnr(db) => words.push(format!("--psnr {db}")),
        }
        words.extend(method_words(request));
        if let Some(d) = &self.document {
            words.extend(hint_words(d));
        }
        words.join(" ")
    }
}

fn method_words(request: &RunRequest) -> Vec<String> {
    let p = &request.params;
    let mut words = match p.mode {
        Mode::Pyramid => {
            let points = match p.points {
                Points::Auto => "auto",
                Points::Two => "2",
                Points::Four => "4",
                Points::Six => "6",
            };
            vec!["--mode pyramid".to_owned(), format!("--tile {} --points {points}", p.tile)]
        }
        Mode::Hybrid => {
            let basis = if p.basis == Basis::Projection { "projection" } else { "hierarchical" };
            let entropy = if p.entropy == Entropy::Class { "class" } else { "huffman" };
            let budget = if p.budget == blockmgard::params::Budget::Uniform { "uniform" } else { "coefficients" };
            vec![
                "--mode hybrid".to_owned(),
                format!("-L {} -M {} --basis {basis}", p.local_levels, p.global_levels),
                format!("--entropy {entropy} --budget {budget}"),
            ]
        }
    };
    words.push(format!("--device {}", request.device));
    words
}

fn hint_words(document: &super::document::Document) -> Vec<String> {
    let h = &document.hints;
    let mut words = vec![];
    if let Some(dims) = &h.dims {
        words.push(format!("--dims {}", dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x")));
    }
    if let Some(t) = h.dtype {
        words.push(format!("--type {t}"));
    }
    if h.big_endian == Some(true) {
        words.push("--big-endian".to_owned());
    }
    if h.offset > 0 {
        words.push(format!("--offset {}", h.offset));
    }
    if document.dataset.variables()[document.variable].steps() > 1 {
        words.push(format!("--index {}", document.step));
    }
    words
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
