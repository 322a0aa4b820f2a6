//! The region of raw low bits: fixed width inside a unit, least significant bit first.

/// Packs values into bits.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Fewer than 32 bits are pending between two calls.
    pending: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` (0 to 64) bits of `value`.
    pub fn put(&mut self, value: u64, width: u32) {
        if width > 32 {
            self.put_few(value, 32);
            return self.put_few(value >> 32, width - 32);
        }
        self.put_few(value, width);
    }

    /// As [`BitWriter::put`], at most 32 bits.
    #[inline(always)]
    pub fn put_few(&mut self, value: u64, width: u32) {
        self.pending |= (value & ((1 << width) - 1)) << self.filled;
        self.filled += width;
        if self.filled >= 32 {
            self.bytes.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.filled -= 32;
        }
    }

    /// The bytes, an even number of them; the bits after the last value are 0.
    pub fn finish(mut self) -> Vec<u8> {
        let used = self.filled.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..used]);
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
    #[inline]
    pub fn get(&mut self, width: u32) -> u64 {
        let (first, skip) = (self.at / 8, self.at as u32 % 8);
        let value = match self.bytes[first..].first_chunk() {
            Some(window) if width + skip <= 64 => u64::from_le_bytes(*window) >> skip,
            _ => self.near_the_end(first, skip),
        };
        self.at += width as usize;
        if width < 64 { value & ((1 << width) - 1) } else { value }
    }

    /// Where fewer than 8 bytes follow, or the value lies in 9 of them.
    #[cold]
    fn near_the_end(&self, first: usize, skip: u32) -> u64 {
        let part = &self.bytes[first..self.bytes.len().min(first + 9)];
        let mut window = [0u8; 16];
        window[..part.len()].copy_from_slice(part);
        (u128::from_le_bytes(window) >> skip) as u64
    }

    /// Whether only the padding is left: less than 16 bits, all zero.
    pub fn is_finished(&mut self) -> bool {
        let left = self.bytes.len() * 8 - self.at;
        left < 16 && self.get(left as u32) == 0
    }
}
