//! NRRD (.nrrd, .nhdr): a text header in front of the data or beside it
//! (<https://teem.sourceforge.net/nrrd/format.html>).

use super::expand::{Compression, expand};
use super::header_text::{lines, map_beside, number, numbers, reversed_extents, stem, total_bytes};
use super::many_files::{join_beside, slice_names};
use super::strided::{StridedArray, StridedDataset, component_name, describe};
use crate::volume::{Dataset, Format, OpenHints, SharedBytes, StoredType, VariableInfo, map_file};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// NRRD; see the module.
pub struct Nrrd;

impl Format for Nrrd {
    fn name(&self) -> &'static str {
        "NRRD"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["nrrd", "nhdr"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.starts_with(b"NRRD0")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let file = map_file(path)?;
        let open = || -> Result<StridedDataset> {
            let header = Header::parse((*file).as_ref())?;
            let (bytes, offset) = header.data(path, &file)?;
            header.dataset(path, bytes, offset, hints)
        };
        open().map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

/// What the header says.
#[derive(Debug, Default)]
struct Header {
    /// Fields by their lower-case name.
    fields: HashMap<String, String>,
    /// `key:=value` pairs.
    pairs: HashMap<String, String>,
    /// First byte after the blank line that ends the header.
    end: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut header = Header::default();
        let mut lines = lines(bytes);
        if !lines.next().is_some_and(|(l, _)| l.starts_with("NRRD0")) {
            return Err(Error::corrupt("no NRRD file: it does not start with NRRD0"));
        }
        for (line, end) in lines {
            header.end = end;
            if line.is_empty() {
                return Ok(header);
            }
            if let Some((key, value)) = line.split_once(":=") {
                header.pairs.insert(key.trim().to_string(), value.trim().to_string());
            } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
                header.fields.insert(key.trim().to_ascii_lowercase(), value.trim().to_string());
                if header.data_file().is_some_and(|f| f.starts_with("LIST")) {
                    // The names of the files follow up to the end.
                    return Ok(header);
                }
            }
        }
        // A detached header may end with its last line.
        if header.data_file().is_some() { Ok(header) } else { Err(Error::truncated("the NRRD header does not end")) }
    }
    fn get(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(String::as_str)
    }
    fn need(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| Error::corrupt(format!("the NRRD header lacks '{key}'")))
    }
    fn data_file(&self) -> Option<&str> {
        self.get("data file").or_else(|| self.get("datafile"))
    }
    fn stored(&self) -> Result<StoredType> {
        let name = self.need("type")?.to_ascii_lowercase();
        let short = name.trim_end_matches("_t").trim_start_matches("signed ");
        Ok(match short {
            "char" | "int8" => StoredType::I8,
            "uchar" | "unsigned char" | "uint8" => StoredType::U8,
            "short" | "short int" | "int16" => StoredType::I16,
            "ushort" | "unsigned short" | "unsigned short int" | "uint16" => StoredType::U16,
            "int" | "int32" => StoredType::I32,
            "uint" | "unsigned int" | "uint32" => StoredType::U32,
            "longlong" | "long long" | "long long int" | "int64" => StoredType::I64,
            "ulonglong" | "unsigned long long" | "unsigned long long int" | "uint64" => StoredType::U64,
            "float" => StoredType::F32,
            "double" => StoredType::F64,
            _ => return Err(unsupported(format!("NRRD values of type '{name}'"))),
        })
    }
    fn extents(&self) -> Result<Vec<usize>> {
        let extents = reversed_extents("sizes", self.need("sizes")?)?;
        let rank: usize = number("dimension", self.need("dimension")?)?;
        if rank != extents.len() {
            return Err(Error::corrupt(format!("NRRD dimension {rank} with {} sizes", extents.len())));
        }
        Ok(extents)
    }
    /// The decoded bytes and where the values start in them.
    fn data(&self, path: &Path, file: &SharedBytes) -> Result<(SharedBytes, usize)> {
        let total = total_bytes(&self.extents()?, 1, self.stored()?.bytes())?;
        let (bytes, start) = match self.data_file() {
            None => (file.clone(), self.end),
            Some(f) => {
                let list = if f.starts_with("LIST") { (**file).as_ref().get(self.end..) } else { None };
                match slice_names(f, list)? {
                    Some(names) if self.need("encoding")?.eq_ignore_ascii_case("raw") => {
                        return Ok((join_beside(path, &names, total)?, 0));
                    }
                    Some(_) => return Err(unsupported("NRRD data compressed in several files")),
                    None => (map_beside(path, f)?, 0),
                }
            }
        };
        let start = self.skip_lines((*bytes).as_ref(), start)?;
        let skip: i64 = self.get("byte skip").or(self.get("byteskip")).map_or(Ok(0), |s| number("byte skip", s))?;
        let encoding = self.need("encoding")?.to_ascii_lowercase();
        let stored = (*bytes).as_ref();
        match encoding.as_str() {
            "raw" if skip == -1 => {
                let from_end = stored.len().checked_sub(total);
                let start =
                    from_end.ok_or_else(|| Error::truncated("the NRRD data are shorter than their sizes say"))?;
                Ok((bytes, start))
            }
            "raw" => Ok((bytes, start.saturating_add(usize::try_from(skip).unwrap_or(0)))),
            "gzip" | "gz" => {
                // The skip counts decoded bytes here.
                let skip = usize::try_from(skip).unwrap_or(0);
                let total = total.saturating_add(skip);
                Ok((Arc::new(expand(Compression::Gzip, &stored[start.min(stored.len())..], total)?), skip))
            }
            "ascii" | "text" | "txt" => Ok((Arc::new(self.parse_text(&stored[start.min(stored.len())..], total)?), 0)),
            other => Err(unsupported(format!("NRRD encoding '{other}'")).remedy("save it as raw or gzip")),
        }
    }
    fn skip_lines(&self, bytes: &[u8], start: usize) -> Result<usize> {
        let count: usize = self.get("line skip").or(self.get("lineskip")).map_or(Ok(0), |s| number("line skip", s))?;
        let mut at = start.min(bytes.len());
        for _ in 0..count.min(bytes.len()) {
            at += bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len() - at, |p| p + 1);
        }
        Ok(at)
    }
    /// Values written as text, as native f64 bytes.
    fn parse_text(&self, bytes: &[u8], total: usize) -> Result<Vec<u8>> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::corrupt("NRRD text data are not text"))?;
        let count = total / self.stored()?.bytes();
        let out: Vec<u8> = numbers::<f64>("data", text)?.into_iter().take(count).flat_map(f64::to_ne_bytes).collect();
        if out.len() < count * 8 {
            return Err(Error::truncated(format!("{} of {count} NRRD values are there", out.len() / 8)));
        }
        Ok(out)
    }
    /// Number of values per node: the extent of the fastest axis, when its kind says that it is not a spatial one.
    fn components(&self, extents: &[usize]) -> usize {
        let kind = self.get("kinds").and_then(|k| k.split_whitespace().next()).unwrap_or("").to_ascii_lowercase();
        let spatial = matches!(kind.as_str(), "" | "domain" | "space" | "time" | "none" | "???" | "list" | "point");
        let no_direction = self.get("space directions").is_some_and(|d| d.trim_start().starts_with("none"));
        let vector = !spatial || (no_direction && kind != "time");
        if vector && extents.len() > 1 { extents[extents.len() - 1] } else { 1 }
    }
    fn dataset(&self, path: &Path, bytes: SharedBytes, offset: usize, hints: &OpenHints) -> Result<StridedDataset> {
        let all = self.extents()?;
        let components = self.components(&all);
        let extents = if components > 1 { &all[..all.len() - 1] } else { &all[..] };
        let as_text = matches!(self.need("encoding")?.to_ascii_lowercase().as_str(), "ascii" | "text" | "txt");
        let stored = if as_text { StoredType::F64 } else { self.stored()? };
        let native = cfg!(target_endian = "big");
        let big_endian =
            if as_text { native } else { self.get("endian").map_or(native, |e| e.eq_ignore_ascii_case("big")) };
        let base = self.get("content").filter(|c| !c.is_empty()).map_or_else(|| stem(path), str::to_string);
        let mut variables = Vec::new();
        for c in 0..components {
            let array = StridedArray::component(bytes.clone(), offset, extents, (c, components), stored, big_endian);
            let mut info = describe(&component_name(&base, c, components), extents.to_vec(), &array, hints);
            self.annotate(&mut info, components > 1)?;
            variables.push((info, array));
        }
        StridedDataset::new(path.display().to_string(), variables)
    }
    /// Axis names, spacing, origin and units; `vector` says that the first axis listed is that of the components.
    fn annotate(&self, info: &mut VariableInfo, vector: bool) -> Result<()> {
        let rank = info.extents.len();
        let skip = vector as usize;
        info.units = self.get("sample units").map(unquote).filter(|u| !u.is_empty());
        info.long_name = self.pairs.get("long_name").cloned();
        if let Some(labels) = self.get("labels") {
            let names: Vec<String> = quoted(labels).into_iter().skip(skip).collect();
            if names.len() == rank && names.iter().all(|n| !n.is_empty()) {
                info.axes = names.into_iter().rev().collect();
            }
        }
        let spacings: Option<Vec<f64>> = match (self.get("space directions"), self.get("spacings")) {
            (Some(d), _) => Some(directions(d)?.into_iter().skip(skip).collect()),
            (None, Some(s)) => Some(numbers("spacings", s)?.into_iter().skip(skip).collect()),
            _ => None,
        };
        let origin: Option<Vec<f64>> = match (self.get("space origin"), self.get("axis mins").or(self.get("axismins")))
        {
            (Some(o), _) => Some(numbers("space origin", o)?),
            (None, Some(m)) => Some(numbers("axis mins", m)?.into_iter().skip(skip).collect()),
            _ => None,
        };
        let fit = |v: Option<Vec<f64>>, fill: f64| {
            v.map(|mut v: Vec<f64>| {
                v.resize(rank, fill);
                v.iter().rev().map(|x| if x.is_finite() { *x } else { fill }).collect::<Vec<f64>>()
            })
        };
        if self.get("space directions").is_some_and(|d| d.contains('(') && !is_diagonal(d)) {
            info.notes.push("the axes are rotated in space: spacing is kept, the rotation is not".into());
        }
        info.spacing = fit(spacings, 1.0);
        info.origin = fit(origin, 0.0);
        Ok(())
    }
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compatibility, format!("{what} are not read"))
}

fn unquote(text: &str) -> String {
    text.trim().trim_matches('"').to_string()
}

/// The strings of `"x" "y" "z"`.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// The vectors of `none (1,0,0) (0,1,0)`.
fn vectors(text: &str) -> Result<Vec<Option<Vec<f64>>>> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("none") {
            out.push(None);
            rest = after.trim_start();
        } else if let Some((vector, after)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            out.push(Some(numbers("space directions", vector)?));
            rest = after.trim_start();
        } else {
            return Err(Error::corrupt(format!("'space directions' has '{rest}' where a vector is due")));
        }
    }
    Ok(out)
}

/// Step per axis: the length of its vector, with the sign of its main component when it lies along a space axis.
fn directions(text: &str) -> Result<Vec<f64>> {
    let step = |v: Option<Vec<f64>>| {
        let v = v.unwrap_or_default();
        let only = v.iter().filter(|c| **c != 0.0).count() == 1;
        if only { v.iter().sum() } else { v.iter().map(|c| c * c).sum::<f64>().sqrt() }
    };
    Ok(vectors(text)?.into_iter().map(step).collect())
}

/// Each axis runs along the space axis of its own number.
fn is_diagonal(text: &str) -> bool {
    vectors(text).is_ok_and(|all| {
        let present = all.iter().flatten().enumerate();
        present.into_iter().all(|(i, v)| v.iter().enumerate().all(|(j, c)| i == j || *c == 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str =
        "NRRD0004\n# a comment\ntype: unsigned short\ndimension: 3\nsizes: 4 3 2\nendian: little\nencoding: raw\n";

    fn open_text(text: &str, data: &[u8]) -> Result<Box<dyn Dataset>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nrrd");
        std::fs::write(&path, [text.as_bytes(), data].concat()).unwrap();
        Nrrd.open(&path, &OpenHints::default())
    }

    #[test]
    fn shape_is_turned_and_geometry_follows() {
        let text = format!(
            "{HEAD}space directions: (0.5,0,0) (0,-1,0) (0,0,2)\nspace origin: (10,20,30)\nlabels: \"x\" \"y\" \"z\"\n\n"
        );
        let d = open_text(&text, &[0; 48]).unwrap();
        let info = &d.variables()[0];
        assert_eq!(info.extents, [2, 3, 4]);
        assert_eq!(info.axes, ["z", "y", "x"]);
        assert_eq!(info.spacing.as_deref(), Some(&[2.0, -1.0, 0.5][..]));
        assert_eq!(info.origin.as_deref(), Some(&[30.0, 20.0, 10.0][..]));
    }

    #[test]
    fn vector_axis_becomes_components() {
        let text = format!("{HEAD}kinds: vector domain domain\n\n");
        let d = open_text(&text, &[1; 48]).unwrap();
        assert_eq!(d.variables().len(), 4);
        assert_eq!(d.variables()[3].name, "a.3");
        assert_eq!(d.variables()[3].extents, [2, 3]);
    }

    #[test]
    fn short_data_and_endless_headers_are_errors() {
        assert_eq!(open_text(&format!("{HEAD}\n"), &[0; 47]).err().unwrap().kind, ErrorKind::Truncated);
        assert_eq!(open_text(HEAD, &[]).err().unwrap().kind, ErrorKind::Truncated);
        let huge = HEAD.replace("4 3 2", "1152921504606846976 1152921504606846976 4");
        assert!(open_text(&format!("{huge}\n"), &[0; 8]).is_err());
        let gz = HEAD.replace("raw", "gzip").replace("4 3 2", "100000 100000 1000");
        assert!(open_text(&format!("{gz}\n"), &[0; 64]).is_err());
    }

    proptest! {
        #[test]
        fn no_header_panics(body in "((type|dimension|sizes|encoding|endian|kinds|space directions|space origin|byte skip|line skip|data file|labels|spacings): ?[a-z0-9 ().,\"-]{0,24}\n){0,10}\n?") {
            let _ = open_text(&format!("NRRD0004\n{body}"), &[0; 64]);
        }
        #[test]
        fn no_broken_header_panics(cut in 0usize..140, byte in any::<u8>()) {
            let mut text = format!("{HEAD}\n").into_bytes();
            text.extend([0; 48]);
            let cut = cut.min(text.len() - 1);
            text[cut] = byte;
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.nrrd");
            std::fs::write(&path, &text).unwrap();
            let _ = Nrrd.open(&path, &OpenHints::default());
        }
    }
}
