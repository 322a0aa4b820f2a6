//! Mask files: any volume of the same shape, opened through the registry of formats.

use super::{ScalarSelector, Selector, Test};
use crate::roi::spec::MaskFile;
use crate::volume::{self, OpenHints, Values, Volume};
use crate::{Error, Result};
use std::path::Path;

/// Opens a mask for `volume`; relative paths start at `folder`.
pub(in crate::roi) fn open_mask(mask: &MaskFile, folder: &Path, volume: &Volume) -> Result<Box<dyn Selector>> {
    let path = folder.join(&mask.path);
    let opened = open_one(&path)?;
    if opened.shape.n != volume.shape.n {
        return Err(Error::invalid(format!(
            "mask {} has shape {}, the volume has {}",
            path.display(),
            opened.shape,
            volume.shape
        ))
        .remedy("a mask needs one value per voxel of the volume, axes in the same order"));
    }
    check_spacing(&path, &opened, volume)?;
    let test = mask.label.map_or(Test::NonZero, |l| Test::Within(l as f64, l as f64));
    let missing = opened.missing;
    Ok(match opened.values {
        Values::F32(field) => Box::new(ScalarSelector { field, missing, test, ranges: None }),
        Values::F64(field) => Box::new(ScalarSelector { field, missing, test, ranges: None }),
    })
}

/// The volume of a mask file; `FILE:NAME` names one of several variables.
fn open_one(path: &Path) -> Result<Volume> {
    let text = path.to_string_lossy();
    let (file, name) = match text.rsplit_once(':') {
        Some((file, name)) if !path.exists() && Path::new(file).exists() => (Path::new(file), Some(name)),
        _ => (path, None),
    };
    let dataset = volume::open(file, &OpenHints::default())?;
    let names: Vec<&str> = dataset.variables().iter().map(|v| v.name.as_str()).collect();
    let index = match name {
        None if names.len() == 1 => Some(0),
        None => None,
        Some(name) => names.iter().position(|n| *n == name),
    };
    let index = index.ok_or_else(|| {
        Error::invalid(format!("{} holds {} variables, which one is the mask?", file.display(), names.len()))
            .remedy(format!("write the path as {}:NAME, with one of {}", file.display(), names.join(", ")))
    })?;
    dataset.open(index, 0)
}

/// Where both say how far their nodes lie apart, they must agree, or the mask belongs to another grid.
fn check_spacing(path: &Path, mask: &Volume, volume: &Volume) -> Result<()> {
    let (Some(own), Some(theirs)) = (&volume.meta.spacing, &mask.meta.spacing) else { return Ok(()) };
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 * a.abs().max(b.abs());
    if own.len() == theirs.len() && own.iter().zip(theirs).all(close) {
        return Ok(());
    }
    Err(Error::invalid(format!("mask {} has spacing {theirs:?}, the volume has {own:?}", path.display()))
        .remedy("resample the mask onto the volume's grid, or drop its spacing if that is wrong"))
}
