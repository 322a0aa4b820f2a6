//! `blockmgard decompress`.

use super::args::DeviceArg;
use super::compress::dtype_name;
use super::parse;
use super::progress::Session;
use anyhow::Result;
use blockmgard::Error;
use blockmgard::job;
use blockmgard::stream::{Archive, refuse_source};
use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::volume::{DType, Metadata};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Decompress {
    /// Stream to read
    #[arg(value_parser = parse::stream, value_name = "X.bmg")]
    stream: PathBuf,
    /// File to write: .f32, .f64 or .raw (plain little-endian values), .npy, .vti, .vtr, .nrrd, .nii, .nc
    #[arg(short, long, value_parser = parse::output, value_name = "OUT")]
    output: PathBuf,
    /// Only this box: 10:20,0:91,5:6, one half-open interval an axis, slowest first
    #[arg(long = "box", value_name = "BOX")]
    region: Option<String>,
    /// Only a coarse look, of at most this many values where the stream has one so small, read from a small part of it (pyramid)
    #[arg(long, value_name = "VALUES", num_args = 0..=1, default_missing_value = "1000000", conflicts_with = "region")]
    preview: Option<usize>,
    /// Memory to keep within (1GiB)
    #[arg(long, value_parser = parse::bytes, value_name = "SIZE")]
    memory: Option<u64>,
    #[command(flatten)]
    device: DeviceArg,
}

impl Decompress {
    pub fn run(&self, session: &Session) -> Result<()> {
        let archive = Archive::open(&self.stream)?;
        let shape = archive.header().shape;
        let format = format_of(&self.output, archive.header().dtype)?;
        refuse_source(&self.output, &self.stream.display().to_string())?;
        if let Some(max_values) = self.preview {
            return self.coarse(&archive, format, max_values, session);
        }
        tell_uneven(&archive.provenance()?.volume, format, session);
        let region = self.region.as_ref().map_or(Ok(shape.region()), |text| parse::region(text, &shape))?;
        let opened = self.device.open()?;
        let report = session.watch("decompress", |control| {
            job::decompress(&archive, &region, &*opened.backend, (&self.output, format), self.memory, control)
        })?;
        let extents = &region.shape()[3 - usize::from(shape.rank)..];
        let dtype = dtype_name(archive.header().dtype);
        let value = json!({ "output": self.output, "shape": extents, "dtype": dtype, "report": report });
        let words: Vec<String> = extents.iter().map(usize::to_string).collect();
        let text = format!(
            "{}: {} {dtype}, {} bytes, {:.2} s, {:.3} GB/s end to end, {:.3} GB/s in the codec ({})",
            self.output.display(),
            words.join("x"),
            report.original_bytes,
            report.seconds,
            report.gbps,
            report.kernel_gbps,
            opened.describe()
        );
        session.print(&value, &text)
    }
    fn coarse(&self, archive: &Archive, format: WriteFormat, max_values: usize, session: &Session) -> Result<()> {
        let coarse = session.watch("preview", |control| job::preview(archive, max_values, control))?;
        let shape = coarse.volume.shape;
        if shape.len() > max_values {
            session.note(&format!("note: the smallest preview of this stream has {} values", shape.len()));
        }
        tell_uneven(&coarse.volume.meta, format, session);
        write_file(&self.output, format, &Payload::volume(&coarse.volume))?;
        let coordinates = &coarse.coordinates[3 - usize::from(shape.rank)..];
        let value = json!({ "output": self.output, "shape": shape.extents(), "coordinates": coordinates });
        let text = format!("{}: {shape} of {} nodes", self.output.display(), archive.header().shape);
        session.print(&value, &text)
    }
}

/// Says which axes the format cannot place, and which formats can.
fn tell_uneven(meta: &Metadata, format: WriteFormat, session: &Session) {
    let name = |axis: usize| meta.axes.get(axis).cloned().unwrap_or_else(|| format!("axis {axis}"));
    let uneven = meta.coordinates.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty());
    let names: Vec<String> = uneven.map(|(axis, _)| name(axis)).collect();
    let bare = matches!(format, WriteFormat::Raw | WriteFormat::Npy);
    if !names.is_empty() && !bare && !format.keeps_coordinates() {
        let (axes, format) = (names.join(", "), format.name());
        session.note(&format!("note: {axes} not evenly spaced: {format} counts the nodes, .nc and .vtr keep them"));
    }
}

/// The format that a file's ending asks for; raw endings must name the type the stream holds.
fn format_of(path: &Path, dtype: DType) -> Result<WriteFormat> {
    let format = WriteFormat::from_path(path)?;
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let name = dtype_name(dtype);
    if matches!(ending.as_str(), "f32" | "f64" | "d64" | "u8") && ending.replace('d', "f") != name {
        let error = Error::invalid(format!("{} asks for another type than the stream's {name}", path.display()));
        Err(error.remedy(format!("name it .{name} or .npy")))?;
    }
    Ok(format)
}
