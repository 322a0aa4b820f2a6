//! The pyramid: closed-loop nested interpolation in tiles. See `FORMAT.md`.

mod choice;
mod choose;
mod chunk;
mod coarse;
mod frame;
mod geometry;
mod kernel;
mod lanes;
mod last;
mod packet;
mod plan;
mod predict;
mod quantizer;
mod stencil;
mod tiers;
mod transpose;

#[cfg(test)]
mod tests;

pub use frame::{Preview, decode_frame, encode_frame, preview};
pub use lanes::Real;
