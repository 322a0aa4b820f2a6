//! VisIt's brick of values (.bov): a text header beside a raw file.

use super::header_text::{lines, map_beside, number, numbers, reversed_extents, stem};
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use crate::volume::{Dataset, Format, OpenHints, StoredType, VariableInfo, map_file};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;

/// Brick of values; see the module.
pub struct Bov;

impl Format for Bov {
    fn name(&self) -> &'static str {
        "brick of values"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["bov"]
    }
    fn sniff(&self, _path: &Path, _head: &[u8]) -> bool {
        false
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let file = map_file(path)?;
        let dataset = Header::parse((*file).as_ref()).and_then(|h| h.dataset(path, hints));
        dataset.map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

struct Header(HashMap<String, String>);

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let field = |line: &str| {
            let (key, value) = line.split_once(':').filter(|_| !line.starts_with('#'))?;
            Some((key.trim().to_ascii_uppercase(), value.trim().trim_matches('"').to_string()))
        };
        Ok(Self(lines(bytes).filter_map(|(line, _)| field(line)).collect()))
    }
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
    fn need(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| Error::corrupt(format!("the header lacks {key}")))
    }
    fn stored(&self) -> Result<StoredType> {
        Ok(match self.need("DATA_FORMAT")?.to_ascii_uppercase().as_str() {
            "BYTE" => StoredType::U8,
            "SHORT" => StoredType::I16,
            "INT" | "INTEGER" => StoredType::I32,
            "FLOAT" | "REAL" => StoredType::F32,
            "DOUBLE" => StoredType::F64,
            other => return Err(Error::new(ErrorKind::Compatibility, format!("DATA_FORMAT {other} is not read"))),
        })
    }
    fn dataset(&self, path: &Path, hints: &OpenHints) -> Result<StridedDataset> {
        let extents = reversed_extents("DATA_SIZE", self.need("DATA_SIZE")?)?;
        let components: usize = self.get("DATA_COMPONENTS").map_or(Ok(1), |c| number("DATA_COMPONENTS", c))?;
        if components == 0 || components > 64 {
            return Err(Error::corrupt(format!("DATA_COMPONENTS {components} is not 1 to 64")));
        }
        let name = self.need("DATA_FILE")?;
        if name.contains('%') {
            return Err(Error::new(ErrorKind::Compatibility, "a brick of values in several files is not read")
                .remedy("write it as one file"));
        }
        let bytes = map_beside(path, name)?;
        let offset: usize = self.get("BYTE_OFFSET").map_or(Ok(0), |o| number("BYTE_OFFSET", o))?;
        let big_endian = self.get("DATA_ENDIAN").map_or(cfg!(target_endian = "big"), |e| e.eq_ignore_ascii_case("BIG"));
        let base = self.get("VARIABLE").map_or_else(|| stem(path), str::to_string);
        let mut variables = Vec::new();
        for c in 0..components {
            let array =
                StridedArray::component(bytes.clone(), offset, &extents, (c, components), self.stored()?, big_endian);
            let mut info = describe(&component_name(&base, c, components), extents.clone(), &array, hints);
            self.place(&mut info)?;
            variables.push((info, array));
        }
        StridedDataset::new(path.display().to_string(), variables)
    }
    /// The brick spans BRICK_SIZE from BRICK_ORIGIN on, between its outer nodes or around its outer cells.
    fn place(&self, info: &mut VariableInfo) -> Result<()> {
        let per_axis = |key: &str| -> Result<Option<Vec<f64>>> {
            let values = self.get(key).map(|v| numbers::<f64>(key, v)).transpose()?;
            Ok(values.filter(|v| v.len() == info.extents.len()).map(|v| v.into_iter().rev().collect()))
        };
        let cells = self.get("CENTERING").is_some_and(|c| c.eq_ignore_ascii_case("zonal"));
        let steps = |n: usize| if cells { n } else { n.saturating_sub(1).max(1) };
        let spacing = per_axis("BRICK_SIZE")?
            .map(|size| size.iter().zip(&info.extents).map(|(s, &n)| s / steps(n) as f64).collect::<Vec<f64>>());
        let shift = if cells { 0.5 } else { 0.0 };
        info.origin = per_axis("BRICK_ORIGIN")?.map(|origin| {
            origin.iter().enumerate().map(|(a, o)| o + shift * spacing.as_ref().map_or(1.0, |s| s[a])).collect()
        });
        info.spacing = spacing;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_text(text: &str, data: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.raw"), data).unwrap();
        std::fs::write(dir.path().join("a.bov"), text).unwrap();
        Bov.open(&dir.path().join("a.bov"), &OpenHints::default())
    }

    #[test]
    fn shape_spacing_and_name_come_from_the_header() {
        let text = "TIME: 1.5\nDATA_FILE: a.raw\nDATA_SIZE: 3 2 5\nDATA_FORMAT: FLOAT\nVARIABLE: \"rho\"\n\
                    DATA_ENDIAN: LITTLE\nBRICK_ORIGIN: 0. 1. 2.\nBRICK_SIZE: 1. 1. 8.\n";
        let d = open_text(text, &[0; 120]).unwrap();
        let info = &d.variables()[0];
        assert_eq!((info.name.as_str(), &info.extents[..]), ("rho", &[5, 2, 3][..]));
        assert_eq!(info.spacing.as_deref(), Some(&[2.0, 1.0, 0.5][..]));
        assert_eq!(info.origin.as_deref(), Some(&[2.0, 1.0, 0.0][..]));
        assert_eq!(open_text(text, &[0; 119]).err().unwrap().kind, ErrorKind::Truncated);
    }

    proptest! {
        #[test]
        fn no_header_panics(body in "((DATA_SIZE|DATA_FORMAT|DATA_ENDIAN|BYTE_OFFSET|DATA_COMPONENTS|BRICK_SIZE|CENTERING): ?[A-Za-z0-9 .-]{0,20}\n){0,8}") {
            let _ = open_text(&format!("DATA_FILE: a.raw\n{body}"), &[0; 64]);
        }
    }
}
