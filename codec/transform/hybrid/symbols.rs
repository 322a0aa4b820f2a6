//! Symbols of a level or chunk, through the entropy stage of the run.

use super::local::block_details;
use crate::entropy::class::{decode_flat, encode_flat};
use crate::entropy::huffman::{Codebook, Decoder, Segments, Tokens};
use crate::stream::bytes::{Cursor, put_varint};
use crate::{Entropy, Result};
use rayon::prelude::*;

/// Symbols of a unit of global levels and of the coarsest array.
pub const GLOBAL_UNIT: usize = 384;
/// Symbols of one payload of the class coder.
pub const CLASS_PART: usize = 1 << 18;

/// Symbols of a unit of local levels: whole blocks, about 400 symbols.
pub fn local_unit(rank: usize) -> usize {
    let blocks = [128, 8, 1][rank.max(1) - 1];
    blocks * block_details(rank)
}

/// Symbols of a chunk, coded as far as is possible without the codebook of the frame.
pub enum Drafted {
    Tokens(Box<Tokens>),
    Payload(Vec<u8>),
}

impl Drafted {
    pub fn new(entropy: Entropy, symbols: &[i32], unit: usize) -> Self {
        match entropy {
            Entropy::Huffman => Self::Tokens(Box::new(Tokens::new(symbols, unit))),
            Entropy::Class => {
                let mut payload = Vec::new();
                encode_flat(symbols, &mut payload);
                Self::Payload(payload)
            }
        }
    }
    /// The payload; `book` is the codebook of the frame, where the entropy stage has one.
    pub fn payload(self, book: Option<&Codebook>) -> Vec<u8> {
        match (self, book) {
            (Self::Tokens(tokens), Some(book)) => {
                let mut payload = Vec::new();
                tokens.encode(book, &mut payload);
                payload
            }
            (Self::Tokens(_), None) => Vec::new(),
            (Self::Payload(payload), _) => payload,
        }
    }
}

/// Decodes the payloads of chunks.
pub enum ChunkDecoder {
    Huffman(Decoder),
    Class,
}

impl ChunkDecoder {
    pub fn new(book: Option<Codebook>, unit: usize) -> Self {
        book.map_or(Self::Class, |book| Self::Huffman(Decoder::new(&book, unit)))
    }
    /// Decodes `count` symbols into `symbols`.
    pub fn decode(&self, payload: &[u8], count: usize, symbols: &mut Vec<i32>) -> Result<()> {
        match self {
            Self::Class => *symbols = decode_flat(count, payload)?,
            Self::Huffman(decoder) => {
                symbols.clear();
                symbols.resize(count, 0);
                decoder.decode(payload, symbols)?;
            }
        }
        Ok(())
    }
}

/// Appends the symbols of a level of the coarse part.
pub fn put_level(out: &mut Vec<u8>, entropy: Entropy, symbols: &[i32], unit: usize) {
    match entropy {
        Entropy::Huffman => {
            let tokens = Tokens::new(symbols, unit);
            let book = tokens.counts.codebook();
            let mut payload = Vec::new();
            tokens.encode(&book, &mut payload);
            put_coded(out, &book, &payload);
        }
        Entropy::Class => {
            let parts: Vec<Vec<u8>> = symbols
                .par_chunks(CLASS_PART)
                .map(|part| {
                    let mut payload = Vec::new();
                    encode_flat(part, &mut payload);
                    payload
                })
                .collect();
            parts.iter().for_each(|payload| put_bytes(out, payload));
        }
    }
}

/// Appends the symbols of a level that are a Huffman payload already.
pub fn put_coded(out: &mut Vec<u8>, book: &Codebook, payload: &[u8]) {
    book.write(out);
    put_bytes(out, payload);
}

/// Reads what [`put_coded`] wrote, without decoding.
pub fn take_coded<'a>(cursor: &mut Cursor<'a>) -> Result<(Codebook, &'a [u8])> {
    let book = Codebook::read(cursor)?;
    let length = cursor.length()?;
    Ok((book, cursor.take(length)?))
}

/// Reads the payloads of what [`put_level`] wrote, without decoding them, and the codebook of a Huffman payload.
#[cfg(feature = "cuda")]
pub fn take_payloads<'a>(
    cursor: &mut Cursor<'a>,
    entropy: Entropy,
    count: usize,
) -> Result<(Option<Codebook>, Vec<&'a [u8]>)> {
    if entropy == Entropy::Huffman {
        let (book, payload) = take_coded(cursor)?;
        return Ok((Some(book), vec![payload]));
    }
    let take = |_| {
        let length = cursor.length()?;
        cursor.take(length)
    };
    Ok((None, (0..count).step_by(CLASS_PART).map(take).collect::<Result<_>>()?))
}

/// Appends bytes with their length in front.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what [`put_level`] wrote: `count` symbols, all cores at work.
pub fn take_level(cursor: &mut Cursor, entropy: Entropy, unit: usize, count: usize) -> Result<Vec<i32>> {
    match entropy {
        Entropy::Huffman => {
            let (book, payload) = take_coded(cursor)?;
            let decoder = Decoder::new(&book, unit);
            let segments = Segments::parse(payload, unit, count)?;
            let mut symbols = vec![0; count];
            let parts: Vec<_> = segments.iter().zip(symbols.chunks_mut(segments.segment_symbols())).collect();
            parts.into_par_iter().try_for_each(|(bytes, out)| decoder.segment(bytes, out))?;
            Ok(symbols)
        }
        Entropy::Class => {
            let lengths = (0..count).step_by(CLASS_PART).map(|at| CLASS_PART.min(count - at));
            let mut parts = Vec::new();
            for symbols in lengths {
                let length = cursor.length()?;
                parts.push((symbols, cursor.take(length)?));
            }
            let decoded: Vec<Vec<i32>> =
                parts.into_par_iter().map(|(symbols, payload)| decode_flat(symbols, payload)).collect::<Result<_>>()?;
            Ok(decoded.concat())
        }
    }
}
