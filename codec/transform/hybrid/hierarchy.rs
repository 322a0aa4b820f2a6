//! The coarse part of a frame as numbers: all levels behind the chunks, and the coarsest array.

use super::block::Operator;
use super::global::GlobalLevel;
use super::local::LocalLevel;
use super::plan::{Level, Plan};
use super::quantizer::{Quantizer, TierBound, level_quantizers};
use crate::entropy::huffman::EXACT;
use crate::{Element, ToleranceMap};

/// Symbols of one level; `exact` has one value for each [`EXACT`] symbol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelData<T> {
    pub symbols: Vec<i32>,
    pub exact: Vec<T>,
}

/// The coarsest array.
#[derive(Clone, Debug, PartialEq)]
pub enum Coarsest<T> {
    Quantized(Vec<i32>),
    Exact(Vec<T>),
}

/// Everything that the decoder knows before it reads data: hierarchy, tolerances, quantizers.
pub struct Hierarchy<T> {
    pub plan: Plan,
    pub operator: Operator<T>,
    /// By tier.
    pub bounds: Vec<TierBound<T>>,
    /// Tiers of the blocks of each local level.
    tiers: Vec<Vec<u8>>,
    /// Quantizers of each level by tier; of a global level, the same for all tiers.
    quantizers: Vec<Vec<Quantizer<T>>>,
    coarsest: Quantizer<T>,
}

impl<T: Element> Hierarchy<T> {
    /// `factors` are [`Plan::factors`], as stored in the stream.
    pub fn new(plan: Plan, map: &ToleranceMap, max_abs: f64, factors: &[f64]) -> Self {
        let bounds = TierBound::<T>::of_map(map, max_abs);
        // A lossless block is stored beside the hierarchy and asks nothing of it.
        let mut asked = map.clone();
        asked.tiers.iter_mut().zip(&bounds).filter(|(_, b)| b.lossless).for_each(|(t, _)| t.tau = f64::INFINITY);
        let local_levels = plan.levels.iter().filter(|l| l.local).count();
        let maps = asked.propagated(local_levels);
        let global = TierBound::<T>::new(maps[local_levels].strictest(), max_abs).budget;
        let quantizers = plan.levels.iter().zip(factors).map(|(level, &factor)| match level.local {
            true => level_quantizers(&bounds, factor),
            false => vec![Quantizer::new(global * factor); bounds.len()],
        });
        Self {
            quantizers: quantizers.collect(),
            coarsest: Quantizer::new(global * factors[plan.levels.len()]),
            operator: Operator::new(plan.basis),
            tiers: maps.into_iter().map(|m| m.tier_of_block).collect(),
            bounds,
            plan,
        }
    }

    /// Level `k`, which is local.
    pub fn local(&self, k: usize) -> LocalLevel<'_, T> {
        let (level, operator) = (&self.plan.levels[k], &self.operator);
        LocalLevel { level, operator, quantizers: &self.quantizers[k], tiers: &self.tiers[k] }
    }
    /// Level `k`, which is global.
    fn global(&self, k: usize) -> GlobalLevel<'_, T> {
        GlobalLevel { level: &self.plan.levels[k], basis: self.plan.basis, quantizer: self.quantizers[k][0] }
    }
    /// Quantizers of level `k` by tier; of a global level, the same for all.
    #[cfg(feature = "cuda")]
    pub fn quantizers(&self, k: usize) -> &[Quantizer<T>] {
        &self.quantizers[k]
    }
    /// The quantizer of the coarsest array.
    #[cfg(feature = "cuda")]
    pub fn coarsest_quantizer(&self) -> Quantizer<T> {
        self.coarsest
    }
    /// Tiers of the blocks of the frame.
    pub fn tiers(&self) -> &[u8] {
        &self.tiers[0]
    }
    /// The first level of the coarse part: 1 when the finest is local, since that one lives in the chunks.
    pub fn first(&self) -> usize {
        self.plan.chunked() as usize
    }
    /// The levels of the coarse part.
    pub fn coarse_levels(&self) -> &[Level] {
        &self.plan.levels[self.first()..]
    }
    /// Extents of the array that the coarse part rebuilds.
    pub fn coarse_extents(&self) -> [usize; 3] {
        if self.plan.chunked() { self.plan.levels[0].coarse } else { self.plan.n }
    }

    /// Decomposes and quantizes the array of extents [`Self::coarse_extents`].
    pub fn decompose(&self, mut a: Vec<T>) -> (Vec<LevelData<T>>, Coarsest<T>) {
        let rank = self.plan.rank();
        let mut levels = Vec::new();
        for k in self.first()..self.plan.levels.len() {
            let (symbols, exact, coarse) = if self.plan.levels[k].local {
                self.local(k).decompose(&a, rank)
            } else {
                self.global(k).decompose(&a)
            };
            levels.push(LevelData { symbols, exact });
            a = coarse;
        }
        let symbols: Vec<i32> = a.iter().map(|&v| self.coarsest.quantize(v)).collect();
        let coarsest = if symbols.contains(&EXACT) { Coarsest::Exact(a) } else { Coarsest::Quantized(symbols) };
        (levels, coarsest)
    }

    /// Rebuilds that array: the decoder's arithmetic. Lengths must be those of the plan.
    pub fn recompose(&self, levels: &[LevelData<T>], coarsest: &Coarsest<T>) -> Vec<T> {
        let mut a = match coarsest {
            Coarsest::Quantized(q) => q.iter().map(|&q| self.coarsest.dequantize(q)).collect(),
            Coarsest::Exact(values) => values.clone(),
        };
        for (k, data) in (self.first()..self.plan.levels.len()).zip(levels).rev() {
            a = if self.plan.levels[k].local {
                self.local(k).recompose(&a, &data.symbols, &data.exact, self.plan.rank())
            } else {
                self.global(k).recompose(a, &data.symbols, &data.exact)
            };
        }
        a
    }
}
