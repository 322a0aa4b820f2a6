//! Which quantizer each node of an array takes.

use super::lanes::Real;
use super::quantizer::{Quantizer, QuantizerTable};

/// The tier of every node of an array.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<'a, T> {
    /// One entry a tolerance block, C order.
    pub tier: &'a [u8],
    /// Tolerance blocks per axis.
    pub blocks: [usize; 3],
    /// 2^shift nodes of an axis share a block.
    pub shift: u32,
    pub quantizers: &'a QuantizerTable<T>,
}

impl<'a, T: Real> Tiers<'a, T> {
    /// Tier 0 everywhere.
    pub fn uniform(quantizers: &'a QuantizerTable<T>) -> Self {
        Self { tier: &[0], blocks: [1; 3], shift: usize::BITS - 1, quantizers }
    }
    pub fn quantizer(&self, node: [usize; 3], level: usize) -> &'a Quantizer<T> {
        &self.quantizers[level][self.at(node) as usize]
    }
    /// The tier of a node.
    pub fn at(&self, node: [usize; 3]) -> u8 {
        let [z, y, x] = node.map(|i| i >> self.shift);
        self.tier[(z * self.blocks[1] + y) * self.blocks[2] + x]
    }
}
