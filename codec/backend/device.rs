//! Which hardware runs a job: what the user may ask for, and what is really there.

use super::{Backend, Cpu};
use crate::{Error, Result};
use std::str::FromStr;

/// The hardware that a job asks for; `Display` and `FromStr` use the spelling of `--device`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The first usable GPU, else the CPU.
    #[default]
    Auto,
    Cpu,
    /// NVIDIA GPUs; it is an error when they cannot be used.
    Cuda(Gpus),
}

/// Which of the machine's GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gpus {
    First,
    All,
    /// CUDA ordinals.
    List(Vec<usize>),
}

impl FromStr for Device {
    type Err = Error;
    /// `auto`, `cpu`, `cuda`, `cuda:all`, `cuda:0`, `cuda:0,1`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!("device {text:?} is not known"))
                .remedy("use auto, cpu, cuda, cuda:0, cuda:0,1 or cuda:all")
        };
        Ok(match text {
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "cuda" => Self::Cuda(Gpus::First),
            "cuda:all" => Self::Cuda(Gpus::All),
            _ => {
                let list = text.strip_prefix("cuda:").ok_or_else(bad)?;
                let mut ordinals = list
                    .split(',')
                    .map(str::parse)
                    .collect::<std::result::Result<Vec<usize>, _>>()
                    .map_err(|_| bad())?;
                ordinals.sort_unstable();
                ordinals.dedup();
                Self::Cuda(Gpus::List(ordinals))
            }
        })
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(Gpus::First) => f.write_str("cuda"),
            Self::Cuda(Gpus::All) => f.write_str("cuda:all"),
            Self::Cuda(Gpus::List(list)) => {
                let list: Vec<_> = list.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", list.join(","))
            }
        }
    }
}

/// A backend ready to work, and why it was picked.
pub struct Opened {
    pub backend: Box<dyn Backend>,
    /// Such as "asked for" or "no NVIDIA driver on this machine".
    pub reason: String,
}

impl Opened {
    /// One line for people: the device and why.
    pub fn describe(&self) -> String {
        format!("{} ({})", self.backend.describe(), self.reason)
    }
}

/// Opens the hardware that `device` asks for.
///
/// # Errors
/// [`crate::ErrorKind::Device`] when GPUs are asked for and cannot be used. `Auto` never fails: it falls back to the CPU.
pub fn open(device: &Device) -> Result<Opened> {
    let cpu = |reason: String| Opened { backend: Box::new(Cpu), reason };
    match device {
        Device::Cpu => Ok(cpu("asked for".into())),
        Device::Cuda(gpus) => Ok(Opened { backend: open_gpus(gpus, false)?, reason: "asked for".into() }),
        Device::Auto => Ok(match open_gpus(&Gpus::First, true) {
            Ok(backend) => Opened { backend, reason: "first usable GPU".into() },
            Err(error) => cpu(error.message),
        }),
    }
}

#[cfg(feature = "cuda")]
fn open_gpus(gpus: &Gpus, auto: bool) -> Result<Box<dyn Backend>> {
    let cuda = super::cuda::Cuda::open(gpus)?.with_cpu();
    Ok(Box::new(if auto { cuda.with_cpu_when_short() } else { cuda }))
}

#[cfg(not(feature = "cuda"))]
fn open_gpus(_gpus: &Gpus, _auto: bool) -> Result<Box<dyn Backend>> {
    Err(Error::new(crate::ErrorKind::Device, "this build has no GPU support")
        .remedy("build with the feature \"cuda\", or use --device cpu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_spelling_survives_a_round_trip_and_bad_ones_are_refused() {
        for text in ["auto", "cpu", "cuda", "cuda:all", "cuda:0", "cuda:0,3"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        assert_eq!("cuda:1,0,1".parse::<Device>().unwrap(), Device::Cuda(Gpus::List(vec![0, 1])));
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:0,,1", "cuda:-1"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    #[test]
    fn auto_always_opens_something_and_says_why() {
        let opened = open(&Device::Auto).unwrap();
        assert!(opened.describe().contains('('));
    }
}
