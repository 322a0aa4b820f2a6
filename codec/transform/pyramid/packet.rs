//! The bytes of a chunk: its choice (one byte), then the payload of the class coder.

use super::choice::Choice;
use super::choose::choose;
use super::chunk::{Chunk, Scratch};
use super::lanes::Real;
use crate::entropy::class::symbols::ChunkSymbols;
use crate::entropy::class::{decode_chunk, encode_chunk};
use crate::params::Points;
use crate::{Error, Region, Result};

impl<T: Real> Chunk<'_, T> {
    /// Encodes the values of the chunk; with `keep` they become the reconstruction.
    pub fn pack(&self, values: &mut [T], points: Points, keep: bool, scratch: &mut Scratch<T>) -> Vec<u8> {
        let choice = choose(self.plan, &self.region, &self.tiers, values, points);
        let symbols = self.encode(choice, values, keep, scratch);
        let mut bytes = vec![choice.to_byte()];
        encode_chunk(&self.shape().layout, &symbols, &mut bytes);
        bytes
    }

    /// Decodes the nodes inside `wanted`, a box in the array's coordinates that lies in the chunk, in C order.
    pub fn unpack(&self, bytes: &[u8], wanted: &Region, scratch: &mut Scratch<T>) -> Result<Vec<T>> {
        let (&byte, payload) = bytes.split_first().ok_or_else(|| Error::truncated("chunk: no bytes"))?;
        let choice = Choice::from_byte(byte)
            .ok_or_else(|| Error::corrupt(format!("chunk: {byte} names no points and axis weights")))?;
        let mut symbols = ChunkSymbols::default();
        decode_chunk(&self.shape().layout, payload, &mut symbols)?;
        Ok(self.decode(choice, &symbols, wanted, scratch))
    }
}
