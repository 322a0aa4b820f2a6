//! MetaImage (.mhd with its data beside it, .mha in one file), ITK's own format.

use super::expand::{Compression, expand};
use super::header_text::{lines, map_beside, number, numbers, reversed_extents, stem, total_bytes};
use super::many_files::{join_beside, slice_names};
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, map_file};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// MetaImage; see the module.
pub struct MetaImage;

impl Format for MetaImage {
    fn name(&self) -> &'static str {
        "MetaImage"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["mhd", "mha"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        let Some((first, _)) = lines(head).next() else { return false };
        let key = first.split('=').next().unwrap_or_default().trim();
        first.contains('=') && matches!(key, "ObjectType" | "NDims")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let file = map_file(path)?;
        let open = || Header::parse((*file).as_ref())?.dataset(path, &file, hints);
        open().map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

#[derive(Debug, Default)]
struct Header {
    fields: HashMap<String, String>,
    /// First byte after `ElementDataFile`, which is always the last line.
    end: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut header = Header::default();
        for (line, end) in lines(bytes) {
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim().to_string(), value.trim().to_string());
            let last = key == "ElementDataFile";
            header.fields.insert(key, value);
            if last {
                header.end = end;
                return Ok(header);
            }
        }
        Err(Error::truncated("the MetaImage header lacks its last line, ElementDataFile"))
    }
    fn get(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(String::as_str)
    }
    fn need(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| Error::corrupt(format!("the MetaImage header lacks '{key}'")))
    }
    fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| v.eq_ignore_ascii_case("true") || v == "1")
    }
    fn stored(&self) -> Result<StoredType> {
        let name = self.need("ElementType")?;
        Ok(match name.trim_end_matches("_ARRAY") {
            "MET_CHAR" => StoredType::I8,
            "MET_UCHAR" => StoredType::U8,
            "MET_SHORT" => StoredType::I16,
            "MET_USHORT" => StoredType::U16,
            "MET_INT" | "MET_LONG" => StoredType::I32,
            "MET_UINT" | "MET_ULONG" => StoredType::U32,
            "MET_LONG_LONG" => StoredType::I64,
            "MET_ULONG_LONG" => StoredType::U64,
            "MET_FLOAT" => StoredType::F32,
            "MET_DOUBLE" => StoredType::F64,
            _ => return Err(unsupported(format!("MetaImage values of type '{name}'"))),
        })
    }
    fn dataset(&self, path: &Path, file: &SharedBytes, hints: &OpenHints) -> Result<StridedDataset> {
        let extents = reversed_extents("DimSize", self.need("DimSize")?)?;
        let components: usize =
            self.get("ElementNumberOfChannels").map_or(Ok(1), |c| number("ElementNumberOfChannels", c))?;
        if components == 0 || components > 64 {
            return Err(unsupported(format!("MetaImage files of {components} channels")));
        }
        let stored = self.stored()?;
        let total = total_bytes(&extents, components, stored.bytes())?;
        let (bytes, offset) = self.data(path, file, total)?;
        let big_endian = self.is_true("BinaryDataByteOrderMSB") || self.is_true("ElementByteOrderMSB");
        let mut variables = Vec::new();
        for c in 0..components {
            let array = StridedArray::component(bytes.clone(), offset, &extents, (c, components), stored, big_endian);
            let mut info = describe(&component_name(&stem(path), c, components), extents.clone(), &array, hints);
            info.spacing = self.per_axis(&["ElementSpacing", "ElementSize"], extents.len())?;
            info.origin = self.per_axis(&["Offset", "Origin", "Position"], extents.len())?;
            if !self.is_axis_aligned()? {
                info.notes.push("the axes are rotated in space: spacing is kept, the rotation is not".into());
            }
            variables.push((info, array));
        }
        StridedDataset::new(path.display().to_string(), variables)
    }
    /// The bytes that hold the values, and where they start.
    fn data(&self, path: &Path, file: &SharedBytes, total: usize) -> Result<(SharedBytes, usize)> {
        let name = self.need("ElementDataFile")?;
        if !self.get("BinaryData").is_none_or(|b| b.eq_ignore_ascii_case("true")) {
            return Err(unsupported("MetaImage values written as text"));
        }
        let list = if name.starts_with("LIST") { (**file).as_ref().get(self.end..) } else { None };
        let (bytes, start) = match slice_names(name, list)? {
            Some(names) if self.is_true("CompressedData") => {
                return Err(unsupported(format!("{} compressed MetaImage slices", names.len())));
            }
            Some(names) => return Ok((join_beside(path, &names, total)?, 0)),
            None if name.eq_ignore_ascii_case("LOCAL") => (file.clone(), self.end),
            None => (map_beside(path, name)?, 0),
        };
        let all = (*bytes).as_ref();
        if self.is_true("CompressedData") {
            let input = &all[start.min(all.len())..];
            let kind = if input.starts_with(&[0x1f, 0x8b]) { Compression::Gzip } else { Compression::Zlib };
            return Ok((Arc::new(expand(kind, input, total)?), 0));
        }
        let skip: i64 = self.get("HeaderSize").map_or(Ok(0), |s| number("HeaderSize", s))?;
        let short = || Error::truncated("the MetaImage data are shorter than DimSize says");
        match skip {
            -1 => all.len().checked_sub(total).map(|at| (bytes.clone(), at)).ok_or_else(short),
            _ => Ok((bytes.clone(), start.saturating_add(usize::try_from(skip).unwrap_or(0)))),
        }
    }
    /// The first of these keys, slowest axis first.
    fn per_axis(&self, keys: &[&str], rank: usize) -> Result<Option<Vec<f64>>> {
        let Some((key, text)) = keys.iter().find_map(|k| Some((k, self.get(k)?))) else { return Ok(None) };
        let mut values: Vec<f64> = numbers(key, text)?;
        values.reverse();
        Ok((values.len() == rank).then_some(values))
    }
    fn is_axis_aligned(&self) -> Result<bool> {
        let key = ["TransformMatrix", "Rotation", "Orientation"].into_iter().find(|k| self.get(k).is_some());
        let matrix: Vec<f64> = key.map_or(Ok(Vec::new()), |k| numbers(k, self.need(k)?))?;
        let rank = matrix.len().isqrt();
        Ok(matrix.iter().enumerate().all(|(i, m)| *m == if i % (rank + 1) == 0 { 1.0 } else { 0.0 }))
    }
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compatibility, format!("{what} are not read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_bytes(text: &str, data: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.mha");
        std::fs::write(&path, [text.as_bytes(), data].concat()).unwrap();
        MetaImage.open(&path, &OpenHints::default())
    }

    #[test]
    fn axes_and_components_are_turned_to_c_order() {
        let text = "ObjectType = Image\nNDims = 3\nDimSize = 4 3 2\nElementSpacing = 1 2 3\nOffset = 7 8 9\n\
                    ElementNumberOfChannels = 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n";
        let d = open_bytes(text, &[0; 96]).unwrap();
        let info = &d.variables()[1];
        assert_eq!((info.name.as_str(), &info.extents[..]), ("a.1", &[2, 3, 4][..]));
        assert_eq!(info.spacing.as_deref(), Some(&[3.0, 2.0, 1.0][..]));
        assert_eq!(info.origin.as_deref(), Some(&[9.0, 8.0, 7.0][..]));
        assert_eq!(open_bytes(text, &[0; 95]).err().unwrap().kind, ErrorKind::Truncated);
    }

    proptest! {
        #[test]
        fn no_header_panics(body in "((NDims|DimSize|ElementSpacing|Offset|ElementType|CompressedData|HeaderSize|TransformMatrix|ElementNumberOfChannels) = ?[A-Za-z0-9 _.-]{0,20}\n){0,8}") {
            let _ = open_bytes(&format!("ObjectType = Image\n{body}ElementDataFile = LOCAL\n"), &[0; 64]);
        }
    }
}
