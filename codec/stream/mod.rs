//! The `.bmg` stream: header, tolerance map, frames, index, checksums. See `FORMAT.md`.
