//! Eight lanes in AVX2 and FMA instructions. Values of these types exist only inside functions compiled for them, which run
//! only where [`crate::simd::instructions`] found them: that is what every `unsafe` here rests on.

use super::Vector;
use crate::transform::pyramid::lanes::{Lanes, W};
use std::arch::x86_64::*;

/// Eight f32.
#[derive(Clone, Copy)]
pub struct Singles(__m256);

/// Eight f64.
#[derive(Clone, Copy)]
pub struct Doubles([__m256d; 2]);

impl Vector<f32, W> for Singles {
    type Mask = __m256;

    #[inline(always)]
    fn load(from: &Lanes<f32, W>) -> Self {
        // SAFETY: AVX2; eight values.
        Self(unsafe { _mm256_loadu_ps(from.0.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut Lanes<f32, W>) {
        // SAFETY: AVX2; eight values.
        unsafe { _mm256_storeu_ps(to.0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_set1_ps(value) })
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_sub_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: FMA.
        Self(unsafe { _mm256_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn smaller(self, b: Self) -> Self {
        // SAFETY: AVX2. The instruction gives its second operand unless the first is smaller.
        Self(unsafe { _mm256_min_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn le(self, b: Self) -> __m256 {
        // SAFETY: AVX2.
        unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, b.0) }
    }
    #[inline(always)]
    fn lt(self, b: Self) -> __m256 {
        // SAFETY: AVX2.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, b.0) }
    }
    #[inline(always)]
    fn select(mask: __m256, a: Self, b: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_blendv_ps(b.0, a.0, mask) })
    }
    #[inline(always)]
    fn and(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2.
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn all(mask: __m256) -> bool {
        // SAFETY: AVX2.
        unsafe { _mm256_movemask_ps(mask) == 0xff }
    }
    #[inline(always)]
    fn low16(self) -> [i16; W] {
        // SAFETY: AVX2; the array has room for 16 bytes.
        unsafe {
            let pick = _mm256_set1_epi64x(0x0d0c_0908_0504_0100);
            let halves = _mm256_shuffle_epi8(_mm256_castps_si256(self.0), pick);
            let words = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(halves));
            let mut q = [0; W];
            _mm_storeu_si128(q.as_mut_ptr().cast(), words);
            q
        }
    }
    #[inline(always)]
    fn from_q(q: &[i16; W]) -> Self {
        // SAFETY: AVX2; the array has 16 bytes.
        Self(unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(q.as_ptr().cast()))) })
    }
}

/// The same instruction on both halves, without closures, which would be compiled for plain instructions.
macro_rules! halves {
    ($f:ident, $($v:expr),+) => {
        // SAFETY: AVX2 and FMA.
        [unsafe { $f($($v[0]),+) }, unsafe { $f($($v[1]),+) }]
    };
}

impl Vector<f64, W> for Doubles {
    type Mask = [__m256d; 2];

    #[inline(always)]
    fn load(from: &Lanes<f64, W>) -> Self {
        let (low, high) = from.0.split_at(4);
        // SAFETY: AVX2; four values each.
        Self(unsafe { [_mm256_loadu_pd(low.as_ptr()), _mm256_loadu_pd(high.as_ptr())] })
    }
    #[inline(always)]
    fn store(self, to: &mut Lanes<f64, W>) {
        let (low, high) = to.0.split_at_mut(4);
        // SAFETY: AVX2; four values each.
        unsafe {
            _mm256_storeu_pd(low.as_mut_ptr(), self.0[0]);
            _mm256_storeu_pd(high.as_mut_ptr(), self.0[1]);
        }
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: AVX2.
        Self([unsafe { _mm256_set1_pd(value) }; 2])
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(halves!(_mm256_add_pd, self.0, b.0))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(halves!(_mm256_sub_pd, self.0, b.0))
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self(halves!(_mm256_mul_pd, self.0, b.0))
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        Self(halves!(_mm256_fmadd_pd, self.0, a.0, b.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(halves!(_mm256_andnot_pd, Self::splat(-0.0).0, self.0))
    }
    #[inline(always)]
    fn smaller(self, b: Self) -> Self {
        // The instruction gives its second operand unless the first is smaller.
        Self(halves!(_mm256_min_pd, self.0, b.0))
    }
    #[inline(always)]
    fn le(self, b: Self) -> [__m256d; 2] {
        let (a, b) = (self.0, b.0);
        // SAFETY: AVX2.
        unsafe { [_mm256_cmp_pd::<_CMP_LE_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LE_OQ>(a[1], b[1])] }
    }
    #[inline(always)]
    fn lt(self, b: Self) -> [__m256d; 2] {
        let (a, b) = (self.0, b.0);
        // SAFETY: AVX2.
        unsafe { [_mm256_cmp_pd::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LT_OQ>(a[1], b[1])] }
    }
    #[inline(always)]
    fn select(mask: [__m256d; 2], a: Self, b: Self) -> Self {
        Self(halves!(_mm256_blendv_pd, b.0, a.0, mask))
    }
    #[inline(always)]
    fn and(a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        halves!(_mm256_and_pd, a, b)
    }
    #[inline(always)]
    fn all(mask: [__m256d; 2]) -> bool {
        // SAFETY: AVX2.
        unsafe { _mm256_movemask_pd(_mm256_and_pd(mask[0], mask[1])) == 0xf }
    }
    #[inline(always)]
    fn low16(self) -> [i16; W] {
        let mut patterns = Lanes::default();
        self.store(&mut patterns);
        let mut q = [0; W];
        for l in 0..W {
            q[l] = patterns[l].to_bits() as i16;
        }
        q
    }
    #[inline(always)]
    fn from_q(q: &[i16; W]) -> Self {
        // SAFETY: AVX2; the array has 16 bytes.
        unsafe {
            let wide = _mm256_cvtepi16_epi32(_mm_loadu_si128(q.as_ptr().cast()));
            let (low, high) = (_mm256_castsi256_si128(wide), _mm256_extracti128_si256::<1>(wide));
            Self([_mm256_cvtepi32_pd(low), _mm256_cvtepi32_pd(high)])
        }
    }
}
