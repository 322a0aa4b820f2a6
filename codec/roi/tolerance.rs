//! The tolerance map: one tier per 8^3 block (Section IV-C), tolerances in absolute terms.

use crate::{Error, Result, Shape};
use serde::{Deserialize, Serialize};

/// A tier resolved against one volume: its tolerance is absolute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    pub name: String,
    /// Absolute tolerance; 0 = lossless (bit for bit), +infinity = ignore (no detail kept).
    #[serde(with = "tau_text")]
    pub tau: f64,
}

/// JSON has no infinity: an infinite tolerance is written as "ignore".
mod tau_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    pub fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        if v.is_infinite() { s.serialize_str("ignore") } else { s.serialize_f64(*v) }
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        match serde_json::Value::deserialize(d)? {
            serde_json::Value::String(s) if s == "ignore" => Ok(f64::INFINITY),
            v => v.as_f64().ok_or_else(|| D::Error::custom("a tolerance is a number or \"ignore\"")),
        }
    }
}

/// Which tier each 8^3 block carries.
#[derive(Clone, Debug, PartialEq)]
pub struct ToleranceMap {
    /// Blocks per axis, slowest first (1 where the axis has one node).
    pub blocks: [usize; 3],
    /// At most 255 tiers.
    pub tiers: Vec<Tier>,
    /// Index into `tiers`, one per block, C order.
    pub tier_of_block: Vec<u8>,
}

impl ToleranceMap {
    /// One tolerance everywhere.
    pub fn uniform(shape: &Shape, tau: f64) -> Result<Self> {
        if tau.is_nan() || tau < 0.0 {
            return Err(Error::invalid(format!("tolerance {tau} is not a number >= 0")));
        }
        let blocks = shape.blocks();
        Ok(Self {
            blocks,
            tiers: vec![Tier { name: "uniform".into(), tau }],
            tier_of_block: vec![0; blocks.iter().product()],
        })
    }
    /// Lossless everywhere, with the blocks of this map.
    pub fn lossless(&self) -> Self {
        Self {
            blocks: self.blocks,
            tiers: vec![Tier { name: "lossless".into(), tau: 0.0 }],
            tier_of_block: vec![0; self.tier_of_block.len()],
        }
    }
    /// Smallest and largest tolerance of any block.
    pub fn extremes(&self) -> (f64, f64) {
        let taus = self.used_tiers().map(|tier| self.tiers[tier].tau);
        taus.fold((f64::INFINITY, 0.0), |(low, high), tau| (tau.min(low), tau.max(high)))
    }
    /// The tiers that hold a block, in their order.
    pub(crate) fn used_tiers(&self) -> impl Iterator<Item = usize> {
        let mut used = vec![false; self.tiers.len()];
        self.tier_of_block.iter().for_each(|&tier| used[usize::from(tier)] = true);
        used.into_iter().enumerate().filter_map(|(tier, used)| used.then_some(tier))
    }
    /// Tolerance of the block that holds node `(z, y, x)`.
    pub fn tau_at(&self, [z, y, x]: [usize; 3]) -> f64 {
        let [_, by, bx] = self.blocks;
        self.tiers[self.tier_of_block[((z / 8) * by + y / 8) * bx + x / 8] as usize].tau
    }
    /// The map of the planes `z0 .. z0 + 8 * count` (whole block layers), for one frame.
    pub fn layers(&self, first: usize, count: usize) -> Self {
        let plane = self.blocks[1] * self.blocks[2];
        Self {
            blocks: [count, self.blocks[1], self.blocks[2]],
            tiers: self.tiers.clone(),
            tier_of_block: self.tier_of_block[first * plane..(first + count) * plane].to_vec(),
        }
    }
}
