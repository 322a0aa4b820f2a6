//! Reading and writing the small fields of a stream. Reading trusts nothing.

use crate::{Error, Result};

/// Appends LEB128: 7 bits a byte, lowest first, the top bit set on all but the last.
pub fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// A cursor over one part of the stream; every failure names the part.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    part: &'static str,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], part: &'static str) -> Self {
        Self { bytes, part }
    }
    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.bytes.len() {
            return Err(self.bad("it ends too early"));
        }
        let (head, tail) = self.bytes.split_at(count);
        self.bytes = tail;
        Ok(head)
    }
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take gave N bytes"))
    }
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }
    /// LEB128; forms longer than needed and values beyond 64 bits are corruption.
    pub fn varint(&mut self) -> Result<u64> {
        let mut v = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || byte == 0 && shift > 0 {
                break;
            }
            v |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(v);
            }
        }
        Err(self.bad("it holds a malformed number"))
    }
    /// A varint that must fit `usize`.
    pub fn length(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| self.bad("it holds a length beyond this machine"))
    }
    /// Everything left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
    /// Errors unless everything was read.
    pub fn finish(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.bad("it is longer than its content")) }
    }
    /// A corruption error that names the part.
    pub fn bad(&self, why: &str) -> Error {
        Error::corrupt(format!("the {} is damaged: {why}", self.part))
    }
}

/// Compresses with zstd at the level the format's writer uses.
pub fn zstd_pack(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL).expect("zstd into a growing buffer cannot fail")
}

/// zstd level of all metadata parts.
pub const ZSTD_LEVEL: i32 = 9;

/// Decompresses exactly `expected` bytes. The buffer grows with what the input really holds, so a
/// hostile length costs nothing.
pub fn zstd_unpack(bytes: &[u8], expected: u64, part: &'static str) -> Result<Vec<u8>> {
    use std::io::Read;
    let bad = |why: &str| Error::corrupt(format!("the {part} is damaged: {why}"));
    let mut out = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(|e| bad(&e.to_string()))?;
    decoder.take(expected.saturating_add(1)).read_to_end(&mut out).map_err(|e| bad(&e.to_string()))?;
    if out.len() as u64 == expected { Ok(out) } else { Err(bad("its content has another length")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back_and_overlong_forms_are_refused() {
        for v in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            let mut cursor = Cursor::new(&out, "test");
            assert_eq!(cursor.varint().unwrap(), v);
            cursor.finish().unwrap();
            assert!(Cursor::new(&out[..out.len() - 1], "test").varint().is_err());
        }
        for bad in [&[0x80u8, 0][..], &[0xff; 11], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]] {
            assert!(Cursor::new(bad, "test").varint().is_err());
        }
    }

    #[test]
    fn zstd_content_of_another_length_is_refused() {
        let packed = zstd_pack(&[7; 1000]);
        assert_eq!(zstd_unpack(&packed, 1000, "map").unwrap(), vec![7; 1000]);
        assert!(zstd_unpack(&packed, 999, "map").is_err());
        assert!(zstd_unpack(&packed, u64::MAX, "map").is_err());
        assert!(zstd_unpack(&packed[..packed.len() - 1], 1000, "map").is_err());
    }
}
