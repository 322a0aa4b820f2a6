//! The two decompositions: `hybrid` (the paper's) and `pyramid` (closed-loop tiles).

pub mod hybrid;
pub mod pyramid;
