//! The plain data between a transform and the class coder: which nodes form a unit, and their symbols.
//!
//! Nodes are held in *coding order*: tiles of the chunk in raster order; in a tile its units, coarse steps
//! first, units of a step in raster order; in a unit its nodes in raster order. Only the groups coder has them at the *places* of
//! its groups, some of which have no node.

use crate::entropy::groups::runs::TileRuns;

/// The symbol of a node whose value is given by [`ChunkSymbols::delta`] instead of a quantized residual.
pub const EXACT: i16 = i16::MIN;

/// A group of nodes that share one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// First node, counted in coding order from the start of the tile.
    pub start: u32,
    /// Number of nodes, at least 1.
    pub len: u32,
    /// Step of the hierarchy inside the tile: 0 is the finest.
    pub step: u8,
    /// Place of the unit in the raster of its step's boxes, slowest axis first.
    pub cell: [u8; 3],
}

/// The units of one (clipped) tile, in coding order. They cover its nodes without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileLayout {
    pub units: Vec<Unit>,
    /// Number of coded nodes; 0 for a tile whose nodes all belong to the corner array. With the groups coder the number of places of
    /// its groups.
    pub nodes: usize,
    /// Of the groups coder alone.
    pub runs: TileRuns,
}

/// One tile of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileRef {
    /// Index into [`ChunkLayout::shapes`].
    pub shape: usize,
    /// First node of the tile in the chunk's coding order.
    pub start: usize,
}

/// The tiles of one chunk, in raster order. Known to the decoder before it reads a byte of the chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkLayout {
    /// The distinct tile shapes: at most 8, full or clipped on each axis.
    pub shapes: Vec<TileLayout>,
    pub tiles: Vec<TileRef>,
    /// Number of coded nodes in the chunk.
    pub nodes: usize,
    /// Bits of the element type, 32 or 64: the width of a delta.
    pub bits: u32,
}

/// The symbols of one chunk, in coding order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkSymbols {
    /// Quantized residual of each node (|q| <= 32767), or [`EXACT`].
    pub q: Vec<i16>,
    /// Empty when the chunk has no exact node. Else one entry a node: zigzag(ord(r) - ord(p)) in
    /// `bits` bits, where r is the node's reconstruction, p its prediction and ord the order-preserving
    /// map from bit patterns to integers. It alone rebuilds r, so a coder may store a node by its delta
    /// whatever its q. An encoder finds it set for every node of a unit that has an exact one; a decoder sets
    /// it where it gives q = [`EXACT`].
    pub delta: Vec<u64>,
}
