//! The class coder: fixed tables, one class per unit, interleaved rANS laid out for a GPU warp.

pub mod symbols;
