//! A `.bmg` stream opened like any other data file.

use super::memory::MemoryDataset;
use crate::studio::state::running::decode;
use blockmgard::Control;
use blockmgard::backend::{self, Device};
use blockmgard::stream::Archive;
use blockmgard::volume::Volume;
use std::path::Path;

/// Whether a file starts like a `.bmg` stream.
pub fn is_stream(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_ok() && head == blockmgard::stream::MAGIC
}

/// Decodes a stream. Also gives the ROI spec that it was made with, as JSON.
pub fn open(path: &Path, control: &Control) -> anyhow::Result<(MemoryDataset, Option<serde_json::Value>)> {
    let archive = Archive::open(path)?;
    let opened = backend::open(&Device::Auto)?;
    let provenance = archive.provenance()?;
    let values = decode(&archive, &*opened.backend, control)?;
    let mut meta = provenance.volume;
    meta.source = path.display().to_string();
    let volume = Volume { shape: archive.header().shape, values, meta, missing: provenance.missing };
    Ok((MemoryDataset::new(volume, "bmg"), provenance.roi))
}
