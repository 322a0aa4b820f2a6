//! Times of one local level of the hybrid mode in several mappings.

use super::super::hybrid::{Mapping, PlainDetails};
use super::super::{Cuda, Kept, locked};
use super::{GpuTime, Runs, repeat};
use crate::transform::hybrid::frame::Frame;
use crate::volume::SliceField;
use crate::{Error, Mode, Params, Result, ToleranceMap};
use serde::Serialize;

/// What one way to decompose and quantize, and to dequantize and recompose, one local level takes.
#[derive(Clone, Debug, Serialize)]
pub struct MappingTime {
    pub name: &'static str,
    pub decompose: GpuTime,
    pub recompose: GpuTime,
}

const NAMES: [(Mapping, &str); 3] = [
    (Mapping::Plain, "512 threads a block, quantized by another kernel"),
    (Mapping::PlainFused, "512 threads a block, fused"),
    (Mapping::Own, "own kernels, fused, every value checked"),
];

/// Times the finest local level of a frame of three axes, device-resident. All mappings are checked to give the same.
///
/// # Errors
/// Those of the device; a frame without a local level of three axes.
pub fn mappings_f32(
    cuda: &Cuda,
    values: &[f32],
    n: [usize; 3],
    map: &ToleranceMap,
    runs: Runs,
) -> Result<Vec<MappingTime>> {
    mappings(cuda, values, n, map, runs)
}

/// As [`mappings_f32`].
pub fn mappings_f64(
    cuda: &Cuda,
    values: &[f64],
    n: [usize; 3],
    map: &ToleranceMap,
    runs: Runs,
) -> Result<Vec<MappingTime>> {
    mappings(cuda, values, n, map, runs)
}

fn mappings<T: Kept>(
    cuda: &Cuda,
    values: &[T],
    n: [usize; 3],
    map: &ToleranceMap,
    runs: Runs,
) -> Result<Vec<MappingTime>> {
    let (gpu, bytes) = (&cuda.gpus[0], size_of_val(values));
    let max_abs = cuda.max_abs(values)?.to_f64();
    let params = Params { mode: Mode::Hybrid, local_levels: 1, global_levels: 0, ..Params::default() };
    let mut session = locked(&cuda.sessions[0]);
    let hybrid = session.hybrid::<T>(gpu, n, &params)?;
    if !hybrid.has_mappings() {
        return Err(Error::invalid("only a frame of three axes has a local level to compare"));
    }
    hybrid.begin(gpu, &SliceField::new(values, n))?;
    hybrid.send_tolerances(gpu, &Frame::new(n, map, max_abs, &params, None), map)?;
    let mut details = PlainDetails::default();
    hybrid.prepare_mappings(gpu, &mut details)?;
    hybrid.check_mappings(gpu, &details)?;
    let mut times = Vec::new();
    for (mapping, name) in NAMES {
        let decompose = repeat(runs.resident, || gpu.time(|| hybrid.decompose_by(gpu, mapping, &details)))?;
        let recompose = repeat(runs.resident, || gpu.time(|| hybrid.recompose_by(gpu, mapping, &details)))?;
        let time = |ms| GpuTime::new(ms, bytes);
        times.push(MappingTime { name, decompose: time(decompose), recompose: time(recompose) });
    }
    Ok(times)
}
