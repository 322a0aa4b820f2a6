//! `blockmgard decompress`.

use super::args::DeviceArg;
use super::compress::dtype_name;
use super::parse;
use super::progress::Session;
use anyhow::Result;
use blockmgard::Error;
use blockmgard::job;
use blockmgard::stream::Archive;
use blockmgard::volume::DType;
use blockmgard::volume::write::WriteFormat;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Decompress {
    /// Stream to read
    #[arg(value_name = "X.bmg")]
    stream: PathBuf,
    /// File to write: .f32, .f64 or .raw (plain little-endian values), .npy, .vti, .nrrd, .nii, .nc
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Only this box: 10:20,0:91,5:6, one half-open interval an axis, slowest first
    #[arg(long = "box", value_name = "BOX")]
    region: Option<String>,
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
