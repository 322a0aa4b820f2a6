//! The variables of a file as text: one in full, several as a list under the axes that they share.

use super::text::{number, numbers, table};
use anyhow::Result;
use blockmgard::stream::Extent;
use blockmgard::volume::VariableInfo;
use serde_json::{Value, json};
use std::fmt::Write;

/// One variable and what was found in its values.
pub struct Found<'a> {
    pub info: &'a VariableInfo,
    /// Smallest and largest value of the first step; `None` when values were not read.
    pub extent: Option<Extent>,
    /// What the values make one suspect.
    pub remarks: Vec<String>,
    /// A value that looks like a code for "missing".
    pub suspect: Option<f64>,
}

impl Found<'_> {
    pub fn json(&self) -> Result<Value> {
        let mut value = serde_json::to_value(self.info)?;
        value["steps"] = json!(self.info.steps());
        value["min"] = json!(self.extent.map(|e| e.min));
        value["max"] = json!(self.extent.map(|e| e.max));
        value["range_of_step"] = json!(self.extent.filter(|_| self.info.steps() > 1).map(|_| 0));
        value["suspected_missing"] = json!(self.suspect);
        value["remarks"] = json!(self.remarks);
        Ok(value)
    }
    /// What its header and its values make one know.
    fn notes(&self) -> impl Iterator<Item = &String> {
        self.info.notes.iter().chain(&self.remarks)
    }
    fn name(&self) -> &str {
        if self.info.name.is_empty() { "values" } else { &self.info.name }
    }
    /// Smallest to largest value.
    fn range(&self) -> Option<String> {
        self.extent.map(|e| {
            if e.min > e.max { "no valid value".into() } else { format!("{} to {}", number(e.min), number(e.max)) }
        })
    }
    fn missing(&self) -> Option<String> {
        let info = self.info;
        let range = info.valid.map(|[lo, hi]| format!("outside {} to {}", number(lo), number(hi)));
        let values = (!info.missing.is_empty()).then(|| numbers(&info.missing));
        let all: Vec<String> = values.into_iter().chain(range).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// `time 12 x z 15 x y 40 x x 90 (slowest first)`.
fn axes(info: &VariableInfo) -> String {
    let axes: Vec<String> = info.extents.iter().zip(&info.axes).map(|(n, a)| format!("{a} {n}")).collect();
    let series = match info.steps() {
        1 => String::new(),
        steps => format!(", a series of {steps} volumes (--index)"),
    };
    format!("{} (slowest first){series}", axes.join(" x "))
}

/// Spacing and origin, one line each.
fn place(info: &VariableInfo, out: &mut String) {
    for (label, values) in [("spacing", &info.spacing), ("origin", &info.origin)] {
        if let Some(values) = values {
            let _ = writeln!(out, "  {label} {}", numbers(values));
        }
    }
    let named = info.axes.iter().zip(&info.axis_units).filter(|(_, units)| !units.is_empty());
    let units: Vec<String> = named.map(|(axis, units)| format!("{axis} in {units}")).collect();
    if !units.is_empty() {
        let _ = writeln!(out, "  axes {}", units.join(", "));
    }
}

pub fn text_of(found: &[Found]) -> String {
    match found {
        [one] => alone(one),
        several => listed(several),
    }
}

fn alone(found: &Found) -> String {
    let info = found.info;
    let mut out = format!("{}: {}, {}\n", found.name(), axes(info), info.stored);
    let mut line = |label: &str, text: Option<String>| {
        let _ = text.map(|text| writeln!(out, "  {label} {text}"));
    };
    line("long name", info.long_name.clone().filter(|name| name != &info.name));
    line("units", info.units.clone());
    line("missing", found.missing());
    place(info, &mut out);
    for note in found.notes() {
        let _ = writeln!(out, "  note: {note}");
    }
    if let (Some(range), Some(extent)) = (found.range(), found.extent) {
        let of = if info.steps() > 1 { " (step 0)" } else { "" };
        let _ = writeln!(out, "  values{of} {range}, max|u| {}", number(extent.max_abs()));
    }
    out
}

/// Variables under a heading of the axes they share; notes that all of them have stand there too.
fn listed(found: &[Found]) -> String {
    let mut groups: Vec<Vec<&Found>> = Vec::new();
    for one in found {
        let key =
            |f: &Found| (f.info.extents.clone(), f.info.axes.clone(), f.info.spacing.clone(), f.info.origin.clone());
        match groups.iter_mut().find(|g| key(g[0]) == key(one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut out = format!("{} variables (FILE:NAME tells more of one)\n", found.len());
    for group in groups {
        let info = group[0].info;
        let _ = writeln!(out, "\n{}", axes(info));
        place(info, &mut out);
        let shared = |note: &&String| group.iter().all(|f| f.notes().any(|n| n == *note));
        for note in group[0].notes().filter(shared) {
            let _ = writeln!(out, "  note: {note}");
        }
        out += &table(&group.iter().map(|f| row(f)).collect::<Vec<_>>(), 2);
        for one in &group {
            for note in one.notes().filter(|note| !shared(note)) {
                let _ = writeln!(out, "  note on {}: {note}", one.name());
            }
        }
    }
    out
}

fn row(found: &Found) -> Vec<String> {
    let info = found.info;
    vec![
        found.name().to_owned(),
        info.stored.clone(),
        info.units.clone().unwrap_or_default(),
        found.range().map_or(String::new(), |range| if info.steps() > 1 { format!("step 0: {range}") } else { range }),
        found.missing().map_or(String::new(), |m| format!("missing {m}")),
        info.long_name.clone().filter(|name| name != &info.name).unwrap_or_default(),
    ]
}
