//! The stage models of devices, kept in the user's cache folder from `blockmgard tune` or the studio for time budgets.

use anyhow::{Context, Result};
use blockmgard::Error;
use blockmgard::job::tune::DeviceModels;
use std::path::{Path, PathBuf};

/// Where the models of a device are kept.
///
/// # Errors
/// When the system names no cache folder.
pub fn path_of(device: &str) -> Result<PathBuf> {
    let folder = dirs::cache_dir().context("this system names no cache folder to keep the models in")?;
    let name: String = device.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(folder.join("blockmgard").join("tune").join(format!("{name}.json")))
}

/// Keeps models; written beside and renamed, so that a reader sees the old ones or the new ones.
///
/// # Errors
/// When the file cannot be written.
pub fn save(models: &DeviceModels, path: &Path) -> Result<()> {
    let written = || -> std::io::Result<()> {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let part = path.with_extension(format!("{}.part", std::process::id()));
        std::fs::write(&part, serde_json::to_vec_pretty(models)?)?;
        std::fs::rename(&part, path)
    };
    written().with_context(|| format!("{} could not be written", path.display()))
}

/// The kept models of a device.
///
/// # Errors
/// [`blockmgard::ErrorKind::InvalidArgument`] when there are none that this version measured.
pub fn load(device: &str) -> Result<DeviceModels> {
    let path = path_of(device)?;
    let missing = |what: &str| {
        Error::invalid(format!("{what} stage models of {device} are kept in {}", path.display()))
            .remedy("run `blockmgard tune` with the same --device and --threads once")
    };
    let bytes = std::fs::read(&path).map_err(|_| missing("no"))?;
    let models: DeviceModels = serde_json::from_slice(&bytes).map_err(|_| missing("no readable"))?;
    if models.hold_for(device) { Ok(models) } else { Err(missing("no current"))? }
}
