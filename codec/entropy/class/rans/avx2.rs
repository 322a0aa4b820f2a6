//! Rounds of 8, 16 or 32 lanes with AVX2: the same words and states as the plain code.

use super::super::tables::{PROB_BITS, PROB_SUM, Table};
use super::{MAX_LANES, STATE_MIN};
use std::arch::x86_64::*;

/// States in one register.
pub const WIDTH: usize = 8;

/// By mask: for each lane in the mask, how many lanes of the mask lie below it.
static SPREAD: [[i32; WIDTH]; 256] = permutations(true);
/// By mask: the lanes of the mask in order, moved to the end of the register.
static GATHERED: [[i32; WIDTH]; 256] = permutations(false);

const fn permutations(spread: bool) -> [[i32; WIDTH]; 256] {
    let mut all = [[0; WIDTH]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut below = 0;
        let mut lane = 0;
        while lane < WIDTH {
            if mask >> lane & 1 == 1 {
                if spread {
                    all[mask][lane] = below as i32;
                } else {
                    all[mask][WIDTH - mask.count_ones() as usize + below] = lane as i32;
                }
                below += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    all
}

/// All ones in the lanes below `count`.
#[target_feature(enable = "avx2")]
fn lanes_below(count: usize) -> __m256i {
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count.min(WIDTH) as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
}

/// One bit per lane.
#[target_feature(enable = "avx2")]
fn mask_of(lanes: __m256i) -> usize {
    _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as usize
}

#[target_feature(enable = "avx2")]
fn load_states(states: &[u32; MAX_LANES], register: usize) -> __m256i {
    let part: &[u32; WIDTH] = states[register * WIDTH..].first_chunk().expect("4 registers of states");
    // SAFETY: the reference spans the register.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store_states(states: &mut [u32; MAX_LANES], register: usize, x: __m256i) {
    let part: &mut [u32; WIDTH] = states[register * WIDTH..].first_chunk_mut().expect("4 registers of states");
    // SAFETY: the reference spans the register.
    unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), x) }
}

/// Decodes `tokens` round by round; returns the position after the last word.
///
/// # Safety
/// Needs AVX2. `lanes` is 8, 16 or 32, and `words` holds at least `at + tokens.len() + 8` words.
#[target_feature(enable = "avx2")]
pub unsafe fn decode(
    table: &Table,
    states: &mut [u32; MAX_LANES],
    lanes: usize,
    words: &[u16],
    mut at: usize,
    tokens: &mut [u8],
) -> usize {
    let slots = table.decode.as_ptr().cast::<i32>();
    let mut x: [__m256i; MAX_LANES / WIDTH] = std::array::from_fn(|r| load_states(states, r));
    for round in tokens.chunks_mut(lanes) {
        for (register, out) in round.chunks_mut(WIDTH).enumerate() {
            let active = lanes_below(out.len());
            let old = x[register];
            let slot = _mm256_and_si256(old, _mm256_set1_epi32(PROB_SUM as i32 - 1));
            // SAFETY: a slot is below PROB_SUM, the length of the array.
            let entry = unsafe { _mm256_i32gather_epi32::<4>(slots, slot) };
            let frequency = _mm256_and_si256(_mm256_srli_epi32::<8>(entry), _mm256_set1_epi32(0xfff));
            let product = _mm256_mullo_epi32(frequency, _mm256_srli_epi32::<{ PROB_BITS as i32 }>(old));
            let new = _mm256_add_epi32(product, _mm256_srli_epi32::<20>(entry));
            // states are below 2^31, so signed comparison does
            let low = _mm256_cmpgt_epi32(_mm256_set1_epi32(STATE_MIN as i32), new);
            let refill = _mm256_and_si256(low, active);
            let mask = mask_of(refill);
            // SAFETY: every token so far has used at most one word, and 8 more lie behind.
            let next = unsafe { _mm_loadu_si128(words.as_ptr().add(at).cast()) };
            // SAFETY: a row of the table is a register.
            let order = unsafe { _mm256_loadu_si256(SPREAD[mask].as_ptr().cast()) };
            let spread = _mm256_permutevar8x32_epi32(_mm256_cvtepu16_epi32(next), order);
            let filled = _mm256_or_si256(_mm256_slli_epi32::<16>(new), spread);
            x[register] = _mm256_blendv_epi8(old, _mm256_blendv_epi8(new, filled, refill), active);
            at += mask.count_ones() as usize;
            let bytes: [u32; WIDTH] = {
                let mut all = [0; WIDTH];
                // SAFETY: the array spans the register.
                unsafe { _mm256_storeu_si256(all.as_mut_ptr().cast(), entry) };
                all
            };
            for (token, entry) in out.iter_mut().zip(bytes) {
                *token = entry as u8;
            }
        }
    }
    for (register, &x) in x.iter().enumerate() {
        store_states(states, register, x);
    }
    at
}

/// Encodes `tokens` backwards; returns the position of the first word.
///
/// # Safety
/// Needs AVX2. `lanes` is 8, 16 or 32, every token is one of the table, and `tokens.len() + 8 <= at <= words.len()`.
#[target_feature(enable = "avx2")]
pub unsafe fn encode(
    table: &Table,
    states: &mut [u32; MAX_LANES],
    lanes: usize,
    words: &mut [u16],
    mut at: usize,
    tokens: &[u8],
) -> usize {
    let entries = table.encode.as_ptr().cast::<i32>();
    let mut x: [__m256i; MAX_LANES / WIDTH] = std::array::from_fn(|r| load_states(states, r));
    for round in tokens.chunks(lanes).rev() {
        for (register, part) in round.chunks(WIDTH).enumerate().rev() {
            let active = lanes_below(part.len());
            let mut padded = [0; WIDTH];
            padded[..part.len()].copy_from_slice(part);
            let token = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(padded)));
            let word = _mm256_slli_epi32::<2>(token);
            // SAFETY: tokens, and the 0 of idle lanes, are indices of the table, whose entries are four words each.
            let (reciprocal, bias, packed) = unsafe {
                (
                    _mm256_i32gather_epi32::<4>(entries.add(1), word),
                    _mm256_i32gather_epi32::<4>(entries.add(2), word),
                    _mm256_i32gather_epi32::<4>(entries.add(3), word),
                )
            };
            let complement = _mm256_and_si256(packed, _mm256_set1_epi32(0xffff));
            let frequency = _mm256_sub_epi32(_mm256_set1_epi32(PROB_SUM as i32), complement);
            let limit = _mm256_slli_epi32::<{ 31 - PROB_BITS as i32 }>(frequency);
            let old = x[register];
            // states and limits are below 2^31, so signed comparison does
            let full = _mm256_andnot_si256(_mm256_cmpgt_epi32(limit, old), active);
            let mask = mask_of(full);
            // SAFETY: a row of the table is a register.
            let order = unsafe { _mm256_loadu_si256(GATHERED[mask].as_ptr().cast()) };
            let given = _mm256_and_si256(_mm256_permutevar8x32_epi32(old, order), _mm256_set1_epi32(0xffff));
            let given = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi32(given, given));
            // SAFETY: the words end at `at`; those below the given ones are free, and at least 8 in number.
            unsafe { _mm_storeu_si128(words.as_mut_ptr().add(at - WIDTH).cast(), _mm256_castsi256_si128(given)) };
            at -= mask.count_ones() as usize;
            let state = _mm256_blendv_epi8(old, _mm256_srli_epi32::<16>(old), full);
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(state, reciprocal));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(state), _mm256_srli_epi64::<32>(reciprocal));
            let high = _mm256_blend_epi32::<0b1010_1010>(even, odd);
            let quotient = _mm256_srlv_epi32(high, _mm256_srli_epi32::<16>(packed));
            let new = _mm256_add_epi32(_mm256_add_epi32(state, bias), _mm256_mullo_epi32(quotient, complement));
            x[register] = _mm256_blendv_epi8(old, new, active);
        }
    }
    for (register, &x) in x.iter().enumerate() {
        store_states(states, register, x);
    }
    at
}
