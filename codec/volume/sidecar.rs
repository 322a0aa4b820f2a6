//! The sidecar of a raw file: a small TOML or JSON file beside it that says what the raw bytes are.

use super::StoredType;
use crate::{Error, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What a sidecar may say. All keys are optional; lists run slowest axis first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sidecar {
    /// Extents.
    pub dims: Option<Vec<usize>>,
    pub dtype: Option<StoredType>,
    pub endian: Option<Endian>,
    /// Bytes to skip at the start.
    pub offset: Option<u64>,
    pub variable: Option<String>,
    pub units: Option<String>,
    pub axes: Option<Vec<String>>,
    pub spacing: Option<Vec<f64>>,
    pub origin: Option<Vec<f64>>,
    /// Values that mean "missing".
    pub missing: Vec<f64>,
}

/// Byte order as a sidecar spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endian {
    Little,
    Big,
}

/// A larger file beside the data is something else.
const MAX_BYTES: u64 = 1 << 20;

impl Sidecar {
    /// Finds `NAME.toml` or `NAME.json` for the file NAME, with its ending (`a.f32.toml`) or without (`a.toml`).
    /// Without the ending the file counts only when it has the key `dims` or `dtype`, since it may as well be an ROI spec.
    pub fn find(path: &Path) -> Result<Option<Self>> {
        for ending in ["toml", "json"] {
            let with = PathBuf::from(format!("{}.{ending}", path.display()));
            if let Some(text) = read_small(&with)? {
                return Self::parse(&text, ending).map(Some).map_err(|e| e.in_file(&with));
            }
            let without = path.with_extension(ending);
            if without == path {
                continue;
            }
            if let Some(text) = read_small(&without)?.filter(|t| describes_raw(t, ending)) {
                return Self::parse(&text, ending).map(Some).map_err(|e| e.in_file(&without));
            }
        }
        Ok(None)
    }
    fn parse(text: &str, ending: &str) -> Result<Self> {
        let failed = |e: String| Error::invalid(format!("sidecar: {}", e.trim_end()));
        match ending {
            "toml" => toml::from_str(text).map_err(|e| failed(e.to_string())),
            _ => serde_json::from_str(text).map_err(|e| failed(e.to_string())),
        }
    }
}

fn describes_raw(text: &str, ending: &str) -> bool {
    let has = |key: &str| match ending {
        "toml" => toml::from_str::<toml::Table>(text).is_ok_and(|t| t.contains_key(key)),
        _ => serde_json::from_str::<serde_json::Value>(text).is_ok_and(|v| v.get(key).is_some()),
    };
    has("dims") || has("dtype")
}

/// The text of a file that exists and is small; `None` for anything else.
fn read_small(path: &Path) -> Result<Option<String>> {
    match std::fs::metadata(path) {
        Ok(m) if m.is_file() && m.len() <= MAX_BYTES => {
            std::fs::read_to_string(path).map(Some).map_err(|e| Error::io(path, &e))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_and_json_say_the_same() {
        let toml = "dims = [2, 3]\ndtype = \"f64\"\nendian = \"big\"\nunits = \"K\"\nmissing = [1e20]\n";
        let json = r#"{"dims": [2, 3], "dtype": "f64", "endian": "big", "units": "K", "missing": [1e20]}"#;
        let t = Sidecar::parse(toml, "toml").unwrap();
        assert_eq!(t, Sidecar::parse(json, "json").unwrap());
        assert_eq!((t.dtype, t.endian), (Some(StoredType::F64), Some(Endian::Big)));
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let e = Sidecar::parse("dims = [2]\ndtyp = \"f32\"\n", "toml").unwrap_err();
        assert!(e.message.contains("dtyp") && e.message.contains("line 2"), "{e}");
    }

    #[test]
    fn a_roi_spec_beside_the_data_is_not_taken_for_a_sidecar() {
        assert!(!describes_raw("background = \"calm\"\n", "toml"));
        assert!(describes_raw("dims = [1]\n", "toml"));
        assert!(!describes_raw("[1, 2]", "json"));
    }
}
