//! Tokens: what the Huffman code spells out. A unit of symbols is zero runs, values and an end mark.
//!
//! The alphabet is small enough for one byte and a 12-bit decoding table. Wide values carry their low bits
//! raw behind the token, so that no symbol of 32 bits is ever out of the alphabet.

/// The rest of the unit is zero.
pub const END: u8 = 0;
/// First of the zero runs.
const RUN: u8 = 1;
/// The coefficient is stored exactly, outside this stream.
pub const ESCAPE: u8 = 19;
/// First of the values.
const VALUE: u8 = 20;
/// Values with `zigzag(q) - 1` below this have a token of their own.
const DIRECT: u32 = 128;
/// Number of tokens.
pub const ALPHABET: usize = 248;
/// The symbol that says "stored exactly": [`ESCAPE`].
pub const EXACT: i32 = i32::MIN;
/// Most symbols of a unit, so that a run has at most 9 bits.
pub const MAX_UNIT: usize = 512;

/// One token and the raw bits behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token {
    pub token: u8,
    /// Number of raw bits, at most 29.
    pub extra_bits: u8,
    pub extra: u32,
}

/// A number split into a token (counted from 0) and raw bits: below `1 << direct` one token each,
/// then `1 << msb` tokens an octave.
#[inline(always)]
const fn split(v: u32, direct: u32, msb: u32) -> Token {
    if v < 1 << direct {
        return Token { token: v as u8, extra_bits: 0, extra: 0 };
    }
    let octave = 31 - v.leading_zeros();
    let bits = octave - msb;
    let lead = (v >> bits) & ((1 << msb) - 1);
    let token = (1 << direct) + ((octave - direct) << msb) + lead;
    Token { token: token as u8, extra_bits: bits as u8, extra: v & ((1 << bits) - 1) }
}

/// The smallest number of a token of [`split`], and its raw bits.
const fn base(token: u32, direct: u32, msb: u32) -> (u32, u32) {
    if token < 1 << direct {
        return (token, 0);
    }
    let above = token - (1 << direct);
    let octave = direct + (above >> msb);
    let bits = octave - msb;
    ((1 << octave) | (above & ((1 << msb) - 1)) << bits, bits)
}

/// The tokens of runs of 0 (unused) to 511 zeros.
pub static ZERO_RUNS: [Token; MAX_UNIT] = {
    let mut runs = [Token { token: 0, extra_bits: 0, extra: 0 }; MAX_UNIT];
    let mut length = 1;
    while length < MAX_UNIT {
        runs[length] = zero_run(length as u32);
        length += 1;
    }
    runs
};

/// The token of `length` zeros, 1 to 511, that a nonzero symbol follows.
const fn zero_run(length: u32) -> Token {
    let t = split(length - 1, 2, 1);
    Token { token: t.token + RUN, extra_bits: t.extra_bits, extra: t.extra }
}

/// The token of a nonzero symbol.
#[inline(always)]
pub fn value(q: i32) -> Token {
    if q == EXACT {
        return Token { token: ESCAPE, extra_bits: 0, extra: 0 };
    }
    let z = ((q << 1) ^ (q >> 31)) as u32 - 1;
    if z < DIRECT {
        return Token { token: VALUE + z as u8, extra_bits: 0, extra: 0 };
    }
    let t = split(z, 7, 2);
    Token { token: t.token + VALUE, ..t }
}

/// What a decoder does with a token: `base` plus the raw bits is the zigzag of a value, or a number of zeros.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    pub base: u32,
    pub extra_bits: u8,
    pub is_value: bool,
}

/// A number of zeros that no run reaches: the unit ends.
const TO_THE_END: u32 = 1 << 10;

/// Decoding actions by token.
pub static ACTIONS: [Action; 256] = {
    let mut actions = [Action { base: TO_THE_END, extra_bits: 0, is_value: false }; 256];
    let mut t = RUN;
    while t < ESCAPE {
        let (low, bits) = base((t - RUN) as u32, 2, 1);
        actions[t as usize] = Action { base: low + 1, extra_bits: bits as u8, is_value: false };
        t += 1;
    }
    // The zigzag of EXACT.
    actions[ESCAPE as usize] = Action { base: u32::MAX, extra_bits: 0, is_value: true };
    t = VALUE;
    while (t as usize) < ALPHABET {
        let (low, bits) = base((t - VALUE) as u32, 7, 2);
        actions[t as usize] = Action { base: low + 1, extra_bits: bits as u8, is_value: true };
        t += 1;
    }
    actions
};

/// Undoes zigzag.
#[inline(always)]
pub fn unzigzag(z: u32) -> i32 {
    (z >> 1) as i32 ^ -((z & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_and_value_comes_back() {
        for length in 1..MAX_UNIT as u32 {
            let t = zero_run(length);
            let a = ACTIONS[t.token as usize];
            assert_eq!((a.is_value, a.extra_bits, a.base + t.extra), (false, t.extra_bits, length));
        }
        let edges = (0..31).flat_map(|b| [(1i32 << b) - 1, 1 << b, (1 << b) + 1]);
        for q in edges.flat_map(|q| [q, -q]).chain([i32::MAX, -i32::MAX]).filter(|&q| q != 0) {
            let t = value(q);
            let a = ACTIONS[t.token as usize];
            assert!((t.token as usize) < ALPHABET && t.extra_bits <= 29);
            assert_eq!((a.is_value, a.extra_bits, unzigzag(a.base + t.extra)), (true, t.extra_bits, q));
        }
        assert_eq!(unzigzag(ACTIONS[value(EXACT).token as usize].base), EXACT);
    }
}
