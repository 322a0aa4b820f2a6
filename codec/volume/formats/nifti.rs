//! NIfTI-1 and -2 (.nii, .nii.gz, .hdr with .img) and Analyze 7.5 headers.
//!
//! Read here and not through the `nifti` crate, which knows version 1 only and reads whole volumes into memory.

use super::expand::{Compression, expand};
use super::header_text::{stem, total_bytes};
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, VariableInfo, map_file};
use crate::{Error, ErrorKind, Result};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// NIfTI; see the module.
pub struct Nifti;

impl Format for Nifti {
    fn name(&self) -> &'static str {
        "NIfTI"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["nii", "nii.gz", "hdr", "hdr.gz"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        let magic =
            |at: usize, choices: [&[u8]; 2]| head.get(at..).is_some_and(|h| choices.iter().any(|c| h.starts_with(c)));
        magic(344, [b"n+1\0", b"ni1\0"]) || magic(4, [b"n+2\0", b"ni2\0"])
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        open_file(path, hints).map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

fn open_file(path: &Path, hints: &OpenHints) -> Result<StridedDataset> {
    let file = map_file(path)?;
    let zipped = is_gzip(&file);
    let head = if zipped {
        gunzip_head((*file).as_ref())?
    } else {
        (*file).as_ref().iter().take(HEAD_BYTES).copied().collect()
    };
    let header = Header::parse(&head)?;
    let total = total_bytes(&header.extents, header.components, header.stored.bytes())?;
    let (bytes, offset) = if header.detached {
        let image = image_beside(path)?;
        let bytes = map_file(&image)?;
        let bytes: SharedBytes = if is_gzip(&bytes) {
            Arc::new(expand(Compression::Gzip, (*bytes).as_ref(), header.offset.saturating_add(total))?)
        } else {
            bytes
        };
        (bytes, header.offset)
    } else if zipped {
        let all = header.offset.checked_add(total).ok_or_else(|| Error::corrupt("vox_offset is absurd"))?;
        (Arc::new(expand(Compression::Gzip, (*file).as_ref(), all)?) as SharedBytes, header.offset)
    } else {
        (file, header.offset)
    };
    header.dataset(path, bytes, offset, hints)
}

fn is_gzip(bytes: &SharedBytes) -> bool {
    (**bytes).as_ref().starts_with(&[0x1f, 0x8b])
}

/// The longer of the two headers.
const HEAD_BYTES: usize = 540;

fn gunzip_head(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|e| Error::corrupt(format!("gzip: {e}")))?;
    Ok(head)
}

/// The .img that goes with a .hdr.
fn image_beside(path: &Path) -> Result<std::path::PathBuf> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let base = name.trim_end_matches(".gz").trim_end_matches(".hdr").trim_end_matches(".HDR");
    let candidates = ["img", "img.gz", "IMG"].map(|e| path.with_file_name(format!("{base}.{e}")));
    candidates
        .into_iter()
        .find(|p| p.is_file())
        .ok_or_else(|| Error::invalid(format!("the image file {base}.img is not beside the header")))
}

/// What the header says, from either version.
#[derive(Debug, PartialEq)]
struct Header {
    big_endian: bool,
    detached: bool,
    /// Slowest first, without trailing axes of one node.
    extents: Vec<usize>,
    stored: StoredType,
    components: usize,
    offset: usize,
    /// Slope and intercept; slope 0 means none.
    scale: (f64, f64),
    /// Steps of x, y, z, t, ...
    steps: [f64; 7],
    /// Rows of the affine from node to world, where there is one.
    affine: Option<[[f64; 4]; 3]>,
    units: Option<&'static str>,
    description: String,
}

/// Numbers of one byte order at fixed places.
struct Fields<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

macro_rules! field {
    ($name:ident, $t:ty) => {
        fn $name(&self, at: usize) -> $t {
            const N: usize = size_of::<$t>();
            let b: [u8; N] = std::array::from_fn(|i| self.bytes[at + i]);
            if self.big_endian { <$t>::from_be_bytes(b) } else { <$t>::from_le_bytes(b) }
        }
    };
}

impl Fields<'_> {
    field!(i16, i16);
    field!(i32, i32);
    field!(i64, i64);
    field!(f32, f32);
    field!(f64, f64);
}

impl Header {
    fn parse(head: &[u8]) -> Result<Self> {
        let size_at = |big_endian| (head.len() >= 4).then(|| Fields { bytes: head, big_endian }.i32(0));
        for big_endian in [false, true] {
            let f = Fields { bytes: head, big_endian };
            match size_at(big_endian) {
                Some(348) if head.len() >= 348 => return Self::version_1(&f),
                Some(540) if head.len() >= 540 => return Self::version_2(&f),
                Some(348 | 540) => return Err(Error::truncated("the NIfTI header is cut short")),
                _ => {}
            }
        }
        Err(Error::corrupt("no NIfTI file: the header's size is neither 348 nor 540"))
    }
    fn version_1(f: &Fields) -> Result<Self> {
        let dim: [i64; 8] = std::array::from_fn(|i| f.i16(40 + 2 * i) as i64);
        let pixdim: [f64; 8] = std::array::from_fn(|i| f.f32(76 + 4 * i) as f64);
        let row = |r: usize| std::array::from_fn(|c| f.f32(280 + 16 * r + 4 * c) as f64);
        let quatern = std::array::from_fn(|i| f.f32(256 + 4 * i) as f64);
        // Analyze 7.5 has neither a magic nor an affine nor a scale.
        let analyze = f.bytes[344..347] != *b"n+1" && f.bytes[344..347] != *b"ni1";
        let (qform, sform) = if analyze { (0, 0) } else { (f.i16(252), f.i16(254)) };
        Self {
            big_endian: f.big_endian,
            detached: f.bytes[344..347] != *b"n+1",
            affine: affine(qform, sform, quatern, &pixdim, std::array::from_fn(row)),
            scale: if analyze { (0.0, 0.0) } else { (f.f32(112) as f64, f.f32(116) as f64) },
            units: if analyze { None } else { space_unit(f.bytes[123] as i32) },
            description: text(&f.bytes[148..228]),
            ..Self::common(f, dim, pixdim, f.i16(70), f.f32(108) as f64)?
        }
        .checked()
    }
    fn version_2(f: &Fields) -> Result<Self> {
        let dim: [i64; 8] = std::array::from_fn(|i| f.i64(16 + 8 * i));
        let pixdim: [f64; 8] = std::array::from_fn(|i| f.f64(104 + 8 * i));
        let row = |r: usize| std::array::from_fn(|c| f.f64(400 + 32 * r + 8 * c));
        let quatern = std::array::from_fn(|i| f.f64(352 + 8 * i));
        Self {
            detached: f.bytes[4..7] == *b"ni2",
            affine: affine(f.i32(344) as i16, f.i32(348) as i16, quatern, &pixdim, std::array::from_fn(row)),
            scale: (f.f64(176), f.f64(184)),
            units: space_unit(f.i32(500)),
            description: text(&f.bytes[240..320]),
            ..Self::common(f, dim, pixdim, f.i16(12), f.i64(168) as f64)?
        }
        .checked()
    }
    fn common(f: &Fields, dim: [i64; 8], pixdim: [f64; 8], datatype: i16, offset: f64) -> Result<Self> {
        let rank = usize::try_from(dim[0]).ok().filter(|r| (1..=7).contains(r));
        let rank = rank.ok_or_else(|| Error::corrupt(format!("{} axes where 1 to 7 are due", dim[0])))?;
        let mut extents = Vec::new();
        for &n in &dim[1..=rank] {
            let n = usize::try_from(n).ok().filter(|&n| n > 0);
            extents.push(n.ok_or_else(|| Error::corrupt(format!("extents {:?} are not all above 0", &dim[1..=rank])))?);
        }
        while extents.len() > 1 && extents.last() == Some(&1) {
            extents.pop();
        }
        extents.reverse();
        let (stored, components) = match datatype {
            2 => (StoredType::U8, 1),
            4 => (StoredType::I16, 1),
            8 => (StoredType::I32, 1),
            16 => (StoredType::F32, 1),
            64 => (StoredType::F64, 1),
            128 => (StoredType::U8, 3),
            256 => (StoredType::I8, 1),
            512 => (StoredType::U16, 1),
            768 => (StoredType::U32, 1),
            1024 => (StoredType::I64, 1),
            1280 => (StoredType::U64, 1),
            2304 => (StoredType::U8, 4),
            32 => (StoredType::F32, 2),
            1792 => (StoredType::F64, 2),
            _ => return Err(Error::new(ErrorKind::Compatibility, format!("NIfTI datatype {datatype} is not read"))),
        };
        if !(0.0..1e15).contains(&offset) {
            return Err(Error::corrupt(format!("vox_offset {offset} is no place in a file")));
        }
        Ok(Self {
            big_endian: f.big_endian,
            detached: false,
            extents,
            stored,
            components,
            offset: offset as usize,
            scale: (0.0, 0.0),
            steps: std::array::from_fn(|i| pixdim[i + 1]),
            affine: None,
            units: None,
            description: String::new(),
        })
    }
    fn checked(self) -> Result<Self> {
        let (slope, inter) = self.scale;
        if slope.is_finite() && inter.is_finite() { Ok(self) } else { Ok(Self { scale: (0.0, 0.0), ..self }) }
    }
    fn dataset(&self, path: &Path, bytes: SharedBytes, offset: usize, hints: &OpenHints) -> Result<StridedDataset> {
        let name = stem(Path::new(&stem(path)));
        let mut variables = Vec::new();
        for c in 0..self.components {
            let place = (c, self.components);
            let mut array =
                StridedArray::component(bytes.clone(), offset, &self.extents, place, self.stored, self.big_endian);
            let (slope, inter) = self.scale;
            if slope != 0.0 && (slope, inter) != (1.0, 0.0) && self.components == 1 {
                array.packing.scale = slope;
                array.packing.offset = inter;
                // Slope and intercept are f32 in version 1, so products of 16-bit integers still want f64.
                array.packing.dtype = crate::DType::F64;
            }
            let name = component_name(&name, c, self.components);
            let mut info = describe(&name, self.extents.clone(), &array, hints);
            self.place(&mut info);
            variables.push((info, array));
        }
        StridedDataset::new(path.display().to_string(), variables)
    }
    fn place(&self, info: &mut VariableInfo) {
        let rank = info.extents.len();
        let step = |a: usize| Some(self.steps[a].abs()).filter(|s| *s > 0.0 && s.is_finite()).unwrap_or(1.0);
        let mut spacing: Vec<f64> = (0..rank).map(step).collect();
        let mut origin = vec![0.0; rank];
        if let Some(rows) = &self.affine {
            let diagonal = (0..3).all(|r| (0..3).all(|c| r == c || rows[r][c].abs() <= 1e-6 * rows[r][r].abs()));
            for a in 0..rank.min(3) {
                origin[a] = rows[a][3];
                if diagonal && rows[a][a] != 0.0 {
                    spacing[a] = rows[a][a];
                }
            }
            if !diagonal {
                info.notes.push("the axes are rotated in space: spacing is kept, the rotation is not".into());
            }
        }
        spacing.reverse();
        origin.reverse();
        (info.spacing, info.origin) = (Some(spacing), Some(origin));
        info.long_name = Some(self.description.clone()).filter(|d| !d.is_empty());
        info.notes.extend(self.units.map(|u| format!("spacing in {u}")));
    }
}

/// The affine that the header prefers: sform, then qform, else none.
fn affine(qform: i16, sform: i16, quatern: [f64; 6], pixdim: &[f64; 8], rows: [[f64; 4]; 3]) -> Option<[[f64; 4]; 3]> {
    let finite = |m: [[f64; 4]; 3]| m.iter().flatten().all(|v| v.is_finite()).then_some(m);
    if sform > 0 {
        return finite(rows);
    }
    if qform <= 0 {
        return None;
    }
    let [b, c, d, x, y, z] = quatern;
    let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
    let flip = if pixdim[0] < 0.0 { -1.0 } else { 1.0 };
    let scale = [pixdim[1], pixdim[2], pixdim[3] * flip];
    let r = [
        [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - b * b - c * c],
    ];
    let shift = [x, y, z];
    finite(std::array::from_fn(|i| std::array::from_fn(|j| if j < 3 { r[i][j] * scale[j] } else { shift[i] })))
}

fn space_unit(code: i32) -> Option<&'static str> {
    match code & 7 {
        1 => Some("metres"),
        2 => Some("millimetres"),
        3 => Some("micrometres"),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A NIfTI-1 header in big-endian order.
    fn header(dim: [i16; 8], datatype: i16) -> Vec<u8> {
        let mut h = vec![0u8; 352];
        h[..4].copy_from_slice(&348i32.to_be_bytes());
        for (i, d) in dim.iter().enumerate() {
            h[40 + 2 * i..42 + 2 * i].copy_from_slice(&d.to_be_bytes());
            h[76 + 4 * i..80 + 4 * i].copy_from_slice(&(i as f32).to_be_bytes());
        }
        h[70..72].copy_from_slice(&datatype.to_be_bytes());
        h[108..112].copy_from_slice(&352f32.to_be_bytes());
        h[344..348].copy_from_slice(b"n+1\0");
        h
    }

    #[test]
    fn axes_are_turned_and_trailing_ones_dropped() {
        let h = Header::parse(&header([5, 4, 3, 2, 1, 1, 1, 1], 4)).unwrap();
        assert!(h.big_endian && !h.detached);
        assert_eq!(h.extents, [2, 3, 4]);
        assert_eq!(h.offset, 352);
        assert_eq!(h.stored, StoredType::I16);
        assert!(Header::parse(&header([9, 4, 3, 2, 1, 1, 1, 1], 4)).is_err());
        assert!(Header::parse(&header([3, 4, -3, 2, 1, 1, 1, 1], 4)).is_err());
        assert!(Header::parse(&header([3, 4, 3, 2, 1, 1, 1, 1], 77)).is_err());
        assert_eq!(Header::parse(&header([3, 4, 3, 2, 1, 1, 1, 1], 4)[..100]).unwrap_err().kind, ErrorKind::Truncated);
    }

    proptest! {
        #[test]
        fn no_header_panics(mut bytes in proptest::collection::vec(any::<u8>(), 540..600), two in any::<bool>(), gz in any::<bool>()) {
            bytes[..4].copy_from_slice(&if two { 540i32 } else { 348 }.to_le_bytes());
            let _ = Header::parse(&bytes);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.nii");
            if gz {
                use std::io::Write;
                let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                e.write_all(&bytes).unwrap();
                bytes = e.finish().unwrap();
            }
            std::fs::write(&path, &bytes).unwrap();
            let _ = Nifti.open(&path, &OpenHints::default());
        }
    }
}
