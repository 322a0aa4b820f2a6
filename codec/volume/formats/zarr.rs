//! Zarr version 2 and 3, sharded or not, on a file system: arrays and groups of arrays, chunks read on demand.
//!
//! Read here and not through the `zarrs` crate: its chunks of gzip, zlib and zstd unpack without a limit (a chunk of 10 MB
//! may become 10 GB), and it adds some 200 crates and minutes of compilation for what takes a few hundred lines.

use super::spacing::{Axis, axis_attributes, place};
use super::tiled::{BoxReader, tiled_values};
use super::zarr_boxes::{ZarrArray, ZarrBoxes, chunk_bytes};
use super::zarr_meta::ArrayMeta;
use crate::volume::{Dataset, Format, OpenHints, Region, VariableInfo, Volume, default_axes};
use crate::{Error, Result};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Zarr; see the module.
pub struct Zarr;

/// Groups nested deeper than this are a loop of links.
const MAX_DEPTH: usize = 16;
/// Arrays and groups looked at.
const MAX_NODES: usize = 10_000;
const MAX_JSON_BYTES: u64 = 16 << 20;
/// Longest coordinate array that is read for spacing and origin.
const MAX_COORDINATES: usize = 1 << 20;

impl Format for Zarr {
    fn name(&self) -> &'static str {
        "Zarr"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["zarr"]
    }
    fn sniff(&self, path: &Path, _head: &[u8]) -> bool {
        [".zarray", ".zgroup", "zarr.json"].iter().any(|f| path.join(f).is_file())
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let mut walk = Walk { arrays: Vec::new(), refused: None, nodes: 0 };
        walk.visit(path, "", 0)?;
        let set = ZarrDataset::new(path, walk.arrays, hints);
        if set.infos.is_empty() {
            let none = || Error::invalid(format!("{} holds no numeric array", path.display()));
            return Err(walk.refused.unwrap_or_else(none));
        }
        Ok(Box::new(set))
    }
}

/// Arrays found below a folder.
struct Walk {
    arrays: Vec<ZarrArray>,
    /// Why an array could not be used.
    refused: Option<Error>,
    nodes: usize,
}

fn read_json(path: &Path) -> Result<Option<Value>> {
    match std::fs::metadata(path) {
        Err(_) => return Ok(None),
        Ok(m) if m.len() > MAX_JSON_BYTES => {
            return Err(Error::corrupt(format!("{} is too large for Zarr metadata", path.display())));
        }
        Ok(_) => {}
    }
    let text = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    // Python writes NaN, which JSON does not have.
    let text = String::from_utf8_lossy(&text).replace(": NaN", ": \"NaN\"");
    serde_json::from_str(&text).map(Some).map_err(|e| Error::corrupt(format!("{}: {e}", path.display())))
}

impl Walk {
    fn visit(&mut self, path: &Path, name: &str, depth: usize) -> Result<()> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(Error::invalid(format!("{} has too many groups or too deep ones", path.display())));
        }
        let version_3 = read_json(&path.join("zarr.json"))?;
        let version_2 = read_json(&path.join(".zarray"))?;
        let meta = match (&version_3, &version_2) {
            (Some(m), _) if m["node_type"].as_str() == Some("array") => Some(ArrayMeta::version_3(m)),
            (None, Some(m)) => {
                let attributes = read_json(&path.join(".zattrs"))?.unwrap_or(Value::Null);
                Some(ArrayMeta::version_2(m, attributes))
            }
            _ => None,
        };
        match meta {
            Some(Ok(meta)) => {
                let packing = meta.cf().packing(meta.stored);
                self.arrays.push(ZarrArray { name: name.into(), path: path.into(), meta: Arc::new(meta), packing });
                return Ok(());
            }
            Some(Err(e)) => {
                self.refused = Some(e.in_file(path));
                return Ok(());
            }
            None => {}
        }
        let mut children = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|e| Error::io(path, &e))? {
            let entry = entry.map_err(|e| Error::io(path, &e))?;
            if entry.path().is_dir() {
                children.push(entry.file_name());
            }
        }
        children.sort();
        for child in children {
            let below = child.to_string_lossy();
            let name = if name.is_empty() { below.into_owned() } else { format!("{name}/{below}") };
            self.visit(&path.join(&child), &name, depth + 1)?;
        }
        Ok(())
    }
}

struct ZarrDataset {
    source: String,
    infos: Vec<VariableInfo>,
    arrays: Vec<ZarrArray>,
}

impl ZarrDataset {
    fn new(path: &Path, all: Vec<ZarrArray>, hints: &OpenHints) -> Self {
        let is_coordinate = |a: &ZarrArray| {
            a.meta
                .axes
                .as_ref()
                .is_some_and(|axes| axes.len() == 1 && a.name.rsplit('/').next() == Some(axes[0].as_str()))
        };
        let (mut infos, mut arrays) = (Vec::new(), Vec::new());
        for array in all.iter().filter(|a| !a.meta.extents.is_empty() && !is_coordinate(a)) {
            infos.push(describe(array, &all, path, hints));
            arrays.push(array.clone());
        }
        Self { source: path.display().to_string(), infos, arrays }
    }
}

fn describe(array: &ZarrArray, all: &[ZarrArray], path: &Path, hints: &OpenHints) -> VariableInfo {
    let meta = &array.meta;
    let group = array.name.rsplit_once('/').map_or("", |(g, _)| g);
    let coordinate_array = |axis: &String| {
        let name = if group.is_empty() { axis.clone() } else { format!("{group}/{axis}") };
        all.iter().find(|a| a.name == name && a.meta.extents.len() == 1)
    };
    let coordinates = |axis: &String| {
        let found = coordinate_array(axis)?;
        let n = found.meta.extents[0];
        let mut values = vec![0.0; n.min(MAX_COORDINATES)];
        let boxes = ZarrBoxes { array: found.clone(), leading: Vec::new(), rank: 1 };
        boxes.read_box(&Region { lo: [0; 3], hi: [1, 1, values.len()] }, &mut values).ok()?;
        (values.len() == n).then_some(values)
    };
    let axes = meta.axes.clone().unwrap_or_else(|| default_axes(meta.extents.len()));
    let mut missing = array.packing.delivered_fills();
    missing.extend(&hints.missing);
    let stem = || path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let placed = axes.iter().map(|name| Axis {
        name: name.clone(),
        nodes: coordinates(name),
        units: coordinate_array(name).and_then(|a| a.meta.text("units")),
        attributes: axis_attributes(|key| coordinate_array(name)?.meta.text(key)),
    });
    let placed = placed.collect();
    let mut info = VariableInfo {
        name: if array.name.is_empty() { stem() } else { array.name.clone() },
        extents: meta.extents.clone(),
        axes,
        stored: array.packing.describe(meta.stored),
        dtype: array.packing.dtype,
        units: meta.text("units"),
        long_name: ["long_name", "standard_name", "description"].iter().find_map(|k| meta.text(k)),
        missing,
        valid: array.packing.delivered_valid(),
        spacing: None,
        origin: None,
        coordinates: Vec::new(),
        axis_units: Vec::new(),
        axis_attributes: Vec::new(),
        notes: array.packing.notes(meta.stored),
    };
    place(&mut info, placed);
    info
}

impl Dataset for ZarrDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, array) = self
            .infos
            .get(variable)
            .zip(self.arrays.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let leading = info.leading_indices(step)?;
        let shape = info.shape()?;
        chunk_bytes(&array.meta)?;
        let mut chunk = [1; 3];
        chunk[3 - shape.rank as usize..].copy_from_slice(&array.meta.inner_chunk()[leading.len()..]);
        let reader = ZarrBoxes { array: array.clone(), leading, rank: shape.rank as usize };
        let raw = tiled_values(array.meta.stored.delivered(), shape.n, chunk, reader)?;
        let name = if array.name.is_empty() { "" } else { info.name.as_str() };
        info.volume(&self.source, name, step, array.packing.apply(raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::Values;
    use proptest::prelude::*;

    fn array(meta: &str) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".zarray"), meta).unwrap();
        Zarr.open(dir.path(), &OpenHints::default())
    }

    const META: &str = r#"{"zarr_format": 2, "shape": [3, 4], "chunks": [2, 3], "dtype": ">i2", "compressor": null,
        "filters": null, "fill_value": 7, "order": "F"}"#;

    #[test]
    fn chunks_of_either_order_and_fill() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".zarray"), META).unwrap();
        let chunk: Vec<u8> = (0..6i16).flat_map(i16::to_be_bytes).collect();
        std::fs::write(dir.path().join("1.0"), chunk).unwrap();
        let v = Zarr.open(dir.path(), &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = v.values else { panic!("i16 fits f32") };
        let mut all = [0.0; 12];
        f.read_region(&v.shape.region(), &mut all).unwrap();
        assert_eq!(all, [7., 7., 7., 7., 7., 7., 7., 7., 0., 2., 4., 7.]);
        std::fs::write(dir.path().join("1.0"), [0; 11]).unwrap();
        let v = Zarr.open(dir.path(), &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = v.values else { panic!("i16 fits f32") };
        assert!(f.read_row(0, 2, 0, &mut [0.0; 2]).unwrap_err().message.contains("1.0"));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let said = |from: &str, to: &str| array(&META.replace(from, to)).err().unwrap().to_string();
        assert!(said(">i2", "<c8").contains("<c8"));
        assert!(said("\"compressor\": null", "\"compressor\": {\"id\": \"lzma\"}").contains("lzma"));
        assert!(said("[2, 3]", "[0, 3]").contains("above 0"));
        let huge = META.replace("[3, 4]", "[1152921504606846976, 4]").replace("[2, 3]", "[1152921504606846976, 4]");
        assert!(array(&huge).and_then(|d| d.open(0, 0)).is_err());
    }

    proptest! {
        #[test]
        fn no_metadata_panics(at in 0usize..160, byte in 32u8..127) {
            let mut meta = META.as_bytes().to_vec();
            let at = at % meta.len();
            meta[at] = byte;
            if let Ok(d) = array(&String::from_utf8(meta).unwrap()) {
                let _ = d.open(0, 0);
            }
        }
    }
}
