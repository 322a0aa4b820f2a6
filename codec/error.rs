//! One error type for the library: what kind of failure, what happened, and what the user can do.

use std::fmt;

/// The kinds of failure that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The stream or file was damaged or is not what it claims to be.
    Corruption,
    /// The stream or file ends before its content does.
    Truncated,
    /// Valid, but made by a newer version or with a feature this build lacks.
    Compatibility,
    /// The caller asked for something that makes no sense.
    InvalidArgument,
    /// The operating system refused a read or write.
    Io,
    /// No usable device, or the device failed.
    Device,
    /// The job was cancelled by the user.
    Cancelled,
}

/// A failure: the kind, a sentence that says what is wrong, and a remedy (may be empty).
#[derive(Clone, Debug, thiserror::Error)]
pub struct Error {
    pub kind: ErrorKind,
    /// What is wrong, naming the part, file or key.
    pub message: String,
    /// What to do about it; empty when there is nothing to say.
    pub remedy: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: String::new() }
    }
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, message)
    }
    pub fn truncated(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Truncated, message)
    }
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }
    /// An I/O failure with the file's name, and what to do where no room is left.
    pub fn io(path: &std::path::Path, source: &std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let error = Self::new(ErrorKind::Io, format!("{}: {source}", path.display()));
        match source.kind() {
            StorageFull | QuotaExceeded => error.remedy("free some space, or write to another disk"),
            _ => error,
        }
    }
    /// Puts the file's name in front of the message.
    pub fn in_file(mut self, path: &std::path::Path) -> Self {
        self.message = format!("{}: {}", path.display(), self.message);
        self
    }
    /// Adds what the user can do.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.remedy.is_empty() {
            write!(f, " ({})", self.remedy)?;
        }
        Ok(())
    }
}
