//! `blockmgard roi`: what an ROI spec makes of a volume.

use super::args::Input;
use super::parse;
use super::picture::{self, Canvas};
use super::progress::Session;
use super::text::plain;
use super::tolerance::{Loaded, load_roi, tiers_json};
use anyhow::Result;
use blockmgard::job;
use blockmgard::volume::Volume;
use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::{Error, ToleranceMap};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Roi {
    #[command(subcommand)]
    command: RoiCommand,
}

#[derive(Subcommand)]
enum RoiCommand {
    /// Write the tolerance of every 8^3 block and count blocks before and after each propagation step
    Map(Map),
    /// Draw the tiers over a slice
    Preview(Preview),
}

#[derive(Args)]
struct Map {
    #[command(flatten)]
    input: Input,
    /// ROI spec, TOML or JSON; positions are those of the file, with --box too
    #[arg(long, value_name = "SPEC")]
    roi: PathBuf,
    /// File for the map (.npy, .nrrd, .vti, ...): absolute tolerances (f64; 0 lossless, inf ignore), one per block
    #[arg(short, long, value_parser = parse::output, value_name = "MAP")]
    output: Option<PathBuf>,
    /// Local levels to propagate through by Eq. (2)
    #[arg(short = 'L', long, default_value_t = 1)]
    local_levels: u8,
    /// Level whose map is written, 0 the finest
    #[arg(long, default_value_t = 0)]
    level: u8,
}

#[derive(Args)]
struct Preview {
    #[command(flatten)]
    input: Input,
    /// ROI spec, TOML or JSON; positions are those of the file, with --box too
    #[arg(long, value_name = "SPEC")]
    roi: PathBuf,
    /// Picture to write
    #[arg(short, long, value_parser = parse::output, value_name = "PICTURE.png")]
    output: PathBuf,
    /// Axis that the slice is taken across, 0 the slowest
    #[arg(long, default_value_t = 0)]
    axis: usize,
    /// Node of that axis [default: the middle]
    #[arg(long)]
    slice: Option<usize>,
}

impl Roi {
    pub fn run(&self, session: &Session) -> Result<()> {
        match &self.command {
            RoiCommand::Map(map) => map.run(session),
            RoiCommand::Preview(preview) => preview.run(session),
        }
    }
}

fn resolve(input: &Input, roi: &Path, session: &Session) -> Result<(Volume, Loaded)> {
    let volume = input.volume()?;
    let loaded = load_roi(roi, (&volume, &input.corner()), session)?;
    Ok((volume, loaded))
}

impl Map {
    fn run(&self, session: &Session) -> Result<()> {
        let (volume, Loaded { map, remarks, .. }) = resolve(&self.input, &self.roi, session)?;
        let levels = map.propagated(usize::from(self.local_levels.max(self.level)));
        let told = settled(&levels);
        if let Some(out) = &self.output {
            let payload = Payload::tolerance_map(&levels[usize::from(self.level)], &volume.shape, &volume.meta)?;
            write_file(out, WriteFormat::from_path(out)?, &payload)?;
        }
        let extent = session.watch("range", |control| job::value_extent(&volume, control))?;
        let steps: Vec<Value> = levels.iter().map(level_json).collect();
        let value =
            json!({ "map": self.output, "tiers": tiers_json(&map, &extent), "levels": steps, "remarks": remarks });
        session.print(&value, &levels_text(&levels[..told], levels.len() - told))
    }
}

fn level_json(map: &ToleranceMap) -> Value {
    let tau = map.strictest();
    let tau_global = if tau.is_finite() { json!(tau) } else { json!("ignore") };
    json!({ "blocks": map.blocks, "blocks_per_tier": map.blocks_per_tier(), "tau_global": tau_global })
}

/// The number of levels until further steps change nothing.
fn settled(levels: &[ToleranceMap]) -> usize {
    let same = |a: &ToleranceMap, b: &ToleranceMap| (a.blocks, &a.tier_of_block) == (b.blocks, &b.tier_of_block);
    levels.windows(2).position(|pair| same(&pair[0], &pair[1])).map_or(levels.len(), |at| at + 1)
}

/// One row a tier, one column a level; `more` steps after them change nothing.
fn levels_text(levels: &[ToleranceMap], more: usize) -> String {
    let tiers = &levels[0].tiers;
    let names: Vec<String> = tiers.iter().map(|t| plain(&t.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(10);
    let mut out = format!("{:width$}  {:>12}", "blocks of", "tolerance");
    for level in 0..levels.len() {
        let _ = write!(out, "  {:>18}", if level == 0 { "finest".into() } else { format!("after step {level}") });
    }
    for (index, tier) in tiers.iter().enumerate() {
        let _ = write!(out, "\n{:width$}  {:>12.4e}", names[index], tier.tau);
        for map in levels {
            let (count, total) = (map.blocks_per_tier()[index], map.tier_of_block.len());
            let _ = write!(out, "  {count:>9} ({:>4.1} %)", 100.0 * count as f64 / total as f64);
        }
    }
    let _ = write!(out, "\n{:width$}  {:>12}", "tau_global", "");
    for map in levels {
        let _ = write!(out, "  {:>18.4e}", map.strictest());
    }
    if more > 0 {
        let _ = write!(out, "\n{more} more step(s) change nothing");
    }
    out
}

impl Preview {
    fn run(&self, session: &Session) -> Result<()> {
        let (volume, Loaded { spec, map, .. }) = resolve(&self.input, &self.roi, session)?;
        let slice = picture::Slice::new(&volume.shape, self.axis, self.slice)?;
        let values = slice.read(&volume)?;
        let colors: Vec<[u8; 3]> = (0..map.tiers.len()).map(|i| spec.tier_color(i).0).collect();
        let panel = picture::tiers_over_values(&slice, &values, &map, &colors);
        if !self.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
            let error = Error::invalid(format!("{} does not end with .png", self.output.display()));
            Err(error.remedy("the picture is a PNG"))?;
        }
        let scale = picture::scale_for(slice.width, slice.height, 512);
        let mut canvas = Canvas::new(slice.width * scale + 20, slice.height * scale + 60);
        canvas.panel(10, 30, &panel, scale);
        canvas.text(10, 10, &format!("{} {}", volume.meta.source, slice.title(&volume)));
        let mut x = 10;
        for (tier, color) in map.tiers.iter().zip(&colors) {
            x = canvas.legend(x, slice.height * scale + 40, &tier.name, *color) + 16;
        }
        canvas.save(&self.output)?;
        session.print(&json!({ "picture": self.output }), &format!("{} written", self.output.display()))
    }
}
