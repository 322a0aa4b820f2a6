//! The parts of the program `blockmgard` that tests drive as well, or that the studio and the command line share.

#[cfg(feature = "studio")]
pub mod studio;
pub mod tuned;
