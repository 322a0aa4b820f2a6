//! The fixed tables: every probability of the coder, made by integer arithmetic that any implementation repeats.

use std::sync::LazyLock;

/// Probabilities are multiples of 2^-11.
pub const PROB_BITS: u32 = 11;
/// Sum of the frequencies of a table.
pub const PROB_SUM: u32 = 1 << PROB_BITS;

/// Shape of a two-sided table over residuals q: with k = |q|, the weight of q = 0 is `zero`, and the weight of
/// k >= 1 (both signs together) is the sum of two geometric series. All in units of 2^-16.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Weight of q = 0.
    pub zero: u32,
    /// Weight of k = 1 in the first series and the ratio from one k to the next.
    pub near: [u32; 2],
    /// The same of the second, heavier series.
    pub far: [u32; 2],
    /// Largest k with tokens of its own; everything beyond is the escape token.
    pub reach: u32,
}

/// One table in both directions.
#[derive(Clone, Debug)]
pub struct Table {
    /// Frequency of each token; the last token is the escape where the table has one.
    pub freq: Vec<u16>,
    /// Sum of the frequencies of the tokens before each token.
    pub start: Vec<u16>,
    /// By state & 2047: token | frequency << 8 | (slot - start) << 20.
    pub decode: Box<[u32; PROB_SUM as usize]>,
    /// By token.
    pub encode: Vec<EncodeEntry>,
}

/// What the encoder needs of a token: x -> x + bias + (x / frequency) * complement, the division by a reciprocal.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct EncodeEntry {
    /// States from here on give off a word first.
    pub limit: u32,
    pub reciprocal: u32,
    pub bias: u32,
    /// 2048 - frequency | shift << 16.
    pub complement: u32,
}

impl Table {
    /// From positive weights: frequencies are rounded, at least 1, and the largest ones make up the difference.
    fn new(weights: &[u64]) -> Self {
        let total: u64 = weights.iter().sum();
        let mut freq: Vec<u16> =
            weights.iter().map(|&w| ((w * PROB_SUM as u64 * 2 + total) / (2 * total)).max(1) as u16).collect();
        let mut sum: u32 = freq.iter().map(|&f| f as u32).sum();
        while sum != PROB_SUM {
            let mut largest = 0;
            for t in 1..freq.len() {
                if freq[t] > freq[largest] {
                    largest = t;
                }
            }
            if sum > PROB_SUM {
                freq[largest] -= 1;
                sum -= 1;
            } else {
                freq[largest] += 1;
                sum += 1;
            }
        }
        Self::from_frequencies(freq)
    }

    fn from_frequencies(freq: Vec<u16>) -> Self {
        let mut decode = Box::new([0u32; PROB_SUM as usize]);
        let (mut start, mut encode, mut at) = (Vec::new(), Vec::new(), 0u32);
        for (token, &f) in freq.iter().enumerate() {
            start.push(at as u16);
            encode.push(EncodeEntry::new(f as u32, at));
            for offset in 0..f as u32 {
                decode[(at + offset) as usize] = token as u32 | (f as u32) << 8 | offset << 20;
            }
            at += f as u32;
        }
        Self { freq, start, decode, encode }
    }

    /// The last token.
    pub fn escape(&self) -> u8 {
        (self.freq.len() - 1) as u8
    }

    fn from_shape(shape: &Shape) -> Self {
        let mut weights = vec![(shape.zero as u64) << 16];
        let (mut near, mut far) = ((shape.near[0] as u64) << 16, (shape.far[0] as u64) << 16);
        for _ in 0..shape.reach {
            weights.extend([(near + far) / 2; 2]);
            near = (near * shape.near[1] as u64) >> 16;
            far = (far * shape.far[1] as u64) >> 16;
        }
        let tail = |first: u64, ratio: u32| first * 65536 / (65536 - ratio as u64);
        weights.push(tail(near, shape.near[1]) + tail(far, shape.far[1]));
        Self::new(&weights)
    }
}

impl EncodeEntry {
    fn new(f: u32, start: u32) -> Self {
        let limit = f << (31 - PROB_BITS);
        if f == 1 {
            // x * (2^32 - 1) >> 32 = x - 1 for x >= 1, hence the bias of 2047
            return Self { limit, reciprocal: !0, bias: start + PROB_SUM - 1, complement: PROB_SUM - 1 };
        }
        let shift = 32 - (f - 1).leading_zeros();
        let reciprocal = (1u64 << (shift + 31)).div_ceil(f as u64) as u32;
        Self { limit, reciprocal, bias: start, complement: (PROB_SUM - f) | (shift - 1) << 16 }
    }
}

/// Weights of a class's cost of a unit, in 2^-16 bit: for each node, each |q| >= 1, each |q| >= 2, the sum of |q|, and
/// the sum of the bit lengths of |q|.
pub type CostWeights = [i32; 5];

mod params;
pub use params::{CLASS_COUNT, CLASSES};

/// How the tokens of a class are made: token = zigzag(q) >> shift, low bits raw.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Index into [`Tables::symbols`].
    pub table: u8,
    pub shift: u8,
    pub cost: CostWeights,
}

/// All tables.
pub struct Tables {
    /// Tables of symbols.
    pub symbols: Vec<Table>,
    /// Tables of classes, by context.
    pub classes: Vec<Table>,
    /// 64 equal tokens.
    pub uniform: Table,
}

pub static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    symbols: params::SHAPES.iter().map(Table::from_shape).collect(),
    classes: params::class_weights().iter().map(|w| Table::new(w)).collect(),
    uniform: Table::from_frequencies(vec![32; 64]),
});
