//! `blockmgard compress`.

use super::args::{DeviceArg, Input};
use super::codec_args::Codec;
use super::codes::Codes;
use super::parse;
use super::progress::Session;
use super::tolerance::{Resolved, ToleranceArgs, tiers_json, tiers_text};
use super::tune;
use anyhow::Result;
use blockmgard::backend::Backend;
use blockmgard::job::tune::Choice;
use blockmgard::job::{self, Report};
use blockmgard::stream::Provenance;
use blockmgard::volume::{DType, StoredType, VariableInfo, Volume};
use blockmgard::{Error, Params};
use clap::{Args, Parser};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Compress {
    #[command(flatten)]
    input: Input,
    /// Stream to write; with --all, the step's number is put before the ending
    #[arg(short, long, value_parser = parse::output, value_name = "OUT.bmg")]
    output: PathBuf,
    /// Compress every step of a series, one stream each
    #[arg(long, conflicts_with = "index")]
    all: bool,
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    codec: Codec,
    /// Hybrid mode with the hierarchy that is predicted to keep this time in the device's kernels; needs `blockmgard tune`
    #[arg(long, value_name = "MS")]
    budget_ms: Option<f64>,
    #[command(flatten)]
    device: DeviceArg,
    /// Memory to keep within (1GiB): where a frame would not fit, smaller frames are cut, unless --frame is given
    #[arg(long, value_parser = parse::bytes, value_name = "SIZE")]
    memory: Option<u64>,
}

impl Compress {
    pub fn run(&self, session: &Session) -> Result<()> {
        // A time budget is kept by the hybrid mode.
        if let Some(unused) = self.codec.unused().filter(|_| self.budget_ms.is_none()) {
            return Err(unused.into());
        }
        let source = self.input.source()?;
        let variable = source.chosen()?;
        let info = &source.dataset.variables()[variable];
        info.notes.iter().for_each(|note| session.note(&format!("note: {note}")));
        if let Some(passed_over) = self.input.hints.passed_over(info) {
            session.warn(&passed_over);
        }
        let mut codes = Codes::default();
        if !self.all {
            let mut volume = self.input.step_of(&source, variable)?;
            let (value, text) = self.one((info, &mut volume), &self.output, &mut codes, session)?;
            return session.print(&value, &text);
        }
        let mut values = Vec::new();
        for step in 0..info.steps() {
            let out = step_path(&self.output, step);
            let mut volume = self.input.open_step(&source, variable, step)?;
            let (value, text) = self.one((info, &mut volume), &out, &mut codes, session)?;
            if !session.json {
                session.print(&value, &format!("{text}\n"))?;
            }
            values.push(value);
        }
        if session.json { session.print(&Value::Array(values), "") } else { Ok(()) }
    }
    fn one(
        &self,
        (info, volume): (&VariableInfo, &mut Volume),
        out: &Path,
        codes: &mut Codes,
        session: &Session,
    ) -> Result<(Value, String)> {
        let opened = self.device.open()?;
        let backend = &*opened.backend;
        let (params, choice) = self.within_budget(volume, self.params(volume)?, backend)?;
        session.note(&format!("{}\n{}", describe(volume), opened.describe()));
        let suspect = codes.settle(volume, &self.input.hints, session)?;
        let volume = &*volume;
        let carried = |roi| provenance(volume, roi);
        let resolved =
            self.tolerance.resolve((volume, &self.input.corner()), &params, backend, None, &carried, session)?;
        session.note(&tiers_text(&resolved.map, &resolved.extent));
        let provenance = carried(resolved.roi.clone());
        let before = backend.kernel_ms();
        let report = session.watch("compress", |control| {
            job::compress(volume, &resolved.map, &params, backend, out, &provenance, control)
        })?;
        let of_stored = of_stored(info, volume, &report);
        let mut value = value(volume, &params, &resolved, &report, out);
        let mut text = text(&resolved, &report, of_stored, out);
        value["suspected_missing"] = json!(suspect);
        value["ratio_of_stored"] = json!(of_stored.map(|(_, ratio)| ratio));
        value["remarks"] = json!(resolved.remarks);
        if let Some(choice) = choice {
            // on a device, nothing is measured of a frame that is left to the CPU
            let in_kernels = backend.kernel_ms().zip(before).map(|(after, before)| after - before);
            let measured = in_kernels.map_or(Some(report.kernel_seconds * 1e3), |ms| (ms > 0.0).then_some(ms));
            value["budget"] = json!({ "choice": choice, "measured_ms": measured });
            let Choice { local_levels, global_levels, predicted_ms } = choice;
            let measured = match measured {
                Some(ms) => format!("measured {ms:.3} ms"),
                None => "not measured: there are no GPU kernels for this frame, the CPU took it".into(),
            };
            let _ =
                write!(text, "\nL = {local_levels}, M = {global_levels}: predicted {predicted_ms:.3} ms, {measured}");
        }
        Ok((value, text))
    }
    /// The settings that keep the budget, where there is one.
    fn within_budget(
        &self,
        volume: &Volume,
        params: Params,
        backend: &dyn Backend,
    ) -> Result<(Params, Option<Choice>)> {
        let Some(budget) = self.budget_ms else { return Ok((params, None)) };
        if self.codec.fixes_hierarchy() {
            Err(Error::invalid("--budget-ms picks the hybrid mode's levels itself")
                .remedy("leave -L, -M and --mode out"))?;
        }
        let (params, choice) = tune::within_budget(volume, params, backend, budget)?;
        Ok((params, Some(choice)))
    }
    fn params(&self, volume: &Volume) -> Result<Params> {
        let mut params = self.codec.params()?;
        let Some(memory) = self.memory else { return Ok(params) };
        // What a frame takes while it is worked on, in sizes of its values: coarse levels, chunks in flight, output.
        const FRAME_SHARE: u64 = 4;
        let fits = memory / FRAME_SHARE / volume.values.dtype().bytes() as u64;
        if fits < 1 << 15 {
            Err(Error::invalid("--memory is too small to work in").remedy("give at least 1MiB"))?;
        }
        if self.codec.frame.is_none() {
            params.frame_values = params.frame_values.min(fits);
        }
        Ok(params)
    }
}

/// `out_0007.bmg` for `out.bmg`.
fn step_path(out: &Path, step: usize) -> PathBuf {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    let ending = out.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    out.with_file_name(format!("{stem}_{step:04}{ending}"))
}

/// Whether a shell takes a character as it is.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./:,=+@%^".contains(c)
}

/// The words of a command that decide what is in the stream. Where it is written and what runs it are left out, so
/// that the same input and settings give the same bytes on every device and under every name.
fn deciding_words(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words;
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--output" | "--device" | "--threads" => drop(words.next()),
            "--json" => {}
            w if ["--output=", "--device=", "--threads="].iter().any(|p| w.starts_with(p)) => {}
            w if w.chars().all(is_plain) && !w.is_empty() => kept.push(word),
            w => kept.push(format!("'{}'", w.replace('\'', r"'\''"))),
        }
    }
    kept
}

/// The words of a command as [`deciding_words`] wrote them: a quoted part ends at the next quote, and outside of one a backslash
/// stands before a quote that is meant.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if !quoted => word.get_or_insert_default().extend(letters.next()),
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What a stream was made of, by the command that its provenance names; `None` where that is no command of `compress`.
pub fn recorded_input(command: &str) -> Option<Input> {
    #[derive(Parser)]
    struct Made {
        #[command(flatten)]
        compress: Compress,
    }
    let words = words_of(command);
    let [program, verb, rest @ ..] = &words[..] else { return None };
    if verb != "compress" {
        return None;
    }
    let output = ["-o".to_owned(), "x.bmg".to_owned()];
    Made::try_parse_from([program].into_iter().chain(rest).chain(&output)).ok().map(|made| made.compress.input)
}

/// Where a stream comes from: the volume's metadata and the command that made it.
pub fn provenance(volume: &Volume, roi: Option<Value>) -> Provenance {
    let words = deciding_words(std::env::args().skip(1));
    Provenance {
        writer: concat!("blockmgard ", env!("CARGO_PKG_VERSION")).into(),
        command: format!("blockmgard {}", words.join(" ")),
        volume: volume.meta.clone(),
        roi,
        missing: volume.missing.clone(),
    }
}

pub fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
    }
}

/// One line: name, shape with axis order, type, size.
pub fn describe(volume: &Volume) -> String {
    let meta = &volume.meta;
    let name =
        if meta.variable.is_empty() { meta.source.clone() } else { format!("{}:{}", meta.source, meta.variable) };
    let step = meta.step.map_or(String::new(), |s| format!(" step {s}"));
    let bytes = volume.shape.len() as u64 * volume.values.dtype().bytes() as u64;
    let dtype = dtype_name(volume.values.dtype());
    format!("{name}{step}: {} ({}, slowest first), {dtype}, {bytes} bytes", volume.shape, meta.axes.join(", "))
}

fn value(volume: &Volume, params: &Params, resolved: &Resolved, report: &Report, out: &Path) -> Value {
    json!({
        "input": volume.meta.source, "variable": volume.meta.variable, "output": out, "shape": volume.shape.extents(),
        "axes": volume.meta.axes, "dtype": dtype_name(volume.values.dtype()), "params": params,
        "min": resolved.extent.min, "max": resolved.extent.max, "tiers": tiers_json(&resolved.map, &resolved.extent),
        "search": resolved.found.as_ref().map(|f| &f.0), "ratio": report.ratio, "report": report,
    })
}

/// The type of the values in the file and the ratio against them, where they are narrower than the floats that they are read as.
fn of_stored(info: &VariableInfo, volume: &Volume, report: &Report) -> Option<(StoredType, f64)> {
    let stored: StoredType = info.stored.split([' ', ',']).next()?.parse().ok()?;
    let share = stored.bytes() as f64 / volume.values.dtype().bytes() as f64;
    (share < 1.0).then_some((stored, report.ratio * share))
}

fn text(resolved: &Resolved, report: &Report, of_stored: Option<(StoredType, f64)>, out: &Path) -> String {
    let against = of_stored.map_or(String::new(), |(stored, ratio)| {
        let floats = (report.ratio / ratio).round() as usize * 8 * stored.bytes();
        format!(" of {floats}-bit floats ({ratio:.2} of the file's {}-bit values)", 8 * stored.bytes())
    });
    let found = resolved.found.as_ref().map_or(String::new(), |f| format!("{}\n", f.1));
    format!(
        "{found}{}: {} bytes, ratio {:.2}{against}, {:.3} bits a value, {:.2} s, {:.3} GB/s end to end, {:.3} GB/s in the codec",
        out.display(),
        report.compressed_bytes,
        report.ratio,
        report.bits_per_value,
        report.seconds,
        report.gbps,
        report.kernel_gbps
    )
}

#[cfg(test)]
mod tests {
    use super::{deciding_words, words_of};

    #[test]
    fn device_and_output_leave_no_trace_in_the_stream() {
        let words = |text: &str| deciding_words(text.split('|').map(str::to_owned)).join(" ");
        let made = words("compress|a b.f32|-o|x.bmg|--rel|1e-4|--device|cuda|--threads=2|--json");
        assert_eq!(made, "compress 'a b.f32' --rel 1e-4");
        assert_eq!(made, words("compress|a b.f32|--output=y.bmg|--rel|1e-4"));
    }

    #[test]
    fn a_command_comes_back_word_by_word() {
        for words in [["it's a file.f32", "''"], ["a b", r"c\d"], ["$x;y", "*"], ["T:Pressure", "64x64"], ["", "ü"]] {
            let written = deciding_words(words.iter().map(|w| (*w).to_owned())).join(" ");
            assert_eq!(words_of(&written), words, "{written}");
        }
        assert_eq!(deciding_words(["it's".to_owned()].into_iter()), [r"'it'\''s'"]);
    }
}
