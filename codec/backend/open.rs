//! Opens the hardware that was asked for, or that is there.

use super::{Backend, Cpu, Device, Gpus};
#[cfg(not(feature = "cuda"))]
use crate::Error;
use crate::Result;

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
    fn auto_always_opens_something_and_says_why() {
        let opened = open(&Device::Auto).unwrap();
        assert!(opened.describe().contains('('));
    }
}
