//! `blockmgard verify`.

use super::args::{DeviceArg, Input};
use super::parse;
use super::progress::Session;
use anyhow::Result;
use blockmgard::Error;
use blockmgard::job;
use blockmgard::metrics::{Comparison, Report, compare};
use blockmgard::stream::{Archive, Provenance};
use blockmgard::volume::{OpenHints, Volume};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Args)]
pub struct Verify {
    /// The original, as it was given to `compress`
    #[command(flatten)]
    input: Input,
    /// The stream made of it
    #[arg(value_name = "X.bmg")]
    stream: PathBuf,
    /// Memory to keep within (1GiB)
    #[arg(long, value_parser = parse::bytes, value_name = "SIZE")]
    memory: Option<u64>,
    #[command(flatten)]
    device: DeviceArg,
}

impl Verify {
    /// True when every value keeps its tolerance.
    pub fn run(&self, session: &Session) -> Result<bool> {
        let archive = Archive::open(&self.stream)?;
        let provenance = archive.provenance()?;
        let original = self.original(&archive, &provenance, session)?;
        let opened = self.device.open()?;
        let region = archive.header().shape.region();
        let (rebuilt, _) = session.watch("decompress", |control| {
            job::decompress_volume(&archive, &region, &*opened.backend, self.memory, control)
        })?;
        let map = archive.tolerance()?;
        let background = provenance.roi.as_ref().and_then(|roi| roi.get("background")?.as_str());
        let comparison = Comparison {
            original: &original,
            reconstructed: &rebuilt,
            tolerance: &map,
            background: background.and_then(|name| map.tiers.iter().position(|t| t.name == name)),
            compressed_bytes: Some(archive.len_bytes()),
        };
        let report = session.watch("compare", |control| compare(&comparison, control))?;
        session.print(&serde_json::to_value(&report)?, &text(&report))?;
        Ok(report.violations == 0)
    }
    /// What the command line leaves out is taken from the stream: shape and type of a raw file, variable, step.
    fn original(&self, archive: &Archive, provenance: &Provenance, session: &Session) -> Result<Volume> {
        let mut input = self.input.clone();
        let variable = &provenance.volume.variable;
        if input.index.is_none() {
            input.index = provenance.volume.step;
        }
        let mut volume = match input.volume() {
            Err(_) if !variable.is_empty() && !input.file.contains(':') => {
                input.file = format!("{}:{variable}", input.file);
                input.volume()?
            }
            Err(_) if input.index.is_none() && input.hints.is_empty() => {
                let header = archive.header();
                let (dims, dtype) = (Some(header.shape.extents().to_vec()), Some(header.dtype.into()));
                input.volume_with(&OpenHints { dims, dtype, ..OpenHints::default() })?
            }
            opened => opened?,
        };
        let header = archive.header();
        if volume.shape.n != header.shape.n && input.hints.is_empty() && volume.shape.len() == header.shape.len() {
            // A raw file whose name says another shape than the one it was compressed with.
            let hints = OpenHints { dims: Some(header.shape.extents().to_vec()), ..OpenHints::default() };
            let said = volume.shape;
            volume = input.volume_with(&hints)?;
            session.note(&format!("note: read as {}, as the stream says, not as {said}", header.shape));
        }
        if volume.shape.n != header.shape.n {
            let message = format!("{} holds {}, the stream {}", input.file, volume.shape, header.shape);
            let remedy = "give the options that it was compressed with: --dims, and --box where it is of a box";
            return Err(Error::invalid(message).remedy(remedy).into());
        }
        volume.missing = provenance.missing.clone();
        Ok(volume)
    }
}

fn text(report: &Report) -> String {
    let mut out = format!(
        "{} of {} values violate their bound; largest error {:.6e}, {:.6} of the tolerance\n",
        report.violations, report.count, report.max_error, report.max_error_over_tau
    );
    let roi = report.roi_psnr_db.map_or(String::new(), |db| format!(", ROI {db:.2} dB"));
    let ssim = report.ssim.as_ref().map_or(String::new(), |s| format!(", SSIM of a slice {:.6}", s.value));
    let _ = writeln!(out, "PSNR {:.2} dB{roi}, NRMSE {:.4e}{ssim}", report.psnr_db, report.nrmse);
    for tier in &report.tiers {
        let _ = writeln!(
            out,
            "{}: tolerance {:.6e}, {} values, largest error {:.6e} ({:.6} of it), PSNR {:.2} dB, {} violations",
            tier.name, tier.tau, tier.values, tier.max_error, tier.max_error_over_tau, tier.psnr_db, tier.violations
        );
    }
    out
}
