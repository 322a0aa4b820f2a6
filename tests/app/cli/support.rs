//! The program run in a folder of its own, and raw files.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program with these arguments, in this folder.
pub fn program(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockmgard"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

/// Its end and what it said.
pub fn run(arguments: &[&str], folder: &Path) -> Output {
    program(arguments, folder).output().unwrap()
}

/// Runs with --json, expects `code`, gives the JSON.
pub fn json(arguments: &[&str], folder: &Path, code: i32) -> Value {
    let output = run(&[arguments, &["--json"]].concat(), folder);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {told}"))
}

/// A folder with `wave.f32`, 20x30x40 values.
pub fn folder() -> (tempfile::TempDir, Vec<f32>) {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..20 * 30 * 40).map(|i| (i % 40) as f32 * 0.5 + ((i / 40) as f32 * 0.1).sin()).collect();
    write(&folder.path().join("wave.f32"), &values);
    (folder, values)
}

/// Little-endian.
pub fn write(path: &Path, values: &[f32]) {
    std::fs::write(path, values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()).unwrap();
}

/// The values behind the first `skip` bytes.
pub fn read(path: &Path, skip: usize) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes[skip..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// What a folder holds, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
