//! The ROI as the studio edits it: tiers, regions, painted masks, undo.

pub mod block_mask;
pub mod block_set;
pub mod history;
pub mod model;
pub mod morphology;
pub mod shape;
pub mod source;
pub mod spec;

/// A name as it can be drawn: control characters, which a file may hold, as their escapes.
pub fn shown_name(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}
