//! Frames in memory, exact bound checks and ugly inputs for the tests of the pyramid.

use blockmgard::backend::{FrameInput, FrameParts, FrameShape, RegionSink};
use blockmgard::transform::pyramid::Real;
use blockmgard::volume::SliceField;
use blockmgard::{Control, Params, Region, Result, ToleranceMap};
use std::sync::Mutex;

/// Collects decoded boxes into the box `region`.
pub struct Collect<T> {
    region: Region,
    values: Mutex<Vec<Option<T>>>,
}

impl<T: Real> RegionSink<T> for Collect<T> {
    fn put(&self, part: &Region, values: &[T]) -> Result<()> {
        let (mut all, [_, ny, nx]) = (self.values.lock().unwrap(), self.region.shape());
        let mut values = values.iter();
        for z in part.lo[0]..part.hi[0] {
            for y in part.lo[1]..part.hi[1] {
                for x in part.lo[2]..part.hi[2] {
                    let at = ((z - self.region.lo[0]) * ny + y - self.region.lo[1]) * nx + x - self.region.lo[2];
                    assert!(all[at].is_none(), "node {z},{y},{x} delivered twice");
                    all[at] = Some(*values.next().unwrap());
                }
            }
        }
        assert!(values.next().is_none());
        Ok(())
    }
}

/// One volume with its settings.
pub struct Case<T> {
    pub n: [usize; 3],
    pub values: Vec<T>,
    pub map: ToleranceMap,
    pub params: Params,
}

impl<T: Real> Case<T> {
    pub fn max_abs(&self) -> T {
        self.values.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m })
    }
    pub fn encode(&self) -> Result<FrameParts> {
        let (field, mut parts) = (SliceField::new(&self.values, self.n), FrameParts::default());
        let input = FrameInput { field: &field, tolerance: &self.map, max_abs: self.max_abs(), params: &self.params };
        blockmgard::transform::pyramid::encode_frame(&input, &mut parts, &Control::default())?;
        Ok(parts)
    }
    pub fn decode(&self, parts: &FrameParts, region: Region) -> Result<Vec<T>> {
        let out = Collect { region, values: Mutex::new(vec![None; region.len()]) };
        let shape = self.shape();
        blockmgard::transform::pyramid::decode_frame(&shape, parts, &region, &out, &Control::default())?;
        Ok(out.values.into_inner().unwrap().into_iter().map(|v| v.expect("a node was not delivered")).collect())
    }
    pub fn shape(&self) -> FrameShape<'_> {
        let max_abs = self.max_abs().to_f64();
        FrameShape { n: self.n, tolerance: &self.map, params: &self.params, max_abs }
    }
    pub fn region(&self) -> Region {
        Region { lo: [0; 3], hi: self.n }
    }
    /// Panics on the first node whose error exceeds its tolerance in exact arithmetic.
    pub fn check(&self, decoded: &[T]) {
        for (i, (&u, &v)) in self.values.iter().zip(decoded).enumerate() {
            let at = [i / (self.n[1] * self.n[2]), i / self.n[2] % self.n[1], i % self.n[2]];
            let tau = self.map.tau_at(at);
            let within = if tau == 0.0 {
                u.to_bits64() == v.to_bits64()
            } else {
                v.is_finite() && within(u.to_f64(), v.to_f64(), tau)
            };
            assert!(within, "node {at:?}: {u} became {v}, tolerance {tau}, shape {:?}, {:?}", self.n, self.params);
        }
    }
    /// Encodes, decodes, checks the bound; returns the parts.
    pub fn round_trip(&self) -> FrameParts {
        let parts = self.encode().unwrap();
        self.check(&self.decode(&parts, self.region()).unwrap());
        parts
    }
}

/// |u - v| <= tau in exact arithmetic: the difference as an error-free pair (Knuth).
fn within(u: f64, v: f64, tau: f64) -> bool {
    if tau == f64::INFINITY {
        return true;
    }
    let s = u - v;
    if !s.is_finite() {
        return (u / 4.0 - v / 4.0).abs() < tau / 4.0;
    }
    let b = s - u;
    let rest = (u - (s - b)) - (v + b);
    let (high, low) = if s < 0.0 { (-s, -rest) } else { (s, rest) };
    high < tau || (high == tau && low <= 0.0)
}

/// Deterministic pseudo-random 64-bit numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The kinds of [`ugly`] input.
pub const KINDS: [&str; 9] = ["smooth", "zero", "constant", "noise", "bits", "huge", "denormal", "steps", "spikes"];

/// Finite values of a kind that codecs trip over.
pub fn ugly<T: Real>(kind: &str, n: [usize; 3], seed: u64) -> Vec<T> {
    let mut random = Random(seed);
    let value = |i: usize| {
        let [z, y, x] = [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]].map(|v| v as f64);
        let smooth = (z * 0.11).sin() + (y * 0.07 + 1.0).cos() * (x * 0.13).sin();
        let noise = random.unit() - 0.5;
        match kind {
            "zero" => T::ZERO,
            "constant" => T::from_f64(-3.7),
            "noise" => T::from_f64(noise),
            "bits" => loop {
                let v = T::from_bits64(random.next());
                if v.is_finite() {
                    break v;
                }
            },
            "huge" => T::from_f64(if T::BYTES == 4 { 3e38 } else { 1.7e308 } * noise * 2.0),
            "denormal" => T::from_f64(noise * if T::BYTES == 4 { 1e-40 } else { 1e-310 }),
            "steps" => T::from_f64((smooth * 2.0).floor() * 1e5),
            "spikes" => T::from_f64(if random.next().is_multiple_of(97) { noise * 1e12 } else { smooth }),
            _ => T::from_f64(smooth + 1e-4 * noise),
        }
    };
    (0..n.iter().product()).map(value).collect()
}
