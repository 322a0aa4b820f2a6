//! A chunk in bytes: the symbols of its blocks, and beside the hierarchy exact details, patches and lossless blocks.

use super::bytes::{Fields, put_values, put_varint, values_of};
use crate::entropy::huffman::{Codebook, Tokens};
use crate::{Element, Error, Result};

const PART: &str = "chunk";
const RAW: u8 = 0;
const CODED: u8 = 1;
/// zstd's default: lossless blocks are the exception, and higher levels gain little on floating-point data.
const ZSTD_LEVEL: i32 = 3;

/// A node whose reconstruction would miss its tolerance: its index in the chunk's box and its value.
pub type Patch<T> = (u32, T);

/// What the encoder found out about a chunk.
pub struct Draft<T> {
    pub tokens: Tokens,
    /// Details that are stored exactly.
    pub exact: Vec<T>,
    /// Ascending.
    pub patches: Vec<Patch<T>>,
    /// Nodes of the lossless blocks, block by block.
    pub lossless: Vec<T>,
}

impl<T: Element> Draft<T> {
    /// The chunk coded, or `None` when `raw_len` bytes of plain values would be no longer.
    pub fn code(&self, book: Option<&Codebook>, raw_len: usize) -> Result<Option<Vec<u8>>> {
        let beside = self.exact.len() + self.patches.len();
        if beside * T::BYTES >= raw_len {
            return Ok(None);
        }
        let mut out = vec![CODED];
        if let Some(book) = book {
            let mut payload = Vec::new();
            self.tokens.encode(book, &mut payload);
            put_varint(&mut out, payload.len() as u64);
            out.extend_from_slice(&payload);
            put_varint(&mut out, self.exact.len() as u64);
            put_values(&mut out, self.exact.iter().copied());
        }
        put_varint(&mut out, self.patches.len() as u64);
        let mut expected = 0;
        for &(index, _) in &self.patches {
            put_varint(&mut out, (index - expected) as u64);
            expected = index + 1;
        }
        put_values(&mut out, self.patches.iter().map(|p| p.1));
        if !self.lossless.is_empty() {
            let packed = zstd::bulk::compress(&byte_planes(&self.lossless), ZSTD_LEVEL);
            out.extend(packed.map_err(|e| Error::invalid(format!("zstd could not pack lossless blocks: {e}")))?);
        }
        Ok((out.len() < 1 + raw_len).then_some(out))
    }
}

/// The chunk as plain values.
pub fn raw<T: Element>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + values.len() * T::BYTES);
    out.push(RAW);
    put_values(&mut out, values.iter().copied());
    out
}

/// A chunk taken apart.
pub enum Chunk<'a, T> {
    Raw(Vec<T>),
    Coded {
        /// Coded symbols; empty when the chunks of this frame have none.
        payload: &'a [u8],
        exact: Vec<T>,
        patches: Vec<Patch<T>>,
        lossless: Vec<T>,
    },
}

impl<'a, T: Element> Chunk<'a, T> {
    /// Reads a chunk of `nodes` nodes, `lossless` of them in lossless blocks.
    pub fn read(bytes: &'a [u8], nodes: usize, lossless: usize, has_symbols: bool) -> Result<Self> {
        let mut fields = Fields::new(bytes, PART);
        match fields.byte()? {
            RAW => {
                let values = fields.values(nodes as u64)?;
                return fields.end().map(|()| Chunk::Raw(values));
            }
            CODED => {}
            _ => return Err(fields.corrupt("unknown kind")),
        }
        let (mut payload, mut exact) = (&[][..], Vec::new());
        if has_symbols {
            let length = fields.varint()?;
            payload = fields.bytes(length)?;
            let count = fields.varint()?;
            exact = fields.values(count)?;
        }
        let patches = read_patches(&mut fields, nodes)?;
        let lossless = if lossless == 0 { Vec::new() } else { read_lossless(&mut fields, lossless)? };
        fields.end()?;
        Ok(Chunk::Coded { payload, exact, patches, lossless })
    }
}

fn read_patches<T: Element>(fields: &mut Fields, nodes: usize) -> Result<Vec<Patch<T>>> {
    let count = fields.varint()?;
    if count > fields.rest.len() as u64 {
        return Err(fields.corrupt("more patches than bytes"));
    }
    let mut indices = Vec::with_capacity(count as usize);
    let mut expected = 0u64;
    for _ in 0..count {
        let index = expected.saturating_add(fields.varint()?);
        if index >= nodes as u64 {
            return Err(fields.corrupt("a patch lies outside"));
        }
        indices.push(index as u32);
        expected = index + 1;
    }
    Ok(indices.into_iter().zip(fields.values(count)?).collect())
}

fn read_lossless<T: Element>(fields: &mut Fields, count: usize) -> Result<Vec<T>> {
    let packed = std::mem::take(&mut fields.rest);
    let planes = zstd::bulk::decompress(packed, count * T::BYTES)
        .map_err(|e| fields.corrupt(&format!("lossless blocks do not unpack: {e}")))?;
    if planes.len() != count * T::BYTES {
        return Err(fields.corrupt("lossless blocks have another size"));
    }
    let bytes: Vec<u8> = (0..planes.len()).map(|i| planes[i % T::BYTES * count + i / T::BYTES]).collect();
    Ok(values_of(&bytes))
}

/// All first bytes, then all second bytes, and so on.
fn byte_planes<T: Element>(values: &[T]) -> Vec<u8> {
    let byte = |b: usize| values.iter().map(move |v| (v.to_bits64() >> (8 * b)) as u8);
    (0..T::BYTES).flat_map(byte).collect()
}
