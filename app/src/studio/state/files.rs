//! Settings that outlive the session, and the list of recent files.

use super::saved::streams_folder;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MOST_RECENT: usize = 12;
/// Windows open at once whose work is kept apart.
const MOST_WINDOWS: usize = 16;

/// Kept in the user's configuration folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub recent: Vec<String>,
    pub dark: bool,
    pub show_hints: bool,
    #[serde(skip)]
    pub autosave_due: bool,
    #[serde(skip)]
    pub slot: Slot,
    /// Set in tests, so that they leave the user's files alone.
    #[serde(skip)]
    pub read_only: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            recent: vec![],
            dark: true,
            show_hints: true,
            autosave_due: false,
            slot: Slot::default(),
            read_only: false,
        }
    }
}

/// Folder of settings and autosaved work: `$XDG_CONFIG_HOME/blockmgard` or the platform's like.
pub fn config_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("XDG_CONFIG_HOME")
        .or_else(|| variable("APPDATA"))
        .or_else(|| variable("HOME").map(|h| h.join(".config")))
        .map(|base| base.join("blockmgard"))
}

impl Settings {
    /// Defaults where nothing readable is stored.
    pub fn load() -> Self {
        let text = config_folder().and_then(|f| std::fs::read_to_string(f.join("studio.json")).ok());
        text.and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default()
    }

    /// Losing settings is no reason to bother the user, so failures are not reported.
    pub fn save(&self) {
        let Some(folder) = config_folder().filter(|_| !self.read_only) else { return };
        if let Ok(text) = serde_json::to_string_pretty(self) {
            let _ = std::fs::create_dir_all(&folder);
            let _ = write_beside(&folder.join("studio.json"), text.as_bytes());
        }
    }

    /// Puts a file at the top of the recent ones, by its absolute path: the next start may be in another folder.
    pub fn remember(&mut self, path: &str) {
        let path = std::path::absolute(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string());
        self.recent.retain(|p| *p != path);
        self.recent.insert(0, path);
        self.recent.truncate(MOST_RECENT);
        self.save();
    }
}

/// Where a window keeps its autosaved work. Windows that are open at once have slots of their own.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    folder: Option<PathBuf>,
    /// Locked while the window is open; the system unlocks it however the program ends.
    lock: Option<Arc<File>>,
}

impl Slot {
    /// A free slot, one that a session has left work in before others; without a folder that can be written, one that keeps nothing.
    pub fn claim() -> Self {
        config_folder().map_or_else(Self::default, |base| Self::claim_in(&base))
    }
    fn claim_in(base: &Path) -> Self {
        let mut first = None;
        for number in 1..=MOST_WINDOWS {
            let folder = base.join(format!("session-{number}"));
            // Slots beyond the first free one are only looked at where they have been used before.
            if first.is_some() && !folder.exists() {
                break;
            }
            let Some(slot) = Self::lock(folder) else { continue };
            if slot.autosave().is_some_and(|a| a.exists()) {
                return slot;
            }
            first = first.or(Some(slot));
        }
        first.unwrap_or_default()
    }
    /// `None` where another window has the slot or the folder cannot be written.
    fn lock(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).ok()?;
        let file = File::create(folder.join("lock")).ok()?;
        file.try_lock().ok()?;
        Some(Self { folder: Some(folder), lock: Some(Arc::new(file)) })
    }
    /// Where this session's work is written.
    pub fn autosave(&self) -> Option<PathBuf> {
        self.lock.as_ref().and(self.folder.as_ref()).map(|f| f.join("autosave.json"))
    }
    /// The work of the last session of this slot that had any.
    pub fn last(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|f| f.join("last.json"))
    }
    /// Puts the work of the last session aside, so that this one's autosave does not replace it. Says whether there was any.
    pub fn keep_last(&self) -> bool {
        let (Some(now), Some(last)) = (self.autosave(), self.last()) else { return false };
        if std::fs::rename(&now, &last).is_err() {
            return false;
        }
        let (now, last) = (streams_folder(&now), streams_folder(&last));
        // There may be no streams, before or now.
        let _ = std::fs::remove_dir_all(&last);
        let _ = std::fs::rename(now, last);
        true
    }
    /// Forgets this session's work, after all of it has been saved elsewhere.
    pub fn forget(&self) {
        if let Some(now) = self.autosave() {
            // There may be none.
            let _ = std::fs::remove_file(&now);
            let _ = std::fs::remove_dir_all(streams_folder(&now));
        }
    }
}

/// Writes a file completely or not at all.
pub fn write_beside(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let mut name = path.file_name().context("the path names no file")?.to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let write = || {
        std::fs::write(&part, bytes)?;
        std::fs::rename(&part, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&part);
        anyhow::anyhow!("cannot write {}: {error}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_remembered_once_and_found_from_any_folder() {
        let mut settings = Settings { read_only: true, ..Settings::default() };
        settings.remember("a.f32");
        settings.remember("b.nc:v");
        settings.remember(&std::env::current_dir().unwrap().join("a.f32").display().to_string());
        let names: Vec<_> =
            settings.recent.iter().map(|p| Path::new(p).file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.f32", "b.nc:v"]);
        assert!(settings.recent.iter().all(|p| Path::new(p).is_absolute()));
    }

    #[test]
    fn windows_have_slots_of_their_own_and_the_next_one_finds_what_was_left() {
        let base = tempfile::tempdir().unwrap();
        let first = Slot::claim_in(base.path());
        let second = Slot::claim_in(base.path());
        let (a, b) = (first.autosave().unwrap(), second.autosave().unwrap());
        assert_ne!(a, b);
        for path in [&a, &b] {
            assert!(!first.keep_last() && !second.keep_last());
            std::fs::write(path, "work").unwrap();
            std::fs::create_dir(streams_folder(path)).unwrap();
            std::fs::write(streams_folder(path).join("x.bmg"), "stream").unwrap();
            let window = if *path == a { &first } else { &second };
            assert!(window.keep_last());
            let last = window.last().unwrap();
            assert_eq!(std::fs::read_to_string(&last).unwrap(), "work");
            assert!(streams_folder(&last).join("x.bmg").exists() && !path.exists());
        }
        // The second window ends with work, the first without.
        std::fs::write(&b, "more").unwrap();
        drop((first, second));
        let next = Slot::claim_in(base.path());
        assert_eq!(next.autosave(), Some(b.clone()));
        next.forget();
        assert!(!b.exists());
    }
}
