//! `blockmgard bench gpu`: kernel by kernel, device-resident, and host to host.

use super::args::{DeviceArg, Hints, Input};
use super::codec_args::Codec;
use super::compress::{describe, dtype_name};
use super::parse;
use super::progress::Session;
use super::tolerance::{ToleranceArgs, tiers_json, tiers_text};
use anyhow::Result;
use blockmgard::backend::cuda::bench::{
    GpuReport, GpuTime, MappingTime, Runs, bench_f32, bench_f64, mappings_f32, mappings_f64,
};
use blockmgard::backend::{Cpu, Cuda};
use blockmgard::stream::Provenance;
use blockmgard::volume::{Field, Metadata, Values, VecField, Volume, default_axes, standin};
use blockmgard::{Element, Error, Params, Shape, ToleranceMap};
use clap::Args;
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

#[derive(Args)]
pub struct BenchGpu {
    #[command(flatten)]
    source: Source,
    /// Without a tolerance: REL 1e-4
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    codec: Codec,
    #[command(flatten)]
    device: DeviceArg,
    /// Runs after the warm-up; medians are given
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(10..=1000))]
    runs: u32,
}

/// What is measured.
#[derive(Args)]
pub struct Source {
    /// Data file, with the variable after a colon where it holds several (run.nc:T)
    #[arg(value_name = "IN[:VAR]", required_unless_present = "standin")]
    file: Option<String>,
    /// Instead of a file, a made-up field of this shape (512x512x512), 64-bit with --f64
    #[arg(long, value_parser = parse::dims, value_name = "NxNxN", conflicts_with = "file")]
    standin: Option<parse::Dims>,
    #[command(flatten)]
    hints: Hints,
    /// Step of a series (a variable of more than three axes), from 0
    #[arg(long, value_name = "STEP")]
    index: Option<usize>,
}

const DEFAULT_REL: f64 = 1e-4;
/// What the times hold.
pub const INCLUDED: &str = "compress and decompress: values in device memory to all payloads in device memory and back, every \
    stage and the index included; not max|u|, copies, special values, checksums, nor the propagation of the hybrid \
    mode's tolerance map. host: from the host's memory to the host's memory, all but special values and checksums";

impl BenchGpu {
    pub fn run(&self, session: &Session) -> Result<()> {
        let cuda = Cuda::open(&self.device.gpus()?)?;
        let volume = self.source.volume()?;
        let params = self.codec.params()?;
        session.note(&describe(&volume));
        let resolved = self.tolerance.resolve(
            (&volume, &[]),
            &params,
            &Cpu,
            Some(DEFAULT_REL),
            &|_| Provenance::default(),
            session,
        )?;
        session.note(&tiers_text(&resolved.map, &resolved.extent));
        let (n, map, runs) = (volume.shape.n, &resolved.map, self.runs as usize);
        let values = Finite::read(&volume)?;
        let runs = Runs { resident: runs, host: runs };
        let report = session.watch("bench gpu", |_| values.bench(&cuda, n, map, &params, runs))?;
        let machine = machine();
        let value = json!({
            "input": volume.meta.source, "variable": volume.meta.variable, "machine": machine, "included": INCLUDED,
            "tiers": tiers_json(map, &resolved.extent), "report": report,
        });
        session.print(&value, &text(&volume, &machine, &report))
    }
}

impl Source {
    pub fn volume(&self) -> Result<Volume> {
        let Some(dims) = &self.standin else {
            let file = self.file.clone().unwrap_or_default();
            return Input { file, hints: self.hints.clone(), index: self.index, region: None }.volume();
        };
        let shape = Shape::new(&dims.0)?;
        let n = shape.n;
        let double = self.hints.open().dtype.is_some_and(|t| t.to_string().starts_with("f64"));
        let values = match double {
            true => Values::F64(Arc::new(VecField::new(standin(n), n))),
            false => Values::F32(Arc::new(VecField::new(standin(n), n))),
        };
        let axes = default_axes(dims.0.len());
        let meta = Metadata { source: "stand-in (made up)".into(), axes, ..Metadata::default() };
        Ok(Volume { shape, values, meta, missing: Default::default() })
    }
}

/// All values of a volume, finite ones.
pub enum Finite {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Finite {
    pub fn read(volume: &Volume) -> blockmgard::Result<Self> {
        Ok(match &volume.values {
            Values::F32(field) => Self::F32(finite(&**field)?),
            Values::F64(field) => Self::F64(finite(&**field)?),
        })
    }
    /// The finest local level of the hybrid mode in several mappings.
    pub fn mappings(
        &self,
        cuda: &Cuda,
        n: [usize; 3],
        map: &ToleranceMap,
        runs: Runs,
    ) -> blockmgard::Result<Vec<MappingTime>> {
        match self {
            Self::F32(values) => mappings_f32(cuda, values, n, map, runs),
            Self::F64(values) => mappings_f64(cuda, values, n, map, runs),
        }
    }
    pub fn bench(
        &self,
        cuda: &Cuda,
        n: [usize; 3],
        map: &ToleranceMap,
        params: &Params,
        runs: Runs,
    ) -> blockmgard::Result<GpuReport> {
        match self {
            Self::F32(values) => bench_f32(cuda, values, n, map, params, runs),
            Self::F64(values) => bench_f64(cuda, values, n, map, params, runs),
        }
    }
}

/// All values; they must be finite.
fn finite<T: Element>(field: &dyn Field<T>) -> blockmgard::Result<Vec<T>> {
    let n = field.extents();
    let mut values = vec![T::ZERO; n.iter().product()];
    field.read_region(&blockmgard::Region { lo: [0; 3], hi: n }, &mut values)?;
    match values.iter().all(|v| v.is_finite()) {
        true => Ok(values),
        false => Err(Error::invalid("the volume holds NaN or infinities, which kernels never see")
            .remedy("measure another volume, or the whole job with `blockmgard bench`")),
    }
}

/// The host's processor, as far as the system tells.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|m| m.1.trim().to_owned()));
    format!("{}, {cores} threads", model.unwrap_or_else(|| std::env::consts::ARCH.into()))
}

fn text(volume: &Volume, machine: &str, report: &GpuReport) -> String {
    let mut out = format!("{} on {machine}\n", report.device);
    let _ = writeln!(
        out,
        "{}, {} {}: ratio {:.2}, largest error {:.4} of the tolerance; medians of {} runs",
        volume.meta.source,
        volume.shape,
        dtype_name(report.dtype),
        report.ratio,
        report.max_error_of_tau,
        report.runs.resident
    );
    let figures = &report.figures;
    let _ = writeln!(
        out,
        "On the device: largest error {:.4} of the tolerance, {} violations, PSNR {:.2} dB{}\n",
        figures.max_error_over_tau,
        figures.violations,
        figures.psnr_db,
        figures.roi_psnr_db.map_or(String::new(), |db| format!(", in the regions {db:.2} dB"))
    );
    let mut line = |name: &str, time: &GpuTime| {
        let _ = writeln!(out, "{name:<34} {:>10.4} ms {:>10.1} GB/s", time.ms, time.gb_per_s);
    };
    line("compress, device-resident", &report.compress);
    line("decompress, device-resident", &report.decompress);
    let graphs =
        [("compress, as a graph", &report.graph_compress), ("decompress, as a graph", &report.graph_decompress)];
    graphs.iter().for_each(|(name, time)| time.iter().for_each(|time| line(name, time)));
    line("max|u|", &report.max_abs);
    line("comparison", &report.compare);
    line("compress, host to host", &report.host_compress);
    line("decompress, host to host", &report.host_decompress);
    for (what, kernels) in [("c", &report.compress_kernels), ("d", &report.decompress_kernels)] {
        kernels.iter().for_each(|(name, time)| line(&format!("  {what} {name}"), time));
    }
    let _ = writeln!(out, "\nGB/s of original data. {INCLUDED}.");
    out
}
