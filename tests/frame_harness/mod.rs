//! Frames in memory, and an exact judge of reconstructions.

use blockmgard::backend::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use blockmgard::volume::{DType, SliceField};
use blockmgard::{Control, Element, Params, Region, Result, ToleranceMap};
use std::borrow::Cow;
use std::sync::Mutex;

/// An encoded frame.
#[derive(Clone, Debug, Default)]
pub struct Coded {
    pub coarse: Vec<u8>,
    pub chunks: Vec<Vec<u8>>,
    max_abs: f64,
}

impl Coded {
    pub fn bytes(&self) -> usize {
        self.coarse.len() + self.chunks.iter().map(Vec::len).sum::<usize>()
    }
}

impl FrameSink for Coded {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(self.coarse.is_empty() && self.chunks.is_empty());
        self.coarse = bytes.to_vec();
        Ok(())
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        self.chunks.push(bytes.to_vec());
        Ok(())
    }
}

impl FrameSource for Coded {
    fn coarse(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(&self.coarse))
    }
    fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
    fn chunk(&self, index: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(&self.chunks[index]))
    }
}

struct Target<T> {
    n: [usize; 3],
    values: Mutex<Vec<T>>,
}

impl<T: Element> RegionSink<T> for Target<T> {
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        let [nz, ny, nx] = region.shape();
        assert_eq!(values.len(), nz * ny * nx);
        let mut all = self.values.lock().unwrap();
        for (row, part) in values.chunks_exact(nx).enumerate() {
            let (z, y) = (region.lo[0] + row / ny, region.lo[1] + row % ny);
            all[(z * self.n[1] + y) * self.n[2] + region.lo[2]..][..nx].copy_from_slice(part);
        }
        Ok(())
    }
}

pub fn max_abs<T: Element>(u: &[T]) -> T {
    u.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m })
}

pub fn try_encode<T: Element>(u: &[T], n: [usize; 3], map: &ToleranceMap, params: &Params) -> Result<Coded> {
    let max = max_abs(u);
    let mut sink = Coded { max_abs: max.to_f64(), ..Coded::default() };
    let control = Control::default();
    match T::DTYPE {
        DType::F32 => {
            let field = SliceField::<f32>::new(bytemuck::cast_slice(u), n);
            let max_abs = max.to_f64() as f32;
            Cpu.encode_f32(&FrameInput { field: &field, tolerance: map, max_abs, params }, &mut sink, &control)?;
        }
        DType::F64 => {
            let field = SliceField::<f64>::new(bytemuck::cast_slice(u), n);
            let max_abs = max.to_f64();
            Cpu.encode_f64(&FrameInput { field: &field, tolerance: map, max_abs, params }, &mut sink, &control)?;
        }
    }
    Ok(sink)
}

pub fn encode<T: Element>(u: &[T], n: [usize; 3], map: &ToleranceMap, params: &Params) -> Coded {
    try_encode(u, n, map, params).unwrap()
}

/// Decodes the box `lo..hi`; values outside are NaN.
pub fn decode<T: Element>(
    coded: &Coded,
    n: [usize; 3],
    map: &ToleranceMap,
    params: &Params,
    [lo, hi]: [[usize; 3]; 2],
) -> Result<Vec<T>> {
    let frame = FrameShape { n, tolerance: map, params, max_abs: coded.max_abs };
    let (region, control) = (Region { lo, hi }, Control::default());
    let count = n.iter().product();
    match T::DTYPE {
        DType::F32 => {
            let target = Target { n, values: Mutex::new(vec![f32::NAN; count]) };
            Cpu.decode_f32(&frame, coded, &region, &target, &control)?;
            Ok(bytemuck::cast_slice(&target.values.into_inner().unwrap()).to_vec())
        }
        DType::F64 => {
            let target = Target { n, values: Mutex::new(vec![f64::NAN; count]) };
            Cpu.decode_f64(&frame, coded, &region, &target, &control)?;
            Ok(bytemuck::cast_slice(&target.values.into_inner().unwrap()).to_vec())
        }
    }
}

/// Whether |u - v| <= tau in exact arithmetic; bit for bit when tau is 0.
pub fn within<T: Element>(u: T, v: T, tau: f64) -> bool {
    if tau == 0.0 {
        return u.to_bits64() == v.to_bits64();
    }
    // The difference as an unevaluated sum of two f64 (Knuth's two-sum), scaled so that nothing overflows.
    let (a, b, tau) = (u.to_f64() / 4.0, v.to_f64() / 4.0, tau / 4.0);
    let s = a - b;
    let bb = s - a;
    let low = (a - (s - bb)) - (b + bb);
    let (high, low) = if s < 0.0 { (-s, -low) } else { (s, low) };
    v.is_finite() && (high < tau || (high == tau && low <= 0.0))
}

/// Encodes, decodes, and judges every value and the size.
pub fn round_trip<T: Element>(u: &[T], n: [usize; 3], map: &ToleranceMap, params: &Params) -> Coded {
    let coded = encode(u, n, map, params);
    let v = decode::<T>(&coded, n, map, params, [[0; 3], n]).unwrap();
    for (i, (&a, &b)) in u.iter().zip(&v).enumerate() {
        let at = [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]];
        let tau = map.tau_at(at);
        assert!(within(a, b, tau), "{a:?} -> {b:?} at {at:?} of {n:?}, tau {tau:e}, {params:?}");
    }
    let plain = u.len() * T::BYTES;
    assert!(coded.bytes() <= plain + plain / 100 + 2048, "{} bytes for {plain} of {n:?}, {params:?}", coded.bytes());
    coded
}
