use super::{decode_chunk, encode_chunk};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT, TileLayout, TileRef};
use crate::simd::Instructions;
use crate::simd::tests::with_at_most;
use crate::{Error, ErrorKind};

/// Tiles of these numbers of nodes.
fn layout(tiles: &[usize], bits: u32) -> ChunkLayout {
    let mut layout = ChunkLayout { bits, ..ChunkLayout::default() };
    for (shape, &nodes) in tiles.iter().enumerate() {
        layout.shapes.push(TileLayout { nodes, ..TileLayout::default() });
        layout.tiles.push(TileRef { shape, start: layout.nodes });
        layout.nodes += nodes;
    }
    layout
}

/// Symbols of up to `bits` bits, in three of four tiles; one in `every` is exact.
fn symbols(layout: &ChunkLayout, bits: u32, every: u64) -> ChunkSymbols {
    let mut state = bits as u64 + every;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 24
    };
    let mut symbols = ChunkSymbols { q: vec![0; layout.nodes], delta: Vec::new() };
    for tile in layout.tiles.iter().filter(|tile| tile.shape % 4 != 3) {
        for q in &mut symbols.q[tile.start..][..layout.shapes[tile.shape].nodes] {
            let code = (random() as u16) >> (16 - bits) >> (random() % 3);
            *q = (code >> 1) as i16 ^ -((code & 1) as i16);
            *q = if every > 0 && random() % every == 0 { EXACT } else { (*q).max(-32767) };
        }
    }
    if symbols.q.contains(&EXACT) {
        let delta = |q: &i16| if *q == EXACT { random() << 20 >> (64 - layout.bits) } else { 0 };
        symbols.delta = symbols.q.iter().map(delta).collect();
    }
    symbols
}

fn encode(layout: &ChunkLayout, symbols: &ChunkSymbols) -> Vec<u8> {
    let mut bytes = vec![49];
    encode_chunk(layout, symbols, &mut bytes);
    assert_eq!(bytes.len() % 4, 0);
    bytes
}

fn decode(layout: &ChunkLayout, bytes: &[u8]) -> Result<ChunkSymbols, Error> {
    // what was there before must not matter
    let mut symbols = ChunkSymbols { q: vec![7; 5], delta: vec![7; 9] };
    decode_chunk(layout, &bytes[1..], &mut symbols).map(|()| symbols)
}

#[test]
fn symbols_come_back_with_every_instruction_set() {
    for tiles in [&[504; 9][..], &[1], &[31, 32, 33, 0, 64, 255, 256, 257], &[0, 0], &[0, 1, 7, 700, 3, 0, 40]] {
        for (bits, every) in [(1, 0), (3, 0), (8, 0), (9, 40), (16, 0), (16, 3)] {
            for width in [32, 64] {
                let layout = layout(tiles, width);
                let symbols = symbols(&layout, bits, every);
                let bytes = encode(&layout, &symbols);
                for most in [Instructions::Plain, Instructions::Avx2] {
                    with_at_most(most, || {
                        assert!(encode(&layout, &symbols) == bytes, "{most:?} {tiles:?} {bits} {every}");
                        assert!(decode(&layout, &bytes).unwrap() == symbols, "{most:?} {tiles:?} {bits} {every}");
                    });
                }
            }
        }
    }
}

/// The bytes of two tiles, spelt out from `FORMAT.md`.
#[test]
fn bytes_are_those_of_the_format() {
    let layout = layout(&[40, 3], 32);
    let mut symbols = ChunkSymbols { q: vec![0; 43], delta: Vec::new() };
    assert_eq!(encode(&layout, &symbols), [49, 2, 0, 0]);
    (symbols.q[33], symbols.q[39]) = (1, -2);
    let words =
        |bytes: &[u8]| -> Vec<u32> { bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect() };
    // head; tile 0; its group 1; of 2 planes; z = 2 at node 1 and z = 3 at node 7
    let small = [49, 0b1, 0b10, 1, 1 << 7, 1 << 1 | 1 << 7];
    assert_eq!(words(&encode(&layout, &symbols)), small);
    symbols.q[41] = EXACT;
    symbols.delta = vec![0; 43];
    symbols.delta[41] = 0x1234_5678;
    let mut large = vec![49 | 1 << 8, 0b11, 0b1_0000_0010, 1 | 15 << 4, 1 << 7, 1 << 1 | 1 << 7];
    large.extend([2; 16]);
    large.push(0x1234_5678);
    assert_eq!(words(&encode(&layout, &symbols)), large);
}

#[test]
fn truncated_and_lengthened_chunks_are_refused_and_flipped_bits_never_panic() {
    for (bits, every) in [(1, 0), (7, 0), (12, 9)] {
        let layout = layout(&[40, 0, 504, 3, 64, 7], 32);
        let bytes = encode(&layout, &symbols(&layout, bits, every));
        for cut in 1..bytes.len() {
            assert!(decode(&layout, &bytes[..cut]).is_err(), "{cut} of {} bytes", bytes.len());
        }
        assert!(decode(&layout, &[&bytes[..], &[0; 4]].concat()).is_err());
        for bit in 8..8 * bytes.len() {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(symbols) = decode(&layout, &bad) {
                assert!(encode(&layout, &symbols) == bad, "bit {bit}: two spellings of the same symbols");
            }
        }
    }
}

#[test]
fn every_damage_that_the_format_names_is_corruption() {
    let layout = layout(&[40, 3, 0], 32);
    let mut symbols = ChunkSymbols { q: vec![0; 43], delta: Vec::new() };
    (symbols.q[33], symbols.q[42]) = (1, 1);
    let bytes = encode(&layout, &symbols);
    assert_eq!(bytes.len(), 4 + 4 + 4 + 4 + 16);
    let damaged = |at: usize, byte: u8| {
        let mut bad = bytes.clone();
        bad[at] = byte;
        decode(&layout, &bad).unwrap_err()
    };
    let nothing = decode(&layout, &[49, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert!(nothing.kind == ErrorKind::Corruption, "{nothing}");
    for (at, byte, what) in [
        (1, 3, "head"),
        (1, 1, "exact"),
        (1, 2, "after"),
        (2, 1, "head"),
        (4, 0b1011, "tiles"),
        (4, 0b0111, "mask"),
        (8, 0b110, "mask"),
        (8, 0, "mask"),
        (10, 1, "padding"),
        (13, 1, "padding"),
        (17, 1, "beyond"),
        (20, 0, "plane"),
    ] {
        let bad = damaged(at, byte);
        assert!(bad.kind == ErrorKind::Corruption && bad.message.contains(what), "{at} {byte}: {bad}");
    }
}
