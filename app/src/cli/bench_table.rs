//! `blockmgard bench gpu-table` and `gpu-sweep`: many volumes, tolerances and settings on one GPU, device-resident.

use super::args::{DeviceArg, Hints, Input};
use super::bench_gpu::{Finite, INCLUDED, Source, machine};
use super::progress::Session;
use anyhow::{Context, Result};
use blockmgard::backend::Cuda;
use blockmgard::backend::cuda::bench::{GpuReport, GpuTime, MappingTime, Runs};
use blockmgard::job;
use blockmgard::volume::Volume;
use blockmgard::{Entropy, Mode, Params, ToleranceMap};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Every volume at every tolerance with the hybrid mode and the pyramid of tiles of 32, 16 and 8, the balanced and the fast one, as a Markdown table
#[derive(Args)]
pub struct BenchTable {
    /// Data files
    #[arg(value_name = "IN[:VAR]", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    hints: Hints,
    /// Tolerances as fractions of max|u|
    #[arg(long, value_delimiter = ',', default_value = "1e-2,1e-4,1e-6", value_name = "X,X")]
    rel: Vec<f64>,
    /// Write the table to this file as well, whatever is printed
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArg,
    /// Runs after the warm-up; medians are given
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// The levels of the hybrid mode: kernel times and ratio for many (L, M), and one local level in several mappings
#[derive(Args)]
pub struct BenchSweep {
    #[command(flatten)]
    source: Source,
    /// Tolerance as a fraction of max|u|
    #[arg(long, default_value_t = 1e-4)]
    rel: f64,
    #[command(flatten)]
    device: DeviceArg,
    /// Runs after the warm-up; medians are given
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// Local and global levels; as many as the shape allows are taken.
const SWEEP: [(u8, u8); 9] = [(0, 1), (0, 48), (1, 48), (1, 2), (2, 1), (2, 48), (5, 0), (3, 0), (1, 0)];

fn hybrid(local_levels: u8, global_levels: u8) -> Params {
    Params { mode: Mode::Hybrid, local_levels, global_levels, ..Params::default() }
}

/// What is compared, with its name.
fn settings() -> Vec<(String, Params)> {
    let default = Params::default();
    let mut all = vec![(format!("hybrid L{} M{}", default.local_levels, default.global_levels), hybrid(1, 2))];
    all.push(("hybrid, class coder".into(), Params { entropy: Entropy::Class, ..hybrid(1, 2) }));
    all.extend([32, 16, 8].map(|tile| (format!("pyramid, tile {tile}"), Params { tile, ..Params::default() })));
    all.push(("pyramid, balanced".into(), Params::balanced()));
    all.push(("pyramid, fast".into(), Params::fast()));
    all
}

/// The faster of two ways to queue the same kernels.
fn faster(plain: GpuTime, graph: Option<GpuTime>) -> f64 {
    graph.map_or(plain.gb_per_s, |graph| graph.gb_per_s.max(plain.gb_per_s))
}

fn measure(
    cuda: &Cuda,
    volume: &Volume,
    values: &Finite,
    rel: f64,
    params: &Params,
    runs: u32,
) -> blockmgard::Result<GpuReport> {
    let extent = job::value_extent(volume, &Default::default())?;
    let map = ToleranceMap::uniform(&volume.shape, rel * extent.max_abs())?;
    let runs = Runs { resident: runs as usize, host: 1 };
    values.bench(cuda, volume.shape.n, &map, params, runs)
}

fn name_of(volume: &Volume) -> String {
    let path = Path::new(&volume.meta.source);
    let stem = path.file_stem().map_or_else(|| volume.meta.source.clone(), |s| s.to_string_lossy().into_owned());
    match volume.meta.variable.is_empty() || stem == volume.meta.variable {
        true => stem,
        false => format!("{stem}:{}", volume.meta.variable),
    }
}

impl BenchTable {
    pub fn run(&self, session: &Session) -> Result<()> {
        let cuda = Cuda::open(&self.device.gpus()?)?;
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        for file in &self.files {
            let volume = Input { file: file.clone(), hints: self.hints.clone(), index: None, region: None }.volume()?;
            let values = Finite::read(&volume)?;
            let name = name_of(&volume);
            for &rel in &self.rel {
                for (setting, params) in settings() {
                    session.note(&format!("{name}, REL {rel:e}, {setting}"));
                    // What the device does not take is no reason to lose the other rows.
                    let measured = |_: &_| Ok(measure(&cuda, &volume, &values, rel, &params, self.runs));
                    let report = session.watch("bench", measured)?.map_err(|error| error.to_string());
                    rows.push(Row { volume: name.clone(), rel, setting, report });
                }
            }
            names.push(name);
        }
        let machine = machine();
        let json: Vec<Value> = rows
            .iter()
            .map(|r| {
                let (report, error) = (r.report.as_ref().ok(), r.report.as_ref().err());
                json!({"volume": r.volume, "rel": r.rel, "setting": r.setting, "report": report, "error": error})
            })
            .collect();
        let value = json!({"machine": machine, "included": INCLUDED, "rows": json});
        let device = rows.iter().find_map(|r| Some(r.report.as_ref().ok()?.device.clone())).unwrap_or_default();
        let text = format!("{device} on {machine}; medians of {} runs\n\n{}", self.runs, self.tables(&rows, &names));
        if let Some(path) = &self.markdown {
            write_whole(path, &text)?;
        }
        session.print(&value, &text)
    }

    /// One table a tolerance: volumes side by side.
    fn tables(&self, rows: &[Row], names: &[String]) -> String {
        let mut out = String::new();
        for &rel in &self.rel {
            let _ = writeln!(
                out,
                "REL {rel:e}: compress / decompress in GB/s, ratio (`!`: some values miss the bound; `-`: not on the GPU)\n"
            );
            let _ = writeln!(out, "| | {} |", names.join(" | "));
            let _ = writeln!(out, "|---{}|", "|---".repeat(names.len()));
            for (setting, _) in settings() {
                let of_row = |name: &String| {
                    let fits = |r: &&Row| r.rel == rel && r.setting == setting && r.volume == *name;
                    rows.iter().find(fits).map_or(String::new(), Row::cell)
                };
                let cells: Vec<String> = names.iter().map(of_row).collect();
                let _ = writeln!(out, "| {setting} | {} |", cells.join(" | "));
            }
            out.push('\n');
        }
        out
    }
}

struct Row {
    volume: String,
    rel: f64,
    setting: String,
    /// Or why there is none.
    report: Result<GpuReport, String>,
}

/// Written beside and renamed.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    written.with_context(|| format!("{} could not be written", path.display()))
}

impl Row {
    fn cell(&self) -> String {
        let Ok(r) = &self.report else { return "-".into() };
        let (c, d) = (faster(r.compress, r.graph_compress), faster(r.decompress, r.graph_decompress));
        let missed = if r.max_error_of_tau > 1.0 || r.figures.violations > 0 { " !" } else { "" };
        format!("{c:.0}/{d:.0} {:.2}{missed}", r.ratio)
    }
}

impl BenchSweep {
    pub fn run(&self, session: &Session) -> Result<()> {
        let cuda = Cuda::open(&self.device.gpus()?)?;
        let volume = self.source.volume()?;
        let values = Finite::read(&volume)?;
        let mut text = format!(
            "{}, {}, REL {:e}\n\n| L | M | decompose, ms | GB/s | recompose, ms | GB/s | compress, GB/s | decompress, GB/s | ratio |\n\
             |---|---|---|---|---|---|---|---|---|\n",
            name_of(&volume),
            volume.shape,
            self.rel
        );
        let mut rows = Vec::new();
        for (l, m) in SWEEP {
            session.note(&format!("L {l}, M {m}"));
            let measured =
                session.watch("bench", |_| measure(&cuda, &volume, &values, self.rel, &hybrid(l, m), self.runs));
            let levels = if m == 48 { "all".into() } else { m.to_string() };
            // some hierarchies are left to the CPU, which has no times of kernels
            let report = match measured {
                Ok(report) => report,
                Err(why) => {
                    let _ = writeln!(text, "| {l} | {levels} | - | - | - | - | - | - | - |");
                    rows.push(json!({"local_levels": l, "global_levels": m, "not_measured": format!("{why:#}")}));
                    continue;
                }
            };
            let hierarchy = |kernels: &[(String, GpuTime)]| -> f64 {
                kernels.iter().filter(|(name, _)| name.starts_with("hybrid")).map(|(_, time)| time.ms).sum()
            };
            let (decompose, recompose) = (hierarchy(&report.compress_kernels), hierarchy(&report.decompress_kernels));
            let bytes = report.compress.gb_per_s * report.compress.ms;
            let _ = writeln!(
                text,
                "| {l} | {levels} | {decompose:.3} | {:.0} | {recompose:.3} | {:.0} | {:.0} | {:.0} | {:.2} |",
                bytes / decompose,
                bytes / recompose,
                faster(report.compress, report.graph_compress),
                faster(report.decompress, report.graph_decompress),
                report.ratio
            );
            rows.push(json!({"local_levels": l, "global_levels": m, "decompose_ms": decompose, "recompose_ms": recompose, "report": report}));
        }
        let mappings = self.mappings(session, &cuda, &volume, &values, &mut text)?;
        session.print(&json!({"machine": machine(), "rel": self.rel, "rows": rows, "mappings": mappings}), &text)
    }

    /// One local level in several mappings, for a volume of three axes.
    fn mappings(
        &self,
        session: &Session,
        cuda: &Cuda,
        volume: &Volume,
        values: &Finite,
        text: &mut String,
    ) -> Result<Vec<MappingTime>> {
        if volume.shape.n.contains(&1) {
            return Ok(Vec::new());
        }
        let extent = job::value_extent(volume, &Default::default())?;
        let map = ToleranceMap::uniform(&volume.shape, self.rel * extent.max_abs())?;
        let runs = Runs { resident: self.runs as usize, host: 1 };
        let times = session.watch("mappings", |_| values.mappings(cuda, volume.shape.n, &map, runs))?;
        text.push_str("\n| one local level | decompose, ms | GB/s | recompose, ms | GB/s |\n|---|---|---|---|---|\n");
        for MappingTime { name, decompose: d, recompose: r } in &times {
            let _ = writeln!(text, "| {name} | {:.3} | {:.0} | {:.3} | {:.0} |", d.ms, d.gb_per_s, r.ms, r.gb_per_s);
        }
        Ok(times)
    }
}
