//! Small text headers in front of raw data or beside them.

use crate::volume::{SharedBytes, map_file};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// No text header is longer.
pub const MAX_HEADER_BYTES: usize = 1 << 20;

/// Numbers separated by blanks, and by commas and brackets where a format has them.
pub fn numbers<T: FromStr>(key: &str, text: &str) -> Result<Vec<T>> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | '[' | ']'))
        .filter(|w| !w.is_empty())
        .map(|w| w.parse().map_err(|_| Error::corrupt(format!("'{key}' holds '{w}' where a number is due"))))
        .collect()
}

/// One number.
pub fn number<T: FromStr + Copy>(key: &str, text: &str) -> Result<T> {
    match numbers(key, text)?[..] {
        [v] => Ok(v),
        _ => Err(Error::corrupt(format!("'{key}' is one number, not '{text}'"))),
    }
}

/// Extents that are listed fastest first, turned to slowest first.
///
/// # Errors
/// None, too many, or an extent of 0.
pub fn reversed_extents(key: &str, text: &str) -> Result<Vec<usize>> {
    let mut extents: Vec<usize> = numbers(key, text)?;
    if extents.is_empty() || extents.len() > 16 || extents.contains(&0) {
        return Err(Error::corrupt(format!("'{key}' is 1 to 16 numbers above 0, not '{text}'")));
    }
    extents.reverse();
    Ok(extents)
}

/// The bytes of all values, or an error that the claim is absurd.
pub fn total_bytes(extents: &[usize], components: usize, value_bytes: usize) -> Result<usize> {
    extents
        .iter()
        .try_fold(components.saturating_mul(value_bytes), |p, &n| p.checked_mul(n))
        .filter(|&b| b < usize::MAX / 2)
        .ok_or_else(|| Error::corrupt(format!("shape {extents:?} has too many values to exist")))
}

/// A data file named in a header, which lies beside the header unless its path is absolute.
pub fn beside(header: &Path, name: &str) -> PathBuf {
    header.parent().unwrap_or(Path::new("")).join(name.trim())
}

/// Maps a data file named in a header; the error names both.
pub fn map_beside(header: &Path, name: &str) -> Result<SharedBytes> {
    map_file(&beside(header, name))
        .map_err(|e| Error::new(e.kind, format!("data file of {}: {}", header.display(), e.message)))
}

/// The lines of the text at the start of some bytes, with the byte after each.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (&str, usize)> {
    let head = &bytes[..bytes.len().min(MAX_HEADER_BYTES)];
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = head.get(at..).filter(|r| !r.is_empty())?;
        let len = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        at += (len + 1).min(rest.len());
        let line = std::str::from_utf8(&rest[..len]).ok()?;
        Some((line.trim_end_matches('\r'), at))
    })
}

/// Name of a file without its folder and ending.
pub fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}
