//! The codecs of a Zarr array, from its metadata to the bytes of a chunk.

use super::blosc;
use super::expand::{Compression, expand};
use crate::{Error, ErrorKind, Result};
use serde_json::Value;

/// Codecs of one chunk, those that act on bytes in the order of encoding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Codecs {
    pub big_endian: bool,
    /// The order in which axes were written, slowest first, when it is not that of the shape.
    pub order: Option<Vec<usize>>,
    pub bytes: Vec<ByteCodec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCodec {
    Compressed(Compression),
    Blosc,
    Crc32c,
}

/// Chunks inside the chunks that are files.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharding {
    pub chunk: Vec<usize>,
    pub codecs: Codecs,
    pub index_at_start: bool,
    /// The index itself ends with a checksum.
    pub index_checked: bool,
}

fn unsupported(name: &str) -> Error {
    Error::new(ErrorKind::Compatibility, format!("Zarr codec '{name}' is not read"))
        .remedy("write the array with gzip, zlib, zstd, LZ4 or Blosc")
}

impl Codecs {
    /// From `.zarray` of version 2: `compressor`, `filters` and `order`.
    pub fn version_2(meta: &Value, rank: usize, big_endian: bool) -> Result<Self> {
        let mut bytes = Vec::new();
        let filters = meta["filters"].as_array().cloned().unwrap_or_default();
        for codec in filters.iter().chain(std::iter::once(&meta["compressor"]).filter(|c| !c.is_null())) {
            bytes.push(byte_codec(codec["id"].as_str().unwrap_or("?"))?);
        }
        let fortran = meta["order"].as_str() == Some("F");
        Ok(Self { big_endian, order: fortran.then(|| (0..rank).rev().collect()), bytes })
    }
    /// From the list `codecs` of version 3, with the shards where there are some.
    pub fn version_3(list: &Value, rank: usize) -> Result<(Self, Option<Sharding>)> {
        let list = list.as_array().ok_or_else(|| Error::corrupt("Zarr metadata without a list of codecs"))?;
        let mut codecs = Self::default();
        let mut sharding = None;
        for codec in list {
            let config = &codec["configuration"];
            match codec["name"].as_str().or(codec.as_str()).unwrap_or("?") {
                "bytes" => codecs.big_endian = config["endian"].as_str() == Some("big"),
                "transpose" => codecs.order = Some(permutation(&config["order"], rank)?),
                "sharding_indexed" => sharding = Some(Sharding::parse(config, rank)?),
                name => codecs.bytes.push(byte_codec(name)?),
            }
        }
        if sharding.is_some() && (list.len() > 1 || codecs.order.is_some()) {
            return Err(unsupported("sharding_indexed inside other codecs"));
        }
        Ok((codecs, sharding))
    }
    /// The `expected` bytes of a chunk, axes in the order they were written.
    pub fn decode(&self, input: &[u8], expected: usize) -> Result<Vec<u8>> {
        // Only the innermost compression knows its size; checksums around it are peeled off first.
        let compressions = self.bytes.iter().filter(|c| **c != ByteCodec::Crc32c).count();
        if compressions > 1 {
            return Err(unsupported("one compression inside another"));
        }
        let mut data = std::borrow::Cow::Borrowed(input);
        for (i, codec) in self.bytes.iter().enumerate().rev() {
            let inner_checks = self.bytes[..i].iter().filter(|c| **c == ByteCodec::Crc32c).count();
            let size = expected + 4 * inner_checks;
            data = match codec {
                ByteCodec::Compressed(c) => expand(*c, &data, size)?.into(),
                ByteCodec::Blosc => blosc::decode(&data, size)?.into(),
                ByteCodec::Crc32c => checked(&data)?.to_vec().into(),
            };
        }
        if data.len() == expected {
            return Ok(data.into_owned());
        }
        Err(Error::corrupt(format!("a Zarr chunk of {} bytes where {expected} are due", data.len())))
    }
}

impl Sharding {
    fn parse(config: &Value, rank: usize) -> Result<Self> {
        let chunk = numbers(&config["chunk_shape"], rank)?;
        let (codecs, nested) = Codecs::version_3(&config["codecs"], rank)?;
        if nested.is_some() {
            return Err(unsupported("sharding_indexed inside itself"));
        }
        let (index, _) = Codecs::version_3(&config["index_codecs"], 1)?;
        let index_checked = index.bytes == [ByteCodec::Crc32c];
        if index.big_endian || !(index_checked || index.bytes.is_empty()) {
            return Err(unsupported("a shard index that is compressed or big-endian"));
        }
        Ok(Self { chunk, codecs, index_at_start: config["index_location"].as_str() == Some("start"), index_checked })
    }
    /// Where inner chunk `i` of `count` lies in a shard; `None` when it was never written.
    pub fn locate(&self, shard: &[u8], i: usize, count: usize) -> Result<Option<std::ops::Range<usize>>> {
        let cut = || Error::truncated("a Zarr shard ends early");
        let entries = count.checked_mul(16).ok_or_else(cut)?;
        let bytes = entries + if self.index_checked { 4 } else { 0 };
        let start = if self.index_at_start { 0 } else { shard.len().checked_sub(bytes).ok_or_else(cut)? };
        let mut index = shard.get(start..start + bytes).ok_or_else(cut)?;
        if self.index_checked {
            index = checked(index)?;
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|b| index[16 * i + at + b]));
        let (offset, length) = (number(0), number(8));
        if (offset, length) == (u64::MAX, u64::MAX) {
            return Ok(None);
        }
        let end = offset.checked_add(length).filter(|&e| e <= shard.len() as u64).ok_or_else(cut)?;
        Ok(Some(offset as usize..end as usize))
    }
}

fn byte_codec(name: &str) -> Result<ByteCodec> {
    Ok(match name {
        "gzip" => ByteCodec::Compressed(Compression::Gzip),
        "zlib" | "numcodecs.zlib" => ByteCodec::Compressed(Compression::Zlib),
        "zstd" | "numcodecs.zstd" => ByteCodec::Compressed(Compression::Zstd),
        "blosc" | "numcodecs.blosc" => ByteCodec::Blosc,
        "crc32c" => ByteCodec::Crc32c,
        other => return Err(unsupported(other)),
    })
}

/// A list of `rank` numbers above 0.
pub fn numbers(list: &Value, rank: usize) -> Result<Vec<usize>> {
    let values = list.as_array().map(|a| a.iter().map(|v| v.as_u64().unwrap_or(0) as usize).collect::<Vec<_>>());
    values
        .filter(|v| v.len() == rank && !v.contains(&0))
        .ok_or_else(|| Error::corrupt(format!("Zarr metadata with {list} where {rank} numbers above 0 are due")))
}

fn permutation(list: &Value, rank: usize) -> Result<Vec<usize>> {
    if list.as_str() == Some("F") {
        return Ok((0..rank).rev().collect());
    }
    let order: Vec<usize> =
        list.as_array().map(|a| a.iter().filter_map(|v| v.as_u64().map(|n| n as usize)).collect()).unwrap_or_default();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..rank) {
        Ok(order)
    } else {
        Err(Error::corrupt(format!("Zarr metadata with the axis order {list}")))
    }
}

/// The bytes before a CRC-32C that is right.
fn checked(data: &[u8]) -> Result<&[u8]> {
    let split = data.len().checked_sub(4).ok_or_else(|| Error::truncated("a Zarr checksum is cut short"))?;
    let (body, sum) = data.split_at(split);
    if crc32c(body).to_le_bytes() == sum {
        Ok(body)
    } else {
        Err(Error::corrupt("a Zarr checksum does not match its bytes"))
    }
}

/// CRC-32C (Castagnoli); crc32fast knows the other polynomial only.
fn crc32c(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut c = i as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 != 0 { c >> 1 ^ 0x82f6_3b78 } else { c >> 1 };
                bit += 1;
            }
            table[i] = c;
            i += 1;
        }
        table
    };
    !data.iter().fold(!0, |c, &b| TABLE[((c ^ b as u32) & 0xff) as usize] ^ c >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    proptest! {
        #[test]
        fn no_shard_panics(shard in proptest::collection::vec(any::<u8>(), 0..100), i in 0usize..4, count in 4usize..9, start in any::<bool>(), index_checked in any::<bool>()) {
            let s = Sharding { chunk: vec![1], codecs: Codecs::default(), index_at_start: start, index_checked };
            let _ = s.locate(&shard, i, count);
        }
    }
}
