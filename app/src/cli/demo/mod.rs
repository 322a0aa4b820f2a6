//! `blockmgard demo`: the main job on the bundled sample, with a table, a picture and JSON.

mod picture;
mod runs;

use super::args::DeviceArg;
use super::progress::Session;
use anyhow::Result;
use blockmgard::roi::RoiSpec;
use blockmgard::stream::PartFile;
use blockmgard::volume::{Metadata, Stats, Values, VecField, Volume};
use blockmgard::{Error, Shape};
use clap::Args;
use runs::Run;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bundled sample and its spec are part of the program, so that the demo runs anywhere.
const SAMPLE: &[u8] = include_bytes!("../../../../assets/miranda_density_96x72x72.f32");
const SAMPLE_SHAPE: [usize; 3] = [96, 72, 72];
const SAMPLE_ROI: &str = include_str!("../../../../assets/sample-roi.toml");

#[derive(Args)]
pub struct Demo {
    /// Folder for demo.png and demo.json
    #[arg(short, long, default_value = ".", value_name = "FOLDER")]
    output: PathBuf,
    #[command(flatten)]
    device: DeviceArg,
}

impl Demo {
    pub fn run(&self, session: &Session) -> Result<()> {
        let volume = sample()?;
        let spec = RoiSpec::parse(SAMPLE_ROI)?;
        let opened = self.device.open()?;
        let stats = session.watch("statistics", |control| Stats::of(&volume, control))?;
        let map = session.watch("regions", |control| spec.resolve(&volume, &stats, control))?;
        let runs = runs::all(&volume, &spec, &map, &*opened.backend, session)?;
        let picture = self.output.join("demo.png");
        picture::draw(&volume, &spec, &map, &runs)?.save(&picture)?;
        let value = json!({
            "sample": volume.meta.source, "shape": volume.shape.extents(), "dtype": "f32",
            "device": opened.backend.describe(), "picture": picture, "tiers": map.tiers,
            "blocks_per_tier": map.blocks_per_tier(), "runs": runs.iter().map(Run::json).collect::<Value>(),
        });
        save_json(&self.output.join("demo.json"), &value)?;
        let title = format!(
            "{} {} f32 (density of a mixing layer), {}\nROI: {}",
            volume.meta.source,
            volume.shape,
            opened.describe(),
            tiers(&map)
        );
        let written = format!("written: {} and demo.json beside it", picture.display());
        session.print(&value, &format!("{title}\n\n{}\n{written}", table(&runs)))
    }
}

/// The bundled volume.
fn sample() -> Result<Volume> {
    let shape = Shape::new(&SAMPLE_SHAPE)?;
    let values: Vec<f32> =
        SAMPLE.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("chunks of 4 bytes"))).collect();
    let meta = Metadata {
        source: "miranda_density_96x72x72.f32".into(),
        variable: "density".into(),
        axes: ["z", "y", "x"].map(String::from).to_vec(),
        ..Metadata::default()
    };
    Ok(Volume {
        shape,
        values: Values::F32(Arc::new(VecField::new(values, shape.n))),
        meta,
        missing: Default::default(),
    })
}

fn tiers(map: &blockmgard::ToleranceMap) -> String {
    let total = map.tier_of_block.len() as f64;
    let words = map.tiers.iter().zip(map.blocks_per_tier());
    let words: Vec<String> = words
        .map(|(t, blocks)| format!("{} +/-{:.3e} ({:.0} % of blocks)", t.name, t.tau, 100.0 * blocks as f64 / total))
        .collect();
    words.join(", ")
}

fn table(runs: &[Run]) -> String {
    let width = runs.iter().map(|r| r.name.len()).max().unwrap_or(0);
    let mut out = format!(
        "{:width$}  {:>8}  {:>9}  {:>9}  {:>8}  {:>8}  {:>13}  {:>15}\n",
        "run", "ratio", "PSNR dB", "ROI dB", "err/tau", "missed", "compress GB/s", "decompress GB/s"
    );
    for run in runs {
        let m = &run.metrics;
        let _ = writeln!(
            out,
            "{:width$}  {:>8.2}  {:>9.2}  {:>9.2}  {:>8.4}  {:>8}  {:>13.3}  {:>15.3}",
            run.name,
            run.ratio,
            m.psnr_db,
            m.roi_psnr_db.unwrap_or(f64::NAN),
            m.max_error_over_tau,
            m.violations,
            run.compress_gbps,
            run.decompress_gbps
        );
    }
    out
}

fn save_json(path: &Path, value: &Value) -> Result<()> {
    let mut file = PartFile::create(path)?;
    let text = serde_json::to_string_pretty(value)?;
    file.file().write_all(text.as_bytes()).map_err(|e| Error::io(path, &e))?;
    Ok(file.commit()?)
}
