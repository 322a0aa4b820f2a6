//! The bits of a stream, least significant first.

/// Packs values into bits.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    /// Fewer than 8 bits are pending between two calls.
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` (at most 56) bits of `value`, whose other bits are 0.
    #[inline(always)]
    pub fn put(&mut self, value: u64, width: u32) {
        self.pending |= value << self.filled;
        self.filled += width;
        let whole = (self.filled / 8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..whole]);
        self.pending = self.pending.checked_shr(8 * whole as u32).unwrap_or(0);
        self.filled %= 8;
    }

    /// The bytes, padded with 0.
    pub fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote; bits behind the end are 0.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `width` (at most 56) bits.
    #[inline(always)]
    pub fn get(&mut self, width: u32) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        let mut window = [0; 8];
        match rest.first_chunk() {
            Some(eight) => window = *eight,
            None => window[..rest.len()].copy_from_slice(rest),
        }
        let bits = u64::from_le_bytes(window) >> (self.at % 8);
        self.at += width as usize;
        bits & ((1 << width) - 1)
    }

    /// Bytes of which a bit was read, those behind the end among them.
    pub fn bytes_read(&self) -> usize {
        self.at.div_ceil(8)
    }
}
