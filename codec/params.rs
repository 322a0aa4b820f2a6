//! What a run is asked to do. Everything here is recorded in the stream.

use serde::{Deserialize, Serialize};

/// Which decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The paper's hierarchy: L local In-cache Block levels, then M global MGARD levels (Section IV-B).
    Hybrid,
    /// Closed-loop nested interpolation in tiles; no tolerance propagates.
    Pyramid,
}

/// Basis of the hybrid hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Coarse nodes are samples; the error gain of a level is 1.
    Hierarchical,
    /// MGARD's L2 projection (Section II-B).
    Projection,
}

/// Entropy stage of the hybrid mode (the pyramid's is [`Coder`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entropy {
    /// Chunked canonical Huffman with an escape list, as in the paper.
    Huffman,
    /// Fixed class tables and interleaved rANS.
    Class,
}

/// How the levels of the hybrid hierarchy share a block's tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// In proportion to the number of coefficients of a level: least bits.
    Coefficients,
    /// The paper's equal shares (Section IV-C).
    Uniform,
}

/// Prediction of the pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// The encoder picks 2, 4 or 6 points and the axis weights per chunk; with [`Coder::Planes`] always 4.
    Auto,
    Two,
    Four,
    Six,
}

/// Along which axes the pyramid predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Along all axes that a node is new on, or those that the chunk chooses: the best ratios.
    Parity,
    /// Along one axis a node, the first that it is new on or the one that the chunk favours.
    Axis,
}

/// Entropy stage of the pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coder {
    /// Fixed class tables and interleaved rANS: the best ratios.
    Class,
    /// Bit planes of groups of 32 symbols, always with [`Order::Axis`]: the most speed.
    Planes,
    /// Magnitudes and signs of groups of 8 symbols: nearly the ratios of `Class`, faster.
    Groups,
}

/// All settings of one compression run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    pub mode: Mode,
    /// Hybrid: number of local levels L.
    pub local_levels: u8,
    /// Hybrid: number of global levels M.
    pub global_levels: u8,
    pub basis: Basis,
    pub entropy: Entropy,
    pub budget: Budget,
    /// Pyramid: tile side in nodes, 8, 16 or 32.
    pub tile: u8,
    pub points: Points,
    pub coder: Coder,
    /// [`Coder::Planes`] always takes [`Order::Axis`], whatever this says.
    pub order: Order,
    /// Most values in one frame (a frame is a whole hierarchy of its own); part of the format's
    /// cutting rule, never of the machine's memory.
    pub frame_values: u64,
}

impl Params {
    /// The most speed, at the cost of ratio.
    pub fn fast() -> Self {
        Self { tile: 8, coder: Coder::Planes, order: Order::Axis, ..Self::default() }
    }
    /// Between the best ratio and the most speed: what GPUs do in few instructions, in large tiles.
    pub fn balanced() -> Self {
        Self { tile: 32, coder: Coder::Groups, order: Order::Axis, ..Self::default() }
    }
    /// What frames that are stored losslessly are coded with: the other coders of the pyramid store exact values as they are.
    pub fn lossless(&self) -> Self {
        match self.coder {
            Coder::Class => self.clone(),
            Coder::Planes | Coder::Groups => Self { coder: Coder::Class, order: Order::Parity, ..self.clone() },
        }
    }
    /// Coder and order in words, for names of runs: empty for the usual ones.
    pub fn coding_name(&self) -> &'static str {
        match (self.coder, self.effective_order()) {
            (Coder::Class, Order::Parity) => "",
            (Coder::Class, Order::Axis) => "axis",
            (Coder::Planes, _) => "planes",
            (Coder::Groups, Order::Parity) => "groups",
            (Coder::Groups, Order::Axis) => "groups axis",
        }
    }
    /// The order of the streams made with these settings.
    pub fn effective_order(&self) -> Order {
        if self.coder == Coder::Planes { Order::Axis } else { self.order }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Pyramid,
            local_levels: 1,
            global_levels: 2,
            basis: Basis::Hierarchical,
            entropy: Entropy::Huffman,
            budget: Budget::Coefficients,
            tile: 32,
            points: Points::Auto,
            coder: Coder::Class,
            order: Order::Parity,
            frame_values: 1 << 28,
        }
    }
}
