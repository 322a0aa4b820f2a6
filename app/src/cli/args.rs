//! Arguments that several commands take: the input and the device.

use super::parse;
use anyhow::{Context, Result};
use blockmgard::Error;
use blockmgard::backend::{Device, Gpus, Opened};
use blockmgard::volume::{self, DType, Dataset, OpenHints, StoredType, VariableInfo, Volume};
use clap::Args;
use std::path::{Path, PathBuf};

/// A volume in a file.
#[derive(Args, Clone)]
pub struct Input {
    /// Data file, with the variable after a colon where it holds several (run.nc:T)
    #[arg(value_name = "IN[:VAR]")]
    pub file: String,
    #[command(flatten)]
    pub hints: Hints,
    /// Step of a series (a variable of more than three axes), from 0
    #[arg(long, value_name = "STEP")]
    pub index: Option<usize>,
    /// Only this box of the volume: 10:20,0:91,5:6, one half-open interval an axis, slowest first
    #[arg(long = "box", value_name = "BOX")]
    pub region: Option<String>,
}

/// What a raw file cannot say itself.
#[derive(Args, Clone, Default)]
pub struct Hints {
    /// Extents of a raw file, slowest axis first (100x500x500)
    #[arg(long, value_parser = parse::dims, value_name = "NxNxN")]
    dims: Option<parse::Dims>,
    /// Extents, fastest axis first, as zfp and SZ3 take them
    #[arg(short = '1', num_args = 1, value_names = ["NX"], conflicts_with = "dims")]
    dims1: Option<Vec<usize>>,
    /// Extents, fastest axis first
    #[arg(short = '2', num_args = 2, value_names = ["NX", "NY"], conflicts_with_all = ["dims", "dims1"])]
    dims2: Option<Vec<usize>>,
    /// Extents, fastest axis first
    #[arg(short = '3', num_args = 3, value_names = ["NX", "NY", "NZ"], conflicts_with_all = ["dims", "dims1", "dims2"])]
    dims3: Option<Vec<usize>>,
    /// Values of a raw file are 32-bit floats
    #[arg(long, conflicts_with = "f64")]
    f32: bool,
    /// Values of a raw file are 64-bit floats
    #[arg(long)]
    f64: bool,
    /// Type of the values of a raw file where they are no floats: u8, i8, u16, i16, u32, i32, u64, i64
    #[arg(long = "type", value_parser = stored_type, value_name = "TYPE", conflicts_with_all = ["f32", "f64"])]
    stored: Option<StoredType>,
    /// A raw file holds big-endian values
    #[arg(long, conflicts_with = "little_endian")]
    big_endian: bool,
    /// A raw file holds little-endian values
    #[arg(long)]
    little_endian: bool,
    /// Bytes to skip at the start of a raw file
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    offset: u64,
    /// A value that means "missing", may be given several times; "none": nothing is suspected to
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = parse::missing)]
    missing: Vec<parse::Missing>,
}

fn stored_type(text: &str) -> blockmgard::Result<StoredType> {
    let bad = |()| Error::invalid(format!("type {text:?} is not known")).remedy("use f32, f64, u8, i8, u16, i16, ...");
    text.parse().map_err(bad)
}

impl Hints {
    /// Whether the user has settled what is missing.
    pub fn says_missing(&self) -> bool {
        !self.missing.is_empty()
    }
    /// What is said when a file states its extents itself, and others than the command line.
    pub fn passed_over(&self, info: &VariableInfo) -> Option<String> {
        let stated: Vec<String> = info.extents.iter().map(usize::to_string).collect();
        let is_other = self.open().dims.is_some_and(|dims| dims != info.extents);
        is_other.then(|| format!("the file states its extents, {}; those given are not used", stated.join("x")))
    }
    pub fn open(&self) -> OpenHints {
        let fastest_first = [&self.dims1, &self.dims2, &self.dims3].into_iter().find_map(|d| d.clone());
        let reversed = fastest_first.map(|d| d.into_iter().rev().collect());
        let float = if self.f64 { Some(DType::F64) } else { self.f32.then_some(DType::F32) };
        OpenHints {
            dims: self.dims.clone().map(|d| d.0).or(reversed),
            dtype: self.stored.or(float.map(StoredType::from)),
            big_endian: if self.big_endian { Some(true) } else { self.little_endian.then_some(false) },
            offset: self.offset,
            missing: self.missing.iter().filter_map(|m| m.0).collect(),
        }
    }
}

/// A file and the variable in it that was asked for.
pub struct Source {
    pub path: PathBuf,
    pub dataset: Box<dyn Dataset>,
    pub variable: Option<usize>,
}

/// Opens `IN[:VAR]`. A file whose very name holds the colon wins.
pub fn open_source(name: &str, hints: &OpenHints) -> Result<Source> {
    let (path, variable) = match name.rsplit_once(':') {
        Some((path, variable)) if !Path::new(name).exists() && Path::new(path).exists() => (path, Some(variable)),
        _ => (name, None),
    };
    if path == "-" {
        Err(Error::invalid("a volume cannot come through a pipe").remedy("write it to a file first"))?;
    }
    let dataset = volume::open(Path::new(path), hints)?;
    let names: Vec<&str> = dataset.variables().iter().map(|v| v.name.as_str()).collect();
    let variable = match variable {
        None => None,
        Some(wanted) => Some(names.iter().position(|n| *n == wanted).ok_or_else(|| {
            if let Some(stored) = dataset.unread_type(wanted) {
                return Error::invalid(format!("{path}: {wanted} holds values of a type that is not read: {stored}"))
                    .remedy("store them as 32-bit or 64-bit floats, or as integers");
            }
            Error::invalid(format!("{path} has no variable {wanted}")).remedy(format!("it has {}", names.join(", ")))
        })?),
    };
    Ok(Source { path: path.into(), dataset, variable })
}

impl Source {
    /// The variable asked for, or the only one.
    pub fn chosen(&self) -> Result<usize> {
        let variables = self.dataset.variables();
        match (self.variable, variables) {
            (Some(index), _) => Ok(index),
            (None, [_]) => Ok(0),
            (None, _) => {
                let names: Vec<&str> = variables.iter().map(|v| v.name.as_str()).collect();
                let path = self.path.display();
                Err(Error::invalid(format!("{path} holds {} variables", names.len()))
                    .remedy(format!("name one after a colon, {path}:NAME, of {}", names.join(", "))))?
            }
        }
    }
}

impl Input {
    pub fn source(&self) -> Result<Source> {
        open_source(&self.file, &self.hints.open())
    }
    /// The one volume asked for.
    pub fn volume(&self) -> Result<Volume> {
        self.volume_with(&self.hints.open())
    }
    /// As [`Input::volume`], with other hints than those of the command line.
    pub fn volume_with(&self, hints: &OpenHints) -> Result<Volume> {
        let source = open_source(&self.file, hints)?;
        let variable = source.chosen()?;
        self.step_of(&source, variable)
    }
    /// The step asked for, or the only one.
    pub fn step_of(&self, source: &Source, variable: usize) -> Result<Volume> {
        let info = &source.dataset.variables()[variable];
        if info.steps() > 1 && self.index.is_none() {
            Err(Error::invalid(format!("{} is a series of {} volumes", info.name, info.steps()))
                .remedy("pick one with --index, or compress them with --all"))?;
        }
        self.open_step(source, variable, self.index.unwrap_or(0))
    }
    /// First node per axis of the box that was asked for; empty without one.
    pub fn corner(&self) -> Vec<usize> {
        self.region.as_deref().map(parse::corner).unwrap_or_default()
    }
    /// A step of a variable, or the box of it that was asked for.
    pub fn open_step(&self, source: &Source, variable: usize, step: usize) -> Result<Volume> {
        let volume = source.dataset.open(variable, step)?;
        match &self.region {
            Some(text) => Ok(volume.cropped(&parse::region(text, &volume.shape)?)?),
            None => Ok(volume),
        }
    }
}
/// Which hardware does the work.
#[derive(Args, Clone)]
pub struct DeviceArg {
    /// auto, cpu, cuda, cuda:0, cuda:0,1 or cuda:all
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: Device,
}

impl DeviceArg {
    /// The GPUs asked for.
    pub fn gpus(&self) -> Result<Gpus> {
        match &self.device {
            Device::Auto => Ok(Gpus::First),
            Device::Cuda(gpus) => Ok(gpus.clone()),
            Device::Cpu => Err(Error::invalid("this measures a GPU").remedy("leave --device out, or use cuda:0"))?,
        }
    }
    pub fn open(&self) -> Result<Opened> {
        blockmgard::backend::open(&self.device).with_context(|| format!("device {} cannot be used", self.device))
    }
}
