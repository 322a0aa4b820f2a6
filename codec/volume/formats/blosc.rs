//! Decoder of Blosc 1 containers, the default compression of Zarr (<https://github.com/Blosc/c-blosc>, README_CHUNK_FORMAT).
//!
//! Own code because the crates either build C or are young ports; encoding is not needed.

use super::expand::{Compression, expand};
use crate::{Error, ErrorKind, Result};

const HEADER_BYTES: usize = 16;
const SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const NOT_SPLIT: u8 = 0x10;
/// Blocks are split into one stream per byte of a value up to this value size, if streams have this many bytes.
const MAX_SPLITS: usize = 16;
const MIN_STREAM_BYTES: usize = 128;

fn cut() -> Error {
    Error::truncated("a Blosc chunk ends early")
}

fn word(bytes: &[u8], at: usize) -> Result<usize> {
    let b = bytes.get(at..at.checked_add(4).ok_or_else(cut)?).ok_or_else(cut)?;
    Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
}

/// The `expected` bytes of a Blosc chunk.
pub fn decode(input: &[u8], expected: usize) -> Result<Vec<u8>> {
    let head = input.get(..HEADER_BYTES).ok_or_else(cut)?;
    let (flags, value_bytes) = (head[2], head[3] as usize);
    let (total, block_bytes) = (word(input, 4)?, word(input, 8)?);
    if total != expected {
        return Err(Error::corrupt(format!("a Blosc chunk of {total} bytes where {expected} are due")));
    }
    if flags & STORED != 0 {
        return input.get(HEADER_BYTES..HEADER_BYTES + total).map(<[u8]>::to_vec).ok_or_else(cut);
    }
    if total == 0 {
        return Ok(Vec::new());
    }
    if block_bytes == 0 || value_bytes == 0 || block_bytes > total.max(value_bytes) {
        return Err(Error::corrupt("a Blosc chunk of impossible blocks"));
    }
    let compression = match flags >> 5 {
        1 => Compression::Lz4,
        3 => Compression::Zlib,
        4 => Compression::Zstd,
        other => {
            let name = ["BloscLZ", "LZ4", "Snappy"].get(other as usize).copied().unwrap_or("an unknown codec");
            return Err(Error::new(ErrorKind::Compatibility, format!("Blosc chunks of {name} are not read"))
                .remedy("write the array with LZ4, zstd or zlib inside Blosc"));
        }
    };
    let blocks = total.div_ceil(block_bytes);
    // Every block has at least its place in the list and the length of a stream.
    if blocks > input.len() / 8 {
        return Err(cut());
    }
    let mut out = Vec::new();
    for b in 0..blocks {
        let bytes = block_bytes.min(total - b * block_bytes);
        let start = word(input, HEADER_BYTES + 4 * b)?;
        let split = flags & NOT_SPLIT == 0
            && value_bytes <= MAX_SPLITS
            && block_bytes / value_bytes >= MIN_STREAM_BYTES
            && bytes == block_bytes;
        let block = streams(input, start, bytes, if split { value_bytes } else { 1 }, compression)?;
        if flags & SHUFFLE != 0 && value_bytes > 1 {
            unshuffle(&block, value_bytes, &mut out);
        } else if flags & BIT_SHUFFLE != 0 && bytes >= value_bytes {
            bit_unshuffle(&block, value_bytes, &mut out);
        } else {
            out.extend(block);
        }
    }
    Ok(out)
}

/// The `bytes` of one block, in `count` streams of the same size.
fn streams(input: &[u8], mut at: usize, bytes: usize, count: usize, compression: Compression) -> Result<Vec<u8>> {
    let each = bytes / count;
    if each * count != bytes {
        return Err(Error::corrupt("a Blosc block does not divide into its streams"));
    }
    let mut out = Vec::new();
    for _ in 0..count {
        let size = word(input, at)?;
        at += 4;
        let stream = input.get(at..at.checked_add(size).ok_or_else(cut)?).ok_or_else(cut)?;
        at += size;
        if size == each {
            out.extend_from_slice(stream);
        } else {
            out.extend(expand(compression, stream, each)?);
        }
    }
    Ok(out)
}

/// Byte `k` of every value came first for k = 0, then for k = 1, ...; what is left over came as it was.
fn unshuffle(block: &[u8], value_bytes: usize, out: &mut Vec<u8>) {
    let values = block.len() / value_bytes;
    for i in 0..values {
        out.extend((0..value_bytes).map(|k| block[k * values + i]));
    }
    out.extend_from_slice(&block[values * value_bytes..]);
}

/// Bit `k` of every value came first for k = 0, then for k = 1, ..., over as many values as fill whole bytes.
fn bit_unshuffle(block: &[u8], value_bytes: usize, out: &mut Vec<u8>) {
    let values = block.len() / value_bytes / 8 * 8;
    let row_bytes = values / 8;
    let start = out.len();
    out.resize(start + values * value_bytes, 0);
    for (row, bits) in block[..values * value_bytes].chunks_exact(row_bytes.max(1)).enumerate() {
        let (byte, bit) = (row / 8, row % 8);
        for i in 0..values {
            let on = bits[i / 8] >> (i % 8) & 1;
            out[start + i * value_bytes + byte] |= on << bit;
        }
    }
    out.extend_from_slice(&block[values * value_bytes..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shuffles_are_undone() {
        let mut out = Vec::new();
        unshuffle(&[1, 2, 3, 10, 20, 30, 99], 2, &mut out);
        assert_eq!(out, [1, 10, 2, 20, 3, 30, 99]);
        // Eight one-byte values 0..8: rows are bits 0, 1, 2.
        let mut out = Vec::new();
        bit_unshuffle(&[0b10101010, 0b11001100, 0b11110000, 0, 0, 0, 0, 0, 7], 1, &mut out);
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7, 7]);
    }

    proptest! {
        #[test]
        fn no_chunk_panics(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), flags in any::<u8>(), value_bytes in 0u8..9, total in 0u32..300, block in 0u32..300) {
            let _ = decode(&bytes, total as usize);
            if bytes.len() >= 16 {
                bytes[2] = flags;
                bytes[3] = value_bytes;
                bytes[4..8].copy_from_slice(&total.to_le_bytes());
                bytes[8..12].copy_from_slice(&block.to_le_bytes());
                let _ = decode(&bytes, total as usize);
            }
        }
    }
}
