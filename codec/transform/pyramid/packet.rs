//! The bytes of a chunk: its choice (one byte), then the payload of the frame's coder.

use super::choice::Choice;
use super::choose::{candidates, choose};
use super::chunk::{Chunk, Workspace};
use super::lanes::Real;
use crate::entropy::class::symbols::{ChunkLayout, ChunkSymbols};
use crate::entropy::{class, groups, planes};
use crate::params::{Order, Points};
use crate::{Coder, Error, Params, Region, Result};

/// How all chunks of a frame are coded.
#[derive(Clone, Copy, Debug)]
pub struct Coding {
    pub coder: Coder,
    pub points: Points,
    pub order: Order,
}

impl Coding {
    pub fn new(params: &Params) -> Self {
        Self { coder: params.coder, points: params.points, order: params.effective_order() }
    }
    /// What every chunk of the planes coder chooses.
    pub fn axis_order(self) -> Choice {
        Choice { points: candidates(self.points)[0], in_order: true, ..Choice::default() }
    }
    /// The choice of a chunk, and its payload.
    pub fn split_choice(self, bytes: &[u8]) -> Result<(Choice, &[u8])> {
        let (&byte, payload) = bytes.split_first().ok_or_else(|| Error::truncated("chunk: no bytes"))?;
        let choice = match self.coder {
            Coder::Class | Coder::Groups => Choice::from_byte(byte),
            Coder::Planes => Some(self.axis_order()).filter(|choice| choice.to_byte() == byte),
        };
        let choice =
            choice.ok_or_else(|| Error::corrupt(format!("chunk: {byte} names no points and axes of this coder")))?;
        Ok((choice, payload))
    }
    /// Appends the payload to a chunk's choice.
    pub fn encode(self, layout: &ChunkLayout, symbols: &ChunkSymbols, bytes: &mut Vec<u8>) {
        match self.coder {
            Coder::Class => class::encode_chunk(layout, symbols, bytes),
            Coder::Planes => planes::encode_chunk(layout, symbols, bytes),
            Coder::Groups => groups::encode_chunk(layout, symbols, bytes),
        }
    }
    pub fn decode(self, layout: &ChunkLayout, payload: &[u8], symbols: &mut ChunkSymbols) -> Result<()> {
        match self.coder {
            Coder::Class => class::decode_chunk(layout, payload, symbols),
            Coder::Planes => planes::decode_chunk(layout, payload, symbols),
            Coder::Groups => groups::decode_chunk(layout, payload, symbols),
        }
    }
}

impl<T: Real> Chunk<'_, T> {
    /// Encodes the values of the workspace; with `keep` they become the reconstruction.
    pub fn pack(&self, coding: Coding, keep: bool, workspace: &mut Workspace<T>) -> Vec<u8> {
        let choice = match coding.coder {
            Coder::Planes => coding.axis_order(),
            _ => choose(self.plan, &self.region, &self.tiers, &workspace.values, (coding.points, coding.order)),
        };
        self.encode(choice, keep, workspace);
        let mut bytes = vec![choice.to_byte()];
        coding.encode(self.layout(choice), &workspace.symbols, &mut bytes);
        bytes
    }

    /// Decodes the nodes inside `wanted`, a box in the array's coordinates that lies in the chunk, into the values of the
    /// workspace, C order.
    pub fn unpack(&self, coding: Coding, bytes: &[u8], wanted: &Region, workspace: &mut Workspace<T>) -> Result<()> {
        let (choice, payload) = coding.split_choice(bytes)?;
        coding.decode(self.layout(choice), payload, &mut workspace.symbols)?;
        self.decode(choice, wanted, workspace);
        Ok(())
    }
}
