//! VTK XML image data (.vti) and rectilinear grids (.vtr), inline or appended, raw, base64 or text, compressed or not.

use super::expand::Compression;
use super::header_text::{numbers, total_bytes};
use super::spacing::geometry;
use super::strided::{StridedArray, component_name, describe};
use super::vtk_data::{Base64Text, Binary, RawBytes, as_f64, read_text};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, VariableInfo, Volume, map_file};
use crate::{Error, ErrorKind, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;
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

/// Where the values of an array are.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Base64(Range<usize>),
    Text(Range<usize>),
    /// Bytes after the `_` of the appended data.
    Appended(usize),
}

#[derive(Clone, Debug)]
struct Array {
    name: String,
    stored: StoredType,
    components: usize,
    place: Place,
    section: Section,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Points,
    Cells,
    Coordinates,
}

/// What the XML says.
struct Head {
    binary: Binary,
    rectilinear: bool,
    /// Nodes per axis, x first, and the index of the first.
    nodes: [usize; 3],
    first: [i64; 3],
    origin: [f64; 3],
    spacing: [f64; 3],
    rotated: bool,
    arrays: Vec<Array>,
    /// First appended byte, and whether base64 is there.
    appended: Option<(usize, bool)>,
}

/// The XML ends where appended data begin: those need not be XML.
fn xml_end(bytes: &[u8]) -> usize {
    const TAG: &[u8] = b"<AppendedData";
    let tag = bytes.windows(TAG.len()).position(|w| w == TAG);
    let close = tag.and_then(|t| bytes[t..].iter().position(|&b| b == b'>').map(|p| t + p + 1));
    close.unwrap_or(bytes.len())
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::from_reader(&bytes[..xml_end(bytes)]);
        let mut head = Head {
            binary: Binary { big_endian: false, word: 4, compression: None },
            rectilinear: false,
            nodes: [0; 3],
            first: [0; 3],
            origin: [0.0; 3],
            spacing: [1.0; 3],
            rotated: false,
            arrays: Vec::new(),
            appended: None,
        };
        let (mut section, mut pieces) = (None, 0);
        let failed = |e: &dyn std::fmt::Display| Error::corrupt(format!("the XML is damaged: {e}"));
        loop {
            let before = reader.buffer_position() as usize;
            let event = reader.read_event().map_err(|e| failed(&e))?;
            let after = reader.buffer_position() as usize;
            // Values end where the next tag begins, be it a child's.
            if matches!(event, Event::Start(_) | Event::Empty(_) | Event::End(_)) {
                head.end_inline(before);
            }
            match &event {
                Event::Start(e) | Event::Empty(e) => match e.name().as_ref() {
                    b"VTKFile" => head.file(e)?,
                    b"ImageData" | b"RectilinearGrid" => head.grid(e)?,
                    b"Piece" => {
                        pieces += 1;
                        head.piece(e, pieces)?;
                    }
                    b"PointData" => section = Some(Section::Points),
                    b"CellData" => section = Some(Section::Cells),
                    b"Coordinates" => section = Some(Section::Coordinates),
                    b"DataArray" => head.array(e, section, after)?,
                    b"AppendedData" => head.append(e, bytes, after)?,
                    _ => {}
                },
                Event::End(e) if matches!(e.name().as_ref(), b"PointData" | b"CellData" | b"Coordinates") => {
                    section = None
                }
                Event::Eof => break,
                _ => {}
            }
            if head.appended.is_some() {
                break;
            }
        }
        if pieces != 1 || head.nodes.contains(&0) {
            return Err(Error::corrupt("the file has no piece with an extent"));
        }
        Ok(head)
    }
    fn file(&mut self, e: &BytesStart) -> Result<()> {
        let kind = attribute(e, "type").unwrap_or_default();
        if !matches!(kind.as_str(), "ImageData" | "RectilinearGrid") {
            return Err(unsupported(format!("VTK data of type {kind}")).remedy("resample it to image data (.vti)"));
        }
        self.binary.big_endian = attribute(e, "byte_order").is_some_and(|o| o == "BigEndian");
        self.binary.word = if attribute(e, "header_type").is_some_and(|t| t == "UInt64") { 8 } else { 4 };
        self.binary.compression = match attribute(e, "compressor").as_deref() {
            None | Some("") => None,
            Some("vtkZLibDataCompressor") => Some(Compression::Zlib),
            Some("vtkLZ4DataCompressor") => Some(Compression::Lz4),
            Some(other) => return Err(unsupported(format!("VTK files of {other}")).remedy("write it with zlib or LZ4")),
        };
        Ok(())
    }
    fn grid(&mut self, e: &BytesStart) -> Result<()> {
        self.rectilinear = e.name().as_ref() == b"RectilinearGrid";
        self.extent(&attribute(e, "WholeExtent").ok_or_else(|| Error::corrupt("the grid has no WholeExtent"))?)?;
        let three = |key: &str, default: f64| -> Result<[f64; 3]> {
            let Some(text) = attribute(e, key) else { return Ok([default; 3]) };
            numbers(key, &text)?.try_into().map_err(|_| Error::corrupt(format!("{key} is three numbers")))
        };
        self.origin = three("Origin", 0.0)?;
        self.spacing = three("Spacing", 1.0)?;
        let direction: Vec<f64> = attribute(e, "Direction").map_or(Ok(Vec::new()), |d| numbers("Direction", &d))?;
        self.rotated = direction.iter().enumerate().any(|(i, d)| *d != if i % 4 == 0 { 1.0 } else { 0.0 });
        Ok(())
    }
    fn extent(&mut self, text: &str) -> Result<()> {
        let e: Vec<i64> = numbers("Extent", text)?;
        let bad = || Error::corrupt(format!("'{text}' is no extent: six numbers, each pair rising"));
        if e.len() != 6 {
            return Err(bad());
        }
        for a in 0..3 {
            let n = e[2 * a + 1].checked_sub(e[2 * a]).and_then(|d| d.checked_add(1));
            self.nodes[a] = n.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0).ok_or_else(bad)?;
            self.first[a] = e[2 * a];
        }
        Ok(())
    }
    fn piece(&mut self, e: &BytesStart, pieces: usize) -> Result<()> {
        let whole = (self.nodes, self.first);
        if let Some(text) = attribute(e, "Extent") {
            self.extent(&text)?;
        }
        if pieces > 1 || whole != (self.nodes, self.first) {
            return Err(unsupported("VTK files of several pieces").remedy("save the data as one piece"));
        }
        Ok(())
    }
    fn array(&mut self, e: &BytesStart, section: Option<Section>, text_start: usize) -> Result<()> {
        let (Some(section), Some(stored)) = (section, attribute(e, "type").and_then(|t| stored_type(&t))) else {
            return Ok(());
        };
        let number = |key: &str| {
            attribute(e, key)
                .map(|t| t.trim().parse::<usize>().map_err(|_| Error::corrupt(format!("'{key}' is no number"))))
        };
        let inline = text_start..text_start;
        let place = match attribute(e, "format").as_deref() {
            Some("appended") => Place::Appended(number("offset").transpose()?.unwrap_or(0)),
            Some("binary") => Place::Base64(inline),
            _ => Place::Text(inline),
        };
        let components = number("NumberOfComponents").transpose()?.unwrap_or(1).max(1);
        if components > 64 {
            return Err(Error::corrupt(format!("an array of {components} components")));
        }
        let name = attribute(e, "Name").unwrap_or_else(|| "value".into());
        self.arrays.push(Array { name, stored, components, place, section });
        Ok(())
    }
    /// The text of the last array ends here.
    fn end_inline(&mut self, end: usize) {
        if let Some(Array { place: Place::Base64(range) | Place::Text(range), .. }) = self.arrays.last_mut()
            && range.start == range.end
        {
            range.end = end.max(range.start);
        }
    }
    fn append(&mut self, e: &BytesStart, bytes: &[u8], after: usize) -> Result<()> {
        let base64 = attribute(e, "encoding").is_none_or(|c| c != "raw");
        let mark = bytes[after..].iter().take(4096).position(|&b| b == b'_');
        let mark = mark.ok_or_else(|| Error::corrupt("the appended data do not start with '_'"))?;
        self.appended = Some((after + mark + 1, base64));
        Ok(())
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
        let shift = if section == Section::Cells { 0.5 } else { 0.0 };
        if self.head.rectilinear {
            let axes = (0..rank).rev().map(|a| (["x", "y", "z"][a].to_string(), coordinates.get(a).cloned()));
            let (spacing, origin, notes) = geometry(&axes.collect::<Vec<_>>());
            (info.spacing, info.origin) = (spacing, origin);
            info.notes.extend(notes);
        } else {
            let h = &self.head;
            info.spacing = Some((0..rank).rev().map(|a| h.spacing[a]).collect());
            info.origin = Some((0..rank).rev().map(|a| h.origin[a] + h.first[a] as f64 * h.spacing[a]).collect());
        }
        if let (Some(origin), Some(spacing)) = (&mut info.origin, &info.spacing) {
            origin.iter_mut().zip(spacing).for_each(|(o, s)| *o += shift * s);
        }
        if section == Section::Cells {
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

fn stored_type(name: &str) -> Option<StoredType> {
    Some(match name {
        "UInt8" => StoredType::U8,
        "Int8" => StoredType::I8,
        "UInt16" => StoredType::U16,
        "Int16" => StoredType::I16,
        "UInt32" => StoredType::U32,
        "Int32" => StoredType::I32,
        "UInt64" => StoredType::U64,
        "Int64" => StoredType::I64,
        "Float32" => StoredType::F32,
        "Float64" => StoredType::F64,
        _ => return None,
    })
}

fn attribute(e: &BytesStart, key: &str) -> Option<String> {
    let found = e.attributes().with_checks(false).flatten().find(|a| a.key.as_ref() == key.as_bytes())?;
    let text = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&text).map(|t| t.into_owned()).unwrap_or(text))
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compatibility, format!("{what} are not read"))
}

#[cfg(test)]
mod tests {
    use super::*;
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
