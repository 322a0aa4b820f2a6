//! The Rust half of `formats_check.py`: opens files and writes what it read for Python to compare.

use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::volume::{Metadata, OpenHints, open};
use blockmgard::{Tier, ToleranceMap};
use std::path::{Path, PathBuf};

/// Reads the file list `$BLOCKMGARD_CHECK/files.txt` and writes an .npy file for the first and the last step of every
/// variable, with an index, into the same folder.
#[test]
#[ignore = "run by tests/formats_check.py"]
fn dump_for_python() {
    let dir = PathBuf::from(std::env::var_os("BLOCKMGARD_CHECK").expect("formats_check.py sets BLOCKMGARD_CHECK"));
    let list = std::fs::read_to_string(dir.join("files.txt")).unwrap();
    let index: Vec<_> = list.lines().enumerate().map(|(i, file)| dump_file(Path::new(file), &dir, i)).collect();
    std::fs::write(dir.join("index.json"), serde_json::to_string_pretty(&index).unwrap()).unwrap();
}

fn dump_file(path: &Path, dir: &Path, number: usize) -> serde_json::Value {
    let dataset = match open(path, &OpenHints::default()) {
        Ok(d) => d,
        Err(e) => return serde_json::json!({ "file": path, "error": e.to_string() }),
    };
    let mut dumped = Vec::new();
    for (v, info) in dataset.variables().iter().enumerate() {
        let mut steps = vec![0, info.steps() - 1];
        steps.dedup();
        for step in steps {
            let name = format!("{number}_{v}_{step}.npy");
            let outcome = dataset
                .open(v, step)
                .and_then(|volume| {
                    write_file(&dir.join(&name), WriteFormat::Npy, &Payload::volume(&volume))?;
                    Ok(Payload::volume(&volume).missing)
                })
                .map_err(|e| e.to_string());
            dumped.push(match outcome {
                Ok(missing) => {
                    serde_json::json!({ "info": info, "step": step, "npy": name, "missing_values": missing })
                }
                Err(e) => serde_json::json!({ "info": info, "step": step, "error": e }),
            });
        }
    }
    serde_json::json!({ "file": path, "variables": dumped })
}

/// Writes `$BLOCKMGARD_CHECK/written/source.npy` in every format, with a mask and a tolerance map beside it.
#[test]
#[ignore = "run by tests/formats_check.py"]
fn write_for_python() {
    let dir = PathBuf::from(std::env::var_os("BLOCKMGARD_CHECK").expect("formats_check.py sets BLOCKMGARD_CHECK"));
    let dir = dir.join("written");
    let mut volume = open(&dir.join("source.npy"), &OpenHints::default()).unwrap().open(0, 0).unwrap();
    volume.meta = Metadata {
        variable: "temp".into(),
        units: Some("K".into()),
        axes: ["level", "lat", "lon"].map(String::from).to_vec(),
        spacing: Some(vec![2.0, 0.5, 0.25]),
        origin: Some(vec![10.0, -3.0, 7.0]),
        ..Metadata::default()
    };
    volume.missing = vec![(-999f32).to_bits() as u64].into();
    for format in WriteFormat::ALL {
        let path = dir.join(format!("a.{}", format.extensions()[0]));
        write_file(&path, format, &Payload::volume(&volume)).unwrap();
    }
    volume.meta.coordinates = vec![(0..volume.shape.n[0]).map(|i| (i * i) as f64).collect(), vec![], vec![]];
    volume.meta.axis_units = vec!["m".into(), "degrees_north".into(), "degrees_east".into()];
    volume.missing.valid = Some([-5.0, 5.0]);
    for (name, format) in [("uneven.nc", WriteFormat::NetCdf), ("uneven.vtr", WriteFormat::Vtr)] {
        write_file(&dir.join(name), format, &Payload::volume(&volume)).unwrap();
    }
    (volume.meta.coordinates, volume.meta.axis_units, volume.missing.valid) = (vec![], vec![], None);
    let mask: Vec<u8> = (0..volume.shape.len()).map(|i| (i % 3 == 0) as u8).collect();
    let mut map = ToleranceMap::uniform(&volume.shape, 0.5).unwrap();
    map.tiers.push(Tier { name: "ignored".into(), tau: f64::INFINITY });
    map.tier_of_block.iter_mut().enumerate().for_each(|(i, t)| *t = (i % 2) as u8);
    for (format, ending) in [(WriteFormat::Nrrd, "nrrd"), (WriteFormat::Npy, "npy")] {
        let payload = Payload::mask(&mask, volume.shape, &volume.meta).unwrap();
        write_file(&dir.join(format!("mask.{ending}")), format, &payload).unwrap();
        let payload = Payload::tolerance_map(&map, &volume.shape, &volume.meta).unwrap();
        write_file(&dir.join(format!("map.{ending}")), format, &payload).unwrap();
    }
}
