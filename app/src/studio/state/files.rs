//! Settings that outlive the session, and the list of recent files.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const MOST_RECENT: usize = 12;

/// Kept in the user's configuration folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub recent: Vec<String>,
    pub dark: bool,
    pub show_hints: bool,
    #[serde(skip)]
    pub autosave_due: bool,
    /// Set in tests, so that they leave the user's files alone.
    #[serde(skip)]
    pub read_only: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { recent: vec![], dark: true, show_hints: true, autosave_due: false, read_only: false }
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

    pub fn remember(&mut self, path: &str) {
        self.recent.retain(|p| p != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(MOST_RECENT);
        self.save();
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
