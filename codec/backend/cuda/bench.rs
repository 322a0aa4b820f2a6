//! Times of the GPU backend: device-resident and host to host, and kernel by kernel.

use super::gpu::Gpu;
use super::hybrid::Hybrid;
use super::pyramid::Pyramid;
use super::{Cuda, Kept};
use crate::backend::{Backend, FrameInput, FrameParts, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::transform::hybrid::frame::Frame;
use crate::volume::{DType, SliceField};
use crate::{Control, Error, Mode, Params, Region, Result, ToleranceMap};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Mutex;
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
    /// Largest |u - v| / tau over blocks with a finite tolerance above 0, in exact arithmetic.
    pub max_error_of_tau: f64,
    /// Repetitions after one warm-up; every time is their median.
    pub repeats: usize,
    pub max_abs: GpuTime,
    /// Values on the device to bytes on the device, corner arrays and index included; max|u| is known.
    pub compress: GpuTime,
    pub decompress: GpuTime,
    /// From memory of the host to memory of the host.
    pub host_compress: GpuTime,
    pub host_decompress: GpuTime,
    /// Kernels of one compression and one decompression, summed by name.
    pub kernels: Vec<(String, GpuTime)>,
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

/// Work before the first measurement.
const WARM_UP_S: f64 = 0.5;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Receives the whole frame, whose extents are `n`.
struct Whole<T> {
    values: Mutex<Vec<T>>,
    n: [usize; 3],
}

impl<T: Kept> RegionSink<T> for Whole<T> {
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        let start = (region.lo[0] * self.n[1] + region.lo[1]) * self.n[2] + region.lo[2];
        let mut all = self.values.lock().unwrap_or_else(|e| e.into_inner());
        all[start..start + values.len()].copy_from_slice(values);
        Ok(())
    }
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
    repeats: usize,
) -> Result<GpuReport> {
    bench(cuda, values, n, map, params, repeats)
}

/// As [`bench_f32`].
pub fn bench_f64(
    cuda: &Cuda,
    values: &[f64],
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    repeats: usize,
) -> Result<GpuReport> {
    bench(cuda, values, n, map, params, repeats)
}

fn bench<T: Kept>(
    cuda: &Cuda,
    values: &[T],
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    repeats: usize,
) -> Result<GpuReport>
where
    Cuda: Typed<T>,
{
    if repeats == 0 || values.len() != n.iter().product::<usize>() {
        return Err(Error::invalid("the GPU bench runs at least once, on a whole frame"));
    }
    let (gpu, bytes) = (&cuda.gpus[0], size_of_val(values));
    let max_abs = cuda.max_abs(values)?;
    let field = SliceField::new(values, n);
    let input = FrameInput { field: &field, tolerance: map, max_abs, params };
    let control = Control::default();

    let mut encoded = FrameParts::default();
    let host_compress = repeat(repeats, || {
        encoded = FrameParts::default();
        let start = Instant::now();
        cuda.encode(&input, &mut encoded, &control)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    })?;
    let frame = FrameShape { n, tolerance: map, params, max_abs: max_abs.to_f64() };
    let mut decoded = vec![T::ZERO; values.len()];
    let host_decompress = repeat(repeats, || {
        let whole = Whole { values: Mutex::new(std::mem::take(&mut decoded)), n };
        let start = Instant::now();
        cuda.decode(&frame, &encoded, &Region { lo: [0; 3], hi: n }, &whole, &control)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        decoded = whole.values.into_inner().unwrap_or_else(|e| e.into_inner());
        Ok(ms)
    })?;

    let resident = time_resident(cuda, &input, repeats)?;

    let size = encoded.coarse.len() + encoded.chunks.iter().map(Vec::len).sum::<usize>();
    let time = |ms| GpuTime::new(ms, bytes);
    Ok(GpuReport {
        device: gpu.name.clone(),
        shape: n,
        dtype: T::DTYPE,
        params: params.clone(),
        ratio: bytes as f64 / size as f64,
        max_error_of_tau: max_error(values, &decoded, n, map),
        repeats,
        max_abs: time(resident.max_abs),
        compress: time(resident.compress),
        decompress: time(resident.decompress),
        host_compress: time(host_compress),
        host_decompress: time(host_decompress),
        kernels: resident.kernels.into_iter().map(|(name, ms)| (name.to_string(), time(ms))).collect(),
    })
}

/// Milliseconds on the device.
struct Resident {
    max_abs: f64,
    compress: f64,
    decompress: f64,
    kernels: Vec<(&'static str, f64)>,
}

/// Times one frame between device memory and device memory.
fn time_resident<T: Kept>(cuda: &Cuda, input: &FrameInput<T>, repeats: usize) -> Result<Resident> {
    let (gpu, n, params) = (&cuda.gpus[0], input.field.extents(), input.params);
    let mut session = cuda.session.lock().unwrap_or_else(|e| e.into_inner());
    match params.mode {
        Mode::Pyramid => {
            let pyramid = session.pyramid::<T>(gpu, n, params.tile)?;
            pyramid.begin(gpu, input.field)?;
            let encode = |p: &mut Pyramid<T>| p.encode(gpu, input.tolerance, input.max_abs, params.points);
            time_steps(gpu, pyramid, repeats, |p| p.max_abs(gpu).map(drop), encode, |p| p.decode_resident(gpu))
        }
        Mode::Hybrid => {
            let hybrid = session.hybrid::<T>(gpu, n, params)?;
            hybrid.begin(gpu, input.field)?;
            let frame = Frame::new(n, input.tolerance, input.max_abs.to_f64(), params, None);
            let encode = |h: &mut Hybrid<T>| h.encode(gpu, &frame, input.tolerance);
            time_steps(gpu, hybrid, repeats, |h| h.max_abs(gpu).map(drop), encode, |h| h.decode_resident(gpu))
        }
    }
}

/// Medians of the steps of a mode, whose values are on the device.
fn time_steps<S>(
    gpu: &Gpu,
    state: &mut S,
    repeats: usize,
    max_abs: impl Fn(&mut S) -> Result<()>,
    encode: impl Fn(&mut S) -> Result<()>,
    decode: impl Fn(&mut S) -> Result<()>,
) -> Result<Resident> {
    // The clocks rise under load only.
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < WARM_UP_S {
        encode(state)?;
        decode(state)?;
        gpu.finish()?;
    }
    let (reduce, compress, decompress) = (
        repeat(repeats, || gpu.time(|| max_abs(state)))?,
        repeat(repeats, || gpu.time(|| encode(state)))?,
        repeat(repeats, || gpu.time(|| decode(state)))?,
    );
    let mut kernels = gpu.profile(|| encode(state))?;
    kernels.extend(gpu.profile(|| decode(state))?);
    Ok(Resident { max_abs: reduce, compress, decompress, kernels })
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
