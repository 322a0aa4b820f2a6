//! Tolerances: one for all, tiers of an ROI spec, or a goal to search for.

use super::parse;
use super::progress::Session;
use super::text::{number, plain};
use anyhow::Result;
use blockmgard::backend::Backend;
use blockmgard::job::{self, Goal};
use blockmgard::roi::{Analysis, RoiSpec};
use blockmgard::stream::{Extent, Provenance};
use blockmgard::volume::{Stats, Volume};
use blockmgard::{Error, Params, ToleranceMap};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Tolerance")]
pub struct ToleranceArgs {
    /// Largest error, in the units of the data
    #[arg(long, group = "bound", value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    abs: Option<f64>,
    /// Largest error as a fraction of max|u| (MGARD's REL)
    #[arg(long, group = "bound", value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    rel: Option<f64>,
    /// Largest error as a fraction of max - min (what SZ calls REL)
    #[arg(long, group = "bound", value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    range: Option<f64>,
    /// Search for this PSNR in dB, all tiers scaled together
    #[arg(long, group = "goal", value_name = "DB", conflicts_with = "bound", value_parser = parse::goal)]
    psnr: Option<f64>,
    /// Search for this compression ratio, all tiers scaled together
    #[arg(long, group = "goal", value_name = "RATIO", conflicts_with = "bound", value_parser = parse::goal)]
    ratio: Option<f64>,
    /// Tiers and regions of interest (TOML or JSON; see `blockmgard schema`); positions are those of the file, with --box too
    #[arg(long, value_name = "SPEC", conflicts_with = "bound")]
    roi: Option<PathBuf>,
}

/// A map ready for a run, and how it came about.
pub struct Resolved {
    pub map: ToleranceMap,
    pub extent: Extent,
    /// The ROI spec in its JSON form.
    pub roi: Option<Value>,
    /// What a search found: (JSON, sentence).
    pub found: Option<(Value, String)>,
    /// What was told of the regions.
    pub remarks: Vec<String>,
}

impl ToleranceArgs {
    /// Without any of the arguments, `default_rel` holds (a command without a default refuses). `carried` says what the stream
    /// will carry beside the values, given the ROI spec: a searched ratio counts it. `corner`: see [`load_roi`].
    pub fn resolve(
        &self,
        (volume, corner): (&Volume, &[usize]),
        params: &Params,
        backend: &dyn Backend,
        default_rel: Option<f64>,
        carried: &dyn Fn(Option<Value>) -> Provenance,
        session: &Session,
    ) -> Result<Resolved> {
        let extent = session.watch("range", |control| job::value_extent(volume, control))?;
        let goal = self.psnr.map(Goal::Psnr).or(self.ratio.map(Goal::Ratio));
        let uniform = self.uniform(&extent).or(default_rel.map(|rel| rel * extent.max_abs()));
        let spec = self.roi.as_ref().map(|path| load_roi(path, (volume, corner), session)).transpose()?;
        let roi = spec.as_ref().map(|loaded| serde_json::to_value(&loaded.spec)).transpose()?;
        let remarks = spec.as_ref().map_or_else(Vec::new, |loaded| loaded.remarks.clone());
        let map = match (spec, uniform, goal) {
            (Some(loaded), _, _) => loaded.map,
            (None, _, Some(goal)) => session.watch("range", |control| job::first_guess(volume, goal, control))?,
            (None, Some(tau), None) => ToleranceMap::uniform(&volume.shape, tau)?,
            (None, None, None) => {
                let error = Error::invalid("no tolerance is given");
                return Err(error.remedy("use --abs, --rel, --range, --roi, --psnr or --ratio").into());
            }
        };
        let mut resolved = Resolved { map, extent, roi, found: None, remarks };
        if let Some(goal) = goal {
            let carried = carried(resolved.roi.clone());
            let found = session.watch("search", |control| {
                job::search(volume, &resolved.map, params, backend, goal, &carried, control)
            })?;
            resolved.map = found.map.clone();
            resolved.found = Some(found_report(goal, &found));
        }
        Ok(resolved)
    }
    fn uniform(&self, extent: &Extent) -> Option<f64> {
        let bases = [(self.abs, 1.0), (self.rel, extent.max_abs()), (self.range, extent.range())];
        bases.into_iter().find_map(|(tolerance, base)| tolerance.map(|t| t * base))
    }
}

/// A spec bound to a volume.
pub struct Loaded {
    /// With positions that count from the volume's first node.
    pub spec: RoiSpec,
    pub map: ToleranceMap,
    /// What was told of the regions.
    pub remarks: Vec<String>,
}

/// Reads a spec and binds it to a volume. Where that is a box of the file's, `corner` is the box's first node per axis (else it is
/// empty): positions in the spec are those of the file.
pub fn load_roi(path: &Path, (volume, corner): (&Volume, &[usize]), session: &Session) -> Result<Loaded> {
    let spec = RoiSpec::load(path)?;
    let stats = session.watch("statistics", |control| Stats::of(volume, control))?;
    let in_spec = |e: Error| e.in_file(path);
    let (spec, mut remarks) =
        if corner.is_empty() { (spec, Vec::new()) } else { spec.in_box(corner, &volume.shape).map_err(in_spec)? };
    let analysis = Analysis::new(volume.clone(), stats);
    let (map, told) = session.watch("regions", |control| spec.resolve_told(&analysis, control).map_err(in_spec))?;
    remarks.extend(told);
    let remarks: Vec<String> = remarks.iter().map(|remark| format!("{}: {remark}", path.display())).collect();
    remarks.iter().for_each(|remark| session.warn(remark));
    Ok(Loaded { spec, map, remarks })
}

fn found_report(goal: Goal, found: &job::Found) -> (Value, String) {
    let (what, target, unit) = match goal {
        Goal::Psnr(db) => ("PSNR", db, " dB"),
        Goal::Ratio(ratio) => ("ratio", ratio, ""),
    };
    let near = if found.close { "" } else { "; none of them came nearer" };
    let reached = match found.reached {
        f64::INFINITY => "an exact copy".into(),
        reached => format!("{}{unit}", number(reached)),
    };
    let text = format!(
        "{what} {}{unit} asked for, {reached} found after {} run(s) with all tiers times {:.4e}{near}",
        number(target),
        found.runs,
        found.scale
    );
    let value = json!({
        "goal": what, "target": target, "reached": found.reached, "scale": found.scale, "runs": found.runs,
        "close": found.close,
    });
    (value, text)
}

/// Tiers with their tolerances in absolute and relative terms and their numbers of blocks.
pub fn tiers_json(map: &ToleranceMap, extent: &Extent) -> Value {
    let counts = map.blocks_per_tier();
    let tiers = map.tiers.iter().zip(counts).map(|(tier, blocks)| {
        let relative =
            |base: f64| if tier.tau.is_finite() && base > 0.0 { json!(tier.tau / base) } else { Value::Null };
        json!({
            "name": tier.name, "abs": tau_json(tier.tau), "rel": relative(extent.max_abs()),
            "range": relative(extent.range()), "blocks": blocks,
        })
    });
    tiers.collect()
}

/// JSON has no infinity.
fn tau_json(tau: f64) -> Value {
    if tau.is_infinite() { json!("ignore") } else { json!(tau) }
}

/// The same as a table.
pub fn tiers_text(map: &ToleranceMap, extent: &Extent) -> String {
    let total = map.tier_of_block.len();
    let names: Vec<String> = map.tiers.iter().map(|t| plain(&t.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
    let mut out = format!("{:width$}  {:>12}  {:>12}  {:>12}  blocks\n", "tier", "tolerance", "of max|u|", "of range");
    for ((tier, name), blocks) in map.tiers.iter().zip(&names).zip(map.blocks_per_tier()) {
        let share = 100.0 * blocks as f64 / total as f64;
        let relative = |base: f64| if base > 0.0 { format!("{:.4e}", tier.tau / base) } else { "-".into() };
        let (tau, rel, range) = match tier.tau {
            0.0 => ("lossless".into(), "-".into(), "-".into()),
            t if t.is_infinite() => ("ignore".into(), "-".into(), "-".into()),
            t => (format!("{t:.6e}"), relative(extent.max_abs()), relative(extent.range())),
        };
        let _ = writeln!(out, "{name:width$}  {tau:>12}  {rel:>12}  {range:>12}  {blocks} ({share:.1} %)");
    }
    out
}
