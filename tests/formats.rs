//! Every format is read as what it holds, and what is written comes back bit for bit.

use blockmgard::backend::Cpu;
use blockmgard::job::{compress_to_vec, decompress_volume, value_extent};
use blockmgard::metrics::{Comparison, compare};
use blockmgard::stream::{Archive, Provenance};
use blockmgard::volume::write::{Payload, WriteFormat, write_file};
use blockmgard::volume::{
    AxisAttributes, Dataset, Element, Metadata, OpenHints, SliceField, Values, Volume, open, suspect_missing,
};
use blockmgard::{Control, Mode, Params, Region, Shape, ToleranceMap, with_values};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats").join(name)
}

/// The values as f64, whatever their type.
fn values_of(volume: &Volume, region: &Region) -> Vec<f64> {
    fn all<T: Element>(field: &dyn blockmgard::volume::Field<T>, region: &Region) -> Vec<f64> {
        let mut out = vec![T::ZERO; region.len()];
        field.read_region(region, &mut out).unwrap();
        out.into_iter().map(T::to_f64).collect()
    }
    with_values!(&volume.values, f => all(f.as_ref(), region))
}

fn bits_of(volume: &Volume) -> Vec<u64> {
    fn all<T: Element>(field: &dyn blockmgard::volume::Field<T>, region: &Region) -> Vec<u64> {
        let mut out = vec![T::ZERO; region.len()];
        field.read_region(region, &mut out).unwrap();
        out.into_iter().map(T::to_bits64).collect()
    }
    with_values!(&volume.values, f => all(f.as_ref(), &volume.shape.region()))
}

fn open_named(path: &Path, variable: &str) -> (Box<dyn Dataset>, usize) {
    let dataset = open(path, &OpenHints::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let found = dataset.variables().iter().position(|v| variable.is_empty() || v.name == variable);
    let found = found.unwrap_or_else(|| panic!("{} has no {variable}", path.display()));
    (dataset, found)
}

/// File and variable of the same volume, 3 x 4 x 5 values of 100 z + 10 y + x, in every format.
const SAME: &[(&str, &str)] = &[
    ("classic.nc", "v"),
    ("netcdf4.nc", "v"),
    ("plain.h5", "group/v"),
    ("v.mha", ""),
    ("v.mhd", ""),
    ("v.nrrd", ""),
    ("v.nii.gz", ""),
    ("two.nii", ""),
    ("v.mrc", ""),
    ("v.fits", ""),
    ("v.tif", ""),
    ("v.npz", "v"),
    ("slices", ""),
    ("numbered", ""),
    ("three.zarr", ""),
    ("two.zarr", ""),
    ("zipped.vti", "v"),
    ("raw.vti", "v"),
    ("text.vtr", "v"),
    ("inline.vtr", "v"),
    ("binary.vtk", "v"),
    ("text.vtk", "v"),
    ("brick.bov", "v"),
];

#[test]
fn every_format_opens_with_the_same_values() {
    for (file, variable) in SAME {
        let (dataset, v) = open_named(&data(file), variable);
        assert_eq!(dataset.variables()[v].extents, [3, 4, 5], "{file}");
        let volume = dataset.open(v, 0).unwrap();
        let whole = values_of(&volume, &volume.shape.region());
        let expected = (0..60).map(|i| (i / 20 * 100 + i / 5 % 4 * 10 + i % 5) as f64);
        assert!(whole.iter().copied().eq(expected), "{file}: {whole:?}");
        let corner = Region { lo: [1, 2, 3], hi: [3, 4, 5] };
        assert_eq!(values_of(&volume, &corner), [123., 124., 133., 134., 223., 224., 233., 234.], "{file}");
        assert!(dataset.open(v, 1).is_err() && dataset.open(99, 0).is_err(), "{file}");
    }
}

#[test]
fn units_and_geometry_come_with_the_values() {
    let (dataset, v) = open_named(&data("netcdf4.nc"), "v");
    let info = &dataset.variables()[v];
    assert_eq!(info.units.as_deref(), Some("K"));
    assert_eq!(info.axes, ["z", "y", "x"]);
    assert_eq!(info.spacing.as_deref(), Some(&[1.0, 1.0, 0.5][..]));
    assert_eq!(info.origin.as_deref(), Some(&[0.0, 0.0, 1.0][..]));
    assert_eq!(info.missing, [-999.0]);
    assert_eq!(dataset.open(v, 0).unwrap().missing.patterns, [(-999f32).to_bits() as u64]);
    for file in ["v.mha", "v.mhd", "v.nrrd"] {
        let (dataset, v) = open_named(&data(file), "");
        assert_eq!(dataset.variables()[v].spacing.as_deref(), Some(&[2.0, 1.0, 0.5][..]), "{file}");
        assert_eq!(dataset.variables()[v].origin.as_deref(), Some(&[9.0, 8.0, 7.0][..]), "{file}");
    }
}

/// Normal values, both zeros, infinities and NaNs with payload.
fn odd_values<T: Element>(n: usize) -> Vec<T> {
    let special = [T::ZERO, -T::ZERO, T::INFINITY, -T::INFINITY, T::from_bits64(T::INFINITY.to_bits64() | 0x123)];
    let value = |i: usize| special.get(i).copied().unwrap_or_else(|| T::from_f64((i as f64 * 0.37).sin() * 1e3));
    (0..n).map(value).collect()
}

fn volume_of<T: Element>(extents: &[usize], wrap: fn(Arc<dyn blockmgard::volume::Field<T>>) -> Values) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let rank = extents.len();
    let values: &'static [T] = odd_values(shape.len()).leak();
    Volume {
        shape,
        values: wrap(Arc::new(SliceField::new(values, shape.n))),
        meta: Metadata {
            variable: "temp".into(),
            long_name: Some("sea \"surface\"\ntemperature".into()),
            units: Some("K < 300 & more".into()),
            axes: ["depth", "lat", "lon"][3 - rank..].iter().map(|s| s.to_string()).collect(),
            spacing: Some([2.0, -0.5, 0.1][3 - rank..].to_vec()),
            origin: Some([10.0, 80.25, 1e-3][3 - rank..].to_vec()),
            ..Metadata::default()
        },
        missing: Default::default(),
    }
}

#[test]
fn every_written_format_comes_back_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let shapes: [&[usize]; 4] = [&[5, 6, 7], &[1, 4, 9], &[6, 7], &[40]];
    for extents in shapes {
        for volume in [volume_of::<f32>(extents, Values::F32), volume_of::<f64>(extents, Values::F64)] {
            for format in WriteFormat::ALL.into_iter().filter(|f| *f != WriteFormat::Raw) {
                let path = dir.path().join(format!("a.{}", format.extensions()[0]));
                write_file(&path, format, &Payload::volume(&volume)).unwrap();
                let (dataset, v) = open_named(&path, "");
                let back = dataset.open(v, 0).unwrap();
                let what = format!("{} {extents:?} {:?}", format.name(), volume.values.dtype());
                assert_eq!(back.values.dtype(), volume.values.dtype(), "{what}");
                assert_eq!(bits_of(&back), bits_of(&volume), "{what}");
                if extents[0] > 1 {
                    check_geometry(format, &back, &volume, &what);
                }
            }
        }
    }
    assert!(std::fs::read_dir(dir.path()).unwrap().all(|f| !f.unwrap().file_name().to_string_lossy().contains("part")));
}

/// What each format can hold beside the values.
fn check_geometry(format: WriteFormat, back: &Volume, volume: &Volume, what: &str) {
    assert_eq!(back.shape, volume.shape, "{what}");
    if format == WriteFormat::Npy {
        return;
    }
    let close = |a: &Option<Vec<f64>>, b: &Option<Vec<f64>>| {
        let (a, b) = (a.as_ref().unwrap(), b.as_ref().unwrap());
        // NIfTI-1 keeps single precision.
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-6 * y.abs())
    };
    assert!(close(&back.meta.spacing, &volume.meta.spacing), "{what} {:?}", back.meta.spacing);
    assert!(close(&back.meta.origin, &volume.meta.origin), "{what} {:?}", back.meta.origin);
    if matches!(format, WriteFormat::Nrrd | WriteFormat::NetCdf) {
        assert_eq!(back.meta.axes, volume.meta.axes, "{what}");
        assert_eq!(back.meta.units, volume.meta.units, "{what}");
    }
}

#[test]
fn fill_values_are_written_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mut volume = volume_of::<f32>(&[4, 5, 6], Values::F32);
    volume.missing = vec![(-999f32).to_bits() as u64].into();
    write_file(&path, WriteFormat::NetCdf, &Payload::volume(&volume)).unwrap();
    let (dataset, v) = open_named(&path, "temp");
    assert_eq!(dataset.variables()[v].missing, [-999.0]);
    assert_eq!(dataset.open(v, 0).unwrap().missing, volume.missing);
}

#[test]
fn uneven_axes_come_back_where_the_format_holds_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut volume = volume_of::<f32>(&[4, 5, 6], Values::F32);
    volume.meta.coordinates = vec![vec![0.0, 10.0, 25.5, 1e3], vec![], vec![]];
    volume.meta.axis_units = vec!["m".into(), "degrees_north".into(), String::new()];
    let said = |key: &str, text: &str| AxisAttributes::from([(key.to_owned(), text.to_owned())]);
    volume.meta.axis_attributes = vec![said("calendar", "360_day"), said("axis", "Y"), said("positive", "up")];
    let box_of_it = Region { lo: [1, 0, 2], hi: [4, 5, 6] };
    let map = ToleranceMap::uniform(&volume.shape, 1e-3).unwrap();
    let provenance = Provenance { volume: volume.meta.clone(), ..Provenance::default() };
    let control = Control::default();
    let stream = compress_to_vec(&volume, &map, &Params::default(), &Cpu, &provenance, &control).unwrap().0;
    let archive = Archive::from_bytes(stream).unwrap();
    let part = decompress_volume(&archive, &box_of_it, &Cpu, None, &control).unwrap().0;
    assert_eq!(part.meta.coordinates, [vec![10.0, 25.5, 1e3], vec![], vec![]]);
    for format in [WriteFormat::NetCdf, WriteFormat::Vtr] {
        let path = dir.path().join(format!("a.{}", format.extensions()[0]));
        for written in [&volume, &part] {
            write_file(&path, format, &Payload::volume(written)).unwrap();
            let (dataset, v) = open_named(&path, "temp");
            let back = dataset.open(v, 0).unwrap();
            assert!(format.keeps_coordinates());
            assert_eq!(back.meta.coordinates, written.meta.coordinates, "{}", format.name());
            if format == WriteFormat::NetCdf {
                assert_eq!(back.meta.axis_units, written.meta.axis_units);
                assert_eq!(back.meta.axis_attributes, volume.meta.axis_attributes);
            }
            let noted = |n: &String| n.contains("not evenly spaced");
            assert!(dataset.variables()[v].notes.iter().any(noted));
        }
    }
}

#[test]
fn values_outside_the_valid_range_are_missing_and_come_back_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let shape = Shape::new(&[10, 20, 30]).unwrap();
    // Over land a different large number at every node, as some models leave behind.
    let land = |i: usize| i.is_multiple_of(5);
    let values: &'static [f32] =
        (0..6000).map(|i| if land(i) { 1e9 + i as f32 * 100.0 } else { (i % 17) as f32 }).collect::<Vec<_>>().leak();
    let mut volume = volume_of::<f32>(&[10, 20, 30], Values::F32);
    volume.values = Values::F32(Arc::new(SliceField::new(values, shape.n)));
    volume.missing.valid = Some([0.0, 100.0]);
    write_file(&path, WriteFormat::NetCdf, &Payload::volume(&volume)).unwrap();
    let (dataset, v) = open_named(&path, "temp");
    assert_eq!(dataset.variables()[v].valid, Some([0.0, 100.0]));
    let opened = dataset.open(v, 0).unwrap();
    let control = Control::default();
    let extent = value_extent(&opened, &control).unwrap();
    assert_eq!((extent.min, extent.max), (0.0, 16.0), "land is no part of the range");
    let map = ToleranceMap::uniform(&shape, 0.25).unwrap();
    let provenance = Provenance { missing: opened.missing.clone(), ..Provenance::default() };
    for params in [Params::default(), Params { mode: Mode::Hybrid, ..Params::default() }] {
        let stream = compress_to_vec(&opened, &map, &params, &Cpu, &provenance, &control).unwrap().0;
        let archive = Archive::from_bytes(stream).unwrap();
        let back = decompress_volume(&archive, &shape.region(), &Cpu, None, &control).unwrap().0;
        assert_eq!(back.missing, opened.missing);
        let (before, after) = (bits_of(&volume), bits_of(&back));
        assert!((0..6000).all(|i| !land(i) || before[i] == after[i]));
        let values = values_of(&back, &shape.region());
        assert!((0..6000).all(|i| land(i) || (0.0..=100.0).contains(&values[i])), "what was valid is valid");
        let comparison = Comparison {
            original: &opened,
            reconstructed: &back,
            tolerance: &map,
            background: None,
            compressed_bytes: None,
        };
        let report = compare(&comparison, &control).unwrap();
        assert_eq!((report.violations, report.special_changed), (0, 0));
        assert!(report.max_error <= 0.25);
    }
}

#[test]
fn masks_come_back_with_the_geometry_of_their_volume() {
    let dir = tempfile::tempdir().unwrap();
    let volume = volume_of::<f32>(&[5, 6, 7], Values::F32);
    let mask: Vec<u8> = (0..210).map(|i| (i % 7 == 0) as u8 * 3).collect();
    for (format, ending) in [(WriteFormat::Nrrd, "nrrd"), (WriteFormat::Npy, "npy")] {
        let path = dir.path().join(format!("mask.{ending}"));
        write_file(&path, format, &Payload::mask(&mask, volume.shape, &volume.meta).unwrap()).unwrap();
        let (dataset, v) = open_named(&path, "");
        let back = dataset.open(v, 0).unwrap();
        assert!(values_of(&back, &back.shape.region()).iter().zip(&mask).all(|(a, b)| *a == *b as f64));
        if format == WriteFormat::Nrrd {
            assert_eq!(back.meta.spacing, volume.meta.spacing);
        }
    }
    assert!(Payload::mask(&mask[1..], volume.shape, &volume.meta).is_err());
}

#[test]
fn endings_name_their_format_or_the_choice_is_listed() {
    assert_eq!(WriteFormat::from_path(Path::new("a/b.NRRD")).unwrap(), WriteFormat::Nrrd);
    assert_eq!(WriteFormat::from_path(Path::new("density.d64")).unwrap(), WriteFormat::Raw);
    assert!(WriteFormat::from_path(Path::new("a.xyz")).unwrap_err().remedy.contains(".vti"));
}

#[test]
fn a_row_of_a_huge_file_comes_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.nrrd");
    let head = "NRRD0004\ntype: float\ndimension: 3\nsizes: 2048 1024 4096\nendian: little\nencoding: raw\n\n";
    std::fs::write(&path, head).unwrap();
    // A hole: 32 GiB that are not there on disk.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    if file.set_len(head.len() as u64 + (32 << 30)).is_err() {
        return;
    }
    let start = std::time::Instant::now();
    let (dataset, v) = open_named(&path, "");
    let volume = dataset.open(v, 0).unwrap();
    let row = Region { lo: [4095, 1023, 0], hi: [4096, 1024, 2048] };
    assert!(values_of(&volume, &row).iter().all(|v| *v == 0.0));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn a_code_over_land_is_suspected() {
    let values: &'static [f32] =
        (0..6000).map(|i| if i % 3 == 0 { 1e20 } else { 280.0 + (i % 17) as f32 }).collect::<Vec<_>>().leak();
    let shape = Shape::new(&[10, 20, 30]).unwrap();
    let mut volume = volume_of::<f32>(&[10, 20, 30], Values::F32);
    volume.values = Values::F32(Arc::new(SliceField::new(values, shape.n)));
    assert_eq!(suspect_missing(&volume).unwrap(), Some(1e20f32 as f64));
    volume.missing = vec![1e20f32.to_bits() as u64].into();
    assert_eq!(suspect_missing(&volume).unwrap(), None);
}
