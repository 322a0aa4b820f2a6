//! The choice of points and axis weights for a chunk.

use super::choice::Choice;
use super::chunk::{Chunk, Scratch};
use super::lanes::Real;
use crate::params::Points;

/// The choice for a chunk with these values.
pub fn choose<T: Real>(_chunk: &Chunk<T>, _values: &[T], points: Points, _scratch: &mut Scratch<T>) -> Choice {
    let points = match points {
        Points::Two => 0,
        Points::Auto | Points::Four => 1,
        Points::Six => 2,
    };
    Choice { points, weights: 0 }
}
