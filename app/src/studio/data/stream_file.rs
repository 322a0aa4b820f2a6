//! A `.bmg` stream opened like any other data file.

use super::bricks::Bricks;
use super::memory::MemoryDataset;
use crate::studio::panels::shell;
use crate::studio::state::running::decode;
use blockmgard::backend::{self, Device};
use blockmgard::job::Coded;
use blockmgard::stream::{Archive, Header};
use blockmgard::volume::{DType, Field, Values, Volume};
use blockmgard::{Control, Mode, Result, Tier};
use std::path::Path;
use std::sync::Arc;

/// Whether a file starts like a `.bmg` stream.
pub fn is_stream(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_ok() && head == blockmgard::stream::MAGIC
}

/// Decodes what is not decoded yet.
type Load = Arc<dyn Fn(&Control) -> Result<()> + Send + Sync>;

/// What a stream knows of itself.
#[derive(Clone)]
pub struct StreamFacts {
    /// The ROI spec that it was made with, as JSON.
    pub roi: Option<serde_json::Value>,
    /// Its tiers with the absolute tolerances that it keeps.
    pub tiers: Vec<Tier>,
    /// Method and size, for the title line.
    pub summary: String,
    pub load: Load,
}

/// Opens a stream. A pyramid's values are decoded where they are looked at; a hybrid's at once, because each of its
/// boxes needs the global levels of the whole volume.
pub fn open(path: &Path, control: &Control) -> anyhow::Result<(MemoryDataset, StreamFacts)> {
    let archive = Arc::new(Archive::open(path)?);
    let provenance = archive.provenance()?;
    let (values, load) = match (archive.header().params.mode, archive.header().dtype) {
        (Mode::Hybrid, _) => {
            let opened = backend::open(&Device::Auto)?;
            let done: Load = Arc::new(|_| Ok(()));
            (decode(&archive, &*opened.backend, control)?, done)
        }
        (Mode::Pyramid, DType::F32) => {
            let (field, load) = bricks::<f32>(&archive);
            (Values::F32(field), load)
        }
        (Mode::Pyramid, DType::F64) => {
            let (field, load) = bricks::<f64>(&archive);
            (Values::F64(field), load)
        }
    };
    let mut meta = provenance.volume;
    meta.source = path.display().to_string();
    let shape = archive.header().shape;
    let tiers = archive.frame(0).tolerance()?.tiers;
    let summary = summary(archive.header(), archive.len_bytes());
    let volume = Volume { shape, values, meta, missing: provenance.missing };
    Ok((MemoryDataset::new(volume, "bmg"), StreamFacts { roi: provenance.roi, tiers, summary, load }))
}

fn bricks<T: Coded>(archive: &Arc<Archive>) -> (Arc<dyn Field<T>>, Load) {
    let bricks = Arc::new(Bricks::<T>::new(archive.clone()));
    let whole = bricks.clone();
    (bricks, Arc::new(move |control| whole.load_all(control)))
}

fn summary(header: &Header, bytes: u64) -> String {
    let p = &header.params;
    let method = match p.mode {
        Mode::Pyramid => format!("pyramid, tile {}", p.tile),
        Mode::Hybrid => format!("hybrid L{} M{}", p.local_levels, p.global_levels),
    };
    let ratio = (header.shape.len() * header.dtype.bytes()) as f64 / bytes.max(1) as f64;
    format!("{method}, {}, ratio {ratio:.2}", shell::bytes(bytes))
}
