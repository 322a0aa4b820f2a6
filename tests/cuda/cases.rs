//! Frames of many shapes, types, parameters and tolerance maps, all from a seed.

use crate::memory::Values;
use blockmgard::backend::{Backend, Cpu, Cuda, FrameInput, FrameParts, FrameShape};
use blockmgard::params::Points;
use blockmgard::volume::SliceField;
use blockmgard::{
    Basis, Budget, Coder, Control, Element, Entropy, ErrorKind, Mode, Order, Params, Region, Tier, ToleranceMap,
};

/// A small generator, the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub struct Case {
    seed: u64,
    n: [usize; 3],
    double: bool,
    params: Params,
    map: ToleranceMap,
    values: Vec<f64>,
    region: Region,
}

impl Case {
    pub fn random(seed: u64) -> Self {
        let mut r = Random(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let n = match r.below(8) {
            0 => [1, 1, 1 + r.below(70_000)],
            1 => [1, 1 + r.below(150), 1 + r.below(300)],
            2 => [1 + r.below(4), 1 + r.below(4), 1 + r.below(4)],
            3 => [64, 64, 64 + r.below(16)],
            _ => [1 + r.below(70), 1 + r.below(70), 1 + r.below(70)],
        };
        Self::of(r, seed, n)
    }
    /// A case of several layers of chunks.
    pub fn layered(seed: u64) -> Self {
        let mut r = Random(seed.wrapping_mul(0x9876_5432_1fed_cba9));
        let n = match r.below(4) {
            0 => [1, 520 + r.below(800), 1 + r.below(300)],
            _ => [65 + r.below(200), 1 + r.below(70), 1 + r.below(40)],
        };
        Self::of(r, seed, n)
    }
    /// A case of the planes coder.
    pub fn planes(seed: u64) -> Self {
        let mut r = Random(seed.wrapping_mul(0x1357_9bdf_2468_ace1));
        let n = match r.below(6) {
            // frames that are their own last array, and frames that the kernels leave to the CPU
            0 => [1 + r.below(3), 1 + r.below(3), 1 + r.below(3)],
            1 => [64, 64, 64 + 8 * r.below(9)],
            2 => [8 * (1 + r.below(9)), 8 * (1 + r.below(9)), 8 * (1 + r.below(17))],
            _ => [2 + r.below(80), 2 + r.below(80), 2 + r.below(140)],
        };
        Self::of(r, seed, n).in_planes()
    }
    pub fn in_planes(self) -> Self {
        Self { params: Params { points: self.params.points, ..Params::fast() }, ..self }
    }
    /// A case of the groups coder.
    pub fn groups(seed: u64) -> Self {
        let mut r = Random(seed.wrapping_mul(0x2468_ace1_3579_bdf1));
        let n = match r.below(6) {
            // frames that are their own last array
            0 => [2; 3],
            1 => [64, 64 + 8 * r.below(3), 64],
            2 => [16 * (1 + r.below(5)), 16 * (1 + r.below(5)), 16 * (1 + r.below(5))],
            3 => [2 + r.below(8), 2 + r.below(40), 2 + r.below(200)],
            _ => [2 + r.below(70), 2 + r.below(70), 2 + r.below(70)],
        };
        Self::of(r, seed, n).in_groups()
    }
    pub fn in_groups(self) -> Self {
        Self { params: Params { coder: Coder::Groups, ..self.params }, ..self }
    }
    /// Many whole tiles of the groups coder in axis order; `side`: of the frame.
    pub fn whole(seed: u64, side: usize, tile: u8, points: Points, double: bool) -> Self {
        let mut case = Self::of(Random(seed), seed, [side; 3]).in_groups();
        case.params = Params { tile, points, order: Order::Axis, ..case.params };
        case.values = values(&mut Random(seed), case.n, 1e-3, 6);
        case.map = ToleranceMap::uniform(&blockmgard::Shape::new(&case.n).unwrap(), 1e-3).unwrap();
        case.double = double;
        case
    }
    fn of(mut r: Random, seed: u64, n: [usize; 3]) -> Self {
        let params = Params {
            tile: [8, 16, 32][r.below(3)],
            points: [Points::Two, Points::Four, Points::Six, Points::Auto][r.below(4)],
            ..Params::default()
        };
        let noise = [0.0, 1e-6, 1e-3, 0.3][r.below(4)];
        let special = r.below(6);
        let values = values(&mut r, n, noise, special);
        let map = map(&mut r, n);
        let order = if r.below(2) == 0 { Order::Parity } else { Order::Axis };
        let params = Params { order, ..params };
        let lo: [usize; 3] = std::array::from_fn(|a| r.below(n[a]));
        let hi = std::array::from_fn(|a| lo[a] + 1 + r.below(n[a] - lo[a]));
        Self { seed, n, double: r.below(2) == 1, params, map, values, region: Region { lo, hi } }
    }
    /// A case of the hybrid mode.
    pub fn hybrid(seed: u64) -> Self {
        Self::random(seed).in_hybrid_mode()
    }
    /// One whose two finest levels are taken by one kernel.
    pub fn two_levels(seed: u64) -> Self {
        let mut r = Random(seed.wrapping_mul(0x3141_5926_5358_9793));
        let n = [16 * (1 + r.below(6)), 16 * (1 + r.below(6)), 32 * (1 + r.below(4))];
        let mut case = Self::of(r, seed, n).in_hybrid_mode();
        let global_levels = case.params.global_levels.max(2);
        case.params = Params { local_levels: 1, global_levels, basis: Basis::Hierarchical, ..case.params };
        if seed.is_multiple_of(2) {
            // so near to the rounding of the values that some nodes are missed
            case.double = false;
            case.map = ToleranceMap::uniform(&blockmgard::Shape::new(&n).unwrap(), 3e-6).unwrap();
        }
        case
    }
    pub fn in_hybrid_mode(self) -> Self {
        let mut case = self;
        let mut r = Random(!case.seed);
        case.params = Params {
            mode: Mode::Hybrid,
            local_levels: [1, 1, 2, 3, 0][r.below(5)],
            global_levels: r.below(4) as u8,
            basis: [Basis::Hierarchical, Basis::Hierarchical, Basis::Projection][r.below(3)],
            budget: [Budget::Coefficients, Budget::Uniform][r.below(2)],
            entropy: [Entropy::Huffman, Entropy::Class][r.below(2)],
            ..Params::default()
        };
        case
    }
    /// Whether the kernels take the case to its end: no lossless tier, no values far beyond the tolerance.
    pub fn has_kernels(&self) -> bool {
        let largest = self.values.iter().fold(0f64, |m, v| m.max(v.abs()));
        self.map.tiers.iter().all(|t| t.tau > largest * 1e-6)
    }
    fn name(&self) -> String {
        let tiers: Vec<_> = self.map.tiers.iter().map(|t| t.tau).collect();
        let Self { seed, n, double, params, region, .. } = self;
        format!("seed {seed}: {n:?} f64 {double} {params:?} tiers {tiers:?} box {region:?}")
    }
}

/// Waves with noise; some frames are constant, tiny, huge, or have exact zeros.
fn values(r: &mut Random, n: [usize; 3], noise: f64, special: usize) -> Vec<f64> {
    let k: [f64; 3] = std::array::from_fn(|_| 0.02 + 0.3 * r.unit());
    let scale = match special {
        0 => 1e-30,
        1 => 1e37,
        _ => 1.0,
    };
    let mut values = Vec::with_capacity(n.iter().product());
    for z in 0..n[0] {
        for y in 0..n[1] {
            for x in 0..n[2] {
                let wave = (k[0] * z as f64).sin() + (k[1] * y as f64 + k[2] * x as f64).cos();
                let v = (wave + noise * (r.unit() - 0.5)) * scale;
                values.push(match special {
                    2 if v < 0.5 => 0.0,
                    3 => 0.25,
                    4 if r.below(50) == 0 => -v * 1e4,
                    _ => v,
                });
            }
        }
    }
    values
}

fn map(r: &mut Random, n: [usize; 3]) -> ToleranceMap {
    let blocks = n.map(|n| n.div_ceil(8));
    let count = 1 + r.below(2) * r.below(4);
    let tau = |r: &mut Random| match r.below(8) {
        0 => 0.0,
        1 => f64::INFINITY,
        2 => 1e-8,
        _ => 10f64.powf(-1.0 - 5.0 * r.unit()),
    };
    let tiers: Vec<Tier> = (0..count).map(|i| Tier { name: format!("t{i}"), tau: tau(r) }).collect();
    let tier_of_block = (0..blocks.iter().product()).map(|_| r.below(count) as u8).collect();
    ToleranceMap { blocks, tiers, tier_of_block }
}

/// The two element types through the same code.
trait Typed: Element {
    fn encode(backend: &dyn Backend, input: &FrameInput<Self>) -> FrameParts;
    fn decode(
        backend: &dyn Backend,
        frame: &FrameShape,
        parts: &FrameParts,
        region: &Region,
    ) -> Result<Vec<u64>, String>;
}
macro_rules! typed {
    ($t:ty, $encode:ident, $decode:ident) => {
        impl Typed for $t {
            fn encode(backend: &dyn Backend, input: &FrameInput<Self>) -> FrameParts {
                let mut parts = FrameParts::default();
                backend.$encode(input, &mut parts, &Control::default()).unwrap();
                parts
            }
            fn decode(
                backend: &dyn Backend,
                frame: &FrameShape,
                parts: &FrameParts,
                region: &Region,
            ) -> Result<Vec<u64>, String> {
                let values = Values::<$t>::new(*region);
                let result = backend.$decode(frame, parts, region, &values, &Control::default());
                result.map(|()| values.bits()).map_err(|e| e.message)
            }
        }
    };
}
typed!(f32, encode_f32, decode_f32);
typed!(f64, encode_f64, decode_f64);

/// Whether the device takes the case; if not, its error names the memory that it lacks.
pub fn fits(cuda: &Cuda, case: &Case) -> bool {
    let values: Vec<f64> = case.values.clone();
    let field = SliceField::new(&values, case.n);
    let max_abs = values.iter().fold(0f64, |m, v| m.max(v.abs()));
    let input = FrameInput { field: &field, tolerance: &case.map, max_abs, params: &case.params };
    match cuda.encode_f64(&input, &mut FrameParts::default(), &Control::default()) {
        Ok(()) => true,
        Err(error) => {
            assert!(error.kind == ErrorKind::Device && error.message.contains("of GPU memory needed"), "{error}");
            false
        }
    }
}

pub fn compare(cuda: &Cuda, case: &Case) {
    if case.double { compare_as::<f64>(cuda, case) } else { compare_as::<f32>(cuda, case) }
}

fn compare_as<T: Typed>(cuda: &Cuda, case: &Case) {
    let (parts, max_abs) = encode_both::<T>(cuda, case);
    let frame = FrameShape { n: case.n, tolerance: &case.map, params: &case.params, max_abs };
    for region in [Region { lo: [0; 3], hi: case.n }, case.region] {
        let theirs = T::decode(&Cpu, &frame, &parts, &region).unwrap();
        let ours = T::decode(cuda, &frame, &parts, &region).unwrap();
        let wrong = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "{}: value {wrong:?} of {region:?}", case.name());
    }
    if case.params.mode == Mode::Pyramid && case.params.coder != Coder::Planes {
        any_choices::<T>(cuda, case, parts, &frame);
    }
}

/// Other choices than the encoder's: both decoders must make the same of them.
fn any_choices<T: Typed>(cuda: &Cuda, case: &Case, mut parts: FrameParts, frame: &FrameShape) {
    let mut r = Random(case.seed ^ 0x5eed);
    // the streams of the groups coder depend on whether axis 1 is favoured
    let favours_rows = |choice: u8| choice / 3 % 4 == 2;
    for chunk in &mut parts.chunks {
        let before = chunk[0];
        let alike = |choice: &u8| case.params.coder == Coder::Class || favours_rows(*choice) == favours_rows(before);
        chunk[0] = std::iter::repeat_with(|| r.below(72) as u8).find(alike).unwrap_or(before);
    }
    let region = Region { lo: [0; 3], hi: case.n };
    let [theirs, ours] = [&Cpu as &dyn Backend, cuda].map(|b| T::decode(b, frame, &parts, &region).unwrap());
    // No encoder writes such streams: their values may overflow, and whether an infinity beyond the end of a tile, with weight 0, makes a NaN and what
    // it looks like is a machine's own affair.
    let is_nan =
        |bits: u64| if T::BYTES == 4 { f32::from_bits(bits as u32).is_nan() } else { f64::from_bits(bits).is_nan() };
    let wrong = ours.iter().zip(&theirs).position(|(&a, &b)| a != b && !is_nan(a) && !is_nan(b));
    let choices: Vec<u8> = parts.chunks.iter().map(|chunk| chunk[0]).collect();
    assert_eq!(wrong, None, "{}: value {wrong:?} with choices {choices:?}", case.name());
}

fn encode_both<T: Typed>(cuda: &Cuda, case: &Case) -> (FrameParts, f64) {
    let values: Vec<T> = case.values.iter().map(|&v| T::from_f64(v)).collect();
    let field = SliceField::new(&values, case.n);
    let max_abs = values.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m });
    let input = FrameInput { field: &field, tolerance: &case.map, max_abs, params: &case.params };
    let (theirs, ours) = (T::encode(&Cpu, &input), T::encode(cuda, &input));
    let chunk = ours.chunks.iter().zip(&theirs.chunks).position(|(a, b)| a != b);
    if let Some(c) = chunk {
        let (a, b) = (&ours.chunks[c], &theirs.chunks[c]);
        let at = a.iter().zip(b).position(|(a, b)| a != b);
        panic!("{}: chunk {c}, {} bytes, {} on the CPU, apart from {at:?}", case.name(), a.len(), b.len());
    }
    assert_eq!(ours.chunks.len(), theirs.chunks.len(), "{}", case.name());
    let apart = ours.coarse.iter().zip(&theirs.coarse).position(|(a, b)| a != b);
    let lengths = (ours.coarse.len(), theirs.coarse.len());
    assert!(ours.coarse == theirs.coarse, "{}: coarse parts of {lengths:?} bytes, apart from {apart:?}", case.name());
    (theirs, max_abs.to_f64())
}

/// Flips bits: both decoders must agree on whether the stream is sound, and on the values where it is.
pub fn damage(cuda: &Cuda, case: &Case) {
    let (parts, max_abs) = encode_both::<f32>(cuda, case);
    let frame = FrameShape { n: case.n, tolerance: &case.map, params: &case.params, max_abs };
    let region = Region { lo: [0; 3], hi: case.n };
    let mut r = Random(case.seed);
    for _ in 0..12 {
        let mut bad = parts.clone();
        let pick = r.below(bad.chunks.len() + 1);
        let part = bad.chunks.get_mut(pick).unwrap_or(&mut bad.coarse);
        match r.below(3) {
            0 => part.truncate(r.below(part.len())),
            _ => {
                let at = r.below(part.len());
                part[at] ^= 1 << r.below(8);
            }
        }
        let theirs = f32::decode(&Cpu, &frame, &bad, &region);
        let ours = f32::decode(cuda, &frame, &bad, &region);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {:?} {:?}", case.name(), ours.err(), theirs.err());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            assert!(ours == theirs, "{}: damaged alike, decoded apart", case.name());
        }
    }
}
