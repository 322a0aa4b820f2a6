//! What the metadata of a Zarr array says, in version 2 and version 3.

use super::cf::CfAttributes;
use super::zarr_codecs::{Codecs, Sharding, numbers};
use crate::volume::{DType, StoredType};
use crate::{Error, ErrorKind, Result};
use serde_json::Value;

/// One array, from either version.
#[derive(Clone, Debug)]
pub struct ArrayMeta {
    pub extents: Vec<usize>,
    /// Extents of the chunks that are files.
    pub chunk: Vec<usize>,
    pub stored: StoredType,
    pub codecs: Codecs,
    pub sharding: Option<Sharding>,
    /// Value of chunks that were never written.
    pub fill: f64,
    /// In front of the indices of a chunk's file name, and between them.
    pub key_prefix: &'static str,
    pub separator: char,
    pub axes: Option<Vec<String>>,
    pub attributes: Value,
}

/// More axes than this are no data of ours.
const MAX_RANK: usize = 16;

impl ArrayMeta {
    /// From `.zarray` and `.zattrs`.
    pub fn version_2(meta: &Value, attributes: Value) -> Result<Self> {
        let extents = shape(meta)?;
        let rank = extents.len();
        let name = meta["dtype"].as_str().unwrap_or("a record");
        let stored = stored_type(name.trim_start_matches(['<', '>', '|', '='])).ok_or_else(|| unsupported(name))?;
        let axes = attributes["_ARRAY_DIMENSIONS"].as_array().and_then(|a| names(a, rank));
        Ok(Self {
            chunk: numbers(&meta["chunks"], rank)?,
            stored,
            codecs: Codecs::version_2(meta, rank, name.starts_with('>'))?,
            sharding: None,
            fill: fill_value(&meta["fill_value"]),
            key_prefix: "",
            separator: if meta["dimension_separator"].as_str() == Some("/") { '/' } else { '.' },
            axes,
            attributes,
            extents,
        })
    }
    /// From `zarr.json`.
    pub fn version_3(meta: &Value) -> Result<Self> {
        let extents = shape(meta)?;
        let rank = extents.len();
        let name = meta["data_type"].as_str().unwrap_or("a record");
        if meta["chunk_grid"]["name"].as_str() != Some("regular") {
            return Err(unsupported("an irregular chunk grid"));
        }
        let chunk = numbers(&meta["chunk_grid"]["configuration"]["chunk_shape"], rank)?;
        let (codecs, sharding) = Codecs::version_3(&meta["codecs"], rank)?;
        if let Some(s) = &sharding
            && s.chunk.iter().zip(&chunk).any(|(inner, outer)| !outer.is_multiple_of(*inner))
        {
            return Err(Error::corrupt("Zarr shards that are no whole number of chunks"));
        }
        let encoding = &meta["chunk_key_encoding"];
        let default = encoding["name"].as_str() != Some("v2");
        let separator = encoding["configuration"]["separator"].as_str().and_then(|s| s.chars().next());
        Ok(Self {
            stored: stored_type(name).ok_or_else(|| unsupported(name))?,
            codecs,
            sharding,
            fill: fill_value(&meta["fill_value"]),
            key_prefix: if default { "c" } else { "" },
            separator: separator.unwrap_or(if default { '/' } else { '.' }),
            axes: meta["dimension_names"].as_array().and_then(|a| names(a, rank)),
            attributes: meta["attributes"].clone(),
            chunk,
            extents,
        })
    }
    /// Chunks that are decoded at once.
    pub fn inner_chunk(&self) -> &[usize] {
        self.sharding.as_ref().map_or(&self.chunk, |s| &s.chunk)
    }
    /// File of the chunk at these indices, relative to the array.
    pub fn key(&self, index: &[usize]) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.key_prefix.is_empty() {
            parts.push(self.key_prefix.to_string());
        }
        parts.extend(index.iter().map(usize::to_string));
        parts.join(&self.separator.to_string())
    }
    pub fn text(&self, key: &str) -> Option<String> {
        self.attributes[key].as_str().map(str::to_string).filter(|t| !t.trim().is_empty())
    }
    /// The CF attributes; version 2 files of xarray keep `_FillValue` as the fill value of the array.
    pub fn cf(&self) -> CfAttributes {
        let number = |key: &str| attribute_number(&self.attributes[key]);
        let list = |key: &str| match &self.attributes[key] {
            Value::Array(a) => a.iter().filter_map(attribute_number).collect(),
            v => attribute_number(v).into_iter().collect::<Vec<_>>(),
        };
        let by_xarray = self.key_prefix.is_empty() && self.axes.is_some() && self.fill != 0.0;
        let valid = match list("valid_range")[..] {
            [lo, hi] => Some([lo, hi]),
            _ => match (number("valid_min"), number("valid_max")) {
                (None, None) => None,
                (lo, hi) => Some([lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY)]),
            },
        };
        CfAttributes {
            // JSON numbers are doubles.
            scale: number("scale_factor").map(|v| (v, DType::F64)),
            offset: number("add_offset").map(|v| (v, DType::F64)),
            fill: number("_FillValue").or(by_xarray.then_some(self.fill)),
            missing: list("missing_value"),
            valid,
            valid_is_packed: true,
            unsigned: self.text("_Unsigned").and_then(|s| s.to_ascii_lowercase().parse().ok()),
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Compatibility, format!("Zarr arrays of {what} are not read"))
}

fn shape(meta: &Value) -> Result<Vec<usize>> {
    let list = meta["shape"]
        .as_array()
        .filter(|s| s.len() <= MAX_RANK)
        .ok_or_else(|| Error::corrupt("Zarr metadata without a shape"))?;
    numbers(&meta["shape"], list.len())
}

fn names(list: &[Value], rank: usize) -> Option<Vec<String>> {
    let names: Option<Vec<String>> = list.iter().map(|v| v.as_str().map(str::to_string)).collect();
    names.filter(|n| n.len() == rank)
}

fn stored_type(name: &str) -> Option<StoredType> {
    Some(match name {
        "b1" | "bool" | "u1" | "uint8" => StoredType::U8,
        "i1" | "int8" => StoredType::I8,
        "u2" | "uint16" => StoredType::U16,
        "i2" | "int16" => StoredType::I16,
        "u4" | "uint32" => StoredType::U32,
        "i4" | "int32" => StoredType::I32,
        // "u8" and "i8" are eight bytes here, as NumPy has it.
        "u8" | "uint64" => StoredType::U64,
        "i8" | "int64" => StoredType::I64,
        "f4" | "float32" => StoredType::F32,
        "f8" | "float64" => StoredType::F64,
        _ => return None,
    })
}

/// A fill value as JSON has it: a number, a word, or the bits in hexadecimal.
fn fill_value(v: &Value) -> f64 {
    match v {
        Value::Bool(b) => *b as u8 as f64,
        Value::String(s) => match s.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => match s.strip_prefix("0x") {
                Some(h) if h.len() == 8 => u32::from_str_radix(h, 16).map_or(0.0, |b| f32::from_bits(b) as f64),
                Some(h) if h.len() == 16 => u64::from_str_radix(h, 16).map_or(0.0, f64::from_bits),
                _ => 0.0,
            },
        },
        v => v.as_f64().unwrap_or(0.0),
    }
}

/// A number; xarray writes a float `_FillValue` of version 3 as the base64 of a little-endian double.
fn attribute_number(v: &Value) -> Option<f64> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    match v {
        Value::String(s) => match STANDARD.decode(s) {
            Ok(b) if b.len() == 8 => Some(f64::from_le_bytes(std::array::from_fn(|i| b[i]))),
            _ => (s == "NaN").then_some(f64::NAN),
        },
        v => v.as_f64(),
    }
}
