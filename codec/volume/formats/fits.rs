//! FITS images (.fits, .fit, .fts) of astronomy: every image HDU is a variable
//! (<https://fits.gsfc.nasa.gov/fits_standard.html>). The crates there are either GPL or read whole images into memory.

use super::header_text::{stem, total_bytes};
use super::strided::{StridedArray, StridedDataset, describe};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, VariableInfo, map_file};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;

/// FITS; see the module.
pub struct Fits;

/// Headers and data come in blocks of this size.
const BLOCK_BYTES: usize = 2880;
const CARD_BYTES: usize = 80;
/// A file of more parts is not an image for us.
const MAX_UNITS: usize = 4096;

impl Format for Fits {
    fn name(&self) -> &'static str {
        "FITS"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["fits", "fit", "fts"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.starts_with(b"SIMPLE  =")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let open = || {
            let bytes = map_file(path)?;
            let variables = images(&bytes, &stem(path), hints)?;
            if variables.is_empty() {
                return Err(Error::invalid("the file holds no image (compressed images and tables are not read)"));
            }
            StridedDataset::new(path.display().to_string(), variables)
        };
        open().map(|d| Box::new(d) as _).map_err(|e: Error| e.in_file(path))
    }
}

fn images(bytes: &SharedBytes, name: &str, hints: &OpenHints) -> Result<Vec<(VariableInfo, StridedArray)>> {
    let all = (**bytes).as_ref();
    let mut variables = Vec::new();
    let mut at = 0;
    for number in 0..MAX_UNITS {
        // Blocks after the last unit may hold anything.
        let extension = all.get(at..).is_some_and(|b| b.starts_with(b"XTENSION"));
        if at >= all.len() || (number > 0 && !extension) {
            break;
        }
        let unit = Unit::parse(&all[at..])?;
        let start = at + unit.header_bytes;
        let is_image = number == 0 || unit.text("XTENSION").is_some_and(|x| x.trim() == "IMAGE");
        let data = unit.data_bytes()?;
        if is_image && !unit.extents()?.is_empty() {
            let name =
                unit.text("EXTNAME").unwrap_or_else(|| if number == 0 { name.into() } else { format!("hdu{number}") });
            variables.push(unit.variable(bytes, start, &name, hints)?);
        }
        at = start
            .checked_add(data.next_multiple_of(BLOCK_BYTES))
            .ok_or_else(|| Error::corrupt("FITS sizes overflow"))?;
    }
    Ok(variables)
}

/// One header-and-data unit.
struct Unit {
    cards: HashMap<String, String>,
    header_bytes: usize,
}

impl Unit {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cards = HashMap::new();
        for (i, card) in bytes.chunks_exact(CARD_BYTES).enumerate().take(100_000) {
            let key = String::from_utf8_lossy(&card[..8]).trim_end().to_string();
            if key == "END" {
                return Ok(Self { cards, header_bytes: ((i + 1) * CARD_BYTES).next_multiple_of(BLOCK_BYTES) });
            }
            if &card[8..10] == b"= " {
                cards.entry(key).or_insert_with(|| String::from_utf8_lossy(&card[10..]).into_owned());
            }
        }
        Err(Error::truncated("a FITS header does not end"))
    }
    fn text(&self, key: &str) -> Option<String> {
        let value = self.cards.get(key)?.trim();
        let quoted = value.strip_prefix('\'')?;
        // A quote inside is doubled.
        let end = quoted.replace("''", "\u{1}").find('\'')?;
        Some(quoted.replace("''", "\u{1}")[..end].replace('\u{1}', "'").trim_end().to_string())
            .filter(|t| !t.is_empty())
    }
    fn number(&self, key: &str) -> Option<f64> {
        let value = self.cards.get(key)?.split('/').next()?.trim();
        value.replace(['D', 'd'], "E").parse().ok()
    }
    fn count(&self, key: &str) -> Result<usize> {
        let bad = || Error::corrupt(format!("the FITS header has no number {key}"));
        let value = self.number(key).ok_or_else(bad)?;
        if (0.0..=1e15).contains(&value) && value.fract() == 0.0 { Ok(value as usize) } else { Err(bad()) }
    }
    /// Slowest first; empty where there are no data.
    fn extents(&self) -> Result<Vec<usize>> {
        let rank = self.count("NAXIS")?;
        if rank > 16 {
            return Err(Error::corrupt(format!("NAXIS {rank} is more than 16")));
        }
        let extents: Vec<usize> = (1..=rank).rev().map(|a| self.count(&format!("NAXIS{a}"))).collect::<Result<_>>()?;
        Ok(if extents.contains(&0) { Vec::new() } else { extents })
    }
    fn stored(&self) -> Result<StoredType> {
        Ok(match self.number("BITPIX") {
            Some(8.0) => StoredType::U8,
            Some(16.0) => StoredType::I16,
            Some(32.0) => StoredType::I32,
            Some(64.0) => StoredType::I64,
            Some(-32.0) => StoredType::F32,
            Some(-64.0) => StoredType::F64,
            other => return Err(Error::new(ErrorKind::Compatibility, format!("FITS BITPIX {other:?} is not read"))),
        })
    }
    /// Bytes of the data, the heap of a table included, before padding.
    fn data_bytes(&self) -> Result<usize> {
        let extents = self.extents()?;
        if extents.is_empty() {
            return Ok(0);
        }
        let parameters = self.count("PCOUNT").unwrap_or(0);
        let groups = self.count("GCOUNT").unwrap_or(1).max(1);
        let values = total_bytes(&extents, 1, 1)?.checked_add(parameters).and_then(|v| v.checked_mul(groups));
        let bytes = values.and_then(|v| v.checked_mul(self.stored().ok()?.bytes())).filter(|b| *b < usize::MAX / 4);
        bytes.ok_or_else(|| Error::corrupt("FITS sizes overflow"))
    }
    fn variable(
        &self,
        bytes: &SharedBytes,
        start: usize,
        name: &str,
        hints: &OpenHints,
    ) -> Result<(VariableInfo, StridedArray)> {
        let mut extents = self.extents()?;
        while extents.len() > 1 && extents[0] == 1 {
            extents.remove(0);
        }
        let stored = self.stored()?;
        let mut array = StridedArray::component(bytes.clone(), start, &extents, (0, 1), stored, true);
        let (scale, zero) = (self.number("BSCALE").unwrap_or(1.0), self.number("BZERO").unwrap_or(0.0));
        array.packing.scale = scale;
        array.packing.offset = zero;
        // Offsets that only make integers unsigned stay exact in f32 up to 16 bits; anything else wants f64.
        if array.packing.is_scaled()
            && !(scale == 1.0 && zero.fract() == 0.0 && zero.abs() <= 32768.0 && stored.bytes() <= 2)
        {
            array.packing.dtype = crate::DType::F64;
        }
        array
            .packing
            .fills
            .extend(self.number("BLANK").filter(|_| !matches!(stored, StoredType::F32 | StoredType::F64)));
        let mut info = describe(name, extents, &array, hints);
        self.annotate(&mut info);
        Ok((info, array))
    }
    fn annotate(&self, info: &mut VariableInfo) {
        let rank = info.extents.len();
        info.units = self.text("BUNIT");
        info.long_name = self.text("OBJECT");
        let number = |key: &str, a: usize| self.number(&format!("{key}{a}"));
        let axes: Option<Vec<String>> = (1..=rank).rev().map(|a| self.text(&format!("CTYPE{a}"))).collect();
        info.axes = axes.unwrap_or_else(|| info.axes.clone());
        let step: Option<Vec<f64>> = (1..=rank).rev().map(|a| number("CDELT", a)).collect();
        // Node 0 is pixel 1 of FITS.
        let first = |a: usize| Some(number("CRVAL", a)? + (1.0 - number("CRPIX", a)?) * number("CDELT", a)?);
        info.origin = (1..=rank).rev().map(first).collect();
        info.spacing = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(cards: &[&str], data: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for card in cards.iter().chain(&["END"]) {
            out.extend(format!("{card:<80}").into_bytes());
        }
        out.resize(out.len().next_multiple_of(BLOCK_BYTES), b' ');
        out.resize(out.len() + data, 0);
        out
    }

    fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.fits");
        std::fs::write(&path, bytes).unwrap();
        Fits.open(&path, &OpenHints::default())
    }

    const CUBE: [&str; 8] = [
        "SIMPLE  =                    T",
        "BITPIX  =                   16 / bits",
        "NAXIS   =                    3",
        "NAXIS1  =                    4",
        "NAXIS2  =                    3",
        "NAXIS3  =                    2",
        "BZERO   =                32768",
        "BUNIT   = 'Jy/beam '           / it''s",
    ];

    #[test]
    fn unsigned_cube_with_units() {
        let d = open_bytes(&file(&CUBE, 48)).unwrap();
        let info = &d.variables()[0];
        assert_eq!((&info.extents[..], info.units.as_deref()), (&[2, 3, 4][..], Some("Jy/beam")));
        assert_eq!(info.dtype, crate::DType::F32);
        let crate::volume::Values::F32(f) = d.open(0, 0).unwrap().values else { panic!("u16 fits f32") };
        let mut row = [0.0; 4];
        f.read_row(1, 2, 0, &mut row).unwrap();
        assert_eq!(row, [32768.0; 4]);
        assert_eq!(open_bytes(&file(&CUBE, 47)).err().unwrap().kind, ErrorKind::Truncated);
    }

    proptest! {
        #[test]
        fn no_header_panics(cards in proptest::collection::vec("(NAXIS|NAXIS1|NAXIS2|BITPIX|PCOUNT|GCOUNT|BSCALE|BZERO|BUNIT|CTYPE1|BLANK) {0,3}= [0-9'ED. -]{0,20}", 0..8)) {
            let cards: Vec<String> = cards.iter().map(|c| match c.split_once('=') { Some((k, v)) => format!("{:<8}={v}", k.trim()), None => c.clone() }).collect();
            let all: Vec<&str> = cards.iter().map(String::as_str).chain(CUBE).collect();
            let _ = open_bytes(&file(&all, 100));
        }
    }
}
