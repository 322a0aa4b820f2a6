//! `blockmgard verify`.
