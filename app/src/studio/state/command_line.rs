//! The command line that does what a run did.

use super::State;
use super::compare::RunId;
use super::runs::{Match, RunRequest, RunTolerance};
use crate::studio::command::Export;
use blockmgard::params::{Budget, Points};
use blockmgard::{Basis, Coder, Entropy, Mode, Order, Params};

impl State {
    /// Copies a run's command line, and says which file it reads the regions from.
    pub(super) fn copy_command_line(&mut self, id: RunId) {
        let Some(request) = self.runs.get(id).map(|r| r.request.clone()) else { return };
        self.copy = Some(self.command_line(&request, id));
        match request.tolerance {
            RunTolerance::Regions => {
                let spec = request.spec.unwrap_or_else(|| self.usual_path(Export::Spec));
                self.say(format!(
                    "Command line copied. It reads the regions from {}: export the ROI spec there",
                    spec.display()
                ));
            }
            _ => self.say("Command line copied"),
        }
    }

    /// A request with what its command line needs of the tiers and regions as they are now.
    pub(super) fn asked(&self, request: RunRequest) -> RunRequest {
        let (tau, spec) = match request.tolerance {
            RunTolerance::Regions => (None, Some(self.usual_path(Export::Spec))),
            _ => (Some(self.uniform_tau(request.tolerance)), None),
        };
        RunRequest { tau, spec, ..request }
    }

    fn uniform_tau(&self, tolerance: RunTolerance) -> f64 {
        let mut taus = self.absolute_tiers().into_iter().map(|t| t.tau);
        match tolerance {
            RunTolerance::UniformBackground => taus.next().unwrap_or(0.0),
            _ => taus.fold(f64::INFINITY, f64::min),
        }
    }

    /// The command line that makes the stream of run `id`; regions come from the exported spec.
    pub fn command_line(&self, request: &RunRequest, id: RunId) -> String {
        let output = quoted(&self.usual_path(Export::Stream(id)).display().to_string());
        let deciding = self.source_words(request);
        format!("{deciding} {} --device {} -o {output}", method_words(&request.params), request.device)
    }

    /// The words that say what a stream is made of; with those of the method, all that decides its content.
    pub(super) fn source_words(&self, request: &RunRequest) -> String {
        let mut words = vec!["blockmgard".to_owned(), "compress".to_owned()];
        words.push(quoted(&self.document.as_ref().map_or_else(String::new, |d| d.named_path())));
        match request.tolerance {
            RunTolerance::Regions => {
                let spec = request.spec.clone().unwrap_or_else(|| self.usual_path(Export::Spec));
                words.extend(["--roi".to_owned(), quoted(&spec.display().to_string())]);
            }
            uniform => words.push(format!("--abs {}", request.tau.unwrap_or_else(|| self.uniform_tau(uniform)))),
        }
        match request.matched {
            Match::Nothing => {}
            Match::Ratio(r) => words.push(format!("--ratio {r}")),
            Match::Psnr(db) => words.push(format!("--psnr {db}")),
        }
        if let Some(d) = &self.document {
            words.extend(hint_words(d));
        }
        words.join(" ")
    }
}

/// The words that choose the method.
pub(super) fn method_words(p: &Params) -> String {
    match p.mode {
        Mode::Pyramid => {
            let points = match p.points {
                Points::Auto => "auto",
                Points::Two => "2",
                Points::Four => "4",
                Points::Six => "6",
            };
            let coder = match p.coder {
                Coder::Class => "class",
                Coder::Planes => "planes",
                Coder::Groups => "groups",
            };
            let order = match p.effective_order() {
                Order::Parity => "parity",
                Order::Axis => "axis",
            };
            format!("--mode pyramid --tile {} --points {points} --coder {coder} --order {order}", p.tile)
        }
        Mode::Hybrid => {
            let basis = if p.basis == Basis::Projection { "projection" } else { "hierarchical" };
            let entropy = if p.entropy == Entropy::Class { "class" } else { "huffman" };
            let budget = if p.budget == Budget::Uniform { "uniform" } else { "coefficients" };
            let levels = format!("-L {} -M {}", p.local_levels, p.global_levels);
            format!("--mode hybrid {levels} --basis {basis} --entropy {entropy} --budget {budget}")
        }
    }
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
    words.extend(h.missing.iter().map(|v| format!("--missing {v}")));
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
