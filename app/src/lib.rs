//! The parts of the program `blockmgard` that tests drive as well: the studio.

#[cfg(feature = "studio")]
pub mod studio;
