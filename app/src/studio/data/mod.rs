//! From volumes to what is drawn: slices, labels, statistics; all of it off the UI thread.

pub mod bricks;
pub mod gradient;
pub mod labels;
pub mod memory;
pub mod nearest;
pub mod shown;
pub mod slice;
pub mod staged;
pub mod stats;
pub mod stream_file;
