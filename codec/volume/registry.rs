//! The list of file formats. A new one is a type that implements [`Format`] and one line in `FORMATS`.

use super::formats::*;
use super::{Dataset, OpenHints, npy::Npy, raw::Raw};
use crate::stream::MAGIC;
use crate::{Error, Result};
use std::{fs::File, io::Read, path::Path};

/// A file format that volumes are read from.
pub trait Format: Sync {
    /// Name for people, such as "NumPy".
    fn name(&self) -> &'static str;
    /// Endings of file names, lower case, without the first dot (`npy`, `nii.gz`).
    fn extensions(&self) -> &'static [&'static str];
    /// Whether the content says so: `head` is the start of the file (empty for a directory).
    fn sniff(&self, path: &Path, head: &[u8]) -> bool;
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>>;
}

/// Every format, in the order they are asked. Raw takes what nobody else wants.
static FORMATS: &[&dyn Format] = &[
    &Npy, //
    &NetCdf,
    &Nrrd,
    &MetaImage,
    &VtkXml,
    &VtkLegacy,
    &Nifti,
    &Mrc,
    &Fits,
    &Bov,
    &Npz,
    &Zarr,
    &Tiff,
    &SliceFolder,
    &Wrapped,
    &Raw,
];

/// Bytes shown to [`Format::sniff`].
const HEAD_BYTES: u64 = 4096;

/// All formats, for file dialogs and help texts.
pub fn formats() -> &'static [&'static dyn Format] {
    FORMATS
}

/// Opens a file (or a directory that holds a data set) with the first format whose content or, failing that,
/// whose ending fits; anything else is raw.
pub fn open(path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
    detect(path)?.open(path, hints)
}

/// The format that [`open`] would use.
pub fn detect(path: &Path) -> Result<&'static dyn Format> {
    if is_pattern(path) {
        return Ok(&SliceFolder);
    }
    let head = read_head(path)?;
    if head.starts_with(&MAGIC) {
        return Err(Error::invalid(format!("{} is a compressed stream, no data file", path.display()))
            .remedy("decompress it first"));
    }
    let by_content = FORMATS.iter().find(|f| f.sniff(path, &head));
    let by_ending = || FORMATS.iter().find(|f| has_ending(path, f.extensions()));
    match by_content.or_else(by_ending) {
        Some(f) => Ok(*f),
        None if path.is_dir() => Err(Error::invalid(format!("{} is a folder of no known kind", path.display()))
            .remedy("give a file, or a folder that is a Zarr array or a stack of slices")),
        None => Ok(&Raw),
    }
}

fn read_head(path: &Path) -> Result<Vec<u8>> {
    let io = |e| Error::io(path, &e);
    let there = std::fs::metadata(path).map_err(io)?;
    if there.is_dir() {
        return Ok(Vec::new());
    }
    if !there.is_file() {
        return Err(Error::invalid(format!("{} is no file but a pipe or a device", path.display()))
            .remedy("write it to a file first: values are read where they lie, not in order"));
    }
    let mut head = Vec::new();
    File::open(path).map_err(io)?.take(HEAD_BYTES).read_to_end(&mut head).map_err(io)?;
    Ok(head)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return false };
    let name = name.to_ascii_lowercase();
    endings.iter().any(|e| name.strip_suffix(e).is_some_and(|stem| stem.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_pipes_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let stream = dir.path().join("x.bmg");
        std::fs::write(&stream, [&MAGIC[..], &[1, 2, 3]].concat()).unwrap();
        assert!(detect(&stream).err().unwrap().remedy.contains("decompress"));
        #[cfg(unix)]
        assert!(detect(Path::new("/dev/zero")).err().unwrap().message.contains("device"));
    }
}
