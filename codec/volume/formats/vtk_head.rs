//! The XML of a VTK file: grid, arrays and where their values are.

use super::expand::Compression;
use super::header_text::numbers;
use super::vtk_data::Binary;
use crate::volume::StoredType;
use crate::{Error, ErrorKind, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// Where the values of an array are.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    Base64(Range<usize>),
    Text(Range<usize>),
    /// Bytes after the `_` of the appended data.
    Appended(usize),
}

#[derive(Clone, Debug)]
pub struct Array {
    pub name: String,
    pub stored: StoredType,
    pub components: usize,
    pub place: Place,
    pub section: Section,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Points,
    Cells,
    Coordinates,
}

/// What the XML says.
pub struct Head {
    pub binary: Binary,
    pub rectilinear: bool,
    /// Nodes per axis, x first, and the index of the first.
    pub nodes: [usize; 3],
    pub first: [i64; 3],
    pub origin: [f64; 3],
    pub spacing: [f64; 3],
    pub rotated: bool,
    pub arrays: Vec<Array>,
    /// First appended byte, and whether base64 is there.
    pub appended: Option<(usize, bool)>,
}

/// The XML ends where appended data begin: those need not be XML.
fn xml_end(bytes: &[u8]) -> usize {
    const TAG: &[u8] = b"<AppendedData";
    let tag = bytes.windows(TAG.len()).position(|w| w == TAG);
    let close = tag.and_then(|t| bytes[t..].iter().position(|&b| b == b'>').map(|p| t + p + 1));
    close.unwrap_or(bytes.len())
}

impl Head {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
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
