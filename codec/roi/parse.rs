//! Reading and writing specs as TOML or JSON, with errors that name the line.

use super::spec::{Grow, Interval, RegionShape, RegionSpec, RoiSpec, Tolerance, shown};
use crate::{Error, Result};
use std::path::Path;

/// A larger spec file is something else.
const MAX_BYTES: u64 = 64 << 20;

/// Characters of the longest name.
const MOST_NAME: usize = 200;

/// Farthest a region may grow or shrink.
const MAX_GROW: u32 = 4096;

impl RoiSpec {
    /// Reads a spec file; relative paths of mask files start at its folder.
    pub fn load(path: &Path) -> Result<Self> {
        let io = |e: std::io::Error| Error::io(path, &e);
        if std::fs::metadata(path).map_err(io)?.len() > MAX_BYTES {
            return Err(Error::invalid(format!("{} is too large for an ROI spec", path.display()))
                .remedy("give large masks as files of their own (shape.mask)"));
        }
        let text = String::from_utf8(std::fs::read(path).map_err(io)?)
            .map_err(|_| Error::invalid(format!("{} is no text: an ROI spec is TOML or JSON", path.display())))?;
        let mut spec = Self::parse(&text).map_err(|e| e.in_file(path))?;
        spec.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(spec)
    }
    /// Parses TOML, or JSON when the text starts with a brace, and checks all that can be checked without a volume.
    pub fn parse(text: &str) -> Result<Self> {
        let json = text.trim_start().starts_with('{');
        let mut spec: Self = if json {
            serde_json::from_str(text).map_err(|e| json_error(&e))?
        } else {
            toml::from_str(text).map_err(|e| toml_error(text, &e))?
        };
        spec.check_entries().map_err(|(table, index, mut e)| {
            if let Some(line) = entry_lines(text, json, table).get(index) {
                e.message = format!("line {line}: {}", e.message);
            }
            e
        })?;
        spec.lines = entry_lines(text, json, "region");
        Ok(spec)
    }
    /// As TOML, the form for people.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| Error::invalid(format!("the spec cannot be written as TOML: {e}")))
    }
    /// As JSON, the form kept inside a stream.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|e| Error::invalid(format!("the spec cannot be written as JSON: {e}")))
    }
    /// Checks names and numbers; for specs made by a program.
    pub fn check(&self) -> Result<()> {
        self.check_entries().map_err(|(_, _, e)| e)
    }
    /// An error comes with the table ("tier", "region" or "background") and the entry it is about.
    fn check_entries(&self) -> std::result::Result<(), (&'static str, usize, Error)> {
        if self.tiers.is_empty() || self.tiers.len() > 255 {
            let e = Error::invalid(format!("a spec has 1 to 255 tiers, not {}", self.tiers.len()));
            let remedy = match self.tiers.len() {
                0 => "add a [[tier]] with a name and a tolerance",
                _ => "give regions of nearly the same tolerance one tier",
            };
            return Err(("tier", 0, e.remedy(remedy)));
        }
        for (i, tier) in self.tiers.iter().enumerate() {
            check_name("tier", &tier.name).map_err(|e| ("tier", i, e))?;
            let first = self.tier_index(&tier.name);
            if tier.name.is_empty() || first != Some(i) {
                let e = Error::invalid(format!("tier name \"{}\" is empty or used twice", tier.name));
                return Err(("tier", i, e.remedy("give each tier a name of its own")));
            }
            check_tolerance(&tier.name, tier.tolerance).map_err(|e| ("tier", i, e))?;
        }
        self.tier_of(&self.background).map_err(|e| ("background", 0, e))?;
        for (i, region) in self.regions.iter().enumerate() {
            check_name("region", &region.name).map_err(|e| ("region", i, e))?;
            let checked = self.tier_of(&region.tier).and_then(|_| check_region(region));
            checked.map_err(|mut e| {
                e.message = format!("{}: {}", self.region_title(i), e.message);
                ("region", i, e)
            })?;
        }
        Ok(())
    }
}

/// Names stand in tables and messages, on one line.
fn check_name(what: &str, name: &str) -> Result<()> {
    let count = name.chars().count();
    if count > MOST_NAME {
        return Err(Error::invalid(format!("{what} name {} has {count} characters", shown(name)))
            .remedy(format!("a name has at most {MOST_NAME}")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("{what} name {} holds a control character", shown(name)))
            .remedy("write names on one line, without tabs"));
    }
    Ok(())
}

fn check_tolerance(name: &str, tolerance: Tolerance) -> Result<()> {
    match tolerance {
        Tolerance::Abs(t) | Tolerance::Rel(t) | Tolerance::Range(t) if !(t >= 0.0 && t.is_finite()) => {
            Err(Error::invalid(format!("tier \"{name}\": tolerance {t} is not a finite number >= 0"))
                .remedy("for no bound at all write tolerance = \"ignore\", for an exact copy \"lossless\""))
        }
        _ => Ok(()),
    }
}

fn check_region(region: &RegionSpec) -> Result<()> {
    if let Some(Grow::Voxels(by) | Grow::Blocks(by)) = region.grow
        && by.unsigned_abs() > MAX_GROW
    {
        return Err(Error::invalid(format!("grows by {by}, the most is {MAX_GROW}")));
    }
    match &region.shape {
        RegionShape::Value(i) => check_interval(i, f64::MIN, f64::MAX),
        RegionShape::Gradient(i) => check_interval(i, 0.0, f64::MAX),
        RegionShape::Percentile(i) | RegionShape::GradientPercentile(i) => check_interval(i, 0.0, 100.0),
        RegionShape::Fraction(i) => check_interval(i, 0.0, 1.0),
        RegionShape::Box(b) => {
            let ordered = b.lo.len() == b.hi.len() && b.lo.iter().zip(&b.hi).all(|(lo, hi)| lo < hi);
            let e = || Error::invalid(format!("box from {:?} to {:?} holds nothing", b.lo, b.hi));
            ordered.then_some(()).ok_or_else(|| e().remedy("each entry of lo must be below that of hi"))
        }
        RegionShape::Ellipsoid(s) => {
            let sane = s.center.iter().all(|c| c.is_finite()) && s.radii.iter().all(|&r| r > 0.0 && r.is_finite());
            let e = || Error::invalid(format!("ellipsoid with centre {:?} and radii {:?}", s.center, s.radii));
            sane.then_some(()).ok_or_else(|| e().remedy("radii must be above 0 and all numbers finite"))
        }
        RegionShape::Polygon(p) => {
            let sane = p.axis < 3
                && p.from < p.to
                && p.points.len() >= 3
                && p.points.as_flattened().iter().all(|v| v.is_finite());
            let e = || Error::invalid(format!("polygon of {} points over slices {}..{}", p.points.len(), p.from, p.to));
            sane.then_some(())
                .ok_or_else(|| e().remedy("give an axis of 0 to 2, three or more points, and from below to"))
        }
        RegionShape::Mask(_) | RegionShape::Painted(_) => Ok(()),
    }
}

fn check_interval(interval: &Interval, least: f64, most: f64) -> Result<()> {
    let (min, max) = (interval.min.unwrap_or(least), interval.max.unwrap_or(most));
    if interval.min.is_none() && interval.max.is_none() {
        return Err(Error::invalid("the interval has neither min nor max").remedy("give at least one of them"));
    }
    if !(least <= min && min <= max && max <= most) {
        let limits = match (least, most) {
            (f64::MIN, _) => String::new(),
            (_, f64::MAX) => format!(" or reaches below {least}"),
            _ => format!(" or leaves {least} to {most}"),
        };
        return Err(Error::invalid(format!("the interval from {min} to {max} holds nothing{limits}"))
            .remedy("give finite numbers with min <= max"));
    }
    Ok(())
}

const SCHEMA_HINT: &str = "`blockmgard schema` prints every key";

fn toml_error(text: &str, e: &toml::de::Error) -> Error {
    let line = e.span().map(|s| format!("line {}: ", line_at(text, s.start))).unwrap_or_default();
    Error::invalid(format!("{line}{}", in_words(e.message()))).remedy(SCHEMA_HINT)
}

/// The parser's words for a choice of one key, in ours.
fn in_words(message: &str) -> String {
    match message {
        m if m.starts_with("wanted exactly 1 element") => {
            "one kind of shape (or tolerance) is due here, not several or none: give each its own region (or tier)"
                .into()
        }
        "number out of range" => "a number here is too large for 64-bit floats".into(),
        m if m.starts_with("wanted string or table") => {
            "a tolerance is { rel = 1e-3 }, \"lossless\" or \"ignore\", and a shape is { box = { ... } } or the like"
                .into()
        }
        m => m.replace('\n', " "),
    }
}

fn json_error(e: &serde_json::Error) -> Error {
    let text = e.to_string();
    let place = format!(" at line {} column {}", e.line(), e.column());
    Error::invalid(format!("line {}: {}", e.line(), in_words(text.strip_suffix(&place).unwrap_or(&text))))
        .remedy(SCHEMA_HINT)
}

fn line_at(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|b| **b == b'\n').count()
}

/// The lines of the entries of a list at the top of a spec that was read without error, or of a single key.
fn entry_lines(text: &str, json: bool, key: &str) -> Vec<usize> {
    let starts = if json { json_entries(text, key) } else { toml_entries(text, key) };
    let (mut line, mut from) = (1, 0);
    let line_of = |start: usize| {
        line += line_at(&text[from..], start - from) - 1;
        from = start;
        line
    };
    starts.into_iter().map(line_of).collect()
}

fn toml_entries(text: &str, key: &str) -> Vec<usize> {
    let Ok(table) = toml::de::DeTable::parse(text) else { return Vec::new() };
    let Some(value) = table.get_ref().get(key) else { return Vec::new() };
    match value.get_ref().as_array() {
        Some(entries) => entries.iter().map(|v| v.span().start).collect(),
        None => vec![value.span().start],
    }
}

/// Finds entries by counting brackets.
fn json_entries(text: &str, key: &str) -> Vec<usize> {
    let (mut depth, mut in_string, mut escaped, mut inside) = (0, false, false, false);
    let mut starts = Vec::new();
    let quoted = format!("\"{key}\"");
    for (i, b) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || b != b'"';
            escaped = !escaped && b == b'\\';
            continue;
        }
        match b {
            b'"' => {
                in_string = true;
                if depth == 1 {
                    inside = text[i..].starts_with(&quoted);
                    if inside && key == "background" {
                        starts.push(i);
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if inside && depth == 3 {
                    starts.push(i);
                }
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    starts
}
