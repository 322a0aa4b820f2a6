//! Shape and type of raw slices, which say neither: from hints and names, or guessed where one guess stands out.

use super::slices::PlaneShape;
use crate::volume::{OpenHints, StoredType, facts_from_name, map_file, suggest_shapes};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Types that raw slices usually have.
const USUAL: [StoredType; 3] = [StoredType::U8, StoredType::U16, StoredType::F32];

/// The plane that every file holds, and what to tell the user when it was guessed.
///
/// # Errors
/// When hints and names leave it open and no guess stands out, or the first file has another size.
pub fn raw_shape(files: &[PathBuf], hints: &OpenHints) -> Result<(PlaneShape, Option<String>)> {
    let first = &files[0];
    let bytes = std::fs::metadata(first).map_err(|e| Error::io(first, &e))?.len().saturating_sub(hints.offset) as usize;
    let facts = facts_from_name(&first.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default());
    let dtype = hints.dtype.or(facts.stored);
    let dims = hints.dims.clone().or(facts.dims);
    let big_endian = hints.big_endian.or(facts.big_endian);
    if dims.is_none()
        && let Some((stored, side)) = only_square(bytes, dtype)
    {
        let middle = &files[files.len() / 2];
        let big_endian = big_endian.map_or_else(|| smoother_big(middle, hints.offset as usize, stored), Ok)?;
        let order = if big_endian { "big-endian" } else { "little-endian" };
        let note = format!(
            "shape and type are guessed from slices of {bytes} bytes: {side}x{side} {stored} {order}; shape (dims), \
             type and byte order can be given"
        );
        return Ok((PlaneShape { height: side, width: side, channels: 1, stored, big_endian }, Some(note)));
    }
    let (Some(stored), Some(dims)) = (dtype, dims) else { return Err(unknown(files.len(), bytes, dtype)) };
    let [height, width] = match dims[..] {
        [n, h, w] if n == files.len() => [h, w],
        [h, w] => [h, w],
        _ => {
            return Err(Error::invalid(format!("dims {dims:?} do not fit {} slices", files.len()))
                .remedy("give slices x height x width"));
        }
    };
    let shape = PlaneShape { height, width, channels: 1, stored, big_endian: big_endian.unwrap_or(false) };
    if shape.bytes()? != bytes {
        return Err(Error::invalid(format!("a slice of {bytes} bytes cannot be {height}x{width} {stored}"))
            .remedy("check dims and type"));
    }
    Ok((shape, None))
}

/// The one usual type (or the one given) that makes square slices of so many bytes.
fn only_square(bytes: usize, given: Option<StoredType>) -> Option<(StoredType, usize)> {
    let square = |stored: StoredType| {
        let count = bytes.checked_div(stored.bytes()).filter(|n| n * stored.bytes() == bytes)?;
        let side = count.isqrt();
        (side > 1 && side * side == count).then_some((stored, side))
    };
    let mut fits = USUAL.into_iter().filter(|s| given.is_none_or(|g| g == *s)).chain(given).filter_map(square);
    let first = fits.next()?;
    fits.all(|other| other == first).then_some(first)
}

/// Whether a slice is smoother when its integers are read with the high byte first.
fn smoother_big(path: &Path, offset: usize, stored: StoredType) -> Result<bool> {
    let file = map_file(path)?;
    let bytes = (*file).as_ref().get(offset..).unwrap_or_default();
    if stored != StoredType::U16 {
        return Ok(false);
    }
    let roughness = |value: fn([u8; 2]) -> u16| -> u64 {
        let values: Vec<u16> = bytes.chunks_exact(2).map(|b| value([b[0], b[1]])).collect();
        values.windows(2).map(|pair| u64::from(pair[0].abs_diff(pair[1]))).sum()
    };
    Ok(roughness(u16::from_be_bytes) < roughness(u16::from_le_bytes))
}

fn unknown(count: usize, bytes: usize, dtype: Option<StoredType>) -> Error {
    let guess = dtype.unwrap_or(StoredType::U16);
    let fits: Vec<String> = suggest_shapes(bytes as u64, guess)
        .iter()
        .filter(|s| s.len() == 2)
        .take(4)
        .map(|s| format!("{count}x{}x{}", s[0], s[1]))
        .collect();
    let hint =
        if fits.is_empty() { String::new() } else { format!("; as {guess} these would fit: {}", fits.join(", ")) };
    Error::invalid(format!("{count} raw slices of {bytes} bytes do not say their shape and type"))
        .remedy(format!("give the shape (dims) as {count}xHEIGHTxWIDTH and the type, such as u16{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_needs_one_square_of_a_usual_type() {
        assert_eq!(only_square(8192, None), Some((StoredType::U16, 64)));
        // 256x256 bytes or 128x128 floats: nobody can tell.
        assert_eq!(only_square(65536, None), None);
        assert_eq!(only_square(65536, Some(StoredType::F32)), Some((StoredType::F32, 128)));
        assert_eq!(only_square(65536, Some(StoredType::I8)), Some((StoredType::I8, 256)));
        assert_eq!(only_square(12, None), None);
        assert_eq!(only_square(0, None), None);
    }

    #[test]
    fn the_byte_order_of_guessed_slices_is_the_smoother_one() {
        let dir = tempfile::tempdir().unwrap();
        let values = (0..64 * 64).map(|i| 1000 + (i % 64) as u16);
        for (name, big) in [("big", true), ("little", false)] {
            let path = dir.path().join(name);
            let bytes = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
            std::fs::write(&path, values.clone().flat_map(bytes).collect::<Vec<_>>()).unwrap();
            let (shape, note) = raw_shape(&[path], &OpenHints::default()).unwrap();
            assert_eq!((shape.height, shape.big_endian, note.is_some()), (64, big, true));
        }
    }
}
