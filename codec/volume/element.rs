//! The two element types of a volume.

use serde::{Deserialize, Serialize};

/// Type of the values of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    F32,
    F64,
}

impl DType {
    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            DType::F32 => 4,
            DType::F64 => 8,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
        })
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`, with the few operations whose rounding the format fixes.
pub trait Element:
    sealed::Sealed
    + bytemuck::Pod
    + Copy
    + PartialOrd
    + Send
    + Sync
    + Default
    + std::fmt::Debug
    + std::fmt::Display
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Neg<Output = Self>
    + 'static
{
    const DTYPE: DType;
    const BYTES: usize;
    const ZERO: Self;
    const INFINITY: Self;
    fn to_f64(self) -> f64;
    /// Round to nearest.
    fn from_f64(v: f64) -> Self;
    /// `self * a + b`, rounded once. Fast only inside code compiled for a target with FMA.
    fn fma(self, a: Self, b: Self) -> Self;
    fn abs(self) -> Self;
    fn is_finite(self) -> bool;
    /// Nearest integer, ties to even.
    fn rint(self) -> Self;
    /// An integer as a value, rounded to nearest.
    fn from_i32(v: i32) -> Self;
    /// An integer of at most 2^30 in magnitude as such; 0 for any wider value and for NaN.
    fn to_i32(self) -> i32;
    /// The bit pattern, zero-extended.
    fn to_bits64(self) -> u64;
    /// From the low bits of a pattern.
    fn from_bits64(bits: u64) -> Self;
    /// The largest value not above `v` (finite `v` >= 0), so that a bound never grows in conversion.
    fn from_f64_down(v: f64) -> Self;
    /// The smallest value not below `v` (no NaN).
    fn from_f64_up(v: f64) -> Self;
}

macro_rules! element {
    ($t:ty, $bits:ty, $dtype:expr) => {
        impl Element for $t {
            const DTYPE: DType = $dtype;
            const BYTES: usize = size_of::<$t>();
            const ZERO: Self = 0.0;
            const INFINITY: Self = <$t>::INFINITY;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn rint(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn from_i32(v: i32) -> Self {
                v as $t
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                let narrow = if self.abs() <= (1 << 30) as $t { self } else { 0.0 };
                // SAFETY: finite and within i32.
                unsafe { narrow.to_int_unchecked() }
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.to_bits() as u64
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }
            fn from_f64_down(v: f64) -> Self {
                let r = v as $t;
                if r.is_infinite() && v.is_finite() {
                    <$t>::MAX
                } else if r as f64 > v {
                    r.next_down()
                } else {
                    r
                }
            }
            fn from_f64_up(v: f64) -> Self {
                let r = v as $t;
                if (r as f64) < v { r.next_up() } else { r }
            }
        }
    };
}
element!(f32, u32, DType::F32);
element!(f64, u64, DType::F64);
