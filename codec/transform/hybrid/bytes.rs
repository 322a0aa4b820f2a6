//! Reading and writing the fields of the coarse part and of chunks.

use crate::{Element, Error, Result};

/// Appends `v` in groups of 7 bits, least significant first, the top bit saying that more follow.
pub fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Appends values, little-endian.
pub fn put_values<T: Element>(out: &mut Vec<u8>, values: impl IntoIterator<Item = T>) {
    for v in values {
        out.extend_from_slice(&v.to_bits64().to_le_bytes()[..T::BYTES]);
    }
}

/// Takes fields off the front of a part of the stream; `part` names it in errors.
pub struct Fields<'a> {
    pub rest: &'a [u8],
    part: &'static str,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8], part: &'static str) -> Self {
        Self { rest: bytes, part }
    }
    pub fn corrupt(&self, why: &str) -> Error {
        Error::corrupt(format!("{}: {why}", self.part)).remedy("the file is damaged: fetch or make it again")
    }
    pub fn bytes(&mut self, count: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(count).ok().and_then(|n| self.rest.split_at_checked(n));
        let (taken, rest) = split.ok_or_else(|| Error::truncated(format!("{}: ends early", self.part)))?;
        self.rest = rest;
        Ok(taken)
    }
    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }
    pub fn varint(&mut self) -> Result<u64> {
        let mut v = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            v |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                return Ok(v);
            }
        }
        Err(self.corrupt("a length is out of range"))
    }
    /// `count` values of T.
    pub fn values<T: Element>(&mut self, count: u64) -> Result<Vec<T>> {
        let bytes = self.bytes(count.saturating_mul(T::BYTES as u64))?;
        Ok(values_of(bytes))
    }
    /// All must have been read by now.
    pub fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("bytes behind its end")) }
    }
}

/// Little-endian bytes as values.
pub fn values_of<T: Element>(bytes: &[u8]) -> Vec<T> {
    let value = |b: &[u8]| {
        let mut wide = [0; 8];
        wide[..T::BYTES].copy_from_slice(b);
        T::from_bits64(u64::from_le_bytes(wide))
    };
    bytes.chunks_exact(T::BYTES).map(value).collect()
}
