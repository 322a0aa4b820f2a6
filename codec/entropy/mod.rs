//! Entropy coding of quantized residuals ("symbols").

pub mod class;
pub mod groups;
pub mod huffman;
pub mod planes;
mod reader;
