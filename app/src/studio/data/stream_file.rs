//! A `.bmg` stream opened like any other data file.

use super::bricks::Bricks;
use super::memory::MemoryDataset;
use super::staged::Staged;
use crate::studio::panels::shell;
use crate::studio::state::performing::decode;
use blockmgard::backend::{self, Device};
use blockmgard::job::Coded;
use blockmgard::stream::{Archive, Header};
use blockmgard::volume::{DType, Field, Values, Volume};
use blockmgard::{Control, ErrorKind, Mode, Result, ToleranceMap};
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
    /// The tier of each block, with the absolute tolerances that it keeps.
    pub map: Arc<ToleranceMap>,
    /// Method and size, for the title line.
    pub summary: String,
    pub load: Load,
    /// Whether coarse nodes are shown until `load` is done.
    pub preview: bool,
    /// Smallest and largest ordinary value.
    pub extent: [f64; 2],
}

/// Opens a stream. A pyramid's values are decoded where they are looked at. Each box of a hybrid needs the global levels of the
/// whole volume: it is shown from its coarse nodes until all is decoded, and decoded at once where there are none.
pub fn open(path: &Path, control: &Control) -> anyhow::Result<(MemoryDataset, StreamFacts)> {
    let archive = Arc::new(Archive::open(path)?);
    let provenance = archive.provenance()?;
    let header = archive.header();
    let hybrid = header.params.mode == Mode::Hybrid;
    let opened = match (hybrid, header.dtype) {
        (true, DType::F32) => staged::<f32>(&archive, control)?.map(|(f, l)| (Values::F32(f), l)),
        (true, DType::F64) => staged::<f64>(&archive, control)?.map(|(f, l)| (Values::F64(f), l)),
        (false, DType::F32) => Some(bricks::<f32>(&archive)).map(|(f, l)| (Values::F32(f), l)),
        (false, DType::F64) => Some(bricks::<f64>(&archive)).map(|(f, l)| (Values::F64(f), l)),
    };
    let preview = hybrid && opened.is_some();
    let (values, load) = match opened {
        Some(opened) => opened,
        None => {
            let done: Load = Arc::new(|_| Ok(()));
            (decode(&archive, &*backend::open(&Device::Auto)?.backend, control)?, done)
        }
    };
    let mut meta = provenance.volume;
    meta.source = path.display().to_string();
    let shape = archive.header().shape;
    let map = Arc::new(archive.tolerance()?);
    let extent = [archive.extent().min, archive.extent().max];
    let summary = summary(archive.header(), archive.len_bytes());
    let volume = Volume { shape, values, meta, missing: provenance.missing };
    Ok((MemoryDataset::new(volume, "bmg"), StreamFacts { roi: provenance.roi, map, summary, load, preview, extent }))
}

/// What a stream opens as: its values, and what decodes the rest of them.
type Opened<T> = (Arc<dyn Field<T>>, Load);

/// `None` where the stream has no coarse nodes to show.
fn staged<T: Coded>(archive: &Arc<Archive>, control: &Control) -> Result<Option<Opened<T>>> {
    let staged = match Staged::<T>::new(archive.clone(), control) {
        Ok(staged) => Arc::new(staged),
        Err(error) if error.kind == ErrorKind::InvalidArgument => return Ok(None),
        Err(error) => return Err(error),
    };
    let whole = staged.clone();
    Ok(Some((staged, Arc::new(move |control| whole.load(control)))))
}

fn bricks<T: Coded>(archive: &Arc<Archive>) -> Opened<T> {
    let bricks = Arc::new(Bricks::<T>::new(archive.clone()));
    let whole = bricks.clone();
    (bricks, Arc::new(move |control| whole.load_all(control)))
}

fn summary(header: &Header, bytes: u64) -> String {
    let p = &header.params;
    let method = match p.mode {
        Mode::Pyramid => format!("pyramid, tile {} {}", p.tile, p.coding_name()).trim_end().to_owned(),
        Mode::Hybrid => format!("hybrid L{} M{}", p.local_levels, p.global_levels),
    };
    let ratio = (header.shape.len() * header.dtype.bytes()) as f64 / bytes.max(1) as f64;
    format!("{method}, {}, ratio {ratio:.2}", shell::bytes(bytes))
}
