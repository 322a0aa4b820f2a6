//! One local level over an array: independent blocks, each with the quantizer of its tier.

use super::block::{self, CoarseRows, Operator, Rows, coarse_of, details_of};
use super::disjoint::DisjointRows;
use super::plan::{BLOCK, COARSE, Level};
use super::quantizer::Quantizer;
use crate::Element;
use crate::entropy::huffman::EXACT;
use crate::simd::{Kernel, dispatch};
use rayon::prelude::*;

/// Blocks of one parallel task.
const GROUP: usize = 256;

/// Calls `$run` with the rows of a block as constants: NZ, NY of a frame of `$rank` axes.
macro_rules! with_block_rows {
    ($rank:expr, $NZ:ident, $NY:ident => $run:expr) => {
        match $rank {
            3 => {
                const $NZ: usize = 8;
                const $NY: usize = 8;
                $run
            }
            2 => {
                const $NZ: usize = 1;
                const $NY: usize = 8;
                $run
            }
            _ => {
                const $NZ: usize = 1;
                const $NY: usize = 1;
                $run
            }
        }
    };
}
pub(super) use with_block_rows;

/// Details of one block of a frame with `rank` axes.
pub fn block_details(rank: usize) -> usize {
    with_block_rows!(rank, NZ, NY => const { details_of(NZ, NY) })
}

/// An array of T, C order.
#[derive(Clone, Copy)]
pub struct Array<'a, T> {
    pub values: &'a [T],
    pub n: [usize; 3],
}

impl<T: Element> Array<'_, T> {
    /// The value of a node.
    pub fn at(&self, [z, y, x]: [usize; 3]) -> T {
        self.values[(z * self.n[1] + y) * self.n[2] + x]
    }
    /// The nodes of a block; indices beyond the array are clamped to its last node.
    #[inline(always)]
    pub fn block<const NZ: usize, const NY: usize>(&self, block: [usize; 3]) -> Rows<T> {
        let mut rows = [[T::ZERO; 8]; 64];
        let [nz, ny, nx] = self.n;
        let x0 = block[2] * BLOCK;
        for z in 0..NZ {
            for y in 0..NY {
                let (az, ay) = ((block[0] * BLOCK + z).min(nz - 1), (block[1] * BLOCK + y).min(ny - 1));
                let row = &self.values[(az * ny + ay) * nx..][..nx];
                rows[z * NY + y] = match row.get(x0..x0 + BLOCK) {
                    Some(full) => full.try_into().expect("8 values"),
                    None => std::array::from_fn(|x| row[(x0 + x).min(nx - 1)]),
                };
            }
        }
        rows
    }
    /// The coarse nodes that belong to a block, from the array that the level leaves.
    #[inline(always)]
    pub fn coarse_block<const NZ: usize, const NY: usize>(&self, block: [usize; 3]) -> CoarseRows<T> {
        let mut coarse = [[T::ZERO; 8]; 25];
        for (i, row) in coarse[..coarse_of(NZ).len() * coarse_of(NY).len()].iter_mut().enumerate() {
            row[..COARSE].copy_from_slice(&self.values[coarse_row::<NZ, NY>(self.n, block, i)..][..COARSE]);
        }
        coarse
    }
}

/// Where coarse row `i` of a block begins in the array of extents `n` that the level leaves.
#[inline(always)]
fn coarse_row<const NZ: usize, const NY: usize>(n: [usize; 3], block: [usize; 3], i: usize) -> usize {
    let (cz, cy) = (coarse_of(NZ).len(), coarse_of(NY).len());
    let (z, y) = (block[0] * cz + i / cy, block[1] * cy + i % cy);
    (z * n[1] + y) * n[2] + block[2] * COARSE
}

/// Writes the coarse nodes of a block into the array of extents `n` that the level leaves.
///
/// # Safety
/// Each block may be written once only.
#[inline(always)]
pub unsafe fn write_coarse<T: Element, const NZ: usize, const NY: usize>(
    out: &DisjointRows<T>,
    n: [usize; 3],
    block: [usize; 3],
    coarse: &CoarseRows<T>,
) {
    for (i, row) in coarse[..coarse_of(NZ).len() * coarse_of(NY).len()].iter().enumerate() {
        // SAFETY: blocks own separate coarse nodes, and the caller writes each block once.
        unsafe { out.write(coarse_row::<NZ, NY>(n, block, i), &row[..COARSE]) }
    }
}

/// Writes the nodes of a block into the array of extents `n`, without the padding.
///
/// # Safety
/// Each block may be written once only.
#[inline(always)]
pub unsafe fn write_block<T: Element, const NZ: usize, const NY: usize>(
    out: &DisjointRows<T>,
    n: [usize; 3],
    block: [usize; 3],
    rows: &Rows<T>,
) {
    let [z0, y0, x0] = block.map(|b| b * BLOCK);
    let width = BLOCK.min(n[2] - x0);
    for z in 0..NZ.min(n[0] - z0) {
        for y in 0..NY.min(n[1] - y0) {
            let at = ((z0 + z) * n[1] + y0 + y) * n[2] + x0;
            // SAFETY: blocks own separate nodes, and the caller writes each block once.
            unsafe { out.write(at, &rows[z * NY + y][..width]) }
        }
    }
}

/// A local level of a frame.
pub struct LocalLevel<'a, T> {
    pub level: &'a Level,
    pub operator: &'a Operator<T>,
    /// By tier.
    pub quantizers: &'a [Quantizer<T>],
    /// Tier of each block of the level.
    pub tiers: &'a [u8],
}

impl<T: Element> LocalLevel<'_, T> {
    /// Place of block `index` of the level's raster.
    #[inline(always)]
    fn place(&self, index: usize) -> [usize; 3] {
        let [_, by, bx] = self.level.blocks();
        [index / (by * bx), index / bx % by, index % bx]
    }
    #[inline(always)]
    pub fn tier(&self, block: [usize; 3]) -> usize {
        let [_, by, bx] = self.level.blocks();
        self.tiers[(block[0] * by + block[1]) * bx + block[2]] as usize
    }
    #[inline(always)]
    pub fn quantizer(&self, block: [usize; 3]) -> &Quantizer<T> {
        &self.quantizers[self.tier(block)]
    }

    /// Decomposes an array held in memory: symbols of all blocks in raster order, exact details, coarse array.
    pub fn decompose(&self, fine: &[T], rank: usize) -> (Vec<i32>, Vec<T>, Vec<T>) {
        let mut symbols = vec![0; self.level.details];
        let mut coarse = vec![T::ZERO; self.level.coarse.iter().product()];
        let fine = Array { values: fine, n: self.level.fine };
        let out = DisjointRows::new(&mut coarse);
        let groups = symbols.par_chunks_mut(GROUP * block_details(rank)).enumerate();
        let exact: Vec<Vec<T>> = with_block_rows!(rank, NZ, NY => groups
            .map(|(g, symbols)| {
                dispatch(Decompose::<T, NZ, NY> { level: self, fine, first: g * GROUP, symbols, coarse: &out })
            })
            .collect());
        (symbols, exact.concat(), coarse)
    }

    /// Rebuilds the array of this level. `exact` has one value for each [`EXACT`] symbol.
    pub fn recompose(&self, coarse: &[T], symbols: &[i32], exact: &[T], rank: usize) -> Vec<T> {
        let mut fine = vec![T::ZERO; self.level.fine.iter().product()];
        let coarse = Array { values: coarse, n: self.level.coarse };
        let out = DisjointRows::new(&mut fine);
        let length = GROUP * block_details(rank);
        let starts = exact_starts(symbols, length);
        with_block_rows!(rank, NZ, NY => symbols.par_chunks(length).enumerate().for_each(|(g, symbols)| {
            let exact = &exact[starts[g]..];
            dispatch(Recompose::<T, NZ, NY> { level: self, coarse, first: g * GROUP, symbols, exact, fine: &out })
        }));
        fine
    }
}

/// Number of [`EXACT`] symbols before each group of `length` symbols.
pub fn exact_starts(symbols: &[i32], length: usize) -> Vec<usize> {
    let count = |g: &[i32]| g.iter().filter(|&&q| q == EXACT).count();
    let counts: Vec<usize> = symbols.par_chunks(length).map(count).collect();
    counts.iter().scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))).collect()
}

struct Decompose<'a, T, const NZ: usize, const NY: usize> {
    level: &'a LocalLevel<'a, T>,
    fine: Array<'a, T>,
    first: usize,
    symbols: &'a mut [i32],
    coarse: &'a DisjointRows<'a, T>,
}

impl<T: Element, const NZ: usize, const NY: usize> Kernel for Decompose<'_, T, NZ, NY> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run(self) -> Vec<T> {
        let mut exact = Vec::new();
        for (i, symbols) in self.symbols.chunks_mut(const { details_of(NZ, NY) }).enumerate() {
            let place = self.level.place(self.first + i);
            let u = self.fine.block::<NZ, NY>(place);
            let d = block::details::<T, NZ, NY>(&u);
            let (q, any) = block::quantize(&d, NZ * NY, self.level.quantizer(place));
            block::pack::<NZ, NY>(&q, symbols);
            if any {
                exact.extend(exact_details(&q, &d));
            }
            let coarse = block::coarsen::<T, NZ, NY>(self.level.operator, &u, &d);
            // SAFETY: groups hold separate blocks.
            unsafe { write_coarse::<T, NZ, NY>(self.coarse, self.level.level.coarse, place, &coarse) }
        }
        exact
    }
}

/// The details whose symbol is [`EXACT`], in order.
pub fn exact_details<'a, T: Element>(q: &'a Rows<i32>, d: &'a Rows<T>) -> impl Iterator<Item = T> + 'a {
    let pairs = q.as_flattened().iter().zip(d.as_flattened());
    pairs.filter(|&(&q, _)| q == EXACT).map(|(_, &d)| d)
}

struct Recompose<'a, T, const NZ: usize, const NY: usize> {
    level: &'a LocalLevel<'a, T>,
    coarse: Array<'a, T>,
    first: usize,
    symbols: &'a [i32],
    exact: &'a [T],
    fine: &'a DisjointRows<'a, T>,
}

impl<T: Element, const NZ: usize, const NY: usize> Kernel for Recompose<'_, T, NZ, NY> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let mut exact = self.exact;
        for (i, symbols) in self.symbols.chunks(const { details_of(NZ, NY) }).enumerate() {
            let place = self.level.place(self.first + i);
            let q = block::unpack::<NZ, NY>(symbols);
            let (here, rest) = exact.split_at(symbols.iter().filter(|&&q| q == EXACT).count());
            exact = rest;
            let coarse = self.coarse.coarse_block::<NZ, NY>(place);
            let v = block::recompose::<T, NZ, NY>(self.level.operator, &coarse, &q, self.level.quantizer(place), here);
            // SAFETY: groups hold separate blocks.
            unsafe { write_block::<T, NZ, NY>(self.fine, self.level.level.fine, place, &v) }
        }
    }
}
