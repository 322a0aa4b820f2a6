//! From the bytes of a chunk to symbols; nothing in them is trusted.

use super::group::{EXACT_CODE, LEN, MOST_PLANES, join, symbol};
use super::{EMPTY, HAS_EXACT, groups, tile_bytes};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols};
use crate::entropy::reader::Reader;
use crate::simd::{Kernel, dispatch};
use crate::{Error, Result};

/// Reads what [`super::encode_chunk`] wrote. `symbols` is overwritten; its buffers are reused.
///
/// # Errors
/// Corruption or truncation of the payload.
pub fn decode_chunk(layout: &ChunkLayout, payload: &[u8], symbols: &mut ChunkSymbols) -> Result<()> {
    symbols.q.clear();
    symbols.q.resize(layout.nodes, 0);
    symbols.delta.clear();
    let mut reader = Reader { rest: payload };
    let head = reader.take(3, "head")?;
    if !matches!(head, [0 | HAS_EXACT | EMPTY, 0, 0]) {
        return Err(Error::corrupt(format!("chunk payload: {head:?} is no head")));
    }
    if head[0] == EMPTY {
        return reader.finish();
    }
    let masks = Masks::read(layout, &mut reader)?;
    let widths = reader.padded(masks.count.div_ceil(2), "widths")?;
    let widths = Widths { nibbles: widths, count: masks.count };
    let planes = reader.take(4 * widths.sum()?, "planes")?;
    let has_exact = dispatch(Groups { layout, masks: &masks, widths: &widths, planes, q: &mut symbols.q })?;
    if has_exact != (head[0] == HAS_EXACT) {
        return Err(Error::corrupt("chunk payload: its head and its exact nodes contradict each other"));
    }
    if has_exact {
        reader.exact_values(layout, symbols)?;
    }
    reader.finish()
}

/// Which groups have symbols.
struct Masks<'a> {
    /// A bit a tile.
    tiles: &'a [u8],
    /// Those of each tile whose bit is set, one after the other.
    bytes: &'a [u8],
    /// Groups that have symbols.
    count: usize,
}

impl<'a> Masks<'a> {
    fn read(layout: &ChunkLayout, reader: &mut Reader<'a>) -> Result<Self> {
        let tiles = reader.take(tile_bytes(layout), "tiles")?;
        let beyond = (layout.tiles.len()..8 * tiles.len()).any(|t| is_set(tiles, t));
        if beyond {
            return Err(Error::corrupt("chunk payload: bits for tiles that it does not have"));
        }
        let of_tile = |t: usize| groups(&layout.shapes[layout.tiles[t].shape]);
        let coded = (0..layout.tiles.len()).filter(|&t| is_set(tiles, t));
        let bytes = reader.padded(coded.clone().map(|t| of_tile(t).div_ceil(8)).sum(), "masks")?;
        let mut rest = bytes;
        for groups in coded.map(of_tile) {
            let (mask, after) = rest.split_at(groups.div_ceil(8));
            rest = after;
            let beyond = groups % 8 > 0 && mask[groups / 8] >> (groups % 8) != 0;
            if beyond || mask.iter().all(|byte| *byte == 0) {
                return Err(Error::corrupt("chunk payload: a tile with a wrong mask"));
            }
        }
        if bytes.is_empty() {
            return Err(Error::corrupt("chunk payload: no symbols, but not marked as empty"));
        }
        Ok(Self { tiles, bytes, count: bytes.iter().map(|byte| byte.count_ones() as usize).sum() })
    }
}

fn is_set(bits: &[u8], i: usize) -> bool {
    bits[i / 8] >> (i % 8) & 1 == 1
}

/// How many planes each group has.
struct Widths<'a> {
    nibbles: &'a [u8],
    count: usize,
}

impl Widths<'_> {
    #[inline(always)]
    fn get(&self, group: usize) -> usize {
        (self.nibbles[group / 2] >> (group % 2 * 4) & 15) as usize + 1
    }
    fn sum(&self) -> Result<usize> {
        if self.count % 2 == 1 && self.nibbles[self.count / 2] >> 4 != 0 {
            return Err(Error::corrupt("chunk payload: a width without a group"));
        }
        let nibbles: usize = self.nibbles.iter().map(|pair| (pair & 15) as usize + (pair >> 4) as usize).sum();
        Ok(nibbles + self.count)
    }
}

struct Groups<'a> {
    layout: &'a ChunkLayout,
    masks: &'a Masks<'a>,
    widths: &'a Widths<'a>,
    planes: &'a [u8],
    q: &'a mut [i16],
}

impl Kernel for Groups<'_> {
    /// Whether there are exact nodes.
    type Output = Result<bool>;

    #[inline(always)]
    fn run(self) -> Result<bool> {
        let Self { layout, masks, widths, mut planes, q } = self;
        let (mut mask_at, mut group, mut has_exact) = (0, 0, false);
        for (t, tile) in layout.tiles.iter().enumerate() {
            if !is_set(masks.tiles, t) {
                continue;
            }
            let shape = &layout.shapes[tile.shape];
            let mask = &masks.bytes[mask_at..][..groups(shape).div_ceil(8)];
            mask_at += mask.len();
            for (g, q) in q[tile.start..][..shape.nodes].chunks_mut(LEN).enumerate() {
                if !is_set(mask, g) {
                    continue;
                }
                let width = widths.get(group);
                group += 1;
                let (words, after) = planes.split_at(4 * width);
                planes = after;
                let words = words.as_chunks().0;
                if words[width - 1] == [0; 4] {
                    return Err(Error::corrupt("chunk payload: a group with a plane that it does not need"));
                }
                let codes = join(words.iter().map(|word| u32::from_le_bytes(*word)));
                let (inside, beyond) = codes.split_at(q.len());
                if beyond.iter().any(|code| *code != 0) {
                    return Err(Error::corrupt("chunk payload: symbols beyond the last node of a tile"));
                }
                q.iter_mut().zip(inside).for_each(|(q, code)| *q = symbol(*code));
                has_exact |= width == MOST_PLANES && codes.contains(&EXACT_CODE);
            }
        }
        Ok(has_exact)
    }
}
