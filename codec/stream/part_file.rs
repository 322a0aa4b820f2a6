//! Files that appear whole or not at all.

use crate::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file written as `OUT.part` beside `OUT` and renamed by [`PartFile::commit`]. Dropped before that, it is removed.
#[derive(Debug)]
pub struct PartFile {
    file: Option<File>,
    part: PathBuf,
    target: PathBuf,
}

impl PartFile {
    /// Creates `OUT.part`, readable and writable.
    pub fn create(target: &Path) -> Result<Self> {
        let mut name = target
            .file_name()
            .ok_or_else(|| Error::invalid(format!("{} is not a file name", target.display())))?
            .to_os_string();
        name.push(".part");
        let part = target.with_file_name(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&part)
            .map_err(|e| Error::io(&part, &e).remedy("choose a folder that exists and that you may write to"))?;
        Ok(Self { file: Some(file), part, target: target.to_owned() })
    }
    /// The open file.
    pub fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("the file is open until commit")
    }
    /// Where the bytes are until [`PartFile::commit`].
    pub fn path(&self) -> &Path {
        &self.part
    }
    /// Renames into place.
    pub fn commit(mut self) -> Result<()> {
        // Some systems refuse to rename an open file.
        drop(self.file.take());
        std::fs::rename(&self.part, &self.target).map_err(|e| {
            // Drop does nothing any more: the handle is gone.
            let _ = std::fs::remove_file(&self.part);
            Error::io(&self.target, &e)
        })
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing sensible is left to do when even the removal fails.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("x.bmg");
        let mut dropped = PartFile::create(&out).unwrap();
        dropped.file().write_all(b"half").unwrap();
        assert!(dir.path().join("x.bmg.part").exists());
        drop(dropped);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut whole = PartFile::create(&out).unwrap();
        whole.file().write_all(b"whole").unwrap();
        whole.commit().unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
