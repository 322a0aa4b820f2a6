//! The class coder: fixed tables, one class per unit, interleaved rANS laid out for a GPU warp.
//!
//! [`encode_chunk`] and [`decode_chunk`] code the symbols of a pyramid chunk, [`encode_flat`] and [`decode_flat`] plain
//! arrays of symbols. `FORMAT.md` fixes every byte.

mod bits;
mod choice;
mod chunk;
mod decode;
mod flat;
mod rans;
mod stream;
pub mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub use chunk::{decode_chunk, encode_chunk};
pub use flat::{decode_flat, encode_flat};
