//! The bits of a stream, least significant first.

/// Packs values into bits.
#[derive(Default)]
pub struct BitWriter {
    /// Room for all that is written, and 8 bytes more.
    bytes: Vec<u8>,
    /// Whole bytes that were written.
    at: usize,
    pending: u64,
    /// Fewer than 8 bits are pending between two calls.
    filled: u32,
}

impl BitWriter {
    /// Makes room for so many bits more.
    pub fn reserve(&mut self, bits: usize) {
        let needed = self.at + bits / 8 + 16;
        if self.bytes.len() < needed {
            self.bytes.resize(needed.max(2 * self.bytes.len()), 0);
        }
    }

    /// Appends the low `width` (at most 56) bits of `value`, whose other bits are 0.
    #[inline(always)]
    pub fn put(&mut self, value: u64, width: u32) {
        self.pending |= value << self.filled;
        self.filled += width;
        self.bytes[self.at..][..8].copy_from_slice(&self.pending.to_le_bytes());
        self.at += (self.filled / 8) as usize;
        self.pending >>= self.filled & !7;
        self.filled %= 8;
    }

    /// Pads with 0 to a byte; what follows starts there. The place of the next byte.
    pub fn end_of_byte(&mut self) -> usize {
        if self.filled > 0 {
            self.put(0, 8 - self.filled);
        }
        self.at
    }

    /// Takes back the bytes from `start` on that are 0, up to the last that is not. The place of the next byte.
    pub fn trim(&mut self, start: usize) -> usize {
        self.at = self.bytes[start..self.at].iter().rposition(|byte| *byte != 0).map_or(start, |last| start + last + 1);
        self.at
    }

    /// All whole bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.at]
    }
}

/// Reads what [`BitWriter`] wrote; bits behind the end are 0.
#[derive(Default)]
pub struct BitReader {
    /// The bytes and 8 of 0.
    padded: Vec<u8>,
    /// The next bit.
    at: usize,
}

impl BitReader {
    /// Starts at the first bit of `bytes`.
    pub fn start(&mut self, bytes: &[u8]) {
        self.padded.clear();
        self.padded.extend_from_slice(bytes);
        self.padded.extend([0; 8]);
        self.at = 0;
    }

    /// The next `width` (at most 56) bits.
    #[inline(always)]
    pub fn get(&mut self, width: u32) -> u64 {
        let byte = (self.at / 8).min(self.padded.len() - 8);
        let mut window = [0; 8];
        window.copy_from_slice(&self.padded[byte..][..8]);
        let bits = u64::from_le_bytes(window) >> (self.at % 8);
        self.at += width as usize;
        bits & ((1 << width) - 1)
    }

    /// Bytes of which a bit was read, those behind the end among them.
    pub fn bytes_read(&self) -> usize {
        self.at.div_ceil(8)
    }
}
