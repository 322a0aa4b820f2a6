//! From symbols to the bytes of a chunk.

use super::group::{EXACT_CODE, LEN, MOST_PLANES, Plain, Split, codes, width};
use super::{EMPTY, HAS_EXACT, groups, tile_bytes};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::simd::{Kernel, dispatch};
use std::marker::PhantomData;

/// Appends the payload of a chunk to its choice byte.
pub fn encode_chunk(layout: &ChunkLayout, symbols: &ChunkSymbols, out: &mut Vec<u8>) {
    let head = dispatch(Survey { layout, q: &symbols.q });
    if head.planes == 0 {
        out.extend([EMPTY, 0, 0]);
        return;
    }
    let exact = if head.has_exact { exact_values(layout, symbols) } else { Vec::new() };
    let sections = [head.masks.len(), head.nibbles.len()].map(|bytes| bytes.next_multiple_of(4));
    out.reserve_exact(3 + head.tiles.len() + sections[0] + sections[1] + 4 * head.planes + exact.len());
    out.extend([if head.has_exact { HAS_EXACT } else { 0 }, 0, 0]);
    out.extend_from_slice(&head.tiles);
    for (bytes, padded) in [&head.masks, &head.nibbles].into_iter().zip(sections) {
        out.extend_from_slice(bytes);
        out.resize(out.len() + padded - bytes.len(), 0);
    }
    write_planes(&head, &symbols.q, out);
    out.extend_from_slice(&exact);
}

/// What stands in front of the planes.
#[derive(Default)]
struct Head {
    tiles: Vec<u8>,
    masks: Vec<u8>,
    nibbles: Vec<u8>,
    /// Start, end and planes of each group that has any, in nodes of the chunk.
    groups: Vec<(u32, u32, u32)>,
    /// All of them together.
    planes: usize,
    has_exact: bool,
}

struct Survey<'a> {
    layout: &'a ChunkLayout,
    q: &'a [i16],
}

impl Kernel for Survey<'_> {
    type Output = Head;

    #[inline(always)]
    fn run(self) -> Head {
        let Self { layout, q } = self;
        let mut head = Head { tiles: vec![0; tile_bytes(layout)], ..Head::default() };
        for (t, tile) in layout.tiles.iter().enumerate() {
            let shape = &layout.shapes[tile.shape];
            let first = head.masks.len();
            head.masks.resize(first + groups(shape).div_ceil(8), 0);
            let before = head.planes;
            for (g, group) in q[tile.start..][..shape.nodes].chunks(LEN).enumerate() {
                let codes = codes(group);
                let width = width(&codes);
                if width == 0 {
                    continue;
                }
                head.masks[first + g / 8] |= 1 << (g % 8);
                if head.groups.len().is_multiple_of(2) {
                    head.nibbles.push(width as u8 - 1);
                } else if let Some(pair) = head.nibbles.last_mut() {
                    *pair |= (width as u8 - 1) << 4;
                }
                let start = (tile.start + LEN * g) as u32;
                head.groups.push((start, start + group.len() as u32, width as u32));
                head.planes += width;
                head.has_exact |= width == MOST_PLANES && codes.contains(&EXACT_CODE);
            }
            if head.planes == before {
                head.masks.truncate(first);
            } else {
                head.tiles[t / 8] |= 1 << (t % 8);
            }
        }
        head
    }
}

fn write_planes(head: &Head, q: &[i16], out: &mut Vec<u8>) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::instructions() >= crate::simd::Instructions::Avx2 {
        return dispatch(Planes::<super::group::Avx2> { head, q, out, split: PhantomData });
    }
    dispatch(Planes::<Plain> { head, q, out, split: PhantomData });
}

struct Planes<'a, S> {
    head: &'a Head,
    q: &'a [i16],
    out: &'a mut Vec<u8>,
    split: PhantomData<S>,
}

impl<S: Split> Kernel for Planes<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for &(start, end, width) in &self.head.groups {
            let planes = S::split(&codes(&self.q[start as usize..end as usize])).map(u32::to_le_bytes);
            self.out.extend_from_slice(planes[..width as usize].as_flattened());
        }
    }
}

/// The delta of each exact node.
fn exact_values(layout: &ChunkLayout, symbols: &ChunkSymbols) -> Vec<u8> {
    let exact = symbols.q.iter().zip(&symbols.delta).filter(|(q, _)| **q == EXACT);
    exact.flat_map(|(_, delta)| delta.to_le_bytes().into_iter().take(layout.bits as usize / 8)).collect()
}
