//! Damaged files and headers of any content give an error, in bounded time and without a panic; what is written reads back.
//!
//! A few hundred files a run; `BLOCKMGARD_FUZZ_SECONDS=600 cargo test --release --test formats_fuzz` goes on for longer.

use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::volume::{Element, Field, Metadata, OpenHints, Values, VecField, Volume, open};
use blockmgard::{Region, Shape, with_values};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// Numbers that headers lie with.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u64..12).prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        Just(u64::MAX.to_string()),
        Just((1u64 << 60).to_string()),
        "[a-z0-9.+-]{0,8}",
    ]
}

fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(number(), count).prop_map(|w| w.join(" "))
}

/// One line of a header: a key of the format, or any text.
fn line(keys: &'static [&'static str], separator: &'static str) -> impl Strategy<Value = String> {
    let known = (prop::sample::select(keys), words(0..7)).prop_map(move |(key, w)| format!("{key}{separator}{w}"));
    let kind = prop::sample::select(
        &["float", "MET_FLOAT", "FLOAT", "raw", "ascii", "gzip", "LIST", "LOCAL", "s%d 0 2 1"][..],
    );
    let typed = (prop::sample::select(keys), kind).prop_map(move |(key, w)| format!("{key}{separator}{w}"));
    prop_oneof![4 => known, 3 => typed, 1 => "\\PC{0,30}"]
}

/// A header of a text format: name of the file, first line, keys, what follows a key.
type Dialect = (&'static str, &'static str, &'static [&'static str], &'static str);

const DIALECTS: &[Dialect] = &[
    (
        "a.nrrd",
        "NRRD0005",
        &[
            "type",
            "dimension",
            "sizes",
            "encoding",
            "endian",
            "space directions",
            "spacings",
            "data file",
            "byte skip",
            "kinds",
            "line skip",
            "labels",
        ],
        ": ",
    ),
    (
        "a.mha",
        "NDims = 3",
        &[
            "DimSize",
            "ElementType",
            "ElementDataFile",
            "ElementSpacing",
            "HeaderSize",
            "CompressedData",
            "Offset",
            "ElementNumberOfChannels",
        ],
        " = ",
    ),
    (
        "a.bov",
        "DATA_FILE: a.bov",
        &["DATA_SIZE", "DATA_FORMAT", "DATA_ENDIAN", "BYTE_OFFSET", "DATA_COMPONENTS", "BRICK_SIZE", "DATA_FILE"],
        ": ",
    ),
    (
        "a.vtk",
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_POINTS",
        &[
            "DIMENSIONS",
            "ORIGIN",
            "SPACING",
            "POINT_DATA",
            "CELL_DATA",
            "SCALARS a float",
            "LOOKUP_TABLE",
            "FIELD",
            "VECTORS v",
            "X_COORDINATES",
            "DATASET",
        ],
        " ",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn text_headers_of_any_content_are_read_or_refused(
        (dialect, lines) in prop::sample::select(DIALECTS).prop_flat_map(|d| (Just(d), prop::collection::vec(line(d.2, d.3), 0..14))),
        tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(dialect.0);
        let text = format!("{}\n{}\n\n", dialect.1, lines.join("\n"));
        std::fs::write(&path, [text.as_bytes(), &tail].concat()).unwrap();
        let start = Instant::now();
        exercise(&path);
        prop_assert!(start.elapsed() < SLOW);
    }

    #[test]
    fn any_name_unit_and_place_is_written_so_that_it_reads_back(
        extents in prop::collection::vec(1usize..7, 1..=3),
        name in "\\PC{0,12}",
        units in prop::option::of("\\PC{1,12}"),
        step in prop_oneof![1e-6..1e6f64, -1e3..-1e-3f64],
        start in -1e9..1e9f64,
        wide in any::<bool>(),
    ) {
        let shape = Shape::new(&extents).unwrap();
        let bits: Vec<u64> = (0..shape.len() as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let values = if wide {
            Values::F64(Arc::new(VecField::new(bits.iter().map(|&b| f64::from_bits(b)).collect(), shape.n)))
        } else {
            Values::F32(Arc::new(VecField::new(bits.iter().map(|&b| f32::from_bits((b >> 32) as u32)).collect(), shape.n)))
        };
        let meta = Metadata {
            variable: name,
            units,
            spacing: Some(vec![step; extents.len()]),
            origin: Some(vec![start; extents.len()]),
            ..Metadata::default()
        };
        let volume = Volume { shape, values, meta, missing: Default::default() };
        let dir = tempfile::tempdir().unwrap();
        for format in WriteFormat::ALL.into_iter().filter(|f| *f != WriteFormat::Raw) {
            let path = dir.path().join(format!("a.{}", format.extensions()[0]));
            write_file(&path, format, &Payload::volume(&volume)).unwrap();
            let dataset = open(&path, &OpenHints::default()).unwrap();
            prop_assert_eq!(dataset.variables().len(), 1, "{}", format.name());
            let back = dataset.open(0, 0).unwrap();
            prop_assert_eq!(all_bits(&back), all_bits(&volume), "{}", format.name());
            if format == WriteFormat::NetCdf {
                prop_assert_eq!(&back.meta.units, &volume.meta.units.clone().filter(|u| !u.trim().is_empty()));
            }
        }
    }
}

fn all_bits(volume: &Volume) -> Vec<u64> {
    fn of<T: Element>(field: &dyn Field<T>) -> Vec<u64> {
        let n = field.extents();
        let mut out = vec![T::ZERO; n.iter().product()];
        field.read_region(&Region { lo: [0; 3], hi: n }, &mut out).unwrap();
        out.into_iter().map(T::to_bits64).collect()
    }
    with_values!(&volume.values, f => of(f.as_ref()))
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
