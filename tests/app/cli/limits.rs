//! Volumes far larger than memory, and work that is stopped half-way.

use crate::support::{names, program};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of `planes` planes of 512x512 values that is far larger than the memory the job gets; mostly a hole on the disk.
fn large_file(folder: &Path, planes: usize) -> PathBuf {
    use std::io::{Seek, SeekFrom, Write};
    let path = folder.join("large.f32");
    let mut file = std::fs::File::create(&path).unwrap();
    let plane: Vec<u8> = (0..512 * 512).flat_map(|i| ((i % 512) as f32 * 0.01).sin().to_le_bytes()).collect();
    for z in (0..planes).step_by(40) {
        file.seek(SeekFrom::Start((z * plane.len()) as u64)).unwrap();
        file.write_all(&plane).unwrap();
    }
    file.set_len((planes * plane.len()) as u64).unwrap();
    path
}

/// Runs to the end and returns the most anonymous memory seen, in bytes (pages of mapped files are the system's to drop).
#[cfg(target_os = "linux")]
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("RssAnon:"));
        let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0);
        peak = peak.max(kib * 1024);
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert!(ended.success());
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn volumes_far_larger_than_the_memory_allowed_go_through_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let planes = 512;
    let allowed = 128 << 20;
    large_file(here, planes);
    for mode in ["pyramid", "hybrid"] {
        let common = ["--abs", "0.01", "--memory", "128MiB", "--mode", mode, "--device", "cpu"];
        let compress =
            [&["compress", "large.f32", "-o", "l.bmg", "--dims", "512x512x512", "--f32"], &common[..]].concat();
        let used = peak_memory(&mut program(&compress, here));
        assert!(used < allowed, "{mode}: {used} bytes to compress");
        let back = ["decompress", "l.bmg", "-o", "back.f32", "--memory", "128MiB", "--device", "cpu"];
        let used = peak_memory(&mut program(&back, here));
        assert!(used < allowed, "{mode}: {used} bytes to decompress");
        assert_eq!(std::fs::metadata(here.join("back.f32")).unwrap().len(), planes as u64 * 512 * 512 * 4);
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    large_file(here, 512);
    let arguments = ["compress", "large.f32", "-o", "l.bmg", "--dims", "512x512x512", "--f32", "--abs", "1e-6"];
    let mut child = program(&arguments, here).stderr(Stdio::null()).spawn().unwrap();
    while !here.join("l.bmg.part").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the job ended before it could be stopped");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(names(here), ["large.f32"]);
}
