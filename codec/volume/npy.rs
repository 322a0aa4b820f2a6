//! NumPy's `.npy`: a short text header in front of raw values, any byte order, C or Fortran order.

use super::array::{ArrayDataset, MappedArray, default_axes};
use super::{Dataset, Format, OpenHints, StoredType, VariableInfo, map_file};
use crate::{Error, Result};
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

const MAX_AXES: usize = 64;

/// The .npy format; see the module.
pub struct Npy;

impl Format for Npy {
    fn name(&self) -> &'static str {
        "NumPy"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let bytes = map_file(path)?;
        let header = NpyHeader::parse((*bytes).as_ref()).map_err(|e| e.in_file(path))?;
        let extents = if header.shape.is_empty() { vec![1] } else { header.shape.clone() };
        let order = if header.fortran_order { ", Fortran order" } else { "" };
        let info = VariableInfo {
            name: path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            axes: default_axes(extents.len()),
            extents,
            stored: format!("{} {}-endian{order}", header.stored, if header.big_endian { "big" } else { "little" }),
            dtype: header.stored.delivered(),
            units: None,
            long_name: None,
            missing: hints.missing.clone(),
            valid: None,
            spacing: None,
            origin: None,
            coordinates: Vec::new(),
            axis_units: Vec::new(),
            axis_attributes: Vec::new(),
            notes: header.stored.conversion_note().into_iter().collect(),
        };
        let array = MappedArray {
            bytes,
            offset: header.data_offset as u64,
            stored: header.stored,
            big_endian: header.big_endian,
            fortran_order: header.fortran_order,
        };
        Ok(Box::new(ArrayDataset::new(path.display().to_string(), vec![(info, array)])?))
    }
}

/// What the header of an .npy file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyHeader {
    /// Extents as NumPy prints them; empty for a single value.
    pub shape: Vec<usize>,
    pub stored: StoredType,
    pub big_endian: bool,
    pub fortran_order: bool,
    /// Byte of the first value.
    pub data_offset: usize,
}

impl NpyHeader {
    /// Reads the header at the start of `bytes`; nothing is allocated beyond the shape.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let cut = || Error::truncated(".npy header ends early");
        if !bytes.starts_with(MAGIC) {
            return Err(Error::corrupt("no .npy file: it does not start with NumPy's magic"));
        }
        let version = *bytes.get(6).ok_or_else(cut)?;
        let (start, length) = match version {
            1 => (10, bytes.get(8..10).map(|b| b[0] as usize | (b[1] as usize) << 8)),
            2 | 3 => (12, bytes.get(8..12).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)),
            v => return Err(Error::new(crate::ErrorKind::Compatibility, format!(".npy version {v} is not known"))),
        };
        let data_offset = start + length.ok_or_else(cut)?;
        let text = bytes.get(start..data_offset).ok_or_else(cut)?;
        let text = std::str::from_utf8(text).map_err(|_| Error::corrupt(".npy header is not text"))?;
        let shape = parse_shape(value_of(text, "shape")?)?;
        if shape.len() > MAX_AXES {
            return Err(Error::corrupt(format!(".npy header: {} axes, NumPy has at most {MAX_AXES}", shape.len())));
        }
        let (stored, big_endian) = parse_descr(value_of(text, "descr")?)?;
        Ok(Self {
            shape,
            stored,
            big_endian,
            fortran_order: value_of(text, "fortran_order")?.starts_with("True"),
            data_offset,
        })
    }
}

/// The text after `'key':` in a Python dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Result<&'a str> {
    let after = |quote: char| text.split_once(&format!("{quote}{key}{quote}")).map(|(_, rest)| rest);
    after('\'')
        .or_else(|| after('"'))
        .and_then(|rest| rest.trim_start().strip_prefix(':'))
        .map(str::trim_start)
        .ok_or_else(|| Error::corrupt(format!(".npy header lacks '{key}'")))
}

/// `'<f4'`, `'>f8'`, `'|u1'`, `'|b1'`, ...: the type and whether it is big-endian.
fn parse_descr(text: &str) -> Result<(StoredType, bool)> {
    let unsupported = |what: &str| {
        Error::new(crate::ErrorKind::Compatibility, format!(".npy values of type {what} are not read"))
            .remedy("save the array as float32 or float64")
    };
    if text.starts_with('[') {
        return Err(unsupported("record"));
    }
    let quote = text.chars().next().filter(|q| matches!(q, '\'' | '"'));
    let inner = quote.and_then(|q| text[1..].split_once(q)).map(|(inner, _)| inner);
    let inner = inner.ok_or_else(|| Error::corrupt(".npy header: 'descr' is not a string"))?;
    let name = inner.trim_start_matches(['<', '>', '|', '=']);
    let stored = match name {
        "b1" | "u1" => StoredType::U8,
        "i1" => StoredType::I8,
        "u2" => StoredType::U16,
        "i2" => StoredType::I16,
        "u4" => StoredType::U32,
        "i4" => StoredType::I32,
        "u8" => StoredType::U64,
        "i8" => StoredType::I64,
        "f4" => StoredType::F32,
        "f8" => StoredType::F64,
        _ => return Err(unsupported(&format!("'{inner}'"))),
    };
    Ok((stored, inner.starts_with('>')))
}

/// `(91, 91, 91)`, `(7,)`, `()`.
fn parse_shape(text: &str) -> Result<Vec<usize>> {
    let wrong = || Error::corrupt(".npy header: 'shape' is not a list of numbers");
    let inner = text.strip_prefix('(').and_then(|t| t.split_once(')')).map(|(inner, _)| inner).ok_or_else(wrong)?;
    let numbers = inner.split(',').map(str::trim).filter(|n| !n.is_empty());
    // NumPy 1.x on Python 2 wrote longs as `91L`.
    numbers.map(|n| n.trim_end_matches('L').parse().map_err(|_| wrong())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{Values, open};
    use proptest::prelude::*;

    fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut out = MAGIC.to_vec();
        out.extend([1, 0]);
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.as_bytes());
        out.extend(data);
        out
    }

    fn read_all(file: &[u8]) -> (Vec<usize>, Vec<f64>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        std::fs::write(&path, file).unwrap();
        let v = open(&path, &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let mut out = vec![0.0; v.shape.len()];
        match &v.values {
            Values::F64(f) => f.read_region(&v.shape.region(), &mut out).unwrap(),
            Values::F32(f) => {
                let mut narrow = vec![0f32; out.len()];
                f.read_region(&v.shape.region(), &mut narrow).unwrap();
                out = narrow.into_iter().map(f64::from).collect();
            }
        }
        (v.shape.extents().to_vec(), out)
    }

    #[test]
    fn fortran_order_and_byte_order_are_undone() {
        // a[i, j, k] = 100 i + 10 j + k, shape (2, 3, 2), axis 0 fastest in the file.
        let mut data = Vec::new();
        for (k, j, i) in (0..2).flat_map(|k| (0..3).flat_map(move |j| (0..2).map(move |i| (k, j, i)))) {
            data.extend((100.0 * i as f64 + 10.0 * j as f64 + k as f64).to_be_bytes());
        }
        let (extents, values) = read_all(&npy("'>f8'", true, "(2, 3, 2)", &data));
        assert_eq!(extents, [2, 3, 2]);
        assert_eq!(values, [0., 1., 10., 11., 20., 21., 100., 101., 110., 111., 120., 121.]);
    }

    #[test]
    fn integers_and_single_values() {
        assert_eq!(read_all(&npy("'<i2'", false, "(3,)", &[1, 0, 255, 255, 0, 1])), (vec![3], vec![1., -1., 256.]));
        assert_eq!(read_all(&npy("'|b1'", false, "()", &[1])), (vec![1], vec![1.]));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let parse = |file: &[u8]| NpyHeader::parse(file).unwrap_err().to_string();
        assert!(parse(&npy("'<c8'", false, "(1,)", &[])).contains("<c8"));
        assert!(parse(&npy("[('a', '<f4')]", false, "(1,)", &[])).contains("record"));
        assert!(parse(b"\x93NUMPY\x01\x00\xff\xff{").contains("ends early"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("huge.npy");
        std::fs::write(&path, npy("'<f4'", false, "(1152921504606846976, 4)", &[0; 8])).unwrap();
        let e = open(&path, &OpenHints::default()).err().unwrap();
        assert!(e.message.contains("do not fit"), "{e}");
    }

    proptest! {
        #[test]
        fn no_header_panics(text in "\\PC{0,80}", version in 0u8..5) {
            let mut file = MAGIC.to_vec();
            file.extend([version, 0]);
            file.extend((text.len() as u16).to_le_bytes());
            file.extend(text.as_bytes());
            let _ = NpyHeader::parse(&file);
        }
        #[test]
        fn no_header_with_broken_fields_panics(descr in "['\"<>|a-z0-9]{0,6}", shape in "[(),0-9L ]{0,24}") {
            let _ = NpyHeader::parse(&npy(&descr, false, &shape, &[]));
        }
    }
}
