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
    /// Weight of everything beyond `reach`: the escape token.
    pub escape: u32,
    /// Largest k with tokens of its own.
    pub reach: u32,
}

/// One table in both directions.
#[derive(Clone, Debug)]
pub struct Table {
    /// Frequency of each token; the last token is the escape where the table has one.
    pub freq: Vec<u16>,
    /// By state & 2047: token | frequency << 8 | (slot - start) << 20.
    pub decode: Box<[u32; PROB_SUM as usize]>,
    /// By token.
    pub encode: Vec<EncodeEntry>,
}

/// What the encoder needs of a token: x -> x + bias + (x / frequency) * complement, the division by a reciprocal. Four
/// words in this order: vector code reads them one by one.
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
        let (mut encode, mut at) = (Vec::new(), 0u32);
        for (token, &f) in freq.iter().enumerate() {
            encode.push(EncodeEntry::new(f as u32, at));
            for offset in 0..f as u32 {
                decode[(at + offset) as usize] = token as u32 | (f as u32) << 8 | offset << 20;
            }
            at += f as u32;
        }
        Self { freq, decode, encode }
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
        weights.push((shape.escape as u64) << 16);
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

pub(crate) mod params;
pub use params::CLASS_COUNT;
use params::WIDE_TABLES;

/// How the tokens of a class are made: token = zigzag(q) >> shift, low bits raw.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Index into [`Tables::symbols`].
    pub table: u8,
    pub shift: u8,
    /// Mean cost in 2^-12 bit of a node whose |q| has 0, 1, 2, ... 15 bits.
    pub cost: [u32; LENGTHS],
}

/// Room for all quantized classes in whole vectors.
pub const COST_WIDTH: usize = CLASS_COUNT.next_multiple_of(16);

/// Numbers of bits that |q| can have.
pub const LENGTHS: usize = 16;

/// Class numbers on the wire: 0 = every q is 0, then the quantized classes, then this one.
pub const EXACT_CLASS: u8 = CLASS_COUNT as u8 + 1;

/// Groups of classes that serve as contexts: not known yet, zero, five ranges of quantized classes, exact.
pub const CLASS_GROUPS: usize = 8;

/// All tables.
pub struct Tables {
    /// Tables of symbols.
    pub symbols: Vec<Table>,
    /// The quantized classes.
    pub quantized: Vec<Class>,
    /// Their costs, by bit length and class.
    pub costs: [[u32; COST_WIDTH]; LENGTHS],
    /// Tables of classes, by the group of the last class of the slot, then that of the parent's slot.
    pub classes: Vec<Table>,
    /// 64 equal tokens.
    pub uniform: Table,
}

pub static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let symbols: Vec<Table> = params::SHAPES.iter().map(Table::from_shape).collect();
    let quantized: Vec<Class> = (0..CLASS_COUNT).map(|c| quantized_class(c, &symbols)).collect();
    let cost = |length: usize, class: usize| quantized.get(class).map_or(0, |c| c.cost[length]);
    Tables {
        costs: std::array::from_fn(|length| std::array::from_fn(|class| cost(length, class))),
        classes: (0..CLASS_GROUPS * CLASS_GROUPS).map(|row| Table::new(&class_weights(row))).collect(),
        uniform: Table::from_frequencies(vec![32; 64]),
        quantized,
        symbols,
    }
});

/// First every table without shift, then the wide tables with shift 1, with shift 2, ...
fn quantized_class(index: usize, symbols: &[Table]) -> Class {
    let tables = symbols.len();
    let (table, shift) = match index.checked_sub(tables) {
        None => (index, 0),
        Some(wide) => (tables - WIDE_TABLES + wide % WIDE_TABLES, 1 + wide / WIDE_TABLES),
    };
    let logs: Vec<u64> = symbols[table].freq.iter().map(|&f| negative_log2(f)).collect();
    let escape = logs.len() - 1;
    let cost = |z: usize| {
        let token = (z >> shift).min(escape);
        let raw = shift as u64 + if token == escape { 16 } else { 0 };
        logs[token] + (raw << 12)
    };
    let mean = |length: usize| {
        let (first, end) = ((1usize << length) / 2, 1 << length);
        let sum: u64 = (first..end).map(|k| cost((2 * k).saturating_sub(1)) + cost(2 * k)).sum();
        (sum / (2 * (end - first) as u64)) as u32
    };
    Class { table: table as u8, shift: shift as u8, cost: std::array::from_fn(mean) }
}

/// -log2(f / 2048) in 2^-12 bit, by repeated squaring: the logarithm of f is rounded down.
fn negative_log2(f: u16) -> u64 {
    let whole = 15 - f.leading_zeros() as u64;
    let mut mantissa = (f as u64) << (31 - whole);
    let mut log = whole;
    for _ in 0..12 {
        mantissa = (mantissa * mantissa) >> 31;
        let carry = mantissa >> 32;
        mantissa >>= carry;
        log = log << 1 | carry;
    }
    ((PROB_BITS as u64) << 12) - log
}

/// The group of a class that serves as context; `None` is not known yet.
pub fn class_group(class: Option<u8>) -> usize {
    match class {
        None => 0,
        Some(0) => 1,
        Some(EXACT_CLASS) => 7,
        Some(class) => 2 + params::GROUP_ENDS.iter().filter(|&&end| class > end).count(),
    }
}

/// Weights of the classes after the groups `row / 8` (of the slot) and `row % 8` (of the parent's slot).
fn class_weights(row: usize) -> Vec<u64> {
    let (slot, parent) = (row / CLASS_GROUPS, row % CLASS_GROUPS);
    let exact = if slot == 7 {
        1900
    } else if parent == 7 {
        1024
    } else {
        1
    };
    let [zero, centre, up, down] = params::CLASS_ROWS[slot % 7][parent % 7].map(u64::from);
    let mut weights = vec![0u64; CLASS_COUNT + 2];
    let mut decay = 1u64 << 20;
    for class in centre as usize..=CLASS_COUNT {
        weights[class] = decay * params::CLASS_POPULARITY[class - 1] as u64;
        decay = (decay * up) >> 8;
    }
    decay = 1 << 20;
    for class in (1..centre as usize).rev() {
        decay = (decay * down) >> 8;
        weights[class] = decay * params::CLASS_POPULARITY[class - 1] as u64;
    }
    let total: u64 = weights.iter().sum();
    let quantized = PROB_SUM as u64 - exact;
    weights.iter_mut().for_each(|w| *w *= (PROB_SUM as u64 - zero) * quantized / PROB_SUM as u64);
    weights[0] = total * (zero * quantized / PROB_SUM as u64);
    weights[EXACT_CLASS as usize] = total * exact;
    weights
}
