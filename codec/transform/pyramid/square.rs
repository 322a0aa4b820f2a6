//! Transposition of eight by eight values, in the instructions that every x86-64 has.

use super::lanes::W;

pub type Square<T> = [[T; W]; W];

/// Rows become columns, one value after the other.
#[cfg(not(target_arch = "x86_64"))]
mod machine {
    use super::{Square, W};

    fn plain<T: Copy + Default>(square: Square<T>) -> Square<T> {
        let mut columns = [[T::default(); W]; W];
        for (i, row) in square.iter().enumerate() {
            for (column, value) in columns.iter_mut().zip(row) {
                column[i] = *value;
            }
        }
        columns
    }
    pub fn words(square: Square<i16>) -> Square<i16> {
        plain(square)
    }
    pub fn singles(square: Square<f32>) -> Square<f32> {
        plain(square)
    }
    pub fn doubles(square: Square<f64>) -> Square<f64> {
        plain(square)
    }
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{Square, W};
    use bytemuck::cast;
    use std::arch::x86_64::*;

    /// Three rounds that interleave pairs of rows half a square apart.
    #[inline(always)]
    pub fn words(square: Square<i16>) -> Square<i16> {
        let mut rows: [__m128i; W] = cast(square);
        for _ in 0..3 {
            let from = rows;
            for i in 0..W / 2 {
                // SAFETY: every x86-64 has SSE2.
                unsafe {
                    rows[2 * i] = _mm_unpacklo_epi16(from[i], from[i + W / 2]);
                    rows[2 * i + 1] = _mm_unpackhi_epi16(from[i], from[i + W / 2]);
                }
            }
        }
        cast(rows)
    }

    /// Four blocks of four by four.
    #[inline(always)]
    pub fn singles(square: Square<f32>) -> Square<f32> {
        let rows: [[__m128; 2]; W] = cast(square);
        let mut columns = rows;
        for half in 0..2 {
            for block in 0..2 {
                let row = |i: usize| rows[4 * half + i][block];
                // SAFETY: every x86-64 has SSE2.
                unsafe {
                    let (ac, bd) = (_mm_unpacklo_ps(row(0), row(2)), _mm_unpacklo_ps(row(1), row(3)));
                    let (ac_high, bd_high) = (_mm_unpackhi_ps(row(0), row(2)), _mm_unpackhi_ps(row(1), row(3)));
                    columns[4 * block][half] = _mm_unpacklo_ps(ac, bd);
                    columns[4 * block + 1][half] = _mm_unpackhi_ps(ac, bd);
                    columns[4 * block + 2][half] = _mm_unpacklo_ps(ac_high, bd_high);
                    columns[4 * block + 3][half] = _mm_unpackhi_ps(ac_high, bd_high);
                }
            }
        }
        cast(columns)
    }

    /// Sixteen blocks of two by two.
    #[inline(always)]
    pub fn doubles(square: Square<f64>) -> Square<f64> {
        let rows: [[__m128d; 4]; W] = cast(square);
        let mut columns = rows;
        for pair in 0..4 {
            for block in 0..4 {
                let (a, b) = (rows[2 * pair][block], rows[2 * pair + 1][block]);
                // SAFETY: every x86-64 has SSE2.
                unsafe {
                    columns[2 * block][pair] = _mm_unpacklo_pd(a, b);
                    columns[2 * block + 1][pair] = _mm_unpackhi_pd(a, b);
                }
            }
        }
        cast(columns)
    }
}

pub use machine::{doubles, singles, words as transpose};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let value = |i: usize, k: usize| (8 * i + k) as i16;
        let square = std::array::from_fn(|i| std::array::from_fn(|k| value(i, k)));
        let columns: Square<i16> = std::array::from_fn(|i| std::array::from_fn(|k| value(k, i)));
        assert_eq!(transpose(square), columns);
        assert_eq!(singles(square.map(|r| r.map(f32::from))), columns.map(|r| r.map(f32::from)));
        assert_eq!(doubles(square.map(|r| r.map(f64::from))), columns.map(|r| r.map(f64::from)));
    }
}
