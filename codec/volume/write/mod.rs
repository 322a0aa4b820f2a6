//! Volumes, masks and tolerance maps written to the formats that other programs open.

mod netcdf;
mod nifti;
mod npy;
mod nrrd;
mod payload;
mod vti;

pub use payload::Payload;

use crate::stream::{PartFile, refuse_source};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A file format that volumes are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// Values alone, little-endian, C order.
    Raw,
    Npy,
    /// VTK image data, values appended raw.
    Vti,
    /// VTK rectilinear grid: as image data, with a coordinate for every node of an axis.
    Vtr,
    Nrrd,
    Nifti,
    /// NetCDF-4.
    NetCdf,
}

impl WriteFormat {
    pub const ALL: [WriteFormat; 7] =
        [Self::Raw, Self::Npy, Self::Vti, Self::Vtr, Self::Nrrd, Self::Nifti, Self::NetCdf];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw values",
            Self::Npy => "NumPy",
            Self::Vti => "VTK image data",
            Self::Vtr => "VTK rectilinear grid",
            Self::Nrrd => "NRRD",
            Self::Nifti => "NIfTI",
            Self::NetCdf => "NetCDF-4",
        }
    }
    /// Endings of file names that ask for this format, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Raw => &["raw", "bin", "dat", "f32", "f64", "d64", "u8"],
            Self::Npy => &["npy"],
            Self::Vti => &["vti"],
            Self::Vtr => &["vtr"],
            Self::Nrrd => &["nrrd"],
            Self::Nifti => &["nii"],
            Self::NetCdf => &["nc", "nc4", "cdf"],
        }
    }
    /// Whether axes that are not evenly spaced keep the coordinates of their nodes.
    pub fn keeps_coordinates(self) -> bool {
        matches!(self, Self::Vtr | Self::NetCdf)
    }
    /// The format that a file's ending asks for.
    ///
    /// # Errors
    /// An ending that no format has.
    pub fn from_path(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        Self::ALL.into_iter().find(|f| f.extensions().contains(&ending.as_str())).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|f| format!(".{}", f.extensions()[0])).collect();
            Error::invalid(format!("{}: no format to write has this ending", path.display()))
                .remedy(format!("use one of {}", known.join(", ")))
        })
    }
}

/// Writes `payload` to `path`; the file appears whole or not at all.
///
/// # Errors
/// What the format cannot hold, the file that the values come from, and what the file system refuses.
pub fn write_file(path: &Path, format: WriteFormat, payload: &Payload) -> Result<()> {
    refuse_source(path, &payload.meta.source)?;
    let mut part = PartFile::create(path)?;
    let mut sink = BufWriter::with_capacity(1 << 20, &mut *part.file());
    write_to(&mut sink, path, format, payload)?;
    sink.flush().map_err(|e| Error::io(path, &e))?;
    drop(sink);
    part.commit()
}

fn write_to(sink: &mut BufWriter<&mut File>, path: &Path, format: WriteFormat, payload: &Payload) -> Result<()> {
    let header = match format {
        WriteFormat::Raw => Vec::new(),
        WriteFormat::Npy => npy::header(payload),
        WriteFormat::Vti => vti::head(payload, false),
        WriteFormat::Vtr => vti::head(payload, true),
        WriteFormat::Nrrd => nrrd::header(payload),
        WriteFormat::Nifti => nifti::header(payload)?,
        WriteFormat::NetCdf => return netcdf::write(sink, path, payload),
    };
    sink.write_all(&header).map_err(|e| Error::io(path, &e))?;
    payload.write_values(sink, path)?;
    if matches!(format, WriteFormat::Vti | WriteFormat::Vtr) {
        sink.write_all(vti::TAIL).map_err(|e| Error::io(path, &e))?;
    }
    Ok(())
}
