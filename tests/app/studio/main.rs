//! The studio driven like a user does: pointer, wheel and keys on the real panels and views.

mod files;
mod kept;
mod keyboard;
mod painting;
mod pictures;
mod runs;
mod shapes;
mod support;
