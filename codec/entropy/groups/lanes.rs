//! What is done with all symbols of a group at once.

use super::geometry::{GROUP, RUN};
use bytemuck::cast;

/// Symbols of a group, or their magnitudes.
pub type Group = [i16; GROUP];

/// Twice the bits of the largest magnitude of a group, less 1 where only one place has the highest of them.
#[inline(always)]
pub fn size(group: &Group) -> u32 {
    let [near, far] = magnitudes(group);
    let any = near | far;
    let any = any | any >> 32;
    let width = u16::BITS - ((any | any >> 16) as u16).leading_zeros();
    let [near, far] = highest([near, far], width);
    2 * width - ((near.count_ones() + far.count_ones()) == 1) as u32
}

/// The bit of number `width` - 1 of each of the magnitudes, none of which has more, as the lowest of its place.
#[inline(always)]
pub fn highest(magnitudes: [u64; 2], width: u32) -> [u64; 2] {
    magnitudes.map(|word| (word >> (width.max(1) - 1)) & 0x0001_0001_0001_0001)
}

/// The magnitudes of a group as two words of four.
#[inline(always)]
pub fn magnitudes(group: &Group) -> [u64; 2] {
    words(group.map(i16::unsigned_abs))
}

#[inline(always)]
fn words(group: [u16; GROUP]) -> [u64; 2] {
    cast::<_, [u64; 2]>(group.map(u16::to_le)).map(u64::from_le)
}

/// Four values of 16 bits become four of `width` bits, which the values do not exceed.
#[inline(always)]
pub fn squeeze(word: u64, width: u32) -> u64 {
    let pairs = word & 0x0000_ffff_0000_ffff | (word >> 16 & 0x0000_ffff_0000_ffff) << width;
    pairs & 0xffff_ffff | (pairs >> 32) << (2 * width)
}

/// The opposite of [`squeeze`]; bits above the four values do not matter.
#[inline(always)]
pub fn spread(bits: u64, width: u32) -> u64 {
    let low = (1 << width) - 1;
    let (low, pair) = (low | low << 32, low << width | low);
    let pairs = bits & pair | (bits >> (2 * width) & pair) << 32;
    pairs & low | (pairs >> width & low) << 16
}

/// Four values of 16 bits each, twice.
#[inline(always)]
pub fn group(words: [u64; 2]) -> Group {
    cast::<_, Group>(words.map(u64::to_le)).map(i16::from_le)
}

/// Four groups: which of their places are not 0, and which are negative.
#[inline(always)]
pub fn signs(groups: &[Group; 4]) -> (u32, u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        let two = |at: usize| {
            // SAFETY: every x86-64 has SSE2; both loads lie in the groups.
            unsafe {
                let first = _mm_loadu_si128(groups[at].as_ptr().cast());
                let second = _mm_loadu_si128(groups[at + 1].as_ptr().cast());
                // packing keeps signs, and whether a value is 0
                let bytes = _mm_packs_epi16(first, second);
                let zero = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
                (!zero as u32 & 0xffff, _mm_movemask_epi8(bytes) as u32)
            }
        };
        let (near, far) = (two(0), two(2));
        (near.0 | far.0 << 16, near.1 | far.1 << 16)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let places = || groups.as_flattened().iter().enumerate();
        let mask = |is: fn(i16) -> bool| places().fold(0, |mask, (i, q)| mask | (is(*q) as u32) << i);
        (mask(|q| q != 0), mask(|q| q < 0))
    }
}

/// The sign bits of some bytes.
#[inline(always)]
pub fn sign_bits(bytes: &[i8; RUN]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        // SAFETY: every x86-64 has SSE2; both loads lie in the bytes.
        unsafe {
            let near = _mm_movemask_epi8(_mm_loadu_si128(bytes.as_ptr().cast()));
            let far = _mm_movemask_epi8(_mm_loadu_si128(bytes.as_ptr().add(16).cast()));
            near as u32 | (far as u32) << 16
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    bytes.iter().enumerate().fold(0, |bits, (i, byte)| bits | ((*byte < 0) as u32) << i)
}

/// Negates the places of a group whose bit is set.
#[inline(always)]
pub fn negate(group: &mut Group, places: u8) {
    for (k, q) in group.iter_mut().enumerate() {
        let mask = if places & 1 << k != 0 { -1 } else { 0 };
        *q = (*q ^ mask).wrapping_sub(mask);
    }
}

/// Bits moved between all places of a word and those of a mask.
pub trait Moves {
    /// The bits of `value` under the mask, side by side.
    fn gather(value: u32, mask: u32) -> u32;
    /// The lowest bits of `value`, in turn at the places of the mask.
    fn scatter(value: u32, mask: u32) -> u32;
}

/// In plain integers.
pub struct Plain;

impl Moves for Plain {
    #[inline(always)]
    fn gather(value: u32, mut mask: u32) -> u32 {
        let (mut gathered, mut next) = (0, 1);
        while mask != 0 {
            gathered |= if value & mask & mask.wrapping_neg() != 0 { next } else { 0 };
            (mask, next) = (mask & (mask - 1), next << 1);
        }
        gathered
    }
    #[inline(always)]
    fn scatter(value: u32, mut mask: u32) -> u32 {
        let (mut scattered, mut next) = (0, 1);
        while mask != 0 {
            scattered |= if value & next != 0 { mask & mask.wrapping_neg() } else { 0 };
            (mask, next) = (mask & (mask - 1), next << 1);
        }
        scattered
    }
}

/// In the machine's instructions; used only where it has them.
#[cfg(target_arch = "x86_64")]
pub struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Moves for Bmi2 {
    #[inline(always)]
    fn gather(value: u32, mask: u32) -> u32 {
        // SAFETY: BMI2.
        unsafe { std::arch::x86_64::_pext_u32(value, mask) }
    }
    #[inline(always)]
    fn scatter(value: u32, mask: u32) -> u32 {
        // SAFETY: BMI2.
        unsafe { std::arch::x86_64::_pdep_u32(value, mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_masks_come_back_from_their_bits() {
        for width in 1..=16 {
            let low = |k: u64| (0x9e37_79b9_7f4a_7c15u64 >> (3 * k)) & ((1 << width) - 1);
            let word = (0..4).map(|k| low(k) << (16 * k)).sum();
            let bits = squeeze(word, width);
            assert_eq!(bits, (0..4).map(|k| low(k) << (width as u64 * k)).sum::<u64>());
            let above = if width < 16 { u64::MAX << (4 * width) } else { 0 };
            assert_eq!(spread(bits | above, width), word, "{width}");
        }
        for (value, mask) in [(0b1011_0110, 0b1110_0011), (u32::MAX, u32::MAX), (7, 0), (0x8000_0001, 0xf000_0001)] {
            let gathered = Plain::gather(value, mask);
            assert_eq!(Plain::scatter(gathered, mask), value & mask);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("bmi2") {
                assert_eq!(
                    (Bmi2::gather(value, mask), Bmi2::scatter(value, mask)),
                    (gathered, Plain::scatter(value, mask))
                );
            }
        }
        assert_eq!(Plain::gather(0b1011_0110, 0b1110_0011), 0b10110);
    }

    #[test]
    fn groups_are_looked_at_as_a_whole() {
        let group: Group = [0, -1, 5, -7, 0, 300, i16::MIN, i16::MAX];
        let sizes = [group, [0; 8], [0, 0, 0, -4, 3, 0, 0, 0], [-4, 0, 0, 0, 0, 0, 0, 7]].map(|group| size(&group));
        assert_eq!(sizes, [31, 0, 5, 6]);
        assert_eq!(super::group(magnitudes(&group)), group.map(|q| q.unsigned_abs() as i16));
        let (nonzero, negative) = signs(&[[0; 8], group, [1; 8], [-1; 8]]);
        assert_eq!((nonzero, negative), (0xffff_ee00, 0xff00_4a00));
        let mut other = super::group(magnitudes(&group));
        negate(&mut other, 0x4a);
        assert_eq!(other, group);
    }
}
