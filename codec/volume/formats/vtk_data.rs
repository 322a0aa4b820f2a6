//! The values of a VTK XML data array: inline or appended, raw, base64 or text, whole or in compressed blocks.

use super::expand::{Compression, expand};
use super::header_text::numbers;
use crate::volume::StoredType;
use crate::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How binary values are laid out in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    pub big_endian: bool,
    /// Bytes of the numbers in front of the data: 4 or 8.
    pub word: usize,
    pub compression: Option<Compression>,
}

/// Bytes as they lie in the file, or behind base64.
pub trait ByteSource {
    /// The first `count` bytes.
    fn first(&self, count: usize) -> Result<Vec<u8>>;
}

/// Appended raw bytes.
pub struct RawBytes<'a>(pub &'a [u8]);

impl ByteSource for RawBytes<'_> {
    fn first(&self, count: usize) -> Result<Vec<u8>> {
        self.0.get(..count).map(<[u8]>::to_vec).ok_or_else(cut)
    }
}

/// Base64 text. VTK encodes the numbers in front of compressed data apart, so padding may come in the middle.
pub struct Base64Text<'a>(pub &'a [u8]);

impl ByteSource for Base64Text<'_> {
    fn first(&self, count: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut segment = Vec::new();
        let mut letters = self.0.iter().copied().filter(|b| !b.is_ascii_whitespace());
        while out.len() < count {
            segment.clear();
            // At most a piece of 4096 letters, or up to the padding that ends a part.
            while segment.len() < 4096 {
                let Some(b) = letters.next() else { break };
                segment.push(b);
                if segment.len().is_multiple_of(4) && b == b'=' {
                    break;
                }
            }
            if segment.is_empty() {
                return Err(cut());
            }
            // What follows the last array of a file is no base64: only whole groups count.
            segment.truncate(segment.len() / 4 * 4);
            let good = segment.iter().position(|b| !is_letter(*b)).map_or(segment.len(), |p| p / 4 * 4);
            if good == 0 {
                return Err(cut());
            }
            STANDARD.decode_vec(&segment[..good], &mut out).map_err(|e| Error::corrupt(format!("base64: {e}")))?;
        }
        out.truncate(count);
        Ok(out)
    }
}

fn is_letter(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

fn cut() -> Error {
    Error::truncated("the data of an array end early").remedy("the file was cut short, or its header is wrong")
}

impl Binary {
    fn words(&self, bytes: &[u8]) -> Vec<usize> {
        let word = |b: &[u8]| {
            let value = b.iter().enumerate().fold(0u64, |v, (i, &byte)| {
                let place = if self.big_endian { self.word - 1 - i } else { i };
                v | (byte as u64) << (8 * place)
            });
            usize::try_from(value).unwrap_or(usize::MAX)
        };
        bytes.chunks_exact(self.word).map(word).collect()
    }
    /// Bytes that the header in front of uncompressed values takes.
    pub fn header_bytes(&self) -> usize {
        self.word
    }
    /// Checks the length in front of uncompressed values.
    pub fn check_length(&self, source: &impl ByteSource, expected: usize) -> Result<()> {
        let length = self.words(&source.first(self.word)?)[0];
        if length == expected {
            return Ok(());
        }
        Err(Error::corrupt(format!("an array of {length} bytes where its shape needs {expected}")))
    }
    /// The `expected` bytes of an array.
    pub fn read(&self, source: &impl ByteSource, expected: usize) -> Result<Vec<u8>> {
        let Some(compression) = self.compression else {
            self.check_length(source, expected)?;
            let mut all = source.first(expected.checked_add(self.word).ok_or_else(cut)?)?;
            all.drain(..self.word);
            return Ok(all);
        };
        let head = self.words(&source.first(3 * self.word)?);
        let (blocks, block_bytes, last_bytes) = (head[0], head[1], head[2]);
        let full = if last_bytes == 0 { blocks } else { blocks.saturating_sub(1) };
        let total = full.checked_mul(block_bytes).and_then(|b| b.checked_add(last_bytes));
        if total != Some(expected) {
            return Err(Error::corrupt(format!(
                "compressed blocks do not add up to the {expected} bytes of the shape"
            )));
        }
        let header_bytes = blocks.checked_add(3).and_then(|w| w.checked_mul(self.word)).ok_or_else(cut)?;
        let sizes = self.words(&source.first(header_bytes)?)[3..].to_vec();
        let end = sizes.iter().try_fold(header_bytes, |e, &s| e.checked_add(s)).ok_or_else(cut)?;
        let all = source.first(end)?;
        let mut out = Vec::new();
        let mut at = header_bytes;
        for (i, size) in sizes.into_iter().enumerate() {
            let bytes = if i < full { block_bytes } else { last_bytes };
            out.extend(expand(compression, &all[at..at + size], bytes)?);
            at += size;
        }
        Ok(out)
    }
}

/// Values written as text, as native bytes of their type; at most `count` of them.
pub fn read_text(text: &[u8], stored: StoredType, count: usize) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(text).map_err(|_| Error::corrupt("values in text form are not text"))?;
    let mut out = Vec::new();
    macro_rules! parse {
        ($t:ty) => {
            numbers::<$t>("values", text)?.iter().take(count).for_each(|v| out.extend(v.to_ne_bytes()))
        };
    }
    match stored {
        StoredType::U8 => parse!(u8),
        StoredType::I8 => parse!(i8),
        StoredType::U16 => parse!(u16),
        StoredType::I16 => parse!(i16),
        StoredType::U32 => parse!(u32),
        StoredType::I32 => parse!(i32),
        StoredType::U64 => parse!(u64),
        StoredType::I64 => parse!(i64),
        StoredType::F32 => parse!(f32),
        StoredType::F64 => parse!(f64),
    }
    if out.len() / stored.bytes() < count { Err(cut()) } else { Ok(out) }
}

/// The bytes of an array as f64, for coordinates.
pub fn as_f64(bytes: &[u8], stored: StoredType, big_endian: bool) -> Vec<f64> {
    let mut out = vec![0.0; bytes.len() / stored.bytes()];
    crate::volume::stored::gather(bytes, 0, stored.bytes(), stored, big_endian, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_in_the_middle_of_base64_is_passed() {
        let text = format!("{}{}", STANDARD.encode([1, 2, 3, 4]), STANDARD.encode([5, 6, 7, 8, 9]));
        assert_eq!(Base64Text(text.as_bytes()).first(9).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(Base64Text(text.as_bytes()).first(10).is_err());
    }

    proptest! {
        #[test]
        fn no_block_header_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80), expected in 0usize..4096, wide in any::<bool>()) {
            for compression in [None, Some(Compression::Zlib), Some(Compression::Lz4)] {
                let layout = Binary { big_endian: false, word: if wide { 8 } else { 4 }, compression };
                let _ = layout.read(&RawBytes(&bytes), expected);
                let _ = layout.read(&Base64Text(&bytes), expected);
            }
        }
    }
}
