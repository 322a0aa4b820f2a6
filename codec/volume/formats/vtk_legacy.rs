//! Legacy VTK files (.vtk): structured points and rectilinear grids, binary (big-endian) or text.

use super::header_text::total_bytes;
use super::spacing::{Axis, place};
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use super::vtk_data::{as_f64, read_text};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, VariableInfo, map_file};
use crate::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::Arc;

/// Legacy VTK; see the module.
pub struct VtkLegacy;

impl Format for VtkLegacy {
    fn name(&self) -> &'static str {
        "VTK legacy"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["vtk"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.starts_with(b"# vtk DataFile")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let file = map_file(path)?;
        let open = || {
            let mut parser = Parser::new(&file, hints)?;
            parser.parse()?;
            if parser.variables.is_empty() {
                return Err(Error::invalid("the file holds no numeric point or cell data"));
            }
            StridedDataset::new(path.display().to_string(), parser.variables)
        };
        open().map(|d| Box::new(d) as _).map_err(|e: Error| e.in_file(path))
    }
}

struct Parser<'a> {
    file: &'a SharedBytes,
    bytes: &'a [u8],
    at: usize,
    text: bool,
    hints: &'a OpenHints,
    /// Nodes, origin and spacing per axis, x first.
    nodes: [usize; 3],
    origin: [f64; 3],
    spacing: [f64; 3],
    coordinates: [Option<Vec<f64>>; 3],
    /// Values per array of the section that is being read, and whether they are those of cells.
    section: Option<(usize, bool)>,
    variables: Vec<(VariableInfo, StridedArray)>,
}

impl<'a> Parser<'a> {
    fn new(file: &'a SharedBytes, hints: &'a OpenHints) -> Result<Self> {
        let bytes = (**file).as_ref();
        let mut parser = Self {
            file,
            bytes,
            at: 0,
            text: false,
            hints,
            nodes: [0; 3],
            origin: [0.0; 3],
            spacing: [1.0; 3],
            coordinates: [None, None, None],
            section: None,
            variables: Vec::new(),
        };
        parser.line();
        parser.line();
        parser.text = match parser.word()?.to_ascii_uppercase().as_str() {
            "ASCII" => true,
            "BINARY" => false,
            other => return Err(Error::corrupt(format!("'{other}' where ASCII or BINARY is due"))),
        };
        Ok(parser)
    }
    fn parse(&mut self) -> Result<()> {
        while let Some(keyword) = self.next_word() {
            match keyword.to_ascii_uppercase().as_str() {
                "DATASET" => self.dataset()?,
                "DIMENSIONS" => {
                    self.nodes = self.three()?;
                    if self.nodes.contains(&0) {
                        return Err(Error::corrupt("DIMENSIONS are three numbers above 0"));
                    }
                }
                "ORIGIN" => self.origin = self.three()?,
                "SPACING" | "ASPECT_RATIO" => self.spacing = self.three()?,
                "X_COORDINATES" => self.coordinate(0)?,
                "Y_COORDINATES" => self.coordinate(1)?,
                "Z_COORDINATES" => self.coordinate(2)?,
                "POINT_DATA" => self.section = Some((self.number()?, false)),
                "CELL_DATA" => self.section = Some((self.number()?, true)),
                "SCALARS" => self.scalars()?,
                "VECTORS" | "NORMALS" => self.named(3)?,
                "TENSORS" => self.named(9)?,
                "FIELD" => self.field()?,
                "METADATA" => self.skip_metadata(),
                "LOOKUP_TABLE" => {
                    // A table of colours: four bytes, or numbers, an entry.
                    self.word()?;
                    let entries: usize = self.number()?;
                    self.skip(entries, 4, StoredType::U8)?;
                }
                other => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(unsupported(format!("VTK sections '{shown}'")));
                }
            }
        }
        Ok(())
    }
    fn dataset(&mut self) -> Result<()> {
        let kind = self.word()?.to_ascii_uppercase();
        match kind.as_str() {
            "STRUCTURED_POINTS" | "RECTILINEAR_GRID" => Ok(()),
            _ => Err(unsupported(format!("VTK data of kind {kind}")).remedy("resample it to image data (.vti)")),
        }
    }
    fn coordinate(&mut self, axis: usize) -> Result<()> {
        let n: usize = self.number()?;
        let stored = self.stored_type()?;
        let (bytes, at, big_endian) = self.block(n, 1, stored)?;
        let values = &(*bytes).as_ref()[at..at + n * stored.bytes()];
        self.coordinates[axis] = Some(as_f64(values, stored, big_endian));
        Ok(())
    }
    /// `SCALARS name type [components]`, then `LOOKUP_TABLE name`.
    fn scalars(&mut self) -> Result<()> {
        let name = self.word()?;
        let stored = self.stored_type()?;
        let rest = self.line().map(|l| String::from_utf8_lossy(l).into_owned()).unwrap_or_default();
        let components = if rest.trim().is_empty() { 1 } else { parse_number(rest.trim())? };
        let mark = self.at;
        if !self.next_word().is_some_and(|w| w.eq_ignore_ascii_case("LOOKUP_TABLE")) {
            self.at = mark;
        } else {
            self.word()?;
        }
        self.variable(&name, components, None, stored)
    }
    fn named(&mut self, components: usize) -> Result<()> {
        let name = self.word()?;
        let stored = self.stored_type()?;
        self.variable(&name, components, None, stored)
    }
    /// `FIELD name arrays`, then `name components tuples type` for each.
    fn field(&mut self) -> Result<()> {
        self.word()?;
        let arrays: usize = self.number()?;
        for _ in 0..arrays {
            let mut name = self.word()?;
            while name == "METADATA" {
                self.skip_metadata();
                name = self.word()?;
            }
            let (components, tuples) = (self.number()?, self.number()?);
            let stored = self.stored_type()?;
            self.variable(&name, components, Some(tuples), stored)?;
        }
        Ok(())
    }
    /// Passes over the lines up to a blank one.
    fn skip_metadata(&mut self) {
        self.line();
        while self.line().is_some_and(|l| !l.trim_ascii().is_empty()) {}
    }
    fn variable(&mut self, name: &str, components: usize, tuples: Option<usize>, stored: StoredType) -> Result<()> {
        if components == 0 || components > 64 {
            return Err(unsupported(format!("VTK arrays of {components} components")));
        }
        let Some((count, cells)) = self.section else {
            // Field data of the whole file.
            return self.skip(tuples.unwrap_or(0), components, stored);
        };
        let n = self.nodes.map(|n| if cells { n.saturating_sub(1).max(1) } else { n });
        let count = tuples.unwrap_or(count);
        let expected = total_bytes(&n, 1, 1)?;
        if count != expected {
            return Err(Error::corrupt(format!(
                "{name}: {count} values for {expected} {}",
                if cells { "cells" } else { "nodes" }
            )));
        }
        let (bytes, at, big_endian) = self.block(count, components, stored)?;
        let mut extents: Vec<usize> = n.into_iter().rev().collect();
        while extents.len() > 1 && extents[0] == 1 {
            extents.remove(0);
        }
        for c in 0..components {
            let array = StridedArray::component(bytes.clone(), at, &extents, (c, components), stored, big_endian);
            let mut info = describe(&component_name(name, c, components), extents.clone(), &array, self.hints);
            self.place(&mut info, cells);
            self.variables.push((info, array));
        }
        Ok(())
    }
    fn place(&self, info: &mut VariableInfo, cells: bool) {
        let rank = info.extents.len();
        if self.coordinates.iter().any(Option::is_some) {
            let axis = |a: usize| Axis::new(["x", "y", "z"][a], self.coordinates[a].clone());
            let axes = (0..rank).rev().map(|a| if cells { axis(a).centres() } else { axis(a) });
            place(info, axes.collect());
        } else {
            let shift = if cells { 0.5 } else { 0.0 };
            info.spacing = Some((0..rank).rev().map(|a| self.spacing[a]).collect());
            info.origin = Some((0..rank).rev().map(|a| self.origin[a] + shift * self.spacing[a]).collect());
        }
        if cells {
            info.notes.push("cell data: the origin is the centre of the first cell".into());
        }
    }
    /// Passes over `count` values of `components` numbers each.
    fn skip(&mut self, count: usize, components: usize, stored: StoredType) -> Result<()> {
        self.block(count, components, stored).map(|_| ())
    }
    /// The values that come next: bytes that hold them, where, and their order.
    fn block(&mut self, count: usize, components: usize, stored: StoredType) -> Result<(SharedBytes, usize, bool)> {
        let values = total_bytes(&[count], components, 1)?;
        if self.text {
            let start = self.at;
            for _ in 0..values {
                self.next_word_bytes().ok_or_else(cut)?;
            }
            let native = read_text(&self.bytes[start..self.at], stored, values)?;
            return Ok((Arc::new(native), 0, cfg!(target_endian = "big")));
        }
        let bytes = total_bytes(&[values], 1, stored.bytes())?;
        // The rest of the line of the keyword, then the values.
        let mut at = self.at;
        while self.bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\r')) {
            at += 1;
        }
        if self.bytes.get(at) == Some(&b'\n') {
            at += 1;
        }
        let end = at.checked_add(bytes).filter(|&e| e <= self.bytes.len()).ok_or_else(cut)?;
        self.at = end;
        Ok((self.file.clone(), at, true))
    }
    fn stored_type(&mut self) -> Result<StoredType> {
        let name = self.word()?.to_ascii_lowercase();
        Ok(match name.as_str() {
            "unsigned_char" => StoredType::U8,
            "char" | "signed_char" => StoredType::I8,
            "unsigned_short" => StoredType::U16,
            "short" => StoredType::I16,
            "unsigned_int" => StoredType::U32,
            "int" => StoredType::I32,
            "unsigned_long" | "vtktypeuint64" | "unsigned_vtktypeint64" => StoredType::U64,
            "long" | "vtktypeint64" | "vtkidtype" => StoredType::I64,
            "float" => StoredType::F32,
            "double" => StoredType::F64,
            _ => return Err(unsupported(format!("VTK values of type '{name}'"))),
        })
    }
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|r| !r.is_empty())?;
        let len = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += (len + 1).min(rest.len());
        Some(&rest[..len])
    }
    fn next_word_bytes(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let len = rest[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - start);
        self.at += start + len;
        Some(&rest[start..start + len])
    }
    fn next_word(&mut self) -> Option<String> {
        self.next_word_bytes().map(|w| String::from_utf8_lossy(w).into_owned())
    }
    fn word(&mut self) -> Result<String> {
        self.next_word().ok_or_else(cut)
    }
    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        parse_number(&self.word()?)
    }
    fn three<T: std::str::FromStr>(&mut self) -> Result<[T; 3]> {
        Ok([self.number()?, self.number()?, self.number()?])
    }
}

fn parse_number<T: std::str::FromStr>(word: &str) -> Result<T> {
    word.parse().map_err(|_| {
        let shown: String = word.chars().take(40).collect();
        Error::corrupt(format!("'{shown}' where a number is due"))
    })
}

fn cut() -> Error {
    Error::truncated("the file ends early")
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compatibility, format!("{what} are not read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "# vtk DataFile Version 3.0\ntitle\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 3 1\nORIGIN 1 2 3\nSPACING 4 5 6\n";

    fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vtk");
        std::fs::write(&path, bytes).unwrap();
        VtkLegacy.open(&path, &OpenHints::default())
    }

    #[test]
    fn several_binary_arrays_follow_each_other() {
        let mut file = format!("{HEAD}POINT_DATA 6\nSCALARS rho float\nLOOKUP_TABLE default\n").into_bytes();
        file.extend((0..6).flat_map(|i| (i as f32).to_be_bytes()));
        file.extend(b"\nVECTORS v double\n");
        file.extend((0..18).flat_map(|i| (i as f64).to_be_bytes()));
        file.extend(b"\nFIELD f 1\nq 1 6 short\n");
        file.extend((0..6).flat_map(|i| (i as i16).to_be_bytes()));
        let d = open_bytes(&file).unwrap();
        let names: Vec<_> = d.variables().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["rho", "v.0", "v.1", "v.2", "q"]);
        assert_eq!(d.variables()[0].extents, [3, 2]);
        assert_eq!(d.variables()[0].spacing.as_deref(), Some(&[5.0, 4.0][..]));
        file.truncate(file.len() - 1);
        assert_eq!(open_bytes(&file).err().unwrap().kind, ErrorKind::Truncated);
    }

    #[test]
    fn claims_beyond_the_file_are_errors() {
        let huge = HEAD.replace("2 3 1", "4611686018427387904 4 4");
        assert!(open_bytes(format!("{huge}POINT_DATA 0\nSCALARS a float\nLOOKUP_TABLE default\n").as_bytes()).is_err());
        let text = HEAD.replace("BINARY", "ASCII");
        assert!(open_bytes(format!("{text}FIELD f 4000000000\n").as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_file_panics(text in any::<bool>(), body in "((POINT_DATA|CELL_DATA|SCALARS|VECTORS|FIELD|LOOKUP_TABLE|METADATA|DIMENSIONS|X_COORDINATES|SPACING|DATASET) [a-z0-9 .-]{0,20}( float| int)?\n){0,8}") {
            let head = if text { HEAD.replace("BINARY", "ASCII") } else { HEAD.to_string() };
            let _ = open_bytes(format!("{head}{body}").as_bytes());
        }
    }
}
