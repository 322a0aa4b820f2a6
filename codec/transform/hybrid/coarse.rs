//! The coarse part in bytes: factors, the codebook of the chunks, the coarser levels, the coarsest array.

use super::hierarchy::{Coarsest, Hierarchy, LevelData};
use super::plan::{Level, Plan};
use super::symbols::{GLOBAL_UNIT, local_unit, put_level, take_level};
#[cfg(feature = "cuda")]
use super::symbols::{put_bytes, take_payloads};
use super::values::{put_values, take_values};
use crate::entropy::huffman::{Codebook, EXACT};
use crate::stream::bytes::{Cursor, put_varint};
use crate::{Element, Entropy, Error, Result};

const PART: &str = "coarse part";
/// First byte of a frame whose chunks are all raw: nothing follows.
const NO_HIERARCHY: u8 = 0;
const HIERARCHY: u8 = 1;
/// First byte of the coarsest array.
const QUANTIZED: u8 = 0;
const EXACT_VALUES: u8 = 1;

/// The coarse part of a frame whose chunks are all raw.
pub fn no_hierarchy() -> Vec<u8> {
    vec![NO_HIERARCHY]
}

/// Symbols of a unit of a level.
pub fn unit_of(level: &Level, rank: usize) -> usize {
    if level.local { local_unit(rank) } else { GLOBAL_UNIT }
}

/// Writes the coarse part. `book` is the codebook of the chunks, where there are symbols in them.
pub fn write<T: Element>(
    hierarchy: &Hierarchy<T>,
    factors: &[f64],
    entropy: Entropy,
    book: Option<&Codebook>,
    levels: &[LevelData<T>],
    coarsest: &Coarsest<T>,
) -> Vec<u8> {
    let mut out = begin(factors, book);
    for (level, data) in hierarchy.coarse_levels().iter().zip(levels) {
        put_level(&mut out, entropy, &data.symbols, unit_of(level, hierarchy.plan.rank()));
        put_varint(&mut out, data.exact.len() as u64);
        put_values(&mut out, &data.exact);
    }
    match coarsest {
        Coarsest::Quantized(q) => {
            out.push(QUANTIZED);
            let mut q = q.clone();
            difference(&mut q, hierarchy.plan.coarsest);
            put_level(&mut out, entropy, &q, GLOBAL_UNIT);
        }
        Coarsest::Exact(values) => put_exact(&mut out, values),
    }
    out
}

fn begin(factors: &[f64], book: Option<&Codebook>) -> Vec<u8> {
    let mut out = vec![HIERARCHY];
    factors.iter().for_each(|f| out.extend_from_slice(&f.to_le_bytes()));
    if let Some(book) = book {
        book.write(&mut out);
    }
    out
}

fn put_exact<T: Element>(out: &mut Vec<u8>, values: &[T]) {
    out.push(EXACT_VALUES);
    put_values(out, values);
}

/// Symbols that are payloads: one with its codebook, or those of the class coder.
#[cfg(feature = "cuda")]
pub struct Payload<'a> {
    pub book: Option<Codebook>,
    pub parts: Vec<&'a [u8]>,
}

#[cfg(feature = "cuda")]
impl Payload<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        if let Some(book) = &self.book {
            book.write(out);
        }
        self.parts.iter().for_each(|part| put_bytes(out, part));
    }
}

/// As [`write`], of levels whose symbols are payloads and none of whose details is exact.
#[cfg(feature = "cuda")]
pub fn write_coded<T: Element>(
    factors: &[f64],
    book: Option<&Codebook>,
    levels: &[Payload],
    coarsest: &PartCoarsest<Payload, T>,
) -> Vec<u8> {
    let mut out = begin(factors, book);
    for level in levels {
        level.put(&mut out);
        put_varint(&mut out, 0);
    }
    match coarsest {
        PartCoarsest::Quantized(payload) => {
            out.push(QUANTIZED);
            payload.put(&mut out);
        }
        PartCoarsest::Exact(values) => put_exact(&mut out, values),
    }
    out
}

/// A coarse part taken apart; S is what its symbols are read as.
pub struct CoarsePart<S, T> {
    pub factors: Vec<f64>,
    pub book: Option<Codebook>,
    /// Symbols and exact details of each level, finest first.
    pub levels: Vec<(S, Vec<T>)>,
    pub coarsest: PartCoarsest<S, T>,
}

/// The coarsest array as it stands in the stream.
pub enum PartCoarsest<S, T> {
    Quantized(S),
    Exact(Vec<T>),
}

/// Reads a coarse part; `None` when all chunks are raw. `take` reads a number of symbols in units of the given length.
fn read_with<'a, S, T: Element>(
    plan: &Plan,
    entropy: Entropy,
    bytes: &'a [u8],
    take: impl Fn(&mut Cursor<'a>, usize, usize) -> Result<S>,
) -> Result<Option<CoarsePart<S, T>>> {
    let mut fields = Cursor::new(bytes, PART);
    match fields.u8()? {
        NO_HIERARCHY => return fields.finish().map(|()| None),
        HIERARCHY => {}
        _ => return Err(fields.bad("unknown kind")),
    }
    let mut factors = Vec::new();
    for _ in 0..plan.levels.len() + 1 {
        let factor = fields.f64()?;
        if !(0.0..=1.0).contains(&factor) {
            return Err(fields.bad("a level's share of the tolerance is not between 0 and 1"));
        }
        factors.push(factor);
    }
    let has_book = plan.chunked() && entropy == Entropy::Huffman;
    let book = if has_book { Some(Codebook::read(&mut fields)?) } else { None };
    let mut levels = Vec::new();
    for level in &plan.levels[plan.chunked() as usize..] {
        let symbols = take(&mut fields, unit_of(level, plan.rank()), level.details)?;
        let count = fields.length()?;
        levels.push((symbols, take_values(&mut fields, count)?));
    }
    let count: usize = plan.coarsest.iter().product();
    let coarsest = match fields.u8()? {
        QUANTIZED => PartCoarsest::Quantized(take(&mut fields, GLOBAL_UNIT, count)?),
        EXACT_VALUES => PartCoarsest::Exact(take_values(&mut fields, count)?),
        _ => return Err(fields.bad("unknown kind of coarsest array")),
    };
    fields.finish()?;
    Ok(Some(CoarsePart { factors, book, levels, coarsest }))
}

/// Reads a coarse part whose symbols stay payloads.
#[cfg(feature = "cuda")]
pub fn read_coded<'a, T: Element>(
    plan: &Plan,
    entropy: Entropy,
    bytes: &'a [u8],
) -> Result<Option<CoarsePart<Payload<'a>, T>>> {
    read_with(plan, entropy, bytes, |fields, _, count| {
        let (book, parts) = take_payloads(fields, entropy, count)?;
        Ok(Payload { book, parts })
    })
}

/// What a coarse part holds, decoded.
pub struct Decoded<T> {
    pub factors: Vec<f64>,
    pub book: Option<Codebook>,
    pub levels: Vec<LevelData<T>>,
    pub coarsest: Coarsest<T>,
}

/// Reads and decodes a coarse part; `None` when all chunks are raw.
pub fn read<T: Element>(plan: &Plan, entropy: Entropy, bytes: &[u8]) -> Result<Option<Decoded<T>>> {
    let part = read_with(plan, entropy, bytes, |fields, unit, count| take_level(fields, entropy, unit, count))?;
    let Some(CoarsePart { factors, book, levels, coarsest }) = part else { return Ok(None) };
    let levels: Vec<_> = levels.into_iter().map(|(symbols, exact)| LevelData { symbols, exact }).collect();
    for level in &levels {
        check_exact(&level.symbols, level.exact.len()).map_err(|why| Cursor::new(bytes, PART).bad(why))?;
    }
    let coarsest = match coarsest {
        PartCoarsest::Exact(values) => Coarsest::Exact(values),
        PartCoarsest::Quantized(mut q) => {
            sum(&mut q, plan.coarsest);
            Coarsest::Quantized(q)
        }
    };
    Ok(Some(Decoded { factors, book, levels, coarsest }))
}

/// There must be a value for each [`EXACT`] symbol.
pub fn check_exact(symbols: &[i32], values: usize) -> std::result::Result<(), &'static str> {
    let asked = symbols.iter().filter(|&&q| q == EXACT).count();
    if asked == values { Ok(()) } else { Err("exact details do not match their symbols") }
}

/// Differences of neighbours along axis 0, then 1, then 2, wrapping: what is left of a smooth array is small.
fn difference(q: &mut [i32], n: [usize; 3]) {
    for axis in 0..3 {
        let inner: usize = n[axis + 1..].iter().product();
        for line in q.chunks_exact_mut(n[axis] * inner) {
            for i in (inner..line.len()).rev() {
                line[i] = line[i].wrapping_sub(line[i - inner]);
            }
        }
    }
}

/// Undoes [`difference`].
fn sum(q: &mut [i32], n: [usize; 3]) {
    for axis in 0..3 {
        let inner: usize = n[axis + 1..].iter().product();
        for line in q.chunks_exact_mut(n[axis] * inner) {
            for i in inner..line.len() {
                line[i] = line[i].wrapping_add(line[i - inner]);
            }
        }
    }
}

/// Chunks are coded, yet the coarse part says that all are raw.
pub fn missing() -> Error {
    Error::corrupt("chunk: needs the hierarchy, which the coarse part lacks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_undone() {
        let n = [3, 4, 5];
        let q: Vec<i32> = (0..60).map(|i: i32| i.wrapping_mul(1 << 27).wrapping_add(i * i)).collect();
        let mut d = q.clone();
        difference(&mut d, n);
        sum(&mut d, n);
        assert_eq!(d, q);
    }
}
