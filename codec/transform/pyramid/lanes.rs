//! What the tile kernel needs of an element type, and the vectors of W tiles that it works on.

use super::square::{self, Square};
use crate::Element;
#[cfg(doc)]
use crate::entropy::class::symbols::EXACT;
use std::ops::{Index, IndexMut};

/// Tiles that the kernel works on at once.
pub const W: usize = 8;

/// The same node of W tiles of the same shape.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Lanes<T, const W: usize>(pub [T; W]);

impl<T: Copy + Default, const W: usize> Default for Lanes<T, W> {
    fn default() -> Self {
        Self([T::default(); W])
    }
}
impl<T, const W: usize> Index<usize> for Lanes<T, W> {
    type Output = T;
    #[inline(always)]
    fn index(&self, lane: usize) -> &T {
        &self.0[lane]
    }
}
impl<T, const W: usize> IndexMut<usize> for Lanes<T, W> {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut T {
        &mut self.0[lane]
    }
}

/// An [`Element`] with the bit tricks of the kernel.
pub trait Real: Element {
    /// Vectors of W values in AVX2 instructions.
    #[cfg(target_arch = "x86_64")]
    type Avx2: super::vector::Vector<Self, W>;
    const ONE: Self;
    const TWO: Self;
    const HALF: Self;
    const THIRD: Self;
    const MAX: Self;
    /// 2^-24 or 2^-53, half the distance from 1 to the next value.
    const UNIT_ROUNDOFF: f64;
    /// 1.5 * 2^23 or 1.5 * 2^52: adding it rounds to an integer (ties to even) that then
    /// stands in the low bits.
    const ROUNDER: Self;
    /// A value whose low 16 bits are those of [`EXACT`].
    const EXACT_ROUNDED: Self;
    /// The largest |q|.
    const Q_MAX: Self;
    /// Residuals of more steps than this cost no more.
    const COST_LIMIT: Self;
    fn from_q(q: i16) -> Self;
    /// `a` if `first`, else `b`, without a branch.
    fn select(first: bool, a: Self, b: Self) -> Self;
    /// The low 16 bits of the pattern.
    fn low16(self) -> i16;
    fn next_down(self) -> Self;
    /// Rows become columns.
    fn transpose(square: Square<Self>) -> Square<Self>;
    /// Rounded to f32.
    fn single(self) -> f32;
    /// Order-preserving map to integers of the type's width.
    fn ordered(self) -> u64;
    /// Inverse of [`Real::ordered`].
    fn from_ordered(o: u64) -> Self;
}

macro_rules! real {
    ($t:ty, $u:ty, $i:ty, $mantissa:expr, $avx2:ident, $transpose:ident) => {
        impl Real for $t {
            #[cfg(target_arch = "x86_64")]
            type Avx2 = super::vector::avx2::$avx2;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const HALF: Self = 0.5;
            const THIRD: Self = 1.0 / 3.0;
            const MAX: Self = <$t>::MAX;
            const UNIT_ROUNDOFF: f64 = <$t>::EPSILON as f64 / 2.0;
            const ROUNDER: Self = (3u64 << ($mantissa - 1)) as $t;
            const EXACT_ROUNDED: Self = Self::ROUNDER - 32768.0;
            const Q_MAX: Self = 32767.0;
            const COST_LIMIT: Self = 32768.0;
            #[inline(always)]
            fn from_q(q: i16) -> Self {
                q as $t
            }
            #[inline(always)]
            fn select(first: bool, a: Self, b: Self) -> Self {
                let mask = (first as $u).wrapping_neg();
                <$t>::from_bits((a.to_bits() & mask) | (b.to_bits() & !mask))
            }
            #[inline(always)]
            fn low16(self) -> i16 {
                self.to_bits() as i16
            }
            fn next_down(self) -> Self {
                <$t>::next_down(self)
            }
            #[inline(always)]
            fn transpose(square: Square<Self>) -> Square<Self> {
                square::$transpose(square)
            }
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn ordered(self) -> u64 {
                let bits = self.to_bits();
                let sign = 1 << (<$u>::BITS - 1);
                (if bits & sign != 0 { !bits } else { bits | sign }) as u64
            }
            #[inline(always)]
            fn from_ordered(o: u64) -> Self {
                let (o, sign) = (o as $u, 1 << (<$u>::BITS - 1));
                <$t>::from_bits(if o & sign != 0 { o ^ sign } else { !o })
            }
        }
    };
}
real!(f32, u32, i32, 23, Singles, singles);
real!(f64, u64, i64, 52, Doubles, doubles);

/// The residual of an exact node: the zigzag of ord(r) - ord(p) in the width of T.
#[inline(always)]
pub fn delta<T: Real>(r: T, p: T) -> u64 {
    let shift = 64 - 8 * T::BYTES as u32;
    let d = (r.ordered().wrapping_sub(anchor(p).ordered()) << shift) as i64;
    (((d << 1) ^ (d >> 63)) as u64) >> shift
}

/// Inverse of [`delta`]: the value r.
#[inline(always)]
pub fn apply_delta<T: Real>(delta: u64, p: T) -> T {
    let d = (delta >> 1) ^ (delta & 1).wrapping_neg();
    T::from_ordered(anchor(p).ordered().wrapping_add(d))
}

/// The prediction that a delta counts from: never NaN, infinite or -0, whose bits differ between machines.
#[inline(always)]
fn anchor<T: Real>(p: T) -> T {
    if p.is_finite() { p + T::ZERO } else { T::ZERO }
}
