//! Files that appear whole or not at all.

use super::writer::Output;
use crate::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file written as `OUT.part` beside `OUT` and renamed by [`PartFile::commit`]. Dropped before that, it is removed.
///
/// Every run writes a part file of its own (`OUT.1.part`, ... where `OUT.part` is taken), so that two runs with the same
/// output cannot mix their bytes: the last one to end wins, whole.
#[derive(Debug)]
pub struct PartFile {
    file: Option<File>,
    part: PathBuf,
    target: PathBuf,
}

/// Part files of one output, those of killed runs included.
const MOST_PARTS: usize = 1000;

impl PartFile {
    /// Creates `OUT.part`, readable and writable.
    ///
    /// # Errors
    /// When `target` is a folder or no file name, or its folder cannot be written to.
    pub fn create(target: &Path) -> Result<Self> {
        let target = real_target(target)?;
        let name =
            target.file_name().ok_or_else(|| Error::invalid(format!("{} is not a file name", target.display())))?;
        for number in 0..MOST_PARTS {
            let mut name = name.to_os_string();
            name.push(if number == 0 { ".part".into() } else { format!(".{number}.part") });
            let part = target.with_file_name(name);
            match File::options().read(true).write(true).create_new(true).open(&part) {
                Ok(file) => return Ok(Self { file: Some(file), part, target }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(e) => {
                    let remedy = "choose a folder that exists and that you may write to";
                    return Err(Error::io(&target, &e).remedy(remedy));
                }
            }
        }
        let crowd = format!("{MOST_PARTS} unfinished files stand beside {}", target.display());
        Err(Error::new(ErrorKind::Io, crowd).remedy("remove the .part files of runs that were killed"))
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

/// Where a file is to appear: behind symbolic links, so that they stay links, and never in the place of a folder or device.
fn real_target(target: &Path) -> Result<PathBuf> {
    let there = match std::fs::metadata(target) {
        Ok(there) => there,
        // Nothing is there yet; what else may be wrong shows when the part file is made.
        Err(_) => return Ok(target.to_owned()),
    };
    if there.is_dir() {
        return Err(Error::invalid(format!("{} is a folder", target.display())).remedy("name a file in it"));
    }
    if !there.is_file() {
        return Err(Error::invalid(format!("{} is no file but a device or pipe", target.display()))
            .remedy("write to a file: it must be renamed into place when it is whole"));
    }
    std::fs::canonicalize(target).map_err(|e| Error::io(target, &e))
}

/// Refuses to put `target` in the place of `source`, the file that its content comes from.
///
/// # Errors
/// When both names lead to the same file.
pub fn refuse_source(target: &Path, source: &str) -> Result<()> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (real(target), real(Path::new(source))) {
        (Some(a), Some(b)) if a == b => Err(Error::invalid(format!("{source} is the original: it is not overwritten"))
            .remedy("choose another name for the output")),
        _ => Ok(()),
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for PartFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

impl Output for PartFile {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file().set_len(length)
    }
    fn path(&self) -> Option<&Path> {
        Some(&self.target)
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
        assert!(PartFile::create(dir.path()).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_links_and_devices_stay_devices() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = PartFile::create(&link).unwrap();
        file.file().write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(refuse_source(&link, &real.display().to_string()).is_err());
        assert!(refuse_source(&dir.path().join("absent"), &real.display().to_string()).is_ok());
        assert!(PartFile::create(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn two_runs_with_one_output_do_not_mix_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("x.bmg");
        let mut first = PartFile::create(&out).unwrap();
        let mut second = PartFile::create(&out).unwrap();
        first.file().write_all(b"the first").unwrap();
        second.file().write_all(b"second").unwrap();
        first.commit().unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"the first");
        second.commit().unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
