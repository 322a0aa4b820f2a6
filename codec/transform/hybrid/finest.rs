//! The finest local level, chunk by chunk: decomposition, quantization and the decoder's arithmetic in one pass over
//! each block (Section IV-D).

use super::block;
use super::disjoint::DisjointRows;
use super::local::{Array, LocalLevel, exact_details, write_block, write_coarse};
use super::plan::BLOCK;
use super::quantizer::TierBound;
use crate::entropy::huffman::EXACT;
use crate::simd::Kernel;
use crate::{Element, Region};

/// The blocks of a chunk, with their places in the frame and in the chunk.
#[derive(Clone, Copy)]
pub struct ChunkBlocks {
    /// Blocks of the frame.
    pub region: Region,
}

impl ChunkBlocks {
    /// (place in the frame, place in the chunk), raster order.
    #[inline(always)]
    pub fn places(self) -> impl Iterator<Item = ([usize; 3], [usize; 3])> {
        let (lo, [nz, ny, nx]) = (self.region.lo, self.region.shape());
        (0..nz * ny * nx).map(move |i| {
            let at = [i / (ny * nx), i / nx % ny, i % nx];
            (std::array::from_fn(|a| lo[a] + at[a]), at)
        })
    }
}

/// Computes the coarse nodes of a chunk.
pub struct Coarsen<'a, T, const NZ: usize, const NY: usize> {
    pub level: &'a LocalLevel<'a, T>,
    /// The chunk's values.
    pub u: Array<'a, T>,
    pub blocks: ChunkBlocks,
    /// The whole coarse array.
    pub coarse: &'a DisjointRows<'a, T>,
}

impl<T: Element, const NZ: usize, const NY: usize> Kernel for Coarsen<'_, T, NZ, NY> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (place, at) in self.blocks.places() {
            let u = self.u.block::<NZ, NY>(at);
            let d = match self.level.operator {
                block::Operator::Hierarchical => u,
                block::Operator::Projection(_) => block::details::<T, NZ, NY>(&u),
            };
            let coarse = block::coarsen::<T, NZ, NY>(self.level.operator, &u, &d);
            // SAFETY: chunks hold separate blocks, and each is processed once.
            unsafe { write_coarse::<T, NZ, NY>(self.coarse, self.level.level.coarse, place, &coarse) }
        }
    }
}

/// Quantizes the details of a chunk and finds the nodes that the decoder would miss.
pub struct Quantize<'a, T, const NZ: usize, const NY: usize> {
    pub level: &'a LocalLevel<'a, T>,
    pub bounds: &'a [TierBound<T>],
    pub u: Array<'a, T>,
    pub blocks: ChunkBlocks,
    /// The coarse array as the decoder has it.
    pub coarse: Array<'a, T>,
    pub symbols: &'a mut [i32],
    pub exact: &'a mut Vec<T>,
    /// Indices of the missed nodes in the chunk's box, block by block.
    pub missed: &'a mut Vec<u32>,
}

impl<T: Element, const NZ: usize, const NY: usize> Kernel for Quantize<'_, T, NZ, NY> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let parts = self.symbols.chunks_exact_mut(const { block::details_of(NZ, NY) });
        for ((place, at), symbols) in self.blocks.places().zip(parts) {
            let u = self.u.block::<NZ, NY>(at);
            let d = block::details::<T, NZ, NY>(&u);
            let by = self.level.quantizer(place);
            let (q, any) = block::quantize(&d, NZ * NY, by);
            block::pack::<NZ, NY>(&q, symbols);
            let before = self.exact.len();
            if any {
                self.exact.extend(exact_details(&q, &d));
            }
            let coarse = self.coarse.coarse_block::<NZ, NY>(place);
            let v = block::recompose::<T, NZ, NY>(self.level.operator, &coarse, &q, by, &self.exact[before..]);
            let bound = &self.bounds[self.level.tier(place)];
            if !bound.lossless && block::any_missed(&u, &v, NZ * NY, bound.check) {
                list_missed::<T, NZ, NY>(self.missed, self.u.n, at, bound.check, &u, &v);
            }
        }
    }
}

/// Adds the missed nodes of a block, but for those of the padding.
#[cold]
fn list_missed<T: Element, const NZ: usize, const NY: usize>(
    missed: &mut Vec<u32>,
    n: [usize; 3],
    at: [usize; 3],
    check: T,
    u: &block::Rows<T>,
    v: &block::Rows<T>,
) {
    let [z0, y0, x0] = at.map(|b| b * BLOCK);
    for z in 0..NZ.min(n[0] - z0) {
        for y in 0..NY.min(n[1] - y0) {
            for x in 0..BLOCK.min(n[2] - x0) {
                if block::misses(u[z * NY + y][x], v[z * NY + y][x], check) {
                    missed.push((((z0 + z) * n[1] + y0 + y) * n[2] + x0 + x) as u32);
                }
            }
        }
    }
}

/// Rebuilds the values of a chunk.
pub struct Recompose<'a, T, const NZ: usize, const NY: usize> {
    pub level: &'a LocalLevel<'a, T>,
    pub blocks: ChunkBlocks,
    pub coarse: Array<'a, T>,
    pub symbols: &'a [i32],
    /// One value for each [`EXACT`] symbol.
    pub exact: &'a [T],
    pub out: &'a mut [T],
    /// Extents of the chunk's box.
    pub n: [usize; 3],
}

impl<T: Element, const NZ: usize, const NY: usize> Kernel for Recompose<'_, T, NZ, NY> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let out = DisjointRows::new(self.out);
        let mut exact = self.exact;
        let parts = self.symbols.chunks_exact(const { block::details_of(NZ, NY) });
        for ((place, at), symbols) in self.blocks.places().zip(parts) {
            let mut here = &[][..];
            if !exact.is_empty() {
                (here, exact) = exact.split_at(symbols.iter().filter(|&&q| q == EXACT).count());
            }
            let q = block::unpack::<NZ, NY>(symbols);
            let coarse = self.coarse.coarse_block::<NZ, NY>(place);
            let by = self.level.quantizer(place);
            let v = block::recompose::<T, NZ, NY>(self.level.operator, &coarse, &q, by, here);
            // SAFETY: each block is written once.
            unsafe { write_block::<T, NZ, NY>(&out, self.n, at, &v) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::local::block_details;
    use super::super::plan::Plan;
    use super::super::quantizer::level_quantizers;
    use super::*;
    use crate::simd::dispatch;
    use crate::{Basis, Params};

    /// Symbols, exact details and missed nodes of one chunk.
    fn quantized(u: &[f32], n: [usize; 3], basis: Basis, dispatched: bool) -> (Vec<i32>, Vec<u32>, Vec<u32>) {
        let plan = Plan::new(n, &Params { basis, ..Params::default() });
        let operator = block::Operator::new(basis);
        let bounds = [TierBound::new(1e-6, 2.0)];
        let quantizers = level_quantizers(&bounds, plan.factors()[0]);
        let blocks = ChunkBlocks { region: Region { lo: [0; 3], hi: plan.levels[0].blocks() } };
        let tiers = vec![0; blocks.region.len()];
        let level = &LocalLevel { level: &plan.levels[0], operator: &operator, quantizers: &quantizers, tiers: &tiers };
        let coarse = vec![0.25; plan.levels[0].coarse.iter().product()];
        let mut symbols = vec![0; blocks.region.len() * block_details(3)];
        let (mut exact, mut missed) = (Vec::new(), Vec::new());
        let kernel = Quantize::<f32, 8, 8> {
            level,
            bounds: &bounds,
            u: Array { values: u, n },
            blocks,
            coarse: Array { values: &coarse, n: plan.levels[0].coarse },
            symbols: &mut symbols,
            exact: &mut exact,
            missed: &mut missed,
        };
        if dispatched {
            dispatch(kernel)
        } else {
            kernel.run()
        }
        (symbols, exact.into_iter().map(f32::to_bits).collect(), missed)
    }

    #[test]
    fn bits_do_not_depend_on_the_instruction_set() {
        let n = [16, 11, 21];
        let mut u: Vec<f32> = (0..n.iter().product()).map(|i| (i as f32 * 0.37).sin() / 3.0).collect();
        u[100] = 1e30;
        for basis in [Basis::Hierarchical, Basis::Projection] {
            assert_eq!(quantized(&u, n, basis, true), quantized(&u, n, basis, false));
        }
    }
}
