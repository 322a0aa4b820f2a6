//! Raw files: nothing but values. Shape and type come from hints, a sidecar or the file's name, in that order.

use super::array::{ArrayDataset, MappedArray, default_axes};
use super::filename::{facts_from_name, variable_from_name};
use super::sidecar::{Endian, Sidecar};
use super::{Dataset, Format, OpenHints, StoredType, VariableInfo, map_file, suggest_shapes};
use crate::{Error, Result};
use std::path::Path;

/// The raw format; see the module.
pub struct Raw;

impl Format for Raw {
    fn name(&self) -> &'static str {
        "raw"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["f32", "f64", "d64", "float", "double", "raw", "bin", "dat"]
    }
    fn sniff(&self, _path: &Path, _head: &[u8]) -> bool {
        false
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let side = Sidecar::find(path)?.unwrap_or_default();
        let facts = facts_from_name(&name);
        let bytes = map_file(path)?;
        let length = (*bytes).as_ref().len() as u64;
        let offset = if hints.offset > 0 { hints.offset } else { side.offset.unwrap_or(0) };
        let content = length.checked_sub(offset).filter(|&b| b > 0).ok_or_else(|| {
            Error::invalid(format!("{name} has {length} bytes, all before the offset {offset}"))
                .remedy("give a smaller offset")
        })?;
        let stored = hints.dtype.or(side.dtype).or(facts.stored).ok_or_else(|| unknown_type(&name, content))?;
        let dims = hints.dims.clone().or_else(|| side.dims.clone()).or(facts.dims);
        let dims = dims.ok_or_else(|| unknown_shape(&name, content, stored))?;
        check_size(&name, content, &dims, stored)?;
        let big_endian = hints.big_endian.or(side.endian.map(|e| e == Endian::Big)).or(facts.big_endian);
        let info = describe(&name, dims, stored, big_endian.unwrap_or(false), hints, side)?;
        let array =
            MappedArray { bytes, offset, stored, big_endian: big_endian.unwrap_or(false), fortran_order: false };
        Ok(Box::new(ArrayDataset::new(path.display().to_string(), vec![(info, array)])?))
    }
}

fn describe(
    name: &str,
    dims: Vec<usize>,
    stored: StoredType,
    big_endian: bool,
    hints: &OpenHints,
    side: Sidecar,
) -> Result<VariableInfo> {
    let rank = dims.len();
    let fits = |what: &str, len: Option<usize>| match len {
        Some(len) if len != rank => {
            Err(Error::invalid(format!("sidecar of {name}: {what} has {len} entries for {rank} axes"))
                .remedy("give one entry per axis, slowest first"))
        }
        _ => Ok(()),
    };
    fits("axes", side.axes.as_ref().map(Vec::len))?;
    fits("spacing", side.spacing.as_ref().map(Vec::len))?;
    fits("origin", side.origin.as_ref().map(Vec::len))?;
    let missing = if hints.missing.is_empty() { side.missing } else { hints.missing.clone() };
    Ok(VariableInfo {
        name: side.variable.unwrap_or_else(|| variable_from_name(name).to_string()),
        axes: side.axes.unwrap_or_else(|| default_axes(rank)),
        extents: dims,
        stored: format!("{stored} {}-endian", if big_endian { "big" } else { "little" }),
        dtype: stored.delivered(),
        units: side.units,
        long_name: None,
        missing,
        valid: None,
        spacing: side.spacing,
        origin: side.origin,
        coordinates: Vec::new(),
        axis_units: Vec::new(),
        axis_attributes: Vec::new(),
        notes: stored.conversion_note().into_iter().collect(),
    })
}

fn check_size(name: &str, bytes: u64, dims: &[usize], stored: StoredType) -> Result<()> {
    let need = dims.iter().try_fold(stored.bytes() as u64, |p, &d| p.checked_mul(d as u64));
    if need == Some(bytes) && bytes > 0 {
        return Ok(());
    }
    let shape = join(dims);
    let need = need.map_or("far more".to_string(), |n| n.to_string());
    Err(Error::invalid(format!("{name}: {shape} {stored} values are {need} bytes, but there are {bytes}"))
        .remedy(fitting(bytes, stored)))
}

fn unknown_type(name: &str, bytes: u64) -> Error {
    let remedy = if bytes.is_multiple_of(4) {
        "give the type of its values (f32, f64, ...), or end its name with .f32 or .f64, or write a sidecar".to_string()
    } else {
        format!("{bytes} bytes are no multiple of 4: no f32 or f64 file; an offset may help")
    };
    Error::invalid(format!("{name}: the type of its values is not known")).remedy(remedy)
}

fn unknown_shape(name: &str, bytes: u64, stored: StoredType) -> Error {
    Error::invalid(format!("{name}: the shape of its {bytes} bytes of {stored} values is not known"))
        .remedy(fitting(bytes, stored))
}

fn fitting(bytes: u64, stored: StoredType) -> String {
    let shapes = suggest_shapes(bytes, stored);
    if shapes.is_empty() {
        return format!(
            "{bytes} bytes are no multiple of {}: check the type, or skip a header (offset)",
            stored.bytes()
        );
    }
    let list: Vec<_> = shapes.iter().map(|s| join(s)).collect();
    format!("give its shape (dims), slowest axis first; these fit: {}", list.join(", "))
}

fn join(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{DType, Values, Volume, open};

    fn write(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn values_f32(v: &Volume) -> Vec<f32> {
        let Values::F32(f) = &v.values else { panic!("f32 expected") };
        let mut out = vec![0.0; v.shape.len()];
        f.read_region(&v.shape.region(), &mut out).unwrap();
        out
    }

    #[test]
    fn a_big_endian_series_opens_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..2 * 3 * 4 * 5).flat_map(|i| (i as f32).to_be_bytes()).collect();
        let path = write(&dir, "theta_2x3x4x5_bigendian.f32", &bytes);
        let set = open(&path, &OpenHints::default()).unwrap();
        assert_eq!(set.variables()[0].steps(), 2);
        assert_eq!(set.variables()[0].axes, ["t", "z", "y", "x"]);
        let second = set.open(0, 1).unwrap();
        assert_eq!((second.shape.n, second.meta.step), ([3, 4, 5], Some(1)));
        assert_eq!(values_f32(&second), (60..120).map(|i| i as f32).collect::<Vec<_>>());
        assert!(set.open(0, 2).is_err() && set.open(1, 0).is_err());
    }

    #[test]
    fn a_wrong_size_is_refused_with_shapes_that_fit() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(&dir, "a_5x5x5.f32", &[0; 4 * 216]);
        let e = open(&path, &OpenHints::default()).err().unwrap();
        assert!(e.message.contains("500 bytes") && e.remedy.contains("6x6x6"), "{e}");
        let path = write(&dir, "plain.bin.f32", &[0; 4 * 216]);
        let e = open(&path, &OpenHints::default()).err().unwrap();
        assert!(e.remedy.contains("6x6x6"), "{e}");
        let e = open(&write(&dir, "what.dat", &[0; 8]), &OpenHints::default()).err().unwrap();
        assert!(e.remedy.contains("f32"), "{e}");
        assert!(open(&write(&dir, "none_1x1.f32", &[]), &OpenHints::default()).is_err());
    }

    #[test]
    fn hints_outrank_the_sidecar_and_the_sidecar_outranks_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(&dir, "a_9x9.f32", &[0; 8 * 12 + 3]);
        write(&dir, "a_9x9.f32.toml", b"dims=[3,4]\ndtype='f64'\noffset=3\nunits='K'\nspacing=[1,2]\nmissing=[-1.0]\n");
        let v = open(&path, &OpenHints::default()).unwrap().open(0, 0).unwrap();
        assert_eq!((v.shape.extents(), v.values.dtype()), (&[3, 4][..], DType::F64));
        assert_eq!((v.meta.units.as_deref(), v.meta.spacing.as_deref()), (Some("K"), Some(&[1.0, 2.0][..])));
        assert_eq!(v.missing.patterns, [(-1f64).to_bits()]);
        let hints = OpenHints { dims: Some(vec![2, 6]), ..OpenHints::default() };
        assert_eq!(open(&path, &hints).unwrap().open(0, 0).unwrap().shape.extents(), [2, 6]);
        write(&dir, "a_9x9.f32.toml", b"dims=[3,4]\ndtype='f64'\noffset=3\nspacing=[1]\n");
        assert!(open(&path, &OpenHints::default()).err().unwrap().message.contains("spacing"));
    }

    #[test]
    fn native_files_are_borrowed_and_others_converted() {
        let dir = tempfile::tempdir().unwrap();
        let native: Vec<u8> = [1f32, f32::NAN, 3.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let v = open(&write(&dir, "n.f32", &native), &OpenHints { dims: Some(vec![3]), ..Default::default() });
        let v = v.unwrap().open(0, 0).unwrap();
        let Values::F32(f) = &v.values else { panic!() };
        assert_eq!(f.as_slice().map(|s| s.len()), Some(3));
        let v = open(&write(&dir, "c_2x2_u8.raw", &[0, 1, 2, 255]), &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = &v.values else { panic!() };
        assert!(f.as_slice().is_none());
        assert_eq!(values_f32(&v), [0.0, 1.0, 2.0, 255.0]);
    }

    #[test]
    fn more_than_2_to_the_31_values_are_reached_without_reading_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse_32769x65536.f32");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(32769 * 65536 * 4).unwrap();
        use std::io::{Seek, SeekFrom, Write};
        (&file).seek(SeekFrom::End(-4)).unwrap();
        (&file).write_all(&7f32.to_le_bytes()).unwrap();
        let v = open(&path, &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = &v.values else { panic!() };
        let mut last = [0.0; 2];
        f.read_row(0, 32768, 65534, &mut last).unwrap();
        assert_eq!((v.shape.len() > 1 << 31, last), (true, [0.0, 7.0]));
    }
}
