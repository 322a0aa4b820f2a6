//! The last array: at most two nodes an axis, in raster order, predicted as 0.

use super::lanes::{Real, apply_delta, delta};
use super::packet::Coding;
use super::quantizer::LEVELS;
use super::tiers::Tiers;
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT, TileLayout, TileRef, Unit};
use crate::entropy::groups::geometry::TileGroups;
use crate::entropy::groups::{layout_in_places, runs::TileRuns};
use crate::{Coder, Result};

/// Level of quantization, as of all corner arrays.
const LEVEL: usize = LEVELS.len() - 1;

/// One unit of all nodes.
pub fn layout<T: Real>(nodes: usize) -> ChunkLayout {
    let unit = Unit { start: 0, len: nodes as u32, step: 0, cell: [0; 3] };
    ChunkLayout {
        shapes: vec![TileLayout { units: vec![unit], nodes, ..TileLayout::default() }],
        tiles: vec![TileRef { shape: 0, start: 0 }],
        nodes,
        bits: 8 * T::BYTES as u32,
    }
}

/// The same as symbols lie with a coder.
pub fn symbols_layout<T: Real>(coding: Coding, nodes: usize) -> ChunkLayout {
    let layout = layout::<T>(nodes);
    match coding.coder {
        Coder::Groups => layout_in_places(&layout, [TileRuns::new(&TileGroups::without_bands(nodes))].into_iter()),
        _ => layout,
    }
}

fn nodes(n: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..n.iter().product()).map(move |i| [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]])
}

/// Encodes the array and leaves its reconstruction in `values`.
pub fn encode<T: Real>(coding: Coding, tiers: &Tiers<T>, n: [usize; 3], values: &mut [T]) -> Vec<u8> {
    let mut symbols = ChunkSymbols::default();
    for (at, v) in nodes(n).zip(values.iter_mut()) {
        let (q, r) = tiers.quantizer(at, LEVEL).quantize(*v, T::ZERO).unwrap_or((EXACT, *v));
        symbols.q.push(q);
        symbols.delta.push(delta(r, T::ZERO));
        *v = r;
    }
    if !symbols.q.contains(&EXACT) {
        symbols.delta.clear();
    }
    let mut bytes = match coding.coder {
        Coder::Class | Coder::Groups => Vec::new(),
        Coder::Planes => vec![coding.axis_order().to_byte()],
    };
    let layout = symbols_layout::<T>(coding, values.len());
    symbols.q.resize(layout.nodes, 0);
    coding.encode(&layout, &symbols, &mut bytes);
    bytes
}

/// Decodes an array of extents `n`.
pub fn decode<T: Real>(coding: Coding, tiers: &Tiers<T>, n: [usize; 3], bytes: &[u8]) -> Result<Vec<T>> {
    let mut symbols = ChunkSymbols::default();
    let payload = match coding.coder {
        Coder::Class | Coder::Groups => bytes,
        Coder::Planes => coding.split_choice(bytes)?.1,
    };
    coding.decode(&symbols_layout::<T>(coding, n.iter().product()), payload, &mut symbols)?;
    let value = |(i, at): (usize, [usize; 3])| match symbols.q[i] {
        EXACT => apply_delta(symbols.delta[i], T::ZERO),
        q => T::from_q(q).fma(tiers.quantizer(at, LEVEL).step, T::ZERO),
    };
    Ok(nodes(n).enumerate().map(value).collect())
}
