//! Whole jobs, shared by the command line and the studio: a volume to a stream and back.

mod compress;
mod decompress;
mod dispatch;
mod plain;
mod preview;
mod report;
mod search;
mod sink;
pub mod tune;
mod view;

pub use compress::{compress, compress_into, compress_to_vec, value_extent};
pub use decompress::{decompress, decompress_region, decompress_volume};
pub use dispatch::Coded;
pub use preview::{CoarseVolume, coarse_look, preview};
pub use report::Report;
pub use search::{Found, Goal, first_guess, search};
#[cfg(feature = "cuda")]
pub(crate) use sink::MemorySink;

#[cfg(test)]
mod tests;
