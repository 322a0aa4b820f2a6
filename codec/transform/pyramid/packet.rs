//! The bytes of a chunk: its choice (one byte), then the payload of the class coder.

use super::choice::Choice;
use super::choose::choose;
use super::chunk::{Chunk, Workspace};
use super::lanes::Real;
use crate::entropy::class::{decode_chunk, encode_chunk};
use crate::params::Points;
use crate::{Error, Region, Result};

impl<T: Real> Chunk<'_, T> {
    /// Encodes the values of the workspace; with `keep` they become the reconstruction.
    pub fn pack(&self, points: Points, keep: bool, workspace: &mut Workspace<T>) -> Vec<u8> {
        let choice = choose(self.plan, &self.region, &self.tiers, &workspace.values, points);
        self.encode(choice, keep, workspace);
        let mut bytes = vec![choice.to_byte()];
        encode_chunk(&self.shape().layout, &workspace.symbols, &mut bytes);
        bytes
    }

    /// Decodes the nodes inside `wanted`, a box in the array's coordinates that lies in the chunk, into the values of the
    /// workspace, C order.
    pub fn unpack(&self, bytes: &[u8], wanted: &Region, workspace: &mut Workspace<T>) -> Result<()> {
        let (&byte, payload) = bytes.split_first().ok_or_else(|| Error::truncated("chunk: no bytes"))?;
        let choice = Choice::from_byte(byte)
            .ok_or_else(|| Error::corrupt(format!("chunk: {byte} names no points and axis weights")))?;
        decode_chunk(&self.shape().layout, payload, &mut workspace.symbols)?;
        self.decode(choice, wanted, workspace);
        Ok(())
    }
}
