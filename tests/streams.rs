//! Streams as files: old ones stay readable, the same input gives the same bytes, and damage is an error.
//!
//! `UPDATE_GOLDEN=1 cargo test --release --test streams` writes the golden streams anew. That is right only while the
//! format version they belong to was never released; a released version's files are never touched.

use blockmgard::backend::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use blockmgard::job::{compress_to_vec, decompress_volume, preview};
use blockmgard::stream::{Archive, FrameKind, Provenance};
use blockmgard::volume::{Field, Metadata, Values, VecField, Volume};
use blockmgard::{
    Basis, Coder, Control, ErrorKind, Mode, Order, Params, Region, Result, Shape, Tier, ToleranceMap, with_values,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

const TIERS: [(&str, f64); 4] = [("loose", 0.5), ("strict", 1e-3), ("exact", 0.0), ("none", f64::INFINITY)];

/// Smooth with some noise, of integers alone: the same on every machine.
fn value(i: usize, n: [usize; 3]) -> f64 {
    let (z, y, x) = (i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
    let noise = (i as u32).wrapping_mul(2_654_435_761) >> 22;
    ((x * x + 3 * y * z) as f64) * 0.125 - (z * z) as f64 * 0.25 + f64::from(noise) / 4096.0
}

fn volume_f64(extents: &[usize]) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let data = (0..shape.len()).map(|i| value(i, shape.n)).collect();
    volume(shape, Values::F64(Arc::new(VecField::new(data, shape.n))))
}

fn volume_f32(extents: &[usize], change: impl Fn(usize, f32) -> f32) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let data = (0..shape.len()).map(|i| change(i, value(i, shape.n) as f32)).collect();
    volume(shape, Values::F32(Arc::new(VecField::new(data, shape.n))))
}

fn volume(shape: Shape, values: Values) -> Volume {
    Volume { shape, values, meta: Metadata::default(), missing: Default::default() }
}

fn holed(i: usize, v: f32) -> f32 {
    match i % 97 {
        40..=55 => f32::NAN,
        56 => f32::INFINITY,
        57 => f32::NEG_INFINITY,
        _ => v,
    }
}

fn map(shape: &Shape) -> ToleranceMap {
    let blocks = shape.blocks();
    let tiers = TIERS.map(|(name, tau)| Tier { name: name.into(), tau }).to_vec();
    let tier_of_block = (0..blocks.iter().product::<usize>()).map(|i| (i * 5 % 4) as u8).collect();
    ToleranceMap { blocks, tiers, tier_of_block }
}

/// What golden streams are made of: name, volume, settings.
fn cases() -> Vec<(&'static str, Volume, Params)> {
    let hybrid = Params { mode: Mode::Hybrid, global_levels: 1, ..Params::default() };
    let groups = Params { tile: 16, coder: Coder::Groups, order: Order::Axis, ..Params::default() };
    let noise = |i: usize, _| f32::from_bits((i as u32).wrapping_mul(2_654_435_761));
    vec![
        ("pyramid-f32-holes", volume_f32(&[17, 10, 19], holed), Params::default()),
        ("pyramid-f32-frames", volume_f32(&[40, 9, 9], |_, v| v), Params { frame_values: 2592, ..Params::default() }),
        ("pyramid-f64-line", volume_f64(&[900]), Params { tile: 8, ..Params::default() }),
        ("pyramid-f32-planes", volume_f32(&[20, 19, 35], holed), Params::fast()),
        ("pyramid-f32-groups", volume_f32(&[20, 19, 35], holed), groups),
        ("hybrid-f64", volume_f64(&[11, 9, 13]), hybrid.clone()),
        ("hybrid-f32-plane", volume_f32(&[30, 41], |_, v| v), Params { basis: Basis::Projection, ..hybrid }),
        ("plain-f32", volume_f32(&[5, 9, 11], noise), Params::default()),
    ]
}

fn encode(volume: &Volume, params: &Params) -> Vec<u8> {
    let provenance = Provenance { writer: "golden".into(), ..Provenance::default() };
    compress_to_vec(volume, &map(&volume.shape), params, &Cpu, &provenance, &Control::default()).unwrap().0
}

/// Everything that a reader does with a stream.
fn decode(bytes: Vec<u8>) -> Result<Volume> {
    let archive = Archive::from_bytes(bytes)?;
    archive.check(&Control::default())?;
    let region = archive.header().shape.region();
    Ok(decompress_volume(&archive, &region, &Cpu, None, &Control::default())?.0)
}

fn bits(volume: &Volume) -> Vec<u64> {
    fn of<T: blockmgard::Element>(field: &dyn Field<T>) -> Vec<u64> {
        field.as_slice().unwrap().iter().map(|v| v.to_bits64()).collect()
    }
    with_values!(&volume.values, field => of(&**field))
}

/// A short name for decoded bits: FNV-1a over their bytes.
fn sum(volume: &Volume) -> String {
    let bytes = bits(volume).into_iter().flat_map(u64::to_le_bytes);
    format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)))
}

#[test]
fn golden_streams_of_version_1_decode_to_the_same_bits_and_are_written_byte_for_byte() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden/v1");
    let sums = folder.join("decoded.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        let mut list = String::new();
        for (name, volume, params) in cases() {
            let bytes = encode(&volume, &params);
            list += &format!("{name} {}\n", sum(&decode(bytes.clone()).unwrap()));
            std::fs::write(folder.join(format!("{name}.bmg")), bytes).unwrap();
        }
        std::fs::write(&sums, list).unwrap();
    }
    let list = std::fs::read_to_string(&sums).unwrap();
    for (name, volume, params) in cases() {
        let golden = std::fs::read(folder.join(format!("{name}.bmg"))).unwrap();
        let decoded = sum(&decode(golden.clone()).unwrap());
        assert!(list.lines().any(|line| line == format!("{name} {decoded}")), "{name} decodes to other bits");
        assert!(golden == encode(&volume, &params), "{name} is written with other bytes");
    }
}

#[test]
fn every_value_keeps_its_tolerance_and_special_values_their_bits() {
    for (name, volume, params) in cases() {
        let rebuilt = decode(encode(&volume, &params)).unwrap();
        let tolerance = map(&volume.shape);
        let comparison = blockmgard::metrics::Comparison {
            original: &volume,
            reconstructed: &rebuilt,
            tolerance: &tolerance,
            background: None,
            compressed_bytes: None,
        };
        let report = blockmgard::metrics::compare(&comparison, &Control::default()).unwrap();
        assert_eq!((report.violations, report.special_changed), (0, 0), "{name}");
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_is_an_error() {
    for (name, volume, params) in cases() {
        let bytes = encode(&volume, &params);
        for cut in 0..bytes.len() {
            let error = decode(bytes[..cut].to_vec()).err().unwrap_or_else(|| panic!("{name} cut at {cut}"));
            assert!(matches!(error.kind, ErrorKind::Truncated | ErrorKind::Corruption), "{name} at {cut}: {error}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let error = decode(flipped).err().unwrap_or_else(|| panic!("{name} with byte {at} flipped"));
            assert!(matches!(error.kind, ErrorKind::Truncated | ErrorKind::Corruption), "{name} at {at}: {error}");
        }
    }
}

/// One part of a frame replaced: what a forger gets past the checksums.
struct Forged<'a> {
    frame: &'a dyn FrameSource,
    /// 0 is the coarse part, k + 1 chunk k.
    part: usize,
    bytes: Vec<u8>,
}

impl FrameSource for Forged<'_> {
    fn coarse(&self) -> Result<Cow<'_, [u8]>> {
        if self.part == 0 { Ok(Cow::Borrowed(&self.bytes)) } else { self.frame.coarse() }
    }
    fn chunk_count(&self) -> usize {
        self.frame.chunk_count()
    }
    fn chunk(&self, index: usize) -> Result<Cow<'_, [u8]>> {
        if self.part == index + 1 { Ok(Cow::Borrowed(&self.bytes)) } else { self.frame.chunk(index) }
    }
}

/// Takes decoded boxes and checks that they lie inside the frame.
struct Inside([usize; 3]);

impl<T: blockmgard::Element> RegionSink<T> for Inside {
    fn put(&self, region: &Region, values: &[T]) -> Result<()> {
        assert!((0..3).all(|a| region.lo[a] <= region.hi[a] && region.hi[a] <= self.0[a]));
        assert_eq!(values.len(), region.len());
        Ok(())
    }
}

/// Bytes cut short, lengthened, flipped and overwritten.
fn forgeries(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let cuts = (0..bytes.len()).step_by(bytes.len() / 40 + 1).map(move |cut| bytes[..cut].to_vec());
    let longer = [1, 4, 1000].into_iter().map(move |more| [bytes, &vec![0xff; more]].concat());
    let changed = (0..600usize).filter(|_| !bytes.is_empty()).map(move |k| {
        let mut out = bytes.to_vec();
        let at = k.wrapping_mul(2_654_435_761) % out.len();
        // The first bytes hold counts and lengths: they get more than their share.
        let at = if k % 2 == 0 { at % 24.min(out.len()) } else { at };
        out[at] = [0x00, 0xff, 0x80, 0x7f, out[at] ^ 1, out[at].wrapping_add(1)][k % 6];
        out
    });
    cuts.chain(longer).chain(changed)
}

#[test]
fn forged_parts_with_good_checksums_never_panic() {
    for (name, volume, params) in cases() {
        let archive = Archive::from_bytes(encode(&volume, &params)).unwrap();
        let frame = archive.frame(0);
        if frame.kind() == FrameKind::Plain {
            continue;
        }
        let (tolerance, n) = (frame.tolerance().unwrap(), frame.region().shape());
        let shape = FrameShape { n, tolerance: &tolerance, params: &params, max_abs: frame.extent().max_abs() };
        let whole = Region { lo: [0; 3], hi: n };
        for part in 0..=frame.chunk_count() {
            let bytes = if part == 0 { frame.coarse().unwrap() } else { frame.chunk(part - 1).unwrap() };
            for (k, bytes) in forgeries(&bytes).enumerate() {
                let forged = Forged { frame: &frame, part, bytes };
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match &volume.values {
                    Values::F32(_) => Cpu.decode_f32(&shape, &forged, &whole, &Inside(n), &Control::default()),
                    Values::F64(_) => Cpu.decode_f64(&shape, &forged, &whole, &Inside(n), &Control::default()),
                }));
                assert!(outcome.is_ok(), "{name}: part {part}, forgery {k} panics");
            }
        }
    }
}

#[test]
fn a_short_stream_that_claims_a_vast_volume_is_refused_before_anything_is_allocated() {
    let volume = volume_f32(&[9, 9, 9], |_, v| v);
    let bytes = encode(&volume, &Params { frame_values: 1 << 45, ..Params::default() });
    // Magic, version and the header's length take 6 bytes; element type and rank two more, then an extent each.
    assert_eq!(&bytes[6..11], [0, 3, 9, 9, 9]);
    let length = bytes[5] as usize;
    let header = [&[0, 3], &[0x80, 0x80, 0x40][..], &[0x80, 0x80, 0x40], &[9], &bytes[11..6 + length]].concat();
    let mut forged = [&bytes[..5], &[header.len() as u8], &header].concat();
    forged.extend(crc32(&forged).to_le_bytes());
    forged.extend(&bytes[6 + length + 4..]);
    let error = Archive::from_bytes(forged).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Corruption, "{error}");
}

/// CRC-32 (IEEE), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &b| (0..8).fold(crc ^ u32::from(b), step))
}

/// Counts bytes of coarse part and chunks.
#[derive(Default)]
struct Counter(usize);

impl FrameSink for Counter {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 += bytes.len();
        Ok(())
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 += bytes.len();
        Ok(())
    }
}

#[test]
fn a_stream_costs_few_bytes_over_its_frame() {
    let volume = volume_f64(&[32, 32, 32]);
    let map = ToleranceMap::uniform(&volume.shape, 1e3).unwrap();
    let params = Params::default();
    let provenance = Provenance::default();
    let (bytes, _) = compress_to_vec(&volume, &map, &params, &Cpu, &provenance, &Control::default()).unwrap();
    let Values::F64(field) = &volume.values else { unreachable!() };
    let max_abs = Archive::from_bytes(bytes.clone()).unwrap().extent().max_abs();
    let mut counter = Counter::default();
    let input = FrameInput { field: &**field, tolerance: &map, max_abs, params: &params };
    Cpu.encode_f64(&input, &mut counter, &Control::default()).unwrap();
    assert!(bytes.len() - counter.0 < 200, "{} bytes around {}", bytes.len() - counter.0, counter.0);
}

/// A field and bounds that are stricter than the spacing of its largest values: symbols would not fit 16 bits.
#[test]
fn a_bound_below_the_spacing_of_values_is_stored_losslessly_where_that_is_shorter() {
    let modes =
        [Params::default(), Params::balanced(), Params::fast(), Params { mode: Mode::Hybrid, ..Params::default() }];
    for params in modes.map(|params| Params { frame_values: 32 * 40 * 40, ..params }) {
        let volume = volume_f32(&[50, 40, 40], holed);
        let encode = |tau: f64| {
            let map = ToleranceMap::uniform(&volume.shape, tau).unwrap();
            let (provenance, control) = (Provenance::default(), Control::default());
            let bytes = compress_to_vec(&volume, &map, &params, &Cpu, &provenance, &control).unwrap().0;
            Archive::from_bytes(bytes).unwrap()
        };
        let kinds = |archive: &Archive| (0..2).map(|i| archive.frame(i).kind()).collect::<Vec<_>>();
        let (strict, exact, usual) = (encode(3e-6), encode(0.0), encode(0.01));
        assert_eq!(kinds(&usual), [FrameKind::Coded; 2]);
        assert_eq!(kinds(&strict), [FrameKind::Lossless; 2], "{params:?}");
        // the same frames but for the names of tiers and tolerances
        assert!(strict.len_bytes().abs_diff(exact.len_bytes()) < 40);
        assert!(strict.len_bytes() < volume.shape.len() as u64 * 4 * 9 / 10);
        assert_eq!(strict.tolerance().unwrap().tiers[0].tau, 3e-6);
        for region in [volume.shape.region(), Region { lo: [20, 3, 0], hi: [44, 17, 40] }] {
            let (decoded, _) = decompress_volume(&strict, &region, &Cpu, None, &Control::default()).unwrap();
            let (Values::F32(ours), Values::F32(given)) = (&decoded.values, &volume.values) else { unreachable!() };
            let (mut a, mut b) = (vec![0f32; region.len()], vec![0f32; region.len()]);
            ours.read_region(&decoded.shape.region(), &mut a).unwrap();
            given.read_region(&region, &mut b).unwrap();
            assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
        if params.mode == Mode::Pyramid {
            assert!(preview(&strict, 4000, &Control::default()).unwrap().volume.shape.len() <= 4000);
        }
    }
}

/// A fast coder stores exact values at their full width: a whole frame of the class coder can take less than such a part.
#[test]
fn a_frame_with_a_lossless_part_is_stored_losslessly_where_that_is_shorter() {
    let kind_of = |params: &Params, steps: f32| {
        let volume = volume_f32(&[32, 40, 40], |i, v| if steps == 0.0 { v } else { (i as f32 / steps).floor() });
        let mut map = ToleranceMap::uniform(&volume.shape, 0.5).unwrap();
        map.tiers.push(Tier { name: "exact".into(), tau: 0.0 });
        map.tier_of_block[..50].fill(1);
        let control = Control::default();
        let bytes = compress_to_vec(&volume, &map, params, &Cpu, &Provenance::default(), &control).unwrap().0;
        let archive = Archive::from_bytes(bytes).unwrap();
        let decoded = decompress_volume(&archive, &volume.shape.region(), &Cpu, None, &control).unwrap().0;
        (archive.frame(0).kind(), bits(&decoded) == bits(&volume))
    };
    for params in [Params::balanced(), Params::fast()] {
        assert_eq!(kind_of(&params, 9000.0), (FrameKind::Lossless, true));
        assert_eq!(kind_of(&params, 0.0), (FrameKind::Coded, false));
    }
}
