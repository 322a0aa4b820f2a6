//! Bit streams, least significant bit first.

/// Writes bits into a buffer that has 8 bytes to spare behind the last one.
pub struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0, held: 0, count: 0 }
    }
    /// `bits` <= 56; `value` has no bits above them.
    #[inline(always)]
    pub fn put(&mut self, value: u64, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        self.out[self.at..self.at + 8].copy_from_slice(&self.held.to_le_bytes());
        self.at += (self.count / 8) as usize;
        self.held >>= self.count & !7;
        self.count %= 8;
    }
    /// Number of bytes written; the last is padded with zero bits.
    pub fn finish(self) -> usize {
        self.at + (self.count > 0) as usize
    }
}

/// Reads bits; past the end they are zero, and [`BitReader::overrun`] says so.
pub struct BitReader<'a> {
    data: &'a [u8],
    /// Next byte to load.
    next: usize,
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, next: 0, held: 0, count: 0 }
    }
    /// Makes at least 56 bits available.
    #[inline(always)]
    pub fn refill(&mut self) {
        if let Some(bytes) = self.data.get(self.next..self.next + 8) {
            self.held |= u64::from_le_bytes(bytes.try_into().unwrap()) << self.count;
            self.next += (63 - self.count as usize) / 8;
            self.count |= 56;
        } else {
            self.refill_at_end();
        }
    }
    #[cold]
    fn refill_at_end(&mut self) {
        while self.count < 56 {
            let byte = self.data.get(self.next).copied().unwrap_or(0);
            self.held |= (byte as u64) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }
    /// The next bits, after a [`BitReader::refill`] that covers them.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        self.held
    }
    #[inline(always)]
    pub fn skip(&mut self, bits: u32) {
        self.held >>= bits;
        self.count -= bits;
    }
    /// Bytes that hold the bits read so far.
    fn used(&self) -> usize {
        self.next - (self.count / 8) as usize
    }
    /// Whether more was read than there is.
    pub fn overrun(&self) -> bool {
        self.used() > self.data.len()
    }
    /// Whether all bytes were read and the padding is zero.
    pub fn ended_cleanly(&self) -> bool {
        self.used() == self.data.len() && self.held & ((1 << (self.count % 8)) - 1) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_and_the_end_is_noticed() {
        let fields: Vec<(u32, u32)> = (0..1000u32).map(|i| (i % 33, i.wrapping_mul(2654435761))).collect();
        let mask = |bits: u32| ((1u64 << bits) - 1) as u32;
        let mut bytes = vec![0; 8000];
        let mut w = BitWriter::new(&mut bytes);
        fields.iter().for_each(|&(bits, v)| w.put((v & mask(bits)) as u64, bits));
        let length = w.finish();
        bytes.truncate(length);
        let mut r = BitReader::new(&bytes);
        for &(bits, v) in &fields {
            r.refill();
            assert_eq!(r.peek() as u32 & mask(bits), v & mask(bits));
            r.skip(bits);
        }
        assert!(r.ended_cleanly() && !r.overrun());
        r.refill();
        r.skip(9);
        assert!(r.overrun());
    }
}
