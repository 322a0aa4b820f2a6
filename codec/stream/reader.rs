//! Reading a stream that may be damaged or hostile: every length is checked before it is used, every part's checksum
//! before it is read.

use super::bytes::{Cursor, zstd_unpack};
use super::directory::{self, FrameEntry, FrameKind, MapPart, Part};
use super::extent::Extent;
use super::frames::Frames;
use super::header::Header;
use super::provenance::Provenance;
use super::special::Special;
use super::{END_MARK, MAGIC, VERSION};
use crate::backend::FrameSource;
use crate::volume::{FileMap, Missing};
use crate::{Element, Error, ErrorKind, Params, Region, Result, ToleranceMap};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

enum Bytes {
    Mapped(FileMap),
    Owned(Vec<u8>),
}

/// An opened stream: header and directory are read and checked, values are read on demand.
pub struct Archive {
    bytes: Bytes,
    header: Header,
    frames: Frames,
    entries: Vec<FrameEntry>,
    /// Where each frame's parts begin.
    starts: Vec<usize>,
    provenance: Range<usize>,
    /// Read from the provenance when it is first asked for.
    missing: OnceLock<Missing>,
    /// Of the file, where it was opened by its name.
    path: Option<PathBuf>,
}

/// Length of the fixed tail: directory length, checksum, end mark.
const TAIL: usize = 12;
/// More bytes than a header with 255 tiers takes.
const MOST_HEADER: usize = 1 << 20;

impl Archive {
    /// Maps a file.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |e| Error::io(path, &e);
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::invalid(format!("{} is no file", path.display())).remedy("name a .bmg stream"));
        }
        let file = std::fs::File::open(path).map_err(io)?;
        let archive = Self::from_file(&file).map_err(|e| e.in_file(path))?;
        Ok(Self { path: Some(path.to_owned()), ..archive })
    }
    /// An error met while reading a part, with the file's name where the part is at fault.
    pub(crate) fn named(&self, error: Error) -> Error {
        match (&self.path, error.kind) {
            (Some(path), ErrorKind::Corruption | ErrorKind::Truncated) => error.in_file(path),
            _ => error,
        }
    }
    /// Maps an open file.
    pub fn from_file(file: &std::fs::File) -> Result<Self> {
        let map = file.try_clone().and_then(|file| FileMap::of(file, "the stream"));
        let map = map.map_err(|e| Error::new(ErrorKind::Io, format!("the stream cannot be mapped: {e}")))?;
        Self::parse(Bytes::Mapped(map))
    }
    /// Reads a stream held in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::parse(Bytes::Owned(bytes))
    }
    fn parse(bytes: Bytes) -> Result<Self> {
        let all: &[u8] = match &bytes {
            Bytes::Mapped(map) => map.as_ref(),
            Bytes::Owned(vec) => vec,
        };
        let (header, after_header) = read_header(all)?;
        let (payload, after) = checked(all, after_header, after_header, "provenance")?;
        let provenance = after - 4 - payload.len()..after - 4;
        let directory = read_tail(all, after)?;
        let frames = Frames::new(&header.shape, header.params.frame_values);
        let entries = directory::decode(&all[directory.clone()], &header, &frames)?;
        let mut starts = Vec::with_capacity(entries.len());
        let mut position = after as u64;
        for (index, entry) in entries.iter().enumerate() {
            if !entry.could_hold(frames.region(index).len() as u64) {
                return Err(Error::corrupt("the directory lists too few chunks for the shape"));
            }
            starts.push(position as usize);
            position = entry
                .total_bytes()
                .and_then(|bytes| position.checked_add(bytes))
                .filter(|&end| end <= directory.start as u64)
                .ok_or_else(|| Error::truncated("the directory lists more bytes than the stream holds"))?;
        }
        if position != directory.start as u64 {
            return Err(Error::corrupt("the directory lists fewer bytes than the stream holds"));
        }
        Ok(Self { bytes, header, frames, entries, starts, provenance, missing: OnceLock::new(), path: None })
    }
    fn all(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map.as_ref(),
            Bytes::Owned(vec) => vec,
        }
    }
    pub fn header(&self) -> &Header {
        &self.header
    }
    pub fn frames(&self) -> Frames {
        self.frames
    }
    pub fn entries(&self) -> &[FrameEntry] {
        &self.entries
    }
    /// Smallest and largest ordinary value of the whole volume.
    pub fn extent(&self) -> Extent {
        self.entries.iter().fold(Extent::EMPTY, |all, entry| all.union(entry.extent))
    }
    /// Tier of every block of the whole volume, with the tolerances that the stream keeps.
    pub fn tolerance(&self) -> Result<ToleranceMap> {
        let mut tier_of_block = Vec::new();
        for index in 0..self.frames.count {
            // Frames are cut along the slowest axis with more than one node: C order is the order of frames.
            let map = self.frame(index).tolerance().map_err(|e| self.named(e))?;
            tier_of_block.extend(map.tier_of_block);
        }
        Ok(ToleranceMap { blocks: self.header.shape.blocks(), tiers: self.header.tiers.clone(), tier_of_block })
    }
    /// Length of the stream.
    pub fn len_bytes(&self) -> u64 {
        self.all().len() as u64
    }
    pub fn provenance(&self) -> Result<Provenance> {
        Provenance::decode(&self.all()[self.provenance.clone()], &self.header).map_err(|e| self.named(e))
    }
    /// Which values of the volume are missing.
    fn missing(&self) -> Result<&Missing> {
        if self.missing.get().is_none() {
            // Of two threads that both read it, one wins; what they read is the same.
            let _ = self.missing.set(self.provenance()?.missing);
        }
        Ok(self.missing.get().expect("set above"))
    }
    /// The parts of frame `index`.
    pub fn frame(&self, index: usize) -> FrameReader<'_> {
        FrameReader::new(self, index)
    }
    /// Checks the checksum of every part (header, provenance and directory were checked on opening).
    pub fn check(&self, control: &crate::Control) -> Result<()> {
        for index in 0..self.frames.count {
            control.check()?;
            self.frame(index).check(control).map_err(|e| self.named(e))?;
        }
        Ok(())
    }
}

/// A length, that many bytes, and a checksum over `from..` up to it; returns the bytes and the position after.
fn checked<'a>(all: &'a [u8], from: usize, at: usize, part: &'static str) -> Result<(&'a [u8], usize)> {
    let short = || Error::truncated(format!("the stream ends inside its {part}"));
    let mut c = Cursor::new(&all[at..], part);
    let length = c.length().map_err(|e| if c.remaining() == 0 { short() } else { e })?;
    let payload = c.take(length).map_err(|_| short())?;
    let end = all.len() - c.remaining();
    let crc = c.u32().map_err(|_| short())?;
    if crc != crc32fast::hash(&all[from..end]) {
        return Err(Error::corrupt(format!("the {part} is damaged: its checksum does not match")));
    }
    Ok((payload, end + 4))
}

fn read_header(all: &[u8]) -> Result<(Header, usize)> {
    if all.is_empty() {
        return Err(Error::truncated("this is no .bmg stream: it is empty"));
    }
    if !all.starts_with(&MAGIC[..all.len().min(MAGIC.len())]) {
        return Err(Error::corrupt("this is no .bmg stream: its magic bytes are others"));
    }
    match all.get(MAGIC.len()) {
        None => Err(Error::truncated("the stream ends inside its magic bytes")),
        Some(&VERSION) => {
            let (payload, after) = checked(all, 0, MAGIC.len() + 1, "header")?;
            Ok((Header::decode(payload)?, after))
        }
        Some(other) if is_ours_but_for_version(all) => Err(Error::corrupt(format!(
            "the header is damaged: with format version {VERSION} in place of {other} its checksum matches"
        ))),
        Some(other) => Err(Error::new(
            ErrorKind::Compatibility,
            format!("the header names format version {other}, this program reads version {VERSION}"),
        )
        .remedy("open it with a newer BlockMGARD, or fetch the file again if it was damaged")),
    }
}

/// Whether the byte of the version alone is wrong.
fn is_ours_but_for_version(all: &[u8]) -> bool {
    let mut mended = all[..all.len().min(MOST_HEADER)].to_vec();
    mended[MAGIC.len()] = VERSION;
    checked(&mended, 0, MAGIC.len() + 1, "header").is_ok()
}

/// Where the directory lies; `after` is the position behind the provenance.
fn read_tail(all: &[u8], after: usize) -> Result<Range<usize>> {
    let unfinished = || Error::truncated("the end mark is missing: the stream was cut short or never finished");
    if all.len() - after < TAIL || !all.ends_with(&END_MARK) {
        return Err(unfinished());
    }
    let mut c = Cursor::new(&all[all.len() - TAIL..], "directory");
    let (length, crc) = (c.u32()? as usize, c.u32()?);
    let end = all.len() - TAIL;
    let start = end
        .checked_sub(length)
        .filter(|&s| s >= after)
        .ok_or_else(|| Error::corrupt("the directory is damaged: it is longer than the stream"))?;
    if crc != crc32fast::hash(&all[start..end + 4]) {
        return Err(Error::corrupt("the directory is damaged: its checksum does not match"));
    }
    Ok(start..end)
}

/// One frame of an [`Archive`]: a backend's [`FrameSource`].
pub struct FrameReader<'a> {
    archive: &'a Archive,
    index: usize,
    /// Where each part begins: map, special, coarse, chunks.
    map_at: usize,
    special_at: usize,
    coarse_at: usize,
    chunks_at: Vec<usize>,
}

impl<'a> FrameReader<'a> {
    fn new(archive: &'a Archive, index: usize) -> Self {
        let entry = &archive.entries[index];
        let map_at = archive.starts[index];
        let special_at = map_at + if let MapPart::Stored(part) = entry.map { part.length as usize } else { 0 };
        let coarse_at = special_at + entry.special.map_or(0, |part| part.length as usize);
        let mut next = coarse_at + entry.coarse.length as usize;
        let mut chunks_at = Vec::with_capacity(entry.chunks.len());
        for chunk in &entry.chunks {
            chunks_at.push(next);
            next += chunk.length as usize;
        }
        Self { archive, index, map_at, special_at, coarse_at, chunks_at }
    }
    fn entry(&self) -> &'a FrameEntry {
        &self.archive.entries[self.index]
    }
    /// The frame's place in the volume.
    pub fn region(&self) -> Region {
        self.archive.frames.region(self.index)
    }
    pub fn kind(&self) -> FrameKind {
        self.entry().kind
    }
    /// Smallest and largest ordinary value of the frame.
    pub fn extent(&self) -> Extent {
        self.entry().extent
    }
    /// Tolerance map of the frame's blocks.
    pub fn tolerance(&self) -> Result<ToleranceMap> {
        let blocks = self.archive.frames.blocks(self.index);
        let count: usize = blocks.iter().product();
        let tiers = self.archive.header.tiers.clone();
        let tier_of_block = match self.entry().map {
            MapPart::Uniform(tier) => vec![tier; count],
            MapPart::Stored(part) => {
                zstd_unpack(self.part(self.map_at, part, "tolerance map")?, count as u64, "tolerance map")?
            }
        };
        if tier_of_block.iter().any(|&t| usize::from(t) >= tiers.len()) {
            return Err(self.damaged("tolerance map", "it names a tier that does not exist"));
        }
        Ok(ToleranceMap { blocks, tiers, tier_of_block })
    }
    /// The tolerances and settings that the frame was coded with, which are not the volume's where it is stored losslessly.
    pub fn coding(&self) -> Result<(ToleranceMap, Cow<'a, Params>)> {
        let (tolerance, params) = (self.tolerance()?, &self.archive.header().params);
        Ok(match self.kind() {
            FrameKind::Lossless => (tolerance.lossless(), Cow::Owned(params.lossless())),
            FrameKind::Coded | FrameKind::Plain => (tolerance, Cow::Borrowed(params)),
        })
    }
    /// Compares the checksums of all parts.
    fn check(&self, control: &crate::Control) -> Result<()> {
        self.tolerance()?;
        self.special_bytes()?;
        self.coarse()?;
        for chunk in 0..self.chunk_count() {
            control.check()?;
            self.chunk(chunk)?;
        }
        Ok(())
    }
    /// The special values, when the frame has any.
    pub fn special<T: Element>(&self) -> Result<Option<Special<T>>> {
        self.special_bytes()?.map(|bytes| Special::decode(bytes, self.region().shape())).transpose()
    }
    /// What ordinary values are brought into, since all of the original's lay there: decoded ones beyond it would count as missing.
    /// `None` where there is no valid range, and for a frame that holds its values, missing ones too, as they are.
    pub fn limits<T: Element>(&self) -> Result<Option<[T; 2]>> {
        if self.kind() == FrameKind::Plain { Ok(None) } else { Ok(self.archive.missing()?.limits()) }
    }
    fn special_bytes(&self) -> Result<Option<&'a [u8]>> {
        self.entry().special.map(|part| self.part(self.special_at, part, "special part")).transpose()
    }
    /// The bytes of a part, after its checksum was compared.
    fn part(&self, at: usize, part: Part, name: &str) -> Result<&'a [u8]> {
        // The lengths of all parts were summed against the stream when it was opened.
        let bytes = &self.archive.all()[at..at + part.length as usize];
        if crc32fast::hash(bytes) == part.crc {
            Ok(bytes)
        } else {
            Err(self.damaged(name, "its checksum does not match"))
        }
    }
    fn damaged(&self, name: &str, why: &str) -> Error {
        Error::corrupt(format!("{name} of frame {} is damaged: {why}", self.index))
    }
}

impl FrameSource for FrameReader<'_> {
    fn coarse(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self.part(self.coarse_at, self.entry().coarse, "coarse part")?))
    }
    fn chunk_count(&self) -> usize {
        self.chunks_at.len()
    }
    fn chunk(&self, index: usize) -> Result<Cow<'_, [u8]>> {
        let at = *self
            .chunks_at
            .get(index)
            .ok_or_else(|| self.damaged("directory", &format!("it lists no chunk {index}")))?;
        Ok(Cow::Borrowed(self.part(at, self.entry().chunks[index], &format!("chunk {index}"))?))
    }
}
