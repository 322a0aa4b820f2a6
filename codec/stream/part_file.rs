//! Files that appear whole or not at all.

use super::writer::Output;
use crate::{Error, ErrorKind, Result};
use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file written as `OUT.part` beside `OUT` and renamed by [`PartFile::commit`]. Dropped before that, it is removed.
///
/// Every run writes a part file of its own (`OUT.1.part`, ... where `OUT.part` is taken), so that two runs with the same
/// output cannot mix their bytes: the last one to end wins, whole. A part file is locked while its run lives, so that the
/// next run finds what a killed one left and writes in its place (Unix; on file systems without locks it stays).
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
            match claim(&part) {
                Ok(Some(file)) => return Ok(Self { file: Some(file), part, target }),
                Ok(None) => continue,
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
        let open = self.file.take();
        // The lock is held until the name is another one; elsewhere an open file may not be renamed.
        let held = open.filter(|_| cfg!(unix));
        std::fs::rename(&self.part, &self.target).map_err(|e| {
            // Drop does nothing any more: the handle is gone.
            let _ = std::fs::remove_file(&self.part);
            Error::io(&self.target, &e)
        })?;
        drop(held);
        Ok(())
    }
}

/// Makes the part file, or empties one whose run is gone; `None` where a run that lives has it.
fn claim(part: &Path) -> io::Result<Option<File>> {
    match File::options().read(true).write(true).create_new(true).open(part) {
        // Another run may have found the new file before its lock was there.
        Ok(file) => Ok((lock(&file) != Lock::Taken).then_some(file)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(take_over(part)),
        Err(e) => Err(e),
    }
}

#[derive(PartialEq)]
enum Lock {
    Held,
    Taken,
    Impossible,
}

fn lock(file: &File) -> Lock {
    // Elsewhere a lock would keep readers of the run's own process out.
    if !cfg!(unix) {
        return Lock::Impossible;
    }
    match file.try_lock() {
        Ok(()) => Lock::Held,
        Err(TryLockError::WouldBlock) => Lock::Taken,
        Err(TryLockError::Error(_)) => Lock::Impossible,
    }
}

/// The part file that a killed run left, empty.
#[cfg(unix)]
fn take_over(part: &Path) -> Option<File> {
    use std::os::unix::fs::MetadataExt;
    // A link or device of that name is nobody's part file.
    if !std::fs::symlink_metadata(part).ok()?.is_file() {
        return None;
    }
    let file = File::options().read(true).write(true).open(part).ok()?;
    // A run that ended in between has renamed the file: then it is whole, and no longer of this name.
    let named = |file: &File| {
        let (a, b) = (file.metadata().ok()?, std::fs::symlink_metadata(part).ok()?);
        ((a.dev(), a.ino()) == (b.dev(), b.ino())).then_some(())
    };
    (lock(&file) == Lock::Held).then_some(())?;
    named(&file)?;
    file.set_len(0).ok()?;
    Some(file)
}

#[cfg(not(unix))]
fn take_over(_: &Path) -> Option<File> {
    None
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
        if let Some(open) = self.file.take() {
            let held = Some(open).filter(|_| cfg!(unix));
            // Nothing sensible is left to do when even the removal fails.
            let _ = std::fs::remove_file(&self.part);
            drop(held);
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
    fn what_a_killed_run_left_is_written_anew_and_never_that_of_a_run_that_lives() {
        let dir = tempfile::tempdir().unwrap();
        let (out, part) = (dir.path().join("x.bmg"), dir.path().join("x.bmg.part"));
        std::fs::write(&part, b"of a run that was killed").unwrap();
        let mut first = PartFile::create(&out).unwrap();
        assert_eq!((first.path(), std::fs::metadata(&part).unwrap().len()), (&*part, 0));
        first.file().write_all(b"whole").unwrap();
        assert_eq!(PartFile::create(&out).unwrap().path(), dir.path().join("x.bmg.1.part"));
        first.commit().unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        // a link of that name leads to somebody's file
        std::fs::write(dir.path().join("else"), b"else").unwrap();
        std::os::unix::fs::symlink(dir.path().join("else"), &part).unwrap();
        assert_eq!(PartFile::create(&out).unwrap().path(), dir.path().join("x.bmg.1.part"));
        assert_eq!(std::fs::read(dir.path().join("else")).unwrap(), b"else");
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
