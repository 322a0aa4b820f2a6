//! The program as scripts use it: names, exit codes, JSON, files that appear whole or not at all.

mod limits;
mod regions;
mod support;

use serde_json::Value;
use std::process::Stdio;
use support::{folder, json, names, program, read, run, write};

#[test]
fn compress_decompress_verify_and_info_agree_on_the_names_that_scripts_rely_on() {
    let (folder, values) = folder();
    let here = folder.path();
    for mode in ["pyramid", "hybrid"] {
        let arguments = ["compress", "wave.f32", "-o", "w.bmg", "--mode", mode, "--abs", "0.01", "--device", "cpu"];
        let made = json(&[&arguments[..], &["--dims", "20x30x40", "--f32"]].concat(), here, 0);
        assert!(made["ratio"].as_f64().unwrap() > 1.0);
        assert_eq!(made["tiers"][0]["abs"], 0.01);
        json(&["decompress", "w.bmg", "-o", "whole.f32"], here, 0);
        let rebuilt = read(&here.join("whole.f32"), 0);
        assert!(values.iter().zip(&rebuilt).all(|(a, b)| (f64::from(*a) - f64::from(*b)).abs() <= 0.01));
        json(&["decompress", "w.bmg", "-o", "box.npy", "--box", "3:5,0:30,7:8"], here, 0);
        let part = read(&here.join("box.npy"), 128);
        let expected = (3..5).flat_map(|z| (0..30).map(move |y| (z * 30 + y) * 40 + 7)).map(|i| rebuilt[i]);
        assert_eq!(part, expected.collect::<Vec<_>>());
        if mode == "pyramid" {
            let coarse = json(&["decompress", "w.bmg", "-o", "coarse.npy", "--preview"], here, 0);
            let nodes: Vec<Vec<usize>> = serde_json::from_value(coarse["coordinates"].clone()).unwrap();
            let at = |z: usize, y: usize, x: usize| (nodes[0][z] * 30 + nodes[1][y]) * 40 + nodes[2][x];
            let (ny, nx) = (nodes[1].len(), nodes[2].len());
            let seen = read(&here.join("coarse.npy"), 128);
            assert!(seen.len() > 8 && seen.len() < values.len() / 4);
            assert!((0..seen.len()).all(|i| seen[i] == rebuilt[at(i / (ny * nx), i / nx % ny, i % nx)]));
        }
        let report = json(&["verify", "wave.f32", "w.bmg"], here, 0);
        assert_eq!(report["violations"], 0);
        for key in ["max_error", "max_error_over_tau", "psnr_db", "tiers"] {
            assert!(!report[key].is_null(), "{key}");
        }
        let info = json(&["info", "w.bmg"], here, 0);
        assert_eq!((&info["shape"], &info["params"]["mode"]), (&made["shape"], &Value::from(mode)));
        let bench = json(&["bench", "wave.f32", "--dims", "20x30x40", "--mode", mode, "--runs", "1"], here, 0);
        for key in ["compress_gbps", "decompress_gbps", "ratio", "device"] {
            assert!(!bench[key].is_null(), "{key}");
        }
    }
}

#[test]
fn a_box_of_a_file_is_compressed_alone_and_judged_against_the_same_box() {
    let (folder, values) = folder();
    let here = folder.path();
    let boxed = ["--dims", "20x30x40", "--f32", "--box", "2:12,5:6,30:"];
    let bounds = ["compress", "wave.f32", "-o", "b.bmg", "--abs", "0.01", "--device", "cpu"];
    let made = json(&[&bounds[..], &boxed].concat(), here, 0);
    assert_eq!(made["shape"], serde_json::json!([10, 1, 10]));
    json(&["decompress", "b.bmg", "-o", "b.f32"], here, 0);
    let part = read(&here.join("b.f32"), 0);
    let expected = (2..12).flat_map(|z| (30..40).map(move |x| (z * 30 + 5) * 40 + x)).map(|i| values[i]);
    assert!(part.iter().zip(expected).all(|(a, b)| (f64::from(*a) - f64::from(b)).abs() <= 0.01));
    let report = json(&[&["verify", "wave.f32", "b.bmg"][..], &boxed].concat(), here, 0);
    assert_eq!(report["violations"], 0);
    // the stream says which box of its own file it is of; of another file nobody knows
    assert_eq!(json(&["verify", "wave.f32", "b.bmg"], here, 0)["violations"], 0);
    std::fs::copy(here.join("wave.f32"), here.join("copy.f32")).unwrap();
    let whole = run(&["verify", "copy.f32", "b.bmg", "--dims", "20x30x40"], here);
    assert_eq!(whole.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&whole.stderr).contains("--box"), "{whole:?}");
    let beyond = [&bounds[..], &["--dims", "20x30x40", "--box", "2:12,5:6,30:41"]].concat();
    assert_eq!(run(&beyond, here).status.code(), Some(2));
}

#[test]
fn an_original_is_read_as_it_was_compressed() {
    let (folder, values) = folder();
    let here = folder.path();
    let mut bytes = vec![7; 64];
    bytes.extend(values.iter().flat_map(|v| v.to_be_bytes()));
    std::fs::write(here.join("big.dat"), bytes).unwrap();
    let raw = ["--dims", "20x30x40", "--f32", "--big-endian", "--offset", "64"];
    json(&[&["compress", "big.dat", "-o", "b.bmg", "--abs", "0.01"][..], &raw].concat(), here, 0);
    assert_eq!(json(&["verify", "big.dat", "b.bmg"], here, 0)["violations"], 0);
    assert_eq!(json(&["verify", "big.dat", "b.bmg", "--f32"], here, 0)["violations"], 0);
    json(&["decompress", "b.bmg", "-o", "b.f32"], here, 0);
    assert_eq!(json(&["verify", "b.f32", "b.bmg"], here, 0)["max_error"], 0.0, "what came back is little-endian");
    json(&["decompress", "b.bmg", "-o", "b.npy"], here, 0);
    json(&["compress", "b.npy", "-o", "n.bmg", "--abs", "0.01"], here, 0);
    assert_eq!(json(&["verify", "b.f32", "n.bmg"], here, 0)["violations"], 0, "a raw file against a stream of .npy");
}

#[test]
fn a_reader_that_goes_away_stops_no_work() {
    let (folder, _) = folder();
    let here = folder.path();
    let arguments = ["compress", "wave.f32", "-o", "w.bmg", "--rel", "1e-3", "--dims", "20x30x40"];
    let mut child = program(&arguments, here).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(here.join("w.bmg").exists());
}

#[test]
fn exit_codes_tell_wrong_usage_failed_work_and_violated_bounds_apart() {
    let (folder, mut values) = folder();
    let here = folder.path();
    let code = |arguments: &[&str]| run(arguments, here).status.code();
    let shape = ["--dims", "20x30x40"];
    assert_eq!(code(&[&["compress", "wave.f32", "-o", "w.bmg", "--rel", "1e-3"], &shape[..]].concat()), Some(0));
    assert_eq!(code(&[&["compress", "wave.f32", "-o", "x.bmg"], &shape[..]].concat()), Some(2), "no tolerance");
    assert_eq!(code(&["compress", "wave.f32", "-o", "x.bmg", "--rel", "1e-3", "--dims", "20x30x41"]), Some(2));
    assert_eq!(code(&["compress", "wave.f32", "-o", "x.bmg", "--rel", "oops"]), Some(2));
    let planes = ["compress", "wave.f32", "-o", "x.bmg", "--rel", "1e-3", "--coder", "planes", "--order", "parity"];
    assert_eq!(code(&[&planes[..], &shape[..]].concat()), Some(2), "planes in parity order");
    assert_eq!(code(&["decompress", "w.bmg", "-o", "w.f64"]), Some(2), "another type");
    assert_eq!(code(&["decompress", "w.bmg", "-o", "w.f32", "--box", "0:99,0:1,0:1"]), Some(2));
    assert_eq!(code(&["compress", "absent.f32", "-o", "x.bmg", "--rel", "1e-3"]), Some(1));
    assert_eq!(code(&["decompress", "w.bmg", "-o", "no/such/folder/w.f32"]), Some(1));
    values[4711] += 1.0;
    write(&here.join("other.f32"), &values);
    assert_eq!(json(&["verify", "other.f32", "w.bmg"], here, 3)["violations"], 1);
    let mut stream = std::fs::read(here.join("w.bmg")).unwrap();
    let middle = stream.len() / 2;
    stream[middle] ^= 4;
    std::fs::write(here.join("bad.bmg"), &stream).unwrap();
    assert_eq!(code(&["verify", "wave.f32", "bad.bmg"]), Some(3));
    std::fs::write(here.join("bad.bmg"), [b"X", &stream[1..]].concat()).unwrap();
    assert_eq!(code(&["info", "bad.bmg"]), Some(3), "no magic bytes");
    assert_eq!(code(&["decompress", "bad.bmg", "-o", "w.f32"]), Some(3));
    assert_eq!(names(here), ["bad.bmg", "other.f32", "w.bmg", "wave.f32"], "failed work leaves no file");
}

#[test]
fn tiers_of_a_spec_reach_the_stream_and_searches_say_what_they_found() {
    let (folder, _) = folder();
    let here = folder.path();
    let spec = "background = \"loose\"\n[[tier]]\nname = \"loose\"\ntolerance.range = 0.1\n[[tier]]\nname = \"strict\"\n\
                tolerance.abs = 1e-4\n[[region]]\ntier = \"strict\"\nshape.box = { lo = [0, 0, 0], hi = [8, 8, 8] }\n";
    std::fs::write(here.join("roi.toml"), spec).unwrap();
    let shape = ["--dims", "20x30x40", "--roi", "roi.toml"];
    json(&[&["compress", "wave.f32", "-o", "w.bmg"], &shape[..]].concat(), here, 0);
    let info = json(&["info", "w.bmg"], here, 0);
    let blocks: Vec<u64> = (0..2).map(|t| info["tiers"][t]["blocks"].as_u64().unwrap()).collect();
    assert_eq!(blocks, [3 * 4 * 5 - 1, 1]);
    assert_eq!(info["provenance"]["roi"]["background"], "loose");
    let map = json(&[&["roi", "map", "wave.f32", "-o", "map.npy", "-L", "2"], &shape[..]].concat(), here, 0);
    assert_eq!(map["levels"].as_array().unwrap().len(), 3);
    assert_eq!(std::fs::metadata(here.join("map.npy")).unwrap().len(), 128 + 60 * 8);
    json(&[&["roi", "preview", "wave.f32", "-o", "p.png"], &shape[..]].concat(), here, 0);
    assert!(std::fs::read(here.join("p.png")).unwrap().starts_with(b"\x89PNG"));
    let dims = ["--dims", "20x30x40"];
    let found = json(&[&["compress", "wave.f32", "-o", "w.bmg", "--psnr", "60"], &dims[..]].concat(), here, 0);
    let reached = found["search"]["reached"].as_f64().unwrap();
    let verified = json(&["verify", "wave.f32", "w.bmg"], here, 0)["psnr_db"].as_f64().unwrap();
    assert!(reached >= 60.0 && (reached - verified).abs() < 1e-3, "{reached} {verified}");
    let schema = run(&["schema"], here);
    assert!(serde_json::from_slice::<Value>(&schema.stdout).unwrap()["properties"]["tier"].is_object());
}

#[test]
fn an_original_is_never_overwritten_and_two_runs_with_one_output_do_not_mix() {
    let (folder, values) = folder();
    let here = folder.path();
    fn compress<'a>(out: &'a str, rel: &'a str) -> [&'a str; 8] {
        ["compress", "wave.f32", "--dims", "20x30x40", "-o", out, "--rel", rel]
    }
    assert_eq!(run(&compress("wave.f32", "1e-3"), here).status.code(), Some(2));
    assert_eq!(run(&compress("./wave.f32", "1e-3"), here).status.code(), Some(2));
    json(&compress("w.bmg", "1e-3"), here, 0);
    assert_eq!(run(&["decompress", "w.bmg", "-o", "wave.f32"], here).status.code(), Some(2));
    assert_eq!(read(&here.join("wave.f32"), 0), values);
    let runs: Vec<_> = ["1e-1", "1e-2", "1e-3", "1e-4"]
        .map(|rel| {
            program(&compress("same.bmg", rel), here).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
        })
        .into();
    for mut child in runs {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(json(&["verify", "wave.f32", "same.bmg"], here, 0)["violations"], 0);
    assert_eq!(names(here), ["same.bmg", "w.bmg", "wave.f32"]);
}

#[test]
fn a_code_for_missing_that_no_file_names_is_told_and_never_masked_unasked() {
    let (folder, mut values) = folder();
    let here = folder.path();
    values.iter_mut().step_by(3).for_each(|v| *v = 1e20);
    write(&here.join("sea.f32"), &values);
    let compress = |more: &[&str]| {
        let output = run(
            &[&["compress", "sea.f32", "-o", "s.bmg", "--dims", "20x30x40", "--range", "1e-3", "--json"], more]
                .concat(),
            here,
        );
        assert!(output.status.success());
        let told = String::from_utf8(output.stderr).unwrap();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), told)
    };
    let (as_data, told) = compress(&[]);
    assert!(told.contains("--missing 1e20") && told.contains("--missing none"), "{told}");
    assert_eq!(
        (&as_data["suspected_missing"], &as_data["max"]),
        (&Value::from(1e20f32 as f64), &Value::from(1e20f32 as f64))
    );
    let (refused, told) = compress(&["--missing", "none"]);
    assert!(told.is_empty() && refused["suspected_missing"].is_null() && refused["max"] == as_data["max"], "{told}");
    let (masked, told) = compress(&["--missing", "1e20"]);
    assert!(told.is_empty() && masked["max"].as_f64().unwrap() < 30.0, "{told}");
    let info = json(&["info", "sea.f32", "--dims", "20x30x40"], here, 0);
    assert_eq!(info["variables"][0]["suspected_missing"], 1e20f32 as f64);
}

#[test]
fn what_a_region_gets_wrong_is_told_with_file_and_line() {
    let (folder, _) = folder();
    let here = folder.path();
    let head = "background = \"a\"\n[[tier]]\nname = \"a\"\ntolerance.rel = 1e-3\n[[region]]\ntier = \"a\"\n";
    for (shape, expected) in [
        ("box = { lo = [50, 0, 0], hi = [60, 1, 1] }", "outside"),
        ("box = { lo = [0, 0], hi = [1, 1] }", "one entry per axis"),
        ("value = { min = 2, max = 1 }", "min <= max"),
        ("mask.path = \"absent.npy\"", "absent.npy"),
        ("ball = {}", "expected one of"),
    ] {
        std::fs::write(here.join("roi.toml"), format!("{head}shape.{shape}\n")).unwrap();
        let output = run(&["roi", "map", "wave.f32", "--dims", "20x30x40", "--roi", "roi.toml"], here);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("roi.toml: line "), "{shape}: {told}");
        assert!(told.contains(expected), "{shape}: {told}");
    }
}

#[test]
fn the_demo_compares_uniform_and_roi_runs() {
    let folder = tempfile::tempdir().unwrap();
    let demo = json(&["demo", "--device", "cpu"], folder.path(), 0);
    let runs = demo["runs"].as_array().unwrap();
    for kind in ["uniform", "roi"] {
        let mut named = runs.iter().filter(|r| r["name"].as_str().unwrap().contains(kind));
        let run = named.next().unwrap();
        for key in ["ratio", "max_error_over_tau", "psnr_db", "roi_psnr_db", "compress_gbps", "decompress_gbps"] {
            assert!(run[key].is_number(), "{key}");
        }
        assert!(run["max_error_over_tau"].as_f64().unwrap() <= 1.0);
    }
    assert_eq!(names(folder.path()), ["demo.json", "demo.png"]);
}

#[test]
fn a_time_budget_needs_the_device_measured_once_and_then_picks_levels() {
    let (folder, _) = folder();
    let here = folder.path();
    let arguments =
        ["compress", "wave.f32", "-o", "w.bmg", "--dims", "20x30x40", "--f32", "--abs", "0.01", "--device", "cpu"];
    // The models go to a cache folder of the test's own, whatever the system calls it.
    let with_cache = |arguments: &[&str]| {
        let mut command = program(arguments, here);
        for name in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
            command.env(name, here.join("cache"));
        }
        command.output().unwrap()
    };
    let budget = |ms: &'static str| with_cache(&[&arguments[..], &["--budget-ms", ms, "--json"]].concat());
    let unmeasured = budget("1000");
    assert_eq!(unmeasured.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unmeasured.stderr).contains("blockmgard tune"));
    let tuned = with_cache(&["tune", "--device", "cpu", "--json"]);
    assert!(tuned.status.success(), "{}", String::from_utf8_lossy(&tuned.stderr));
    let tuned: Value = serde_json::from_slice(&tuned.stdout).unwrap();
    assert!(tuned["models"]["f32"]["local"]["peak"].as_f64().unwrap() > 0.0);
    let made = budget("100000");
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["params"]["mode"], "hybrid");
    assert_eq!(made["params"]["local_levels"], 0);
    assert!(made["params"]["global_levels"].as_u64().unwrap() >= 5);
    assert!(made["budget"]["measured_ms"].as_f64().unwrap() > 0.0);
    assert!(made["budget"]["choice"]["predicted_ms"].as_f64().unwrap() <= 100_000.0);
    assert_eq!(budget("1e-9").status.code(), Some(2));
}

#[test]
fn a_gpu_bench_without_a_gpu_says_so() {
    let (folder, _) = folder();
    let output = run(&["bench", "gpu", "--standin", "16x16x16"], folder.path());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || told.contains("NVIDIA"), "{told}");
}
