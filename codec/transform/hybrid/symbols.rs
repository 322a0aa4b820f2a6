//! Symbols of a level or chunk, through the entropy stage of the run.

use super::bytes::{Fields, put_varint};
use super::local::block_details;
use crate::Result;
use crate::entropy::huffman::{Codebook, Decoder, Segments, Tokens};
use rayon::prelude::*;

/// Symbols of a unit of global levels and of the coarsest array.
pub const GLOBAL_UNIT: usize = 384;

/// Symbols of a unit of local levels: whole blocks, about 400 symbols.
pub fn local_unit(rank: usize) -> usize {
    let blocks = [128, 8, 1][rank.max(1) - 1];
    blocks * block_details(rank)
}

/// Appends a codebook and the symbols coded with it.
pub fn put_with_codebook(out: &mut Vec<u8>, symbols: &[i32], unit: usize) {
    let tokens = Tokens::new(symbols, unit);
    let book = tokens.counts.codebook();
    book.write(out);
    let mut payload = Vec::new();
    tokens.encode(&book, &mut payload);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(&payload);
}

/// Reads what [`put_with_codebook`] wrote: `count` symbols, all cores at work.
pub fn take_with_codebook(fields: &mut Fields, unit: usize, count: usize) -> Result<Vec<i32>> {
    let book = Codebook::read(&mut fields.rest)?;
    let length = fields.varint()?;
    let segments = Segments::parse(fields.bytes(length)?, unit, count)?;
    let decoder = Decoder::new(&book, unit);
    let mut symbols = vec![0; count];
    let parts: Vec<_> = segments.iter().zip(symbols.chunks_mut(segments.segment_symbols())).collect();
    parts.into_par_iter().try_for_each(|((bytes, _), out)| decoder.segment(bytes, out))?;
    Ok(symbols)
}
