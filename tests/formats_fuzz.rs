//! Damaged files of every format give an error, in bounded time and without a panic.
//!
//! A few hundred files a run; `BLOCKMGARD_FUZZ_SECONDS=600 cargo test --release --test formats_fuzz` goes on for longer.

use blockmgard::volume::{Element, Field, OpenHints, open};
use blockmgard::with_values;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Larger reads than this are not tried: a damaged header may rightly describe a large volume of holes.
const MAX_ROW: usize = 1 << 20;
const SLOW: Duration = Duration::from_secs(10);

/// A generator of pseudo-random numbers (splitmix64): the same files in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    /// Flips, overwrites, cuts, repeats or removes some bytes.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len());
            match self.below(7) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..(at + self.below(16)).min(bytes.len()))),
                2 => {
                    let piece = bytes[at..(at + self.below(64)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
                3 => (at..(at + 8).min(bytes.len())).for_each(|i| bytes[i] = 0xff),
                4 => (at..(at + 4).min(bytes.len())).for_each(|i| bytes[i] = b'9'),
                _ => {
                    let bit = self.below(8);
                    bytes.get_mut(at).into_iter().for_each(|b| *b ^= 1 << bit);
                }
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
    }
}

fn files(path: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// Opens a data set and reads the first and the last row of every variable; errors are fine.
fn exercise(path: &Path) {
    fn rows<T: Element>(field: &dyn Field<T>) {
        let [nz, ny, nx] = field.extents();
        let mut row = vec![T::ZERO; nx.min(MAX_ROW)];
        let _ = field.read_row(0, 0, 0, &mut row);
        let _ = field.read_row(nz - 1, ny - 1, nx - row.len(), &mut row);
    }
    let hints = OpenHints::default();
    let Ok(dataset) = open(path, &hints) else { return };
    for (i, info) in dataset.variables().iter().enumerate().take(8) {
        if let Ok(volume) = dataset.open(i, info.steps().saturating_sub(1)) {
            with_values!(&volume.values, f => rows(f.as_ref()));
        }
    }
}

#[test]
fn damaged_files_are_errors_and_nothing_worse() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats");
    let mut all = Vec::new();
    files(&source, &mut all);
    all.sort();
    let seconds = std::env::var("BLOCKMGARD_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random(std::env::var("BLOCKMGARD_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1));
    let mut round = 0;
    while round < 10 || Instant::now() < end {
        for file in &all {
            let dir = tempfile::tempdir().unwrap();
            let part = file.strip_prefix(&source).unwrap();
            let top = part.components().next().unwrap();
            copy(&source, &dir.path().join("x"), top.as_os_str(), part);
            let target = dir.path().join("x").join(part);
            let mut bytes = std::fs::read(&target).unwrap();
            random.damage(&mut bytes);
            std::fs::write(&target, &bytes).unwrap();
            let start = Instant::now();
            exercise(&dir.path().join("x").join(top));
            if start.elapsed() > SLOW {
                let kept =
                    std::env::temp_dir().join("blockmgard-slow").with_extension(part.extension().unwrap_or_default());
                std::fs::write(&kept, &bytes).unwrap();
                panic!("{} damaged took {:?}; kept as {}", part.display(), start.elapsed(), kept.display());
            }
        }
        round += 1;
    }
}

/// Copies the data set that `part` belongs to, with the data file of a detached header.
fn copy(source: &Path, target: &Path, top: &std::ffi::OsStr, part: &Path) {
    let mut wanted = Vec::new();
    if source.join(top).is_dir() {
        files(&source.join(top), &mut wanted)
    } else {
        wanted.push(source.join(part))
    }
    let beside = [("mhd", "raw"), ("bov", "dat")];
    let ending = part.extension().and_then(|e| e.to_str());
    wanted.extend(beside.iter().filter(|(h, _)| Some(*h) == ending).map(|(_, d)| source.join(part).with_extension(d)));
    for file in wanted {
        let to = target.join(file.strip_prefix(source).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(&to, std::fs::read(&file).unwrap()).unwrap();
    }
}
