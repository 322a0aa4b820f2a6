//! The coder against a second encoder, written bit by bit from `FORMAT.md`, and against damage.

use super::geometry::{GROUP, NO_NODE, TileGroups};
use super::runs::TileRuns;
use super::{decode_chunk, encode_chunk, layout_in_places};
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols, EXACT};
use crate::simd::Instructions;
use crate::simd::tests::with_at_most;
use crate::transform::pyramid::geometry::arrays;
use crate::transform::pyramid::plan::ArrayPlan;
use crate::{Error, ErrorKind, Region};

/// Every coded node of every tile of some frames is in one group of one stream, in both directions of walking.
#[test]
fn every_coded_node_is_in_one_group() {
    for (n, tile) in [([40, 70, 33], 32), ([64, 64, 64], 8), ([19, 2, 50], 16), ([3, 66, 5], 32), ([2, 2, 90], 8)] {
        for array in arrays(n, tile).unwrap().into_iter().filter(|array| !array.is_last()) {
            let plan = ArrayPlan::<f32>::new(array);
            for tile in plan.tile_plans() {
                for walk in [None, Some(0), Some(1)] {
                    let groups = tile.groups(walk);
                    let mut seen = vec![0; tile.layout.nodes];
                    for run in (0..groups.streams()).flat_map(|stream| groups.runs_of(stream)) {
                        assert!(groups.groups_of(run).len() <= 32);
                        for places in groups.groups_of(run).map(|group| groups.places_of(group)) {
                            let nodes = places.iter().filter(|node| **node != NO_NODE);
                            assert!(places.is_empty() || places.len() == GROUP && nodes.clone().count() > 0);
                            nodes.for_each(|node| seen[*node as usize] += 1);
                        }
                    }
                    assert!(seen.iter().all(|count| *count == 1), "{n:?} {:?} {walk:?}", tile.dims);
                }
            }
        }
    }
}

/// A chunk of tiles of several shapes: its streams, and the layout of its symbols.
struct Chunk {
    tiles: Vec<TileGroups>,
    layout: ChunkLayout,
}

impl Chunk {
    /// The first chunk of a frame, walked along an axis.
    fn of_frame(n: [usize; 3], tile: u8, walk: usize) -> Self {
        let plan = ArrayPlan::<f32>::new(arrays(n, tile).unwrap().remove(0));
        let chunk = plan.chunk(&Region { lo: [0; 3], hi: n.map(|n| n.min(64)) });
        let banded = n.iter().all(|&n| n > 1);
        let shapes: Vec<_> = plan.tile_plans().iter().map(|tile| tile.groups(banded.then_some(walk))).collect();
        let tiles = chunk.layout.tiles.iter().map(|tile| shapes[tile.shape].clone()).collect();
        Self { tiles, layout: layout_in_places(&chunk.layout, shapes.iter().map(TileRuns::new)) }
    }
    fn plain(nodes: usize, bits: u32) -> Self {
        let groups = TileGroups::without_bands(nodes);
        let like = ChunkLayout { bits, ..crate::transform::pyramid::last::layout::<f64>(nodes) };
        Self { layout: layout_in_places(&like, [TileRuns::new(&groups)].into_iter()), tiles: vec![groups] }
    }
    /// The places of live groups in turn: whether each has a node.
    fn places(&self) -> Vec<bool> {
        let of_tile = |tile: &TileGroups| {
            let places = (0..tile.streams()).flat_map(|stream| tile.places_of_stream(stream));
            places.map(|node| *node != NO_NODE).collect::<Vec<_>>()
        };
        self.tiles.iter().flat_map(of_tile).collect()
    }
    /// Symbols of up to `bits` bits in runs of many and of few; one in `every` is exact.
    fn symbols(&self, bits: u32, every: u64) -> ChunkSymbols {
        let mut state = bits as u64 + every;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 24
        };
        let symbol = |(i, there): (usize, bool)| {
            let shrunk = if i / 900 % 3 == 2 { 15 } else { 16 - bits as u64 + random() % 3 };
            let q = (random() as u16 as i16) >> shrunk.min(15);
            match there {
                false => 0,
                true if every > 0 && random() % every == 0 => EXACT,
                true => q.max(-32767),
            }
        };
        let q: Vec<i16> = self.places().into_iter().enumerate().map(symbol).collect();
        let delta = |q: &i16| if *q == EXACT { random() << 20 >> (64 - self.layout.bits) } else { 0 };
        let delta = if q.contains(&EXACT) { q.iter().map(delta).collect() } else { Vec::new() };
        ChunkSymbols { q, delta }
    }
    fn encode(&self, symbols: &ChunkSymbols) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_chunk(&self.layout, symbols, &mut bytes);
        bytes
    }
    fn decode(&self, bytes: &[u8]) -> Result<ChunkSymbols, Error> {
        // what was there before must not matter
        let mut symbols = ChunkSymbols { q: vec![7; 5], delta: vec![7; 9] };
        decode_chunk(&self.layout, bytes, &mut symbols).map(|()| symbols)
    }

    /// The bytes by the second encoder.
    fn spelt_out(&self, symbols: &ChunkSymbols) -> Vec<u8> {
        let (mut q, mut delta) = (symbols.q.iter(), symbols.delta.iter());
        let (mut streams, mut exact) = (Vec::new(), Vec::new());
        for (tile, stream) in self.tiles.iter().flat_map(|tile| (0..tile.streams()).map(move |stream| (tile, stream))) {
            let (mut bits, mut before, mut values) = (Bits::default(), 0, Vec::new());
            for run in tile.runs_of(stream) {
                let live = tile.groups_of(run).filter(|group| !tile.places_of(*group).is_empty());
                let groups: Vec<Vec<i32>> = live.map(|_| q.by_ref().take(8).map(|q| *q as i32).collect()).collect();
                let deltas: Vec<u64> = delta.by_ref().take(8 * groups.len()).copied().collect();
                let exact = groups.iter().flatten().zip(deltas).filter(|(q, _)| **q == -32768);
                values.extend(exact.map(|(_, delta)| delta));
                bits.put_run(&groups, &mut before);
            }
            streams.push(bits.bytes());
            exact.push(values);
        }
        let any = exact.iter().any(|values| !values.is_empty());
        let mut bytes = Vec::new();
        let table = |numbers: Vec<usize>, flag: u8, bytes: &mut Vec<u8>| {
            let width = usize::BITS - numbers.iter().max().unwrap().leading_zeros();
            let mut bits = Bits::default();
            numbers.iter().for_each(|number| bits.put(*number as u32, width));
            bytes.push(width as u8 + flag);
            bytes.extend(bits.padded());
        };
        table(streams.iter().map(Vec::len).collect(), if any { 128 } else { 0 }, &mut bytes);
        if any {
            table(exact.iter().map(Vec::len).collect(), 0, &mut bytes);
        }
        bytes.extend(streams.concat());
        let width = self.layout.bits as usize / 8;
        bytes.extend(exact.concat().iter().flat_map(|delta| delta.to_le_bytes()[..width].to_vec()));
        bytes
    }
}

/// Bits one by one.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: u32, width: u32) {
        self.0.extend((0..width).map(|b| value >> b & 1 == 1));
    }
    fn put_run(&mut self, groups: &[Vec<i32>], before: &mut i32) {
        let width = |group: &[i32]| 32 - group.iter().map(|q| q.abs()).max().unwrap().leading_zeros();
        // the places that have the highest bit
        let tops = |group: &[i32]| -> Vec<usize> {
            let top = 1u32 << width(group) >> 1;
            (0..8).filter(|k| top > 0 && group[*k].unsigned_abs() >= top).collect()
        };
        let size = |group: &[i32]| 2 * width(group) as i32 - (tops(group).len() == 1) as i32;
        let sizes: Vec<i32> = groups.iter().map(|group| size(group)).collect();
        let Some(first) = sizes.first() else { return };
        let last = |g: usize| if g == 0 { *before } else { sizes[g - 1] };
        let d: Vec<i32> = (0..sizes.len()).map(|g| sizes[g] - last(g)).collect();
        let changes = d.iter().any(|d| *d != 0);
        self.put(changes as u32, 1);
        if changes {
            d.iter().for_each(|d| self.put((*d != 0) as u32, 1));
            d.iter().filter(|d| **d != 0).for_each(|d| self.put((*d < 0) as u32, 1));
            d.iter().filter(|d| **d != 0).for_each(|d| self.put((d.abs() > 1) as u32, 1));
            d.iter().filter(|d| d.abs() > 1).for_each(|d| self.put(d.unsigned_abs().min(5) - 2, 2));
            d.iter().filter(|d| d.abs() > 4).for_each(|d| self.put(d.unsigned_abs() - 5, 5));
        }
        for group in groups {
            let (mut bits, tops) = (width(group), tops(group));
            if let [alone] = tops[..] {
                self.put(alone as u32, 3);
                bits -= 1;
            }
            group.iter().for_each(|q| self.put(q.unsigned_abs(), bits));
        }
        groups.iter().flatten().filter(|q| **q != 0).for_each(|q| self.put((*q < 0) as u32, 1));
        *before = *first;
    }
    fn padded(&self) -> Vec<u8> {
        self.0.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | *bit as u8)).collect()
    }
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.padded();
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        bytes
    }
}

fn chunks() -> Vec<Chunk> {
    let frames = [([40, 64, 33], 32), ([20, 20, 20], 8), ([19, 2, 50], 16), ([3, 40, 5], 32)];
    let mut chunks: Vec<_> = frames.iter().flat_map(|&(n, t)| [0, 1].map(|walk| Chunk::of_frame(n, t, walk))).collect();
    chunks.push(Chunk::of_frame([1, 60, 50], 8, 0));
    chunks.extend([1, 7, 8, 300].map(|nodes| Chunk::plain(nodes, 64)));
    chunks
}

#[test]
fn bytes_are_those_of_the_format_and_symbols_come_back_with_every_instruction_set() {
    for chunk in chunks() {
        for (bits, every) in [(1, 0), (3, 0), (7, 0), (8, 0), (9, 40), (14, 0), (15, 0), (16, 0), (16, 3), (2, 1)] {
            let symbols = chunk.symbols(bits, every);
            let bytes = chunk.spelt_out(&symbols);
            for most in [Instructions::Plain, Instructions::Avx2] {
                with_at_most(most, || {
                    assert!(chunk.encode(&symbols) == bytes, "{most:?} {bits} {every}");
                    assert!(chunk.decode(&bytes).unwrap() == symbols, "{most:?} {bits} {every}");
                });
            }
        }
        let nothing = ChunkSymbols { q: vec![0; chunk.layout.nodes], delta: Vec::new() };
        assert!(chunk.encode(&nothing) == [0] && chunk.decode(&[0]).unwrap() == nothing);
    }
}

#[test]
fn truncated_and_lengthened_chunks_are_refused_and_flipped_bits_never_panic() {
    for chunk in [Chunk::of_frame([9, 12, 11], 8, 0), Chunk::plain(300, 32)] {
        for (bits, every) in [(1, 0), (7, 0), (12, 9)] {
            let bytes = chunk.encode(&chunk.symbols(bits, every));
            for cut in 0..bytes.len() {
                assert!(chunk.decode(&bytes[..cut]).is_err(), "{cut} of {} bytes", bytes.len());
            }
            assert!(chunk.decode(&[&bytes[..], &[0]].concat()).is_err());
            for bit in 0..8 * bytes.len() {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                let of = |most| with_at_most(most, || chunk.decode(&bad).map_err(|e| e.to_string()));
                assert!(of(Instructions::Plain) == of(Instructions::Avx2), "bit {bit}");
            }
        }
    }
}

#[test]
fn every_damage_that_the_format_names_is_corruption() {
    let chunk = Chunk::plain(3, 32);
    let mut symbols = ChunkSymbols { q: vec![0; 8], delta: Vec::new() };
    (symbols.q[0], symbols.q[2]) = (1, -1);
    // one stream of 2 bytes: a change, of the only group, up, by more than 1; 2 bits for 2 - 2; eight magnitudes; two signs
    let bytes = chunk.encode(&symbols);
    assert_eq!(bytes, [2, 2, 0b0100_1011, 0b1000_0001]);
    symbols.q[1] = EXACT;
    symbols.delta = vec![0, 0x1234_5678, 0, 0, 0, 0, 0, 0];
    let exact = chunk.encode(&symbols);
    // 1 bit each for change, which group, up, far; 2 bits and 5 for 31 - 5; place 1; the other 15 bits of each magnitude; three signs
    assert_eq!(exact[..7], [133, 18, 1, 1, 0b1011_1011, 0b0100_1110, 0]);
    for (bytes, at, byte, what) in [
        (&bytes, 0, 32, "lengths"),
        (&bytes, 0, 3, "lengths"),
        (&bytes, 0, 130, "exact"),
        (&bytes, 1, 6, "padding"),
        (&bytes, 1, 1, "lengths"),
        (&bytes, 2, 0b0100_1111, "size"),
        (&bytes, 3, 0b1000_0011, "place"),
        (&bytes, 3, 0, "longer"),
        (&exact, 0, 5, "longer"),
        (&exact, 2, 2, "exact"),
        (&exact, 3, 2, "exact"),
        (&exact, 7, 0b10_0000, "15 bits"),
        (&exact, 20, 0, "15 bits"),
    ] {
        let mut bad = bytes.clone();
        bad[at] = byte;
        let bad = chunk.decode(&bad).unwrap_err();
        assert!(bad.kind == ErrorKind::Corruption && bad.message.contains(what), "{at} {byte}: {bad}");
    }
}
