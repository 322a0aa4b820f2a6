//! `blockmgard verify`.

use super::args::{DeviceArg, Input};
use super::compress::recorded_input;
use super::parse;
use super::progress::Session;
use super::text::plain;
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
    #[arg(value_parser = parse::stream, value_name = "X.bmg")]
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
    /// What the command line leaves out is taken from the stream: how its own file was read, shape and type of another raw one, variable, step.
    fn original(&self, archive: &Archive, provenance: &Provenance, session: &Session) -> Result<Volume> {
        let header = archive.header();
        let mut input = self.input.clone();
        let mut hints = input.hints.open();
        let says_shape = hints.dims.is_some() || input.region.is_some();
        input.index = input.index.or(provenance.volume.step);
        let recorded = recorded_input(&provenance.command).filter(|made| name_of(&made.file) == name_of(&input.file));
        if let Some(made) = recorded {
            let said = made.hints.open();
            hints.dims = hints.dims.or(said.dims);
            hints.dtype = hints.dtype.or(said.dtype);
            hints.big_endian = hints.big_endian.or(said.big_endian);
            hints.offset = if hints.offset == 0 { said.offset } else { hints.offset };
            input.region = input.region.or(made.region);
        }
        let extents = Some(header.shape.extents().to_vec());
        let exact = OpenHints {
            dims: hints.dims.clone().or_else(|| extents.clone()),
            dtype: hints.dtype.or(Some(header.dtype.into())),
            ..hints.clone()
        };
        let mut opened = input.volume_with(&hints).or_else(|error| input.volume_with(&exact).map_err(|_| error));
        let variable = &provenance.volume.variable;
        if opened.is_err() && !variable.is_empty() && !input.file.contains(':') {
            let named = Input { file: format!("{}:{variable}", input.file), ..input.clone() };
            opened = opened.or_else(|error| named.volume_with(&hints).map_err(|_| error));
        }
        let mut volume = opened?;
        if volume.shape.n != header.shape.n && !says_shape && volume.shape.len() == header.shape.len() {
            // A raw file whose name says another shape than the one it was compressed with.
            let other = input.volume_with(&OpenHints { dims: extents, ..hints });
            if let Some(other) = other.ok().filter(|other| other.shape.n == header.shape.n) {
                session.note(&format!("note: read as {}, as the stream says, not as {}", header.shape, volume.shape));
                volume = other;
            }
        }
        if volume.shape.n != header.shape.n {
            let message = format!("{} holds {}, the stream {}", input.file, volume.shape, header.shape);
            let remedy =
                "give the options that it was compressed with: --dims for a raw file, --box where it is of a box";
            return Err(Error::invalid(message).remedy(remedy).into());
        }
        volume.missing = provenance.missing.clone();
        Ok(volume)
    }
}

/// The name of a file, without folders and what stands behind a colon.
fn name_of(file: &str) -> &str {
    let path = file.rsplit(['/', '\\']).next().unwrap_or(file);
    path.split(':').next().unwrap_or(path)
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
            plain(&tier.name),
            tier.tau,
            tier.values,
            tier.max_error,
            tier.max_error_over_tau,
            tier.psnr_db,
            tier.violations
        );
    }
    out
}
