use super::symbols::{ChunkLayout, ChunkSymbols, EXACT, TileLayout, TileRef, Unit};
use super::tables::{PROB_SUM, TABLES, Table};
use super::{decode_chunk, decode_flat, encode_chunk, encode_flat};
use crate::ErrorKind;
use proptest::prelude::*;

/// Tiles of units of the given lengths, all alike.
fn layout(units: &[u32], tiles: usize, bits: u32) -> ChunkLayout {
    let mut shape = TileLayout::default();
    for (i, &len) in units.iter().enumerate() {
        shape.units.push(Unit { start: shape.nodes as u32, len, step: (i == 0) as u8, cell: [0, 0, i as u8] });
        shape.nodes += len as usize;
    }
    let nodes = shape.nodes;
    ChunkLayout {
        tiles: (0..tiles).map(|t| TileRef { shape: 0, start: t * nodes }).collect(),
        shapes: vec![shape],
        nodes: nodes * tiles,
        bits,
    }
}

/// A reproducible stream of numbers.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ (self.0 >> 31)).wrapping_mul(0x9e3779b97f4a7c15) >> 16
    }
    /// Two-sided, with a mean |q| of about `mean`.
    fn laplace(&mut self, mean: f64) -> i16 {
        let uniform = (self.next() % (1 << 30)) as f64 + 1.0;
        let k = -(uniform / (1u64 << 30) as f64).ln() * mean;
        let q = (k + 0.3).min(32767.0) as i16;
        if self.next() & 1 == 0 { q } else { -q }
    }
}

fn chunk(layout: &ChunkLayout, seed: u64, mean: f64, exact_per_1000: u64) -> ChunkSymbols {
    let mut random = Random(seed);
    let mut symbols = ChunkSymbols::default();
    for _ in 0..layout.nodes {
        let exact = random.next() % 1000 < exact_per_1000;
        symbols.q.push(if exact { EXACT } else { random.laplace(mean) });
    }
    if exact_per_1000 > 0 {
        let width = 1 + random.next() % layout.bits as u64;
        symbols.delta =
            symbols.q.iter().map(|_| random.next().wrapping_mul(0x2545f4914f6cdd1d) >> (64 - width)).collect();
    }
    symbols
}

/// What a decoder gives back: deltas only where a node is exact.
fn decoded(symbols: &ChunkSymbols) -> ChunkSymbols {
    let mut clean = symbols.clone();
    if clean.q.contains(&EXACT) {
        clean.delta.iter_mut().zip(&clean.q).filter(|(_, q)| **q != EXACT).for_each(|(d, _)| *d = 0);
    } else {
        clean.delta.clear();
    }
    clean
}

fn round_trip(layout: &ChunkLayout, symbols: &ChunkSymbols) -> Vec<u8> {
    let mut payload = Vec::new();
    encode_chunk(layout, symbols, &mut payload);
    let mut back = ChunkSymbols::default();
    decode_chunk(layout, &payload, &mut back).unwrap();
    assert!(back == decoded(symbols), "the symbols changed on the way");
    payload
}

#[test]
fn tables_sum_to_one_and_every_token_has_a_slot() {
    let all = TABLES.symbols.iter().chain(&TABLES.classes).chain([&TABLES.uniform]);
    for table in all {
        assert_eq!(table.freq.iter().map(|&f| f as u32).sum::<u32>(), PROB_SUM);
        assert!(table.freq.iter().all(|&f| f >= 1) && table.freq.len() <= 256);
        check_reciprocals(table);
    }
}

/// The division by a reciprocal is exact for every state that can reach it.
fn check_reciprocals(table: &Table) {
    let mut random = Random(3);
    let mut start = 0;
    for (token, entry) in table.encode.iter().enumerate() {
        let f = table.freq[token] as u32;
        for probe in 0..200 {
            let x = match probe {
                0 => f,
                1 => entry.limit - 1,
                _ => 1 + (random.next() % (entry.limit as u64 - 1)) as u32,
            };
            let quotient = ((x as u64 * entry.reciprocal as u64) >> 32) as u32 >> (entry.complement >> 16);
            let got = x.wrapping_add(entry.bias).wrapping_add(quotient.wrapping_mul(entry.complement & 0xffff));
            assert_eq!(got, (x / f) * PROB_SUM + x % f + start, "token {token}, state {x}");
        }
        start += f;
    }
}

#[test]
fn an_all_zero_chunk_is_one_byte() {
    let layout = layout(&[19, 98, 448], 64, 32);
    let symbols = ChunkSymbols { q: vec![0; layout.nodes], delta: vec![] };
    assert_eq!(round_trip(&layout, &symbols).len(), 1);
}

/// Symbols made by integers only, so that every machine makes the same: `spread` is their typical bit length.
fn reproducible(layout: &ChunkLayout, seed: u64, spread: u64, exact_per_1000: u64) -> ChunkSymbols {
    let mut random = Random(seed);
    let mut symbols = ChunkSymbols::default();
    for _ in 0..layout.nodes {
        let (exact, size, q) = (random.next() % 1000, random.next() % (2 * spread + 1), random.next());
        let magnitude = (q >> 1 & ((1 << size.min(15)) - 1)) as i16;
        symbols.q.push(match (exact < exact_per_1000, q & 1) {
            (true, _) => EXACT,
            (_, 0) => magnitude,
            _ => -magnitude,
        });
        symbols.delta.push(random.next() & ((1 << (size + 10)) - 1));
    }
    if exact_per_1000 == 0 {
        symbols.delta.clear();
    }
    symbols
}

/// A change here is a change of the format: old files would not open.
#[test]
fn the_bytes_stay_what_they_are() {
    let small = layout(&[1, 4, 30], 2, 32);
    let payload = round_trip(&small, &reproducible(&small, 7, 1, 0));
    let words = [45, 1, 0, 33, 230, 18, 15, 26, 112, 105, 145, 231, 243, 50, 227, 17, 144, 82, 25, 249, 80, 78, 255u8];
    assert_eq!(payload, [&[1, 0, 10, 0, 2][..], &words].concat());
    let mut all = Vec::new();
    for (spread, exact, bits) in
        [(0, 3, 32), (1, 0, 32), (2, 2, 32), (5, 0, 64), (7, 500, 64), (3, 1000, 64), (7, 1000, 32)]
    {
        let large = layout(&[19, 98, 604, 419, 419, 419, 419], 64, bits);
        all.extend(round_trip(&large, &reproducible(&large, 11, spread, exact)));
    }
    assert_eq!((all.len(), crc32fast::hash(&all)), (2_153_334, 2_161_339_635));
}

#[test]
fn a_single_node_survives() {
    for q in [1, -1, 32767, -32767] {
        round_trip(&layout(&[1], 1, 64), &ChunkSymbols { q: vec![q], delta: vec![] });
    }
    round_trip(&layout(&[1], 1, 64), &ChunkSymbols { q: vec![EXACT], delta: vec![u64::MAX] });
}

#[test]
fn lossless_units_cost_little_more_than_their_deltas() {
    let layout = layout(&[448; 8], 8, 64);
    let mut symbols = chunk(&layout, 5, 1.0, 1000);
    for width in [0, 1, 12, 30, 52, 64] {
        let mut random = Random(width);
        let delta = |_| if width == 0 { 0 } else { random.next().wrapping_mul(0x2545f4914f6cdd1d) >> (64 - width) };
        symbols.delta = (0..layout.nodes).map(delta).collect();
        let bits = round_trip(&layout, &symbols).len() as f64 * 8.0 / layout.nodes as f64;
        assert!(bits < width as f64 * 1.02 + 1.6, "{bits:.2} bits for deltas of {width}");
    }
}

#[test]
fn fixed_classes_cost_little_more_than_the_entropy() {
    let layout = layout(&[19, 98, 448, 448, 448, 448], 64, 32);
    for exponent in -4..12 {
        let mean = 2f64.powi(exponent);
        let symbols = chunk(&layout, 9, mean, 0);
        let mut counts = std::collections::HashMap::new();
        symbols.q.iter().for_each(|&q| *counts.entry(q).or_insert(0u32) += 1);
        let n = layout.nodes as f64;
        let entropy: f64 = counts.values().map(|&c| c as f64 * (n / c as f64).log2()).sum::<f64>() / n;
        let bits = round_trip(&layout, &symbols).len() as f64 * 8.0 / n;
        assert!(bits < entropy * 1.09 + 0.06, "mean {mean}: {bits:.4} bits, entropy {entropy:.4}");
    }
}

#[test]
fn flat_symbols_beyond_16_bits_survive() {
    let mut random = Random(1);
    for count in [0, 1, 511, 512, 16384, 16385, 50_000] {
        let symbols: Vec<i32> = (0..count)
            .map(|i| if i % 97 == 5 { random.next() as i32 } else { random.laplace(3.0) as i32 })
            .chain([i32::MIN, i32::MAX, -32768])
            .collect();
        let mut payload = Vec::new();
        encode_flat(&symbols, &mut payload);
        assert_eq!(decode_flat(symbols.len(), &payload).unwrap(), symbols);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_chunk_comes_back(
        units in prop::collection::vec(1u32..600, 1..40),
        tiles in 1usize..20,
        seed: u64,
        scale in -8i32..14,
        exact in prop::sample::select(vec![0u64, 0, 3, 500, 1000]),
        bits in prop::sample::select(vec![32u32, 64]),
    ) {
        let layout = layout(&units, tiles, bits);
        round_trip(&layout, &chunk(&layout, seed, 2f64.powi(scale), exact));
    }

    #[test]
    fn damage_gives_an_error_or_symbols_but_never_a_panic(
        seed: u64,
        exact in prop::sample::select(vec![0u64, 3, 1000]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let layout = layout(&[19, 98, 448, 300], 12, 32);
        let payload = round_trip(&layout, &chunk(&layout, seed, 2f64.powi((seed % 12) as i32 - 4), exact));
        let mut back = ChunkSymbols::default();
        let error = decode_chunk(&layout, &payload[..cut.index(payload.len())], &mut back).unwrap_err();
        prop_assert!(matches!(error.kind, ErrorKind::Truncated | ErrorKind::Corruption));
        let mut damaged = payload.clone();
        for (at, bit) in &flips {
            damaged[at.index(payload.len())] ^= 1 << bit;
        }
        if let Err(error) = decode_chunk(&layout, &damaged, &mut back) {
            prop_assert!(error.message.starts_with("chunk payload"), "{}", error.message);
        }
    }
}
