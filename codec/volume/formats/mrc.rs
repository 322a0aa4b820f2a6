//! MRC and CCP4 maps (.mrc, .map, .rec, .ali, .st) of electron microscopy; the header through the `mrc` crate.

use super::header_text::stem;
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use crate::volume::{Dataset, Format, OpenHints, StoredType, map_file};
use crate::{Error, ErrorKind, Result};
use mrc::Header;
use std::path::Path;

/// MRC; see the module.
pub struct Mrc;

const HEADER_BYTES: usize = 1024;

impl Format for Mrc {
    fn name(&self) -> &'static str {
        "MRC"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["mrc", "mrcs", "map", "ccp4", "rec", "ali", "st"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.get(208..211).is_some_and(|m| m == b"MAP")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        open_file(path, hints).map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

fn open_file(path: &Path, hints: &OpenHints) -> Result<StridedDataset> {
    let bytes = map_file(path)?;
    let head: [u8; HEADER_BYTES] = (*bytes)
        .as_ref()
        .get(..HEADER_BYTES)
        .and_then(|h| h.try_into().ok())
        .ok_or_else(|| Error::truncated("the file is shorter than an MRC header"))?;
    let header = Header::decode_from_bytes(&head);
    let extents = extents(&header)?;
    let (stored, components) = stored_type(&header, &head)?;
    let offset = usize::try_from(header.nsymbt)
        .map(|n| n + HEADER_BYTES)
        .map_err(|_| Error::corrupt("the extended header has a negative length"))?;
    let big_endian = !matches!(header.detect_endian(), mrc::FileEndian::LittleEndian);
    let mut variables = Vec::new();
    for c in 0..components {
        let array = StridedArray::component(bytes.clone(), offset, &extents, (c, components), stored, big_endian);
        let mut info = describe(&component_name(&stem(path), c, components), extents.clone(), &array, hints);
        let spacing: Vec<f64> = header.voxel_size().iter().rev().map(|&s| s as f64).collect();
        if spacing.iter().all(|s| *s > 0.0 && s.is_finite()) {
            let start = [header.nzstart, header.nystart, header.nxstart];
            let origin = header.origin.iter().rev().zip(start.iter().zip(&spacing));
            info.origin = Some(origin.map(|(&o, (&i, s))| o as f64 + i as f64 * s).collect());
            info.spacing = Some(spacing);
            info.notes.push("spacing in angstroms".into());
        }
        if [header.mapc, header.mapr, header.maps] != [1, 2, 3] {
            info.notes.push(format!(
                "columns, rows and sections are axes {}, {}, {} (1 = x): they are kept in the order of the file",
                header.mapc, header.mapr, header.maps
            ));
        }
        variables.push((info, array));
    }
    StridedDataset::new(path.display().to_string(), variables)
}

fn extents(header: &Header) -> Result<Vec<usize>> {
    let n = [header.nz, header.ny, header.nx].map(|n| usize::try_from(n).unwrap_or(0));
    if n.contains(&0) {
        return Err(Error::corrupt(format!(
            "MRC extents {}x{}x{} are not all above 0",
            header.nx, header.ny, header.nz
        )));
    }
    Ok(n.to_vec())
}

/// Type and values per node. Mode 0 is signed since 2014; IMOD says in its own flags when it is not.
fn stored_type(header: &Header, head: &[u8]) -> Result<(StoredType, usize)> {
    const IMOD_STAMP: i32 = 1146047817;
    let le = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let unsigned_bytes = le(152) == IMOD_STAMP && le(156) & 1 == 0;
    Ok(match header.mode {
        0 if unsigned_bytes => (StoredType::U8, 1),
        0 => (StoredType::I8, 1),
        1 => (StoredType::I16, 1),
        2 => (StoredType::F32, 1),
        3 => (StoredType::I16, 2),
        4 => (StoredType::F32, 2),
        6 => (StoredType::U16, 1),
        mode => return Err(Error::new(ErrorKind::Compatibility, format!("MRC mode {mode} is not read"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.mrc");
        std::fs::write(&path, bytes).unwrap();
        Mrc.open(&path, &OpenHints::default())
    }

    #[test]
    fn short_data_are_an_error_and_whole_ones_are_not() {
        let mut h = Header::new();
        (h.nx, h.ny, h.nz, h.mx, h.my, h.mz) = (4, 3, 2, 4, 3, 2);
        (h.xlen, h.ylen, h.zlen) = (8.0, 6.0, 4.0);
        let mut head = [0; HEADER_BYTES];
        h.encode_to_bytes(&mut head);
        let file = [&head[..], &[0; 96]].concat();
        let d = open_bytes(&file).unwrap();
        assert_eq!(d.variables()[0].extents, [2, 3, 4]);
        assert_eq!(d.variables()[0].spacing.as_deref(), Some(&[2.0; 3][..]));
        assert_eq!(open_bytes(&file[..1119]).err().unwrap().kind, ErrorKind::Truncated);
        assert_eq!(open_bytes(&file[..1000]).err().unwrap().kind, ErrorKind::Truncated);
    }

    proptest! {
        #[test]
        fn no_header_panics(bytes in proptest::collection::vec(any::<u8>(), 1024..1100), mode in 0u8..8) {
            let mut bytes = bytes;
            bytes[12..16].copy_from_slice(&[mode, 0, 0, 0]);
            let _ = open_bytes(&bytes);
            bytes[..12].copy_from_slice(&[2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
            let _ = open_bytes(&bytes);
        }
    }
}
