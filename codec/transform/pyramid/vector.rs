//! Vectors of W lanes: what the tile kernel computes with. One set of operations, plain or in the machine's instructions;
//! the bits of all results are the same.

#[cfg(target_arch = "x86_64")]
pub mod avx2;

use super::lanes::{Lanes, Real};

/// W values of type T, one a lane. Operations are those of `FORMAT.md`: each rounds once, comparisons with NaN are false.
pub trait Vector<T: Real, const W: usize>: Copy {
    /// One truth value a lane.
    type Mask: Copy;
    fn load(from: &Lanes<T, W>) -> Self;
    fn store(self, to: &mut Lanes<T, W>);
    fn splat(value: T) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// `self * a + b`
    fn fma(self, a: Self, b: Self) -> Self;
    fn abs(self) -> Self;
    /// `self` where it is smaller than `b`, else `b`.
    fn smaller(self, b: Self) -> Self;
    /// `self <= b`
    fn le(self, b: Self) -> Self::Mask;
    /// `self < b`
    fn lt(self, b: Self) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    /// The low 16 bits of each pattern.
    fn low16(self) -> [i16; W];
    fn from_q(q: &[i16; W]) -> Self;
}

#[inline(always)]
fn zip<T: Real, const W: usize>(a: Lanes<T, W>, b: Lanes<T, W>, f: impl Fn(T, T) -> T) -> Lanes<T, W> {
    Lanes(std::array::from_fn(|l| f(a[l], b[l])))
}

impl<T: Real, const W: usize> Vector<T, W> for Lanes<T, W> {
    type Mask = [bool; W];

    #[inline(always)]
    fn load(from: &Lanes<T, W>) -> Self {
        *from
    }
    #[inline(always)]
    fn store(self, to: &mut Lanes<T, W>) {
        *to = self;
    }
    #[inline(always)]
    fn splat(value: T) -> Self {
        Lanes([value; W])
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        zip(self, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        zip(self, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        zip(self, b, |a, b| a * b)
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        Lanes(std::array::from_fn(|l| self[l].fma(a[l], b[l])))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Lanes(self.0.map(T::abs))
    }
    #[inline(always)]
    fn smaller(self, b: Self) -> Self {
        zip(self, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn le(self, b: Self) -> [bool; W] {
        std::array::from_fn(|l| self[l] <= b[l])
    }
    #[inline(always)]
    fn lt(self, b: Self) -> [bool; W] {
        std::array::from_fn(|l| self[l] < b[l])
    }
    #[inline(always)]
    fn select(mask: [bool; W], a: Self, b: Self) -> Self {
        Lanes(std::array::from_fn(|l| if mask[l] { a[l] } else { b[l] }))
    }
    #[inline(always)]
    fn and(a: [bool; W], b: [bool; W]) -> [bool; W] {
        std::array::from_fn(|l| a[l] & b[l])
    }
    #[inline(always)]
    fn all(mask: [bool; W]) -> bool {
        mask == [true; W]
    }
    #[inline(always)]
    fn low16(self) -> [i16; W] {
        self.0.map(T::low16)
    }
    #[inline(always)]
    fn from_q(q: &[i16; W]) -> Self {
        Lanes(q.map(T::from_q))
    }
}
