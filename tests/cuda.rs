//! The GPU backend against the CPU: the same bytes for the same input, and the same bits back.
//!
//! Without a GPU the kernels run in an emulator (tests/emulator, needs a C++ compiler on x86-64 Linux): the test
//! program starts itself once more with the stand-in driver on its library path.
#![cfg(feature = "cuda")]

#[path = "cuda/cases.rs"]
mod cases;
#[path = "cuda/figures.rs"]
mod figures;
#[path = "cuda/memory.rs"]
mod memory;
#[path = "cuda/speed.rs"]
mod speed;

use blockmgard::backend::cuda::HuffmanDecoder;
use blockmgard::backend::{Cuda, Gpus};
use blockmgard::params::Points;
use std::path::Path;
use std::process::Command;

/// Set in the second start: where the emulator was built.
const EMULATED: &str = "BLOCKMGARD_TEST_EMULATED";

fn cuda() -> Option<Cuda> {
    let opened = Cuda::open(&Gpus::First);
    if std::env::var_os(EMULATED).is_some() { Some(opened.unwrap()) } else { opened.ok() }
}

const DECODERS: [HuffmanDecoder; 2] = [HuffmanDecoder::Lanes, HuffmanDecoder::Warps];

fn case_count() -> u64 {
    std::env::var("BLOCKMGARD_TEST_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(60)
}

#[test]
fn random_frames_have_the_bytes_of_the_cpu_and_decode_to_the_same_bits() {
    let Some(cuda) = cuda() else { return };
    for seed in 0..case_count() {
        cases::compare(&cuda, &cases::Case::random(seed));
    }
}

#[test]
fn random_frames_of_planes_have_the_bytes_of_the_cpu_and_decode_to_the_same_bits() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_cpu();
    for seed in 0..case_count() {
        cases::compare(&cuda, &cases::Case::planes(seed));
    }
}

#[test]
fn random_frames_of_groups_have_the_bytes_of_the_cpu_and_decode_to_the_same_bits() {
    let Some(cuda) = cuda() else { return };
    for seed in 0..case_count() {
        cases::compare(&cuda, &cases::Case::groups(seed));
    }
}

#[test]
fn whole_tiles_have_the_bytes_of_the_cpu_with_every_number_of_points() {
    let Some(cuda) = cuda() else { return };
    // compilers have made wrong code of one number of points alone, seen in few of many tiles
    let emulated = std::env::var_os(EMULATED).is_some();
    let side = if emulated { 64 } else { 192 };
    for points in [Points::Two, Points::Four, Points::Six] {
        for (tile, double) in [(16, false), (32, false), (16, true), (32, true)] {
            cases::compare(&cuda, &cases::Case::whole(tile as u64, side, tile, points, double));
        }
    }
    // corner arrays that are all whole, one after the other
    let side = if emulated { 32 } else { 128 };
    for double in [false, true] {
        cases::compare(&cuda, &cases::Case::whole(8, side, 8, Points::Four, double).in_planes());
    }
}

#[test]
fn random_hybrid_frames_have_the_bytes_of_the_cpu_and_decode_to_the_same_bits() {
    if cuda().is_none() {
        return;
    }
    // Small frames would all be decoded by warps.
    let opened = DECODERS.map(|decoder| {
        let open = || cuda().unwrap().with_huffman(decoder);
        (open(), open().with_cpu())
    });
    let mut on_gpu = 0;
    for seed in 0..case_count() {
        let case = if seed % 3 == 2 { cases::Case::two_levels(seed) } else { cases::Case::hybrid(seed) };
        let (strict, helped) = &opened[(seed / 2 % 2) as usize];
        cases::compare(if case.has_kernels() { strict } else { helped }, &case);
        on_gpu += case.has_kernels() as u64;
    }
    assert!(4 * on_gpu >= case_count(), "{on_gpu} cases had kernels");
}

#[test]
fn frames_in_parts_and_on_two_devices_have_the_bytes_of_the_cpu() {
    if cuda().is_none() {
        return;
    }
    // The emulator has two devices; a machine with one tests parts on that.
    let pair = Cuda::open(&Gpus::List(vec![0, 1])).ok();
    let mut parts = 0;
    for seed in 0..case_count() / 10 {
        let layered = || cases::Case::layered(seed);
        for case in [layered(), layered().in_hybrid_mode(), layered().in_planes(), layered().in_groups()] {
            // From a limit that the whole frame fits into to one that a single layer does not fit into.
            for limit in [48 << 20, 12 << 20, 6 << 20, 1 << 20] {
                let strict = Cuda::open_within(&Gpus::First, limit).unwrap().with_cpu();
                parts += cases::fits(&strict, &case) as u64;
                cases::compare(&strict.with_cpu_when_short(), &case);
            }
        }
        let Some(pair) = pair.as_ref().filter(|_| seed % 2 == 0) else { continue };
        cases::compare(pair, &cases::Case::layered(seed));
    }
    assert!(parts > case_count() / 10, "{parts} frames fit");
}

#[test]
fn damaged_chunks_are_refused_as_on_the_cpu() {
    let Some(cuda) = cuda() else { return };
    let mut cuda = cuda.with_cpu();
    for seed in 0..6 {
        cases::damage(&cuda, &cases::Case::random(1000 + seed));
        for decoder in DECODERS {
            cuda = cuda.with_huffman(decoder);
            cases::damage(&cuda, &cases::Case::hybrid(1000 + seed));
        }
        cases::damage(&cuda, &cases::Case::planes(1000 + seed));
        cases::damage(&cuda, &cases::Case::groups(1000 + seed));
    }
}

#[test]
fn largest_magnitude_is_exact() {
    let Some(cuda) = cuda() else { return };
    let values: Vec<f32> = (0..100_003).map(|i| ((i * 7919 % 100_003) as f32 - 5e4) * 0.25).collect();
    assert_eq!(cuda.max_abs(&values).unwrap(), values.iter().fold(0f32, |m, v| m.max(v.abs())));
    assert_eq!(cuda.max_abs(&[-0.0f64]).unwrap().to_bits(), 0);
    // The largest one at every place of the last loads.
    for len in 1..40 {
        let values: Vec<f64> = (0..len).map(|i| -(i as f64)).collect();
        assert_eq!(cuda.max_abs(&values).unwrap(), len as f64 - 1.0);
    }
}

#[test]
fn figures_of_the_device_are_those_of_the_metrics() {
    let Some(cuda) = cuda() else { return };
    for seed in 0..12 {
        figures::compare(&cuda, seed);
    }
}

#[test]
fn the_bench_tells_the_truth_and_records_graphs() {
    let Some(cuda) = cuda() else { return };
    speed::run_once(&cuda);
    speed::mappings(&cuda);
}

/// Prints times as JSON: `BLOCKMGARD_BENCH="file.f32 512 512 512 1e-4 16" cargo test --release --test cuda -- --ignored --nocapture`
/// (shape slowest first, tolerance relative to max|u|, tile).
#[test]
#[ignore = "a measurement, for an idle machine with a GPU"]
fn speed_on_a_raw_file() {
    let text = std::env::var("BLOCKMGARD_BENCH").unwrap();
    for setting in text.split(';') {
        println!("{}", speed::measure(cuda().unwrap(), setting));
    }
}

#[test]
fn kernels_agree_with_the_cpu_in_the_emulator() {
    if std::env::var_os(EMULATED).is_some() || !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulator/build.sh");
    match Command::new("sh").arg(script).arg(&folder).status() {
        Ok(status) if status.success() => {}
        other => return eprintln!("skipped: the emulator could not be built ({other:?})"),
    }
    let program = std::env::current_exe().unwrap();
    // The emulator runs one launch at a time: its threads count each other at barriers.
    let status = Command::new(program)
        .arg("--test-threads=1")
        .env(EMULATED, &folder)
        .env("LD_LIBRARY_PATH", &folder)
        .status()
        .unwrap();
    assert!(status.success());
}
