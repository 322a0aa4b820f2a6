//! A chunk in bytes: the symbols of its blocks, and beside the hierarchy exact details, patches and lossless blocks.

use super::symbols::Drafted;
use super::values::{put_values, take_values, values_of};
use crate::entropy::huffman::Codebook;
use crate::stream::bytes::{Cursor, put_varint, zstd_unpack};
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
    /// Absent when the chunks of this frame have no symbols.
    pub symbols: Option<Drafted>,
    /// Details that are stored exactly.
    pub exact: Vec<T>,
    /// Ascending.
    pub patches: Vec<Patch<T>>,
    /// Nodes of the lossless blocks, block by block.
    pub lossless: Vec<T>,
}

impl<T: Element> Draft<T> {
    /// The chunk coded, or `None` when `raw_len` bytes of plain values would be no longer.
    pub fn code(self, book: Option<&Codebook>, raw_len: usize) -> Result<Option<Vec<u8>>> {
        let beside = self.exact.len() + self.patches.len();
        if beside * T::BYTES >= raw_len {
            return Ok(None);
        }
        let mut out = vec![CODED];
        if let Some(symbols) = self.symbols {
            let payload = symbols.payload(book);
            put_varint(&mut out, payload.len() as u64);
            out.extend_from_slice(&payload);
            put_varint(&mut out, self.exact.len() as u64);
            put_values(&mut out, &self.exact);
        }
        put_varint(&mut out, self.patches.len() as u64);
        let mut expected = 0;
        for &(index, _) in &self.patches {
            put_varint(&mut out, (index - expected) as u64);
            expected = index + 1;
        }
        let values: Vec<T> = self.patches.iter().map(|p| p.1).collect();
        put_values(&mut out, &values);
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
    put_values(&mut out, values);
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
        let mut fields = Cursor::new(bytes, PART);
        match fields.u8()? {
            RAW => {
                let values = take_values(&mut fields, nodes)?;
                return fields.finish().map(|()| Chunk::Raw(values));
            }
            CODED => {}
            _ => return Err(fields.bad("unknown kind")),
        }
        let (mut payload, mut exact) = (&[][..], Vec::new());
        if has_symbols {
            let length = fields.length()?;
            payload = fields.take(length)?;
            let count = fields.length()?;
            exact = take_values(&mut fields, count)?;
        }
        let patches = read_patches(&mut fields, nodes)?;
        let lossless = if lossless == 0 { Vec::new() } else { read_lossless(&mut fields, lossless)? };
        fields.finish()?;
        Ok(Chunk::Coded { payload, exact, patches, lossless })
    }
}

fn read_patches<T: Element>(fields: &mut Cursor, nodes: usize) -> Result<Vec<Patch<T>>> {
    let count = fields.length()?;
    if count > fields.remaining() {
        return Err(fields.bad("more patches than bytes"));
    }
    let mut indices = Vec::with_capacity(count);
    let mut expected = 0u64;
    for _ in 0..count {
        let index = expected.saturating_add(fields.varint()?);
        if index >= nodes as u64 {
            return Err(fields.bad("a patch lies outside"));
        }
        indices.push(index as u32);
        expected = index + 1;
    }
    Ok(indices.into_iter().zip(take_values(fields, count)?).collect())
}

fn read_lossless<T: Element>(fields: &mut Cursor, count: usize) -> Result<Vec<T>> {
    let planes = zstd_unpack(fields.rest(), (count * T::BYTES) as u64, PART)?;
    let bytes: Vec<u8> = (0..planes.len()).map(|i| planes[i % T::BYTES * count + i / T::BYTES]).collect();
    Ok(values_of(&bytes))
}

/// All first bytes, then all second bytes, and so on.
fn byte_planes<T: Element>(values: &[T]) -> Vec<u8> {
    let byte = |b: usize| values.iter().map(move |v| (v.to_bits64() >> (8 * b)) as u8);
    (0..T::BYTES).flat_map(byte).collect()
}
