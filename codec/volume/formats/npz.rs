//! NumPy's .npz: a zip archive of .npy files, each a variable; the archive's directory through the `zip` crate.

use super::expand::{Compression, expand};
use super::header_text::total_bytes;
use super::strided::{StridedArray, describe};
use crate::volume::{Dataset, Format, NpyHeader, OpenHints, SharedBytes, VariableInfo, Volume, map_file};
use crate::{Error, ErrorKind, Result};
use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use zip::CompressionMethod;

/// .npz; see the module.
pub struct Npz;

/// Enough for the header of any .npy file of sense.
const MAX_HEADER_BYTES: u64 = 1 << 16;

impl Format for Npz {
    fn name(&self) -> &'static str {
        "NumPy archive"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        head.starts_with(b"PK\x03\x04") && head.windows(4).take(512).any(|w| w == b".npy")
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let open = || NpzDataset::open(path, hints);
        open().map(|d| Box::new(d) as _).map_err(|e| e.in_file(path))
    }
}

/// One .npy file in the archive.
struct Member {
    header: NpyHeader,
    /// Its bytes in the archive.
    range: Range<usize>,
    deflated: bool,
}

struct NpzDataset {
    source: String,
    bytes: SharedBytes,
    infos: Vec<VariableInfo>,
    members: Vec<Member>,
}

impl NpzDataset {
    fn open(path: &Path, hints: &OpenHints) -> Result<Self> {
        let bytes = map_file(path)?;
        let damaged = |e: zip::result::ZipError| Error::corrupt(format!("zip: {e}"));
        let mut archive = zip::ZipArchive::new(Cursor::new((*bytes).as_ref())).map_err(damaged)?;
        let mut set =
            Self { source: path.display().to_string(), bytes: bytes.clone(), infos: Vec::new(), members: Vec::new() };
        for i in 0..archive.len() {
            let entry = archive.by_index_raw(i).map_err(damaged)?;
            let Some(name) = entry.name().strip_suffix(".npy").map(str::to_string) else { continue };
            let deflated = match entry.compression() {
                CompressionMethod::Stored => false,
                m if m == CompressionMethod::DEFLATE => true,
                other => {
                    return Err(Error::new(
                        ErrorKind::Compatibility,
                        format!("{name}: zip method {other} is not read"),
                    ));
                }
            };
            let start = entry.data_start() as usize;
            let range = start..start.saturating_add(entry.compressed_size() as usize);
            drop(entry);
            let data =
                (*bytes).as_ref().get(range.clone()).ok_or_else(|| Error::truncated(format!("{name} is cut short")))?;
            // What NumPy stores as text or objects is no volume; the rest of the archive may be.
            let Ok(header) = parse_header(data, deflated) else { continue };
            let member = Member { header, range, deflated };
            let array = member.array(Arc::new([0u8; 0]), 0);
            set.infos.push(describe(&name, member.extents(), &array, hints));
            set.members.push(member);
        }
        if set.infos.is_empty() {
            return Err(Error::invalid("the archive holds no numeric array"));
        }
        Ok(set)
    }
}

fn parse_header(data: &[u8], deflated: bool) -> Result<NpyHeader> {
    if !deflated {
        return NpyHeader::parse(data);
    }
    let mut head = Vec::new();
    // A file cut in its values still has a header.
    let _ = flate2::read::DeflateDecoder::new(data).take(MAX_HEADER_BYTES).read_to_end(&mut head);
    NpyHeader::parse(&head)
}

impl Member {
    fn extents(&self) -> Vec<usize> {
        if self.header.shape.is_empty() { vec![1] } else { self.header.shape.clone() }
    }
    fn array(&self, bytes: SharedBytes, start: usize) -> StridedArray {
        let NpyHeader { stored, big_endian, fortran_order, data_offset, .. } = self.header;
        let mut extents = self.extents();
        let at = start.saturating_add(data_offset);
        if fortran_order {
            extents.reverse();
        }
        let mut array = StridedArray::component(bytes, at, &extents, (0, 1), stored, big_endian);
        if fortran_order {
            array.strides.reverse();
        }
        array
    }
    /// Bytes that hold the .npy file, and where it starts.
    fn file(&self, archive: &SharedBytes) -> Result<(SharedBytes, usize)> {
        if !self.deflated {
            return Ok((archive.clone(), self.range.start));
        }
        let total = total_bytes(&self.extents(), 1, self.header.stored.bytes())?;
        let total = total.saturating_add(self.header.data_offset);
        Ok((Arc::new(expand(Compression::Deflate, &(**archive).as_ref()[self.range.clone()], total)?), 0))
    }
}

impl Dataset for NpzDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, member) = self
            .infos
            .get(variable)
            .zip(self.members.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let (bytes, start) = member.file(&self.bytes).map_err(|e| e.in_file(Path::new(&self.source)))?;
        member.array(bytes, start).open_checked(info, &self.source, &info.name, step)
    }
}
