//! The `.bmg` stream: header, tolerance map, frames, index, checksums. See `FORMAT.md`.
//!
//! Written front to back by [`StreamWriter`], read on demand by [`Archive`]; frames are cut by [`Frames`].

pub(crate) mod bytes;
mod directory;
mod extent;
mod fill;
mod frames;
mod header;
mod linear;
mod part_file;
mod provenance;
mod reader;
mod special;
mod writer;

pub use directory::{FrameEntry, FrameKind, MapPart, Part, STORED_CHUNK_BYTES};
pub use extent::Extent;
pub use fill::Filled;
pub use frames::Frames;
pub use header::Header;
pub use part_file::{PartFile, refuse_source};
pub use provenance::Provenance;
pub use reader::{Archive, FrameReader};
pub use special::{Special, encode as encode_special, scan};
pub use writer::{FrameWriter, Output, StreamWriter};

/// The first bytes of every stream; the first one is no text in any encoding.
pub const MAGIC: [u8; 4] = *b"\x89BMG";
/// Format version that this program writes and reads.
pub const VERSION: u8 = 1;
/// The last bytes of every finished stream.
pub const END_MARK: [u8; 4] = *b"GMB\x1a";
