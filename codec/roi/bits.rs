//! Rows of voxels as bits: bit `x % 8` of byte `x / 8`, so that one byte is one row of an 8^3 block.

use super::runs::Run;
use rayon::prelude::*;

/// Sets the voxels `x0 .. x1` in bits that start at voxel 0.
pub(super) fn set_span(bits: &mut [u8], x0: usize, x1: usize) {
    if x0 >= x1 {
        return;
    }
    let (first, last) = (x0 / 8, (x1 - 1) / 8);
    let (head, tail) = (0xffu8 << (x0 % 8), 0xffu8 >> (7 - (x1 - 1) % 8));
    if first == last {
        bits[first] |= head & tail;
    } else {
        bits[first] |= head;
        bits[first + 1..last].fill(0xff);
        bits[last] |= tail;
    }
}

/// The voxels of block `bx` that exist on an axis of `nx` nodes, as bits.
pub(super) fn existing(bx: usize, nx: usize) -> u8 {
    let left = nx - bx * 8;
    if left >= 8 { 0xff } else { 0xff >> (8 - left) }
}

/// Runs of set bits; the first byte holds the voxels from `8 * bx0` on.
pub(super) fn runs_of_bits(bits: &[u8], bx0: usize, out: &mut Vec<Run>) {
    for (i, &byte) in bits.iter().enumerate().filter(|(_, b)| **b != 0) {
        let mut rest = byte as u32;
        while rest != 0 {
            let start = rest.trailing_zeros();
            let length = (!(rest >> start)).trailing_zeros();
            let base = ((bx0 + i) * 8) as u32 + start;
            match out.last_mut() {
                Some(last) if last[1] == base => last[1] = base + length,
                _ => out.push([base, base + length]),
            }
            rest &= !(((1u32 << length) - 1) << start);
        }
    }
}

/// One bit per voxel of a whole volume: 1/32 of the size of f32 data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitVolume {
    n: [usize; 3],
    row_bytes: usize,
    bits: Vec<u8>,
}

impl BitVolume {
    pub fn new(n: [usize; 3]) -> Self {
        let row_bytes = n[2].div_ceil(8);
        Self { n, row_bytes, bits: vec![0; n[0] * n[1] * row_bytes] }
    }
    pub fn row(&self, z: usize, y: usize) -> &[u8] {
        &self.bits[(z * self.n[1] + y) * self.row_bytes..][..self.row_bytes]
    }
    pub fn row_mut(&mut self, z: usize, y: usize) -> &mut [u8] {
        &mut self.bits[(z * self.n[1] + y) * self.row_bytes..][..self.row_bytes]
    }
    /// The bits of each position on axis 0, for filling them in parallel.
    pub fn par_slices_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [u8]> {
        self.bits.par_chunks_mut(self.n[1] * self.row_bytes)
    }
    /// With every voxel within `by` voxels of the set along each axis (a cube), or, when negative, without those within
    /// `-by` of a voxel outside the set. The edge of the volume removes nothing.
    pub fn grown(mut self, by: i32) -> Self {
        if by < 0 {
            self.invert();
        }
        let reach = by.unsigned_abs() as usize;
        self.grow_rows(reach);
        let [nz, ny, _] = self.n;
        let plane = ny * self.row_bytes;
        self.bits.chunks_mut(plane).for_each(|slice| spread(slice, ny, reach));
        spread(&mut self.bits, nz, reach);
        if by < 0 {
            self.invert();
        }
        self
    }
    fn invert(&mut self) {
        let last = existing(self.row_bytes - 1, self.n[2]);
        for row in self.bits.chunks_mut(self.row_bytes) {
            row.iter_mut().for_each(|b| *b = !*b);
            row[self.row_bytes - 1] &= last;
        }
    }
    fn grow_rows(&mut self, by: usize) {
        let nx = self.n[2];
        let mut runs = Vec::new();
        for row in self.bits.chunks_mut(self.row_bytes) {
            runs.clear();
            runs_of_bits(row, 0, &mut runs);
            for [a, b] in &runs {
                set_span(row, (*a as usize).saturating_sub(by), (*b as usize + by).min(nx));
            }
        }
    }
}

/// Each of `n` lines becomes the union of all lines within `by` of it.
fn spread(lines: &mut [u8], n: usize, by: usize) {
    let by = by.min(n - 1);
    if by == 0 {
        return;
    }
    let inner = lines.len() / n;
    let mut backwards = lines.to_vec();
    spread_one_way(lines, n, inner, by, false);
    spread_one_way(&mut backwards, n, inner, by, true);
    lines.iter_mut().zip(backwards).for_each(|(a, b)| *a |= b);
}

/// Each line becomes the union of itself and the `by` lines after it (before it when `reversed`), by doubling.
fn spread_one_way(lines: &mut [u8], n: usize, inner: usize, by: usize, reversed: bool) {
    let mut reach = 1;
    while reach <= by {
        let step = reach.min(by + 1 - reach);
        for i in 0..n - step {
            // Each line takes from one that has not been changed in this round yet.
            let (to, from) = if reversed { (n - 1 - i, n - 1 - i - step) } else { (i, i + step) };
            let (head, tail) = lines.split_at_mut(to.max(from) * inner);
            let (a, b) = (&mut head[to.min(from) * inner..][..inner], &mut tail[..inner]);
            let (target, source) = if reversed { (b, a) } else { (a, b) };
            target.iter_mut().zip(source).for_each(|(t, s)| *t |= *s);
        }
        reach += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn growing_and_shrinking_agree_with_the_definition(
            n in [1usize..7, 1usize..7, 1usize..20],
            by in -3i32..4,
            seed in any::<u64>(),
        ) {
            let set = |z: usize, y: usize, x: usize| (seed.wrapping_mul(((z * 31 + y) * 37 + x + 1) as u64 | 1) >> 61) == 0;
            let set = |z, y, x| if by < 0 { !set(z, y, x) } else { set(z, y, x) };
            let mut bits = BitVolume::new(n);
            let all = || (0..n[0]).flat_map(move |z| (0..n[1]).flat_map(move |y| (0..n[2]).map(move |x| [z, y, x])));
            for [z, y, x] in all().filter(|v| set(v[0], v[1], v[2])) {
                set_span(bits.row_mut(z, y), x, x + 1);
            }
            let grown = bits.grown(by);
            let reach = by.unsigned_abs() as usize;
            for [z, y, x] in all() {
                let near = |a: usize, b: usize| a.abs_diff(b) <= reach;
                let mut around = all().filter(|v| near(v[0], z) && near(v[1], y) && near(v[2], x));
                let expected = if by < 0 { around.all(|v| set(v[0], v[1], v[2])) } else { around.any(|v| set(v[0], v[1], v[2])) };
                prop_assert_eq!(grown.row(z, y)[x / 8] >> (x % 8) & 1 == 1, expected, "{:?}", [z, y, x]);
            }
        }
        #[test]
        fn bits_and_runs_agree(bytes in prop::collection::vec(any::<u8>(), 1..9)) {
            let mut runs = Vec::new();
            runs_of_bits(&bytes, 3, &mut runs);
            let mut back = vec![0; bytes.len() + 3];
            runs.iter().for_each(|r| set_span(&mut back, r[0] as usize, r[1] as usize));
            prop_assert_eq!(&back[3..], &bytes[..]);
            prop_assert!(runs.windows(2).all(|w| w[0][1] < w[1][0]));
        }
    }
}
