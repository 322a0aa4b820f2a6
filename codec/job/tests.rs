//! The container and the jobs, on a backend that stores plain values: whatever fails here is not the transform's.

use super::*;
use crate::backend::{Backend, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink};
use crate::stream::{Archive, FrameKind, Provenance};
use crate::volume::write::WriteFormat;
use crate::volume::{Metadata, SliceField, Values, Volume};
use crate::{Control, Element, ErrorKind, Params, Region, Result, Shape, ToleranceMap};
use std::sync::Arc;

/// Stores the values of a frame run-length coded (count, value), eight planes a chunk.
struct Copying;

const PLANES: usize = 8;

fn encode<T: Element>(input: &FrameInput<T>, sink: &mut dyn FrameSink) -> Result<()> {
    let n = input.field.extents();
    sink.coarse(&[n[0].div_ceil(PLANES) as u8])?;
    for z in (0..n[0]).step_by(PLANES) {
        let region = Region { lo: [z, 0, 0], hi: [(z + PLANES).min(n[0]), n[1], n[2]] };
        let mut values = vec![T::ZERO; region.len()];
        input.field.read_region(&region, &mut values)?;
        assert!(values.iter().all(|v| v.is_finite() && v.abs() <= input.max_abs));
        let mut out = Vec::new();
        for run in values.chunk_by(|a, b| a.to_bits64() == b.to_bits64()) {
            out.extend((run.len() as u32).to_le_bytes());
            out.extend(bytemuck::bytes_of(&run[0]));
        }
        sink.chunk(&out)?;
    }
    Ok(())
}

fn decode<T: Element>(
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
) -> Result<()> {
    source.coarse()?;
    for z in (region.lo[0] / PLANES * PLANES..region.hi[0]).step_by(PLANES) {
        let chunk = source.chunk(z / PLANES)?;
        let runs = chunk.chunks_exact(4 + T::BYTES).flat_map(|run| {
            let count = u32::from_le_bytes(run[..4].try_into().unwrap()) as usize;
            std::iter::repeat_n(bytemuck::pod_read_unaligned::<T>(&run[4..]), count)
        });
        let hi = (z + PLANES).min(frame.n[0]);
        out.put(&Region { lo: [z, 0, 0], hi: [hi, frame.n[1], frame.n[2]] }, &runs.collect::<Vec<_>>())?;
    }
    Ok(())
}

impl Backend for Copying {
    fn describe(&self) -> String {
        "copy".into()
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, _: &Control) -> Result<()> {
        encode(input, sink)
    }
    fn encode_f64(&self, input: &FrameInput<f64>, sink: &mut dyn FrameSink, _: &Control) -> Result<()> {
        encode(input, sink)
    }
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        _: &Control,
    ) -> Result<()> {
        decode(frame, source, region, out)
    }
    fn decode_f64(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f64>,
        _: &Control,
    ) -> Result<()> {
        decode(frame, source, region, out)
    }
}

fn volume(extents: &[usize], value: impl Fn(usize) -> f32) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let data: &'static [f32] = (0..shape.len()).map(value).collect::<Vec<_>>().leak();
    let values = Values::F32(Arc::new(SliceField::new(data, shape.n)));
    Volume { shape, values, meta: Metadata::default(), missing: Default::default() }
}

/// Three tiers over the blocks, as a map of an ROI spec would be.
fn map(shape: &Shape) -> ToleranceMap {
    let mut map = ToleranceMap::uniform(shape, 0.5).unwrap();
    for (tau, name) in [(0.25, "strict"), (0.0, "exact")] {
        map.tiers.push(crate::Tier { name: name.into(), tau });
    }
    map.tier_of_block.iter_mut().enumerate().for_each(|(i, t)| *t = (i * 7 % 3) as u8);
    map
}

fn packed(volume: &Volume, params: &Params) -> Vec<u8> {
    let provenance = Provenance { writer: "test".into(), ..Provenance::default() };
    compress_to_vec(volume, &map(&volume.shape), params, &Copying, &provenance, &Control::default()).unwrap().0
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn original(volume: &Volume, region: &Region) -> Vec<u32> {
    let Values::F32(field) = &volume.values else { panic!("an f32 volume") };
    let mut out = vec![0.0; region.len()];
    field.read_region(region, &mut out).unwrap();
    bits(&out)
}

/// Runs of equal values with NaN, infinities and a missing pattern between them.
fn holed(extents: &[usize]) -> Volume {
    let mut volume = volume(extents, |i| match i / 5 % 11 {
        3 => f32::NAN,
        4 => f32::NEG_INFINITY,
        5 => -1e20,
        k => k as f32 - 6.0,
    });
    volume.missing = vec![u64::from((-1e20f32).to_bits())].into();
    volume
}

#[test]
fn volumes_come_back_whole_and_in_boxes_across_frames() {
    let params = Params { frame_values: 32 * 11 * 13, ..Params::default() };
    let volume = holed(&[70, 11, 13]);
    let archive = Archive::from_bytes(packed(&volume, &params)).unwrap();
    assert_eq!(archive.frames().count, 3);
    for region in [volume.shape.region(), Region { lo: [30, 2, 3], hi: [66, 9, 13] }] {
        let values = decompress_region::<f32>(&archive, &region, &Copying, &Control::default()).unwrap();
        assert_eq!(bits(&values), original(&volume, &region));
    }
    let maps: Vec<u8> = (0..3).flat_map(|i| archive.frame(i).tolerance().unwrap().tier_of_block).collect();
    assert_eq!(maps, map(&volume.shape).tier_of_block);
}

#[test]
fn a_frame_that_would_grow_is_stored_plain() {
    let volume = volume(&[20, 100, 9], |i| f32::from_bits((i as u32).wrapping_mul(2_654_435_761)));
    let bytes = packed(&volume, &Params::default());
    assert!(bytes.len() < 20 * 100 * 9 * 4 + 400);
    // header, provenance and the map, which nothing but the tolerances needs
    for at in 0..400 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let read = Archive::from_bytes(flipped).and_then(|archive| {
            decompress_region::<f32>(&archive, &volume.shape.region(), &Copying, &Control::default())
        });
        assert!(read.is_err(), "{at}");
    }
    let archive = Archive::from_bytes(bytes).unwrap();
    assert_eq!(archive.frame(0).kind(), FrameKind::Plain);
    for region in [volume.shape.region(), Region { lo: [3, 2, 1], hi: [17, 99, 5] }] {
        let values = decompress_region::<f32>(&archive, &region, &Copying, &Control::default()).unwrap();
        assert_eq!(bits(&values), original(&volume, &region));
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_is_an_error_that_names_the_part() {
    let params = Params { frame_values: 32 * 16, ..Params::default() };
    let bytes = packed(&holed(&[40, 4, 4]), &params);
    let read = |bytes: Vec<u8>| -> Result<Vec<f32>> {
        let archive = Archive::from_bytes(bytes)?;
        archive.provenance()?;
        archive.check(&Control::default())?;
        decompress_region(&archive, &archive.header().shape.region(), &Copying, &Control::default())
    };
    read(bytes.clone()).unwrap();
    for cut in 0..bytes.len() {
        let error = read(bytes[..cut].to_vec()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Truncated | ErrorKind::Corruption), "{cut}: {error}");
    }
    let parts =
        ["magic", "version", "header", "provenance", "map", "special", "coarse", "chunk", "directory", "end mark"];
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        let error = read(flipped).unwrap_err();
        assert!(parts.iter().any(|part| error.message.contains(part)), "byte {at}: {error}");
    }
}

#[test]
fn files_decode_by_slabs_and_a_cancelled_job_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (stream, out) = (dir.path().join("v.bmg"), dir.path().join("v.npy"));
    let volume = holed(&[70, 11, 13]);
    let map = map(&volume.shape);
    let (params, provenance, control) = (Params::default(), Provenance::default(), Control::default());
    let report = compress(&volume, &map, &params, &Copying, &stream, &provenance, &control).unwrap();
    assert_eq!(report.compressed_bytes, std::fs::metadata(&stream).unwrap().len());
    let archive = Archive::open(&stream).unwrap();
    let region = volume.shape.region();
    for memory in [None, Some(1), Some(11 * 13 * 4 * 4 * 33)] {
        decompress(&archive, &region, &Copying, (&out, WriteFormat::Npy), memory, &control).unwrap();
        let file = std::fs::read(&out).unwrap();
        assert!(file[..128].windows(23).any(|w| w == b"'shape': (70, 11, 13), "));
        let values: Vec<f32> = file[128..].chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(bits(&values), original(&volume, &region));
    }
    std::fs::remove_file(&out).unwrap();
    control.cancel();
    let error = decompress(&archive, &region, &Copying, (&out, WriteFormat::Raw), None, &control).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    let again = dir.path().join("again.bmg");
    assert!(compress(&volume, &map, &params, &Copying, &again, &provenance, &control).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Rounds to multiples of the tolerance: errors and sizes move with it, as in a real codec.
struct Rounding;

impl Rounding {
    fn rounded(input: &FrameInput<f32>) -> Vec<f32> {
        let n = input.field.extents();
        let mut values = vec![0.0; n.iter().product()];
        input.field.read_region(&Region { lo: [0; 3], hi: n }, &mut values).unwrap();
        let step = input.tolerance.tiers[0].tau as f32 * 2.0;
        values.iter().map(|v| (v / step).round() * step).collect()
    }
}

impl Backend for Rounding {
    fn describe(&self) -> String {
        "rounding".into()
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, _: &Control) -> Result<()> {
        let values = Self::rounded(input);
        let field = SliceField::new(&values, input.field.extents());
        encode(&FrameInput { field: &field, max_abs: f32::MAX, ..*input }, sink)
    }
    fn encode_f64(&self, _: &FrameInput<f64>, _: &mut dyn FrameSink, _: &Control) -> Result<()> {
        unreachable!()
    }
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        _: &Control,
    ) -> Result<()> {
        decode(frame, source, region, out)
    }
    fn decode_f64(
        &self,
        _: &FrameShape,
        _: &dyn FrameSource,
        _: &Region,
        _: &dyn RegionSink<f64>,
        _: &Control,
    ) -> Result<()> {
        unreachable!()
    }
}

#[test]
fn searches_reach_their_goal_and_say_when_they_cannot() {
    let wave = volume(&[40, 30, 30], |i| (i as f32 * 1e-4).sin() * 1000.0);
    let (params, control, none) = (Params::default(), Control::default(), Provenance::default());
    let psnr = Goal::Psnr(45.0);
    let guess = first_guess(&wave, psnr, &control).unwrap();
    let found = search(&wave, &guess, &params, &Rounding, psnr, &none, &control).unwrap();
    assert!(found.close && (45.0..45.06).contains(&found.reached), "{found:?}");
    let ratio = Goal::Ratio(30.0);
    let found = search(&wave, &guess, &params, &Rounding, ratio, &none, &control).unwrap();
    assert!(found.close && (found.reached / 30.0 - 1.0).abs() < 0.011, "{found:?}");
    let found = search(&wave, &guess, &params, &Rounding, Goal::Ratio(1e9), &none, &control).unwrap();
    assert!(!found.close);
    let exact = ToleranceMap::uniform(&wave.shape, 0.0).unwrap();
    assert!(search(&wave, &exact, &params, &Rounding, ratio, &none, &control).is_err());
}

/// What a stream carries beside the values, painted regions above all, is part of its size.
#[test]
fn a_searched_ratio_is_that_of_the_stream_with_what_it_carries() {
    let wave = volume(&[40, 30, 30], |i| (i as f32 * 1e-4).sin() * 1000.0);
    let (params, control) = (Params::default(), Control::default());
    // Text that does not shrink much, about a third of the stream.
    let noise: String =
        (0..1500u32).map(|i| char::from(b'!' + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 90)).collect();
    let carried = Provenance { roi: Some(serde_json::json!({ "mask": noise })), ..Provenance::default() };
    let goal = Goal::Ratio(30.0);
    let guess = first_guess(&wave, goal, &control).unwrap();
    let found = search(&wave, &guess, &params, &Rounding, goal, &carried, &control).unwrap();
    let (_, report) = compress_to_vec(&wave, &found.map, &params, &Rounding, &carried, &control).unwrap();
    assert!(found.close && (report.ratio / 30.0 - 1.0).abs() < 0.011, "{found:?} gave {}", report.ratio);
}
