//! Which hardware runs a job: what the user may ask for.

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
}
