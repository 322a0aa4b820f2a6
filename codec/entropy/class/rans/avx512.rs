//! Rounds of 16 or 32 lanes with AVX-512: the same words and states as the plain code.

use super::super::tables::{EncodeEntry, PROB_BITS, PROB_SUM, Table};
use super::{MAX_LANES, STATE_MIN};
use std::arch::x86_64::*;

/// States in one register.
pub const WIDTH: usize = 16;

/// The lanes `half * 16 ..` that take part in a round of `left` tokens.
fn active(left: usize, half: usize) -> u16 {
    let count = left.saturating_sub(half * WIDTH).min(WIDTH);
    ((1u32 << count) - 1) as u16
}

/// Decodes `tokens` round by round; returns the position after the last word.
///
/// # Safety
/// Needs [`crate::simd::Instructions::Avx512`]. `lanes` is 16 or 32, and `words` holds at least `at + tokens.len() + 16` words.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub unsafe fn decode(
    table: &Table,
    states: &mut [u32; MAX_LANES],
    lanes: usize,
    words: &[u16],
    mut at: usize,
    tokens: &mut [u8],
) -> usize {
    let slots = table.decode.as_ptr().cast::<i32>();
    let halves = lanes / WIDTH;
    // SAFETY: the array has two registers of states.
    let mut x =
        unsafe { [_mm512_loadu_si512(states.as_ptr().cast()), _mm512_loadu_si512(states.as_ptr().add(WIDTH).cast())] };
    for round in tokens.chunks_mut(lanes) {
        for half in 0..halves {
            let mask = active(round.len(), half);
            let old = x[half];
            let slot = _mm512_and_si512(old, _mm512_set1_epi32(PROB_SUM as i32 - 1));
            // SAFETY: a slot is below PROB_SUM, the length of the array.
            let entry = unsafe { _mm512_i32gather_epi32::<4>(slot, slots) };
            let frequency = _mm512_and_si512(_mm512_srli_epi32::<8>(entry), _mm512_set1_epi32(0xfff));
            let product = _mm512_mullo_epi32(frequency, _mm512_srli_epi32::<PROB_BITS>(old));
            let new = _mm512_add_epi32(product, _mm512_srli_epi32::<20>(entry));
            let refill = _mm512_mask_cmplt_epu32_mask(mask, new, _mm512_set1_epi32(STATE_MIN as i32));
            // SAFETY: every token so far has used at most one word, and 16 more lie behind.
            let next = unsafe { _mm256_loadu_si256(words.as_ptr().add(at).cast()) };
            let spread = _mm512_maskz_expand_epi32(refill, _mm512_cvtepu16_epi32(next));
            let filled = _mm512_mask_or_epi32(new, refill, _mm512_slli_epi32::<16>(new), spread);
            x[half] = _mm512_mask_mov_epi32(old, mask, filled);
            at += refill.count_ones() as usize;
            // SAFETY: the mask keeps the store inside the round.
            unsafe {
                _mm512_mask_cvtepi32_storeu_epi8(round.as_mut_ptr().wrapping_add(half * WIDTH).cast(), mask, entry)
            };
        }
    }
    // SAFETY: as for the loads.
    unsafe {
        _mm512_storeu_si512(states.as_mut_ptr().cast(), x[0]);
        _mm512_storeu_si512(states.as_mut_ptr().add(WIDTH).cast(), x[1]);
    }
    at
}

/// Tables with up to so many tokens are looked up in registers.
const SMALL: usize = 2 * WIDTH;

/// Encodes `tokens` backwards; returns the position of the first word.
///
/// # Safety
/// Needs [`crate::simd::Instructions::Avx512`]. `lanes` is 16 or 32, every token is one of the table, and
/// `tokens.len() <= at <= words.len()`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub unsafe fn encode(
    table: &Table,
    states: &mut [u32; MAX_LANES],
    lanes: usize,
    words: &mut [u16],
    at: usize,
    tokens: &[u8],
) -> usize {
    // SAFETY: as demanded above.
    unsafe {
        if table.encode.len() <= SMALL {
            encode_rounds::<true>(table, states, lanes, words, at, tokens)
        } else {
            encode_rounds::<false>(table, states, lanes, words, at, tokens)
        }
    }
}

/// # Safety
/// As for [`encode`]; `IN_REGISTERS` only for tables of up to [`SMALL`] tokens.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn encode_rounds<const IN_REGISTERS: bool>(
    table: &Table,
    states: &mut [u32; MAX_LANES],
    lanes: usize,
    words: &mut [u16],
    mut at: usize,
    tokens: &[u8],
) -> usize {
    let entries = table.encode.as_ptr();
    let halves = lanes / WIDTH;
    let last = _mm512_set1_epi32(table.encode.len() as i32 - 1);
    let first_half = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let second_half = _mm512_add_epi32(first_half, _mm512_set1_epi32(WIDTH as i32));
    // SAFETY: the indices are clamped to the table.
    let (low, high) = unsafe {
        (gather(entries, _mm512_min_epi32(first_half, last)), gather(entries, _mm512_min_epi32(second_half, last)))
    };
    // SAFETY: the array has two registers of states.
    let mut x =
        unsafe { [_mm512_loadu_si512(states.as_ptr().cast()), _mm512_loadu_si512(states.as_ptr().add(WIDTH).cast())] };
    for round in tokens.chunks(lanes).rev() {
        for half in (0..halves).rev() {
            let mask = active(round.len(), half);
            // SAFETY: the mask keeps the load inside the round.
            let token = unsafe { _mm_maskz_loadu_epi8(mask, round.as_ptr().wrapping_add(half * WIDTH).cast()) };
            let token = _mm512_cvtepu8_epi32(token);
            let [reciprocal, bias, complement] = if IN_REGISTERS {
                [
                    _mm512_permutex2var_epi32(low[0], token, high[0]),
                    _mm512_permutex2var_epi32(low[1], token, high[1]),
                    _mm512_permutex2var_epi32(low[2], token, high[2]),
                ]
            } else {
                // SAFETY: tokens, and the 0 of idle lanes, are indices of the table.
                unsafe { gather(entries, token) }
            };
            let shift = _mm512_srli_epi32::<16>(complement);
            let complement = _mm512_and_si512(complement, _mm512_set1_epi32(0xffff));
            let frequency = _mm512_sub_epi32(_mm512_set1_epi32(PROB_SUM as i32), complement);
            let limit = _mm512_slli_epi32::<{ 31 - PROB_BITS }>(frequency);
            let full = _mm512_mask_cmpge_epu32_mask(mask, x[half], limit);
            at -= full.count_ones() as usize;
            let given = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(full, x[half]));
            let kept = ((1u32 << full.count_ones()) - 1) as u16;
            // SAFETY: as many words as were set free by moving `at`; each token gives at most one.
            unsafe { _mm256_mask_storeu_epi16(words.as_mut_ptr().add(at).cast(), kept, given) };
            let state = _mm512_mask_srli_epi32::<16>(x[half], full, x[half]);
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(state, reciprocal));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(state), _mm512_srli_epi64::<32>(reciprocal));
            let quotient = _mm512_srlv_epi32(_mm512_mask_mov_epi32(even, 0xaaaa, odd), shift);
            let new = _mm512_add_epi32(_mm512_add_epi32(state, bias), _mm512_mullo_epi32(quotient, complement));
            x[half] = _mm512_mask_mov_epi32(x[half], mask, new);
        }
    }
    // SAFETY: as for the loads.
    unsafe {
        _mm512_storeu_si512(states.as_mut_ptr().cast(), x[0]);
        _mm512_storeu_si512(states.as_mut_ptr().add(WIDTH).cast(), x[1]);
    }
    at
}

/// Reciprocal, bias and complement of 16 tokens.
///
/// # Safety
/// Needs AVX-512F; every token is an index of `entries`.
#[target_feature(enable = "avx512f")]
unsafe fn gather(entries: *const EncodeEntry, token: __m512i) -> [__m512i; 3] {
    let words = entries.cast::<i32>();
    let at = _mm512_slli_epi32::<2>(token);
    // SAFETY: an entry is four words: limit, reciprocal, bias, complement.
    unsafe {
        [
            _mm512_i32gather_epi32::<4>(at, words.add(1)),
            _mm512_i32gather_epi32::<4>(at, words.add(2)),
            _mm512_i32gather_epi32::<4>(at, words.add(3)),
        ]
    }
}
