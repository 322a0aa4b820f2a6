//! TIFF stacks (.tif, .tiff, BigTIFF, ImageJ): the pages of one file are the planes of a volume; through the `tiff` crate.

use super::header_text::stem;
use super::slices::{PlaneShape, Planes, SliceStack};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, map_file};
use crate::{Error, Result};
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tiff::decoder::{Decoder, DecodingResult, Limits, ifd::Value};
use tiff::tags::{SampleFormat, Tag};
use tiff::{ColorType, TiffError};

/// TIFF; see the module.
pub struct Tiff;

/// More pages than this are no volume.
const MAX_PAGES: usize = 1 << 20;
/// Compressed pages never grow by more than about this (deflate's own limit).
const MAX_EXPANSION: usize = 1100;

impl Format for Tiff {
    fn name(&self) -> &'static str {
        "TIFF"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["tif", "tiff"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|m| head.starts_with(*m))
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let open = || -> Result<SliceStack> {
            let pages = Pages::open(map_file(path)?)?;
            let spacing = pages.spacing;
            SliceStack::new(path.display().to_string(), &stem(path), Arc::new(pages), spacing, hints)
        };
        open().map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

/// Mapped bytes as the reader of the crate.
struct Bytes(SharedBytes);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// The pages of one file that are like the first.
pub struct Pages {
    decoder: Mutex<Decoder<Cursor<Bytes>>>,
    shape: PlaneShape,
    /// Numbers of the pages used.
    pages: Vec<usize>,
    /// Of z, y, x, where ImageJ wrote it.
    spacing: Option<[f64; 3]>,
}

fn error(e: TiffError) -> Error {
    match e {
        TiffError::UnsupportedError(e) => Error::new(crate::ErrorKind::Compatibility, format!("TIFF: {e}")),
        TiffError::LimitsExceeded => Error::corrupt("TIFF: a page or a tag is larger than the file can justify"),
        e => Error::corrupt(format!("TIFF: {e}")),
    }
}

impl Pages {
    pub fn open(bytes: SharedBytes) -> Result<Self> {
        let file_bytes = (*bytes).as_ref().len();
        let mut limits = Limits::default();
        limits.decoding_buffer_size = file_bytes.saturating_mul(MAX_EXPANSION).clamp(1 << 20, 4 << 30);
        limits.intermediate_buffer_size = limits.decoding_buffer_size;
        let mut decoder = Decoder::new(Cursor::new(Bytes(bytes))).map_err(error)?.with_limits(limits);
        let shape = page_shape(&mut decoder)?;
        if shape.bytes()? > file_bytes.saturating_mul(MAX_EXPANSION) {
            return Err(Error::corrupt(format!(
                "TIFF: pages of {}x{} in a file of {file_bytes} bytes",
                shape.height, shape.width
            )));
        }
        let spacing = image_j_spacing(&mut decoder);
        let mut pages = vec![0];
        for page in 1..MAX_PAGES {
            if !decoder.more_images() {
                break;
            }
            decoder.next_image().map_err(error)?;
            // Thumbnails and masks differ from the first page; they are no planes of the volume.
            if page_shape(&mut decoder).is_ok_and(|s| s == shape) {
                pages.push(page);
            }
        }
        Ok(Self { decoder: Mutex::new(decoder), shape, pages, spacing })
    }
}

impl Planes for Pages {
    fn count(&self) -> usize {
        self.pages.len()
    }
    fn shape(&self) -> PlaneShape {
        self.shape
    }
    fn plane(&self, z: usize) -> Result<Vec<u8>> {
        let mut decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        decoder.seek_to_image(self.pages[z]).map_err(error)?;
        let image = decoder.read_image().map_err(error)?;
        Ok(match &image {
            DecodingResult::U8(v) => v.clone(),
            DecodingResult::I8(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::U16(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::I16(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::U32(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::I32(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::U64(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::I64(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::F32(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::F64(v) => bytemuck::cast_slice(v).to_vec(),
            DecodingResult::F16(v) => v.iter().flat_map(|h| h.to_f32().to_ne_bytes()).collect(),
        })
    }
}

/// Shape and type of the page the decoder stands on.
fn page_shape(decoder: &mut Decoder<Cursor<Bytes>>) -> Result<PlaneShape> {
    let (width, height) = decoder.dimensions().map_err(error)?;
    let color = decoder.colortype().map_err(error)?;
    let (channels, bits) = match color {
        ColorType::Gray(b) | ColorType::Palette(b) => (1, b),
        ColorType::GrayA(b) => (2, b),
        ColorType::RGB(b) => (3, b),
        ColorType::RGBA(b) => (4, b),
        ColorType::Multiband { bit_depth, num_samples } => (num_samples as usize, bit_depth),
        other => {
            return Err(Error::new(crate::ErrorKind::Compatibility, format!("TIFF colours {other:?} are not read")));
        }
    };
    let formats: Vec<u16> = decoder.find_tag_unsigned_vec(Tag::SampleFormat).map_err(error)?.unwrap_or_default();
    let format = formats.first().map_or(SampleFormat::Uint, |&f| SampleFormat::from_u16_exhaustive(f));
    let stored = match (format, bits) {
        (SampleFormat::IEEEFP, 16 | 32) => StoredType::F32,
        (SampleFormat::IEEEFP, 64) => StoredType::F64,
        (SampleFormat::Int, 8) => StoredType::I8,
        (SampleFormat::Int, 16) => StoredType::I16,
        (SampleFormat::Int, 32) => StoredType::I32,
        (SampleFormat::Int, 64) => StoredType::I64,
        (SampleFormat::Uint | SampleFormat::Void, 8) => StoredType::U8,
        (SampleFormat::Uint | SampleFormat::Void, 16) => StoredType::U16,
        (SampleFormat::Uint | SampleFormat::Void, 32) => StoredType::U32,
        (SampleFormat::Uint | SampleFormat::Void, 64) => StoredType::U64,
        (format, bits) => {
            let what = format!("TIFF samples of {bits} bits ({format:?}) are not read");
            return Err(Error::new(crate::ErrorKind::Compatibility, what));
        }
    };
    let big_endian = cfg!(target_endian = "big");
    Ok(PlaneShape { height: height as usize, width: width as usize, channels, stored, big_endian })
}

/// ImageJ writes the step along z into the description and pixels per unit into the resolution.
fn image_j_spacing(decoder: &mut Decoder<Cursor<Bytes>>) -> Option<[f64; 3]> {
    let description = decoder.find_tag(Tag::ImageDescription).ok()??.into_string().ok()?;
    if !description.starts_with("ImageJ=") {
        return None;
    }
    let z = description.lines().find_map(|l| l.strip_prefix("spacing="))?.trim().parse::<f64>().ok()?;
    let mut step = |tag| match decoder.find_tag(tag) {
        Ok(Some(Value::Rational(n, d))) if n > 0 && d > 0 => d as f64 / n as f64,
        _ => 1.0,
    };
    let (x, y) = (step(Tag::XResolution), step(Tag::YResolution));
    z.is_finite().then_some([z, y, x])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stack() -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        let mut encoder = tiff::encoder::TiffEncoder::new(&mut out).unwrap();
        for z in 0..3u16 {
            let page: Vec<u16> = (0..20).map(|i| z * 100 + i).collect();
            encoder.write_image::<tiff::encoder::colortype::Gray16>(5, 4, &page).unwrap();
        }
        out.into_inner()
    }

    fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tif");
        std::fs::write(&path, bytes).unwrap();
        Tiff.open(&path, &OpenHints::default())
    }

    #[test]
    fn pages_are_planes() {
        let d = open_bytes(&stack()).unwrap();
        assert_eq!(d.variables()[0].extents, [3, 4, 5]);
        let crate::volume::Values::F32(f) = d.open(0, 0).unwrap().values else { panic!("u16 fits f32") };
        let mut row = [0.0; 2];
        f.read_row(2, 3, 1, &mut row).unwrap();
        assert_eq!(row, [216.0, 217.0]);
    }

    proptest! {
        #[test]
        fn no_damaged_file_panics(at in 0usize..700, byte in any::<u8>(), cut in 0usize..100) {
            let mut bytes = stack();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut);
            if let Ok(d) = open_bytes(&bytes) {
                let n = d.variables()[0].extents.clone();
                if n.iter().product::<usize>() < 1 << 20 && let Ok(v) = d.open(0, 0) {
                    let mut row = vec![0.0; v.shape.n[2]];
                    let _ = crate::with_values!(&v.values, f => f.extents());
                    if let crate::volume::Values::F32(f) = &v.values {
                        let _ = f.read_row(v.shape.n[0] - 1, v.shape.n[1] - 1, 0, &mut row);
                    }
                }
            }
        }
    }
}
