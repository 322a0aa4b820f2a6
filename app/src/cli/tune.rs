//! `blockmgard tune`: stage models of a device, for `compress --budget-ms`.

use super::args::DeviceArg;
use super::progress::Session;
use anyhow::Result;
use blockmgard::backend::Backend;
use blockmgard::job::tune::{self, Choice, DeviceModels, Models};
use blockmgard::volume::Volume;
use blockmgard::{DType, Error, Mode, Params};
use blockmgard_app::tuned;
use clap::Args;
use serde_json::json;
use std::fmt::Write;

#[derive(Args)]
pub struct Tune {
    #[command(flatten)]
    device: DeviceArg,
}

impl Tune {
    pub fn run(&self, session: &Session) -> Result<()> {
        let opened = self.device.open()?;
        session.note(&opened.describe());
        let models = session.watch("tune", |control| tune::measure(&*opened.backend, control))?;
        let path = tuned::path_of(&models.device)?;
        tuned::save(&models, &path)?;
        let value = json!({ "models": models, "path": path, "knee_blocks": [models.f32.local.knee(), models.f64.local.knee()] });
        session.print(&value, &text(&models, &path.display().to_string()))
    }
}

/// Settings of the hybrid mode for a volume that keep `budget_ms` on a device, by Algorithm 1.
pub fn within_budget(
    volume: &Volume,
    params: Params,
    backend: &dyn Backend,
    budget_ms: f64,
) -> Result<(Params, Choice)> {
    if budget_ms.is_nan() || budget_ms <= 0.0 {
        Err(Error::invalid(format!("a budget of {budget_ms} ms")).remedy("give a number above 0"))?;
    }
    let models = tuned::load(&backend.describe())?;
    let choice = tune::choose(models.of(volume.values.dtype()), &volume.shape, &params, budget_ms)?;
    let (local_levels, global_levels) = (choice.local_levels, choice.global_levels);
    Ok((Params { mode: Mode::Hybrid, local_levels, global_levels, ..params }, choice))
}

fn text(models: &DeviceModels, path: &str) -> String {
    let mut out = format!("{}\n", models.device);
    for dtype in [DType::F32, DType::F64] {
        let (Models { local, global, lossless }, bytes) = (models.of(dtype), dtype.bytes() as f64);
        let gbps = |ms_per_item: f64| if ms_per_item > 0.0 { bytes / (ms_per_item * 1e6) } else { f64::INFINITY };
        let _ = writeln!(
            out,
            "{dtype}: local levels (Eq. 1): slope {:.1} blocks a ms, peak {:.2} GB/s, knee at {:.0} blocks\n     \
             global levels: {:.4} ms and {:.2} GB/s; lossless stage: {:.4} ms and {:.2} GB/s of symbols' values",
            local.slope,
            512.0 * local.peak * bytes / 1e6,
            local.knee(),
            global.fixed_ms,
            gbps(global.ms_per_item),
            lossless.fixed_ms,
            gbps(lossless.ms_per_item)
        );
    }
    let _ = writeln!(out, "kept in {path}");
    out
}
