//! The pyramid: closed-loop nested interpolation in tiles. See `FORMAT.md`.

pub(crate) mod choice;
pub(crate) mod choose;
mod chunk;
pub(crate) mod coarse;
pub(crate) mod frame;
pub(crate) mod geometry;
mod kernel;
pub(crate) mod lanes;
pub(crate) mod last;
pub(crate) mod packet;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod probe;
pub(crate) mod quantizer;
mod sample;
mod square;
pub(crate) mod stencil;
pub(crate) mod tiers;
mod transpose;
pub(crate) mod vector;

#[cfg(test)]
mod tests;

pub use frame::{Preview, decode_frame, encode_frame, preview};
pub use lanes::Real;
