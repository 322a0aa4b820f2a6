//! Specs on the command line: boxes of a volume, what is told of regions, and names that someone else chose.

use crate::support::{folder, json, run};
use serde_json::{Value, json as value};
use std::path::Path;

/// A spec of a loose tier and a strict one with these regions.
fn spec(folder: &Path, regions: &str) {
    let head = "background = \"loose\"\ntier = [{ name = \"loose\", tolerance.abs = 1.0 }, \
                { name = \"strict\", tolerance.abs = 1e-4 }]\n";
    std::fs::write(folder.join("roi.toml"), format!("{head}{regions}")).unwrap();
}

fn region(shape: &str) -> String {
    format!("[[region]]\ntier = \"strict\"\nshape.{shape}\n")
}

const DIMS: [&str; 2] = ["--dims", "20x30x40"];

fn map(folder: &Path, more: &[&str]) -> Value {
    json(&[&["roi", "map", "wave.f32", "--roi", "roi.toml"], &DIMS[..], more].concat(), folder, 0)
}

#[test]
fn positions_of_a_spec_are_those_of_the_file_with_a_box_too() {
    let (folder, _) = folder();
    let here = folder.path();
    spec(here, &region("box = { lo = [8, 8, 24], hi = [16, 16, 32] }"));
    let boxed = ["--box", "8:20,0:30,16:40"];
    let made = ["compress", "wave.f32", "-o", "b.bmg", "--roi", "roi.toml", "--device", "cpu"];
    let made = json(&[&made[..], &DIMS, &boxed].concat(), here, 0);
    assert_eq!((&made["shape"], &made["tiers"][1]["blocks"]), (&value!([12, 30, 24]), &value!(1)));
    let info = json(&["info", "b.bmg"], here, 0);
    let kept = &info["provenance"]["roi"]["region"][0]["shape"]["box"];
    assert_eq!(
        (&kept["lo"], &kept["hi"]),
        (&value!([0, 8, 8]), &value!([8, 16, 16])),
        "in the stream they are the stream's"
    );
    assert_eq!(map(here, &boxed)["remarks"], value!([]));
    let away = map(here, &["--box", "0:8,0:30,:"]);
    assert!(away["remarks"][0].as_str().unwrap().contains("outside the box"), "{away}");
    assert_eq!(away["tiers"][1]["blocks"], 0);
}

#[test]
fn regions_that_hold_nothing_or_are_cut_off_are_told_by_file_and_line() {
    let (folder, _) = folder();
    let here = folder.path();
    spec(here, &[region("value = { min = 1e9 }"), region("box = { lo = [0, 0, 0], hi = [99, 8, 8] }")].concat());
    let remarks = map(here, &[])["remarks"].clone();
    for (remark, expected) in
        remarks.as_array().unwrap().iter().zip(["line 3: region 1 holds no voxel", "region 2 reaches"])
    {
        let remark = remark.as_str().unwrap();
        assert!(remark.contains("roi.toml") && remark.contains(expected), "{remark}");
    }
    assert_eq!(remarks.as_array().unwrap().len(), 2);
    let made = ["compress", "wave.f32", "-o", "w.bmg", "--roi", "roi.toml"];
    assert_eq!(json(&[&made[..], &DIMS].concat(), here, 0)["remarks"], remarks);
}

#[test]
fn a_name_that_no_table_bears_is_refused() {
    let (folder, _) = folder();
    let here = folder.path();
    let long = "x".repeat(65_600);
    std::fs::write(
        here.join("roi.toml"),
        format!("background = \"{long}\"\n[[tier]]\nname = \"{long}\"\ntolerance.abs = 1\n"),
    )
    .unwrap();
    let output = run(&[&["roi", "map", "wave.f32", "--roi", "roi.toml"], &DIMS[..]].concat(), here);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("65600 characters") && told.len() < 500, "{told}");
}

#[test]
fn an_option_of_the_other_mode_is_wrong_usage() {
    let (folder, _) = folder();
    let here = folder.path();
    let made = ["compress", "wave.f32", "-o", "w.bmg", "--rel", "1e-3", "--dims", "20x30x40"];
    for options in [&["-L", "2"][..], &["-M", "2"], &["--entropy", "class"], &["--mode", "hybrid", "--tile", "8"]] {
        let output = run(&[&made[..], options].concat(), here);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains("changes nothing without"), "{options:?}: {told}");
    }
    json(&[&made[..], &["-L", "1", "--mode", "hybrid"]].concat(), here, 0);
}

#[test]
fn a_ratio_says_what_it_is_against_and_a_range_of_which_step() {
    let (folder, _) = folder();
    let here = folder.path();
    let bytes: Vec<u8> = (0..24_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(here.join("it's.u8"), bytes).unwrap();
    let made = ["compress", "it's.u8", "-o", "u.bmg", "--abs", "0", "--type", "u8", "--dims", "20x30x40"];
    let told = json(&made, here, 0);
    let ratio = |key: &str| told[key].as_f64().unwrap();
    assert!((ratio("ratio_of_stored") - ratio("ratio") / 4.0).abs() < 1e-12);
    let text = String::from_utf8(run(&made, here).stdout).unwrap();
    assert!(text.contains("of 32-bit floats (") && text.contains("of the file's 8-bit values)"), "{text}");
    assert_eq!(
        json(&["verify", "it's.u8", "u.bmg"], here, 0)["violations"],
        0,
        "the command in the stream is read back"
    );
    let whole = json(&["compress", "wave.f32", "-o", "w.bmg", "--abs", "0.1", "--dims", "20x30x40"], here, 0);
    assert!(whole["ratio_of_stored"].is_null());
    let series = json(&["info", "wave.f32", "--dims", "2x10x30x40"], here, 0);
    assert_eq!(series["variables"][0]["range_of_step"], 0);
    assert!(json(&["info", "wave.f32", "--dims", "20x30x40"], here, 0)["variables"][0]["range_of_step"].is_null());
}
