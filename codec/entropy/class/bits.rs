//! The region of raw low bits: fixed width inside a unit, least significant bit first.

/// Appends `value`'s low `width` bits (0 to 64) for each value, and finally whole bytes.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u128,
    filled: u32,
}

impl BitWriter {
    pub fn put(&mut self, value: u64, width: u32) {
        let low = if width < 64 { value & ((1 << width) - 1) } else { value };
        self.pending |= (low as u128) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// The bytes, an even number of them.
    pub fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.pending as u8);
        }
        if self.bytes.len() % 2 == 1 {
            self.bytes.push(0);
        }
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether `count` values of `width` bits are left.
    pub fn has(&self, count: usize, width: u32) -> bool {
        count.checked_mul(width as usize).is_some_and(|bits| bits <= self.bytes.len() * 8 - self.at)
    }

    /// The next `width` (0 to 64) bits; the caller has checked with [`BitReader::has`].
    pub fn get(&mut self, width: u32) -> u64 {
        let (first, skip) = (self.at / 8, self.at % 8);
        self.at += width as usize;
        let mut window = [0u8; 16];
        let part = &self.bytes[first..self.bytes.len().min(first + 9)];
        window[..part.len()].copy_from_slice(part);
        let value = (u128::from_le_bytes(window) >> skip) as u64;
        if width < 64 { value & ((1 << width) - 1) } else { value }
    }

    /// Whether only the padding is left: less than 16 bits, all zero.
    pub fn is_finished(&mut self) -> bool {
        let left = self.bytes.len() * 8 - self.at;
        left < 16 && self.get(left as u32) == 0
    }
}
