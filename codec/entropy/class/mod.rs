//! The class coder: fixed tables, one class per unit, interleaved rANS laid out for a GPU warp.
//!
//! [`encode_chunk`] and [`decode_chunk`] code the symbols of a pyramid chunk, [`encode_flat`] and [`decode_flat`] plain
//! arrays of symbols. `FORMAT.md` fixes every byte.

mod bits;
pub(crate) mod choice;
pub(crate) mod chunk;
mod decode;
pub(crate) mod flat;
pub(crate) mod rans;
pub(crate) mod slots;
mod stream;
pub mod symbols;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

pub use chunk::{decode_chunk, encode_chunk};
pub use flat::{decode_flat, encode_flat};

/// Estimated size of a unit in 2^-12 bit, the same integer on every machine: for transforms that try several
/// predictions. Arguments as in [`symbols::ChunkSymbols`]; `delta` may be empty when no node is exact.
pub fn unit_cost(q: &[i16], delta: &[u64], bits: u32) -> u64 {
    choice::choose(q, delta, bits).1
}
