//! A group of symbols and its bit planes.

use crate::entropy::class::symbols::EXACT;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Symbols of a group.
pub const LEN: usize = 32;
/// Bits of the largest symbol.
pub const MOST_PLANES: usize = 16;
/// zigzag(q) of an exact node.
pub const EXACT_CODE: u16 = zigzag(EXACT);

/// The codes of a group: zigzag(q) of each node.
pub type Codes = [u16; LEN];

#[inline(always)]
const fn zigzag(q: i16) -> u16 {
    ((q << 1) ^ (q >> 15)) as u16
}

/// The codes of up to [`LEN`] symbols; those that are missing are 0.
#[inline(always)]
pub fn codes(q: &[i16]) -> Codes {
    let mut codes = [0; LEN];
    match q.first_chunk::<LEN>() {
        Some(q) => codes = q.map(zigzag),
        None => codes.iter_mut().zip(q).for_each(|(code, &q)| *code = zigzag(q)),
    }
    codes
}

/// The symbol of a code.
#[inline(always)]
pub fn symbol(code: u16) -> i16 {
    (code >> 1) as i16 ^ -((code & 1) as i16)
}

/// Planes that a group needs.
#[inline(always)]
pub fn width(codes: &Codes) -> usize {
    let any = codes.iter().fold(0, |any, code| any | code);
    (u16::BITS - any.leading_zeros()) as usize
}

/// How codes become planes: word b holds bit b of every code, node i at bit i.
pub trait Split {
    fn split(codes: &Codes) -> [u32; MOST_PLANES];
}

/// In plain integers.
pub struct Plain;

impl Split for Plain {
    /// Two squares of 16 by 16 bits, side by side, transposed by swapping ever smaller blocks.
    #[inline(always)]
    fn split(codes: &Codes) -> [u32; MOST_PLANES] {
        let mut rows: [u32; 16] = std::array::from_fn(|i| codes[i] as u32 | (codes[i + 16] as u32) << 16);
        for (distance, low) in [(8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)] {
            for i in (0..16).filter(|i| i & distance == 0) {
                let swap = (rows[i] >> distance ^ rows[i + distance]) & low;
                rows[i] ^= swap << distance;
                rows[i + distance] ^= swap;
            }
        }
        rows
    }
}

/// In AVX2 instructions; used only where the machine has them.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Split for Avx2 {
    #[inline(always)]
    fn split(codes: &Codes) -> [u32; MOST_PLANES] {
        let mut planes = [0; MOST_PLANES];
        // SAFETY: AVX2; both loads lie in the 64 bytes of the codes.
        unsafe {
            let near = _mm256_loadu_si256(codes.as_ptr().cast());
            let far = _mm256_loadu_si256(codes.as_ptr().add(16).cast());
            let low = _mm256_set1_epi16(255);
            let bytes = [
                _mm256_packus_epi16(_mm256_and_si256(near, low), _mm256_and_si256(far, low)),
                _mm256_packus_epi16(_mm256_srli_epi16(near, 8), _mm256_srli_epi16(far, 8)),
            ];
            for (planes, bytes) in planes.chunks_exact_mut(8).zip(bytes) {
                // packing takes turns between the halves of its operands
                let mut bytes = _mm256_permute4x64_epi64(bytes, 0b11_01_10_00);
                for plane in planes.iter_mut().rev() {
                    *plane = _mm256_movemask_epi8(bytes) as u32;
                    bytes = _mm256_add_epi8(bytes, bytes);
                }
            }
        }
        planes
    }
}

/// The codes of some planes, lowest first.
#[inline(always)]
pub fn join(planes: impl Iterator<Item = u32>) -> Codes {
    let mut codes = [0; LEN];
    let (near, far) = codes.split_at_mut(LEN / 2);
    for (b, plane) in planes.enumerate() {
        for (half, bits) in [(&mut *near, plane as u16), (&mut *far, (plane >> 16) as u16)] {
            for (i, code) in half.iter_mut().enumerate() {
                *code |= if bits & 1 << i != 0 { 1 << b } else { 0 };
            }
        }
    }
    codes
}
