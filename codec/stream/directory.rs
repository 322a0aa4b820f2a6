//! The directory part: where every frame's parts lie, how long they are and their checksums.

use super::bytes::{Cursor, put_varint};
use super::extent::Extent;
use super::frames::Frames;
use super::header::Header;
use crate::volume::DType;
use crate::{Error, Result};

/// Length and checksum of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub length: u64,
    pub crc: u32,
}

impl Part {
    pub fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, crc: crc32fast::hash(bytes) }
    }
}

/// The tolerance map of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapPart {
    /// Every block carries this tier: nothing stored.
    Uniform(u8),
    Stored(Part),
}

/// How a frame's values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Special part, coarse part and chunks.
    Coded,
    /// As coded, but with a tolerance of 0 in all blocks and the settings of [`crate::Params::lossless`]: shorter than with the
    /// frame's own tolerances.
    Lossless,
    /// Plain values in chunks of [`STORED_CHUNK_BYTES`]: any coding would have made the frame larger.
    Plain,
}

/// Bytes in each chunk of a plain frame but the last.
pub const STORED_CHUNK_BYTES: usize = 1 << 22;

/// One frame's entry; its parts follow each other in the stream in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameEntry {
    pub kind: FrameKind,
    pub map: MapPart,
    /// Of the frame's ordinary values.
    pub extent: Extent,
    /// Absent when every value is ordinary.
    pub special: Option<Part>,
    pub coarse: Part,
    pub chunks: Vec<Part>,
}

impl FrameEntry {
    /// All parts in stream order, with their names.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let map = match self.map {
            MapPart::Uniform(_) => None,
            MapPart::Stored(part) => Some(part),
        };
        map.into_iter().chain(self.special).chain([self.coarse]).chain(self.chunks.iter().copied())
    }
    /// Bytes of all parts; `None` when the sum is beyond 64 bits.
    pub fn total_bytes(&self) -> Option<u64> {
        self.parts().try_fold(0u64, |sum, part| sum.checked_add(part.length))
    }
}

/// More values than any chunk, and any byte of a coarse part, stands for.
const MOST_CHUNK_VALUES: u64 = 1 << 20;
const MOST_COARSE_VALUES_PER_BYTE: u64 = 1 << 16;

impl FrameEntry {
    /// Whether a frame of so many values could have these parts: a short stream must not claim a volume that fills
    /// the memory.
    pub fn could_hold(&self, values: u64) -> bool {
        let chunks = (self.chunks.len() as u64 + 1).saturating_mul(MOST_CHUNK_VALUES);
        values <= chunks.saturating_add(self.coarse.length.saturating_mul(MOST_COARSE_VALUES_PER_BYTE))
    }
}

const MAP_STORED: u8 = 1;
const SPECIAL: u8 = 2;
const PLAIN: u8 = 4;
const LOSSLESS: u8 = 8;

/// The directory's payload (see `FORMAT.md`, "Directory").
pub fn encode(frames: &[FrameEntry], dtype: DType) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in frames {
        let mut flags = 0;
        flags |= if matches!(frame.map, MapPart::Stored(_)) { MAP_STORED } else { 0 };
        flags |= if frame.special.is_some() { SPECIAL } else { 0 };
        flags |= match frame.kind {
            FrameKind::Coded => 0,
            FrameKind::Lossless => LOSSLESS,
            FrameKind::Plain => PLAIN,
        };
        out.push(flags);
        match frame.map {
            MapPart::Uniform(tier) => out.push(tier),
            MapPart::Stored(part) => put_part(&mut out, part),
        }
        for end in [frame.extent.min, frame.extent.max] {
            match dtype {
                DType::F32 => out.extend((end as f32).to_le_bytes()),
                DType::F64 => out.extend(end.to_le_bytes()),
            }
        }
        if let Some(part) = frame.special {
            put_part(&mut out, part);
        }
        put_part(&mut out, frame.coarse);
        put_varint(&mut out, frame.chunks.len() as u64);
        for &chunk in &frame.chunks {
            put_part(&mut out, chunk);
        }
    }
    out
}

fn put_part(out: &mut Vec<u8>, part: Part) {
    put_varint(out, part.length);
    out.extend(part.crc.to_le_bytes());
}

/// Reads the entries of all frames the header calls for.
pub fn decode(payload: &[u8], header: &Header, frames: &Frames) -> Result<Vec<FrameEntry>> {
    let mut c = Cursor::new(payload, "directory");
    // The shortest entry: flags, tier, extent, an empty coarse part, no chunks.
    let shortest = 2 + 2 * header.dtype.bytes() + 5 + 1;
    if frames.count > payload.len() / shortest {
        return Err(Error::corrupt("the directory is damaged: it has fewer frames than the shape calls for"));
    }
    let entries = (0..frames.count).map(|_| decode_frame(&mut c, header)).collect::<Result<Vec<_>>>()?;
    c.finish()?;
    Ok(entries)
}

fn decode_frame(c: &mut Cursor, header: &Header) -> Result<FrameEntry> {
    let flags = c.u8()?;
    let kind = match flags & !(MAP_STORED | SPECIAL) {
        0 => FrameKind::Coded,
        LOSSLESS => FrameKind::Lossless,
        PLAIN => FrameKind::Plain,
        _ => return Err(c.bad("it holds unknown flags")),
    };
    let map = if flags & MAP_STORED != 0 { MapPart::Stored(part(c)?) } else { MapPart::Uniform(c.u8()?) };
    if let MapPart::Uniform(tier) = map
        && usize::from(tier) >= header.tiers.len()
    {
        return Err(c.bad("it names a tier that does not exist"));
    }
    let mut end = || match header.dtype {
        DType::F32 => Ok(f64::from(f32::from_le_bytes(c.array()?))),
        DType::F64 => c.f64(),
    };
    let extent = Extent { min: end()?, max: end()? };
    let possible = extent.min <= extent.max && extent.max_abs().is_finite() && extent.min.is_finite();
    if !possible && extent != Extent::EMPTY {
        return Err(c.bad("a frame's smallest and largest value are impossible"));
    }
    let special = if flags & SPECIAL != 0 { Some(part(c)?) } else { None };
    let coarse = part(c)?;
    let count = c.length()?;
    if count > c.remaining() / 5 {
        return Err(c.bad("it claims more chunks than it lists"));
    }
    let chunks = (0..count).map(|_| part(c)).collect::<Result<Vec<_>>>()?;
    Ok(FrameEntry { kind, map, extent, special, coarse, chunks })
}

fn part(c: &mut Cursor) -> Result<Part> {
    Ok(Part { length: c.varint()?, crc: c.u32()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Shape, Tier};

    #[test]
    fn entries_come_back_and_wrong_counts_are_refused() {
        let shape = Shape::new(&[96, 40, 40]).unwrap();
        let params = Params { frame_values: 32 * 1600, ..Params::default() };
        let frames = Frames::new(&shape, params.frame_values);
        let tiers = vec![Tier { name: "t".into(), tau: 1.0 }];
        let header = Header { dtype: DType::F32, shape, params, tiers };
        let part = |length| Part { length, crc: 0x0102_0304 };
        let first = FrameEntry {
            kind: FrameKind::Coded,
            map: MapPart::Stored(part(300)),
            extent: Extent { min: -2.5, max: 1.0 },
            special: Some(part(7)),
            coarse: part(1),
            chunks: vec![part(1 << 40), part(0)],
        };
        let second = FrameEntry {
            kind: FrameKind::Plain,
            map: MapPart::Uniform(0),
            extent: Extent::EMPTY,
            special: None,
            coarse: part(0),
            chunks: vec![],
        };
        let third = FrameEntry { kind: FrameKind::Lossless, ..first.clone() };
        let entries = vec![first, second, third];
        let bytes = encode(&entries, DType::F32);
        assert_eq!(decode(&bytes, &header, &frames).unwrap(), entries);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], &header, &frames).is_err());
        }
        assert!(decode(&encode(&entries[..1], DType::F32), &header, &frames).is_err());
    }
}
