//! `blockmgard info`.

use super::args::{Hints, Source, open_source};
use super::codes::{looks_swapped, suspicion};
use super::compress::dtype_name;
use super::progress::Session;
use super::text::{number, numbers};
use super::tolerance::{tiers_json, tiers_text};
use super::variables::{Found, text_of};
use anyhow::Result;
use blockmgard::job;
use blockmgard::stream::{Archive, FrameKind, MAGIC, Provenance};
use blockmgard::volume::{DType, Element, VariableInfo, suspect_missing};
use blockmgard::{Mode, Params};
use clap::Args;
use serde_json::{Value, json};
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
        let path = Path::new(&self.file);
        // damaged ones are told as what they are
        if is_stream(path) || path.extension().is_some_and(|e| e == "bmg") {
            stream(path, session)
        } else {
            self.data(session)
        }
    }
    fn data(&self, session: &Session) -> Result<()> {
        let source = open_source(&self.file, &self.hints.open())?;
        let mut found = Vec::new();
        for (index, info) in source.dataset.variables().iter().enumerate() {
            if source.variable.is_none_or(|v| v == index) {
                found.push(self.look(&source, index, info, session)?);
            }
        }
        let values = found.iter().map(Found::json).collect::<Result<Vec<Value>>>()?;
        session.print(&json!({ "file": source.path, "variables": values }), &text_of(&found))
    }
    /// What a variable's header and, unless it must be quick, its values say.
    fn look<'a>(&self, source: &Source, index: usize, info: &'a VariableInfo, session: &Session) -> Result<Found<'a>> {
        let remarks = self.hints.passed_over(info).into_iter().collect();
        let mut found = Found { info, extent: None, remarks, suspect: None };
        if self.quick {
            return Ok(found);
        }
        let volume = source.dataset.open(index, 0)?;
        let extent = session.watch(&info.name, |control| job::value_extent(&volume, control))?;
        found.extent = Some(extent);
        if !self.hints.says_missing()
            && let Some(code) = suspect_missing(&volume)?
        {
            found.suspect = Some(code);
            found.remarks.push(suspicion(&volume.values, code));
        }
        if info.stored.contains("-endian") && looks_swapped(&volume.values, extent.max_abs()) {
            let other = if info.stored.contains("big-endian") { "--little-endian" } else { "--big-endian" };
            found.remarks.push(format!("values as large as these often mean the other byte order: try {other}"));
        }
        Ok(found)
    }
}

/// Whether the content says .bmg.
pub fn is_stream(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    path.is_file() && std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok() && head == MAGIC
}

fn stream(path: &Path, session: &Session) -> Result<()> {
    let archive = Archive::open(path)?;
    let (header, provenance) = (archive.header(), archive.provenance()?);
    let (map, extent) = (archive.tolerance()?, archive.extent());
    let bytes = header.shape.len() as u64 * header.dtype.bytes() as u64;
    let chunks: usize = archive.entries().iter().map(|e| e.chunks.len()).sum();
    let ratio = bytes as f64 / archive.len_bytes() as f64;
    let of_kind = |kind| archive.entries().iter().filter(|e| e.kind == kind).count();
    let (lossless, plain) = (of_kind(FrameKind::Lossless), of_kind(FrameKind::Plain));
    let value = json!({
        "file": path, "shape": header.shape.extents(), "dtype": dtype_name(header.dtype), "params": header.params,
        "tiers": tiers_json(&map, &extent), "min": extent.min, "max": extent.max, "original_bytes": bytes,
        "compressed_bytes": archive.len_bytes(), "ratio": ratio, "frames": archive.frames().count,
        "lossless_frames": lossless, "plain_frames": plain, "chunks": chunks,
        "provenance": &provenance,
    });
    session.print(&value, &stream_text(path, &archive, &value, &tiers_text(&map, &extent), &provenance))
}

fn stream_text(path: &Path, archive: &Archive, value: &Value, tiers: &str, provenance: &Provenance) -> String {
    let (header, extent) = (archive.header(), archive.extent());
    let meta = &provenance.volume;
    let mut lines = vec![
        format!(
            "{}: {} ({}, slowest first), {}, {}",
            path.display(),
            header.shape,
            meta.axes.join(", "),
            dtype_name(header.dtype),
            params_text(&header.params)
        ),
        format!(
            "{} bytes of {}, ratio {:.2}, {} frame(s){}, {} chunk(s)",
            archive.len_bytes(),
            value["original_bytes"],
            value["ratio"].as_f64().unwrap_or(0.0),
            archive.frames().count,
            kinds_text(value),
            value["chunks"]
        ),
    ];
    let mut add = |label: &str, text: Option<String>| lines.extend(text.map(|text| format!("{label} {text}")));
    let name = [Some(meta.variable.clone()), meta.long_name.clone()];
    let name: Vec<String> = name.into_iter().flatten().filter(|n| !n.is_empty()).collect();
    add("variable", (!name.is_empty()).then(|| name.join(", ")));
    add("units", meta.units.clone());
    add("spacing", meta.spacing.as_deref().map(numbers));
    add("origin", meta.origin.as_deref().map(numbers));
    for (axis, nodes) in meta.axes.iter().zip(&meta.coordinates) {
        if let [first, .., last] = nodes[..] {
            let range = format!("{axis} runs from {} to {}, not evenly spaced", number(first), number(last));
            add("axis", Some(range));
        }
    }
    let missing = missing_values(header.dtype, &provenance.missing.patterns);
    add("missing", (!missing.is_empty()).then(|| numbers(&missing)));
    add("valid", provenance.missing.valid.map(|[lo, hi]| format!("{} to {}", number(lo), number(hi))));
    let (min, max) = (number(extent.min), number(extent.max));
    add("values", Some(format!("{min} to {max}, max|u| {}", number(extent.max_abs()))));
    add("made by", Some(format!("{}\n{tiers}", provenance.command)));
    lines.join("\n")
}

/// How many frames are stored in another way than the tolerances say.
fn kinds_text(value: &Value) -> String {
    let kinds = [("lossless_frames", "losslessly, which is shorter"), ("plain_frames", "as they are")];
    let told = kinds.iter().filter(|(key, _)| value[key] != 0).map(|(key, how)| format!("{} stored {how}", value[key]));
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// Bit patterns as numbers.
fn missing_values(dtype: DType, patterns: &[u64]) -> Vec<f64> {
    let value = |bits: &u64| match dtype {
        DType::F32 => f32::from_bits64(*bits).to_f64(),
        DType::F64 => f64::from_bits64(*bits),
    };
    patterns.iter().map(value).collect()
}

fn params_text(p: &Params) -> String {
    match p.mode {
        Mode::Hybrid => format!(
            "hybrid L={} M={} basis {:?} entropy {:?} budget {:?}",
            p.local_levels, p.global_levels, p.basis, p.entropy, p.budget
        )
        .to_lowercase(),
        Mode::Pyramid => {
            format!("pyramid tile {} points {:?} coder {:?} order {:?}", p.tile, p.points, p.coder, p.order)
                .to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_the_command_line_names_them() {
        assert_eq!(params_text(&Params::default()), "pyramid tile 32 points auto coder class order parity");
        assert_eq!(params_text(&Params::fast()), "pyramid tile 8 points auto coder planes order axis");
    }
}
