//! VTK XML image data (.vti) and rectilinear grids (.vtr), inline or appended, raw, base64 or text, compressed or not.

use super::header_text::total_bytes;
use super::spacing::{Axis, place};
use super::strided::{StridedArray, component_name, describe};
use super::vtk_data::{Base64Text, RawBytes, as_f64, read_text};
use super::vtk_head::{Array, Head, Place, Section};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, VariableInfo, Volume, map_file};
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// VTK XML; see the module.
pub struct VtkXml;

impl Format for VtkXml {
    fn name(&self) -> &'static str {
        "VTK XML"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["vti", "vtr"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.windows(8).any(|w| w == b"<VTKFile")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let bytes = map_file(path)?;
        let open = || {
            let head = Head::parse((*bytes).as_ref())?;
            VtkDataset::new(path.display().to_string(), bytes.clone(), head, hints)
        };
        open().map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

struct VtkDataset {
    source: String,
    bytes: SharedBytes,
    head: Head,
    infos: Vec<VariableInfo>,
    /// Array and component of each variable.
    places: Vec<(usize, usize)>,
}

impl VtkDataset {
    fn new(source: String, bytes: SharedBytes, head: Head, hints: &OpenHints) -> Result<Self> {
        let mut set = Self { source, bytes, head, infos: Vec::new(), places: Vec::new() };
        let coordinates = set.coordinates()?;
        for (i, array) in set.head.arrays.iter().enumerate().filter(|(_, a)| a.section != Section::Coordinates) {
            for c in 0..array.components {
                let extents = set.extents(array.section);
                let none: SharedBytes = Arc::new([0u8; 0]);
                let layout = StridedArray::component(
                    none,
                    0,
                    &extents,
                    (c, array.components),
                    array.stored,
                    set.head.binary.big_endian,
                );
                let mut info = describe(&component_name(&array.name, c, array.components), extents, &layout, hints);
                set.place(&mut info, array.section, &coordinates);
                set.infos.push(info);
                set.places.push((i, c));
            }
        }
        if set.infos.is_empty() {
            return Err(Error::invalid("the file holds no numeric point or cell data"));
        }
        Ok(set)
    }
    /// Extents slowest first, without leading axes of one node.
    fn extents(&self, section: Section) -> Vec<usize> {
        let n = self.head.nodes.map(|n| if section == Section::Cells { (n - 1).max(1) } else { n });
        let mut extents: Vec<usize> = n.into_iter().rev().collect();
        while extents.len() > 1 && extents[0] == 1 {
            extents.remove(0);
        }
        extents
    }
    /// Coordinates per axis, x first; empty for image data.
    fn coordinates(&self) -> Result<Vec<Vec<f64>>> {
        if !self.head.rectilinear {
            return Ok(Vec::new());
        }
        let arrays = self.head.arrays.iter().filter(|a| a.section == Section::Coordinates).zip(self.head.nodes);
        arrays
            .map(|(array, n)| {
                let (bytes, at) = self.values(array, n)?;
                let end = at + n * array.stored.bytes();
                Ok(as_f64(&(*bytes).as_ref()[at..end], array.stored, self.big_endian(array)))
            })
            .collect()
    }
    fn place(&self, info: &mut VariableInfo, section: Section, coordinates: &[Vec<f64>]) {
        let rank = info.extents.len();
        let cells = section == Section::Cells;
        if self.head.rectilinear {
            let axis = |a: usize| Axis::new(["x", "y", "z"][a], coordinates.get(a).cloned());
            let axes = (0..rank).rev().map(|a| if cells { axis(a).centres() } else { axis(a) });
            place(info, axes.collect());
        } else {
            let h = &self.head;
            let first = |a: usize| h.first[a] as f64 + if cells { 0.5 } else { 0.0 };
            info.spacing = Some((0..rank).rev().map(|a| h.spacing[a]).collect());
            info.origin = Some((0..rank).rev().map(|a| h.origin[a] + first(a) * h.spacing[a]).collect());
        }
        if cells {
            info.notes.push("cell data: the origin is the centre of the first cell".into());
        }
        if self.head.rotated {
            info.notes.push("the axes are rotated in space: spacing is kept, the rotation is not".into());
        }
    }
    /// Text is parsed to native bytes; everything else keeps the order of the file.
    fn big_endian(&self, array: &Array) -> bool {
        match array.place {
            Place::Text(_) => cfg!(target_endian = "big"),
            _ => self.head.binary.big_endian,
        }
    }
    /// Bytes that hold the `count` values of an array, and where in them.
    fn values(&self, array: &Array, count: usize) -> Result<(SharedBytes, usize)> {
        let expected = total_bytes(&[count], 1, array.stored.bytes())?;
        let all = (*self.bytes).as_ref();
        let binary = &self.head.binary;
        let decoded = match &array.place {
            Place::Text(r) => read_text(&all[r.clone()], array.stored, count)?,
            Place::Base64(r) => binary.read(&Base64Text(&all[r.clone()]), expected)?,
            Place::Appended(offset) => {
                let (start, base64) =
                    self.head.appended.ok_or_else(|| Error::corrupt("an array is appended, but nothing is"))?;
                let start = start.saturating_add(*offset).min(all.len());
                if base64 {
                    binary.read(&Base64Text(&all[start..]), expected)?
                } else if binary.compression.is_some() {
                    binary.read(&RawBytes(&all[start..]), expected)?
                } else {
                    binary.check_length(&RawBytes(&all[start..]), expected)?;
                    return Ok((self.bytes.clone(), start + binary.header_bytes()));
                }
            }
        };
        Ok((Arc::new(decoded), 0))
    }
}

impl Dataset for VtkDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, &(array, component)) = self
            .infos
            .get(variable)
            .zip(self.places.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let array = &self.head.arrays[array];
        let count = total_bytes(&info.extents, array.components, 1)?;
        let (bytes, offset) = self.values(array, count).map_err(|e| e.in_file(Path::new(&self.source)))?;
        let place = (component, array.components);
        let big_endian = self.big_endian(array);
        StridedArray::component(bytes, offset, &info.extents, place, array.stored, big_endian).open_checked(
            info,
            &self.source,
            &info.name,
            step,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::volume::Values;
    use proptest::prelude::*;

    fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vti");
        std::fs::write(&path, bytes).unwrap();
        VtkXml.open(&path, &OpenHints::default())
    }

    fn text_file(extent: &str, values: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\"><ImageData WholeExtent=\"{extent}\" \
             Origin=\"1 2 3\" Spacing=\"4 5 6\"><Piece Extent=\"{extent}\"><PointData>\
             <DataArray type=\"Float32\" Name=\"a &amp; b\" NumberOfComponents=\"2\" format=\"ascii\">{values}</DataArray>\
             </PointData></Piece></ImageData></VTKFile>"
        )
    }

    #[test]
    fn inline_text_components_and_geometry() {
        let d = open_bytes(text_file("1 2 0 1 0 0", "1 10 2 20 3 30 4 40").as_bytes()).unwrap();
        let info = &d.variables()[1];
        assert_eq!((info.name.as_str(), &info.extents[..]), ("a & b.1", &[2, 2][..]));
        assert_eq!(info.origin.as_deref(), Some(&[2.0, 5.0][..]));
        let Values::F32(f) = d.open(1, 0).unwrap().values else { panic!("f32 was stored") };
        let mut row = [0.0; 2];
        f.read_row(0, 1, 0, &mut row).unwrap();
        assert_eq!(row, [30.0, 40.0]);
    }

    #[test]
    fn missing_values_and_absurd_extents_are_errors() {
        let short = open_bytes(text_file("0 1 0 1 0 0", "1 2 3").as_bytes()).unwrap();
        assert_eq!(short.open(0, 0).err().unwrap().kind, ErrorKind::Truncated);
        let wide = text_file("0 9223372036854775806 0 9223372036854775806 0 5", "1");
        assert!(open_bytes(wide.as_bytes()).and_then(|d| d.open(0, 0)).is_err());
        assert!(open_bytes(text_file("5 1 0 1 0 0", "").as_bytes()).is_err());
        let deep = format!("<VTKFile type=\"ImageData\">{}", "<a>".repeat(100_000));
        assert!(open_bytes(deep.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_damaged_file_panics(at in 0usize..400, byte in any::<u8>(), cut in 0usize..500) {
            let mut bytes = text_file("0 1 0 1 0 0", "1 10 2 20 3 30 4 40").into_bytes();
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            bytes.truncate(bytes.len().saturating_sub(cut / 4));
            if let Ok(d) = open_bytes(&bytes) {
                let _ = d.open(0, 0);
            }
        }
    }
}
