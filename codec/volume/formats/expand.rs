//! Decompression into memory that cannot be made to grow beyond what a header announced.

use crate::{Error, ErrorKind, Result};
use std::io::Read;

/// How some bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zlib,
    /// Without any header.
    Deflate,
    Zstd,
    /// A bare LZ4 block.
    Lz4,
}

impl Compression {
    /// No stream of this kind grows by more than this factor (zstd: within a block of repeated bytes).
    fn largest_ratio(self) -> usize {
        match self {
            Self::Gzip | Self::Zlib | Self::Deflate => 1040,
            Self::Zstd => 1 << 16,
            Self::Lz4 => 256,
        }
    }
}

/// Room for headers of empty and tiny streams in the check of the ratio.
const SLACK_BYTES: usize = 4096;

/// The `expected` bytes that `input` holds.
///
/// # Errors
/// A size that the input cannot hold, damaged input, and content that is shorter or longer than expected.
pub fn expand(compression: Compression, input: &[u8], expected: usize) -> Result<Vec<u8>> {
    if expected > input.len().saturating_mul(compression.largest_ratio()).saturating_add(SLACK_BYTES) {
        return Err(Error::truncated(format!(
            "{} compressed bytes cannot hold the {expected} bytes that the header announces",
            input.len()
        )));
    }
    let mut out = Vec::new();
    let limit = expected as u64 + 1;
    let outcome = match compression {
        Compression::Gzip => flate2::read::MultiGzDecoder::new(input).take(limit).read_to_end(&mut out),
        Compression::Zlib => flate2::read::ZlibDecoder::new(input).take(limit).read_to_end(&mut out),
        Compression::Deflate => flate2::read::DeflateDecoder::new(input).take(limit).read_to_end(&mut out),
        Compression::Zstd => zstd::Decoder::new(input).and_then(|d| d.take(limit).read_to_end(&mut out)),
        Compression::Lz4 => {
            out = lz4_flex::block::decompress(input, expected)
                .map_err(|e| Error::corrupt(format!("compressed data are damaged: {e}")))?;
            Ok(out.len())
        }
    };
    if let Err(e) = outcome {
        let kind =
            if e.kind() == std::io::ErrorKind::UnexpectedEof { ErrorKind::Truncated } else { ErrorKind::Corruption };
        return Err(Error::new(kind, format!("compressed data are damaged: {e}")));
    }
    match out.len() {
        n if n < expected => Err(Error::truncated(format!("compressed data hold {n} bytes of {expected}"))),
        n if n > expected => {
            Err(Error::corrupt(format!("compressed data hold more than the {expected} bytes announced")))
        }
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gz(data: &[u8]) -> Vec<u8> {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        e.write_all(data).unwrap();
        e.finish().unwrap()
    }

    #[test]
    fn exact_content_comes_back() {
        let data: Vec<u8> = (0..10_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        assert_eq!(expand(Compression::Gzip, &gz(&data), data.len()).unwrap(), data);
        let z = zstd::encode_all(&data[..], 1).unwrap();
        assert_eq!(expand(Compression::Zstd, &z, data.len()).unwrap(), data);
        let l = lz4_flex::block::compress(&data);
        assert_eq!(expand(Compression::Lz4, &l, data.len()).unwrap(), data);
    }

    #[test]
    fn bombs_lies_and_cuts_are_refused() {
        let bomb = gz(&vec![0; 50 << 20]);
        assert!(expand(Compression::Gzip, &bomb, 100).unwrap_err().message.contains("more than"));
        assert!(expand(Compression::Gzip, &bomb, 1 << 60).unwrap_err().message.contains("cannot hold"));
        assert!(expand(Compression::Gzip, &bomb[..bomb.len() / 2], 50 << 20).is_err());
        assert!(expand(Compression::Lz4, &[0xff; 20], 1 << 10).is_err());
    }
}
