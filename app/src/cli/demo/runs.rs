//! The runs of the demo: each decomposition at one strict tolerance everywhere, and with the tiers.

use crate::cli::bench::{Timing, median, time_once};
use crate::cli::progress::Session;
use anyhow::Result;
use blockmgard::backend::Backend;
use blockmgard::job;
use blockmgard::metrics::{self, Comparison, compare};
use blockmgard::roi::RoiSpec;
use blockmgard::stream::Archive;
use blockmgard::volume::Volume;
use blockmgard::{Basis, Mode, Params, ToleranceMap};
use serde_json::{Value, json};

/// Timed repetitions; medians are shown.
const REPEATS: usize = 5;

pub struct Run {
    pub name: String,
    pub ratio: f64,
    pub compressed_bytes: u64,
    pub compress_gbps: f64,
    pub decompress_gbps: f64,
    pub metrics: metrics::Report,
    pub rebuilt: Volume,
}

impl Run {
    pub fn json(&self) -> Value {
        let m = &self.metrics;
        json!({
            "name": self.name, "ratio": self.ratio, "compressed_bytes": self.compressed_bytes,
            "max_error": m.max_error, "max_error_over_tau": m.max_error_over_tau, "violations": m.violations,
            "psnr_db": m.psnr_db, "roi_psnr_db": m.roi_psnr_db, "compress_gbps": self.compress_gbps,
            "decompress_gbps": self.decompress_gbps, "tiers": m.tiers,
        })
    }
}

/// Every decomposition, uniform and with ROI.
pub fn all(
    volume: &Volume,
    spec: &RoiSpec,
    map: &ToleranceMap,
    backend: &dyn Backend,
    session: &Session,
) -> Result<Vec<Run>> {
    let strictest = map.strictest();
    let uniform = ToleranceMap { tiers: map.tiers.clone(), ..map.clone() };
    let uniform = strict_everywhere(uniform, strictest);
    let hybrid = |basis| Params { mode: Mode::Hybrid, basis, ..Params::default() };
    let settings = [
        ("hybrid, hierarchical", hybrid(Basis::Hierarchical)),
        ("hybrid, projection", hybrid(Basis::Projection)),
        ("pyramid", Params { mode: Mode::Pyramid, ..Params::default() }),
    ];
    let background = spec.tier_index(&spec.background);
    let mut runs = Vec::new();
    for (label, params) in &settings {
        for (kind, map) in [("uniform", &uniform), ("roi", map)] {
            let setup = Setup { volume, map, background, params, backend };
            runs.push(setup.run(format!("{label}, {kind}"), session)?);
        }
    }
    Ok(runs)
}

/// The same tiers, so that ROI figures are over the same voxels, but all at one tolerance.
fn strict_everywhere(mut map: ToleranceMap, tau: f64) -> ToleranceMap {
    map.tiers.iter_mut().for_each(|t| t.tau = tau);
    map
}

struct Setup<'a> {
    volume: &'a Volume,
    map: &'a ToleranceMap,
    background: Option<usize>,
    params: &'a Params,
    backend: &'a dyn Backend,
}

impl Setup<'_> {
    fn run(&self, name: String, session: &Session) -> Result<Run> {
        let once =
            || session.watch(&name, |control| time_once(self.volume, self.map, self.params, self.backend, control));
        let timings = (0..REPEATS).map(|_| once()).collect::<Result<Vec<Timing>>>()?;
        let archive = Archive::from_bytes(timings[0].stream.clone())?;
        let region = self.volume.shape.region();
        let (rebuilt, _) =
            session.watch(&name, |control| job::decompress_volume(&archive, &region, self.backend, None, control))?;
        let comparison = Comparison {
            original: self.volume,
            reconstructed: &rebuilt,
            tolerance: self.map,
            background: self.background,
            compressed_bytes: Some(archive.len_bytes()),
        };
        let metrics = session.watch(&name, |control| compare(&comparison, control))?;
        Ok(Run {
            name,
            ratio: timings[0].compress.ratio,
            compressed_bytes: archive.len_bytes(),
            compress_gbps: median(timings.iter().map(|t| t.compress.gbps)),
            decompress_gbps: median(timings.iter().map(Timing::decompress_gbps)),
            metrics,
            rebuilt,
        })
    }
}
