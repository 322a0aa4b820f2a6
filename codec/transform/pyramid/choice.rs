//! What a chunk may choose: the number of points and the weights of the axes.

use super::stencil::POINTS;
use crate::Element;

/// Weights of the axes that a chunk may name, by index.
pub const WEIGHTS: [[u32; 3]; 7] = [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]];

/// A chunk's choice, one byte in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Index into [`POINTS`].
    pub points: u8,
    /// Index into [`WEIGHTS`].
    pub weights: u8,
}

impl Choice {
    pub fn to_byte(self) -> u8 {
        self.points + POINTS.len() as u8 * self.weights
    }
    /// None for a byte that names nothing.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let (points, weights) = (byte % POINTS.len() as u8, byte / POINTS.len() as u8);
        ((weights as usize) < WEIGHTS.len()).then_some(Self { points, weights })
    }
}

/// A choice made ready for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Mix<T> {
    /// Index into [`POINTS`].
    pub points: usize,
    /// For each set of axes on which a node is new (bit a = axis a): the axes that predict it.
    pub axes: [usize; 8],
    /// The share of each of these axes.
    pub alpha: [[T; 3]; 8],
}

impl<T: Element> Mix<T> {
    pub fn new(choice: Choice) -> Self {
        let weights = WEIGHTS[choice.weights as usize];
        let mut mix = Self { points: choice.points as usize, axes: [0; 8], alpha: [[T::ZERO; 3]; 8] };
        for new in 1..8usize {
            let named: [u32; 3] = std::array::from_fn(|a| weights[a] * (new >> a & 1) as u32);
            let all: [u32; 3] = std::array::from_fn(|a| (new >> a & 1) as u32);
            let used = if named == [0; 3] { all } else { named };
            let sum: u32 = used.iter().sum();
            mix.axes[new] = (0..3).filter(|&a| used[a] > 0).map(|a| 1 << a).sum();
            mix.alpha[new] = used.map(|w| T::from_f64(w as f64 / sum as f64));
        }
        mix
    }
}
