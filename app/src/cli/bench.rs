//! `blockmgard bench`: ratio and speed, medians of several runs, everything in memory.

use super::args::{DeviceArg, Hints, Input};
use super::bench_gpu::BenchGpu;
use super::bench_table::{BenchSweep, BenchTable};
use super::codec_args::Codec;
use super::compress::{describe, dtype_name};
use super::progress::Session;
use super::tolerance::{ToleranceArgs, tiers_json};
use anyhow::Result;
use blockmgard::backend::Backend;
use blockmgard::job::{self, Report};
use blockmgard::stream::{Archive, Provenance};
use blockmgard::volume::{DType, Volume};
use blockmgard::{Control, Error, Params, ToleranceMap};
use clap::{Args, Subcommand};
use serde_json::json;
use std::time::Instant;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Bench {
    #[command(subcommand)]
    pub what: Option<What>,
    #[command(flatten)]
    file: FileBench,
}

/// What is measured instead of a whole job.
#[derive(Subcommand)]
pub enum What {
    /// The kernels of the GPU backend, device-resident and host to host
    Gpu(Box<BenchGpu>),
    GpuTable(Box<BenchTable>),
    GpuSweep(Box<BenchSweep>),
    /// The studio's frame times
    #[cfg(feature = "studio")]
    Ui,
}

impl Bench {
    pub fn run(&self, session: &Session) -> Result<()> {
        match &self.what {
            Some(What::Gpu(gpu)) => gpu.run(session),
            Some(What::GpuTable(table)) => table.run(session),
            Some(What::GpuSweep(sweep)) => sweep.run(session),
            _ => self.file.run(session),
        }
    }
}

#[derive(Args)]
struct FileBench {
    /// Data file, with the variable after a colon where it holds several (run.nc:T)
    #[arg(value_name = "IN[:VAR]", required = true)]
    file: Option<String>,
    #[command(flatten)]
    hints: Hints,
    /// Step of a series (a variable of more than three axes), from 0
    #[arg(long, value_name = "STEP")]
    index: Option<usize>,
    /// Without a tolerance: REL 1e-3
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    codec: Codec,
    #[command(flatten)]
    device: DeviceArg,
    /// Runs after one that warms up; medians are given
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

const DEFAULT_REL: f64 = 1e-3;

/// One compression and decompression in memory.
pub struct Timing {
    pub stream: Vec<u8>,
    pub compress: Report,
    /// Wall seconds of decoding the whole volume into memory.
    pub decompress_seconds: f64,
}

impl Timing {
    pub fn decompress_gbps(&self) -> f64 {
        self.compress.original_bytes as f64 / 1e9 / self.decompress_seconds
    }
}

/// Runs once.
pub fn time_once(
    volume: &Volume,
    map: &ToleranceMap,
    params: &Params,
    backend: &dyn Backend,
    control: &Control,
) -> blockmgard::Result<Timing> {
    let (stream, compress) = job::compress_to_vec(volume, map, params, backend, &Provenance::default(), control)?;
    let archive = Archive::from_bytes(stream.clone())?;
    let region = volume.shape.region();
    let started = Instant::now();
    match volume.values.dtype() {
        DType::F32 => drop(job::decompress_region::<f32>(&archive, &region, backend, control)?),
        DType::F64 => drop(job::decompress_region::<f64>(&archive, &region, backend, control)?),
    }
    Ok(Timing { stream, compress, decompress_seconds: started.elapsed().as_secs_f64() })
}

/// The middle one of some figures (the mean of two for an even number).
pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

impl FileBench {
    fn run(&self, session: &Session) -> Result<()> {
        let file = self.file.clone().ok_or_else(|| Error::invalid("no file to measure"))?;
        let volume = Input { file, hints: self.hints.clone(), index: self.index, region: None }.volume()?;
        let opened = self.device.open()?;
        let (params, backend) = (self.codec.params()?, &*opened.backend);
        session.note(&format!("{}\n{}", describe(&volume), opened.describe()));
        let resolved = self.tolerance.resolve(
            (&volume, &[]),
            &params,
            backend,
            Some(DEFAULT_REL),
            &|_| Provenance::default(),
            session,
        )?;
        let run = || session.watch("bench", |control| time_once(&volume, &resolved.map, &params, backend, control));
        let ratio = run()?.compress.ratio;
        let timings = (0..self.runs).map(|_| run()).collect::<Result<Vec<_>>>()?;
        let compress = median(timings.iter().map(|t| t.compress.gbps));
        let kernel = median(timings.iter().map(|t| t.compress.kernel_gbps));
        let decompress = median(timings.iter().map(Timing::decompress_gbps));
        let value = json!({
            "input": volume.meta.source, "shape": volume.shape.extents(), "dtype": dtype_name(volume.values.dtype()),
            "params": params, "tiers": tiers_json(&resolved.map, &resolved.extent), "runs": self.runs, "ratio": ratio,
            "compressed_bytes": timings[0].stream.len(), "compress_gbps": compress, "compress_kernel_gbps": kernel,
            "decompress_gbps": decompress, "device": opened.backend.describe(),
        });
        let text = format!(
            "ratio {ratio:.2}, compress {compress:.3} GB/s ({kernel:.3} in the codec), decompress {decompress:.3} GB/s; \
             medians of {} runs in memory",
            self.runs
        );
        session.print(&value, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_middle_values() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
    }
}
