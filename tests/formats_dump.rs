//! The Rust half of `formats_check.py`: opens files and writes what it read for Python to compare.

use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::volume::{OpenHints, open};
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
