//! Writing a stream front to back: header, provenance, frames, directory.

use super::bytes::{put_varint, zstd_pack};
use super::directory::{self, FrameEntry, FrameKind, MapPart, Part, STORED_CHUNK_BYTES};
use super::extent::Extent;
use super::frames::Frames;
use super::header::Header;
use super::provenance::Provenance;
use super::{END_MARK, MAGIC, VERSION, linear};
use crate::backend::{FrameParts, FrameSink};
use crate::volume::Field;
use crate::{Control, Element, Error, ErrorKind, Result, ToleranceMap};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::Path;

/// Where a stream can be written: a frame that turns out larger than its plain values is written again.
pub trait Output: Write + Seek {
    /// Drops everything from `length` on.
    fn truncate(&mut self, length: u64) -> std::io::Result<()>;
    /// The name of the file, for messages.
    fn path(&self) -> Option<&Path> {
        None
    }
}

impl Output for std::fs::File {
    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.set_len(length)
    }
}

impl Output for Cursor<Vec<u8>> {
    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.get_mut().truncate(length as usize);
        Ok(())
    }
}

/// A stream being written. Frames come in order; [`StreamWriter::finish`] makes it whole.
pub struct StreamWriter<W: Output> {
    out: W,
    position: u64,
    header: Header,
    frames: Frames,
    entries: Vec<FrameEntry>,
}

impl<W: Output> StreamWriter<W> {
    /// Writes everything that comes before the first frame.
    pub fn new(out: W, header: Header, provenance: &Provenance) -> Result<Self> {
        header.validate()?;
        let frames = Frames::new(&header.shape, header.params.frame_values);
        let mut head = MAGIC.to_vec();
        head.push(VERSION);
        put_checked(&mut head, &header.encode(), 0);
        let start = head.len();
        put_checked(&mut head, &provenance.encode(&header)?, start);
        let mut writer = Self { out, position: 0, header, frames, entries: Vec::new() };
        writer.write(&head)?;
        Ok(writer)
    }
    /// How the volume is cut.
    pub fn frames(&self) -> Frames {
        self.frames
    }
    /// Starts the next frame with its map (of its own blocks) and special part (empty when there is none).
    pub fn begin_frame(&mut self, map: &ToleranceMap, special: &[u8], extent: Extent) -> Result<FrameWriter<'_, W>> {
        let start = self.position;
        let first = map.tier_of_block[0];
        let map = if map.tier_of_block.iter().all(|&t| t == first) {
            MapPart::Uniform(first)
        } else {
            MapPart::Stored(self.put(&zstd_pack(&map.tier_of_block))?)
        };
        let special = if special.is_empty() { None } else { Some(self.put(special)?) };
        let kind = FrameKind::Coded;
        let entry = FrameEntry { kind, map, extent, special, coarse: Part::default(), chunks: Vec::new() };
        let after_map = start + if let MapPart::Stored(part) = map { part.length } else { 0 };
        let after_special = self.position;
        Ok(FrameWriter { writer: self, entry, start, after_map, after_special, coarse_done: false })
    }
    /// Writes the directory and gives back the output and its length in bytes.
    pub fn finish(mut self) -> Result<(W, u64)> {
        assert_eq!(self.entries.len(), self.frames.count, "every frame is written before the stream ends");
        let mut tail = directory::encode(&self.entries, self.header.dtype);
        let length = u32::try_from(tail.len())
            .map_err(|_| Error::invalid("the directory exceeds 4 GiB").remedy("make frames larger (frame)"))?;
        tail.extend(length.to_le_bytes());
        tail.extend(crc32fast::hash(&tail).to_le_bytes());
        tail.extend(END_MARK);
        self.write(&tail)?;
        self.out.flush().map_err(|e| self.failed(&e))?;
        Ok((self.out, self.position))
    }
    fn put(&mut self, bytes: &[u8]) -> Result<Part> {
        self.write(bytes)?;
        Ok(Part::of(bytes))
    }
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| self.failed(&e))?;
        self.position += bytes.len() as u64;
        Ok(())
    }
    fn rewind(&mut self, position: u64) -> Result<()> {
        self.out.truncate(position).map_err(|e| self.failed(&e))?;
        self.out.seek(SeekFrom::Start(position)).map_err(|e| self.failed(&e))?;
        self.position = position;
        Ok(())
    }
    fn failed(&self, error: &std::io::Error) -> Error {
        match self.out.path() {
            Some(path) => Error::io(path, error),
            None => Error::new(ErrorKind::Io, format!("writing the stream failed: {error}"))
                .remedy("check the free space of the disk and your quota"),
        }
    }
}

/// A length, the bytes, and a checksum over everything from `start` on.
fn put_checked(out: &mut Vec<u8>, payload: &[u8], start: usize) {
    put_varint(out, payload.len() as u64);
    out.extend(payload);
    out.extend(crc32fast::hash(&out[start..]).to_le_bytes());
}

/// One frame being written: a backend's [`FrameSink`].
pub struct FrameWriter<'a, W: Output> {
    writer: &'a mut StreamWriter<W>,
    entry: FrameEntry,
    start: u64,
    after_map: u64,
    after_special: u64,
    coarse_done: bool,
}

impl<W: Output> FrameWriter<'_, W> {
    /// Bytes of the coarse part and the chunks so far.
    pub fn coded_bytes(&self) -> u64 {
        self.writer.position - self.after_special
    }
    /// Puts parts that were coded losslessly in the place of those written so far.
    pub fn replace_lossless(&mut self, parts: &FrameParts) -> Result<()> {
        self.writer.rewind(self.after_special)?;
        self.entry.kind = FrameKind::Lossless;
        self.entry.chunks.clear();
        self.coarse_done = false;
        self.coarse(&parts.coarse)?;
        parts.chunks.iter().try_for_each(|chunk| self.chunk(chunk))
    }
    /// Ends the frame. When it came out larger than the plain values of `field`, those are written in its place.
    /// Returns the frame's bytes.
    pub fn finish<T: Element>(mut self, field: &dyn Field<T>, control: &Control) -> Result<u64> {
        let plain_bytes = linear::length(field) as u64 * T::BYTES as u64;
        if self.writer.position - self.after_map > plain_bytes {
            self.store_plain(field, control)?;
        }
        self.writer.entries.push(self.entry);
        Ok(self.writer.position - self.start)
    }
    fn store_plain<T: Element>(&mut self, field: &dyn Field<T>, control: &Control) -> Result<()> {
        self.writer.rewind(self.after_map)?;
        self.entry.kind = FrameKind::Plain;
        self.entry.special = None;
        self.entry.coarse = Part::of(&[]);
        self.entry.chunks.clear();
        let (total, step) = (linear::length(field), STORED_CHUNK_BYTES / T::BYTES);
        for start in (0..total).step_by(step) {
            control.check()?;
            let values = linear::read(field, start, step.min(total - start))?;
            let part = self.writer.put(bytemuck::cast_slice(&values))?;
            self.entry.chunks.push(part);
        }
        Ok(())
    }
}

impl<W: Output> FrameSink for FrameWriter<'_, W> {
    fn coarse(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(!self.coarse_done, "a frame has one coarse part, before its chunks");
        self.coarse_done = true;
        self.entry.coarse = self.writer.put(bytes)?;
        Ok(())
    }
    fn chunk(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(self.coarse_done, "a frame's coarse part comes before its chunks");
        let part = self.writer.put(bytes)?;
        self.entry.chunks.push(part);
        Ok(())
    }
}
