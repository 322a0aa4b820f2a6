//! `blockmgard info`.

use super::args::{Hints, open_source};
use super::compress::dtype_name;
use super::progress::Session;
use super::tolerance::{tiers_json, tiers_text};
use anyhow::Result;
use blockmgard::job;
use blockmgard::stream::{Archive, MAGIC};
use blockmgard::volume::VariableInfo;
use blockmgard::{Mode, Params, ToleranceMap};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

#[derive(Args)]
pub struct Info {
    /// A .bmg stream, or a data file
    #[arg(value_name = "FILE[:VAR]")]
    file: String,
    #[command(flatten)]
    hints: Hints,
    /// Do not read values: no smallest and largest value is given
    #[arg(long)]
    quick: bool,
}

impl Info {
    pub fn run(&self, session: &Session) -> Result<()> {
        if is_stream(Path::new(&self.file)) { stream(Path::new(&self.file), session) } else { self.data(session) }
    }
    fn data(&self, session: &Session) -> Result<()> {
        let source = open_source(&self.file, &self.hints.open())?;
        let (mut values, mut text) = (Vec::new(), String::new());
        for (index, info) in source.dataset.variables().iter().enumerate() {
            if source.variable.is_some_and(|v| v != index) {
                continue;
            }
            let extent = if self.quick {
                None
            } else {
                let volume = source.dataset.open(index, 0)?;
                Some(session.watch(&info.name, |control| job::value_extent(&volume, control))?)
            };
            let mut value = serde_json::to_value(info)?;
            value["steps"] = json!(info.steps());
            value["min"] = json!(extent.map(|e| e.min));
            value["max"] = json!(extent.map(|e| e.max));
            let _ = write!(text, "{}", variable_text(info));
            if let Some(e) = extent {
                let of = if info.steps() > 1 { " (step 0)" } else { "" };
                let _ = writeln!(text, "  values{of} {:e} to {:e}, max|u| {:e}", e.min, e.max, e.max_abs());
            }
            values.push(value);
        }
        session.print(&json!({ "file": source.path, "variables": values }), &text)
    }
}

fn variable_text(info: &VariableInfo) -> String {
    let axes: Vec<String> = info.extents.iter().zip(&info.axes).map(|(n, a)| format!("{a} {n}")).collect();
    let name = if info.name.is_empty() { "values" } else { &info.name };
    let mut out = format!("{name}: {} (slowest first), {}", axes.join(" x "), info.stored);
    let _ = match info.steps() {
        1 => writeln!(out),
        steps => writeln!(out, ", a series of {steps} volumes (--index)"),
    };
    let mut line = |label: &str, text: Option<String>| {
        let _ = text.map(|text| writeln!(out, "  {label} {text}"));
    };
    line("long name", info.long_name.clone());
    line("units", info.units.clone());
    line("missing", (!info.missing.is_empty()).then(|| format!("{:?}", info.missing)));
    line("spacing", info.spacing.as_ref().map(|s| format!("{s:?}")));
    line("origin", info.origin.as_ref().map(|s| format!("{s:?}")));
    for note in &info.notes {
        line("note:", Some(note.clone()));
    }
    out
}

/// Whether the content says .bmg.
pub fn is_stream(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok() && head == MAGIC
}

/// The tolerance map of the whole volume, frame by frame.
pub fn whole_map(archive: &Archive) -> blockmgard::Result<ToleranceMap> {
    let mut tier_of_block = Vec::new();
    for frame in 0..archive.frames().count {
        tier_of_block.extend(archive.frame(frame).tolerance()?.tier_of_block);
    }
    let header = archive.header();
    Ok(ToleranceMap { blocks: header.shape.blocks(), tiers: header.tiers.clone(), tier_of_block })
}

fn stream(path: &Path, session: &Session) -> Result<()> {
    let archive = Archive::open(path)?;
    let (header, provenance) = (archive.header(), archive.provenance()?);
    let (map, extent) = (whole_map(&archive)?, archive.extent());
    let bytes = header.shape.len() as u64 * header.dtype.bytes() as u64;
    let chunks: usize = archive.entries().iter().map(|e| e.chunks.len()).sum();
    let ratio = bytes as f64 / archive.len_bytes() as f64;
    let value = json!({
        "file": path, "shape": header.shape.extents(), "dtype": dtype_name(header.dtype), "params": header.params,
        "tiers": tiers_json(&map, &extent), "min": extent.min, "max": extent.max, "original_bytes": bytes,
        "compressed_bytes": archive.len_bytes(), "ratio": ratio, "frames": archive.frames().count, "chunks": chunks,
        "provenance": provenance,
    });
    session.print(&value, &stream_text(path, &archive, &value, &tiers_text(&map, &extent)))
}

fn stream_text(path: &Path, archive: &Archive, value: &Value, tiers: &str) -> String {
    let header = archive.header();
    let extent = archive.extent();
    let frames = archive.frames().count;
    format!(
        "{}: {} (slowest first), {}, {}\n{} bytes of {}, ratio {:.2}, {frames} frame(s), {} chunk(s)\n\
         values {:e} to {:e}, max|u| {:e}\n{tiers}made by: {}\n",
        path.display(),
        header.shape,
        dtype_name(header.dtype),
        params_text(&header.params),
        archive.len_bytes(),
        value["original_bytes"],
        value["ratio"].as_f64().unwrap_or(0.0),
        value["chunks"],
        extent.min,
        extent.max,
        extent.max_abs(),
        value["provenance"]["command"].as_str().unwrap_or("-"),
    )
}

fn params_text(p: &Params) -> String {
    match p.mode {
        Mode::Hybrid => format!(
            "hybrid L={} M={} basis {:?} entropy {:?} budget {:?}",
            p.local_levels, p.global_levels, p.basis, p.entropy, p.budget
        )
        .to_lowercase(),
        Mode::Pyramid => format!("pyramid tile {} points {:?}", p.tile, p.points).to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_the_command_line_names_them() {
        assert_eq!(params_text(&Params::default()), "pyramid tile 16 points auto");
    }
}
