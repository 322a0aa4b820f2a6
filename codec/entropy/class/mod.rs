//! The class coder: fixed tables, one class per unit, interleaved rANS laid out for a GPU warp.
//!
//! [`encode_chunk`] and [`decode_chunk`] code the symbols of a pyramid chunk, [`encode_flat`] and [`decode_flat`] plain
//! arrays of symbols. `FORMAT.md` fixes every byte.

mod bits;
pub(crate) mod choice;
pub(crate) mod chunk;
mod decode;
mod flat;
pub(crate) mod rans;
pub(crate) mod slots;
mod stream;
pub mod symbols;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

pub use chunk::{decode_chunk, encode_chunk};
pub use flat::{decode_flat, encode_flat};
