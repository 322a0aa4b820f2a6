//! Times of the GPU backend: device-resident and host to host, and kernel by kernel.

mod mappings;
mod resident;

use super::metrics::Figures;
use super::{Cuda, Kept};
use crate::backend::{Backend, FrameInput, FrameParts, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::job::MemorySink;
use crate::volume::{DType, SliceField};
use crate::{Control, Error, Params, Region, Result, ToleranceMap};
pub use mappings::{MappingTime, mappings_f32, mappings_f64};
use rayon::prelude::*;
use resident::time_resident;
use serde::Serialize;
use std::time::Instant;

/// What one frame costs on one GPU. GB/s are 1e9 bytes of original data a second.
#[derive(Clone, Debug, Serialize)]
pub struct GpuReport {
    /// Name of the device.
    pub device: String,
    pub shape: [usize; 3],
    pub dtype: DType,
    pub params: Params,
    /// Original bytes by encoded bytes (coarse part and chunks).
    pub ratio: f64,
    /// Largest |u - v| / tau over blocks with a finite tolerance above 0, of the values that came back to the host.
    pub max_error_of_tau: f64,
    /// The comparison of the values that stayed on the device, made there.
    pub figures: Figures,
    pub runs: Runs,
    pub max_abs: GpuTime,
    /// The comparison on the device.
    pub compare: GpuTime,
    /// Values on the device to bytes on the device, corner arrays and index included; max|u| is known.
    pub compress: GpuTime,
    pub decompress: GpuTime,
    /// The same, with all kernels of one of them queued as a recorded graph; absent where the driver cannot record it.
    pub graph_compress: Option<GpuTime>,
    pub graph_decompress: Option<GpuTime>,
    /// From memory of the host to memory of the host.
    pub host_compress: GpuTime,
    pub host_decompress: GpuTime,
    /// Kernels of one compression and of one decompression, each run once, summed by name.
    pub compress_kernels: Vec<(String, GpuTime)>,
    pub decompress_kernels: Vec<(String, GpuTime)>,
}

/// Repetitions after the warm-up; every time is their median.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Runs {
    /// Between device memory and device memory.
    pub resident: usize,
    /// Between memory of the host and memory of the host.
    pub host: usize,
}

/// A time and what it means for the frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GpuTime {
    pub ms: f64,
    pub gb_per_s: f64,
}

impl GpuTime {
    fn new(ms: f64, bytes: usize) -> Self {
        Self { ms, gb_per_s: bytes as f64 / (ms * 1e6) }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times one frame of `n` finite values, C order, on the first device of `cuda`.
///
/// # Errors
/// Those of the backend; [`crate::ErrorKind::Device`] for what has no kernels.
pub fn bench_f32(
    cuda: &Cuda,
    values: &[f32],
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    runs: Runs,
) -> Result<GpuReport> {
    bench(cuda, values, n, map, params, runs)
}

/// As [`bench_f32`].
pub fn bench_f64(
    cuda: &Cuda,
    values: &[f64],
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    runs: Runs,
) -> Result<GpuReport> {
    bench(cuda, values, n, map, params, runs)
}

fn bench<T: Kept>(
    cuda: &Cuda,
    values: &[T],
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    runs: Runs,
) -> Result<GpuReport>
where
    Cuda: Typed<T>,
{
    if runs.resident == 0 || runs.host == 0 || values.len() != n.iter().product::<usize>() {
        return Err(Error::invalid("the GPU bench runs at least once, on a whole frame"));
    }
    let (gpu, bytes) = (&cuda.gpus[0], size_of_val(values));
    let max_abs = cuda.max_abs(values)?;
    let field = SliceField::new(values, n);
    let input = FrameInput { field: &field, tolerance: map, max_abs, params };
    let control = Control::default();

    let mut encoded = FrameParts::default();
    let host_compress = repeat(runs.host, || {
        encoded = FrameParts::default();
        let start = Instant::now();
        cuda.encode(&input, &mut encoded, &control)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    })?;
    let frame = FrameShape { n, tolerance: map, params, max_abs: max_abs.to_f64() };
    let mut decoded = vec![T::ZERO; values.len()];
    let whole = Region { lo: [0; 3], hi: n };
    let host_decompress = repeat(runs.host, || {
        let sink = MemorySink::new(whole, &mut decoded);
        let start = Instant::now();
        cuda.decode(&frame, &encoded, &whole, &sink, &control)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        sink.finish().map(|()| ms)
    })?;

    let resident = time_resident(cuda, &input, runs.resident)?;

    let size = encoded.coarse.len() + encoded.chunks.iter().map(Vec::len).sum::<usize>();
    let time = |ms| GpuTime::new(ms, bytes);
    let named =
        |kernels: Vec<(&str, f64)>| kernels.into_iter().map(|(name, ms)| (name.to_string(), time(ms))).collect();
    Ok(GpuReport {
        device: gpu.name.clone(),
        shape: n,
        dtype: T::DTYPE,
        params: params.clone(),
        ratio: bytes as f64 / size as f64,
        max_error_of_tau: max_error(values, &decoded, n, map),
        figures: resident.figures,
        runs,
        max_abs: time(resident.max_abs),
        compare: time(resident.compare),
        compress: time(resident.compress),
        decompress: time(resident.decompress),
        graph_compress: resident.by_graph.map(|[ms, _]| time(ms)),
        graph_decompress: resident.by_graph.map(|[_, ms]| time(ms)),
        host_compress: time(host_compress),
        host_decompress: time(host_decompress),
        compress_kernels: named(resident.compress_kernels),
        decompress_kernels: named(resident.decompress_kernels),
    })
}

/// The median of `repeats` times after a warm-up.
fn repeat(repeats: usize, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
    once()?;
    Ok(median((0..repeats).map(|_| once()).collect::<Result<_>>()?))
}

/// The backend's methods by element type.
trait Typed<T: Kept> {
    fn encode(&self, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()>;
    fn decode(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<T>,
        control: &Control,
    ) -> Result<()>;
}
macro_rules! typed {
    ($t:ty, $encode:ident, $decode:ident) => {
        impl Typed<$t> for Cuda {
            fn encode(&self, input: &FrameInput<$t>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
                self.$encode(input, sink, control)
            }
            fn decode(
                &self,
                frame: &FrameShape,
                source: &dyn FrameSource,
                region: &Region,
                out: &dyn RegionSink<$t>,
                control: &Control,
            ) -> Result<()> {
                self.$decode(frame, source, region, out, control)
            }
        }
    };
}
typed!(f32, encode_f32, decode_f32);
typed!(f64, encode_f64, decode_f64);

fn max_error<T: Kept>(values: &[T], decoded: &[T], n: [usize; 3], map: &ToleranceMap) -> f64 {
    let plane = n[1] * n[2];
    let of_plane = |z: usize| {
        let mut worst = 0f64;
        for i in 0..plane {
            let tau = map.tau_at([z, i / n[2], i % n[2]]);
            if tau > 0.0 && tau.is_finite() {
                let (u, v) = (values[z * plane + i].to_f64(), decoded[z * plane + i].to_f64());
                worst = worst.max((u - v).abs() / tau);
            }
        }
        worst
    };
    (0..n[0]).into_par_iter().map(of_plane).reduce(|| 0.0, f64::max)
}
